//! Constants of the standard that data rates and durations depend on.

use crate::phy::params::Width;

/// SERVICE field bits before the PSDU (16 in every OFDM PHY: 17.3.5.2, 19.3.11.1, 21.3.10.1,
/// 27.3.12.1).
pub(super) const SERVICE_BITS: u64 = 16;
/// Tail bits that flush one binary convolutional encoder.
pub(super) const TAIL_BITS: u8 = 6;

/// Bits per subcarrier and stream, and code rate (numerator, denominator) of each constellation
/// (19.5, 21.5, 27.5).
pub(super) const CONSTELLATIONS: [(u32, u32, u32); 12] = [
    (1, 1, 2),
    (2, 1, 2),
    (2, 3, 4),
    (4, 1, 2),
    (4, 3, 4),
    (6, 2, 3),
    (6, 3, 4),
    (6, 5, 6),
    (8, 3, 4),
    (8, 5, 6),
    (10, 3, 4),
    (10, 5, 6),
];

/// The same for the OFDM rates 6 to 54 Mbit/s (table 17-4).
pub(super) const OFDM_CONSTELLATIONS: [(u32, u32, u32); 8] = [
    (1, 1, 2),
    (1, 3, 4),
    (2, 1, 2),
    (2, 3, 4),
    (4, 1, 2),
    (4, 3, 4),
    (6, 2, 3),
    (6, 3, 4),
];

/// One VHT encoder serves at most 600 Mbit/s with the short guard interval, which is 2160 bits per
/// 3.6 µs symbol (21.5).
pub(super) const VHT_ENCODER_BITS: u32 = 2_160;
/// One HT encoder serves at most 300 Mbit/s with the long guard interval, which is 1200 bits per 4
/// µs symbol (19.5).
pub(super) const HT_ENCODER_BITS: u32 = 1_200;

/// The VHT combinations (width, NSS, MCS) that keep their rate although the encoders that the rate
/// calls for do not divide the bits of a symbol, and the number that the standard's tables give
/// them instead: the next that divides (21.5).
pub(super) const VHT_RAISED: [(Width, u8, u8, u32); 13] = [
    (Width::Mhz80, 7, 2, 3),
    (Width::Mhz80, 7, 7, 6),
    (Width::Mhz80, 7, 8, 6),
    (Width::Mhz80, 8, 7, 6),
    (Width::Mhz160, 4, 7, 6),
    (Width::Mhz160, 5, 8, 8),
    (Width::Mhz160, 6, 7, 8),
    (Width::Mhz160, 7, 4, 6),
    (Width::Mhz160, 7, 7, 9),
    (Width::Mhz160, 7, 8, 12),
    (Width::Mhz160, 7, 9, 12),
    (Width::Mhz160, 8, 5, 8),
    (Width::Mhz160, 8, 8, 12),
];
