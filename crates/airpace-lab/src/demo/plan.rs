//! What the demo runs: arms, stations and times.

use crate::load::Traffic;
use crate::results::DemoSettings;
use std::path::PathBuf;
use std::time::Duration;
use strum::{EnumString, IntoStaticStr};

/// One way of sending.
#[derive(Clone, Copy, PartialEq, Eq, Debug, EnumString, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum ArmKind {
    /// The kernel's Cubic through a closed access point.
    Cubic,
    /// The kernel's BBR through a closed access point.
    Bbr,
    /// The kernel's Cubic through a modified access point, with FQ-MAC and airtime fairness.
    #[strum(serialize = "fqmac-airtime-cubic")]
    ModifiedCubic,
    /// The kernel's Cubic through the in-line box and a closed access point, with nothing on the
    /// stations: bursts of TCP acknowledgements tell the levels.
    EdgeAcks,
    /// The same with a radio beside the access point that hears block acks.
    EdgeRadio,
    /// The same with agents on the stations that report to the box.
    EdgeAgents,
    /// The same with an agent on the first station alone.
    EdgeMixed,
    /// The kernel's Cubic through proxy and agents and a closed access point.
    AirpaceCubic,
    /// Constant UDP from the proxy at the allocated rate, like the papers' prototype.
    AirpaceUdp,
}

/// What paces the stations of an arm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pacer {
    /// Nothing.
    None,
    /// The in-line box.
    Edge(EdgeSensor),
    /// Proxy and agents.
    Tunnel,
}

/// What observes the stations of the in-line box, besides what passes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EdgeSensor {
    /// Nothing.
    Acks,
    /// A radio near the access point.
    Radio,
    /// Agents on all stations.
    Agents,
    /// An agent on the first station.
    OneAgent,
}

impl EdgeSensor {
    /// How many of `stations`, from the first on, have an agent.
    pub(super) const fn agents(self, stations: usize) -> usize {
        match self {
            Self::Acks | Self::Radio => 0,
            Self::Agents => stations,
            Self::OneAgent => 1,
        }
    }
}

impl ArmKind {
    /// All arms in the order in which they are run.
    pub const ALL: [Self; 9] = [
        Self::Cubic,
        Self::Bbr,
        Self::ModifiedCubic,
        Self::EdgeAcks,
        Self::EdgeRadio,
        Self::EdgeAgents,
        Self::EdgeMixed,
        Self::AirpaceCubic,
        Self::AirpaceUdp,
    ];

    /// The arms that are run unless others are asked for.
    pub const DEFAULT: [Self; 8] = [
        Self::Cubic,
        Self::Bbr,
        Self::ModifiedCubic,
        Self::EdgeAcks,
        Self::EdgeRadio,
        Self::EdgeAgents,
        Self::AirpaceCubic,
        Self::AirpaceUdp,
    ];

    /// The name in files and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Description for titles and tables.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Cubic => "closed AP, Cubic",
            Self::Bbr => "closed AP, BBR",
            Self::ModifiedCubic => "AP with FQ-MAC + airtime",
            Self::EdgeAcks => "closed AP behind airpace edge",
            Self::EdgeRadio => "closed AP behind airpace edge, block-ack radio",
            Self::EdgeAgents => "closed AP behind airpace edge, agents",
            Self::EdgeMixed => "closed AP behind airpace edge, one agent",
            Self::AirpaceCubic => "closed AP behind airpace tunnel",
            Self::AirpaceUdp => "closed AP behind airpace tunnel, UDP",
        }
    }

    /// The kernel's congestion control, for arms that send TCP.
    #[must_use]
    pub const fn congestion(self) -> Option<&'static str> {
        match self {
            Self::Cubic
            | Self::ModifiedCubic
            | Self::EdgeAcks
            | Self::EdgeRadio
            | Self::EdgeAgents
            | Self::EdgeMixed
            | Self::AirpaceCubic => Some("cubic"),
            Self::Bbr => Some("bbr"),
            Self::AirpaceUdp => None,
        }
    }

    /// What paces the stations.
    #[must_use]
    pub(super) const fn pacer(self) -> Pacer {
        match self {
            Self::Cubic | Self::Bbr | Self::ModifiedCubic => Pacer::None,
            Self::EdgeAcks => Pacer::Edge(EdgeSensor::Acks),
            Self::EdgeRadio => Pacer::Edge(EdgeSensor::Radio),
            Self::EdgeAgents => Pacer::Edge(EdgeSensor::Agents),
            Self::EdgeMixed => Pacer::Edge(EdgeSensor::OneAgent),
            Self::AirpaceCubic | Self::AirpaceUdp => Pacer::Tunnel,
        }
    }

    /// Whether the access point is a modified one, with its own queues and schedule.
    #[must_use]
    pub const fn is_modified(self) -> bool {
        matches!(self, Self::ModifiedCubic)
    }
}

