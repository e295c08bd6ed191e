//! The in-line box by itself: who is a station, where it is, and what happens to its frames.

mod insight;
mod remote;

use super::*;
use crate::proxy::Pacing;
use airpace_core::control::LawConfig;
use airpace_core::report::Sensor;
use airpace_core::sensor::ack_burst::{DownlinkSegment, FlowKey};
use core::hash::Hasher;

const PHONE: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const LAPTOP: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
const FLOW: FlowKey = FlowKey(7);

const fn ms(ms: u64) -> Time {
    Time::from_millis(ms)
}

/// A full-sized TCP segment.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Frame(u32);

impl Packet for Frame {
    fn bytes(&self) -> u32 {
        1500
    }

    fn hash_flow<H: Hasher>(&self, state: &mut H) {
        state.write_u8(0);
    }

    fn mark_ce(&mut self) -> bool {
        false
    }
}

impl DownlinkFrame for Frame {
    fn downlink(&self) -> DownlinkPacket {
        DownlinkPacket {
            bytes: 1500,
            tcp: Some(DownlinkSegment {
                flow: FLOW,
                sequence: self.0 * 1448,
                payload: 1448,
                timestamp: None,
            }),
            quic: None,
        }
    }
}

/// Two access points, the second with two ports.
fn config() -> InlineConfig {
    let medium = |name: &str| MediumConfig {
        name: name.to_owned(),
        stations: Vec::new(),
        bssid: None,
    };
    InlineConfig {
        media: vec![medium("hall"), medium("attic")],
        ports: vec![0, 1, 1],
        ..InlineConfig::default()
    }
}

fn inline(config: InlineConfig) -> Inline<Frame> {
    Inline::new(config, [9; 16]).expect("the law is valid")
}

fn changes(inline: &mut Inline<Frame>) -> Vec<StationChange> {
    std::iter::from_fn(|| inline.poll_change()).collect()
}

/// The ports to which frames leave at `now`, and the frames.
fn departures(inline: &mut Inline<Frame>, now: Time) -> Vec<(usize, u32)> {
    let departures = std::iter::from_fn(|| inline.poll(now));
    departures.map(|out| (out.port, out.frame.0)).collect()
}

#[test]
fn a_station_is_learnt_when_it_is_heard_and_its_frames_leave_by_its_port() {
    let mut inline = inline(config());
    assert_eq!(inline.on_downlink(ms(0), PHONE, Frame(0)), Err(Frame(0)));
    inline.on_uplink(ms(1), 2, PHONE, Uplink::Presence);
    assert_eq!(changes(&mut inline), [StationChange::Joined(PHONE)]);
    assert_eq!(inline.on_downlink(ms(2), PHONE, Frame(1)), Ok(()));
    assert_eq!(departures(&mut inline, ms(2)), [(2, 1)]);
    assert_eq!(inline.counts().unknown, 1);
}

#[test]
fn a_group_address_and_an_unknown_port_are_no_station() {
    let mut inline = inline(config());
    inline.on_uplink(ms(1), 0, MacAddr([0xff; 6]), Uplink::Presence);
    inline.on_uplink(ms(1), 3, PHONE, Uplink::Presence);
    assert_eq!(inline.station_count(), 0);
}

#[test]
fn a_station_that_roams_takes_what_waits_for_it_along() {
    let mut paced = config();
    paced.proxy.pacing = Pacing::Fixed(airpace_units::BitRate::from_mbps(12));
    let mut inline = inline(paced);
    inline.on_uplink(ms(1), 0, PHONE, Uplink::Presence);
    for number in 0..6 {
        inline
            .on_downlink(ms(1), PHONE, Frame(number))
            .expect("it is known");
    }
    let before = departures(&mut inline, ms(1));
    assert!(before.iter().all(|&(port, _)| port == 0) && before.len() < 6);
    inline.on_uplink(ms(2), 1, PHONE, Uplink::Presence);
    let mut after = Vec::new();
    for now in (2..30).map(ms) {
        inline.handle_timeout(now);
        after.extend(departures(&mut inline, now));
    }
    assert!(after.iter().all(|&(port, _)| port == 1), "{after:?}");
    assert_eq!(before.len() + after.len(), 6, "no frame is lost");
    assert_eq!(inline.counts().roamed, 1);
    assert_eq!(inline.stations().next().map(|s| s.medium), Some(1));
}

