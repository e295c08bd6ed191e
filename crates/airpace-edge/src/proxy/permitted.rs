//! What packets to a station permit it to send.

/// Weight of one slot in the mean; that of the law's estimate of the same.
const GAIN: f64 = 0.3;

/// Bytes that a packet to one station permits it to send: TCP acknowledgements let an upload go on, all
/// other packets permit nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Permitted {
    packets: u64,
    bytes: u64,
    mean: f64,
}

impl Permitted {
    /// Counts a packet that leaves.
    pub(super) fn count(&mut self, permitted_bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(permitted_bytes);
    }

    /// Takes what was counted since the last call into the mean. Without packets it stays as it is.
    pub(super) fn close_slot(&mut self) {
        if self.packets > 0 {
            let mean = self.bytes as f64 / self.packets as f64;
            self.mean += GAIN * (mean - self.mean);
        }
        (self.packets, self.bytes) = (0, 0);
    }

    /// Bytes per packet on average.
    pub(super) const fn mean_bytes(&self) -> f64 {
        self.mean
    }
}
