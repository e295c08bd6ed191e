//! One QUIC connection, as the box sees it: what its acknowledgements say is encrypted.

use super::flow::Arrived;
use airpace_units::Time;
use core::time::Duration;
use std::collections::VecDeque;

/// Packets remembered until they are answered: 10 MB of full ones.
const REMEMBERED: usize = 8_192;
/// Packets that are not answered for so long are lost, or the station has gone.
const FORGOTTEN: Duration = Duration::from_secs(2);
/// Packets of fewer IP bytes are taken for acknowledgements alone, which nothing answers (RFC 9000 §13.2.1): IPv6 and UDP
/// headers (48), a short header with its tag (at most 41), and an acknowledgement of thirty ranges.
pub(super) const ASKS_LEAST: u32 = 200;

/// Packets of a QUIC connection that the station has not answered yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Unanswered {
    /// Whether the fixed bit was set in one of its packets, so that this is QUIC.
    is_quic: bool,
    /// IP bytes, and when the packet was handed over.
    packets: VecDeque<(u32, Time)>,
    /// The burst in which something of the connection was answered last.
    pub(super) burst: u64,
    /// When that was.
    pub(super) answered: Time,
}

impl Unanswered {
    /// A packet of so many IP bytes is handed to the access point. Returns whether the station will
    /// answer it.
    pub(super) fn on_packet(&mut self, now: Time, bytes: u32, is_fixed: bool) -> bool {
        self.is_quic |= is_fixed;
        if bytes < ASKS_LEAST || !self.is_quic {
            return false;
        }
        self.forget(now);
        if self.packets.len() == REMEMBERED {
            self.packets.pop_front();
        }
        self.packets.push_back((bytes, now));
        true
    }

    /// Forgets packets that will not be answered any more.
    fn forget(&mut self, now: Time) {
        while let Some(&(_, at)) = self.packets.front()
            && now.saturating_since(at) > FORGOTTEN
        {
            self.packets.pop_front();
        }
    }

    /// Whether a packet that was handed over up to `time` has not been answered.
    pub(super) fn has_until(&self, time: Time) -> bool {
        self.packets.front().is_some_and(|&(_, at)| at <= time)
    }

    /// The station answers the packets that were handed over up to `time`. Returns what has arrived with
    /// them; `each` is called with the time of each.
    pub(super) fn answer_until(&mut self, time: Time, mut each: impl FnMut(Time)) -> Arrived {
        self.forget(time);
        let mut arrived = Arrived::default();
        while let Some(&(bytes, at)) = self.packets.front()
            && at <= time
        {
            self.packets.pop_front();
            each(at);
            arrived.segments += 1;
            arrived.bytes += u64::from(bytes);
        }
        arrived
    }
}
