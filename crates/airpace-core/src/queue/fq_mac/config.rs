use crate::queue::codel::CoDelConfig;
use airpace_units::BitRate;
use core::time::Duration;

/// Parameters of [`FqMac`](super::FqMac). Defaults are those of Linux's mac80211 and, for slow
/// stations, of the paper (§3.1.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FqMacConfig {
    /// Number of queues that flows are hashed to, 1 to 65,536. Default 4096.
    pub queues: u32,
    /// Bytes that a queue may send per turn, at least 256. Default 300.
    pub quantum: u32,
    /// Packets that all queues may hold together. Default 8192.
    pub packet_limit: u32,
    /// Bytes that all queues may hold together, each packet counted with at least 256. Default 16
    /// MiB.
    pub memory_limit: u64,
    /// Parameters of CoDel in queues of most stations. Default 20 ms and 100 ms, with marks.
    pub codel: CoDelConfig,
    /// Parameters of CoDel in queues of slow stations. Default 50 ms and 300 ms, with marks.
    pub slow: CoDelConfig,
    /// Stations that expect less are slow. Default 12 Mbit/s.
    pub slow_below: BitRate,
    /// A station's parameters change at most once in this time. Default 2 s.
    pub hysteresis: Duration,
}

impl Default for FqMacConfig {
    fn default() -> Self {
        let codel = |target, interval| CoDelConfig {
            target: Duration::from_millis(target),
            interval: Duration::from_millis(interval),
            ..CoDelConfig::default()
        };
        Self {
            queues: 4096,
            quantum: 300,
            packet_limit: 8192,
            memory_limit: 16 << 20,
            codel: codel(20, 100),
            slow: codel(50, 300),
            slow_below: BitRate::from_mbps(12),
            hysteresis: Duration::from_secs(2),
        }
    }
}

/// The smallest quantum. Below it a large packet would cost many turns of the scheduler (the same
/// value as FQ-CoDel in Linux).
const MIN_QUANTUM: u32 = 256;

impl FqMacConfig {
    /// The parameters, clamped to their ranges.
    pub(super) fn clamped(self) -> Self {
        Self {
            queues: self.queues.clamp(1, 1 << 16),
            quantum: self.quantum.max(MIN_QUANTUM),
            ..self
        }
    }
}
