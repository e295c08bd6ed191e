//! Eight stations with Minstrel-HT at random in a square of 40 m, behind a queue that they share:
//! the published linear law runs away in some placements, ours in none.

use airpace_scenario::Loaded;
use airpace_sim::world::{Outcome, World};
use airpace_units::Time;
use std::path::Path;

/// From this loss on, packets are lost at the entry of the shared queue for good.
const RUNAWAY_LOSS: f64 = 0.005;
/// Packets of two of the largest frames: what a frame leaves behind varies by as much from round to
/// round.
const TWO_FRAMES: u64 = 128;
/// Slots in a row for which a queue may grow.
const GROWTH: u32 = 5;

/// What became of one placement.
#[derive(Clone, Copy, Debug)]
struct Placement {
    seed: u64,
    loss: f64,
    /// Most slots in a row in which the queue of one station grew.
    growth: u32,
}

fn run(law: &str, seed: u64, seconds: u32) -> Placement {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let text = std::fs::read_to_string(folder.join("runaway.toml")).unwrap();
    let settings = [
        format!("proxy.0.law={law}"),
        format!("seed={seed}"),
        format!("duration={seconds} s"),
    ];
    let settings = settings.map(|setting| setting.parse().unwrap()).to_vec();
    let resolved = Loaded::new(&text, settings, &folder)
        .unwrap()
        .resolve()
        .unwrap();
    let begin = Time::ZERO + resolved.world.warm_up;
    let mut world = World::new(resolved.world).unwrap();
    world.run();
    let outcome = world.outcome();
    let count = |value: fn(&airpace_sim::world::DirectionCounts) -> u64| -> u64 {
        outcome
            .flows
            .iter()
            .map(|flow| value(&flow.counts.forward))
            .sum()
    };
    let loss = count(|counts| counts.lost.total()) as f64 / count(|counts| counts.sent) as f64;
    let growth = (0..outcome.links.len())
        .map(|link| longest_growth(&outcome, link, begin))
        .max()
        .unwrap();
    Placement { seed, loss, growth }
}

/// Slots in a row in which more and more was left in a link's queue by the frames sent over it,
/// from two frames' packets on. As everything else it counts from the end of the warm-up, in which
/// rates are still being learnt.
fn longest_growth(outcome: &Outcome, link: usize, begin: Time) -> u32 {
    let (mut longest, mut growing, mut before) = (0, 0, 0);
    for slot in outcome.slots.iter().filter(|slot| slot.end > begin) {
        let counts = &slot.links[link].counts;
        let Some(left) = counts.queued_sum.checked_div(counts.frames) else {
            continue;
        };
        growing = if left > before.max(TWO_FRAMES) {
            growing + 1
        } else {
            0
        };
        (before, longest) = (left, longest.max(growing));
    }
    longest
}

fn ran_away(placements: &[Placement]) -> Vec<u64> {
    placements
        .iter()
        .filter(|placement| placement.loss >= RUNAWAY_LOSS)
        .map(|placement| placement.seed)
        .collect()
}

#[test]
fn the_linear_law_runs_away_where_ours_does_not() {
    // One placement in which it does, and its neighbours.
    let seeds = 13..=14;
    let linear: Vec<_> = seeds
        .clone()
        .map(|seed| run("linear-pf", seed, 50))
        .collect();
    let ours: Vec<_> = seeds.map(|seed| run("waterfill", seed, 50)).collect();
    assert!(!ran_away(&linear).is_empty(), "{linear:?}");
    assert!(ran_away(&ours).is_empty(), "{ours:?}");
}

#[test]
#[ignore = "a minute of one core"]
fn the_linear_law_runs_away_in_some_of_fifty_placements_ours_in_none() {
    let all = |law| (1..=50).map(|seed| run(law, seed, 50)).collect::<Vec<_>>();
    let (linear, ours) = (all("linear-pf"), all("waterfill"));
    let most = |placements: &[Placement]| placements.iter().map(|p| p.loss).fold(0.0, f64::max);
    let slots = |placements: &[Placement]| {
        let beyond = placements
            .iter()
            .filter(|placement| placement.growth > GROWTH)
            .count();
        (
            placements.iter().map(|placement| placement.growth).max(),
            beyond,
        )
    };
    println!(
        "linear-pf: ran away {:?}, loss at most {:.4}, growth {:?}",
        ran_away(&linear),
        most(&linear),
        slots(&linear)
    );
    println!(
        "waterfill: ran away {:?}, loss at most {:.4}, growth {:?}",
        ran_away(&ours),
        most(&ours),
        slots(&ours)
    );
    assert!(!ran_away(&linear).is_empty());
    assert!(ran_away(&ours).is_empty());
}
