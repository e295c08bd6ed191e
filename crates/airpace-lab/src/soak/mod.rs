//! Hours of everyday trouble for the daemons: a tunnel proxy with a thousand agents, and an in-line
//! box in front of an emulated access point, while stations roam, leave and come back and programs
//! are killed and stopped.
//!
//! [`run`] pings every station all the time. A ping may be lost only within an interruption that was
//! announced before it happened: the time that a disturbance takes plus the time within which
//! traffic must have recovered. Memory and descriptors of every program are watched, and must not
//! grow once the beginning is over.

mod announce;
mod daemon;
mod inline;
mod pings;
mod schedule;
mod tunnel;
mod verdict;
mod watch;

use crate::tool::Stop;
use announce::{Announcements, Subject};
use anyhow::{Context, Result, bail};
use daemon::ScratchFolder;
use inline::InlinePart;
use schedule::{Disturbance, Event, Phases, Step};
use serde::Serialize;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tunnel::TunnelPart;
use watch::Watch;

pub use pings::PingFigures;
pub use verdict::Check;
pub use watch::Figures;

/// What to run.
#[derive(Clone, Debug)]
pub struct SoakPlan {
    /// The airpace program, from which proxy, box and agents are started.
    pub program: PathBuf,
    /// How long, at least [`SHORTEST`].
    pub duration: Duration,
    /// Agents of the tunnel, [`AGENTS`] of them.
    pub agents: usize,
    /// How many of the agents are processes of their own, which can be killed; at least 2. The others
    /// are threads of this process.
    pub processes: usize,
    /// Seed of the disturbances and of the emulated access point.
    pub seed: u64,
    /// Folder for the programs' logs if a bar does not hold.
    pub logs: PathBuf,
}

/// The shortest run: shorter ones would be over before proxy and box have recovered.
pub const SHORTEST: Duration = Duration::from_secs(60);

/// How many agents are possible: two are needed as processes, and outer addresses are limited.
pub const AGENTS: core::ops::RangeInclusive<usize> = 3..=16_000;

/// One minute of the run.
#[derive(Clone, Debug, Serialize)]
pub struct Minute {
    /// Minutes since the beginning, at its end.
    pub minute: f64,
    /// The tunnel's proxy.
    pub proxy: Figures,
    /// The in-line box.
    pub edge: Figures,
    /// An agent that is a process and is never killed.
    pub agent: Figures,
    /// This process: the other agents, the emulated access point, and the pings.
    pub soak: Figures,
    /// Pings through the tunnel.
    pub tunnel: PingFigures,
    /// Pings through the in-line box.
    pub inline: PingFigures,
    /// Longest time that this process waited for a processor, ms. Where it is more than a second, the
    /// machine was too busy for figures of pings to be trusted.
    pub lag_ms: f64,
}

impl core::fmt::Display for Minute {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "{:6.1} min  proxy {}  box {}  agent {}  soak {}  tunnel {}  in-line {}  lag {:.0} ms",
            self.minute,
            self.proxy,
            self.edge,
            self.agent,
            self.soak,
            self.tunnel,
            self.inline,
            self.lag_ms
        )
    }
}

/// How often each kind of disturbance happened.
#[derive(Clone, Debug, Serialize)]
pub struct DisturbanceCount {
    /// What was done.
    pub what: &'static str,
    /// How often.
    pub times: usize,
}

/// The result of a run.
#[derive(Clone, Debug, Serialize)]
pub struct SoakReport {
    /// Seed of the disturbances.
    pub seed: u64,
    /// How long it ran, h.
    pub hours: f64,
    /// Agents of the tunnel.
    pub agents: usize,
    /// Stations behind the in-line box.
    pub stations: usize,
    /// What was done to them.
    pub disturbances: Vec<DisturbanceCount>,
    /// The minutes.
    pub minutes: Vec<Minute>,
    /// Pings through the tunnel in the whole run.
    pub tunnel: PingFigures,
    /// Pings through the in-line box in the whole run.
    pub inline: PingFigures,
    /// The bars, and whether they hold.
    pub checks: Vec<Check>,
    /// Whether all bars hold.
    pub holds: bool,
}

