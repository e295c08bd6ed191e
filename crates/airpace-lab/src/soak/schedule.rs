//! Which disturbances come when: a draw from a seed.

use super::DisturbanceCount;
use super::announce::Subject;
use airpace_sim::rng::Stream;
use std::time::Duration;

/// Something that happens to a program or a station. Numbers are indices of agents or stations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Disturbance {
    /// The proxy is killed and started again.
    KillProxy,
    /// The proxy stands still (SIGSTOP).
    StopProxy,
    /// The in-line box is killed and started again.
    KillBox,
    /// The in-line box stands still.
    StopBox,
    /// An agent's process is killed and started again.
    KillAgent(usize),
    /// An agent's process stands still.
    StopAgent(usize),
    /// An agent ends in an orderly way, and comes back.
    LeaveAgent(usize),
    /// An agent's machine moves to another network, where it has another address.
    RoamAgent(usize),
    /// A station goes out of range of its access point and comes back.
    LeaveStation(usize),
    /// A station moves to the other access point.
    RoamStation(usize),
}

impl Disturbance {
    /// What it is called.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::KillProxy => "proxy killed",
            Self::StopProxy => "proxy stopped",
            Self::KillBox => "in-line box killed",
            Self::StopBox => "in-line box stopped",
            Self::KillAgent(_) => "agent killed",
            Self::StopAgent(_) => "agent stopped",
            Self::LeaveAgent(_) => "agent left and joined",
            Self::RoamAgent(_) => "agent roamed",
            Self::LeaveStation(_) => "station left and joined",
            Self::RoamStation(_) => "station roamed",
        }
    }

    /// Whose pings may be lost.
    pub(super) const fn subject(self) -> Subject {
        match self {
            Self::KillProxy | Self::StopProxy => Subject::Tunnel(None),
            Self::KillBox | Self::StopBox => Subject::Inline(None),
            Self::KillAgent(n) | Self::StopAgent(n) | Self::LeaveAgent(n) | Self::RoamAgent(n) => {
                Subject::Tunnel(Some(n))
            }
            Self::LeaveStation(n) | Self::RoamStation(n) => Subject::Inline(Some(n)),
        }
    }

    /// Whether it is of proxy or box, on which many stations depend.
    pub(super) const fn is_of_a_daemon(self) -> bool {
        matches!(
            self,
            Self::KillProxy | Self::StopProxy | Self::KillBox | Self::StopBox
        )
    }

    /// The time within which pings must pass again after it.
    pub(super) fn recovery(self, agents: usize) -> Duration {
        match self {
            // A thousand stations are back within 20 s after their proxy has started (tunnel.md).
            Self::KillProxy | Self::StopProxy => {
                Duration::from_secs(10) + Duration::from_millis(15) * agents as u32
            }
            // Attaching to the ports, and a bridge that learns where everybody is.
            Self::KillBox => Duration::from_secs(10),
            // Without a heartbeat for 200 ms, frames pass in the kernel's bridge.
            Self::StopBox => Duration::from_secs(3),
            Self::KillAgent(_) | Self::LeaveAgent(_) | Self::StopAgent(_) => {
                Duration::from_secs(10)
            }
            // The proxy hears the new address with the next keepalive, after 1 s, or after the
            // handshakes that 4 s of silence start, of which the first may be lost.
            Self::RoamAgent(_) => Duration::from_secs(12),
            Self::LeaveStation(_) | Self::RoamStation(_) => Duration::from_secs(3),
        }
    }

    /// The shortest and the longest time between its beginning and its end.
    const fn pauses_ms(self) -> (u32, u32) {
        match self {
            Self::KillProxy | Self::KillBox | Self::KillAgent(_) => (200, 2_000),
            // Beyond the 4 s after which agents start a new handshake.
            Self::StopProxy | Self::StopAgent(_) => (500, 6_000),
            Self::StopBox => (100, 3_000),
            Self::LeaveAgent(_) => (100, 8_000),
            Self::LeaveStation(_) => (500, 4_000),
            Self::RoamAgent(_) | Self::RoamStation(_) => (0, 0),
        }
    }
}

