//! The agent's decisions in simulated time.

use super::*;
use crate::packet::PacketBuf;
use ::core::time::Duration;
use airpace_api::config::AgentConfig;
use airpace_core::report::LevelSource;
use airpace_core::wire::ieee80211::{self, DataHeader, MacAddr};
use airpace_core::wire::radiotap::{Ampdu, Radiotap};
use airpace_core::wire::report;
use airpace_edge::tunnel::{InnerKind, Opened, SendTime};
use airpace_units::{StationId, Time};

const ME: MacAddr = MacAddr([2, 0, 0, 0, 0, 5]);
const OTHER: MacAddr = MacAddr([2, 0, 0, 0, 0, 6]);
const ACCESS_POINT: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

fn agent(extra: &str) -> PacketAgent {
    let text = format!(
        r#"
proxy = "192.0.2.1:51900"
proxy_public_key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
private_key_file = "unused"
{extra}
[tun]
address = "10.77.0.2/24"
"#
    );
    PacketAgent::new(
        Time::ZERO,
        &AgentConfig::from_toml(&text).expect("valid"),
        Duration::ZERO,
        [1; 16],
    )
}

fn frame(reference: u32, sequence: u16, to: MacAddr, packet: usize) -> Vec<u8> {
    let radiotap = Radiotap {
        ampdu: Some(Ampdu::new(reference, false)),
        ..Radiotap::default()
    };
    let mut bytes = Vec::new();
    radiotap.write(&mut bytes);
    let mut ip = vec![0; packet];
    ip[0] = 0x45;
    ieee80211::write_frame(
        &DataHeader::downlink(to, ACCESS_POINT, sequence, false),
        &ip,
        false,
        &mut bytes,
    );
    bytes
}

#[test]
fn frames_of_the_monitor_become_the_report() {
    let mut agent = agent("");
    let mut sequence = 0;
    for n in 0..50_u32 {
        for _ in 0..8 {
            let bytes = frame(n, sequence, ME, 1488);
            agent.on_frame(Time::from_micros(u64::from(n) * 2_000), &bytes, bytes.len());
            sequence = (sequence + 1) % 4096;
        }
    }
    assert!(agent.handle_timeout(Time::from_millis(99)).is_none());
    let (encoded, record) = agent
        .handle_timeout(Time::from_millis(100))
        .expect("the slot is over");
    let report = report::decode(StationId(0), &encoded).expect("valid");
    assert_eq!(report.source, LevelSource::AmpduReference);
    assert_eq!(report.level(), Some(8.0));
    assert!((report.round_s().expect("many frames") - 2e-3).abs() < 1e-5);
    assert_eq!(record.source, "ampdu");
    assert_eq!(agent.counts().metered, 400);
}

#[test]
fn frames_of_others_and_rubbish_are_not_counted() {
    let mut agent = agent("");
    agent.listen_for(ME.0);
    let bytes = frame(1, 1, OTHER, 100);
    agent.on_frame(Time::ZERO, &bytes, bytes.len());
    let multicast = frame(1, 1, MacAddr([0xff; 6]), 100);
    agent.on_frame(Time::ZERO, &multicast, multicast.len());
    for cut in 0..bytes.len() {
        agent.on_frame(Time::ZERO, &bytes[..cut], bytes.len());
    }
    agent.on_frame(Time::ZERO, &[0xff; 90], 90);
    assert_eq!(agent.counts().metered, 0);
    let mine = frame(1, 1, ME, 100);
    // The capture is cut off, as it is for long frames.
    agent.on_frame(Time::ZERO, &mine[..60], mine.len());
    assert_eq!(agent.counts().metered, 1);
}

#[test]
fn without_a_monitor_arrival_times_make_the_frames() {
    let mut agent = agent("");
    let mut counter = 0;
    for n in 0..40_u64 {
        for k in 0..5 {
            let arrival = Time::from_micros(n * 2_500 + k);
            let mut payload = vec![0; 1400];
            let message = Opened {
                peer: 0,
                kind: InnerKind::Packet,
                session: 4,
                counter,
                sent: SendTime::of(arrival),
                payload: &mut payload,
            };
            agent.on_message(arrival, &message, 0);
            counter += 1;
        }
    }
    let (encoded, _) = agent
        .handle_timeout(Time::from_millis(101))
        .expect("the slot is over");
    let report = report::decode(StationId(0), &encoded).expect("valid");
    assert_eq!(report.source, LevelSource::SocketTimestamps);
    assert!((report.level().expect("frames") - 5.0).abs() < 0.1);
}

