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

/// How much a program may grow after the beginning of a run.
struct Bounds {
    /// Memory, as a share of what it had then: allocators return memory late, and in pieces.
    memory: f64,
    /// Descriptors.
    descriptors: u64,
}

/// Bounds of a program that does one thing.
const DAEMON: Bounds = Bounds {
    memory: 0.10,
    descriptors: 4,
};
/// Bounds of this process. Its hundreds of threads share an allocator, and those that come back get
/// buffers of a megabyte between what others have; a leak of an agent would show in the one that is
/// a process. Some agents may have come back before others have left.
const SELF: Bounds = Bounds {
    memory: 0.50,
    descriptors: 40,
};
/// What memory may grow by besides, KiB, for small programs.
const MEMORY_ROOM_KIB: u64 = 4 << 10;

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
        ("proxy", &watch.proxy, DAEMON),
        ("in-line box", &watch.edge, DAEMON),
        ("agent", &watch.agent, DAEMON),
        ("soak itself", &watch.soak, SELF),
    ];
    for (name, samples, bounds) in programs {
        checks.push(growth_of(name, samples, &bounds, phases));
    }
}

fn growth_of(name: &str, samples: &Samples, bounds: &Bounds, phases: Phases) -> Check {
    // The first and the last sixth of the time in which nobody is killed.
    let part = (phases.late - phases.settled) / 6;
    let first = samples.greatest(phases.settled, phases.settled + part);
    let last = samples.greatest(phases.late - part, phases.late);
    let what = format!(
        "{name}: memory grows by at most {:.0} % and {} MiB, descriptors by {}",
        100.0 * bounds.memory,
        MEMORY_ROOM_KIB >> 10,
        bounds.descriptors
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
        holds: !is_judged || !has_grown(first, last, bounds),
    }
}

fn has_grown(first: Figures, last: Figures, bounds: &Bounds) -> bool {
    let memory = first.resident_kib as f64 * (1.0 + bounds.memory) + MEMORY_ROOM_KIB as f64;
    last.resident_kib as f64 > memory || last.descriptors > first.descriptors + bounds.descriptors
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
        assert!(!growth_of("p", &leaking, &DAEMON, phases).holds);
        let warm = samples(|minute| 20_000.0 + 900.0 * minute.min(10.0));
        assert!(growth_of("p", &warm, &DAEMON, phases).holds);
    }

    #[test]
    fn a_few_descriptors_more_are_a_leak() {
        let figures = |descriptors| Figures {
            resident_kib: 9_000,
            descriptors,
        };
        assert!(!has_grown(figures(12), figures(16), &DAEMON));
        assert!(has_grown(figures(12), figures(17), &DAEMON));
    }

    #[test]
    fn a_program_that_never_ran_misses_the_bar() {
        let check = growth_of("p", &Samples::default(), &DAEMON, Phases::of(HOUR));
        assert!(!check.holds);
    }
}
