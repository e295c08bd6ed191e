//! Waiting times from live traffic that passes the box in both directions.
//!
//! The time from a packet's departure at the box to what the station answers to it, less the smallest
//! such time of the last minute, is how long the packet waited at the access point and its answer in
//! the uplink. Three answers are used, of which any suffices:
//! - a TCP acknowledgement that covers the segment for the first time (sequence matching);
//! - a TCP timestamp that the station echoes (RFC 7323 §4), where segments were not seen in order;
//! - an edge of QUIC's spin bit that comes back (RFC 9000 §17.4).
//!
//! A delayed acknowledgement adds up to 40 ms that nothing waited for. It belongs to the last segment
//! before a pause; only acknowledgements of at least two segments, or of one that is followed by
//! others at once, are samples.

use super::ack_burst::{DownlinkSegment, FlowKey, UplinkAck};
use super::connections::{Connections, is_after};
use crate::meter::DelayMeter;
use crate::report::{LevelSource, Sensor, SlotReport, WaitSource, WaitingTime};
use airpace_units::{StationId, Time};
use core::time::Duration;
use std::collections::VecDeque;

/// Segments remembered per connection until they are acknowledged.
const REMEMBERED: usize = 4_096;
/// A round trip longer than this is a pause of the application, not a wait.
const LONGEST: Duration = Duration::from_secs(2);
/// Fewest samples in a slot for a waiting time with full confidence.
const ENOUGH: f64 = 20.0;

/// Waiting times of one station.
#[derive(Clone, Debug)]
pub struct WaitingMeter {
    slot: u64,
    slot_start: Time,
    flows: Connections<Flow>,
    delay: DelayMeter,
    samples: u32,
}

/// One connection.
#[derive(Clone, Debug, Default)]
struct Flow {
    /// Ends of the segments that are not acknowledged yet, and when they left.
    outstanding: VecDeque<(u32, Time)>,
    highest: Option<u32>,
    /// The timestamp value that was sent first at this time, and is not echoed yet.
    stamp: Option<(u32, Time)>,
    spin: Spin,
}

/// The spin bit of one QUIC connection: the client inverts what the server reflects, so that an edge
/// goes round once per round trip.
#[derive(Clone, Copy, Debug, Default)]
struct Spin {
    /// The latest value to the station, and the time of its edge until it comes back.
    down: Option<bool>,
    edge: Option<Time>,
    up: Option<bool>,
}

impl WaitingMeter {
    /// A meter whose first slot begins at `start`.
    #[must_use]
    pub fn new(start: Time) -> Self {
        Self {
            slot: 0,
            slot_start: start,
            flows: Connections::default(),
            delay: DelayMeter::new(),
            samples: 0,
        }
    }

    /// A TCP segment leaves the box for the access point. `timestamp` is the value of its timestamps
    /// option.
    pub fn on_segment(&mut self, now: Time, segment: &DownlinkSegment, timestamp: Option<u32>) {
        if segment.payload == 0 {
            return;
        }
        let flow = self.flows.seen(now, segment.flow);
        let end = segment.sequence.wrapping_add(segment.payload);
        let is_new = flow.highest.is_none_or(|highest| is_after(end, highest));
        if !is_new {
            // The acknowledgement of a retransmission does not say which transmission it answers
            // (Karn's algorithm, RFC 6298 §3).
            flow.outstanding.retain(|&(other, _)| other != end);
            return;
        }
        flow.highest = Some(end);
        if flow.outstanding.len() == REMEMBERED {
            flow.outstanding.pop_front();
        }
        flow.outstanding.push_back((end, now));
        if let Some(value) = timestamp
            && flow.stamp.is_none()
        {
            flow.stamp = Some((value, now));
        }
    }

    /// A TCP acknowledgement from the station passes.
    pub fn on_ack(&mut self, now: Time, ack: &UplinkAck) {
        let flow = self.flows.seen(now, ack.flow);
        let mut covered = 0;
        let mut last = None;
        while let Some(&(end, sent)) = flow.outstanding.front() {
            if is_after(end, ack.number) {
                break;
            }
            covered += 1;
            last = Some(sent);
            flow.outstanding.pop_front();
        }
        let mut sample = last.filter(|_| covered >= 2 && ack.highest_sack.is_none());
        if let (Some((value, sent)), Some(stamps)) = (flow.stamp, ack.timestamps)
            && !is_after(value, stamps.echo)
        {
            flow.stamp = None;
            // The echo is that of the first segment which the acknowledgement covers.
            if stamps.echo == value && covered >= 2 {
                sample = sample.or(Some(sent));
            }
        }
        if let Some(sent) = sample {
            self.add(now, sent);
        }
    }

