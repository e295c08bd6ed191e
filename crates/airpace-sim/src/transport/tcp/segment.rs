//! The segments that sender and receiver exchange.

use airpace_core::packet::Ecn;
use airpace_core::wire::ip::IPV4_HEADER_BYTES;
use airpace_core::wire::tcp::{PureAck, Timestamps};
use airpace_units::Time;

/// TCP header without options, in bytes (RFC 9293, section 3.1).
const TCP_HEADER: u32 = 20;
/// Timestamps option with two bytes of padding (RFC 7323, appendix A).
const TIMESTAMPS: u32 = 12;
/// Options of SYN and SYN-ACK in bytes: maximum segment size 4, SACK permitted 2, timestamps 10,
/// window scale 3, padding 1.
const SYN_OPTIONS: u32 = 20;
/// Unit of the timestamps that hosts write, in nanoseconds (Linux: 1 ms).
pub const TIMESTAMP_UNIT: u64 = 1_000_000;
/// SACK option without its blocks, with padding, in bytes (RFC 2018, section 3).
const SACK_HEAD: u32 = 4;
/// One SACK block, in bytes.
const SACK_BLOCK: u32 = 8;
/// AccECN option with two counters of three bytes (RFC 9768, section 3.2.3).
const ACCURATE_ECN: u32 = 8;

/// A packet from sender to receiver: data, or the SYN that opens the connection.
///
/// The bytes of the stream are numbered from 0. A FIN counts as one byte after the last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataSegment {
    /// Offset of the first byte in the stream.
    pub offset: u64,
    /// Bytes of payload.
    pub len: u32,
    /// Whether this opens the connection; it then carries no data.
    pub syn: bool,
    /// Whether the stream ends after this payload.
    pub fin: bool,
    /// The codepoint with which it is sent; a queue may have marked it when it arrives.
    pub ecn: Ecn,
    /// Congestion window reduced (RFC 3168, section 6.1).
    pub window_reduced: bool,
    /// Whether these bytes were sent before. Not on the wire; for statistics only.
    pub retransmission: bool,
    /// Timestamp value (RFC 7323, section 3).
    pub timestamp: Time,
}

impl DataSegment {
    /// Offset of the byte after the last; a FIN counts as a byte.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.offset + u64::from(self.len) + u64::from(self.fin)
    }

    /// Size of the IP packet in bytes.
    #[must_use]
    pub fn packet_bytes(&self) -> u32 {
        IPV4_HEADER_BYTES
            + TCP_HEADER
            + if self.syn {
                SYN_OPTIONS
            } else {
                TIMESTAMPS + self.len
            }
    }
}

/// Consecutive bytes of the stream: `start` up to but not including `end`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Block {
    /// The first byte.
    pub start: u64,
    /// The byte after the last.
    pub end: u64,
}

impl Block {
    /// Bytes in the block.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Whether all of `other` lies within this block.
    #[must_use]
    pub fn contains(&self, other: &Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// Selective acknowledgements (RFC 2018): at most three blocks beside timestamps, the most recently
/// changed first.
///
/// A first block at or below the cumulative acknowledgement, or within the second, reports a
/// duplicate (RFC 2883).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SackBlocks {
    blocks: [Block; Self::MOST],
    n: u8,
}

impl SackBlocks {
    /// Most blocks that fit beside the timestamps option: 40 bytes of options, less 12 and 4, in
    /// blocks of 8.
    pub const MOST: usize = 3;

    /// The blocks.
    #[must_use]
    pub fn as_slice(&self) -> &[Block] {
        &self.blocks[..usize::from(self.n)]
    }

    /// Adds a block; does nothing if there is no room.
    pub fn push(&mut self, block: Block) {
        if let Some(place) = self.blocks.get_mut(usize::from(self.n)) {
            *place = block;
            self.n += 1;
        }
    }
}

/// What a receiver has counted since the connection began (RFC 9768, section 3.2).
///
/// On the wire every acknowledgement has the low three bits of the first counter, and one that has
/// news has the option with more; here the counters are always whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CeCounts {
    /// Packets with Congestion Experienced (r.cep).
    pub packets: u64,
    /// Bytes of their payload (r.ceb).
    pub bytes: u64,
    /// Whether they have changed since the last acknowledgement.
    pub has_news: bool,
}

