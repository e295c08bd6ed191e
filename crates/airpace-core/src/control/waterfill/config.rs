use super::super::Aim;
use super::super::error::{ConfigError, positive, within};
use core::time::Duration;

/// Configuration of [`Waterfill`](super::Waterfill).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WaterfillConfig {
    /// Price of delay (κ): where no other bound binds, packets take 1 / (1 + κ) of the time that
    /// is the access point's. 0 leaves only the level and the delay target as bounds, as in the
    /// papers.
    pub price: f64,
    /// Price up to which the law shortens rounds so that the longest frame of one station does not
    /// leave it less of the air than the others; `None` gives the others what it cannot use.
    pub even_price: Option<f64>,
    /// Time within which 95 of 100 packets are to pass the access point, waiting included; `None`
    /// leaves the price as it is, otherwise the law moves the price.
    pub latency: Option<Duration>,
    /// Largest mean number of packets per frame to any station (N̄); `None` leaves `longest_share`.
    pub level_limit: Option<f64>,
    /// Largest target level as a share of the longest frame, 0.1 to 1, so that varying frames stay
    /// below the longest.
    pub longest_share: f64,
    /// Largest mean round time (T̄); `None` leaves the other bounds.
    pub delay_target: Option<Duration>,
    /// Share of the delay target that is kept as a margin, so that noise does not push the mean
    /// above the target.
    pub delay_margin: f64,
    /// Largest number of packets in one frame of the access point: the block-ack window times the
    /// packets per A-MSDU.
    pub frame_level: f64,
    /// Longest PPDU of the access point (`aPPDUMaxTime` 5.484 ms; some drivers stop at 4 ms).
    pub frame_duration: Duration,
    /// Mean packet size in bytes until packets were reported.
    pub packet_bytes: f64,
    /// PHY rate of a station until its first frame, bit/s. It is low on purpose: one slot at a low
    /// rate reveals the true rate.
    pub assumed_phy_bps: f64,
    /// Overhead per frame until rounds were measured.
    pub frame_overhead: Duration,
    /// What a frame from a station takes without its payload, as a part of `frame_overhead`, 0 to 1.
    /// The default, 1, suits agents that gather acknowledgements; see [`Self::IN_LINE_UPLINK_PART`].
    pub uplink_part: f64,
    /// Whether stations answer each frame with one of their own, as where acknowledgements leave as
    /// they come. One answer per frame is then overhead of the round, of which longer frames cause
    /// less; other frames of stations take a share of the time whatever the access point does.
    pub answered: bool,
    /// Whether packets leave as the law says. In a dry run they do not, and the law did not cause what
    /// waits at the access point: it drains nothing, looks for no bottleneck before the access point,
    /// and its price stays that of the aim.
    pub obeyed: bool,
    /// Weight of a new overhead measurement that differs from the estimate by noise only.
    pub quiet_gain: f64,
    /// Least rate to any station, packets per second: a station that is sent nothing reports
    /// nothing.
    pub floor_pps: f64,
}

impl Default for WaterfillConfig {
    fn default() -> Self {
        Self {
            price: Aim::Balanced.price(),
            even_price: None,
            latency: None,
            level_limit: None,
            longest_share: 0.8,
            delay_target: None,
            delay_margin: 0.005,
            frame_level: 64.0,
            frame_duration: Duration::from_micros(5_484),
            packet_bytes: 1498.0,
            assumed_phy_bps: 6.5e6,
            frame_overhead: Duration::from_micros(200),
            uplink_part: 1.0,
            answered: false,
            obeyed: true,
            quiet_gain: 0.15,
            floor_pps: 20.0,
        }
    }
}

impl WaterfillConfig {
    /// `uplink_part` of a box in the wire, where acknowledgements leave as they come: AIFS, preamble,
    /// SIFS and answer. The back-off of so many frames runs at the same time as the access point's.
    pub const IN_LINE_UPLINK_PART: f64 = 0.65;

    /// `longest_share` of a box in the wire. TCP whose acknowledgements nobody gathers fills frames to
    /// about 0.85 of the target. On the emulated access point three equal stations at MCS 9 had 94.6 to
    /// 97 % of what they have without pacing at 0.9, 95.8 to 98 % at 0.93, and 95.9 to 98 % at 0.95, with
    /// pings as short. At 0.95 stations below their limit lose more to those at it: MCS 1 beside two with
    /// agents had 0.88 of its share in simulations.
    const IN_LINE_LONGEST_SHARE: f64 = 0.93;

    /// Part of the price of delay that a box in the wire asks for. Acknowledgements that nobody gathers
    /// take a frame of their own for each round, so longer rounds gain more than with agents.
    const IN_LINE_PRICE: f64 = 0.8;

    /// `even_price` of a box in the wire, as a multiple of the aim's price. At the lower price that it
    /// asks for, the frames of the fastest of several stations are full while the others' grow. On the
    /// emulated access point (MCS 9, 4 and 1) that took up to a seventh of its rate.
    const IN_LINE_EVEN_PRICE: f64 = 4.0 / 3.0;

    /// Adapts the configuration to a box in the wire, which nothing on the stations helps with their
    /// acknowledgements.
    pub fn set_in_line(&mut self) {
        self.longest_share = Self::IN_LINE_LONGEST_SHARE;
        self.uplink_part = Self::IN_LINE_UPLINK_PART;
        self.even_price = Some(self.price * Self::IN_LINE_EVEN_PRICE);
        self.price *= Self::IN_LINE_PRICE;
        self.answered = true;
    }

    /// Checks every value. Only measurements show whether the delay target can be met: see
    /// [`Diagnostics::smallest_delay_s`](super::super::Diagnostics::smallest_delay_s).
    ///
    /// # Errors
    /// If a value is outside its range. The level limit must not exceed `frame_level`.
    pub fn validate(&self) -> Result<(), ConfigError> {
        within("frame_level", self.frame_level, 1.0, 4096.0)?;
        within("price", self.price, 0.0, 100.0)?;
        if let Some(price) = self.even_price {
            within("even_price", price, 0.0, 200.0)?;
        }
        if let Some(latency) = self.latency {
            positive("latency", latency.as_secs_f64())?;
        }
        if let Some(limit) = self.level_limit {
            within("level_limit", limit, 1.0, self.frame_level)?;
        }
        within("longest_share", self.longest_share, 0.1, 1.0)?;
        if let Some(target) = self.delay_target {
            positive("delay_target", target.as_secs_f64())?;
        }
        within("delay_margin", self.delay_margin, 0.0, 0.5)?;
        positive("frame_duration", self.frame_duration.as_secs_f64())?;
        within("packet_bytes", self.packet_bytes, 20.0, 65_535.0)?;
        positive("assumed_phy_bps", self.assumed_phy_bps)?;
        within(
            "frame_overhead",
            self.frame_overhead.as_secs_f64(),
            1e-5,
            0.1,
        )?;
        within("uplink_part", self.uplink_part, 0.0, 1.0)?;
        within("quiet_gain", self.quiet_gain, 1e-3, 1.0)?;
        positive("floor_pps", self.floor_pps)
    }
}
