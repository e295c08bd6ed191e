//! What stations take relative to one another changes slowly.
//!
//! A station that is taken for a faster one is sent longer frames. What all transits have in common is
//! not fully known, and counts for less in longer ones, so that the station seems faster still. An error
//! therefore lasts for seconds, and equal stations swing apart. So the ratios between stations are means over seconds,
//! and only the payload of all of them follows the slot.

/// Frames in a time this long weigh as much as all before them, seconds. The swings take five to ten.
const MEMORY_S: f64 = 4.0;
/// The same as a share of the time for which the station has been observed: the first frames are short,
/// and tell little.
const MEMORY_SHARE: f64 = 1.0 / 3.0;
/// A recent mean this far from the long one, as a logarithm, says that a station's rate is another.
const ANOTHER_RATE: f64 = 0.35;
/// Weight of a slot in the recent mean.
const RECENT_GAIN: f64 = 0.3;
/// The time for which the recent mean counts when it becomes the long one, seconds.
const RECENT_S: f64 = 0.3;

/// What is known of one station's airtime per bit.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Ratio {
    /// Mean of its logarithm.
    mean: f64,
    /// The same over the last few slots.
    recent: f64,
    /// For how long it has been observed, seconds.
    seconds: f64,
}

/// One station in a slot.
pub(super) struct Observed {
    /// Number of the station in the slot's list.
    pub(super) index: usize,
    pub(super) ratio: Ratio,
    /// For how long frames were observed in the slot, seconds.
    pub(super) seconds: f64,
    /// Bits per second that were sent to it.
    pub(super) bps: f64,
    /// Airtime per bit that the slot tells, seconds; the result is written here.
    pub(super) per_bit_s: f64,
}

/// Replaces the airtimes per bit of a slot by those with the mean ratios and the same sum.
pub(super) fn steady(stations: &mut [Observed]) {
    for station in stations.iter_mut() {
        station
            .ratio
            .observe(station.seconds, station.per_bit_s.ln());
    }
    let offset = offset(stations);
    let is_another = |station: &Observed| {
        let ratio = &station.ratio;
        (ratio.recent - ratio.mean - offset).abs() > ANOTHER_RATE
    };
    // The slot tells the sum, so the change of one station shows as changes of the others too.
    if stations.iter().any(is_another) {
        for station in stations {
            station.ratio.mean = station.ratio.recent;
            station.ratio.seconds = RECENT_S;
        }
        return;
    }
    for station in stations {
        station.per_bit_s = (station.ratio.mean + offset).exp();
    }
}

/// By how much the logarithms of the slot are larger than the means.
fn offset(stations: &[Observed]) -> f64 {
    let (mut told, mut usual) = (0.0, 0.0);
    for station in stations {
        told += station.bps * station.per_bit_s;
        usual += station.bps * station.ratio.mean.exp();
    }
    if told > 0.0 && usual > 0.0 {
        f64::ln(told / usual)
    } else {
        0.0
    }
}

impl Ratio {
    fn observe(&mut self, seconds: f64, log: f64) {
        let memory_s = (MEMORY_SHARE * self.seconds).min(MEMORY_S);
        self.mean += seconds / (seconds + memory_s) * (log - self.mean);
        let gain = if self.seconds == 0.0 {
            1.0
        } else {
            RECENT_GAIN
        };
        self.recent += gain * (log - self.recent);
        self.seconds += seconds;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs slots of 100 ms in which two stations that take equal turns tell these airtimes per bit, and
    /// returns those of the last slot.
    fn run(slots: usize, ratios: &mut [Ratio; 2], told: impl Fn(usize) -> [f64; 2]) -> [f64; 2] {
        let mut last = [0.0; 2];
        for slot in 0..slots {
            let told = told(slot);
            let mut stations = [0, 1].map(|index| Observed {
                index,
                ratio: ratios[index],
                seconds: 0.1,
                bps: 50e6,
                per_bit_s: told[index],
            });
            steady(&mut stations);
            *ratios = [stations[0].ratio, stations[1].ratio];
            last = stations.map(|station| station.per_bit_s);
        }
        last
    }

    #[test]
    fn ratios_stay_while_the_payload_of_all_follows_the_slot() {
        let mut ratios = [Ratio::default(); 2];
        run(100, &mut ratios, |_| [2e-9, 8e-9]);
        let [first, second] = run(1, &mut ratios, |_| [4e-9, 8e-9]);
        assert!((first + second - 12e-9).abs() < 1e-15);
        assert!(
            (second / first / 4.0 - 1.0).abs() < 0.03,
            "{first} {second}"
        );
    }

    #[test]
    fn equal_stations_that_seem_to_differ_now_and_then_have_nearly_the_same() {
        let mut ratios = [Ratio::default(); 2];
        let swings = |slot: usize| {
            let swing = 0.25 * (slot as f64 / 5.0).sin();
            [2e-9 * swing.exp(), 2e-9 * (-swing).exp()]
        };
        let [first, second] = run(300, &mut ratios, swings);
        assert!((first / second).ln().abs() < 0.1, "{first} {second}");
    }

    #[test]
    fn a_station_that_goes_on_at_another_rate_has_it_within_a_second() {
        let mut ratios = [Ratio::default(); 2];
        run(100, &mut ratios, |_| [2e-9, 2e-9]);
        let [first, second] = run(10, &mut ratios, |_| [2e-9, 8e-9]);
        assert!((second / first / 4.0 - 1.0).abs() < 0.1, "{first} {second}");
    }

    #[test]
    fn a_station_alone_has_what_the_slot_tells() {
        let mut ratio = Ratio::default();
        for per_bit_s in [2e-9, 3e-9, 2.5e-9] {
            let mut stations = [Observed {
                index: 0,
                ratio,
                seconds: 0.1,
                bps: 50e6,
                per_bit_s,
            }];
            steady(&mut stations);
            ratio = stations[0].ratio;
            assert!((stations[0].per_bit_s / per_bit_s - 1.0).abs() < 1e-9);
        }
    }
}
