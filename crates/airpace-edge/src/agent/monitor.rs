//! Frames of a monitor interface.

use super::guard::FrameKind;
use super::{Agent, FULL_PACKET, UplinkPacket};
use airpace_core::meter::Mpdu;
use airpace_core::wire::ieee80211::{DataHeader, Direction, FCS_BYTES, SNAP_BYTES};
use airpace_core::wire::radiotap::Radiotap;
use airpace_units::Time;

/// Bytes that CCMP adds to an encrypted frame: header 8, integrity code 8 (IEEE 802.11-2020,
/// 12.5.3.2).
const CCMP_BYTES: usize = 16;
/// Bytes of an A-MSDU per packet besides its 1500: subframe header 14, LLC/SNAP 8 and padding (IEEE
/// 802.11-2020, 9.3.2.2.2), and what a tunnel adds to a full-sized packet.
const AMSDU_SUBFRAME_BYTES: u32 = 64;

impl<P: UplinkPacket> Agent<P> {
    /// Takes an MPDU to this station that the monitor interface has shown.
    #[inline]
    pub fn on_mpdu(&mut self, mpdu: &Mpdu) {
        self.counts.metered += 1;
        self.meter.on_mpdu(mpdu);
        self.look_for_news(mpdu.arrival);
    }

    /// Takes a frame of the monitor interface: its first bytes, from the radiotap header on, and
    /// the length of the whole frame in bytes.
    pub fn on_monitor_frame(&mut self, arrival: Time, bytes: &[u8], length: usize) {
        let Ok((radiotap, start)) = Radiotap::parse(bytes) else {
            self.counts.malformed += 1;
            return;
        };
        let flags = radiotap.flags.unwrap_or_default();
        // Frames that are not data have another header, and their parsing fails.
        let parsed = bytes.get(start..).map(DataHeader::parse);
        let Some(Ok((header, header_bytes))) = parsed else {
            self.counts.foreign += 1;
            return;
        };
        if !self.is_own(&header) || flags.bad_fcs() {
            self.counts.foreign += 1;
            return;
        }
        let fcs = if flags.fcs_at_end() { FCS_BYTES } else { 0 };
        let cipher = if header.protected { CCMP_BYTES } else { 0 };
        let overhead = start + header_bytes + fcs + cipher + SNAP_BYTES;
        let packet = u32::try_from(length.saturating_sub(overhead)).unwrap_or(u32::MAX);
        let mut mpdu = Mpdu::heard(arrival, &radiotap, &header, packet);
        if header.amsdu {
            let packets = packet.div_ceil(FULL_PACKET + AMSDU_SUBFRAME_BYTES);
            mpdu.packets = u16::try_from(packets).unwrap_or(1).max(1);
        }
        let kind = FrameKind {
            transmitter: header.transmitter,
            protected: header.protected,
        };
        if self.guard.admits(kind, packet, !header.retry) {
            self.on_mpdu(&mpdu);
        } else {
            self.counts.doubted += 1;
        }
    }

    /// Takes the bytes that the kernel has delivered to the station's interface since it came up, to
    /// be called before [`Agent::handle_timeout`] when a slot ends. Frames of the monitor interface
    /// prove nothing, since anybody may transmit some; without these figures all are believed.
    pub const fn on_delivered(&mut self, total_bytes: u64) {
        self.guard.on_delivered(total_bytes);
    }

    /// Whether frames of the monitor interface are not believed, because they were more than what was
    /// delivered.
    #[must_use]
    pub fn is_doubting(&self) -> bool {
        self.guard.is_doubting()
    }

    /// Whether a frame is unicast data from the access point for this station.
    fn is_own(&self, header: &DataHeader) -> bool {
        let unicast = header.receiver.0[0] & 1 == 0;
        let to_this_station = match self.address {
            Some(address) => address == header.receiver,
            None => true,
        };
        // A packet in fragments counts once, with the first.
        header.direction == Direction::FromDs
            && unicast
            && to_this_station
            && !header.null
            && header.fragment == 0
    }
}
