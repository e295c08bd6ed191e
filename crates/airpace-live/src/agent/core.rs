//! The agent without sockets: the meter, its slots, and the queue of the uplink.

use super::acks::AckGather;
use crate::device::Intake;
use crate::packet::{PacketBuf, Pool};
use crate::queues::fq_codel;
use airpace_api::config::AgentConfig;
use airpace_api::telemetry::AgentSlot;
use airpace_core::meter::{Meter, MeterConfig, Mpdu, Received};
use airpace_core::pace::{PaceConfig, Pacer};
use airpace_core::packet::Packet as _;
use airpace_core::queue::FqCoDel;
use airpace_core::report::{Allocation, LevelSource, SlotReport};
use airpace_core::wire::data::OVERHEAD_BYTES;
use airpace_core::wire::ieee80211::{DataHeader, Direction, FCS_BYTES, MacAddr, SNAP_BYTES};
use airpace_core::wire::radiotap::Radiotap;
use airpace_core::wire::report::{self, REPORT_BYTES};
use airpace_edge::tunnel::Opened;
use airpace_units::{StationId, Time};
use core::time::Duration;

/// What was seen on the monitor interface and not counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Frames without a valid radiotap header.
    pub malformed: u64,
    /// Frames that are no data to this station: management, uplink, other stations, multicast, damaged.
    pub foreign: u64,
    /// Data frames given to the meter.
    pub metered: u64,
}

/// The agent's decisions, sans-IO.
pub struct AgentCore {
    slot: Duration,
    epoch: Duration,
    /// Hardware address of the station, if the monitor may hear others.
    station: Option<MacAddr>,
    meter: Meter,
    session: Option<u32>,
    next_slot: Time,
    acks: AckGather,
    queue: FqCoDel<PacketBuf>,
    pacer: Pacer,
    pool: Pool,
    counts: Counts,
}

/// Bytes that CCMP adds to an encrypted frame: header 8, integrity code 8 (IEEE 802.11-2020, 12.5.3.2).
const CCMP_BYTES: usize = 16;
/// Packets in an A-MSDU, which an encrypted frame does not tell, are guessed from its length: nearly all are full-sized.
const FULL_PACKET: u32 = 1500;
/// What the tunnel and UDP over IPv4 add to a packet.
const TUNNEL_OVERHEAD: u32 = OVERHEAD_BYTES as u32 + 28;

impl AgentCore {
    /// An agent whose first slot begins at `now`. `epoch` is the wall-clock time since 1970 at [`Time::ZERO`], `key` is the secret
    /// key of the queue's hash.
    #[must_use]
    pub fn new(now: Time, config: &AgentConfig, epoch: Duration, key: [u8; 16]) -> Self {
        let mut pacer = Pacer::new(PaceConfig::default());
        if let Some(rate) = config.uplink.rate {
            let rate_bytes_per_s = rate.0.as_bps_f64() / 8.0;
            let rate_pps = rate_bytes_per_s / 1500.0;
            let allocation = Allocation {
                station: StationId(0),
                rate_pps,
                rate_bytes_per_s,
                level: 1.0,
            };
            pacer.grant(now, &allocation, None);
        }
        Self {
            slot: config.slot.0,
            epoch,
            station: None,
            meter: Meter::new(MeterConfig::new(StationId(0)), now),
            session: None,
            next_slot: now + config.slot.0,
            acks: AckGather::new(config.uplink.gather_acks.0),
            queue: fq_codel(&config.queue, key),
            pacer,
            pool: Pool::default(),
            counts: Counts::default(),
        }
    }

    /// Counts only frames to this hardware address from now on: a real monitor interface hears other stations as well.
    pub const fn listen_for(&mut self, station: [u8; 6]) {
        self.station = Some(MacAddr(station));
    }

    /// Tells the wall-clock time since 1970 at [`Time::ZERO`] again, which changes when the wall clock is set.
    pub const fn set_epoch(&mut self, epoch: Duration) {
        self.epoch = epoch;
    }

    /// The pool that packets are to be taken from and returned to.
    pub const fn pool(&mut self) -> &mut Pool {
        &mut self.pool
    }

    /// What was seen on the monitor interface.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Takes an IP packet of the station for the uplink.
    pub fn on_packet(&mut self, now: Time, packet: PacketBuf) {
        if let Some(packet) = self.acks.hold(now, packet) {
            self.release_acks(now);
            self.enqueue(now, packet);
        }
    }

    fn release_acks(&mut self, now: Time) {
        while let Some(ack) = self.acks.release() {
            self.enqueue(now, ack);
        }
    }

    fn enqueue(&mut self, now: Time, packet: PacketBuf) {
        self.queue.enqueue(now, packet);
        while let Some(dropped) = self.queue.poll_drop() {
            self.pool.put(dropped.packet);
        }
    }

