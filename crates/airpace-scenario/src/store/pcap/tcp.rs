//! TCP headers, with what an end would know that the simulator's segments do not say.
//!
//! The simulator's streams count their bytes from 0. On the wire a SYN has a sequence number, so the
//! first byte has number 1. A segment with data carries the acknowledgement that its sender was last
//! seen to send, and a pure acknowledgement the sequence number after the last byte that its sender
//! was seen to send.

use airpace_sim::transport::tcp::{AckSegment, DataSegment, TIMESTAMP_UNIT};
use airpace_units::Time;

/// Bytes of a segment with timestamps over Ethernet.
pub(super) const DEFAULT_SEGMENT: u32 = 1_448;
/// Exponent of the window scale that both ends announce.
const WINDOW_SCALE: u8 = 8;
/// Window of an end that receives no data, as Linux announces it at first.
const IDLE_WINDOW: u32 = 64_256;

const FIN: u16 = 0x001;
const SYN: u16 = 0x002;
const ACK: u16 = 0x010;
const ECE: u16 = 0x040;
const CWR: u16 = 0x080;
/// Position of the three bits of accurate ECN: AE, CWR, ECE (RFC 9768, section 3.2.2).
const ACE_SHIFT: u16 = 6;

/// What both ends of a connection were seen to say: first the client's end.
#[derive(Default)]
pub(super) struct Connection([End; 2]);

#[derive(Default)]
struct End {
    /// The sequence number that comes next.
    next: u32,
    /// The last acknowledgement, and whether there was one.
    acknowledged: Option<u32>,
    /// The last timestamp.
    timestamp: u32,
}

impl Connection {
    /// A segment with data, or a SYN, from the client if `is_forward`. Ports and checksum are still
    /// to come.
    pub(super) fn data(&mut self, segment: &DataSegment, is_forward: bool, mss: u16) -> Vec<u8> {
        let value = timestamp(segment.timestamp);
        let [own, peer] = self.ends(is_forward);
        // Sequence numbers have 32 bits and wrap around.
        let sequence = (segment.offset as u32).wrapping_add(u32::from(!segment.syn));
        let length = segment.len + u32::from(segment.fin) + u32::from(segment.syn);
        let end = sequence.wrapping_add(length);
        if own.next.wrapping_sub(end).cast_signed() < 0 {
            own.next = end;
        }
        own.timestamp = value;
        if segment.syn {
            let options = syn_options(value, 0, mss);
            return header(sequence, 0, SYN, unscaled(IDLE_WINDOW), &options);
        }
        let mut flags = ACK;
        flags |= if segment.fin { FIN } else { 0 };
        flags |= if segment.window_reduced { CWR } else { 0 };
        // An end that was not seen to acknowledge has received nothing but the handshake.
        let acknowledged = own.acknowledged.unwrap_or(1);
        let options = timestamps(value, peer.timestamp);
        header(sequence, acknowledged, flags, scaled(IDLE_WINDOW), &options)
    }

    /// An acknowledgement or a SYN-ACK that left its sender at `sent`.
    pub(super) fn ack(&mut self, ack: &AckSegment, sent: Time, is_forward: bool) -> Vec<u8> {
        let (value, echo) = (timestamp(sent), timestamp(ack.echo));
        let [own, _] = self.ends(is_forward);
        let number = (ack.ack as u32).wrapping_add(1);
        let last = own.acknowledged.unwrap_or(number);
        if last.wrapping_sub(number).cast_signed() <= 0 {
            own.acknowledged = Some(number);
        }
        own.timestamp = value;
        if ack.syn {
            own.next = own.next.max(1);
            let options = syn_options(value, echo, (DEFAULT_SEGMENT + 12) as u16);
            return header(0, number, SYN | ACK, unscaled(ack.window), &options);
        }
        let mut options = timestamps(value, echo);
        append_sack(&mut options, ack);
        let mut flags = ACK;
        if let Some(counts) = ack.accurate_ecn {
            // The counter starts at 5 (RFC 9768, section 3.2.1).
            flags |= ((counts.packets.wrapping_add(5) & 7) as u16) << ACE_SHIFT;
            if counts.has_news && ack.blocks().len() < 3 {
                append_accurate_ecn(&mut options, counts.bytes);
            }
        } else if ack.congestion_echo {
            flags |= ECE;
        }
        // The handshake, if it was before the capture, has one number.
        header(own.next.max(1), number, flags, scaled(ack.window), &options)
    }

    /// The sender's end, then the other.
    fn ends(&mut self, is_forward: bool) -> [&mut End; 2] {
        let [client, server] = &mut self.0;
        if is_forward {
            [client, server]
        } else {
            [server, client]
        }
    }
}

/// Puts in the ports.
pub(super) fn complete(header: &mut [u8], source: u16, destination: u16) {
    header[0..2].copy_from_slice(&source.to_be_bytes());
    header[2..4].copy_from_slice(&destination.to_be_bytes());
}

fn header(sequence: u32, number: u32, flags: u16, window: u16, options: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    bytes.extend(sequence.to_be_bytes());
    bytes.extend(number.to_be_bytes());
    // At most 60 bytes, in words of four.
    let words = (20 + options.len()) as u16 / 4;
    bytes.extend((words << 12 | flags).to_be_bytes());
    bytes.extend(window.to_be_bytes());
    // Checksum and urgent pointer.
    bytes.extend([0; 4]);
    bytes.extend(options);
    bytes
}

fn scaled(window: u32) -> u16 {
    unscaled(window >> WINDOW_SCALE)
}

fn unscaled(window: u32) -> u16 {
    u16::try_from(window).unwrap_or(u16::MAX)
}

fn timestamp(at: Time) -> u32 {
    // Timestamps wrap around.
    (at.as_nanos() / TIMESTAMP_UNIT) as u32
}

/// Two bytes of padding and the timestamps (RFC 7323, appendix A).
fn timestamps(value: u32, echo: u32) -> Vec<u8> {
    let mut options = vec![1, 1, 8, 10];
    options.extend(value.to_be_bytes());
    options.extend(echo.to_be_bytes());
    options
}

/// Largest segment, SACK permitted, timestamps, padding, window scale: the order of Linux.
fn syn_options(value: u32, echo: u32, mss: u16) -> Vec<u8> {
    let [high, low] = mss.to_be_bytes();
    let mut options = vec![2, 4, high, low, 4, 2, 8, 10];
    options.extend(value.to_be_bytes());
    options.extend(echo.to_be_bytes());
    options.extend([1, 3, 3, WINDOW_SCALE]);
    options
}

/// Padding and the selective acknowledgements (RFC 2018).
fn append_sack(options: &mut Vec<u8>, ack: &AckSegment) {
    let blocks = ack.blocks();
    if blocks.is_empty() {
        return;
    }
    // At most three blocks.
    options.extend([1, 1, 5, 2 + 8 * blocks.len() as u8]);
    for block in blocks {
        for edge in [block.start, block.end] {
            options.extend((edge as u32).wrapping_add(1).to_be_bytes());
        }
    }
}

/// The option AccECN1 with two counters (RFC 9768, section 3.2.3): bytes with ECT(1), which the
/// simulator does not count and which stay at their first value, and bytes with Congestion
/// Experienced.
fn append_accurate_ecn(options: &mut Vec<u8>, marked_bytes: u64) {
    options.extend([174, 8, 0, 0, 1]);
    let [_, counter @ ..] = (marked_bytes as u32).to_be_bytes();
    options.extend(counter);
}
