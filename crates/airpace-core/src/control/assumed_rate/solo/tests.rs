use super::super::introduction::Introduced;
use super::super::remainder::SlotRemainder;
use super::*;

const SLOT_S: f64 = 0.1;
const ROUND_S: f64 = 10e-3;
/// Share of the time for each station.
const SHARE: f64 = 0.2;

/// Packets in a frame of a station, if one takes `packet_s` seconds: 64, or 5.484 ms (802.11ac).
fn frame_most(packet_s: f64) -> f64 {
    (5.484e-3 / packet_s).min(64.0)
}

/// Stations that nobody sees, in slots without noise.
struct Cell {
    now: Time,
    /// Airtimes per packet, seconds.
    packet_s: Vec<f64>,
    /// Packets at the access point.
    queues: Vec<f64>,
    /// Airtime of the mean packet, by the usual slots, seconds.
    mean_s: f64,
    solo: SoloDips,
}

impl Cell {
    fn new(packet_us: &[f64]) -> Self {
        let packet_s: Vec<f64> = packet_us.iter().map(|us| us * 1e-6).collect();
        Self {
            now: Time::ZERO,
            queues: vec![0.0; packet_s.len()],
            mean_s: packet_s.iter().sum::<f64>() / packet_s.len() as f64,
            packet_s,
            solo: SoloDips::default(),
        }
    }

    fn assumed_s(&self, index: usize) -> f64 {
        self.solo.weight(StationId::from_index(index)) * self.mean_s
    }

    /// Runs a slot. Returns the part of the usual rate that each station is sent.
    fn run_slot(&mut self) -> Vec<f64> {
        let indices = 0..self.packet_s.len();
        let id = StationId::from_index;
        let rate_part = |index| self.solo.rate_part(self.now, id(index));
        let parts: Vec<f64> = indices.clone().map(rate_part).collect();
        let part = |index: usize| {
            let packet_s = self.assumed_s(index);
            // As the law, no more than frames hold.
            let packets = (SHARE * ROUND_S / packet_s).min(0.93 * frame_most(packet_s));
            UnseenPart {
                weight: self.solo.weight(id(index)),
                packet_s,
                ..UnseenPart::of_test(id(index), parts[index] * packets / ROUND_S)
            }
        };
        let unseen: Vec<UnseenPart> = indices.clone().map(part).collect();
        let mut left = 0.0;
        for index in indices {
            let held = self.queues[index] + unseen[index].pps * SLOT_S;
            let most = frame_most(self.packet_s[index]) / ROUND_S;
            let pps = (held / SLOT_S).min(most);
            self.queues[index] = held - pps * SLOT_S;
            left += pps * self.packet_s[index];
        }
        self.now += Duration::from_secs_f64(SLOT_S);
        let weighted_pps: f64 = unseen.iter().map(|part| part.weight * part.pps).sum();
        if !self.solo.is_dip(self.now) && weighted_pps > 0.0 {
            self.mean_s += 0.5 * (left / weighted_pps - self.mean_s);
        }
        let slot = Slot::new(
            left * ROUND_S,
            &SlotRemainder::of_round(ROUND_S, 4.0),
            &unseen,
        );
        self.solo.notice(self.now, &unseen);
        let ended = self.solo.take(self.now, slot, &unseen, self.mean_s);
        if let Ended::Introduction(mean_s) = ended {
            self.mean_s = mean_s;
        }
        parts
    }

    fn run(&mut self, seconds: u32) {
        for _ in 0..10 * seconds {
            self.run_slot();
        }
    }
}

#[test]
fn stations_of_different_rates_are_told_apart() {
    for packet_us in [&[27.0, 175.0][..], &[27.0, 60.0, 175.0], &[100.0, 12.0]] {
        let mut cell = Cell::new(packet_us);
        cell.run(40);
        for (index, us) in packet_us.iter().enumerate() {
            let ratio = cell.assumed_s(index) / (us * 1e-6);
            assert!((0.85..1.15).contains(&ratio), "{packet_us:?} us: {ratio}");
        }
    }
}

