//! Path loss and noise.

/// Log-distance path loss: `reference_db` + 10 · `exponent` · log₁₀(distance / 1 m), and
/// `reference_db` within 1 m.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PathLoss {
    /// Exponent of the distance: 2 in free space, 3 by default.
    pub exponent: f64,
    /// Loss at 1 m in dB; 46.6777 dB by default, as in free space at 5.15 GHz. Free space at 2.4
    /// GHz loses 40.05 dB.
    pub reference_db: f64,
}

impl Default for PathLoss {
    fn default() -> Self {
        Self {
            exponent: 3.0,
            reference_db: 46.6777,
        }
    }
}

impl PathLoss {
    /// The path loss in dB over `distance_m` metres.
    #[must_use]
    pub fn loss_db(self, distance_m: f64) -> f64 {
        self.reference_db + 10.0 * self.exponent * distance_m.max(1.0).log10()
    }

    /// The distance in metres at which the path loss is `loss_db`, at least 1 m: the range of a
    /// link budget.
    #[must_use]
    pub fn distance_m(self, loss_db: f64) -> f64 {
        10_f64.powf(((loss_db - self.reference_db) / (10.0 * self.exponent)).max(0.0))
    }

    pub(super) fn is_valid(self) -> bool {
        self.reference_db.is_finite() && self.exponent.is_finite() && self.exponent > 0.0
    }
}

/// Thermal noise in dBm at 290 K (−173.98 dBm/Hz, Boltzmann's constant times the temperature) over
/// `width_mhz`, plus the noise figure of the receiver.
#[must_use]
pub fn noise_dbm(width_mhz: f64, noise_figure_db: f64) -> f64 {
    const BOLTZMANN: f64 = 1.380_649e-23;
    // Watts to milliwatts and megahertz to hertz.
    10.0 * (BOLTZMANN * 290.0 * 1e3 * width_mhz * 1e6).log10() + noise_figure_db
}
