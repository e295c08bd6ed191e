//! Reading integers from bytes that may end anywhere.

/// A position in a byte slice. Methods return `None` instead of reading past the end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(super) fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let rest = self.bytes.get(self.at..)?;
        let array = *rest.first_chunk::<N>()?;
        // At most the length of a slice, so it cannot overflow.
        self.at += N;
        Some(array)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.take::<1>().map(|[b]| b)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    /// Skips `n` bytes. If there are fewer, later reads fail.
    pub(super) fn skip(&mut self, n: usize) {
        self.at = self.at.saturating_add(n);
    }

    /// Advances to the next multiple of `alignment` from the start of the slice.
    pub(super) fn align(&mut self, alignment: usize) {
        self.at = self
            .at
            .checked_next_multiple_of(alignment)
            .unwrap_or(usize::MAX);
    }

    /// The bytes that were not read yet.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }
}
