//! The encoding of a slot's report: 72 bytes with a fixed layout, little-endian.
//!
//! | offset | field |
//! |---|---|
//! | 0 | version u8 |
//! | 1 | bits 0–1 source of the level, bit 2 set with frames, bit 3 set with waiting times, bits 4–5 their
//! source, bit 6 set if frames could not be told apart; the rest zero |
//! | 2 | packets lost u16, late u16 (65535: that many or more) |
//! | 6 | packets in the longest frame u16 (65535: that many or more) |
//! | 8 | slot number u64 |
//! | 16 | slot length u32, µs |
//! | 20 | frames u32, MPDUs u32, packets u32 |
//! | 32 | bytes u32 (2³² − 1: that many or more) |
//! | 36 | arrival of the first counted frame u64, ns |
//! | 44 | from there to the last counted frame u32, in steps of 100 ns |
//! | 48 | Σ 1/R, and 1/R of the last frames, in s/bit, f32 each |
//! | 56 | waiting time: mean, p50, p95, p99, u32 each, µs |
//!
//! A number too large for its field is encoded as the field's largest value. The message does not
//! contain the station, which follows from the session.

use super::cursor::Cursor;
use crate::report::{
    Answers, LevelSource, OtherNetworks, SenderView, Sensor, SlotReport, WaitSource, WaitingTime,
};
use airpace_units::{StationId, Time};
use core::time::Duration;
use thiserror::Error;

/// Length of an encoded report.
pub const REPORT_BYTES: usize = 72;
/// Version of the layout.
const VERSION: u8 = 2;

const SOURCE: u8 = 0x03;
const HAS_FRAMES: u8 = 0x04;
const HAS_WAIT: u8 = 0x08;
const WAIT_SOURCE: u8 = 0x30;
const WAIT_SOURCE_SHIFT: u32 = 4;
const UNSURE: u8 = 0x40;

/// Unit of the time between the first and the last frame.
const EXTENT_STEP_NS: u64 = 100;

/// Sources by their code on the wire.
const SOURCES: [LevelSource; 4] = [
    LevelSource::AmpduReference,
    LevelSource::Tsft,
    LevelSource::Counters,
    LevelSource::SocketTimestamps,
];

/// Sources of waiting times by their code on the wire.
const WAIT_SOURCES: [WaitSource; 3] = [
    WaitSource::SendStamps,
    WaitSource::BlockAcks,
    WaitSource::TcpAcks,
];

/// Why bytes are not a valid report.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The length is not [`REPORT_BYTES`].
    #[error("a report has {REPORT_BYTES} bytes, not {0}")]
    Length(usize),
    /// The other end uses a different version.
    #[error("the report has version {0}, and this end reads version {VERSION}")]
    Version(u8),
    /// Bits that must be zero are not.
    #[error("reserved bits are set")]
    Reserved,
    /// The slot's length is zero.
    #[error("the length of the slot is zero")]
    NoLength,
    /// Frames, MPDUs and packets contradict each other: each frame has at least one MPDU and each
    /// MPDU at least one packet.
    #[error("the report's counts of frames, MPDUs and packets contradict each other")]
    Counts,
    /// Times are given without frames, missing with frames, or beyond [`Time::MAX`].
    #[error("frame times contradict the number of frames")]
    Times,
    /// The sum of inverse rates is negative, infinite or NaN, or is given without frames.
    #[error("the sum of inverse rates is invalid")]
    InverseRate,
    /// The quantiles of the waiting time decrease, or a waiting time or its source is given although
    /// the flag is not set, or the source is unknown.
    #[error("the waiting times are invalid")]
    Wait,
}

