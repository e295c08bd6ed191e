//! A setting, as a network of our simulator and as flags of the ns-3 program.

use airpace_core::control::{Goal, Law, LawConfig};
use airpace_core::phy::{AccessCategory, GuardInterval, Standard, Timing, TxRate, Width};
use airpace_core::wire::ip::IPV4_UDP_HEADER_BYTES;
use airpace_sim::mac::{
    LinkConfig, MacConfig, PathConfig, QueueLimit, QueueScope, RadioConfig, RadioId, Schedule,
};
use airpace_sim::traffic::{Pattern, Phase, Rate, SourceConfig};
use airpace_sim::transport::tcp::{Algorithm, ReceiverConfig, SenderConfig};
use airpace_sim::world::{
    ChannelConfig, Feedback, FlowConfig, NodeId, ProxyConfig, Record, TcpConfig, Traffic,
    WireConfig, WorldConfig,
};
use airpace_units::{BitRate, Time};
use anyhow::{Context as _, bail};
use std::time::Duration;

/// Buffers of TCP in bytes, the same as in validation/ns3.
const SEND_BUFFER: u64 = 4 << 20;
const RECEIVE_BUFFER: u32 = 6 << 20;
/// The cable of the TCP downloads. Its queue is so long that the access point is the bottleneck,
/// not the server's queue.
const CABLE: WireConfig = WireConfig {
    ends: (NodeId(0), NodeId(0)),
    rate: Some(BitRate::from_bps(1_000_000_000)),
    delay: Duration::from_millis(10),
    queue: 100_000,
};
/// The access point is node 0 and radio 0; the stations follow.
const ACCESS_POINT: NodeId = NodeId(0);

/// An access point, its stations, and the traffic to them.
#[derive(Clone, PartialEq, Debug)]
pub struct Setting {
    /// Family of settings, `S1` to `S7`.
    pub family: String,
    /// Its name within the family.
    pub name: String,
    /// `n`, `ac` or `ax`.
    pub standard: String,
    /// Channel width, MHz.
    pub width_mhz: u32,
    /// Guard interval, ns.
    pub guard_ns: u32,
    /// The stations.
    pub stations: Vec<Station>,
    /// How the access point chooses the next queue.
    pub schedule: Schedule,
    /// Packets that it holds, including those in flight.
    pub queue_packets: usize,
    /// Whether each link or the whole radio has this limit.
    pub queue_scope: QueueScope,
    /// UDP payload of a packet, bytes.
    pub payload_bytes: u32,
    /// The sources.
    pub load: Load,
    /// Seed of both simulators.
    pub seed: u64,
    /// Time before the measurement.
    pub warm_up: Duration,
    /// Time of the measurement.
    pub duration: Duration,
}

/// One station.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Station {
    /// MCS index; for HT the index 0 to 31, which implies the streams.
    pub mcs: u8,
    /// Spatial streams.
    pub nss: u8,
    /// Payload offered in Mbit/s; 0 with a controller.
    pub offered_mbps: f64,
    /// Time of its first packet as a share of the gap between packets, 0 to 1; random if `None`.
    pub phase: Option<f64>,
}

/// The sources.
#[derive(Clone, PartialEq, Debug)]
pub enum Load {
    /// A packet to each station at even gaps, at the station's offered rate.
    Constant,
    /// Packets to each station at the rate that a controller sets at the end of every slot.
    Controlled(Control),
    /// One TCP download per station from a server behind a cable of 1 Gbit/s and 10 ms each way.
    Tcp(Algorithm),
}

/// A controller and its surroundings.
#[derive(Clone, PartialEq, Debug)]
pub struct Control {
    /// The law.
    pub law: Law,
    /// Target or limit of the level, packets per frame.
    pub level: f64,
    /// Delay target.
    pub delay: Option<Duration>,
    /// Length of a slot.
    pub slot: Duration,
    /// Rate that the published laws start a station with, Mbit/s of payload.
    pub initial_mbps: f64,
    /// UDP payload of the report that each station sends once per slot, bytes; 0 for no reports on
    /// the air.
    pub report_bytes: u32,
}

