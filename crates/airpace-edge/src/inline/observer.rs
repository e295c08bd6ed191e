//! The sensors of one access point: what passes the box in both directions becomes a report of each
//! station and slot.

use airpace_core::report::SlotReport;
use airpace_core::sensor::ack_burst::{AckBurst, DownlinkPacket, UplinkAck};
use airpace_core::sensor::ladder::Ladder;
use airpace_core::sensor::waiting::WaitingMeter;
use airpace_units::{StationId, Time};

/// Observes the stations of an access point without their help.
///
/// ```
/// use airpace_core::report::Sensor;
/// use airpace_edge::inline::Observer;
/// use airpace_units::Time;
///
/// let mut observer = Observer::default();
/// observer.join(Time::ZERO, 0);
/// // Nothing has passed: the report says no more than that.
/// let report = observer.close_slot(Time::from_millis(100), 0).unwrap();
/// assert_eq!((report.frames, report.sensor), (0, Sensor::None));
/// assert!(observer.close_slot(Time::from_millis(100), 1).is_none());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Observer {
    bursts: AckBurst,
    /// By index of the station; `None` where there is none.
    stations: Vec<Option<ObservedStation>>,
}

/// What is kept for one station beside its bursts.
#[derive(Clone, Debug)]
struct ObservedStation {
    waiting: WaitingMeter,
    ladder: Ladder,
}

impl Observer {
    /// A station has come, and its first slot begins.
    pub fn join(&mut self, now: Time, station: usize) {
        if self.stations.len() <= station {
            self.stations.resize_with(station + 1, || None);
        }
        self.stations[station] = Some(ObservedStation {
            waiting: WaitingMeter::new(now),
            ladder: Ladder::new(StationId::from_index(station), now),
        });
    }

    /// A station has left.
    pub fn leave(&mut self, station: usize) {
        self.bursts.remove(StationId::from_index(station));
        if let Some(observed) = self.stations.get_mut(station) {
            *observed = None;
        }
    }

    /// A packet leaves for the access point.
    pub fn on_sent(&mut self, now: Time, station: usize, packet: &DownlinkPacket) {
        let Some(Some(observed)) = self.stations.get_mut(station) else {
            return;
        };
        self.bursts
            .on_downlink(now, StationId::from_index(station), packet);
        if let Some(segment) = &packet.tcp {
            observed.waiting.on_segment(now, segment, None);
        }
    }

    /// A TCP acknowledgement has come.
    pub fn on_ack(&mut self, now: Time, station: usize, ack: &UplinkAck) {
        let Some(Some(observed)) = self.stations.get_mut(station) else {
            return;
        };
        self.bursts.on_ack(now, StationId::from_index(station), ack);
        observed.waiting.on_ack(now, ack);
    }

    /// An uplink packet without an acknowledgement has come.
    pub fn on_other(&mut self, now: Time, station: usize) {
        if let Some(Some(_)) = self.stations.get(station) {
            self.bursts
                .on_uplink_other(now, StationId::from_index(station));
        }
    }

    /// Ends the slot of a station. Returns what the sensors saw of it; `None` if there is no such
    /// station.
    pub fn close_slot(&mut self, now: Time, station: usize) -> Option<SlotReport> {
        let id = StationId::from_index(station);
        let observed = self.stations.get_mut(station)?.as_mut()?;
        let bursts = self.bursts.close_slot(now, id);
        let waiting = observed.waiting.close_slot(now, id);
        let bytes = bursts.bytes;
        let mut report = observed.ladder.pick(now, &[bursts, waiting]);
        // What was acknowledged is known even while the frames are not.
        report.bytes = report.bytes.max(bytes);
        Some(report)
    }
}
