//! What is kept of a station for its operator: means of about the last second, and which sensor has
//! been lost. Nothing is decided by it.

use super::cause::ToldCause;
use super::sojourn::RecentSojourns;
use airpace_core::control::AirEstimate;
use airpace_core::report::{Allocation, Sensor, SlotReport};
use airpace_core::sensor::ack_burst::FlowKey;
use airpace_core::sensor::wired::{WiredMeter, WiredRoundTrip};
use airpace_units::Time;
use core::time::Duration;

/// Time constant of the means, seconds: a slot is too short to read.
const MEMORY_S: f64 = 1.0;
/// Slots in a row for which another sensor must speak before that is told. Sensors that need traffic
/// come and go with it.
const SENSOR_SLOTS: u8 = 10;
/// A round trip on the wired side is shown for this long.
const WIRED_MEMORY: Duration = Duration::from_secs(3);
/// The loss of a sensor that needs TCP is shown for this long: the station may have no TCP any more.
const ACK_LOSS_MEMORY: Duration = Duration::from_secs(300);

/// Figures of a station, means of about the last second.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Recent {
    /// Bits per second of IP packets sent to the access point.
    pub sent_bps: f64,
    /// Packets per second of them.
    pub sent_pps: f64,
    /// Bits per second that have arrived at the station; `None` without a sensor.
    pub goodput_bps: Option<f64>,
    /// Bits per second that were granted; `None` while everything passes.
    pub granted_bps: Option<f64>,
    /// Share of the packets that had to wait for the pacer, 0 to 1.
    pub held_share: f64,
    /// Share of the slots at the end of which packets waited, 0 to 1.
    pub queued_share: f64,
    /// Share of the slots in which packets were sent, 0 to 1.
    pub active_share: f64,
    /// Frames per second on the air; a guess without a sensor.
    pub frames_per_s: f64,
    /// Share of the air that the station uses in both directions, before all shares of an access point
    /// are scaled to 1 at most; `None` if it is not known.
    pub air_share: Option<f64>,
    /// The round trip between the box and the servers that was disturbed least.
    pub wired: Option<WiredRoundTrip>,
    /// Median waiting time behind the box, above the smallest of the last minute; `None` until a sensor
    /// has told it.
    pub air_wait: Option<Duration>,
}

/// A sensor that a station has lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LostSensor {
    /// The sensor.
    pub sensor: Sensor,
    /// Since when it is missed.
    pub since: Time,
}

/// Another sensor speaks for a station.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SensorChange {
    pub(super) from: Sensor,
    pub(super) to: Sensor,
}

/// What the end of a slot shows of a station.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlotView<'a> {
    pub(super) granted: Option<Allocation>,
    pub(super) report: Option<&'a SlotReport>,
    pub(super) air: Option<AirEstimate>,
    /// Packets that wait.
    pub(super) queued: usize,
}

/// What is kept of one station.
#[derive(Clone, Debug)]
pub(super) struct StationWatch {
    pub(super) recent: Recent,
    pub(super) air: Option<AirEstimate>,
    pub(super) lost: Option<LostSensor>,
    pub(super) told: Option<ToldCause>,
    wired: WiredMeter,
    wired_at: Time,
    sojourns: RecentSojourns,
    slot_began: Time,
    sent_bytes: u64,
    sent_packets: u64,
    /// The sensor that was told last, the one that may follow, and for how many slots it has spoken.
    sensor: Sensor,
    candidate: Sensor,
    candidate_slots: u8,
    has_begun: bool,
}

impl StationWatch {
    pub(super) fn new(now: Time) -> Self {
        Self {
            recent: Recent::default(),
            air: None,
            lost: None,
            told: None,
            wired: WiredMeter::default(),
            wired_at: Time::ZERO,
            sojourns: RecentSojourns::new(now),
            slot_began: now,
            sent_bytes: 0,
            sent_packets: 0,
            sensor: Sensor::None,
            candidate: Sensor::None,
            candidate_slots: 0,
            has_begun: false,
        }
    }

    /// A TCP segment from the station passes, with its timestamp.
    pub(super) fn on_uplink(&mut self, now: Time, flow: FlowKey, timestamp: u32) {
        self.wired.on_uplink(now, flow, timestamp);
    }

    /// A TCP segment for the station arrives, which returns a timestamp.
    pub(super) fn on_arrival(&mut self, now: Time, flow: FlowKey, echo: u32) {
        self.wired.on_downlink(now, flow, echo);
    }

    /// A packet leaves after it has waited.
    pub(super) fn on_sent(&mut self, bytes: u32, waited: Duration) {
        self.sent_bytes += u64::from(bytes);
        self.sent_packets += 1;
        self.sojourns.add(waited);
    }

