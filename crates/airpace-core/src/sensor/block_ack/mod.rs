//! Levels and rounds from block acks that a radio near the access point hears.
//!
//! Block acks, RTS and CTS go out at legacy rates, so a radio hears them where it cannot decode
//! data. The time between a station's block acks is the round; the advance of the highest sequence
//! number that they acknowledge is what the frames between them carried. The sum of the advances
//! survives block acks that were missed, their number does not: `missed` estimates how many there
//! were. `docs/design/sensors.md` has the method and its limits.

mod airtime;
mod missed;
mod station;
#[cfg(test)]
mod tests;

use crate::phy::{AccessCategory, SIFS};
use crate::report::{LevelSource, Sensor, SlotReport};
use crate::wire::control::ControlFrame;
use crate::wire::ieee80211::{DataHeader, Direction, MacAddr};
use airpace_units::{BitRate, StationId, Time};
use core::time::Duration;
use missed::{Likelihoods, Miss, Witnessed};
use station::StationBlockAcks;
use std::collections::BTreeMap;

/// A CTS answers an RTS within this time: SIFS, and the granularity of timestamps.
const CTS_ANSWER: Duration = Duration::from_micros(30);

/// Slots after which the likelihoods of missed block acks are computed again.
const FIT_EVERY: u32 = 10;

/// When a frame was on the air.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OnAir {
    /// Beginning of the frame.
    pub start: Time,
    /// Its end.
    pub end: Time,
}

/// Why block acks do not tell of a station's frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unusable {
    /// More was acknowledged than was sent: somebody forges block acks, or the station receives by other
    /// ways too.
    Doubted,
    /// Hardly any are heard although packets are sent to it.
    Unheard,
    /// Most are missed.
    MostMissed,
    /// How many are missed is not known: neither RTS, CTS nor data headers are heard, and what the block acks
    /// acknowledge does not tell.
    MissedUnknown,
}

/// The channel in a slot, beside the downlink of the access point.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AirUse {
    /// Time for which exchanges of others, between radios that are neither the access point nor its
    /// stations, kept the channel busy, as far as they were heard.
    pub others: Duration,
    /// Uplink frames that the access point acknowledged by block acks.
    pub uplink_frames: u32,
}

/// Derives slot reports from the control frames of one access point's cell.
#[derive(Clone, Debug)]
pub struct BlockAckRadio {
    /// The access point's addresses, one for each of its networks.
    bssids: Vec<MacAddr>,
    stations: BTreeMap<MacAddr, StationBlockAcks>,
    /// An RTS of the access point, until its CTS comes: whom it asks, and its end.
    asked: Option<(MacAddr, Time)>,
    /// Acknowledgements to the access point in this slot whose sender is not known.
    anonymous_acks: f64,
    air: AirUse,
    /// The probability that a block ack is missed, as of the last slot.
    miss: Miss,
    /// Slots of stations in which more was acknowledged than was sent.
    doubted_slots: u64,
    /// Slots of the cell since the likelihoods were computed.
    slots_since_fit: u32,
    likelihoods: Option<Likelihoods>,
    /// Until when the channel is known to be busy by others.
    others_until: Time,
    /// End of the last frame that was heard, of whomever.
    heard_until: Option<Time>,
}

impl BlockAckRadio {
    /// A sensor for the cell of the access point `bssid`.
    #[must_use]
    pub fn new(bssid: MacAddr) -> Self {
        Self {
            bssids: vec![bssid],
            stations: BTreeMap::new(),
            asked: None,
            anonymous_acks: 0.0,
            air: AirUse {
                others: Duration::ZERO,
                uplink_frames: 0,
            },
            miss: Miss::UNKNOWN,
            doubted_slots: 0,
            slots_since_fit: 0,
            likelihoods: None,
            others_until: Time::ZERO,
            heard_until: None,
        }
    }

    /// Adds an address of the same access point, which has one for each of its networks.
    pub fn add_bssid(&mut self, bssid: MacAddr) {
        if !self.is_own(bssid) {
            self.bssids.push(bssid);
        }
    }

