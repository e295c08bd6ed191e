//! The radio near the access point and the agents on stations, beside what passes the box.

use super::{FLOW, Frame, LAPTOP, PHONE, config, departures, inline, ms};
use crate::inline::*;
use crate::proxy::Pacing;
use airpace_core::control::LawConfig;
use airpace_core::phy::{GuardInterval, LegacyRate, SIFS, Standard, Timing, TxRate, Width};
use airpace_core::report::{LevelSource, Sensor, SlotReport, WaitSource};
use airpace_core::sensor::block_ack::Unusable;
use airpace_core::wire::control::BlockAck;
use airpace_core::wire::ieee80211::DataHeader;
use airpace_core::wire::radiotap::{Flags, Radiotap};
use airpace_units::StationId;

const BSSID: MacAddr = MacAddr([2, 0, 0, 0, 9, 0]);
/// A second network of the same access point.
const GUESTS: MacAddr = MacAddr([2, 0, 0, 0, 9, 1]);
const NEIGHBOUR: MacAddr = MacAddr([2, 0, 0, 0, 8, 0]);
/// A block ack of 32 bytes at 24 Mbit/s.
const BLOCK_ACK_TIME: Duration = Duration::from_micros(32);

fn measured() -> Inline<Frame> {
    let mut measured = config();
    measured.proxy.pacing = Pacing::Law(LawConfig::default());
    measured.proxy.records = true;
    inline(measured)
}

/// VHT at 80 MHz, MCS 9, one stream: 390 Mbit/s.
fn data_rate() -> TxRate {
    TxRate::new(Standard::Vht, Width::Mhz80, 1, 9, GuardInterval::Ns800).expect("a rate of VHT")
}

fn radiotap(at: Time, rate: TxRate) -> Vec<u8> {
    let mut bytes = Vec::new();
    Radiotap {
        // The radio's clock is ahead of the box's by an hour.
        tsft_us: Some(at.as_nanos() / 1_000 + 3_600_000_000),
        flags: Some(Flags::default()),
        ..Radiotap::default()
    }
    .with_rate(rate)
    .write(&mut bytes);
    bytes
}

/// A block ack up to `highest`, as a monitor interface shows it, that is on the air at `at`.
fn block_ack(at: Time, station: MacAddr, bssid: MacAddr, highest: u16) -> Vec<u8> {
    let mut bytes = radiotap(at, TxRate::legacy(LegacyRate::Mbps24));
    let block_ack = BlockAck {
        receiver: bssid,
        transmitter: station,
        tid: 0,
        start: (highest + 4_096 - 63) % 4_096,
        bitmap: &[0xff; 8],
    };
    block_ack.write(&mut bytes);
    bytes
}

/// The header of a downlink MPDU, with the length of the whole.
fn data(at: Time, station: MacAddr, sequence: u16) -> (Vec<u8>, usize) {
    let mut bytes = radiotap(at, data_rate());
    let before = bytes.len();
    DataHeader::downlink(station, BSSID, sequence, false).write(&mut bytes);
    (bytes, before + 1_534)
}

/// Numbers of packets that each station has.
const PACKETS_PER_STATION: u32 = 1_000_000;

/// A cell in which every frame carries what the box has sent since the last one.
pub(super) struct Cell {
    pub(super) inline: Inline<Frame>,
    stations: Vec<StationInCell>,
    /// Packets to each station in a quarter of a millisecond.
    load: u32,
}

struct StationInCell {
    mac: MacAddr,
    bssid: MacAddr,
    /// Number of the next packet, and the one that was sent last.
    next: u32,
    last: u32,
    /// Packets sent since the last frame, and the highest sequence number of the MAC.
    sent: u32,
    highest: u16,
    acknowledges: bool,
}

impl Cell {
    pub(super) fn new(stations: &[(MacAddr, MacAddr)]) -> Self {
        let mut inline = measured();
        for &(mac, _) in stations {
            inline.on_uplink(ms(0), 0, mac, Uplink::Presence);
        }
        let firsts = (0..).step_by(PACKETS_PER_STATION as usize);
        let stations = stations.iter().zip(firsts);
        let stations = stations.map(|(&(mac, bssid), first)| StationInCell {
            mac,
            bssid,
            next: first,
            last: first,
            sent: 0,
            highest: 0,
            acknowledges: false,
        });
        Self {
            inline,
            stations: stations.collect(),
            load: 1,
        }
    }

