//! Where the access point sends a packet next.

use crate::address::{station_mac, station_of, station_with_mac};
use crate::packet::EmulatedPacket;
use airpace_core::wire::ieee80211::MacAddr;
use airpace_units::StationId;

/// Largest MSDU in bytes (IEEE 802.11-2020 §9.2.4.7.1), here without LLC/SNAP as in
/// [`crate::EmulatorConfig::mtu`].
pub(crate) const MAX_MSDU_BYTES: u32 = 2_304;

/// Where a packet goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Destination {
    /// To one station.
    Station(StationId),
    /// To all stations.
    Group,
    /// To the wired side.
    Wired,
}

/// How the access point forwards.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Forwarding {
    /// IPv4 packets by their destination.
    Ip {
        /// Number of stations.
        stations: usize,
    },
    /// Ethernet frames by the MAC address of their destination.
    Ethernet {
        /// Number of stations.
        stations: usize,
    },
}

impl Forwarding {
    /// Returns where a packet from the wired side goes; `None` if it is for nobody in the cell.
    pub(crate) fn downlink(self, packet: &EmulatedPacket) -> Option<Destination> {
        match self.destination(packet) {
            Destination::Wired => None,
            other => Some(other),
        }
    }

    /// Returns where a packet goes: to the wired side if it is for nobody in the cell.
    pub(crate) fn destination(self, packet: &EmulatedPacket) -> Destination {
        let station = match self {
            Self::Ip { stations } => station_of(packet.as_slice(), stations),
            Self::Ethernet { stations } => match packet.destination() {
                Some(mac) if is_group(mac) => return Destination::Group,
                Some(mac) => station_with_mac(mac, stations),
                None => None,
            },
        };
        station.map_or(Destination::Wired, |index| {
            Destination::Station(StationId::from_index(index))
        })
    }

    /// Returns the station that stands for all stations in the MAC, as the receiver of
    /// group-addressed frames: the one behind the last.
    pub(crate) fn group(self) -> StationId {
        let (Self::Ip { stations } | Self::Ethernet { stations }) = self;
        StationId::from_index(stations)
    }
}

/// Returns whether an address stands for several receivers (IEEE 802 §8.2.2: the I/G bit).
pub(crate) const fn is_group(mac: MacAddr) -> bool {
    mac.0[0] & 1 == 1
}

/// Returns whether the station with this index has sent a frame, so that it ignores the copy that
/// the access point sends to the group (IEEE 802.11-2020 §10.2.8).
pub(crate) fn is_sender(index: usize, packet: &EmulatedPacket) -> bool {
    packet.source() == Some(station_mac(index))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame_to(mac: MacAddr) -> EmulatedPacket {
        let mut frame = mac.0.to_vec();
        frame.extend(station_mac(1).0);
        frame.extend([0x08, 0x06, 0, 0]);
        EmulatedPacket::copy_frame(&frame).unwrap()
    }

    #[test]
    fn frames_go_to_their_station_to_the_group_or_to_the_wire() {
        let forwarding = Forwarding::Ethernet { stations: 2 };
        let station = Destination::Station(StationId(1));
        assert_eq!(forwarding.destination(&frame_to(station_mac(1))), station);
        let group = [
            MacAddr([0xff; 6]),
            MacAddr([1, 0, 0x5e, 0, 0, 251]),
            MacAddr([0x33, 0x33, 0, 0, 0, 1]),
        ];
        for mac in group {
            assert_eq!(forwarding.destination(&frame_to(mac)), Destination::Group);
        }
        for mac in [station_mac(2), crate::SERVER_MAC, crate::BSSID] {
            assert_eq!(forwarding.destination(&frame_to(mac)), Destination::Wired);
            assert_eq!(forwarding.downlink(&frame_to(mac)), None);
        }
        assert!(is_sender(1, &frame_to(station_mac(0))));
        assert!(!is_sender(0, &frame_to(station_mac(0))));
    }
}
