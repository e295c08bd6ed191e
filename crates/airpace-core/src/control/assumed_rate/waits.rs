//! Rates of stations of which nothing is known but how long their packets wait.
//!
//! Waits depend on what all stations are sent: all packets wait for the same rounds. So they tell at once what the
//! stations may be sent together, and only in the long run, where one's packets wait longer than the others', how to
//! divide it. Where airtimes are known besides, they tell that.

use super::median::medians;
use super::slot::mean;
use airpace_units::Time;

/// Median wait in seconds from which a station that is alone gets less.
pub(super) const LONG_WAIT_S: f64 = 0.008;
/// Power of the number of stations by which that grows: a round has a frame to each.
const STATIONS_POWER: f64 = 0.33;
/// Rates change per slot by the ratio of that to the median wait, to this power ...
const WAIT_POWER: f64 = 0.3;
/// ... and by no less and no more than these factors.
pub(super) const WAITING_FALL: f64 = 0.8;
pub(super) const IDLE_RISE: f64 = 1.5;
/// Weight of a slot in the mean of how much longer a station's packets wait than the others'. The station's rate falls
/// per slot by that ratio, to this power.
const EXCESS_GAIN: f64 = 0.05;
const EXCESS_POWER: f64 = 0.1;
/// Rates come together by this part of their distance per slot. Without that they drift apart.
const TOGETHER_GAIN: f64 = 0.04;
/// Where airtimes are known, the ratios between rates move to the ratios that airtimes tell by this part of the distance
/// per slot.
const TOLD_GAIN: f64 = 0.2;
/// All these rates together move to the rates that airtimes tell by this part of the distance per slot. Waits weigh more:
/// if airtimes tell twice the rate, waits become longer by a quarter. Without it rates drift while no wait is known.
const TOLD_TOGETHER_GAIN: f64 = 0.1;
/// From this excess on, which is twice the others' waits, a station's waits contradict its airtime: few waits are known,
/// and they scatter.
const CONTRADICTING: f64 = core::f64::consts::LN_2;
/// A station is sent much if it is sent at least this part of the mean over all.
const MUCH: f64 = 0.5;
/// A wait counts for so many seconds, or for so many times its own length if that is longer: the next is known after
/// a round trip.
const RECENT_S: f64 = 1.0;
const ROUND_TRIPS: f64 = 3.0;
/// Until the next wait is known, a queue is taken to be shorter by so many seconds after each second. It cannot drain
/// by more than one, but with one, rates fell to a tenth of the right ones.
const DRAINED: f64 = 2.0;
/// A shorter wait than this, in seconds, is not taken for a queue that lasts until the next is known.
const QUEUE_LEAST_S: f64 = 0.05;
/// Shorter waits than this, in seconds, count as this.
const LEAST_S: f64 = 1e-4;

/// The waits of one station.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Waits {
    /// The last median, seconds, and when the slot ended.
    known: Option<(Time, f64)>,
    /// Logarithm of its waits over those of the others, the mean over the last slots.
    excess: f64,
}

/// A station in a slot.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Waiting {
    pub(super) waits: Waits,
    /// The median of the slot, seconds.
    pub(super) median_s: Option<f64>,
    /// Whether packets for it wait in the box.
    pub(super) is_backlogged: bool,
    /// What it is sent, bytes per second.
    pub(super) sent: f64,
    /// Its assumed rate.
    pub(super) bps: f64,
    /// The rate that the airtime of a bit tells, if that is known.
    pub(super) told_bps: Option<f64>,
}

impl Waits {
    /// Takes the median of the slot that ends `now`, if it is known, seconds. Returns what is known of the wait:
    /// without a new one, a queue is taken to be shorter by [`DRAINED`] of the time that has passed.
    pub(super) fn take(&mut self, now: Time, median_s: Option<f64>) -> Option<f64> {
        if let Some(median_s) = median_s {
            self.known = Some((now, median_s));
            return Some(median_s);
        }
        let (at, before_s) = self.known?;
        let left_s = before_s - DRAINED * now.saturating_since(at).as_secs_f64();
        (left_s > QUEUE_LEAST_S).then_some(left_s)
    }

    /// Whether one has been known a moment ago, or within three such waits.
    pub(super) fn is_known(&self, now: Time) -> bool {
        self.known.is_some_and(|(at, median_s)| {
            let passed_s = now.saturating_since(at).as_secs_f64();
            passed_s < RECENT_S.max(ROUND_TRIPS * median_s)
        })
    }
}