    /// Runs from `from` to `to`: packets all the time, and a frame to each station every 4 ms. With
    /// `radio`, the radio shows its headers and its block ack.
    pub(super) fn run(&mut self, from: Time, to: Time, radio: bool) {
        let micros = |time: Time| time.as_nanos() / 1_000;
        for us in (micros(from)..micros(to)).step_by(250) {
            let now = Time::from_micros(us);
            self.inline.handle_timeout(now);
            for index in 0..self.stations.len() {
                let station = &mut self.stations[index];
                for _ in 0..self.load {
                    let frame = Frame(station.next);
                    station.next += 1;
                    self.inline
                        .on_downlink(now, station.mac, frame)
                        .expect("it is known");
                }
            }
            for (_, number) in departures(&mut self.inline, now) {
                let station = &mut self.stations[(number / PACKETS_PER_STATION) as usize];
                station.last = number;
                station.sent += 1;
            }
            if us % 4_000 == 0 {
                for index in 0..self.stations.len() {
                    self.send_frame(now, index, radio);
                }
            }
            while self.inline.poll_drop().is_some() {}
        }
    }

    fn send_frame(&mut self, now: Time, index: usize, radio: bool) {
        let station = &mut self.stations[index];
        let packets = core::mem::take(&mut station.sent);
        if packets == 0 {
            return;
        }
        let first = station.highest + 1;
        station.highest = (station.highest + packets as u16) % 4_096;
        // One station's frame follows the other's.
        let start = now + Duration::from_micros(600) * index as u32;
        let bytes = packets * 1_536;
        let end = start + data_rate().ppdu_duration(bytes, Timing::Standard);
        if radio {
            for offset in 0..packets as u16 {
                let (header, length) = data(start, station.mac, (first + offset) % 4_096);
                self.inline.on_radio_frame(end, 0, &header, length);
            }
            let answer = block_ack(end + SIFS, station.mac, station.bssid, station.highest);
            let arrival = end + SIFS + BLOCK_ACK_TIME;
            self.inline
                .on_radio_frame(arrival, 0, &answer, answer.len());
        }
        if station.acknowledges {
            let ack = UplinkAck {
                flow: FLOW,
                number: (station.last + 1) * 1_448,
                timestamps: None,
                highest_sack: None,
                before_bytes: None,
            };
            self.inline.on_uplink(now, 0, station.mac, Uplink::Ack(ack));
        }
    }

    /// The reports of a station so far.
    fn reports(&mut self, mac: MacAddr) -> Vec<SlotReport> {
        let records = std::iter::from_fn(|| self.inline.poll_record());
        records
            .filter(|record| record.mac == mac)
            .filter_map(|record| record.record.report)
            .collect()
    }
}

fn sensors(reports: &[SlotReport]) -> Vec<Sensor> {
    reports.iter().map(|report| report.sensor).collect()
}

/// The report of an agent on its slot `slot`: 25 frames of 20 packets, 4 ms apart, at 390 Mbit/s.
fn agent_report(slot: u64) -> SlotReport {
    SlotReport {
        slot,
        frames: 25,
        mpdus: 500,
        packets: 500,
        bytes: 750_000,
        span: Some((ms(100 * slot), ms(100 * slot + 96))),
        inverse_rate_sum: 25.0 / 390e6,
        source: LevelSource::AmpduReference,
        ..SlotReport::silent(StationId(77), Duration::from_millis(100))
    }
}

#[test]
fn block_acks_give_level_round_and_rate_of_every_station_of_the_cell() {
    let mut cell = Cell::new(&[(PHONE, BSSID), (LAPTOP, BSSID)]);
    cell.run(ms(0), ms(3_000), true);
    let reports = cell.reports(PHONE);
    let last = reports.last().expect("a report per slot");
    assert_eq!(last.sensor, Sensor::BlockAck, "{:?}", sensors(&reports));
    assert!((24..=26).contains(&last.frames), "{last:?}");
    let round = last.round_s().expect("many frames");
    assert!((round - 0.004).abs() < 1e-4, "{round}");
    let rate = last.phy_rate_bps().expect("data headers were heard");
    assert!((rate / 390e6 - 1.0).abs() < 0.01, "{rate}");
    // What was sent is what the frames carried.
    let sent = last.sender.sent_packets;
    assert!(last.packets.abs_diff(sent) <= sent / 10, "{last:?}");
    let counts = cell.inline.radio_counts(0).expect("there is a medium");
    assert!(counts.control > 1_000 && counts.data > 1_000 && counts.malformed == 0);
}

