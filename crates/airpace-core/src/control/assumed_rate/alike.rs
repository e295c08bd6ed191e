//! Stations whose rates cannot be told apart are taken to have nearly the same.
//!
//! Transits give the airtime per bit of a station to about a tenth, and the error lasts: it depends on
//! the order in which stations answer, which hardly changes. Of equal stations one would have a fifth
//! more than another. So each logarithm of an airtime per bit is replaced by a mean over all stations,
//! in which those count the more the closer they are. Stations of different rates, more than twice the
//! width apart, hardly count for each other.

/// Width within which airtimes per bit cannot be told apart, as a logarithm: one and a half times the
/// standard deviation of the error (captures of the emulated access point: 0.1).
pub(super) const WIDTH: f64 = 0.15;

/// Airtimes whose error is known cannot be told apart within this multiple of it, as logarithms; the width is kept within
/// these limits.
const OVER_ERROR: f64 = 1.5;
const WIDTHS: (f64, f64) = (0.15, 0.3);

/// The width within which airtimes cannot be told apart if the standard deviation of the logarithm is `error`.
pub(super) fn width_of(error: f64) -> f64 {
    (OVER_ERROR * error).clamp(WIDTHS.0, WIDTHS.1)
}

/// The airtime per bit of a station by transits, `own_s`, drawn towards those of `others_s`, in
/// seconds; all positive.
pub(super) fn drawn_together(own_s: f64, others_s: impl Iterator<Item = f64>, width: f64) -> f64 {
    let (mut sum, mut weights) = (0.0, 1.0);
    for other_s in others_s {
        let distance = (other_s / own_s).ln();
        let weight = (-0.5 * (distance / width).powi(2)).exp();
        sum += weight * distance;
        weights += weight;
    }
    own_s * (sum / weights).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn airtimes_that_differ_by_their_errors_come_closer() {
        let (slower, faster) = (1.1, 0.9);
        let first = drawn_together(slower, [faster].into_iter(), WIDTH);
        let second = drawn_together(faster, [slower].into_iter(), WIDTH);
        assert!((1.0..1.06).contains(&first), "{first}");
        assert!((0.94..1.0).contains(&second), "{second}");
    }

    #[test]
    fn neighbouring_rates_stay_apart_and_others_stay_where_they_are() {
        // VHT MCS 9 and 7, 390 and 292.5 Mbit/s, and MCS 4.
        let rates = [390.0, 292.5, 175.5];
        for (i, rate) in rates.into_iter().enumerate() {
            let others = (0..3).filter(|&j| j != i).map(|j| 1.0 / rates[j]);
            let moved = drawn_together(1.0 / rate, others, WIDTH) * rate;
            assert!((moved.ln()).abs() < 0.045, "{rate} {moved}");
        }
        assert_eq!(drawn_together(2.0, std::iter::empty(), WIDTH), 2.0);
    }
}
