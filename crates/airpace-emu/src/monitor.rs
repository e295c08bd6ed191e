//! Builds the frames that a monitor interface shows: radiotap header, 802.11 header, packet.

use crate::address::{BSSID, station_mac};
use crate::config::Monitor;
use crate::packet::EmulatedPacket;
use airpace_core::wire::ieee80211::{DataHeader, QOS_HEADER_BYTES, SNAP_BYTES, write_frame};
use airpace_core::wire::radiotap::{Ampdu, Channel, Flags, Radiotap};
use airpace_net::tun::Tun;
use airpace_sim::mac::{FrameRecord, Mpdu};

/// Builds monitor frames and writes them to the interfaces.
#[derive(Debug)]
pub(crate) struct MonitorWriter {
    /// Most bytes of the IP packet that are shown.
    packet_bytes: usize,
    /// Buffer of the monitor frame.
    frame: Vec<u8>,
    /// Reference number of the A-MPDU that is being shown.
    ampdu: u32,
    /// How many of its MPDUs have been shown.
    shown: u16,
}

/// Signal at the station's antenna in dBm: a strong one, because the cell has no propagation model.
const SIGNAL_DBM: i8 = -50;

/// Centre frequency of channel 36, the primary channel of the lowest 5 GHz channel of every width.
const PRIMARY_MHZ: u16 = 5180;

impl MonitorWriter {
    /// Returns `None` if nothing is to be shown.
    pub(crate) fn new(monitor: Monitor) -> Option<Self> {
        let packet_bytes = match monitor {
            Monitor::Off => return None,
            Monitor::Whole => usize::MAX,
            Monitor::Snap(bytes) => bytes.saturating_sub(QOS_HEADER_BYTES + SNAP_BYTES),
        };
        Some(Self {
            packet_bytes,
            frame: Vec::new(),
            ampdu: u32::MAX,
            shown: 0,
        })
    }

    /// Shows one MPDU of the frame `record`; returns `false` if the interface did not accept it.
    pub(crate) fn show(
        &mut self,
        record: &FrameRecord,
        mpdu: &Mpdu,
        packet: &EmulatedPacket,
        to: &Tun,
    ) -> bool {
        if self.ampdu != record.ampdu {
            self.ampdu = record.ampdu;
            self.shown = 0;
        }
        self.shown += 1;
        // Only MPDUs that the station has decoded are shown, so the last of those ends the A-MPDU.
        let is_last = self.shown == record.decoded;
        self.frame.clear();
        radiotap(record, is_last).write(&mut self.frame);
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

/// Builds the radiotap header. All MPDUs of an A-MPDU have the time of the first, as with most
/// drivers.
fn radiotap(record: &FrameRecord, is_last: bool) -> Radiotap {
    // A single HT or legacy MPDU is not in an A-MPDU; a VHT or HE PPDU always carries an A-MPDU.
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
