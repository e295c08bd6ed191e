use core::time::Duration;

/// The weight of a station with an ordinary share, as mac80211 has it (`IEEE80211_DEFAULT_AIRTIME_WEIGHT`).
pub const DEFAULT_WEIGHT: u16 = 256;

/// The smallest quantum that is taken; a shorter one is raised to it. The order of service would not suffer, but the count of quanta
/// that a debt costs must stay far from overflow.
const MIN_QUANTUM: Duration = Duration::from_micros(1);
/// The largest quantum that is taken; a longer one is cut to it. No frame is as long.
const MAX_QUANTUM: Duration = Duration::from_secs(1);
/// The deepest debt that is kept, 146 years: the debt and a quantum together still fit 64 bits.
const DEEPEST: i64 = -(1 << 62);

/// Stations that are looked at one after the other before all are. With frames of 4 ms and the default quantum one in 13 is out of debt,
/// so that as many in vain are rare.
const PATIENCE: u32 = 64;

/// Marks the end of a list. As many stations would not fit any memory, so it is no valid index.
const END: u32 = u32::MAX;

/// Parameters of [`AirtimeFairness`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AirtimeConfig {
    /// Airtime that a station of [`DEFAULT_WEIGHT`] is given per round, 1 µs to 1 s. Default 300 µs (`ATH_AIRTIME_QUANTUM` of ath9k).
    pub quantum: Duration,
    /// Whether a station that has just become busy is served before the others, for one turn (004 §3.2). Default true.
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

/// Which list a station stands in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Out,
    New,
    Old,
}

#[derive(Clone, Copy, Debug)]
struct Station {
    /// Airtime in nanoseconds that the station may still use; zero or less after it has used more.
    deficit: i64,
    /// Nanoseconds that it is given per round: the quantum scaled by its weight.
    quantum: i64,
    next: u32,
    place: Place,
    /// It has announced something to send and has not been found empty since.
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

    /// Whether `rounds` quanta lead out of debt. No division: this is asked of each station in the walks over all.
    const fn has_credit_after(&self, rounds: u64) -> bool {
        self.deficit
            .saturating_add(rounds.cast_signed().saturating_mul(self.quantum))
            > 0
    }

    /// Gives `rounds` quanta, of which the last at most leads out of debt: nothing overflows, see [`DEEPEST`].
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

    /// Appends all of `other`, which holds stations of the same slice.
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

/// Airtime fairness for the stations of one radio and one access category (004 §3.2, Algorithm 3): deficit round robin in airtime.
///
/// Each station has a deficit, which is charged with what it sent and what was sent to it, retries included. Whoever is in debt waits
/// until the rounds have given it enough quanta. The caller fills its hardware queue like this:
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
/// What holds of stations that have something to send all the while, with quantum *q* (scaled by weight) and no frame of station *i*
/// longer than *Fᵢ*:
/// - Over any window a station's airtime differs from the quanta it was given by less than *q + Fᵢ*, and they get equally many quanta, ± 1.
/// - Since both became busy, two of equal weight differ by at most *q* + the longer of *Fᵢ* and *Fⱼ*; over any window by *q + Fᵢ + Fⱼ*. A schedule that
///   learns the length of a frame after sending it can guarantee no less than *Fᵢ + Fⱼ*: each may be the one that has just overdrawn.
///
/// What differs from the letter of Algorithm 3, and why:
/// - A station that is charged into debt joins the list though it has nothing to send (as in ath9k), so that it pays back in the rounds
///   that others use. If nobody waits, nobody is owed anything: debts are settled at once. Otherwise a station that has sent for an
///   hour without competition would later wait for an hour.
/// - When a round has found everybody in debt, the rounds until the first is out of it are given at once. The order is the same; one call
///   of [`AirtimeFairness::next`] visits each listed station at most five times, however deep the debts are.
#[derive(Clone, Debug)]
pub struct AirtimeFairness {
    config: AirtimeConfig,
    stations: Vec<Station>,
    /// Stations that have just become busy and have not used up their deficit.
    new: Ring,
    old: Ring,
    /// Stations that wait.
    waiting: u32,
    /// Stations looked at since the start; what the tests bound.
    visits: u64,
}

impl AirtimeFairness {
    /// A schedule without stations. A quantum outside its range is taken to the nearest valid value.
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

