//! `airpace bench`: measurements with real packets on this machine, and of the rate laws in virtual
//! time.

mod ap;
mod aps;
mod classifier;
mod edge;
mod forged;
mod frontier;
mod insight;
mod mixed;
mod sensors;
mod soak;
mod traffic;

use crate::args::positive;
use crate::failure::{FAILED, Interrupted, bad_input};
use crate::output::{self, Table};
use airpace_api::config::Cipher;
use airpace_lab::bench::datapath::{DatapathPlan, DatapathReport, Throughput, datapath};
use airpace_lab::bench::emulator::compare;
use airpace_lab::bench::saturation::{Saturation, vht80};
use airpace_lab::bench::tcp::{self, Download, TcpComparison};
use airpace_lab::interrupt::with_signals;
use airpace_lab::results::EmulatorComparison;
use airpace_lab::tool::Stop;
use airpace_sim::transport::tcp::Algorithm;
use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;
use std::ops::RangeInclusive;
use std::process::ExitCode;
use std::time::Duration;

const EXAMPLES: &str = "Examples:
  airpace bench datapath
  airpace bench datapath --packet-bytes 600 --cipher aes-256-gcm --json
  airpace bench edge --check
  airpace bench emulator --mcs 9,4,1
  airpace bench tcp --algorithms cubic,bbr --delays-ms 10,0
  airpace bench ap
  airpace bench ap --schemes fifo,airtime --seconds 10 --json
  airpace bench frontier --quick
  airpace bench sensors --quick
  airpace bench classifier --quick
  airpace bench mixed
  airpace bench traffic --check
  airpace bench aps --mcs 9,4
  airpace bench forged --check
  airpace bench insight --check
  airpace bench soak --hours 0.1 --agents 100";

/// The exit code of a benchmark whose bars hold or not, and are to be checked or only printed.
fn exit_code(check: bool, holds: bool) -> ExitCode {
    if check && !holds {
        ExitCode::from(FAILED)
    } else {
        ExitCode::SUCCESS
    }
}

/// The lines below a table of rows that must meet bars: whether they hold, and a warning if the emulator
/// was late.
fn verdict(holds: bool, trusted: bool, claim: &str) -> String {
    let verdict = if holds { "holds" } else { "FAILS" };
    let warning = if trusted {
        ""
    } else {
        "The emulator was late: do not trust these figures.\n"
    };
    format!("{verdict}: {claim}\n{warning}")
}

/// Refuses MCS that 802.11ac at 80 MHz does not have, another number of them than `count`, and a load
/// of which nothing would be measured. `what` has the MCS.
fn check_stations(
    mcs: &[u8],
    count: RangeInclusive<usize>,
    what: &str,
    (load, ramp): (Duration, Duration),
) -> anyhow::Result<()> {
    if !count.contains(&mcs.len()) {
        let (least, most) = (count.start(), count.end());
        return Err(bad_input(format!("--mcs: give {least} to {most} {what}")));
    }
    for &mcs in mcs {
        vht80(mcs).map_err(bad_input)?;
    }
    if ramp + Duration::from_millis(100) > load {
        return Err(bad_input(
            "--ramp: leave at least 100 ms of the load to be measured",
        ));
    }
    Ok(())
}

/// Measures with the rights that namespaces need, until SIGINT or SIGTERM, after which there is no
/// result.
fn uninterrupted<T>(measure: impl FnOnce(&Stop) -> anyhow::Result<T>) -> anyhow::Result<T> {
    airpace_net::netns::acquire_rights()?;
    let (result, interrupted) = with_signals(measure)?;
    if interrupted {
        return Err(Interrupted.into());
    }
    result
}

/// Prints a result as JSON or as `describe` puts it.
fn print<T: Serialize>(
    json: bool,
    result: &T,
    describe: impl FnOnce(&T) -> String,
) -> anyhow::Result<()> {
    if json {
        output::json(result)?;
    } else {
        output::text(&describe(result))?;
    }
    Ok(())
}

/// Measure this program on this machine.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Bench {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Datapath(Datapath),
    Edge(edge::Edge),
    Emulator(Emulator),
    Tcp(Tcp),
    Ap(ap::Ap),
    Frontier(frontier::Frontier),
    Sensors(sensors::Sensors),
    Classifier(classifier::Classifier),
    Mixed(mixed::Mixed),
    Traffic(traffic::Traffic),
    Aps(aps::Aps),
    Forged(forged::Forged),
    Insight(insight::Insight),
    Soak(soak::Soak),
}

