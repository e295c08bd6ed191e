//! The addresses of the server and the stations.

use airpace_core::wire::ieee80211::MacAddr;
use std::net::Ipv4Addr;

/// Address of the server, which stands for everything on the wired side.
pub const SERVER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);

/// Length of the prefix that server and stations share, in bits.
pub(crate) const PREFIX_LENGTH: u8 = 24;

/// Last byte of the address of the first station.
const FIRST_STATION: u8 = 10;

/// Most stations whose addresses the prefix has room for.
pub const MAX_STATIONS: usize = 240;

/// The first access point's MAC address (locally administered).
pub const BSSID: MacAddr = MacAddr([0x02, 0x77, 0, 0, 0, 0x01]);

/// Returns the MAC address of access point `index`: [`BSSID`] for the first.
#[must_use]
pub const fn bssid(index: usize) -> MacAddr {
    if index == 0 {
        BSSID
    } else {
        // There are at most MAX_ACCESS_POINTS.
        MacAddr([0x02, 0x77, 0, 0, 0x02, index as u8])
    }
}

/// MAC address of the server's interface on an Ethernet wired side (locally administered).
pub const SERVER_MAC: MacAddr = MacAddr([0x02, 0x77, 0, 0, 0, 0x02]);

/// Returns the address of station `index`: 10.77.0.10 for the first. Indices from
/// [`crate::MAX_STATIONS`] on wrap around.
#[must_use]
pub const fn station_address(index: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, 0, FIRST_STATION + (index % MAX_STATIONS) as u8)
}

/// Returns the MAC address of station `index`.
#[must_use]
pub const fn station_mac(index: usize) -> MacAddr {
    MacAddr([0x02, 0x77, 0, 0, 0x01, (index % MAX_STATIONS) as u8])
}

/// Returns which of `n` stations has this MAC address; `None` if none has.
pub(crate) fn station_with_mac(mac: MacAddr, n: usize) -> Option<usize> {
    let index = usize::from(mac.0[5]);
    (index < n && mac == station_mac(index)).then_some(index)
}

/// Returns which of `n` stations an IPv4 packet is addressed to; `None` if it is not for a station.
pub(crate) fn station_of(packet: &[u8], n: usize) -> Option<usize> {
    let destination: [u8; 4] = packet.get(16..20)?.try_into().ok()?;
    let index = usize::from(destination[3]).checked_sub(FIRST_STATION.into())?;
    (destination[..3] == SERVER.octets()[..3] && index < n).then_some(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_find_their_station() {
        let to = |address: Ipv4Addr| {
            let mut packet = [0; 20];
            packet[16..].copy_from_slice(&address.octets());
            station_of(&packet, 3)
        };
        for index in 0..3 {
            assert_eq!(to(station_address(index)), Some(index));
        }
        let others = [
            SERVER,
            station_address(3),
            Ipv4Addr::BROADCAST,
            Ipv4Addr::new(10, 78, 0, 10),
            Ipv4Addr::LOCALHOST,
        ];
        assert!(others.into_iter().all(|a| to(a).is_none()));
        assert_eq!(station_of(&[0; 19], 3), None);
    }
}
