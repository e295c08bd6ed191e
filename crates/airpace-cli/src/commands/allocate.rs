//! `airpace allocate`: the proportional fair allocation.

use crate::args::{not_negative, one_or_more, per_station, positive};
use crate::failure::bad_input;
use crate::output::{self, Table};
use airpace_core::alloc::{self, Problem, Reading, Solution, Station, Utility};
use clap::{Args, ValueEnum};
use serde::Serialize;
use std::process::ExitCode;

const EXAMPLES: &str = "Examples:
  airpace allocate --rates-mbps 58.5,175.5 --overhead-us 214 --packet-bits 12000 --level-limit 32
  airpace allocate --rates-mbps 58.5,175.5,390 --level-limit 48 --delay-ms 5 --weights 1,1,2 --json
  airpace allocate --rates-mbps 58.5,175.5,390 --level-limit 48 --price 0.25";

/// Compute the rates that share the air fairly: the largest sum of log rates within the level and
/// delay limits, less the price of a long round.
#[derive(Args)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub(crate) struct Allocate {
    /// PHY rate of each station in Mbit/s.
    #[arg(long, required = true, value_delimiter = ',', value_parser = positive)]
    rates_mbps: Vec<f64>,
    /// Overhead of one frame to a station in µs (access, preamble, SIFS, response): one value for
    /// all, or one each.
    #[arg(long, default_value = "214", value_delimiter = ',', value_parser = positive)]
    overhead_us: Vec<f64>,
    /// Payload of a packet on the air in bits.
    #[arg(long, default_value = "12000", value_parser = positive)]
    packet_bits: f64,
    /// Overhead of one MPDU in bits (delimiter, header, FCS, padding).
    #[arg(long, default_value = "0", value_parser = not_negative)]
    mpdu_overhead_bits: f64,
    /// Most packets in a frame on average (N̄): one value for all, or one each.
    #[arg(long, default_value = "32", value_delimiter = ',', value_parser = one_or_more)]
    level_limit: Vec<f64>,
    /// Longest mean time between frames to a station in ms (T̄).
    #[arg(long, value_parser = positive)]
    delay_ms: Option<f64>,
    /// Price of delay (κ), 0 to 1000: a round longer by one per cent costs as much as κ per cent of
    /// every station's rate. Where no limit binds, packets take 1 / (1 + κ) of the time.
    #[arg(long, default_value = "0", value_parser = not_negative)]
    price: f64,
    /// Weight of each station.
    #[arg(long, default_value = "1", value_delimiter = ',', value_parser = positive)]
    weights: Vec<f64>,
    /// How the problem is solved.
    #[arg(long, value_enum, default_value = "waterfill")]
    method: Method,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Method {
    /// The closed form.
    Waterfill,
    /// A conic solver; it finds the same optimum.
    Conic,
    /// Theorem 1 of paper 000 with the fastest station at its limit: feasible, not optimal.
    Theorem1Min,
    /// Theorem 1 as printed, with the slowest station at its limit: exceeds the others' limits.
    Theorem1Max,
}

/// What is printed; lists are in the order in which the stations were given.
#[derive(Serialize)]
struct Allocation {
    method: Method,
    level: Vec<f64>,
    rate_pps: Vec<f64>,
    goodput_mbps: Vec<f64>,
    round_ms: f64,
    /// Price of delay (κ).
    price: f64,
    /// Σ φ log x, with x in packets per second.
    utility: f64,
    /// What is maximised: the utility less κ Φ log D, with D in seconds.
    objective: f64,
    /// Whether all limits hold; false only for Theorem 1.
    feasible: bool,
    /// The first limit that does not hold.
    violation: Option<String>,
}

/// Relative excess over a limit that counts as rounding; more than the conic solver's tolerance.
const ROUNDING: f64 = 1e-6;

