//! The proxy without sockets: queues, pacing, control and what happens when reports are missing.

use super::beliefs::Beliefs;
use super::port::{Port, Rules, Statistics};
use super::record::slot_record;
use super::{Counts, Mode, Output, ProxyError};
use crate::device::Intake;
use crate::packet::{PacketBuf, Pool};
use crate::queues::fq_codel;
use airpace_api::config::{Pacing, ProxyConfig};
use airpace_api::telemetry::ProxySlot;
use airpace_core::control::{AssumeRates, Diagnostics, Goal, LawConfig, RateController};
use airpace_core::pace::{Account, PaceConfig, Pacer};
use airpace_core::packet::Packet as _;
use airpace_core::report::SlotReport;
use airpace_core::wire::report;
use airpace_units::{StationId, Time};
use core::net::IpAddr;
use core::time::Duration;
use std::collections::{HashMap, VecDeque};

/// Packets sent to one station before the next has its turn: enough for one group of segments.
const TURN: u32 = 32;

/// What the tunnel, UDP and IPv4 add to a packet on its way: it is these packets that take airtime.
const TUNNEL_OVERHEAD: u32 = airpace_core::wire::data::OVERHEAD_BYTES as u32 + 28;

/// Pacing waits for this share of the permitted burst, so that packets leave in small groups and the rest makes up for timers
/// that are late.
const GATHER_SHARE: u32 = 4;

/// The proxy's decisions, sans-IO. Stations are numbered as in the configuration, as are the peers of the tunnel.
pub struct ProxyCore {
    config: ProxyConfig,
    epoch: Duration,
    ports: Vec<Port>,
    by_address: HashMap<IpAddr, usize>,
    law: Option<Box<dyn RateController + Send>>,
    /// Stations that may have something to send, the one being served first.
    active: VecDeque<usize>,
    turn: u32,
    pending: Vec<SlotReport>,
    /// Stations in [`Mode::Controlled`]: so many reports are awaited.
    controlled: usize,
    beliefs: Beliefs,
    next_decision: Time,
    records: VecDeque<ProxySlot>,
    /// Buffers of packets that the queues dropped.
    pool: Pool,
    counts: Counts,
}

impl ProxyCore {
    /// A proxy without connected stations. `epoch` is the wall-clock time since 1970 at [`Time::ZERO`]; `key` is secret and keeps
    /// senders from aiming at the queue of a neighbour.
    ///
    /// # Errors
    /// The law refuses its parameters.
    pub fn new(config: ProxyConfig, epoch: Duration, key: [u8; 16]) -> Result<Self, ProxyError> {
        let law = law(&config)?;
        let ports = (0..config.station.len())
            .map(|idx| port(&config, idx, key))
            .collect();
        let by_address = config
            .station
            .iter()
            .enumerate()
            .map(|(idx, station)| (station.address, idx))
            .collect();
        let next_decision = Time::ZERO + config.control.slot.0;
        Ok(Self {
            config,
            epoch,
            ports,
            by_address,
            law,
            active: VecDeque::new(),
            turn: 0,
            pending: Vec::new(),
            controlled: 0,
            beliefs: Beliefs::default(),
            next_decision,
            records: VecDeque::new(),
            pool: Pool::default(),
            counts: Counts::default(),
        })
    }

    /// The pool that packets are to be taken from and returned to.
    pub const fn pool(&mut self) -> &mut Pool {
        &mut self.pool
    }

    /// What was counted so far.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// What the law believed about the medium at the last decision.
    #[must_use]
    pub const fn diagnostics(&self) -> &Diagnostics {
        self.beliefs.diagnostics()
    }

    /// The mode a station is in.
    #[must_use]
    pub fn mode(&self, station: usize) -> Option<Mode> {
        self.ports.get(station).map(|port| port.mode)
    }

