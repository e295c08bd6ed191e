//! Stability limits of the published controllers' gains.

use super::downlink::Downlink;

/// ∂μᵢ/∂xᵢ of the unlimited model, c/(1 − wᵀx) · (1 + wᵢ xᵢ/(1 − wᵀx)), in packets per (packet/s)
/// (000 eq. 35); `None` if wᵀx ≥ 1.
///
/// # Panics
/// If no station has this index.
#[must_use]
pub fn level_sensitivity(downlink: &Downlink, rates_pps: &[f64], station: usize) -> Option<f64> {
    let free = 1.0 - downlink.load(rates_pps);
    let share = downlink.links()[station].seconds_per_packet * rates_pps[station];
    (free > 0.0).then(|| downlink.overhead_s() / free * (1.0 + share / free))
}

/// The largest stable gain K of the linear law x ← x − K (μ̃ − N): 2 / (∂μ/∂x), in (packets/s) per
/// packet (000 §6.1.1).
///
/// # Panics
/// If no station has this index.
#[must_use]
pub fn linear_gain_limit(downlink: &Downlink, rates_pps: &[f64], station: usize) -> Option<f64> {
    level_sensitivity(downlink, rates_pps, station).map(|slope| 2.0 / slope)
}

/// γ of the inner loop of the nonlinear law: clamp(z c̃/c, 1, N_max)/z, where c̃ is the overhead of
/// the network and c the controller's estimate (002 eq. 27). The loop is stable for 0 < K1 γ < 2.
#[must_use]
pub fn inner_loop_factor(level: f64, overhead_ratio: f64, level_max: f64) -> f64 {
    (level * overhead_ratio).clamp(1.0, level_max) / level
}

/// Fixed point of the nonlinear law's outer loop: the level of the slowest station at which a round
/// lasts as long as the delay target, (T̄ − c)/(n w₁), clamped to 1 and N̄ (002 eq. 32).
#[must_use]
pub fn outer_loop_level(
    delay_s: f64,
    overhead_s: f64,
    stations: usize,
    slowest_s: f64,
    level_limit: f64,
) -> f64 {
    ((delay_s - overhead_s) / (stations as f64 * slowest_s)).clamp(1.0, level_limit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Link;

    fn one_station(rate_bps: f64) -> (Downlink, Vec<f64>) {
        let downlink = Downlink::new(vec![Link::new(12_000.0 / rate_bps, 200e-6, 64.0)]).unwrap();
        let rates = downlink.rates_at_levels(&[32.0]);
        (downlink, rates)
    }

    #[test]
    fn gain_limits_of_the_linear_law() {
        // In Mbit/s per packet, for 200 µs of overhead and 32 packets of 1500 bytes.
        for (rate, limit) in [(100e6, 0.29), (390e6, 3.4), (866.7e6, 11.6)] {
            let (downlink, rates) = one_station(rate);
            let mbps = linear_gain_limit(&downlink, &rates, 0).unwrap() * 12_000.0 / 1e6;
            assert!((mbps / limit - 1.0).abs() < 0.02, "{rate}: {mbps}");
        }
    }

    #[test]
    fn the_sensitivity_is_the_slope_of_the_level() {
        let downlink = Downlink::new(vec![
            Link::new(30e-6, 200e-6, 64.0),
            Link::new(90e-6, 200e-6, 64.0),
        ])
        .unwrap();
        let rates = downlink.rates_at_levels(&[20.0, 10.0]);
        let level = |delta: f64| {
            downlink
                .unlimited(&[rates[0], rates[1] + delta])
                .unwrap()
                .level[1]
        };
        let slope = (level(1e-3) - level(-1e-3)) / 2e-3;
        let exact = level_sensitivity(&downlink, &rates, 1).unwrap();
        assert!((slope / exact - 1.0).abs() < 1e-6);
    }

    #[test]
    fn the_linear_law_converges_below_its_limit_and_oscillates_above() {
        let (downlink, start) = one_station(390e6);
        let limit = linear_gain_limit(&downlink, &start, 0).unwrap();
        let deviation = |gain: f64| {
            let mut x = start[0] * 1.001;
            for _ in 0..200 {
                x -= gain * (downlink.published(&[x]).level[0] - 32.0);
            }
            (x / start[0] - 1.0).abs()
        };
        assert!(deviation(0.9 * limit) < 1e-6);
        assert!(deviation(1.1 * limit) > 1e-3);
    }

    #[test]
    fn the_factor_is_the_overhead_ratio_within_the_limits() {
        assert!((inner_loop_factor(32.0, 1.5, 64.0) - 1.5).abs() < 1e-12);
        assert!((inner_loop_factor(32.0, 3.0, 64.0) - 2.0).abs() < 1e-12);
        assert!((inner_loop_factor(2.0, 0.1, 64.0) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn the_outer_loop_stays_within_one_and_the_limit() {
        assert_eq!(outer_loop_level(1e-3, 2e-3, 10, 30e-6, 48.0), 1.0);
        assert_eq!(outer_loop_level(1.0, 2e-3, 10, 30e-6, 48.0), 48.0);
        assert!((outer_loop_level(5e-3, 2e-3, 10, 30e-6, 48.0) - 10.0).abs() < 1e-9);
    }
}
