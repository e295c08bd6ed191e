use super::*;
use crate::offload::checksum::Sum;
use crate::offload::{OffloadError, SuperPacket};
use proptest::prelude::*;

/// A packet of `protocol` from `port` with correct checksums.
fn packet(v4: bool, protocol: u8, port: u16, sequence: u32, payload: &[u8]) -> Vec<u8> {
    let ip = if v4 { 20 } else { 40 };
    let transport = if protocol == TCP { 32 } else { 8 };
    let total = ip + transport + payload.len();
    let mut p = vec![0; total];
    if v4 {
        p[..12].copy_from_slice(&[0x45, 2, 0, 0, 0, 0, 0x40, 0, 64, protocol, 0, 0]);
        p[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        p[4..6].copy_from_slice(&(sequence as u16).to_be_bytes());
    } else {
        p[..8].copy_from_slice(&[0x60, 0, 0, 0, 0, 0, protocol, 64]);
        p[8..40].fill(0xfd);
    }
    p[ip..ip + 4].copy_from_slice(&[(port >> 8) as u8, port as u8, 0, 80]);
    if protocol == TCP {
        p[ip + 4..ip + 8].copy_from_slice(&sequence.to_be_bytes());
        p[ip + 12] = 0x80;
        p[ip + 13] = ACK;
        p[ip + 20..ip + 32].copy_from_slice(&[1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8]);
    }
    p[ip + transport..].copy_from_slice(payload);
    finish(p)
}

/// Sets lengths and checksums.
fn finish(mut p: Vec<u8>) -> Vec<u8> {
    let layout = Layout::of(&p).unwrap();
    let total = p.len();
    layout.set_length(&mut p, total);
    let field = layout.transport + layout.checksum_offset();
    p[field..field + 2].fill(0);
    let sum = layout
        .pseudo_header(&p, total)
        .bytes(&p[layout.transport..])
        .finish();
    p[field..field + 2].copy_from_slice(&sum);
    p
}

fn join(packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut joiner = Joiner::new(true);
    let mut frames = Vec::new();
    for p in packets {
        joiner.push(p, |f| frames.push(f.to_vec()));
    }
    joiner.flush(|f| frames.push(f.to_vec()));
    frames
}

/// The packets of a super-packet, each in a buffer of its own.
fn to_packets(super_packet: &SuperPacket<'_>) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    for i in 0..super_packet.count() {
        let mut packet = vec![0; super_packet.max_bytes()];
        let n = super_packet.write(i, &mut packet).unwrap();
        packet.truncate(n);
        packets.push(packet);
    }
    packets
}

fn split(frames: &mut [Vec<u8>]) -> Vec<Vec<u8>> {
    frames
        .iter_mut()
        .flat_map(|f| to_packets(&SuperPacket::parse(f).unwrap()))
        .collect()
}

#[test]
fn the_packets_of_a_flow_become_one_frame_that_splits_into_the_same_packets() {
    for (v4, protocol) in [(true, TCP), (true, 17), (false, TCP), (false, 17)] {
        let payload = |i: u32| vec![i as u8; if i == 9 { 77 } else { 1000 }];
        // IPv4 identifications count up, as a sender's do.
        let build = |i: u32| {
            let mut p = packet(
                v4,
                protocol,
                9,
                5_000_u32.wrapping_add(i * 1000),
                &payload(i),
            );
            if v4 {
                p[4..6].copy_from_slice(&(40 + i as u16).to_be_bytes());
            }
            finish(p)
        };
        let packets: Vec<_> = (0..10).map(build).collect();
        let mut frames = join(&packets);
        assert_eq!(frames.len(), 1, "v4 {v4} protocol {protocol}");
        assert_eq!(split(&mut frames), packets);
    }
}

#[test]
fn interleaved_flows_are_joined_separately_and_in_order() {
    let packets: Vec<_> = (0..8_u32)
        .map(|i| packet(true, TCP, (i % 2) as u16, i / 2 * 10, &[i as u8; 10]))
        .collect();
    assert_eq!(join(&packets).len(), 2);
}

