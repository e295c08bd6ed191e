//! One access point: a proxy for its stations, and the sensors that observe them.

use super::station::Seat;
use crate::proxy::{Proxy, ProxyConfig, ProxyError, StationConfig};
use airpace_core::packet::Packet;
use airpace_core::report::{Sensor, SlotReport};
use airpace_core::sensor::USABLE;
use airpace_core::sensor::ack_burst::{AckBurst, DownlinkPacket, UplinkAck};
use airpace_units::{StationId, Time};
use core::time::Duration;

/// One access point. Its stations have seats, which are used again after a station has left.
pub(super) struct Medium<F> {
    pub(super) name: String,
    pub(super) proxy: Proxy<F>,
    bursts: AckBurst,
    slot: Duration,
    /// When the slot that runs ends.
    slot_end: Time,
    /// For each seat the station's index in the box's table, if it is taken.
    pub(super) seats: Vec<Option<usize>>,
    free: Vec<usize>,
}

impl<F: Packet> Medium<F> {
    pub(super) fn new(name: String, config: &ProxyConfig) -> Result<Self, ProxyError> {
        let slot = config.slot;
        Ok(Self {
            name,
            proxy: Proxy::new(config.clone(), |_| [0; 16])?,
            bursts: AckBurst::new(),
            slot,
            slot_end: Time::ZERO.saturating_add(slot),
            seats: Vec::new(),
            free: Vec::new(),
        })
    }

    /// Gives a station a seat. `hash_key` is the secret key of its queue, if the seat is new.
    pub(super) fn seat(
        &mut self,
        now: Time,
        index: usize,
        weight: f64,
        hash_key: [u8; 16],
    ) -> Result<usize, ProxyError> {
        let seat = match self.free.pop() {
            Some(seat) => {
                self.proxy.set_weight(seat, weight)?;
                seat
            }
            None => {
                let config = StationConfig {
                    weight,
                    ..StationConfig::default()
                };
                self.seats.push(None);
                self.proxy.add_station(config, hash_key)?
            }
        };
        self.seats[seat] = Some(index);
        self.proxy.set_connected(now, seat, true);
        Ok(seat)
    }

    /// Takes a station's seat. What waits for it is dropped.
    pub(super) fn leave(&mut self, now: Time, seat: usize) {
        self.proxy.set_connected(now, seat, false);
        self.bursts.remove(StationId::from_index(seat));
        self.seats[seat] = None;
        self.free.push(seat);
    }

    /// A packet leaves for the access point.
    pub(super) fn on_sent(&mut self, now: Time, seat: usize, packet: &DownlinkPacket) {
        self.bursts
            .on_downlink(now, StationId::from_index(seat), packet);
    }

    /// A TCP acknowledgement has come.
    pub(super) fn on_ack(&mut self, now: Time, seat: usize, ack: &UplinkAck) {
        self.bursts.on_ack(now, StationId::from_index(seat), ack);
    }

    /// An uplink packet without an acknowledgement has come.
    pub(super) fn on_other(&mut self, now: Time, seat: usize) {
        self.bursts.on_uplink_other(now, StationId::from_index(seat));
    }

    /// When [`Medium::handle_timeout`] must be called next.
    pub(super) fn deadline(&self) -> Option<Time> {
        let proxy = self.proxy.deadline();
        Some(proxy.map_or(self.slot_end, |proxy| proxy.min(self.slot_end)))
    }

    /// Ends the slot if it is over, and does what is due in the proxy.
    pub(super) fn handle_timeout(&mut self, now: Time) {
        if now >= self.slot_end {
            let next = self.slot_end.saturating_add(self.slot);
            self.slot_end = if next > now {
                next
            } else {
                now.saturating_add(self.slot)
            };
            for seat in 0..self.seats.len() {
                if self.seats[seat].is_some() {
                    let report = self.observed(now, seat);
                    self.proxy.on_report(now, report);
                }
            }
        }
        self.proxy.handle_timeout(now);
    }

    /// What the sensors saw of a station in the slot that ends.
    fn observed(&mut self, now: Time, seat: usize) -> SlotReport {
        let report = self.bursts.close_slot(now, StationId::from_index(seat));
        if report.confidence >= USABLE {
            return report;
        }
        // The bytes are known although the frames are not.
        SlotReport {
            frames: 0,
            mpdus: 0,
            packets: 0,
            span: None,
            sensor: Sensor::None,
            confidence: 0.0,
            ..report
        }
    }

    /// The box's index of the station in a seat.
    pub(super) fn station(&self, seat: usize) -> Option<usize> {
        self.seats.get(seat).copied().flatten()
    }
}

impl Seat {
    pub(super) const fn new(medium: usize, station: usize) -> Self {
        Self { medium, station }
    }
}
