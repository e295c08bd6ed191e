//! Which flows the low-latency queue serves: how many share it, and which of them does not respond
//! to marks.

use airpace_units::Time;
use core::time::Duration;

/// The bytes of flows are compared over windows of this length: several round trips on most paths.
const WINDOW: Duration = Duration::from_millis(100);

/// Weights are in this fraction of a flow.
pub(super) const PER_FLOW: u64 = 256;

/// The flows that hash to one index.
#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    /// Bytes that arrived in the window number `window`.
    bytes: u32,
    window: u32,
    /// When the flows were last banned.
    banned_at: Option<Time>,
    /// Whether their packets go to the classic queue.
    is_kept_out: bool,
}

/// The flows of the low-latency queue.
#[derive(Clone, Debug)]
pub(super) struct LowLatencyFlows {
    /// Empty until the first low-latency packet, because most stations never receive one.
    bins: Vec<Bin>,
    number: usize,
    window: u32,
    window_ends: Time,
    /// Length of a ban.
    ban: Duration,
    /// Bytes of all flows in this window.
    total: u64,
    /// Bytes of the flow that sent most in this window, and its index.
    most: u64,
    most_idx: u32,
    weight: u64,
}

impl LowLatencyFlows {
    /// The flows of `number` hash values; a ban lasts for `ban`.
    pub(super) const fn new(number: usize, ban: Duration) -> Self {
        Self {
            bins: Vec::new(),
            number,
            window: 0,
            window_ends: Time::ZERO,
            ban,
            total: 0,
            most: 0,
            most_idx: 0,
            weight: PER_FLOW,
        }
    }

    /// A packet of flow `index` joins the low-latency queue.
    pub(super) fn on_arrival(&mut self, now: Time, index: u32, bytes: u32) {
        if self.bins.is_empty() {
            self.bins = vec![Bin::default(); self.number];
        }
        if now >= self.window_ends {
            self.begin_window(now);
        }
        let bin = &mut self.bins[index as usize];
        if bin.window != self.window {
            (bin.window, bin.bytes) = (self.window, 0);
        }
        bin.bytes = bin.bytes.saturating_add(bytes);
        self.total += u64::from(bytes);
        if u64::from(bin.bytes) > self.most {
            (self.most, self.most_idx) = (u64::from(bin.bytes), index);
        }
    }

    /// Begins a window; what the last one has shown counts during this one.
    fn begin_window(&mut self, now: Time) {
        // A flow that sends little next to the largest adds little to the weight; n equal flows
        // have the weight of n flows.
        self.weight = (self.total * PER_FLOW)
            .checked_div(self.most)
            .unwrap_or(PER_FLOW);
        self.window = self.window.wrapping_add(1);
        self.window_ends = now.saturating_add(WINDOW);
        (self.total, self.most) = (0, 0);
    }

    /// How many flows share the queue, in units of 1/[`PER_FLOW`]: the bytes of all over the bytes
    /// of the largest.
    pub(super) const fn weight(&self) -> u64 {
        self.weight
    }

    /// Bans the flow that has sent most in this window.
    pub(super) fn ban_largest(&mut self, now: Time) {
        if let Some(bin) = self.bins.get_mut(self.most_idx as usize)
            && self.most > 0
        {
            bin.banned_at = Some(now);
            bin.is_kept_out = true;
        }
    }

    /// Whether flow `index` was banned after a packet of it had joined the queue at `since`. That
    /// packet must not leave the queue, because later ones may have passed it in the classic queue.
    pub(super) fn was_banned_since(&self, since: Time, index: u32) -> bool {
        let bin = self.bins.get(index as usize);
        bin.and_then(|bin| bin.banned_at)
            .is_some_and(|banned_at| since <= banned_at)
    }

    /// Whether a new packet of flow `index` must join the classic queue, in which `waiting` packets
    /// of the flow wait. After a ban the flow stays there until its packets have left, so that none
    /// overtakes them.
    pub(super) fn is_kept_out(&mut self, now: Time, index: u32, waiting: u32) -> bool {
        let Some(bin) = self.bins.get_mut(index as usize) else {
            return false;
        };
        let is_over = bin
            .banned_at
            .is_none_or(|banned_at| now >= banned_at.saturating_add(self.ban));
        bin.is_kept_out &= !is_over || waiting > 0;
        bin.is_kept_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weight_of(bytes: &[u32]) -> u64 {
        let mut flows = LowLatencyFlows::new(64, Duration::ZERO);
        for ms in 0..250 {
            for (index, bytes) in (0..).zip(bytes) {
                flows.on_arrival(Time::from_millis(ms), index, *bytes);
            }
        }
        flows.weight()
    }

    #[test]
    fn equal_flows_weigh_their_number_and_small_ones_next_to_nothing() {
        assert_eq!(weight_of(&[1_500]), PER_FLOW);
        assert_eq!(weight_of(&[1_500, 1_500, 1_500]), 3 * PER_FLOW);
        assert_eq!(weight_of(&[1_500, 15]), PER_FLOW + PER_FLOW / 100);
        assert_eq!(weight_of(&[0, 0]), PER_FLOW);
    }

    #[test]
    fn a_ban_ends_when_its_time_is_over_and_nothing_waits_any_more() {
        let mut flows = LowLatencyFlows::new(8, Duration::from_secs(2));
        flows.ban_largest(Time::ZERO);
        assert!(!flows.is_kept_out(Time::ZERO, 0, 0), "nobody has sent");
        flows.on_arrival(Time::ZERO, 3, 1_500);
        flows.on_arrival(Time::ZERO, 4, 100);
        flows.ban_largest(Time::ZERO);
        assert!(flows.was_banned_since(Time::ZERO, 3));
        assert!(!flows.was_banned_since(Time::from_millis(1), 3));
        assert!(!flows.was_banned_since(Time::ZERO, 4));
        let soon = Time::from_millis(1_999);
        assert!(flows.is_kept_out(soon, 3, 0) && !flows.is_kept_out(soon, 4, 0));
        let later = Time::from_millis(2_000);
        assert!(flows.is_kept_out(later, 3, 1), "one packet still waits");
        assert!(!flows.is_kept_out(later, 3, 0));
        assert!(!flows.is_kept_out(later, 3, 1), "the ban is over");
    }
}
