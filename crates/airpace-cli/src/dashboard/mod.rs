//! `airpace status --watch`: how a running box stands, in a terminal.
//!
//! [`model`] holds what is shown, [`view`] draws it, and this module moves keys and answers of the
//! box between them.

pub(crate) mod history;
mod model;
pub(crate) mod text;
mod view;

#[cfg(test)]
mod tests;

use airpace_agent::failure::{Interrupted, bad_input};
use airpace_api::operator::EdgeStatus;
use airpace_net::signals::Signals;
use anyhow::Context as _;
use model::{Dashboard, Input};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// How often the box is asked.
const POLL: Duration = Duration::from_secs(1);
/// How long a key is waited for before signals and answers are looked at.
const TICK: Duration = Duration::from_millis(100);

/// Shows what `ask` returns until the user quits.
///
/// # Errors
/// Standard output is no terminal, no box answers at the start, or the terminal fails.
pub(crate) fn run(
    ask: impl Fn() -> anyhow::Result<EdgeStatus> + Send + 'static,
) -> anyhow::Result<ExitCode> {
    if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        return Err(bad_input(
            "--watch needs a terminal: leave it out, or use --json, where the output goes elsewhere",
        ));
    }
    // A box that does not run is told before the screen is taken.
    let first = ask()?;
    let signals = Signals::termination()?;
    let answers = poll_in_background(ask);
    // It restores the terminal on a panic, too.
    let mut terminal = ratatui::try_init().context("the terminal")?;
    let mut dashboard = Dashboard::new(has_colour());
    dashboard.take(Ok(first));
    let ended = show(&mut terminal, &mut dashboard, &answers, &signals);
    let restored = ratatui::try_restore().context("the terminal");
    let code = ended?;
    restored?;
    Ok(code)
}

/// Asks the box once per interval in a thread of its own, so that a box that hangs does not stop the
/// keys. The thread ends with the program.
fn poll_in_background(
    ask: impl Fn() -> anyhow::Result<EdgeStatus> + Send + 'static,
) -> mpsc::Receiver<Result<EdgeStatus, String>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        loop {
            // Nobody wakes it earlier, and it would do no harm.
            thread::park_timeout(POLL);
            let answer = ask().map_err(|error| format!("{error:#}"));
            if sender.send(answer).is_err() {
                return;
            }
        }
    });
    receiver
}

fn show(
    terminal: &mut ratatui::DefaultTerminal,
    dashboard: &mut Dashboard,
    answers: &mpsc::Receiver<Result<EdgeStatus, String>>,
    signals: &Signals,
) -> anyhow::Result<ExitCode> {
    loop {
        terminal.draw(|frame| view::draw(frame, dashboard))?;
        if event::poll(TICK)?
            && let Some(input) = input(&event::read()?)
        {
            match input {
                Input::Quit => return Ok(ExitCode::SUCCESS),
                Input::Interrupt => return Err(Interrupted.into()),
                other => dashboard.handle(other),
            }
        }
        match signals.next()? {
            Some(signal) if signal.as_str() == "SIGINT" => return Err(Interrupted.into()),
            Some(_) => return Ok(ExitCode::SUCCESS),
            None => {}
        }
        for answer in answers.try_iter() {
            dashboard.take(answer);
        }
    }
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
        KeyCode::Up | KeyCode::Char('k') => Input::Up,
        KeyCode::Down | KeyCode::Char('j') => Input::Down,
        KeyCode::Left | KeyCode::Char('h') => Input::SortLeft,
        KeyCode::Right | KeyCode::Char('l') => Input::SortRight,
        KeyCode::Tab => Input::NextAp,
        KeyCode::BackTab => Input::PreviousAp,
        _ => return None,
    })
}

/// Whether colours are wanted (<https://no-color.org>).
pub(crate) fn has_colour() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
