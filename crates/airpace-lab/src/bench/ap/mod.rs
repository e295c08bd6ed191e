//! Queueing schemes of the access point, compared with the kernel's TCP: the three stations of
//! paper 004 (two at 144.4 Mbit/s, one at 7.2 Mbit/s), with a download by Cubic and pings to each,
//! under every scheme; and the same cell in virtual time.

mod emulated;
mod simulated;

use crate::tool::Stop;
use airpace_core::model::jain;
use airpace_core::phy::{GuardInterval, RateError, Standard, TxRate, Width};
use airpace_sim::mac::Scheme;
use anyhow::{Context, Result};
use serde::Serialize;
use std::time::Duration;

/// MCS and streams of the stations: HT, 20 MHz, 400 ns (004 §4: two fast stations and one that is
/// limited to MCS 0).
const STATIONS: [(u8, u8); 3] = [(15, 2), (15, 2), (0, 1)];

/// Longest PPDU of ath9k.
const MAX_DURATION: Duration = Duration::from_millis(4);

/// Most MPDUs in an A-MPDU of ath9k.
const MAX_MPDUS: u16 = 32;

/// Delay of the wire, each way, as in `scenarios/004-f1-latency.toml`: one hop of Ethernet.
const WIRED_DELAY: Duration = Duration::from_micros(100);

/// Bar for the median ping, averaged over the stations: how many times shorter than under `fifo` it
/// must be (004 §4.1.1: an order of magnitude).
pub const PING_BAR: f64 = 8.0;

/// Bar for Jain's index of airtime under `airtime` (004 Figure 6: close to 1 with traffic in one
/// direction).
pub const JAIN_BAR: f64 = 0.99;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The schemes in the order in which they are run.
    pub schemes: Vec<Scheme>,
    /// Time at the beginning that is not measured.
    pub ramp: Duration,
    /// Time that is measured after it.
    pub measure: Duration,
    /// Time between pings to one station.
    pub ping_interval: Duration,
    /// Seed of the cell.
    pub seed: u64,
    /// Whether the cell is also simulated.
    pub simulate: bool,
}

impl Plan {
    /// Every scheme that the papers compare, and the closed access point, each measured for
    /// `measure`.
    #[must_use]
    pub fn new(measure: Duration) -> Self {
        let schemes = [
            Scheme::Fifo,
            Scheme::FqCodel,
            Scheme::FqMac,
            Scheme::Airtime,
            Scheme::Wqm,
            Scheme::PerStation,
        ];
        Self {
            schemes: schemes.to_vec(),
            ramp: Duration::from_secs(5),
            measure,
            ping_interval: Duration::from_millis(100),
            seed: 1,
            simulate: true,
        }
    }
}

/// Figures of one station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StationFigures {
    /// PHY rate, Mbit/s.
    pub phy_mbps: f64,
    /// Payload received, Mbit/s.
    pub goodput_mbps: f64,
    /// Median of the pings, ms.
    pub ping_p50_ms: f64,
    /// 95th percentile of the pings, ms.
    pub ping_p95_ms: f64,
    /// Airtime of its frames in both directions, as a share of that of all stations.
    pub airtime: f64,
}

/// Figures of a cell under one scheme.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CellFigures {
    /// Payload received by all stations, Mbit/s.
    pub goodput_mbps: f64,
    /// Median ping, ms; the mean over the stations.
    pub ping_p50_ms: f64,
    /// 95th percentile of the pings, ms; the mean over the stations.
    pub ping_p95_ms: f64,
    /// Jain's index of the stations' airtime in both directions.
    pub jain_airtime: f64,
    /// Per station, in order.
    pub stations: Vec<StationFigures>,
}

impl CellFigures {
    fn new(stations: Vec<StationFigures>) -> Self {
        let airtimes: Vec<f64> = stations.iter().map(|s| s.airtime).collect();
        let n = stations.len().max(1) as f64;
        Self {
            goodput_mbps: stations.iter().map(|s| s.goodput_mbps).sum(),
            ping_p50_ms: stations.iter().map(|s| s.ping_p50_ms).sum::<f64>() / n,
            ping_p95_ms: stations.iter().map(|s| s.ping_p95_ms).sum::<f64>() / n,
            jain_airtime: jain(&airtimes),
            stations,
        }
    }
}

