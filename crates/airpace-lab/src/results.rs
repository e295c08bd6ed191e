//! The results of the demo, a summary and one time series per arm, and of the comparison of the
//! emulator with virtual time.
//!
//! Within one [`DEMO_FORMAT`] fields are only added. Readers ignore fields that they do not know.

use serde::{Deserialize, Serialize};

/// Version of the format of [`DemoSummary`] and [`ArmSeries`].
pub const DEMO_FORMAT: u32 = 1;

/// `summary.json`: every arm of a run of the demo, and what is needed to repeat the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DemoSummary {
    /// [`DEMO_FORMAT`].
    pub format: u32,
    /// The machine and the versions.
    pub environment: Environment,
    /// The settings of the run.
    pub settings: DemoSettings,
    /// The arms, in the order in which they were run.
    pub arms: Vec<ArmResult>,
}

/// The machine and the versions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// Version of the program.
    pub airpace_version: String,
    /// Git revision, if the program was run in a checkout.
    pub git_revision: Option<String>,
    /// Release of the Linux kernel whose TCP was measured.
    pub kernel: String,
    /// Number of processors available.
    pub cpus: u32,
    /// Start of the run, seconds since 1970-01-01 UTC.
    pub started_unix_s: u64,
}

/// The settings of a run of the demo.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DemoSettings {
    /// Seed of the emulated access point.
    pub seed: u64,
    /// Channel width in MHz.
    pub width_mhz: u32,
    /// Spatial streams of every station.
    pub nss: u8,
    /// Delay of the wired link in each direction, milliseconds.
    pub wired_delay_ms: f64,
    /// The access point's buffer per station, packets.
    pub ap_buffer_packets: u32,
    /// Level that airpace was held to, mean packets per frame; `None` if its own aim decided.
    pub target_level: Option<f64>,
    /// Length of a slot (the interval of the reports), milliseconds.
    pub slot_ms: f64,
    /// Time between pings to one station, milliseconds.
    pub ping_interval_ms: f64,
    /// How long the idle ping was measured, seconds.
    pub idle_s: f64,
    /// How long the load lasted, seconds.
    pub load_s: f64,
    /// Length of the beginning of the load that the steady-state figures leave out, seconds.
    pub ramp_s: f64,
}

/// Figures of a station, or of all stations of an arm together, in the steady state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SteadyFigures {
    /// Payload received, Mbit/s.
    pub goodput_mbps: f64,
    /// Round-trip time of pings under load.
    pub ping_ms: Quantiles,
    /// Round-trip time of pings before the load.
    pub idle_ping_ms: Quantiles,
    /// Mean time of pings under load from the server to the station, in milliseconds. `None` without answered pings,
    /// and in files that are older.
    #[serde(default)]
    pub one_way_ms: Option<f64>,
    /// Round trips per minute of pings under load: 60000 over the mean in ms of the shortest 95 %.
    /// `None` without answered pings, and in files that are older.
    #[serde(default)]
    pub rpm: Option<f64>,
    /// Quality of Outcome of pings under load for a video call, 0 (unusable) to 100 (perfect).
    #[serde(default)]
    pub qoo: Option<f64>,
    /// Data packets dropped, as a share: by the access point (full buffer or retry limit) and,
    /// where there is one, by the queue of the proxy or the box.
    pub loss: f64,
    /// Pings under load without an answer, as a share.
    pub ping_loss: f64,
    /// Mean packets per frame, from the access point's frame records.
    pub level: f64,
    /// Mean packets per frame as the sensors measured it; `None` where nothing paced the stations.
    pub level_reported: Option<f64>,
    /// Mean time between frames to one station, milliseconds, from the frame records.
    pub round_ms: f64,
    /// TCP segments that the server sent again; zero for UDP.
    pub retransmits: u64,
}

