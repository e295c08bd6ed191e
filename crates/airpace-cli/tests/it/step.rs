//! `airpace step`.

use crate::shared::{airpace, assert_refused, json};

#[test]
fn ours_is_back_within_two_slots_after_the_rate_is_halved() {
    let rows = json("step --laws waterfill --cases halve --slot-ms 100");
    let [row] = rows.as_array().unwrap().as_slice() else {
        panic!("one row: {rows}")
    };
    assert_eq!(
        (&row["law"], &row["case"]),
        (&"waterfill".into(), &"halve".into())
    );
    assert_eq!(row["slot_ms"], 100.0);
    assert!(row["slots"].as_u64().unwrap() <= 2, "{row}");
}

#[test]
fn the_same_seed_prints_the_same() {
    let line = "step --laws linear --cases halve --slot-ms 100 --horizon 8 --seed 7";
    let first = airpace(line).stdout;
    assert!(first.contains("linear"), "{first}");
    assert_eq!(first, airpace(line).stdout);
}

#[test]
fn unknown_laws_and_cases_are_refused_with_the_known_ones() {
    assert_refused("step --laws magic", "waterfill");
    assert_refused("step --cases magic", "tight");
    assert_refused("step --slot-ms 1", "10..=10000");
    assert_refused("step --horizon 0", "--horizon");
}