#[test]
fn an_introduction_that_tells_no_more_than_its_error_leaves_the_airtime_at_the_mean() {
    let packet_s = 60e-6;
    let weight_after = |error_s| {
        let mut solo = SoloDips::default();
        let introduced = [Introduced {
            station: StationId(0),
            seconds: 400e-6,
            error_s,
        }];
        solo.introduce(Time::ZERO, &introduced, packet_s);
        solo.weight(StationId(0))
    };
    assert!((1.0..1.3).contains(&weight_after(500e-6)));
    assert!((6.0..6.7).contains(&weight_after(40e-6)));
}

#[test]
fn an_introduction_tells_all_stations_apart_whatever_the_access_point_holds() {
    for packet_us in [
        &[27.0, 175.0][..],
        &[175.0, 60.0, 27.0],
        &[175.0, 27.0, 27.0, 27.0],
    ] {
        let mut cell = Cell::new(packet_us);
        cell.queues[0] = 100.0;
        cell.run(6);
        for (index, us) in packet_us.iter().enumerate() {
            let ratio = cell.assumed_s(index) / (us * 1e-6);
            assert!((0.85..1.15).contains(&ratio), "{packet_us:?} us: {ratio}");
        }
    }
}

#[test]
fn many_stations_have_no_introduction() {
    let mut cell = Cell::new(&[30.0; 5]);
    for _ in 0..50 {
        let dipped = cell.run_slot().iter().filter(|&&part| part < 1.0).count();
        assert!(dipped <= 1, "{dipped}");
    }
}

#[test]
fn equal_stations_stay_equal_and_lose_little() {
    let mut cell = Cell::new(&[60.0, 60.0]);
    cell.run(30);
    let slots = 600;
    let sent: f64 = (0..slots).map(|_| cell.run_slot()[0]).sum();
    assert!(sent > 0.98 * f64::from(slots), "{sent}");
    let ratio = cell.assumed_s(0) / cell.assumed_s(1);
    assert!((0.97..1.03).contains(&ratio), "{ratio}");
}

#[test]
fn one_station_has_no_dips_after_its_introduction() {
    let mut cell = Cell::new(&[60.0]);
    let introduction = (0..30).filter(|_| cell.run_slot() != [1.0]).count();
    assert!((10..20).contains(&introduction), "{introduction} slots");
    for _ in 0..200 {
        assert_eq!(cell.run_slot(), [1.0]);
    }
}

#[test]
fn a_station_that_leaves_in_its_introduction_is_forgotten() {
    for slots in [5, 8, 16, 19] {
        let mut cell = Cell::new(&[27.0, 175.0]);
        for _ in 0..slots {
            cell.run_slot();
        }
        cell.packet_s.pop();
        cell.queues.pop();
        cell.solo.remove(StationId::from_index(1));
        cell.run(5);
        let id = StationId::from_index(1);
        assert!(cell.solo.known.iter().all(|known| known.0 != id));
        assert_eq!(cell.run_slot(), [1.0]);
    }
}

#[test]
fn stations_whose_frames_are_seen_after_all_are_not_kept_quiet() {
    let mut cell = Cell::new(&[27.0, 175.0]);
    cell.run(1);
    assert!(cell.solo.is_introduced(cell.now));
    for _ in 0..5 {
        cell.now += Duration::from_secs_f64(SLOT_S);
        cell.solo.notice(cell.now, &[]);
        let slot = Slot::new(0.0, &SlotRemainder::of_round(ROUND_S, 4.0), &[]);
        cell.solo.take(cell.now, slot, &[], cell.mean_s);
    }
    let parts = [0, 1].map(|index| cell.solo.rate_part(cell.now, StationId::from_index(index)));
    assert_eq!(parts, [1.0, 1.0]);
}

