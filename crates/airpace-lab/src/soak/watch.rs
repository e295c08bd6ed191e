//! Memory, descriptors and threads of programs.

use anyhow::{Context, Result, ensure};
use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use serde::Serialize;
use std::fs;
use std::time::Duration;

/// What a process takes.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Figures {
    /// Resident memory, KiB.
    pub resident_kib: u64,
    /// Open descriptors.
    pub descriptors: u64,
}

impl Figures {
    /// Of a process by its number, or of `self`.
    pub(super) fn of(process: &str) -> Result<Self> {
        let status = fs::read_to_string(format!("/proc/{process}/status"))?;
        let resident_kib = field(&status, "VmRSS:").context("a process without memory")?;
        let descriptors = fs::read_dir(format!("/proc/{process}/fd"))?.count() as u64;
        Ok(Self {
            resident_kib,
            descriptors,
        })
    }

    /// Of this process.
    pub(super) fn of_this_process() -> Result<Self> {
        Self::of("self").context("reading /proc/self")
    }
}

/// The number behind a name in `/proc/PID/status`.
fn field(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

impl core::fmt::Display for Figures {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mib = self.resident_kib as f64 / 1024.0;
        write!(f, "{mib:.1} MiB {} fd", self.descriptors)
    }
}

/// The figures of one process over time.
#[derive(Default)]
pub(super) struct Samples(Vec<(Duration, Figures)>);

impl Samples {
    /// Adds a sample; `None` while the process does not run.
    pub(super) fn add(&mut self, at: Duration, figures: Option<Figures>) {
        self.0.extend(figures.map(|figures| (at, figures)));
    }

    /// The newest.
    pub(super) fn last(&self) -> Figures {
        self.0.last().map_or_else(Figures::default, |&(_, f)| f)
    }

    /// The greatest memory and the most descriptors within a span of time; `None` without a sample.
    pub(super) fn greatest(&self, from: Duration, to: Duration) -> Option<Figures> {
        let within = self.0.iter().filter(|(at, _)| (from..to).contains(at));
        within.map(|&(_, figures)| figures).reduce(|a, b| Figures {
            resident_kib: a.resident_kib.max(b.resident_kib),
            descriptors: a.descriptors.max(b.descriptors),
        })
    }
}

/// All that is watched.
#[derive(Default)]
pub(super) struct Watch {
    pub(super) proxy: Samples,
    pub(super) edge: Samples,
    pub(super) agent: Samples,
    pub(super) soak: Samples,
}

/// Descriptors that one agent, its namespace and its echo server take, with room to spare.
const DESCRIPTORS_PER_AGENT: u64 = 15;

/// Lets this process open enough files for so many agents.
pub(super) fn raise_descriptor_limit(agents: usize) -> Result<()> {
    let needed = 1024 + DESCRIPTORS_PER_AGENT * agents as u64;
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft >= needed {
        return Ok(());
    }
    // Only root may raise the hard limit.
    setrlimit(Resource::RLIMIT_NOFILE, needed, hard.max(needed))
        .or_else(|_| setrlimit(Resource::RLIMIT_NOFILE, hard, hard))?;
    let (soft, _) = getrlimit(Resource::RLIMIT_NOFILE)?;
    ensure!(
        soft >= needed,
        "{agents} agents need {needed} open files, and the limit is {soft}: raise it (ulimit -n) or run fewer"
    );
    Ok(())
}

/// What a run could leave behind in this process.
pub(super) struct Leftovers {
    descriptors: u64,
    threads: u64,
}

impl Leftovers {
    /// What there is now.
    pub(super) fn now() -> Result<Self> {
        let status = fs::read_to_string("/proc/self/status")?;
        Ok(Self {
            descriptors: Figures::of_this_process()?.descriptors,
            threads: field(&status, "Threads:").context("a process without threads")?,
        })
    }

    /// What has come since, and is still there; empty if nothing has.
    pub(super) fn still_there(&self) -> Result<Vec<String>> {
        let now = Self::now()?;
        let mut left = Vec::new();
        if now.descriptors > self.descriptors {
            left.push(format!(
                "{} descriptors",
                now.descriptors - self.descriptors
            ));
        }
        if now.threads > self.threads {
            left.push(format!("{} threads", now.threads - self.threads));
        }
        if waitpid(Pid::from_raw(-1), Some(WaitPidFlag::WNOHANG)) != Err(Errno::ECHILD) {
            left.push("a child process".to_owned());
        }
        let folder = std::env::temp_dir().join(format!("airpace-soak-{}", std::process::id()));
        if folder.exists() {
            left.push(folder.display().to_string());
        }
        Ok(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_memory_and_descriptors() {
        let figures = Figures::of_this_process().unwrap();
        assert!(
            figures.resident_kib > 100 && figures.descriptors >= 3,
            "{figures}"
        );
    }

    #[test]
    fn the_greatest_of_a_span_excludes_its_end() {
        let mut samples = Samples::default();
        for (second, resident_kib) in [(0, 9), (1, 5), (2, 7), (3, 8)] {
            let figures = Figures {
                resident_kib,
                descriptors: 10 - second,
            };
            samples.add(Duration::from_secs(second), Some(figures));
        }
        samples.add(Duration::from_secs(4), None);
        let greatest = samples
            .greatest(Duration::from_secs(1), Duration::from_secs(3))
            .unwrap();
        assert_eq!((greatest.resident_kib, greatest.descriptors), (7, 9));
        assert_eq!(
            samples.greatest(Duration::from_secs(4), Duration::from_secs(9)),
            None
        );
        assert_eq!(samples.last().resident_kib, 8);
    }
}
