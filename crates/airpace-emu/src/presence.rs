//! Stations that sleep, leave and come back, and what the access point keeps for them.

use crate::packet::EmulatedPacket;
use airpace_units::StationId;
use std::collections::VecDeque;

/// Most packets that the access point buffers for a sleeping station, and for all stations; the
/// oldest is dropped for a new one.
const BUFFER_PACKETS: usize = 512;

/// What a station does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Mode {
    #[default]
    Awake,
    /// It wakes for every so many beacons and fetches what waits for it.
    Asleep {
        listen_interval: u16,
    },
    Absent,
}

/// The access point's view of one station.
#[derive(Debug, Default)]
struct StationPresence {
    mode: Mode,
    buffer: VecDeque<EmulatedPacket>,
}

/// What is to be done with a packet for a station.
#[derive(Debug)]
pub(crate) enum Admission {
    /// The packet is sent.
    Send(EmulatedPacket),
    /// The packet waits for the station. Whether another one was dropped for it.
    Buffered { dropped: bool },
    /// The station is absent: the packet is dropped.
    Absent,
}

/// All stations of a cell.
#[derive(Debug)]
pub(crate) struct Presence {
    stations: Vec<StationPresence>,
    /// Packets for all stations that wait for the next DTIM.
    group: VecDeque<EmulatedPacket>,
    /// Number of the next beacon.
    beacon: u64,
    dtim_period: u8,
}

/// What is sent after a beacon.
#[derive(Debug, Default)]
pub(crate) struct Released {
    /// Packets for single stations.
    pub(crate) unicast: Vec<(StationId, EmulatedPacket)>,
    /// Packets for all stations.
    pub(crate) group: Vec<EmulatedPacket>,
}

impl Presence {
    /// All of `stations` stations are awake.
    pub(crate) fn new(stations: usize, dtim_period: u8) -> Self {
        Self {
            stations: (0..stations).map(|_| StationPresence::default()).collect(),
            group: VecDeque::new(),
            beacon: 0,
            dtim_period: dtim_period.max(1),
        }
    }

    /// Decides about a packet for a station.
    pub(crate) fn admit(&mut self, station: StationId, packet: EmulatedPacket) -> Admission {
        let Some(receiver) = self.stations.get_mut(station.index()) else {
            return Admission::Send(packet);
        };
        match receiver.mode {
            Mode::Awake => Admission::Send(packet),
            Mode::Asleep { .. } => Admission::Buffered {
                dropped: buffer(&mut receiver.buffer, packet),
            },
            Mode::Absent => Admission::Absent,
        }
    }

    /// Decides about a packet for all stations, which waits for the next DTIM while any station
    /// sleeps (11.2.3.4).
    pub(crate) fn admit_group(&mut self, packet: EmulatedPacket) -> Admission {
        let somebody_sleeps = self
            .stations
            .iter()
            .any(|station| matches!(station.mode, Mode::Asleep { .. }));
        if !somebody_sleeps && self.group.is_empty() {
            return Admission::Send(packet);
        }
        Admission::Buffered {
            dropped: buffer(&mut self.group, packet),
        }
    }

    pub(crate) fn is_absent(&self, station: StationId) -> bool {
        self.stations
            .get(station.index())
            .is_some_and(|station| station.mode == Mode::Absent)
    }

    /// A station goes to sleep; an absent one stays absent.
    pub(crate) fn sleep(&mut self, station: StationId, listen_interval: u16) {
        if let Some(station) = self.stations.get_mut(station.index())
            && station.mode != Mode::Absent
        {
            station.mode = Mode::Asleep {
                listen_interval: listen_interval.max(1),
            };
        }
    }

    /// A station wakes. Returns what waits for it.
    pub(crate) fn wake(&mut self, station: StationId) -> Vec<EmulatedPacket> {
        match self.stations.get_mut(station.index()) {
            Some(station) if station.mode != Mode::Absent => {
                station.mode = Mode::Awake;
                station.buffer.drain(..).collect()
            }
            _ => Vec::new(),
        }
    }

    /// A station leaves without notice. Returns how many packets were dropped that waited for it.
    pub(crate) fn leave(&mut self, station: StationId) -> usize {
        let Some(station) = self.stations.get_mut(station.index()) else {
            return 0;
        };
        station.mode = Mode::Absent;
        station.buffer.drain(..).count()
    }

    /// An absent station comes back, awake.
    pub(crate) fn join(&mut self, station: StationId) {
        if let Some(station) = self.stations.get_mut(station.index())
            && station.mode == Mode::Absent
        {
            station.mode = Mode::Awake;
        }
    }

    /// Returns the stations for which packets wait.
    pub(crate) fn waiting(&self) -> Vec<StationId> {
        let mut waiting = Vec::new();
        for (index, station) in self.stations.iter().enumerate() {
            if !station.buffer.is_empty() {
                waiting.push(StationId::from_index(index));
            }
        }
        waiting
    }

