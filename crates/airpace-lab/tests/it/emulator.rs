//! The emulator against virtual time.

use airpace_lab::bench::emulator::compare;
use airpace_lab::bench::saturation::Saturation;
use airpace_lab::tool::Stop;
use std::time::Duration;

fn scenario(mcs: Vec<u8>) -> Saturation {
    Saturation {
        mcs,
        payload: 1_470,
        ap_buffer_packets: 2_500,
        seed: 1,
        ramp: Duration::from_secs(1),
        measure: Duration::from_secs(4),
    }
}

/// Compares the emulator with virtual time and asserts that they agree.
fn assert_agreement(test: &str, mcs: Vec<u8>) {
    let result = compare(&scenario(mcs), &Stop::default()).unwrap();
    println!("{}", serde_json::to_string_pretty(&result).unwrap());
    if !super::kept_up(test, result.trusted, result.lag_p99_ms) {
        return;
    }
    assert!(result.goodput_difference.abs() < 0.03, "{result:?}");
    assert!(result.level_difference.abs() < 0.05, "{result:?}");
}

#[test]
#[ignore = "needs the machine to itself"]
fn one_emulated_station_gets_the_goodput_of_virtual_time() {
    assert_agreement(
        "one_emulated_station_gets_the_goodput_of_virtual_time",
        vec![9],
    );
}

#[test]
#[ignore = "needs the machine to itself"]
fn three_emulated_stations_get_the_goodput_of_virtual_time() {
    assert_agreement(
        "three_emulated_stations_get_the_goodput_of_virtual_time",
        vec![9, 4, 1],
    );
}
