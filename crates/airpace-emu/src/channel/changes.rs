//! Changes to a running channel.

use super::{Channel, Ports};
use crate::address::station_mac;
use crate::packet::EmulatedPacket;
use crate::remote::Change;
use airpace_sim::mac::Direction;
use airpace_units::{StationId, Time};

impl Channel {
    /// Makes a change in a cell at `now`.
    pub(crate) fn change(&mut self, now: Time, cell: usize, change: Change, ports: &mut Ports) {
        let now = self.logical_time(now);
        self.advance(now, ports);
        match change {
            Change::Sleep(station, interval) => {
                self.cells[cell].presence.sleep(station, interval);
            }
            Change::Wake(station) => {
                for packet in self.cells[cell].presence.wake(station) {
                    self.send(now, cell, station, Direction::Down, packet, ports);
                }
            }
            Change::Leave(station) => {
                self.release(cell, station);
                // What is in the access point's queue is sent and not acknowledged.
                self.set_loss(now, cell, station, 1.0, ports);
            }
            // The cells that it leaves and joins get changes of their own.
            Change::Roam(..) => {}
            Change::Join(station) => {
                let joined = &mut self.cells[cell];
                joined.presence.join(station);
                let loss = joined.loss.get(station.index()).copied();
                if let Some(monitors) = &mut self.monitors {
                    monitors.set_present(station, true);
                }
                self.set_loss(now, cell, station, loss.unwrap_or_default(), ports);
            }
            Change::SetLoss(station, loss) => {
                let changed = &mut self.cells[cell];
                if let Some(known) = changed.loss.get_mut(station.index()) {
                    *known = loss;
                }
                // That of an absent station is set when it comes back.
                if !changed.presence.is_absent(station) {
                    self.set_loss(now, cell, station, loss, ports);
                }
            }
            Change::SetRate(station, rate) => {
                let at = self.begin_event(now);
                self.medium.set_rate(at, cell, station, rate);
                self.finish_event(at, ports);
            }
        }
    }

    /// A station leaves a cell. What the access point buffers for it is dropped; what is in its
    /// queue is still sent.
    pub(crate) fn release(&mut self, cell: usize, station: StationId) {
        let left = &mut self.cells[cell];
        let lost = left.presence.leave(station);
        left.statistics.on_undelivered(station, lost as u64);
        if let Some(monitors) = &mut self.monitors {
            monitors.set_present(station, false);
        }
    }

    /// Tells the bridges on the wired side that a station is in this cell now, by a frame that the
    /// access point sends in the station's name (the layer 2 update frame of IEEE 802.11F §6.3).
    pub(crate) fn announce(&mut self, now: Time, cell: usize, station: StationId) {
        let now = self.logical_time(now);
        let mut frame = vec![0xff; 6];
        frame.extend(station_mac(station.index()).0);
        // Its length, a null destination, an answer, XID with its parameters.
        frame.extend([0, 6, 0x00, 0x01, 0xaf, 0x81, 1, 0]);
        if let Some(packet) = EmulatedPacket::copy_frame(&frame) {
            self.cells[cell].wire_up.push(now, packet);
        }
    }

    fn set_loss(
        &mut self,
        now: Time,
        cell: usize,
        station: StationId,
        loss: f64,
        ports: &mut Ports,
    ) {
        let at = self.begin_event(now);
        self.medium.set_loss(at, cell, station, loss);
        self.finish_event(at, ports);
    }
}
