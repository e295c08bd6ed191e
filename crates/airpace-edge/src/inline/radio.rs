//! What a monitor interface near an access point shows: reads the frames and hands them to the
//! block-ack sensor of the medium.
//!
//! The sensor needs to know when each frame was on the air. The radiotap header has its beginning by
//! the radio's own clock (TSFT), to which the box's clock is aligned once; its end follows from its
//! rate and length. Frames without TSFT end when they arrive.

use super::nearby::NearbyRadio;
use super::{DownlinkFrame, Inline};
use airpace_core::phy::{DELIMITER_BYTES, LegacyRate, Timing, TxRate};
use airpace_core::report::SlotReport;
use airpace_core::sensor::block_ack::{AirUse, BlockAckRadio, OnAir, Unusable};
use airpace_core::wire::control::ControlFrame;
use airpace_core::wire::ieee80211::{DataHeader, Direction, FCS_BYTES, MacAddr};
use airpace_core::wire::radiotap::Radiotap;
use airpace_units::{StationId, Time};
use core::time::Duration;

/// Frames of stations of the medium that must name an address before it is taken for the access
/// point's.
const SEEN_BEFORE_LEARNT: u32 = 3;
/// Addresses that may be on their way to being learnt at the same time.
const CANDIDATES: usize = 8;
/// Addresses that one access point may have, one for each of its networks. Real ones have up to 16.
const MOST_BSSIDS: usize = 16;
/// The box's clock is aligned to the radio's again when they differ by this: the radio has started
/// anew, or the clocks have drifted for hours.
const REALIGN: Duration = Duration::from_millis(200);
/// Control frames whose rate is not told are taken to have this one, which most access points ask
/// for at 5 GHz.
const USUAL_CONTROL_RATE: LegacyRate = LegacyRate::Mbps24;

/// Frames that a radio has shown since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RadioCounts {
    /// Control frames that were read.
    pub control: u64,
    /// Data frames.
    pub data: u64,
    /// Frames that do not matter here, such as beacons.
    pub other: u64,
    /// Frames without a valid radiotap header, or damaged on the air.
    pub malformed: u64,
    /// Slots of stations in which more was acknowledged than was sent, so that another sensor speaks
    /// for them: somebody forges block acks, or the stations receive by other ways too.
    pub doubted_slots: u64,
}

impl<F: DownlinkFrame> Inline<F> {
    /// Takes a frame that the monitor interface near the access point of `medium` has shown: its
    /// first bytes, from the radiotap header on, and the length of the whole frame. Without such an
    /// access point it is ignored.
    pub fn on_radio_frame(&mut self, arrival: Time, medium: usize, bytes: &[u8], length: usize) {
        if let Some(medium) = self.media.get_mut(medium) {
            medium.observer.on_radio_frame(arrival, bytes, length);
        }
    }

    /// What the radio near an access point has shown since the start; `None` if there is no such
    /// access point.
    #[must_use]
    pub fn radio_counts(&self, medium: usize) -> Option<&RadioCounts> {
        self.media
            .get(medium)
            .map(|medium| medium.observer.radio.counts())
    }

    /// How the air around an access point was used in the last slot beside its downlink, as far as
    /// the radio near it has heard; `None` if there is no such access point.
    #[must_use]
    pub fn air_use(&self, medium: usize) -> Option<AirUse> {
        self.media
            .get(medium)
            .map(|medium| medium.observer.radio.air())
    }
}

/// The radio near one access point.
#[derive(Clone, Debug, Default)]
pub(super) struct CellRadio {
    /// Whether the configuration names the access point's address, so that none is learnt.
    is_configured: bool,
    /// `None` until an address of the access point is known.
    sensor: Option<BlockAckRadio>,
    candidates: Vec<Candidate>,
    clock: RadioClock,
    aggregate: Option<Aggregate>,
    counts: RadioCounts,
    air: AirUse,
    /// The interface; `None` until the caller says how it stands.
    pub(super) nearby: Option<NearbyRadio>,
    /// When it last showed a frame.
    pub(super) heard_at: Time,
}

/// An address that stations of the medium exchange frames with.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    address: MacAddr,
    seen: u32,
}

impl CellRadio {
    /// A radio near the access point `bssid`; `None` learns the address from the frames that the
    /// stations of the medium exchange with it.
    pub(super) fn new(bssid: Option<MacAddr>) -> Self {
        Self {
            is_configured: bssid.is_some(),
            sensor: bssid.map(BlockAckRadio::new),
            candidates: Vec::new(),
            clock: RadioClock::default(),
            aggregate: None,
            counts: RadioCounts::default(),
            air: AirUse::default(),
            nearby: None,
            heard_at: Time::ZERO,
        }
    }

    /// What was heard since the start.
    pub(super) const fn counts(&self) -> &RadioCounts {
        &self.counts
    }

    /// How the air was used in the last slot beside the downlink.
    pub(super) const fn air(&self) -> AirUse {
        self.air
    }

