//! One access point and its stations: what it forwards, to whom, and its wire.

use crate::config::{EmulatorConfig, Layer};
use crate::delay::DelayLine;
use crate::forwarding::{Destination, Forwarding, MAX_MSDU_BYTES};
use crate::packet::EmulatedPacket;
use crate::presence::{Admission, Presence};
use crate::series;
use crate::statistics::Statistics;
use airpace_core::packet::Packet as _;
use airpace_units::{StationId, Time};
use core::time::Duration;

/// An access point, its wire and what it knows of its stations.
pub(super) struct Cell {
    /// Index of the access point in the run.
    pub(super) access_point: usize,
    pub(super) forwarding: Forwarding,
    pub(super) presence: Presence,
    /// Probability of each station that an MPDU is lost while the station is there.
    pub(super) loss: Vec<f64>,
    /// From the server to the access point.
    pub(super) wire_down: DelayLine<(Destination, EmulatedPacket)>,
    /// From the access point to the server.
    pub(super) wire_up: DelayLine<EmulatedPacket>,
    pub(super) statistics: Statistics,
    /// How long the access point has sent beacons, by which a new one is noticed.
    pub(super) beacon_airtime: Duration,
    /// Time at which packets came out of the wire that have been written to the server and not
    /// flushed.
    pub(super) delivered_up: Option<Time>,
}

impl Cell {
    /// Returns the cell of an access point, with the stations that begin there.
    pub(super) fn new(config: &EmulatorConfig, access_point: usize) -> Self {
        let n = config.cell.stations.len();
        let forwarding = match config.layer {
            Layer::Ip => Forwarding::Ip { stations: n },
            Layer::Ethernet(_) => Forwarding::Ethernet { stations: n },
        };
        let mut presence = Presence::new(n, config.dtim_period);
        for station in 0..n {
            if config.home_of(station) != access_point {
                presence.leave(StationId::from_index(station));
            }
        }
        Self {
            access_point,
            forwarding,
            presence,
            loss: config.cell.stations.iter().map(|s| s.loss).collect(),
            wire_down: DelayLine::new(config.wired_delay),
            wire_up: DelayLine::new(config.wired_delay),
            statistics: Statistics::new(n, config.slot, config.series.then(|| series::limit(n))),
            beacon_airtime: Duration::ZERO,
            delivered_up: None,
        }
    }

    /// Returns when the next event outside the air is due.
    pub(super) fn deadline(&self) -> Time {
        let wires = [self.wire_down.deadline(), self.wire_up.deadline()];
        let mut deadline = self.statistics.slot_end();
        for due in wires.into_iter().flatten() {
            deadline = deadline.min(due);
        }
        deadline
    }

    /// A packet has come from the server: puts it on the wire.
    pub(super) fn on_wired_packet(&mut self, now: Time, packet: EmulatedPacket) {
        if packet.bytes() > MAX_MSDU_BYTES {
            self.statistics.stray.oversized += 1;
            return;
        }
        match self.forwarding.downlink(&packet) {
            Some(destination) => self.wire_down.push(now, (destination, packet)),
            None => self.statistics.stray.unroutable += 1,
        }
    }

    /// Decides about a packet at the access point: returns it with its receiver in the MAC if it is
    /// to be sent now.
    pub(super) fn admit(
        &mut self,
        destination: Destination,
        packet: EmulatedPacket,
    ) -> Option<(StationId, EmulatedPacket)> {
        let (station, admission) = match destination {
            Destination::Station(station) => (station, self.presence.admit(station, packet)),
            Destination::Group => (self.forwarding.group(), self.presence.admit_group(packet)),
            Destination::Wired => return None,
        };
        match admission {
            Admission::Send(packet) => return Some((station, packet)),
            Admission::Buffered { dropped: false } => {}
            Admission::Buffered { dropped: true } | Admission::Absent => {
                self.statistics.on_undelivered(station, 1);
            }
        }
        None
    }

    /// Returns where a packet from a station goes.
    pub(super) fn destination(&self, packet: &EmulatedPacket) -> Destination {
        match self.forwarding.destination(packet) {
            // It may be at another access point.
            Destination::Station(to) if self.presence.is_absent(to) => Destination::Wired,
            other => other,
        }
    }
}
