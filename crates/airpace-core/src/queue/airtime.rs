use core::time::Duration;

/// The default weight of a station, as in mac80211 (`IEEE80211_DEFAULT_AIRTIME_WEIGHT`).
pub const DEFAULT_WEIGHT: u16 = 256;

/// The smallest quantum; a shorter one is raised to it. It would not change the order of service,
/// but the number of quanta that pay off a debt must stay far from overflow.
const MIN_QUANTUM: Duration = Duration::from_micros(1);
/// The largest quantum; a longer one is reduced to it. No frame lasts as long.
const MAX_QUANTUM: Duration = Duration::from_secs(1);
/// The largest debt that is kept, 146 years: a debt and a quantum together still fit 64 bits.
const DEEPEST: i64 = -(1 << 62);

/// Stations that a rotation visits one by one before it considers all at once. With frames of 4 ms
/// and the default quantum one in 13 is out of debt, so it is rare that this many are visited in
/// vain.
const PATIENCE: u32 = 64;

/// Marks the end of a list. Memory ends long before this many stations, so it is not a valid index.
const END: u32 = u32::MAX;

/// Parameters of [`AirtimeFairness`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AirtimeConfig {
    /// Airtime that a station of [`DEFAULT_WEIGHT`] gets per round, 1 µs to 1 s. Default 300 µs
    /// (`ATH_AIRTIME_QUANTUM` of ath9k).
    pub quantum: Duration,
    /// Whether a station that has just become busy is served before the others, for one turn (004
    /// §3.2). Default true.
    pub sparse: bool,
}

impl Default for AirtimeConfig {
    fn default() -> Self {
        Self {
            quantum: Duration::from_micros(300),
            sparse: true,
        }
    }
}

/// The list that a station is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Out,
    New,
    Old,
}

#[derive(Clone, Copy, Debug)]
struct Station {
    /// Airtime in nanoseconds that the station may still use; zero or negative after it has used
    /// more.
    deficit: i64,
    /// Nanoseconds that it gets per round: the quantum scaled by its weight.
    quantum: i64,
    next: u32,
    place: Place,
    /// Whether it has announced frames and was not found empty since.
    waits: bool,
}

impl Station {
    /// Quanta until the deficit is positive.
    const fn rounds_to_credit(&self) -> u64 {
        if self.deficit > 0 {
            0
        } else {
            self.deficit.unsigned_abs() / self.quantum.unsigned_abs() + 1
        }
    }

    /// Whether `rounds` quanta pay off the debt. It avoids a division, because walks over all
    /// stations call it for each of them.
    const fn has_credit_after(&self, rounds: u64) -> bool {
        self.deficit
            .saturating_add(rounds.cast_signed().saturating_mul(self.quantum))
            > 0
    }

    /// Adds `rounds` quanta. At most the last one pays off the debt, so nothing overflows; see
    /// [`DEEPEST`].
    const fn give(&mut self, rounds: u64) {
        self.deficit += rounds.cast_signed() * self.quantum;
    }
}

/// A singly linked list of stations.
#[derive(Clone, Copy, Debug)]
struct Ring {
    head: u32,
    tail: u32,
    len: u32,
}

impl Ring {
    const EMPTY: Self = Self {
        head: END,
        tail: END,
        len: 0,
    };

    fn push(&mut self, stations: &mut [Station], index: u32) {
        stations[index as usize].next = END;
        match stations.get_mut(self.tail as usize) {
            Some(tail) => tail.next = index,
            None => self.head = index,
        }
        self.tail = index;
        self.len += 1;
    }

    fn pop(&mut self, stations: &[Station]) -> Option<u32> {
        let index = self.head;
        self.head = stations.get(index as usize)?.next;
        if self.head == END {
            self.tail = END;
        }
        self.len -= 1;
        Some(index)
    }

    /// Appends all stations of `other`, which must be a list over the same slice.
    fn append(&mut self, stations: &mut [Station], other: Self) {
        match stations.get_mut(self.tail as usize) {
            Some(tail) => tail.next = other.head,
            None => self.head = other.head,
        }
        self.tail = if other.tail == END {
            self.tail
        } else {
            other.tail
        };
        self.len += other.len;
    }
}

