//! Learns the access point's longest frame, from frames that all hold the same number of packets.

use super::super::sample::Sample;

/// Consecutive slots that must show the same level.
const SLOTS: u8 = 3;
/// Least number of frames in a slot that counts.
const FRAMES: f64 = 4.0;
/// Below this level, pacing alone can make frames equal by chance.
const LEAST_LEVEL: f64 = 4.0;
/// Largest number of frames whose packets are in flight without a queue: one on the air and one
/// being gathered, with some margin.
const IN_FLIGHT_FRAMES: f64 = 2.5;

/// Detects that every frame holds the same whole number of packets, slot after slot, while more
/// packets are outstanding than two frames hold. Only a queue that always holds more than one frame
/// causes this, so that number is the access point's longest frame. It can be shorter than
/// configured: 802.11n limits an A-MPDU to 65,535 bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Plateau {
    level: f64,
    slots: u8,
    phy_bps: f64,
}

impl Plateau {
    /// Takes a slot's mean level and the number of packets outstanding at its end.
    pub(super) fn observe(&mut self, level: f64, outstanding: f64, sample: &Sample) {
        let phy_bps = sample.phy_bps.unwrap_or(self.phy_bps);
        // The limit may be a duration, so it differs at another rate.
        let same_rate = (phy_bps - self.phy_bps).abs() <= 0.01 * phy_bps;
        let whole = level.fract() == 0.0 && level >= LEAST_LEVEL && sample.frames >= FRAMES;
        let constant = whole && outstanding > IN_FLIGHT_FRAMES * level;
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

    /// The longest frame in packets, once it is known.
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
        observe_sample(plateau, &sample(frames, packets, mbps), 1_000.0);
    }

    fn observe_sample(plateau: &mut Plateau, sample: &Sample, outstanding: f64) {
        plateau.observe(sample.level.expect("frames came"), outstanding, sample);
    }

    #[test]
    fn equal_frames_in_three_slots_show_the_longest_frame() {
        let mut plateau = Plateau::default();
        for (slot, frames) in [25, 26, 26].into_iter().enumerate() {
            assert_eq!(plateau.longest(), None, "slot {slot}");
            observe(&mut plateau, frames, 42 * frames, 144.4);
        }
        observe(&mut plateau, 26, 42 * 26, 144.4);
        assert_eq!(plateau.longest(), Some(42.0));
        // Shorter frames do not change what was learned; longer frames and another rate do.
        observe(&mut plateau, 26, 30 * 26 + 7, 144.4);
        assert_eq!(plateau.longest(), Some(42.0));
        observe(&mut plateau, 26, 30 * 26 + 7, 72.2);
        assert_eq!(plateau.longest(), None);
    }

    #[test]
    fn equal_frames_show_nothing_while_few_packets_are_outstanding() {
        let mut plateau = Plateau::default();
        for _ in 0..10 {
            observe_sample(&mut plateau, &sample(5, 20, 29.3), 8.0);
        }
        assert_eq!(plateau.longest(), None);
    }

    #[test]
    fn varying_levels_show_nothing() {
        let mut plateau = Plateau::default();
        for packets in [840, 841, 840, 839, 840, 843] {
            observe(&mut plateau, 26, packets, 144.4);
        }
        assert_eq!(plateau.longest(), None);
    }
}
