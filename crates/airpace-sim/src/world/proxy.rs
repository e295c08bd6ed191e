//! The airpace proxy as a node of the network: per station a queue, the live system's pacer and meter, and one controller.

use super::event::Alarm;
use super::parcel::{Parcel, Tunnel};
use super::{Feedback, NodeId, ProxyConfig};
use crate::mac::{self, FrameRecord};
use crate::rng::Stream;
use airpace_core::control::{self, AssumeRates, RateController};
use airpace_core::meter::{FrameHints, Meter, MeterConfig, Received};
use airpace_core::pace::{Account, PaceConfig, Pacer};
use airpace_core::packet::Packet as _;
use airpace_core::queue::{Dropped, FqCoDel};
use airpace_core::report::{Allocation, SlotReport};
use airpace_units::{StationId, Time};
use core::time::Duration;

/// Virtual time wakes the sender on the nanosecond, so nothing leaves before it is paid for.
const EXACT: (Duration, u32) = (Duration::ZERO, 1);

/// A proxy.
pub(super) struct Proxy {
    pub(super) config: ProxyConfig,
    law: Option<Box<dyn RateController + Send>>,
    pub(super) ports: Vec<Port>,
    pending: Vec<SlotReport>,
    /// Number of the decision that is waited for; earlier events are stale.
    pub(super) next_decision: Time,
    pub(super) slots: Vec<ProxySlot>,
}

/// One station of a proxy.
pub(super) struct Port {
    pub(super) node: NodeId,
    /// When it comes.
    pub(super) joins: Time,
    pub(super) queue: FqCoDel<Parcel>,
    /// A flow that starts here and always has packets waiting.
    pub(super) source: Option<usize>,
    pub(super) alarm: Alarm,
    pacer: Pacer,
    account: Account,
    /// Nothing leaves before: senders start out of step.
    not_before: Time,
    /// Where within a gap the first packet leaves, and where within a slot the reports are sent (0 to 1).
    phase: f64,
    pub(super) report_phase: f64,
    sequence: u32,
    meter: Meter,
    last: Option<SlotReport>,
    reported: bool,
    allocation: Option<Allocation>,
}

/// What a proxy decided for one station at the end of one slot.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ProxySlot {
    /// When.
    pub at: Time,
    /// The station.
    pub station: NodeId,
    /// Packets per second from now on; `None` if unshaped.
    pub rate_pps: Option<f64>,
    /// Level that this rate aims at.
    pub target_level: f64,
    /// Level that the last report told, if it told any.
    pub level: Option<f64>,
    /// Mean time between frames that the last report told, seconds.
    pub round_s: Option<f64>,
    /// Packets that never came, by the last report.
    pub lost: u32,
    /// Packets that wait at the proxy.
    pub queued: u32,
    /// The controller's estimate of the overhead of a round, seconds.
    pub overhead_s: Option<f64>,
}

impl Proxy {
    pub(super) fn new(
        config: ProxyConfig,
        draws: (&[u64], u64),
    ) -> Result<Self, control::ConfigError> {
        // Stations without a monitor interface report no rates.
        let overhead = PaceConfig::default().frame_overhead;
        let law = config.law.map(|law| law.build()).transpose()?;
        let law = law
            .map(|law| Box::new(AssumeRates::new(law, overhead)) as Box<dyn RateController + Send>);
        let ports = config
            .stations
            .iter()
            .map(|&node| Port::new(node, &config, draws))
            .collect();
        let next_decision = Time::ZERO.saturating_add(config.slot);
        Ok(Self {
            config,
            law,
            ports,
            pending: Vec::new(),
            next_decision,
            slots: Vec::new(),
        })
    }

    /// Packets that wait.
    pub(super) fn held(&self) -> usize {
        self.ports.iter().map(|port| port.queue.len()).sum()
    }

