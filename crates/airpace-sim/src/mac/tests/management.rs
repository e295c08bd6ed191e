//! Management frames, radios that are away or sleep, and groups.

use super::air::{Flow, drive};
use super::*;
use airpace_core::phy::{LegacyRate, Medium};

/// Two access points and two stations in range of each other; all listen.
fn four() -> MacConfig {
    let radio = RadioConfig {
        listens: true,
        ..RadioConfig::new()
    };
    let both = |a, b| {
        let link = |from, to| LinkConfig::new(RadioId(from), RadioId(to), vht(1, 7));
        [link(a, b), link(b, a)]
    };
    let links = [both(0, 2), both(1, 2), both(0, 3)].concat();
    MacConfig::new(vec![radio; 4], links)
}

fn frame(to: Option<u32>, kind: ManagementKind, bytes: u32) -> ManagementFrame {
    let to = to.map(RadioId);
    ManagementFrame { to, kind, bytes }
}

/// Runs to the end of everything that is due before 50 ms.
fn settle(mac: &mut Mac<Datagram>) -> Vec<ManagementEvent> {
    while let Some(due) = mac.deadline().filter(|&due| due < Time::from_millis(50)) {
        mac.handle(due, Input::Tick);
    }
    core::iter::from_fn(|| mac.poll_management()).collect()
}

fn manage(mac: &mut Mac<Datagram>, at_us: u64, from: u32, frame: ManagementFrame) {
    let from = RadioId(from);
    mac.handle(Time::from_micros(at_us), Input::Manage { from, frame });
}

#[test]
fn a_probe_and_its_answers_take_the_airtime_of_the_lowest_basic_rate() {
    let mut mac = Mac::new(four(), 1).unwrap();
    let request = frame(None, ManagementKind::ProbeRequest, 110);
    manage(&mut mac, 100, 2, request);
    let heard: Vec<RadioId> = settle(&mut mac)
        .into_iter()
        .filter_map(|event| match event {
            ManagementEvent::Received { by, .. } => Some(by),
            ManagementEvent::Sent { arrived, .. } => {
                assert!(arrived);
                None
            }
        })
        .collect();
    assert_eq!(heard, [0, 1, 3].map(RadioId));
    for (access_point, at_us) in [(0, 1_000), (1, 2_000)] {
        let answer = frame(Some(2), ManagementKind::ProbeResponse, 158);
        manage(&mut mac, at_us, access_point, answer);
        settle(&mut mac);
    }
    // 6 Mbit/s: 24 bits in each symbol of 4 µs, after 20 µs of preamble, with 16 bits of service
    // and 6 of tail. 110 bytes are 902 bits, 38 symbols; 158 are 1286 bits, 54; an ack of 14 bytes
    // is 134 bits, 6.
    let us = |us| Duration::from_micros(us);
    let (request, answer, ack) = (us(20 + 38 * 4), us(20 + 54 * 4), us(20 + 6 * 4));
    assert_eq!(mac.airtime(RadioId(2)).management, request);
    assert_eq!(mac.airtime(RadioId(2)).control, 2 * ack);
    for access_point in [0, 1] {
        assert_eq!(mac.airtime(RadioId(access_point)).management, answer);
    }
    let busy = mac.channel(RadioId(3), Time::from_millis(50)).busy;
    assert_eq!(busy, request + 2 * answer + 2 * ack);
}

#[test]
fn a_frame_for_a_radio_that_is_away_is_repeated_up_to_the_retry_limit() {
    let mut mac = Mac::new(four(), 1).unwrap();
    let radio = RadioId(2);
    let away = |is_away| Input::SetAway { radio, is_away };
    mac.handle(Time::ZERO, away(true));
    let request = frame(Some(2), ManagementKind::AuthenticationResponse, 34);
    manage(&mut mac, 100, 0, request);
    let events = settle(&mut mac);
    assert!(matches!(
        events[..],
        [ManagementEvent::Sent { arrived: false, .. }]
    ));
    // 34 bytes are 294 bits, 13 symbols.
    assert_eq!(
        mac.airtime(RadioId(0)).management,
        7 * Duration::from_micros(20 + 13 * 4)
    );
}

#[test]
fn a_radio_that_is_away_sends_when_it_is_back() {
    let mut mac = Mac::new(four(), 1).unwrap();
    let radio = RadioId(2);
    let away = |is_away| Input::SetAway { radio, is_away };
    mac.handle(Time::ZERO, away(true));
    let send = Input::Send {
        from: radio,
        to: RadioId(0),
        packet: Datagram::new(0, IP_BYTES),
    };
    mac.handle(Time::from_millis(1), send);
    let request = frame(Some(0), ManagementKind::Wakes, 28);
    manage(&mut mac, 1_000, 2, request);
    assert_eq!(settle(&mut mac), []);
    assert_eq!(mac.poll().map(|output| format!("{output:?}")), None);
    mac.handle(Time::from_millis(20), away(false));
    assert_eq!(settle(&mut mac).len(), 2);
    let outputs = core::iter::from_fn(|| mac.poll());
    assert!(outputs.into_iter().any(|output| match output {
        Output::Delivered { at, .. } => at > Time::from_millis(20),
        _ => false,
    }));
}