/// Runs the plan. `tell` gets a line about every minute, and one about each disturbance of proxy or
/// box and each lost ping that nothing explains.
///
/// # Errors
/// If namespaces cannot be created, a program does not start, or `stop` was raised.
pub fn run(plan: &SoakPlan, stop: &Stop, tell: &mut dyn FnMut(&str)) -> Result<SoakReport> {
    if plan.duration < SHORTEST || !AGENTS.contains(&plan.agents) {
        bail!("at least a minute, and 3 to 16000 agents, are needed");
    }
    watch::raise_descriptor_limit(plan.agents)?;
    let before = watch::Leftovers::now()?;
    let mut soak = Soak::start(plan, stop, tell)?;
    soak.run(stop, tell)?;
    let report = soak.finish(&before)?;
    Ok(report)
}

/// A run.
struct Soak<'a> {
    plan: &'a SoakPlan,
    phases: Phases,
    announcements: Announcements,
    tunnel: TunnelPart,
    inline: InlinePart,
    watch: Watch,
    minutes: Vec<Minute>,
    disturbances: Vec<Disturbance>,
    /// Programs that ended although nobody killed them, and what refused to start again.
    failures: Vec<String>,
    /// Longest time in this minute by which a sleep took too long.
    lag: Duration,
    start: Instant,
    /// Removed last, when nobody writes there any more.
    folder: ScratchFolder,
}

/// Time between two looks at the schedule.
const STEP: Duration = Duration::from_millis(50);
/// Time between two measurements of memory and descriptors.
const SAMPLE: Duration = Duration::from_secs(5);
/// How long all stations may take to answer at the beginning.
const READY_WITHIN: Duration = Duration::from_secs(120);

impl<'a> Soak<'a> {
    /// Starts everything and waits until all stations answer.
    fn start(plan: &'a SoakPlan, stop: &Stop, tell: &mut dyn FnMut(&str)) -> Result<Self> {
        let folder = ScratchFolder::new()?;
        let announcements = Announcements::default();
        let inline = InlinePart::start(plan, folder.path(), &announcements)
            .context("the in-line box and its access points")?;
        let tunnel =
            TunnelPart::start(plan, folder.path(), &announcements, stop).context("the tunnel")?;
        let deadline = Instant::now() + READY_WITHIN;
        while !(tunnel.pings().all_answer() && inline.pings().all_answer()) {
            if stop.is_raised() {
                bail!("the run was stopped");
            }
            if Instant::now() > deadline {
                bail!(
                    "only {} of {} agents and {} of {} stations answer",
                    tunnel.pings().answering(),
                    plan.agents,
                    inline.pings().answering(),
                    inline::STATIONS
                );
            }
            std::thread::sleep(STEP);
        }
        tell(&format!(
            "seed {}: {} agents and {} stations answer",
            plan.seed,
            plan.agents,
            inline::STATIONS
        ));
        // What was lost while everything was on its way up does not count.
        tunnel.pings().forget();
        inline.pings().forget();
        Ok(Self {
            plan,
            phases: Phases::of(plan.duration),
            announcements,
            tunnel,
            inline,
            watch: Watch::default(),
            minutes: Vec::new(),
            disturbances: Vec::new(),
            failures: Vec::new(),
            lag: Duration::ZERO,
            start: Instant::now(),
            folder,
        })
    }

    fn run(&mut self, stop: &Stop, tell: &mut dyn FnMut(&str)) -> Result<()> {
        let people = schedule::People {
            agents: self.plan.agents,
            processes: self.plan.processes,
            stations: inline::STATIONS,
        };
        let mut events = schedule::draw(self.plan.seed, self.phases, people)
            .into_iter()
            .peekable();
        let mut next_sample = Duration::ZERO;
        let mut next_minute = MINUTE.min(self.plan.duration);
        loop {
            let now = self.start.elapsed();
            if stop.is_raised() {
                bail!("the run was stopped");
            }
            while let Some(event) = events.next_if(|event| event.at <= now) {
                self.on_event(event, tell);
            }
            self.inline.load(now, stop);
            self.tunnel.load(now, stop);
            if now >= next_sample {
                next_sample += SAMPLE;
                self.sample(now)?;
            }
            if now >= next_minute {
                next_minute += MINUTE;
                self.end_minute(now, tell)?;
            }
            if now >= self.plan.duration {
                return Ok(());
            }
            let asleep = Instant::now();
            std::thread::sleep(STEP);
            self.lag = self.lag.max(asleep.elapsed().saturating_sub(STEP));
        }
    }

