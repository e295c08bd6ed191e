//! One access point: a proxy for its stations, and the sensors that observe them.

use super::config::MediumConfig;
use super::radio::CellRadio;
use super::reports::{self, AgentReports};
use super::station::Seat;
use crate::proxy::{Proxy, ProxyConfig, ProxyError, StationConfig};
use airpace_core::packet::Packet;
use airpace_core::report::{Sensor, SlotReport, WaitingTime};
use airpace_core::sensor::ack_burst::{AckBurst, DownlinkPacket, UplinkAck};
use airpace_core::sensor::ladder::Ladder;
use airpace_core::sensor::waiting::WaitingMeter;
use airpace_core::wire::ieee80211::MacAddr;
use airpace_units::{StationId, Time};
use core::time::Duration;

/// The station in a seat.
pub(super) struct Occupant {
    /// Its index in the box's table.
    pub(super) index: usize,
    mac: MacAddr,
    waiting: WaitingMeter,
    ladder: Ladder,
    agent: AgentReports,
    /// What the box saw in its last slot: the waiting time, and the bytes acknowledged.
    last_wait: Option<WaitingTime>,
    last_acknowledged: u64,
}

/// One access point. Its stations have seats, which are used again after a station has left.
pub(super) struct Medium<F> {
    pub(super) name: String,
    pub(super) proxy: Proxy<F>,
    bursts: AckBurst,
    pub(super) radio: CellRadio,
    slot: Duration,
    /// When the slot that runs ends.
    slot_end: Time,
    pub(super) seats: Vec<Option<Occupant>>,
    free: Vec<usize>,
}

impl<F: Packet> Medium<F> {
    pub(super) fn new(medium: &MediumConfig, config: &ProxyConfig) -> Result<Self, ProxyError> {
        let slot = config.slot;
        Ok(Self {
            name: medium.name.clone(),
            radio: CellRadio::new(medium.bssid),
            proxy: Proxy::new(config.clone(), |_| [0; 16])?,
            bursts: AckBurst::new(),
            slot,
            slot_end: Time::ZERO.saturating_add(slot),
            seats: Vec::new(),
            free: Vec::new(),
        })
    }

    /// Gives the station `mac` a seat. `hash_key` is the secret key of its queue, if the seat is new.
    pub(super) fn seat(
        &mut self,
        now: Time,
        index: usize,
        mac: MacAddr,
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
                let seat = self.proxy.add_station(config, hash_key)?;
                self.seats.push(None);
                seat
            }
        };
        let id = StationId::from_index(seat);
        self.seats[seat] = Some(Occupant {
            index,
            mac,
            waiting: WaitingMeter::new(now),
            ladder: Ladder::new(id, now),
            agent: AgentReports::default(),
            last_wait: None,
            last_acknowledged: 0,
        });
        self.proxy.set_connected(now, seat, true);
        Ok(seat)
    }

    /// Takes a station's seat. What waits for it is dropped.
    pub(super) fn leave(&mut self, now: Time, seat: usize) {
        self.proxy.set_connected(now, seat, false);
        self.bursts.remove(StationId::from_index(seat));
        if let Some(occupant) = self.seats[seat].take() {
            self.radio.remove(occupant.mac);
        }
        self.free.push(seat);
    }

    /// A packet leaves for the access point.
    pub(super) fn on_sent(&mut self, now: Time, seat: usize, packet: &DownlinkPacket) {
        self.bursts
            .on_downlink(now, StationId::from_index(seat), packet);
        let Some(Some(occupant)) = self.seats.get_mut(seat) else {
            return;
        };
        self.radio.on_downlink(now, occupant.mac, packet.bytes);
        if let Some(segment) = &packet.tcp {
            occupant.waiting.on_segment(now, segment, None);
        }
    }

    /// A TCP acknowledgement has come.
    pub(super) fn on_ack(&mut self, now: Time, seat: usize, ack: &UplinkAck) {
        self.bursts.on_ack(now, StationId::from_index(seat), ack);
        if let Some(Some(occupant)) = self.seats.get_mut(seat) {
            occupant.waiting.on_ack(now, ack);
        }
    }

    /// An uplink packet without an acknowledgement has come.
    pub(super) fn on_other(&mut self, now: Time, seat: usize) {
        self.bursts
            .on_uplink_other(now, StationId::from_index(seat));
    }

    /// Takes a frame of the monitor interface near the access point.
    pub(super) fn on_radio_frame(&mut self, arrival: Time, bytes: &[u8], length: usize) {
        let is_station = |mac: MacAddr| seats_hold(&self.seats, mac);
        self.radio.on_frame(arrival, bytes, length, is_station);
    }

    /// Takes the report of the agent on a station. Returns `false` if it repeats the one before.
    pub(super) fn on_report(&mut self, now: Time, seat: usize, mut report: SlotReport) -> bool {
        let Some(Some(occupant)) = self.seats.get_mut(seat) else {
            return false;
        };
        report.station = StationId::from_index(seat);
        if !occupant.agent.take(now, self.slot, &mut report) {
            return false;
        }
        let current = occupant.ladder.current();
        if current != Sensor::Agent && !occupant.agent.takes_over(current) {
            return true;
        }
        occupant.ladder.turn_to(Sensor::Agent);
        reports::complete(&mut report, occupant.last_wait, occupant.last_acknowledged);
        occupant.agent.number(&mut report);
        self.proxy.on_report(now, report);
        true
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
                if self.seats[seat].is_some()
                    && let Some(report) = self.observed(now, seat)
                {
                    self.proxy.on_report(now, report);
                }
            }
            // Acknowledgements that do not name their sender are divided among the stations, so all
            // of them come first.
            self.radio.close_cell(|mac| seats_hold(&self.seats, mac));
        }
        self.proxy.handle_timeout(now);
    }

    /// What the sensors saw of a station in the slot that ends; `None` while its agent speaks for
    /// it, whose reports are passed on as they come.
    fn observed(&mut self, now: Time, seat: usize) -> Option<SlotReport> {
        let id = StationId::from_index(seat);
        let bursts = self.bursts.close_slot(now, id);
        let Some(Some(occupant)) = self.seats.get_mut(seat) else {
            return Some(bursts);
        };
        let waiting = occupant.waiting.close_slot(now, id);
        let block_acks = self.radio.close_slot(now, occupant.mac, id);
        // Bytes are known even while the frames are not.
        let bytes = bursts.bytes;
        occupant.last_wait = waiting.wait;
        occupant.last_acknowledged = bytes;
        let agent_speaks = occupant.ladder.current() == Sensor::Agent;
        if agent_speaks && occupant.agent.is_present(now, self.slot) {
            return None;
        }
        let mut candidates = vec![bursts, waiting];
        candidates.extend(block_acks);
        let mut report = occupant.ladder.pick(now, &candidates);
        report.bytes = report.bytes.max(bytes);
        if report.sensor == Sensor::Agent && report.confidence == 0.0 {
            // An agent that is silent has not said that nothing arrived.
            report.sensor = Sensor::None;
        }
        occupant.agent.number(&mut report);
        Some(report)
    }

    /// The box's index of the station in a seat.
    pub(super) fn station(&self, seat: usize) -> Option<usize> {
        self.seats
            .get(seat)?
            .as_ref()
            .map(|occupant| occupant.index)
    }
}

/// Whether one of the seats is that of the station `mac`.
fn seats_hold(seats: &[Option<Occupant>], mac: MacAddr) -> bool {
    seats.iter().flatten().any(|occupant| occupant.mac == mac)
}

impl Seat {
    pub(super) const fn new(medium: usize, station: usize) -> Self {
        Self { medium, station }
    }
}
