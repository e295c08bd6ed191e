//! The steady state of a mixed cell against the optimum of the allocation problem.

use crate::closed_loop::{LoopConfig, SlotRecord, StationSlot, mean_round_s};
use crate::mac::{CellConfig, StationConfig};
use crate::step::StepError;
use airpace_core::alloc::{Problem, Station, waterfill};
use airpace_core::control::{Goal, Law, LawConfig};
use airpace_core::phy::{
    AccessCategory, BLOCK_ACK_BYTES, Edca, GuardInterval, RateError, SIFS, Standard, Timing,
    TxRate, Width, control_rate, mpdu_bytes, subframe_bytes,
};
use core::time::Duration;

#[cfg(test)]
mod tests;

/// Ten stations from 29.3 to 780 Mbit/s: streams and MCS at VHT80.
const RATES: [(u8, u8); 10] = [
    (1, 0),
    (1, 1),
    (1, 2),
    (1, 3),
    (1, 4),
    (1, 5),
    (1, 7),
    (1, 9),
    (2, 7),
    (2, 9),
];
/// Level limit (N̄).
const LEVEL_LIMIT: f64 = 48.0;
/// Bytes with IP header of a packet.
const PACKET_BYTES: u32 = 1_498;
/// Share of the time that beacons take: 236 µs and an AIFS every 102.4 ms.
const BEACONS: f64 = (236e-6 + 43e-6) / 102.4e-3;

/// One run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SteadyConfig {
    /// The law.
    pub law: Law,
    /// Delay target (T̄).
    pub delay: Duration,
    /// Length of a slot (Δ).
    pub slot: Duration,
    /// Slots before the judged ones.
    pub warm_up: usize,
    /// Slots judged.
    pub judged: usize,
    /// Seed of every draw.
    pub seed: u64,
}

/// The results of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct SteadyRow {
    /// Packets per second that each station received.
    pub rate_pps: Vec<f64>,
    /// Packets per second that the optimum gives each station.
    pub optimal_pps: Vec<f64>,
    /// Σ log x of the optimum minus that of the run, per station: 0.005 means that the rates are
    /// half a per cent lower.
    pub utility_gap: f64,
    /// Mean round time in seconds.
    pub round_s: f64,
    /// Round time of the optimum.
    pub optimal_round_s: f64,
    /// Goodput in total, Mbit/s of payload.
    pub goodput_mbps: f64,
    /// Greatest mean level of a station.
    pub level: f64,
}

/// Runs ten mixed stations in closed loop.
///
/// # Errors
/// The configuration is invalid.
pub fn steady(config: &SteadyConfig) -> Result<SteadyRow, StepError> {
    let rates = RATES
        .map(|(nss, mcs)| TxRate::new(Standard::Vht, Width::Mhz80, nss, mcs, GuardInterval::Ns800));
    let rates = rates
        .into_iter()
        .collect::<Result<Vec<TxRate>, RateError>>()?;
    let cell = CellConfig::new(rates.iter().map(|&rate| StationConfig::new(rate)).collect());
    let law = LawConfig::named(config.law, Goal::papers(LEVEL_LIMIT, Some(config.delay)));
    let closed_loop = LoopConfig {
        seed: config.seed,
        ..LoopConfig::new(cell, law, config.slot)
    };
    let records = closed_loop.run(config.warm_up + config.judged)?;
    Ok(compare(&records[config.warm_up..], &rates, config.delay))
}

/// Compares the mean over `slots` with the optimum.
fn compare(slots: &[SlotRecord], rates: &[TxRate], delay: Duration) -> SteadyRow {
    let mean = |idx: usize, value: fn(&StationSlot) -> f64| {
        slots
            .iter()
            .map(|slot| value(&slot.stations[idx]))
            .sum::<f64>()
            / slots.len().max(1) as f64
    };
    let each = 0..rates.len();
    let rate_pps: Vec<f64> = each
        .clone()
        .map(|idx| mean(idx, |s| s.received_pps))
        .collect();
    let stations = rates
        .iter()
        .map(|&rate| Station::new(packet_s(rate), frame_overhead_s(rate), LEVEL_LIMIT))
        .collect();
    // The parameters are times of real frames, and the targets of the table are feasible.
    let problem = Problem::new(stations, Some(delay.as_secs_f64())).expect("airtimes are positive");
    let optimum = waterfill(&problem).expect("the delay target exceeds ten frames of one packet");
    let gaps = rate_pps
        .iter()
        .zip(&optimum.rate_pps)
        .map(|(x, best)| (best / x).ln());
    SteadyRow {
        utility_gap: gaps.sum::<f64>() / rates.len() as f64,
        round_s: mean_round_s(slots),
        optimal_round_s: optimum.round_s,
        optimal_pps: optimum.rate_pps,
        goodput_mbps: each.clone().map(|idx| mean(idx, |s| s.goodput_mbps)).sum(),
        level: each.map(|idx| mean(idx, |s| s.level)).fold(0.0, f64::max),
        rate_pps,
    }
}

/// Airtime of one more packet in a frame, seconds.
fn packet_s(rate: TxRate) -> f64 {
    8.0 * f64::from(subframe_bytes(mpdu_bytes(PACKET_BYTES)))
        / rate.rate().as_bps_f64()
        / (1.0 - BEACONS)
}

/// Airtime of everything else in a frame, with half a symbol of rounding, seconds.
fn frame_overhead_s(rate: TxRate) -> f64 {
    let edca = Edca::of(AccessCategory::BestEffort);
    let response = SIFS + control_rate(rate).duration(BLOCK_ACK_BYTES);
    let fixed = edca.aifs()
        + edca.mean_backoff()
        + rate.preamble(Timing::Standard)
        + response
        + rate.symbol() / 2;
    // Service field and tail, 22 bits.
    (fixed.as_secs_f64() + 22.0 / rate.rate().as_bps_f64()) / (1.0 - BEACONS)
}