/// Changes the rates of stations of which no frames are seen, by the waits of a slot and by what airtimes tell. Those of
/// which neither is known are taken to be like the others: if they were sent all that comes, they would fill the access
/// point's queue, and the others would yield to them.
pub(super) fn adjust(stations: &mut [Waiting]) {
    divide_by_airtimes(stations);
    let backlogged = stations.iter().filter(|station| station.is_backlogged);
    let backlogged: Vec<f64> = backlogged.map(|station| station.bps.ln()).collect();
    let long_s = LONG_WAIT_S * (backlogged.len().max(1) as f64).powf(STATIONS_POWER);
    let room = |median_s: f64| (long_s / median_s.max(LEAST_S)).ln();
    // The median, so that one station that is alone in waiting for long does not slow all.
    let rooms = stations.iter().filter_map(|of| of.median_s).map(room);
    let Some((lower, upper)) = medians(rooms) else {
        return;
    };
    let common = 0.5 * (lower + upper);
    let factor = (WAIT_POWER * common).exp().clamp(WAITING_FALL, IDLE_RISE);
    let mean_bps = (!backlogged.is_empty()).then(|| mean(backlogged.into_iter()).exp());
    let sent = mean(stations.iter().map(|station| station.sent));
    for station in stations {
        if let Some(median_s) = station.median_s {
            let excess = common - room(median_s);
            station.waits.excess += EXCESS_GAIN * (excess - station.waits.excess);
        }
        let is_told = station.told_bps.is_some();
        let excess = if is_told {
            (station.waits.excess - CONTRADICTING).max(0.0)
        } else {
            station.waits.excess
        };
        let own = factor * (-EXCESS_POWER * excess).exp();
        let change = if station.is_backlogged {
            own
        } else if station.median_s.is_some() || station.sent >= MUCH * sent {
            // It could not use more, but it has a part in the queue.
            own.min(1.0)
        } else {
            1.0
        };
        let mean_bps = mean_bps.filter(|_| !is_told).unwrap_or(station.bps);
        station.bps *= change * (mean_bps / station.bps).powf(TOGETHER_GAIN);
    }
}

