//! 000, Low Delay Rate Allocation: the level as a signal, Algorithms 1 and 2.

mod laws;
mod model;
mod signal;

use super::case::{Case, Results};
use super::claim::Claim;
use super::findings::Findings;
use airpace_api::reproduction::RowKind;

pub(super) const CLAIMS: &[Claim] = &[
    sim("000-F2", "000, Figure 2", signal::TIMESTAMPS, signal::timestamp_cases, signal::timestamps),
    sim("000-F3", "000, Figure 3", signal::LOSSES, signal::loss_cases, signal::losses),
    sim("000-F4", "000, Figure 4", signal::FLUCTUATING, signal::fluctuating_cases, signal::fluctuating),
    sim("000-F5", "000, Figure 5", laws::TARGETS, laws::target_cases, laws::targets),
    Claim::model("000-F7", "000, Figure 7", model::KNEES, model::knees),
    sim("000-F8", "000, Figure 8", model::LEVELS, model::level_cases, model::levels),
    Claim::model("000-F9", "000, Figure 9", model::REGION, model::region),
    sim("000-F11", "000, Figure 11", laws::FAIR, laws::fair_cases, laws::fair),
    sim("000-F13", "000, Figure 13", laws::STEP, laws::step_cases, laws::step),
    sim("000-F15", "000, Figure 15", laws::GAINS, laws::gain_cases, laws::gains),
    sim("000-F16", "000, Figure 16", laws::SPREAD, laws::gain_cases, laws::spread),
];

/// Seeds of each case, unless another number is asked for.
const SEEDS: u32 = 3;

const fn sim(
    id: &'static str,
    source: &'static str,
    claim: &'static str,
    cases: fn() -> Vec<Case>,
    judge: fn(&Results) -> Findings,
) -> Claim {
    Claim { id, source, kind: RowKind::Sim, claim, only_by_id: false, seeds: SEEDS, cases, judge }
}