    /// Takes an IP packet for one of the stations. Packets for others are counted and dropped.
    pub fn on_packet(&mut self, now: Time, packet: PacketBuf) {
        let station =
            destination(packet.as_bytes()).and_then(|to| self.by_address.get(&to).copied());
        let Some(idx) = station else {
            self.counts.unroutable += 1;
            return self.pool.put(packet);
        };
        let port = &mut self.ports[idx];
        if !port.connected {
            self.counts.away += 1;
            return self.pool.put(packet);
        }
        port.queue.enqueue(now, packet);
        while let Some(dropped) = port.queue.poll_drop() {
            self.pool.put(dropped.packet);
        }
        port.account.wait(now);
        self.activate(idx);
    }

    /// Takes the bytes of a report that came, authentic, from a station.
    pub fn on_report(&mut self, now: Time, station: usize, bytes: &[u8]) {
        let Some(id) = self.ports.get(station).map(|port| port.id) else {
            return;
        };
        let Ok(mut report) = report::decode(id, bytes) else {
            self.counts.bad_reports += 1;
            return;
        };
        let last_slot = self.ports[station]
            .last_report
            .as_ref()
            .map(|(_, last)| last.slot);
        if last_slot == Some(report.slot) {
            self.counts.bad_reports += 1;
            return;
        }
        if self.ports[station].reported {
            // The other stations are late: their reports count for the next decision.
            self.decide(now);
        }
        let port = &mut self.ports[station];
        port.heard = now;
        // A station that has started anew counts from zero again.
        let slots = last_slot
            .and_then(|last| report.slot.checked_sub(last))
            .unwrap_or(1);
        report.sender = port.account.close(now, (report.length, slots));
        report.sender.backlogged |= self.config.udp_load.is_some();
        port.last_report = Some((now, report.clone()));
        port.reported = true;
        self.pending.push(report);
        if self.pending.len() >= self.controlled.max(1) {
            self.decide(now);
        }
    }

    /// Notes whether the tunnel has a session with a station.
    pub fn set_connected(&mut self, now: Time, station: usize, connected: bool) {
        let Some(port) = self
            .ports
            .get_mut(station)
            .filter(|port| port.connected != connected)
        else {
            return;
        };
        port.connected = connected;
        port.heard = now;
        port.last_report = None;
        port.allocation = None;
        tracing::info!(station = %port.name, connected, "session");
        if connected {
            port.account = Account::new(now);
        } else {
            while let Some(packet) = port.queue.dequeue(now) {
                self.pool.put(packet);
            }
            // The law is to forget it.
            let id = port.id;
            port.reported = false;
            self.pending.retain(|report| report.station != id);
        }
        self.update_mode(now, station);
    }

    /// The next packet that may leave now.
    pub fn poll(&mut self, now: Time) -> Option<Output> {
        // Once more, so that a station whose turn is over comes again if it is alone.
        for _ in 0..=self.active.len() {
            let idx = *self.active.front()?;
            if self.turn < TURN
                && let Some(output) = self.serve(now, idx)
            {
                self.turn += 1;
                return Some(output);
            }
            self.turn = 0;
            self.active.pop_front();
            if self.has_something(idx) {
                self.active.push_back(idx);
            } else {
                self.ports[idx].active = false;
            }
        }
        None
    }

    /// The next record of a station's slot.
    pub fn poll_record(&mut self) -> Option<ProxySlot> {
        self.records.pop_front()
    }

