//! When a station looks for other access points, and which one it joins: a state machine that is
//! told what the station's radio receives, and says what it does.

use super::RoamingRules;
use airpace_units::Time;
use core::time::Duration;
use std::collections::VecDeque;

/// How long a station waits for an answer to authentication or association, and how often it asks
/// (IEEE80211_AUTH_TIMEOUT and IEEE80211_AUTH_MAX_TRIES of Linux 6.6, net/mac80211/mlme.c).
const ANSWER_TIMEOUT: Duration = Duration::from_millis(200);
const MOST_TRIES: u8 = 3;
/// How long a station serves its own channel between two visits to others (SCAN_SUSPEND of Linux
/// 6.6, net/mac80211/scan.c).
const BETWEEN_VISITS: Duration = Duration::from_millis(200);
/// Time from one search to the next of a station that has no access point (`scan_interval` of
/// wpa_supplicant 2.10).
const SEARCH_INTERVAL: Duration = Duration::from_secs(5);

/// What a station does.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Action {
    /// It tells its access point that it sleeps, or that it is awake again.
    SaySleeps,
    SayWakes,
    /// It tunes to the channel of this access point.
    Tune(usize),
    /// It asks the access points on its present channel to answer.
    Probe,
    /// It leaves its access point.
    Leave,
    /// It asks this access point for authentication, or for association.
    Authenticate(usize),
    Associate(usize),
    /// It is associated with this access point.
    Join(usize),
}

/// What it is at.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Phase {
    /// It serves its access point.
    Associated,
    /// It has no access point, and searches again at this time.
    Alone { until: Time },
    /// It waits until its null frame has been sent, to visit other channels.
    FallingAsleep,
    /// It listens on a channel.
    Visiting { until: Time },
    /// It waits until the visit to the next channel.
    Between { until: Time },
    /// It waits for the answer of the access point `target`.
    Joining {
        target: usize,
        until: Time,
        tries: u8,
        is_authenticated: bool,
    },
}

/// A station that roams. Access points are known by their numbers, from zero.
#[derive(Debug)]
pub(super) struct RoamingStation {
    rules: RoamingRules,
    /// The channel of each access point.
    channels: Vec<usize>,
    /// The access point that it is associated with.
    joined: Option<usize>,
    phase: Phase,
    /// Powers in dBm with which access points were last received: of its own at any time, of the
    /// others in the present scan.
    heard: Vec<Option<f64>>,
    /// When its own access point was last heard, or it came back to that one's channel.
    last_heard: Time,
    /// When its last scan began.
    last_scan: Option<Time>,
    /// The channels that are still to be visited: an access point on each.
    to_visit: VecDeque<usize>,
    actions: VecDeque<Action>,
}

impl RoamingStation {
    /// A station that is associated with the access point `joined`.
    pub(super) fn new(rules: RoamingRules, channels: Vec<usize>, joined: usize) -> Self {
        Self {
            rules,
            heard: vec![None; channels.len()],
            channels,
            joined: Some(joined),
            phase: Phase::Associated,
            last_heard: Time::ZERO,
            last_scan: None,
            to_visit: VecDeque::new(),
            actions: VecDeque::new(),
        }
    }

