//! The bytes of a record up to the IP packet: radiotap, 802.11, A-MSDU subframes.

use super::packet::{Conversations, headers};
use super::{Heard, mac_address};
use crate::file::NodeKind;
use crate::resolve::Resolved;
use airpace_core::phy::{Band, TxRate};
use airpace_core::wire::ieee80211::{
    DataHeader, Direction, ETHERTYPE_IPV4, QOS_HEADER_BYTES, SNAP_BYTES, write_frame,
};
use airpace_core::wire::radiotap::{Ampdu, Channel, Flags, Radiotap};
use airpace_sim::mac::{ControlRecord, FrameRecord};
use airpace_sim::world::NodeId;
use airpace_units::Time;

/// Centre of channel 36, MHz.
const PRIMARY_5_MHZ: u16 = 5_180;
/// Centre of channel 1, MHz.
const PRIMARY_2_4_MHZ: u16 = 2_412;
/// Bytes of destination, source and length before a packet in an A-MSDU (9.3.2.2.2).
const SUBFRAME_HEADER_BYTES: usize = 14;
/// Subframes but for the last are padded to a multiple of this.
const SUBFRAME_ALIGNMENT: usize = 4;

/// The radiotap header of an MPDU. All MPDUs of an A-MPDU carry the time at which the first arrived,
/// as most drivers have it.
pub(super) fn data_radiotap(frame: &FrameRecord, is_last: bool, band: Band) -> Radiotap {
    let aggregated = frame.mpdus > 1 || frame.rate.standard().always_aggregates();
    Radiotap {
        ampdu: aggregated.then(|| Ampdu::new(frame.ampdu, is_last)),
        ..radiotap(frame.start, band)
    }
    .with_rate(frame.rate)
}

/// The radiotap header of a control frame or beacon.
pub(super) fn control_radiotap(control: &ControlRecord, band: Band) -> Radiotap {
    radiotap(control.start, band).with_rate(TxRate::legacy(control.rate))
}

fn radiotap(at: Time, band: Band) -> Radiotap {
    let (mhz, flags) = match band {
        Band::Ghz2_4 => (PRIMARY_2_4_MHZ, Channel::DYNAMIC_2GHZ),
        _ => (PRIMARY_5_MHZ, Channel::OFDM_5GHZ),
    };
    Radiotap {
        tsft_us: Some(at.as_nanos() / 1_000),
        flags: Some(Flags::default()),
        channel: Some(Channel { mhz, flags }),
        ..Radiotap::default()
    }
}

/// Appends an MPDU of one packet, or of several in an A-MSDU; returns the length that the record
/// would have with all payload.
pub(super) fn append_mpdu(
    resolved: &Resolved,
    packets: &[Heard<'_>],
    conversations: &mut Conversations,
    out: &mut Vec<u8>,
) -> u32 {
    let header = data_header(resolved, packets);
    let [(record, packet)] = packets else {
        header.write(out);
        return append_subframes(resolved, packets, conversations, &header, out);
    };
    let shown = headers(resolved, record, packet, conversations);
    write_frame(&header, &shown, false, out);
    // The headers are within the packet's length.
    out.len() as u32 + record.bytes.saturating_sub(shown.len() as u32)
}

/// Appends the packets of an A-MSDU. Those before the last have zeros for their payload, because a
/// reader finds the next by the length of the one before.
fn append_subframes(
    resolved: &Resolved,
    packets: &[Heard<'_>],
    conversations: &mut Conversations,
    header: &DataHeader,
    out: &mut Vec<u8>,
) -> u32 {
    let mut left_out = 0;
    for (index, (record, packet)) in (1..).zip(packets) {
        let shown = headers(resolved, record, packet, conversations);
        // An A-MSDU has at most 11,426 bytes.
        let body = SNAP_BYTES + record.bytes as usize;
        out.extend(header.receiver.0);
        out.extend(header.transmitter.0);
        out.extend((body as u16).to_be_bytes());
        out.extend([0xaa, 0xaa, 0x03, 0, 0, 0]);
        out.extend(ETHERTYPE_IPV4.to_be_bytes());
        out.extend(&shown);
        let rest = (record.bytes as usize).saturating_sub(shown.len());
        if index == packets.len() {
            left_out = rest;
        } else {
            let length = SUBFRAME_HEADER_BYTES + body;
            let padding = length.next_multiple_of(SUBFRAME_ALIGNMENT) - length;
            out.resize(out.len() + rest + padding, 0);
        }
    }
    (out.len() + left_out) as u32
}

/// The 802.11 header of an MPDU.
fn data_header(resolved: &Resolved, packets: &[Heard<'_>]) -> DataHeader {
    let record = packets[0].0;
    let nodes = &resolved.world.channels[record.channel as usize].nodes;
    let (from, to) = (
        nodes[record.mpdu.from.index()],
        nodes[record.mpdu.to.index()],
    );
    let is_ap = |node: NodeId| matches!(resolved.nodes[node.0 as usize].kind, NodeKind::Ap);
    let access_point = mac_address(if is_ap(from) { from } else { to });
    DataHeader {
        direction: match (is_ap(from), is_ap(to)) {
            (true, _) => Direction::FromDs,
            (false, true) => Direction::ToDs,
            (false, false) => Direction::Bridge,
        },
        third: access_point,
        tid: Some(record.mpdu.category.user_priority()),
        amsdu: packets.len() > 1,
        ..DataHeader::downlink(
            mac_address(to),
            mac_address(from),
            record.mpdu.sequence,
            record.mpdu.retry,
        )
    }
}

// A record of the longest A-MSDU is not cut off.
const _: () = assert!(QOS_HEADER_BYTES + 11_454 < super::SNAP_LENGTH as usize);