    /// Ends a slot. Returns a change of the sensor that is to be told.
    pub(super) fn close_slot(&mut self, now: Time, view: &SlotView<'_>) -> Option<SensorChange> {
        let length_s = now.saturating_since(self.slot_began).as_secs_f64();
        if length_s <= 0.0 {
            return None;
        }
        self.slot_began = now;
        let (bytes, packets) = (self.sent_bytes, self.sent_packets);
        (self.sent_bytes, self.sent_packets) = (0, 0);
        // The first slot stands for all before it.
        let gain = if core::mem::replace(&mut self.has_begun, true) {
            1.0 - (-length_s / MEMORY_S).exp()
        } else {
            1.0
        };
        let recent = &mut self.recent;
        let mix = |mean: &mut f64, new: f64| *mean += gain * (new - *mean);
        let pps = packets as f64 / length_s;
        mix(&mut recent.sent_bps, 8.0 * bytes as f64 / length_s);
        mix(&mut recent.sent_pps, pps);
        mix(&mut recent.queued_share, share_if(view.queued > 0));
        mix(&mut recent.active_share, share_if(packets > 0));
        let granted = view.granted;
        let granted_bps = granted.map(|granted| 8.0 * granted.rate_bytes_per_s);
        recent.granted_bps = mixed(recent.granted_bps, granted_bps, gain);
        let goodput_bps = view.report.and_then(goodput_bps);
        recent.goodput_bps = mixed(recent.goodput_bps, goodput_bps, gain);
        if let Some(report) = view.report.filter(|report| report.sender.sent_packets > 0) {
            let sender = &report.sender;
            let held = f64::from(sender.held_packets) / f64::from(sender.sent_packets);
            mix(&mut recent.held_share, held.min(1.0));
        }
        if let Some(wait) = view.report.and_then(|report| report.wait) {
            let wait_s = wait.p50.as_secs_f64();
            let mean_s = mixed(
                recent.air_wait.map(|mean| mean.as_secs_f64()),
                Some(wait_s),
                gain,
            );
            recent.air_wait = mean_s.map(Duration::from_secs_f64);
        }
        mix(&mut recent.frames_per_s, frames_per_s(view, pps));
        // At an unknown rate a packet may take anything, but no packets take nothing.
        let is_told = |air: &AirEstimate| air.phy_bps.is_some() || recent.sent_pps < 1.0;
        recent.air_share = view.air.filter(is_told).map(|air| {
            let packets_share = recent.sent_pps * air.packet_s;
            packets_share + recent.frames_per_s * air.frame_overhead_s + air.uplink_share
        });
        self.air = view.air;
        self.sojourns.advance(now);
        self.note_wired(now);
        self.note_sensor(now, view.report, packets > 0)
    }

    /// Returns the quantile `share`, 0 to 1, of the time that packets have lately waited in the box.
    pub(super) fn sojourn(&self, share: f64) -> Option<Duration> {
        self.sojourns.quantile(share)
    }

    fn note_wired(&mut self, now: Time) {
        if let Some(trip) = self.wired.take() {
            (self.recent.wired, self.wired_at) = (Some(trip), now);
        } else if now.saturating_since(self.wired_at) > WIRED_MEMORY {
            self.recent.wired = None;
        }
    }

    /// Notes which sensor speaks, and whether a better one is missed.
    fn note_sensor(
        &mut self,
        now: Time,
        report: Option<&SlotReport>,
        has_traffic: bool,
    ) -> Option<SensorChange> {
        let lost_long_ago = |lost: &LostSensor| {
            lost.sensor == Sensor::AckBurst && now.saturating_since(lost.since) > ACK_LOSS_MEMORY
        };
        self.lost = self.lost.filter(|lost| !lost_long_ago(lost));
        let current = report.map_or(Sensor::None, |report| report.sensor);
        if current == self.sensor {
            self.candidate_slots = 0;
            return None;
        }
        if current != self.candidate {
            (self.candidate, self.candidate_slots) = (current, 0);
        }
        // Without traffic only an agent has anything to say.
        if has_traffic || self.sensor == Sensor::Agent {
            self.candidate_slots += 1;
        }
        if self.candidate_slots < SENSOR_SLOTS {
            return None;
        }
        self.candidate_slots = 0;
        let from = core::mem::replace(&mut self.sensor, current);
        self.lost = match self.lost {
            Some(lost) if current > lost.sensor => Some(lost),
            None if current > from && has_level(from) => Some(LostSensor {
                sensor: from,
                since: now,
            }),
            _ => None,
        };
        Some(SensorChange { from, to: current })
    }
}

/// Whether a sensor tells the level of frames.
pub(super) const fn has_level(sensor: Sensor) -> bool {
    matches!(sensor, Sensor::Agent | Sensor::BlockAck | Sensor::AckBurst)
}

fn share_if(is_true: bool) -> f64 {
    f64::from(u8::from(is_true))
}

/// The mean with another value; it begins anew where there was none.
fn mixed(mean: Option<f64>, new: Option<f64>, gain: f64) -> Option<f64> {
    let new = new.filter(|new| new.is_finite())?;
    Some(mean.map_or(new, |mean| mean + gain * (new - mean)))
}

/// Bits per second that arrived in a slot; `None` where nobody has seen it.
fn goodput_bps(report: &SlotReport) -> Option<f64> {
    let seconds = report.length.as_secs_f64();
    (report.sensor != Sensor::None && seconds > 0.0).then(|| 8.0 * report.bytes as f64 / seconds)
}

/// Frames per second, as a sensor has counted them, or as the granted level makes them from packets.
fn frames_per_s(view: &SlotView<'_>, pps: f64) -> f64 {
    if let Some(report) = view.report.filter(|report| report.frames > 0) {
        return f64::from(report.frames) / report.length.as_secs_f64().max(1e-3);
    }
    let level = view.granted.map_or(1.0, |granted| granted.level);
    pps / level.max(1.0)
}
