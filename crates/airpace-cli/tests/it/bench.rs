//! `airpace bench`; what it measures on this machine is measured by `make bench`.

use crate::shared::{airpace, assert_refused, folder, json};

#[test]
fn plans_that_make_no_sense_are_refused() {
    assert_refused("bench datapath --packet-bytes 10", "64..=1420");
    assert_refused("bench datapath --loads-mbps 100,NaN", "--loads-mbps");
    assert_refused("bench datapath --loads-mbps 0", "above 0");
    assert_refused("bench datapath --seconds inf", "--seconds");
    assert_refused("bench datapath --seconds 1e9", "0.1 to 3600");
    assert_refused("bench datapath --cipher rot13", "aes-256-gcm");
    assert_refused("bench edge --load-mbps 0", "above 0");
    assert_refused("bench edge --seconds 1e9", "0.1 to 3600");
    assert_refused("bench emulator --mcs 9,10", "MCS 0 to 9");
    assert_refused("bench emulator --seconds 0", "above 0");
    assert_refused("bench ap --schemes fifo,tail", "fq-codel");
    assert_refused("bench ap --seconds 0", "above 0");
    assert_refused("bench everything", "everything");
}

#[test]
fn the_frontier_refuses_unknown_cells_loads_and_arms_with_the_known_ones() {
    assert_refused("bench frontier --cells tree", "did you mean `three`?");
    assert_refused("bench frontier --cells nowhere.toml", "nowhere.toml");
    assert_refused("bench frontier --loads cubik", "cubic, bbr, udp");
    assert_refused("bench frontier --arms magic", "linear-pf");
    assert_refused("bench frontier --quick --seeds 2", "--seeds");
    assert_refused("bench frontier --seeds 0", "1..=1000");
}

#[test]
fn a_row_of_the_frontier_has_all_figures_and_is_stored() {
    let folder = folder("frontier");
    let line = "bench frontier --cells one --loads udp --arms closed --seeds 1 --duration 1s";
    let out = folder.path().join("out");
    let printed = json(&format!("{line} --out {}", out.display()));
    let row = &printed["rows"][1];
    assert_eq!(
        (&row["arm"], &row["cell"]),
        (&"closed".into(), &"one".into())
    );
    for key in [
        "goodput_mbps",
        "utility",
        "ping_p50_ms",
        "ping_p95_ms",
        "ping_p99_ms",
        "wait_p95_ms",
        "jain_airtime",
    ] {
        assert!(row[key].is_f64(), "{key}: {row}");
    }
    let stored = std::fs::read_to_string(out.join("rows.json")).unwrap();
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&stored).unwrap(),
        printed
    );
    let table = std::fs::read_to_string(out.join("table.txt")).unwrap();
    assert_eq!(table, airpace(line).stdout);
}
