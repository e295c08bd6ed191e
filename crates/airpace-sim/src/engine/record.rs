use airpace_core::control::Diagnostics;
use airpace_units::Time;
use core::time::Duration;

/// One slot of a closed loop.
#[derive(Clone, PartialEq, Debug)]
pub struct SlotRecord {
    /// Slot number, from zero.
    pub slot: u64,
    /// End of the slot.
    pub end: Time,
    /// The stations, in order; those that have not joined are all zero.
    pub stations: Vec<StationSlot>,
    /// What the law believed after this slot.
    pub diagnostics: Diagnostics,
}

/// What one station saw of a slot, and what was done to it.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct StationSlot {
    /// Whether the station takes part.
    pub joined: bool,
    /// Rate that it was sent at during the slot, packets per second.
    pub rate_pps: f64,
    /// Level that this rate aimed at, packets per frame.
    pub target_level: f64,
    /// Frames that carried new packets.
    pub frames: u32,
    /// Mean packets per frame; 0 without frames.
    pub level: f64,
    /// Mean time between frames in seconds; 0 with fewer than two.
    pub round_s: f64,
    /// Mean one-way delay, from arrival at the access point to the end of the frame.
    pub delay_mean: Duration,
    /// Longest such delay.
    pub delay_max: Duration,
    /// Packets received per second.
    pub received_pps: f64,
    /// Payload received, Mbit/s.
    pub goodput_mbps: f64,
    /// Packets that never came, by sequence number.
    pub lost: u32,
    /// Packets waiting at the access point at the end of the slot.
    pub queue: usize,
    /// The longest that the queue was during the slot.
    pub queue_peak: usize,
}

/// Mean of `value` over the joined stations of `slots`; 0 if there are none.
#[must_use]
pub fn mean_over(slots: &[SlotRecord], value: impl Fn(&StationSlot) -> f64) -> f64 {
    let joined = || {
        slots
            .iter()
            .flat_map(|slot| &slot.stations)
            .filter(|station| station.joined)
    };
    let count = joined().count();
    if count == 0 {
        0.0
    } else {
        joined().map(value).sum::<f64>() / count as f64
    }
}

/// Mean round time in seconds over stations and slots, weighted by frames.
#[must_use]
pub fn mean_round_s(slots: &[SlotRecord]) -> f64 {
    let gaps = |s: &StationSlot| f64::from(s.frames.saturating_sub(1));
    let total = mean_over(slots, gaps);
    if total > 0.0 {
        mean_over(slots, |s| s.round_s * gaps(s)) / total
    } else {
        0.0
    }
}
