//! A cell for as long as a command runs.

use crate::address::{self, station_address};
use crate::config::{EmulatorConfig, EmulatorError};
use crate::emulator::Emulator;
use crate::engine::Observer;
use crate::network::Network;
use airpace_api::emulation::EmulationReport;
use airpace_net::clock::Clock;
use airpace_net::poll::{Interest, Poller};
use airpace_net::program::Program;
use airpace_net::signals::Signals;
use airpace_units::Time;
use core::time::Duration;
use nix::sys::signal::Signal;
use std::ffi::OsString;
use std::process::{Command, ExitStatus};

/// How a command and its cell ended.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// The command's status; 128 + n if signal n killed it.
    pub status: ExitStatus,
    /// The signal by which the run was ended before the command was done, if any: SIGINT or SIGTERM.
    pub interrupted: Option<i32>,
    /// The cell's report up to then.
    pub report: EmulationReport,
}

/// Variables that a command finds in its environment.
///
/// `AIRPACE_SERVER` is the server's address, `AIRPACE_STATION_IPS` has those of the stations separated by spaces, and
/// `AIRPACE_NS_SERVER`, `AIRPACE_NS_STA0`, … ([`namespace_variable`]) the paths of the namespaces:
/// `nsenter --net=$AIRPACE_NS_STA0 ping $AIRPACE_SERVER`.
#[must_use]
pub fn environment(network: &Network) -> Vec<(String, OsString)> {
    let n = network.stations().len();
    let stations: Vec<String> = (0..n)
        .map(|index| station_address(index).to_string())
        .collect();
    let names =
        core::iter::once("server".to_owned()).chain((0..n).map(|index| format!("sta{index}")));
    let paths = names.filter_map(|name| {
        Some((
            namespace_variable(&name),
            network.by_name(&name)?.path().into(),
        ))
    });
    let addresses = [
        (
            "AIRPACE_SERVER".to_owned(),
            address::SERVER.to_string().into(),
        ),
        ("AIRPACE_STATION_IPS".to_owned(), stations.join(" ").into()),
    ];
    addresses.into_iter().chain(paths).collect()
}

/// Name of the variable that holds the path of the namespace `name` (`server`, `sta0`, …).
#[must_use]
pub fn namespace_variable(name: &str) -> String {
    format!("AIRPACE_NS_{}", name.to_uppercase())
}

/// Runs `command` in the server's namespace of a new cell, with [`environment`], and ends the cell when it ends.
///
/// SIGINT and SIGTERM end the run: the command, which gets Ctrl-C from the terminal itself, is left a second, then asked by
/// SIGTERM, and killed after [`GRACE`].
///
/// # Errors
/// As [`Emulator::start`]; [`EmulatorError::Command`] if the command cannot be started.
pub fn run_command(
    config: EmulatorConfig,
    observer: impl Observer + 'static,
    mut command: Command,
) -> Result<Outcome, EmulatorError> {
    let signals = Signals::termination()?;
    let emulator = Emulator::start(config, observer)?;
    command.envs(environment(emulator.network()));
    let name = command.get_program().to_string_lossy().into_owned();
    let failed = |source| EmulatorError::Command {
        program: name.clone(),
        source,
    };
    let program = Program::spawn(command, Some(emulator.network().server())).map_err(failed)?;
    let interrupted = supervise(&emulator, &program, &signals)?;
    let status = program.wait().map_err(failed)?;
    let report = emulator.stop()?;
    Ok(Outcome {
        status,
        interrupted: interrupted.map(|signal| signal as i32),
        report,
    })
}

/// Time from the first signal until a command that does not end is killed.
pub const GRACE: Duration = Duration::from_secs(4);

/// Time that a command has to end by the Ctrl-C that it got itself.
const HEAD_START: Duration = Duration::from_secs(1);

/// How often to look whether the emulator still runs.
const HEARTBEAT: Duration = Duration::from_millis(200);

/// Returns when the program has ended or been killed; the signal that was the cause, if one was.
fn supervise(
    emulator: &Emulator,
    program: &Program,
    signals: &Signals,
) -> Result<Option<Signal>, EmulatorError> {
    let clock = Clock::start();
    let mut poller = Poller::new()?;
    poller.add(program, 0, Interest::Read)?;
    poller.add(signals, 1, Interest::Read)?;
    let mut interrupted: Option<(Time, Signal)> = None;
    loop {
        poller.wait(&clock, Some(clock.now() + HEARTBEAT))?;
        if poller.ready().any(|ready| ready.token == 0) {
            return Ok(interrupted.map(|(_, signal)| signal));
        }
        let signal = signals.next()?;
        if !emulator.is_running() || (signal.is_some() && interrupted.is_some()) {
            // The cell has failed, or the user insists.
            program.kill();
        }
        if let (Some(signal), None) = (signal, interrupted) {
            interrupted = Some((clock.now(), signal));
            if signal == Signal::SIGTERM {
                program.terminate();
            }
        }
        if let Some((at, _)) = interrupted {
            let since = clock.now().since(at);
            if since >= GRACE {
                program.kill();
            } else if since >= HEAD_START {
                program.terminate();
            }
        }
    }
}
