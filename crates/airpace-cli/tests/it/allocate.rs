//! `airpace allocate`, checked against a conic solver's answers.

use crate::shared::{airpace, assert_close, assert_refused, json};
use serde_json::Value;

const FIVE: &str = "allocate --rates-mbps 58.5,175.5,175.5,351,390 --overhead-us 214 --packet-bits 12000 --level-limit 32";

fn list(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_f64().unwrap())
        .collect()
}

#[track_caller]
fn assert_levels(allocation: &Value, should: [f64; 5]) {
    for (is, should) in list(&allocation["level"]).into_iter().zip(should) {
        assert_close(is, should, 1e-5);
    }
}

#[test]
fn without_a_binding_delay_the_overhead_is_poured_over_the_levels() {
    for line in [FIVE.to_owned(), format!("{FIVE} --delay-ms 20")] {
        let allocation = json(&line);
        assert_levels(&allocation, [7.6748, 23.0244, 23.0244, 32.0, 32.0]);
        assert_close(allocation["round_ms"].as_f64().unwrap(), 7.8716, 1e-5);
        assert_close(allocation["utility"].as_f64().unwrap(), 39.465_001, 1e-7);
    }
}

#[test]
fn a_binding_delay_is_met_exactly() {
    let six = json(&format!("{FIVE} --delay-ms 6"));
    assert_levels(&six, [4.8084, 14.4253, 14.4253, 28.8506, 32.0]);
    assert_close(six["utility"].as_f64().unwrap(), 39.316_188, 1e-7);
    assert_close(six["round_ms"].as_f64().unwrap(), 6.0, 1e-9);
    let five = json(&format!("{FIVE} --delay-ms 5"));
    assert_close(five["utility"].as_f64().unwrap(), 39.094_299, 1e-7);
}

#[test]
fn the_conic_solver_agrees() {
    let closed = json(&format!("{FIVE} --delay-ms 6 --weights 1,2,1,1,3"));
    let conic = json(&format!(
        "{FIVE} --delay-ms 6 --weights 1,2,1,1,3 --method conic"
    ));
    assert_close(
        conic["utility"].as_f64().unwrap(),
        closed["utility"].as_f64().unwrap(),
        1e-6,
    );
    assert_eq!(conic["feasible"], true);
}

#[test]
fn a_price_of_delay_shortens_the_round() {
    let free = json(FIVE);
    assert_eq!(free["price"], 0.0);
    assert_eq!(free["objective"], free["utility"]);
    let priced = json(&format!("{FIVE} --price 0.25"));
    // No limit binds: D = c (1 + κ) / κ, and packets take 80 % of it.
    assert_levels(&priced, [4.1730, 12.5190, 12.5190, 25.0380, 27.8200]);
    let round_ms = priced["round_ms"].as_f64().unwrap();
    assert_close(round_ms, 5.35, 1e-9);
    assert_eq!(priced["price"], 0.25);
    let utility = priced["utility"].as_f64().unwrap();
    assert!(utility < free["utility"].as_f64().unwrap());
    let objective = utility - 0.25 * 5.0 * (round_ms * 1e-3).ln();
    assert_close(priced["objective"].as_f64().unwrap(), objective, 1e-9);
    let text = airpace(&format!("{FIVE} --price 0.25")).stdout;
    assert!(
        text.contains(&format!("objective {objective:.6} at price 0.25")),
        "{text}"
    );
}

#[test]
fn the_conic_solver_agrees_on_the_price() {
    let line = format!("{FIVE} --price 0.15 --weights 1,2,1,1,3");
    let closed = json(&line);
    let conic = json(&format!("{line} --method conic"));
    for key in ["objective", "utility", "round_ms"] {
        assert_close(
            conic[key].as_f64().unwrap(),
            closed[key].as_f64().unwrap(),
            1e-6,
        );
    }
}

