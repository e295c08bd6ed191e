//! One access point: a proxy for its stations, and the sensors that observe them.

use super::config::MediumConfig;
use super::observer::Observer;
use super::station::{LearntStation, Seat};
use crate::proxy::{Proxy, ProxyConfig, ProxyError, StationConfig};
use airpace_core::packet::Packet;
use airpace_core::report::SlotReport;
use airpace_core::sensor::ack_burst::{DownlinkPacket, UplinkAck, UplinkQuic};
use airpace_units::Time;
use core::time::Duration;

/// One access point. Its stations have seats, which are used again after a station has left.
pub(super) struct Medium<F> {
    pub(super) name: String,
    pub(super) proxy: Proxy<F>,
    pub(super) observer: Observer,
    slot: Duration,
    /// When the slot that runs ends.
    slot_end: Time,
    /// The station in each seat, by its index in the box's table.
    seats: Vec<Option<usize>>,
    free: Vec<usize>,
}

impl<F: Packet> Medium<F> {
    pub(super) fn new(medium: &MediumConfig, config: &ProxyConfig) -> Result<Self, ProxyError> {
        let slot = config.slot;
        Ok(Self {
            name: medium.name.clone(),
            proxy: Proxy::new(config.clone(), |_| [0; 16])?,
            observer: Observer::with_radio(slot, medium.bssid),
            slot,
            slot_end: Time::ZERO.saturating_add(slot),
            seats: Vec::new(),
            free: Vec::new(),
        })
    }

    /// Takes over another configuration.
    pub(super) fn reconfigure(
        &mut self,
        now: Time,
        config: &ProxyConfig,
    ) -> Result<(), ProxyError> {
        self.proxy.reconfigure(now, config)?;
        self.slot = config.slot;
        Ok(())
    }

    /// Gives a station a seat. `hash_key` is the secret key of its queue, if the seat is new.
    pub(super) fn seat(
        &mut self,
        now: Time,
        index: usize,
        station: &LearntStation,
        hash_key: [u8; 16],
    ) -> Result<usize, ProxyError> {
        let weight = station.weight;
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
                let seat = self.proxy.add_station(config, hash_key)?;
                self.seats.push(None);
                seat
            }
        };
        self.seats[seat] = Some(index);
        self.observer.join(now, seat);
        self.observer.set_address(seat, station.mac);
        self.set_exempt(now, seat, station.is_exempt);
        self.proxy.set_connected(now, seat, true);
        Ok(seat)
    }

    /// Takes a station's seat. What waits for it is dropped.
    pub(super) fn leave(&mut self, now: Time, seat: usize) {
        self.proxy.set_connected(now, seat, false);
        self.observer.leave(seat);
        self.seats[seat] = None;
        self.free.push(seat);
    }

    /// Lets the packets for a station pass, or no longer.
    pub(super) fn set_exempt(&mut self, now: Time, seat: usize, is_exempt: bool) {
        self.proxy.set_exempt(now, seat, is_exempt);
        self.observer.set_exempt(seat, is_exempt);
    }

    /// A packet leaves for the access point.
    pub(super) fn on_sent(&mut self, now: Time, seat: usize, packet: &DownlinkPacket) {
        self.observer.on_sent(now, seat, packet);
    }

    /// A TCP acknowledgement has come.
    pub(super) fn on_ack(&mut self, now: Time, seat: usize, ack: &UplinkAck) {
        self.observer.on_ack(now, seat, ack);
    }

    /// An uplink packet without an acknowledgement has come.
    pub(super) fn on_other(&mut self, now: Time, seat: usize, before_bytes: u32) {
        self.observer.on_other(now, seat, before_bytes);
    }

    /// A QUIC packet with a short header has come.
    pub(super) fn on_quic(&mut self, now: Time, seat: usize, packet: &UplinkQuic) {
        self.observer.on_quic(now, seat, packet);
    }

    /// When the slot that runs ends.
    pub(super) const fn slot_end(&self) -> Time {
        self.slot_end
    }

    /// Takes the report of the agent on a station. Returns `false` if it repeats the one before.
    pub(super) fn on_report(&mut self, now: Time, seat: usize, report: SlotReport) -> bool {
        match self.observer.on_report(now, seat, report) {
            Ok(Some(report)) => self.proxy.on_report(now, report),
            // Another sensor still speaks for the station.
            Ok(None) => {}
            Err(_) => return false,
        }
        true
    }

    /// When the next frames that a pacer holds back may leave, if any are held back.
    pub(super) fn release(&self) -> Option<Time> {
        self.proxy.release()
    }

    /// When [`Medium::handle_timeout`] must be called next.
    pub(super) fn deadline(&self) -> Option<Time> {
        let proxy = self.proxy.deadline();
        Some(proxy.map_or(self.slot_end, |proxy| proxy.min(self.slot_end)))
    }

    /// Ends the slot if it is over, and does what is due in the proxy. Returns whether it was over.
    pub(super) fn handle_timeout(&mut self, now: Time) -> bool {
        let is_over = now >= self.slot_end;
        if is_over {
            let next = self.slot_end.saturating_add(self.slot);
            self.slot_end = if next > now {
                next
            } else {
                now.saturating_add(self.slot)
            };
            let observer = &mut self.observer;
            let reports = (0..self.seats.len()).filter_map(|seat| observer.close_slot(now, seat));
            self.proxy.on_reports(now, reports);
            // After all stations: acknowledgements that do not name their sender are divided among
            // them.
            self.observer.close_cell();
        }
        self.proxy.handle_timeout(now);
        is_over
    }

    /// The box's index of the station in a seat.
    pub(super) fn station(&self, seat: usize) -> Option<usize> {
        *self.seats.get(seat)?
    }
}

impl Seat {
    pub(super) const fn new(medium: usize, station: usize) -> Self {
        Self { medium, station }
    }
}