/// Sends `count` packets from radio 0 to radio 2 at time zero under a scheme; returns the MAC.
fn loaded(scheme: Scheme, hardware: Option<u16>, count: u64) -> Mac<Datagram> {
    let mut config = four();
    config.radios[0].path = PathConfig::of(scheme);
    if let Some(hardware) = hardware {
        config.radios[0].path.hardware = hardware;
    }
    let mut mac = Mac::new(config, 1).unwrap();
    for number in 0..count {
        let send = Input::Send {
            from: RadioId(0),
            to: RadioId(2),
            packet: Datagram::new(number, IP_BYTES),
        };
        mac.handle(Time::ZERO, send);
    }
    mac
}

#[test]
fn packets_for_a_radio_that_sleeps_wait_and_others_do_not() {
    for &scheme in Scheme::ALL {
        for hardware in [Some(0), Some(2), None] {
            let mut mac = loaded(scheme, hardware, 0);
            let sleeps = |asleep| Input::SetAsleep {
                from: RadioId(0),
                to: RadioId(2),
                asleep,
            };
            // A lane exists from the first packet on.
            for (at_us, to) in [(0, 2), (3_000, 2), (3_000, 3)] {
                if at_us > 0 && to == 2 {
                    mac.handle(Time::from_micros(2_000), sleeps(true));
                }
                let send = Input::Send {
                    from: RadioId(0),
                    to: RadioId(to),
                    packet: Datagram::new(u64::from(to), IP_BYTES),
                };
                mac.handle(Time::from_micros(at_us), send);
            }
            settle(&mut mac);
            let count = |mac: &mut Mac<Datagram>| {
                let outputs = core::iter::from_fn(|| mac.poll());
                let delivered = |output: Output<Datagram>| match output {
                    Output::Delivered { packet, .. } => Some(packet.id),
                    _ => None,
                };
                outputs.filter_map(delivered).collect::<Vec<u64>>()
            };
            assert_eq!(count(&mut mac), [2, 3], "{scheme:?} {hardware:?}");
            mac.handle(Time::from_millis(20), sleeps(false));
            settle(&mut mac);
            assert_eq!(count(&mut mac), [2], "{scheme:?} {hardware:?}");
            assert_eq!(mac.held(RadioId(0)), 0);
        }
    }
}

#[test]
fn what_is_held_for_a_radio_that_has_left_is_dropped_and_counted() {
    for &scheme in Scheme::ALL {
        for hardware in [Some(0), Some(2), None] {
            let mut mac = loaded(scheme, hardware, 300);
            // In the middle of a frame, of which the receiver gets nothing any more.
            mac.handle(Time::from_micros(1_500), Input::Tick);
            let (from, to) = (RadioId(0), RadioId(2));
            let is_deaf = true;
            mac.handle(
                Time::from_micros(1_500),
                Input::SetDeaf { from, to, is_deaf },
            );
            mac.handle(Time::from_micros(1_500), Input::Forget { from, to });
            settle(&mut mac);
            let (mut delivered, mut dropped) = (0, 0);
            while let Some(output) = mac.poll() {
                match output {
                    Output::Delivered { .. } => delivered += 1,
                    Output::Dropped { .. } => dropped += 1,
                    _ => {}
                }
            }
            assert_eq!(delivered + dropped, 300, "{scheme:?} {hardware:?}");
            assert!(dropped > 100, "{scheme:?} {hardware:?} {dropped}");
            assert_eq!(mac.held(RadioId(0)), 0, "{scheme:?} {hardware:?}");
            // A new association begins with sequence number 0.
            let is_deaf = false;
            mac.handle(Time::from_millis(30), Input::SetDeaf { from, to, is_deaf });
            mac.handle(Time::from_millis(30), Input::Forget { from, to });
            let packet = Datagram::new(1_000, IP_BYTES);
            mac.handle(Time::from_millis(30), Input::Send { from, to, packet });
            settle(&mut mac);
            let outputs = core::iter::from_fn(|| mac.poll());
            let sequences = outputs.filter_map(|output| match output {
                Output::Delivered { mpdu, .. } => Some(mpdu.sequence),
                _ => None,
            });
            assert_eq!(
                sequences.collect::<Vec<u16>>(),
                [0],
                "{scheme:?} {hardware:?}"
            );
        }
    }
}

#[test]
fn a_frame_for_a_group_is_sent_once_and_received_by_each_member_or_not() {
    let mut config = four();
    let link = config
        .links
        .iter_mut()
        .find(|link| (link.from.0, link.to.0) == (0, 3));
    link.unwrap().quality = Quality::Loss(1.0);
    config.links.push(LinkConfig {
        group: true,
        members: vec![RadioId(2), RadioId(3)],
        ..LinkConfig::new(RadioId(0), RadioId(0), TxRate::legacy(LegacyRate::Mbps6))
    });
    let mut mac = Mac::new(config, 1).unwrap();
    let flow = Flow::new(0, 0, 10_000);
    let log = drive(&mut mac, &[flow], Duration::from_secs(1));
    let sent = log.frames.len() as u64;
    assert!(sent > 95);
    assert_eq!(log.delivered[0].0, sent);
    assert_eq!(log.dropped.len() as u64, sent);
    assert!(
        log.dropped
            .iter()
            .all(|&reason| reason == DropReason::Missed)
    );
    let bytes = log.frames[0].psdu_bytes;
    let airtime = Medium::GHZ_5.control_airtime(LegacyRate::Mbps6, bytes);
    assert_eq!(log.frames[0].airtime, airtime);
    let RadioAirtime { data, control, .. } = mac.airtime(RadioId(0));
    assert_eq!((data, control), (airtime * sent as u32, Duration::ZERO));
    for station in [2, 3] {
        assert_eq!(mac.airtime(RadioId(station)), RadioAirtime::default());
    }
}
