//! Which acknowledgements are redundant.

use super::*;
use airpace_core::packet::Packet;
use core::hash::Hasher;
use proptest::prelude::*;

const HOLD: Duration = Duration::from_millis(5);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Ack {
    flow: u32,
    says: PureAck,
}

impl Packet for Ack {
    fn bytes(&self) -> u32 {
        52
    }

    fn hash_flow<H: Hasher>(&self, state: &mut H) {
        state.write_u32(self.flow);
    }

    fn mark_ce(&mut self) -> bool {
        false
    }
}

impl UplinkPacket for Ack {
    fn pure_ack(&self) -> Option<PureAck> {
        Some(self.says)
    }

    fn is_same_flow(&self, other: &Self) -> bool {
        self.flow == other.flow
    }
}

const fn ack(flow: u32, number: u32) -> Ack {
    Ack {
        flow,
        says: PureAck {
            number,
            window: 500,
            ecn: 0,
            timestamps: Some(Timestamps {
                value: 1000,
                echo: 700,
            }),
            is_plain: true,
        },
    }
}

/// What leaves of acknowledgements that arrive at one instant.
fn kept(arrivals: impl IntoIterator<Item = Ack>) -> Vec<Ack> {
    let mut gather = AckGather::new(HOLD, true);
    let mut dropped = 0;
    let mut arrived = 0;
    for ack in arrivals {
        arrived += 1;
        match gather.hold(Time::ZERO, ack) {
            Held::Waits => {}
            Held::Replaces(_) => dropped += 1,
            Held::Passes(_) => panic!("more than fit"),
        }
    }
    let kept: Vec<Ack> = std::iter::from_fn(|| gather.release()).collect();
    assert_eq!(kept.len() + dropped, arrived);
    kept
}

fn numbers(acks: &[Ack]) -> Vec<u32> {
    acks.iter().map(|ack| ack.says.number).collect()
}

#[test]
fn the_first_and_the_last_of_a_flow_stay() {
    let all = kept((1..=20).map(|n| ack(0, 1000 * n)));
    assert_eq!(numbers(&all), [1000, 20_000]);
}

#[test]
fn flows_are_told_apart_and_keep_their_order() {
    let all = kept((1..=5).flat_map(|n| [ack(0, 10 * n), ack(1, 10 * n + 1)]));
    assert_eq!(numbers(&all), [10, 11, 50, 51]);
}

#[test]
fn numbers_that_wrap_around_still_advance() {
    let start = u32::MAX - 2500;
    let all = kept((0..6_u32).map(|n| ack(0, start.wrapping_add(1000 * n))));
    assert_eq!(numbers(&all), [start, start.wrapping_add(5000)]);
}

#[test]
fn duplicates_and_what_they_repeat_stay() {
    let all = kept([1, 2, 3, 3, 3, 3, 9, 10].map(|n| ack(0, n)));
    assert_eq!(numbers(&all), [1, 3, 3, 3, 3, 10]);
}

#[test]
fn an_acknowledgement_that_goes_back_stays() {
    let all = kept([1, 5, 3, 6, 7].map(|n| ack(0, n)));
    assert_eq!(numbers(&all), [1, 5, 3, 7]);
}

/// Each of these changes an acknowledgement so that it must stay.
#[test]
fn an_acknowledgement_that_says_something_of_its_own_stays() {
    type Change = fn(&mut PureAck);
    let changes: [(&str, Change); 6] = [
        ("window", |ack| ack.window = 501),
        ("congestion echo", |ack| ack.ecn = 1),
        ("counter of accurate ECN", |ack| ack.ecn = 6),
        ("selective acknowledgement or option", |ack| {
            ack.is_plain = false;
        }),
        ("no timestamps", |ack| ack.timestamps = None),
        ("timestamps that later ones are before", |ack| {
            let timestamps = ack.timestamps.as_mut().expect("set");
            timestamps.echo += 1;
        }),
    ];
    for (what, change) in changes {
        let mut acks = [1, 2, 3, 4].map(|n| ack(0, n));
        change(&mut acks[2].says);
        let kept = kept(acks);
        // The one before it would be redundant if it had not changed.
        assert!(kept.contains(&acks[2]), "{what}: {kept:?}");
    }
}

