//! An airpace proxy as a function of a node, and the agents of its stations. Both are the state
//! machines of [`airpace_edge`], which run live as well.
//!
//! [`ProxyNode`] holds the state machines and their records. The world's part is in three files:
//! packets into and out of them (`drive`), reports on their way (`reports`), and faults; a fourth
//! (`observed`) takes the place of agents and reports where there are none, and a fifth (`radio`) has
//! the radio that may help it.

mod drive;
mod faults;
mod follow;
mod observed;
mod radio;
mod reports;
mod station;

use super::event::Alarm;
use super::outcome::ProxySummary;
use super::parcel::{Parcel, Tunnel};
use super::{Feedback, NodeId, ProxyConfig};
use crate::rng::Stream;
use airpace_core::report::SlotReport;
use airpace_edge::agent::Agent;
use airpace_edge::proxy::{Event, Mode, Proxy, ProxyError, SlotRecord, StationConfig};
use airpace_units::Time;
use core::num::NonZeroU16;
use core::time::Duration;
use observed::ObservingBox;
use station::ManagedStation;

/// The proxy that paces a node, and which of its stations the node is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PacedBy {
    /// Index of the proxy.
    pub(super) proxy: usize,
    /// Index among its stations.
    pub(super) station: usize,
}

/// A proxy at its node.
pub(super) struct ProxyNode {
    pub(super) config: ProxyConfig,
    pub(super) edge: Proxy<Box<Parcel>>,
    pub(super) stations: Vec<ManagedStation>,
    /// What it observes, where agents do not report of all stations.
    pub(super) observing: Option<ObservingBox>,
    alarm: Alarm,
    /// Reports that faults delay, and when they arrive.
    delayed: Vec<(Time, SlotReport)>,
    pub(super) decisions: Vec<ProxySlot>,
    pub(super) modes: Vec<ModeChange>,
    /// How often the law reported a bottleneck elsewhere than at the access point.
    pub(super) bottleneck_alarms: u64,
    /// Number of the tunnels' session: a restart of the proxy begins new ones.
    session: NonZeroU16,
}

/// What a proxy decided for one station at the end of one slot.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ProxySlot {
    /// When it decided.
    pub at: Time,
    /// The station.
    pub station: NodeId,
    /// How it is sent to from now on.
    pub mode: Mode,
    /// Packets per second from now on; `None` if unshaped.
    pub rate_pps: Option<f64>,
    /// Aggregation level that this rate aims at; 0 if unshaped.
    pub target_level: f64,
    /// Frames in the station's report; 0 if none came.
    pub frames: u32,
    /// Mean aggregation level in the report, if it has any frames.
    pub level: Option<f64>,
    /// Mean time between frames in the report, seconds.
    pub round_s: Option<f64>,
    /// Packets that never arrived, from the report.
    pub lost: u32,
    /// Packets that wait at the proxy.
    pub queued: u32,
    /// The law's estimate of the overhead of a round, seconds.
    pub overhead_s: Option<f64>,
}

/// A change of the way in which a proxy sends to a station.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ModeChange {
    /// When.
    pub at: Time,
    /// The station.
    pub station: NodeId,
    /// The mode before.
    pub from: Mode,
    /// The mode from then on.
    pub to: Mode,
}

impl ProxyNode {
    /// A proxy whose stations have not joined. `keys` tell the draws of nodes apart.
    pub(super) fn new(
        mut config: ProxyConfig,
        keys: &[u64],
        seed: u64,
    ) -> Result<Self, ProxyError> {
        config
            .edge
            .stations
            .resize(config.stations.len(), StationConfig::default());
        let mut stations = Vec::with_capacity(config.stations.len());
        for (index, &node) in config.stations.iter().enumerate() {
            let key = keys.get(node.0 as usize).copied();
            // Without keys, nodes draw by their numbers.
            let key = key.unwrap_or(u64::from(node.0));
            // Senders that begin together must not stay in step.
            config.edge.stations[index].phase = Stream::new(seed, "source phase", key).unit();
            stations.push(ManagedStation::new(node, &config, key, seed));
        }
        Ok(Self {
            edge: new_edge(&config, &stations)?,
            observing: (config.feedback == Feedback::Observed)
                .then(|| ObservingBox::new(config.edge.slot)),
            config,
            stations,
            alarm: Alarm::default(),
            delayed: Vec::new(),
            decisions: Vec::new(),
            modes: Vec::new(),
            bottleneck_alarms: 0,
            session: NonZeroU16::MIN,
        })
    }

    /// What the law made of the medium so far.
    pub(super) fn summary(&self) -> ProxySummary {
        ProxySummary {
            node: self.config.at,
            bottleneck_alarms: self.bottleneck_alarms,
            least_latency_s: self.edge.diagnostics().least_latency_s,
            unreported: self.unreported().collect(),
        }
    }

    /// The stations that have joined and of which the law has got no report since the statistics
    /// began.
    fn unreported(&self) -> impl Iterator<Item = NodeId> {
        let stations = self.stations.iter();
        let silent = stations.filter(|station| station.joined && station.reports == 0);
        silent.map(|station| station.node)
    }

    /// The statistics begin.
    pub(super) fn begin_statistics(&mut self) {
        for station in &mut self.stations {
            station.reports = 0;
        }
    }

