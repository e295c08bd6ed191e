//! What transits have in common, from how they depend on the level.
//!
//! The transit of a frame of μ packets is t = r + w μ, with one w per station and one r for all stations
//! of an access point. The least squares over the slots of all stations give r, if their levels have
//! varied:
//!
//! r = Σ (Σt − Σtμ·Σμ/Σμ²) / Σ (n − (Σμ)²/Σμ²), where the outer sums are over the stations.
//!
//! A usual r₀ counts with the weight N: N r₀ is added to the numerator and N to the denominator.

use crate::sensor::ack_burst::TRANSIT_COMMON;

/// What is kept of earlier slots per slot: a PHY rate may have changed since.
const KEPT: f64 = 0.98;
/// Least number of slots of a station.
const FEWEST_SLOTS: f64 = 10.0;
/// Least variation of a station's levels: the square of their coefficient of variation, nearly. In a
/// steady cell it is 0.05 to 0.07, noise that tells nothing; a rate that rises or falls by a factor
/// has more.
const LEAST_VARIATION: f64 = 0.3;
/// Weight of the usual common part, in slots whose levels vary without limit. The first ten slots of a
/// station, in which its queue fills and drains, have shown 0.8 ms instead of 0.3 (simulation).
const USUAL_SLOTS: f64 = 20.0;
/// No transit has less in common: SIFS, block ack and the shortest channel access.
const LEAST_S: f64 = 200e-6;
/// More would be hosts that answer late by whole rounds.
const MOST_S: f64 = 5e-3;

/// Sums over the slots of one station, faded.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Line {
    slots: f64,
    levels: f64,
    squares: f64,
    transits: f64,
    products: f64,
}

impl Line {
    /// Adds a slot: its level, packets per frame, and its transit in seconds.
    pub(super) fn add(&mut self, level: f64, transit_s: f64) {
        let add = |sum: &mut f64, value: f64| *sum = KEPT * *sum + value;
        add(&mut self.slots, 1.0);
        add(&mut self.levels, level);
        add(&mut self.squares, level * level);
        add(&mut self.transits, transit_s);
        add(&mut self.products, transit_s * level);
    }
}

/// What the transits of the stations have in common, seconds; `None` if their levels have varied too
/// little to tell.
pub(super) fn intercept(lines: impl Iterator<Item = Line>) -> Option<f64> {
    let (mut transits_s, mut variation) = (0.0, 0.0);
    for line in lines.filter(|line| line.slots >= FEWEST_SLOTS) {
        let of_line = line.slots - line.levels * line.levels / line.squares;
        if of_line >= LEAST_VARIATION * line.slots {
            transits_s += line.transits - line.products * line.levels / line.squares;
            variation += of_line;
        }
    }
    let usual_s = TRANSIT_COMMON.as_secs_f64();
    let common_s = (transits_s + USUAL_SLOTS * usual_s) / (variation + USUAL_SLOTS);
    (variation > 0.0).then(|| common_s.clamp(LEAST_S, MOST_S))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of transits of 700 µs and `packet_s` per packet over these levels.
    fn line(packet_s: f64, levels: &[f64]) -> Line {
        let mut line = Line::default();
        for level in levels {
            line.add(*level, 700e-6 + packet_s * level);
        }
        line
    }

    fn common_us(slots: usize) -> f64 {
        let levels = [2.0, 30.0, 5.0, 20.0, 10.0, 40.0, 3.0].repeat(slots / 7);
        let lines = [31e-6, 60e-6, 100e-6, 200e-6].map(|packet_s| line(packet_s, &levels));
        1e6 * intercept(lines.into_iter()).expect("levels vary")
    }

    #[test]
    fn stations_of_different_rates_tell_what_their_transits_have_in_common() {
        let common_us = common_us(210);
        assert!((610.0..700.0).contains(&common_us), "{common_us}");
    }

    #[test]
    fn a_few_slots_hardly_tell_more_than_what_is_usual() {
        let common_us = common_us(14);
        assert!((400.0..560.0).contains(&common_us), "{common_us}");
    }

    #[test]
    fn levels_that_hardly_vary_tell_nothing() {
        let levels = [20.0, 21.0, 19.0].repeat(30);
        assert_eq!(intercept([line(31e-6, &levels)].into_iter()), None);
        assert_eq!(intercept(core::iter::empty()), None);
    }
}
