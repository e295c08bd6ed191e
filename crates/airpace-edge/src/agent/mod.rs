//! The agent: it reports on the frames that a station receives, and shapes the station's uplink.
//!
//! [`Agent`] holds the meter, the times of its slots, and the queue of the uplink. The caller hands
//! in the frames of the monitor interface ([`Agent::on_monitor_frame`], [`Agent::on_mpdu`]), the
//! messages of the tunnel ([`Agent::on_message`]) and the packets of the station
//! ([`Agent::enqueue`]). It takes uplink packets from [`Agent::poll`] and reports from
//! [`Agent::handle_timeout`], and calls both again at [`Agent::deadline`].

mod acks;
mod guard;
mod hold;
mod monitor;
mod plain;
#[cfg(test)]
mod tests;

use acks::{AckGather, Held};
use airpace_core::meter::{FrameHints, Grouping, Meter, MeterConfig, Received};
use airpace_core::pace::{PaceConfig, Pacer};
use airpace_core::packet::Packet;
use airpace_core::phy::AccessCategory;
use airpace_core::queue::{DropReason, Dropped, FqCoDel, FqCoDelConfig};
use airpace_core::report::{Allocation, SlotReport};
use airpace_core::wire::ieee80211::MacAddr;
use airpace_core::wire::tcp::PureAck;
use airpace_units::{BitRate, StationId, Time};
use core::time::Duration;
use guard::{MonitorGuard, Verdict};
use hold::AckHold;

/// A packet of the station's uplink.
pub trait UplinkPacket: Packet {
    /// What it says if it is a TCP acknowledgement without data or flags that matter at once, so
    /// that it may wait a few milliseconds for others.
    fn pure_ack(&self) -> Option<PureAck>;

    /// Whether two packets belong to the same direction of the same TCP connection. Only called for
    /// pure acknowledgements.
    fn is_same_flow(&self, other: &Self) -> bool;
}

impl<P: UplinkPacket> UplinkPacket for Box<P> {
    fn pure_ack(&self) -> Option<PureAck> {
        (**self).pure_ack()
    }

    fn is_same_flow(&self, other: &Self) -> bool {
        (**self).is_same_flow(other)
    }
}

/// Configuration of an [`Agent`].
#[derive(Clone, PartialEq, Debug)]
pub struct AgentConfig {
    /// The station's number in the reports. Over a tunnel it does not matter: the proxy knows the
    /// station by its key.
    pub station: StationId,
    /// Length of a slot (Δ), after each of which the agent reports, unless
    /// [`AgentConfig::adapts_slots`]. Default 100 ms.
    pub slot: Duration,
    /// Length of the first slot, so that the agents of a simulation can report out of step. Default
    /// [`AgentConfig::slot`].
    pub first_slot: Duration,
    /// How receive timestamps are grouped into frames where no monitor interface shows them. Default
    /// [`Grouping::Trained`].
    pub grouping: Grouping,
    /// Whether slots adapt: one is cut, and reported at once, when the PHY rate has changed or
    /// packets wait far longer than before; one that has too few frames to tell anything is
    /// extended to at most four times its length. Default yes.
    pub adapts_slots: bool,
    /// Rate of the uplink; `None` does not shape it.
    pub uplink_rate: Option<BitRate>,
    /// How long pure TCP acknowledgements may be held to share a frame; zero holds none. Those of a
    /// bulk download are held for three rounds of the access point, and at least for this, but at
    /// most for four times this. Where one round takes longer than that, they are held for one
    /// round, but at most for twelve times this. None are held for ten seconds after packets of an
    /// unpaced burst were lost at a short queue. Default 5 ms.
    pub gather_acks: Duration,
    /// Whether acknowledgements that are held together and tell their sender nothing that a later
    /// one does not are dropped. Default yes.
    pub thin_acks: bool,
    /// The queue in front of the uplink.
    pub queue: FqCoDelConfig,
    /// Bytes that the tunnel adds to each packet, outer IP header included.
    pub packet_overhead: u32,
}

