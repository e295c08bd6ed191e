//! How long a station's frames take, from slots of which some are several times too long.

use super::means::Transit;
use super::median::weighted_median;
use crate::sensor::ack_burst::TRANSIT_COMMON;
use std::collections::VecDeque;

/// Frames in the slots that are remembered, at the least. At two or three frames per slot of 100 ms, that
/// is three to four seconds.
const FRAMES: f64 = 80.0;

/// The transits of one station's frames over the last slots.
///
/// A station may answer a frame only together with a later one. In a slot with two or three frames, that
/// makes the transit several times too long. Under a mean, the station looked slow for seconds: it was sent
/// short frames, and too few of them to correct the mean. So the median time per packet counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Transits {
    slots: VecDeque<Slot>,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    transit: Transit,
    frames: f64,
}

impl Slot {
    /// Airtime per packet if the transit has the usual common part, seconds.
    fn packet_s(&self) -> f64 {
        (self.transit.seconds - TRANSIT_COMMON.as_secs_f64()) / self.transit.level
    }
}

impl Transits {
    /// Adds the transit of a slot with `frames` frames. Returns the median one, at the mean level.
    pub(super) fn add(&mut self, transit: Transit, frames: f64) -> Transit {
        self.slots.push_back(Slot { transit, frames });
        let mut all: f64 = self.slots.iter().map(|slot| slot.frames).sum();
        while let Some(oldest) = self.slots.front()
            && all - oldest.frames >= FRAMES
        {
            all -= oldest.frames;
            self.slots.pop_front();
        }
        let weighted = self.slots.iter().map(|slot| (slot.packet_s(), slot.frames));
        let packet_s = weighted_median(weighted).unwrap_or(0.0);
        let levels = self
            .slots
            .iter()
            .map(|slot| slot.transit.level * slot.frames);
        let level = levels.sum::<f64>() / all;
        Transit {
            seconds: TRANSIT_COMMON.as_secs_f64() + packet_s * level,
            level,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMON_S: f64 = TRANSIT_COMMON.as_secs_f64();

    /// A transit of `level` packets that take `packet_us` each.
    fn transit(level: f64, packet_us: f64) -> Transit {
        Transit {
            seconds: COMMON_S + level * packet_us * 1e-6,
            level,
        }
    }

    fn packet_us(usual: Transit) -> f64 {
        (usual.seconds - COMMON_S) / usual.level * 1e6
    }

    #[test]
    fn late_answers_now_and_then_change_nothing() {
        let mut transits = Transits::default();
        for slot in 0..100 {
            let late = if slot % 4 == 3 { 10.0 } else { 1.0 };
            let usual = transits.add(transit(20.0, 32.0 * late), 2.0);
            assert!(slot < 3 || (packet_us(usual) - 32.0).abs() < 1e-6);
        }
    }

    #[test]
    fn another_rate_counts_after_half_of_the_memory() {
        let mut transits = Transits::default();
        for _ in 0..20 {
            transits.add(transit(20.0, 32.0), 10.0);
        }
        let slots = (1..).find(|_| packet_us(transits.add(transit(10.0, 64.0), 10.0)) > 60.0);
        assert_eq!(slots, Some(5));
    }

    #[test]
    fn a_slot_with_many_frames_counts_alone() {
        let mut transits = Transits::default();
        transits.add(transit(5.0, 64.0), 100.0);
        let usual = transits.add(transit(20.0, 32.0), 100.0);
        assert!((packet_us(usual) - 32.0).abs() < 1e-6 && usual.level == 20.0);
    }
}
