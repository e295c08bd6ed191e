//! What the demo writes: a summary, and a time series per arm.
//!
//! Within one [`DEMO_FORMAT`], fields are only added. Readers ignore fields that they do not know.

use serde::{Deserialize, Serialize};

/// Version of the format of [`DemoSummary`] and [`ArmSeries`].
pub const DEMO_FORMAT: u32 = 1;

/// `summary.json`: every arm of a run of the demo, and what is needed to repeat it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DemoSummary {
    /// [`DEMO_FORMAT`].
    pub format: u32,
    /// The machine and the software.
    pub environment: Environment,
    /// The settings.
    pub settings: DemoSettings,
    /// One entry per arm, in the order of the runs.
    pub arms: Vec<ArmResult>,
}

/// The machine and the versions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// Version of airpace.
    pub airpace_version: String,
    /// Git revision, if the program was built from or run in a checkout.
    pub git_revision: Option<String>,
    /// Release of the Linux kernel whose TCP was measured.
    pub kernel: String,
    /// Processors available.
    pub cpus: u32,
    /// Start of the run in seconds after 1970-01-01 UTC.
    pub started_unix_s: u64,
}

/// The settings of a run of the demo.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DemoSettings {
    /// Seed of every random stream of the emulated access point.
    pub seed: u64,
    /// Channel width in MHz.
    pub width_mhz: u32,
    /// Spatial streams of every station.
    pub nss: u8,
    /// Delay of the wired link in each direction, milliseconds.
    pub wired_delay_ms: f64,
    /// The access point's buffer per station, packets.
    pub ap_buffer_packets: u32,
    /// Mean packets per frame that airpace aims for.
    pub target_level: f64,
    /// Length of a slot (the interval of reports), milliseconds.
    pub slot_ms: f64,
    /// Time between pings to one station, milliseconds.
    pub ping_interval_ms: f64,
    /// How long the ping was measured without load, seconds.
    pub idle_s: f64,
    /// How long the load lasted, seconds.
    pub load_s: f64,
    /// How much of the beginning of the load the steady-state figures leave out, seconds.
    pub ramp_s: f64,
}

/// One arm: one way of sending to one set of stations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArmResult {
    /// Number of stations.
    pub stations: u32,
    /// `cubic`, `bbr`, `fqmac-airtime-cubic`, `airpace-cubic` or `airpace-udp`.
    pub name: String,
    /// A short description of the arm, for titles and tables.
    #[serde(default)]
    pub title: String,
    /// Goodput of all stations together in the steady state, Mbit/s of payload.
    pub goodput_mbps: f64,
    /// Round-trip time of pings under load in the steady state, all stations together.
    pub ping_ms: Quantiles,
    /// Round-trip time of pings before the load.
    pub idle_ping_ms: Quantiles,
    /// Share of the data packets that were dropped: by the access point (full buffer or retry limit) and, with a proxy, by its queue.
    pub loss: f64,
    /// Share of the pings under load that got no answer.
    pub ping_loss: f64,
    /// Mean packets per frame, from the access point's own frame records; stations weighted by their frames.
    pub level: f64,
    /// The same as measured by the agents; `None` without agents.
    pub level_reported: Option<f64>,
    /// Mean time between frames to one station, milliseconds, from the frame records.
    pub round_ms: f64,
    /// Jain's index of the stations' downlink airtime, from the frame records; 1 means equal shares.
    pub jain_airtime: f64,
    /// The same of their airtime in both directions together.
    #[serde(default)]
    pub jain_airtime_both_ways: f64,
    /// 99th percentile of the emulator's lag behind its own clock, milliseconds.
    pub lag_p99_ms: f64,
    /// Whether the emulator kept up (99th percentile of the lag of at most 1 ms). If not, the figures should not be trusted.
    pub trusted: bool,
    /// TCP segments retransmitted by the server; zero for UDP.
    pub retransmits: u64,
    /// The same figures per station, in the order of the stations.
    pub per_station: Vec<StationResult>,
}

