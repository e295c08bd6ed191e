use super::{ConfigError, RadioId};

/// Who hears whom. Own transmissions are always heard.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Hearing {
    /// Everyone senses, decodes and disturbs everyone: no hidden nodes, and no capture.
    #[default]
    All,
    /// By pairs of radios; no capture either.
    Matrix {
        /// Whose transmissions make the channel busy for whom.
        senses: Relation,
        /// Whose transmissions spoil what whom receives at the same time. The sender of a link always disturbs its receiver.
        disturbs: Relation,
        /// Whose frame headers who reads, and so defers for what they announce (NAV); what is sensed but not decoded is
        /// followed by EIFS. What is decoded is always sensed and disturbs.
        decodes: Relation,
    },
}

/// A relation between the radio that transmits and the one that it reaches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Relation {
    radios: usize,
    /// Row by row: by the radio reached, then by the one that transmits.
    reached: Vec<bool>,
}

impl Relation {
    /// Of `radios` radios, none of which reaches another.
    #[must_use]
    pub fn none(radios: usize) -> Self {
        Self { radios, reached: vec![false; radios * radios] }
    }

    /// Every pair (transmitter, reached) of `radios` radios for which `reaches` holds.
    #[must_use]
    pub fn by(radios: usize, mut reaches: impl FnMut(RadioId, RadioId) -> bool) -> Self {
        let mut relation = Self::none(radios);
        for (place, reached) in relation.reached.iter_mut().enumerate() {
            *reached = reaches(RadioId::from_index(place % radios), RadioId::from_index(place / radios));
        }
        relation
    }

    /// Sets whether `from` reaches `to`. Radios that do not exist are ignored.
    pub fn set(&mut self, from: RadioId, to: RadioId, reaches: bool) {
        if from.index() < self.radios && to.index() < self.radios {
            self.reached[to.index() * self.radios + from.index()] = reaches;
        }
    }

    /// Whether a transmission of `from` reaches `to`.
    #[must_use]
    pub fn reaches(&self, from: RadioId, to: RadioId) -> bool {
        let exist = from.index() < self.radios && to.index() < self.radios;
        exist && self.reached[to.index() * self.radios + from.index()]
    }

    /// How many radios it is of.
    #[must_use]
    pub const fn radios(&self) -> usize {
        self.radios
    }
}

impl Hearing {
    /// Radios that decode what they sense and disturb whom they sense: the same relation for all three.
    #[must_use]
    pub fn symmetric(relation: Relation) -> Self {
        Self::Matrix { senses: relation.clone(), disturbs: relation.clone(), decodes: relation }
    }

    /// Whether a transmission of `from` makes the channel busy for `to`.
    #[must_use]
    pub fn senses(&self, from: RadioId, to: RadioId) -> bool {
        from == to
            || match self {
                Self::All => true,
                Self::Matrix { senses, decodes, .. } => senses.reaches(from, to) || decodes.reaches(from, to),
            }
    }

    pub(super) fn validate(&self, radios: usize) -> Result<(), ConfigError> {
        let Self::Matrix { senses, disturbs, decodes } = self else { return Ok(()) };
        let sizes = [senses.radios, disturbs.radios, decodes.radios];
        match sizes.into_iter().find(|&hearing| hearing != radios) {
            Some(hearing) => Err(ConfigError::Hearing { hearing, radios }),
            None => Ok(()),
        }
    }
}
