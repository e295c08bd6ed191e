//! Captures of runs, read by the project's own parsers and by tshark.

mod tshark;

use super::*;
use crate::store::store;
use airpace_core::wire::control::ControlFrame;
use airpace_core::wire::ieee80211::{DataHeader, split_snap};
use airpace_core::wire::radiotap::{LINK_TYPE, Radiotap};
use airpace_core::wire::transport::{TcpHeader, Transport};
use pcap_file::TsResolution;
use pcap_file::pcap::PcapReader;
use std::collections::BTreeMap;

/// Conversations of every kind, from the first packet on.
const CONVERSATIONS: &str = "\
warm_up = \"0 s\"
duration = \"400 ms\"
[record]
pcap = true
[channel]
rts_threshold = \"1 kB\"
[[node]]
kind = \"host\"
name = \"server\"
[[wire]]
a = \"server\"
b = \"ap\"
delay = \"5 ms\"
[[node]]
kind = \"ap\"
[[node]]
kind = \"station\"
count = 2
rate = \"mcs 9 nss 2\"
[[flow]]
kind = \"tcp\"
bytes = \"1 MB\"
[[flow]]
kind = \"tcp\"
name = \"upload\"
from = \"station-1\"
to = \"server\"
bytes = \"1 MB\"
[[flow]]
kind = \"web\"
to = \"station-2\"
[[flow]]
kind = \"ping\"
interval = \"50 ms\"
[[flow]]
kind = \"voip\"
category = \"voice\"
";

/// A record of a capture.
struct Captured {
    at: std::time::Duration,
    original_length: u32,
    radiotap: Radiotap,
    /// The frame behind the radiotap header.
    frame: Vec<u8>,
}

/// The records of the capture of a run.
fn records(name: &str, finished: &Finished, record: &file::Record) -> Vec<Captured> {
    let bytes = capture(name, finished, record);
    let mut reader = PcapReader::new(bytes.as_slice()).unwrap();
    let header = reader.header();
    assert_eq!(header.ts_resolution, TsResolution::NanoSecond);
    assert_eq!(u32::from(header.datalink), LINK_TYPE);
    let mut records: Vec<Captured> = Vec::new();
    // Raw records, because the checked ones may not have been longer than the snap length before
    // they were cut.
    while let Some(record) = reader.next_raw_packet() {
        let record = record.unwrap();
        assert!(record.data.len() <= record.orig_len as usize);
        let at = std::time::Duration::new(record.ts_sec.into(), record.ts_frac);
        assert!(records.last().is_none_or(|last| last.at <= at));
        let (radiotap, length) = Radiotap::parse(&record.data).unwrap();
        records.push(Captured {
            at,
            original_length: record.orig_len,
            radiotap,
            frame: record.data[length..].to_vec(),
        });
    }
    records
}

/// The bytes of the capture of a run.
fn capture(name: &str, finished: &Finished, record: &file::Record) -> Vec<u8> {
    let out = std::env::temp_dir().join(format!("airpace-{name}-{}", std::process::id()));
    store(&out, finished, record).unwrap();
    let bytes = fs::read(out.join("air.pcap")).unwrap();
    fs::remove_dir_all(&out).unwrap();
    bytes
}

/// The capture of the conversations with these settings.
fn conversations(name: &str, settings: &[&str]) -> (Finished, Vec<Captured>) {
    let loaded = loaded(CONVERSATIONS, settings);
    let finished = finished(&loaded);
    let records = records(name, &finished, &loaded.scenario.record);
    (finished, records)
}

impl Captured {
    fn control(&self) -> Option<ControlFrame<'_>> {
        ControlFrame::parse(&self.frame).ok()
    }

    fn data(&self) -> Option<(DataHeader, &[u8])> {
        let (header, length) = DataHeader::parse(&self.frame).ok()?;
        Some((header, &self.frame[length..]))
    }

    /// The packet of an MPDU that is no A-MSDU.
    fn packet(&self) -> Option<&[u8]> {
        split_snap(self.data()?.1).map(|(_, packet)| packet)
    }

    fn tcp(&self) -> Option<TcpHeader> {
        match Transport::parse(self.packet()?)? {
            Transport::Tcp(header) => Some(header),
            Transport::Udp { .. } => None,
        }
    }
}