/// What to run, for how long, and where to store the results.
#[derive(Clone, Debug)]
pub struct DemoOptions {
    /// The folder for the results.
    pub out: PathBuf,
    /// The airpace program, from which boxes, proxies and agents are started.
    pub program: PathBuf,
    /// Seed of the emulated access point.
    pub seed: u64,
    /// The sets of stations, each a list of VHT MCS indices at 80 MHz and one stream.
    pub cells: Vec<Vec<u8>>,
    /// What loads the stations of each set, in order; downloads where nothing is said.
    pub traffic: Vec<Vec<Traffic>>,
    /// The arms to run on each set.
    pub arms: Vec<ArmKind>,
    /// Duration of the pings before the load.
    pub idle: Duration,
    /// Duration of the load.
    pub load: Duration,
    /// Beginning of the load that the figures leave out: slow start, and Cubic filling the buffer.
    pub ramp: Duration,
    /// Time between pings to one station.
    pub ping_interval: Duration,
    /// Delay of the wired link, each way.
    pub wired_delay: Duration,
    /// The access point's buffer per station, packets.
    pub ap_buffer_packets: u32,
    /// TCP flows per station.
    pub flows: u16,
    /// Level that airpace is held to, mean packets per frame; by default its own aim decides.
    pub target_level: Option<f64>,
    /// The interval of the reports.
    pub slot: Duration,
}

impl DemoOptions {
    /// The demo that `make demo` runs: one station at MCS 9, then three at MCS 9, 4 and 1. Its
    /// sixteen arms take less than five minutes.
    #[must_use]
    pub fn new(out: PathBuf, program: PathBuf) -> Self {
        Self {
            out,
            program,
            seed: 1,
            cells: vec![vec![9], vec![9, 4, 1]],
            traffic: Vec::new(),
            arms: ArmKind::DEFAULT.to_vec(),
            idle: Duration::from_secs(1),
            load: Duration::from_secs(13),
            ramp: Duration::from_secs(4),
            ping_interval: Duration::from_millis(10),
            wired_delay: Duration::from_millis(1),
            ap_buffer_packets: 2_500,
            flows: 1,
            target_level: None,
            slot: Duration::from_millis(100),
        }
    }

    /// The settings as they are stored.
    #[must_use]
    pub fn settings(&self) -> DemoSettings {
        let ms = |span: Duration| span.as_secs_f64() * 1e3;
        DemoSettings {
            seed: self.seed,
            width_mhz: 80,
            nss: 1,
            wired_delay_ms: ms(self.wired_delay),
            ap_buffer_packets: self.ap_buffer_packets,
            target_level: self.target_level,
            slot_ms: ms(self.slot),
            ping_interval_ms: ms(self.ping_interval),
            idle_s: self.idle.as_secs_f64(),
            load_s: self.load.as_secs_f64(),
            ramp_s: self.ramp.as_secs_f64(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arms_are_found_by_their_names() {
        assert!(
            ArmKind::ALL
                .iter()
                .all(|&arm| arm.name().parse() == Ok(arm))
        );
        assert_eq!(ArmKind::ModifiedCubic.name(), "fqmac-airtime-cubic");
        assert_eq!(ArmKind::AirpaceUdp.name(), "airpace-udp");
        let edge = [ArmKind::EdgeAcks, ArmKind::EdgeRadio, ArmKind::EdgeAgents];
        assert_eq!(
            edge.map(ArmKind::name),
            ["edge-acks", "edge-radio", "edge-agents"]
        );
        assert!("vegas".parse::<ArmKind>().is_err());
    }

    #[test]
    fn the_default_plan_leaves_time_for_setup_within_five_minutes() {
        let options = DemoOptions::new("out".into(), "airpace".into());
        let arms = u32::try_from(options.cells.len() * options.arms.len()).unwrap();
        assert!((options.idle + options.load) * arms <= Duration::from_secs(240));
    }
}
