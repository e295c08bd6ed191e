//! Paper 000, Low Delay Rate Allocation in WLANs Using Aggregation: the level as a signal, the
//! analytical model, Algorithms 1 and 2.

mod changes;
mod gains;
mod laws;
mod model;
mod placements;
mod signal;

use crate::reproduction::Claim;

pub(super) const CLAIMS: &[Claim] = &[
    Claim::simulated(
        "000-F2",
        "000, Figure 2",
        signal::TIMESTAMPS,
        signal::timestamp_cases,
        signal::timestamps,
        SEEDS,
    ),
    Claim::simulated(
        "000-F3",
        "000, Figure 3",
        signal::LOSSES,
        signal::loss_cases,
        signal::losses,
        SEEDS,
    ),
    Claim::simulated(
        "000-F4",
        "000, Figure 4",
        signal::FLUCTUATING,
        signal::fluctuating_cases,
        signal::fluctuating,
        6,
    ),
    Claim::simulated(
        "000-F5",
        "000, Figure 5",
        laws::TARGETS,
        laws::target_cases,
        laws::targets,
        SEEDS,
    ),
    Claim::model("000-F7", "000, Figure 7", model::KNEES, model::knees),
    Claim::simulated(
        "000-F8",
        "000, Figure 8",
        model::LEVELS,
        model::level_cases,
        model::levels,
        SEEDS,
    ),
    Claim::model("000-F9", "000, Figure 9", model::REGION, model::region),
    Claim::simulated(
        "000-F11",
        "000, Figure 11",
        laws::FAIR,
        laws::fair_cases,
        laws::fair,
        12,
    ),
    Claim::simulated(
        "000-F12",
        "000, Figure 12",
        placements::PLACEMENTS,
        placements::cases,
        placements::judge,
        SEEDS,
    ),
    Claim::simulated(
        "000-F13",
        "000, Figure 13",
        changes::STEP,
        changes::step_cases,
        changes::step,
        SEEDS,
    ),
    Claim::simulated(
        "000-F14",
        "000, Figure 14",
        changes::TRACES,
        changes::trace_cases,
        changes::follow_traces,
        SEEDS,
    ),
    Claim::simulated(
        "000-F15",
        "000, Figure 15",
        gains::GAINS,
        gains::gain_cases,
        gains::gains,
        10,
    ),
    Claim::simulated(
        "000-F16",
        "000, Figure 16",
        gains::SPREAD,
        gains::spread_cases,
        gains::spread,
        SEEDS,
    ),
    Claim::simulated(
        "000-dual",
        "000, equations 27 to 31",
        gains::DUAL,
        gains::dual_cases,
        gains::dual,
        SEEDS,
    ),
];

/// Seeds of each case, unless another number is asked for.
const SEEDS: u32 = 3;
