//! Compares a sequence number with those received before.

/// Number of counters remembered, and so how far back a late packet is recognised. At 100,000
/// packets per second this is 41 ms, longer than the retransmissions of a MAC take.
const REMEMBERED: u64 = 4096;
const WORDS: usize = (REMEMBERED / 64) as usize;

/// A counter that jumps further ahead than this is a new count, not that many losses: 2²⁰ packets
/// are ten seconds of silence at 100,000 packets per second.
const RESTART: u64 = 1 << 20;

/// Sequence numbers of the MAC count modulo 4096 (IEEE 802.11-2020 §9.2.4.4.2).
const MAC_MODULUS: u16 = 4096;

/// The longest block-ack window (802.11be). No frame holds more MPDUs, so a longer jump means that
/// frames were missed.
pub(super) const LONGEST_FRAME: u16 = 1024;

/// Distance between two sequence numbers of the MAC, whichever is the later one: 0 to 2048.
#[inline]
pub(super) const fn mac_distance(a: u16, b: u16) -> u16 {
    let ahead = (b % MAC_MODULUS + MAC_MODULUS - a % MAC_MODULUS) % MAC_MODULUS;
    if ahead > MAC_MODULUS / 2 {
        MAC_MODULUS - ahead
    } else {
        ahead
    }
}

/// How a number compares with those received before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// Later than all before, by this many numbers; 1 if the skipped numbers say nothing about
    /// frames.
    Ahead(u32),
    /// Earlier than the latest, and missing until now.
    Fill,
    /// Earlier than the latest; whether it was missing says nothing about frames.
    Behind,
    /// Received before.
    Duplicate,
}

/// The MAC's sequence numbers of one traffic identifier. Only the latest must be remembered, as a
/// hole counts when it is skipped.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MacWindow {
    latest: Option<u16>,
}

impl MacWindow {
    /// Takes the next number. `retry` is whether the MPDU was sent before, if that is known.
    #[inline]
    pub(super) fn place(&mut self, sequence: u16, retry: Option<bool>) -> Place {
        let sequence = sequence % MAC_MODULUS;
        let Some(latest) = self.latest else {
            self.latest = Some(sequence);
            return Place::Ahead(1);
        };
        // Both are below the modulus, so this does not overflow.
        let ahead = (sequence + MAC_MODULUS - latest) % MAC_MODULUS;
        match ahead {
            0 => Place::Duplicate,
            1..=LONGEST_FRAME => {
                self.latest = Some(sequence);
                Place::Ahead(u32::from(ahead))
            }
            // Either the number lies further back than a block-ack window reaches, or it lies
            // behind but the MPDU was not sent before. In both cases so many frames were missed
            // that the numbers have wrapped around.
            _ if ahead < MAC_MODULUS - LONGEST_FRAME || retry == Some(false) => {
                self.latest = Some(sequence);
                Place::Ahead(1)
            }
            _ => Place::Behind,
        }
    }
}

/// The tunnel's counters.
#[derive(Clone, Debug)]
pub(super) struct TunnelWindow {
    /// One more than the latest counter; zero before the first.
    next: u64,
    /// All counters below this one are settled: received or lost.
    settled: u64,
    /// `next` when the last slot ended.
    next_at_close: u64,
    received: [u64; WORDS],
    lost: u64,
}

impl Default for TunnelWindow {
    fn default() -> Self {
        Self {
            next: 0,
            settled: 0,
            next_at_close: 0,
            received: [0; WORDS],
            lost: 0,
        }
    }
}

impl TunnelWindow {
    #[inline]
    pub(super) fn place(&mut self, counter: u64) -> Place {
        // The largest counter has no successor. A tunnel ends long before it.
        let counter = counter.min(u64::MAX - 1);
        // Nearly all are the next one, and no unsettled counter falls out of the window.
        if counter == self.next && counter > 0 && counter < self.settled.saturating_add(REMEMBERED)
        {
            self.set(counter);
            self.next = counter + 1;
            return Place::Ahead(1);
        }
        self.place_any(counter)
    }

    fn place_any(&mut self, counter: u64) -> Place {
        if self.next == 0 || counter.saturating_sub(self.next) > RESTART {
            self.start_at(counter);
            return Place::Ahead(1);
        }
        if counter >= self.next {
            self.advance(counter);
            return Place::Ahead(1);
        }
        if self.next - counter > REMEMBERED {
            return Place::Behind;
        }
        if self.has(counter) {
            return Place::Duplicate;
        }
        self.set(counter);
        if counter < self.settled {
            Place::Behind
        } else {
            Place::Fill
        }
    }

    /// Returns the number of packets lost since the last call: those that were missing at the last
    /// call and still are.
    pub(super) fn settle(&mut self) -> u32 {
        self.settle_below(self.next_at_close);
        self.next_at_close = self.next;
        u32::try_from(core::mem::take(&mut self.lost)).unwrap_or(u32::MAX)
    }

    fn start_at(&mut self, counter: u64) {
        *self = Self {
            lost: self.lost,
            next: counter + 1,
            settled: counter,
            next_at_close: counter,
            ..Self::default()
        };
        self.set(counter);
    }