/// Encodes a report without `report.station`, `report.sensor` and `report.sender`. Of
/// `report.confidence` it says whether frames could be told apart reliably.
#[must_use]
pub fn encode(report: &SlotReport) -> [u8; REPORT_BYTES] {
    let mut out = Writer {
        bytes: [0; REPORT_BYTES],
        at: 0,
    };
    out.put([VERSION, flags(report)]);
    out.put(u16::try_from(report.lost).unwrap_or(u16::MAX).to_le_bytes());
    out.put(u16::try_from(report.late).unwrap_or(u16::MAX).to_le_bytes());
    let longest = u16::try_from(report.longest_frame).unwrap_or(u16::MAX);
    out.put(longest.to_le_bytes());
    out.put(report.slot.to_le_bytes());
    out.put(micros(report.length).max(1).to_le_bytes());
    for count in [report.frames, report.mpdus, report.packets] {
        out.put(count.to_le_bytes());
    }
    out.put(
        u32::try_from(report.bytes)
            .unwrap_or(u32::MAX)
            .to_le_bytes(),
    );
    let (first, extent) = extent(report);
    out.put(first.to_le_bytes());
    out.put(extent.to_le_bytes());
    // No rate is known to more than the seven digits of an f32.
    out.put((report.inverse_rate_sum as f32).to_le_bytes());
    out.put((report.recent_inverse_rate as f32).to_le_bytes());
    let wait = report.wait.unwrap_or_default();
    for time in [wait.mean, wait.p50, wait.p95, wait.p99] {
        out.put(micros(time).to_le_bytes());
    }
    out.bytes
}

fn flags(report: &SlotReport) -> u8 {
    let source = SOURCES
        .iter()
        .position(|&s| s == report.source)
        .expect("every source is listed");
    let frames = if report.span.is_some() { HAS_FRAMES } else { 0 };
    // Four sources, and three of waiting times, fit into two bits each.
    let unsure = if report.is_unsure() { UNSURE } else { 0 };
    source as u8 | frames | unsure | report.wait.as_ref().map_or(0, wait_flags)
}

fn wait_flags(wait: &WaitingTime) -> u8 {
    let source = WAIT_SOURCES
        .iter()
        .position(|&s| s == wait.source)
        .expect("every source is listed");
    HAS_WAIT | (source as u8) << WAIT_SOURCE_SHIFT
}

/// Whole microseconds, 71 minutes at most.
fn micros(span: Duration) -> u32 {
    u32::try_from(span.as_micros()).unwrap_or(u32::MAX)
}

/// Arrival of the first frame in ns, and the number of steps from there to the last.
fn extent(report: &SlotReport) -> (u64, u32) {
    let Some((first, last)) = report.span else {
        return (0, 0);
    };
    let ns = last.as_nanos().saturating_sub(first.as_nanos());
    let steps = (ns.saturating_add(EXTENT_STEP_NS / 2)) / EXTENT_STEP_NS;
    (first.as_nanos(), u32::try_from(steps).unwrap_or(u32::MAX))
}

struct Writer {
    bytes: [u8; REPORT_BYTES],
    at: usize,
}

impl Writer {
    fn put<const N: usize>(&mut self, field: [u8; N]) {
        self.bytes[self.at..self.at + N].copy_from_slice(&field);
        self.at += N;
    }
}

/// Decodes a report from `station`. The sender's view has its default value, and the sender fills
/// it in.
///
/// # Errors
/// If the bytes are not a valid report or contradict themselves.
pub fn decode(station: StationId, bytes: &[u8]) -> Result<SlotReport, ReportError> {
    let fields = Fields::read(bytes)?;
    let (frames, mpdus, packets) = fields.counts;
    let longest_frame = u32::from(fields.longest_frame);
    if frames > mpdus
        || mpdus > packets
        || (frames == 0 && packets > 0)
        || (frames == 0 && longest_frame > 0)
    {
        return Err(ReportError::Counts);
    }
    if fields.length_us == 0 {
        return Err(ReportError::NoLength);
    }
    Ok(SlotReport {
        station,
        slot: fields.slot,
        length: Duration::from_micros(u64::from(fields.length_us)),
        frames,
        mpdus,
        packets,
        longest_frame,
        bytes: u64::from(fields.bytes),
        span: fields.span()?,
        inverse_rate_sum: fields.inverse_rate(fields.inverse_rate_sum)?,
        recent_inverse_rate: fields.inverse_rate(fields.recent_inverse_rate)?,
        lost: u32::from(fields.lost),
        late: u32::from(fields.late),
        wait: fields.wait()?,
        transit: None,
        others: OtherNetworks::Unknown,
        airtime_bps: None,
        answers: Answers::Tell,
        upload_bps: None,
        source: SOURCES[usize::from(fields.flags & SOURCE)],
        // Only agents encode reports.
        sensor: Sensor::Agent,
        confidence: f64::from(fields.flags & UNSURE == 0),
        sender: SenderView::default(),
    })
}

