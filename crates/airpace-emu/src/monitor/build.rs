//! The bytes of the frames on monitor interfaces: radiotap header, 802.11 header, body.

use crate::address::station_mac;
use crate::packet::EmulatedPacket;
use airpace_core::phy::LegacyRate;
use airpace_core::wire::ieee80211::{DataHeader, Direction as Bits, MacAddr, write_frame};
use airpace_core::wire::radiotap::Radiotap;
use airpace_sim::mac::{Direction, FrameRecord, Mpdu};
use airpace_sim::overheard::{self, ControlOnAir, ExchangeEnds, Scoreboard};
use airpace_units::{StationId, Time};

/// The lowest EtherType: lower numbers in its place are lengths (IEEE 802.3 §3.2.6).
const FIRST_ETHERTYPE: u16 = 0x0600;

/// LLC with SNAP, unnumbered information, organisation 0: what precedes an EtherType (RFC 1042).
const SNAP_PREFIX: [u8; 6] = [0xaa, 0xaa, 0x03, 0, 0, 0];

/// A control frame, or a beacon.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    /// Beginning of its PPDU.
    at: Time,
    pub(super) rate: LegacyRate,
    /// The station that sends it; `None` for the access point.
    pub(super) sender: Option<StationId>,
    /// The station of its exchange; `None` for a beacon.
    pub(super) station: Option<StationId>,
    /// The frame, without its frame check sequence.
    pub(super) bytes: Vec<u8>,
}

/// Which of the beacons between two DTIMs a beacon is (9.4.2.5.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Dtim {
    /// Beacons until the next DTIM; 0 in a DTIM.
    pub(crate) count: u8,
    /// Every so many beacons, one is a DTIM.
    pub(crate) period: u8,
    /// Whether group-addressed frames follow.
    pub(crate) group_waiting: bool,
}

/// Builds frames in a buffer that it keeps.
#[derive(Debug, Default)]
pub(super) struct FrameBuilder {
    frame: Vec<u8>,
}

impl FrameBuilder {
    /// Builds the frame that shows one MPDU with these headers and at most `packet_bytes` of its
    /// packet.
    pub(super) fn data(
        &mut self,
        radiotap: &Radiotap,
        header: &DataHeader,
        packet: &EmulatedPacket,
        packet_bytes: usize,
    ) -> &[u8] {
        self.frame.clear();
        radiotap.write(&mut self.frame);
        let Some((ethertype, payload)) = packet.ethertype() else {
            let packet = packet.as_slice();
            let shown = &packet[..packet.len().min(packet_bytes)];
            write_frame(header, shown, false, &mut self.frame);
            return &self.frame;
        };
        header.write(&mut self.frame);
        // Frames with a length in place of the EtherType bring their own LLC header.
        if ethertype >= FIRST_ETHERTYPE {
            self.frame.extend(SNAP_PREFIX);
            self.frame.extend(ethertype.to_be_bytes());
        }
        self.frame
            .extend(&payload[..payload.len().min(packet_bytes)]);
        &self.frame
    }

    /// Builds the frame that shows a control frame.
    pub(super) fn control(&mut self, control: &Control) -> &[u8] {
        self.frame.clear();
        overheard::legacy_radiotap(control.at, control.rate).write(&mut self.frame);
        self.frame.extend(&control.bytes);
        &self.frame
    }
}

/// Returns the header of an MPDU. The third address of an IP packet is the access point's: the cell
/// has no MAC addresses beyond it then.
pub(super) fn data_header(
    mpdu: &Mpdu,
    bssid: MacAddr,
    packet: &EmulatedPacket,
    is_group: bool,
) -> DataHeader {
    let station = station_mac(mpdu.station().index());
    let down = DataHeader::downlink(station, bssid, mpdu.sequence, mpdu.retry);
    let tid = Some(mpdu.category.user_priority());
    if mpdu.direction() == Direction::Up {
        return DataHeader {
            direction: Bits::ToDs,
            receiver: bssid,
            transmitter: station,
            third: packet.destination().unwrap_or(bssid),
            tid,
            ..down
        };
    }
    let source = packet.source().unwrap_or(bssid);
    match packet.destination() {
        // Group-addressed frames are not QoS data where a member may not support it.
        Some(group) if is_group => DataHeader {
            receiver: group,
            third: source,
            tid: None,
            ..down
        },
        _ => DataHeader {
            third: source,
            tid,
            ..down
        },
    }
}

/// Returns RTS and CTS before a data frame; `None` if it was sent without.
pub(super) fn protection(record: &FrameRecord, bssid: MacAddr) -> Option<[Control; 2]> {
    let controls = overheard::protection(record, ends(record, bssid))?;
    Some(controls.map(|control| Control::of_exchange(control, record)))
}

/// Returns the (block) ack to a frame, after `scoreboard` has taken what was decoded of it.
pub(super) fn answer(record: &FrameRecord, bssid: MacAddr, scoreboard: &Scoreboard) -> Control {
    let answer = overheard::answer(record, ends(record, bssid), scoreboard);
    Control::of_exchange(answer, record)
}

/// Returns the addresses of the sender and the receiver of a frame.
fn ends(record: &FrameRecord, bssid: MacAddr) -> ExchangeEnds {
    let station = station_mac(record.station().index());
    match record.direction() {
        Direction::Down => ExchangeEnds {
            sender: bssid,
            receiver: station,
        },
        Direction::Up => ExchangeEnds {
            sender: station,
            receiver: bssid,
        },
    }
}

impl Control {
    /// A control frame of the exchange of a data frame.
    fn of_exchange(control: ControlOnAir, record: &FrameRecord) -> Self {
        let is_from_station = match record.direction() {
            Direction::Down => !control.from_sender,
            Direction::Up => control.from_sender,
        };
        Self {
            at: control.at,
            rate: control.rate,
            sender: is_from_station.then(|| record.station()),
            station: Some(record.station()),
            bytes: control.bytes,
        }
    }

    /// The beacon that the access point begins to send at `at`, with a bit for each station for
    /// which frames are `waiting` (9.3.3.2).
    pub(super) fn beacon(at: Time, bssid: MacAddr, dtim: Dtim, waiting: &[StationId]) -> Self {
        Self {
            at,
            rate: super::LOWEST_RATE,
            sender: None,
            station: None,
            bytes: overheard::beacon(at, bssid, &traffic_map(dtim, waiting)),
        }
    }
}

/// Returns the body of the traffic indication map (9.4.2.5). Station i has the association
/// identifier i + 1, because 0 stands for the group.
fn traffic_map(dtim: Dtim, waiting: &[StationId]) -> Vec<u8> {
    let mut map = [0_u8; 32];
    let mut last = 0;
    for station in waiting {
        let identifier = station.index() + 1;
        if let Some(byte) = map.get_mut(identifier / 8) {
            *byte |= 1 << (identifier % 8);
            last = last.max(identifier / 8);
        }
    }
    let group = u8::from(dtim.group_waiting && dtim.count == 0);
    let mut body = vec![dtim.count, dtim.period, group];
    body.extend(&map[..=last]);
    body
}
