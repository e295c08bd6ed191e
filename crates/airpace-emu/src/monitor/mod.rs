//! Shows on monitor interfaces what is on the air: data frames to those that decode them, and on
//! request control frames and beacons, which go out at legacy rates.
//!
//! The frames appear in the order of the air. RTS and CTS appear together with the data frame that
//! they protect, when it ends, and an answer at the same time; each has its own time in the radiotap
//! header.

mod air;
mod build;

use crate::address::bssid;
use crate::config::{EmulatorConfig, Monitor};
use crate::packet::EmulatedPacket;
use air::AirRadio;
use airpace_core::packet::Packet as _;
use airpace_core::phy::{FCS_BYTES, LegacyRate, TxRate, mpdu_bytes};
use airpace_core::wire::ieee80211::{QOS_HEADER_BYTES, SNAP_BYTES};
use airpace_net::tun::Tun;
use airpace_sim::mac::{Direction, FrameRecord, Mpdu};
use airpace_sim::overheard::{self, Scoreboard};
use airpace_sim::rng::Stream;
use airpace_units::{StationId, Time};
pub(crate) use build::Dtim;
use build::{Control, FrameBuilder};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Rate of beacons, and of the first field of every PPDU: the lowest of OFDM.
const LOWEST_RATE: LegacyRate = LegacyRate::Mbps6;

/// The monitor interfaces on a channel.
#[derive(Debug)]
pub(crate) struct Monitors {
    /// That of each station, if there are any.
    stations: Vec<Option<Rc<Tun>>>,
    /// Whether each station is on this channel.
    present: Vec<bool>,
    /// The third radios on this channel.
    air: Vec<AirMonitor>,
    builder: FrameBuilder,
    /// Most bytes of a packet that are shown.
    packet_bytes: usize,
    /// Whether control frames and beacons are shown.
    control: bool,
    /// The frame whose MPDUs the MAC is reporting, and what has been decoded of it.
    current: Option<HeardFrame>,
    /// What each receiver has of each sender and category, for the block acks that it sends.
    scoreboards: BTreeMap<Agreement, Scoreboard>,
    /// Station that stands for all stations as the receiver of group-addressed frames.
    group: StationId,
    /// Frames for which an interface had no room.
    pub(crate) refused: u64,
}

/// A block-ack agreement.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Agreement {
    access_point: usize,
    station: StationId,
    direction: Direction,
    tid: u8,
}

/// A third radio and its monitor interface.
#[derive(Debug)]
struct AirMonitor {
    tun: Tun,
    radio: AirRadio,
}

/// A frame whose MPDUs are being reported.
#[derive(Debug)]
struct HeardFrame {
    /// Index of the access point of its cell.
    access_point: usize,
    record: FrameRecord,
    /// MPDUs shown so far.
    shown: u16,
    /// Sequence numbers of the MPDUs that were decoded.
    decoded: Vec<u16>,
}

impl Monitors {
    /// Returns the monitors on a channel; `None` if there are none. `air` has the interface of the
    /// third radio near each access point on the channel that has one, with the index of the access
    /// point.
    pub(crate) fn new(
        config: &EmulatorConfig,
        stations: Vec<Option<Rc<Tun>>>,
        air: Vec<(usize, Tun)>,
    ) -> Option<Self> {
        let packet_bytes = match config.monitor {
            Monitor::Off if air.is_empty() => return None,
            Monitor::Off | Monitor::Whole => usize::MAX,
            Monitor::Snap(bytes) => bytes.saturating_sub(QOS_HEADER_BYTES + SNAP_BYTES),
        };
        let mut radios = Vec::new();
        for (access_point, tun) in air {
            let radio = config.air_radios().nth(access_point).flatten();
            let draws = Stream::new(config.seed, "air radio", access_point as u64);
            radios.push(AirMonitor {
                tun,
                radio: AirRadio::new(radio.cloned().unwrap_or_default(), draws),
            });
        }
        Some(Self {
            group: StationId::from_index(stations.len()),
            present: vec![true; stations.len()],
            stations,
            air: radios,
            builder: FrameBuilder::default(),
            packet_bytes,
            control: config.control_frames,
            current: None,
            scoreboards: BTreeMap::new(),
            refused: 0,
        })
    }

    /// A station comes to this channel or leaves it.
    pub(crate) fn set_present(&mut self, station: StationId, is_present: bool) {
        if let Some(present) = self.present.get_mut(station.index()) {
            *present = is_present;
        }
    }

