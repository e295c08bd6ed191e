use core::fmt;

/// Index of a station within one access point or one proxy, from zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct StationId(pub u32);

impl StationId {
    /// The identifier as an index into a slice.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The identifier of the station at `index`.
    ///
    /// # Panics
    /// If `index` does not fit 32 bits, which no table of stations reaches.
    #[must_use]
    pub fn from_index(index: usize) -> Self {
        Self(u32::try_from(index).expect("a station index fits 32 bits"))
    }
}

impl fmt::Display for StationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sta{}", self.0)
    }
}
