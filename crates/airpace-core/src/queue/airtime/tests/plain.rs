//! Algorithm 3 word for word, slow and plain, as the reference for the order of service.

use super::*;
use proptest::prelude::*;
use std::collections::VecDeque;

struct Plain {
    sparse: bool,
    deficit: Vec<i64>,
    quantum: Vec<i64>,
    waits: Vec<bool>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
}

impl Plain {
    /// The next of the stations in `allowed`, a bit for each eighth; the others pass with their
    /// turn, and get a quantum if in debt.
    fn next(&mut self, allowed: u8) -> Option<u32> {
        let may_send = |station: u32| allowed >> (station % 8) & 1 == 1;
        let mut in_vain = 0;
        loop {
            let is_new = !self.new.is_empty();
            let station = *self.new.front().or(self.old.front())?;
            let index = station as usize;
            let credit = self.deficit[index] > 0;
            if credit && self.waits[index] && may_send(station) {
                return Some(station);
            } else if credit && !self.waits[index] && !is_new {
                self.old.pop_front();
                continue;
            } else if !credit {
                self.deficit[index] += self.quantum[index];
            }
            in_vain += usize::from(!is_new);
            self.rotate();
            let none_is_allowed = self.waits.contains(&true)
                && !(0..)
                    .zip(&self.waits)
                    .any(|(s, &waits)| waits && may_send(s));
            if none_is_allowed && in_vain >= self.old.len() {
                return None;
            }
        }
    }

    fn rotate(&mut self) {
        let station = self
            .new
            .pop_front()
            .or_else(|| self.old.pop_front())
            .unwrap();
        self.old.push_back(station);
    }

    fn list(&mut self, station: u32) {
        if !self.new.contains(&station) && !self.old.contains(&station) {
            let list = if self.sparse {
                &mut self.new
            } else {
                &mut self.old
            };
            list.push_back(station);
        }
    }

    fn wake(&mut self, station: u32) {
        self.waits[station as usize] = true;
        self.list(station);
    }

