//! Runs a cell as long as a command runs.

use crate::address::{self, station_address, station_mac};
use crate::config::{EmulatorConfig, EmulatorError};
use crate::emulator::Emulator;
use crate::engine::Observer;
use crate::network::Network;
use airpace_api::emulation::EmulationReport;
use airpace_core::wire::ieee80211::MacAddr;
use airpace_net::clock::Clock;
use airpace_net::poll::{Interest, Poller};
use airpace_net::program::Program;
use airpace_net::signals::Signals;
use airpace_units::Time;
use core::time::Duration;
use nix::sys::signal::Signal;
use std::ffi::OsString;
use std::process::{Command, ExitStatus};

/// How a run of a command in a cell ended.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// The command's status; its exit code is 128 + n if signal n has killed it.
    pub status: ExitStatus,
    /// Number of the signal that interrupted the run, if any: SIGINT, SIGTERM or SIGHUP.
    pub interrupted: Option<i32>,
    /// The cell's report up to the end of the command.
    pub report: EmulationReport,
}

/// Returns the environment variables that a command gets.
///
/// `AIRPACE_SERVER` is the server's address. `AIRPACE_STATION_IPS` has the addresses of the
/// stations, separated by spaces. `AIRPACE_NS_SERVER`, `AIRPACE_NS_STA0`, …
/// ([`namespace_variable`]) are the paths of the namespaces: `nsenter --net=$AIRPACE_NS_STA0 ping
/// $AIRPACE_SERVER`.
///
/// Where the cell carries Ethernet frames, `AIRPACE_NS_BOX` is the path of the box's namespace,
/// `AIRPACE_LAN_PORT` and `AIRPACE_AP_PORT` are the names of its ports, and `AIRPACE_STATION_MACS`
/// has the stations' MAC addresses, separated by spaces.
#[must_use]
pub fn environment(network: &Network) -> Vec<(String, OsString)> {
    let n = network.stations().len();
    let addresses: Vec<String> = (0..n)
        .map(|index| station_address(index).to_string())
        .collect();
    let server = address::SERVER.to_string();
    let mut variables = vec![
        ("AIRPACE_SERVER".to_owned(), server.into()),
        ("AIRPACE_STATION_IPS".to_owned(), addresses.join(" ").into()),
        (namespace_variable("server"), network.server().path().into()),
    ];
    if let (Some(middle), Some(ethernet)) = (network.box_namespace(), network.ethernet()) {
        let macs: Vec<String> = (0..n).map(|index| text(station_mac(index))).collect();
        variables.extend([
            (namespace_variable("box"), middle.path().into()),
            (
                "AIRPACE_LAN_PORT".to_owned(),
                ethernet.lan_port.clone().into(),
            ),
            (
                "AIRPACE_AP_PORT".to_owned(),
                ethernet.ap_port.clone().into(),
            ),
            ("AIRPACE_STATION_MACS".to_owned(), macs.join(" ").into()),
        ]);
    }
    for (index, station) in network.stations().iter().enumerate() {
        let name = namespace_variable(&format!("sta{index}"));
        variables.push((name, station.path().into()));
    }
    variables
}

/// Returns a MAC address as it is usually written.
fn text(mac: MacAddr) -> String {
    let bytes: Vec<String> = mac.0.iter().map(|byte| format!("{byte:02x}")).collect();
    bytes.join(":")
}

/// Returns the name of the variable with the path of the namespace `name` (`server`, `sta0`, …).
#[must_use]
pub fn namespace_variable(name: &str) -> String {
    format!("AIRPACE_NS_{}", name.to_uppercase())
}

/// Runs `command` with the variables of [`environment`] in the server's namespace of a new cell,
/// and stops the cell when the command ends.
///
/// SIGINT, SIGTERM and, unless it is ignored, SIGHUP end the run. After SIGINT the command has a second to end by itself, because
/// it gets Ctrl-C from the terminal too; then it gets SIGTERM. It is killed after [`GRACE`].
///
/// # Errors
/// As [`Emulator::start`]; [`EmulatorError::Command`] if the command cannot be started.
pub fn run_command(
    config: EmulatorConfig,
    observer: impl Observer + 'static,
    mut command: Command,
) -> Result<Outcome, EmulatorError> {
    let signals = Signals::end_of_session()?;
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

/// Time from the first signal until the command is killed if it has not ended.
pub const GRACE: Duration = Duration::from_secs(4);

/// Time that the command has to end after a Ctrl-C that the terminal has sent it too.
const HEAD_START: Duration = Duration::from_secs(1);

/// Interval at which to check whether the emulator still runs.
const HEARTBEAT: Duration = Duration::from_millis(200);

/// Waits until the program has ended, and ends it if a signal comes or the emulator fails. Returns
/// the signal that interrupted the run, if any.
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
        // A terminal that is closed may send SIGHUP more than once.
        let is_asked = signal.is_some_and(|signal| signal != Signal::SIGHUP);
        if !emulator.is_running() || (is_asked && interrupted.is_some()) {
            // The cell has failed, or the user has asked a second time.
            program.kill();
        }
        if let (Some(signal), None) = (signal, interrupted) {
            interrupted = Some((clock.now(), signal));
            // Unlike Ctrl-C, it has reached this process only.
            if signal != Signal::SIGINT {
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
