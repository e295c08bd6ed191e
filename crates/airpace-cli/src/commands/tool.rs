//! `airpace tool`: the traffic tools by hand, inside `airpace emulate` or anywhere.

mod verdict;

use crate::args::positive;
use crate::failure::{Interrupted, bad_input};
use crate::output;
use airpace_config::quantity::Span;
use airpace_lab::interrupt::with_signals;
use airpace_lab::stats::Samples;
use airpace_lab::tool::bulk::{self, Receiver, SendConfig};
use airpace_lab::tool::cbr::{self, CbrConfig};
use airpace_lab::tool::ping::{self, Ping, PingConfig};
use airpace_lab::tool::responsiveness::{self, Settings};
use airpace_lab::tool::{Bins, Stop};
use anyhow::Context as _;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const EXAMPLES: &str =
    "Servers run until Ctrl-C or SIGTERM and then print what they received. All tools print JSON, with or
without --json; responsiveness alone prints text without it.

Examples:
  airpace emulate --mcs 9        a shell behind an access point; in it:
  nsenter --net=$AIRPACE_NS_STA0 airpace tool receive 10.77.0.10:5001 &
  nsenter --net=$AIRPACE_NS_STA0 airpace tool echo 10.77.0.10:7 &
  nsenter --net=$AIRPACE_NS_SERVER airpace tool send 10.77.0.10:5001 --congestion bbr --for '10 s' &
  nsenter --net=$AIRPACE_NS_SERVER airpace tool ping 10.77.0.10:7 --for '10 s'

Responsiveness under load, as RPM and QoO (docs/responsiveness.md); the client downloads:
  airpace tool responsiveness-server 10.77.0.1:5201
  airpace tool responsiveness 10.77.0.1:5201           the verdict first, then the figures
  airpace tool responsiveness 10.77.0.1:5201 --json    with every interval, for programs
  airpace tool responsiveness 10.77.0.1:5201 --flent run.flent.gz && flent -i run.flent.gz -p totals";

/// Traffic by hand: bulk TCP, ping over UDP, constant-rate UDP, responsiveness under load.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Tool {
    #[command(subcommand)]
    what: What,
    /// Print JSON, as all tools but responsiveness do in any case.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum What {
    /// Receive bulk TCP and measure its goodput.
    Receive(Server),
    /// Send bulk TCP.
    Send(Send),
    /// Answer pings.
    Echo(Server),
    /// Ping an echo server over UDP.
    Ping(PingArgs),
    /// Receive constant-rate UDP and count losses.
    UdpReceive(Server),
    /// Send constant-rate UDP.
    UdpSend(UdpSend),
    /// Answer measurements of responsiveness.
    ResponsivenessServer(Server),
    /// Measure responsiveness under load: round trips per minute, Quality of Outcome.
    Responsiveness(ResponsivenessArgs),
}

#[derive(Args)]
struct Server {
    /// Address and port to listen on.
    at: SocketAddr,
}

#[derive(Args)]
struct Send {
    /// The receiver.
    to: SocketAddr,
    /// Duration.
    #[arg(long = "for", default_value = "10 s")]
    span: Span,
    /// Parallel flows.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    flows: u16,
    /// Congestion control of the kernel: cubic, bbr, reno, ... [default: the system's].
    #[arg(long)]
    congestion: Option<String>,
}

#[derive(Args)]
struct PingArgs {
    /// The echo server.
    to: SocketAddr,
    /// Duration.
    #[arg(long = "for", default_value = "10 s")]
    span: Span,
    /// Time between pings.
    #[arg(long, default_value = "20 ms")]
    interval: Span,
}

#[derive(Args)]
struct ResponsivenessArgs {
    /// The server.
    to: SocketAddr,
    /// Longest duration, if figures are not stable before.
    #[arg(long = "for", default_value = "20 s")]
    span: Span,
    /// Most parallel connections that carry load.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=256))]
    connections: u16,
    /// Probes of each kind per second.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=100))]
    probes: u16,
    /// File for Flent, in its own format (NAME.flent.gz); an existing one is replaced.
    #[arg(long, value_name = "FILE")]
    flent: Option<PathBuf>,
    /// Title of the measurement in that file.
    #[arg(long, default_value = "airpace", requires = "flent")]
    title: String,
}

/// What a tool prints.
enum Printed {
    Json(Value),
    Text(String),
}

#[derive(Args)]
struct UdpSend {
    /// The receiver.
    to: SocketAddr,
    /// Duration.
    #[arg(long = "for", default_value = "10 s")]
    span: Span,
    /// Payload per second in Mbit/s.
    #[arg(long, value_parser = positive)]
    mbps: f64,
    /// Payload of a datagram in bytes.
    #[arg(long, default_value_t = 1470, value_parser = clap::value_parser!(u16).range(16..=65_507))]
    payload: u16,
}

/// How long a sender tries to reach its receiver, and a pinger waits for the last answers.
const PATIENCE: Duration = Duration::from_secs(2);

