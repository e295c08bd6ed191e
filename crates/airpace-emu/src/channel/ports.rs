//! What is outside the emulation: all devices that packets go through, and the real clock.

use crate::packet::EmulatedPacket;
use crate::port::{Device, Port};
use airpace_net::clock::Clock;

/// The devices of a run, and the clock by which lateness is measured.
pub(crate) struct Ports {
    pub(crate) clock: Clock,
    /// The wired side of each access point.
    pub(crate) wired: Vec<Port>,
    pub(crate) stations: Vec<StationPort>,
}

/// The device of one station.
pub(crate) struct StationPort {
    pub(crate) wlan: Port,
    /// Whether packets have been written to `wlan` and not flushed.
    unflushed: bool,
}

impl Ports {
    pub(crate) fn new(clock: Clock, wired: Vec<Device>, stations: Vec<Device>, join: bool) -> Self {
        let mut ports = Vec::with_capacity(stations.len());
        for wlan in stations {
            ports.push(StationPort {
                wlan: Port::new(wlan, join),
                unflushed: false,
            });
        }
        Self {
            clock,
            wired: wired
                .into_iter()
                .map(|device| Port::new(device, join))
                .collect(),
            stations: ports,
        }
    }

    /// Passes a packet to a station's kernel; see [`Ports::flush_stations`].
    pub(super) fn write_to_station(&mut self, index: usize, packet: &EmulatedPacket) {
        if let Some(station) = self.stations.get_mut(index) {
            station.wlan.write(packet);
            station.unflushed = true;
        }
    }

    /// Passes all packets on that are still being joined for stations.
    pub(super) fn flush_stations(&mut self) {
        for station in &mut self.stations {
            if core::mem::take(&mut station.unflushed) {
                station.wlan.flush();
            }
        }
    }

    /// Returns how many frames the kernel has not accepted.
    pub(crate) fn refused(&self) -> u64 {
        let wired: u64 = self.wired.iter().map(|port| port.refused).sum();
        wired + self.stations.iter().map(|s| s.wlan.refused).sum::<u64>()
    }
}
