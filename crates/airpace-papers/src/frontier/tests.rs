use super::judge::Outcome;
use super::run::scenario;
use super::*;
use airpace_scenario::file::FlowKind;
use airpace_scenario::stop::Stop;
use airpace_sim::mac::Scheme;
use std::cell::Cell as Shared;

fn cells(names: &[&str]) -> Vec<Cell> {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    select(&names).unwrap()
}

/// Two short runs of a few arms in two cells.
fn small_plan() -> Plan {
    Plan {
        cells: cells(&["one", "three"]),
        loads: vec![Load::Udp],
        arms: vec![Arm::Closed, Arm::LinearPf, Arm::Default],
        effort: Effort {
            seeds: 2,
            warm_up: "300 ms".parse().ok(),
            duration: "1 s".parse().ok(),
            coarse: true,
            parallel: 2,
            ..Effort::default()
        },
    }
}

/// The only setting of `arm` that has this label.
fn setting(arm: Arm, label: &str) -> Setting {
    let mut settings = arm.settings(64, false).into_iter();
    settings.find(|setting| setting.label == label).unwrap()
}

#[test]
fn the_same_plan_gives_the_same_rows_on_any_number_of_cores() {
    let json = |parallel: usize| {
        let mut plan = small_plan();
        plan.effort.parallel = parallel;
        let frontier = measure(&plan, &Stop::default(), &|_| {}).unwrap();
        serde_json::to_string(&frontier).unwrap()
    };
    let text = json(2);
    assert_eq!(text, json(1));
    assert!(
        text.contains(r#""arm":"linear-pf","setting":"level = 24""#),
        "{text}"
    );
}

#[test]
fn rows_come_in_the_order_of_the_plan_with_the_reference_added() {
    let told = Shared::new(0);
    let frontier = measure(&small_plan(), &Stop::default(), &|progress| {
        if let Progress::Rows(frontier) = progress {
            told.set(frontier.rows.len());
        }
    })
    .unwrap();
    let of_cell = |cell: &str| -> Vec<String> {
        let rows = frontier.rows.iter().filter(|row| row.cell == cell);
        rows.map(|row| format!("{} {}", row.arm, row.setting))
            .collect()
    };
    let expected = [
        "airtime ",
        "closed ",
        "linear-pf level = 8",
        "linear-pf level = 24",
        "linear-pf level = 40",
        "default ",
    ];
    assert_eq!(of_cell("one"), expected);
    assert_eq!(of_cell("three"), expected);
    assert_eq!(told.get(), frontier.rows.len());
    assert!(!frontier.interrupted);
    for row in &frontier.rows {
        assert_eq!(row.seeds, 2);
        assert!(row.goodput_mbps > 20.0 && row.ping_p95_ms > 2.0, "{row:?}");
        // A packet waits at the access point at least for its own frame.
        assert!(row.wait_p95_ms > 0.3, "{row:?}");
        assert!(row.arm != Arm::Airtime || row.utility == 0.0, "{row:?}");
    }
}

#[test]
fn a_stopped_measurement_says_that_rows_are_missing() {
    let stop = Stop::default();
    stop.raise();
    let frontier = measure(&small_plan(), &stop, &|_| {}).unwrap();
    assert!(frontier.interrupted && frontier.rows.is_empty());
}

#[test]
fn a_load_adds_a_download_per_station_and_keeps_the_flows_of_the_cell() {
    let plan = small_plan();
    let [three] = cells(&["three"]).try_into().unwrap();
    let loaded = scenario(&three, Load::Udp, &setting(Arm::Closed, ""), &plan, 7).unwrap();
    assert_eq!(loaded.scenario.seed, 7);
    let (ping, bulk) = loaded.scenario.flow.split_first().unwrap();
    assert_eq!(ping.kind, FlowKind::Ping);
    let offered: Vec<f64> = bulk
        .iter()
        .map(|flow| flow.rate.unwrap().0.as_bps_f64() / 1e6)
        .collect();
    // Equal airtime gives the fast station most, equal packets the slow one.
    let equal_packets = 1.0 / (1.0 / 390.0 + 1.0 / 175.5 + 1.0 / 58.5);
    for (offered, least) in offered.iter().zip([130.0, 58.5, equal_packets]) {
        assert!(
            (offered / least - 1.25).abs() < 1e-3,
            "{offered} for {least}"
        );
    }
    let [mixed] = cells(&["mixed-traffic"]).try_into().unwrap();
    let loaded = scenario(&mixed, Load::Bbr, &setting(Arm::Closed, ""), &plan, 1).unwrap();
    let downloads = loaded
        .scenario
        .flow
        .iter()
        .filter(|flow| flow.kind == FlowKind::Tcp);
    let stations: Vec<&str> = downloads.map(|flow| flow.to.as_str()).collect();
    assert_eq!(stations, ["bulk-1", "bulk-2"]);
}

#[test]
fn an_arm_replaces_the_queues_of_the_access_point_or_adds_a_proxy() {
    let plan = small_plan();
    let [three] = cells(&["three"]).try_into().unwrap();
    let of = |setting: Setting| {
        let loaded = scenario(&three, Load::Cubic, &setting, &plan, 1).unwrap();
        loaded.scenario
    };
    let closed = of(setting(Arm::Closed, ""));
    let ap = |scenario: &airpace_scenario::file::Scenario| scenario.node[1].queue.clone();
    assert_eq!(ap(&closed).scheme.0, Scheme::PerStation);
    assert!(closed.proxy.is_empty());
    let airtime = of(setting(Arm::Airtime, ""));
    assert_eq!(ap(&airtime).scheme.0, Scheme::Airtime);
    assert!(airtime.proxy.is_empty());
    let nonlinear = of(setting(Arm::Nonlinear, "delay = 5 ms"));
    assert_eq!(ap(&nonlinear), ap(&closed));
    let [proxy] = nonlinear.proxy.as_slice() else {
        panic!("one proxy: {:?}", nonlinear.proxy)
    };
    assert_eq!(proxy.law.to_string(), "nonlinear");
    assert_eq!(proxy.level, Some(48.0));
    assert_eq!(proxy.delay.map(|delay| delay.0.as_millis()), Some(5));
    let default = of(setting(Arm::Default, ""));
    assert_eq!(default.proxy, [Default::default()]);
}

#[test]
fn shorter_runs_leave_out_later_changes() {
    let [cell] = cells(&["neighbours"]).try_into().unwrap();
    let mut plan = small_plan();
    plan.effort.duration = "6 s".parse().ok();
    let loaded = scenario(&cell, Load::Udp, &setting(Arm::Closed, ""), &plan, 1).unwrap();
    // The run ends at 6.3 s.
    assert_eq!(loaded.scenario.change.len(), 2);
}

#[test]
fn every_cell_goes_with_every_arm_and_load() {
    let mut plan = small_plan();
    plan.effort = Effort::default();
    for cell in cells(&[MAIN_SET, EXTRA_SET]) {
        for (arm, load) in Arm::usual()
            .into_iter()
            .zip([Load::Cubic, Load::Udp].iter().cycle())
        {
            let setting = &arm.settings(64, true)[0];
            let loaded = scenario(&cell, *load, setting, &plan, 1)
                .unwrap_or_else(|error| panic!("{}, {arm}: {error}", cell.name));
            assert!(loaded.resolve().is_ok(), "{}, {arm}", cell.name);
            assert_eq!(loaded.scenario.duration.0.as_secs(), 15, "{}", cell.name);
        }
    }
}

#[test]
fn unknown_cells_are_refused_with_the_known_ones() {
    let error = select(&["tree".to_owned()]).unwrap_err();
    assert!(
        error.to_string().contains("did you mean `three`?"),
        "{error}"
    );
    let error = select(&["/nowhere/cell.toml".to_owned()]).unwrap_err();
    assert!(error.to_string().contains("/nowhere/cell.toml"), "{error}");
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../scenarios/frontier/one.toml"
    );
    let error = select(&["one".to_owned(), path.to_owned()]).unwrap_err();
    assert!(
        error.to_string().contains("two cells are called `one`"),
        "{error}"
    );
}

