//! One TCP connection, as the box sees it in both directions.

use super::{DownlinkSegment, UplinkAck};
use crate::sensor::connections::is_after;
use crate::wire::transport::SackBlock;
use airpace_units::Time;
use core::time::Duration;
use std::collections::VecDeque;

/// Segments remembered until they are acknowledged: 12 MB of full segments.
const REMEMBERED: usize = 8_192;
/// How long a phase of the station's clock is remembered. Clocks drift by 50 µs in this time at
/// worst, little against a tick.
const PHASE_PERIOD: Duration = Duration::from_secs(1);
/// Acknowledgements after which the phase of the clock is known well enough to compare connections.
const PHASE_SAMPLES: u32 = 16;
/// Unit of the clock in timestamps of Linux, Android, macOS, iOS and Windows, seconds.
pub(super) const TICK_S: f64 = 1e-3;

/// What an acknowledgement tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Arrived {
    pub(super) segments: u32,
    pub(super) bytes: u64,
}

/// One connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Flow {
    /// Ends of the segments that are not acknowledged yet, and when they were handed over.
    outstanding: VecDeque<(u32, Time)>,
    /// One past the highest sequence number handed over.
    highest: Option<u32>,
    /// The highest sequence number that is known to have arrived.
    edge: Option<u32>,
    clock: Clock,
    /// When it acknowledged something last.
    pub(super) acknowledged: Time,
    /// The burst in which it acknowledged something last.
    pub(super) burst: u64,
}

impl Flow {
    /// A segment is handed to the access point. Returns whether it is new, not a retransmission.
    pub(super) fn on_segment(&mut self, now: Time, segment: &DownlinkSegment) -> bool {
        let end = segment.sequence.wrapping_add(segment.payload);
        let is_new = self.highest.is_none_or(|highest| is_after(end, highest));
        if segment.payload == 0 || !is_new {
            return false;
        }
        self.highest = Some(end);
        if self.outstanding.len() == REMEMBERED {
            self.outstanding.pop_front();
        }
        self.outstanding.push_back((end, now));
        true
    }

    /// An acknowledgement passes. Returns what is known to have arrived since the last one; `None` if
    /// it is not about anything that was handed over. `each` is called with the time at which each segment
    /// that is not in a gap was handed over.
    ///
    /// What counts is the highest sequence number that has arrived: the edge of the cumulative or of
    /// the selective acknowledgement. A cumulative acknowledgement that jumps over selective ones
    /// tells of packets that came long before. Segments in a gap count in place of their retransmissions.
    pub(super) fn on_ack(
        &mut self,
        ack: &UplinkAck,
        mut each: impl FnMut(Time),
    ) -> Option<Arrived> {
        let highest = self.highest?;
        if is_after(ack.number, highest) {
            return None;
        }
        let is_ahead =
            |block: &SackBlock| is_after(block.end, ack.number) && !is_after(block.end, highest);
        let block = ack.highest_sack.filter(is_ahead);
        let edge = block.map_or(ack.number, |block| block.end);
        let before = *self.edge.get_or_insert(edge);
        if !is_after(edge, before) {
            return Some(Arrived::default());
        }
        self.edge = Some(edge);
        let mut arrived = Arrived {
            bytes: u64::from(edge.wrapping_sub(before)),
            ..Arrived::default()
        };
        while let Some(&(end, sent)) = self.outstanding.front()
            && !is_after(end, edge)
        {
            let is_in_gap =
                |block: SackBlock| !is_after(end, block.start) && is_after(end, ack.number);
            if !block.is_some_and(is_in_gap) {
                each(sent);
            }
            arrived.segments += 1;
            self.outstanding.pop_front();
        }
        Some(arrived)
    }

    /// When the station wrote `clock` into an acknowledgement that passed at `now`, to within a tick,
    /// in seconds on a scale that all connections of the station share. `None` while the phase of
    /// the connection's clock is not known.
    pub(super) fn written_s(&mut self, now: Time, clock: u32) -> Option<f64> {
        self.clock.written_s(now, clock)
    }
}

/// The clock in a connection's timestamps. Hosts add a random offset for each connection (RFC 7323
/// §5.4), but all of them tick together.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    /// The first value seen, from which others count.
    origin: Option<u32>,
    /// Most by which the clock has been ahead of the box's, seconds, in this period and in the one
    /// before: then the acknowledgement came with the least delay.
    lead_s: [Option<f64>; 2],
    period_start: Time,
    samples: u32,
}

impl Clock {
    fn written_s(&mut self, now: Time, clock: u32) -> Option<f64> {
        let origin = *self.origin.get_or_insert(clock);
        // Values count on from the first one and may wrap around.
        let ticks = f64::from(clock.wrapping_sub(origin).cast_signed());
        let written_s = ticks * TICK_S;
        let lead_s = written_s - now.as_secs_f64();
        if now.saturating_since(self.period_start) >= PHASE_PERIOD {
            self.period_start = now;
            self.lead_s = [None, self.lead_s[0]];
        }
        self.lead_s[0] = Some(self.lead_s[0].map_or(lead_s, |most| most.max(lead_s)));
        self.samples = self.samples.saturating_add(1);
        let lead_s = self.lead_s.iter().flatten().copied().reduce(f64::max)?;
        (self.samples >= PHASE_SAMPLES).then_some(written_s - lead_s)
    }
}
