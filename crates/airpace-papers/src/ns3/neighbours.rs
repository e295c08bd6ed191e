//! Several cells on one channel, and stations that are hidden from each other: families S9 to S11.
//!
//! The same layouts are run in this project's simulator and in ns-3, whose results are stored for
//! some settings and measured anew for others. All flows are saturated.

mod bars;
mod grid;
mod live;
mod stored;

pub use bars::starving;
pub use grid::{settings, speed_settings};
pub use live::run;
pub use stored::{read, stored};

use super::report::Row;
use airpace_core::phy::{AccessCategory, GuardInterval, Standard, Timing, TxRate, Width};
use airpace_sim::channel::{self, Channel, PathLoss, Position};
use airpace_sim::mac::{
    Beacon, LinkConfig, MacConfig, PathConfig, Quality, QueueLimit, QueueScope, RadioConfig,
    RadioId, Signal,
};
use airpace_sim::world::{ChannelConfig, FlowConfig, NodeId, Record, Traffic, World, WorldConfig};
use airpace_units::Time;
use std::time::Duration;

/// Transmit power of ns-3's radios by default, dBm.
const POWER_DBM: f64 = 16.0206;
/// UDP payload of a packet, bytes.
const PAYLOAD_BYTES: u32 = 1_470;
/// Flows begin at different times within this span, about the longest frame. Cells that do not
/// sense each other repeat their frames in nearly the same time, so that they keep the offset from
/// each other for seconds; if they began together they would lose frames to each other that they do
/// not lose in ns-3.
const START_WITHIN: Duration = Duration::from_millis(5);
/// Packets that a source keeps under way; the ns-3 program refills its queues to as many.
const WINDOW: u32 = 192;

/// Where the access points and stations stand, and which way the packets go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// Two access points with a station each, all on a line, downlink.
    Two {
        /// Whether the stations stand between the access points, or outside.
        between: bool,
    },
    /// Three access points in a row with a station each beside it, downlink.
    Three,
    /// One access point with a station on either side, uplink.
    Uplink,
}

/// A run of a setting, and its results in ns-3.
#[derive(Clone, PartialEq, Debug)]
pub struct NeighboursRun {
    /// `S9`, `S10` or `S11`.
    pub family: String,
    /// The name of the setting, which runs with several seeds share.
    pub name: String,
    /// Who stands where.
    pub layout: Layout,
    /// From one access point to the next, or from the access point to its stations, in m.
    pub distance_m: f64,
    /// From an access point to its station, in m.
    pub station_m: f64,
    /// Exponent of the path loss.
    pub exponent: f64,
    /// Transmit power of each access point and its stations, dBm.
    pub powers_dbm: Vec<f64>,
    /// VHT, 80 MHz, one stream.
    pub mcs: u8,
    /// Whether RTS precede all data.
    pub rts: bool,
    /// Whether a missed block ack is asked for.
    pub requests: bool,
    /// Seed.
    pub seed: u64,
    /// Time before the measurement.
    pub warm_up: Duration,
    /// Time of the measurement.
    pub duration: Duration,
    /// Payload received by each flow in ns-3, Mbit/s.
    pub goodput_mbps: Vec<f64>,
}

/// The two ends of a flow.
#[derive(Clone, Copy, Debug)]
struct Pair {
    from: Position,
    to: Position,
}

impl NeighboursRun {
    /// The positions of the radios, access points first, and the ends of each flow among them.
    fn radios(&self) -> (Vec<Position>, Vec<(RadioId, RadioId)>) {
        let at = |x, y| Position::new(x, y, 0.0);
        let (d, s) = (self.distance_m, self.station_m);
        let pairs = match self.layout {
            Layout::Two { between } => {
                let inwards = if between { s } else { -s };
                vec![
                    Pair {
                        from: at(0.0, 0.0),
                        to: at(inwards, 0.0),
                    },
                    Pair {
                        from: at(d, 0.0),
                        to: at(d - inwards, 0.0),
                    },
                ]
            }
            Layout::Three => [0.0, d, 2.0 * d]
                .map(|x| Pair {
                    from: at(x, 0.0),
                    to: at(x, s),
                })
                .to_vec(),
            Layout::Uplink => {
                let positions = vec![at(0.0, 0.0), at(-d, 0.0), at(d, 0.0)];
                let flows = vec![(RadioId(1), RadioId(0)), (RadioId(2), RadioId(0))];
                return (positions, flows);
            }
        };
        let cells = pairs.len() as u32;
        let positions = pairs.iter().map(|pair| pair.from);
        let positions = positions.chain(pairs.iter().map(|pair| pair.to)).collect();
        let flows = (0..cells).map(|cell| (RadioId(cell), RadioId(cells + cell)));
        (positions, flows.collect())
    }

    /// The setting as a network of our simulator, with the PPDU durations of ns-3.
    ///
    /// # Errors
    /// A rate or a channel that does not exist.
    pub fn world(&self) -> anyhow::Result<WorldConfig> {
        let (positions, ends) = self.radios();
        let nodes = positions.len() as u32;
        let flow = |(index, &(from, to)): (usize, &(RadioId, RadioId))| FlowConfig {
            from: NodeId(from.0),
            to: NodeId(to.0),
            category: AccessCategory::BestEffort,
            traffic: Traffic::Saturating {
                payload: PAYLOAD_BYTES,
                window: WINDOW,
            },
            start: Time::ZERO + self.start(index),
            stop: None,
        };
        Ok(WorldConfig {
            seed: self.seed,
            warm_up: self.warm_up,
            duration: self.duration,
            slot: None,
            nodes,
            keys: Vec::new(),
            flows: ends.iter().enumerate().map(flow).collect(),
            channels: vec![ChannelConfig {
                mac: self.mac(&positions, &ends)?,
                nodes: (0..nodes).map(NodeId).collect(),
            }],
            wires: Vec::new(),
            routes: Vec::new(),
            proxies: Vec::new(),
            roaming: Vec::new(),
            changes: Vec::new(),
            record: Record::default(),
        })
    }