/// One scheme, with real packets and in virtual time.
#[derive(Clone, Debug, Serialize)]
pub struct SchemeFigures {
    /// Name of the scheme.
    pub scheme: &'static str,
    /// With the kernel's TCP.
    pub emulated: CellFigures,
    /// In virtual time; `None` unless asked for.
    pub simulated: Option<CellFigures>,
    /// Median ping under `fifo` over that under this scheme, emulated; `None` if `fifo` was not
    /// run.
    pub ping_gain: Option<f64>,
    /// The same for each station; empty if `fifo` was not run.
    pub ping_gains: Vec<f64>,
    /// Goodput of all stations over that under `fifo`, emulated; `None` if `fifo` was not run.
    pub goodput_gain: Option<f64>,
    /// 99th percentile of the emulator's lateness, ms.
    pub lag_p99_ms: f64,
    /// Whether the emulator itself trusts the run.
    pub trusted: bool,
}

/// A bar and the figure that is compared with it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bar {
    /// What must hold.
    pub claim: String,
    /// The least that is required.
    pub bar: f64,
    /// What was measured.
    pub measured: f64,
    /// Whether it is reached.
    pub holds: bool,
}

/// All schemes compared.
#[derive(Clone, Debug, Serialize)]
pub struct ApComparison {
    /// Per scheme, in the order in which they were run.
    pub schemes: Vec<SchemeFigures>,
    /// The bars for the schemes that were run.
    pub bars: Vec<Bar>,
}

/// Runs every scheme.
///
/// # Errors
/// If namespaces or TUN devices cannot be created, or `stop` was raised.
pub fn compare(plan: &Plan, stop: &Stop) -> Result<ApComparison> {
    let mut schemes = Vec::new();
    for &scheme in &plan.schemes {
        let run =
            run_scheme(plan, scheme, stop).with_context(|| format!("with {}", scheme.name()))?;
        let CellFigures {
            goodput_mbps,
            ping_p50_ms,
            jain_airtime,
            ..
        } = run.emulated;
        tracing::info!(
            "{}: {goodput_mbps:.1} Mbit/s, median ping {ping_p50_ms:.1} ms, Jain index of airtime {jain_airtime:.3}",
            run.scheme
        );
        schemes.push(run);
    }
    Ok(conclude(schemes))
}

/// Runs one scheme; its gains over `fifo` come later.
fn run_scheme(plan: &Plan, scheme: Scheme, stop: &Stop) -> Result<SchemeFigures> {
    let simulated = plan
        .simulate
        .then(|| simulated::run(plan, scheme, stop))
        .transpose()?;
    let (emulated, record) = emulated::run(plan, scheme, stop)?;
    Ok(SchemeFigures {
        scheme: scheme.name(),
        emulated,
        simulated,
        ping_gain: None,
        ping_gains: Vec::new(),
        goodput_gain: None,
        lag_p99_ms: record.lag_p99.as_secs_f64() * 1e3,
        trusted: record.trusted,
    })
}

/// Compares the schemes with `fifo` and with the bars.
fn conclude(mut schemes: Vec<SchemeFigures>) -> ApComparison {
    let fifo = schemes
        .iter()
        .find(|run| run.scheme == Scheme::Fifo.name())
        .cloned();
    let mut bars = Vec::new();
    for run in &mut schemes {
        if let Some(fifo) = &fifo {
            run.ping_gain = Some(fifo.emulated.ping_p50_ms / run.emulated.ping_p50_ms);
            let stations = fifo.emulated.stations.iter().zip(&run.emulated.stations);
            run.ping_gains = stations
                .map(|(fifo, ours)| fifo.ping_p50_ms / ours.ping_p50_ms)
                .collect();
            run.goodput_gain = Some(run.emulated.goodput_mbps / fifo.emulated.goodput_mbps);
        }
        let emulated_fifo = fifo.as_ref().map(|fifo| &fifo.emulated);
        bars.extend(bars_for(
            run.scheme,
            "kernel TCP",
            &run.emulated,
            emulated_fifo,
        ));
        if let Some(simulated) = &run.simulated {
            let simulated_fifo = fifo.as_ref().and_then(|fifo| fifo.simulated.as_ref());
            bars.extend(bars_for(run.scheme, "simulated", simulated, simulated_fifo));
        }
    }
    ApComparison { schemes, bars }
}

