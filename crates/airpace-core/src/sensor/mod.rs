//! Sensors for stations without an agent: what a box in front of the access point can tell of the
//! frames to each station, from live traffic alone.
//!
//! A ladder, best first; each rung yields the same [`SlotReport`](crate::report::SlotReport) with
//! its [`Sensor`](crate::report::Sensor) and a confidence:
//!
//! 1. the agent's own report;
//! 2. [`block_ack`]: a second radio near the access point hears block acks;
//! 3. [`ack_burst`]: answers to TCP and QUIC pass the box in bursts, one per uplink frame;
//! 4. [`waiting`]: round-trip times of live traffic, for the waiting time alone;
//! 5. nothing: the sender knows only what it has sent.
//!
//! [`ladder`] picks the best usable one for each station and slot. A sensor that is not sure says
//! so, by a report without frames and with confidence 0, rather than report a doubtful level. No
//! sensor sends anything.

/// A report with at least this confidence is usable: its level is expected within 30 % of the truth.
pub const USABLE: f64 = 0.5;

use airpace_units::Time;

pub mod ack_burst;
pub mod block_ack;
mod burst_gap;
mod connections;
pub mod ladder;
pub mod waiting;
pub mod wired;

/// When the first and the last of `frames` frames came, so that their distance divided by
/// `frames` − 1 is the mean time between frames.
///
/// The last answer before the slot and the latest one in it are as far apart as `frames` frames.
fn frame_span(before: Time, latest: Option<Time>, frames: u32) -> Option<(Time, Time)> {
    let latest = latest.filter(|_| frames > 0)?;
    let round = latest.saturating_since(before) / frames;
    Some((before.saturating_add(round).min(latest), latest))
}
