//! What the proxy keeps per station: the queue, the pacer, the mode, and the account of the slot.

use super::Mode;
use crate::packet::PacketBuf;
use airpace_api::config::{ControlConfig, FallbackConfig};
use airpace_config::quantity::Rate;
use airpace_core::pace::{Account, Pacer};
use airpace_core::queue::FqCoDel;
use airpace_core::report::{Allocation, SlotReport};
use airpace_units::{BitRate, StationId, Time};
use core::time::Duration;
use hdrhistogram::Histogram;

/// Lateness of the loop that is made up for, so that timers which are a little late cost no rate. What was held back longer is not
/// sent at once, because it would then wait in the access point instead; with the pacer's burst this makes one millisecond.
/// Lateness of user-space timers on a busy two-core machine: 0.1 ms at the median, 2.6 ms at the 99th percentile.
const CATCH_UP: Duration = Duration::from_micros(800);

/// Longest slot that a station may have, as the configuration of agents has it.
const LONGEST_SLOT: Duration = Duration::from_secs(10);

/// One station at the proxy.
pub(super) struct Port {
    pub(super) name: String,
    pub(super) id: StationId,
    pub(super) queue: FqCoDel<PacketBuf>,
    pub(super) pacer: Pacer,
    pub(super) mode: Mode,
    /// Whether the tunnel has a session with the station.
    pub(super) connected: bool,
    /// Whether a report of the station waits for the next decision.
    pub(super) reported: bool,
    /// Whether the station is in the list of those that have something to send.
    pub(super) active: bool,
    /// Whether packets waited for the pacer when it was last asked: they are due when it said, however late the loop is.
    pub(super) held_back: bool,
    pub(super) last_report: Option<(Time, SlotReport)>,
    /// When missing reports began to count: the last report, or when the station connected.
    pub(super) heard: Time,
    pub(super) allocation: Option<Allocation>,
    pub(super) account: Account,
    pub(super) statistics: Statistics,
}

/// What telemetry tells of the slot that runs.
pub(super) struct Statistics {
    pub(super) since: Time,
    pub(super) sent_bytes: u64,
    /// Only if somebody reads it: it takes 10 kB.
    pub(super) sojourn_us: Option<Histogram<u32>>,
    pub(super) dropped_before: u64,
    pub(super) marked_before: u64,
}

impl Statistics {
    pub(super) fn new(wanted: bool) -> Self {
        // Up to a minute at two digits; longer ones count as a minute.
        let sojourn_us =
            wanted.then(|| Histogram::new_with_max(60_000_000, 2).expect("the bounds are valid"));
        Self {
            since: Time::ZERO,
            sent_bytes: 0,
            sojourn_us,
            dropped_before: 0,
            marked_before: 0,
        }
    }

    pub(super) fn sent(&mut self, bytes: u32, sojourn: Option<Duration>) {
        self.sent_bytes += u64::from(bytes);
        if let Some((sojourn, histogram)) = sojourn.zip(self.sojourn_us.as_mut()) {
            histogram.saturating_record(sojourn.as_micros().try_into().unwrap_or(u64::MAX));
        }
    }

    /// Begins the next slot.
    pub(super) fn turn_over(&mut self, now: Time, (dropped, marked): (u64, u64)) {
        self.since = now;
        self.sent_bytes = 0;
        if let Some(histogram) = self
            .sojourn_us
            .as_mut()
            .filter(|histogram| !histogram.is_empty())
        {
            histogram.reset();
        }
        (self.dropped_before, self.marked_before) = (dropped, marked);
    }
}

/// What a mode is decided from.
pub(super) struct Rules<'a> {
    pub(super) control: &'a ControlConfig,
    pub(super) fallback: &'a FallbackConfig,
    /// Whether the law measures: with `fixed` and `none` nothing is expected of reports.
    pub(super) measures: bool,
}

impl Port {
    /// The mode that the reports, or their absence, ask for.
    pub(super) fn wanted_mode(&self, now: Time, rules: &Rules<'_>) -> Mode {
        if !self.connected {
            return Mode::Away;
        }
        if !rules.measures {
            return Mode::Controlled;
        }
        // A station whose slots are longer than ours reports as often as it can.
        let own = self
            .last_report
            .as_ref()
            .map_or(Duration::ZERO, |(_, report)| {
                report.length.min(LONGEST_SLOT)
            });
        let slot = rules.control.slot.0.max(own);
        let missing = |slots: u32| now.saturating_since(self.heard) >= slot.saturating_mul(slots);
        if missing(rules.fallback.unshaped_after_slots) {
            Mode::Unshaped
        } else if missing(rules.fallback.conservative_after_slots) {
            Mode::Conservative
        } else if self.last_report.is_some() {
            Mode::Controlled
        } else {
            Mode::Starting
        }
    }

    /// When the packet that may leave now was due; `None` if none may.
    pub(super) fn due(&self, now: Time) -> Option<Time> {
        let release = self.pacer.next_release().filter(|at| *at <= now)?;
        let earliest = Time::from_nanos(now.as_nanos().saturating_sub(CATCH_UP.as_nanos() as u64));
        Some(if self.held_back {
            release.max(earliest)
        } else {
            now
        })
    }

    /// The rate that belongs to the mode; `None` if everything passes.
    pub(super) fn granted(&self, rules: &Rules<'_>) -> Option<Allocation> {
        let packet = rules.control.packet.0.0 as f64;
        let at_rate = |rate: Rate| {
            let rate_bytes_per_s = rate.0.as_bps_f64() / 8.0;
            let level = rules.control.level_limit;
            Allocation {
                station: self.id,
                rate_pps: rate_bytes_per_s / packet,
                rate_bytes_per_s,
                level,
            }
        };
        match self.mode {
            Mode::Away | Mode::Unshaped => None,
            Mode::Starting => Some(at_rate(rules.control.initial_rate)),
            Mode::Conservative => {
                let slow = at_rate(rules.fallback.rate);
                let last = self
                    .allocation
                    .filter(|last| last.rate_bytes_per_s < slow.rate_bytes_per_s);
                Some(last.unwrap_or(slow))
            }
            Mode::Controlled if rules.measures => Some(
                self.allocation
                    .unwrap_or_else(|| at_rate(rules.control.initial_rate)),
            ),
            Mode::Controlled => rules.control.fixed_rate.map(at_rate),
        }
    }

    /// Applies the rate that belongs to the mode.
    pub(super) fn apply(&mut self, now: Time, rules: &Rules<'_>) {
        let Some(allocation) = self.granted(rules) else {
            return self.pacer.unshape();
        };
        let phy = self
            .last_report
            .as_ref()
            .and_then(|(_, report)| report.phy_rate_bps());
        let phy = phy
            .filter(|_| self.mode == Mode::Controlled)
            .map(BitRate::from_bps_f64);
        self.pacer.grant(now, &allocation, phy);
    }
}