#[test]
fn a_station_that_the_access_point_holds_packets_for_is_not_taken_for_fast() {
    let mut cell = Cell::new(&[27.0, 175.0]);
    cell.queues[1] = 500.0;
    cell.run(40);
    let ratio = cell.assumed_s(1) / 175e-6;
    assert!((0.85..1.15).contains(&ratio), "{ratio}");
    assert!(cell.queues[1] < 30.0, "{} packets", cell.queues[1]);
}

#[test]
fn after_a_change_the_ratio_is_learnt_anew() {
    let mut cell = Cell::new(&[27.0, 27.0]);
    cell.run(60);
    cell.packet_s[1] = 60e-6;
    cell.solo.doubt(cell.now);
    cell.run(20);
    let ratio = cell.assumed_s(1) / cell.assumed_s(0);
    assert!((1.7..2.7).contains(&ratio), "{ratio}");
}

#[test]
fn a_station_that_leaves_in_its_dip_is_forgotten() {
    let mut cell = Cell::new(&[27.0, 175.0]);
    let dip = (0..100).find_map(|_| cell.run_slot().iter().position(|&part| part < 1.0));
    let station = StationId::from_index(dip.expect("a dip within ten seconds"));
    cell.run(5);
    cell.solo.remove(station);
    assert_eq!(cell.solo.weight(station), 1.0);
}

#[test]
fn while_nothing_is_left_for_the_stations_nothing_is_learnt() {
    let mut cell = Cell::new(&[27.0, 175.0]);
    let dip = (0..100).find(|_| cell.run_slot().iter().any(|&part| part < 1.0));
    assert!(dip.is_some());
    for packet_s in [-1e-6, 0.0, f64::NAN] {
        for _ in 0..30 {
            cell.now += Duration::from_secs_f64(SLOT_S);
            let slot = Slot::new(-1e-3, &SlotRemainder::of_round(ROUND_S, 4.0), &[]);
            cell.solo.take(cell.now, slot, &[], packet_s);
        }
    }
    let weights = [0, 1].map(|index| cell.solo.weight(StationId::from_index(index)));
    assert_eq!(weights, [1.0, 1.0]);
}

#[test]
fn a_dip_whose_end_is_missing_is_broken_off() {
    let mut cell = Cell::new(&[27.0, 175.0]);
    let dip = (0..100).find_map(|_| cell.run_slot().iter().position(|&part| part < 1.0));
    assert!(dip.is_some());
    cell.now += Duration::from_secs(5);
    assert!(!cell.solo.is_dip(cell.now));
    let sent = cell.run_slot();
    assert_eq!(sent, [1.0, 1.0]);
    assert_eq!(
        [cell.solo.weight(StationId::from_index(0)), 1.0],
        [1.0, 1.0]
    );
}

#[test]
fn a_negative_airtime_is_not_believed_of_the_station_that_was_introduced() {
    let mut solo = SoloDips::default();
    let found = |index, seconds| Introduced {
        station: StationId::from_index(index),
        seconds,
        error_s: 10e-6,
    };
    let unseen: Vec<UnseenPart> = (0..2)
        .map(|index| UnseenPart::of_test(StationId::from_index(index), 1e3))
        .collect();
    let slot = Slot::new(
        0.1 * ROUND_S,
        &SlotRemainder::of_round(ROUND_S, 4.0),
        &unseen,
    );
    solo.take(Time::ZERO, slot, &unseen, 60e-6);
    let introduced = [found(0, -30e-6), found(1, 180e-6)];
    let mean_s = solo.introduce(Time::ZERO, &introduced, 60e-6);
    let of = |index| 1e6 * mean_s * solo.weight(StationId::from_index(index));
    assert!((of(0) - 60.0).abs() < 3.0, "{}", of(0));
    assert!((of(1) - 180.0).abs() < 10.0, "{}", of(1));
}