    /// Returns how many beacons there are until the next DTIM, whether packets for all stations
    /// wait, and the DTIM period.
    pub(crate) fn dtim(&self) -> crate::monitor::Dtim {
        let period = u64::from(self.dtim_period);
        // Less than the period, which fits a byte.
        let count = ((period - self.beacon % period) % period) as u8;
        crate::monitor::Dtim {
            count,
            period: self.dtim_period,
            group_waiting: !self.group.is_empty(),
        }
    }

    /// A beacon is sent. Returns what follows it.
    pub(crate) fn on_beacon(&mut self) -> Released {
        let mut released = Released::default();
        for (index, station) in self.stations.iter_mut().enumerate() {
            let Mode::Asleep { listen_interval } = station.mode else {
                continue;
            };
            // It sees its bit in the traffic map and fetches everything.
            if self.beacon.is_multiple_of(u64::from(listen_interval)) {
                let id = StationId::from_index(index);
                let packets = station.buffer.drain(..).map(|packet| (id, packet));
                released.unicast.extend(packets);
            }
        }
        if self.dtim().count == 0 {
            released.group.extend(self.group.drain(..));
        }
        self.beacon += 1;
        released
    }
}

/// Puts a packet into a buffer; returns whether the oldest was dropped for it.
fn buffer(buffer: &mut VecDeque<EmulatedPacket>, packet: EmulatedPacket) -> bool {
    let is_full = buffer.len() >= BUFFER_PACKETS;
    if is_full {
        buffer.pop_front();
    }
    buffer.push_back(packet);
    is_full
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATION: StationId = StationId(0);

    fn packet(number: u8) -> EmulatedPacket {
        let mut frame = vec![0; 40];
        frame[20] = number;
        EmulatedPacket::copy_frame(&frame).unwrap()
    }

    fn numbers<'a>(packets: impl IntoIterator<Item = &'a EmulatedPacket>) -> Vec<u8> {
        packets.into_iter().map(|p| p.as_slice()[20]).collect()
    }

    #[test]
    fn packets_for_a_sleeping_station_wait_for_the_beacon_that_it_hears() {
        let mut presence = Presence::new(2, 1);
        presence.sleep(STATION, 3);
        presence.on_beacon();
        for number in 1..=2 {
            let admission = presence.admit(STATION, packet(number));
            assert!(matches!(admission, Admission::Buffered { dropped: false }));
        }
        assert!(matches!(
            presence.admit(StationId(1), packet(9)),
            Admission::Send(_)
        ));
        assert_eq!(presence.waiting(), [STATION]);
        assert!(presence.on_beacon().unicast.is_empty());
        assert!(presence.on_beacon().unicast.is_empty());
        let released = presence.on_beacon().unicast;
        assert_eq!(numbers(released.iter().map(|(_, packet)| packet)), [1, 2]);
        // It sleeps on until it is woken.
        presence.admit(STATION, packet(3));
        assert_eq!(numbers(&presence.wake(STATION)), [3]);
        assert!(matches!(
            presence.admit(STATION, packet(4)),
            Admission::Send(_)
        ));
    }

    #[test]
    fn packets_for_all_wait_for_the_dtim_while_a_station_sleeps() {
        let mut presence = Presence::new(1, 2);
        assert!(matches!(
            presence.admit_group(packet(1)),
            Admission::Send(_)
        ));
        presence.on_beacon();
        presence.sleep(STATION, 1);
        presence.admit_group(packet(2));
        presence.wake(STATION);
        // What comes later does not overtake what waits.
        presence.admit_group(packet(3));
        assert_eq!(
            (presence.dtim().count, presence.dtim().group_waiting),
            (1, true)
        );
        assert!(presence.on_beacon().group.is_empty());
        assert_eq!(presence.dtim().count, 0);
        assert_eq!(numbers(&presence.on_beacon().group), [2, 3]);
        assert!(matches!(
            presence.admit_group(packet(4)),
            Admission::Send(_)
        ));
    }

    #[test]
    fn an_absent_station_gets_nothing_until_it_comes_back() {
        let mut presence = Presence::new(1, 1);
        presence.sleep(STATION, 1);
        presence.admit(STATION, packet(1));
        assert_eq!(presence.leave(STATION), 1);
        presence.sleep(STATION, 1);
        assert!(presence.wake(STATION).is_empty() && presence.is_absent(STATION));
        assert!(matches!(
            presence.admit(STATION, packet(2)),
            Admission::Absent
        ));
        presence.join(STATION);
        assert!(matches!(
            presence.admit(STATION, packet(3)),
            Admission::Send(_)
        ));
    }

    #[test]
    fn a_full_buffer_drops_the_oldest() {
        let mut presence = Presence::new(1, 1);
        presence.sleep(STATION, 1);
        for number in 0..BUFFER_PACKETS {
            presence.admit(STATION, packet(number as u8));
        }
        let admission = presence.admit(STATION, packet(7));
        assert!(matches!(admission, Admission::Buffered { dropped: true }));
        let released = presence.wake(STATION);
        assert_eq!(
            (released.len(), released[0].as_slice()[20]),
            (BUFFER_PACKETS, 1)
        );
    }
}
