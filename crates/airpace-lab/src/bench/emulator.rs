//! The emulator against virtual time: the same cell, saturated with UDP, once with real packets and
//! once simulated.

use super::saturation::{Saturation, StationFigures, cell_figures, simulate};
use crate::cell::{Cell, CellRecord, closed};
use crate::results::{EmulatorComparison, MacFigures};
use crate::tool::Stop;
use crate::tool::cbr::{self, CbrConfig, CbrReport};
use anyhow::{Context, Result, anyhow, bail};
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

const PORT: u16 = 7_009;

/// Offered load over the goodput in virtual time: enough to keep every buffer full, but so little
/// that the machine has time for the emulator.
const OVERLOAD: f64 = 1.2;

/// Runs the scenario in virtual time and then with real packets, and compares.
///
/// # Errors
/// If the cell is impossible, namespaces or TUN devices cannot be created, or `stop` was raised.
pub fn compare(scenario: &Saturation, stop: &Stop) -> Result<EmulatorComparison> {
    let (simulated, stations) = simulate(scenario)?;
    let (emulated, record) = emulate(scenario, &stations, stop)?;
    Ok(EmulatorComparison {
        stations: u32::try_from(scenario.mcs.len()).unwrap_or(u32::MAX),
        emulated,
        simulated,
        goodput_difference: emulated.goodput_mbps / simulated.goodput_mbps - 1.0,
        level_difference: emulated.level / simulated.level - 1.0,
        lag_p99_ms: record.lag_p99.as_secs_f64() * 1e3,
        trusted: record.trusted,
    })
}

fn emulate(
    scenario: &Saturation,
    expected: &[StationFigures],
    stop: &Stop,
) -> Result<(MacFigures, CellRecord)> {
    let config = closed(&scenario.mcs, scenario.ap_buffer_packets, scenario.seed)?;
    let cell = Cell::start(config, Duration::from_millis(10))?;
    cell.record_from_now();
    let start = Instant::now();
    let reports = flood(&cell, scenario, expected, start, stop)?;
    if stop.is_raised() {
        bail!("the comparison was stopped");
    }
    let record = cell.finish()?;
    let (from, to) = (scenario.ramp, scenario.ramp + scenario.measure);
    let goodputs: Vec<f64> = reports
        .iter()
        .map(|report| report.bins.mbps(from, to))
        .collect();
    Ok((cell_figures(&record.frames, &goodputs, from, to).0, record))
}

/// Floods every station for the whole scenario. Returns what each received.
fn flood(
    cell: &Cell,
    scenario: &Saturation,
    expected: &[StationFigures],
    start: Instant,
    stop: &Stop,
) -> Result<Vec<CbrReport>> {
    let receivers_stop = Stop::default();
    thread::scope(|scope| {
        let mut receivers = Vec::new();
        let mut senders = Vec::new();
        for (index, figures) in expected.iter().enumerate() {
            let to = SocketAddr::new(cell.station_address(index), PORT);
            let socket = cell.station(index).run(|| cbr::listen(to))??;
            let receivers_stop = &receivers_stop;
            receivers.push(scope.spawn(move || cbr::receive(&socket, start, receivers_stop)));
            let config = CbrConfig {
                to,
                payload: scenario.payload as usize,
                rate_bps: figures.goodput_mbps * 1e6 * OVERLOAD,
                duration: scenario.ramp + scenario.measure + Duration::from_millis(200),
            };
            senders.push(scope.spawn(move || cell.server().run(|| cbr::generate(&config, stop))?));
        }
        let sent: Vec<Result<u64>> = senders.into_iter().map(|s| joined(s.join())).collect();
        receivers_stop.raise();
        let received = receivers.into_iter().map(|r| joined(r.join())).collect();
        sent.into_iter()
            .collect::<Result<Vec<_>>>()
            .context("a generator")?;
        received
    })
}

fn joined<T>(result: thread::Result<Result<T>>) -> Result<T> {
    result.map_err(|_| anyhow!("a tool panicked"))?
}