#[test]
fn a_packet_that_does_not_continue_its_flow_ends_the_frame() {
    let base = |i: u32| packet(true, TCP, 1, i * 10, &[7; 10]);
    type Change = fn(&mut Vec<u8>);
    let breaks: [(&str, Change); 6] = [
        ("gap", |p| p[27] ^= 0x40),
        ("acknowledgement", |p| p[31] ^= 1),
        ("flags", |p| p[33] |= 1),
        ("window", |p| p[34] ^= 1),
        ("option", |p| p[50] ^= 1),
        ("congestion mark", |p| p[1] |= 1),
    ];
    for (what, change) in breaks {
        let mut odd = base(1);
        change(&mut odd);
        let packets = [base(0), finish(odd), base(2)];
        let mut frames = join(&packets);
        assert!(frames.len() >= 2, "{what}");
        assert_eq!(split(&mut frames), packets, "{what}");
    }
}

#[test]
fn a_packet_with_a_wrong_checksum_is_not_joined() {
    let mut bad = packet(true, TCP, 1, 10, &[7; 10]);
    let last = bad.len() - 1;
    bad[last] ^= 1;
    let packets = [
        packet(true, TCP, 1, 0, &[7; 10]),
        bad,
        packet(true, TCP, 1, 20, &[7; 10]),
    ];
    let mut frames = join(&packets);
    assert_eq!(frames.len(), 3);
    assert_eq!(split(&mut frames), packets);
}

#[test]
fn an_incomplete_checksum_is_completed() {
    let good = packet(true, TCP, 1, 0, &[7; 11]);
    let mut frame = vec![0; HEADER_BYTES];
    frame.extend(&good);
    let partial = Sum::pseudo_header(&good[12..20], TCP, (good.len() - 20) as u16).partial();
    frame[HEADER_BYTES + 36..HEADER_BYTES + 38].copy_from_slice(&partial);
    let header = Header {
        needs_checksum: true,
        segmentation: Segmentation::None,
        header_bytes: 0,
        segment_bytes: 0,
        checksum_start: 20,
        checksum_offset: 16,
    };
    header.write(&mut frame);
    assert_eq!(split(&mut [frame.clone()]), [good]);
    frame[6..8].copy_from_slice(&u16::MAX.to_ne_bytes());
    assert_eq!(
        SuperPacket::parse(&mut frame).unwrap_err(),
        OffloadError::Inconsistent
    );
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        kind in 0_u8..6,
    ) {
        join(&[bytes.clone(), bytes.clone()]);
        let mut frame = bytes;
        if frame.len() > 12 {
            frame[1] = kind;
            frame[10] = [0x45, 0x60][usize::from(kind) % 2];
        }
        if let Ok(packets) = SuperPacket::parse(&mut frame) {
            prop_assert!(!to_packets(&packets).is_empty());
        }
    }

    #[test]
    fn joining_and_splitting_keeps_every_packet(
        flows in proptest::collection::vec((0_u16..12, 1_usize..40), 1..80),
    ) {
        let mut sequence = [0_u32; 12];
        let packets: Vec<_> = flows.iter().map(|&(flow, n)| {
            let s = &mut sequence[usize::from(flow)];
            let p = packet(true, TCP, flow, *s, &vec![flow as u8; n]);
            *s += n as u32;
            p
        }).collect();
        let mut out = split(&mut join(&packets));
        let mut expected = packets;
        // Identifications of split packets count up from the first; order holds within a flow.
        for p in out.iter_mut().chain(&mut expected) {
            p[4..6].fill(0);
            p[10..12].fill(0);
        }
        out.sort_by_key(|p| (p[21], word32(p, 24)));
        expected.sort_by_key(|p| (p[21], word32(p, 24)));
        prop_assert_eq!(out, expected);
    }
}
