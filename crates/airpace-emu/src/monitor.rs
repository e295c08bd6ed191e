//! What a monitor interface shows: radiotap, 802.11 header, packet.

use crate::address::{BSSID, station_mac};
use crate::config::Monitor;
use crate::packet::EmulatedPacket;
use airpace_core::wire::ieee80211::{DataHeader, QOS_HEADER_BYTES, SNAP_BYTES, write_frame};
use airpace_core::wire::radiotap::{Ampdu, Channel, Flags, Radiotap};
use airpace_net::tun::Tun;
use airpace_sim::mac::{FrameRecord, Mpdu};

/// Builds frames; keeps its buffer.
#[derive(Debug)]
pub(crate) struct MonitorWriter {
    /// Most bytes of the IP packet.
    packet_bytes: usize,
    frame: Vec<u8>,
    /// The frame of which MPDUs are being shown, and how many have been.
    shown: (u32, u16),
}

/// Signal at the station's antenna in dBm: a good one; the cell has no propagation model.
const SIGNAL_DBM: i8 = -50;

/// Channel 36, which is the primary one of the lowest 5 GHz channel of every width.
const PRIMARY_MHZ: u16 = 5180;

impl MonitorWriter {
    /// `None` if there is nothing to show.
    pub(crate) fn new(monitor: Monitor) -> Option<Self> {
        let packet_bytes = match monitor {
            Monitor::Off => return None,
            Monitor::Whole => usize::MAX,
            Monitor::Snap(bytes) => bytes.saturating_sub(QOS_HEADER_BYTES + SNAP_BYTES),
        };
        Some(Self {
            packet_bytes,
            frame: Vec::new(),
            shown: (u32::MAX, 0),
        })
    }

    /// Shows one MPDU of `record`; `false` if the interface did not take it.
    pub(crate) fn show(
        &mut self,
        record: &FrameRecord,
        mpdu: &Mpdu,
        packet: &EmulatedPacket,
        to: &Tun,
    ) -> bool {
        let already = if self.shown.0 == record.ampdu {
            self.shown.1
        } else {
            0
        };
        self.shown = (record.ampdu, already + 1);
        self.frame.clear();
        radiotap(record, already + 1 == record.decoded).write(&mut self.frame);
        let header = DataHeader::downlink(
            station_mac(mpdu.station().index()),
            BSSID,
            mpdu.sequence,
            mpdu.retry,
        );
        let packet = packet.as_slice();
        write_frame(
            &header,
            &packet[..packet.len().min(self.packet_bytes)],
            false,
            &mut self.frame,
        );
        to.write(&self.frame).unwrap_or(false)
    }
}

/// Most drivers stamp all MPDUs of an A-MPDU with the arrival of the first; so does this one.
fn radiotap(record: &FrameRecord, is_last: bool) -> Radiotap {
    // An HT or legacy MPDU that travels alone is not in an A-MPDU; those of VHT and HE always are.
    let aggregated = record.mpdus > 1 || record.rate.standard().always_aggregates();
    Radiotap {
        tsft_us: Some(record.start.as_nanos() / 1_000),
        flags: Some(Flags::default()),
        channel: Some(Channel {
            mhz: PRIMARY_MHZ,
            flags: Channel::OFDM_5GHZ,
        }),
        signal_dbm: Some(SIGNAL_DBM),
        antenna: Some(0),
        ampdu: aggregated.then(|| Ampdu::new(record.ampdu, is_last)),
        ..Radiotap::default()
    }
    .with_rate(record.rate)
}
