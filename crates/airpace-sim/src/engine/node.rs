//! One station's part of the loop: its pacer at the sender, its meter at the receiver.

use super::{HEADER_BYTES, LoopConfig, Probe, StationSlot};
use crate::mac::{self, FrameRecord};
use crate::rng::Stream;
use airpace_core::meter::{FrameHints, Meter, MeterConfig, Received};
use airpace_core::pace::{PaceConfig, Pacer};
use airpace_core::report::{Allocation, SenderView, SlotReport};
use airpace_units::{StationId, Time};
use core::time::Duration;

/// Virtual time wakes the sender on the nanosecond, so nothing leaves before it is paid for.
const EXACT: (Duration, u32) = (Duration::ZERO, 1);

pub(super) struct Node {
    pub(super) joined: bool,
    pub(super) pacer: Pacer,
    /// Number of the valid release event; older ones are stale.
    pub(super) epoch: u64,
    /// The frame whose packets come now.
    pub(super) frame: Option<FrameRecord>,
    /// Sequence number of the next packet.
    pub(super) sequence: u64,
    /// Packets sent in this slot.
    pub(super) sent: u32,
    /// Where within a slot the station's report is sent.
    pub(super) report_phase: Duration,
    /// Where within its first gap the station's first packet is sent (0 to 1), so that senders are not in step.
    phase: f64,
    meter: Meter,
    rate_pps: f64,
    target_level: f64,
    received: u32,
    delay_sum: Duration,
    delay_max: Duration,
}

impl Node {
    pub(super) fn new(idx: usize, config: &LoopConfig) -> Self {
        let phase = |name| Stream::new(config.seed, name, idx as u64).unit();
        let (burst, burst_packets) = EXACT;
        Self {
            joined: false,
            pacer: Pacer::new(PaceConfig {
                burst,
                burst_packets,
                ..PaceConfig::default()
            }),
            epoch: 0,
            frame: None,
            sequence: 0,
            sent: 0,
            report_phase: config.slot.mul_f64(phase("report phase")),
            phase: phase("source phase"),
            meter: Meter::new(MeterConfig::new(StationId::from_index(idx)), Time::ZERO),
            rate_pps: 0.0,
            target_level: 0.0,
            received: 0,
            delay_sum: Duration::ZERO,
            delay_max: Duration::ZERO,
        }
    }

    /// Sets the pacer; returns the earliest time at which a packet may go.
    pub(super) fn grant(&mut self, now: Time, allocation: &Allocation) -> Time {
        let first = self.pacer.is_unshaped() && allocation.rate_pps > 0.0;
        (self.rate_pps, self.target_level) = (allocation.rate_pps, allocation.level);
        self.pacer.grant(now, allocation, None);
        self.epoch += 1;
        if first {
            now + Duration::from_secs_f64(self.phase / allocation.rate_pps)
        } else {
            now
        }
    }

    /// The monitor interface shows an MPDU.
    pub(super) fn hear(&mut self, mpdu: &mac::Mpdu, probe: &Probe) {
        let Some(frame) = &self.frame else { return };
        self.meter.on_mpdu(&frame.shown(mpdu, probe.bytes));
    }

    /// A packet was handed up.
    pub(super) fn receive(&mut self, arrival: Time, probe: &Probe) {
        let delay = arrival.saturating_since(probe.sent);
        self.received += 1;
        self.delay_sum += delay;
        self.delay_max = self.delay_max.max(delay);
        let (frame, sequence, bytes) = (FrameHints::default(), probe.sequence, probe.bytes);
        // No delay runs for 2^63 ns.
        let delay_ns = Some(delay.as_nanos() as i64);
        self.meter.on_packet(&Received {
            arrival,
            frame,
            sequence,
            bytes,
            delay_ns,
        });
    }

    /// Ends the slot: what the station reports, completed by what its sender knows, and what the slot was.
    pub(super) fn close(&mut self, now: Time, packet_bytes: u32) -> (SlotReport, StationSlot) {
        let mut report = self.meter.close_slot(now);
        let sent_packets = core::mem::take(&mut self.sent);
        let sent_bytes = u64::from(sent_packets) * u64::from(packet_bytes);
        report.sender = SenderView {
            backlogged: true,
            sent_packets,
            sent_bytes,
        };
        let received = core::mem::take(&mut self.received);
        let received_pps = f64::from(received) / report.length.as_secs_f64();
        let station = StationSlot {
            joined: self.joined,
            rate_pps: self.rate_pps,
            target_level: self.target_level,
            frames: report.frames,
            level: report.level().unwrap_or_default(),
            round_s: report.round_s().unwrap_or_default(),
            delay_mean: core::mem::take(&mut self.delay_sum)
                .checked_div(received)
                .unwrap_or_default(),
            delay_max: core::mem::take(&mut self.delay_max),
            received_pps,
            goodput_mbps: received_pps
                * 8e-6
                * f64::from(packet_bytes.saturating_sub(HEADER_BYTES)),
            lost: report.lost,
            queue: 0,
            queue_peak: 0,
        };
        (report, station)
    }
}