/// The fields as encoded.
struct Fields {
    flags: u8,
    lost: u16,
    late: u16,
    longest_frame: u16,
    slot: u64,
    length_us: u32,
    counts: (u32, u32, u32),
    bytes: u32,
    first_ns: u64,
    extent: u32,
    inverse_rate_sum: f32,
    recent_inverse_rate: f32,
    wait_us: [u32; 4],
}

impl Fields {
    fn read(bytes: &[u8]) -> Result<Self, ReportError> {
        let wrong_length = ReportError::Length(bytes.len());
        if bytes.len() != REPORT_BYTES {
            return Err(wrong_length);
        }
        let mut cursor = Cursor::new(bytes);
        let [version, flags] = cursor.take().ok_or(wrong_length)?;
        if version != VERSION {
            return Err(ReportError::Version(version));
        }
        if flags & !(SOURCE | HAS_FRAMES | HAS_WAIT | WAIT_SOURCE | UNSURE) != 0 {
            return Err(ReportError::Reserved);
        }
        Self::read_numbers(flags, cursor).ok_or(wrong_length)
    }

    fn read_numbers(flags: u8, mut from: Cursor<'_>) -> Option<Self> {
        let (lost, late, longest_frame) = (from.u16()?, from.u16()?, from.u16()?);
        Some(Self {
            flags,
            lost,
            late,
            longest_frame,
            slot: from.u64()?,
            length_us: from.u32()?,
            counts: (from.u32()?, from.u32()?, from.u32()?),
            bytes: from.u32()?,
            first_ns: from.u64()?,
            extent: from.u32()?,
            inverse_rate_sum: f32::from_bits(from.u32()?),
            recent_inverse_rate: f32::from_bits(from.u32()?),
            wait_us: [from.u32()?, from.u32()?, from.u32()?, from.u32()?],
        })
    }

    fn span(&self) -> Result<Option<(Time, Time)>, ReportError> {
        let has_frames = self.flags & HAS_FRAMES != 0;
        if has_frames != (self.counts.0 > 0)
            || (!has_frames && (self.first_ns, self.extent) != (0, 0))
        {
            return Err(ReportError::Times);
        }
        // At most 2^32 steps of 100 ns fit 64 bits.
        let extent_ns = u64::from(self.extent) * EXTENT_STEP_NS;
        let last = self
            .first_ns
            .checked_add(extent_ns)
            .ok_or(ReportError::Times)?;
        Ok(has_frames.then_some((Time::from_nanos(self.first_ns), Time::from_nanos(last))))
    }

    /// A number that follows from the frames' rates, which needs frames.
    fn inverse_rate(&self, value: f32) -> Result<f64, ReportError> {
        let valid = value.is_finite() && value >= 0.0 && (value == 0.0 || self.counts.0 > 0);
        if valid {
            Ok(f64::from(value))
        } else {
            Err(ReportError::InverseRate)
        }
    }

    fn wait(&self) -> Result<Option<WaitingTime>, ReportError> {
        let source = (self.flags & WAIT_SOURCE) >> WAIT_SOURCE_SHIFT;
        if self.flags & HAS_WAIT == 0 {
            let empty = source == 0 && self.wait_us == [0; 4];
            return if empty {
                Ok(None)
            } else {
                Err(ReportError::Wait)
            };
        }
        let source = WAIT_SOURCES.get(usize::from(source));
        let [mean, p50, p95, p99] = self.wait_us.map(|us| Duration::from_micros(u64::from(us)));
        match source {
            Some(&source) if [p50, p95, p99].is_sorted() => Ok(Some(WaitingTime {
                mean,
                p50,
                p95,
                p99,
                source,
            })),
            _ => Err(ReportError::Wait),
        }
    }
}

#[cfg(test)]
mod tests;
