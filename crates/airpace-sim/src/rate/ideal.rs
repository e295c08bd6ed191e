//! Ideal rate adaptation, by a table of SNR thresholds.

use super::AdaptationError;
use airpace_core::phy::error::ErrorModel;
use airpace_core::phy::{TxRate, Width};

/// The fastest rate that the current signal-to-noise ratio (SNR) carries, by a table of thresholds:
/// the rate of a sender that knows its channel.
#[derive(Clone, Debug)]
pub struct Ideal {
    /// Threshold in dB and rate, by increasing threshold and data rate. A rate that needs a higher
    /// SNR than another without being faster is left out.
    table: Vec<(f64, TxRate)>,
    current: usize,
}

impl Ideal {
    /// The rates that it may choose.
    pub fn rates(&self) -> impl Iterator<Item = TxRate> + '_ {
        self.table.iter().map(|&(_, rate)| rate)
    }

    /// An adaptation that uses the rate of each pair (threshold in dB, rate) from that SNR on. It
    /// starts at the lowest threshold.
    ///
    /// The threshold of a rate is the SNR at which its packet error rate reaches a target, for a
    /// packet size of the caller's choice.
    ///
    /// # Errors
    /// [`AdaptationError`] if the table is empty or a threshold is not finite.
    pub fn new(mut table: Vec<(f64, TxRate)>) -> Result<Self, AdaptationError> {
        if table.is_empty() {
            return Err(AdaptationError::NoRates);
        }
        if let Some(&(threshold_db, rate)) = table.iter().find(|row| !row.0.is_finite()) {
            return Err(AdaptationError::Threshold { rate, threshold_db });
        }
        // Of rates with the same threshold the fastest comes first, so that the others are left out
        // below.
        table.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.rate().cmp(&a.1.rate())));
        let mut useful: Vec<(f64, TxRate)> = Vec::with_capacity(table.len());
        for (threshold_db, rate) in table {
            if useful.last().is_none_or(|last| rate.rate() > last.1.rate()) {
                useful.push((threshold_db, rate));
            }
        }
        Ok(Self {
            table: useful,
            current: 0,
        })
    }

    /// The adaptation whose rates lose at most the share `target` (above 0, below 1) of MPDUs of
    /// `bytes`, by `model`.
    ///
    /// [`Ideal::set_snr`] then takes the SNR over the noise of `width`. Rates of narrower channels,
    /// sent with the same power, have a correspondingly higher SNR. [`Ideal::TARGET_LOSS`] is a
    /// good target.
    ///
    /// # Errors
    /// [`AdaptationError`] if there are no rates or the target is out of range.
    pub fn by_model(
        rates: &[TxRate],
        width: Width,
        model: &ErrorModel,
        bytes: u32,
        target: f64,
    ) -> Result<Self, AdaptationError> {
        if !(target > 0.0 && target < 1.0) {
            return Err(AdaptationError::Target { target });
        }
        let table = rates.iter().map(|&rate| {
            let gain_db = 10.0 * (f64::from(width.mhz()) / rate.bandwidth_mhz()).log10();
            (model.required_snr_db(rate, bytes, target) - gain_db, rate)
        });
        Self::new(table.collect())
    }

    /// About the target of ns-3's IdealWifiManager, whose bit error rate of 10⁻⁶ loses 1.2 % of
    /// MPDUs of 1536 bytes.
    pub const TARGET_LOSS: f64 = 0.012;

    /// Sets the current SNR in dB. Below every threshold the most robust rate is used. A value that
    /// is not a number is ignored.
    pub fn set_snr(&mut self, snr_db: f64) {
        if !snr_db.is_nan() {
            self.current = self
                .table
                .partition_point(|row| row.0 <= snr_db)
                .saturating_sub(1);
        }
    }

    /// The rate for the current SNR.
    #[must_use]
    pub fn best(&self) -> TxRate {
        self.table[self.current].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airpace_core::phy::{GuardInterval, Standard, Width};

    fn rate(nss: u8, mcs: u8) -> TxRate {
        TxRate::new(Standard::Vht, Width::Mhz80, nss, mcs, GuardInterval::Ns800).unwrap()
    }

    #[test]
    fn the_fastest_rate_that_the_snr_carries_is_used() {
        // MCS 1 with two streams is as fast as MCS 3 with one, but needs a higher SNR: it is never
        // used.
        let mut ideal = Ideal::new(vec![
            (20.0, rate(1, 7)),
            (5.0, rate(1, 1)),
            (12.0, rate(2, 1)),
            (11.0, rate(1, 3)),
        ])
        .unwrap();
        assert_eq!(ideal.best(), rate(1, 1));
        for (snr_db, expected) in [
            (10.9, rate(1, 1)),
            (11.0, rate(1, 3)),
            (19.0, rate(1, 3)),
            (60.0, rate(1, 7)),
            (-9.0, rate(1, 1)),
        ] {
            ideal.set_snr(snr_db);
            assert_eq!(ideal.best(), expected, "{snr_db} dB");
        }
        ideal.set_snr(f64::NAN);
        assert_eq!(ideal.best(), rate(1, 1));
    }

    #[test]
    fn thresholds_come_from_the_error_model() {
        let rates = crate::rate::rates_up_to(Standard::Vht, Width::Mhz80, 1, GuardInterval::Ns800);
        let model = ErrorModel::default();
        let mut ideal =
            Ideal::by_model(&rates, Width::Mhz80, &model, 1_536, Ideal::TARGET_LOSS).unwrap();
        let required = model.required_snr_db(rate(1, 9), 1_536, Ideal::TARGET_LOSS);
        for (snr_db, fastest) in [
            (required + 0.01, rate(1, 9)),
            (required - 0.01, rate(1, 8)),
            (-20.0, ideal.best()),
        ] {
            ideal.set_snr(snr_db);
            assert_eq!(ideal.best(), fastest, "{snr_db} dB");
        }
        // At a low SNR a narrow channel still carries what a wide one does not.
        ideal.set_snr(-3.0);
        assert_eq!(ideal.best().width(), Width::Mhz20);
        let refused = Ideal::by_model(&rates, Width::Mhz80, &model, 1_536, 0.0).unwrap_err();
        assert_eq!(refused, AdaptationError::Target { target: 0.0 });
    }

    #[test]
    fn empty_and_unbounded_tables_are_refused() {
        assert_eq!(
            Ideal::new(Vec::new()).unwrap_err(),
            AdaptationError::NoRates
        );
        assert!(matches!(
            Ideal::new(vec![(f64::NAN, rate(1, 0))]),
            Err(AdaptationError::Threshold { .. })
        ));
    }
}
