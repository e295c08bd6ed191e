//! How long datagrams to a peer can be without being cut into fragments.
//!
//! The peer answers each probe that reaches it. Messages of routers play no part, because they are
//! often filtered (RFC 8899, packetization layer path MTU discovery for datagram transports).

use airpace_units::Time;
use core::time::Duration;

/// Time within which a probe must be answered.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);
/// Time after which the result is tested again: the path may have changed.
const REPEAT_AFTER: Duration = Duration::from_secs(60);
/// Rounds of a search. Only the first has a single probe; the others make up for lost ones.
const ROUNDS: u32 = 3;

/// MTUs that occur on paths: the least of IPv4 and of IPv6, and those of common encapsulations.
const COMMON_MTUS: [u16; 8] = [576, 1280, 1300, 1360, 1400, 1440, 1472, 1492];

/// The search for the longest datagram that passes to a peer.
#[derive(Debug)]
pub(super) struct PathSearch {
    /// The longest datagram that is wanted.
    wanted: u16,
    /// The result of the last search that was answered.
    found: Option<u16>,
    /// The longest probe of this search that was answered.
    best: u16,
    /// Rounds of this search that have begun; zero between searches.
    rounds: u32,
    next_round: Time,
}

impl PathSearch {
    /// A search for the path of datagrams of up to `wanted` bytes.
    pub(super) const fn new(wanted: u16) -> Self {
        Self {
            wanted,
            found: None,
            best: 0,
            rounds: 0,
            next_round: Time::ZERO,
        }
    }

    /// The longest datagram that is known to pass; `None` before the first answer.
    pub(super) const fn found(&self) -> Option<u16> {
        self.found
    }

    /// Begins a new search, because the path may be another one.
    pub(super) fn restart(&mut self, now: Time) {
        self.best = 0;
        self.rounds = 0;
        self.next_round = now;
    }

    /// The lengths of the probes to send now. `headers` are the bytes of the IP and UDP headers.
    pub(super) fn due(&mut self, now: Time, headers: u16) -> Vec<u16> {
        if now < self.next_round {
            return Vec::new();
        }
        if self.best == self.wanted || self.rounds == ROUNDS {
            // If nothing was answered, the peer is away, which says nothing about the path.
            if self.best > 0 {
                self.found = Some(self.best);
            }
            self.rounds = 0;
            self.best = 0;
            self.next_round = now + REPEAT_AFTER;
            return Vec::new();
        }
        self.rounds += 1;
        self.next_round = now + ANSWER_WITHIN;
        let mut lengths = vec![self.wanted];
        // Most paths let the longest pass, so the others are only tried after it has failed.
        if self.rounds > 1 {
            let common = COMMON_MTUS.iter().map(|mtu| mtu.saturating_sub(headers));
            lengths.extend(common.filter(|&length| length > self.best && length < self.wanted));
        }
        lengths
    }

    /// Takes the answer to a probe of this length.
    pub(super) fn on_answer(&mut self, now: Time, length: u16) {
        // Between searches an answer is late, and lengths that were not sent are of no use.
        if self.rounds == 0 || length > self.wanted {
            return;
        }
        self.best = self.best.max(length);
        if self.best == self.wanted {
            self.next_round = now;
        }
        // What has passed can be used at once; only the end of a search takes something back.
        self.found = Some(self.found.unwrap_or(0).max(self.best));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADERS: u16 = 28;
    const WANTED: u16 = 1460;

    /// Searches for two minutes on a path that lets datagrams of `mtu` bytes pass, and returns how
    /// many probes that took.
    fn search(
        path: &mut PathSearch,
        from: Time,
        mtu: u16,
        mut is_lost: impl FnMut() -> bool,
    ) -> usize {
        let mut probes = 0;
        for n in 0..2_400 {
            let now = from + Duration::from_millis(50 * n);
            for length in path.due(now, HEADERS) {
                probes += 1;
                if length + HEADERS <= mtu && !is_lost() {
                    path.on_answer(now, length);
                }
            }
        }
        probes
    }

    #[test]
    fn a_path_that_lets_the_longest_pass_takes_one_probe_a_minute() {
        let mut path = PathSearch::new(WANTED);
        assert_eq!(path.found(), None);
        assert_eq!(search(&mut path, Time::ZERO, 1_500, || false), 2);
        assert_eq!(path.found(), Some(WANTED));
    }

    #[test]
    fn a_narrow_path_is_found_and_found_again_when_it_changes() {
        let mut path = PathSearch::new(WANTED);
        for (minutes, mtu, found) in [
            (0, 1_300, 1_300 - HEADERS),
            (2, 1_500, WANTED),
            (4, 1_399, 1_360 - HEADERS),
            (6, 576, 576 - HEADERS),
        ] {
            let from = Time::from_millis(minutes * 60_000);
            search(&mut path, from, mtu, || false);
            assert_eq!(path.found(), Some(found), "{mtu}");
        }
    }

    #[test]
    fn single_losses_change_nothing() {
        let mut path = PathSearch::new(WANTED);
        let mut n = 0;
        search(&mut path, Time::ZERO, 1_500, || {
            n += 1;
            n % 3 == 1
        });
        assert_eq!(path.found(), Some(WANTED));
    }

    #[test]
    fn a_peer_that_is_away_says_nothing_about_the_path() {
        let mut path = PathSearch::new(WANTED);
        search(&mut path, Time::ZERO, 1_500, || false);
        search(&mut path, Time::from_millis(120_000), 1_500, || true);
        assert_eq!(path.found(), Some(WANTED));
    }
}