impl Default for AgentConfig {
    fn default() -> Self {
        let slot = Duration::from_millis(100);
        Self {
            station: StationId(0),
            slot,
            first_slot: slot,
            grouping: Grouping::Trained,
            adapts_slots: true,
            uplink_rate: None,
            gather_acks: Duration::from_millis(5),
            thin_acks: true,
            queue: FqCoDelConfig::default(),
            packet_overhead: 0,
        }
    }
}

/// A message of the tunnel that the agent received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// Number of the tunnel's session. Sequence numbers start again in each.
    pub session: u32,
    /// Sequence number within the session.
    pub sequence: u64,
    /// Bytes of the IP packet on the air, with the tunnel's headers.
    pub bytes: u32,
    /// The access category in which it was sent over the air.
    pub category: AccessCategory,
    /// Delay since it was sent, up to a constant offset between the clocks of both ends, ns.
    pub delay_ns: i64,
}

/// Why the agent has dropped a packet of the uplink.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UplinkDrop {
    /// The queue dropped it.
    Queue(DropReason),
    /// It is an acknowledgement that a later one makes redundant. Its sender misses nothing.
    RedundantAck,
}

/// A packet that the agent has dropped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DroppedUplink<P> {
    /// Why.
    pub reason: UplinkDrop,
    /// The packet, so that its buffer can be used again.
    pub packet: P,
}

/// Counts of the frames that the monitor interface has shown, and of acknowledgements.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Frames without a valid radiotap header.
    pub malformed: u64,
    /// Frames other than data for this station: management, uplink, other stations, multicast,
    /// damaged.
    pub foreign: u64,
    /// Data frames that the meter has counted.
    pub metered: u64,
    /// Data frames for this station that were not believed, because the radio showed more than was
    /// delivered.
    pub doubted: u64,
    /// Acknowledgements of the uplink that were dropped as redundant.
    pub thinned_acks: u64,
}

/// The agent's state machine, for uplink packets of type `P`.
pub struct Agent<P> {
    slot: Duration,
    /// Hardware address of the station, if the monitor interface may hear others.
    address: Option<MacAddr>,
    meter: Meter,
    guard: MonitorGuard,
    /// Session of the last message.
    session: Option<u32>,
    /// Packets that came without a tunnel.
    plain_packets: u64,
    /// When the slot that runs ends.
    next_slot: Time,
    adapts_slots: bool,
    /// The soonest time for an urgent report, and the latest: after that the slot ends anyway.
    urgent_window: (Time, Time),
    /// When an urgent report is due.
    urgent_at: Option<Time>,
    /// How often the slot that runs was extended.
    extensions: u32,
    /// Frames in the last report.
    last_frames: Option<u32>,
    /// How long acknowledgements are held.
    ack_hold: AckHold,
    acks: AckGather<P>,
    /// The acknowledgement that the last packet has made redundant.
    thinned: Option<P>,
    queue: FqCoDel<P>,
    pacer: Pacer,
    packet_overhead: u32,
    counts: Counts,
}

/// Bytes of a full-sized packet. How many packets an A-MSDU has cannot be seen in an encrypted
/// frame; it is estimated from the length, because nearly all packets are full-sized.
const FULL_PACKET: u32 = 1500;
impl<P: UplinkPacket> Agent<P> {
    /// An agent whose first slot begins at `now`. `hash_key` is the secret key of the queue's hash
    /// function.
    #[must_use]
    pub fn new(now: Time, config: &AgentConfig, hash_key: [u8; 16]) -> Self {
        let mut pacer = Pacer::new(PaceConfig::default());
        if let Some(rate) = config.uplink_rate {
            pacer.grant(now, &uplink_allocation(rate), None);
        }
        let next_slot = now.saturating_add(config.first_slot);
        Self {
            slot: config.slot,
            adapts_slots: config.adapts_slots,
            urgent_window: urgent_window(now, next_slot, config.slot),
            urgent_at: None,
            extensions: 0,
            last_frames: None,
            address: None,
            meter: Meter::new(
                MeterConfig {
                    grouping: config.grouping,
                    ..MeterConfig::new(config.station)
                },
                now,
            ),
            guard: MonitorGuard::default(),
            session: None,
            plain_packets: 0,
            next_slot,
            ack_hold: AckHold::new(config.gather_acks),
            acks: AckGather::new(config.gather_acks, config.thin_acks),
            thinned: None,
            queue: FqCoDel::new(config.queue, hash_key),
            pacer,
            packet_overhead: config.packet_overhead,
            counts: Counts::default(),
        }
    }

