//! Radios that share a channel: their numbers, and who hears whom.
//!
//! The MAC ([`crate::mac`]) and the model of propagation ([`crate::channel`]) both build on these
//! types, so that the latter can say who hears whom without knowing the former.

mod powers;

pub use powers::{Capture, PairPowers, ReceivedPowers, ReceptionRules};

pub(crate) use powers::{Reach, milliwatts_of};

use core::fmt;

/// A radio among those that share a channel, numbered from zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct RadioId(pub u32);

impl RadioId {
    /// The identifier as an index into a slice.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The identifier of the radio at `index`.
    ///
    /// # Panics
    /// If `index` does not fit 32 bits, which no table of radios reaches.
    #[must_use]
    pub fn from_index(index: usize) -> Self {
        Self(u32::try_from(index).expect("a radio index fits 32 bits"))
    }
}

impl fmt::Display for RadioId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "radio {}", self.0)
    }
}

/// Who hears whom. A radio always hears its own transmissions.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Hearing {
    /// Every radio senses, decodes and disturbs every other: there are no hidden nodes, and frames
    /// that overlap are lost.
    #[default]
    All,
    /// Pair by pair; frames that overlap are lost if they disturb each other at all.
    Matrix {
        /// Which transmitter makes the channel busy for which radio.
        senses: Relation,
        /// Which transmitter destroys what which radio receives at the same time.
        disturbs: Relation,
        /// Which transmitter's frame headers are read by which radio, which then defers for the
        /// time that they announce (NAV). A frame that is sensed but not decoded is followed by
        /// EIFS. A frame that is decoded is always sensed, and disturbs; the two ends of a link
        /// decode each other.
        decodes: Relation,
    },
    /// By received powers: what overlaps costs signal, and only what it overlaps.
    Powers(Box<ReceivedPowers>),
}

/// A set of ordered pairs of radios: a transmitter, and a radio that it reaches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Relation {
    radios: usize,
    /// One row for each radio that is reached, with one entry for each transmitter.
    reached: Vec<bool>,
}

impl Relation {
    /// A relation among `radios` radios in which none reaches another.
    #[must_use]
    pub fn none(radios: usize) -> Self {
        Self {
            radios,
            reached: vec![false; radios * radios],
        }
    }

    /// The pairs (transmitter, radio reached) of `radios` radios for which `reaches` holds.
    #[must_use]
    pub fn by(radios: usize, mut reaches: impl FnMut(RadioId, RadioId) -> bool) -> Self {
        let mut relation = Self::none(radios);
        for (index, reached) in relation.reached.iter_mut().enumerate() {
            let from = RadioId::from_index(index % radios);
            let to = RadioId::from_index(index / radios);
            *reached = reaches(from, to);
        }
        relation
    }

    /// Sets whether `from` reaches `to`. Radios that do not exist are ignored.
    pub fn set(&mut self, from: RadioId, to: RadioId, reaches: bool) {
        if from.index() < self.radios && to.index() < self.radios {
            self.reached[to.index() * self.radios + from.index()] = reaches;
        }
    }

    /// Whether a transmission of `from` reaches `to`; false if one of them does not exist.
    #[must_use]
    pub fn reaches(&self, from: RadioId, to: RadioId) -> bool {
        let exist = from.index() < self.radios && to.index() < self.radios;
        exist && self.reached[to.index() * self.radios + from.index()]
    }

    /// The number of radios.
    #[must_use]
    pub const fn radios(&self) -> usize {
        self.radios
    }
}

impl Hearing {
    /// Whether a transmission of `from` makes the channel busy for `to`.
    #[must_use]
    pub fn senses(&self, from: RadioId, to: RadioId) -> bool {
        if from == to {
            return true;
        }
        match self {
            Self::All => true,
            Self::Matrix {
                senses, decodes, ..
            } => senses.reaches(from, to) || decodes.reaches(from, to),
            Self::Powers(powers) => powers.senses(from, to),
        }
    }

    /// The number of radios of the first table that is not of `radios` radios, if there is one.
    pub(crate) fn size_other_than(&self, radios: usize) -> Option<usize> {
        match self {
            Self::All => None,
            Self::Matrix {
                senses,
                disturbs,
                decodes,
            } => {
                let sizes = [senses.radios, disturbs.radios, decodes.radios];
                sizes.into_iter().find(|&size| size != radios)
            }
            Self::Powers(powers) => Some(powers.radios()).filter(|&size| size != radios),
        }
    }
}
