use super::refined;
use crate::phy::{
    AccessCategory, AmpduLimits, Edca, Response, SIFS, Timing, TxRate, max_mpdus, mpdu_bytes,
    subframe_bytes,
};
use thiserror::Error;

/// The cost of sending to one station.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Link {
    /// Airtime of one packet in seconds (w = (L + ℓ)/R).
    pub seconds_per_packet: f64,
    /// Overhead of one frame in seconds (T_oh).
    pub overhead_s: f64,
    /// Largest number of packets in a frame (N_max).
    pub level_max: f64,
}

/// The stations that an access point serves in turn, with one frame each per round.
#[derive(Clone, PartialEq, Debug)]
pub struct Downlink {
    links: Vec<Link>,
    overhead_s: f64,
}

/// The operating point at given rates.
#[derive(Clone, PartialEq, Debug)]
pub struct Operating {
    /// Mean packets per frame (μ), in the order of the stations.
    pub level: Vec<f64>,
    /// Mean time of a round in seconds (D); `None` if the medium is idle between packets, so that
    /// there are no rounds.
    pub round_s: Option<f64>,
}

/// Why the model refuses its inputs.
#[derive(Clone, Copy, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum ModelError {
    /// There is no station.
    #[error("no stations: name at least one")]
    Empty,
    /// A value of a station is NaN or out of range.
    #[error("station {station}: {what} is {value}, which is out of range")]
    Link {
        /// Index of the station.
        station: usize,
        /// Name of the value.
        what: &'static str,
        /// The value.
        value: f64,
    },
    /// A loss probability must be at least 0 and below 1.
    #[error("the loss probability is {0}; it must be at least 0 and below 1")]
    Loss(f64),
}

impl Link {
    /// A link with these values.
    #[must_use]
    pub const fn new(seconds_per_packet: f64, overhead_s: f64, level_max: f64) -> Self {
        Self {
            seconds_per_packet,
            overhead_s,
            level_max,
        }
    }

    /// The link at a PHY rate for IP packets of `ip_bytes`. A packet takes the airtime of a
    /// subframe. The overhead consists of AIFS, mean back-off, preamble, SIFS, SERVICE and tail,
    /// half a symbol of rounding and the block ack. The A-MPDU limits are the standard's.
    #[must_use]
    pub fn of_phy(rate: TxRate, ip_bytes: u32, category: AccessCategory, timing: Timing) -> Self {
        let mpdu = mpdu_bytes(ip_bytes);
        let edca = Edca::of(category);
        let bits_per_s = rate.rate().as_bps_f64();
        // 16 SERVICE bits and 6 tail bits; on average the last symbol is half full.
        let fill_s = 22.0 / bits_per_s + rate.symbol().as_secs_f64() / 2.0;
        let fixed = edca.aifs()
            + edca.mean_backoff()
            + rate.preamble(timing)
            + SIFS
            + Response::to(rate, 2).duration;
        let level_max = max_mpdus(rate, mpdu, AmpduLimits::of(rate.standard()), timing).max(1);
        Self {
            seconds_per_packet: f64::from(8 * subframe_bytes(mpdu)) / bits_per_s,
            overhead_s: fixed.as_secs_f64() + fill_s,
            level_max: f64::from(level_max),
        }
    }

    /// The link if each MPDU is lost with `probability` and retransmitted until it arrives: the
    /// airtime per delivered packet is w/(1 − p).
    ///
    /// # Errors
    /// [`ModelError::Loss`] unless 0 ≤ p < 1.
    pub fn with_loss(self, probability: f64) -> Result<Self, ModelError> {
        if !(0.0..1.0).contains(&probability) {
            return Err(ModelError::Loss(probability));
        }
        Ok(Self {
            seconds_per_packet: self.seconds_per_packet / (1.0 - probability),
            ..self
        })
    }

    fn check(&self, station: usize) -> Result<(), ModelError> {
        let ranges = [
            (
                "airtime of a packet in s",
                self.seconds_per_packet,
                1e-12,
                1e6,
            ),
            ("overhead of a frame in s", self.overhead_s, 1e-12, 1e6),
            ("most packets in a frame", self.level_max, 1.0, 1e9),
        ];
        match ranges
            .into_iter()
            .find(|(_, value, min, max)| !(min..=max).contains(&value))
        {
            Some((what, value, ..)) => Err(ModelError::Link {
                station,
                what,
                value,
            }),
            None => Ok(()),
        }
    }
}

impl Downlink {
    /// A downlink to these stations.
    ///
    /// # Errors
    /// [`ModelError`] if there are none or a value is out of range.
    pub fn new(links: Vec<Link>) -> Result<Self, ModelError> {
        if links.is_empty() {
            return Err(ModelError::Empty);
        }
        for (station, link) in links.iter().enumerate() {
            link.check(station)?;
        }
        let overhead_s = links.iter().map(|l| l.overhead_s).sum();
        Ok(Self { links, overhead_s })
    }

    /// The stations.
    #[must_use]
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Overhead of a round in which every station is served, in seconds (c).
    #[must_use]
    pub const fn overhead_s(&self) -> f64 {
        self.overhead_s
    }

