//! Third radios near the access points: what they hear of the frames on their channel.

use crate::config::AirConfig;
use airpace_core::phy::TxRate;
use airpace_core::phy::error::{BitHazard, ErrorModel};
use airpace_sim::rng::Stream;

/// Bytes of the signal field of OFDM, which every PPDU begins with: 24 bits at 6 Mbit/s (17.3.4).
const SIGNAL_BYTES: u32 = 3;

/// What one third radio hears. It has no interface of its own, so it can be tested without one.
#[derive(Debug)]
pub(super) struct AirRadio {
    config: AirConfig,
    draws: Stream,
    /// The data frame that is on the air.
    current: DataFrame,
}

/// How much of a data frame a radio hears.
#[derive(Clone, Copy, Debug)]
enum DataFrame {
    /// Every MPDU, or none.
    All(bool),
    /// Each MPDU unless noise destroys it.
    Noisy(BitHazard),
}

impl AirRadio {
    /// Returns a radio that has heard nothing; all its draws come from `draws`.
    pub(super) const fn new(config: AirConfig, draws: Stream) -> Self {
        Self {
            config,
            draws,
            current: DataFrame::All(false),
        }
    }

    /// A group-addressed frame begins, which has a legacy rate, as control frames have.
    pub(super) fn begin_group_frame(&mut self) {
        let missed = self.draws.happens(self.config.control_loss);
        self.current = DataFrame::All(!missed);
    }

    /// A data frame to or from a station begins.
    pub(super) fn begin_data_frame(&mut self, station: usize, rate: TxRate) {
        self.current = match self.snr_db(station) {
            None => DataFrame::All(!self.draws.happens(self.config.data_loss)),
            Some(snr_db) => {
                let model = ErrorModel::default();
                let lowest = TxRate::legacy(super::LOWEST_RATE);
                let missed = model.mpdu_error(lowest, snr_db, SIGNAL_BYTES);
                if self.draws.happens(missed) {
                    DataFrame::All(false)
                } else {
                    DataFrame::Noisy(model.bit_hazard(rate, snr_db))
                }
            }
        };
    }

    /// Returns whether the radio may hear MPDUs of the current frame.
    pub(super) const fn listens(&self) -> bool {
        !matches!(self.current, DataFrame::All(false))
    }

    /// Returns whether the radio hears an MPDU of the current frame with this length.
    pub(super) fn hears_mpdu(&mut self, bytes: u32) -> bool {
        match self.current {
            DataFrame::All(heard) => heard,
            DataFrame::Noisy(hazard) => !self.draws.happens(hazard.mpdu_error(bytes)),
        }
    }

    /// Returns whether the radio hears a beacon, or a control frame of an exchange with a station,
    /// of `bytes` with its frame check sequence.
    pub(super) fn hears_control(
        &mut self,
        station: Option<usize>,
        rate: TxRate,
        bytes: u32,
    ) -> bool {
        if self.draws.happens(self.config.control_loss) {
            return false;
        }
        match station.and_then(|station| self.snr_db(station)) {
            Some(snr_db) => {
                let missed = ErrorModel::default().mpdu_error(rate, snr_db, bytes);
                !self.draws.happens(missed)
            }
            None => true,
        }
    }

    /// Returns the signal-to-noise ratio of the frames of a station's exchanges, if it is given.
    fn snr_db(&self, station: usize) -> Option<f64> {
        self.config.snr_db.get(station).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airpace_core::phy::{GuardInterval, LegacyRate, Standard, Width};

    const FRAMES: u32 = 2_000;
    const MPDU_BYTES: u32 = 1_536;

    fn vht(mcs: u8) -> TxRate {
        TxRate::new(Standard::Vht, Width::Mhz80, 1, mcs, GuardInterval::Ns800).unwrap()
    }

    fn radio(snr_db: Vec<f64>) -> AirRadio {
        let config = AirConfig {
            snr_db,
            ..AirConfig::default()
        };
        AirRadio::new(config, Stream::new(1, "air radio", 0))
    }

    /// Returns the share of MPDUs to a station at `rate` that the radio hears.
    fn heard(radio: &mut AirRadio, station: usize, rate: TxRate) -> f64 {
        let mut heard = 0;
        for _ in 0..FRAMES {
            radio.begin_data_frame(station, rate);
            heard += u32::from(radio.hears_mpdu(MPDU_BYTES));
        }
        f64::from(heard) / f64::from(FRAMES)
    }

    #[test]
    fn data_are_heard_by_the_ratio_that_their_rate_needs() {
        let model = ErrorModel::default();
        for mcs in [0, 4, 9] {
            let needed = model.required_snr_db(vht(mcs), MPDU_BYTES, 0.1);
            let mut radio = radio(vec![needed - 4.0, needed, needed + 4.0]);
            let shares = [0, 1, 2].map(|station| heard(&mut radio, station, vht(mcs)));
            println!("MCS {mcs} needs {needed:.1} dB: {shares:?}");
            assert!(shares[0] < 0.01, "MCS {mcs}: {shares:?}");
            // At the lowest rates, the signal field is about as hard to hear as the data.
            assert!((0.8..0.95).contains(&shares[1]), "MCS {mcs}: {shares:?}");
            assert!(shares[2] > 0.99, "MCS {mcs}: {shares:?}");
        }
    }

    #[test]
    fn control_frames_are_heard_where_data_are_not() {
        let mut radio = radio(vec![12.0]);
        assert!(heard(&mut radio, 0, vht(9)) == 0.0);
        let rate = TxRate::legacy(LegacyRate::Mbps24);
        let block_acks = (0..FRAMES).filter(|_| radio.hears_control(Some(0), rate, 32));
        assert!(block_acks.count() > FRAMES as usize * 98 / 100);
        assert!(
            radio.hears_control(None, rate, 160),
            "beacons have no ratio"
        );
    }

    #[test]
    fn without_a_ratio_whole_frames_are_missed_with_a_probability() {
        let config = AirConfig {
            data_loss: 0.3,
            control_loss: 0.1,
            ..AirConfig::default()
        };
        let mut radio = AirRadio::new(config, Stream::new(1, "air radio", 0));
        let mut frames = 0;
        for _ in 0..FRAMES {
            radio.begin_data_frame(0, vht(9));
            assert_eq!(radio.listens(), radio.hears_mpdu(MPDU_BYTES));
            frames += u32::from(radio.listens());
        }
        let heard = f64::from(frames) / f64::from(FRAMES);
        assert!((heard - 0.7).abs() < 0.04, "{heard}");
    }
}
