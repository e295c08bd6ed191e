//! Stations that sleep while they are sent packets.
//!
//! An access point holds the packets to a station that sleeps until a beacon has told it of them, so its frames
//! come in groups, one beacon interval apart or several. Taken for rounds, these intervals made a station at MCS 4
//! look as slow as 12 Mbit/s, and the waits asked for less still: it was granted 1 Mbit/s, at which no sensor sees
//! frames any more, and had 0.7 Mbit/s for twenty seconds after it had woken (emulated access point). So what is
//! seen of a station that sleeps tells nothing, and neither does what is seen in the moment after.

use super::super::sample::Sample;
use crate::report::{SenderView, SlotReport};
use airpace_units::Time;
use core::time::Duration;

/// Least time between frames that may be due to sleep, seconds: half of the usual beacon interval (102.4 ms), since
/// two frames may follow one beacon.
const ROUND_S: f64 = 0.045;
/// It also exceeds the station's usual one by this factor at least. Other networks that begin to use the channel
/// make rounds longer by less: a PPDU of theirs takes 5.5 ms at the most, as ours do.
const OVER_USUAL: f64 = 6.0;
/// Weight of a slot in the usual time between frames: that of a first slot of a sleep which is not recognised must not
/// hide the second.
const USUAL_GAIN: f64 = 0.05;
/// Least median wait of packets meanwhile, seconds. Those to a station that is sent little do not wait.
const WAIT_S: f64 = 0.05;
/// What is seen tells nothing for so long after the last such slot: a slot may end between two groups of frames.
const AFTER: Duration = Duration::from_millis(300);
/// For so long at the most a station is taken to sleep. If it does not, the access point's queue grows meanwhile.
const LONGEST: Duration = Duration::from_secs(20);

/// Whether a station sleeps.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Doze {
    /// The usual time between its frames, seconds: a geometric mean over some twenty slots.
    usual_s: Option<f64>,
    /// When it was first found to sleep, and until when it is taken to.
    since: Option<Time>,
    until: Time,
}

impl Doze {
    /// Takes the slot that ends `now`. Returns whether it tells nothing.
    pub(super) fn take(&mut self, now: Time, sample: &Sample) -> bool {
        let round_s = match sample.round_s {
            Some(round_s) => round_s,
            None if sample.frames > 0.0 => sample.length_s,
            None => 0.0,
        };
        // No wait is known where timeouts have had everything sent again.
        let waits = sample
            .wait
            .map_or(sample.backlogged, |wait| wait.median_s > WAIT_S);
        let is_long = |usual_s: f64| round_s > ROUND_S.max(OVER_USUAL * usual_s);
        if waits && self.usual_s.is_some_and(is_long) {
            self.since.get_or_insert(now);
            self.until = now + AFTER;
        }
        if now > self.until {
            self.since = None;
        }
        if self.since.is_none()
            && let Some(round_s) = sample.round_s
        {
            let usual_s = self.usual_s.get_or_insert(round_s);
            *usual_s *= (round_s / *usual_s).powf(USUAL_GAIN);
        }
        self.since
            .is_some_and(|since| now.saturating_since(since) < LONGEST)
    }
}

/// The report of a slot in which nothing was sent or seen.
pub(super) fn without_what_was_seen(report: &SlotReport) -> SlotReport {
    SlotReport {
        slot: report.slot,
        source: report.source,
        sensor: report.sensor,
        sender: SenderView {
            backlogged: false,
            ..SenderView::default()
        },
        ..SlotReport::silent(report.station, report.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Sensor, WaitSource, WaitingTime};
    use airpace_units::StationId;

    const SLOT: Duration = Duration::from_millis(100);

    /// A slot of 100 ms with so many frames over `span_ms`, whose packets wait for `wait_ms`.
    fn sample(frames: u32, span_ms: u64, wait_ms: u64) -> Sample {
        let wait = Duration::from_millis(wait_ms);
        let report = SlotReport {
            frames,
            mpdus: 30 * frames,
            packets: 30 * frames,
            bytes: 45_000 * u64::from(frames),
            span: Some((Time::ZERO, Time::from_millis(span_ms))),
            wait: Some(WaitingTime::constant(wait, WaitSource::TcpAcks)),
            sensor: Sensor::AckBurst,
            ..SlotReport::silent(StationId::from_index(0), SLOT)
        };
        Sample::read(&report).unwrap()
    }

    /// One that has had a frame every `usual_ms` milliseconds.
    fn awake(usual_ms: u64) -> Doze {
        let mut doze = Doze::default();
        assert!(!doze.take(Time::ZERO, &sample(11, 10 * usual_ms, 6)));
        doze
    }

    #[test]
    fn frames_a_beacon_apart_tell_nothing_until_a_moment_after_the_last() {
        let mut doze = awake(4);
        let mut found = Vec::new();
        for slot in 1..=12_u64 {
            let now = Time::ZERO + SLOT * slot as u32;
            let of_slot = if (3..=6).contains(&slot) {
                sample(2, 65, 250)
            } else {
                sample(25, 96, 6)
            };
            if doze.take(now, &of_slot) {
                found.push(slot);
            }
        }
        assert_eq!(found, [3, 4, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn a_station_that_is_sent_little_and_one_whose_rounds_are_always_long_do_not_sleep() {
        for (of_slot, usual_ms) in [
            (sample(2, 60, 3), 4),
            (sample(2, 60, 80), 50),
            (sample(5, 80, 80), 4),
        ] {
            assert!(!awake(usual_ms).take(Time::ZERO + SLOT, &of_slot));
        }
    }

    #[test]
    fn frames_a_beacon_apart_are_a_sleep_too_where_no_wait_is_known() {
        let no_wait = |mut sample: Sample| {
            sample.wait = None;
            sample
        };
        let mut doze = awake(2);
        // Too short to be sure, and yet no reason to take what follows for usual.
        assert!(!doze.take(Time::ZERO + SLOT, &no_wait(sample(4, 80, 0))));
        assert!(doze.take(Time::ZERO + 2 * SLOT, &no_wait(sample(2, 90, 0))));
        let mut idle = no_wait(sample(2, 90, 0));
        idle.backlogged = false;
        assert!(!awake(2).take(Time::ZERO + SLOT, &idle));
    }

    #[test]
    fn a_station_does_not_sleep_for_ever() {
        let mut doze = awake(4);
        let asleep = sample(2, 65, 250);
        let slots = (1..400).filter(|slot| doze.take(Time::ZERO + SLOT * *slot, &asleep));
        assert_eq!(slots.count(), 200);
    }
}
