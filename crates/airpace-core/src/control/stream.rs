use super::error::{ConfigError, positive, within};

/// The packets that the published laws assume, and the bounds on their rates.
///
/// The papers count Mbit/s of UDP payload; this converts to packets. The defaults are those of the
/// papers' experiments.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StreamConfig {
    /// Payload bytes of a packet, 1470 in the papers.
    pub payload_bytes: u32,
    /// Bytes of the packet with its IP header, 1498 in the papers.
    pub packet_bytes: u32,
    /// Rate of a station after its first report, Mbit/s of payload.
    pub initial_mbps: f64,
    /// Smallest rate, Mbit/s of payload: a station that is sent nothing reports nothing.
    pub floor_mbps: f64,
    /// Largest rate, Mbit/s of payload.
    pub ceiling_mbps: f64,
    /// PHY rate assumed for a station whose rate was never reported, bit/s.
    pub assumed_phy_bps: f64,
}

impl Default for StreamConfig {
    fn default() -> Self {
        Self {
            payload_bytes: 1470,
            packet_bytes: 1498,
            initial_mbps: 1.0,
            floor_mbps: 0.05,
            ceiling_mbps: 10_000.0,
            assumed_phy_bps: 29.25e6,
        }
    }
}

impl StreamConfig {
    /// Checks every value.
    ///
    /// # Errors
    /// If a size or rate is not positive or a bound contradicts another.
    pub fn validate(&self) -> Result<(), ConfigError> {
        within(
            "payload_bytes",
            f64::from(self.payload_bytes),
            1.0,
            65_507.0,
        )?;
        within(
            "packet_bytes",
            f64::from(self.packet_bytes),
            f64::from(self.payload_bytes),
            65_535.0,
        )?;
        positive("floor_mbps", self.floor_mbps)?;
        positive("ceiling_mbps", self.ceiling_mbps)?;
        within(
            "initial_mbps",
            self.initial_mbps,
            self.floor_mbps,
            self.ceiling_mbps,
        )?;
        positive("assumed_phy_bps", self.assumed_phy_bps)
    }

    /// Packets per second that carry `mbps` of payload.
    #[must_use]
    pub fn packets_per_s(&self, mbps: f64) -> f64 {
        mbps * 1e6 / (8.0 * f64::from(self.payload_bytes))
    }

    /// Mbit/s of payload in `pps` packets per second.
    #[must_use]
    pub fn mbps(&self, pps: f64) -> f64 {
        pps * 8.0 * f64::from(self.payload_bytes) / 1e6
    }

    /// `mbps` clamped to floor and ceiling; NaN becomes the floor.
    #[must_use]
    pub(super) fn bounded(&self, mbps: f64) -> f64 {
        if mbps.is_nan() {
            self.floor_mbps
        } else {
            mbps.clamp(self.floor_mbps, self.ceiling_mbps)
        }
    }
}