    /// When [`ProxyCore::poll`] or [`ProxyCore::handle_timeout`] are to be called next.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        let gather = self.config.control.burst.0 / GATHER_SHARE;
        let release = |&idx: &usize| {
            let pacer = &self.ports[idx].pacer;
            pacer.next_release().map(|at| {
                if pacer.is_unshaped() {
                    at
                } else {
                    at.saturating_add(gather)
                }
            })
        };
        self.active
            .iter()
            .filter(|&&idx| self.has_something(idx))
            .filter_map(release)
            .chain([self.next_decision])
            .min()
    }

    /// Ends a slot whose reports did not all come in time, and looks for stations whose reports are missing.
    pub fn handle_timeout(&mut self, now: Time) {
        if now >= self.next_decision {
            self.decide(now);
        }
    }

    /// Whether there is a packet for the station, or load, which only a paced station is sent: unpaced it would be a flood.
    fn has_something(&self, idx: usize) -> bool {
        let port = &self.ports[idx];
        let load = self.config.udp_load.is_some() && port.connected && !port.pacer.is_unshaped();
        load || !port.queue.is_empty()
    }

    fn activate(&mut self, idx: usize) {
        let port = &mut self.ports[idx];
        if !port.active {
            port.active = true;
            self.active.push_back(idx);
        }
    }

    /// A packet, or load, of one station, if its pacer permits.
    fn serve(&mut self, now: Time, idx: usize) -> Option<Output> {
        let load = self.config.udp_load.is_some();
        let port = &mut self.ports[idx];
        if !port.connected {
            return None;
        }
        let Some(due) = port.due(now) else {
            port.held_back = load || !port.queue.is_empty();
            return None;
        };
        let packet = port.queue.dequeue(now);
        while let Some(dropped) = port.queue.poll_drop() {
            self.pool.put(dropped.packet);
        }
        if port.queue.is_empty() {
            port.account.empty(now);
            port.held_back &= load;
        }
        if let Some(packet) = packet {
            let bytes = packet.bytes() + TUNNEL_OVERHEAD;
            port.pacer.charge(due, bytes);
            port.account.sent(bytes);
            port.statistics
                .sent(bytes, Some(now.saturating_since(packet.arrived())));
            return Some(Output::Packet {
                station: idx,
                packet,
            });
        }
        let load = self
            .config
            .udp_load
            .as_ref()
            .filter(|_| !port.pacer.is_unshaped())?;
        // Validated to be at most 65000 bytes.
        let payload = u32::try_from(load.payload.0.0).unwrap_or(1470);
        let bytes = payload + 20;
        port.pacer.charge(due, bytes);
        port.account.sent(bytes);
        port.statistics.sent(bytes, None);
        Some(Output::Load {
            station: idx,
            body: (bytes.saturating_sub(TUNNEL_OVERHEAD)) as usize,
        })
    }

    /// Ends a slot: runs the law on the reports that came, applies modes and rates, writes the records.
    fn decide(&mut self, now: Time) {
        // Reports are waited for half a slot longer than they are due.
        self.next_decision = now + self.config.control.slot.0 * 3 / 2;
        self.pending.sort_by_key(|report| report.station);
        if let Some(law) = self.law.as_mut().filter(|_| !self.pending.is_empty()) {
            for allocation in law.on_slot(now, &self.pending) {
                if let Some(port) = self.ports.get_mut(allocation.station.index()) {
                    port.allocation = Some(*allocation);
                }
            }
        }
        for idx in 0..self.ports.len() {
            self.update_mode(now, idx);
        }
        if let Some(law) = &self.law {
            let target = self.config.control.delay_target.map(|target| target.0);
            self.beliefs.update(now, law.diagnostics(), target);
        }
        if self.config.telemetry.is_some() {
            self.record(now);
        }
        for report in self.pending.drain(..) {
            self.ports[report.station.index()].reported = false;
        }
    }

    /// Writes a record of every station's slot.
    fn record(&mut self, now: Time) {
        let rules = rules(&self.config, self.law.is_some());
        for port in &mut self.ports {
            let fresh = self
                .pending
                .binary_search_by_key(&port.id, |report| report.station);
            let fresh = fresh.ok().map(|at| &self.pending[at]);
            let about = (fresh, self.beliefs.diagnostics());
            self.records.push_back(slot_record(
                (now, self.epoch),
                port,
                port.granted(&rules),
                about,
            ));
            let counters = port.queue.counters();
            let counters = (counters.dropped(), counters.marked);
            port.statistics.turn_over(now, counters);
        }
    }

    fn update_mode(&mut self, now: Time, idx: usize) {
        let rules = rules(&self.config, self.law.is_some());
        let port = &mut self.ports[idx];
        let mode = port.wanted_mode(now, &rules);
        if mode != port.mode {
            log_change(port, mode, now);
            self.controlled -= usize::from(port.mode == Mode::Controlled);
            self.controlled += usize::from(mode == Mode::Controlled);
            port.mode = mode;
            let gone = matches!(mode, Mode::Away | Mode::Unshaped);
            if let Some(law) = self.law.as_mut().filter(|_| gone) {
                law.remove(port.id);
                port.allocation = None;
            }
        }
        port.apply(now, &rules);
        if self.has_something(idx) {
            self.activate(idx);
        }
    }
}

