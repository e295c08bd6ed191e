//! An airpace proxy as a function of a node, and the agents of its stations: [`airpace_edge`]'s, as they run live.

use super::config::ReportFaults;
use super::event::Alarm;
use super::parcel::{Parcel, Tunnel};
use super::{NodeId, ProxyConfig};
use crate::mac::{self, FrameRecord};
use crate::rng::Stream;
use airpace_core::report::SlotReport;
use airpace_edge::agent::{Agent, AgentConfig, Message};
use airpace_edge::proxy::{Event, Mode, Proxy, ProxyError, SlotRecord, StationConfig};
use airpace_units::{StationId, Time};
use core::time::Duration;

/// A proxy at its node.
pub(super) struct ProxyNode {
    pub(super) config: ProxyConfig,
    pub(super) edge: Proxy<Parcel>,
    pub(super) stations: Vec<ManagedStation>,
    pub(super) alarm: Alarm,
    /// Reports that faults hold up, and when they come.
    pub(super) delayed: Vec<(Time, SlotReport)>,
    pub(super) decisions: Vec<ProxySlot>,
    pub(super) modes: Vec<ModeChange>,
    /// Keys of the stations' queues.
    hash_keys: Vec<[u8; 16]>,
    /// Number of the tunnels' sessions: each restart begins new ones.
    session: u16,
}

/// One station of a proxy, with its agent.
pub(super) struct ManagedStation {
    pub(super) node: NodeId,
    /// When it comes.
    pub(super) joins: Time,
    pub(super) joined: bool,
    /// `None` before the station joins and while the agent is stopped.
    pub(super) agent: Option<Agent<Parcel>>,
    pub(super) alarm: Alarm,
    /// A flow that starts at the proxy and always has packets waiting.
    pub(super) source: Option<usize>,
    /// Where within a gap the first packet leaves, and where within a slot the reports are sent (0 to 1), so that
    /// stations are out of step.
    pub(super) source_phase: f64,
    pub(super) report_phase: f64,
    pub(super) faults: ReportFaults,
    pub(super) fault_draws: Stream,
    monitored: bool,
    sequence: u32,
    hash_key: [u8; 16],
}

/// What a proxy decided for one station at the end of one slot.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ProxySlot {
    /// When.
    pub at: Time,
    /// The station.
    pub station: NodeId,
    /// How it is sent to from now on.
    pub mode: Mode,
    /// Packets per second from now on; `None` if unshaped.
    pub rate_pps: Option<f64>,
    /// Level that this rate aims at; 0 if unshaped.
    pub target_level: f64,
    /// Frames that the report told of; 0 if none came.
    pub frames: u32,
    /// Level that the report told, if it told any.
    pub level: Option<f64>,
    /// Mean time between frames that the report told, seconds.
    pub round_s: Option<f64>,
    /// Packets that never came, by the report.
    pub lost: u32,
    /// Packets that wait at the proxy.
    pub queued: u32,
    /// The controller's estimate of the overhead of a round, seconds.
    pub overhead_s: Option<f64>,
}