/// One station of an arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StationResult {
    /// Index from zero.
    pub station: u32,
    /// MCS index.
    pub mcs: u8,
    /// PHY rate, Mbit/s.
    pub phy_mbps: f64,
    /// Goodput in the steady state, Mbit/s of payload.
    pub goodput_mbps: f64,
    /// Round-trip time of pings under load.
    pub ping_ms: Quantiles,
    /// Round-trip time of pings before the load.
    pub idle_ping_ms: Quantiles,
    /// Share of the data packets that were lost.
    pub loss: f64,
    /// Share of the pings under load that got no answer.
    pub ping_loss: f64,
    /// Mean packets per frame from the frame records.
    pub level: f64,
    /// Mean packets per frame as measured by the agent.
    pub level_reported: Option<f64>,
    /// Mean time between frames, milliseconds.
    pub round_ms: f64,
    /// Share of the time during which this station's downlink frames and their overhead occupied the channel.
    pub airtime: f64,
    /// The same for the frames that it sent.
    #[serde(default)]
    pub uplink_airtime: f64,
    /// TCP segments retransmitted to this station.
    pub retransmits: u64,
}

/// Quantiles of a set of samples; all zero if `count` is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quantiles {
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Largest.
    pub max: f64,
    /// Number of samples.
    pub count: u64,
}

/// `series-<stations>-<name>.json`: the time series of one arm, per station.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArmSeries {
    /// [`DEMO_FORMAT`].
    pub format: u32,
    /// Number of stations.
    pub stations: u32,
    /// Name of the arm.
    pub name: String,
    /// Seconds after the start of the arm's clock at which the load began.
    pub load_from_s: f64,
    /// Seconds at which the steady state begins.
    pub steady_from_s: f64,
    /// Seconds at which the load ended.
    pub load_to_s: f64,
    /// Per station, in order.
    pub per_station: Vec<StationSeries>,
}

/// The time series of one station; times are seconds after the start of the arm's clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StationSeries {
    /// Index from zero.
    pub station: u32,
    /// Slots of the frame records, in order.
    pub slots: Vec<SlotSample>,
    /// Pings: time of sending and round-trip time in milliseconds (`null`: no answer).
    pub pings: Vec<(f64, Option<f64>)>,
}

/// One slot of a station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SlotSample {
    /// Beginning of the slot, seconds.
    pub at_s: f64,
    /// Payload received by the station's application, Mbit/s.
    pub goodput_mbps: f64,
    /// Data frames that carried new packets.
    pub frames: u32,
    /// Mean packets per frame; `None` without frames.
    pub level: Option<f64>,
    /// Share of the slot during which this station's frames and their overhead occupied the channel.
    pub airtime: f64,
    /// Packets waiting for the station in the access point's buffer at the end of the slot, if that was recorded.
    pub ap_queue: Option<u32>,
    /// Rate that the controller allocated, Mbit/s; `None` without a proxy.
    pub allocated_mbps: Option<f64>,
}

/// Comparison of the emulator with virtual time in the same scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EmulatorComparison {
    /// Number of stations.
    pub stations: u32,
    /// Measured with real packets in real time.
    pub emulated: MacFigures,
    /// Measured in virtual time.
    pub simulated: MacFigures,
    /// Relative difference of goodput, emulated over simulated minus one.
    pub goodput_difference: f64,
    /// Relative difference of the level.
    pub level_difference: f64,
    /// 99th percentile of the emulator's lag, milliseconds.
    pub lag_p99_ms: f64,
    /// Whether the emulator kept up (99th percentile of the lag of at most 1 ms).
    pub trusted: bool,
}

/// Figures of a MAC's traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MacFigures {
    /// Payload delivered, Mbit/s.
    pub goodput_mbps: f64,
    /// Mean packets per frame.
    pub level: f64,
    /// Mean time between frames to one station, milliseconds.
    pub round_ms: f64,
    /// Share of the packets that were lost.
    pub loss: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_ignore_fields_they_do_not_know() {
        let text = r#"{"p50":1,"p95":2,"p99":3,"mean":1.5,"max":3,"count":9,"p999":4}"#;
        let quantiles: Quantiles = serde_json::from_str(text).unwrap();
        assert_eq!(quantiles.count, 9);
    }
}
