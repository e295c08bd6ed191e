//! What a flow got: delays, bytes and losses, in fixed memory.

mod delay;
mod sequence;

use airpace_units::Time;
use core::time::Duration;
pub use delay::{DelayStatistic, DelaySummary};
pub use sequence::SequenceStatistic;

/// Everything counted of one flow at its receiver: 8 kB and some 10 ns per packet.
#[derive(Clone, Debug, Default)]
pub struct FlowStatistic {
    /// One-way delays of the packets, duplicates left out.
    pub delay: DelayStatistic,
    /// Packets by sequence number.
    pub sequence: SequenceStatistic,
    /// Payload bytes received, duplicates left out.
    pub bytes: u64,
}

impl FlowStatistic {
    /// Counts a packet that came at `now` and left at `sent`.
    pub fn record(&mut self, now: Time, sent: Time, sequence: u64, payload_bytes: u32) {
        if self.sequence.record(sequence) {
            self.delay.record(now.saturating_since(sent));
            self.bytes = self.bytes.saturating_add(u64::from(payload_bytes));
        }
    }

    /// Goodput in bit/s if the packets counted came within `span`; zero for a span of zero.
    #[must_use]
    pub fn goodput_bps(&self, span: Duration) -> f64 {
        let seconds = span.as_secs_f64();
        if seconds > 0.0 {
            self.bytes as f64 * 8.0 / seconds
        } else {
            0.0
        }
    }

    /// Adds what `other` counted of other packets.
    pub fn merge(&mut self, other: &Self) {
        self.delay.merge(&other.delay);
        self.sequence.merge(&other.sequence);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}