pub(crate) fn run(args: &Allocate) -> anyhow::Result<ExitCode> {
    let problem = problem(args)?;
    let solution = solve(&problem, args.method)?;
    let violation = problem
        .check_rates(&solution.rate_pps, ROUNDING)
        .err()
        .map(|v| v.to_string());
    let allocation = Allocation {
        method: args.method,
        price: args.price,
        objective: problem.objective(&solution),
        goodput_mbps: solution
            .rate_pps
            .iter()
            .map(|rate| rate * args.packet_bits / 1e6)
            .collect(),
        level: solution.level,
        rate_pps: solution.rate_pps,
        round_ms: solution.round_s * 1e3,
        utility: solution.utility,
        feasible: violation.is_none(),
        violation,
    };
    if args.json {
        output::json(&allocation)?
    } else {
        output::text(&describe(args, &allocation))?
    }
    Ok(ExitCode::SUCCESS)
}

fn problem(args: &Allocate) -> anyhow::Result<Problem> {
    let n = args.rates_mbps.len();
    let overhead = per_station("--overhead-us", &args.overhead_us, n)?;
    let limit = per_station("--level-limit", &args.level_limit, n)?;
    let weight = per_station("--weights", &args.weights, n)?;
    let bits = args.packet_bits + args.mpdu_overhead_bits;
    let mut stations = Vec::with_capacity(n);
    for i in 0..n {
        stations.push(Station {
            seconds_per_packet: bits / (args.rates_mbps[i] * 1e6),
            overhead_s: overhead[i] * 1e-6,
            level_limit: limit[i],
            weight: weight[i],
        });
    }
    let delay_s = args.delay_ms.map(|ms| ms * 1e-3);
    Problem::new(stations, delay_s)
        .and_then(|problem| problem.with_price(args.price))
        .map_err(bad_input)
}

fn solve(problem: &Problem, method: Method) -> anyhow::Result<Solution> {
    // Theorem 1 ignores the delay target, but a target that no allocation can meet is a mistake
    // with any method.
    problem.check_delay().map_err(bad_input)?;
    // Without the price that was asked for, its rates would answer another question.
    let is_theorem1 = matches!(method, Method::Theorem1Min | Method::Theorem1Max);
    if is_theorem1 && problem.delay().price > 0.0 {
        return Err(bad_input(
            "Theorem 1 has no price of delay: leave out --price, or take --method waterfill or conic",
        ));
    }
    match method {
        Method::Waterfill => alloc::waterfill(problem).map_err(bad_input),
        Method::Conic => alloc::conic(problem, &Utility::AlphaFair(1.0)).map_err(bad_input),
        Method::Theorem1Min => Ok(alloc::theorem1(problem, Reading::FastestAtLimit)),
        Method::Theorem1Max => Ok(alloc::theorem1(problem, Reading::SlowestAtLimit)),
    }
}

fn describe(args: &Allocate, allocation: &Allocation) -> String {
    let mut table = Table::new([
        "station",
        "PHY Mbit/s",
        "level",
        "packets/s",
        "goodput Mbit/s",
    ]);
    for (i, level) in allocation.level.iter().enumerate() {
        table.row([
            (i + 1).to_string(),
            args.rates_mbps[i].to_string(),
            format!("{level:.4}"),
            format!("{:.1}", allocation.rate_pps[i]),
            format!("{:.2}", allocation.goodput_mbps[i]),
        ]);
    }
    let total: f64 = allocation.goodput_mbps.iter().sum();
    let warning = allocation
        .violation
        .as_ref()
        .map_or(String::new(), |v| format!("not feasible: {v}\n"));
    // Without a price the objective is the utility.
    let objective = if allocation.price > 0.0 {
        format!(
            ", objective {:.6} at price {}",
            allocation.objective, allocation.price
        )
    } else {
        String::new()
    };
    format!(
        "{table}\nround {:.4} ms, total {total:.2} Mbit/s, utility {:.6}{objective}\n{warning}",
        allocation.round_ms, allocation.utility
    )
}
