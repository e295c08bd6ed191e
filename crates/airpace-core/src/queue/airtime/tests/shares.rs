//! How far the airtimes of two stations that both have something to send can be apart, over any
//! window.

use super::*;
use proptest::prelude::*;
use std::collections::VecDeque;

/// The longest frames of the stations, in microseconds: from a fast station's single packets to a
/// slow one's 4 ms.
const LONGEST_US: [u64; 6] = [50, 250, 300, 1_500, 4_000, 4_000];
const STATIONS: usize = LONGEST_US.len();

/// Where the difference between the airtimes of two stations, each divided by its quantum, has been
/// while both were busy; times both quanta, so that it stays whole.
#[derive(Clone, Copy, Default)]
struct Range {
    now: i128,
    least: i128,
    most: i128,
}

impl Range {
    fn add(&mut self, change: i128) {
        self.now += change;
        self.least = self.least.min(self.now);
        self.most = self.most.max(self.now);
    }
}

/// A schedule with a hardware queue of `depth` frames, which are charged when they have been sent.
struct Bed {
    fairness: AirtimeFairness,
    quantum: [i128; STATIONS],
    busy: [bool; STATIONS],
    depth: usize,
    hardware: VecDeque<(u32, u64)>,
    pairs: [[Range; STATIONS]; STATIONS],
    /// Airtime charged since the station last became busy, and its deficit then.
    charged: [i128; STATIONS],
    deficit: [i128; STATIONS],
}

impl Bed {
    fn new(weights: [u16; STATIONS], depth: usize) -> Self {
        Self {
            fairness: weighted(&weights),
            quantum: weights.map(|w| 300_000 * i128::from(w) / 256),
            busy: [false; STATIONS],
            depth,
            hardware: VecDeque::new(),
            pairs: [[Range::default(); STATIONS]; STATIONS],
            charged: [0; STATIONS],
            deficit: [0; STATIONS],
        }
    }

    /// The station begins to have something to send all the while: its pairs begin anew.
    fn join(&mut self, station: usize) {
        if self.busy[station] {
            return;
        }
        self.busy[station] = true;
        self.fairness.wake(station as u32);
        for other in 0..STATIONS {
            self.pairs[station][other] = Range::default();
            self.pairs[other][station] = Range::default();
        }
        self.charged[station] = 0;
        self.deficit[station] = i128::from(self.fairness.deficit_ns(station as u32));
    }

    /// Fills the hardware queue, with frames that are `fraction` of the longest, and sends one
    /// frame.
    fn serve(&mut self, fraction: f64) {
        while self.hardware.len() < self.depth {
            let Some(station) = self.fairness.next() else {
                break;
            };
            if self.busy[station as usize] {
                let length = (LONGEST_US[station as usize] as f64 * fraction).ceil() as u64;
                self.hardware.push_back((station, length));
            } else {
                self.fairness.found_empty(station);
            }
        }
        if let Some((station, length)) = self.hardware.pop_front() {
            self.fairness.charge(station, us(length));
            self.account(station as usize, i128::from(length) * 1_000);
        }
    }

    fn account(&mut self, station: usize, ns: i128) {
        self.charged[station] += ns;
        for other in 0..STATIONS {
            self.pairs[station][other].add(ns * self.quantum[other]);
            self.pairs[other][station].add(-ns * self.quantum[other]);
        }
    }

    /// `quanta` more than the frames of the two may lie between them.
    fn check(&self, quanta: i128) {
        for (i, j) in (0..STATIONS).flat_map(|i| (0..i).map(move |j| (i, j))) {
            if self.busy[i] && self.busy[j] {
                let range = self.pairs[i][j];
                let bound = quanta * self.quantum[i] * self.quantum[j]
                    + self.frames(i) * self.quantum[j]
                    + self.frames(j) * self.quantum[i];
                assert!(
                    range.most - range.least <= bound,
                    "{i} and {j}: {} of {bound}",
                    range.most - range.least
                );
            }
        }
        for i in (0..STATIONS).filter(|&i| self.busy[i]) {
            let deficit = i128::from(self.fairness.deficit_ns(i as u32));
            // Airtime is what was given less what is left, which lies within a quantum and the
            // frames.
            let given = self.charged[i] + deficit - self.deficit[i];
            assert_eq!(given % self.quantum[i], 0);
            assert!(
                deficit <= self.quantum[i] && deficit > -self.frames(i),
                "deficit of {i}: {deficit}"
            );
        }
    }

