//! What the sensor has seen of a station in a slot.

use crate::report::Answers;
use airpace_units::Time;
use core::time::Duration;

/// A slot as the sensor sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClosedSlot {
    pub(super) number: u64,
    pub(super) length: Duration,
    pub(super) frames: u32,
    pub(super) packets: u32,
    pub(super) bytes: u64,
    pub(super) span: Option<(Time, Time)>,
    pub(super) confidence: f64,
    pub(super) transit: Option<Duration>,
    pub(super) airtime_bps: Option<f64>,
    pub(super) answers: Answers,
    pub(super) upload_bps: Option<f64>,
}
