//! `airpace emulate`: an emulated access point that exists while a command runs.

mod layer2;
mod report;

use crate::args::{per_station, probability};
use crate::failure::{Interrupted, bad_input};
use crate::rate::{self, Standard, Timing};
use airpace_api::emulation::{DirectionTotals, EmulationReport, QueueDrops};
use airpace_config::quantity::Span;
use airpace_core::phy::{self, AccessCategory, AmpduLimits};
use airpace_core::queue::{AirtimeLimitConfig, DEFAULT_WEIGHT};
use airpace_emu::{
    EmulatorConfig, EmulatorError, MAX_STATIONS, Monitor, NoObserver, Outcome, Trace,
};
use airpace_sim::mac::{CellConfig, PathConfig, QueueLimit, Queues, Scheme, StationConfig};
use clap::{Args, ValueEnum};
use layer2::Layer2;
use report::ReportFile;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};

const EXAMPLES: &str = "CMD runs on the wired side; without CMD, a shell does. Its environment contains:
  AIRPACE_SERVER           address of the wired side
  AIRPACE_STATION_IPS      addresses of the stations
  AIRPACE_NS_SERVER, AIRPACE_NS_STA0, AIRPACE_NS_STA1, ...   network namespaces, for nsenter
  AIRPACE_NS_BOX, AIRPACE_LAN_PORT, AIRPACE_AP_PORT, AIRPACE_STATION_MACS        with --layer ethernet
Each station has wlan0 and, for tcpdump and Wireshark, mon0 (radiotap). What the air cannot take of an upload waits in
the station's kernel, as behind a Wi-Fi driver.

