//! What packets to a station permit it to send.

/// Weight of one slot in the mean: as the law averages what stations send per packet (`UPLINK_GAIN`).
const GAIN: f64 = 0.3;
/// Greatest mean, bytes per packet: as much as the law charges at most (`ANSWER_MOST`).
const MEAN_MOST: f64 = 15_000.0;
/// What is kept per slot of the most that the station has sent in one: an upload pauses for less than a
/// second while its acknowledgements wait.
const PEAK_KEPT: f64 = 0.9;
/// What is charged in a slot whatever the station has sent before, bytes: an upload that begins. Whoever forges
/// acknowledgements can make a station pay for no more than this: 2.6 Mbit/s with slots of 100 ms.
const ALLOWANCE_BYTES: u64 = 32 << 10;

/// Bytes that a packet to one station permits it to send: TCP acknowledgements let an upload go on, all
/// other packets permit nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Permitted {
    packets: u64,
    bytes: u64,
    /// The most bytes that the station has sent in a slot lately.
    peak_bytes: f64,
    mean: f64,
}

impl Permitted {
    /// Counts a packet that leaves and acknowledges so many bytes. Returns how many of them are charged: not
    /// more in a slot than twice what the station sent in one lately, and an allowance.
    #[inline]
    pub(super) fn charge(&mut self, acknowledged_bytes: u32) -> u32 {
        self.packets += 1;
        if acknowledged_bytes == 0 {
            return 0;
        }
        // A slot's bytes are far below 2^52; the conversion saturates.
        let most = ALLOWANCE_BYTES.saturating_add((2.0 * self.peak_bytes) as u64);
        let left = u32::try_from(most.saturating_sub(self.bytes)).unwrap_or(u32::MAX);
        let charged = acknowledged_bytes.min(left);
        self.bytes += u64::from(charged);
        charged
    }

    /// Takes what was charged since the last call into the mean; the station sent `uploaded_bytes` per slot in
    /// that time. Without packets the mean fades, so that a download is not paced by the mean of an upload long ago.
    pub(super) fn close_slot(&mut self, uploaded_bytes: u64) {
        let mean = self.bytes as f64 / self.packets.max(1) as f64;
        self.mean += GAIN * (mean.min(MEAN_MOST) - self.mean);
        self.peak_bytes = (PEAK_KEPT * self.peak_bytes).max(uploaded_bytes as f64);
        (self.packets, self.bytes) = (0, 0);
    }

    /// Bytes that are charged per packet on average.
    pub(super) const fn mean_bytes(&self) -> f64 {
        self.mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_follows_an_upload_and_fades_after_it() {
        let mut permitted = Permitted::default();
        for _ in 0..30 {
            let charged: u32 = (0..500)
                .map(|n| permitted.charge(if n % 2 == 0 { 4_000 } else { 0 }))
                .sum();
            permitted.close_slot(1_100_000);
            assert!(charged <= 1_000_000);
        }
        assert!((permitted.mean_bytes() - 2_000.0).abs() < 10.0);
        (0..20).for_each(|_| permitted.close_slot(0));
        assert!(permitted.mean_bytes() < 2.0);
    }

    #[test]
    fn forged_acknowledgements_cost_no_more_than_the_allowance() {
        let mut permitted = Permitted::default();
        for _ in 0..100 {
            let charged: u64 = (0..1_000)
                .map(|_| u64::from(permitted.charge(1 << 16)))
                .sum();
            assert_eq!(charged, ALLOWANCE_BYTES);
            permitted.close_slot(0);
        }
        assert!(permitted.mean_bytes() <= ALLOWANCE_BYTES as f64 / 1_000.0);
    }
}