/// A packet from receiver to sender: an acknowledgement, or the SYN-ACK.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AckSegment {
    /// Cumulative acknowledgement: every byte below this offset has arrived.
    pub ack: u64,
    /// Timestamp echo reply (RFC 7323, section 4.3).
    pub echo: Time,
    /// Receive window: bytes beyond `ack` for which the receiver has room.
    pub window: u32,
    /// Whether this answers a SYN.
    pub syn: bool,
    /// ECN echo (RFC 3168, section 6.1).
    pub congestion_echo: bool,
    /// Accurate ECN feedback (RFC 9768), which replaces the echo.
    pub accurate_ecn: Option<CeCounts>,
    /// What has arrived beyond `ack`. `None` in the common case, which keeps an acknowledgement
    /// small.
    pub sack: Option<Box<SackBlocks>>,
}

impl AckSegment {
    /// Size of the IP packet in bytes.
    #[must_use]
    pub fn packet_bytes(&self) -> u32 {
        let n_blocks = self.blocks().len() as u32; // At most three.
        let sack = if n_blocks == 0 {
            0
        } else {
            SACK_HEAD + SACK_BLOCK * n_blocks
        };
        // Three blocks leave no room for the option.
        let accurate_ecn = if self.has_ecn_option() && n_blocks < SackBlocks::MOST as u32 {
            ACCURATE_ECN
        } else {
            0
        };
        IPV4_HEADER_BYTES
            + TCP_HEADER
            + if self.syn {
                SYN_OPTIONS
            } else {
                TIMESTAMPS + sack + accurate_ecn
            }
    }

    /// What a device on the path reads in its header; `None` for a SYN-ACK, which does more than
    /// acknowledge.
    #[must_use]
    pub fn on_the_wire(&self) -> Option<PureAck> {
        if self.syn {
            return None;
        }
        Some(PureAck {
            // Sequence numbers and timestamps have 32 bits and wrap around.
            number: self.ack as u32,
            window: self.window,
            ecn: match self.accurate_ecn {
                // The counter starts at 5 (RFC 9768, section 3.2.1).
                Some(counts) => (counts.packets.wrapping_add(5) & 7) as u8,
                None => u8::from(self.congestion_echo),
            },
            timestamps: Some(Timestamps {
                value: 0,
                echo: (self.echo.as_nanos() / TIMESTAMP_UNIT) as u32,
            }),
            is_plain: self.sack.is_none() && !self.has_ecn_option(),
        })
    }

    fn has_ecn_option(&self) -> bool {
        self.accurate_ecn.is_some_and(|counts| counts.has_news)
    }

    /// The selective acknowledgements.
    #[must_use]
    pub fn blocks(&self) -> &[Block] {
        self.sack.as_ref().map_or(&[], |sack| sack.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(n_blocks: usize) -> AckSegment {
        let mut sack = SackBlocks::default();
        (0..n_blocks).for_each(|_| sack.push(Block { start: 1, end: 2 }));
        let sack = (n_blocks > 0).then(|| Box::new(sack));
        AckSegment {
            ack: 0,
            echo: Time::ZERO,
            window: 0,
            syn: false,
            congestion_echo: false,
            accurate_ecn: None,
            sack,
        }
    }

    #[test]
    fn packets_have_the_sizes_that_linux_sends() {
        let data = DataSegment {
            offset: 0,
            len: 1_448,
            syn: false,
            fin: false,
            ecn: Ecn::NotEct,
            window_reduced: false,
            retransmission: false,
            timestamp: Time::ZERO,
        };
        assert_eq!(data.packet_bytes(), 1_500);
        assert_eq!(
            DataSegment {
                len: 0,
                syn: true,
                ..data
            }
            .packet_bytes(),
            60
        );
        assert_eq!(
            [0, 1, 2, 3].map(|n| ack(n).packet_bytes()),
            [52, 64, 72, 80]
        );
        assert_eq!(ack(4).packet_bytes(), 80);
        let with_option = |n_blocks| AckSegment {
            accurate_ecn: Some(CeCounts {
                packets: 4,
                bytes: 4_000,
                has_news: true,
            }),
            ..ack(n_blocks)
        };
        assert_eq!(
            [0, 2, 3].map(|n| with_option(n).packet_bytes()),
            [60, 80, 80]
        );
        let says = with_option(0).on_the_wire().unwrap();
        assert_eq!((says.ecn, says.is_plain), (1, false));
    }

    #[test]
    fn a_fin_counts_as_one_byte() {
        let fin = DataSegment {
            offset: 10,
            len: 5,
            syn: false,
            fin: true,
            ecn: Ecn::NotEct,
            window_reduced: false,
            retransmission: false,
            timestamp: Time::ZERO,
        };
        assert_eq!(fin.end(), 16);
    }
}