    /// Packets that wait at the proxy or at the agents.
    pub(super) fn held(&self) -> usize {
        let agents = self.stations.iter().flat_map(|station| &station.agent);
        self.edge.backlog() + agents.map(Agent::backlog).sum::<usize>()
    }

    /// Lets a station join: it connects, and the slots of its agent begin.
    fn join(&mut self, now: Time, station: usize) {
        let managed = &mut self.stations[station];
        managed.joined = true;
        let slot = self.config.agent.slot;
        let first_slot = match self.config.feedback {
            Feedback::OverTheAir | Feedback::Observed => slot.mul_f64(managed.report_phase),
            // Reports that reach the law directly end with the proxy's slot, as in the ns-3 runs.
            Feedback::Direct => until_slot_end(now, slot),
        };
        if managed.has_agent {
            managed.start_agent(now, &self.config.agent, station, first_slot);
        }
        if let Some(observing) = &mut self.observing {
            observing.observer.join(now, station);
            let radio = observing.radio.as_ref();
            if let Some(address) = radio.and_then(|radio| radio.address_of(station)) {
                observing.observer.set_address(station, address);
            }
        }
        self.edge.set_connected(now, station, true);
    }

    /// Starts the agent of a station, unless it runs or the station has not joined.
    fn start_agent(&mut self, now: Time, station: usize) {
        let slot = self.config.agent.slot;
        let managed = &mut self.stations[station];
        if managed.has_agent && managed.joined && managed.agent.is_none() {
            managed.start_agent(now, &self.config.agent, station, slot);
        }
    }

    /// Replaces the proxy by a new one, to which the stations connect at once. Returns the old one
    /// with the packets that it holds.
    fn restart(&mut self, now: Time) -> Proxy<Box<Parcel>> {
        let fresh = new_edge(&self.config, &self.stations)
            .expect("the same configuration was accepted before");
        let old = core::mem::replace(&mut self.edge, fresh);
        self.session = self.session.checked_add(1).unwrap_or(NonZeroU16::MIN);
        self.delayed.clear();
        for (idx, station) in self.stations.iter_mut().enumerate() {
            station.next_sequence = 0;
            if station.joined {
                self.edge.set_connected(now, idx, true);
            }
        }
        self.edge.begin_slot(now);
        old
    }

    /// Puts the tunnel's header on a packet that leaves for a station.
    #[inline]
    fn encapsulate(&mut self, now: Time, station: usize, parcel: &mut Parcel) {
        let header = self.config.edge.packet_overhead;
        let managed = &mut self.stations[station];
        parcel.bytes = parcel.bytes.saturating_add(header);
        parcel.tunnel = Some(Tunnel {
            released: now,
            sequence: managed.next_sequence,
            session: self.session,
            // A header of more than 65 kB does not fit into a packet.
            bytes: u16::try_from(header).unwrap_or(u16::MAX),
        });
        managed.next_sequence = managed.next_sequence.wrapping_add(1);
    }

    /// When the proxy must be called next.
    #[inline]
    fn deadline(&self) -> Option<Time> {
        let mut due = self.edge.deadline();
        let observed = self.observing.as_ref().map(|observing| observing.slot_end);
        let delayed = self.delayed.iter().map(|(due, _)| *due);
        for other in observed.into_iter().chain(delayed) {
            due = Some(due.map_or(other, |due| due.min(other)));
        }
        due
    }

    /// Takes over the proxy's records and changes of mode.
    #[inline]
    fn take_records(&mut self) {
        while let Some(record) = self.edge.poll_record() {
            let station = self.stations[record.station.index()].node;
            self.decisions.push(proxy_slot(station, &record));
        }
        while let Some(event) = self.edge.poll_event() {
            // What else the law believes is in the records.
            match event {
                Event::ModeChanged {
                    at,
                    station,
                    from,
                    to,
                    ..
                } => {
                    let station = self.stations[station].node;
                    self.modes.push(ModeChange {
                        at,
                        station,
                        from,
                        to,
                    });
                }
                Event::BottleneckElsewhere { .. } => self.bottleneck_alarms += 1,
                _ => {}
            }
        }
    }
}

/// The proxy's state machine, with the stations' keys.
fn new_edge(
    config: &ProxyConfig,
    stations: &[ManagedStation],
) -> Result<Proxy<Box<Parcel>>, ProxyError> {
    Proxy::new(config.edge.clone(), |station| stations[station].hash_key)
}

fn proxy_slot(station: NodeId, record: &SlotRecord) -> ProxySlot {
    let report = record.report.as_ref();
    ProxySlot {
        at: record.at,
        station,
        mode: record.mode,
        rate_pps: record.granted.map(|granted| granted.rate_pps),
        target_level: record.granted.map_or(0.0, |granted| granted.level),
        frames: report.map_or(0, |report| report.frames),
        level: report.and_then(SlotReport::level),
        round_s: report.and_then(SlotReport::round_s),
        lost: report.map_or(0, |report| report.lost),
        queued: u32::try_from(record.backlog_packets).unwrap_or(u32::MAX),
        overhead_s: record.diagnostics.overhead_s,
    }
}

/// Time from `now` to the next multiple of `slot`.
fn until_slot_end(now: Time, slot: Duration) -> Duration {
    let slot_ns = u64::try_from(slot.as_nanos()).unwrap_or(u64::MAX).max(1);
    Duration::from_nanos(slot_ns - now.as_nanos() % slot_ns)
}
