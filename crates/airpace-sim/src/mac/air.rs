//! The medium: radios that hear the same share one view of the channel, and a transmission changes
//! the views that it reaches.

use super::LinkConfig;
use super::ids::{ContenderId, Transmitter, ViewId};
use super::view::{Spacing, View};
use crate::radio::{Hearing, RadioId};
use airpace_core::phy::Medium;
use airpace_units::Time;
use core::time::Duration;
use std::collections::BTreeMap;

/// The channel as each group of radios that hear the same sees it.
#[derive(Debug)]
pub(super) struct Air {
    views: Vec<View>,
    /// When the first contender of each view may transmit if the channel stays idle.
    next_access: Vec<Option<Time>>,
    /// The views that each radio's transmissions reach.
    reached_by_radio: Vec<Vec<Reached>>,
    /// The views that neighbours' transmissions reach: all.
    reached_by_neighbours: Vec<Reached>,
    /// The view of neighbours, which hear everything.
    neighbour_view: ViewId,
}

/// A view that a transmission reaches, and how.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reached {
    view: ViewId,
    pub(super) senses: bool,
    pub(super) disturbs: bool,
    pub(super) decodes: bool,
}

/// A PPDU that leaves the air.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndingPpdu {
    pub(super) transmitter: Transmitter,
    pub(super) begun: Time,
    pub(super) end: Time,
    /// How long its exchange goes on, as its header says (NAV).
    pub(super) announced: Duration,
}

impl Air {
    /// A silent channel, and the view of each radio.
    pub(super) fn new(
        medium: Medium,
        hearing: &Hearing,
        radios: usize,
        links: &[LinkConfig],
    ) -> (Self, Vec<ViewId>) {
        let groups = Groups::new(hearing, radios, links);
        let count = groups.rows.len();
        let air = Self {
            views: (0..count).map(|_| View::new(Spacing::of(medium))).collect(),
            next_access: vec![None; count],
            reached_by_radio: (0..radios).map(|from| groups.reached_by(from)).collect(),
            reached_by_neighbours: (0..count)
                .map(|view| Reached {
                    view: ViewId::from_index(view),
                    senses: true,
                    disturbs: true,
                    decodes: true,
                })
                .collect(),
            neighbour_view: groups.neighbours,
        };
        (air, groups.of_radio)
    }

    pub(super) fn view(&self, view: ViewId) -> &View {
        &self.views[view.index()]
    }

    pub(super) fn view_mut(&mut self, view: ViewId) -> &mut View {
        &mut self.views[view.index()]
    }

    pub(super) const fn neighbour_view(&self) -> ViewId {
        self.neighbour_view
    }

    /// Whether everybody hears the same.
    pub(super) const fn is_shared_by_all(&self) -> bool {
        self.views.len() == 1
    }

    /// A PPDU begins that will last until `end`.
    pub(super) fn begin_ppdu(&mut self, transmitter: Transmitter, at: Time, end: Time) {
        let reached = match transmitter {
            Transmitter::Radio(radio) => &self.reached_by_radio[radio.index()],
            Transmitter::Neighbour => &self.reached_by_neighbours,
        };
        for reached in reached {
            let view = reached.view.index();
            self.views[view].begin(at, end, reached);
            if reached.senses {
                self.next_access[view] = None;
            }
        }
    }

    /// A PPDU ends. Returns whether no other one disturbed it in the view of its receiver.
    pub(super) fn end_ppdu(&mut self, ppdu: &EndingPpdu, receiver: ViewId) -> bool {
        let reached = match ppdu.transmitter {
            Transmitter::Radio(radio) => &self.reached_by_radio[radio.index()],
            Transmitter::Neighbour => &self.reached_by_neighbours,
        };
        let mut clean = false;
        for reached in reached {
            let view = reached.view.index();
            let clean_here = self.views[view].end(ppdu, reached);
            clean |= clean_here && reached.view == receiver;
            if reached.senses {
                self.next_access[view] = self.views[view].due();
            }
        }
        clean
    }

