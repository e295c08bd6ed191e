use super::*;
use crate::mac::StationConfig;
use airpace_core::control::Goal;
use airpace_core::phy::{GuardInterval, Standard, Width};

const SLOT: Duration = Duration::from_millis(100);

fn mcs9(nss: u8) -> TxRate {
    TxRate::new(Standard::Vht, Width::Mhz80, nss, 9, GuardInterval::Ns800).expect("the rate exists")
}

fn config(stations: usize, nss: u8) -> LoopConfig {
    let law = LawConfig::named("waterfill", Goal { level: 32.0, delay: None }).expect("the law exists");
    LoopConfig::new(MacConfig::new(vec![StationConfig::new(mcs9(nss)); stations]), law, SLOT)
}

fn run(config: LoopConfig, slots: usize) -> ClosedLoop {
    let mut closed_loop = ClosedLoop::new(config).expect("the configuration is valid");
    closed_loop.run(slots);
    closed_loop
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_seed_another() {
    let with_seed = |seed| run(LoopConfig { seed, report_bytes: Some(88), ..config(5, 1) }, 20).records().to_vec();
    assert_eq!(with_seed(1), with_seed(1));
    assert_ne!(with_seed(1), with_seed(2));
}

#[test]
fn one_station_settles_where_the_model_says() {
    let closed_loop = run(config(1, 2), 40);
    let settled = &closed_loop.records()[10..];
    let level = mean_over(settled, |s| s.level);
    assert!((level / 32.0 - 1.0).abs() < 0.02, "{level}");
    // Half a round of waiting and the own PPDU, 552 µs.
    let expected_s = mean_round_s(settled) / 2.0 + 552e-6;
    let delay_s = mean_over(settled, |s| s.delay_mean.as_secs_f64());
    assert!((delay_s / expected_s - 1.0).abs() < 0.03, "{delay_s} of {expected_s}");
    assert_eq!(settled.iter().map(|slot| slot.stations[0].lost).sum::<u32>(), 0);
}

#[test]
fn equal_stations_get_equal_rates() {
    let closed_loop = run(LoopConfig { report_bytes: Some(88), ..config(10, 2) }, 60);
    let settled = &closed_loop.records()[20..];
    let of =
        |idx: usize| settled.iter().map(|slot| slot.stations[idx].goodput_mbps).sum::<f64>() / settled.len() as f64;
    let rates: Vec<f64> = (0..10).map(of).collect();
    let jain = rates.iter().sum::<f64>().powi(2) / (10.0 * rates.iter().map(|x| x * x).sum::<f64>());
    assert!(jain > 0.9999, "{rates:?}");
}

#[test]
fn lost_and_retried_mpdus_do_not_move_the_level() {
    let mut lossy = config(1, 1);
    lossy.mac.stations[0].loss = 0.1;
    let closed_loop = run(lossy, 60);
    let settled = &closed_loop.records()[20..];
    let level = mean_over(settled, |s| s.level);
    assert!((level / 32.0 - 1.0).abs() < 0.05, "{level}");
    assert!(mean_over(settled, |s| s.goodput_mbps) > 270.0);
}

#[test]
fn a_station_that_joins_is_served_from_the_next_slot_on() {
    let mut closed_loop =
        ClosedLoop::new(LoopConfig { joined: 1, ..config(2, 1) }).expect("the configuration is valid");
    closed_loop.schedule(Time::from_millis(1_000), Change::Join(StationId(1)));
    closed_loop.run(30);
    let joined: Vec<bool> = closed_loop.records().iter().map(|slot| slot.stations[1].joined).collect();
    // The change comes before the end of slot 9, which it falls on.
    assert_eq!(joined.iter().position(|&j| j), Some(9));
    let last = closed_loop.records().last().expect("slots were run");
    assert!((last.stations[1].goodput_mbps / last.stations[0].goodput_mbps - 1.0).abs() < 0.1, "{last:?}");
}

#[test]
fn frames_are_kept_on_request() {
    let mut closed_loop = ClosedLoop::new(config(1, 1)).expect("the configuration is valid");
    closed_loop.run(1);
    assert!(closed_loop.take_frames().is_empty());
    closed_loop.keep_frames();
    let frames = closed_loop.run(1)[0].stations[0].frames;
    assert_eq!(closed_loop.take_frames().len(), frames as usize);
}

#[test]
fn a_slot_of_no_length_is_refused() {
    let none = LoopConfig { slot: Duration::ZERO, ..config(1, 1) };
    assert_eq!(ClosedLoop::new(none).err(), Some(LoopError::Slot));
}
