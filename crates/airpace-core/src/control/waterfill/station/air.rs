//! Holds the packets that a station tells of against those that it was sent.
//!
//! A packet that was sent is on the air, waits, or is lost. What waits is bounded: it waits for the
//! round that runs, or for some slots while frames are full or the station sleeps. So over some slots what was sent is
//! what was on the air, whatever the station tells. The law plans with what it sends; if it measured
//! something else, rounds would not be as long as it aims at.

use super::super::super::sample::Sample;

/// Packets on their way to the station while frames are not full: those of this time ...
const IN_FLIGHT_S: f64 = 0.03;
/// ... and of so many rounds.
const IN_FLIGHT_ROUNDS: f64 = 2.5;
/// Slots for which packets may wait because the station sleeps, or frames are full.
const WAITING_SLOTS: f64 = 4.0;
/// Largest part of the packets sent that is believed to be lost before the air.
const LOST_MOST: f64 = 0.1;
/// Largest factor between the packets per second while frames come, by their gaps, and those of the
/// whole slot: as much as [`FILLED_SHARE`](super::FILLED_SHARE) permits.
const ACTIVE_MOST: f64 = 1.0 / super::FILLED_SHARE;
/// What is kept per report of the packets that were sent and not yet on the air.
const KEPT: f64 = 0.985;

/// Bounds of the packets on the air to a station with an agent.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct OnAir {
    least_pps: f64,
    most_pps: f64,
    /// Packets sent that were not yet on the air; `None` until a report has come.
    missing: Option<f64>,
}

impl Default for OnAir {
    fn default() -> Self {
        Self {
            least_pps: 0.0,
            most_pps: f64::INFINITY,
            missing: None,
        }
    }
}

impl OnAir {
    /// Lets what was sent bound nothing until the next report.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// What is believed of `told_pps` packets per second on the air.
    pub(super) fn bounded(&self, told_pps: f64) -> f64 {
        told_pps.min(self.most_pps).max(self.least_pps)
    }

    /// Takes a slot in which the station tells of `told_pps` packets per second in frames that were to
    /// hold `level`; `full` says whether they are as long as they can be.
    pub(super) fn observe(&mut self, sample: &Sample, told_pps: f64, level: f64, full: bool) {
        if sample.is_passive {
            // What a box has observed is no claim.
            self.forget();
            return;
        }
        let sent = sample.sent_pps.unwrap_or(0.0) * sample.length_s;
        let waiting = IN_FLIGHT_S / sample.length_s * sent + IN_FLIGHT_ROUNDS * level.max(1.0);
        let Some(missing) = self.missing else {
            // What was on its way before is not known.
            self.missing = Some(0.5 * waiting);
            return;
        };
        let waiting = if full || sample.frames == 0.0 {
            WAITING_SLOTS * sent + waiting
        } else {
            waiting
        };
        // Rounds are measured while frames come, and so are packets; those sent are of the whole slot.
        // A source that pauses, or another network in between, makes the former more.
        let active = if sample.received_pps > 0.0 {
            (told_pps / sample.received_pps).clamp(1.0, ACTIVE_MOST)
        } else {
            1.0
        };
        let lost = (sample.lost_pps * sample.length_s).min(LOST_MOST * sent);
        let open = missing + sent;
        self.most_pps = active * open / sample.length_s;
        // What was missing before may have been lost without a trace.
        let least = (open - waiting).min(sent) - lost;
        self.least_pps = least.max(0.0) / sample.length_s;
        let on_air = self.bounded(told_pps) / active * sample.length_s;
        self.missing = Some(KEPT * (open - on_air).min(waiting).max(0.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{SenderView, Sensor, SlotReport};
    use airpace_units::StationId;
    use core::time::Duration;

    const SENT: u32 = 400;
    const SENT_PPS: f64 = 4_000.0;

    /// A slot of 100 ms in which 400 packets were sent, and these told of in so many frames.
    fn sample(frames: u32, told: f64) -> Sample {
        let packets = (told * f64::from(SENT)).round() as u32;
        let frames = frames.min(packets);
        let report = SlotReport {
            frames,
            packets: if frames > 0 { packets } else { 0 },
            sensor: Sensor::Agent,
            sender: SenderView {
                backlogged: true,
                sent_packets: SENT,
                sent_bytes: u64::from(SENT) * 1500,
                ..SenderView::default()
            },
            ..SlotReport::silent(StationId(0), Duration::from_millis(100))
        };
        Sample::read(&report).expect("the report is consistent")
    }

    /// Mean of the packets per second that count, as a share of those sent, if the station tells in
    /// turn of these shares. The first slots are left out.
    fn counted(told: &[f64], frames: u32, full: bool) -> f64 {
        let mut on_air = OnAir::default();
        let mut sum = 0.0;
        for slot in 0..400 {
            let told = told[slot % told.len()];
            let told_pps = told * SENT_PPS;
            on_air.observe(&sample(frames, told), told_pps, 20.0, full);
            if slot >= 200 {
                sum += on_air.bounded(told_pps);
            }
        }
        sum / 200.0 / SENT_PPS
    }

    #[test]
    fn whole_frames_that_slots_cut_differently_count_as_told() {
        let told = [0.95, 1.05, 1.0, 1.05, 0.95];
        let share = counted(&told, 20, false);
        assert!((share - 1.0).abs() < 0.002, "{share}");
        for share in told {
            let mut on_air = OnAir::default();
            on_air.observe(&sample(20, 1.0), SENT_PPS, 20.0, false);
            on_air.observe(&sample(20, share), share * SENT_PPS, 20.0, false);
            assert_eq!(on_air.bounded(share * SENT_PPS), share * SENT_PPS);
        }
    }

    #[test]
    fn packets_count_as_their_frames_come_also_if_these_come_in_a_part_of_the_slot_only() {
        let mut on_air = OnAir::default();
        for _ in 0..400 {
            let told_pps = SENT_PPS / 0.7;
            on_air.observe(&sample(20, 1.0), told_pps, 20.0, false);
            assert!((on_air.bounded(told_pps) / told_pps - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn packets_that_are_told_of_in_every_other_slot_or_never_count_as_sent() {
        for told in [&[0.03, 1.0][..], &[0.0], &[0.5]] {
            for (frames, full) in [(20, false), (0, false), (2, true)] {
                let share = counted(told, frames, full);
                assert!((0.9..=1.01).contains(&share), "{told:?}: {share}");
            }
        }
    }

    #[test]
    fn packets_that_were_not_sent_do_not_count() {
        for told in [&[1.6][..], &[5.0, 1.0], &[0.2, 4.0]] {
            let share = counted(told, 20, false);
            assert!((0.95..=1.01).contains(&share), "{told:?}: {share}");
        }
    }
}
