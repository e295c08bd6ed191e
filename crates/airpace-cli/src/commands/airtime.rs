//! `airpace airtime`: what a frame costs on the air.

use crate::failure::bad_input;
use crate::output::{self, Table};
use crate::rate::{self, Band, Standard, Timing};
use airpace_core::phy;
use clap::Args;
use serde::Serialize;
use std::process::ExitCode;
use std::time::Duration;

const EXAMPLES: &str = "Examples:
  airpace airtime --standard vht --width 80 --nss 1 --mcs 9 --gi 800 --mpdus 32 --payload 1470
  airpace airtime --standard ht --width 20 --nss 2 --mcs 15 --gi 400 --mpdus 42 --json
  airpace airtime --rate dsss/1
  airpace airtime --rate ofdm/54 --band 2.4";

/// Show what a frame costs on the air: its duration and its parts.
#[derive(Args)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub(crate) struct Airtime {
    /// Generation of the PHY.
    #[arg(long, value_enum, default_value = "vht")]
    standard: Standard,
    /// Channel width in MHz: 20, 40, 80 or 160.
    #[arg(long, default_value = "80", value_parser = rate::width)]
    width: phy::Width,
    /// Spatial streams.
    #[arg(long, default_value_t = 1)]
    nss: u8,
    /// MCS index; for HT 0 to 31, which fixes the streams.
    #[arg(long, required_unless_present = "rate")]
    mcs: Option<u8>,
    /// Guard interval in ns: 400, 800, 1600 or 3200.
    #[arg(long, default_value = "800", value_parser = rate::guard_interval)]
    gi: phy::GuardInterval,
    /// A rate without an MCS: dsss/1, dsss/2, dsss/5.5, dsss/11 or ofdm/6 to ofdm/54.
    #[arg(long, conflicts_with_all = ["standard", "width", "nss", "mcs", "gi"])]
    rate: Option<phy::LegacyRate>,
    /// Send a DSSS rate with the short preamble.
    #[arg(long, requires = "rate")]
    short_preamble: bool,
    /// Band in GHz; by default 2.4 with long slots for DSSS, otherwise 5.
    #[arg(long, value_enum)]
    band: Option<Band>,
    /// MPDUs in the frame, one packet in each; at most the block-ack window.
    #[arg(long, default_value_t = 1)]
    mpdus: u32,
    /// UDP payload of each packet in bytes.
    #[arg(long, default_value_t = 1470)]
    payload: u32,
    /// Whose conventions durations follow: the standard's, or ns-3's (no VHT-SIG-B, short guard
    /// interval not padded to 4 µs).
    #[arg(long, value_enum, default_value = "standard")]
    timing: Timing,
    /// Print JSON.
    #[arg(long)]
    json: bool,
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
    ppdu_us: f64,
    preamble_us: f64,
    preamble: Vec<Field>,
    data_us: f64,
    symbols: u32,
    symbol_us: f64,
    symbol_padding_us: f64,
    bits_per_symbol: u32,
    psdu_bytes: u32,
    mpdu_bytes: u32,
    subframe_bytes: u32,
    mpdu: Mpdu,
    aifs_us: f64,
    mean_backoff_us: f64,
    signal_extension_us: f64,
    sifs_us: f64,
    response: &'static str,
    response_bytes: u32,
    response_rate_mbps: f64,
    response_us: f64,
    cycle_us: f64,
    goodput_mbps: f64,
    efficiency: f64,
}

/// A field of the preamble, or several equal fields in a row.
#[derive(Serialize)]
struct Field {
    field: &'static str,
    count: u8,
    us: f64,
}

/// Bytes of one MPDU and its subframe.
#[derive(Serialize)]
struct Mpdu {
    payload: u32,
    ip_udp: u32,
    llc: u32,
    header: u32,
    fcs: u32,
    delimiter: u32,
    padding: u32,
}

pub(crate) fn run(args: &Airtime) -> anyhow::Result<ExitCode> {
    let rate = data_rate(args)?;
    let breakdown = phy::Breakdown::on(
        medium(args, rate),
        rate,
        args.mpdus,
        args.payload,
        phy::AccessCategory::BestEffort,
        args.timing.into(),
    )
    .map_err(bad_input)?;
    let frame = frame(args, &breakdown);
    if args.json {
        output::json(&frame)?
    } else {
        output::text(&describe(&frame))?
    }
    Ok(ExitCode::SUCCESS)
}

