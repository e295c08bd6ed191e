//! What stations of known PHY rate tell about the others.
//!
//! The payload of a round contains what frames take beyond the assumed overhead: collisions, and
//! back-offs longer than usual. While all stations are only observed, it raises all their airtimes in
//! proportion, and moves the round rather than the shares. Beside stations of known PHY rate, whose
//! airtimes do not have it, it would all be charged to the others. So part of it is taken off the payload.
//!
//! How much too long the transits make the known stations' airtimes tells how much that is. Because the
//! transits of a single station are wrong by a tenth and more, only a part of this error counts: the
//! larger the known stations' share of the payload, and the more they are, the larger the part.

use super::steady::Observed;

/// Width within which a station's rate cannot be told from one that is known, as a logarithm: the
/// standard deviation of the error of transits (captures of the emulated access point).
const KNOWN_WIDTH: f64 = 0.1;
/// Weight of an equal known rate relative to the station's own transits. A known rate has no error, and
/// stations of one cell often have the same. With 4, a station with an agent beside two equal ones had
/// 1.2 % less than they on the emulated access point.
const KNOWN_WEIGHT: f64 = 9.0;

/// Least part of a single known station's error, as a logarithm, that is taken for that of all.
const TRUST_LEAST: f64 = 0.5;
/// The payload is divided by one more than this at the most, per trust. With 0.4 per trust and four downloads each,
/// MCS 1 had up to 116 % of what agents give it in simulation, and 130 % on the emulated access point.
const BEYOND_MOST: f64 = 0.25;
/// The factor's range. Beyond it the transits of known and unknown stations do not fit together.
const FACTOR: (f64, f64) = (0.67, 1.25);

/// By how much the airtimes of the stations of unknown PHY rate are to be multiplied because those of the
/// others are known. For a known station, `per_bit_s` is its airtime by transits over its true airtime,
/// and `bps` is the share of the time that its packets take.
pub(super) fn beside_known(stations: &[Observed], is_known: impl Fn(&Observed) -> bool) -> f64 {
    let (mut known, mut known_told, mut others_told) = (0.0, 0.0, 0.0);
    let mut known_squares = 0.0;
    for station in stations {
        let told = station.bps * station.per_bit_s;
        if is_known(station) {
            known += station.bps;
            known_told += told;
            known_squares += told * told;
        } else {
            others_told += told;
        }
    }
    if !(known > 0.0 && known_told > 0.0 && others_told > 0.0) {
        return 1.0;
    }
    let share = known_told / (known_told + others_told);
    // The errors of several stations' transits make up for each other in part. One that is busy counts as one, whatever
    // others are present: n with equal shares count as n.
    let stations = known_told * known_told / known_squares;
    let trust = share.max(TRUST_LEAST).powf(1.0 / stations);
    let beyond = (known_told / known)
        .powf(trust)
        .clamp(1.0, 1.0 + BEYOND_MOST * trust);
    let others = (known_told + others_told) / beyond - known;
    (others / others_told).clamp(FACTOR.0, FACTOR.1)
}

/// The airtime per bit of a station of unknown PHY rate, drawn towards those of the known ones from which
/// it cannot be told, in seconds; all positive.
pub(super) fn drawn_to_known(own_s: f64, known_s: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut weights) = (0.0, 1.0);
    for known_s in known_s {
        let distance = (known_s / own_s).ln();
        let weight = KNOWN_WEIGHT * (-0.5 * (distance / KNOWN_WIDTH).powi(2)).exp();
        sum += weight * distance;
        weights += weight;
    }
    own_s * (sum / weights).exp()
}

#[cfg(test)]
mod tests {
    use super::super::steady::Ratio;
    use super::*;

    /// The factor beside stations that take these shares of the time, the first `known` of known rate,
    /// if their airtimes are told too long by these factors.
    fn factor(known: usize, shares: &[f64], errors: &[f64]) -> f64 {
        let stations: Vec<Observed> = shares
            .iter()
            .zip(errors)
            .enumerate()
            .map(|(index, (&bps, &per_bit_s))| Observed {
                index,
                ratio: Ratio::default(),
                seconds: 0.1,
                bps,
                per_bit_s,
            })
            .collect();
        beside_known(&stations, |station| station.index < known)
    }

    #[test]
    fn nothing_is_corrected_without_a_known_station_or_beside_nobody() {
        assert_eq!(factor(0, &[0.4, 0.4], &[1.2, 1.2]), 1.0);
        assert_eq!(factor(2, &[0.4, 0.4], &[1.2, 1.2]), 1.0);
        assert_eq!(factor(0, &[], &[]), 1.0);
    }

    #[test]
    fn what_all_frames_take_besides_is_not_charged_to_the_unknown_stations_alone() {
        // Without a correction the last station would bear the error of all: 1.6 times its airtime.
        let shares = [0.25; 3];
        let last = 1.2 * factor(2, &shares, &[1.2; 3]);
        assert!((1.0..1.2).contains(&last), "{last}");
        let others = 1.2 * factor(1, &shares, &[1.2; 3]);
        assert!((1.0..1.15).contains(&others), "{others}");
    }

    #[test]
    fn several_busy_known_stations_are_trusted_more_than_one() {
        let factor = |shares: &[f64]| factor(shares.len() - 1, shares, &vec![1.2; shares.len()]);
        let (one, two) = (factor(&[0.5, 0.25]), factor(&[0.25, 0.25, 0.25]));
        assert!(two < one - 0.02, "{one} {two}");
        // Stations that are only pinged tell nothing.
        let with_idle = factor(&[0.5, 1e-3, 1e-3, 0.25]);
        assert!((with_idle - one).abs() < 0.01, "{one} {with_idle}");
    }

    #[test]
    fn a_known_station_whose_own_transits_are_wrong_changes_little_for_the_others() {
        for error in [0.5, 0.8, 1.5, 3.0] {
            let factor = factor(1, &[0.25; 3], &[error, 1.0, 1.0]);
            assert!((0.67..=1.25).contains(&factor), "{error} {factor}");
        }
    }

    #[test]
    fn a_station_that_seems_nearly_as_fast_as_a_known_one_is_taken_for_as_fast() {
        let known_s = 1.0 / 390e6;
        for (seems, is, tolerance) in [
            (370e6, 390e6, 0.02),
            (415e6, 390e6, 0.02),
            // VHT MCS 8 beside MCS 9 is not told from it; MCS 7 and 4 are.
            (351e6, 383e6, 0.02),
            (292.5e6, 292.5e6, 0.04),
            (175.5e6, 175.5e6, 0.001),
        ] {
            let told = 1.0 / drawn_to_known(1.0 / seems, [known_s].into_iter());
            assert!((told / is - 1.0).abs() < tolerance, "{seems} {told}");
        }
        assert_eq!(drawn_to_known(known_s, core::iter::empty()), known_s);
    }

    #[test]
    fn airtimes_that_are_right_stay() {
        let factor = factor(1, &[0.4, 0.3, 0.1], &[1.0; 3]);
        assert!((factor - 1.0).abs() < 1e-12, "{factor}");
    }
}