#[test]
fn each_network_of_an_access_point_is_learnt_by_its_stations() {
    let mut cell = Cell::new(&[(PHONE, BSSID), (LAPTOP, GUESTS)]);
    cell.run(ms(0), ms(2_000), true);
    let records: Vec<_> = std::iter::from_fn(|| cell.inline.poll_record()).collect();
    for mac in [PHONE, LAPTOP] {
        let last = records.iter().rfind(|record| record.mac == mac);
        let report = last.and_then(|last| last.record.report.as_ref());
        assert_eq!(report.map(|report| report.sensor), Some(Sensor::BlockAck));
    }
}

#[test]
fn what_neighbours_send_is_air_that_others_use_and_no_station() {
    let mut cell = Cell::new(&[(PHONE, BSSID)]);
    let stranger = MacAddr([2, 0, 0, 0, 8, 7]);
    for slot in 0..20 {
        cell.run(ms(100 * slot), ms(100 * (slot + 1)), true);
        for frame in 0..10 {
            let at = ms(100 * slot + 10 * frame + 5);
            let bytes = block_ack(at, stranger, NEIGHBOUR, (10 * frame) as u16);
            cell.inline.on_radio_frame(at, 0, &bytes, bytes.len());
        }
    }
    cell.inline.handle_timeout(ms(2_000));
    let air = cell.inline.air_use(0).expect("there is a medium");
    let expected = 10 * BLOCK_ACK_TIME;
    assert!(
        air.others >= expected / 2 && air.others <= expected * 2,
        "{air:?}"
    );
    let share = cell.inline.air_of_others(0).expect("the radio has heard");
    assert!(
        (share - air.others.as_secs_f64() / 0.1).abs() < 1e-9,
        "{share}"
    );
    assert_eq!(cell.inline.station_count(), 1);
}

#[test]
fn a_radio_that_is_away_or_silent_tells_nothing_of_the_air_of_others() {
    let mut cell = Cell::new(&[(PHONE, BSSID)]);
    cell.run(ms(0), ms(2_000), true);
    assert!(cell.inline.air_of_others(0).is_some());
    assert_eq!(cell.inline.radio_trouble(0), None);
    for (state, trouble) in [
        (RadioState::Down, "ip link set air0 up"),
        (RadioState::Missing, "has been missing"),
    ] {
        cell.inline.on_radio_state(ms(2_000), 0, "air0", state);
        assert_eq!(cell.inline.air_of_others(0), None);
        let told = cell.inline.radio_trouble(0).expect("it is away");
        assert!(told.contains(trouble), "{told}");
        assert_eq!(cell.inline.cell(0).air_of_others, None);
    }
    let radio = cell.inline.nearby_radio(0).expect("it was told").clone();
    assert_eq!((radio.interface.as_str(), radio.since), ("air0", ms(2_000)));
    cell.inline
        .on_radio_state(ms(2_000), 0, "air0", RadioState::Up);
    assert!(cell.inline.air_of_others(0).is_some());
    assert_eq!(cell.inline.radio_trouble(0), None);
    cell.run(ms(2_000), ms(13_000), false);
    assert_eq!(cell.inline.air_of_others(0), None, "up, and on no channel");
    let told = cell.inline.radio_trouble(0).expect("it shows nothing");
    assert!(told.contains("iw dev air0 info"), "{told}");
}