    /// The most airtime, in nanoseconds, that the station may have been let send beyond its
    /// deficit.
    fn frames(&self, station: usize) -> i128 {
        self.depth as i128 * i128::from(LONGEST_US[station]) * 1_000
    }
}

/// Lengths as fractions of the longest frame: often the extremes, which are the worst.
fn fraction() -> impl Strategy<Value = f64> {
    prop_oneof![Just(1.0), Just(0.001), 0.0..1.0f64]
}

fn weights() -> impl Strategy<Value = [u16; STATIONS]> {
    prop_oneof![
        Just([DEFAULT_WEIGHT; STATIONS]),
        prop::array::uniform6(prop_oneof![Just(128), Just(256), Just(1024)])
    ]
}

/// A station and whether it joins or leaves, now and then.
fn change() -> impl Strategy<Value = Option<(usize, bool)>> {
    prop::option::weighted(0.05, (0..STATIONS, any::<bool>()))
}

proptest! {
    #[test]
    fn busy_stations_differ_by_a_quantum_and_a_frame_of_each_over_any_window(
        weights in weights(), depth in 1..=2usize, fractions in prop::collection::vec(fraction(), 0..2_000),
    ) {
        let mut bed = Bed::new(weights, depth);
        (0..STATIONS).for_each(|s| bed.join(s));
        for fraction in fractions {
            bed.serve(fraction);
            bed.check(1);
        }
    }

    #[test]
    fn stations_that_join_and_leave_differ_by_one_quantum_more(
        weights in weights(), depth in 1..=2usize, steps in prop::collection::vec((fraction(), change()), 0..2_000),
    ) {
        let mut bed = Bed::new(weights, depth);
        for (fraction, change) in steps {
            match change {
                Some((station, true)) => bed.join(station),
                Some((station, false)) => bed.busy[station] = false,
                None => {}
            }
            bed.serve(fraction);
            bed.check(2);
        }
    }

    #[test]
    fn busy_stations_differ_by_a_quantum_and_a_frame_since_they_began(
        fractions in prop::collection::vec(fraction(), 0..2_000),
    ) {
        let mut bed = Bed::new([DEFAULT_WEIGHT; STATIONS], 1);
        (0..STATIONS).for_each(|s| bed.join(s));
        for fraction in fractions {
            bed.serve(fraction);
            for (i, j) in (0..STATIONS).flat_map(|i| (0..STATIONS).map(move |j| (i, j))) {
                let bound = 300_000 + 1_000 * i128::from(LONGEST_US[i].max(LONGEST_US[j]));
                prop_assert!((bed.charged[i] - bed.charged[j]).abs() <= bound);
            }
        }
    }
}

#[test]
fn a_window_can_hold_a_frame_of_each_beyond_the_fair_share() {
    // The first overdraws by a whole frame just before the window, the second at its end. A
    // schedule that learns lengths afterwards cannot tell; one quantum and one frame would not
    // cover it.
    let mut fairness = schedule(2);
    (0..2).for_each(|s| fairness.wake(s));
    let mut lengths = [VecDeque::from([299, 4_000]), VecDeque::from([300; 13])];
    lengths[1].extend([299, 4_000]);
    let mut sent = [0u64; 2];
    while let Some(station) = fairness.next() {
        let Some(length) = lengths[station as usize].pop_front() else {
            break;
        };
        fairness.charge(station, us(length));
        sent[station as usize] += length;
    }
    // All that the second sent came after what the first sent.
    assert_eq!(sent[0], 4_299);
    assert!(
        sent[1] > QUANTUM_US + 4_000 && sent[1] <= QUANTUM_US + 2 * 4_000,
        "{}",
        sent[1]
    );
}
