//! Super-packets of a TUN device with offload, and of a port: whatever the kernel hands over is refused
//! or split into packets that fit their buffers, and these are the same after being joined and split
//! again.
#![no_main]

use airpace_net::offload::{
    FrameJoiner, Joiner, SuperFrame, SuperPacket, complete_checksum, segment_payload,
};
use libfuzzer_sys::fuzz_target;

/// Most packets of one super-packet that are looked at.
const MOST: usize = 128;

/// Splits a frame with its offload header; `None` if it is refused.
fn split(frame: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut frame = frame.to_vec();
    let packets = SuperPacket::parse(&mut frame).ok()?;
    let mut buffer = vec![0; packets.max_bytes()];
    let mut all = Vec::new();
    for index in 0..packets.count().min(MOST) {
        if let Some(length) = packets.write(index, &mut buffer) {
            all.push(buffer[..length].to_vec());
        }
    }
    Some(all)
}

fn join(packets: &[Vec<u8>], join_udp: bool) -> Vec<Vec<u8>> {
    let mut joiner = Joiner::new(join_udp);
    let mut frames = Vec::new();
    for packet in packets {
        joiner.push(packet, |frame| frames.push(frame.to_vec()));
    }
    joiner.flush(|frame| frames.push(frame.to_vec()));
    frames
}

fuzz_target!(|input: &[u8]| {
    let Some((&choice, frame)) = input.split_first() else {
        return;
    };
    let _ = segment_payload(frame);
    let mut completed = frame.to_vec();
    complete_checksum(&mut completed);
    assert_eq!(completed.len(), frame.len());
    if let Some(packets) = split(frame) {
        // All packets are of one flow, so they leave in the order in which they came.
        let frames = join(&packets, choice & 1 == 1);
        assert!(frames.len() <= packets.len());
        let again: Vec<Vec<u8>> = frames
            .iter()
            .flat_map(|frame| split(frame).expect("what was joined can be split"))
            .collect();
        assert_eq!(again, packets);
    }
    let mut joiner = FrameJoiner::new(choice & 1 == 1);
    let mut frame = frame.to_vec();
    let frame_bytes = frame.len();
    if let Ok(frames) = SuperFrame::parse(&mut frame) {
        // An Ethernet header with two VLAN tags, and the longest packet.
        let mut buffer = vec![0; 22 + frame_bytes];
        let mut bytes = 0;
        for index in 0..frames.count().min(MOST) {
            if let Some(length) = frames.write(index, &mut buffer) {
                joiner.push(&buffer[..length], |joined| bytes += joined.len());
            }
        }
        joiner.flush(|joined| bytes += joined.len());
    }
});
