//! The medium: radios that hear the same share one view of the channel, and a transmission changes
//! the views that it reaches.

use super::earliest::Earliest;
use super::field::{Content, Field};
use super::ids::{ContenderId, Transmitter, ViewId};
use super::view::{ChannelTime, Spacing, View};
use super::{LinkConfig, MacConfig};
use crate::radio::{Hearing, RadioId};
use airpace_units::Time;
use core::time::Duration;
use std::collections::BTreeMap;

/// Time from the beginning of a PPDU until it is noticed (aRxPHYStartDelay of OFDM, table 17-21).
pub(super) const RX_START_DELAY: Duration = Duration::from_micros(20);

/// The channel as each group of radios that hear the same sees it.
#[derive(Debug)]
pub(super) struct Air {
    pub(super) views: Vec<View>,
    /// When the first contender of each view may transmit if the channel stays idle.
    pub(super) next_access: Earliest,
    /// The signals on the air, if they are received by their powers. Each radio then has a view of
    /// its own, with the radio's number.
    pub(super) field: Option<Box<Field>>,
    /// How long a sender waits for an answer to begin (10.3.2.11).
    pub(super) answer_timeout: Duration,
    /// The views that each radio's transmissions reach; not used by received powers.
    reached_by_radio: Vec<Vec<Reached>>,
    /// The views that neighbours' transmissions reach: all.
    reached_by_neighbours: Vec<Reached>,
    /// The view of neighbours, which hear everything.
    neighbour_view: ViewId,
    /// The views in which the last frame for many was decoded.
    pub(super) decoded: Vec<ViewId>,
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
    /// Whether it is for one receiver, which decodes its MPDUs one by one.
    pub(super) is_data: bool,
    /// Whether it is for many, and [`Air::has_decoded`] is to say which of them have decoded it.
    pub(super) is_for_many: bool,
}

impl Reached {
    /// A view in which everything is sensed and decoded.
    pub(super) const fn clearly(view: ViewId) -> Self {
        Self {
            view,
            senses: true,
            disturbs: true,
            decodes: true,
        }
    }
}

impl Air {
    /// A silent channel, and the view of each radio. All draws come from `seed`.
    pub(super) fn new(config: &MacConfig, seed: u64) -> (Self, Vec<ViewId>) {
        let radios = config.radios.len();
        let groups = Groups::new(&config.hearing, radios, &config.links);
        let count = groups.count;
        let spacing = Spacing::of(config.medium);
        let field = match &config.hearing {
            Hearing::All | Hearing::Matrix { .. } => None,
            Hearing::Powers(powers) => {
                let keys = config.radios.iter().map(|radio| radio.stream);
                let field = Field::new((**powers).clone(), config.timing, seed, keys);
                Some(Box::new(field))
            }
        };
        let air = Self {
            views: (0..count).map(|_| View::new(spacing)).collect(),
            next_access: Earliest::new(count),
            field,
            answer_timeout: spacing.sifs + spacing.slot + RX_START_DELAY,
            reached_by_radio: (0..radios).map(|from| groups.reached_by(from)).collect(),
            reached_by_neighbours: (0..count)
                .map(|view| Reached::clearly(ViewId::from_index(view)))
                .collect(),
            neighbour_view: groups.neighbours,
            decoded: Vec::new(),
        };
        (air, groups.of_radio)
    }

    /// A view, after all that has happened to it.
    pub(super) fn view_mut(&mut self, view: ViewId) -> &mut View {
        self.catch_up(view);
        &mut self.views[view.index()]
    }

    /// The earliest access for a frame that goes before all data (a beacon) and is due at `due`.
    pub(super) fn priority_access(&self, view: ViewId, due: Time) -> Time {
        let untold = self.sensed_untold(view);
        let busy_until = untold.map_or(Time::ZERO, |(_, until)| until);
        self.views[view.index()].priority_access(due, busy_until)
    }

    /// How long the channel has been busy up to `now`, as a view sees it.
    pub(super) fn usage(&self, view: ViewId, now: Time) -> ChannelTime {
        let mut usage = self.views[view.index()].usage(now);
        if let Some((since, _)) = self.sensed_untold(view) {
            usage.busy += now.saturating_since(since);
        }
        usage
    }

    /// Since when the radios of a view have sensed a signal of which the view does not know yet,
    /// and until when they will.
    fn sensed_untold(&self, view: ViewId) -> Option<(Time, Time)> {
        self.field.as_ref()?.sensed_untold(view)
    }