    /// From now on counts only frames to this hardware address: a real monitor interface also hears
    /// other stations.
    pub const fn listen_for(&mut self, address: MacAddr) {
        self.address = Some(address);
    }

    /// Counts of the frames that the monitor interface has shown, and of acknowledgements.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Packets that wait for the uplink.
    #[must_use]
    pub fn backlog(&self) -> usize {
        self.queue.len() + self.acks.len()
    }

    /// Takes an IP packet of the station for the uplink.
    pub fn enqueue(&mut self, now: Time, packet: P) {
        match self.acks.hold(now, packet) {
            Held::Waits => {}
            Held::Replaces(redundant) => {
                self.counts.thinned_acks += 1;
                self.thinned = Some(redundant);
            }
            Held::Passes(packet) => {
                // The packet wins the medium anyway, so the acknowledgements go with it, and before
                // it.
                self.release_acks(now);
                self.queue.enqueue(now, packet);
            }
        }
    }

    /// Moves the held acknowledgements into the queue.
    fn release_acks(&mut self, now: Time) {
        while let Some(ack) = self.acks.release() {
            self.queue.enqueue(now, ack);
        }
    }

    /// The next uplink packet that may leave now.
    pub fn poll(&mut self, now: Time) -> Option<P> {
        if !self.pacer.may_release(now) {
            // Acknowledgements that are due stay held as well, where later ones can replace them.
            return None;
        }
        if self.acks.deadline().is_some_and(|due| due <= now) {
            self.release_acks(now);
        }
        if self.queue.is_empty() {
            return None;
        }
        let packet = self.queue.dequeue(now)?;
        let bytes = packet.bytes().saturating_add(self.packet_overhead);
        self.pacer.charge(now, bytes);
        Some(packet)
    }

    /// The next packet that [`Agent::enqueue`] or [`Agent::poll`] has dropped; to be called after
    /// each of them until it returns `None`.
    pub fn poll_drop(&mut self) -> Option<DroppedUplink<P>> {
        if let Some(packet) = self.thinned.take() {
            let reason = UplinkDrop::RedundantAck;
            return Some(DroppedUplink { reason, packet });
        }
        let Dropped { reason, packet } = self.queue.poll_drop()?;
        let reason = UplinkDrop::Queue(reason);
        Some(DroppedUplink { reason, packet })
    }

    /// Ends the agent and returns the packets that wait for the uplink.
    #[must_use]
    pub fn into_waiting(mut self) -> Vec<P> {
        self.release_acks(Time::MAX);
        let mut waiting = Vec::with_capacity(self.backlog());
        loop {
            let packet = self.queue.dequeue(Time::MAX);
            // CoDel may drop packets on the way; the queue keeps them only until the next call.
            while let Some(dropped) = self.poll_drop() {
                waiting.push(dropped.packet);
            }
            match packet {
                Some(packet) => waiting.push(packet),
                None => return waiting,
            }
        }
    }

    /// Takes an authentic message of the tunnel.
    #[inline]
    pub fn on_message(&mut self, arrival: Time, message: Message) {
        // A gap in sequence numbers means loss only within a session.
        if self.session.replace(message.session) != Some(message.session) {
            self.meter.restart_sequence();
            // A new session may have another clock.
            self.ack_hold.restart();
        }
        self.ack_hold.on_message(arrival, &message);
        self.meter.on_packet(&Received {
            arrival,
            frame: FrameHints::default(),
            sequence: message.sequence,
            bytes: message.bytes,
            category: message.category,
            delay_ns: Some(message.delay_ns),
        });
        self.look_for_news(arrival);
    }

    /// Decides whether what has just arrived is worth a report before the slot ends.
    #[inline]
    fn look_for_news(&mut self, now: Time) {
        if self.adapts_slots && self.urgent_at.is_none() && self.meter.has_news() {
            let (soonest, latest) = self.urgent_window;
            let at = now.max(soonest);
            self.urgent_at = (at <= latest).then_some(at);
        }
    }