#[test]
fn levels_follow_the_limit_of_frames() {
    let labels = |limit: u16| -> Vec<String> {
        let settings = Arm::Linear.settings(limit, false);
        settings.into_iter().map(|setting| setting.label).collect()
    };
    let levels = |numbers: &[u32]| -> Vec<String> {
        numbers
            .iter()
            .map(|level| format!("level = {level}"))
            .collect()
    };
    assert_eq!(labels(64), levels(&[8, 16, 24, 32, 40, 48]));
    assert_eq!(labels(32), levels(&[4, 8, 12, 16, 20, 24]));
    assert_eq!(
        labels(256),
        levels(&[8, 16, 24, 32, 40, 48, 64, 96, 128, 160, 192])
    );
}

/// A row of a cell of three stations.
fn point(arm: Arm, utility: f64, ping_p95_ms: f64) -> Row {
    Row {
        cell: "three".to_owned(),
        load: Load::Cubic,
        arm,
        setting: String::new(),
        goodput_mbps: 100.0,
        utility,
        ping_p50_ms: ping_p95_ms / 2.0,
        ping_p95_ms,
        ping_p99_ms: 2.0 * ping_p95_ms,
        wait_p95_ms: ping_p95_ms / 2.0,
        jain_airtime: 1.0,
        bottleneck_alarms: 0,
        stations: 3,
        seeds: 1,
    }
}

