//! The agent of [`airpace_edge`] for IP packets in buffers and messages of the tunnel.

use super::Counts;
use crate::device::Intake;
use crate::packet::{PacketBuf, Pool};
use crate::proxy::settings::TUNNEL_OVERHEAD;
use crate::queues::fq_codel;
use airpace_api::config::AgentConfig;
use airpace_api::telemetry::AgentSlot;
use airpace_core::report::{LevelSource, SlotReport};
use airpace_core::wire::ieee80211::MacAddr;
use airpace_core::wire::ip;
use airpace_core::wire::report::{self, REPORT_BYTES};
use airpace_edge::agent::{self, Agent, Message};
use airpace_edge::tunnel::Opened;
use airpace_units::{StationId, Time};
use core::time::Duration;

/// The agent's decisions about IP packets and the tunnel's messages.
pub struct PacketAgent {
    agent: Agent<PacketBuf>,
    /// Wall-clock time since 1970 at [`Time::ZERO`].
    epoch: Duration,
    pool: Pool,
    /// Acknowledgements thinned until the end of the last slot.
    thinned_before: u64,
}

impl PacketAgent {
    /// An agent whose first slot begins at `now`. `epoch` is the wall-clock time since 1970 at
    /// [`Time::ZERO`], `key` is the secret key of the queue's hash.
    #[must_use]
    pub fn new(now: Time, config: &AgentConfig, epoch: Duration, key: [u8; 16]) -> Self {
        let slot = config.slot.0;
        let config = agent::AgentConfig {
            // The proxy identifies the station by the key of its tunnel.
            station: StationId(0),
            slot,
            first_slot: slot,
            grouping: config.grouping.meter(),
            adapts_slots: true,
            uplink_rate: config.uplink.rate.map(|rate| rate.0),
            gather_acks: config.uplink.gather_acks.0,
            thin_acks: config.uplink.thin_acks,
            queue: fq_codel(&config.queue, AgentConfig::codel()),
            packet_overhead: TUNNEL_OVERHEAD,
        };
        Self {
            agent: Agent::new(now, &config, key),
            epoch,
            pool: Pool::default(),
            thinned_before: 0,
        }
    }

    /// From now on counts only frames to this hardware address: a real monitor interface also hears
    /// other stations.
    pub const fn listen_for(&mut self, station: [u8; 6]) {
        self.agent.listen_for(MacAddr(station));
    }

    /// Sets the wall-clock time since 1970 at [`Time::ZERO`], which changes when the wall clock is
    /// set.
    pub const fn set_epoch(&mut self, epoch: Duration) {
        self.epoch = epoch;
    }

    /// The pool from which buffers of packets are taken and to which they are returned.
    pub const fn pool(&mut self) -> &mut Pool {
        &mut self.pool
    }

    /// Counts of the frames that the monitor interface has shown, and of acknowledgements.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        self.agent.counts()
    }

    /// Takes an IP packet of the station for the uplink.
    pub fn on_packet(&mut self, now: Time, packet: PacketBuf) {
        self.agent.enqueue(now, packet);
        self.recycle();
    }

    /// The next uplink packet that may leave now. The caller returns its buffer to the pool.
    pub fn poll(&mut self, now: Time) -> Option<PacketBuf> {
        let packet = self.agent.poll(now);
        self.recycle();
        packet
    }

    /// Takes an authentic message of the tunnel, as it arrived at `arrival`.
    /// `class` is the traffic class of its outer header.
    pub fn on_message(&mut self, arrival: Time, message: &Opened<'_>, class: u8) {
        self.agent.on_message(
            arrival,
            Message {
                session: message.session,
                sequence: message.counter,
                // A datagram is at most 65,507 bytes.
                bytes: message.payload.len() as u32 + TUNNEL_OVERHEAD,
                category: ip::category(class >> 2),
                delay_ns: message.sent.offset_ns(arrival),
            },
        );
    }

    /// Takes notice of `packets` IP packets that have arrived together beside any tunnel, `bytes` in
    /// all. `class` is their traffic class.
    pub fn on_plain_packets(&mut self, arrival: Time, packets: u32, bytes: u32, class: u8) {
        let packets = packets.max(1);
        for _ in 0..packets {
            let category = ip::category(class >> 2);
            self.agent.on_packet(arrival, bytes / packets, category);
        }
    }

    /// Takes a frame of the monitor interface: its first bytes, from the radiotap header on, and
    /// its whole length.
    pub fn on_frame(&mut self, arrival: Time, bytes: &[u8], length: usize) {
        self.agent.on_monitor_frame(arrival, bytes, length);
    }

    /// Takes the bytes that the kernel has delivered to the station since its interface was made; to be
    /// called before a slot ends.
    pub const fn on_delivered(&mut self, total_bytes: u64) {
        self.agent.on_delivered(total_bytes);
    }

    /// Whether the monitor interface has shown more than was delivered, so that its frames are not
    /// believed.
    #[must_use]
    pub fn is_doubting(&self) -> bool {
        self.agent.is_doubting()
    }

    /// Whether a slot ends at `now`.
    #[must_use]
    pub fn is_slot_due(&self, now: Time) -> bool {
        self.agent.is_slot_due(now)
    }

    /// When [`PacketAgent::poll`] or [`PacketAgent::handle_timeout`] must be called next.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.agent.deadline()
    }

    /// Ends a slot that is over: the report to send, and the record for telemetry.
    pub fn handle_timeout(&mut self, now: Time) -> Option<([u8; REPORT_BYTES], AgentSlot)> {
        let report = self.agent.handle_timeout(now)?;
        Some((report::encode(&report), self.record(now, &report)))
    }

    /// Returns the buffers of packets that were dropped to the pool.
    fn recycle(&mut self) {
        while let Some(dropped) = self.agent.poll_drop() {
            self.pool.put(dropped.packet);
        }
    }

    fn record(&mut self, now: Time, report: &SlotReport) -> AgentSlot {
        let thinned = self.agent.counts().thinned_acks;
        let thinned_before = core::mem::replace(&mut self.thinned_before, thinned);
        let source = match report.source {
            LevelSource::AmpduReference => "ampdu",
            LevelSource::Tsft => "tsft",
            LevelSource::Counters => "counters",
            LevelSource::SocketTimestamps => "socket",
        };
        AgentSlot {
            time_s: now.as_secs_f64(),
            unix_s: (self.epoch + Duration::from_nanos(now.as_nanos())).as_secs_f64(),
            slots: None,
            span_s: None,
            slot: report.slot,
            frames: report.frames,
            packets: report.packets,
            bytes: report.bytes,
            level: report.level(),
            round_ms: report.round_s().map(|round| round * 1e3),
            phy_mbps: report.phy_rate_bps().map(|rate| rate / 1e6),
            lost: report.lost,
            late: report.late,
            thinned_acks: thinned - thinned_before,
            source: source.to_owned(),
        }
    }
}

impl Intake for PacketAgent {
    fn pool(&mut self) -> &mut Pool {
        Self::pool(self)
    }

    fn on_packet(&mut self, now: Time, packet: PacketBuf) {
        Self::on_packet(self, now, packet);
    }
}