    /// When [`Agent::poll`] or [`Agent::handle_timeout`] must be called next.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        let release = self.pacer.next_release();
        let queued = release.filter(|_| !self.queue.is_empty());
        // Acknowledgements that are due leave no sooner than the pacer permits.
        let held = match (self.acks.deadline(), release) {
            (Some(due), Some(release)) => Some(due.max(release)),
            _ => None,
        };
        let deadlines = [queued, held, self.urgent_at, Some(self.next_slot)];
        deadlines.into_iter().flatten().min()
    }

    /// When the slot that runs ends.
    #[must_use]
    pub const fn slot_end(&self) -> Time {
        self.next_slot
    }

    /// Whether the slot goes on although its time is over, because it has few frames. That frames
    /// have begun to come, or ceased to, is news that does not wait, as is the first slot.
    fn extends_slot(&self) -> bool {
        let frames = self.meter.frames();
        self.adapts_slots
            && self.extensions < MOST_EXTENSIONS
            && frames < ENOUGH_FRAMES
            && self.meter.is_steady()
            && self.meter.recent_wait() < self.slot
            && self
                .last_frames
                .is_some_and(|last| (frames == 0) == (last == 0))
    }

    /// Whether [`Agent::handle_timeout`] would end or cut the slot now.
    #[must_use]
    pub fn is_slot_due(&self, now: Time) -> bool {
        now >= self.next_slot || self.urgent_at.is_some_and(|at| now >= at)
    }

    /// Whether a report is due before the slot ends.
    #[must_use]
    pub const fn has_news(&self) -> bool {
        self.urgent_at.is_some()
    }

    /// Ends the slot if it is over, or cuts it if there is news; returns the report to send.
    pub fn handle_timeout(&mut self, now: Time) -> Option<SlotReport> {
        if !self.is_slot_due(now) {
            return None;
        }
        let is_urgent = self.urgent_at.is_some_and(|at| now >= at);
        if now >= self.next_slot {
            // Slots keep their period however late the caller is. After a pause of the whole
            // machine, in which slots were missed, they start again from now.
            let next_slot = self.next_slot.saturating_add(self.slot);
            self.next_slot = if next_slot > now {
                next_slot
            } else {
                now.saturating_add(self.slot)
            };
        }
        if !is_urgent && self.extends_slot() {
            self.extensions += 1;
            // It may be cut at once: it has been long enough.
            let (_, latest) = urgent_window(now, self.next_slot, self.slot);
            self.urgent_window = (now, latest);
            return None;
        }
        self.extensions = 0;
        self.urgent_at = None;
        self.urgent_window = urgent_window(now, self.next_slot, self.slot);
        if self.guard.close_slot(now) == Verdict::Forged {
            self.meter.discard_mpdus();
        }
        let report = self.meter.close_slot(now);
        self.last_frames = Some(report.frames);
        let hold = self.ack_hold.on_slot(now, &report);
        self.acks.set_patience(hold);
        Some(report)
    }
}

/// A slot is cut neither sooner after its beginning, nor closer to its end, than this part of its
/// length: too short a slot shows too few frames.
const SHORTEST_PART: u32 = 5;

/// When a slot that begins at `now` and ends at `end` may be cut, for slots of length `slot`.
fn urgent_window(now: Time, end: Time, slot: Duration) -> (Time, Time) {
    let part = slot / SHORTEST_PART;
    let latest = Time::from_nanos(end.as_nanos().saturating_sub(part.as_nanos() as u64));
    (now.saturating_add(part), latest)
}

/// Frames from which a slot's means stand by themselves. With fewer the report is hardly worth its
/// airtime, which in a cell of thirty stations of 802.11n is a tenth of all.
pub(crate) const ENOUGH_FRAMES: u32 = 4;
/// Most extensions of a slot, each by its own length.
const MOST_EXTENSIONS: u32 = 3;

/// The allocation by which the pacer holds the rate of the uplink.
fn uplink_allocation(rate: BitRate) -> Allocation {
    let rate_bytes_per_s = rate.as_bps_f64() / 8.0;
    Allocation {
        station: StationId(0),
        rate_pps: rate_bytes_per_s / f64::from(FULL_PACKET),
        rate_bytes_per_s,
        level: 1.0,
        pause: Duration::ZERO,
    }
}