/// How often each kind happened, in the order of their first occurrence.
pub(super) fn count(disturbances: &[Disturbance]) -> Vec<DisturbanceCount> {
    let mut counts: Vec<DisturbanceCount> = Vec::new();
    for disturbance in disturbances {
        let what = disturbance.name();
        match counts.iter_mut().find(|count| count.what == what) {
            Some(count) => count.times += 1,
            None => counts.push(DisturbanceCount { what, times: 1 }),
        }
    }
    counts
}

/// The beginning or the end of a disturbance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// It begins, and ends after `pause`.
    Begin { pause: Duration },
    /// It ends.
    End,
}

/// Something to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Event {
    pub(super) at: Duration,
    pub(super) what: Disturbance,
    pub(super) step: Step,
}

/// The parts of a run. A program that is killed starts with little memory, so proxy and box are
/// killed only at the beginning and at the end, and in between a leak would show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Phases {
    /// End of the beginning: a sixth of the run, ten minutes at most.
    pub(super) settled: Duration,
    /// When proxy and box are killed again.
    pub(super) late: Duration,
    /// After this nothing happens, so that everybody must answer at the end.
    pub(super) quiet: Duration,
}

impl Phases {
    pub(super) fn of(duration: Duration) -> Self {
        let minute = Duration::from_secs(60);
        let quiet = duration - (duration / 4).min(minute);
        Self {
            settled: (duration / 6).min(10 * minute),
            // Short runs end without.
            late: quiet
                - if duration < 10 * minute {
                    Duration::ZERO
                } else {
                    minute
                },
            quiet,
        }
    }
}

/// Who may be disturbed.
#[derive(Clone, Copy, Debug)]
pub(super) struct People {
    /// All agents.
    pub(super) agents: usize,
    /// Agents with the first indices, which are processes. The first is never killed.
    pub(super) processes: usize,
    pub(super) stations: usize,
}

/// Time between two draws.
const TICK: Duration = Duration::from_secs(3);
/// Time between two kills at the beginning.
const KILLS: Duration = Duration::from_secs(120);
/// Longest time that a disturbance of an agent or a station takes, recovery included.
const LONGEST: Duration = Duration::from_secs(20);

/// Draws the events of a run, in order.
pub(super) fn draw(seed: u64, phases: Phases, people: People) -> Vec<Event> {
    let mut schedule = Schedule {
        stream: Stream::new(seed, "soak", 0),
        events: Vec::new(),
        begun: Vec::new(),
    };
    schedule.add_daemons(phases);
    schedule.add_people(phases, people);
    schedule.events.sort_by_key(|event| event.at);
    schedule.events
}

struct Schedule {
    stream: Stream,
    events: Vec<Event>,
    /// Disturbances of agents and stations, with their beginning.
    begun: Vec<(Duration, Subject)>,
}

impl Schedule {
    /// Each kind once at the beginning, and kills every now and then until it is over.
    fn add_daemons(&mut self, phases: Phases) {
        let mut round = Duration::ZERO;
        while round < phases.settled {
            let length = (phases.settled - round).min(KILLS);
            self.add(round + length / 10, Disturbance::KillProxy);
            self.add(round + length / 5, Disturbance::KillBox);
            self.add(round + length / 10 * 6, Disturbance::StopProxy);
            self.add(round + length / 10 * 7, Disturbance::StopBox);
            round += length;
        }
        if phases.late < phases.quiet {
            self.add(phases.late, Disturbance::KillProxy);
            self.add(phases.late + TICK, Disturbance::KillBox);
        }
    }

    fn add_people(&mut self, phases: Phases, people: People) {
        let mut at = TICK;
        while at < phases.quiet {
            let disturbance = self.choose(people, at > phases.settled && at < phases.late);
            let subject = disturbance.subject();
            let is_disturbed = self
                .begun
                .iter()
                .any(|&(begun, other)| other == subject && at < begun + LONGEST);
            if !is_disturbed {
                self.begun.push((at, subject));
                self.add(at, disturbance);
            }
            at += TICK;
        }
    }