impl Setting {
    /// The setting as a network of our simulator, with the PPDU durations of ns-3.
    ///
    /// # Errors
    /// A rate that does not exist.
    pub fn world(&self) -> anyhow::Result<WorldConfig> {
        let radios = 1 + u32::try_from(self.stations.len()).context("too many stations")?;
        let channel = ChannelConfig {
            mac: self.mac()?,
            nodes: (0..radios).map(NodeId).collect(),
        };
        let server = NodeId(radios);
        let (from, wires) = match self.load {
            Load::Tcp(_) => (
                server,
                vec![WireConfig {
                    ends: (server, ACCESS_POINT),
                    ..CABLE
                }],
            ),
            Load::Constant | Load::Controlled(_) => (ACCESS_POINT, Vec::new()),
        };
        Ok(WorldConfig {
            seed: self.seed,
            warm_up: self.warm_up,
            duration: self.duration,
            slot: None,
            nodes: radios + wires.len() as u32,
            keys: Vec::new(),
            channels: vec![channel],
            wires,
            routes: Vec::new(),
            flows: (1..)
                .zip(&self.stations)
                .map(|(node, station)| self.flow(from, NodeId(node), station))
                .collect(),
            proxies: self.proxy(radios)?.into_iter().collect(),
            roaming: Vec::new(),
            changes: Vec::new(),
            record: Record::default(),
        })
    }

    fn mac(&self) -> anyhow::Result<MacConfig> {
        let queue = QueueLimit {
            packets: self.queue_packets,
            scope: self.queue_scope,
            in_flight: true,
        };
        let path = PathConfig {
            schedule: self.schedule,
            ..PathConfig::queued(queue)
        };
        let mut radios = vec![RadioConfig {
            path,
            ..RadioConfig::access_point()
        }];
        let mut links = Vec::new();
        for (radio, station) in (1..).map(RadioId).zip(&self.stations) {
            let rate = self.rate(station)?;
            radios.push(RadioConfig::new());
            links.push(LinkConfig::new(RadioId(0), radio, rate));
            links.push(LinkConfig::new(radio, RadioId(0), rate));
        }
        Ok(MacConfig {
            timing: Timing::Ns3,
            ..MacConfig::new(radios, links)
        })
    }

    fn rate(&self, station: &Station) -> anyhow::Result<TxRate> {
        let standard = match self.standard.as_str() {
            "n" => Standard::Ht,
            "ac" => Standard::Vht,
            "ax" => Standard::He,
            other => bail!("there is no standard {other}; give n, ac or ax"),
        };
        let width = match self.width_mhz {
            20 => Width::Mhz20,
            40 => Width::Mhz40,
            80 => Width::Mhz80,
            160 => Width::Mhz160,
            other => bail!("there is no channel width of {other} MHz"),
        };
        let guard = match self.guard_ns {
            400 => GuardInterval::Ns400,
            800 => GuardInterval::Ns800,
            other => bail!("a guard interval of {other} ns is not supported"),
        };
        Ok(TxRate::new(
            standard,
            width,
            station.nss,
            station.mcs,
            guard,
        )?)
    }

    fn flow(&self, from: NodeId, to: NodeId, station: &Station) -> FlowConfig {
        let traffic = match self.load {
            Load::Constant => self.paced(station),
            // Behind a proxy this source always has a packet, which leaves at the rate that the
            // proxy allocates.
            Load::Controlled(_) => Traffic::Saturating {
                payload: self.payload_bytes,
                window: 1,
            },
            Load::Tcp(algorithm) => Traffic::Tcp(TcpConfig {
                sender: SenderConfig {
                    send_buffer: SEND_BUFFER,
                    ..SenderConfig::new(algorithm)
                },
                receiver: ReceiverConfig {
                    buffer: RECEIVE_BUFFER,
                    ..ReceiverConfig::default()
                },
                bytes: None,
                is_quic: false,
            }),
        };
        let category = AccessCategory::BestEffort;
        FlowConfig {
            from,
            to,
            category,
            traffic,
            start: Time::ZERO,
            stop: None,
        }
    }

    fn paced(&self, station: &Station) -> Traffic {
        let rate = BitRate::from_bps((station.offered_mbps * 1e6).round() as u64);
        let gap_s = f64::from(self.payload_bytes) * 8e-6 / station.offered_mbps.max(1e-6);
        let phase = station.phase.map_or(Phase::Random, |phase| {
            Phase::Fixed(Duration::from_secs_f64(phase * gap_s))
        });
        let pattern = Pattern::Constant {
            payload_bytes: self.payload_bytes,
            rate: Rate::Bits(rate),
        };
        Traffic::Udp(SourceConfig {
            phase,
            ..SourceConfig::new(pattern)
        })
    }

