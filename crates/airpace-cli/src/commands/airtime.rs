//! `airpace airtime`: what a frame costs on the air.

use crate::failure::bad_input;
use crate::output::{self, Table};
use airpace_core::phy;
use clap::{Args, ValueEnum};
use serde::Serialize;
use std::process::ExitCode;
use std::time::Duration;

const EXAMPLES: &str = "Examples:
  airpace airtime --standard vht --width 80 --nss 1 --mcs 9 --gi 800 --mpdus 32 --payload 1470
  airpace airtime --standard ht --width 20 --nss 2 --mcs 15 --gi 400 --mpdus 42 --json";

/// IPv4 and UDP headers between the payload and the MSDU.
const IP_UDP_BYTES: u32 = 28;

/// What a frame costs on the air: its duration and what it consists of.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Airtime {
    /// Generation of the PHY.
    #[arg(long, value_enum, default_value = "vht")]
    standard: Standard,
    /// Channel width in MHz: 20, 40, 80 or 160.
    #[arg(long, default_value = "80", value_parser = width)]
    width: phy::Width,
    /// Spatial streams.
    #[arg(long, default_value_t = 1)]
    nss: u8,
    /// MCS index; for HT 0 to 31, which fixes the streams.
    #[arg(long)]
    mcs: u8,
    /// Guard interval in ns: 400, 800, 1600 or 3200.
    #[arg(long, default_value = "800", value_parser = guard_interval)]
    gi: phy::GuardInterval,
    /// MPDUs in the frame, one packet in each.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    mpdus: u32,
    /// UDP payload of each packet in bytes.
    #[arg(long, default_value_t = 1470, value_parser = clap::value_parser!(u32).range(1..=11_000))]
    payload: u32,
    /// Whose conventions: the standard's, or ns-3's (no VHT-SIG-B, short guard interval not padded to 4 µs).
    #[arg(long, value_enum, default_value = "standard")]
    timing: Timing,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
enum Standard {
    /// 802.11n.
    Ht,
    /// 802.11ac.
    Vht,
    /// 802.11ax, single user.
    He,
}

#[derive(Clone, Copy, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
enum Timing {
    Standard,
    Ns3,
}

/// What is printed; durations in µs.
#[derive(Serialize)]
struct Frame {
    standard: Standard,
    width_mhz: u32,
    nss: u8,
    mcs: u8,
    gi_ns: u32,
    timing: Timing,
    phy_rate_mbps: f64,
    mpdus: u32,
    payload_bytes: u32,
    mpdu_bytes: u32,
    subframe_bytes: u32,
    psdu_bytes: u32,
    bits_per_symbol: u32,
    symbol_us: f64,
    symbols: u32,
    preamble_us: f64,
    data_us: f64,
    ppdu_us: f64,
    sifs_us: f64,
    response: &'static str,
    response_rate_mbps: u32,
    response_us: f64,
    aifs_us: f64,
    mean_backoff_us: f64,
    cycle_us: f64,
    goodput_mbps: f64,
}

pub(crate) fn run(args: &Airtime) -> anyhow::Result<ExitCode> {
    let rate = phy::TxRate::new(args.standard.into(), args.width, args.nss, args.mcs, args.gi).map_err(refusal)?;
    let frame = compose(args, rate)?;
    if args.json {
        output::json(&frame)?
    } else {
        output::text(&describe(&frame))?
    }
    Ok(ExitCode::SUCCESS)
}

/// The reason for a refusal, with what to do where the reason does not tell.
fn refusal(error: phy::RateError) -> anyhow::Error {
    let excluded = matches!(error, phy::RateError::FractionalBits { .. } | phy::RateError::UnevenEncoders { .. });
    bad_input(if excluded { format!("{error}; choose another --mcs, --nss or --width") } else { error.to_string() })
}

