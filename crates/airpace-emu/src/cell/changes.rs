//! Changes to a running cell.

use super::{Cell, Ports};
use crate::address::station_mac;
use crate::packet::EmulatedPacket;
use crate::remote::Change;
use airpace_core::phy::TxRate;
use airpace_net::clock::Clock;
use airpace_sim::mac::{Direction, Input, Quality, ends};
use airpace_units::{StationId, Time};

impl Cell {
    /// Makes a change at `now`.
    pub(crate) fn change(&mut self, now: Time, change: Change, clock: &Clock, ports: &mut Ports) {
        let now = self.logical_time(now);
        self.advance(now, clock, ports);
        match change {
            Change::Sleep(station, interval) => self.presence.sleep(station, interval),
            Change::Wake(station) => {
                for packet in self.presence.wake(station) {
                    self.handle(now, Input::down(station, packet), clock, ports);
                }
            }
            Change::Leave(station) => {
                self.release(station);
                // What is in the access point's queue is sent in vain.
                self.set_loss(now, station, 1.0, clock, ports);
            }
            // The cells that it leaves and joins get changes of their own.
            Change::Roam(..) => {}
            Change::Join(station) => {
                self.presence.join(station);
                if let Some(monitors) = &mut self.monitors {
                    monitors.set_present(station, true);
                }
                let loss = self.loss.get(station.index()).copied();
                self.set_loss(now, station, loss.unwrap_or_default(), clock, ports);
            }
            Change::SetLoss(station, loss) => {
                if let Some(known) = self.loss.get_mut(station.index()) {
                    *known = loss;
                }
                // That of an absent station is set when it comes back.
                if !self.presence.is_absent(station) {
                    self.set_loss(now, station, loss, clock, ports);
                }
            }
            Change::SetRate(station, rate) => self.set_rate(now, station, rate, clock, ports),
        }
    }

    /// The station is no longer there. What the access point buffers for it is dropped; what is in
    /// its queue is still sent.
    pub(crate) fn release(&mut self, station: StationId) {
        let lost = self.presence.leave(station);
        self.statistics.on_undelivered(station, lost as u64);
        if let Some(monitors) = &mut self.monitors {
            monitors.set_present(station, false);
        }
    }

    /// Tells the bridges on the wired side that a station is here now, by a frame that the access
    /// point sends in the station's name (the layer 2 update frame of IEEE 802.11F §6.3).
    pub(crate) fn announce(&mut self, now: Time, station: StationId) {
        let mut frame = vec![0xff; 6];
        frame.extend(station_mac(station.index()).0);
        // Its length, a null destination, an answer, XID with its parameters.
        frame.extend([0, 6, 0x00, 0x01, 0xaf, 0x81, 1, 0]);
        if let Some(packet) = EmulatedPacket::copy_frame(&frame) {
            self.wire_up.push(self.logical_time(now), packet);
        }
    }

    fn set_loss(
        &mut self,
        now: Time,
        station: StationId,
        loss: f64,
        clock: &Clock,
        ports: &mut Ports,
    ) {
        for direction in [Direction::Down, Direction::Up] {
            let (from, to) = ends(station, direction);
            let quality = Quality::Loss(loss);
            let input = Input::SetQuality { from, to, quality };
            self.handle(now, input, clock, ports);
        }
    }

    fn set_rate(
        &mut self,
        now: Time,
        station: StationId,
        rate: TxRate,
        clock: &Clock,
        ports: &mut Ports,
    ) {
        for direction in [Direction::Down, Direction::Up] {
            let (from, to) = ends(station, direction);
            self.handle(now, Input::SetRate { from, to, rate }, clock, ports);
        }
    }
}