#[test]
fn a_frame_that_was_on_its_way_does_not_take_a_station_back() {
    let mut inline = inline(config());
    let mut port_after = |now, port| {
        inline.on_uplink(ms(now), port, PHONE, Uplink::Presence);
        let sent = inline.on_downlink(ms(now), PHONE, Frame(0));
        assert_eq!(sent, Ok(()));
        departures(&mut inline, ms(now))[0].0
    };
    assert_eq!(port_after(1, 0), 0);
    assert_eq!(port_after(100, 1), 1);
    // The programs' observations of two ports may also come in another order than the frames.
    assert_eq!(port_after(99, 0), 1);
    assert_eq!(port_after(120, 0), 1);
    assert_eq!(port_after(200, 0), 0, "it has gone back");
    assert_eq!(inline.counts().roamed, 2);
}

#[test]
fn two_ports_of_one_access_point_are_one_medium() {
    let mut inline = inline(config());
    inline.on_uplink(ms(1), 1, PHONE, Uplink::Presence);
    inline.on_uplink(ms(2), 2, PHONE, Uplink::Presence);
    inline
        .on_downlink(ms(3), PHONE, Frame(1))
        .expect("it is known");
    assert_eq!(departures(&mut inline, ms(3)), [(2, 1)]);
}

#[test]
fn a_listed_station_belongs_to_its_access_point_wherever_it_is_heard() {
    let mut listed = config();
    listed.media[1].stations.push(LAPTOP);
    let mut inline = inline(listed);
    inline.on_uplink(ms(1), 0, LAPTOP, Uplink::Presence);
    assert_eq!(inline.stations().next().map(|s| s.medium), Some(1));
}

#[test]
fn a_silent_station_leaves_and_comes_back() {
    let mut inline = inline(InlineConfig {
        leave_after: Duration::from_secs(10),
        ..config()
    });
    inline.on_uplink(ms(0), 0, PHONE, Uplink::Presence);
    inline.on_uplink(ms(9_000), 0, LAPTOP, Uplink::Presence);
    changes(&mut inline);
    inline.handle_timeout(ms(11_000));
    assert_eq!(changes(&mut inline), [StationChange::Left(PHONE)]);
    assert_eq!(inline.station_count(), 1);
    inline.on_uplink(ms(12_000), 0, PHONE, Uplink::Presence);
    assert_eq!(changes(&mut inline), [StationChange::Joined(PHONE)]);
}

#[test]
fn an_exempt_station_is_known_and_its_frames_pass() {
    let mut with_exempt = config();
    with_exempt.stations.push(KnownStation {
        mac: PHONE,
        name: Some("phone".to_owned()),
        weight: 1.0,
        is_exempt: true,
    });
    let mut inline = inline(with_exempt);
    inline.on_uplink(ms(0), 0, PHONE, Uplink::Presence);
    assert_eq!(changes(&mut inline), []);
    assert_eq!(inline.name(PHONE), Some("phone"));
    assert!(inline.set_exempt(ms(1), PHONE, false));
    assert_eq!(changes(&mut inline), [StationChange::Readmitted(PHONE)]);
    assert!(inline.set_exempt(ms(2), PHONE, true));
    assert_eq!(changes(&mut inline), [StationChange::Exempted(PHONE)]);
    assert!(!inline.set_exempt(ms(2), LAPTOP, true), "nobody knows it");
    // The configured name is kept.
    inline.on_name(PHONE, "android-1234");
    assert_eq!(inline.name(PHONE), Some("phone"));
}

/// The address number `i` of those that somebody invents.
fn invented(i: u16) -> MacAddr {
    let [high, low] = i.to_be_bytes();
    MacAddr([6, 0x66, 0, 0, high, low])
}

#[test]
fn invented_addresses_do_not_displace_a_station_to_which_frames_are_sent() {
    let mut inline = inline(InlineConfig {
        most_stations: 3,
        ..config()
    });
    inline.on_uplink(ms(0), 0, PHONE, Uplink::Presence);
    inline.on_downlink(ms(0), PHONE, Frame(0)).unwrap();
    for i in 0..100 {
        inline.on_uplink(ms(i.into()), 0, invented(i), Uplink::Presence);
    }
    assert!(inline.knows(PHONE));
    assert_eq!(inline.station_count(), 3);
    assert_eq!(inline.counts().crowded_out, 98);
    // Among themselves the one that was heard least recently gives way.
    assert!(inline.knows(invented(99)) && !inline.knows(invented(97)));
    inline.on_uplink(ms(200), 0, invented(98), Uplink::Presence);
    inline.on_uplink(ms(201), 0, LAPTOP, Uplink::Presence);
    assert!(inline.knows(invented(98)) && !inline.knows(invented(99)));
    // With stations alone that are sent frames there is no room, and the frames of others pass.
    for mac in [invented(98), LAPTOP] {
        inline.on_downlink(ms(202), mac, Frame(0)).unwrap();
    }
    inline.on_uplink(ms(203), 0, invented(100), Uplink::Presence);
    assert!(!inline.knows(invented(100)));
    assert_eq!(inline.counts().crowded_out, 100);
}