    /// The first rates: those that the law gives to stations of which it knows nothing.
    pub(super) fn start(&mut self) {
        let slot = self.config.slot;
        let present = |&(_, port): &(usize, &Port)| port.joins == Time::ZERO;
        self.pending = self
            .ports
            .iter()
            .enumerate()
            .filter(present)
            .map(|(port, _)| SlotReport::silent(StationId::from_index(port), slot))
            .collect();
        self.decide(Time::ZERO, false);
        self.next_decision = Time::ZERO.saturating_add(slot);
    }

    /// A packet comes to wait for a station.
    pub(super) fn enqueue(
        &mut self,
        now: Time,
        port: usize,
        parcel: Parcel,
    ) -> Option<Dropped<Parcel>> {
        let port = &mut self.ports[port];
        port.queue.enqueue(now, parcel);
        port.account.wait(now);
        port.queue.poll_drop()
    }

    /// A station's packet that leaves now; `pull` makes one of a source that always has packets.
    pub(super) fn release(
        &mut self,
        now: Time,
        port: usize,
        pull: impl FnOnce() -> Option<Parcel>,
    ) -> Option<Parcel> {
        let tunnel_bytes = self.config.tunnel_bytes;
        let port = &mut self.ports[port];
        if now < port.not_before || !port.pacer.may_release(now) {
            return None;
        }
        let queued = port.queue.dequeue(now);
        if port.queue.is_empty() {
            port.account.empty(now);
        }
        // Before its first rate a source that always has packets would never be done.
        let pulled = port.source.is_some() && !port.pacer.is_unshaped();
        let mut parcel = queued.or_else(|| if pulled { pull() } else { None })?;
        parcel.bytes = parcel.bytes.saturating_add(u32::from(tunnel_bytes));
        parcel.tunnel = Some(Tunnel {
            released: now,
            sequence: port.sequence,
            bytes: tunnel_bytes,
        });
        port.sequence = port.sequence.wrapping_add(1);
        port.pacer.charge(now, parcel.bytes());
        port.account.sent(parcel.bytes());
        Some(parcel)
    }

    /// When the station's next packet may leave, if any waits or its source has one from `source` on.
    pub(super) fn next_release(
        &self,
        now: Time,
        port: usize,
        source: Option<Time>,
    ) -> Option<Time> {
        let port = &self.ports[port];
        let from = if port.queue.is_empty() {
            source.filter(|_| !port.pacer.is_unshaped())?
        } else {
            now
        };
        Some(
            port.pacer
                .next_release()?
                .max(port.not_before)
                .max(from)
                .max(now),
        )
    }

    /// The station's monitor interface shows an MPDU of `frame`.
    pub(super) fn hear(
        &mut self,
        port: usize,
        frame: &FrameRecord,
        mpdu: &mac::Mpdu,
        parcel: &Parcel,
    ) {
        self.ports[port]
            .meter
            .on_mpdu(&frame.shown(mpdu, parcel.bytes()));
    }

    /// A packet of the tunnel has reached the station.
    pub(super) fn receive(&mut self, port: usize, arrival: Time, tunnel: &Tunnel, parcel: &Parcel) {
        // No delay runs for 2^63 ns.
        let delay_ns = Some(arrival.saturating_since(tunnel.released).as_nanos() as i64);
        let (frame, sequence, bytes) = (
            FrameHints::default(),
            u64::from(tunnel.sequence),
            parcel.bytes(),
        );
        self.ports[port].meter.on_packet(&Received {
            arrival,
            frame,
            sequence,
            bytes,
            delay_ns,
        });
    }

    /// The station's slot ends: what it has to report.
    pub(super) fn close_slot(&mut self, now: Time, port: usize) -> SlotReport {
        self.ports[port].meter.close_slot(now)
    }

