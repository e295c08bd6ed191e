//! Beacons, byte by byte (IEEE 802.11-2020 §9.3.3.2).

use super::frame_head;
use airpace_core::wire::ieee80211::MacAddr;
use airpace_units::Time;
use core::time::Duration;

/// First byte of the frame control field of beacons (9.2.4.1.3).
const BEACON: u8 = 0x80;

/// Name of the network.
const SSID: &[u8] = b"airpace";

/// Beacon interval in time units of 1024 µs.
const INTERVAL_TU: u16 = 100;

/// Returns the beacon that the access point `bssid` begins to send at `at`, without frame check
/// sequence. `traffic_map` is the body of its traffic indication map (9.4.2.5).
#[must_use]
pub fn beacon(at: Time, bssid: MacAddr, traffic_map: &[u8]) -> Vec<u8> {
    let micros = at.as_nanos() / 1_000;
    let mut bytes = frame_head(BEACON, Duration::ZERO, MacAddr([0xff; 6]));
    bytes.extend(bssid.0);
    bytes.extend(bssid.0);
    // Beacons are numbered, too; nobody looks at it.
    let number = (micros / (1_024 * u64::from(INTERVAL_TU)) % 4_096) as u16;
    bytes.extend((number << 4).to_le_bytes());
    bytes.extend(micros.to_le_bytes());
    bytes.extend(INTERVAL_TU.to_le_bytes());
    // Capability: an infrastructure network.
    bytes.extend([0x01, 0x00]);
    element(&mut bytes, 0, SSID);
    // Supported rates in units of 500 kbit/s; 6, 12 and 24 Mbit/s are basic.
    element(&mut bytes, 1, &[0x8c, 18, 0x98, 36, 0xb0, 72, 96, 108]);
    element(&mut bytes, 5, traffic_map);
    bytes
}

/// Appends an element of a management frame.
fn element(bytes: &mut Vec<u8>, number: u8, body: &[u8]) {
    // All bodies here are shorter than 256 bytes.
    bytes.extend([number, body.len() as u8]);
    bytes.extend(body);
}