#[test]
fn few_places_are_kept_for_addresses_to_which_nothing_is_sent() {
    let named = KnownStation {
        mac: PHONE,
        name: None,
        weight: 1.0,
        is_exempt: true,
    };
    let mut inline = inline(InlineConfig {
        most_unconfirmed: 2,
        stations: vec![named],
        ..config()
    });
    // The frames of an exempt station pass, so that none is ever seen here.
    inline.on_uplink(ms(0), 0, PHONE, Uplink::Presence);
    for i in 0..10 {
        inline.on_uplink(ms(i.into()), 0, invented(i), Uplink::Presence);
    }
    let known: Vec<MacAddr> = inline.addresses().collect();
    assert_eq!(known, [PHONE, invented(8), invented(9)]);
    assert_eq!(
        inline.changes.len(),
        18,
        "as many have left as came too many"
    );
}

#[test]
fn a_wired_host_of_which_a_loop_returns_a_frame_is_no_longer_a_station() {
    let mut inline = inline(config());
    inline.on_uplink(ms(0), 0, LAPTOP, Uplink::Presence);
    inline.on_wired(ms(1), LAPTOP);
    assert!(!inline.knows(LAPTOP));
    assert_eq!(
        changes(&mut inline),
        [StationChange::Joined(LAPTOP), StationChange::Left(LAPTOP)]
    );
}

#[test]
fn a_station_of_which_a_loop_returns_frames_stays_and_one_that_moves_to_the_wire_leaves() {
    let mut inline = inline(config());
    inline.on_uplink(ms(0), 0, PHONE, Uplink::Presence);
    inline.on_downlink(ms(0), PHONE, Frame(0)).unwrap();
    for second in 0..10 {
        inline.on_wired(ms(1000 * second), PHONE);
        inline.on_uplink(
            ms(1000 * second + 500),
            0,
            PHONE,
            Uplink::Other { before_bytes: 0 },
        );
        inline.handle_timeout(ms(1000 * second + 600));
    }
    assert!(inline.knows(PHONE), "it is heard in between");
    inline.on_wired(ms(10_000), PHONE);
    inline.handle_timeout(ms(11_500));
    assert!(inline.knows(PHONE));
    inline.handle_timeout(ms(13_000));
    assert!(!inline.knows(PHONE));
}

#[test]
fn acknowledgements_that_pass_the_box_become_reports() {
    let mut measured = config();
    measured.proxy.pacing = Pacing::Law(LawConfig::default());
    measured.proxy.records = true;
    let mut inline = inline(measured);
    inline.on_uplink(ms(0), 0, PHONE, Uplink::Presence);
    let (mut number, mut sent) = (0, 0);
    // Every 4 ms the station acknowledges what has left since.
    for us in (0..2_000_000_u64).step_by(500) {
        let now = Time::from_micros(us);
        inline
            .on_downlink(now, PHONE, Frame(number))
            .expect("it is known");
        number += 1;
        inline.handle_timeout(now);
        sent += departures(&mut inline, now).len() as u32;
        if us % 4_000 == 0 {
            let ack = UplinkAck {
                flow: FLOW,
                number: sent * 1448,
                timestamps: None,
                highest_sack: None,
                before_bytes: None,
            };
            inline.on_uplink(now, 0, PHONE, Uplink::Ack(ack));
        }
    }
    let records: Vec<_> = std::iter::from_fn(|| inline.poll_record()).collect();
    assert!(records.len() >= 15, "one per slot");
    let last = records.last().and_then(|last| last.record.report.as_ref());
    let report = last.expect("the station was observed");
    assert_ne!(report.sensor, Sensor::Agent);
    assert!(report.bytes > 0, "{report:?}");
    assert!(records.iter().all(|record| record.mac == PHONE));
}

/// A box whose stations are paced at 12 Mbit/s, a full-sized packet per millisecond.
fn paced() -> InlineConfig {
    let mut paced = config();
    paced.proxy.pacing = Pacing::Fixed(airpace_units::BitRate::from_mbps(12));
    paced
}

fn known(weight: f64, is_exempt: bool) -> KnownStation {
    KnownStation {
        mac: PHONE,
        name: Some("phone".to_owned()),
        weight,
        is_exempt,
    }
}

/// Hands in so many frames for the phone.
fn fill(inline: &mut Inline<Frame>, now: Time, count: u32) {
    for number in 0..count {
        inline
            .on_downlink(now, PHONE, Frame(number))
            .expect("it is known");
    }
}

#[test]
fn what_waits_for_a_station_that_becomes_exempt_leaves_at_once() {
    let mut inline = inline(paced());
    inline.on_uplink(ms(1), 0, PHONE, Uplink::Presence);
    fill(&mut inline, ms(1), 20);
    let before = departures(&mut inline, ms(1)).len();
    assert!(before < 20);
    assert!(inline.set_exempt(ms(2), PHONE, true));
    assert_eq!(before + departures(&mut inline, ms(2)).len(), 20);
    assert_eq!(inline.stations().next().map(|s| s.granted), Some(None));
}