    fn advance(&mut self, counter: u64) {
        // Counters that fall out of the window are settled first; then their bits are cleared for
        // the new ones.
        let forgotten = (counter + 1).saturating_sub(REMEMBERED);
        self.settle_below(forgotten);
        for new in self.next.max(forgotten)..counter {
            self.clear(new);
        }
        self.set(counter);
        self.next = counter + 1;
    }

    fn settle_below(&mut self, limit: u64) {
        let known = limit.min(self.next);
        for counter in self.settled..known {
            self.lost += u64::from(!self.has(counter));
        }
        // Counters that were skipped and fell out of the window at once.
        self.lost += limit.saturating_sub(self.next.max(self.settled));
        self.settled = self.settled.max(limit);
    }

    fn has(&self, counter: u64) -> bool {
        self.received[word(counter)] & bit(counter) != 0
    }

    fn set(&mut self, counter: u64) {
        self.received[word(counter)] |= bit(counter);
    }

    fn clear(&mut self, counter: u64) {
        self.received[word(counter)] &= !bit(counter);
    }
}

const fn word(counter: u64) -> usize {
    ((counter / 64) % (WORDS as u64)) as usize
}

const fn bit(counter: u64) -> u64 {
    1 << (counter % 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn mac_numbers_wrap() {
        let mut window = MacWindow::default();
        let places = [4094, 0, 4095, 0, 3, 1, 2000].map(|sequence| window.place(sequence, None));
        let expected = [
            Place::Ahead(1),
            Place::Ahead(2),
            Place::Behind,
            Place::Duplicate,
            Place::Ahead(3),
            Place::Behind,
            Place::Ahead(1),
        ];
        assert_eq!(places, expected);
    }

    #[test]
    fn numbers_are_followed_after_a_silence_of_any_length() {
        for silence in (1..=8_192).step_by(61) {
            let mut window = MacWindow::default();
            window.place(7, Some(false));
            let next = (7 + silence) % MAC_MODULUS;
            if next != 7 {
                assert!(
                    matches!(window.place(next, Some(false)), Place::Ahead(_)),
                    "after {silence}"
                );
            }
            assert_eq!(
                window.place((next + 1) % MAC_MODULUS, Some(false)),
                Place::Ahead(1),
                "after {silence}"
            );
            assert_eq!(
                window.place(next.wrapping_sub(3) % MAC_MODULUS, Some(true)),
                Place::Behind
            );
        }
    }

    #[test]
    fn holes_are_lost_after_one_to_two_slots_unless_filled() {
        let mut window = TunnelWindow::default();
        for counter in [10, 11, 14, 16] {
            assert_eq!(window.place(counter), Place::Ahead(1));
        }
        assert_eq!(window.settle(), 0);
        assert_eq!(window.place(13), Place::Fill);
        assert_eq!(window.place(13), Place::Duplicate);
        // 12 and 15 were missing at the end of both slots.
        assert_eq!(window.settle(), 2);
        assert_eq!(window.place(15), Place::Behind);
        assert_eq!(window.settle(), 0);
    }

    #[test]
    fn a_long_outage_is_lost_and_a_new_count_is_not() {
        let mut window = TunnelWindow::default();
        window.place(0);
        window.place(30_000);
        // All but the last 4096 counters are settled at once.
        assert_eq!(window.settle(), 30_000 - 4_096);
        assert_eq!(window.settle(), 4_095);
        window.place(1 << 40);
        assert_eq!((window.settle(), window.settle()), (0, 0));
        window.place(u64::MAX);
        assert_eq!((window.settle(), window.settle()), (0, 0));
    }

    proptest! {
        #[test]
        fn every_counter_is_received_or_lost_once(steps in prop::collection::vec(0..6000u64, 1..200), jitter in prop::collection::vec(0..6000u64, 200)) {
            let (mut window, mut seen, mut early) = (TunnelWindow::default(), BTreeSet::new(), BTreeSet::new());
            let (mut base, mut lost, mut late_after_settling) = (0u64, 0u64, 0u64);
            for (i, (step, back)) in steps.into_iter().zip(jitter).enumerate() {
                base += if i % 3 == 0 { step } else { 1 };
                let counter = if i % 4 == 3 { base.saturating_sub(back) } else { base };
                let first = seen.first().copied().unwrap_or(counter);
                match window.place(counter) {
                    Place::Duplicate => prop_assert!(seen.contains(&counter) || early.contains(&counter)),
                    Place::Behind if counter < first || seen.contains(&counter) => {
                        early.insert(counter);
                    }
                    place => {
                        late_after_settling += u64::from(place == Place::Behind);
                        seen.insert(counter);
                    }
                }
                if i % 10 == 9 { lost += u64::from(window.settle()); }
            }
            lost += u64::from(window.settle()) + u64::from(window.settle());
            let (first, last) = (*seen.first().unwrap(), *seen.last().unwrap());
            prop_assert_eq!(last - first + 1, seen.len() as u64 + lost - late_after_settling);
        }
    }
}