#[test]
fn theorem_1_with_a_price_and_prices_out_of_range_are_refused() {
    for method in ["theorem1-min", "theorem1-max"] {
        assert_refused(
            &format!("{FIVE} --price 0.25 --method {method}"),
            "Theorem 1 has no price of delay",
        );
        assert_eq!(
            json(&format!("{FIVE} --price 0 --method {method}"))["price"],
            0.0
        );
    }
    assert_refused(&format!("{FIVE} --price 1001"), "from 0 to 1000");
    for bad in ["NaN", "-1", "inf", "dear"] {
        assert_refused(&format!("{FIVE} --price={bad}"), "--price");
    }
}

#[test]
fn goodput_is_the_payload_and_not_its_overhead() {
    let plain = json("allocate --rates-mbps 390 --packet-bits 12000");
    let (rate, goodput) = (list(&plain["rate_pps"])[0], list(&plain["goodput_mbps"])[0]);
    assert_close(goodput, rate * 0.012, 1e-12);
    let with_overhead =
        json("allocate --rates-mbps 390 --packet-bits 12000 --mpdu-overhead-bits 560");
    assert_close(
        list(&with_overhead["rate_pps"])[0],
        32.0 / (214e-6 + 32.0 * 12_560.0 / 390e6),
        1e-9,
    );
}

#[test]
fn both_readings_of_theorem_1_are_there_for_comparison() {
    let optimum = json(FIVE)["utility"].as_f64().unwrap();
    let amended = json(&format!("{FIVE} --method theorem1-min"));
    assert_eq!(amended["feasible"], true);
    assert!(amended["utility"].as_f64().unwrap() < optimum);
    let printed = json(&format!("{FIVE} --method theorem1-max"));
    assert_eq!(printed["feasible"], false);
    assert!(
        printed["violation"]
            .as_str()
            .unwrap()
            .contains("limit is 32")
    );
}

#[test]
fn the_table_has_a_row_per_station() {
    let text = airpace(FIVE).stdout;
    assert!(
        text.contains("23.0244") && text.contains("round 7.8716 ms") && text.contains("39.465001"),
        "{text}"
    );
}

#[test]
fn an_infeasible_delay_names_the_smallest_feasible_one() {
    assert_refused(&format!("{FIVE} --delay-ms 1"), "1.4768");
    assert_refused(&format!("{FIVE} --delay-ms 1 --method conic"), "1.4768");
}

#[test]
fn lists_of_wrong_length_are_refused() {
    assert_refused(
        &format!("{FIVE} --weights 1,1"),
        "--weights has 2 values for 5 stations",
    );
    assert_refused(
        "allocate --rates-mbps 1,2 --overhead-us 1,1,1",
        "--overhead-us has 3 values",
    );
    assert_refused(
        "allocate --rates-mbps 1,2 --level-limit 3,4,5",
        "--level-limit has 3 values for 2 stations",
    );
}

#[test]
fn numbers_that_make_no_sense_are_refused() {
    for bad in ["NaN", "inf", "-1", "0", "fast", "1e999", ""] {
        assert_refused(&format!("allocate --rates-mbps=58.5,{bad}"), "--rates-mbps");
        assert_refused(
            &format!("allocate --rates-mbps=58.5 --overhead-us={bad}"),
            "--overhead-us",
        );
        assert_refused(
            &format!("allocate --rates-mbps=58.5 --packet-bits={bad}"),
            "--packet-bits",
        );
        assert_refused(
            &format!("allocate --rates-mbps=58.5 --level-limit={bad}"),
            "--level-limit",
        );
        assert_refused(
            &format!("allocate --rates-mbps=58.5 --delay-ms={bad}"),
            "--delay-ms",
        );
        assert_refused(
            &format!("allocate --rates-mbps=58.5 --weights={bad}"),
            "--weights",
        );
    }
    assert_refused(
        "allocate --rates-mbps 58.5 --mpdu-overhead-bits -1",
        "--mpdu-overhead-bits",
    );
    assert_refused("allocate --rates-mbps 58.5 --level-limit 0.5", "1 or more");
    assert_refused(
        "allocate --rates-mbps 58.5 --packet-bits 1e-300",
        "airtime of a packet",
    );
    assert_refused("allocate", "--rates-mbps");
    assert_refused(
        "allocate --rates-mbps 58.5 --method magic",
        "waterfill, conic",
    );
}