fn data_rate(args: &Airtime) -> anyhow::Result<phy::TxRate> {
    match (args.rate, args.mcs) {
        (Some(legacy), _) if args.short_preamble => phy::TxRate::legacy(legacy)
            .with_short_preamble()
            .map_err(bad_input),
        (Some(legacy), _) => Ok(phy::TxRate::legacy(legacy)),
        (None, mcs) => rate::checked(
            args.standard,
            args.width,
            args.nss,
            mcs.unwrap_or(0),
            args.gi,
        ),
    }
}

fn medium(args: &Airtime, rate: phy::TxRate) -> phy::Medium {
    let home = phy::Medium::of(rate.standard());
    args.band.map_or(home, |band| phy::Medium {
        band: band.into(),
        ..home
    })
}

fn frame(args: &Airtime, breakdown: &phy::Breakdown) -> Frame {
    let phy::Breakdown {
        rate,
        mpdu,
        response,
        ..
    } = breakdown;
    let preamble = rate.preamble(args.timing.into());
    let field = |f: &phy::PreambleField| Field {
        field: f.name,
        count: f.count,
        us: us(f.duration),
    };
    let phy::MpduBytes {
        payload,
        ip_udp,
        llc,
        header,
        fcs,
        delimiter,
        padding,
    } = *mpdu;
    Frame {
        standard: rate.standard().into(),
        width_mhz: rate.width().mhz(),
        nss: rate.nss(),
        mcs: rate.mcs(),
        gi_ns: rate.gi().nanos(),
        timing: args.timing,
        phy_rate_mbps: rate.rate().as_mbps_f64(),
        mpdus: breakdown.mpdus,
        payload_bytes: payload,
        ppdu_us: us(breakdown.ppdu),
        preamble_us: us(preamble),
        preamble: breakdown.preamble.iter().map(field).collect(),
        data_us: us(breakdown.ppdu - preamble),
        symbols: breakdown.symbols,
        symbol_us: us(rate.symbol()),
        symbol_padding_us: us(breakdown.symbol_padding),
        bits_per_symbol: rate.bits_per_symbol(),
        psdu_bytes: breakdown.psdu_bytes,
        mpdu_bytes: mpdu.mpdu(),
        subframe_bytes: mpdu.mpdu() + delimiter + padding,
        mpdu: Mpdu {
            payload,
            ip_udp,
            llc,
            header,
            fcs,
            delimiter,
            padding,
        },
        aifs_us: us(breakdown.aifs),
        mean_backoff_us: us(breakdown.mean_backoff),
        signal_extension_us: us(breakdown.signal_extension),
        sifs_us: us(breakdown.sifs),
        response: if response.block { "block-ack" } else { "ack" },
        response_bytes: response.bytes,
        response_rate_mbps: response.rate.mbps(),
        response_us: us(response.duration),
        cycle_us: us(breakdown.cycle),
        goodput_mbps: breakdown.goodput.as_mbps_f64(),
        efficiency: breakdown.efficiency,
    }
}

fn describe(frame: &Frame) -> String {
    let mut table = Table::new(["part", "µs", "what"]);
    let mut row =
        |part: &str, us: f64, what: String| table.row([part.to_owned(), format!("{us:.1}"), what]);
    row("AIFS", frame.aifs_us, String::new());
    row("mean back-off", frame.mean_backoff_us, String::new());
    let fields: Vec<String> = frame
        .preamble
        .iter()
        .map(|f| format!("{} {}", f.field, f.us))
        .collect();
    row("preamble", frame.preamble_us, fields.join(", "));
    let symbols = format!(
        "{} symbols of {} µs, {} bits each",
        frame.symbols, frame.symbol_us, frame.bits_per_symbol
    );
    row(
        "data",
        frame.data_us,
        format!("{} bytes in {symbols}", frame.psdu_bytes),
    );
    if frame.signal_extension_us > 0.0 {
        row("signal extension", frame.signal_extension_us, String::new());
    }
    row("SIFS", frame.sifs_us, String::new());
    let response = format!(
        "{} bytes at {} Mbit/s",
        frame.response_bytes, frame.response_rate_mbps
    );
    row(frame.response, frame.response_us, response);
    let share = format!(
        "{:.1} Mbit/s of payload, {:.0} %",
        frame.goodput_mbps,
        100.0 * frame.efficiency
    );
    row("whole cycle", frame.cycle_us, share);
    format!(
        "PPDU {:.1} µs: {} MPDUs at {:.1} Mbit/s\n\n{table}",
        frame.ppdu_us, frame.mpdus, frame.phy_rate_mbps
    )
}

fn us(span: Duration) -> f64 {
    span.as_nanos() as f64 / 1e3
}
