//! One station of a cell lies about what it received, or says nothing. What do the others lose?
//!
//! Each cell is attacked with drawn lies first; then the worst of them is changed a little again and
//! again. So the worst lies are worse than drawn ones by far, and each kind has bars of its own.
//! `SECURITY.md` has the figures.

mod cell;
mod draws;
mod lie;

use crate::control::Aim;
use cell::{Cell, Harm};
use core::time::Duration;
use draws::Draws;
use lie::{Lie, TRUTH};

/// Least share of its rate in a cell without a liar that an honest station is to keep.
const LEAST_SHARE: f64 = 0.9;
/// Largest factor by which the delay of the honest stations is to grow.
const DELAY_MOST: f64 = 1.25;
/// Most packets that are to wait for each of them in addition: two full frames.
const QUEUE_MOST: f64 = 128.0;
/// Lies per cell. The first half are drawn.
const TRIES: u64 = 20;

/// What the lies of one kind have done.
#[derive(Default)]
struct Record {
    drawn: u32,
    drawn_harmed: u32,
    searched: u32,
    searched_harmed: u32,
    least_share: Option<(f64, String)>,
    most_delay: Option<(f64, String)>,
}

impl Record {
    fn add(&mut self, cell: &Cell, lie: &Lie, harm: &Harm, is_drawn: bool) {
        let harmed = u32::from(harm.degree() > 1.0);
        if is_drawn {
            self.drawn += 1;
            self.drawn_harmed += harmed;
        } else {
            self.searched += 1;
            self.searched_harmed += harmed;
        }
        let case = || format!("{harm:?}: {cell:?} {lie:?}");
        if self
            .least_share
            .as_ref()
            .is_none_or(|(least, _)| harm.share < *least)
        {
            self.least_share = Some((harm.share, case()));
        }
        if self
            .most_delay
            .as_ref()
            .is_none_or(|(most, _)| harm.delay > *most)
        {
            self.most_delay = Some((harm.delay, case()));
        }
    }

    fn least_share(&self) -> f64 {
        self.least_share.as_ref().map_or(1.0, |(share, _)| *share)
    }

    fn most_delay(&self) -> f64 {
        self.most_delay.as_ref().map_or(1.0, |(delay, _)| *delay)
    }

    fn print(&self, name: &str) {
        println!(
            "{name}: {} of {} drawn and {} of {} searched lies harm; share {:.2}, delay {:.2}",
            self.drawn_harmed,
            self.drawn,
            self.searched_harmed,
            self.searched,
            self.least_share(),
            self.most_delay(),
        );
        for (_, case) in self.least_share.iter().chain(&self.most_delay) {
            println!("  {case}");
        }
    }
}

/// Attacks `cells` cells. The record of lies that claim no PHY rate above the true one comes first,
/// then that of the others.
fn attack(seed: u64, cells: u64) -> [Record; 2] {
    let mut records = [Record::default(), Record::default()];
    for idx in 0..cells {
        let mut draws = Draws::new(seed.wrapping_add(idx << 20));
        let cell = Cell::draw(&mut draws);
        let is_fast = idx % 2 == 1;
        let honest = cell.reference();
        let mut worst: Option<(f64, Lie)> = None;
        for attempt in 0..TRIES {
            let is_drawn = 2 * attempt < TRIES;
            let mut lie = match worst {
                Some((_, lie)) if !is_drawn => lie.mutated(&mut draws),
                _ => Lie::draw(&mut draws),
            };
            if !is_fast {
                lie.phy = lie.phy.min(1.0);
            }
            let harm = Harm::of(&cell, &honest, &cell.run(&lie));
            records[usize::from(lie.phy > 1.0)].add(&cell, &lie, &harm, is_drawn);
            if worst.is_none_or(|(degree, _)| harm.degree() > degree) {
                worst = Some((harm.degree(), lie));
            }
        }
    }
    println!("seed {seed}, {} lies", cells * TRIES);
    records[0].print("true or lower PHY rates");
    records[1].print("PHY rates above the true one");
    records
}

/// Checks the bars of both kinds of lies. Of the drawn lies of a thousand cells 1 in 344 and 1 in 116 harm with
/// seed 7, and 1 in 1,126 and 1 in 140 with seed 11.
fn check([slow, fast]: &[Record; 2]) {
    assert!(
        100 * slow.drawn_harmed <= slow.drawn,
        "{} of {}",
        slow.drawn_harmed,
        slow.drawn
    );
    assert!(
        50 * fast.drawn_harmed <= fast.drawn,
        "{} of {}",
        fast.drawn_harmed,
        fast.drawn
    );
}

#[test]
fn few_lies_cost_honest_stations_a_tenth_of_their_share_or_their_delay() {
    check(&attack(1, 16));
}

/// A claim that was made in every other slot was never judged.
#[test]
fn a_phy_rate_claimed_in_every_other_slot_harms_nobody() {
    let cell = Cell {
        mbps: vec![780.0, 29.0, 780.0],
        aim: Aim::LowLatency,
        latency: Some(Duration::from_millis(20)),
    };
    let lie = Lie {
        phy: 11.5,
        longest: Some(310),
        ramp: 10,
        alternates: 1,
        ..TRUTH
    };
    let harm = Harm::of(&cell, &cell.reference(), &cell.run(&lie));
    assert!(harm.degree() <= 1.0, "{harm:?}");
}

/// At the default aim, lies about anything but a PHY rate above the true one.
fn check_default_aim(seed: u64, cases: u64) {
    let mut record = Record::default();
    for idx in 0..cases {
        let mut draws = Draws::new(seed.wrapping_add(idx << 20));
        let cell = Cell::balanced(&Cell::draw(&mut draws).mbps);
        let mut lie = Lie::draw(&mut draws);
        lie.phy = lie.phy.min(1.0);
        let harm = Harm::of(&cell, &cell.reference(), &cell.run(&lie));
        assert!(harm.share >= LEAST_SHARE, "{harm:?}: {cell:?} {lie:?}");
        assert!(harm.delay <= DELAY_MOST, "{harm:?}: {cell:?} {lie:?}");
        assert!(harm.queue <= QUEUE_MOST, "{harm:?}: {cell:?} {lie:?}");
        record.add(&cell, &lie, &harm, true);
    }
    record.print("default aim");
    assert!(
        200 * record.drawn_harmed <= record.drawn,
        "{}",
        record.drawn_harmed
    );
}

#[test]
fn honest_stations_keep_share_and_delay_at_the_default_aim_whatever_one_station_reports() {
    check_default_aim(1, 400);
}

#[test]
#[ignore = "takes minutes: a hundred thousand lies"]
fn few_of_a_hundred_thousand_lies_cost_honest_stations_a_tenth_of_their_share_or_their_delay() {
    check(&attack(7, 5_000));
}
