//! What the transmit paths do to stations of different rates.

use super::air::{Flow, Log, drive};
use super::*;
use airpace_core::queue::{AirtimeConfig, AirtimeLimitConfig};

/// 004's stations: two at 144.4 Mbit/s and one at 7.2, frames of 4 ms at most.
fn three_stations(path: PathConfig) -> MacConfig {
    let rate = |nss, mcs| TxRate::new(Standard::Ht, Width::Mhz20, nss, mcs, GuardInterval::Ns400).unwrap();
    let rates = [rate(2, 15), rate(2, 15), rate(1, 0)];
    let links = rates.into_iter().zip(1..).flat_map(|(rate, station)| {
        [(0, station), (station, 0)].map(|(from, to)| LinkConfig::new(RadioId(from), RadioId(to), rate))
    });
    let radio = |path| RadioConfig { path, max_duration: Duration::from_millis(4), ..RadioConfig::new() };
    let mut radios = vec![radio(PathConfig::default()); 4];
    radios[0] = radio(path);
    MacConfig::new(radios, links.collect())
}

/// 100 Mbit/s of UDP to each station.
fn saturated(path: PathConfig, millis: u64) -> Log {
    let flows = [1, 2, 3].map(|station| Flow { bytes: 1_500, ..Flow::new(0, station, 120) });
    let mut mac = Mac::new(three_stations(path), 5).unwrap();
    let log = drive(&mut mac, &flows, Duration::from_millis(millis));
    for at in 0..4 { print!("{} ", mac.held(RadioId(at))); }
    log
}

/// Packets per frame to each station, and shares of the airtime of all.
fn levels_and_shares(log: &Log) -> [(f64, f64); 3] {
    let total: f64 = log.frames.iter().map(|frame| frame.airtime.as_secs_f64()).sum();
    [1, 2, 3].map(|station| {
        let frames: Vec<_> = log.frames.iter().filter(|frame| frame.to == RadioId(station)).collect();
        let airtime: f64 = frames.iter().map(|frame| frame.airtime.as_secs_f64()).sum();
        let packets: f64 = frames.iter().map(|frame| f64::from(frame.packets)).sum();
        (packets / frames.len() as f64, airtime / total)
    })
}

#[test]
fn look() {
    for scheme in Scheme::ALL {
        let log = saturated(PathConfig::of(scheme), 10_000);
        let goodput = |flow: usize| log.delivered[flow].0 as f64 * 1_500.0 * 8e-6 / 10.0;
        println!("{:12} {:?} goodput {:.1} {:.1} {:.1} drops {}", scheme.name(), levels_and_shares(&log), goodput(0), goodput(1), goodput(2), log.dropped.len());
    }
}