    /// Does what the schedule says. What goes wrong is a failure of the run, but does not end it.
    fn on_event(&mut self, event: Event, tell: &mut dyn FnMut(&str)) {
        let Event { at, what, step } = event;
        if let Step::Begin { pause } = step {
            let recovery = what.recovery(self.plan.agents);
            let now = Instant::now();
            self.announcements
                .add(what.name(), what.subject(), now, now + pause + recovery);
            self.disturbances.push(what);
            if what.is_of_a_daemon() {
                tell(&format!(
                    "{:6.1} min  {}, for {:.1} s; losses are announced for {:.0} s",
                    at.as_secs_f64() / 60.0,
                    what.name(),
                    pause.as_secs_f64(),
                    (pause + recovery).as_secs_f64()
                ));
            }
        }
        let done = match what.subject() {
            Subject::Tunnel(_) => self.tunnel.disturb(what, step),
            Subject::Inline(_) => self.inline.disturb(what, step),
        };
        if let Err(error) = done {
            self.fail(format!("{}: {error:#}", what.name()), tell);
        }
    }

    fn fail(&mut self, what: String, tell: &mut dyn FnMut(&str)) {
        tell(&format!("FAILED: {what}"));
        self.failures.push(what);
    }

    fn sample(&mut self, now: Duration) -> Result<()> {
        self.watch.proxy.add(now, self.tunnel.proxy_figures());
        self.watch.edge.add(now, self.inline.edge_figures());
        self.watch.agent.add(now, self.tunnel.agent_figures());
        self.watch.soak.add(now, Some(Figures::of_this_process()?));
        Ok(())
    }

    fn end_minute(&mut self, now: Duration, tell: &mut dyn FnMut(&str)) -> Result<()> {
        for what in self.tunnel.ended_by_themselves() {
            self.fail(what, tell);
        }
        for what in self.inline.ended_by_themselves() {
            self.fail(what, tell);
        }
        let minute = Minute {
            minute: now.as_secs_f64() / 60.0,
            proxy: self.watch.proxy.last(),
            edge: self.watch.edge.last(),
            agent: self.watch.agent.last(),
            soak: Figures::of_this_process()?,
            tunnel: self.tunnel.pings().end_minute(),
            inline: self.inline.pings().end_minute(),
            lag_ms: core::mem::take(&mut self.lag).as_secs_f64() * 1e3,
        };
        tell(&minute.to_string());
        for lost in self.tunnel.pings().unexplained() {
            tell(&format!("FAILED: tunnel: {lost}"));
        }
        for lost in self.inline.pings().unexplained() {
            tell(&format!("FAILED: in-line: {lost}"));
        }
        self.minutes.push(minute);
        Ok(())
    }

    /// Ends everything and judges.
    fn finish(mut self, before: &watch::Leftovers) -> Result<SoakReport> {
        self.tunnel.pings().wait_for_stragglers();
        self.inline.pings().wait_for_stragglers();
        let mut report = SoakReport {
            seed: self.plan.seed,
            hours: self.plan.duration.as_secs_f64() / 3600.0,
            agents: self.plan.agents,
            stations: inline::STATIONS,
            disturbances: schedule::count(&self.disturbances),
            tunnel: self.tunnel.pings().whole_run(),
            inline: self.inline.pings().whole_run(),
            minutes: self.minutes,
            checks: Vec::new(),
            holds: false,
        };
        verdict::pings(&mut report.checks, &report.tunnel, &report.inline);
        verdict::growth(&mut report.checks, &self.watch, self.phases);
        self.failures.extend(self.tunnel.end());
        self.failures.extend(self.inline.end());
        verdict::failures(&mut report.checks, &self.failures);
        // From here on nothing of the run is left but its folder.
        if report.checks.iter().any(|check| !check.holds) {
            self.folder.keep_logs(&self.plan.logs)?;
        }
        drop(self.folder);
        let left = before.still_there()?;
        verdict::leftovers(&mut report.checks, &left);
        report.holds = report.checks.iter().all(|check| check.holds);
        Ok(report)
    }
}

const MINUTE: Duration = Duration::from_secs(60);