/// A station of a proxy is sent to in another way.
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
        let mut stations = Vec::with_capacity(config.stations.len());
        for &node in &config.stations {
            let key = keys
                .get(node.0 as usize)
                .copied()
                .unwrap_or(u64::from(node.0));
            stations.push(ManagedStation::new(node, &config, key, seed));
        }
        config
            .edge
            .stations
            .resize(config.stations.len(), StationConfig::default());
        for (station, edge) in stations.iter().zip(&mut config.edge.stations) {
            edge.phase = station.source_phase;
        }
        let hash_keys: Vec<_> = stations.iter().map(|station| station.hash_key).collect();
        Ok(Self {
            edge: Proxy::new(config.edge.clone(), |station| hash_keys[station])?,
            config,
            stations,
            alarm: Alarm::default(),
            delayed: Vec::new(),
            decisions: Vec::new(),
            modes: Vec::new(),
            hash_keys,
            session: 0,
        })
    }

    /// Packets that wait here or at the agents.
    pub(super) fn held(&self) -> usize {
        let at_agents = self
            .stations
            .iter()
            .flat_map(|station| &station.agent)
            .map(Agent::backlog);
        self.edge.backlog() + at_agents.sum::<usize>()
    }

    /// A station comes: it connects, and its agent's slots begin.
    pub(super) fn join(&mut self, now: Time, station: usize) {
        let managed = &mut self.stations[station];
        managed.joined = true;
        // Reports that the law is told directly end with the proxy's slot, as in the ns-3 runs.
        let slot = self.config.agent.slot;
        let first_slot = match self.config.feedback {
            super::Feedback::OverTheAir => slot.mul_f64(managed.report_phase),
            super::Feedback::Direct => until_slot_end(now, slot),
        };
        managed.start_agent(now, &self.config.agent, station, first_slot);
        self.edge.set_connected(now, station, true);
    }

    /// The agent of a station is stopped, or starts anew.
    pub(super) fn run_agent(&mut self, now: Time, station: usize, running: bool) {
        let slot = self.config.agent.slot;
        let managed = &mut self.stations[station];
        if !running {
            managed.agent = None;
        } else if managed.joined && managed.agent.is_none() {
            managed.start_agent(now, &self.config.agent, station, slot);
        }
    }

    /// The proxy loses all that it holds and begins anew; its stations connect at once. Returns the proxy before, for what it held.
    pub(super) fn restart(&mut self, now: Time) -> Proxy<Parcel> {
        let edge = Proxy::new(self.config.edge.clone(), |station| self.hash_keys[station]);
        let fresh = edge.expect("the same configuration was accepted before");
        let before = core::mem::replace(&mut self.edge, fresh);
        self.session = self.session.wrapping_add(1);
        self.delayed.clear();
        for (idx, station) in self.stations.iter_mut().enumerate() {
            station.sequence = 0;
            if station.joined {
                self.edge.set_connected(now, idx, true);
            }
        }
        self.edge.begin_slot(now);
        before
    }

    /// Puts the tunnel's header on a packet that leaves for a station.
    pub(super) fn encapsulate(&mut self, now: Time, station: usize, parcel: &mut Parcel) {
        let header = self.config.edge.packet_overhead;
        let managed = &mut self.stations[station];
        parcel.bytes = parcel.bytes.saturating_add(header);
        parcel.tunnel = Some(Tunnel {
            released: now,
            sequence: managed.sequence,
            session: self.session,
            // Headers of more than 65 kB do not fit a packet.
            bytes: u16::try_from(header).unwrap_or(u16::MAX),
        });
        managed.sequence = managed.sequence.wrapping_add(1);
    }

    /// When the proxy wants to be called next.
    pub(super) fn deadline(&self) -> Option<Time> {
        let delayed = self.delayed.iter().map(|(due, _)| *due);
        self.edge.deadline().into_iter().chain(delayed).min()
    }

    /// Takes over what the proxy has to tell.
    pub(super) fn take_records(&mut self) {
        while let Some(record) = self.edge.poll_record() {
            let station = self.stations[record.station.index()].node;
            self.decisions.push(proxy_slot(station, &record));
        }
        while let Some(event) = self.edge.poll_event() {
            if let Event::ModeChanged {
                at,
                station,
                from,
                to,
                ..
            } = event
            {
                let station = self.stations[station].node;
                self.modes.push(ModeChange {
                    at,
                    station,
                    from,
                    to,
                });
            }
        }
    }
}

impl ManagedStation {
    fn new(node: NodeId, config: &ProxyConfig, key: u64, seed: u64) -> Self {
        let late = config.joins.iter().find(|(late, _)| *late == node);
        Self {
            node,
            joins: late.map_or(Time::ZERO, |&(_, at)| at),
            joined: false,
            agent: None,
            alarm: Alarm::default(),
            source: None,
            source_phase: Stream::new(seed, "source phase", key).unit(),
            report_phase: Stream::new(seed, "report phase", key).unit(),
            faults: ReportFaults::default(),
            fault_draws: Stream::new(seed, "report faults", key),
            monitored: !config.unmonitored.contains(&node),
            sequence: 0,
            hash_key: queue_key(seed, key),
        }
    }

    fn start_agent(&mut self, now: Time, config: &AgentConfig, station: usize, first: Duration) {
        let config = AgentConfig {
            station: StationId::from_index(station),
            first_slot: first,
            ..config.clone()
        };
        self.agent = Some(Agent::new(now, &config, self.hash_key));
    }

    /// The station's monitor interface shows an MPDU of `frame`.
    pub(super) fn hear(&mut self, frame: &FrameRecord, mpdu: &mac::Mpdu, parcel: &Parcel) {
        if let Some(agent) = self.agent.as_mut().filter(|_| self.monitored) {
            agent.on_mpdu(&frame.shown(mpdu, parcel.bytes));
        }
    }

    /// A packet of the tunnel has reached the station.
    pub(super) fn receive(&mut self, arrival: Time, tunnel: &Tunnel, parcel: &Parcel) {
        let Some(agent) = &mut self.agent else { return };
        agent.on_message(
            arrival,
            Message {
                session: u32::from(tunnel.session),
                sequence: u64::from(tunnel.sequence),
                bytes: parcel.bytes,
                // No delay runs for 2^63 ns.
                delay_ns: arrival.saturating_since(tunnel.released).as_nanos() as i64,
            },
        );
    }
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

/// A secret key of each queue, drawn from the run's seed.
fn queue_key(seed: u64, index: u64) -> [u8; 16] {
    let mut stream = Stream::new(seed, "proxy queue", index);
    let mut key = [0; 16];
    for part in key.chunks_exact_mut(4) {
        part.copy_from_slice(&stream.up_to(u32::MAX).to_le_bytes());
    }
    key
}
