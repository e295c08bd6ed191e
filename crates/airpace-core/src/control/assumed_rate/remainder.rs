//! What stations that are seen leave of the round for the others.

use super::median::weighted_median;
use std::collections::VecDeque;

/// Slots that are remembered.
const SLOTS: usize = 30;

/// What one slot's round tells of packets to stations whose frames no sensor sees.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct SlotRemainder {
    /// Airtime per packet, seconds. It is a small difference of large times, and below zero in some
    /// slots.
    pub(super) packet_s: f64,
    /// Packets per round. The more they are, the less an error of the round counts.
    pub(super) packets: f64,
}

/// The airtime per packet over the last slots.
///
/// The times that are seen are wrong for a second or two now and then, when answers come a frame later
/// than usual, and then all in one direction. So the median counts, not the mean.
#[derive(Clone, Debug, Default)]
pub(super) struct Remainder {
    slots: VecDeque<SlotRemainder>,
}

impl Remainder {
    /// Adds a slot. Returns the median airtime per packet, weighted by packets, seconds.
    pub(super) fn add(&mut self, part: SlotRemainder) -> f64 {
        if self.slots.len() == SLOTS {
            self.slots.pop_front();
        }
        self.slots.push_back(part);
        let weighted = self.slots.iter().map(|part| (part.packet_s, part.packets));
        weighted_median(weighted).unwrap_or(part.packet_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_that_are_wrong_together_do_not_move_the_median() {
        let mut remainder = Remainder::default();
        let told_us = |slot: usize| {
            if slot % 30 < 10 {
                150.0
            } else {
                55.0 + (slot % 5) as f64
            }
        };
        for slot in 0..100 {
            let told = remainder.add(SlotRemainder {
                packet_s: told_us(slot) * 1e-6,
                packets: 20.0,
            });
            if slot > 30 {
                assert!((55e-6..60e-6).contains(&told), "{told}");
            }
        }
    }

    #[test]
    fn slots_with_few_packets_count_less() {
        let mut remainder = Remainder::default();
        for packets in [1.0, 1.0, 1.0, 10.0] {
            remainder.add(SlotRemainder {
                packet_s: packets,
                packets,
            });
        }
        let told = remainder.add(SlotRemainder {
            packet_s: 0.0,
            packets: 1.0,
        });
        assert!((told - 10.0).abs() < 1e-12, "{told}");
    }

    #[test]
    fn a_change_is_followed_after_half_of_the_memory() {
        let mut remainder = Remainder::default();
        let part = |packet_s| SlotRemainder {
            packet_s,
            packets: 5.0,
        };
        for _ in 0..SLOTS {
            remainder.add(part(1.0));
        }
        let slots = (1..).find(|_| remainder.add(part(2.0)) > 1.5);
        assert_eq!(slots, Some(SLOTS / 2 + 1));
    }
}