#[test]
fn a_change_is_told_with_the_first_that_has_it_or_the_next_that_repeats_it() {
    let windows = [500, 500, 400, 400, 400, 500, 500];
    let acks = (1..).zip(windows).map(|(n, window)| {
        let mut ack = ack(0, n);
        ack.says.window = window;
        ack
    });
    assert_eq!(numbers(&kept(acks)), [1, 2, 5, 7]);
}

#[test]
fn nothing_is_dropped_if_so_configured() {
    let mut gather = AckGather::new(HOLD, false);
    for n in 0..30 {
        assert!(matches!(gather.hold(Time::ZERO, ack(0, n)), Held::Waits));
    }
    assert_eq!(gather.len(), 30);
}

#[test]
fn the_time_at_which_they_leave_is_that_of_the_first() {
    let mut gather = AckGather::new(HOLD, true);
    for n in 0..100 {
        let _ = gather.hold(Time::from_micros(40 * u64::from(n)), ack(0, n));
    }
    assert_eq!(gather.deadline(), Some(Time::ZERO + HOLD));
    assert_eq!(gather.len(), 2);
}

fn any_ack() -> impl Strategy<Value = Ack> {
    let clock = (0..3_u32, 0..3_u32);
    let timestamps = proptest::option::weighted(0.9, clock);
    (
        0..3_u32,
        0..6_u32,
        0..2_u32,
        0..2_u8,
        timestamps,
        proptest::bool::weighted(0.9),
    )
        .prop_map(|(flow, step, window, ecn, timestamps, is_plain)| Ack {
            flow,
            says: PureAck {
                // Relative to the one before; see `advance`.
                number: step,
                window,
                ecn,
                timestamps: timestamps.map(|(value, echo)| Timestamps { value, echo }),
                is_plain,
            },
        })
}

/// Turns steps into numbers that advance from the edge of their range, mostly.
fn advance(steps: Vec<Ack>) -> Vec<Ack> {
    let mut numbers = [u32::MAX - 40; 3];
    let mut acks = steps;
    for ack in &mut acks {
        let number = &mut numbers[ack.flow as usize];
        // A step of 5 goes back, one of 0 repeats.
        *number = match ack.says.number {
            5 => number.wrapping_sub(1),
            step => number.wrapping_add(step),
        };
        ack.says.number = *number;
    }
    acks
}

proptest! {
    #[test]
    fn senders_learn_the_same(steps in proptest::collection::vec(any_ack(), 1..60)) {
        let arrivals = advance(steps);
        let kept = kept(arrivals.clone());
        for flow in 0..3 {
            let arrived: Vec<_> = arrivals.iter().filter(|ack| ack.flow == flow).collect();
            let left: Vec<_> = kept.iter().filter(|ack| ack.flow == flow).collect();
            // The newest arrives, and so does the first.
            prop_assert_eq!(arrived.first(), left.first());
            prop_assert_eq!(arrived.last(), left.last());
            // What leaves is a subsequence of what arrived.
            let mut rest = arrived.iter();
            for ack in &left {
                prop_assert!(rest.any(|other| other == ack));
            }
            // Everything but plain progress arrives.
            let special = |acks: &[&Ack]| acks.iter().filter(|ack| !ack.says.is_plain).count();
            prop_assert_eq!(special(&arrived), special(&left));
            let repeats = |acks: &[&Ack]| {
                acks.windows(2).filter(|pair| pair[0].says.number == pair[1].says.number).count()
            };
            prop_assert_eq!(repeats(&arrived), repeats(&left));
            let changes = |acks: &[&Ack]| {
                let said = |ack: &Ack| (ack.says.window, ack.says.ecn);
                acks.windows(2).filter(|pair| said(pair[0]) != said(pair[1])).count()
            };
            prop_assert_eq!(changes(&arrived), changes(&left));
        }
    }
}