    fn proxy(&self, nodes: u32) -> anyhow::Result<Option<ProxyConfig>> {
        let Load::Controlled(control) = &self.load else {
            return Ok(None);
        };
        let law = control.law_config(self.payload_bytes);
        let stations = (1..nodes).map(NodeId).collect();
        Ok(Some(ProxyConfig {
            report_bytes: (control.report_bytes > 0)
                .then_some(control.report_bytes + IPV4_UDP_HEADER_BYTES),
            feedback: Feedback::Direct,
            ..ProxyConfig::new(ACCESS_POINT, stations, Some(law), control.slot)
        }))
    }

    /// The setting as flags of the program in `validation/ns3`. `airpace` is the path of this
    /// program, which runs the controller there.
    #[must_use]
    pub fn flags(&self, airpace: &str) -> Vec<String> {
        let list = |value: &dyn Fn(&Station) -> String| {
            self.stations
                .iter()
                .map(value)
                .collect::<Vec<_>>()
                .join(",")
        };
        let mut flags = vec![
            format!("--standard={}", self.standard),
            format!("--width={}", self.width_mhz),
            format!("--gi={}", self.guard_ns),
            format!("--stations={}", self.stations.len()),
            format!("--mcs={}", list(&|station| station.mcs.to_string())),
            format!("--nss={}", list(&|station| station.nss.to_string())),
            format!(
                "--scheduler={}",
                if self.schedule == Schedule::OldestFirst {
                    "fcfs"
                } else {
                    "rr"
                }
            ),
            format!("--queue={}", self.queue_packets),
            format!(
                "--queue-per-station={}",
                self.queue_scope == QueueScope::Link
            ),
            format!("--payload={}", self.payload_bytes),
            format!("--seed={}", self.seed),
            format!("--warm={}", self.warm_up.as_secs_f64()),
            format!("--duration={}", self.duration.as_secs_f64()),
        ];
        match &self.load {
            Load::Constant => {
                flags.push(format!(
                    "--rates={}",
                    list(&|station| station.offered_mbps.to_string())
                ));
                if self.stations.iter().all(|station| station.phase.is_some()) {
                    flags.push(format!(
                        "--phases={}",
                        list(&|station| station.phase.unwrap_or(0.0).to_string())
                    ));
                }
            }
            Load::Controlled(control) => {
                flags.push(format!("--slot={}", control.slot.as_secs_f64()));
                flags.push(format!("--report-bytes={}", control.report_bytes));
                flags.push(format!(
                    "--control='{airpace}' {}",
                    control.arguments(self.payload_bytes)
                ));
            }
            Load::Tcp(algorithm) => {
                flags.push(format!(
                    "--traffic={}",
                    if *algorithm == Algorithm::Bbr {
                        "bbr"
                    } else {
                        "cubic"
                    }
                ));
            }
        }
        flags
    }

    /// Payload offered to all stations, Mbit/s; `None` unless the load is constant.
    #[must_use]
    pub fn offered_mbps(&self) -> Option<f64> {
        matches!(self.load, Load::Constant).then(|| {
            self.stations
                .iter()
                .map(|station| station.offered_mbps)
                .sum()
        })
    }
}

impl Control {
    fn law_config(&self, payload_bytes: u32) -> LawConfig {
        let config = crate::control::ControlConfig {
            law: self.law,
            goal: Goal::papers(self.level, self.delay),
            initial_mbps: Some(self.initial_mbps),
            payload_bytes,
        };
        config.law_config()
    }

    fn arguments(&self, payload_bytes: u32) -> String {
        let Self {
            law,
            level,
            initial_mbps,
            ..
        } = self;
        let delay = self.delay.map_or(String::new(), |delay| {
            format!(" --delay-ms {}", delay.as_secs_f64() * 1e3)
        });
        format!(
            "control --law {law} --level {level}{delay} --initial-mbps {initial_mbps} --payload-bytes {payload_bytes}"
        )
    }
}