    /// A report has come; tells whether it was the last one of this slot.
    pub(super) fn on_report(&mut self, now: Time, mut report: SlotReport) -> bool {
        let idx = report.station.index();
        let Some(port) = self.ports.get_mut(idx) else {
            return false;
        };
        let before = port.last.as_ref().map(|last| last.slot);
        if core::mem::replace(&mut port.reported, true) {
            // Two reports of a station for one decision: the later one counts.
            self.pending
                .retain(|pending| pending.station != report.station);
        }
        let slots = before
            .and_then(|before| report.slot.checked_sub(before))
            .unwrap_or(1);
        report.sender = port.account.close(now, report.length, slots);
        report.sender.backlogged |= port.source.is_some();
        port.last = Some(report.clone());
        self.pending.push(report);
        let present = self.ports.iter().filter(|port| port.joins <= now).count();
        self.pending.len() >= present
    }

    /// Takes the reports that are there and sets the pacers.
    pub(super) fn decide(&mut self, now: Time, record: bool) {
        // With reports in packets the last one decides; without it no longer than half a slot is waited.
        let patience = if self.config.feedback == Feedback::Direct {
            self.config.slot
        } else {
            self.config.slot * 3 / 2
        };
        self.next_decision = now.saturating_add(patience);
        self.pending.sort_by_key(|report| report.station);
        if let Some(law) = self.law.as_mut().filter(|_| !self.pending.is_empty()) {
            for allocation in law.on_slot(now, &self.pending) {
                if let Some(port) = self.ports.get_mut(allocation.station.index()) {
                    port.grant(now, *allocation);
                }
            }
        }
        self.pending.clear();
        if record {
            self.record(now);
        }
        self.ports.iter_mut().for_each(|port| port.reported = false);
    }

    fn record(&mut self, now: Time) {
        let overhead_s = self
            .law
            .as_ref()
            .map(|law| law.diagnostics())
            .unwrap_or_default()
            .overhead_s;
        for port in &self.ports {
            let fresh = port.last.as_ref().filter(|_| port.reported);
            self.slots.push(ProxySlot {
                at: now,
                station: port.node,
                rate_pps: port.allocation.map(|allocation| allocation.rate_pps),
                target_level: port.allocation.map_or(0.0, |allocation| allocation.level),
                level: fresh.and_then(SlotReport::level),
                round_s: fresh.and_then(SlotReport::round_s),
                lost: fresh.map_or(0, |report| report.lost),
                queued: port.queue.len() as u32,
                overhead_s,
            });
        }
    }
}

impl Port {
    fn new(node: NodeId, config: &ProxyConfig, (keys, seed): (&[u64], u64)) -> Self {
        let (burst, burst_packets) = EXACT;
        let index = keys
            .get(node.0 as usize)
            .copied()
            .unwrap_or(u64::from(node.0));
        let station = config
            .stations
            .iter()
            .position(|&station| station == node)
            .unwrap_or_default();
        let joins = config
            .joins
            .iter()
            .find(|(late, _)| *late == node)
            .map_or(Time::ZERO, |&(_, at)| at);
        Self {
            node,
            joins,
            queue: FqCoDel::new(config.queue, queue_key(seed, index)),
            source: None,
            alarm: Alarm::default(),
            pacer: Pacer::new(PaceConfig {
                burst,
                burst_packets,
                ..PaceConfig::default()
            }),
            account: Account::new(Time::ZERO),
            not_before: Time::ZERO,
            phase: Stream::new(seed, "source phase", index).unit(),
            report_phase: Stream::new(seed, "report phase", index).unit(),
            sequence: 0,
            meter: Meter::new(MeterConfig::new(StationId::from_index(station)), Time::ZERO),
            last: None,
            reported: false,
            allocation: None,
        }
    }

    fn grant(&mut self, now: Time, allocation: Allocation) {
        if self.pacer.is_unshaped() && allocation.rate_pps > 0.0 {
            let first_gap =
                Duration::try_from_secs_f64(self.phase / allocation.rate_pps).unwrap_or_default();
            self.not_before = now.saturating_add(first_gap);
        }
        self.pacer.grant(now, &allocation, None);
        self.allocation = Some(allocation);
    }
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
