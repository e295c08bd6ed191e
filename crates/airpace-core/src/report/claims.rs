//! Holds a station's reports against what its sender knows.
//!
//! A report is a claim of the station about itself: the tunnel proves who made it, not that it is
//! true. [`Ledger`] keeps what was sent to one station and not yet received. It removes from each
//! report what cannot be, so that a law sees only numbers that an honest station could have
//! measured. `SECURITY.md` says what such a station can still gain.

use super::SlotReport;
use core::time::Duration;

/// Most packets in a frame. EHT has 1024 MPDUs (IEEE 802.11be-2024, 35.3).
pub const LEVEL_MAX: u32 = 1024;
/// Lowest and highest PHY rate of 802.11, bit/s: DSSS at 1 Mbit/s, with room for rounding, and EHT MCS 13 with 16 streams at 320 MHz (46.1 Gbit/s).
pub const PHY_RANGE_BPS: (f64, f64) = (0.99e6, 46.2e9);
/// Least time between two frames to one station: preamble, SIFS and answer take longer.
const GAP_LEAST_S: f64 = 40e-6;
/// The frames of a slot may span this many times its length: clocks drift, and the first frame of a
/// slot may have ended before it began.
const SPAN_MOST: f64 = 1.25;
/// Longest waiting time that is believed, or four slots if that is longer. An access point's queue
/// of a thousand packets at the lowest rates holds about as much.
const WAIT_MOST: Duration = Duration::from_secs(2);
/// Packets received may exceed those sent by this share: passive sensors estimate the counts.
const TOLERANCE: f64 = 1.25;
/// Packets by which they may exceed them besides: a small slot has little to take a share of.
const SLACK_PACKETS: f64 = 4.0;
/// The same for bytes: [`SLACK_PACKETS`] of the largest packets of the tunnel.
const SLACK_BYTES: f64 = SLACK_PACKETS * 1600.0;
/// What is kept per report of the packets that are on their way: some are lost without a trace, and
/// a station must not claim them for ever.
const KEPT: f64 = 0.985;

/// What was sent to one station and was not received so far.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Ledger {
    packets: f64,
    bytes: f64,
}

impl Ledger {
    /// Removes from `report` what contradicts the standard or what was sent. Returns whether there
    /// was anything to remove. The report's [`SenderView`](super::SenderView) must be filled in.
    pub fn correct(&mut self, report: &mut SlotReport) -> bool {
        let before = report.clone();
        correct_frames(report);
        correct_rates(report);
        correct_times(report);
        self.correct_counts(report);
        // Rates that are not numbers are never equal, and count as corrected.
        *report != before
    }

    /// Limits what was received to what was sent since the last report, plus what was on its way.
    fn correct_counts(&mut self, report: &mut SlotReport) {
        let packets = self.packets + f64::from(report.sender.sent_packets);
        let bytes = self.bytes + report.sender.sent_bytes as f64;
        let most_packets = TOLERANCE * packets + SLACK_PACKETS;
        if f64::from(report.packets) > most_packets {
            scale_counts(report, most_packets / f64::from(report.packets));
        }
        let most_bytes = TOLERANCE * bytes + SLACK_BYTES;
        if report.bytes as f64 > most_bytes {
            report.bytes = most_bytes as u64;
        }
        self.packets = KEPT * (packets - f64::from(report.packets)).max(0.0);
        self.bytes = KEPT * (bytes - report.bytes as f64).max(0.0);
    }
}

/// Forgets frames that no access point sends.
fn correct_frames(report: &mut SlotReport) {
    let packets_most = u64::from(report.frames) * u64::from(LEVEL_MAX);
    let is_consistent =
        report.packets >= report.frames && (report.frames > 0) == (report.packets > 0);
    if !is_consistent || u64::from(report.packets) > packets_most {
        (report.frames, report.mpdus, report.packets) = (0, 0, 0);
        (report.longest_frame, report.span) = (0, None);
        (report.inverse_rate_sum, report.recent_inverse_rate) = (0.0, 0.0);
    }
    if report.longest_frame > LEVEL_MAX {
        // The longest frame teaches how long frames can be, so a doubtful one is not told at all.
        report.longest_frame = 0;
    }
}

/// Forgets PHY rates that no standard has.
fn correct_rates(report: &mut SlotReport) {
    let (least, most) = PHY_RANGE_BPS;
    let is_possible = |bps: f64| (least..=most).contains(&bps);
    // Zero means that the rate is not known.
    if report.inverse_rate_sum != 0.0
        && !is_possible(f64::from(report.frames) / report.inverse_rate_sum)
    {
        (report.inverse_rate_sum, report.recent_inverse_rate) = (0.0, 0.0);
    }
    if report.recent_inverse_rate != 0.0 && !is_possible(1.0 / report.recent_inverse_rate) {
        report.recent_inverse_rate = 0.0;
    }
}

/// Forgets rounds that do not fit into the slot, and limits waiting times.
fn correct_times(report: &mut SlotReport) {
    if let Some((first, last)) = report.span {
        let gaps = f64::from(report.frames.saturating_sub(1));
        let most_s = SPAN_MOST * report.length.as_secs_f64();
        let is_possible = last.checked_since(first).is_some_and(|span| {
            let span_s = span.as_secs_f64();
            span_s >= gaps * GAP_LEAST_S && span_s <= most_s
        });
        if !is_possible {
            report.span = None;
        }
    }
    if let Some(wait) = &mut report.wait {
        let most = WAIT_MOST.max(report.length.saturating_mul(4));
        for time in [&mut wait.mean, &mut wait.p50, &mut wait.p95, &mut wait.p99] {
            *time = (*time).min(most);
        }
    }
}

