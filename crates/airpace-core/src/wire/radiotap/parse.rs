use super::{Ampdu, Channel, Flags, HeUser, HtMcs, LAYOUT, Radiotap, VhtUser, bit};
use crate::wire::cursor::Cursor;
use thiserror::Error;

/// Why bytes are not a valid radiotap header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum RadiotapError {
    /// The bytes end before the header does.
    #[error("the radiotap header is cut off: capture more bytes per packet")]
    Truncated,
    /// The version is not 0, the only version that exists.
    #[error("the radiotap version is {0}, not 0")]
    Version(u8),
    /// The header's length field is too small for the fields that it announces.
    #[error("the radiotap header is shorter than the fields it announces")]
    Inconsistent,
}

/// The namespace of a presence word's bits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Namespace {
    /// The radiotap namespace; bit 0 of the word is the field of this number.
    Radiotap(u32),
    Vendor,
}

impl Radiotap {
    /// Reads the header at the start of `bytes`. Returns its fields and its length in bytes.
    ///
    /// An undefined field ends the parsing without an error, because its size is unknown; the
    /// result has the fields before it.
    ///
    /// # Errors
    /// If the bytes do not hold a whole header.
    pub fn parse(bytes: &[u8]) -> Result<(Self, usize), RadiotapError> {
        let mut cursor = Cursor::new(bytes);
        let version = cursor.u8().ok_or(RadiotapError::Truncated)?;
        if version != 0 {
            return Err(RadiotapError::Version(version));
        }
        cursor.skip(1);
        let length = usize::from(cursor.u16().ok_or(RadiotapError::Truncated)?);
        let header = bytes.get(..length).ok_or(RadiotapError::Truncated)?;
        let mut fields = Self::default();
        fields.read(header).ok_or(RadiotapError::Inconsistent)?;
        Ok((fields, length))
    }

    /// Reads all presence words and their fields. Returns `None` if the header ends before they do.
    fn read(&mut self, header: &[u8]) -> Option<()> {
        let mut words = Cursor::new(header);
        words.skip(4);
        // The fields begin after the last presence word, so a second cursor skips all of them.
        let mut data = words;
        while data.u32()? & (1 << bit::MORE) != 0 {}
        let mut namespace = Namespace::Radiotap(0);
        loop {
            let word = words.u32()?;
            if let Namespace::Radiotap(base) = namespace
                && !self.read_word(word, base, &mut data)?
            {
                return Some(());
            }
            if word & (1 << bit::MORE) == 0 {
                return Some(());
            }
            namespace = next_namespace(namespace, word, &mut data)?;
        }
    }

    /// Reads the fields of one presence word. Returns `Some(false)` if one of them is undefined.
    fn read_word(&mut self, word: u32, base: u32, data: &mut Cursor<'_>) -> Option<bool> {
        let mut fields = word & ((1 << bit::RADIOTAP_NAMESPACE) - 1);
        while fields != 0 {
            let number = fields.trailing_zeros();
            // This clears the lowest set bit.
            fields &= fields - 1;
            let Some(&(align, size)) = LAYOUT.get((base + number) as usize) else {
                return Some(false);
            };
            data.align(usize::from(align));
            let mut field = *data;
            data.skip(usize::from(size));
            self.read_field(base + number, &mut field)?;
        }
        Some(true)
    }

    /// Reads one field of the radiotap namespace; a repeated field is ignored.
    fn read_field(&mut self, number: u32, from: &mut Cursor<'_>) -> Option<()> {
        match number {
            bit::TSFT => first(&mut self.tsft_us, from.u64()?),
            bit::FLAGS => first(&mut self.flags, Flags(from.u8()?)),
            bit::RATE => first(&mut self.legacy_rate, from.u8()?),
            bit::CHANNEL => first(
                &mut self.channel,
                Channel {
                    mhz: from.u16()?,
                    flags: from.u16()?,
                },
            ),
            bit::SIGNAL => first(&mut self.signal_dbm, from.u8()?.cast_signed()),
            bit::ANTENNA => first(&mut self.antenna, from.u8()?),
            bit::MCS => first(
                &mut self.ht,
                HtMcs {
                    known: from.u8()?,
                    flags: from.u8()?,
                    mcs: from.u8()?,
                },
            ),
            bit::AMPDU => first(
                &mut self.ampdu,
                Ampdu {
                    reference: from.u32()?,
                    flags: from.u16()?,
                },
            ),
            bit::VHT => first(&mut self.vht, VhtUser::read(from)?),
            bit::HE => first(&mut self.he, HeUser::read(from)?),
            _ => {}
        }
        Some(())
    }
}

/// Sets a field that is not set yet.
fn first<T>(field: &mut Option<T>, value: T) {
    field.get_or_insert(value);
}

/// The namespace of the word after `word`. Skips the data of a vendor namespace.
fn next_namespace(current: Namespace, word: u32, data: &mut Cursor<'_>) -> Option<Namespace> {
    if word & (1 << bit::VENDOR_NAMESPACE) != 0 {
        // Three bytes of organisation identifier, one of sub-namespace, then the number of bytes to
        // skip.
        data.align(2);
        data.skip(4);
        let skip = data.u16()?;
        data.skip(usize::from(skip));
        return Some(Namespace::Vendor);
    }
    if word & (1 << bit::RADIOTAP_NAMESPACE) != 0 {
        return Some(Namespace::Radiotap(0));
    }
    Some(match current {
        // At most 2^16 / 4 words fit into a header, so this cannot overflow.
        Namespace::Radiotap(base) => Namespace::Radiotap(base + 32),
        Namespace::Vendor => Namespace::Vendor,
    })
}

impl VhtUser {
    fn read(from: &mut Cursor<'_>) -> Option<Self> {
        let (known, flags, bandwidth) = (from.u16()?, from.u8()?, from.u8()?);
        let [mcs_nss, ..] = from.take::<4>()?;
        let (coding, group_id, partial_aid) = (from.u8()?, from.u8()?, from.u16()?);
        // Bit 0 is the coding of the first user; the bits of the others are dropped.
        Some(Self {
            known,
            flags,
            bandwidth,
            mcs_nss,
            coding: coding & 1,
            group_id,
            partial_aid,
        })
    }
}

impl HeUser {
    fn read(from: &mut Cursor<'_>) -> Option<Self> {
        let mut data = [0; 6];
        for word in &mut data {
            *word = from.u16()?;
        }
        Some(Self { data })
    }
}