    /// Adds a station that shares in proportion to `weight` (zero counts as one) and returns its index; indices are consecutive from 0.
    pub fn add(&mut self, weight: u16) -> u32 {
        let index =
            u32::try_from(self.stations.len()).expect("as many stations do not fit any memory");
        let quantum = self.scaled(weight);
        // A station begins with one quantum, as in ath9k: it is served at once when it first has something.
        self.stations.push(Station {
            deficit: quantum,
            quantum,
            next: END,
            place: Place::Out,
            waits: false,
        });
        index
    }

    /// Changes the weight of a station; its deficit stays.
    pub fn set_weight(&mut self, station: u32, weight: u16) {
        let quantum = self.scaled(weight);
        if let Some(station) = self.stations.get_mut(station as usize) {
            station.quantum = quantum;
        }
    }

    /// The station has something to send: it joins the new stations (the old ones if not [`AirtimeConfig::sparse`]) unless it is listed.
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

    /// The station that may send now; it stays where it is until it is charged into debt, found empty or skipped.
    ///
    /// Gives quanta to stations in debt and moves them back as Algorithm 3 does. `None` if no station waits.
    #[expect(
        clippy::should_implement_trait,
        reason = "it is no iterator: the same station may be the next many times"
    )]
    #[inline]
    pub fn next(&mut self) -> Option<u32> {
        self.next_allowed(|_| true)
    }

    /// The station that may send now of those that `may_send` allows, as if the others were not there: they are skipped, and those of
    /// them in debt pay back (as in mac80211). `None` if no station waits that is allowed.
    #[inline]
    pub fn next_allowed(&mut self, may_send: impl Fn(u32) -> bool) -> Option<u32> {
        if self.waiting == 0 {
            self.settle();
            return None;
        }
        // Old stations looked at in vain.
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

    /// [`AirtimeFairness::next`] gave this station, and it had nothing to send. A new one goes through the old ones once, so that nobody
    /// keeps precedence by sending whenever its queue has just run empty; an old one leaves.
    #[inline]
    pub fn found_empty(&mut self, station: u32) {
        let Some(state) = self.stations.get_mut(station as usize) else {
            return;
        };
        self.waiting -= u32::from(state.waits);
        state.waits = false;
        // One that is not at the head is found idle when its turn comes.
        if self.first() == Some(station) {
            self.retire();
        }
    }

    /// The station sent, or was sent, frames that took `airtime`, all retries included.
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

    /// The station may not send now, whatever its deficit (its queue in the hardware is full): to the tail of the old stations, without
    /// a quantum. Where all stations may be in this state, [`AirtimeFairness::next_allowed`] serves better: it ends.
    pub fn skip(&mut self, station: u32) {
        if self.first() == Some(station) {
            self.rotate();
        }
    }

    /// Whether no station waits: none has announced something to send and was not found empty since.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Stations in the lists, those included that have nothing to send and pay back.
    #[must_use]
    pub const fn listed(&self) -> u32 {
        self.new.len + self.old.len
    }

    /// Airtime in nanoseconds that the station may still use in this round; zero or less if it is in debt, and for unknown stations.
    #[must_use]
    pub fn deficit_ns(&self, station: u32) -> i64 {
        self.stations.get(station as usize).map_or(0, |s| s.deficit)
    }

    /// The parameters as they are in force.
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

    /// Old stations that are looked at one after the other before all are: all of a few, a quarter of many.
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

    /// Appends a station that is in no list.
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

    /// The first station has nothing to send: a new one goes through the old ones, an old one leaves.
    fn retire(&mut self) {
        if self.new.head != END {
            self.rotate();
        } else if let Some(index) = self.old.pop(&self.stations) {
            self.stations[index as usize].place = Place::Out;
        }
    }

    /// Goes at once to the old station that rotation would come to in the end, and gives what the rounds until then give; `None` if
    /// rotation would find nobody, ever.
    fn fast_forward(&mut self, may_send: impl Fn(u32) -> bool) -> Option<()> {
        let (rounds, chosen) = self.next_of_old(may_send)?;
        // Those before the chosen one have their turn once more.
        let (mut before, mut rest) = (Ring::EMPTY, Ring::EMPTY);
        let mut turns = rounds + 1;
        while let Some(index) = self.old.pop(&self.stations) {
            self.visits += 1;
            if index == chosen {
                turns = rounds;
            }
            let state = &mut self.stations[index as usize];
            // One that is out of debt gets no more: it leaves if it only pays back, and passes if it is not allowed.
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

    /// The first old station that will be out of debt, of those that wait and are allowed, and in how many rounds.
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

    /// Nobody waits: the rounds that would take everybody out of debt cost nobody anything, and all leave.
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
