//! 002, the nonlinear controller: an inner loop for the level, an outer one for the delay.

mod live;
mod loops;
mod state;

use super::claim::Claim;
use crate::verdicts::RowKind;

pub(super) const CLAIMS: &[Claim] = &[
    Claim::sim(
        "002-F1",
        "002, Figure 1b",
        state::CELL,
        (state::cell_cases, state::cell),
        SEEDS,
    ),
    Claim::sim(
        "002-F4",
        "002, Figure 4",
        loops::INNER,
        (loops::inner_cases, loops::inner),
        SEEDS,
    ),
    Claim::sim(
        "002-F5",
        "002, Figure 5",
        loops::OUTER,
        (loops::outer_cases, loops::outer),
        SEEDS,
    ),
    Claim::sim(
        "002-F6",
        "002, Figure 6",
        loops::JOIN,
        (loops::join_cases, loops::join),
        SEEDS,
    ),
    Claim::sim(
        "002-F7",
        "002, Figure 7",
        state::DELAY,
        (state::delay_cases, state::delay),
        SEEDS,
    ),
    Claim::sim(
        "002-F8",
        "002, Figure 8",
        state::MIXED,
        (state::mixed_cases, state::mixed),
        SEEDS,
    ),
    Claim::sim(
        "002-F9",
        "002, Figure 9",
        state::TCP,
        (state::tcp_cases, state::tcp),
        SEEDS,
    ),
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
