//! `airpace bench`: measurements of the real thing on this machine.

use crate::args::positive;
use crate::failure::bad_input;
use crate::output::{self, Table};
use airpace_api::config::Cipher;
use airpace_live::bench::{DatapathPlan, DatapathReport, Throughput, datapath};
use clap::{Args, Subcommand, ValueEnum};
use std::process::ExitCode;
use std::time::Duration;

const EXAMPLES: &str = "Examples:
  airpace bench datapath
  airpace bench datapath --packet-bytes 600 --cipher aes-256-gcm --json";

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
    /// How long each load lasts, in seconds.
    #[arg(long, default_value = "3", value_parser = positive)]
    seconds: f64,
    /// Cipher of the tunnel.
    #[arg(long, value_enum, default_value = "auto")]
    cipher: CipherName,
    /// Leave the pacer out.
    #[arg(long)]
    unpaced: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum CipherName {
    /// What suits the processor.
    Auto,
    #[value(name = "chacha20-poly1305")]
    Chacha20Poly1305,
    #[value(name = "aes-256-gcm")]
    Aes256Gcm,
}

pub(crate) fn run(args: &Bench) -> anyhow::Result<ExitCode> {
    match &args.what {
        What::Datapath(args) => run_datapath(args),
    }
}

fn run_datapath(args: &Datapath) -> anyhow::Result<ExitCode> {
    let span = Duration::try_from_secs_f64(args.seconds).ok().filter(|span| span.as_secs() <= 3_600);
    let plan = DatapathPlan {
        packet_bytes: args.packet_bytes as usize,
        loads_mbps: args.loads_mbps.clone(),
        span: span.ok_or_else(|| bad_input("--seconds: give at most 3600"))?,
        cipher: match args.cipher {
            CipherName::Auto => Cipher::Auto,
            CipherName::Chacha20Poly1305 => Cipher::Chacha20Poly1305,
            CipherName::Aes256Gcm => Cipher::Aes256Gcm,
        },
        paced: !args.unpaced,
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

fn describe(report: &DatapathReport) -> String {
    let mut rates = Table::new(["saturated", "packets/s", "Gbit/s", "loss %"]);
    let mut row = |name: &str, t: &Throughput| {
        let loss = format!("{:.3}", 100.0 * t.loss);
        rates.row([name.to_owned(), format!("{:.0}", t.packets_per_s), format!("{:.3}", t.gbps), loss]);
    };
    row("proxy and agent", &report.saturated);
    row("bare link", &report.saturated_bare);
    let mut delays =
        Table::new(["Mbit/s", "loss %", "p50 µs", "p99 µs", "bare p50", "bare p99", "added p50", "added p99"]);
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
    format!("packets of {} bytes\n\n{rates}\n{delays}", report.packet_bytes)
}