/// The bars for a scheme. `kind` says how it was run.
fn bars_for(
    scheme: &str,
    kind: &str,
    figures: &CellFigures,
    fifo: Option<&CellFigures>,
) -> Vec<Bar> {
    let bar = |what: String, bar: f64, measured: f64| Bar {
        claim: format!("{scheme}, {kind}: {what}"),
        bar,
        measured,
        holds: measured >= bar,
    };
    let mut bars = Vec::new();
    let shortens_pings = [Scheme::FqMac, Scheme::Airtime].map(Scheme::name);
    if let Some(fifo) = fifo
        && shortens_pings.contains(&scheme)
    {
        let gain = fifo.ping_p50_ms / figures.ping_p50_ms;
        bars.push(bar(
            format!("median ping {PING_BAR} times shorter than with fifo"),
            PING_BAR,
            gain,
        ));
    }
    if scheme == Scheme::Airtime.name() {
        bars.push(bar(
            format!("Jain index of airtime at least {JAIN_BAR}"),
            JAIN_BAR,
            figures.jain_airtime,
        ));
    }
    bars
}

/// The rates of the stations.
fn rates() -> Result<Vec<TxRate>, RateError> {
    let rate = |&(mcs, nss): &(u8, u8)| {
        TxRate::new(Standard::Ht, Width::Mhz20, nss, mcs, GuardInterval::Ns400)
    };
    STATIONS.iter().map(rate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(scheme: Scheme, ping_p50_ms: f64, airtime: [f64; 3]) -> SchemeFigures {
        let station = |airtime| StationFigures {
            goodput_mbps: 5.0,
            ping_p50_ms,
            airtime,
            ..StationFigures::default()
        };
        SchemeFigures {
            scheme: scheme.name(),
            emulated: CellFigures::new(airtime.map(station).to_vec()),
            simulated: None,
            ping_gain: None,
            ping_gains: Vec::new(),
            goodput_gain: None,
            lag_p99_ms: 0.1,
            trusted: true,
        }
    }

    #[test]
    fn schemes_are_compared_with_fifo() {
        let runs = vec![
            figures(Scheme::Airtime, 20.0, [0.33, 0.33, 0.34]),
            figures(Scheme::FqMac, 50.0, [0.2, 0.2, 0.6]),
            figures(Scheme::Fifo, 200.0, [0.1, 0.1, 0.8]),
        ];
        let ApComparison { schemes, bars } = conclude(runs);
        assert_eq!(schemes[0].ping_gain, Some(10.0));
        assert_eq!(schemes[0].ping_gains, [10.0; 3]);
        assert_eq!(schemes[2].goodput_gain, Some(1.0));
        let holds: Vec<bool> = bars.iter().map(|bar| bar.holds).collect();
        assert_eq!(holds, [true, true, false], "{bars:?}");
    }

    #[test]
    fn without_fifo_only_airtime_has_a_bar() {
        let ApComparison { schemes, bars } =
            conclude(vec![figures(Scheme::Airtime, 20.0, [0.2, 0.2, 0.6])]);
        assert_eq!(schemes[0].ping_gain, None);
        assert!(bars.len() == 1 && !bars[0].holds, "{bars:?}");
    }

    #[test]
    fn the_stations_have_the_rates_of_the_paper() {
        let mbps: Vec<f64> = rates()
            .unwrap()
            .iter()
            .map(|rate| rate.rate().as_mbps_f64())
            .collect();
        assert!(
            mbps.iter()
                .zip([144.4, 144.4, 7.2])
                .all(|(ours, paper)| (ours - paper).abs() < 0.05),
            "{mbps:?}"
        );
    }
}