    fn charge(&mut self, station: u32, ns: i64) {
        let deficit = &mut self.deficit[station as usize];
        *deficit -= ns;
        if *deficit <= 0 {
            self.list(station);
            if !self.waits.contains(&true) {
                assert_eq!(self.next(u8::MAX), None);
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Wake(u32),
    /// Serves the next station that is allowed; whether it is then found empty.
    Serve(u64, u8, bool),
    Charge(u32, u64),
    FoundEmpty,
    Skip,
    Weight(u32, u16),
}

fn step(stations: u32) -> impl Strategy<Value = Step> {
    let length = prop_oneof![6 => 0..5_000u64, 1 => 0..200_000u64];
    let received = prop_oneof![3 => 0..5_000u64, 1 => 0..600_000u64];
    let allowed = prop_oneof![3 => Just(u8::MAX), 1 => any::<u8>()];
    prop_oneof![
        4 => (0..stations).prop_map(Step::Wake),
        8 => (length, allowed, prop::bool::weighted(0.3)).prop_map(|(us, allowed, empty)| Step::Serve(us, allowed, empty)),
        2 => (0..stations, received).prop_map(|(station, us)| Step::Charge(station, us)),
        2 => Just(Step::FoundEmpty),
        1 => Just(Step::Skip),
        1 => (0..stations, 0..2_000u16).prop_map(|(station, weight)| Step::Weight(station, weight)),
    ]
}

fn both(sparse: bool, stations: usize) -> (AirtimeFairness, Plain) {
    let mut fairness = AirtimeFairness::new(AirtimeConfig {
        sparse,
        ..AirtimeConfig::default()
    });
    (0..stations).for_each(|_| _ = fairness.add(DEFAULT_WEIGHT));
    let plain = Plain {
        sparse,
        deficit: vec![300_000; stations],
        quantum: vec![300_000; stations],
        waits: vec![false; stations],
        new: VecDeque::new(),
        old: VecDeque::new(),
    };
    (fairness, plain)
}

fn take(fairness: &mut AirtimeFairness, plain: &mut Plain, step: &Step) {
    match *step {
        Step::Wake(station) => {
            fairness.wake(station);
            plain.wake(station);
        }
        Step::Serve(length, allowed, empty) => {
            let Some(station) = agree(fairness, plain, allowed) else {
                return;
            };
            fairness.charge(station, us(length));
            plain.charge(station, length as i64 * 1_000);
            if empty && agree(fairness, plain, u8::MAX) == Some(station) {
                fairness.found_empty(station);
                found_empty(plain, station);
            }
        }
        Step::Charge(station, length) => {
            fairness.charge(station, us(length));
            plain.charge(station, length as i64 * 1_000);
        }
        Step::FoundEmpty => {
            if let Some(station) = agree(fairness, plain, u8::MAX) {
                fairness.found_empty(station);
                found_empty(plain, station);
            }
        }
        Step::Skip => {
            if let Some(station) = agree(fairness, plain, u8::MAX) {
                fairness.skip(station);
                plain.rotate();
            }
        }
        Step::Weight(station, weight) => {
            fairness.set_weight(station, weight);
            plain.quantum[station as usize] = 300_000 * i64::from(weight.max(1)) / 256;
        }
    }
}

/// Lines 13 to 18 for the station at the head.
fn found_empty(plain: &mut Plain, station: u32) {
    plain.waits[station as usize] = false;
    if plain.new.is_empty() {
        plain.old.pop_front();
    } else {
        plain.rotate();
    }
}

/// Both name the same station, and the deficits are the same.
fn agree(fairness: &mut AirtimeFairness, plain: &mut Plain, allowed: u8) -> Option<u32> {
    let station = fairness.next_allowed(|s| allowed >> (s % 8) & 1 == 1);
    assert_eq!(station, plain.next(allowed));
    let deficits: Vec<i64> = (0..plain.deficit.len() as u32)
        .map(|s| fairness.deficit_ns(s))
        .collect();
    assert_eq!(deficits, plain.deficit);
    station
}

/// Runs the steps in both and compares them, and bounds the work of each step.
fn compare(mut fairness: AirtimeFairness, mut plain: Plain, steps: &[Step]) {
    for step in steps {
        let before = fairness.visits;
        let listed = u64::from(fairness.listed());
        take(&mut fairness, &mut plain, step);
        // At most two choices, each within its bound, and one station that may have joined.
        assert!(fairness.visits - before <= 2 * (5 * (listed + 1) + 1));
        assert_eq!(fairness.is_empty(), !plain.waits.contains(&true));
        let waiting = plain.waits.iter().filter(|&&w| w).count();
        assert_eq!(fairness.waiting as usize, waiting);
        assert!(fairness.listed() >= fairness.waiting);
        assert_eq!(
            fairness.listed() as usize,
            plain.new.len() + plain.old.len()
        );
    }
}

/// Many stations, of which most are in debts of many sizes, and all may send.
fn crowd() -> impl Strategy<Value = Vec<Step>> {
    let debts = prop::collection::vec((0..300u32, any::<bool>(), 0..300_000u64), 100..400);
    (debts, prop::collection::vec(step(300), 0..100)).prop_map(|(debts, steps)| {
        let debt = |(station, waits, us)| {
            let charge = Step::Charge(station, us);
            if waits {
                vec![charge, Step::Wake(station)]
            } else {
                vec![charge]
            }
        };
        let all_allowed = |step| {
            if let Step::Serve(us, _, empty) = step {
                Step::Serve(us, u8::MAX, empty)
            } else {
                step
            }
        };
        let first = core::iter::once(Step::Wake(0));
        first
            .chain(debts.into_iter().flat_map(debt))
            .chain(steps.into_iter().map(all_allowed))
            .collect()
    })
}

proptest! {
    #[test]
    fn the_order_is_that_of_algorithm_3(sparse: bool, steps in prop::collection::vec(step(8), 0..400)) {
        let (fairness, plain) = both(sparse, 8);
        compare(fairness, plain, &steps);
    }

    #[test]
    fn the_order_is_that_of_algorithm_3_among_many(sparse: bool, steps in crowd()) {
        let (fairness, plain) = both(sparse, 300);
        compare(fairness, plain, &steps);
    }
}