/// Times in milliseconds at which the agent reports, of those at which it is called.
fn report_times(agent: &mut PacketAgent, called: impl Iterator<Item = u64>) -> Vec<u64> {
    called
        .filter(|ms| agent.handle_timeout(Time::from_millis(*ms)).is_some())
        .collect()
}

#[test]
fn an_idle_station_reports_every_fourth_slot_and_survives_a_pause_of_the_machine() {
    let mut agent = agent("");
    let called = (0..2_000).step_by(7).chain((9_000..9_500).step_by(7));
    let ends = report_times(&mut agent, called);
    // The first slot ends by itself; each later one has no frames and is extended three times. The
    // times are the next multiples of 7 ms.
    assert_eq!(ends[..5], [105, 504, 903, 1_302, 1_701]);
    // After the pause slots begin anew.
    assert!(
        agent
            .deadline()
            .is_some_and(|due| due <= Time::from_millis(9_600))
    );
}

#[test]
fn the_uplink_is_shaped_if_so_configured() {
    let mut shaped = agent("[uplink]\nrate = \"10 Mbit/s\"\n");
    let mut free = agent("");
    let mut ip = vec![0; 1182];
    ip[0] = 0x45;
    for agent in [&mut shaped, &mut free] {
        for _ in 0..100 {
            agent.on_packet(Time::ZERO, PacketBuf::new(Time::ZERO, ip.clone()));
        }
    }
    assert_eq!(std::iter::from_fn(|| free.poll(Time::ZERO)).count(), 100);
    let mut sent = 0;
    for us in (0..50_000).step_by(100) {
        sent += std::iter::from_fn(|| shaped.poll(Time::from_micros(us))).count();
    }
    // Packets of 10000 bits with the tunnel's headers: one per millisecond, and a burst.
    assert!((50..=53).contains(&sent), "{sent}");
}

/// A TCP segment over IPv4 that acknowledges and does nothing else; `mark` tells it from others.
fn ack(mark: u8) -> PacketBuf {
    let mut ip = vec![0; 40];
    (ip[0], ip[3], ip[9]) = (0x45, 40, 6);
    (ip[27], ip[32], ip[33]) = (mark, 0x50, 0x10);
    PacketBuf::new(Time::ZERO, ip)
}

fn marks(agent: &mut PacketAgent, now: Time) -> Vec<u8> {
    std::iter::from_fn(|| agent.poll(now))
        .map(|packet| packet.as_bytes()[27])
        .collect()
}

#[test]
fn acknowledgements_wait_for_company_and_leave_together_in_order() {
    let mut agent = agent("[uplink]\ngather_acks = \"3 ms\"\n");
    agent.on_packet(Time::from_millis(10), ack(1));
    agent.on_packet(Time::from_millis(12), ack(2));
    assert_eq!(agent.deadline(), Some(Time::from_millis(13)));
    assert!(marks(&mut agent, Time::from_micros(12_999)).is_empty());
    assert_eq!(marks(&mut agent, Time::from_millis(13)), [1, 2]);
    assert_eq!(agent.deadline(), Some(Time::from_millis(100)));
}

#[test]
fn any_other_packet_takes_the_waiting_acknowledgements_along() {
    let mut agent = agent("");
    agent.on_packet(Time::ZERO, ack(1));
    let mut segment = ack(2).as_bytes().to_vec();
    segment.push(0);
    segment[3] = 41;
    agent.on_packet(Time::ZERO, PacketBuf::new(Time::ZERO, segment));
    assert_eq!(marks(&mut agent, Time::ZERO), [1, 2]);
}

#[test]
fn no_acknowledgement_waits_if_so_configured() {
    let mut agent = agent("[uplink]\ngather_acks = \"0 ms\"\n");
    agent.on_packet(Time::ZERO, ack(1));
    assert_eq!(marks(&mut agent, Time::ZERO), [1]);
}

#[test]
fn a_flood_of_acknowledgements_is_not_held() {
    let mut agent = agent("");
    for mark in 0..100 {
        agent.on_packet(Time::ZERO, ack(mark));
    }
    assert_eq!(marks(&mut agent, Time::ZERO), (0..65).collect::<Vec<u8>>());
}
