//! Picks the best usable sensor of a station for each slot.
//!
//! A sensor that is better takes over once it has been usable for some slots in a row, and one that
//! fails is dropped after some: a level that changes its source with every slot would make the law
//! follow the differences between sensors.

use super::USABLE;
use crate::report::{Sensor, SlotReport};
use airpace_units::{StationId, Time};
use core::time::Duration;

/// Slots in a row for which a better sensor must be usable before it takes over.
const RISE: u32 = 3;
/// Slots in a row without a usable report after which a sensor is dropped.
const FALL: u32 = 3;

/// Which sensor speaks for a station.
///
/// ```
/// use airpace_core::report::{Sensor, SlotReport};
/// use airpace_core::sensor::ladder::Ladder;
/// use airpace_units::{StationId, Time};
/// use core::time::Duration;
///
/// let mut ladder = Ladder::new(StationId(0), Time::ZERO);
/// let bursts = SlotReport {
///     frames: 90,
///     packets: 1_800,
///     sensor: Sensor::AckBurst,
///     confidence: 0.8,
///     ..SlotReport::silent(StationId(0), Duration::from_millis(100))
/// };
/// // Better than nothing, it speaks at once.
/// let report = ladder.pick(Time::from_millis(100), &[bursts]);
/// assert_eq!((report.sensor, report.frames), (Sensor::AckBurst, 90));
/// ```
#[derive(Clone, Debug)]
pub struct Ladder {
    station: StationId,
    current: Sensor,
    /// Slots in a row for which each sensor, in the order of [`Sensor::ALL`], has been usable.
    usable: [u32; 5],
    /// Slots in a row for which the current sensor has not been usable.
    silent: u32,
    slot: u64,
    slot_start: Time,
}

impl Ladder {
    /// A ladder on its lowest rung, whose first slot begins at `start`.
    #[must_use]
    pub const fn new(station: StationId, start: Time) -> Self {
        Self {
            station,
            current: Sensor::None,
            usable: [0; 5],
            silent: 0,
            slot: 0,
            slot_start: start,
        }
    }

    /// The sensor that speaks for the station.
    #[must_use]
    pub const fn current(&self) -> Sensor {
        self.current
    }

    /// Ends a slot: returns the report of the sensor that speaks for the station, from those of the
    /// sensors that have one for this slot.
    ///
    /// A waiting time that the sensor does not have is taken from the best one that has it. If the
    /// sensor has nothing usable in this slot, the report has no frames and confidence 0.
    pub fn pick(&mut self, now: Time, reports: &[SlotReport]) -> SlotReport {
        for (sensor, usable) in Sensor::ALL.iter().zip(&mut self.usable) {
            let is_usable = usable_report(reports, *sensor).is_some();
            *usable = if is_usable {
                usable.saturating_add(1)
            } else {
                0
            };
        }
        self.step(reports);
        let length = now.saturating_since(self.slot_start);
        let mut picked = usable_report(reports, self.current)
            .cloned()
            .unwrap_or_else(|| SlotReport {
                sensor: self.current,
                confidence: 0.0,
                ..SlotReport::silent(self.station, length)
            });
        if picked.wait.is_none() {
            let mut waits: Vec<_> = reports
                .iter()
                .filter(|other| other.wait.is_some())
                .collect();
            waits.sort_by_key(|other| other.sensor);
            picked.wait = waits.first().and_then(|best| best.wait);
        }
        picked.station = self.station;
        picked.slot = self.slot;
        if picked.length.is_zero() {
            picked.length = length.max(Duration::from_micros(1));
        }
        self.slot += 1;
        self.slot_start = now;
        picked
    }

    /// Moves to another rung if it is time.
    fn step(&mut self, reports: &[SlotReport]) {
        let is_usable = usable_report(reports, self.current).is_some();
        self.silent = if is_usable {
            0
        } else {
            self.silent.saturating_add(1)
        };
        let better = Sensor::ALL
            .iter()
            .zip(self.usable)
            .find(|&(&sensor, usable)| sensor < self.current && usable >= RISE);
        if let Some((&sensor, _)) = better {
            self.turn_to(sensor);
        } else if self.current == Sensor::None || self.silent >= FALL {
            // Whatever there is is better than nothing, without delay.
            let best = reports
                .iter()
                .filter(|report| is_usable_report(report))
                .map(|report| report.sensor)
                .min();
            self.turn_to(best.unwrap_or(Sensor::None));
        }
    }

