/// Mean one-way delay over the Wi-Fi hop in seconds: D (1 + CV²)/2 + airtime of the packet's own
/// PPDU.
///
/// A packet arrives at a uniformly distributed time within a round, joins the next frame, and is
/// handed over at its end. It is more likely to arrive in a long round than in a short one, hence
/// CV, the coefficient of variation of the round.
#[must_use]
pub fn mean_delay_s(round_s: f64, round_variation: f64, ppdu_s: f64) -> f64 {
    round_s * (1.0 + round_variation * round_variation) / 2.0 + ppdu_s
}

/// Coefficient of variation of a round of `frames` frames if only the back-off varies, uniformly in
/// 0…`cw_min` slots of `slot_s`.
#[must_use]
pub fn round_variation(round_s: f64, frames: usize, cw_min: u16, slot_s: f64) -> f64 {
    let values = f64::from(cw_min) + 1.0;
    let variance = slot_s * slot_s * (values * values - 1.0) / 12.0;
    (frames as f64 * variance).sqrt() / round_s
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Downlink, Link};
    use crate::phy::{AccessCategory, GuardInterval, Standard, Timing, TxRate, Width};

    #[test]
    fn full_frames_of_one_station_wait_as_long_as_in_ns3() {
        // MCS 9, 2 streams, 32 packets: a round of 706.5 µs, a PPDU of 548 µs; ns-3 measured 0.908
        // ms.
        let variation = round_variation(706.5e-6, 1, 15, 9e-6);
        let delay = mean_delay_s(706.5e-6, variation, 548e-6);
        assert!((delay - 0.901e-3).abs() < 2e-6);
        assert!((delay - 0.908e-3).abs() < 7e-6);
        // Each further station adds half a round: 353 µs (ns-3 355, 000 fig. 11 350).
        assert!(
            (mean_delay_s(2.0 * 706.5e-6, 0.0, 548e-6)
                - mean_delay_s(706.5e-6, 0.0, 548e-6)
                - 353.25e-6)
                .abs()
                < 1e-9
        );
    }

    /// Rows of the ns-3 runs without losses (S1: one station, fcfs; S2: equal stations, round
    /// robin; MCS 9): stations, streams, offered Mbit/s of 1470-byte payloads in total, mean level,
    /// mean delay to the end of the PPDU in ms.
    const NS3: [(usize, u8, f64, f64, f64); 10] = [
        (1, 1, 271.201, 17.001, 0.952),
        (1, 1, 318.657, 37.924, 1.946),
        (1, 2, 248.406, 6.359, 0.298),
        (1, 2, 496.813, 25.704, 0.759),
        (1, 2, 583.731, 46.863, 1.261),
        (2, 2, 372.604, 12.892, 0.659),
        (2, 2, 558.906, 38.843, 1.480),
        (5, 2, 372.557, 12.892, 1.262),
        (5, 2, 496.801, 25.702, 1.974),
        (5, 2, 602.405, 55.091, 3.609),
    ];

    #[test]
    fn levels_and_delays_agree_with_ns3() {
        for (n, nss, mbps, level, delay_ms) in NS3 {
            let rate =
                TxRate::new(Standard::Vht, Width::Mhz80, nss, 9, GuardInterval::Ns800).unwrap();
            let link = Link::of_phy(rate, 1_498, AccessCategory::BestEffort, Timing::Ns3);
            let downlink = Downlink::new(vec![link; n]).unwrap();
            let each = mbps * 1e6 / (8.0 * 1_470.0) / n as f64;
            let point = downlink.refined(&vec![each; n]);
            let round_s = point.round_s.unwrap();
            let ppdu_s =
                36e-6 + 4e-6 * f64::from(nss - 1) + point.level[0] * link.seconds_per_packet;
            let delay = mean_delay_s(round_s, round_variation(round_s, n, 15, 9e-6), ppdu_s);
            println!(
                "{n} {nss} {mbps}: level {:.2} ({level}), delay {:.3} ms ({delay_ms})",
                point.level[0],
                delay * 1e3
            );
            assert!((point.level[0] / level - 1.0).abs() < 0.05);
            assert!((delay * 1e3 / delay_ms - 1.0).abs() < 0.05);
        }
    }
}
