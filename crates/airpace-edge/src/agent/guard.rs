//! Which frames of a monitor interface are believed.
//!
//! Frames on the air prove nothing: anybody may transmit some to a station's address, and the radio
//! shows them all. What the kernel has delivered to the station is proof, because the network's cipher
//! has been checked. In a slot in which the monitor shows considerably more bytes than were delivered,
//! somebody forges. Then the meter counts only frames of one kind, by transmitter and by whether they are
//! encrypted, if one explains what was delivered; otherwise it tells frames apart by the arrivals of
//! packets until the monitor agrees again.
//!
//! Few forged frames do not exceed what was delivered, but many short ones make the mean frame short. A
//! station receives from one access point at a time. So where frames of several kinds are heard, and one
//! kind explains nearly everything that was delivered, the meter counts only that kind.

use airpace_core::wire::ieee80211::MacAddr;
use airpace_units::Time;
use core::time::Duration;

/// Bytes on the air per byte delivered that are still in agreement. Joined packets lack headers, and
/// the station may have missed what the monitor has heard.
const AGREES: f64 = 1.3;
/// Bytes in a slot by which both may differ in addition: packets on their way at its ends.
const SLACK_BYTES: u64 = 16 * 1500;
/// Least part of the delivered bytes that frames of one kind must show to be believed alone.
const EXPLAINS: f64 = 0.5;
/// Least part of the delivered bytes that frames of one kind must show for those of other kinds to be
/// forged, although there are few of them.
const EXPLAINS_ALL: f64 = 0.8;
/// Time in agreement after which all frames are believed again.
const AGREED: Duration = Duration::from_secs(5);
/// Kinds of frames that are told apart. Forged ones may have any number of transmitters; those that come
/// too late share a kind.
const MOST_KINDS: usize = 8;

/// What tells frames apart that can be forged with different ease.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FrameKind {
    pub(super) transmitter: MacAddr,
    pub(super) protected: bool,
}

/// Which frames count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Belief {
    /// Every frame to the station.
    #[default]
    All,
    /// Frames of this kind.
    Only(FrameKind),
    /// No frame.
    Nothing,
}

/// What a slot has shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// The frames that were counted stand.
    Stands,
    /// Forged frames may be among those counted.
    Forged,
}

/// Holds what a monitor interface shows against what was delivered.
#[derive(Clone, Debug, Default)]
pub(super) struct MonitorGuard {
    belief: Belief,
    /// Bytes of first transmissions in the slot that runs, by kind.
    heard: Vec<(FrameKind, u64)>,
    /// Those of kinds beyond the first few.
    heard_of_others: u64,
    /// Bytes delivered since the station's interface came up, at the end of the last slot and now.
    delivered_before: Option<u64>,
    delivered: Option<u64>,
    /// When both last disagreed.
    disagreed_at: Option<Time>,
}

impl MonitorGuard {
    /// Takes a frame to the station; `first` says that it is not sent again. Returns whether it counts.
    pub(super) fn admits(&mut self, kind: FrameKind, bytes: u32, first: bool) -> bool {
        if first {
            let bytes = u64::from(bytes);
            if let Some(heard) = self.heard.iter_mut().find(|heard| heard.0 == kind) {
                heard.1 = heard.1.saturating_add(bytes);
            } else if self.heard.len() < MOST_KINDS {
                self.heard.push((kind, bytes));
            } else {
                self.heard_of_others = self.heard_of_others.saturating_add(bytes);
            }
        }
        match self.belief {
            Belief::All => true,
            Belief::Only(believed) => believed == kind,
            Belief::Nothing => false,
        }
    }

    /// Whether only frames of another kind count: the station may have roamed since.
    fn disbelieves(&self, kind: FrameKind) -> bool {
        matches!(self.belief, Belief::Only(believed) if believed != kind)
    }

    /// Takes the bytes that the kernel has delivered to the station since its interface came up.
    pub(super) const fn on_delivered(&mut self, total: u64) {
        self.delivered = Some(total);
    }

    /// Whether some frames are not believed.
    pub(super) fn is_doubting(&self) -> bool {
        self.belief != Belief::All
    }

