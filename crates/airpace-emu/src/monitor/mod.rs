//! Shows on monitor interfaces what is on the air: data frames to those that decode them, and on
//! request control frames and beacons, which go out at legacy rates.
//!
//! The frames appear in the order of the air. RTS and CTS appear together with the data frame that
//! they protect, when it ends, and an answer at the same time; each has its own time in the radiotap
//! header.

mod build;
mod scoreboard;

use crate::address::bssid;
use crate::config::{AirConfig, EmulatorConfig, Monitor};
use crate::packet::EmulatedPacket;
use airpace_core::wire::ieee80211::{QOS_HEADER_BYTES, SNAP_BYTES};
use airpace_net::tun::Tun;
use airpace_sim::mac::{Direction, FrameRecord, Mpdu};
use airpace_sim::rng::Stream;
use airpace_units::{StationId, Time};
pub(crate) use build::Dtim;
use build::{Control, FrameBuilder};
use scoreboard::Scoreboard;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The monitor interfaces of a cell.
#[derive(Debug)]
pub(crate) struct Monitors {
    /// That of each station, if there are any.
    stations: Vec<Option<Rc<Tun>>>,
    /// Whether each station is on this channel.
    present: Vec<bool>,
    air: Option<AirRadio>,
    builder: FrameBuilder,
    /// Most bytes of a packet that are shown.
    packet_bytes: usize,
    /// Whether control frames and beacons are shown.
    control: bool,
    /// The frame whose MPDUs the MAC is reporting, and what has been decoded of it.
    current: Option<HeardFrame>,
    /// What each receiver has of each sender and category, for the block acks that it sends.
    scoreboards: BTreeMap<(StationId, Direction, u8), Scoreboard>,
    /// Station that stands for all stations as the receiver of group-addressed frames.
    group: StationId,
    /// Frames for which an interface had no room.
    pub(crate) refused: u64,
}

/// A third radio near the access point.
#[derive(Debug)]
struct AirRadio {
    tun: Tun,
    config: AirConfig,
    draws: Stream,
    /// Whether it hears the data of the current frame.
    hears_data: bool,
}

/// A frame whose MPDUs are being reported.
#[derive(Debug)]
struct HeardFrame {
    record: FrameRecord,
    /// MPDUs shown so far.
    shown: u16,
    /// Sequence numbers of the MPDUs that were decoded.
    decoded: Vec<u16>,
}

impl Monitors {
    /// Returns the monitors on the channel of an access point; `None` if there are none. `air` is
    /// the interface of a third radio on that channel.
    pub(crate) fn new(
        config: &EmulatorConfig,
        access_point: usize,
        stations: Vec<Option<Rc<Tun>>>,
        air: Option<Tun>,
    ) -> Option<Self> {
        let packet_bytes = match config.monitor {
            Monitor::Off if air.is_none() => return None,
            Monitor::Off | Monitor::Whole => usize::MAX,
            Monitor::Snap(bytes) => bytes.saturating_sub(QOS_HEADER_BYTES + SNAP_BYTES),
        };
        let radio = config.air_radios().nth(access_point).flatten().cloned();
        let air = match (air, radio) {
            (Some(tun), Some(radio)) => Some(AirRadio {
                tun,
                config: radio,
                draws: Stream::new(config.seed, "air radio", access_point as u64),
                hears_data: false,
            }),
            _ => None,
        };
        Some(Self {
            group: StationId::from_index(stations.len()),
            present: vec![true; stations.len()],
            stations,
            air,
            builder: FrameBuilder::new(bssid(access_point)),
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

    /// A frame has left the air. Its MPDUs follow, and then [`Monitors::end_frame`].
    pub(crate) fn begin_frame(&mut self, record: &FrameRecord) {
        self.end_frame();
        if let Some(air) = &mut self.air {
            let missed = if record.station() == self.group {
                // Group-addressed frames have a legacy rate, as control frames have.
                air.config.control_loss
            } else {
                air.config.data_loss
            };
            air.hears_data = !air.draws.happens(missed);
        }
        if self.control
            && let Some([rts, cts]) = build::protection(record, self.builder.bssid())
        {
            self.show_control(&rts);
            self.show_control(&cts);
        }
        self.current = Some(HeardFrame {
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
        let hearers = if is_down && station == self.group {
            0..self.stations.len()
        } else if is_down {
            station.index()..station.index() + 1
        } else {
            // The radios of the other stations do not show what is addressed to the access point.
            0..0
        };
        let on_air = self.air.as_ref().filter(|air| air.hears_data);
        if hearers.is_empty() && on_air.is_none() {
            return;
        }
        // Only MPDUs that the receiver has decoded are shown, so the last of those ends the A-MPDU.
        let is_last = current.shown == current.record.decoded;
        let is_group = is_down && station == self.group;
        let frame = self.builder.data(
            &current.record,
            mpdu,
            packet,
            self.packet_bytes,
            is_last,
            is_group,
        );
        for index in hearers {
            if let (Some(Some(tun)), Some(true)) =
                (self.stations.get(index), self.present.get(index))
            {
                self.refused += u64::from(!tun.write(frame).unwrap_or(false));
            }
        }
        if let Some(air) = on_air {
            self.refused += u64::from(!air.tun.write(frame).unwrap_or(false));
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
        let tid = record.category.user_priority();
        let key = (record.station(), record.direction(), tid);
        let scoreboard = self.scoreboards.entry(key).or_default();
        for &sequence in &current.decoded {
            scoreboard.receive(sequence);
        }
        let answer = build::answer(record, self.builder.bssid(), scoreboard);
        self.show_control(&answer);
    }

    /// The access point has begun to send a beacon at `at`; `waiting` are the stations for which it
    /// has buffered frames.
    pub(crate) fn on_beacon(&mut self, at: Time, dtim: build::Dtim, waiting: &[StationId]) {
        if self.control {
            self.end_frame();
            self.show_control(&Control::beacon(at, self.builder.bssid(), dtim, waiting));
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
        if let Some(air) = &mut self.air
            && !air.draws.happens(air.config.control_loss)
        {
            self.refused += u64::from(!air.tun.write(frame).unwrap_or(false));
        }
    }
}