With --layer ethernet, a box stands between the wired side and the access point, with a port towards each and
nothing configured; its bridge carries frames of any kind to stations that have MAC addresses:
  wired0 === lan0 [box] ap0 === access point ))) ((( wlan0, mon0

Examples:
  airpace emulate --stations 2 --mcs 9,4 --nss 1 -- sh -c 'nsenter --net=$AIRPACE_NS_STA0 ping -c 3 $AIRPACE_SERVER'
  airpace emulate --mcs 9 --loss 0.05 --wired-delay '20 ms' --report run.json -- ping -c 9 10.77.0.10
  airpace emulate --stations 3 --mcs 9,4,1        a shell behind a busy access point
  airpace emulate --mcs 9 -- sh -c 'iperf3 -sD; nsenter --net=$AIRPACE_NS_STA0 iperf3 -c $AIRPACE_SERVER'      an upload
  airpace emulate --ap airtime --standard ht --width 20 --gi 400 --mcs 15,15,0 --nss 2,2,1 --max-duration '4 ms'
  airpace emulate --ap fq-mac --aql --qos --mcs 9,4 --nss 1 -- ping -Q 0xb8 -c 9 10.77.0.11
  airpace emulate --layer ethernet --stations 2 -- sh -c 'nsenter --net=$AIRPACE_NS_BOX tcpdump -c 9 -ni ap0 & ping -c 9 10.77.0.11'
  airpace emulate --layer ethernet --no-bridge --air -- nsenter --net=$AIRPACE_NS_BOX sh    put a box of your own between
  airpace emulate --layer ethernet --cells 2 --stations 4 --air      two access points, stations in turn, a radio near each
  airpace emulate --layer ethernet --cells 3 --channel 36,36,44 --stations 6 --air      the first two share a channel
  airpace emulate --layer ethernet --cells 2 --stations 2 --trace walk.txt      stations roam, sleep, leave
  airpace emulate --layer ethernet --stations 3 --air --air-snr 12,30,25      data frames are heard where the ratio suffices
  airpace emulate --ap airtime --hardware-queue 0 --airtime-weight 512,256 --mcs 9,9 --report run.json -- ./downloads.sh

Ctrl-C, SIGTERM and the end of the terminal (SIGHUP) end the run; the report is written all the same.

Exit code: that of CMD; 130 after Ctrl-C.";

/// Run a command, or a shell, behind an emulated access point with real packets.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Emulate {
    /// Number of stations; by default as many as --mcs names.
    #[arg(long)]
    stations: Option<usize>,
    /// MCS index: one value for all stations, or one each.
    #[arg(long, default_value = "9", value_delimiter = ',')]
    mcs: Vec<u8>,
    /// Spatial streams: one value for all stations, or one each.
    #[arg(long, default_value = "1", value_delimiter = ',')]
    nss: Vec<u8>,
    /// Generation of the PHY.
    #[arg(long, value_enum, default_value = "vht")]
    standard: Standard,
    /// Channel width in MHz: 20, 40, 80 or 160.
    #[arg(long, default_value = "80", value_parser = rate::width)]
    width: phy::Width,
    /// Guard interval in ns: 400, 800, 1600 or 3200.
    #[arg(long, default_value = "800", value_parser = rate::guard_interval)]
    gi: phy::GuardInterval,
    /// Probability that an MPDU is lost: one value for all stations, or one each.
    #[arg(long, default_value = "0", value_delimiter = ',', value_parser = probability, allow_negative_numbers = true)]
    loss: Vec<f64>,
    /// File of what changes in the course of the run. Each line has a time, a station's index and
    /// what changes: an MCS and optionally streams ("2500ms 0 4 1"), `sleep` (and of how many beacons
    /// one is heard: "3s 1 sleep 3"), `wake`, `leave`, `join`, or `roam` and the index of an access
    /// point ("4s 1 roam 1").
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// How the access point queues: per-station (as a closed access point), fifo, codel, fq-codel,
    /// fq-mac, airtime, wqm, wqm-fq.
    #[arg(long, default_value = "per-station", value_parser = scheme)]
    ap: Scheme,
    /// Packets that the access point queues for each station; --ap per-station only.
    #[arg(long, value_name = "PACKETS", default_value_t = PathConfig::PER_STATION_PACKETS)]
    ap_buffer: usize,
    /// Share of the airtime that a station is due, relative to the others: one value for all, or
    /// one each; --ap airtime only.
    #[arg(long, default_value = "256", value_delimiter = ',', value_name = "WEIGHT", value_parser = clap::value_parser!(u16).range(1..))]
    airtime_weight: Vec<u16>,
    /// Limit the airtime of the frames that the access point composes ahead, as Linux does since
    /// 5.5; --ap fq-mac and airtime only.
    #[arg(long)]
    aql: bool,
    /// Aggregates per access category that the access point composes ahead, the one on the air
    /// included; 0 composes each when the channel is won. 2 by default, as ath9k; 0 for --ap
    /// per-station.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(..=64))]
    hardware_queue: Option<u16>,
    /// Send packets in the access category of their DSCP (RFC 8325) instead of all as best effort.
    #[arg(long)]
    qos: bool,
    /// Longest frame.
    #[arg(long, default_value = "5.484 ms", value_name = "SPAN")]
    max_duration: Span,
    /// PSDUs longer than this are preceded by RTS and CTS; by default none is.
    #[arg(long, value_name = "BYTES")]
    rts: Option<u32>,
    /// Show control frames and beacons on the stations' monitors, as --layer ethernet does.
    #[arg(long)]
    control_frames: bool,
    /// Delay between the wired side and the access point, each way.
    #[arg(long, default_value = "1 ms")]
    wired_delay: Span,
    /// What the monitor interfaces show of each frame.
    #[arg(long, value_enum, default_value = "whole")]
    monitor: Shown,
    /// Whose conventions durations follow: the standard's or ns-3's.
    #[arg(long, value_enum, default_value = "standard")]
    timing: Timing,
    /// Seed of back-off and losses.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// File for the report: totals and time series (JSON).
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    #[command(flatten)]
    layer_2: Layer2,
    /// The command and its arguments.
    #[arg(last = true, value_name = "CMD")]
    command: Vec<OsString>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Shown {
    /// There are no monitor interfaces.
    Off,
    /// Headers only, 200 bytes of the frame.
    Headers,
    /// The whole frame.
    Whole,
}

/// Bytes of a frame that contain its headers up to the transport's, with room for options.
const HEADERS: usize = 200;

pub(crate) fn run(args: &Emulate) -> anyhow::Result<ExitCode> {
    let config = config(args)?;
    config.validate().map_err(refusal)?;
    let report_file = args.report.as_deref().map(ReportFile::open).transpose()?;
    // A process can enter a user namespace only while it has a single thread.
    airpace_net::netns::acquire_rights()?;
    let outcome =
        airpace_emu::run_command(config, NoObserver, command(&args.command)).map_err(refusal)?;
    for line in summary(&outcome.report) {
        tracing::info!(event = "emulation-summary", "{line}");
    }
    for warning in &outcome.report.warnings {
        tracing::warn!(event = "emulation-warning", "{warning}");
    }
    if let Some(file) = report_file {
        file.write(&outcome.report)?;
    }
    finish(&outcome)
}

fn config(args: &Emulate) -> anyhow::Result<EmulatorConfig> {
    let named = [
        args.mcs.len(),
        args.nss.len(),
        args.loss.len(),
        args.airtime_weight.len(),
    ];
    let named = named.into_iter().max().unwrap_or(1);
    let n = args.stations.unwrap_or(named);
    // Checked before anything is allocated for each station.
    if n > MAX_STATIONS {
        return Err(bad_input(format!(
            "{n} stations: give at most {MAX_STATIONS}"
        )));
    }
    let mcs = per_station("--mcs", &args.mcs, n)?;
    let nss = per_station("--nss", &args.nss, n)?;
    let loss = per_station("--loss", &args.loss, n)?;
    let weight = per_station("--airtime-weight", &args.airtime_weight, n)?;
    let mut stations = Vec::with_capacity(n);
    for i in 0..n {
        let rate = rate::checked(args.standard, args.width, nss[i], mcs[i], args.gi)?;
        stations.push(StationConfig {
            loss: loss[i],
            weight: weight[i],
            ..StationConfig::new(rate)
        });
    }
    let trace = match &args.trace {
        Some(path) => read_trace(path, &stations, args.layer_2.access_points())?,
        None => Trace::default(),
    };
    // The longest frame that L-SIG can announce bounds every standard that can be chosen.
    let longest = AmpduLimits::of(phy::Standard::Vht).duration;
    if args.max_duration.0.is_zero() || args.max_duration.0 > longest {
        return Err(bad_input(
            "--max-duration: give more than 0, at most 5.484 ms",
        ));
    }
    let category = (!args.qos).then_some(AccessCategory::BestEffort);
    let (timing, max_duration) = (args.timing.into(), args.max_duration.0);
    let cell = CellConfig {
        category,
        timing,
        max_duration,
        trace: trace.rates,
        ..CellConfig::new(stations)
    };
    let monitor = match args.monitor {
        Shown::Off => Monitor::Off,
        Shown::Headers => Monitor::Snap(HEADERS),
        Shown::Whole => Monitor::Whole,
    };
    let (wired_delay, series) = (args.wired_delay.0, args.report.is_some());
    let mut config = EmulatorConfig::new(cell, args.seed).with_access_point(args.ap);
    access_point(args, &mut config.cell.access_point)?;
    config.control_frames = args.control_frames;
    let config = args.layer_2.apply(config)?;
    Ok(EmulatorConfig {
        wired_delay,
        monitor,
        series,
        rts_threshold: args.rts,
        moves: trace.moves,
        ..config
    })
}

/// Changes the scheme's transmit path as the arguments say.
fn access_point(args: &Emulate, path: &mut PathConfig) -> anyhow::Result<()> {
    let only = |flag: &str, schemes: &[Scheme]| {
        let names: Vec<&str> = schemes.iter().map(|scheme| scheme.name()).collect();
        let names = names.join(" or ");
        if schemes.contains(&args.ap) {
            Ok(())
        } else {
            Err(bad_input(format!("{flag} needs --ap {names}")))
        }
    };
    if args.ap_buffer != PathConfig::PER_STATION_PACKETS {
        only("--ap-buffer", &[Scheme::PerStation])?;
        path.queues = Queues::Fifo(QueueLimit::per_link(args.ap_buffer));
    }
    if args.aql {
        only("--aql", &[Scheme::FqMac, Scheme::Airtime])?;
        path.limit_airtime(AirtimeLimitConfig::default());
    }
    path.hardware = args.hardware_queue.unwrap_or(path.hardware);
    if args
        .airtime_weight
        .iter()
        .any(|&weight| weight != DEFAULT_WEIGHT)
    {
        only("--airtime-weight", &[Scheme::Airtime])?;
    }
    Ok(())
}

/// A scheme by its name.
pub(super) fn scheme(name: &str) -> Result<Scheme, String> {
    name.parse().map_err(|_| {
        let names: Vec<&str> = Scheme::ALL.iter().map(|scheme| scheme.name()).collect();
        format!("give one of {}", names.join(", "))
    })
}

fn read_trace(
    path: &Path,
    stations: &[StationConfig],
    access_points: usize,
) -> anyhow::Result<Trace> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| bad_input(format!("cannot read {}: {e}", path.display())))?;
    airpace_emu::parse_trace(&text, stations, access_points).map_err(bad_input)
}

/// The command that the arguments name, or the user's shell.
fn command(words: &[OsString]) -> Command {
    let Some((program, arguments)) = words.split_first() else {
        return Command::new(std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into()));
    };
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

fn refusal(error: EmulatorError) -> anyhow::Error {
    if error.is_bad_input() {
        bad_input(error)
    } else {
        error.into()
    }
}

fn summary(report: &EmulationReport) -> impl Iterator<Item = String> {
    let whole = format!(
        "access point {}: Jain index of the stations' airtime {:.3}",
        report.access_point, report.jain_airtime
    );
    let stations = report.stations.iter().map(|station| {
        let (down, up) = (&station.down, &station.up);
        let level = down.level.map_or("no frames".to_owned(), |level| format!("{level:.1} packets per frame"));
        format!(
            "station {}: {:.1} Mbit/s down with {level}, {:.1} Mbit/s up, {:.1} % of the time on the air, {}",
            station.station,
            down.goodput_mbps,
            up.goodput_mbps,
            100.0 * station.airtime,
            losses(down)
        )
    });
    core::iter::once(whole).chain(stations)
}

/// Why packets did not arrive, and how many were marked.
fn losses(down: &DirectionTotals) -> String {
    let QueueDrops {
        full,
        codel,
        longest_flow,
        gone,
        other,
    } = down.drops;
    let reasons = [
        (full, "by a full queue"),
        (codel, "by CoDel"),
        (longest_flow, "at the head of the longest flow"),
        (gone, "because their receiver had left"),
        (other, "for other reasons"),
        (down.dropped_retries, "at the retry limit"),
    ];
    let parts: Vec<String> = reasons
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, reason)| format!("{count} {reason}"))
        .collect();
    let dropped = if parts.is_empty() {
        "none".to_owned()
    } else {
        parts.join(", ")
    };
    let marked = if down.marked > 0 {
        format!(", {} marked", down.marked)
    } else {
        String::new()
    };
    format!("packets dropped: {dropped}{marked}")
}

/// The command's own exit code, or that of Ctrl-C.
fn finish(outcome: &Outcome) -> anyhow::Result<ExitCode> {
    /// The number of SIGINT on every system.
    const SIGINT: i32 = 2;
    if outcome.interrupted == Some(SIGINT) {
        return Err(Interrupted.into());
    }
    Ok(ExitCode::from(code(outcome.status)))
}

/// The exit code that a shell would give: 128 + n for a command that signal n killed.
fn code(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok())
        .unwrap_or(crate::failure::FAILED)
}