    /// The access point's addresses.
    #[must_use]
    pub fn bssids(&self) -> &[MacAddr] {
        &self.bssids
    }

    /// Whether `address` is one of the access point's.
    #[must_use]
    pub fn is_own(&self, address: MacAddr) -> bool {
        self.bssids.contains(&address)
    }

    /// A packet of `bytes` with IP header is handed to the access point for `station`.
    pub fn on_downlink(&mut self, now: Time, station: MacAddr, bytes: u32) {
        self.station(now, station).on_downlink(bytes);
    }

    /// A control frame was heard.
    pub fn on_control(&mut self, heard: OnAir, frame: &ControlFrame<'_>) {
        let free_since = self.heard_until.replace(heard.end);
        match *frame {
            ControlFrame::Rts {
                duration_us,
                receiver,
                transmitter,
            } => {
                if self.is_own(transmitter) {
                    self.asked = Some((receiver, heard.end));
                } else if !self.is_own(receiver) {
                    self.reserve(heard, duration_us);
                }
            }
            ControlFrame::Cts {
                duration_us,
                receiver,
            } => self.on_cts(heard, receiver, duration_us),
            ControlFrame::Ack { receiver } if self.is_own(receiver) => self.on_ack(heard),
            ControlFrame::BlockAck(ref block_ack) => {
                if self.is_own(block_ack.receiver) {
                    if !AccessCategory::of_user_priority(block_ack.tid).has_precedence() {
                        self.station(heard.end, block_ack.transmitter)
                            .on_block_ack(heard, block_ack, free_since);
                    }
                } else if self.is_own(block_ack.transmitter) {
                    self.air.uplink_frames += 1;
                } else {
                    self.reserve(heard, 0);
                }
            }
            ControlFrame::Ack { .. }
            | ControlFrame::BlockAckRequest { .. }
            | ControlFrame::MultiStation(_) => {}
        }
    }

    /// The header of a data MPDU was heard, at `rate` if that is known.
    pub fn on_data(&mut self, heard: OnAir, header: &DataHeader, rate: Option<BitRate>) {
        self.heard_until = Some(heard.end);
        let from_ap = header.direction == Direction::FromDs && self.is_own(header.transmitter);
        let is_low = header
            .tid
            .is_none_or(|tid| !AccessCategory::of_user_priority(tid).has_precedence());
        // Group-addressed frames are not acknowledged.
        let is_group = header.receiver.0[0] & 1 == 1;
        if from_ap && is_low && !is_group {
            self.station(heard.end, header.receiver)
                .on_data(heard, rate);
        } else if !from_ap && !self.is_own(header.receiver) {
            self.reserve(heard, 0);
        }
    }

    /// Ends the slot of the station `address`. Without a usable estimate the report has no frames
    /// and confidence 0.
    ///
    /// Close the slots of all stations at the same time: acknowledgements of single frames do not
    /// name their senders and are divided among the stations.
    pub fn close_slot(&mut self, now: Time, address: MacAddr, station: StationId) -> SlotReport {
        let weights: f64 = self
            .stations
            .values()
            .map(StationBlockAcks::single_weight)
            .sum();
        let answers: f64 = self
            .stations
            .values()
            .map(StationBlockAcks::recent_answers)
            .sum();
        let anonymous = self.anonymous_acks;
        let miss = self.miss;
        let own = self.station(now, address);
        let share = if weights > 0.0 {
            anonymous * own.single_weight() / weights
        } else {
            0.0
        };
        let of_others = if answers > 0.0 {
            1.0 - own.recent_answers() / answers
        } else {
            0.0
        };
        let slot = own.close_slot(now, share, miss, of_others);
        self.doubted_slots += u64::from(slot.is_doubted);
        SlotReport {
            slot: slot.number,
            frames: slot.frames,
            mpdus: slot.mpdus,
            packets: slot.packets,
            bytes: slot.bytes,
            span: slot.span,
            inverse_rate_sum: slot.inverse_rate * f64::from(slot.frames),
            recent_inverse_rate: slot.inverse_rate,
            late: slot.holes,
            source: LevelSource::Counters,
            sensor: Sensor::BlockAck,
            confidence: slot.confidence,
            ..SlotReport::silent(station, slot.length)
        }
    }