#[test]
fn a_radio_that_falls_silent_gives_way_to_what_passes_the_box() {
    let mut cell = Cell::new(&[(PHONE, BSSID)]);
    cell.stations[0].acknowledges = true;
    let unused = |cell: &Cell| cell.inline.stations().next().unwrap().radio_unused;
    cell.inline.on_radio_state(ms(0), 0, "air0", RadioState::Up);
    cell.run(ms(0), ms(2_000), true);
    assert_eq!(
        cell.reports(PHONE).last().map(|r| r.sensor),
        Some(Sensor::BlockAck)
    );
    assert_eq!(unused(&cell), None);
    cell.run(ms(2_000), ms(4_000), false);
    assert_eq!(unused(&cell), Some(Unusable::Unheard));
    // What is the matter with one that is down is told elsewhere.
    for (state, expected) in [
        (RadioState::Down, None),
        (RadioState::Up, Some(Unusable::Unheard)),
    ] {
        cell.inline.on_radio_state(ms(4_000), 0, "air0", state);
        assert_eq!(unused(&cell), expected);
    }
    let reports = cell.reports(PHONE);
    let last = reports.last().expect("a report per slot");
    assert_ne!(last.sensor, Sensor::BlockAck, "{:?}", sensors(&reports));
    // And the radio takes over again when it is back.
    cell.run(ms(4_000), ms(6_000), true);
    assert_eq!(
        cell.reports(PHONE).last().map(|r| r.sensor),
        Some(Sensor::BlockAck)
    );
}

#[test]
fn frames_that_are_damaged_or_no_radiotap_are_counted_and_change_nothing() {
    let mut inline = measured();
    inline.on_uplink(ms(0), 0, PHONE, Uplink::Presence);
    inline.on_radio_frame(ms(1), 0, &[1, 2, 3], 3);
    let mut damaged = Vec::new();
    Radiotap {
        flags: Some(Flags(Flags::BAD_FCS)),
        ..Radiotap::default()
    }
    .write(&mut damaged);
    damaged.extend([0xd4; 14]);
    inline.on_radio_frame(ms(1), 0, &damaged, damaged.len());
    // A medium that does not exist.
    inline.on_radio_frame(ms(1), 9, &damaged, damaged.len());
    let counts = *inline.radio_counts(0).expect("there is a medium");
    assert_eq!((counts.malformed, counts.control), (2, 0));
    assert_eq!(inline.radio_counts(9), None);
}

#[test]
fn an_agent_speaks_for_its_station_with_the_waiting_time_that_the_box_has_seen() {
    let mut cell = Cell::new(&[(PHONE, BSSID), (LAPTOP, BSSID)]);
    cell.stations[0].acknowledges = true;
    for slot in 0..20 {
        cell.run(ms(100 * slot), ms(100 * (slot + 1)), false);
        let now = ms(100 * (slot + 1));
        assert!(cell.inline.on_report(now, PHONE, agent_report(slot)));
    }
    let records: Vec<_> = std::iter::from_fn(|| cell.inline.poll_record()).collect();
    let last = |mac| {
        let mut own = records.iter().filter(|record| record.mac == mac);
        own.rfind(|record| record.record.report.is_some())
            .and_then(|record| record.record.report.clone())
            .expect("a report")
    };
    let phone = last(PHONE);
    assert_eq!((phone.sensor, phone.confidence), (Sensor::Agent, 1.0));
    assert_eq!(
        (phone.frames, phone.packets, phone.bytes),
        (25, 500, 750_000)
    );
    let wait = phone.wait.expect("acknowledgements have passed");
    assert_eq!(wait.source, WaitSource::TcpAcks);
    // Its neighbour has no agent, and is not mistaken for it.
    assert_ne!(last(LAPTOP).sensor, Sensor::Agent);
}

#[test]
fn an_agent_that_falls_silent_gives_way_to_the_other_sensors() {
    let mut cell = Cell::new(&[(PHONE, BSSID)]);
    for slot in 0..10 {
        cell.run(ms(100 * slot), ms(100 * (slot + 1)), true);
        cell.inline
            .on_report(ms(100 * (slot + 1)), PHONE, agent_report(slot));
    }
    assert_eq!(
        cell.reports(PHONE).last().map(|r| r.sensor),
        Some(Sensor::Agent)
    );
    cell.run(ms(1_000), ms(2_500), true);
    let reports = cell.reports(PHONE);
    assert_eq!(reports.last().map(|r| r.sensor), Some(Sensor::BlockAck));
    // Silence is not a report of nothing received.
    let lies = |report: &&SlotReport| report.sensor == Sensor::Agent && report.frames == 0;
    assert_eq!(reports.iter().find(lies), None);
}

