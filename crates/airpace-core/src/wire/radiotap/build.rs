use super::{LAYOUT, MAX_LENGTH, Radiotap, bit};

/// A header under construction.
struct Builder {
    bytes: [u8; MAX_LENGTH],
    at: usize,
    present: u32,
}

impl Builder {
    /// Appends a field at its alignment. Fields must be appended in the order of their bits.
    fn put(&mut self, number: u32, field: &[u8]) {
        let (align, size) = LAYOUT[number as usize];
        debug_assert_eq!(usize::from(size), field.len(), "size of field {number}");
        self.at = self.at.next_multiple_of(usize::from(align));
        self.bytes[self.at..self.at + field.len()].copy_from_slice(field);
        self.at += field.len();
        self.present |= 1 << number;
    }

    fn put_opt<const N: usize>(&mut self, number: u32, field: Option<[u8; N]>) {
        if let Some(field) = field {
            self.put(number, &field);
        }
    }
}

impl Radiotap {
    /// Appends the header to `out`. Returns its length, at most [`MAX_LENGTH`].
    pub fn write(&self, out: &mut Vec<u8>) -> usize {
        // Version, padding, length and one presence word take eight bytes.
        let mut b = Builder {
            bytes: [0; MAX_LENGTH],
            at: 8,
            present: 0,
        };
        b.put_opt(bit::TSFT, self.tsft_us.map(u64::to_le_bytes));
        b.put_opt(bit::FLAGS, self.flags.map(|f| [f.0]));
        b.put_opt(bit::RATE, self.legacy_rate.map(|r| [r]));
        b.put_opt::<4>(bit::CHANNEL, self.channel.map(|c| pairs([c.mhz, c.flags])));
        b.put_opt(bit::SIGNAL, self.signal_dbm.map(i8::to_le_bytes));
        b.put_opt(bit::ANTENNA, self.antenna.map(|a| [a]));
        b.put_opt(bit::MCS, self.ht.map(|m| [m.known, m.flags, m.mcs]));
        b.put_opt(bit::AMPDU, self.ampdu.map(|a| a.bytes()));
        b.put_opt(bit::VHT, self.vht.map(|v| v.bytes()));
        b.put_opt::<12>(bit::HE, self.he.map(|h| pairs(h.data)));
        let length = u16::try_from(b.at).expect("the length is at most MAX_LENGTH");
        b.bytes[2..4].copy_from_slice(&length.to_le_bytes());
        b.bytes[4..8].copy_from_slice(&b.present.to_le_bytes());
        out.extend_from_slice(&b.bytes[..b.at]);
        b.at
    }
}

/// 16-bit words as little-endian bytes; `M` is twice `N`.
fn pairs<const N: usize, const M: usize>(words: [u16; N]) -> [u8; M] {
    const { assert!(M == 2 * N) }
    let mut bytes = [0; M];
    for (pair, word) in bytes.chunks_exact_mut(2).zip(words) {
        pair.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

impl super::Ampdu {
    fn bytes(self) -> [u8; 8] {
        let [a, b, c, d] = self.reference.to_le_bytes();
        let [e, f] = self.flags.to_le_bytes();
        [a, b, c, d, e, f, 0, 0]
    }
}

impl super::VhtUser {
    fn bytes(self) -> [u8; 12] {
        let ([k0, k1], [p0, p1]) = (self.known.to_le_bytes(), self.partial_aid.to_le_bytes());
        let coding = self.coding & 1;
        [
            k0,
            k1,
            self.flags,
            self.bandwidth,
            self.mcs_nss,
            0,
            0,
            0,
            coding,
            self.group_id,
            p0,
            p1,
        ]
    }
}