/// Airtime fairness for the stations of one radio and one access category (004 §3.2, Algorithm 3):
/// deficit round robin in airtime.
///
/// Each station has a deficit, which is charged with the airtime of all frames from and to it,
/// retries included. A station in debt waits until enough rounds have passed to pay it off. The
/// caller fills its hardware queue like this:
///
/// ```
/// use airpace_core::queue::{AirtimeConfig, AirtimeFairness};
/// # use std::collections::VecDeque;
/// # use core::time::Duration;
/// let mut fairness = AirtimeFairness::new(AirtimeConfig::default());
/// let stations = [fairness.add(256), fairness.add(256)];
/// // The frames that wait for each station, by the airtime they will take.
/// let mut frames = [VecDeque::from([4_000; 3]), VecDeque::from([1_000; 9])];
/// stations.map(|station| fairness.wake(station));
/// let mut sent = Vec::new();
/// while let Some(station) = fairness.next() {
///     match frames[station as usize].pop_front() {
///         Some(us) => {
///             sent.push(station);
///             fairness.charge(station, Duration::from_micros(us));
///         }
///         None => fairness.found_empty(station),
///     }
/// }
/// assert_eq!(sent, [0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 0, 1]);
/// ```
///
/// Guarantees for stations that are always backlogged, with quantum *q* (scaled by weight) and no
/// frame of station *i* longer than *Fᵢ*:
/// - Over any window, a station's airtime differs from the quanta that it got by less than *q +
///   Fᵢ*, and all get equally many quanta, ± 1.
/// - Since both became busy, two stations of equal weight differ by at most *q* + the longer of
///   *Fᵢ* and *Fⱼ*; over any window, by *q + Fᵢ + Fⱼ*. No schedule that learns the length of a
///   frame after sending it can guarantee less than *Fᵢ + Fⱼ*, as either station may be the one
///   that has just overdrawn.
///
/// Differences from Algorithm 3 as printed, and the reasons:
/// - A station that is charged into debt joins the list even if it has nothing to send (as in
///   ath9k), so that it repays its debt during rounds that others use. If no station waits, nobody
///   is owed anything, so all debts are cancelled. Otherwise a station that has sent for an hour
///   without competition would later wait for an hour.
/// - After a round that found all stations in debt, all rounds until the first is out of debt are
///   applied at once. The order is the same, and one call of [`AirtimeFairness::next`] visits each
///   listed station at most five times, however deep the debts are.
#[derive(Clone, Debug)]
pub struct AirtimeFairness {
    config: AirtimeConfig,
    stations: Vec<Station>,
    /// Stations that have just become busy and have not used up their deficit.
    new: Ring,
    old: Ring,
    /// Stations that wait.
    waiting: u32,
    /// Stations visited since the start; tests bound it.
    visits: u64,
}

impl AirtimeFairness {
    /// A schedule without stations. A quantum outside its range is clamped to it.
    #[must_use]
    pub fn new(config: AirtimeConfig) -> Self {
        let config = AirtimeConfig {
            quantum: config.quantum.clamp(MIN_QUANTUM, MAX_QUANTUM),
            ..config
        };
        Self {
            config,
            stations: Vec::new(),
            new: Ring::EMPTY,
            old: Ring::EMPTY,
            waiting: 0,
            visits: 0,
        }
    }

    /// Adds a station that shares in proportion to `weight` (zero counts as one) and returns its
    /// index; indices are consecutive from 0.
    pub fn add(&mut self, weight: u16) -> u32 {
        let index = u32::try_from(self.stations.len()).expect("memory ends before 2^32 stations");
        let quantum = self.scaled(weight);
        // A station begins with one quantum, as in ath9k, so it is served at once when it first has
        // frames.
        self.stations.push(Station {
            deficit: quantum,
            quantum,
            next: END,
            place: Place::Out,
            waits: false,
        });
        index
    }