/// The packets of an A-MSDU.
fn subframes(mut body: &[u8]) -> Vec<&[u8]> {
    let mut packets = Vec::new();
    while body.len() > 14 {
        let length = usize::from(u16::from_be_bytes([body[12], body[13]]));
        let end = body.len().min(14 + length);
        packets.push(split_snap(&body[14..end]).unwrap().1);
        body = body
            .get((14 + length).next_multiple_of(4)..)
            .unwrap_or_default();
    }
    packets
}

#[test]
fn the_capture_has_every_mpdu_with_its_rate_and_aggregate() {
    let loaded = loaded(CELL, &["record.pcap=true", "node.station.loss=0.1"]);
    let finished = finished(&loaded);
    let records = records("mpdus", &finished, &loaded.scenario.record);
    let decoded: u32 = finished
        .outcome
        .frames
        .iter()
        .map(|(_, frame)| u32::from(frame.decoded))
        .sum();
    let (mut shown, mut retries) = (0, 0);
    for record in &records {
        let Some((header, _)) = record.data() else {
            continue;
        };
        assert_eq!(record.radiotap.rate().unwrap().nss(), 2);
        assert!(record.radiotap.ampdu.is_some());
        shown += 1;
        retries += u32::from(header.retry);
    }
    assert!(shown > 1_000 && shown <= decoded, "{shown} of {decoded}");
    assert!(retries > shown / 20, "{retries}");
}

#[test]
fn an_exchange_is_shown_with_the_frames_that_belong_to_it() {
    let (finished, records) = conversations("exchange", &[]);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for record in &records {
        let kind = match record.control() {
            Some(ControlFrame::Rts { duration_us, .. }) => {
                assert!(duration_us > 100);
                "rts"
            }
            Some(ControlFrame::Cts { .. }) => "cts",
            Some(ControlFrame::Ack { .. }) => "ack",
            Some(ControlFrame::BlockAck(_)) => "block ack",
            Some(other) => panic!("{other:?}"),
            None if record.data().is_some() => "data",
            None => {
                assert_eq!(record.frame[0], 0x80, "a beacon");
                "beacon"
            }
        };
        *counts.entry(kind).or_default() += 1;
    }
    let frames = &finished.outcome.frames;
    let of = |wanted: &dyn Fn(u16) -> bool| {
        let fits = |(_, frame): &&(u32, airpace_sim::mac::FrameRecord)| {
            frame.decoded > 0 && wanted(frame.mpdus)
        };
        frames.iter().filter(fits).count()
    };
    assert_eq!(counts["block ack"], of(&|mpdus| mpdus > 1));
    assert_eq!(counts["ack"], of(&|mpdus| mpdus == 1));
    assert_eq!(counts["beacon"], 3, "every 102.4 ms");
    assert_eq!(counts["rts"], counts["cts"]);
    assert!(counts["rts"] > 50 && counts["rts"] < counts["ack"] + counts["block ack"]);
}

#[test]
fn a_block_ack_follows_its_frame_and_has_all_of_its_mpdus() {
    let (_, records) = conversations("answers", &["channel.rts_threshold=1 MB"]);
    let mut numbers: Vec<u16> = Vec::new();
    let mut checked = 0;
    for record in &records {
        if let Some((header, _)) = record.data() {
            numbers.push(header.sequence);
        } else if let Some(control) = record.control() {
            if let ControlFrame::BlockAck(block_ack) = control {
                let has = |number: &u16| block_ack.has(*number) == Some(true);
                assert!(!numbers.is_empty() && numbers.iter().all(has));
                checked += 1;
            }
            numbers.clear();
        }
    }
    assert!(checked > 50, "{checked}");
}

#[test]
fn tcp_is_shown_as_tcp_from_the_handshake_on() {
    let (finished, records) = conversations("tcp", &[]);
    let mut next: BTreeMap<(u16, u16), u32> = BTreeMap::new();
    let mut handshakes = 0;
    for record in &records {
        let Some(tcp) = record.tcp() else { continue };
        let whole = record.original_length as usize - record.radiotap_bytes();
        let packet = record.packet().unwrap();
        let shown = record.frame.len();
        assert_eq!(
            whole - shown,
            tcp.payload as usize,
            "headers and no payload"
        );
        assert_eq!(tcp_checksum(packet), 0);
        let is_syn = packet[33] & 0x02 != 0;
        handshakes += u32::from(is_syn);
        assert!(is_syn || tcp.acknowledgement.is_some());
        let expected = next.entry(tcp.ports).or_default();
        // Nothing is lost on this channel, so the bytes come one after the other.
        if tcp.payload > 0 {
            assert_eq!(tcp.sequence, *expected, "{tcp:?}");
        }
        *expected = tcp.sequence + tcp.payload + u32::from(tcp.is_control);
    }
    assert!(handshakes >= 6, "{handshakes}");
    let retransmits: u64 = finished
        .summary
        .flows
        .iter()
        .filter_map(|flow| flow.retransmits)
        .sum();
    assert_eq!(retransmits, 0);
}