/// What is said of the bar whose name contains `words`.
fn verdict(rows: &[Row], words: &str) -> Option<(Outcome, String)> {
    let verdicts = judge(rows);
    let verdict = verdicts
        .into_iter()
        .find(|verdict| verdict.bar.contains(words))?;
    Some((verdict.outcome, verdict.figures))
}

#[test]
fn a_published_law_beats_ours_only_with_more_utility_and_less_delay() {
    let ours = [
        point(Arm::Price, -0.2, 10.0),
        point(Arm::Price, -0.05, 20.0),
        point(Arm::Airtime, 0.0, 50.0),
    ];
    let with = |utility: f64, delay: f64| {
        let mut rows = ours.to_vec();
        rows.push(point(Arm::LinearPf, utility, delay));
        verdict(&rows, "no published law").unwrap()
    };
    assert_eq!(
        with(-0.04, 17.0).0,
        Outcome::Holds,
        "utility is within the margin"
    );
    assert_eq!(
        with(0.0, 19.5).0,
        Outcome::Holds,
        "delay is within the margin"
    );
    assert_eq!(
        with(-0.3, 8.0).0,
        Outcome::Holds,
        "less utility for less delay"
    );
    let (outcome, figures) = with(-0.15, 9.0);
    assert_eq!(outcome, Outcome::Missed);
    assert!(
        figures.contains("linear-pf (-0.150, 9.0 ms) beats price (-0.200, 10.0 ms)"),
        "{figures}"
    );
    assert_eq!(
        verdict(&ours, "no published law"),
        None,
        "nothing to compare with"
    );
}

#[test]
fn the_defaults_are_held_against_the_access_points() {
    let mut rows = vec![
        point(Arm::Closed, -0.1, 900.0),
        point(Arm::Airtime, 0.0, 50.0),
        point(Arm::Default, -0.1, 20.0),
    ];
    rows[2].goodput_mbps = 84.0;
    let outcome = |rows: &[Row], words: &str| verdict(rows, words).map(|(outcome, _)| outcome);
    assert_eq!(outcome(&rows, "85 %"), Some(Outcome::Missed));
    assert_eq!(outcome(&rows, "closed AP's"), Some(Outcome::Missed));
    assert_eq!(outcome(&rows, "half"), Some(Outcome::Holds));
    assert_eq!(outcome(&rows, "25 ms"), None);
    for row in &mut rows {
        row.load = Load::Udp;
    }
    assert_eq!(outcome(&rows, "25 ms"), Some(Outcome::Holds));
    assert_eq!(outcome(&rows, "85 %"), None);
    rows[2].stations = 30;
    assert_eq!(outcome(&rows, "25 ms"), Some(Outcome::NotApplicable));
}

#[test]
fn a_latency_that_no_setting_reaches_is_not_held_against_the_arm() {
    let mut rows = vec![
        point(Arm::Latency, 0.0, 28.0),
        point(Arm::Price, -0.2, 24.0),
        point(Arm::Price, 0.0, 60.0),
    ];
    let outcome = |rows: &[Row]| verdict(rows, "latency").unwrap().0;
    assert_eq!(
        outcome(&rows),
        Outcome::NotApplicable,
        "the least wait is 12 ms"
    );
    rows[1].wait_p95_ms = 8.0;
    assert_eq!(outcome(&rows), Outcome::Missed);
    rows[0].wait_p95_ms = 10.9;
    assert_eq!(outcome(&rows), Outcome::Holds);
}
