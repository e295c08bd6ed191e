//! Waiting times from live traffic that passes the box in both directions.
//!
//! The time from a packet's departure at the box to what the station answers to it, less the smallest
//! such time of the last minute, is how long the packet waited at the access point and its answer in
//! the uplink. Three answers are used, of which any suffices:
//! - a TCP acknowledgement that covers the segment for the first time (sequence matching);
//! - a TCP timestamp that the station echoes (RFC 7323 §4), where the acknowledgement reports a gap;
//! - an edge of QUIC's spin bit that comes back (RFC 9000 §17.4).
//!
//! A delayed acknowledgement adds up to 40 ms that nothing waited for. It belongs to the last segment
//! before a pause; only acknowledgements of at least two segments, or of one that is followed by
//! others at once, are samples.

use super::ack_burst::{DownlinkPacket, DownlinkSegment, SpinBit, UplinkAck};
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
/// A station answers at the latest when so many packets of a QUIC connection have come: the recommended
/// number is two (RFC 9000 §13.2.2), and Chromium takes ten.
const ANSWERED_WITHIN: u32 = 10;
/// Packets in a row with the same value before an edge counts: ends that do not spin may set the bit at random
/// (RFC 9000 §17.4).
const SHORTEST_RUN: u32 = 8;
/// At most so many edges count as being on their way to the station: those of lost packets never come back.
const ON_THE_WAY: u32 = 2;
/// A client that does not spin returns more edges than have gone out. Each of those adds this to its faults, and each
/// edge that it returns takes off one.
const FAULT: u32 = 5;
/// Most faults that are counted, and most with which the client's edges are still samples.
const FAULTS_MOST: u32 = 40;
const FAULTS_BELIEVED: u32 = 8;
/// A round trip is a sample if the station may have delayed its answer by no more than this, or than a quarter of the
/// round trip.
const UNCERTAIN: Duration = Duration::from_millis(3);
/// Fewest samples in a slot for a waiting time with full confidence. An edge counts for so many of them: there
/// are only a few in a slot.
const ENOUGH: u32 = 20;
const EDGE_SAMPLES: u32 = 5;

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
    /// Whether the fixed bit was set in a packet to the station, so that this is QUIC.
    is_quic: bool,
}

/// The spin bit of one QUIC connection: the client inverts what the server reflects, so that an edge
/// goes round once per round trip.
#[derive(Clone, Copy, Debug, Default)]
struct Spin {
    /// The latest value to the station, how many packets in a row had it, and its edge until it comes back.
    down: Option<bool>,
    run: u32,
    edge: Option<Edge>,
    up: Option<bool>,
    /// Edges to the station that have not come back, at most [`ON_THE_WAY`].
    on_the_way: u32,
    /// Evidence that the client does not spin (see [`FAULT`]).
    faults: u32,
}

/// An edge that has left the box.
#[derive(Clone, Copy, Debug)]
struct Edge {
    sent: Time,
    /// Packets of the connection that have left after it.
    later: u32,
    /// When so many had left that the station answers without delay.
    answerable: Option<Time>,
}

impl Spin {
    /// A packet leaves for the station.
    fn on_down(&mut self, now: Time, is_set: bool) {
        if self.down.replace(is_set) == Some(!is_set) {
            let run = core::mem::take(&mut self.run);
            self.on_the_way = (self.on_the_way + 1).min(ON_THE_WAY);
            // One that follows another before that has come back is due to packets that have overtaken each
            // other: only one edge is on its way round. And the client must still send the other value, or its
            // answer to this edge would be no edge.
            let is_edge = self.edge.is_none() && run >= SHORTEST_RUN && self.up == Some(is_set);
            self.edge = is_edge.then_some(Edge {
                sent: now,
                later: 0,
                answerable: None,
            });
        } else if let Some(edge) = &mut self.edge {
            edge.later += 1;
            if edge.later == ANSWERED_WITHIN - 1 {
                edge.answerable = Some(now);
            }
        }
        self.run = self.run.saturating_add(1);
    }

    /// A packet from the station passes. Returns when the edge left the box that it returns, if the time
    /// since then is a round trip of the hop.
    fn on_up(&mut self, now: Time, is_set: bool) -> Option<Time> {
        if self.up.replace(is_set) != Some(!is_set) {
            return None;
        }
        if self.on_the_way == 0 {
            self.faults = (self.faults + FAULT).min(FAULTS_MOST);
        }
        self.on_the_way = self.on_the_way.saturating_sub(1);
        self.faults = self.faults.saturating_sub(1);
        // The client inverts the bit, so the edge that comes back has the other value.
        let edge = self.edge.take_if(|_| self.down == Some(!is_set))?;
        if self.faults > FAULTS_BELIEVED {
            return None;
        }
        let took = now.saturating_since(edge.sent);
        // The station may have waited for more packets before it answered, until its timer expired, or, where
        // the packet was itself an answer, until it had something to send.
        let delayed = edge
            .answerable
            .map_or(took, |at| took.min(at.saturating_since(edge.sent)));
        (delayed <= UNCERTAIN.max(took / 4)).then_some(edge.sent)
    }
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