    /// Ends a slot. Without word of what was delivered all frames are believed.
    pub(super) fn close_slot(&mut self, now: Time) -> Verdict {
        let heard = core::mem::take(&mut self.heard);
        if let Belief::Only(kind) = self.belief {
            // Frames of invented transmitters must not take its place.
            self.heard.push((kind, 0));
        }
        let of_others = core::mem::take(&mut self.heard_of_others);
        let before = core::mem::replace(&mut self.delivered_before, self.delivered);
        let (Some(before), Some(total)) = (before, self.delivered) else {
            return Verdict::Stands;
        };
        // The counter starts again with the interface: nothing is known of this slot.
        let Some(delivered) = total.checked_sub(before) else {
            return Verdict::Stands;
        };
        let most = (AGREES * delivered as f64) as u64 + SLACK_BYTES;
        let all = heard
            .iter()
            .fold(of_others, |sum, kind| sum.saturating_add(kind.1));
        // With next to nothing delivered, any kind of few frames would explain it.
        let explaining = heard
            .iter()
            .filter(|kind| kind.1 <= most && kind.1 as f64 >= EXPLAINS * delivered as f64)
            .filter(|_| delivered > SLACK_BYTES)
            .max_by_key(|kind| kind.1);
        let next = match explaining {
            Some(&(kind, _)) if all > most => Belief::Only(kind),
            _ if all > most => Belief::Nothing,
            Some(&(kind, bytes))
                if (bytes < all || self.disbelieves(kind))
                    && bytes as f64 >= EXPLAINS_ALL * delivered as f64 =>
            {
                Belief::Only(kind)
            }
            _ => {
                let is_over = |at: Time| now.saturating_since(at) >= AGREED;
                if self.disagreed_at.is_some_and(is_over) {
                    (self.belief, self.disagreed_at) = (Belief::All, None);
                }
                return Verdict::Stands;
            }
        };
        self.disagreed_at = Some(now);
        let before = core::mem::replace(&mut self.belief, next);
        if before == next || before == Belief::Nothing {
            Verdict::Stands
        } else {
            Verdict::Forged
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AP: FrameKind = FrameKind {
        transmitter: MacAddr([2, 0, 0, 0, 0, 1]),
        protected: true,
    };
    const FORGER: FrameKind = FrameKind {
        transmitter: MacAddr([2, 0, 0, 0, 0, 9]),
        protected: true,
    };

    /// Runs slots of 100 ms in which 200 packets are delivered and `forged` more are on the air. Returns the
    /// verdicts.
    fn slots(guard: &mut MonitorGuard, forger: FrameKind, forged: &[u32]) -> Vec<Verdict> {
        let mut total = guard.delivered.unwrap_or_default();
        let mut now = guard.disagreed_at.unwrap_or_default();
        let mut verdicts = Vec::new();
        for &forged in forged {
            for _ in 0..200 {
                guard.admits(AP, 1500, true);
            }
            for _ in 0..forged {
                guard.admits(forger, 1500, true);
            }
            total += 200 * 1480;
            guard.on_delivered(total);
            now += Duration::from_millis(100);
            verdicts.push(guard.close_slot(now));
        }
        verdicts
    }

    #[test]
    fn frames_that_were_delivered_are_believed_whoever_sent_them() {
        let mut guard = MonitorGuard::default();
        assert_eq!(slots(&mut guard, FORGER, &[0; 20]), [Verdict::Stands; 20]);
        assert!(!guard.is_doubting());
        assert!(guard.admits(FORGER, 1500, true));
    }

    #[test]
    fn frames_of_another_transmitter_do_not_count_once_they_exceed_what_was_delivered() {
        let mut guard = MonitorGuard::default();
        slots(&mut guard, FORGER, &[0]);
        let verdicts = slots(&mut guard, FORGER, &[300, 300, 300]);
        assert_eq!(verdicts[0], Verdict::Forged);
        assert_eq!(verdicts[1..], [Verdict::Stands; 2]);
        assert!(guard.admits(AP, 1500, true));
        assert!(!guard.admits(FORGER, 1500, true));
    }

    #[test]
    fn a_few_frames_of_another_transmitter_do_not_count_beside_those_that_explain_the_delivery() {
        let mut guard = MonitorGuard::default();
        slots(&mut guard, FORGER, &[0]);
        // Fewer bytes than the monitor and the delivery may differ by.
        let verdicts = slots(&mut guard, FORGER, &[20, 20]);
        assert_eq!(verdicts, [Verdict::Forged, Verdict::Stands]);
        assert!(guard.admits(AP, 1500, true));
        assert!(!guard.admits(FORGER, 1500, true));
        slots(&mut guard, FORGER, &[0; 60]);
        assert!(!guard.is_doubting());
    }

    #[test]
    fn a_station_that_roams_is_measured_at_its_new_access_point() {
        let mut guard = MonitorGuard::default();
        slots(&mut guard, FORGER, &[0, 20]);
        assert!(guard.is_doubting());
        // From now on the other transmitter is the access point.
        let mut total = guard.delivered.unwrap();
        let mut now = guard.disagreed_at.unwrap();
        for _ in 0..2 {
            for _ in 0..200 {
                guard.admits(FORGER, 1500, true);
            }
            total += 200 * 1480;
            guard.on_delivered(total);
            now += Duration::from_millis(100);
            guard.close_slot(now);
        }
        assert!(guard.admits(FORGER, 1500, true));
    }

    #[test]
    fn forged_frames_like_those_of_the_access_point_leave_none_that_counts() {
        let mut guard = MonitorGuard::default();
        slots(&mut guard, AP, &[0]);
        assert_eq!(slots(&mut guard, AP, &[300])[0], Verdict::Forged);
        assert!(!guard.admits(AP, 1500, true));
        slots(&mut guard, AP, &[0; 60]);
        assert!(!guard.is_doubting());
    }

    #[test]
    fn frames_that_are_not_encrypted_are_told_apart_from_those_that_are() {
        let mut guard = MonitorGuard::default();
        let open = FrameKind {
            protected: false,
            ..AP
        };
        slots(&mut guard, open, &[0, 300]);
        assert!(guard.admits(AP, 1500, true));
        assert!(!guard.admits(open, 1500, true));
    }

    #[test]
    fn an_interface_that_came_up_again_and_many_transmitters_are_no_surprise() {
        let mut guard = MonitorGuard::default();
        slots(&mut guard, AP, &[0, 0]);
        guard.on_delivered(0);
        assert_eq!(guard.close_slot(Time::ZERO), Verdict::Stands);
        for number in 0..200 {
            let forger = FrameKind {
                transmitter: MacAddr([2, 0, 0, 0, 1, number]),
                protected: true,
            };
            guard.admits(forger, 1500, true);
        }
        assert_eq!(guard.heard.len(), MOST_KINDS);
        guard.on_delivered(10_000);
        assert_eq!(guard.close_slot(Time::ZERO), Verdict::Forged);
        assert!(!guard.admits(AP, 1500, true));
    }
}