fn rules(config: &ProxyConfig, measures: bool) -> Rules<'_> {
    Rules {
        control: &config.control,
        fallback: &config.fallback,
        measures,
    }
}

fn log_change(port: &Port, mode: Mode, now: Time) {
    let silence_ms = now.saturating_since(port.heard).as_millis() as u64;
    match mode {
        Mode::Conservative | Mode::Unshaped => {
            tracing::warn!(station = %port.name, from = %port.mode, to = %mode, silence_ms, "reports are missing");
        }
        _ => tracing::info!(station = %port.name, from = %port.mode, to = %mode, "mode"),
    }
}

fn port(config: &ProxyConfig, idx: usize, mut key: [u8; 16]) -> Port {
    let station = &config.station[idx];
    // Each queue has a key of its own.
    for (byte, own) in key.iter_mut().zip((idx as u64).to_le_bytes()) {
        *byte ^= own;
    }
    let pace = PaceConfig {
        burst: config.control.burst.0,
        frame_overhead: config.control.initial_overhead.0,
        ..PaceConfig::default()
    };
    Port {
        name: station.name.clone(),
        id: StationId::from_index(idx),
        queue: fq_codel(&config.queue, key),
        pacer: Pacer::new(pace),
        mode: Mode::Away,
        connected: false,
        reported: false,
        active: false,
        held_back: false,
        last_report: None,
        heard: Time::ZERO,
        allocation: None,
        account: Account::new(Time::ZERO),
        statistics: Statistics::new(config.telemetry.is_some()),
    }
}

/// The law of the configuration; none if nothing is measured.
fn law(config: &ProxyConfig) -> Result<Option<Box<dyn RateController + Send>>, ProxyError> {
    let control = &config.control;
    let Pacing::Measured(name) = control.law else {
        return Ok(None);
    };
    let goal = Goal {
        level: control.level_limit,
        delay: control.delay_target.map(|target| target.0),
    };
    let mut law = LawConfig::named(name, goal);
    if let LawConfig::Waterfill(waterfill) = &mut law {
        waterfill.packet_bytes = control.packet.0.0 as f64;
        waterfill.frame_overhead = control.initial_overhead.0;
        // A level beyond the window of 802.11ac means that the stations have a longer one.
        waterfill.frame_level = waterfill.frame_level.max(control.level_limit);
    }
    // Agents without a monitor interface report no PHY rates.
    let mut law = AssumeRates::new(law.build()?, control.initial_overhead.0);
    for (idx, station) in config
        .station
        .iter()
        .enumerate()
        .filter(|(_, station)| station.weight != 1.0)
    {
        if !law.set_weight(StationId::from_index(idx), station.weight) {
            return Err(ProxyError::Weight {
                station: station.name.clone(),
                law: name.name(),
            });
        }
    }
    Ok(Some(Box::new(law)))
}

/// The destination of an IP packet.
fn destination(packet: &[u8]) -> Option<IpAddr> {
    match packet.first()? >> 4 {
        4 => packet
            .get(16..20)
            .and_then(|bytes| <[u8; 4]>::try_from(bytes).ok())
            .map(IpAddr::from),
        6 => packet
            .get(24..40)
            .and_then(|bytes| <[u8; 16]>::try_from(bytes).ok())
            .map(IpAddr::from),
        _ => None,
    }
}

impl Intake for ProxyCore {
    fn pool(&mut self) -> &mut Pool {
        Self::pool(self)
    }

    fn on_packet(&mut self, now: Time, packet: PacketBuf) {
        Self::on_packet(self, now, packet);
    }
}