    /// What it does next; `None` if nothing.
    pub(super) fn poll(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// When [`RoamingStation::on_time`] must be called next.
    pub(super) fn deadline(&self) -> Option<Time> {
        match self.phase {
            Phase::Associated => Some(self.last_heard + self.rules.beacon_timeout),
            Phase::FallingAsleep => None,
            Phase::Alone { until }
            | Phase::Visiting { until }
            | Phase::Between { until }
            | Phase::Joining { until, .. } => Some(until),
        }
    }

    /// The station has received a beacon or an answer to a probe.
    pub(super) fn on_heard(&mut self, now: Time, access_point: usize, dbm: f64) {
        self.heard[access_point] = Some(dbm);
        if self.joined != Some(access_point) {
            return;
        }
        self.last_heard = now;
        let rests = |last: Time| now < last.saturating_add(self.rules.scan_interval);
        let is_weak = dbm < self.rules.scan_below_dbm;
        if self.phase == Phase::Associated && is_weak && !self.last_scan.is_some_and(rests) {
            self.begin_scan(now);
        }
    }

    /// Its null frame has been sent, or given up.
    pub(super) fn on_asleep(&mut self, now: Time) {
        if self.phase == Phase::FallingAsleep {
            self.visit_next(now);
        }
    }

    /// Its probe request has been sent: it listens for answers from now on.
    pub(super) fn on_probe_sent(&mut self, now: Time) {
        if let Phase::Visiting { until } = &mut self.phase {
            *until = now.saturating_add(self.rules.dwell);
        }
    }

    /// An access point has answered a request for authentication.
    pub(super) fn on_authenticated(&mut self, now: Time, access_point: usize) {
        if let Phase::Joining {
            target,
            is_authenticated: false,
            ..
        } = self.phase
            && target == access_point
        {
            self.ask(now, target, 1, true);
        }
    }

    /// An access point has answered a request for association.
    pub(super) fn on_associated(&mut self, now: Time, access_point: usize) {
        if let Phase::Joining {
            target,
            is_authenticated: true,
            ..
        } = self.phase
            && target == access_point
        {
            self.joined = Some(target);
            self.last_heard = now;
            self.phase = Phase::Associated;
            self.actions.push_back(Action::Join(target));
        }
    }

    /// Handles what is due at `now`.
    pub(super) fn on_time(&mut self, now: Time) {
        if self.deadline().is_none_or(|due| due > now) {
            return;
        }
        match self.phase {
            Phase::Associated => {
                // Its access point is out of reach.
                self.joined = None;
                self.actions.push_back(Action::Leave);
                self.begin_scan(now);
            }
            Phase::Alone { .. } => self.begin_scan(now),
            Phase::FallingAsleep => {}
            Phase::Visiting { .. } => self.end_visit(now),
            Phase::Between { .. } => self.go_on(now),
            Phase::Joining {
                target,
                tries,
                is_authenticated,
                ..
            } => {
                if tries < MOST_TRIES {
                    self.ask(now, target, tries + 1, is_authenticated);
                } else {
                    self.heard[target] = None;
                    self.begin_scan(now);
                }
            }
        }
    }

    /// Visits each channel once, its own first.
    fn begin_scan(&mut self, now: Time) {
        self.last_scan = Some(now);
        self.to_visit.clear();
        let own = self.joined.into_iter();
        for access_point in own.chain(0..self.channels.len()) {
            let channel = self.channels[access_point];
            if !self.to_visit.iter().any(|&at| self.channels[at] == channel) {
                self.to_visit.push_back(access_point);
            }
        }
        for (index, heard) in self.heard.iter_mut().enumerate() {
            if self.joined != Some(index) {
                *heard = None;
            }
        }
        self.go_on(now);
    }

    /// Whether an access point is on the channel of the station's own.
    fn is_on_own_channel(&self, access_point: usize) -> bool {
        self.joined
            .is_some_and(|own| self.channels[own] == self.channels[access_point])
    }

    /// Visits the next channel, for which its access point is told first, or decides.
    fn go_on(&mut self, now: Time) {
        match self.to_visit.front() {
            None => self.decide(now),
            Some(&next) if self.joined.is_none() || self.is_on_own_channel(next) => {
                self.visit_next(now);
            }
            Some(_) => {
                self.phase = Phase::FallingAsleep;
                self.actions.push_back(Action::SaySleeps);
            }
        }
    }

    fn visit_next(&mut self, now: Time) {
        let Some(&next) = self.to_visit.front() else {
            return;
        };
        self.actions.extend([Action::Tune(next), Action::Probe]);
        // The request may have to wait for the channel.
        let until = now.saturating_add(2 * self.rules.dwell);
        self.phase = Phase::Visiting { until };
    }

    fn end_visit(&mut self, now: Time) {
        let Some(visited) = self.to_visit.pop_front() else {
            return self.decide(now);
        };
        let Some(own) = self.joined else {
            return self.go_on(now);
        };
        if self.is_on_own_channel(visited) {
            return self.go_on(now);
        }
        self.actions.extend([Action::Tune(own), Action::SayWakes]);
        self.last_heard = now;
        if self.to_visit.is_empty() {
            return self.decide(now);
        }
        let until = now.saturating_add(BETWEEN_VISITS);
        self.phase = Phase::Between { until };
    }

    /// Joins the strongest of the others if it is enough stronger than its own, or stays.
    fn decide(&mut self, now: Time) {
        let least_dbm = match self.joined {
            // An access point of which nothing was heard is as weak as can be.
            Some(own) => self.heard[own].map_or(f64::MIN, |dbm| dbm + self.rules.better_by_db),
            None => f64::MIN,
        };
        let least_dbm = least_dbm.max(self.rules.least_dbm);
        let mut best: Option<(usize, f64)> = None;
        for (index, dbm) in self.heard.iter().enumerate() {
            let Some(dbm) = dbm.filter(|&dbm| dbm >= least_dbm) else {
                continue;
            };
            if self.joined != Some(index) && best.is_none_or(|(_, most)| dbm > most) {
                best = Some((index, dbm));
            }
        }
        match best {
            Some((target, _)) => {
                if self.joined.take().is_some() {
                    self.actions.push_back(Action::Leave);
                }
                self.actions.push_back(Action::Tune(target));
                self.ask(now, target, 1, false);
            }
            None if self.joined.is_some() => {
                self.last_heard = now;
                self.phase = Phase::Associated;
            }
            None => {
                let until = now.saturating_add(SEARCH_INTERVAL);
                self.phase = Phase::Alone { until };
            }
        }
    }

    fn ask(&mut self, now: Time, target: usize, tries: u8, is_authenticated: bool) {
        self.phase = Phase::Joining {
            target,
            until: now.saturating_add(ANSWER_TIMEOUT),
            tries,
            is_authenticated,
        };
        self.actions.push_back(if is_authenticated {
            Action::Associate(target)
        } else {
            Action::Authenticate(target)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(at: u64) -> Time {
        Time::from_millis(at)
    }

    /// A station at the first of two access points on channels of their own.
    fn station() -> RoamingStation {
        RoamingStation::new(RoamingRules::default(), vec![0, 1], 0)
    }

    fn actions(station: &mut RoamingStation) -> Vec<Action> {
        core::iter::from_fn(|| station.poll()).collect()
    }

    /// Lets it scan from `at` on, and hear the other access point with `dbm`.
    fn scan(station: &mut RoamingStation, at: u64, dbm: f64) -> Vec<Action> {
        let mut done = actions(station);
        assert_eq!(done, [Action::Tune(0), Action::Probe]);
        station.on_probe_sent(ms(at + 1));
        station.on_time(station.deadline().unwrap());
        assert_eq!(actions(station), [Action::SaySleeps]);
        station.on_asleep(ms(at + 40));
        assert_eq!(actions(station), [Action::Tune(1), Action::Probe]);
        station.on_probe_sent(ms(at + 41));
        station.on_heard(ms(at + 45), 1, dbm);
        station.on_time(station.deadline().unwrap());
        done = actions(station);
        assert_eq!(done[..2], [Action::Tune(0), Action::SayWakes]);
        done.split_off(2)
    }

    #[test]
    fn a_station_scans_when_its_access_point_is_weak_and_not_again_before_the_interval() {
        let mut station = station();
        station.on_heard(ms(100), 0, -69.0);
        assert_eq!(actions(&mut station), []);
        station.on_heard(ms(200), 0, -71.0);
        assert_eq!(scan(&mut station, 200, -70.0), []);
        station.on_heard(ms(10_199), 0, -75.0);
        assert_eq!(actions(&mut station), []);
        station.on_heard(ms(10_200), 0, -75.0);
        assert_eq!(actions(&mut station), [Action::Tune(0), Action::Probe]);
    }

    #[test]
    fn it_joins_another_one_only_if_that_is_better_by_the_hysteresis() {
        for (dbm, joins) in [(-63.1, false), (-63.0, true)] {
            let mut station = station();
            station.on_heard(ms(200), 0, -71.0);
            let then = scan(&mut station, 200, dbm);
            let join = [Action::Leave, Action::Tune(1), Action::Authenticate(1)];
            assert_eq!(then, if joins { &join[..] } else { &[] });
        }
    }

    #[test]
    fn it_asks_three_times_and_searches_again_if_nobody_answers() {
        let mut station = station();
        station.on_heard(ms(200), 0, -80.0);
        scan(&mut station, 200, -60.0);
        for _ in 0..2 {
            station.on_time(station.deadline().unwrap());
            assert_eq!(actions(&mut station), [Action::Authenticate(1)]);
        }
        station.on_time(station.deadline().unwrap());
        assert_eq!(actions(&mut station), [Action::Tune(0), Action::Probe]);
    }

    #[test]
    fn answers_lead_to_the_association_and_only_those_of_whom_it_asks() {
        let mut station = station();
        station.on_heard(ms(200), 0, -80.0);
        scan(&mut station, 200, -60.0);
        station.on_associated(ms(300), 1);
        station.on_authenticated(ms(300), 0);
        assert_eq!(actions(&mut station), []);
        station.on_authenticated(ms(301), 1);
        assert_eq!(actions(&mut station), [Action::Associate(1)]);
        station.on_associated(ms(302), 1);
        assert_eq!(actions(&mut station), [Action::Join(1)]);
    }

    #[test]
    fn without_beacons_it_leaves_and_searches_until_it_hears_one() {
        let mut station = station();
        station.on_time(station.deadline().unwrap());
        let search = [Action::Tune(0), Action::Probe];
        assert_eq!(
            actions(&mut station)[..],
            [&[Action::Leave], &search[..]].concat()
        );
        station.on_time(station.deadline().unwrap());
        assert_eq!(actions(&mut station), [Action::Tune(1), Action::Probe]);
        let end = station.deadline().unwrap();
        station.on_time(end);
        assert_eq!(station.deadline(), Some(end + SEARCH_INTERVAL));
        station.on_time(end + SEARCH_INTERVAL);
        assert_eq!(actions(&mut station), search);
    }
}