    /// The next uplink packet that may leave now; its buffer is to be returned to the pool.
    pub fn poll(&mut self, now: Time) -> Option<PacketBuf> {
        if self.acks.deadline().is_some_and(|due| due <= now) {
            self.release_acks(now);
        }
        if self.queue.is_empty() || !self.pacer.may_release(now) {
            return None;
        }
        let packet = self.queue.dequeue(now);
        while let Some(dropped) = self.queue.poll_drop() {
            self.pool.put(dropped.packet);
        }
        if let Some(packet) = &packet {
            self.pacer.charge(now, packet.bytes() + TUNNEL_OVERHEAD);
        }
        packet
    }

    /// Takes an authentic message of the tunnel, as it arrived at `arrival`.
    pub fn on_message(&mut self, arrival: Time, message: &Opened<'_>) {
        if self.session.replace(message.session) != Some(message.session) {
            self.meter.restart_sequence();
        }
        // A datagram is at most 65,507 bytes.
        let bytes = message.payload.len() as u32 + TUNNEL_OVERHEAD;
        let delay_ns = Some(message.sent.offset_ns(arrival));
        let frame = airpace_core::meter::FrameHints::default();
        self.meter.on_packet(&Received {
            arrival,
            frame,
            sequence: message.counter,
            bytes,
            delay_ns,
        });
    }

    /// Takes a frame of the monitor interface: its first bytes, from the radiotap header on, and its whole length.
    pub fn on_frame(&mut self, arrival: Time, bytes: &[u8], length: usize) {
        let Ok((radiotap, start)) = Radiotap::parse(bytes) else {
            self.counts.malformed += 1;
            return;
        };
        let flags = radiotap.flags.unwrap_or_default();
        let header = bytes
            .get(start..)
            .and_then(|frame| DataHeader::parse(frame).ok());
        let Some((header, header_bytes)) =
            header.filter(|(header, _)| self.is_mine(header) && !flags.bad_fcs())
        else {
            self.counts.foreign += 1;
            return;
        };
        let fcs = if flags.fcs_at_end() { FCS_BYTES } else { 0 };
        let cipher = if header.protected { CCMP_BYTES } else { 0 };
        let around = start + header_bytes + fcs + cipher + SNAP_BYTES;
        let packet = u32::try_from(length.saturating_sub(around)).unwrap_or(u32::MAX);
        let mut mpdu = Mpdu::heard(arrival, &radiotap, &header, packet);
        if header.amsdu {
            mpdu.packets = u16::try_from(packet.div_ceil(FULL_PACKET + 64))
                .unwrap_or(1)
                .max(1);
        }
        self.counts.metered += 1;
        self.meter.on_mpdu(&mpdu);
    }

    fn is_mine(&self, header: &DataHeader) -> bool {
        let unicast = header.receiver.0[0] & 1 == 0;
        let to_me = self
            .station
            .is_none_or(|station| station == header.receiver);
        header.direction == Direction::FromDs
            && unicast
            && to_me
            && !header.null
            && header.fragment == 0
    }

    /// When [`AgentCore::poll`] or [`AgentCore::handle_timeout`] are to be called next.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        let release = if self.queue.is_empty() {
            None
        } else {
            self.pacer.next_release()
        };
        release
            .into_iter()
            .chain(self.acks.deadline())
            .chain([self.next_slot])
            .min()
    }

    /// Ends a slot that is over: the report to send, and the record for telemetry.
    pub fn handle_timeout(&mut self, now: Time) -> Option<([u8; REPORT_BYTES], AgentSlot)> {
        if now < self.next_slot {
            return None;
        }
        // Slots keep their rhythm; after a pause of the whole machine they begin anew.
        let rhythm = self.next_slot + self.slot;
        self.next_slot = if rhythm > now {
            rhythm
        } else {
            now + self.slot
        };
        let report = self.meter.close_slot(now);
        Some((report::encode(&report), self.record(now, &report)))
    }

    fn record(&self, now: Time, report: &SlotReport) -> AgentSlot {
        let source = match report.source {
            LevelSource::AmpduReference => "ampdu",
            LevelSource::Tsft => "tsft",
            LevelSource::Counters => "counters",
            LevelSource::SocketTimestamps => "socket",
        };
        AgentSlot {
            time_s: now.as_secs_f64(),
            unix_s: (self.epoch + Duration::from_nanos(now.as_nanos())).as_secs_f64(),
            slot: report.slot,
            frames: report.frames,
            packets: report.packets,
            bytes: report.bytes,
            level: report.level(),
            round_ms: report.round_s().map(|round| round * 1e3),
            phy_mbps: report.phy_rate_bps().map(|rate| rate / 1e6),
            lost: report.lost,
            late: report.late,
            source: source.to_owned(),
        }
    }
}

impl Intake for AgentCore {
    fn pool(&mut self) -> &mut Pool {
        Self::pool(self)
    }

    fn on_packet(&mut self, now: Time, packet: PacketBuf) {
        Self::on_packet(self, now, packet);
    }
}
