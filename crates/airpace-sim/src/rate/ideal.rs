use super::AdaptationError;
use airpace_core::phy::TxRate;

/// The fastest rate that the current SNR carries, by a table of thresholds: what a link would use that knew its channel.
#[derive(Clone, Debug)]
pub struct Ideal {
    /// Threshold in dB and rate, by increasing threshold; of equal or decreasing data rates the dearer ones are left out.
    table: Vec<(f64, TxRate)>,
    current: usize,
}

impl Ideal {
    /// An adaptation that uses `rate` of each pair (threshold in dB, rate) from that SNR on. It starts at the lowest threshold.
    ///
    /// The threshold of a rate is the SNR at which the packet error rate (PER) reaches the target, for a packet size of the caller's choice.
    ///
    /// # Errors
    /// [`AdaptationError`] if there is no pair or a threshold is not finite.
    pub fn new(mut table: Vec<(f64, TxRate)>) -> Result<Self, AdaptationError> {
        if table.is_empty() {
            return Err(AdaptationError::NoRates);
        }
        if let Some(&(threshold_db, rate)) = table.iter().find(|row| !row.0.is_finite()) {
            return Err(AdaptationError::Threshold { rate, threshold_db });
        }
        table.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.rate().cmp(&a.1.rate())));
        let mut fastest = None;
        table.retain(|row| {
            let faster = fastest.is_none_or(|rate| row.1.rate() > rate);
            if faster {
                fastest = Some(row.1.rate());
            }
            faster
        });
        Ok(Self { table, current: 0 })
    }

    /// The SNR is now `snr_db`. Below every threshold the most robust rate is used; a value that is no number changes nothing.
    pub fn set_snr(&mut self, snr_db: f64) {
        if !snr_db.is_nan() {
            self.current = self.table.partition_point(|row| row.0 <= snr_db).saturating_sub(1);
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
    fn the_fastest_rate_within_the_snr_is_used() {
        // MCS 1 with two streams is as fast as MCS 3 with one, and dearer: it is never of use.
        let mut ideal =
            Ideal::new(vec![(20.0, rate(1, 7)), (5.0, rate(1, 1)), (12.0, rate(2, 1)), (11.0, rate(1, 3))]).unwrap();
        assert_eq!(ideal.best(), rate(1, 1));
        for (snr_db, expected) in
            [(10.9, rate(1, 1)), (11.0, rate(1, 3)), (19.0, rate(1, 3)), (60.0, rate(1, 7)), (-9.0, rate(1, 1))]
        {
            ideal.set_snr(snr_db);
            assert_eq!(ideal.best(), expected, "{snr_db} dB");
        }
        ideal.set_snr(f64::NAN);
        assert_eq!(ideal.best(), rate(1, 1));
    }

    #[test]
    fn empty_and_unbounded_tables_are_refused() {
        assert_eq!(Ideal::new(Vec::new()).unwrap_err(), AdaptationError::NoRates);
        assert!(matches!(Ideal::new(vec![(f64::NAN, rate(1, 0))]), Err(AdaptationError::Threshold { .. })));
    }
}