impl Captured {
    fn radiotap_bytes(&self) -> usize {
        let mut bytes = Vec::new();
        self.radiotap.write(&mut bytes)
    }
}

/// The checksum over an IPv4 packet's pseudo header and TCP header, whose payload is zeros: 0 if it
/// is right.
fn tcp_checksum(packet: &[u8]) -> u16 {
    let length = u16::from_be_bytes([packet[2], packet[3]]) - 20;
    let header = &packet[20..20 + usize::from(packet[32] >> 4) * 4];
    let mut sum = u32::from(length) + 6;
    for pair in packet[12..20].chunks(2).chain(header.chunks(2)) {
        sum += u32::from(u16::from_be_bytes([pair[0], pair[1]]));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[test]
fn the_packets_of_an_amsdu_are_in_one_mpdu_that_is_marked() {
    let (finished, records) = conversations("amsdu", &["channel.amsdu=4 kB"]);
    let mut packets = 0;
    let mut longest = 0;
    for record in &records {
        let Some((header, body)) = record.data() else {
            continue;
        };
        if header.amsdu {
            let inner = subframes(body);
            assert!(inner.len() > 1);
            assert!(inner.iter().all(|packet| packet[0] == 0x45));
            longest = longest.max(inner.len());
            packets += inner.len();
        } else {
            packets += 1;
        }
    }
    assert!(longest > 1, "{longest}");
    assert_eq!(packets, finished.outcome.mpdus.len());
}

#[test]
fn packets_in_a_tunnel_are_shown_as_the_conversation_that_they_carry() {
    let proxied = format!("{CONVERSATIONS}[[proxy]]\n");
    let loaded = loaded(&proxied, &[]);
    let finished = finished(&loaded);
    let records = records("tunnel", &finished, &loaded.scenario.record);
    let data = records.iter().filter_map(Captured::tcp);
    let bytes: u64 = data
        .filter(|tcp| tcp.ports.1 == 49_152)
        .map(|tcp| u64::from(tcp.payload))
        .sum();
    assert_eq!(bytes, 1_000_000, "the first download, each byte once");
}

#[test]
fn a_sender_that_misses_a_block_ack_is_shown_asking_for_it() {
    let hidden = "\
warm_up = \"0 s\"
duration = \"300 ms\"
[record]
pcap = true
[channel]
carrier_sense_range = \"60 m\"
block_ack_requests = true
[[node]]
kind = \"ap\"
position = [\"0 m\", \"0 m\"]
[[node]]
kind = \"station\"
name = \"left\"
position = [\"-50 m\", \"0 m\"]
rate = \"mcs 1\"
loss = 0
[[node]]
kind = \"station\"
name = \"right\"
position = [\"50 m\", \"0 m\"]
rate = \"mcs 1\"
loss = 0
[[flow]]
kind = \"udp-cbr\"
from = \"left\"
to = \"ap\"
rate = \"40 Mbit/s\"
[[flow]]
kind = \"udp-cbr\"
name = \"other\"
from = \"right\"
to = \"ap\"
rate = \"40 Mbit/s\"
";
    let loaded = loaded(hidden, &[]);
    let finished = finished(&loaded);
    let records = records("request", &finished, &loaded.scenario.record);
    let mut asked = None;
    let mut answered = 0;
    for record in &records {
        match record.control() {
            Some(ControlFrame::BlockAckRequest { start, tid: 0, .. }) => asked = Some(start),
            Some(ControlFrame::BlockAck(block_ack)) => {
                let reaches = asked
                    .take()
                    .is_some_and(|start| block_ack.has(start).is_some());
                answered += u32::from(reaches);
            }
            _ => {}
        }
    }
    assert!(answered > 0, "no request was answered");
}