    /// A packet leaves for the access point.
    pub(super) fn on_downlink(&mut self, now: Time, station: MacAddr, bytes: u32) {
        if let Some(sensor) = &mut self.sensor {
            sensor.on_downlink(now, station, bytes);
        }
    }

    /// Takes a frame of the monitor interface: its first bytes, from the radiotap header on, and the
    /// length of the whole frame. `is_station` says whether an address is a station of the medium.
    pub(super) fn on_frame(
        &mut self,
        arrival: Time,
        bytes: &[u8],
        length: usize,
        is_station: impl Fn(MacAddr) -> bool,
    ) {
        let Ok((radiotap, start)) = Radiotap::parse(bytes) else {
            self.counts.malformed += 1;
            return;
        };
        let flags = radiotap.flags.unwrap_or_default();
        let (Some(frame), false) = (bytes.get(start..), flags.bad_fcs()) else {
            self.counts.malformed += 1;
            return;
        };
        self.heard_at = self.heard_at.max(arrival);
        let fcs = if flags.fcs_at_end() { 0 } else { FCS_BYTES };
        let air_bytes = u32::try_from(length.saturating_sub(start) + fcs).unwrap_or(u32::MAX);
        if let Ok(control) = ControlFrame::parse(frame) {
            self.counts.control += 1;
            self.on_control(arrival, &radiotap, air_bytes, &control, is_station);
        } else if let Ok((header, _)) = DataHeader::parse(frame) {
            self.counts.data += 1;
            self.on_data(arrival, &radiotap, air_bytes, &header, is_station);
        } else {
            self.counts.other += 1;
        }
    }

    fn on_control(
        &mut self,
        arrival: Time,
        radiotap: &Radiotap,
        air_bytes: u32,
        frame: &ControlFrame<'_>,
        is_station: impl Fn(MacAddr) -> bool,
    ) {
        if let ControlFrame::BlockAck(block_ack) = frame
            && is_station(block_ack.transmitter)
        {
            self.learn(block_ack.receiver);
        }
        let rate = radiotap
            .rate()
            .unwrap_or_else(|| TxRate::legacy(USUAL_CONTROL_RATE));
        let duration = rate.ppdu_duration(air_bytes, Timing::Standard);
        let heard = self.clock.on_air(arrival, radiotap.tsft_us, duration);
        if let Some(sensor) = &mut self.sensor {
            sensor.on_control(heard, frame);
        }
    }

    fn on_data(
        &mut self,
        arrival: Time,
        radiotap: &Radiotap,
        air_bytes: u32,
        header: &DataHeader,
        is_station: impl Fn(MacAddr) -> bool,
    ) {
        match header.direction {
            Direction::FromDs if is_station(header.receiver) => self.learn(header.transmitter),
            Direction::ToDs if is_station(header.transmitter) => self.learn(header.receiver),
            _ => {}
        }
        let rate = radiotap.rate();
        let duration = match rate {
            Some(rate) => {
                let bytes = self.aggregate_bytes(radiotap, header, air_bytes);
                // A frame is never longer than a PPDU may be (10.12.8 and table 9-25).
                let longest = Duration::from_micros(5_484);
                rate.ppdu_duration(bytes, Timing::Standard).min(longest)
            }
            None => Duration::ZERO,
        };
        let heard = self.clock.on_air(arrival, radiotap.tsft_us, duration);
        if let Some(sensor) = &mut self.sensor {
            sensor.on_data(heard, header, rate.map(TxRate::rate));
        }
    }

    /// Length of the frame that an MPDU was part of, as far as it is known by now. The MPDUs of an
    /// aggregate are heard one by one, have the time of the whole frame, and some are missed.
    fn aggregate_bytes(&mut self, radiotap: &Radiotap, header: &DataHeader, air_bytes: u32) -> u32 {
        let subframe = air_bytes
            .saturating_add(DELIMITER_BYTES)
            .next_multiple_of(4);
        let is_same = |known: &&mut Aggregate| {
            radiotap.tsft_us.is_some()
                && known.tsft_us == radiotap.tsft_us
                && known.transmitter == header.transmitter
        };
        if let Some(known) = self.aggregate.as_mut().filter(is_same) {
            return known.add(subframe, header);
        }
        let mut aggregate = Aggregate::new(radiotap.tsft_us, header.transmitter);
        let bytes = aggregate.add(subframe, header);
        self.aggregate = Some(aggregate);
        bytes
    }

