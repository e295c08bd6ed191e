//! The longest frame, from frames that are all equally long.

use super::super::sample::Sample;

/// Slots in a row that must show the same.
const SLOTS: u8 = 3;
/// Frames that a slot must have to count.
const FRAMES: f64 = 4.0;
/// Levels below this may be constant by chance of pacing.
const LEAST_LEVEL: f64 = 4.0;
/// Frames whose packets are in flight at most when nothing stands: one on the air, one being gathered.
const IN_FLIGHT_FRAMES: f64 = 2.5;

/// Notices when every frame holds the same whole number of packets, slot after slot, while more than two frames' packets are on their way: a queue that
/// always holds more than a frame makes such frames. So the access point's longest frame is learned where it is shorter than
/// configured, as the 65,535 bytes of 802.11n make it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Plateau {
    level: f64,
    slots: u8,
    phy_bps: f64,
}

impl Plateau {
    /// Takes a slot's mean level and the packets that are on their way after it.
    pub(super) fn observe(&mut self, level: f64, underway: f64, sample: &Sample) {
        let phy_bps = sample.phy_bps.unwrap_or(self.phy_bps);
        // At another rate the limit may be another.
        let same_rate = (phy_bps - self.phy_bps).abs() <= 0.01 * phy_bps;
        let whole = level.fract() == 0.0 && level >= LEAST_LEVEL && sample.frames >= FRAMES;
        let constant = whole && underway > IN_FLIGHT_FRAMES * level;
        if same_rate && level == self.level && (constant || self.slots >= SLOTS) {
            self.slots = self.slots.saturating_add(1);
        } else if !same_rate || level > self.level {
            *self = if constant {
                Self {
                    level,
                    slots: 1,
                    phy_bps,
                }
            } else {
                Self {
                    phy_bps,
                    ..Self::default()
                }
            };
        } else if self.slots < SLOTS {
            self.slots = 0;
            self.level = 0.0;
        }
    }

    /// The longest frame, if one was learned.
    pub(super) fn longest(&self) -> Option<f64> {
        (self.slots >= SLOTS).then_some(self.level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{LevelSource, SenderView, SlotReport};
    use airpace_units::{StationId, Time};
    use core::time::Duration;

    fn sample(frames: u32, packets: u32, mbps: f64) -> Sample {
        let report = SlotReport {
            station: StationId(0),
            slot: 0,
            length: Duration::from_millis(100),
            frames,
            mpdus: packets,
            packets,
            bytes: 1_498 * u64::from(packets),
            span: Some((Time::ZERO, Time::from_millis(99))),
            inverse_rate_sum: f64::from(frames) / (mbps * 1e6),
            lost: 0,
            late: 0,
            delay: None,
            source: LevelSource::AmpduReference,
            sender: SenderView::default(),
        };
        Sample::read(&report).expect("the report is credible")
    }

    fn observe(plateau: &mut Plateau, frames: u32, packets: u32, mbps: f64) {
        observe_with(plateau, (frames, packets, mbps), 1_000.0);
    }

    fn observe_with(
        plateau: &mut Plateau,
        (frames, packets, mbps): (u32, u32, f64),
        underway: f64,
    ) {
        let sample = sample(frames, packets, mbps);
        plateau.observe(sample.level.expect("frames came"), underway, &sample);
    }

    #[test]
    fn frames_of_the_same_length_in_three_slots_are_the_longest_there_are() {
        let mut plateau = Plateau::default();
        for (slot, frames) in [25, 26, 26].into_iter().enumerate() {
            assert_eq!(plateau.longest(), None, "slot {slot}");
            observe(&mut plateau, frames, 42 * frames, 144.4);
        }
        observe(&mut plateau, 26, 42 * 26, 144.4);
        assert_eq!(plateau.longest(), Some(42.0));
        // Shorter frames do not unlearn it; longer ones and another rate do.
        observe(&mut plateau, 26, 30 * 26 + 7, 144.4);
        assert_eq!(plateau.longest(), Some(42.0));
        observe(&mut plateau, 26, 30 * 26 + 7, 72.2);
        assert_eq!(plateau.longest(), None);
    }

    #[test]
    fn chance_teaches_nothing_while_no_more_is_underway_than_frames_hold() {
        let mut plateau = Plateau::default();
        (0..10).for_each(|_| observe_with(&mut plateau, (5, 20, 29.3), 8.0));
        assert_eq!(plateau.longest(), None);
    }

    #[test]
    fn levels_that_vary_teach_nothing() {
        let mut plateau = Plateau::default();
        for packets in [840, 841, 840, 839, 840, 843] {
            observe(&mut plateau, 26, packets, 144.4);
        }
        assert_eq!(plateau.longest(), None);
    }
}