/// Scales frames and packets alike, which leaves the level as it is.
fn scale_counts(report: &mut SlotReport, factor: f64) {
    let scaled = |count: u32| (f64::from(count) * factor) as u32;
    let frames = report.frames;
    report.frames = scaled(report.frames).max(1);
    let most = report.frames.saturating_mul(LEVEL_MAX);
    report.packets = scaled(report.packets).clamp(report.frames, most);
    report.mpdus = scaled(report.mpdus).clamp(report.frames, report.packets);
    // The sum is over the frames, and the rate stays.
    report.inverse_rate_sum *= f64::from(report.frames) / f64::from(frames.max(1));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{SenderView, WaitingTime};
    use airpace_units::{StationId, Time};

    const SLOT: Duration = Duration::from_millis(100);

    /// A report of twenty frames of ten packets at 100 Mbit/s, all of which were sent.
    fn honest() -> SlotReport {
        SlotReport {
            frames: 20,
            mpdus: 200,
            packets: 200,
            longest_frame: 14,
            bytes: 300_000,
            span: Some((Time::from_millis(3), Time::from_millis(98))),
            inverse_rate_sum: 20.0 / 100e6,
            recent_inverse_rate: 1.0 / 100e6,
            sender: SenderView {
                sent_packets: 200,
                sent_bytes: 300_000,
                ..SenderView::default()
            },
            ..SlotReport::silent(StationId(0), SLOT)
        }
    }

    fn corrected(report: SlotReport) -> SlotReport {
        let mut after = report;
        assert!(Ledger::default().correct(&mut after), "{after:?}");
        after
    }

    #[test]
    fn an_honest_report_stays_as_it_is() {
        let mut ledger = Ledger::default();
        for _ in 0..100 {
            let mut report = honest();
            assert!(!ledger.correct(&mut report));
            assert_eq!(report, honest());
        }
    }

    #[test]
    fn packets_that_were_late_for_one_slot_count_in_the_next() {
        let mut ledger = Ledger::default();
        let mut starved = SlotReport {
            sender: honest().sender,
            ..SlotReport::silent(StationId(0), SLOT)
        };
        assert!(!ledger.correct(&mut starved));
        let mut flooded = SlotReport {
            frames: 38,
            mpdus: 380,
            packets: 380,
            bytes: 570_000,
            inverse_rate_sum: 38.0 / 100e6,
            ..honest()
        };
        assert!(!ledger.correct(&mut flooded));
    }

    #[test]
    fn more_packets_than_were_sent_are_not_believed() {
        let claimed = SlotReport {
            frames: 200,
            mpdus: 2000,
            packets: 2000,
            bytes: 3_000_000,
            inverse_rate_sum: 200.0 / 100e6,
            ..honest()
        };
        let mut ledger = Ledger::default();
        let mut credited = 0;
        for _ in 0..50 {
            let mut report = claimed.clone();
            assert!(ledger.correct(&mut report));
            assert!((report.phy_rate_bps().expect("it is known") / 100e6 - 1.0).abs() < 1e-9);
            credited += report.packets;
        }
        assert!(credited <= 50 * 255, "{credited} of 10,000 packets sent");
    }

    #[test]
    fn fewer_frames_do_not_become_longer_than_frames_can_be() {
        // A seventh of five frames is less than one.
        let after = corrected(SlotReport {
            frames: 5,
            mpdus: 5 * LEVEL_MAX,
            packets: 5 * LEVEL_MAX,
            sender: SenderView {
                sent_packets: 1024,
                ..honest().sender
            },
            ..honest()
        });
        assert_eq!((after.frames, after.packets), (1, LEVEL_MAX));
    }

    #[test]
    fn a_station_that_is_sent_nothing_cannot_have_received_anything_for_long() {
        let mut ledger = Ledger::default();
        for _ in 0..20 {
            let mut report = SlotReport {
                sender: SenderView::default(),
                ..honest()
            };
            assert!(ledger.correct(&mut report));
            assert!(report.packets <= 4);
        }
    }

    #[test]
    fn rates_beyond_the_standard_are_unknown() {
        for bps in [1e3, 100e9, -5e6, f64::NAN] {
            let after = corrected(SlotReport {
                inverse_rate_sum: 20.0 / bps,
                recent_inverse_rate: 1.0 / bps,
                ..honest()
            });
            assert_eq!(after.phy_rate_bps(), None, "{bps}");
        }
    }

    #[test]
    fn frames_that_no_access_point_sends_do_not_count() {
        let after = corrected(SlotReport {
            frames: 1,
            packets: 5000,
            ..honest()
        });
        assert_eq!((after.frames, after.level()), (0, None));
        assert_eq!(
            corrected(SlotReport {
                longest_frame: 4000,
                ..honest()
            })
            .longest_frame,
            0
        );
    }

    #[test]
    fn rounds_that_do_not_fit_into_the_slot_are_unknown() {
        for (first, last) in [(0, 1_000), (98, 3), (5, 5)] {
            let span = Some((Time::from_millis(first), Time::from_millis(last)));
            assert_eq!(corrected(SlotReport { span, ..honest() }).round_s(), None);
        }
    }

    #[test]
    fn waiting_times_have_an_upper_bound() {
        let wait = WaitingTime {
            p95: Duration::from_secs(3600),
            ..WaitingTime::default()
        };
        let after = corrected(SlotReport {
            wait: Some(wait),
            ..honest()
        });
        assert_eq!(after.wait.expect("it was measured").p95, WAIT_MOST);
    }
}
