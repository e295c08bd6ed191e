//! Delays, bytes and losses of a flow, in constant memory.

mod delay;
mod sequence;

use airpace_units::Time;
use core::time::Duration;
pub use delay::{DelayStatistic, DelaySummary};
pub use sequence::SequenceStatistic;

/// All statistics of one flow at its receiver. It takes 8 kB and some 10 ns per packet.
#[derive(Clone, Debug, Default)]
pub struct FlowStatistic {
    /// One-way delays of the packets, without duplicates.
    pub delay: DelayStatistic,
    /// Packets by sequence number.
    pub sequence: SequenceStatistic,
    /// Payload bytes received, without duplicates.
    pub bytes: u64,
}

impl FlowStatistic {
    /// Counts a packet that left at `sent` and arrived at `now`.
    pub fn record(&mut self, now: Time, sent: Time, sequence: u64, payload_bytes: u32) {
        if self.sequence.record(sequence) {
            self.delay.record(now.saturating_since(sent));
            self.bytes = self.bytes.saturating_add(u64::from(payload_bytes));
        }
    }

    /// Goodput in bit/s over `span`, the time in which the counted packets arrived; zero if `span`
    /// is zero.
    #[must_use]
    pub fn goodput_bps(&self, span: Duration) -> f64 {
        let seconds = span.as_secs_f64();
        if seconds > 0.0 {
            self.bytes as f64 * 8.0 / seconds
        } else {
            0.0
        }
    }

    /// Adds the counts of `other`, which must be of other packets.
    pub fn merge(&mut self, other: &Self) {
        self.delay.merge(&other.delay);
        self.sequence.merge(&other.sequence);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}