    /// Finds out again when the first contender of a view may transmit: contenders have come, or
    /// draw a new back-off.
    pub(super) fn refresh(&mut self, view: ViewId) {
        self.next_access[view.index()] = self.views[view.index()].due();
    }

    /// When the first contender may transmit if nobody else does.
    pub(super) fn next_access(&self) -> Option<Time> {
        self.next_access.iter().flatten().min().copied()
    }

    /// Takes out the contenders of all views that may transmit at `at`.
    pub(super) fn take_winners(&mut self, at: Time, winners: &mut Vec<ContenderId>) {
        for (view, next) in self.views.iter_mut().zip(&mut self.next_access) {
            if next.is_some_and(|next| next <= at) {
                view.take_due(at, winners);
                *next = view.due();
            }
        }
    }
}

/// What one radio hears of one transmitter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Heard {
    senses: bool,
    disturbs: bool,
    decodes: bool,
}

impl Heard {
    const CLEARLY: Self = Self {
        senses: true,
        disturbs: true,
        decodes: true,
    };
}

/// What one radio hears of each transmitter.
type Row = Vec<Heard>;

/// The radios in groups that hear the same.
#[derive(Debug)]
struct Groups {
    /// What the radios of each group hear.
    rows: Vec<Row>,
    of_radio: Vec<ViewId>,
    /// The group that hears everything, as neighbours do. No radio need be in it.
    neighbours: ViewId,
}

impl Groups {
    fn new(hearing: &Hearing, radios: usize, links: &[LinkConfig]) -> Self {
        let everything = vec![Heard::CLEARLY; radios];
        let mut numbers: BTreeMap<Row, ViewId> = BTreeMap::new();
        let mut rows: Vec<Row> = Vec::new();
        let mut group_of = |row: Row| {
            *numbers.entry(row).or_insert_with_key(|row| {
                rows.push(row.clone());
                ViewId::from_index(rows.len() - 1)
            })
        };
        let of_radio = match hearing {
            Hearing::All => vec![group_of(everything.clone()); radios],
            Hearing::Matrix {
                senses,
                disturbs,
                decodes,
            } => (0..radios)
                .map(|to| {
                    let to = RadioId::from_index(to);
                    let heard = |from: RadioId| {
                        if from == to {
                            return Heard::CLEARLY;
                        }
                        // Whatever is decoded is also sensed, and disturbs.
                        let decodes = decodes.reaches(from, to);
                        Heard {
                            senses: senses.reaches(from, to) || decodes,
                            disturbs: disturbs.reaches(from, to) || decodes,
                            decodes,
                        }
                    };
                    let row = (0..radios).map(|from| heard(RadioId::from_index(from)));
                    group_of(with_links(row.collect(), to, links))
                })
                .collect(),
        };
        let neighbours = group_of(everything);
        Self {
            rows,
            of_radio,
            neighbours,
        }
    }

    /// The groups that a transmission of `from` reaches.
    fn reached_by(&self, from: usize) -> Vec<Reached> {
        let mut reached = Vec::new();
        for (view, row) in self.rows.iter().enumerate() {
            let Heard {
                senses,
                disturbs,
                decodes,
            } = row[from];
            if senses || disturbs {
                reached.push(Reached {
                    view: ViewId::from_index(view),
                    senses,
                    disturbs,
                    decodes,
                });
            }
        }
        reached
    }
}

/// What `radio` hears, given that both ends of a link decode each other: data one way, answers the
/// other.
fn with_links(mut row: Row, radio: RadioId, links: &[LinkConfig]) -> Row {
    for link in links {
        if link.to == radio {
            row[link.from.index()] = Heard::CLEARLY;
        } else if link.from == radio {
            row[link.to.index()] = Heard::CLEARLY;
        }
    }
    row
}