    /// A frame of the cell of `access_point` has left the air. Its MPDUs follow, and then
    /// [`Monitors::end_frame`].
    pub(crate) fn begin_frame(&mut self, access_point: usize, record: &FrameRecord) {
        self.end_frame();
        for air in &mut self.air {
            if record.station() == self.group {
                air.radio.begin_group_frame();
            } else {
                air.radio
                    .begin_data_frame(record.station().index(), record.rate);
            }
        }
        if self.control
            && let Some([rts, cts]) = build::protection(record, bssid(access_point))
        {
            self.show_control(&rts);
            self.show_control(&cts);
        }
        self.current = Some(HeardFrame {
            access_point,
            record: *record,
            shown: 0,
            decoded: Vec::new(),
        });
    }

    /// An MPDU of the current frame was decoded by its receiver.
    pub(crate) fn on_heard(&mut self, mpdu: &Mpdu, packet: &EmulatedPacket) {
        let Some(current) = &mut self.current else {
            return;
        };
        current.shown += 1;
        if current.decoded.last() != Some(&mpdu.sequence) {
            current.decoded.push(mpdu.sequence);
        }
        let station = mpdu.station();
        let is_down = mpdu.direction() == Direction::Down;
        let is_group = is_down && station == self.group;
        let hearers = if is_group {
            0..self.stations.len()
        } else if is_down {
            station.index()..station.index() + 1
        } else {
            // The radios of the other stations do not show what is addressed to the access point.
            0..0
        };
        if hearers.is_empty() && !self.air.iter().any(|air| air.radio.listens()) {
            return;
        }
        // Only MPDUs that the receiver has decoded are shown, so the last of those ends the A-MPDU.
        let is_last = current.shown == current.record.decoded;
        let bssid = bssid(current.access_point);
        let header = build::data_header(mpdu, bssid, packet, is_group);
        let radiotap = overheard::data_radiotap(&current.record, is_last);
        let frame = self
            .builder
            .data(&radiotap, &header, packet, self.packet_bytes);
        for index in hearers {
            if let (Some(Some(tun)), Some(true)) =
                (self.stations.get(index), self.present.get(index))
            {
                self.refused += u64::from(!tun.write(frame).unwrap_or(false));
            }
        }
        let bytes = mpdu_bytes(packet.bytes());
        for air in &mut self.air {
            if air.radio.hears_mpdu(bytes) {
                self.refused += u64::from(!air.tun.write(frame).unwrap_or(false));
            }
        }
    }

    /// All MPDUs of the current frame have been reported: shows the answer to it.
    pub(crate) fn end_frame(&mut self) {
        let Some(current) = self.current.take() else {
            return;
        };
        let record = &current.record;
        let unanswered = current.decoded.is_empty() || record.station() == self.group;
        if !self.control || unanswered {
            return;
        }
        let agreement = Agreement {
            access_point: current.access_point,
            station: record.station(),
            direction: record.direction(),
            tid: record.category.user_priority(),
        };
        let scoreboard = self.scoreboards.entry(agreement).or_default();
        for &sequence in &current.decoded {
            scoreboard.receive(sequence);
        }
        let answer = build::answer(record, bssid(current.access_point), scoreboard);
        self.show_control(&answer);
    }

    /// An access point has begun to send a beacon at `at`; `waiting` are the stations for which it
    /// has buffered frames.
    pub(crate) fn on_beacon(
        &mut self,
        at: Time,
        access_point: usize,
        dtim: Dtim,
        waiting: &[StationId],
    ) {
        if self.control {
            self.end_frame();
            let beacon = Control::beacon(at, bssid(access_point), dtim, waiting);
            self.show_control(&beacon);
        }
    }

    /// Shows a control frame or a beacon to everybody but its sender.
    fn show_control(&mut self, control: &Control) {
        let frame = self.builder.control(control);
        for (index, tun) in self.stations.iter().enumerate() {
            let is_sender = control.sender == Some(StationId::from_index(index));
            if let (Some(tun), false, true) = (tun, is_sender, self.present[index]) {
                self.refused += u64::from(!tun.write(frame).unwrap_or(false));
            }
        }
        let station = control.station.map(StationId::index);
        let rate = TxRate::legacy(control.rate);
        // Control frames have tens of bytes, beacons a few hundred.
        let bytes = control.bytes.len() as u32 + FCS_BYTES;
        for air in &mut self.air {
            if air.radio.hears_control(station, rate, bytes) {
                self.refused += u64::from(!air.tun.write(frame).unwrap_or(false));
            }
        }
    }
}