    pub(super) const fn neighbour_view(&self) -> ViewId {
        self.neighbour_view
    }

    /// Whether everybody hears the same.
    pub(super) const fn is_shared_by_all(&self) -> bool {
        self.views.len() == 1
    }

    /// A PPDU begins that will last until `end`. `content` is asked for only where signals are
    /// received by their powers.
    pub(super) fn begin_ppdu(
        &mut self,
        transmitter: Transmitter,
        at: Time,
        end: Time,
        content: impl FnOnce() -> Content,
    ) {
        if self.field.is_some() {
            return self.begin_signal(transmitter, at, end, content());
        }
        let reached = match transmitter {
            Transmitter::Radio(radio) => &self.reached_by_radio[radio.index()],
            Transmitter::Neighbour => &self.reached_by_neighbours,
        };
        for reached in reached {
            let view = reached.view.index();
            self.views[view].begin(at, end, reached);
            if reached.senses {
                self.next_access.set(view, None);
            }
        }
    }

    /// A PPDU ends. Returns whether it reached the radios of the view of its receiver: whether no
    /// other one disturbed it there, or by received powers whether it was decoded there, of a data
    /// frame the header.
    pub(super) fn end_ppdu(&mut self, ppdu: &EndingPpdu, receiver: ViewId) -> bool {
        if self.field.is_some() {
            return self.end_signal(ppdu, receiver);
        }
        let reached = match ppdu.transmitter {
            Transmitter::Radio(radio) => &self.reached_by_radio[radio.index()],
            Transmitter::Neighbour => &self.reached_by_neighbours,
        };
        let mut clean = false;
        self.decoded.clear();
        for reached in reached {
            let view = reached.view.index();
            let clean_here = self.views[view].end(ppdu, reached);
            clean |= clean_here && reached.view == receiver;
            if ppdu.is_for_many && clean_here && reached.decodes {
                self.decoded.push(reached.view);
            }
            if reached.senses {
                self.next_access.set(view, self.views[view].due());
            }
        }
        clean
    }

    /// Whether the last frame for many was decoded in a view.
    pub(super) fn has_decoded(&self, view: ViewId) -> bool {
        self.decoded.contains(&view)
    }

    /// The mean power in dBm with which a radio receives another; `None` if it does not, or without
    /// received powers.
    pub(super) fn received_dbm(&self, from: RadioId, to: RadioId) -> Option<f64> {
        let milliwatts = self.field.as_ref()?.received_mw(from, to);
        (milliwatts > 0.0).then(|| 10.0 * milliwatts.log10())
    }

    /// Finds out again when the first contender of a view may transmit: contenders have come, or
    /// draw a new back-off.
    pub(super) fn refresh(&mut self, view: ViewId) {
        let due = self.views[view.index()].due();
        self.next_access.set(view.index(), due);
    }

    /// When the first contender may transmit if nobody else does.
    pub(super) fn next_access(&self) -> Option<Time> {
        self.next_access.first().map(|(at, _)| at)
    }

    /// Takes out the contenders of all views that may transmit at `at`.
    pub(super) fn take_winners(&mut self, at: Time, winners: &mut Vec<ContenderId>) {
        while let Some((next, index)) = self.next_access.first()
            && next <= at
        {
            let view = &mut self.views[index];
            view.take_due(at, winners);
            self.next_access.set(index, view.due());
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
    /// What the radios of each group hear; none by received powers.
    rows: Vec<Row>,
    of_radio: Vec<ViewId>,
    /// The group that hears everything, as neighbours do. No radio need be in it.
    neighbours: ViewId,
    count: usize,
}

impl Groups {
    fn new(hearing: &Hearing, radios: usize, links: &[LinkConfig]) -> Self {
        if let Hearing::Powers(_) = hearing {
            return Self::one_each(radios);
        }
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
            Hearing::All | Hearing::Powers(_) => vec![group_of(everything.clone()); radios],
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
            count: rows.len(),
            rows,
            of_radio,
            neighbours,
        }
    }

    /// A group for each radio, and one for neighbours. What they hear, the received powers say.
    fn one_each(radios: usize) -> Self {
        Self {
            rows: Vec::new(),
            of_radio: (0..radios).map(ViewId::from_index).collect(),
            neighbours: ViewId::from_index(radios),
            count: radios + 1,
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