/// One arm: one way of sending to one set of stations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArmResult {
    /// Number of stations.
    pub stations: u32,
    /// `cubic`, `bbr`, `fqmac-airtime-cubic`, `edge-acks`, `edge-radio`, `edge-agents`,
    /// `edge-mixed`, `airpace-cubic` or `airpace-udp`.
    pub name: String,
    /// Description in a few words, for titles and tables.
    #[serde(default)]
    pub title: String,
    /// Figures of all stations together: the sum of goodput and retransmissions, the level weighted
    /// by frames, the mean of the stations' rounds.
    #[serde(flatten)]
    pub figures: SteadyFigures,
    /// Jain's index of the stations' downlink airtime, from the frame records; 1 is equal.
    pub jain_airtime: f64,
    /// Jain's index of the stations' airtime in both directions.
    #[serde(default)]
    pub jain_airtime_both_ways: f64,
    /// 99th percentile of the emulator's lateness against its own clock, milliseconds.
    pub lag_p99_ms: f64,
    /// Whether the emulator kept up (lag p99 of at most 1 ms). If not, the figures cannot be
    /// trusted.
    pub trusted: bool,
    /// The stations, in order.
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
    /// Its figures.
    #[serde(flatten)]
    pub figures: SteadyFigures,
    /// Share of the time in which the medium carried frames to this station, overhead included.
    pub airtime: f64,
    /// Share of the time in which the medium carried frames from this station.
    #[serde(default)]
    pub uplink_airtime: f64,
    /// What observed it in most slots: `agent`, `block-ack`, `ack-burst`, `waiting-time` or `none`;
    /// `None` where nothing paced it.
    #[serde(default)]
    pub sensor: Option<String>,
}

/// Quantiles of a set of samples. All are zero if `count` is zero.
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

/// `series-<stations>-<name>.json`: the time series of one arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArmSeries {
    /// [`DEMO_FORMAT`].
    pub format: u32,
    /// Number of stations.
    pub stations: u32,
    /// Name of the arm.
    pub name: String,
    /// Start of the load, seconds on the arm's clock.
    pub load_from_s: f64,
    /// Start of the steady state, seconds.
    pub steady_from_s: f64,
    /// End of the load, seconds.
    pub load_to_s: f64,
    /// The stations, in order.
    pub per_station: Vec<StationSeries>,
}

/// The time series of one station. Times are seconds on the arm's clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StationSeries {
    /// Index from zero.
    pub station: u32,
    /// The slots, in order.
    pub slots: Vec<SlotSample>,
    /// Pings: time at which each was sent, and round-trip time in milliseconds (`null` without an
    /// answer).
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
    /// Share of the slot in which the medium carried frames to this station, overhead included.
    pub airtime: f64,
    /// Packets that waited in the access point for the station when its last frame in the slot was
    /// composed.
    pub ap_queue: Option<u32>,
    /// Rate that the controller allocated, Mbit/s; `None` where nothing paced the station.
    pub allocated_mbps: Option<f64>,
}

/// The emulator compared with virtual time in the same scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EmulatorComparison {
    /// Number of stations.
    pub stations: u32,
    /// Measured with real packets under the real clock.
    pub emulated: MacFigures,
    /// Measured in virtual time.
    pub simulated: MacFigures,
    /// Relative difference of goodput: emulated over simulated, minus one.
    pub goodput_difference: f64,
    /// Relative difference of the level.
    pub level_difference: f64,
    /// 99th percentile of the emulator's lateness, milliseconds.
    pub lag_p99_ms: f64,
    /// Whether the emulator kept up (lag p99 of at most 1 ms).
    pub trusted: bool,
}

/// Figures of a MAC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MacFigures {
    /// Payload delivered, Mbit/s.
    pub goodput_mbps: f64,
    /// Mean packets per frame.
    pub level: f64,
    /// Mean time between frames to one station, milliseconds.
    pub round_ms: f64,
    /// Packets lost, as a share.
    pub loss: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_beside_the_other_fields_of_a_station() {
        let station = StationResult {
            station: 3,
            mcs: 9,
            phy_mbps: 390.0,
            figures: SteadyFigures::default(),
            airtime: 0.5,
            uplink_airtime: 0.1,
            sensor: None,
        };
        let value = serde_json::to_value(&station).unwrap();
        assert!(value["goodput_mbps"].is_number() && value["airtime"].is_number());
        assert_eq!(
            serde_json::from_value::<StationResult>(value).unwrap(),
            station
        );
    }

    #[test]
    fn readers_ignore_fields_they_do_not_know() {
        let text = r#"{"p50":1,"p95":2,"p99":3,"mean":1.5,"max":3,"count":9,"p999":4}"#;
        let quantiles: Quantiles = serde_json::from_str(text).unwrap();
        assert_eq!(quantiles.count, 9);
    }
}
