//! The bars of a run.

use super::pings::PingFigures;
use super::schedule::Phases;
use super::watch::{Figures, Samples, Watch};
use serde::Serialize;
use std::time::Duration;

/// A bar and what was measured.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Check {
    /// What is judged, and the bar.
    pub what: String,
    /// What was measured.
    pub measured: String,
    /// Whether the bar holds.
    pub holds: bool,
}

/// How much the memory of a program may grow after the beginning of a run, as a share of what it had
/// then: allocators return memory late, and in pieces.
const MEMORY_GROWTH: f64 = 0.10;
/// The same for small programs, KiB.
const MEMORY_ROOM_KIB: u64 = 4 << 10;
/// How many more descriptors a program may have than in the beginning.
const DESCRIPTOR_ROOM: u64 = 4;
/// The same for this process, whose agents and downloads come and go: two agents that have yet to
/// leave when others have come back already.
const OWN_DESCRIPTOR_ROOM: u64 = 40;

/// Age from which the memory of a program must not grow.
const SETTLED_AFTER: Duration = Duration::from_secs(590);

/// No ping is lost that was not announced, and all stations answer at the end.
pub(super) fn pings(checks: &mut Vec<Check>, tunnel: &PingFigures, inline: &PingFigures) {
    for (name, figures) in [("tunnel", tunnel), ("in-line box", inline)] {
        checks.push(Check {
            what: format!("{name}: no ping lost outside of announced interruptions"),
            measured: format!(
                "{} of {}, and {} announced",
                figures.lost, figures.pings, figures.lost_announced
            ),
            holds: figures.lost == 0 && figures.pings > 0,
        });
        checks.push(Check {
            what: format!("{name}: all stations answer at the end"),
            measured: format!("{} of {}", figures.answering, figures.stations),
            holds: figures.answering == figures.stations,
        });
    }
}

/// Memory and descriptors do not grow after the beginning.
pub(super) fn growth(checks: &mut Vec<Check>, watch: &Watch, phases: Phases) {
    let programs = [
        ("proxy", &watch.proxy, DESCRIPTOR_ROOM),
        ("in-line box", &watch.edge, DESCRIPTOR_ROOM),
        ("agent", &watch.agent, DESCRIPTOR_ROOM),
        ("soak itself", &watch.soak, OWN_DESCRIPTOR_ROOM),
    ];
    for (name, samples, room) in programs {
        checks.push(growth_of(name, samples, room, phases));
    }
}

fn growth_of(name: &str, samples: &Samples, room: u64, phases: Phases) -> Check {
    // The first and the last sixth of the time in which nobody is killed.
    let part = (phases.late - phases.settled) / 6;
    let first = samples.greatest(phases.settled, phases.settled + part);
    let last = samples.greatest(phases.late - part, phases.late);
    let what = format!(
        "{name}: memory grows by at most {:.0} % and {} MiB, descriptors by {room}",
        100.0 * MEMORY_GROWTH,
        MEMORY_ROOM_KIB >> 10
    );
    let (Some(first), Some(last)) = (first, last) else {
        return Check {
            what,
            measured: "it did not run".to_owned(),
            holds: false,
        };
    };
    let mut measured = format!(
        "{first} within {:.0} min, {last} at the end",
        minutes(phases.settled + part)
    );
    // Before ten minutes have passed, all programs still get what they will always need.
    let is_judged = phases.settled >= SETTLED_AFTER;
    if !is_judged {
        measured.push_str("; not judged in runs of less than an hour");
    }
    Check {
        what,
        measured,
        holds: !is_judged || !has_grown(first, last, room),
    }
}

fn has_grown(first: Figures, last: Figures, room: u64) -> bool {
    let memory = first.resident_kib as f64 * (1.0 + MEMORY_GROWTH) + MEMORY_ROOM_KIB as f64;
    last.resident_kib as f64 > memory || last.descriptors > first.descriptors + room
}

fn minutes(span: Duration) -> f64 {
    span.as_secs_f64() / 60.0
}

/// No program ends by itself, and all end when they are asked to.
pub(super) fn failures(checks: &mut Vec<Check>, failures: &[String]) {
    checks.push(Check {
        what: "all programs run until they are killed or asked to end, and then end with code 0"
            .to_owned(),
        measured: if failures.is_empty() {
            "all".to_owned()
        } else {
            failures.join("; ")
        },
        holds: failures.is_empty(),
    });
}

/// Nothing is left behind.
pub(super) fn leftovers(checks: &mut Vec<Check>, left: &[String]) {
    checks.push(Check {
        what: "no descriptor, thread, child process or file is left behind".to_owned(),
        measured: if left.is_empty() {
            "none".to_owned()
        } else {
            left.join(", ")
        },
        holds: left.is_empty(),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn samples(kib: impl Fn(f64) -> f64) -> Samples {
        let mut samples = Samples::default();
        for second in (0..3600).step_by(5) {
            let figures = Figures {
                resident_kib: kib(f64::from(second) / 60.0) as u64,
                descriptors: 12,
            };
            samples.add(Duration::from_secs(second as u64), Some(figures));
        }
        samples
    }

    #[test]
    fn a_program_that_leaks_misses_the_bar_and_one_that_warms_up_does_not() {
        let phases = Phases::of(HOUR);
        let leaking = samples(|minute| 20_000.0 + 300.0 * minute);
        assert!(!growth_of("p", &leaking, 4, phases).holds);
        let warm = samples(|minute| 20_000.0 + 900.0 * minute.min(10.0));
        assert!(growth_of("p", &warm, 4, phases).holds);
    }

    #[test]
    fn a_few_descriptors_more_are_a_leak() {
        let figures = |descriptors| Figures {
            resident_kib: 9_000,
            descriptors,
        };
        assert!(!has_grown(figures(12), figures(16), 4));
        assert!(has_grown(figures(12), figures(17), 4));
    }

    #[test]
    fn a_program_that_never_ran_misses_the_bar() {
        let check = growth_of("p", &Samples::default(), 4, Phases::of(HOUR));
        assert!(!check.holds);
    }
}
