use super::{ConfigError, LinkConfig, RadioId};
use std::collections::BTreeMap;

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
        /// Whose transmissions spoil what whom receives at the same time.
        disturbs: Relation,
        /// Whose frame headers who reads, and so defers for what they announce (NAV); what is sensed but not decoded is
        /// followed by EIFS. What is decoded is always sensed and disturbs; the two ends of a link decode each other.
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
        Self {
            radios,
            reached: vec![false; radios * radios],
        }
    }

    /// Every pair (transmitter, reached) of `radios` radios for which `reaches` holds.
    #[must_use]
    pub fn by(radios: usize, mut reaches: impl FnMut(RadioId, RadioId) -> bool) -> Self {
        let mut relation = Self::none(radios);
        for (place, reached) in relation.reached.iter_mut().enumerate() {
            *reached = reaches(
                RadioId::from_index(place % radios),
                RadioId::from_index(place / radios),
            );
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
        Self::Matrix {
            senses: relation.clone(),
            disturbs: relation.clone(),
            decodes: relation,
        }
    }

    /// Whether a transmission of `from` makes the channel busy for `to`.
    #[must_use]
    pub fn senses(&self, from: RadioId, to: RadioId) -> bool {
        from == to
            || match self {
                Self::All => true,
                Self::Matrix {
                    senses, decodes, ..
                } => senses.reaches(from, to) || decodes.reaches(from, to),
            }
    }

    pub(super) fn validate(&self, radios: usize) -> Result<(), ConfigError> {
        let Self::Matrix {
            senses,
            disturbs,
            decodes,
        } = self
        else {
            return Ok(());
        };
        let sizes = [senses.radios, disturbs.radios, decodes.radios];
        match sizes.into_iter().find(|&hearing| hearing != radios) {
            Some(hearing) => Err(ConfigError::Hearing { hearing, radios }),
            None => Ok(()),
        }
    }
}

/// A group of radios that a transmission reaches, and how.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hearer {
    pub(super) view: u32,
    pub(super) senses: bool,
    pub(super) disturbs: bool,
    pub(super) decodes: bool,
}

/// The radios in groups that hear the same.
#[derive(Debug)]
pub(super) struct Views {
    /// How many groups there are; the last is that of neighbours if `neighbours` is not a group of radios.
    pub(super) count: usize,
    /// The group of each radio.
    pub(super) of_radio: Vec<u32>,
    /// The groups that each radio's transmissions reach; the last entry is for neighbours, which reach all.
    pub(super) hearers: Vec<Vec<Hearer>>,
    /// The group that hears everything, as neighbours do.
    pub(super) neighbours: u32,
}

/// What one radio hears of each transmitter: senses, disturbs, decodes.
type Row = Vec<[bool; 3]>;

impl Views {
    pub(super) fn new(hearing: &Hearing, radios: usize, links: &[LinkConfig]) -> Self {
        let rows = match hearing {
            Hearing::All => vec![vec![[true; 3]; radios]],
            Hearing::Matrix { .. } => (0..radios)
                .map(|to| row(hearing, RadioId::from_index(to), radios, links))
                .collect(),
        };
        let mut groups: BTreeMap<Row, u32> = BTreeMap::new();
        let mut distinct: Vec<Row> = Vec::new();
        let mut group = |row: Row| {
            // There are at most as many groups as radios, of which there are fewer than 2^16.
            *groups.entry(row).or_insert_with_key(|row| {
                distinct.push(row.clone());
                distinct.len() as u32 - 1
            })
        };
        let mut of_radio: Vec<u32> = rows.into_iter().map(&mut group).collect();
        of_radio.resize(radios, 0);
        let neighbours = group(vec![[true; 3]; radios]);
        let mut hearers: Vec<Vec<Hearer>> =
            (0..radios).map(|from| reached(&distinct, from)).collect();
        let everyone = (0..).zip(&distinct);
        hearers.push(
            everyone
                .map(|(view, _)| Hearer {
                    view,
                    senses: true,
                    disturbs: true,
                    decodes: true,
                })
                .collect(),
        );
        Self {
            count: distinct.len(),
            of_radio,
            hearers,
            neighbours,
        }
    }
}

fn row(hearing: &Hearing, to: RadioId, radios: usize, links: &[LinkConfig]) -> Row {
    let Hearing::Matrix {
        senses,
        disturbs,
        decodes,
    } = hearing
    else {
        return vec![[true; 3]; radios];
    };
    let of = |from: RadioId| {
        if from == to {
            return [true; 3];
        }
        let decodes = decodes.reaches(from, to);
        [
            senses.reaches(from, to) || decodes,
            disturbs.reaches(from, to) || decodes,
            decodes,
        ]
    };
    let mut row: Row = (0..radios)
        .map(|from| of(RadioId::from_index(from)))
        .collect();
    // Both ends of a link read each other's frames: data one way, answers the other.
    for link in links {
        let other = if link.to == to { link.from } else { link.to };
        if link.from == to || link.to == to {
            row[other.index()] = [true; 3];
        }
    }
    row
}

/// The groups that a transmission of `from` reaches.
fn reached(distinct: &[Row], from: usize) -> Vec<Hearer> {
    let hearer = |(view, row): (u32, &Row)| {
        let [senses, disturbs, decodes] = row[from];
        (senses || disturbs).then_some(Hearer {
            view,
            senses,
            disturbs,
            decodes,
        })
    };
    (0..).zip(distinct).filter_map(hearer).collect()
}