    /// Changes the weight of a station and keeps its deficit.
    pub fn set_weight(&mut self, station: u32, weight: u16) {
        let quantum = self.scaled(weight);
        if let Some(station) = self.stations.get_mut(station as usize) {
            station.quantum = quantum;
        }
    }

    /// Announces that the station has frames. Unless it is listed, it joins the new stations, or
    /// the old ones without [`AirtimeConfig::sparse`].
    #[inline]
    pub fn wake(&mut self, station: u32) {
        let Some(state) = self.stations.get_mut(station as usize) else {
            return;
        };
        self.waiting += u32::from(!state.waits);
        state.waits = true;
        if state.place == Place::Out {
            self.list(station);
        }
    }

    /// Returns the station that may send now, or `None` if none waits. It keeps its place until it
    /// is charged into debt, found empty or skipped.
    ///
    /// Gives quanta to stations in debt and moves them back, as Algorithm 3 does.
    #[expect(
        clippy::should_implement_trait,
        reason = "this is not an iterator: it may return the same station many times"
    )]
    #[inline]
    pub fn next(&mut self) -> Option<u32> {
        self.next_allowed(|_| true)
    }

    /// Returns the station that may send now among those that `may_send` allows, or `None` if none
    /// of them waits. The others are skipped, and those of them in debt pay back (as in mac80211).
    #[inline]
    pub fn next_allowed(&mut self, may_send: impl Fn(u32) -> bool) -> Option<u32> {
        if self.waiting == 0 {
            self.settle();
            return None;
        }
        // Old stations visited in vain.
        let mut in_vain = 0;
        loop {
            let index = self.first()?;
            self.visits += 1;
            let state = &mut self.stations[index as usize];
            let credit = state.deficit > 0;
            if credit && state.waits && may_send(index) {
                return Some(index);
            }
            if credit && !state.waits {
                self.retire();
                continue;
            }
            if !credit {
                state.give(1);
            }
            in_vain += u32::from(state.place == Place::Old);
            self.rotate();
            if in_vain >= self.patience() {
                self.fast_forward(&may_send)?;
            }
        }
    }

    /// Reports that the station from [`AirtimeFairness::next`] had nothing to send. A new station
    /// passes through the old ones once, so that none keeps precedence by sending whenever its
    /// queue has just run empty; an old station leaves.
    #[inline]
    pub fn found_empty(&mut self, station: u32) {
        let Some(state) = self.stations.get_mut(station as usize) else {
            return;
        };
        self.waiting -= u32::from(state.waits);
        state.waits = false;
        // A station that is not at the head is found idle when its turn comes.
        if self.first() == Some(station) {
            self.retire();
        }
    }

    /// Charges the station for frames from or to it that took `airtime`, all retries included.
    #[inline]
    pub fn charge(&mut self, station: u32, airtime: Duration) {
        let Some(state) = self.stations.get_mut(station as usize) else {
            return;
        };
        let ns = i64::try_from(airtime.as_nanos()).unwrap_or(i64::MAX);
        state.deficit = state.deficit.saturating_sub(ns).max(DEEPEST);
        if state.deficit > 0 {
            return;
        }
        if state.place == Place::Out {
            self.list(station);
        }
        if self.waiting == 0 {
            self.settle();
        }
    }

    /// Moves the station to the tail of the old stations without a quantum, because it must not
    /// send now (its hardware queue is full). Where all stations may be in this state, use
    /// [`AirtimeFairness::next_allowed`], which ends.
    pub fn skip(&mut self, station: u32) {
        if self.first() == Some(station) {
            self.rotate();
        }
    }

    /// Whether no station waits: each was found empty after it last announced frames.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Number of stations in the lists, including those that have nothing to send and pay back.
    #[must_use]
    pub const fn listed(&self) -> u32 {
        self.new.len + self.old.len
    }

    /// Airtime in nanoseconds that the station may still use in this round. Zero or negative if it
    /// is in debt; zero for unknown stations.
    #[must_use]
    pub fn deficit_ns(&self, station: u32) -> i64 {
        self.stations.get(station as usize).map_or(0, |s| s.deficit)
    }

    /// The parameters, after clamping.
    #[must_use]
    pub const fn config(&self) -> &AirtimeConfig {
        &self.config
    }

    /// The quantum of a station of this weight, in nanoseconds: at most 1 s · 256, at least 3 ns.
    fn scaled(&self, weight: u16) -> i64 {
        let quantum =
            i64::try_from(self.config.quantum.as_nanos()).expect("the quantum is at most a second");
        quantum * i64::from(weight.max(1)) / i64::from(DEFAULT_WEIGHT)
    }

    /// Number of old stations that are visited one by one before all are considered: all of a few,
    /// a quarter of many.
    fn patience(&self) -> u32 {
        (self.old.len / 4).max(PATIENCE).min(self.old.len)
    }

    fn first(&self) -> Option<u32> {
        let head = if self.new.head == END {
            self.old.head
        } else {
            self.new.head
        };
        (head != END).then_some(head)
    }

    fn pop(&mut self) -> Option<u32> {
        self.new
            .pop(&self.stations)
            .or_else(|| self.old.pop(&self.stations))
    }

    /// Appends a station that is not in a list.
    fn list(&mut self, index: u32) {
        let (ring, place) = if self.config.sparse {
            (&mut self.new, Place::New)
        } else {
            (&mut self.old, Place::Old)
        };
        self.stations[index as usize].place = place;
        ring.push(&mut self.stations, index);
    }

    /// Moves the first station to the tail of the old ones.
    fn rotate(&mut self) {
        if let Some(index) = self.pop() {
            self.stations[index as usize].place = Place::Old;
            self.old.push(&mut self.stations, index);
        }
    }

    /// Handles a first station that has nothing to send: a new one joins the old ones, an old one
    /// leaves.
    fn retire(&mut self) {
        if self.new.head != END {
            self.rotate();
        } else if let Some(index) = self.old.pop(&self.stations) {
            self.stations[index as usize].place = Place::Out;
        }
    }

    /// Goes directly to the old station at which rotation would stop, and applies the quanta of all
    /// rounds until then. Returns `None` if rotation would never stop.
    fn fast_forward(&mut self, may_send: impl Fn(u32) -> bool) -> Option<()> {
        let (rounds, chosen) = self.next_of_old(may_send)?;
        // Rotation passes those before the chosen one once more, so they get one more quantum.
        let (mut before, mut rest) = (Ring::EMPTY, Ring::EMPTY);
        let mut turns = rounds + 1;
        while let Some(index) = self.old.pop(&self.stations) {
            self.visits += 1;
            if index == chosen {
                turns = rounds;
            }
            let state = &mut self.stations[index as usize];
            // A station out of debt gets no further quantum: it leaves if it was only paying back,
            // and is skipped if it must not send.
            let ready = turns > 0 && state.has_credit_after(turns - 1);
            state.give(if ready {
                state.rounds_to_credit()
            } else {
                turns
            });
            if ready && !state.waits {
                state.place = Place::Out;
            } else if turns == rounds {
                rest.push(&mut self.stations, index);
            } else {
                before.push(&mut self.stations, index);
            }
        }
        rest.append(&mut self.stations, before);
        self.old = rest;
        Some(())
    }

    /// Of the old stations that wait and may send, the first that will be out of debt, and the
    /// number of rounds until then.
    fn next_of_old(&mut self, may_send: impl Fn(u32) -> bool) -> Option<(u64, u32)> {
        let mut found: Option<(u64, u32)> = None;
        let mut index = self.old.head;
        while let Some(state) = self.stations.get(index as usize) {
            self.visits += 1;
            let sooner =
                found.is_none_or(|(least, _)| least > 0 && state.has_credit_after(least - 1));
            if sooner && state.waits && may_send(index) {
                found = Some((state.rounds_to_credit(), index));
            }
            index = state.next;
        }
        found
    }

    /// Cancels all debts and empties the lists. No station waits, so the rounds that pay off the
    /// debts would cost nobody anything.
    fn settle(&mut self) {
        while let Some(index) = self.pop() {
            let state = &mut self.stations[index as usize];
            state.give(state.rounds_to_credit());
            state.place = Place::Out;
        }
    }
}

#[cfg(test)]
mod tests;
