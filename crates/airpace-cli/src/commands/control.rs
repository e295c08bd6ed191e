//! `airpace control`: the controllers behind a pipe.

use crate::args::{one_or_more, positive};
use crate::failure::bad_input;
use airpace_core::control::{Goal, Law};
use airpace_papers::control::{ControlConfig, ControlError, serve};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::process::ExitCode;
use std::time::Duration;

const AFTER: &str = r#"Each line of input is a slot that has ended. Each line of output has the rates from then on:

  {"time_us":100000,"reports":[{"station":0,"length_us":100000,"frames":140,"packets":4480,"bytes":6711040,
   "first_us":812,"last_us":99640,"inverse_rate_sum":3.6e-7,"sent_packets":4490,"sent_bytes":6726020}]}
  {"allocations":[{"station":0,"rate_pps":44900.0,"rate_bytes_per_s":67260200.0,"level":32.0}],"ignored_reports":0}

(each on a single line). frames, packets: data frames with packets that had not been sent before, and those packets; bytes: all
packets received, with IP header; first_us, last_us: ends of the first and the last of the frames; inverse_rate_sum: sum over the
frames of 1/PHY rate in s/bit. Optional: slot, mpdus, lost, late, backlogged, and beside reports: left, a list of stations to
forget. Only station and length_us are required. A line that cannot be used ends the program with exit code 2.

Examples:
  airpace control --law waterfill --level 32 --delay-ms 5
  airpace control --law linear-pf --level 32 --initial-mbps 50 < slots.jsonl"#;

/// Use the controllers from any simulator or test bed: reads the reports of each slot as a line of
/// JSON and answers with the rates.
#[derive(Args)]
#[command(after_help = AFTER)]
pub(crate) struct Control {
    /// The law.
    #[arg(long, default_value = "waterfill", value_parser = law())]
    law: Law,
    /// Limit of the mean packets per frame (N̄), and target of the linear laws.
    #[arg(long, default_value = "32", value_parser = level)]
    level: f64,
    /// Limit of the mean time between frames to a station in ms (T̄) [default: no limit].
    #[arg(long, value_parser = positive)]
    delay_ms: Option<f64>,
    /// Rate in Mbit/s of payload that the published laws start a station with [default: 1].
    #[arg(long, value_parser = positive)]
    initial_mbps: Option<f64>,
    /// Bytes of UDP payload in a packet.
    #[arg(long, default_value_t = 1_470, value_parser = clap::value_parser!(u32).range(1..=65_507))]
    payload_bytes: u32,
}

/// Most packets per frame that the laws take: far more than the 1024 that a block
/// acknowledgement of 802.11be covers.
const MAX_LEVEL: f64 = 4096.0;

fn level(text: &str) -> Result<f64, String> {
    let level = one_or_more(text)?;
    if level > MAX_LEVEL {
        return Err(format!("give a number between 1 and {MAX_LEVEL}"));
    }
    Ok(level)
}

fn law() -> impl TypedValueParser<Value = Law> {
    PossibleValuesParser::new(Law::NAMES)
        .map(|name| name.parse().expect("only names of laws pass the parser"))
}

pub(crate) fn run(args: &Control) -> anyhow::Result<ExitCode> {
    let delay = args
        .delay_ms
        .map(|ms| Duration::try_from_secs_f64(ms * 1e-3))
        .transpose();
    let delay = delay.map_err(|_| bad_input("--delay-ms is too large"))?;
    let config = ControlConfig {
        law: args.law,
        goal: Goal::papers(args.level, delay),
        initial_mbps: args.initial_mbps,
        payload_bytes: args.payload_bytes,
    };
    let mut law = config.build().map_err(bad_input)?;
    match serve(&mut *law, std::io::stdin().lock(), std::io::stdout().lock()) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(ControlError::Io(error)) => Err(error.into()),
        Err(error) => Err(bad_input(error)),
    }
}
