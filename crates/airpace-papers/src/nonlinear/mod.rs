//! Paper 002 (001 is another copy of it), Low-Delay High-Rate Operation of 802.11ac WLAN Downlink:
//! the nonlinear controller, with an inner loop for the level and an outer one for the delay.

mod download;
mod live;
mod loops;
mod operation;

pub use live::{LIVE_BUFFER_PACKETS, LIVE_MEASURED, LiveDownload, LiveSender, LiveTestbed};

use crate::reproduction::Claim;

pub(super) const CLAIMS: &[Claim] = &[
    Claim::simulated(
        "002-F1",
        "002, Figure 1b",
        operation::CELL,
        operation::cell_cases,
        operation::cell,
        SEEDS,
    ),
    Claim::simulated(
        "002-F4",
        "002, Figure 4",
        loops::INNER,
        loops::inner_cases,
        loops::inner,
        10,
    ),
    Claim::simulated(
        "002-F5",
        "002, Figure 5",
        loops::OUTER,
        loops::outer_cases,
        loops::outer,
        10,
    ),
    Claim::simulated(
        "002-F6",
        "002, Figure 6",
        loops::JOIN,
        loops::join_cases,
        loops::join,
        10,
    ),
    Claim::simulated(
        "002-5.4.3",
        "002, section 5.4.3",
        loops::ADAPTS,
        loops::adapting_cases,
        loops::adapts,
        10,
    ),
    Claim::simulated(
        "002-F7",
        "002, Figure 7",
        operation::DELAY,
        operation::delay_cases,
        operation::delay,
        SEEDS,
    ),
    Claim::simulated(
        "002-F8",
        "002, Figure 8",
        operation::MIXED,
        operation::mixed_cases,
        operation::mixed,
        SEEDS,
    ),
    Claim::simulated(
        "002-F9",
        "002, Figure 9",
        download::TCP,
        download::cases,
        download::judge,
        SEEDS,
    ),
    Claim::live(
        "002-F9-live",
        "002, Figure 9, with the kernel's TCP",
        live::CLAIM,
        live::cases,
        live::judge,
    ),
];

/// Seeds of each case, unless another number is asked for.
const SEEDS: u32 = 3;