/// Packets per second and added delay through proxy and agent, between namespaces, without Wi-Fi.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
struct Datapath {
    /// Length of the IP packets in bytes.
    #[arg(long, default_value_t = 1400, value_parser = clap::value_parser!(u32).range(64..=1420))]
    packet_bytes: u32,
    /// Loads at which delay is measured, in Mbit/s.
    #[arg(long, default_value = "100,500,1000", value_delimiter = ',', value_parser = positive)]
    loads_mbps: Vec<f64>,
    /// Duration of each load, in seconds.
    #[arg(long, default_value = "3", value_parser = positive)]
    seconds: f64,
    /// Cipher of the tunnel.
    #[arg(long, value_enum, default_value = "auto")]
    cipher: CipherName,
    /// Send packets past the pacer.
    #[arg(long)]
    unpaced: bool,
    /// Run proxy and agent without real-time scheduling.
    #[arg(long)]
    no_realtime: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The emulated access point against virtual time: the same saturated cell with and without real
/// packets.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
struct Emulator {
    /// VHT MCS of each station, 80 MHz, one stream.
    #[arg(long, default_value = "9", value_delimiter = ',')]
    mcs: Vec<u8>,
    /// Duration of the measurement, in seconds.
    #[arg(long, default_value = "5", value_parser = positive)]
    seconds: f64,
    /// Seed of the cell.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Simulated TCP against this kernel's: one download over 390 Mbit/s of Wi-Fi, through the emulated
/// access point and in virtual time.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
struct Tcp {
    /// Congestion control: reno, cubic, bbr.
    #[arg(long, default_value = "reno,cubic,bbr", value_delimiter = ',')]
    algorithms: Vec<String>,
    /// Delays of the wired link, each way, in ms.
    #[arg(long, default_value = "10,0", value_delimiter = ',')]
    delays_ms: Vec<f64>,
    /// Duration of the measurement, in seconds. It begins after half of that time.
    #[arg(long, default_value = "10", value_parser = positive)]
    seconds: f64,
    /// Seed of the cell.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum CipherName {
    /// The fastest on this processor.
    Auto,
    #[value(name = "chacha20-poly1305")]
    Chacha20Poly1305,
    #[value(name = "aes-256-gcm")]
    Aes256Gcm,
}

pub(crate) fn run(args: &Bench) -> anyhow::Result<ExitCode> {
    match &args.what {
        What::Datapath(args) => run_datapath(args),
        What::Edge(args) => edge::run(args),
        What::Emulator(args) => run_emulator(args),
        What::Tcp(args) => run_tcp(args),
        What::Ap(args) => ap::run(args),
        What::Frontier(args) => frontier::run(args),
        What::Sensors(args) => sensors::run(args),
        What::Classifier(args) => classifier::run(args),
        What::Mixed(args) => mixed::run(args),
        What::Traffic(args) => traffic::run(args),
        What::Aps(args) => aps::run(args),
        What::Forged(args) => forged::run(args),
        What::Insight(args) => insight::run(args),
        What::Soak(args) => soak::run(args),
    }
}

fn run_datapath(args: &Datapath) -> anyhow::Result<ExitCode> {
    let plan = DatapathPlan {
        packet_bytes: args.packet_bytes as usize,
        loads_mbps: args.loads_mbps.clone(),
        span: span(args.seconds)?,
        cipher: match args.cipher {
            CipherName::Auto => Cipher::Auto,
            CipherName::Chacha20Poly1305 => Cipher::Chacha20Poly1305,
            CipherName::Aes256Gcm => Cipher::Aes256Gcm,
        },
        paced: !args.unpaced,
        realtime: !args.no_realtime,
    };
    airpace_net::netns::acquire_rights()?;
    let report = datapath(&plan)?;
    if args.json {
        output::json(&report)?
    } else {
        output::text(&describe(&report))?
    }
    Ok(ExitCode::SUCCESS)
}

fn run_emulator(args: &Emulator) -> anyhow::Result<ExitCode> {
    for &mcs in &args.mcs {
        vht80(mcs).map_err(bad_input)?;
    }
    let scenario = Saturation {
        mcs: args.mcs.clone(),
        payload: 1_470,
        ap_buffer_packets: 2_500,
        seed: args.seed,
        ramp: Duration::from_secs(1),
        measure: span(args.seconds)?,
    };
    airpace_net::netns::acquire_rights()?;
    let (comparison, interrupted) = with_signals(|stop| compare(&scenario, stop))?;
    if interrupted {
        return Err(Interrupted.into());
    }
    let comparison = comparison?;
    if args.json {
        output::json(&comparison)?
    } else {
        output::text(&describe_comparison(&comparison))?
    }
    Ok(ExitCode::SUCCESS)
}

fn describe_comparison(comparison: &EmulatorComparison) -> String {
    let mut table = Table::new(["", "goodput Mbit/s", "level"]);
    let mut row =
        |name: &str, goodput: String, level: String| table.row([name.to_owned(), goodput, level]);
    for (name, figures) in [
        ("emulated", &comparison.emulated),
        ("virtual time", &comparison.simulated),
    ] {
        row(
            name,
            format!("{:.2}", figures.goodput_mbps),
            format!("{:.3}", figures.level),
        );
    }
    let percent = |difference: f64| format!("{:+.2}", 100.0 * difference);
    row(
        "difference %",
        percent(comparison.goodput_difference),
        percent(comparison.level_difference),
    );
    let verdict = if comparison.trusted {
        "kept up"
    } else {
        "too slow: do not trust these figures"
    };
    format!(
        "{table}\nlag p99 {:.3} ms: {verdict}\n",
        comparison.lag_p99_ms
    )
}

fn run_tcp(args: &Tcp) -> anyhow::Result<ExitCode> {
    let mut downloads = Vec::new();
    for name in &args.algorithms {
        // The kernel does not have Prague.
        let known = name.parse().ok();
        let Some(algorithm) = known.filter(|&known| known != Algorithm::Prague) else {
            return Err(bad_input(format!(
                "--algorithms: there is no {name:?}; give cubic, reno or bbr"
            )));
        };
        for &delay_ms in &args.delays_ms {
            let wired_delay = Duration::try_from_secs_f64(delay_ms / 1e3).map_err(bad_input)?;
            let measure = span(args.seconds)?;
            downloads.push(Download {
                algorithm,
                wired_delay,
                ramp: measure / 2,
                measure,
                whole_periods: false,
                seed: args.seed,
            });
        }
    }
    airpace_net::netns::acquire_rights()?;
    let (comparisons, interrupted) = with_signals(|stop| {
        downloads
            .iter()
            .map(|download| tcp::compare(download, stop))
            .collect::<Vec<_>>()
    })?;
    if interrupted {
        return Err(Interrupted.into());
    }
    let comparisons = comparisons
        .into_iter()
        .collect::<anyhow::Result<Vec<_>>>()?;
    if args.json {
        output::json(&comparisons)?
    } else {
        output::text(&describe_tcp(&comparisons))?
    }
    Ok(ExitCode::SUCCESS)
}

fn describe_tcp(comparisons: &[TcpComparison]) -> String {
    let mut table = Table::new([
        "",
        "wire ms",
        "kernel Mbit/s",
        "simulated",
        "difference %",
        "kernel RTT ms",
        "simulated",
        "difference %",
        "lag p99 ms",
    ]);
    for row in comparisons {
        table.row([
            row.algorithm.to_owned(),
            format!("{}", row.wired_delay_ms),
            format!("{:.1}", row.kernel.goodput_mbps),
            format!("{:.1}", row.simulated.goodput_mbps),
            format!("{:+.1}", 100.0 * row.goodput_difference),
            format!("{:.1}", row.kernel.rtt_ms),
            format!("{:.1}", row.simulated.rtt_ms),
            format!("{:+.1}", 100.0 * row.rtt_difference),
            format!(
                "{:.2}{}",
                row.lag_p99_ms,
                if row.trusted {
                    ""
                } else {
                    " (too slow: do not trust)"
                }
            ),
        ]);
    }
    format!("{table}")
}

/// The duration of a measurement.
fn span(seconds: f64) -> anyhow::Result<Duration> {
    // A tenth of a second holds too few frames to measure anything.
    let accepted = Duration::from_millis(100)..=Duration::from_secs(3_600);
    match Duration::try_from_secs_f64(seconds) {
        Ok(span) if accepted.contains(&span) => Ok(span),
        _ => Err(bad_input("--seconds: give 0.1 to 3600")),
    }
}

fn describe(report: &DatapathReport) -> String {
    let mut rates = Table::new(["saturated", "packets/s", "Gbit/s", "loss %"]);
    let mut row = |name: &str, t: &Throughput| {
        let loss = format!("{:.3}", 100.0 * t.loss);
        rates.row([
            name.to_owned(),
            format!("{:.0}", t.packets_per_s),
            format!("{:.3}", t.gbps),
            loss,
        ]);
    };
    row("proxy and agent", &report.saturated);
    row("bare link", &report.saturated_bare);
    let mut delays = Table::new([
        "Mbit/s",
        "loss %",
        "p50 µs",
        "p99 µs",
        "bare p50",
        "bare p99",
        "added p50",
        "added p99",
    ]);
    for load in &report.loads {
        let us = |value: f64| format!("{value:.1}");
        delays.row([
            us(load.offered_mbps),
            format!("{:.3}", 100.0 * load.throughput.loss),
            us(load.tunnel_p50_us),
            us(load.tunnel_p99_us),
            us(load.bare_p50_us),
            us(load.bare_p99_us),
            us(load.added_p50_us),
            us(load.added_p99_us),
        ]);
    }
    format!(
        "packets of {} bytes\n\n{rates}\n{delays}",
        report.packet_bytes
    )
}