    /// Ends the slot of the cell, after those of its stations: how the channel was used beside the
    /// downlink.
    pub fn close_cell(&mut self) -> AirUse {
        self.anonymous_acks = 0.0;
        let mut witnessed = Witnessed::default();
        for station in self.stations.values_mut() {
            station.forget_weight();
            witnessed.add(station.witnessed());
        }
        self.miss = missed::of_cell(witnessed, self.likelihoods.as_ref());
        self.slots_since_fit += 1;
        // The fit is costly and only needed where no exchanges are witnessed.
        if self.slots_since_fit >= FIT_EVERY && self.miss.confidence < missed::WITNESSED {
            self.slots_since_fit = 0;
            let mut sum = Likelihoods::default();
            let mut advances = 0;
            for station in self.stations.values() {
                advances += station.add_likelihoods(&mut sum);
            }
            self.likelihoods = missed::is_enough(advances).then_some(sum);
        }
        core::mem::take(&mut self.air)
    }

    /// Why the last slot of the station `address` had no usable estimate; `None` if it had one, or too little
    /// was sent for one.
    #[must_use]
    pub fn unusable(&self, address: MacAddr) -> Option<Unusable> {
        self.stations.get(&address)?.unusable()
    }

    /// Slots of stations, since the start, whose block acks acknowledge more than was sent, so that
    /// they are not believed: somebody forges them, or the stations receive by other ways.
    #[must_use]
    pub const fn doubted_slots(&self) -> u64 {
        self.doubted_slots
    }

    /// Forgets all stations but those for which `keep` holds: anybody may send block acks to the
    /// access point.
    pub fn retain(&mut self, mut keep: impl FnMut(MacAddr) -> bool) {
        self.stations.retain(|&station, _| keep(station));
    }

    /// Forgets a station that has left.
    pub fn remove(&mut self, station: MacAddr) {
        self.stations.remove(&station);
    }

    fn on_cts(&mut self, heard: OnAir, receiver: MacAddr, duration_us: u16) {
        if !self.is_own(receiver) {
            self.reserve(heard, duration_us);
            return;
        }
        // A CTS does not say who sent it. It is the station that the access point has just asked.
        let asked = self.asked.take();
        if let Some((station, _)) =
            asked.filter(|&(_, end)| heard.start.saturating_since(end) <= CTS_ANSWER)
        {
            let duration = Duration::from_micros(u64::from(duration_us));
            self.station(heard.end, station).on_cts(heard, duration);
        }
    }

    fn on_ack(&mut self, heard: OnAir) {
        // The data frame that it answers ended SIFS before, and may have been heard.
        let answered = self
            .stations
            .values_mut()
            .find(|station| station.awaits_ack(heard));
        match answered {
            Some(station) => station.on_ack(heard),
            None => self.anonymous_acks += 1.0,
        }
    }

    /// Others use the channel during `heard` and for `duration_us` afterwards.
    fn reserve(&mut self, heard: OnAir, duration_us: u16) {
        let end = heard
            .end
            .saturating_add(Duration::from_micros(u64::from(duration_us)));
        let begin = heard.start.max(self.others_until);
        self.air.others += end.saturating_since(begin);
        self.others_until = self.others_until.max(end);
    }

    fn station(&mut self, now: Time, address: MacAddr) -> &mut StationBlockAcks {
        self.stations
            .entry(address)
            .or_insert_with(|| StationBlockAcks::new(now))
    }
}

/// Whether `answer` begins SIFS after `end`, as exactly as timestamps allow.
fn answers(end: Time, answer: OnAir) -> bool {
    let gap = answer.start.saturating_since(end);
    answer.start >= end && gap <= 2 * SIFS
}