/// Puts the frame together, if it is within the limits of an A-MPDU.
fn compose(args: &Airtime, rate: phy::TxRate) -> anyhow::Result<Frame> {
    let timing = args.timing.into();
    let mpdu = phy::mpdu_bytes(args.payload + IP_UDP_BYTES);
    let psdu = phy::psdu_bytes(rate.standard(), args.mpdus, mpdu);
    let ppdu = rate.ppdu_duration(psdu, timing);
    check_limits(args, rate, psdu, ppdu)?;
    let preamble = rate.preamble(timing);
    let (response, bytes) = if args.mpdus == 1 { ("ack", phy::ACK_BYTES) } else { ("block-ack", phy::BLOCK_ACK_BYTES) };
    let legacy = phy::control_rate(rate);
    let edca = phy::Edca::of(phy::AccessCategory::BestEffort);
    let cycle = edca.aifs() + edca.mean_backoff() + ppdu + phy::SIFS + legacy.duration(bytes);
    Ok(Frame {
        standard: args.standard,
        width_mhz: rate.width().mhz(),
        nss: rate.nss(),
        mcs: rate.mcs(),
        gi_ns: rate.gi().nanos(),
        timing: args.timing,
        phy_rate_mbps: rate.rate().bps() as f64 / 1e6,
        mpdus: args.mpdus,
        payload_bytes: args.payload,
        mpdu_bytes: mpdu,
        subframe_bytes: phy::subframe_bytes(mpdu),
        psdu_bytes: psdu,
        bits_per_symbol: rate.bits_per_symbol(),
        symbol_us: us(rate.symbol()),
        symbols: rate.symbols(psdu, timing),
        preamble_us: us(preamble),
        data_us: us(ppdu - preamble),
        ppdu_us: us(ppdu),
        sifs_us: us(phy::SIFS),
        response,
        response_rate_mbps: legacy.mbps(),
        response_us: us(legacy.duration(bytes)),
        aifs_us: us(edca.aifs()),
        mean_backoff_us: us(edca.mean_backoff()),
        cycle_us: us(cycle),
        goodput_mbps: f64::from(args.mpdus) * f64::from(args.payload) * 8.0 / us(cycle),
    })
}

fn check_limits(args: &Airtime, rate: phy::TxRate, psdu: u32, ppdu: Duration) -> anyhow::Result<()> {
    let limits = phy::AmpduLimits::of(rate.standard());
    let fault = if args.mpdus > u32::from(limits.window) {
        format!("{} MPDUs are more than the block-ack window of {}", args.mpdus, limits.window)
    } else if psdu > limits.bytes {
        format!("{psdu} bytes are more than the {} that an A-MPDU may have", limits.bytes)
    } else if ppdu > limits.duration {
        format!("{} µs are longer than the {} µs that a PPDU may last", us(ppdu), us(limits.duration))
    } else {
        return Ok(());
    };
    Err(bad_input(format!("--mpdus {}: {fault}; give fewer", args.mpdus)))
}

fn describe(frame: &Frame) -> String {
    let mut table = Table::new(["part", "µs", "what"]);
    let mut row = |part: &str, us: f64, what: String| table.row([part.to_owned(), format!("{us:.1}"), what]);
    row("AIFS", frame.aifs_us, String::new());
    row("mean back-off", frame.mean_backoff_us, String::new());
    row("preamble", frame.preamble_us, String::new());
    let symbols = format!("{} symbols of {} µs, {} bits each", frame.symbols, frame.symbol_us, frame.bits_per_symbol);
    row("data", frame.data_us, format!("{} bytes in {symbols}", frame.psdu_bytes));
    row("SIFS", frame.sifs_us, String::new());
    row(frame.response, frame.response_us, format!("{} Mbit/s", frame.response_rate_mbps));
    row("whole cycle", frame.cycle_us, format!("{:.1} Mbit/s of payload", frame.goodput_mbps));
    format!("PPDU {:.1} µs: {} MPDUs at {:.1} Mbit/s\n\n{table}", frame.ppdu_us, frame.mpdus, frame.phy_rate_mbps)
}

fn us(span: Duration) -> f64 {
    span.as_nanos() as f64 / 1e3
}

fn width(text: &str) -> Result<phy::Width, String> {
    match text {
        "20" => Ok(phy::Width::Mhz20),
        "40" => Ok(phy::Width::Mhz40),
        "80" => Ok(phy::Width::Mhz80),
        "160" => Ok(phy::Width::Mhz160),
        _ => Err("give 20, 40, 80 or 160".into()),
    }
}

fn guard_interval(text: &str) -> Result<phy::GuardInterval, String> {
    match text {
        "400" => Ok(phy::GuardInterval::Ns400),
        "800" => Ok(phy::GuardInterval::Ns800),
        "1600" => Ok(phy::GuardInterval::Ns1600),
        "3200" => Ok(phy::GuardInterval::Ns3200),
        _ => Err("give 400, 800, 1600 or 3200".into()),
    }
}

impl From<Standard> for phy::Standard {
    fn from(standard: Standard) -> Self {
        match standard {
            Standard::Ht => Self::Ht,
            Standard::Vht => Self::Vht,
            Standard::He => Self::He,
        }
    }
}

impl From<Timing> for phy::Timing {
    fn from(timing: Timing) -> Self {
        match timing {
            Timing::Standard => Self::Standard,
            Timing::Ns3 => Self::Ns3,
        }
    }
}