    /// Any disturbance of agents and stations, now and then one that stops proxy or box.
    fn choose(&mut self, people: People, may_stop_daemons: bool) -> Disturbance {
        let kind = self.stream.up_to(99);
        let agent = self.below(people.agents);
        let thread = people.processes + self.below(people.agents - people.processes);
        let killed = 1 + self.below(people.processes - 1);
        let station = self.below(people.stations);
        match kind {
            0 if may_stop_daemons => Disturbance::StopProxy,
            1 if may_stop_daemons => Disturbance::StopBox,
            2..10 => Disturbance::KillAgent(killed),
            10..18 => Disturbance::StopAgent(self.below(people.processes)),
            18..28 => Disturbance::LeaveStation(station),
            28..40 => Disturbance::RoamStation(station),
            40..70 => Disturbance::LeaveAgent(thread),
            _ => Disturbance::RoamAgent(agent),
        }
    }

    fn below(&mut self, limit: usize) -> usize {
        self.stream.up_to(limit as u32 - 1) as usize
    }

    fn add(&mut self, at: Duration, what: Disturbance) {
        let (shortest, longest) = what.pauses_ms();
        let pause = shortest + self.stream.up_to(longest - shortest);
        let pause = Duration::from_millis(pause.into());
        let step = Step::Begin { pause };
        self.events.push(Event { at, what, step });
        if longest > 0 {
            let (at, step) = (at + pause, Step::End);
            self.events.push(Event { at, what, step });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEOPLE: People = People {
        agents: 1000,
        processes: 8,
        stations: 4,
    };

    fn hour() -> (Phases, Vec<Event>) {
        let phases = Phases::of(Duration::from_secs(3600));
        (phases, draw(7, phases, PEOPLE))
    }

    #[test]
    fn the_same_seed_gives_the_same_events() {
        let (phases, events) = hour();
        assert_eq!(events, draw(7, phases, PEOPLE));
        assert_ne!(events, draw(8, phases, PEOPLE));
    }

    #[test]
    fn every_disturbance_that_lasts_ends_before_the_quiet_end_of_the_run() {
        let (phases, events) = hour();
        assert!(events.is_sorted_by_key(|event| event.at));
        for (index, event) in events.iter().enumerate() {
            if !matches!(event.step, Step::Begin { .. }) || event.what.pauses_ms().1 == 0 {
                continue;
            }
            let end = events[index..]
                .iter()
                .find(|other| other.what == event.what && other.step == Step::End);
            assert!(end.unwrap().at < phases.quiet + Duration::from_secs(10));
        }
    }

    #[test]
    fn proxy_and_box_are_killed_only_at_the_beginning_and_at_the_end() {
        let (phases, events) = hour();
        let mut kills = 0;
        for event in &events {
            if matches!(event.what, Disturbance::KillProxy | Disturbance::KillBox) {
                assert!(
                    event.at < phases.settled || event.at >= phases.late,
                    "{event:?}"
                );
                kills += 1;
            }
            assert_ne!(event.what, Disturbance::KillAgent(0));
        }
        assert!(kills >= 8, "{kills}");
    }

    #[test]
    fn a_run_of_a_minute_has_every_kind_of_disturbance_of_proxy_and_box() {
        let phases = Phases::of(Duration::from_secs(60));
        let events = draw(1, phases, PEOPLE);
        for what in [
            Disturbance::KillProxy,
            Disturbance::StopProxy,
            Disturbance::KillBox,
            Disturbance::StopBox,
        ] {
            assert!(events.iter().any(|event| event.what == what), "{what:?}");
        }
    }

    #[test]
    fn nothing_is_disturbed_again_before_it_has_recovered() {
        let (_, events) = hour();
        for (index, event) in events.iter().enumerate() {
            let single = matches!(
                event.what.subject(),
                Subject::Tunnel(Some(_)) | Subject::Inline(Some(_))
            );
            let begins = |event: &Event| matches!(event.step, Step::Begin { .. });
            if !single || !begins(event) {
                continue;
            }
            let again = events[index + 1..]
                .iter()
                .find(|other| other.what.subject() == event.what.subject() && begins(other));
            assert!(again.is_none_or(|other| other.at >= event.at + LONGEST));
        }
    }
}