/// Moves rates to those that airtimes tell, and the ratios between them faster than all of them together.
fn divide_by_airtimes(stations: &mut [Waiting]) {
    let over = |station: &Waiting| Some((station.bps / station.told_bps?).ln());
    let backlogged = stations.iter().filter(|station| station.is_backlogged);
    let all: Vec<f64> = backlogged.filter_map(over).collect();
    if all.is_empty() {
        return;
    }
    let together = mean(all.into_iter());
    for station in stations {
        if let Some(own) = over(station) {
            let change = TOLD_GAIN * (own - together) + TOLD_TOGETHER_GAIN * together;
            station.bps *= (-change).exp();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(median_ms: f64, mbps: f64) -> Waiting {
        Waiting {
            waits: Waits::default(),
            median_s: Some(median_ms * 1e-3),
            is_backlogged: true,
            sent: 1e6,
            bps: mbps * 1e6,
            told_bps: None,
        }
    }

    fn after(slots: usize, mut stations: Vec<Waiting>) -> Vec<f64> {
        for _ in 0..slots {
            adjust(&mut stations);
        }
        stations.iter().map(|station| station.bps / 1e6).collect()
    }

    #[test]
    fn a_queue_is_known_until_it_may_be_gone() {
        let mut waits = Waits::default();
        let at = Time::from_millis;
        assert_eq!(waits.take(at(100), None), None);
        assert!(!waits.is_known(at(100)));
        assert_eq!(waits.take(at(200), Some(0.5)), Some(0.5));
        let left_s = waits.take(at(400), None).unwrap();
        assert!((left_s - 0.1).abs() < 1e-9);
        assert_eq!(waits.take(at(500), None), None);
        assert!(waits.is_known(at(1_600)) && !waits.is_known(at(1_800)));
        assert_eq!(waits.take(at(2_000), Some(0.01)), Some(0.01));
        assert_eq!(waits.take(at(2_100), None), None);
        assert!(waits.is_known(at(2_900)) && !waits.is_known(at(3_100)));
    }

    #[test]
    fn one_station_has_more_while_its_packets_wait_for_less_than_the_aim() {
        assert!((after(1, vec![waiting(8.0, 100.0)])[0] - 100.0).abs() < 1e-9);
        for (median_ms, least, most) in [
            (0.0, 1.5, 1.5),
            (4.0, 1.2, 1.25),
            (16.0, 0.8, 0.82),
            (900.0, 0.8, 0.8),
        ] {
            let factor = after(1, vec![waiting(median_ms, 100.0)])[0] / 100.0;
            assert!(
                factor > least - 1e-9 && factor < most + 1e-9,
                "{median_ms}: {factor}"
            );
        }
    }

    #[test]
    fn equal_stations_come_together_and_a_station_whose_packets_wait_longer_has_less() {
        let rates = after(
            200,
            vec![
                waiting(11.54, 150.0),
                waiting(11.54, 50.0),
                waiting(11.54, 100.0),
            ],
        );
        assert!(
            rates
                .iter()
                .all(|mbps| (mbps / rates[0] - 1.0).abs() < 0.02),
            "{rates:?}"
        );
        let rates = after(
            200,
            vec![
                waiting(5.0, 100.0),
                waiting(5.0, 100.0),
                waiting(40.0, 100.0),
            ],
        );
        assert!(rates[2] < 0.2 * rates[0], "{rates:?}");
    }

    #[test]
    fn airtimes_divide_the_air_and_waits_tell_how_much_there_is() {
        let told = |mbps, told_mbps: f64| Waiting {
            told_bps: Some(told_mbps * 1e6),
            ..waiting(11.54, mbps)
        };
        let stations = vec![told(50.0, 600.0), told(50.0, 300.0), told(50.0, 150.0)];
        let rates = after(60, stations.clone());
        for (mbps, expected) in rates.iter().zip([600.0, 300.0, 150.0]) {
            assert!((mbps / expected - 1.0).abs() < 0.05, "{rates:?}");
        }
        // Long waits lower them together.
        let long = |of: Waiting| Waiting {
            median_s: Some(0.05),
            ..of
        };
        let rates = after(60, stations.iter().copied().map(long).collect());
        assert!(rates[0] < 100.0, "{rates:?}");
        assert!((rates[0] / rates[2] - 4.0).abs() < 0.2, "{rates:?}");
        // Without waits airtimes tell all that is known.
        let unknown = |of: Waiting| Waiting {
            median_s: None,
            ..of
        };
        let rates = after(60, stations.into_iter().map(unknown).collect());
        assert!((rates[0] / 600.0 - 1.0).abs() < 0.05, "{rates:?}");
        let lying = Waiting {
            median_s: Some(0.4),
            ..told(100.0, 3_000.0)
        };
        let rates = after(100, vec![told(50.0, 300.0), told(50.0, 300.0), lying]);
        assert!(rates[2] < 3.0 * rates[0], "{rates:?}");
    }

    #[test]
    fn one_station_that_waits_for_long_slows_itself() {
        let others = vec![waiting(11.5, 100.0); 4];
        let rates = after(20, [others, vec![waiting(2_000.0, 100.0)]].concat());
        assert!(rates[0] > 90.0 && rates[4] < 0.6 * rates[0], "{rates:?}");
    }

    #[test]
    fn a_station_that_uses_less_than_it_may_gets_no_more() {
        let idle = Waiting {
            is_backlogged: false,
            ..waiting(1.0, 100.0)
        };
        assert_eq!(after(5, vec![idle])[0], 100.0);
        assert!(
            after(
                5,
                vec![Waiting {
                    median_s: Some(0.1),
                    ..idle
                }]
            )[0] < 50.0
        );
        // Without a wait in the slot, those of the others count.
        let unknown = Waiting {
            median_s: None,
            ..waiting(0.0, 100.0)
        };
        assert_eq!(after(5, vec![unknown])[0], 100.0);
        assert!(after(5, vec![unknown, waiting(100.0, 100.0)])[0] < 50.0);
        // One that is sent little now keeps its rate, but for what draws it to the others. One that is sent as much
        // as they are does not.
        for (sent, least, most) in [(1e4, 75.0, 100.0), (1e6, 20.0, 40.0)] {
            let not_held_back = Waiting {
                is_backlogged: false,
                sent,
                ..unknown
            };
            let mbps = after(5, vec![not_held_back, waiting(100.0, 100.0)])[0];
            assert!(mbps > least && mbps < most, "{sent}: {mbps}");
        }
    }
}
