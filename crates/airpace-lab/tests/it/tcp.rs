//! Simulated TCP against the kernel's and against ns-3's.

use airpace_lab::bench::tcp::{Download, DownloadFigures, Hosts, compare, simulate};
use airpace_lab::tool::Stop;
use airpace_sim::transport::tcp::Algorithm;
use std::time::Duration;

/// Downloads that were measured; the head of the file says how.
const MEASURED: &str = include_str!("../../../../validation/tcp/downloads.csv");

/// The algorithms that the kernel has.
const IN_KERNEL: [Algorithm; 3] = [Algorithm::Cubic, Algorithm::Reno, Algorithm::Bbr];

/// Bars for the relative differences. docs/design/tcp.md gives the reasons where a row has a wider
/// bar.
const GOODPUT: f64 = 0.10;
const RTT: f64 = 0.20;

struct Measured<'a> {
    by: &'a str,
    algorithm: Algorithm,
    delay_ms: f64,
    goodput_mbps: f64,
    rtt_ms: f64,
}

fn measured() -> impl Iterator<Item = Measured<'static>> {
    MEASURED
        .lines()
        .filter(|line| !line.starts_with('#'))
        .skip(1)
        .map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            let number = |i: usize| fields[i].parse::<f64>().unwrap();
            let algorithm = fields[1].parse().unwrap();
            Measured {
                by: fields[0],
                algorithm,
                delay_ms: number(2),
                goodput_mbps: number(4),
                rtt_ms: number(5),
            }
        })
}

/// Figures of the simulated download, the mean over three seeds.
fn simulated(algorithm: Algorithm, delay_ms: f64, hosts: Hosts) -> DownloadFigures {
    let (ramp, measure) = (Duration::from_secs(5), Duration::from_secs(10));
    let wired_delay = Duration::from_secs_f64(delay_ms / 1e3);
    let mut mean = DownloadFigures::default();
    for seed in 1..=3 {
        let run = simulate(
            &Download {
                algorithm,
                wired_delay,
                ramp,
                measure,
                whole_periods: false,
                seed,
            },
            hosts,
        )
        .unwrap();
        mean.goodput_mbps += run.goodput_mbps / 3.0;
        mean.rtt_ms += run.rtt_ms / 3.0;
        mean.resent += run.resent / 3.0;
    }
    mean
}

/// Relative differences of goodput and round-trip time between the simulation and the mean of the
/// measured downloads.
fn difference(by: &str, algorithm: Algorithm, delay_ms: f64, hosts: Hosts) -> (f64, f64) {
    let rows: Vec<_> = measured()
        .filter(|m| m.by == by && m.algorithm == algorithm && m.delay_ms == delay_ms)
        .collect();
    let mean = |of: fn(&Measured) -> f64| rows.iter().map(of).sum::<f64>() / rows.len() as f64;
    let (goodput, rtt) = (mean(|m| m.goodput_mbps), mean(|m| m.rtt_ms));
    let ours = simulated(algorithm, delay_ms, hosts);
    let (d_goodput, d_rtt) = (ours.goodput_mbps / goodput - 1.0, ours.rtt_ms / rtt - 1.0);
    println!(
        "{by} {} {delay_ms} ms: goodput {goodput:.1} and {:.1} ({:+.1} %), RTT {rtt:.1} and {:.1} ({:+.1} %)",
        algorithm.name(),
        ours.goodput_mbps,
        100.0 * d_goodput,
        ours.rtt_ms,
        100.0 * d_rtt
    );
    (d_goodput, d_rtt)
}

#[test]
fn simulated_tcp_agrees_with_stored_downloads_of_the_kernel() {
    for algorithm in IN_KERNEL {
        for delay_ms in [10.0, 0.0] {
            let (goodput, rtt) = difference("kernel", algorithm, delay_ms, Hosts::KERNEL);
            assert!(
                goodput.abs() < GOODPUT,
                "{algorithm:?} at {delay_ms} ms: goodput {goodput:+.3}"
            );
            // Without a wire BBR's queue depends on the delay that the machine under the emulator
            // adds to the path.
            let bar = if (algorithm, delay_ms) == (Algorithm::Bbr, 0.0) {
                0.35
            } else {
                RTT
            };
            assert!(
                rtt.abs() < bar,
                "{algorithm:?} at {delay_ms} ms: round-trip time {rtt:+.3}"
            );
        }
    }
}

#[test]
fn simulated_tcp_agrees_with_stored_downloads_of_ns3() {
    for algorithm in [Algorithm::Cubic, Algorithm::Bbr] {
        let (goodput, rtt) = difference("ns-3", algorithm, 10.0, Hosts::NS3);
        assert!(
            goodput.abs() < GOODPUT,
            "{algorithm:?}: goodput {goodput:+.3}"
        );
        assert!(rtt.abs() < RTT, "{algorithm:?}: round-trip time {rtt:+.3}");
    }
}

#[test]
#[ignore = "needs the machine to itself"]
fn simulated_tcp_agrees_with_the_kernel() {
    if !super::namespaces_allowed() {
        return;
    }
    for algorithm in IN_KERNEL {
        // Cubic's periods are about as long as the time that is measured of the others. Reno's are
        // longer still: of them the first is compared, after a slow start that is the same.
        let whole_periods = algorithm == Algorithm::Cubic;
        let measure = Duration::from_secs(if whole_periods { 45 } else { 10 });
        let result = compare(
            &Download {
                algorithm,
                wired_delay: Duration::from_millis(10),
                ramp: Duration::from_secs(5),
                measure,
                whole_periods,
                seed: 1,
            },
            &Stop::default(),
        )
        .unwrap();
        println!("{result:?}");
        if !super::kept_up(
            &format!("simulated_tcp_agrees_with_the_kernel, {algorithm:?}"),
            result.trusted,
            result.lag_p99_ms,
        ) {
            continue;
        }
        assert!(result.goodput_difference.abs() < GOODPUT, "{result:?}");
        assert!(result.rtt_difference.abs() < RTT, "{result:?}");
    }
}
