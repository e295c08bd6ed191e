//! Which interruptions were announced before they happened.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Whose pings an interruption excuses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Subject {
    /// An agent of the tunnel by its index, or all of them.
    Tunnel(Option<usize>),
    /// A station behind the in-line box by its index, or all of them.
    Inline(Option<usize>),
}

impl Subject {
    /// Whether what happens to `self` excuses a loss at `other`, which is a single station.
    fn covers(self, other: Self) -> bool {
        match (self, other) {
            (Self::Tunnel(which), Self::Tunnel(station))
            | (Self::Inline(which), Self::Inline(station)) => which.is_none() || which == station,
            _ => false,
        }
    }
}

struct Interruption {
    what: &'static str,
    subject: Subject,
    from: Instant,
    until: Instant,
}

/// The interruptions of the last minutes.
#[derive(Clone, Default)]
pub(super) struct Announcements(Arc<Mutex<Vec<Interruption>>>);

/// A ping that was under way when the interruption began may be lost.
const IN_FLIGHT: Duration = Duration::from_secs(1);
/// How long interruptions are kept after their end: longer than any ping is waited for.
const KEPT: Duration = Duration::from_secs(120);

impl Announcements {
    /// Announces an interruption by `what`.
    pub(super) fn add(&self, what: &'static str, subject: Subject, from: Instant, until: Instant) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|interruption| interruption.until + KEPT > from);
        all.push(Interruption {
            what,
            subject,
            from,
            until,
        });
    }

    /// Whether a ping to `station` that was sent at `at` may be lost or late.
    pub(super) fn excuse(&self, station: Subject, at: Instant) -> bool {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().any(|interruption| {
            interruption.subject.covers(station)
                && at + IN_FLIGHT >= interruption.from
                && at <= interruption.until
        })
    }
}

impl Announcements {
    /// What last interrupted `station` before `at`, in words.
    pub(super) fn last_before(&self, station: Subject, at: Instant) -> String {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = all
            .iter()
            .filter(|interruption| interruption.subject.covers(station) && interruption.from <= at)
            .max_by_key(|interruption| interruption.from);
        match last {
            Some(last) => {
                let ago = at.duration_since(last.from).as_secs_f64();
                format!("{ago:.1} s after: {}", last.what)
            }
            None => "undisturbed".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_announced_station_is_excused_and_only_in_time() {
        let announcements = Announcements::default();
        let from = Instant::now() + Duration::from_secs(100);
        let until = from + Duration::from_secs(10);
        announcements.add("agent killed", Subject::Tunnel(Some(3)), from, until);
        let excuse = |station, at| announcements.excuse(station, at);
        assert!(excuse(Subject::Tunnel(Some(3)), from));
        assert!(excuse(Subject::Tunnel(Some(3)), from - IN_FLIGHT));
        assert!(excuse(Subject::Tunnel(Some(3)), until));
        assert!(!excuse(Subject::Tunnel(Some(3)), until + STEP));
        assert!(!excuse(Subject::Tunnel(Some(3)), from - IN_FLIGHT - STEP));
        assert!(!excuse(Subject::Tunnel(Some(4)), from));
        assert!(!excuse(Subject::Inline(Some(3)), from));
        announcements.add("box killed", Subject::Inline(None), from, until);
        assert!(excuse(Subject::Inline(Some(7)), from));
    }

    const STEP: Duration = Duration::from_millis(1);
}