    /// A packet leaves the box for the access point.
    pub fn on_sent(&mut self, now: Time, packet: &DownlinkPacket) {
        if let Some(segment) = &packet.tcp {
            self.on_segment(now, segment);
        }
        if let Some(spin) = packet.quic {
            let flow = self.flows.seen(now, spin.flow);
            flow.is_quic |= spin.is_fixed;
            if flow.is_quic {
                flow.spin.on_down(now, spin.is_set);
            }
        }
    }

    fn on_segment(&mut self, now: Time, segment: &DownlinkSegment) {
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
        if let Some(value) = segment.timestamp
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
            self.add(now, sent, 1);
        }
    }

    /// A QUIC packet with a short header from the station passes.
    pub fn on_spin(&mut self, now: Time, spin: SpinBit) {
        let flow = self.flows.seen(now, spin.flow);
        if flow.is_quic
            && let Some(sent) = flow.spin.on_up(now, spin.is_set)
        {
            self.add(now, sent, EDGE_SAMPLES);
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
        let samples = core::mem::take(&mut self.samples);
        let report = SlotReport {
            slot: self.slot,
            wait,
            source: LevelSource::SocketTimestamps,
            sensor: Sensor::WaitingTime,
            confidence: (f64::from(samples) / f64::from(ENOUGH)).min(1.0),
            ..SlotReport::silent(station, length)
        };
        self.slot += 1;
        self.slot_start = now;
        report
    }

    fn add(&mut self, now: Time, sent: Time, samples: u32) {
        let took = now.saturating_since(sent);
        if took > LONGEST {
            return;
        }
        self.samples = self.samples.saturating_add(samples);
        // At most two seconds.
        self.delay.on_sample(now, took.as_nanos() as i64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sensor::ack_burst::FlowKey;
    use crate::wire::tcp::Timestamps;

    const FLOW: FlowKey = FlowKey(1);

    fn segment(number: u32) -> DownlinkSegment {
        DownlinkSegment {
            flow: FLOW,
            sequence: number * 1_000,
            payload: 1_000,
            timestamp: None,
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
            meter.on_segment(sent, &segment(2 * pair));
            meter.on_segment(sent, &segment(2 * pair + 1));
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
            meter.on_segment(at(0), &segment(number));
            meter.on_segment(at(300), &segment(number));
        }
        meter.on_ack(at(301), &ack(2, 0));
        meter.on_segment(at(400), &segment(2));
        meter.on_ack(at(440), &ack(3, 0));
        assert_eq!(meter.close_slot(at(500), StationId(0)).wait, None);
    }

    fn spin(is_set: bool) -> SpinBit {
        SpinBit {
            flow: FLOW,
            is_set,
            is_fixed: true,
        }
    }

    fn spinning_packet(is_set: bool) -> DownlinkPacket {
        DownlinkPacket {
            bytes: 1_200,
            tcp: None,
            quic: Some(spin(is_set)),
        }
    }

    /// Edges of a QUIC connection 20 ms apart, each in the first of `packets` packets that leave `gap_us`
    /// apart, and answered `took_us` after it. More packets leave just before the next edge. Returns the
    /// report.
    fn spinning(packets: u64, gap_us: u64, took_us: impl Fn(u64) -> u64) -> SlotReport {
        let mut meter = WaitingMeter::new(Time::ZERO);
        for round in 0..40_u64 {
            let is_set = round % 2 == 0;
            let start_us = round * 20_000;
            let mut events: Vec<(u64, bool)> = (0..packets)
                .map(|packet| (start_us + packet * gap_us, true))
                .chain(core::iter::repeat_n((start_us + 19_500, true), 8))
                .collect();
            events.push((start_us + took_us(round), false));
            events.sort_unstable();
            for (us, is_down) in events {
                let at = Time::from_micros(us);
                if is_down {
                    meter.on_sent(at, &spinning_packet(is_set));
                } else {
                    meter.on_spin(at, spin(!is_set));
                }
            }
        }
        meter.close_slot(Time::from_millis(800), StationId(0))
    }

    #[test]
    fn the_spin_bit_gives_round_trips_of_busy_connections() {
        let took_us = |round| if round < 20 { 2_000 } else { 8_000 };
        let wait = spinning(20, 200, took_us).wait.unwrap();
        assert!(
            wait.p95.abs_diff(Duration::from_millis(6)) < Duration::from_micros(400),
            "{wait:?}"
        );
        // Slow ones as well, if packets wait for long.
        let took_us = |round| if round < 20 { 2_000 } else { 19_000 };
        let wait = spinning(20, 500, took_us).wait.unwrap();
        assert!(
            wait.p95.abs_diff(Duration::from_millis(17)) < Duration::from_millis(1),
            "{wait:?}"
        );
    }

    #[test]
    fn what_a_quic_client_delays_has_not_waited() {
        // A lone packet is answered when a timer expires, or not at all if it is itself an answer.
        assert_eq!(spinning(1, 0, |_| 15_000).wait, None);
        // So is the last of a few, and the timer of a connection that sends little may be any packet's.
        assert_eq!(spinning(9, 100, |_| 15_000).wait, None);
        assert_eq!(spinning(9, 1_500, |_| 15_000).wait, None);
        // An answer that comes at once has not waited, however many packets there were.
        let wait = spinning(1, 0, |_| 1_000).wait.unwrap();
        assert_eq!(wait.p99, Duration::ZERO);
    }

    #[test]
    fn packets_that_have_overtaken_each_other_give_no_false_round_trips() {
        let mut meter = WaitingMeter::new(Time::ZERO);
        meter.on_spin(Time::ZERO, spin(true));
        let values = core::iter::repeat_n(true, 8).chain([false, true, false]);
        for (us, is_set) in (0..).zip(values) {
            meter.on_sent(Time::from_micros(us), &spinning_packet(is_set));
        }
        // The answer to the first edge would be taken for that to the last.
        meter.on_spin(Time::from_micros(1_500), spin(false));
        meter.on_spin(Time::from_micros(1_600), spin(true));
        assert_eq!(
            meter.close_slot(Time::from_millis(100), StationId(0)).wait,
            None
        );
    }

    /// Bits at random.
    fn coin() -> impl FnMut() -> bool {
        let mut state = 7_u32;
        move || {
            // Numerical Recipes' generator.
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 31 == 0
        }
    }

    #[test]
    fn a_server_that_does_not_spin_gives_hardly_any_round_trips() {
        let mut meter = WaitingMeter::new(Time::ZERO);
        let mut random = coin();
        for packet in 0..10_000 {
            let at = Time::from_micros(packet * 100);
            let latest = random();
            meter.on_sent(at, &spinning_packet(latest));
            if packet % 2 == 0 {
                meter.on_spin(at, spin(!latest));
            }
        }
        // Of 5,000 answers.
        let samples = meter.samples / EDGE_SAMPLES;
        assert!(samples <= 30, "{samples}");
        let report = meter.close_slot(Time::from_millis(1_000), StationId(0));
        assert!(
            report
                .wait
                .is_none_or(|wait| wait.p99 < Duration::from_millis(3))
        );
    }

    /// The samples of a connection over four seconds whose server reflects the bit 4 ms after it has come, and
    /// whose client answers 2 ms after a packet with the bit that `answer` makes of the packet's. Packets go in
    /// frames of 20, and every other one is answered.
    fn samples_of(mut answer: impl FnMut(bool) -> bool) -> u32 {
        let mut meter = WaitingMeter::new(Time::ZERO);
        let mut reflected = VecDeque::from([(0, false)]);
        let mut value = false;
        for frame in 0..1_000_u64 {
            let start_us = frame * 4_000;
            let mut answers = Vec::new();
            for packet in 0..20 {
                let us = start_us + 50 * packet;
                while let Some((_, next)) = reflected.pop_front_if(|of| of.0 <= us) {
                    value = next;
                }
                meter.on_sent(Time::from_micros(us), &spinning_packet(value));
                if packet % 2 == 1 {
                    answers.push(answer(value));
                }
            }
            for (index, is_set) in (0..).zip(answers) {
                let us = start_us + 2_000 + 5 * index;
                meter.on_spin(Time::from_micros(us), spin(is_set));
                reflected.push_back((us + 4_000, is_set));
            }
        }
        meter.samples / EDGE_SAMPLES
    }

    #[test]
    fn a_client_that_does_not_spin_is_not_believed() {
        let spins = samples_of(|bit| !bit);
        let mut random = coin();
        let flips = samples_of(|_| random());
        assert!(spins >= 400 && flips <= spins / 50, "{spins} {flips}");
    }
}
