//! One station of a cell lies about what it received, or says nothing. What do the others lose?

mod cell;
mod draws;
mod lie;

use cell::{Cell, Harm};
use draws::Draws;
use lie::{Lie, TRUTH};

/// Least share of its rate in a cell without a liar that an honest station keeps.
const LEAST_SHARE: f64 = 0.9;
/// Largest factor by which the delay of the honest stations grows.
const DELAY_MOST: f64 = 1.25;
/// Most packets that wait for each of them in addition: two full frames.
const QUEUE_MOST: f64 = 128.0;

/// The worst lie found in a cell.
#[derive(Clone, Debug)]
struct Found {
    cell: Cell,
    lie: Lie,
    harm: Harm,
}

/// Looks for the worst lie in `cells` cells with `tries` lies each: the first half are drawn, then the
/// worst is changed a little again and again.
fn search(seed: u64, cells: u64, tries: u64) -> Vec<Found> {
    let mut all = Vec::new();
    for idx in 0..cells {
        let mut draws = Draws::new(seed.wrapping_add(idx << 20));
        let cell = Cell::draw(&mut draws);
        let honest = cell.run(&TRUTH);
        let mut worst: Option<Found> = None;
        for attempt in 0..tries {
            let lie = match &worst {
                Some(found) if 2 * attempt >= tries => found.lie.mutated(&mut draws),
                _ => Lie::draw(&mut draws),
            };
            let lie = if std::env::var("NOPHY").is_ok() {
                Lie {
                    phy: lie.phy.min(1.0),
                    ..lie
                }
            } else {
                lie
            };
            let harm = Harm::of(&cell, &honest, &cell.run(&lie));
            if worst
                .as_ref()
                .is_none_or(|found| harm.degree() > found.harm.degree())
            {
                worst = Some(Found {
                    cell: cell.clone(),
                    lie,
                    harm: harm.clone(),
                });
            }
        }
        all.extend(worst);
    }
    all.sort_by(|a, b| b.harm.degree().total_cmp(&a.harm.degree()));
    all
}

#[test]
#[ignore = "a report, not a check"]
fn report_worst_lies() {
    let env = |name: &str, default: u64| {
        std::env::var(name)
            .ok()
            .and_then(|v| v.parse().ok())
            .unwrap_or(default)
    };
    let found = search(env("SEED", 1), env("CELLS", 100), env("TRIES", 20));
    let bad = found.iter().filter(|f| f.harm.degree() > 1.0).count();
    for f in found.iter().take(env("SHOW", 12) as usize) {
        println!(
            "{:.2} share {:.2} delay {:.2} queue {:.0} {:?} {:?} {:?}\n   {:?}",
            f.harm.degree(),
            f.harm.share,
            f.harm.delay,
            f.harm.queue,
            f.cell.mbps,
            f.cell.aim,
            f.cell.latency,
            f.lie
        );
    }
    println!("{bad} of {} cells harmed", found.len());
}

#[test]
#[ignore = "a report, not a check"]
fn trace_worst() {
    let env = |name: &str, default: u64| {
        std::env::var(name)
            .ok()
            .and_then(|v| v.parse().ok())
            .unwrap_or(default)
    };
    let found = search(env("SEED", 1), env("CELLS", 100), env("TRIES", 20));
    for idx in env("FROM", 0)..env("TO", 3) {
        let f = &found[idx as usize];
        unsafe { std::env::set_var("TRACE", "1") };
        println!(
            "\n{:.2} share {:.2} delay {:.2} {:?}\n{:?}",
            f.harm.degree(),
            f.harm.share,
            f.harm.delay,
            f.cell,
            f.lie
        );
        let lied = f.cell.run(&f.lie);
        println!("-- truth");
        let honest = f.cell.run(&TRUTH);
        println!("{:?}\n{:?}", lied.received_pps, honest.received_pps);
        unsafe { std::env::remove_var("TRACE") };
    }
}