    /// Lets `sensor` speak for the station from now on, for one whose reports do not come at the end
    /// of slots and are not handed to [`Ladder::pick`].
    pub const fn turn_to(&mut self, sensor: Sensor) {
        self.current = sensor;
        self.silent = 0;
    }
}

fn usable_report(reports: &[SlotReport], sensor: Sensor) -> Option<&SlotReport> {
    reports
        .iter()
        .find(|report| report.sensor == sensor && is_usable_report(report))
}

/// Whether a report says anything: frames with enough confidence, or at least a waiting time. An
/// agent that received nothing says that too.
fn is_usable_report(report: &SlotReport) -> bool {
    let says_something = match report.sensor {
        Sensor::Agent => true,
        Sensor::BlockAck | Sensor::AckBurst => report.frames > 0,
        Sensor::WaitingTime => report.wait.is_some(),
        Sensor::None => false,
    };
    says_something && report.confidence >= USABLE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::WaitingTime;

    fn report(sensor: Sensor, confidence: f64) -> SlotReport {
        SlotReport {
            frames: if sensor == Sensor::WaitingTime { 0 } else { 10 },
            wait: (sensor == Sensor::WaitingTime).then(WaitingTime::default),
            sensor,
            confidence,
            ..SlotReport::silent(StationId(0), Duration::from_millis(100))
        }
    }

    /// The sensors picked in consecutive slots.
    fn picked(slots: &[&[(Sensor, f64)]]) -> Vec<Sensor> {
        let mut ladder = Ladder::new(StationId(7), Time::ZERO);
        let mut picked = Vec::new();
        for (slot, sensors) in (1..).zip(slots) {
            let reports: Vec<_> = sensors.iter().map(|&(s, c)| report(s, c)).collect();
            let best = ladder.pick(Time::from_millis(100 * slot), &reports);
            assert_eq!((best.station, best.slot), (StationId(7), slot - 1));
            picked.push(ladder.current());
        }
        picked
    }

    #[test]
    fn a_better_sensor_takes_over_after_three_slots() {
        use Sensor::{AckBurst, Agent};
        let both: &[_] = &[(AckBurst, 0.8), (Agent, 1.0)];
        let slots = [&[(AckBurst, 0.8)][..], both, both, both];
        assert_eq!(picked(&slots), [AckBurst, AckBurst, AckBurst, Agent]);
    }

    #[test]
    fn a_sensor_that_fails_is_kept_for_two_slots() {
        use Sensor::{AckBurst, BlockAck};
        let good: &[_] = &[(BlockAck, 0.9), (AckBurst, 0.8)];
        let bad: &[_] = &[(BlockAck, 0.2), (AckBurst, 0.8)];
        let slots = [good, bad, bad, good, bad, bad, bad];
        let expected = [
            BlockAck, BlockAck, BlockAck, BlockAck, BlockAck, BlockAck, AckBurst,
        ];
        assert_eq!(picked(&slots), expected);
    }

    #[test]
    fn without_any_sensor_the_report_says_so() {
        let mut ladder = Ladder::new(StationId(0), Time::ZERO);
        let report = ladder.pick(Time::from_millis(100), &[]);
        assert_eq!(
            (report.sensor, report.frames, report.confidence),
            (Sensor::None, 0, 0.0)
        );
        assert_eq!(report.length, Duration::from_millis(100));
    }

    #[test]
    fn a_waiting_time_completes_the_report_of_another_sensor() {
        let mut ladder = Ladder::new(StationId(0), Time::ZERO);
        let reports = [
            report(Sensor::AckBurst, 0.8),
            report(Sensor::WaitingTime, 1.0),
        ];
        let picked = ladder.pick(Time::from_millis(100), &reports);
        assert_eq!(picked.sensor, Sensor::AckBurst);
        assert!(picked.wait.is_some() && picked.frames == 10);
    }
}