pub(crate) fn run(args: &Tool) -> anyhow::Result<ExitCode> {
    let serves = matches!(
        args.what,
        What::Receive(_) | What::Echo(_) | What::UdpReceive(_) | What::ResponsivenessServer(_)
    );
    let (result, stopped) = with_signals(|stop| match &args.what {
        What::Responsiveness(of) if !args.json => {
            measured(of, stop).map(|report| Printed::Text(verdict::text(&report)))
        }
        what => run_tool(what, stop).map(Printed::Json),
    })?;
    match result? {
        Printed::Json(value) => output::json(&value)?,
        Printed::Text(text) => output::text(&text)?,
    }
    // Servers always run until a signal. Anything else that a signal ended is incomplete.
    if stopped && !serves {
        Err(Interrupted.into())
    } else {
        Ok(ExitCode::SUCCESS)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the tool's clock starts when the tool does"
)]
fn run_tool(what: &What, stop: &Stop) -> anyhow::Result<Value> {
    let start = Instant::now();
    match what {
        What::Receive(server) => Ok(goodput_report(
            &Receiver::bind(server.at)?.run(start, stop)?,
        )),
        What::Send(args) => send(args, stop),
        What::Echo(server) => {
            let socket = UdpSocket::bind(server.at)
                .with_context(|| format!("listening on {}", server.at))?;
            Ok(json!({ "answered": ping::echo(&socket, stop)? }))
        }
        What::Ping(args) => {
            if args.interval.0.is_zero() {
                return Err(bad_input("--interval: give more than 0"));
            }
            let (to, interval, duration) = (args.to, args.interval.0, args.span.0);
            let config = PingConfig {
                to,
                interval,
                duration,
                patience: PATIENCE,
            };
            Ok(ping_report(&ping::ping(&config, start, stop)?))
        }
        What::UdpReceive(server) => {
            let report = cbr::receive(&cbr::listen(server.at)?, start, stop)?;
            let mut value = goodput_report(&report.bins);
            value["datagrams"] = json!(report.received);
            value["late"] = json!(report.late);
            value["loss"] = json!(report.loss());
            Ok(value)
        }
        What::ResponsivenessServer(server) => {
            let listener = TcpListener::bind(server.at)
                .with_context(|| format!("listening on {}", server.at))?;
            Ok(serde_json::to_value(responsiveness::serve(
                &listener, stop,
            )?)?)
        }
        What::Responsiveness(args) => Ok(serde_json::to_value(measured(args, stop)?)?),
        What::UdpSend(args) => {
            let config = CbrConfig {
                to: args.to,
                payload: args.payload.into(),
                rate_bps: args.mbps * 1e6,
                duration: args.span.0,
            };
            Ok(json!({ "datagrams": cbr::generate(&config, stop)? }))
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the file says when the measurement began"
)]
fn measured(args: &ResponsivenessArgs, stop: &Stop) -> anyhow::Result<responsiveness::Report> {
    if args.span.0.is_zero() {
        return Err(bad_input("--for: give more than 0"));
    }
    if let Some(file) = &args.flent
        && !file.to_string_lossy().ends_with(".flent.gz")
    {
        return Err(bad_input(
            "--flent: Flent reads files called NAME.flent.gz alone",
        ));
    }
    let settings = Settings {
        limit: args.span.0,
        most_connections: args.connections.into(),
        probes_per_second: args.probes.into(),
        ..Settings::new(args.to)
    };
    let began = SystemTime::now().duration_since(UNIX_EPOCH);
    let report = responsiveness::measure(&settings, stop)?;
    if let Some(file) = &args.flent {
        let unix_s = began.unwrap_or_default().as_secs();
        let data = responsiveness::flent::data_file(&report, unix_s, &args.title);
        std::fs::write(file, data).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(report)
}

fn send(args: &Send, stop: &Stop) -> anyhow::Result<Value> {
    let config = SendConfig {
        to: args.to,
        flows: args.flows,
        congestion: args.congestion.clone(),
        duration: args.span.0,
        patience: PATIENCE,
    };
    Ok(json!({ "flows": bulk::send(&config, stop)? }))
}

/// Bytes over time, and the rate between the first and the last bin in which any were received.
fn goodput_report(bins: &Bins) -> Value {
    let bytes = bins.bytes();
    let first = bytes.iter().position(|&b| b > 0).unwrap_or(0);
    let last = bytes
        .iter()
        .rposition(|&b| b > 0)
        .map_or(first, |last| last + 1);
    let bins_per_second = 1.0 / airpace_lab::tool::BIN.as_secs_f64();
    let seconds = (last - first) as f64 / bins_per_second;
    let mbps = if last > first {
        bins.total() as f64 * 8e-6 / seconds
    } else {
        0.0
    };
    json!({
        "bytes": bins.total(),
        "seconds": seconds,
        "goodput_mbps": mbps,
        "bytes_per_100_ms": &bytes[first..last],
    })
}

fn ping_report(pings: &[Ping]) -> Value {
    let answered: Samples = pings.iter().filter_map(|ping| ping.rtt_ms).collect();
    let lost = pings.iter().filter(|ping| ping.rtt_ms.is_none()).count();
    json!({ "sent": pings.len(), "lost": lost, "ping_ms": answered.quantiles() })
}