    /// Share of time that packets at these rates take without overhead (wᵀx).
    #[must_use]
    pub fn load(&self, rates_pps: &[f64]) -> f64 {
        self.links
            .iter()
            .zip(rates_pps)
            .map(|(l, x)| l.seconds_per_packet * x)
            .sum()
    }

    /// The levels without limits, F(x) = c x / (1 − wᵀx) (000 eq. 14, 002 eq. 1), with D = c / (1 −
    /// wᵀx); `None` if wᵀx ≥ 1.
    #[must_use]
    pub fn unlimited(&self, rates_pps: &[f64]) -> Option<Operating> {
        let free = 1.0 - self.load(rates_pps);
        let round_s = self.overhead_s / free;
        (free > 0.0).then(|| Operating {
            level: rates_pps.iter().map(|x| x * round_s).collect(),
            round_s: Some(round_s),
        })
    }

    /// The published model: F(x) clamped to [1, N_max] (002 eq. 1). The round is that of these
    /// levels, c + wᵀμ, as if every station were sent a frame in each round even if it has few
    /// packets.
    #[must_use]
    pub fn published(&self, rates_pps: &[f64]) -> Operating {
        let free = 1.0 - self.load(rates_pps);
        let level: Vec<f64> = (self.links.iter().zip(rates_pps))
            .map(|(link, x)| {
                let unlimited = if free > 0.0 {
                    self.overhead_s * x / free
                } else {
                    f64::INFINITY
                };
                unlimited.clamp(1.0, link.level_max)
            })
            .collect();
        let round_s = self.round_at_levels_s(&level);
        Operating {
            level,
            round_s: Some(round_s),
        }
    }

    /// The refined model: a station whose rate is below one packet per round is not served in every
    /// round, and one at N_max takes no longer than N_max packets. It is more accurate than
    /// [`Downlink::published`] at light load and with mixed demand.
    #[must_use]
    pub fn refined(&self, rates_pps: &[f64]) -> Operating {
        refined::operating(&self.links, rates_pps)
    }

    /// Round time at given levels, D = c + wᵀμ (002 eq. 4).
    #[must_use]
    pub fn round_at_levels_s(&self, level: &[f64]) -> f64 {
        let payload: f64 = self
            .links
            .iter()
            .zip(level)
            .map(|(l, n)| l.seconds_per_packet * n)
            .sum();
        self.overhead_s + payload
    }

    /// Rates that lead to given levels, x = μ / (c + wᵀμ) (002 eq. 3).
    #[must_use]
    pub fn rates_at_levels(&self, level: &[f64]) -> Vec<f64> {
        let round_s = self.round_at_levels_s(level);
        level.iter().map(|n| n / round_s).collect()
    }

    /// Whether all queues are stable at these rates: c xᵢ + N_max,i wᵀx < N_max,i (000 eq. 16).
    /// Linear in x, so the region is a polytope.
    #[must_use]
    pub fn is_stable(&self, rates_pps: &[f64]) -> bool {
        let load = self.load(rates_pps);
        self.links
            .iter()
            .zip(rates_pps)
            .all(|(l, x)| self.overhead_s * x + l.level_max * load < l.level_max)
    }

    /// The published upper bound of the mean delay of each station, max(min(c/(1 − wᵀx), N_max/xᵢ),
    /// 1/xᵢ) in seconds (002 eq. 2).
    #[must_use]
    pub fn delay_bound_s(&self, rates_pps: &[f64]) -> Vec<f64> {
        let free = 1.0 - self.load(rates_pps);
        let round_s = if free > 0.0 {
            self.overhead_s / free
        } else {
            f64::INFINITY
        };
        self.links
            .iter()
            .zip(rates_pps)
            .map(|(l, x)| round_s.min(l.level_max / x).max(1.0 / x))
            .collect()
    }
}

/// Round time if some stations demand less than their share: (c + Σ w μ over the backlogged) / (1 −
/// Σ w x over the demand-limited). `overhead_s` includes the frames of both. `backlogged` holds (w,
/// μ) and `limited` holds (w, x). Returns `None` if the limited ones alone need all airtime.
#[must_use]
pub fn round_with_limited_demand_s(
    overhead_s: f64,
    backlogged: &[(f64, f64)],
    limited: &[(f64, f64)],
) -> Option<f64> {
    let payload: f64 = backlogged.iter().map(|(w, level)| w * level).sum();
    let free = 1.0 - limited.iter().map(|(w, x)| w * x).sum::<f64>();
    (free > 0.0).then(|| (overhead_s + payload) / free)
}

/// The overhead that a controller measures: the part of a round that its own packets do not
/// explain, c = D − Σ w μ. It includes demand-limited stations, uplink traffic and neighbours.
#[must_use]
pub fn effective_overhead_s(round_s: f64, backlogged: &[(f64, f64)]) -> f64 {
    round_s - backlogged.iter().map(|(w, level)| w * level).sum::<f64>()
}

#[cfg(test)]
mod tests;