#[test]
fn another_configuration_changes_names_weights_and_exemptions_and_loses_no_frame() {
    let mut inline = inline(paced());
    inline.on_uplink(ms(1), 0, PHONE, Uplink::Presence);
    inline.on_name(PHONE, "android-1234");
    changes(&mut inline);
    fill(&mut inline, ms(1), 20);
    let mut sent = departures(&mut inline, ms(1)).len();
    let mut named = paced();
    named.stations.push(known(1.0, false));
    named.leave_after = Duration::from_secs(10);
    inline.reconfigure(ms(2), named).expect("it is valid");
    assert_eq!(inline.name(PHONE), Some("phone"));
    assert_eq!(changes(&mut inline), []);
    assert_eq!(inline.backlog(), 20 - sent, "nothing was dropped");
    // The rate holds on.
    sent += departures(&mut inline, ms(3)).len();
    assert!(sent < 20);
    let mut exempt = paced();
    exempt.stations.push(known(1.0, true));
    inline.reconfigure(ms(4), exempt).expect("it is valid");
    assert_eq!(changes(&mut inline), [StationChange::Exempted(PHONE)]);
    assert_eq!(sent + departures(&mut inline, ms(4)).len(), 20);
    // Without a configured name, the station's own holds again.
    inline.reconfigure(ms(5), paced()).expect("it is valid");
    assert_eq!(inline.name(PHONE), Some("android-1234"));
    assert_eq!(changes(&mut inline), [StationChange::Readmitted(PHONE)]);
}

#[test]
fn an_exemption_at_run_time_outlives_a_configuration_that_does_not_speak_of_it() {
    let mut inline = inline(paced());
    inline.on_uplink(ms(1), 0, PHONE, Uplink::Presence);
    inline.set_exempt(ms(1), PHONE, true);
    inline.reconfigure(ms(2), paced()).expect("it is valid");
    assert!(inline.stations().all(|station| station.is_exempt));
}

#[test]
fn a_configuration_with_other_ports_or_a_weight_that_the_law_refuses_changes_nothing() {
    let mut inline = inline(paced());
    inline.on_uplink(ms(1), 0, PHONE, Uplink::Presence);
    let mut other_ports = paced();
    other_ports.ports.push(0);
    other_ports.stations.push(known(1.0, true));
    let refused = inline.reconfigure(ms(2), other_ports);
    assert_eq!(refused, Err(ReconfigureError::Ports));
    let mut heavy = config();
    heavy.proxy.pacing = Pacing::Law(LawConfig::default());
    heavy.stations.push(known(1e6, true));
    assert!(matches!(
        inline.reconfigure(ms(2), heavy),
        Err(ReconfigureError::Law(_))
    ));
    assert_eq!(inline.name(PHONE), None);
    assert!(inline.stations().all(|station| !station.is_exempt));
}

#[test]
fn a_dry_run_holds_nothing_back_and_tells_what_it_would_have_held() {
    let mut dry = paced();
    dry.proxy.dry_run = true;
    let mut inline = inline(dry);
    inline.on_uplink(ms(1), 0, PHONE, Uplink::Presence);
    fill(&mut inline, ms(1), 20);
    assert_eq!(departures(&mut inline, ms(1)).len(), 20);
    let status = inline.stations().next().expect("the phone");
    assert!(status.granted.is_some());
    inline.handle_timeout(inline.slot_end());
    let report = inline.stations().next().and_then(|s| s.report.cloned());
    let held = report.expect("a slot has ended").sender.held_packets;
    assert!((15..20).contains(&held), "{held} of 20");
    // The same box paces when the dry run ends.
    inline.reconfigure(ms(200), paced()).expect("it is valid");
    fill(&mut inline, ms(300), 20);
    assert!(departures(&mut inline, ms(300)).len() < 20);
}

#[test]
fn uplink_counted_by_others_counts_as_airtime_and_as_a_sign_of_life() {
    let mut inline = inline(InlineConfig {
        leave_after: Duration::from_secs(10),
        ..config()
    });
    inline.on_uplink(ms(0), 0, PHONE, Uplink::Presence);
    inline.on_uplink_use(PHONE, 3, 45_000, ms(9_000));
    inline.handle_timeout(ms(11_000));
    assert!(inline.knows(PHONE));
    let report = inline.stations().next().and_then(|s| s.report.cloned());
    let sender = report.expect("a slot has ended").sender;
    assert_eq!((sender.uplink_frames, sender.uplink_bytes), (3, 45_000));
}