#[test]
fn an_agent_that_cannot_tell_frames_apart_gives_way_to_the_other_sensors() {
    let mut cell = Cell::new(&[(PHONE, BSSID)]);
    for slot in 0..30 {
        cell.run(ms(100 * slot), ms(100 * (slot + 1)), true);
        let report = if slot < 15 {
            agent_report(slot)
        } else {
            SlotReport {
                slot,
                confidence: 0.0,
                ..SlotReport::silent(StationId(77), Duration::from_millis(100))
            }
        };
        let now = ms(100 * (slot + 1));
        assert!(cell.inline.on_report(now, PHONE, report));
        if slot == 14 {
            let seen = sensors(&cell.reports(PHONE));
            assert_eq!(seen.last(), Some(&Sensor::Agent));
        }
    }
    let reports = cell.reports(PHONE);
    let last = reports.last().expect("there are reports");
    assert_eq!(last.sensor, Sensor::BlockAck);
    assert!(last.frames > 0);
}

#[test]
fn an_agent_takes_over_from_a_sensor_with_levels_after_three_reports() {
    let mut cell = Cell::new(&[(PHONE, BSSID)]);
    cell.run(ms(0), ms(2_000), true);
    cell.reports(PHONE);
    for slot in 20..26 {
        cell.run(ms(100 * slot), ms(100 * (slot + 1)), true);
        let now = ms(100 * (slot + 1));
        assert!(cell.inline.on_report(now, PHONE, agent_report(slot)));
    }
    let seen = sensors(&cell.reports(PHONE));
    let first = seen.iter().position(|&sensor| sensor == Sensor::Agent);
    assert!(
        first.is_some_and(|first| (2..=4).contains(&first)),
        "{seen:?}"
    );
    let is_block_ack = |&sensor: &Sensor| sensor == Sensor::BlockAck;
    assert!(seen[..2].iter().all(is_block_ack), "{seen:?}");
}

#[test]
fn reports_of_unknown_stations_and_repeated_ones_are_counted_and_ignored() {
    let mut inline = measured();
    inline.on_uplink(ms(0), 0, PHONE, Uplink::Presence);
    assert!(!inline.on_report(ms(1), LAPTOP, agent_report(0)));
    assert!(inline.on_report(ms(1), PHONE, agent_report(0)));
    assert!(!inline.on_report(ms(2), PHONE, agent_report(0)), "repeated");
    // An agent that has started anew counts from zero.
    assert!(inline.on_report(ms(3), PHONE, agent_report(1)));
    assert!(inline.on_report(ms(4), PHONE, agent_report(0)));
    assert_eq!(inline.counts().bad_reports, 2);
}

#[test]
fn rates_of_busy_stations_stay_while_another_joins_roams_sleeps_and_leaves() {
    let visitor = MacAddr([2, 0, 0, 0, 0, 3]);
    let mut cell = Cell::new(&[(PHONE, BSSID), (LAPTOP, BSSID)]);
    cell.load = 8;
    cell.run(ms(0), ms(4_000), true);
    let granted = |cell: &Cell| -> Vec<f64> {
        let stations = cell.inline.stations().filter(|s| s.mac != visitor);
        stations
            .map(|station| station.granted.expect("it is paced").rate_pps)
            .collect()
    };
    let before = granted(&cell);
    // It is heard behind one access point, then behind the other and back again, with silences
    // between, and is forgotten in the end.
    let heard: [(u64, usize); 4] = [(4_000, 0), (5_000, 1), (8_000, 0), (9_000, 1)];
    let mut now = 4_000;
    for step in 0..200 {
        if let Some(&(_, port)) = heard.iter().find(|heard| heard.0 == now) {
            cell.inline
                .on_uplink(ms(now), port, visitor, Uplink::Presence);
        }
        cell.run(ms(now), ms(now + 50), true);
        now += 50;
        for (was, is) in before.iter().zip(granted(&cell)) {
            assert!((is / was - 1.0).abs() < 0.03, "step {step}: {was} {is}");
        }
    }
    assert_eq!(cell.inline.counts().roamed, 3);
}