    /// When a flow begins: a golden ratio sequence within [`START_WITHIN`].
    fn start(&self, flow: usize) -> Duration {
        let phase = (0.618_033_988_75 * (flow as f64 + 1.37 * self.seed as f64)).fract();
        START_WITHIN.mul_f64(phase)
    }

    /// How many access points there are; they are the first radios.
    const fn cells(&self) -> usize {
        match self.layout {
            Layout::Two { .. } => 2,
            Layout::Three => 3,
            Layout::Uplink => 1,
        }
    }

    fn mac(
        &self,
        positions: &[Position],
        ends: &[(RadioId, RadioId)],
    ) -> anyhow::Result<MacConfig> {
        let rate = TxRate::new(
            Standard::Vht,
            Width::Mhz80,
            1,
            self.mcs,
            GuardInterval::Ns800,
        )?;
        let propagation = Channel::new(channel::ChannelConfig {
            path_loss: PathLoss {
                exponent: self.exponent,
                ..PathLoss::default()
            },
            ..channel::ChannelConfig::new(self.on_channel(positions))
        })?;
        let mut radios = vec![RadioConfig::new(); positions.len()];
        let access_points = self.cells();
        for (index, radio) in radios.iter_mut().enumerate() {
            let beacon = Beacon::default();
            let share = beacon.interval * index as u32 / access_points as u32;
            radio.beacon = (index < access_points).then_some(Beacon {
                first: beacon.first + share,
                ..beacon
            });
            radio.rts_threshold = self.rts.then_some(0);
            radio.path = PathConfig::queued(QueueLimit {
                packets: 1_000,
                scope: QueueScope::Radio,
                in_flight: true,
            });
        }
        let mut links = Vec::new();
        for &(from, to) in ends {
            for (from, to) in [(from, to), (to, from)] {
                links.push(LinkConfig {
                    quality: Quality::of(Signal::Channel(propagation.link(from, to))),
                    ..LinkConfig::new(from, to, rate)
                });
            }
        }
        Ok(MacConfig {
            timing: Timing::Ns3,
            hearing: propagation.powers(None),
            block_ack_requests: self.requests,
            endless_retries: true,
            // Its limit of 7 counts the repetitions.
            retry_limit: 8,
            ..MacConfig::new(radios, links)
        })
    }

    /// The radios with their powers. Stations belong to the access points in turn.
    fn on_channel(&self, positions: &[Position]) -> Vec<channel::Radio> {
        let radio = |(index, &at): (usize, &Position)| channel::Radio {
            tx_power_dbm: self.powers_dbm[index % self.cells()],
            ..channel::Radio::at(at)
        };
        positions.iter().enumerate().map(radio).collect()
    }

    /// Packets that the flows receive in the measured time at these goodputs, in Mbit/s.
    #[must_use]
    pub fn packets(&self, goodput_mbps: &[f64]) -> u64 {
        let bytes = goodput_mbps.iter().sum::<f64>() * 1e6 / 8.0 * self.duration.as_secs_f64();
        (bytes / f64::from(PAYLOAD_BYTES)).round() as u64
    }

    /// Runs the setting in this project's simulator. Returns the payload received by each flow in
    /// Mbit/s.
    ///
    /// # Errors
    /// A setting that the simulator refuses.
    pub fn simulate(&self) -> anyhow::Result<Vec<f64>> {
        let mut world = World::new(self.world()?)?;
        world.run();
        let outcome = world.outcome();
        let seconds = outcome.window.as_secs_f64();
        let mbps = outcome.flows.iter();
        Ok(mbps
            .map(|flow| flow.payload_bytes as f64 * 8e-6 / seconds)
            .collect())
    }
}

/// Runs the settings and compares them: a row for the total of each setting, and one for each
/// station. Both simulators' figures are means over the seeds of the runs.
///
/// # Errors
/// A setting that the simulator refuses.
pub fn compare(runs: &[NeighboursRun]) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for runs in by_setting(runs) {
        let mut ours = Vec::new();
        for run in &runs {
            ours.push(run.simulate()?);
        }
        rows.extend(bars::rows(&runs, &mean(&ours)));
    }
    Ok(rows)
}

/// The runs of each setting, in the order of the settings.
fn by_setting(runs: &[NeighboursRun]) -> Vec<Vec<&NeighboursRun>> {
    let mut settings: Vec<Vec<&NeighboursRun>> = Vec::new();
    for run in runs {
        let known = settings
            .iter_mut()
            .find(|known| known[0].family == run.family && known[0].name == run.name);
        match known {
            Some(known) => known.push(run),
            None => settings.push(vec![run]),
        }
    }
    settings
}

/// Means over several runs, flow by flow.
fn mean(runs: &[Vec<f64>]) -> Vec<f64> {
    let flows = runs.first().map_or(0, Vec::len);
    let over = |flow: usize| runs.iter().map(|run| run[flow]).sum::<f64>() / runs.len() as f64;
    (0..flows).map(over).collect()
}
