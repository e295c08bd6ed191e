//! `airpace sim run --watch`: a run while it runs, in a terminal.
//!
//! [`model`] holds what is shown, [`view`] draws it, and this module moves the network's figures, keys
//! and time between them.

mod model;
mod view;

#[cfg(test)]
mod tests;

use crate::dashboard::has_colour;
use crate::progress::now;
use airpace_agent::failure::bad_input;
use airpace_scenario::Loaded;
use airpace_scenario::resolve::Resolved;
use airpace_scenario::run::{self, Finished};
use airpace_scenario::stop::Stop;
use airpace_sim::world::World;
use airpace_units::Time;
use anyhow::Context as _;
use model::Watched;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

/// Least time between two screens.
const FRAME: Duration = Duration::from_millis(50);

/// How a watched run went.
pub(crate) struct Ended {
    /// The figures; `None` if it was stopped within the warm-up.
    pub(crate) finished: Option<Finished>,
    /// Whether Ctrl-C ended it.
    pub(crate) interrupted: bool,
}

/// What the user wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Input {
    /// The run ends now.
    Quit,
    /// Ctrl-C.
    Interrupt,
    Pause,
    Up,
    Down,
}

/// Refuses to go on where nobody could watch.
///
/// # Errors
/// Standard input or output is no terminal.
pub(crate) fn require_terminal() -> anyhow::Result<()> {
    if std::io::stdout().is_terminal() && std::io::stdin().is_terminal() {
        return Ok(());
    }
    Err(bad_input(
        "--watch needs a terminal: leave it out, or use --json, where the output goes elsewhere",
    ))
}

/// Runs a scenario and draws what happens, at `speed` simulated seconds per second, or as fast as it
/// runs.
///
/// # Errors
/// The simulator refuses the network, or the terminal fails.
pub(crate) fn run(
    loaded: &Loaded,
    resolved: Resolved,
    speed: Option<f64>,
    stop: &Stop,
) -> anyhow::Result<Ended> {
    // It restores the terminal on a panic, too.
    let terminal = ratatui::try_init().context("the terminal")?;
    let mut show = Show {
        terminal,
        watched: Watched::new(&loaded.scenario.title, &resolved, has_colour()),
        speed,
        stop,
        begun: now(),
        paused: Duration::ZERO,
        drawn: None,
        interrupted: false,
        failure: None,
    };
    let ended = run::watched(loaded, resolved, stop, &mut |world| show.look(world));
    let restored = ratatui::try_restore().context("the terminal");
    let finished = ended.context("starting the simulation")?;
    if let Some(error) = show.failure {
        return Err(error.context("the terminal"));
    }
    restored?;
    Ok(Ended {
        finished,
        interrupted: show.interrupted,
    })
}

/// The screen, and the time that has passed before it.
struct Show<'a> {
    terminal: DefaultTerminal,
    watched: Watched,
    speed: Option<f64>,
    stop: &'a Stop,
    begun: Instant,
    /// Time for which the run was paused.
    paused: Duration,
    drawn: Option<Instant>,
    interrupted: bool,
    /// Why the terminal could not be drawn or read; the run then stops.
    failure: Option<anyhow::Error>,
}

impl Show<'_> {
    /// Takes the figures of the network, draws them if it is time to, and waits until the run may go
    /// on.
    fn look(&mut self, world: &World) {
        if let Err(error) = self.try_look(world) {
            self.failure.get_or_insert(error);
            self.stop.raise();
        }
    }

    fn try_look(&mut self, world: &World) -> anyhow::Result<()> {
        self.watched.take(world, self.ran());
        let simulated = world.now().since(Time::ZERO);
        self.keys(Duration::ZERO)?;
        if self.drawn.is_none_or(|drawn| drawn.elapsed() >= FRAME) {
            self.draw()?;
        }
        while !self.stop.is_raised() {
            let wait = if self.watched.is_paused {
                FRAME
            } else {
                match self.speed {
                    Some(speed) => ahead(simulated, self.ran(), speed).min(FRAME),
                    None => return Ok(()),
                }
            };
            if wait.is_zero() {
                return Ok(());
            }
            let before = now();
            self.keys(wait)?;
            if self.watched.is_paused {
                self.paused += before.elapsed();
            }
            self.draw()?;
        }
        Ok(())
    }

    /// Real time for which the run has not been paused.
    fn ran(&self) -> Duration {
        self.begun.elapsed().saturating_sub(self.paused)
    }

    fn draw(&mut self) -> anyhow::Result<()> {
        let watched = &mut self.watched;
        self.terminal.draw(|frame| view::draw(frame, watched))?;
        self.drawn = Some(now());
        Ok(())
    }

    /// Does what the keys say that come within `wait`.
    fn keys(&mut self, wait: Duration) -> anyhow::Result<()> {
        let mut wait = wait;
        while event::poll(wait)? {
            wait = Duration::ZERO;
            match input(&event::read()?) {
                Some(Input::Quit) => self.stop.raise(),
                Some(Input::Interrupt) => {
                    self.interrupted = true;
                    self.stop.raise();
                }
                Some(other) => self.watched.handle(other),
                None => {}
            }
        }
        Ok(())
    }
}

/// How far the simulated time is ahead of what `speed` allows after `ran`, in real time.
fn ahead(simulated: Duration, ran: Duration, speed: f64) -> Duration {
    let due = Duration::try_from_secs_f64(simulated.as_secs_f64() / speed);
    due.unwrap_or(Duration::MAX).saturating_sub(ran)
}

/// What a key means.
fn input(event: &Event) -> Option<Input> {
    let Event::Key(key) = event else { return None };
    if key.kind == KeyEventKind::Release {
        return None;
    }
    // In raw mode Ctrl-C is a key and no signal.
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return (key.code == KeyCode::Char('c')).then_some(Input::Interrupt);
    }
    Some(match key.code {
        KeyCode::Char('q') | KeyCode::Esc => Input::Quit,
        KeyCode::Char(' ') => Input::Pause,
        KeyCode::Up | KeyCode::Char('k') => Input::Up,
        KeyCode::Down | KeyCode::Char('j') => Input::Down,
        _ => return None,
    })
}
