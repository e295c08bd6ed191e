//! When the loop of the in-line box takes its next turn.

use crate::runtime::Stop;
use airpace_net::clock::Clock;
use airpace_net::poll::{Interest, Poller, Ready, Wake};
use airpace_units::Time;
use core::time::Duration;
use std::io;
use std::os::fd::AsFd;

/// Least time between two turns while pacers hold frames back. It bounds the wake-ups per second,
/// and it is a small part of the time that a frame of many packets takes on the air (1 ms and more).
const PACED_GAP: Duration = Duration::from_micros(200);
/// The same after frames have passed that no pacer held back: they leave in small groups at high
/// rates, and at once at low ones.
const PASSING_GAP: Duration = Duration::from_micros(50);

/// Waits for the files and deadlines of the loop, but no more often than is useful.
///
/// Every frame that the kernel hands over makes its socket readable. A wake-up for each would cost
/// more than the frame itself, and would take the processor from whatever else runs on the box. So
/// turns that move frames are followed by a pause, in which only the stop file is waited for.
#[derive(Debug)]
pub(super) struct Waiter {
    clock: Clock,
    all: Poller,
    /// The stop file alone.
    pause: Poller,
    /// When the current turn began.
    turn_began: Time,
}

/// What a turn of the loop leaves behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Turn {
    /// When something must be done next.
    pub(super) deadline: Time,
    /// When the next frames that a pacer holds back may leave, if any are held back.
    pub(super) release: Option<Time>,
    /// Whether it moved frames.
    pub(super) moved_frames: bool,
    /// Whether more frames may be taken at once.
    pub(super) has_more: bool,
}

impl Waiter {
    /// Waits for `stop` under the token `token`.
    pub(super) fn new(clock: Clock, stop: Stop<'_>, token: u64) -> io::Result<Self> {
        let (all, pause) = (Poller::new()?, Poller::new()?);
        all.add(stop, token, Interest::Read)?;
        pause.add(stop, token, Interest::Read)?;
        Ok(Self {
            turn_began: clock.now(),
            clock,
            all,
            pause,
        })
    }

    /// Waits for a file from now on.
    pub(super) fn add(&self, file: impl AsFd, token: u64) -> io::Result<()> {
        self.all.add(file, token, Interest::Read)
    }

    /// Waits for a file from now on, if there is one.
    pub(super) fn add_any(&self, file: Option<impl AsFd>, token: u64) -> io::Result<()> {
        file.map_or(Ok(()), |file| self.add(file, token))
    }

    /// Also waits until a file can be written, or no longer.
    pub(super) fn modify(&self, file: impl AsFd, token: u64, writes: bool) -> io::Result<()> {
        let interest = if writes {
            Interest::Both
        } else {
            Interest::Read
        };
        self.all.modify(file, token, interest)
    }

    /// Waits until the next turn is due, or a file is ready, and at least for the pause that the
    /// last turn allows.
    pub(super) fn wait(&mut self, turn: Turn) -> io::Result<()> {
        let until = self
            .turn_began
            .saturating_add(pause_after(turn, self.turn_began));
        let mut deadline = turn.deadline;
        if until > self.clock.now() {
            let stopped = self.pause.wait(&self.clock, Some(until))? == Wake::Ready;
            // Frames have probably come: look, and do not wait.
            if stopped || turn.deadline <= until {
                deadline = Time::ZERO;
            }
        }
        self.all.wait(&self.clock, Some(deadline))?;
        self.turn_began = self.clock.now();
        Ok(())
    }

    /// The files that the last wait found ready.
    pub(super) fn ready(&self) -> impl Iterator<Item = Ready> + '_ {
        self.all.ready()
    }
}

/// How long after the beginning of a turn the next may begin.
fn pause_after(turn: Turn, began: Time) -> Duration {
    let is_due_soon = |release| release <= began.saturating_add(PACED_GAP);
    if turn.has_more {
        Duration::ZERO
    } else if turn.release.is_some_and(is_due_soon) {
        PACED_GAP
    } else if turn.moved_frames {
        PASSING_GAP
    } else {
        Duration::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGAN: Time = Time::from_millis(5);

    fn turn() -> Turn {
        Turn {
            deadline: Time::from_millis(50),
            release: None,
            moved_frames: false,
            has_more: false,
        }
    }

    #[test]
    fn a_turn_that_moved_nothing_is_followed_by_the_next_event() {
        assert_eq!(pause_after(turn(), BEGAN), Duration::ZERO);
    }

    #[test]
    fn frames_that_follow_each_other_closely_share_a_turn() {
        let passing = Turn {
            moved_frames: true,
            ..turn()
        };
        assert_eq!(pause_after(passing, BEGAN), PASSING_GAP);
        let full_batch = Turn {
            has_more: true,
            ..passing
        };
        assert_eq!(pause_after(full_batch, BEGAN), Duration::ZERO);
    }

    #[test]
    fn releases_of_pacers_are_gathered() {
        let due = BEGAN + Duration::from_micros(60);
        let paced = Turn {
            deadline: due,
            release: Some(due),
            ..turn()
        };
        assert_eq!(pause_after(paced, BEGAN), PACED_GAP);
    }

    #[test]
    fn the_end_of_a_slot_does_not_hold_up_frames_that_pass() {
        let ending = Turn {
            deadline: BEGAN + Duration::from_micros(60),
            moved_frames: true,
            ..turn()
        };
        assert_eq!(pause_after(ending, BEGAN), PASSING_GAP);
    }
}