    /// A QUIC packet with a short header leaves the box for the access point.
    pub fn on_quic_down(&mut self, now: Time, flow: FlowKey, spin: bool) {
        let flow = self.flows.seen(now, flow);
        if flow.spin.down.replace(spin) == Some(!spin) {
            flow.spin.edge = Some(now);
        }
    }

    /// A QUIC packet with a short header from the station passes.
    pub fn on_quic_up(&mut self, now: Time, flow: FlowKey, spin: bool) {
        let flow = self.flows.seen(now, flow);
        let turned = flow.spin.up.replace(spin) == Some(!spin);
        // The client inverts the bit, so the edge that comes back has the other value.
        if turned
            && flow.spin.down == Some(!spin)
            && let Some(sent) = flow.spin.edge.take()
        {
            self.add(now, sent);
        }
    }

    /// Ends the slot: a report without frames, with the waiting time if there is one. Its confidence
    /// grows with the number of samples.
    pub fn close_slot(&mut self, now: Time, station: StationId) -> SlotReport {
        let length = now.saturating_since(self.slot_start);
        let wait = self.delay.close().map(|wait| WaitingTime {
            source: WaitSource::TcpAcks,
            ..wait
        });
        let samples = f64::from(core::mem::take(&mut self.samples));
        let report = SlotReport {
            slot: self.slot,
            wait,
            source: LevelSource::SocketTimestamps,
            sensor: Sensor::WaitingTime,
            confidence: (samples / ENOUGH).min(1.0),
            ..SlotReport::silent(station, length)
        };
        self.slot += 1;
        self.slot_start = now;
        report
    }

    fn add(&mut self, now: Time, sent: Time) {
        let took = now.saturating_since(sent);
        if took > LONGEST {
            return;
        }
        self.samples = self.samples.saturating_add(1);
        // At most two seconds.
        self.delay.on_sample(now, took.as_nanos() as i64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::tcp::Timestamps;

    const FLOW: FlowKey = FlowKey(1);

    fn segment(number: u32) -> DownlinkSegment {
        DownlinkSegment {
            flow: FLOW,
            sequence: number * 1_000,
            payload: 1_000,
        }
    }

    fn ack(number: u32, echo: u32) -> UplinkAck {
        UplinkAck {
            flow: FLOW,
            number: number * 1_000,
            timestamps: Some(Timestamps { value: 0, echo }),
            highest_sack: None,
            before_bytes: None,
        }
    }

    #[test]
    fn the_waiting_time_is_what_exceeds_the_least_round_trip() {
        let mut meter = WaitingMeter::new(Time::ZERO);
        for pair in 0..100_u32 {
            let sent = Time::from_millis(u64::from(pair) * 10);
            meter.on_segment(sent, &segment(2 * pair), None);
            meter.on_segment(sent, &segment(2 * pair + 1), None);
            // Every second pair waits for 5 ms.
            let took_us = if pair % 2 == 0 { 800 } else { 5_800 };
            meter.on_ack(sent + Duration::from_micros(took_us), &ack(2 * pair + 2, 0));
        }
        let report = meter.close_slot(Time::from_millis(1_000), StationId(0));
        let wait = report.wait.unwrap();
        assert!(wait.p50 <= Duration::from_micros(10), "{wait:?}");
        assert!(wait.p95.abs_diff(Duration::from_millis(5)) < Duration::from_micros(300));
        assert_eq!((report.frames, report.sensor), (0, Sensor::WaitingTime));
        assert_eq!((report.confidence, wait.source), (1.0, WaitSource::TcpAcks));
    }

    #[test]
    fn retransmissions_and_delayed_acknowledgements_are_no_samples() {
        let mut meter = WaitingMeter::new(Time::ZERO);
        let at = Time::from_millis;
        for number in [0, 1] {
            meter.on_segment(at(0), &segment(number), None);
            meter.on_segment(at(300), &segment(number), None);
        }
        meter.on_ack(at(301), &ack(2, 0));
        meter.on_segment(at(400), &segment(2), None);
        meter.on_ack(at(440), &ack(3, 0));
        assert_eq!(meter.close_slot(at(500), StationId(0)).wait, None);
    }

    #[test]
    fn the_spin_bit_gives_round_trips() {
        let mut meter = WaitingMeter::new(Time::ZERO);
        let mut spin = false;
        for round in 0..40_u64 {
            let sent = Time::from_millis(round * 20);
            spin = !spin;
            meter.on_quic_down(sent, FLOW, spin);
            let took_ms = if round < 20 { 2 } else { 8 };
            meter.on_quic_up(sent + Duration::from_millis(took_ms), FLOW, !spin);
        }
        let report = meter.close_slot(Time::from_millis(800), StationId(0));
        let wait = report.wait.unwrap();
        assert!(
            wait.p95.abs_diff(Duration::from_millis(6)) < Duration::from_micros(400),
            "{wait:?}"
        );
    }
}
