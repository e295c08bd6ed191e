//! The receiver's end of a block-ack agreement: which MPDUs have arrived.

/// Sequence numbers count modulo this.
const MODULUS: u16 = 4_096;

/// The longest window, in MPDUs: that of HE.
const LONGEST: u16 = 256;

/// The window of HT and VHT, in MPDUs.
const SHORT: u16 = 64;

/// Which of the last 256 sequence numbers have arrived. It answers with a window that ends with the
/// highest of them, as receivers do that keep a partial state (IEEE 802.11-2020 §10.25.6.3).
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    highest: Option<u16>,
    /// Bit i: the newest sequence number that is i modulo 256 has arrived.
    arrived: [u64; LONGEST as usize / 64],
}

impl Scoreboard {
    /// The MPDU `sequence`, 0 to 4095, has arrived.
    pub fn receive(&mut self, sequence: u16) {
        let highest = *self.highest.get_or_insert(sequence);
        let ahead = sequence.wrapping_sub(highest) % MODULUS;
        if ahead < MODULUS / 2 {
            // The window moves on: the numbers between have not arrived yet.
            for skipped in 1..=ahead.min(LONGEST) {
                self.set((highest + skipped) % MODULUS, false);
            }
            self.highest = Some(sequence);
        } else if MODULUS - ahead >= LONGEST {
            return;
        }
        self.set(sequence, true);
    }

    /// Returns the first sequence number and the bitmap of a block ack to a frame of `mpdus`: 8
    /// bytes, or 32 if that frame is longer than 64 MPDUs.
    #[must_use]
    pub fn answer(&self, mpdus: u16) -> (u16, Vec<u8>) {
        let window = if mpdus > SHORT { LONGEST } else { SHORT };
        let highest = self.highest.unwrap_or(0);
        let start = (highest + MODULUS - (window - 1)) % MODULUS;
        let mut bitmap = vec![0; usize::from(window / 8)];
        for offset in 0..window {
            if self.has((start + offset) % MODULUS) {
                bitmap[usize::from(offset / 8)] |= 1 << (offset % 8);
            }
        }
        (start, bitmap)
    }

    fn set(&mut self, sequence: u16, arrived: bool) {
        let (word, bit) = place(sequence);
        if arrived {
            self.arrived[word] |= bit;
        } else {
            self.arrived[word] &= !bit;
        }
    }

    fn has(&self, sequence: u16) -> bool {
        let (word, bit) = place(sequence);
        self.arrived[word] & bit != 0
    }
}

/// Returns the word and the bit that stand for a sequence number.
const fn place(sequence: u16) -> (usize, u64) {
    let slot = sequence % LONGEST;
    ((slot / 64) as usize, 1 << (slot % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the sequence numbers that a block ack says have arrived.
    fn acknowledged(board: &Scoreboard, mpdus: u16) -> Vec<u16> {
        let (start, bitmap) = board.answer(mpdus);
        (0..bitmap.len() as u16 * 8)
            .filter(|offset| bitmap[usize::from(offset / 8)] >> (offset % 8) & 1 == 1)
            .map(|offset| (start + offset) % MODULUS)
            .collect()
    }

    #[test]
    fn the_window_ends_with_the_highest_number_and_wraps_around() {
        let mut board = Scoreboard::default();
        for sequence in [4_094, 4_095, 1, 2] {
            board.receive(sequence);
        }
        assert_eq!(acknowledged(&board, 4), [4_094, 4_095, 1, 2]);
        assert_eq!(board.answer(4).0, 4_096 + 2 - 63);
        // A retransmission fills the hole, and repeats nothing.
        board.receive(0);
        assert_eq!(acknowledged(&board, 1), [4_094, 4_095, 0, 1, 2]);
    }

    #[test]
    fn numbers_that_left_the_window_do_not_come_back_as_arrived() {
        let mut board = Scoreboard::default();
        for sequence in 0..64 {
            board.receive(sequence);
        }
        board.receive(64 + 256);
        assert_eq!(acknowledged(&board, 64), [320]);
        assert_eq!(acknowledged(&board, 65), [320]);
        board.receive(321);
        board.receive(10);
        assert_eq!(acknowledged(&board, 256), [320, 321]);
    }

    #[test]
    fn a_long_frame_has_a_long_bitmap() {
        let mut board = Scoreboard::default();
        for sequence in 100..300 {
            board.receive(sequence);
        }
        assert_eq!(acknowledged(&board, 200), (100..300).collect::<Vec<_>>());
        assert_eq!(acknowledged(&board, 64), (236..300).collect::<Vec<_>>());
    }
}
