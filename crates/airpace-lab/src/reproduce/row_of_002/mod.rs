//! 002, the nonlinear controller: an inner loop for the level, an outer one for the delay.

mod live;
mod loops;
mod state;

use super::case::{Case, Results};
use super::claim::Claim;
use super::findings::Findings;
use airpace_api::reproduction::RowKind;

pub(super) const CLAIMS: &[Claim] = &[
    sim("002-F1", "002, Figure 1b", state::CELL, state::cell_cases, state::cell),
    sim("002-F4", "002, Figure 4", loops::INNER, loops::inner_cases, loops::inner),
    sim("002-F5", "002, Figure 5", loops::OUTER, loops::outer_cases, loops::outer),
    sim("002-F6", "002, Figure 6", loops::JOIN, loops::join_cases, loops::join),
    sim("002-F7", "002, Figure 7", state::DELAY, state::delay_cases, state::delay),
    sim("002-F8", "002, Figure 8", state::MIXED, state::mixed_cases, state::mixed),
    sim("002-F9", "002, Figure 9", state::TCP, state::tcp_cases, state::tcp),
    Claim {
        id: "002-F9-live",
        source: "002, Figure 9, with the kernel's TCP",
        kind: RowKind::Live,
        claim: live::CLAIM,
        only_by_id: true,
        seeds: 1,
        cases: live::cases,
        judge: live::judge,
    },
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