    /// Takes notice of an address that a station of the medium exchanges frames with: it is the
    /// access point's. Access points have one for each of their networks.
    fn learn(&mut self, address: MacAddr) {
        let is_known = |sensor: &BlockAckRadio| sensor.is_own(address);
        let is_group = address.0[0] & 1 == 1;
        if self.is_configured || is_group || self.sensor.as_ref().is_some_and(is_known) {
            return;
        }
        let known = self
            .candidates
            .iter_mut()
            .find(|known| known.address == address);
        match known {
            Some(candidate) => candidate.seen += 1,
            None => {
                // The oldest candidate was a damaged or a forged frame.
                if self.candidates.len() == CANDIDATES {
                    self.candidates.remove(0);
                }
                self.candidates.push(Candidate { address, seen: 1 });
            }
        }
        let is_learnt = |known: &Candidate| known.seen >= SEEN_BEFORE_LEARNT;
        if !self.candidates.iter().any(is_learnt) {
            return;
        }
        self.candidates.retain(|known| known.address != address);
        match &mut self.sensor {
            Some(sensor) if sensor.bssids().len() < MOST_BSSIDS => sensor.add_bssid(address),
            Some(_) => {}
            None => self.sensor = Some(BlockAckRadio::new(address)),
        }
    }

    /// Ends the slot of a station; `None` before the access point's address is known.
    pub(super) fn close_slot(
        &mut self,
        now: Time,
        station: MacAddr,
        id: StationId,
    ) -> Option<SlotReport> {
        let sensor = self.sensor.as_mut()?;
        let report = sensor.close_slot(now, station, id);
        self.counts.doubted_slots = sensor.doubted_slots();
        Some(report)
    }

    /// Why the radio does not tell of a station's frames; `None` if it does, or has nothing to tell.
    pub(super) fn unusable(&self, station: MacAddr) -> Option<Unusable> {
        self.sensor.as_ref()?.unusable(station)
    }

    /// Ends the slot of the cell, after those of all its stations.
    pub(super) fn close_cell(&mut self, is_station: impl Fn(MacAddr) -> bool) {
        if let Some(sensor) = &mut self.sensor {
            self.air = sensor.close_cell();
            // Anybody may have sent block acks to the access point in the slot.
            sensor.retain(is_station);
        }
    }

    /// A station has left the medium.
    pub(super) fn remove(&mut self, station: MacAddr) {
        if let Some(sensor) = &mut self.sensor {
            sensor.remove(station);
        }
    }
}

/// The MPDUs of one frame that have been heard.
#[derive(Clone, Copy, Debug)]
struct Aggregate {
    tsft_us: Option<u64>,
    transmitter: MacAddr,
    heard: u32,
    bytes: u64,
    /// Lowest and highest number, from the first on, of the MPDUs that were not sent before. Those
    /// sent again may be far behind.
    first: Option<u16>,
    span: u32,
    retries: u32,
}

impl Aggregate {
    const fn new(tsft_us: Option<u64>, transmitter: MacAddr) -> Self {
        Self {
            tsft_us,
            transmitter,
            heard: 0,
            bytes: 0,
            first: None,
            span: 0,
            retries: 0,
        }
    }

    /// Adds an MPDU with its delimiter. Returns the bytes of the whole frame up to it: sequence
    /// numbers tell how many MPDUs in between were missed.
    fn add(&mut self, subframe: u32, header: &DataHeader) -> u32 {
        self.heard += 1;
        self.bytes += u64::from(subframe);
        if header.retry {
            self.retries += 1;
        } else {
            let first = *self.first.get_or_insert(header.sequence);
            let offset = header.sequence.wrapping_sub(first) & 0x0fff;
            // Further ahead than a window is a number from before the first.
            if offset < 1_024 {
                self.span = self.span.max(u32::from(offset) + 1);
            }
        }
        let mpdus = (self.span + self.retries).max(self.heard);
        let bytes = self.bytes * u64::from(mpdus) / u64::from(self.heard);
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }
}

/// Aligns the radio's clock to the box's.
#[derive(Clone, Copy, Debug, Default)]
struct RadioClock {
    /// Time of the box at the radio's zero, in ns.
    offset_ns: Option<i128>,
}

impl RadioClock {
    /// When a frame was on the air that arrived at `arrival`, began at `tsft_us` by the radio's clock
    /// and took `duration`.
    fn on_air(&mut self, arrival: Time, tsft_us: Option<u64>, duration: Duration) -> OnAir {
        let Some(tsft_us) = tsft_us else {
            let length_ns = u64::try_from(duration.as_nanos()).unwrap_or(0);
            return OnAir {
                start: Time::from_nanos(arrival.as_nanos().saturating_sub(length_ns)),
                end: arrival,
            };
        };
        let radio_ns = i128::from(tsft_us) * 1_000;
        let measured = i128::from(arrival.as_nanos()) - radio_ns;
        let is_far = |offset: i128| (measured - offset).unsigned_abs() > REALIGN.as_nanos();
        // Differences between frames must stay exact, so the offset is not followed finely.
        let offset = match self.offset_ns {
            Some(offset) if !is_far(offset) => offset,
            _ => *self.offset_ns.insert(measured),
        };
        let start = u64::try_from((radio_ns + offset).max(0)).unwrap_or(u64::MAX);
        let start = Time::from_nanos(start);
        OnAir {
            start,
            end: start.saturating_add(duration),
        }
    }
}
