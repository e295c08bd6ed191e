use super::model::{Dashboard, Input, Sort};
use super::view;
use airpace_api::operator::{ApStatus, EdgeEvent, EdgeStationStatus, EdgeStatus};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

/// What stands on a screen of this size.
fn screen(dashboard: &Dashboard, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| view::draw(frame, dashboard)).unwrap();
    let buffer = terminal.backend().buffer();
    let mut text = String::new();
    for y in 0..height {
        let line: String = (0..width).map(|x| buffer[(x, y)].symbol()).collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// A station with all well.
fn station(number: u8, name: &str, mbps: f64) -> EdgeStationStatus {
    EdgeStationStatus {
        mac: format!("02:00:00:00:00:{number:02x}"),
        name: Some(name.to_owned()),
        rate_mbps: Some(1.02 * mbps),
        level: Some(21.3),
        wait_p50_ms: Some(4.2),
        wait_p95_ms: Some(9.6),
        sensor: Some("ack-burst".to_owned()),
        confidence: Some(0.8),
        share: Some(0.3),
        limited_by: "fair-share".to_owned(),
        reason: format!(
            "paced to its fair share of the air: it gets {mbps:.0} Mbit/s of the {:.0} Mbit/s it may \
             have; the air is shared with 2 other stations",
            1.02 * mbps
        ),
        mean_sent_mbps: mbps,
        mean_goodput_mbps: Some(mbps),
        phy_mbps: Some(390.0),
        phy_assumed: true,
        sojourn_p50_ms: Some(8.1),
        sojourn_p95_ms: Some(14.0),
        wifi_delay_ms: Some(12.3),
        backhaul_rtt_ms: Some(15.2),
        backhaul_delay_ms: Some(0.4),
        ..EdgeStationStatus::default()
    }
}

fn event(number: u64, seconds_ago: f64, name: &str, text: &str) -> EdgeEvent {
    EdgeEvent {
        number,
        unix_s: 1_790_000_120.0 - seconds_ago,
        kind: "station-joined".to_owned(),
        ap: Some("hall".to_owned()),
        station: None,
        name: Some(name.to_owned()),
        text: text.to_owned(),
    }
}

fn status(stations: Vec<EdgeStationStatus>, events: Vec<EdgeEvent>) -> EdgeStatus {
    EdgeStatus {
        version: "0.0.0".to_owned(),
        uptime_s: 3_960.0,
        wan: "eth0".to_owned(),
        aim: "balanced".to_owned(),
        unix_s: 1_790_000_120.0,
        access_points: vec![ApStatus {
            name: "hall".to_owned(),
            ports: vec!["eth1".to_owned()],
            active_stations: stations.len() as u64,
            stations,
            ..ApStatus::default()
        }],
        events,
        ..EdgeStatus::default()
    }
}

/// A dashboard that has seen a status for two minutes.
fn dashboard(last: &EdgeStatus) -> Dashboard {
    let mut dashboard = Dashboard::new(false);
    for second in 0..=120 {
        let mut then = last.clone();
        then.unix_s = last.unix_s - 120.0 + f64::from(second);
        for station in &mut then.access_points[0].stations {
            // It was well in the first minute.
            if second < 60 && station.limited_by != "fair-share" {
                station.mean_goodput_mbps = Some(60.0);
                station.wait_p95_ms = Some(9.0);
            }
        }
        dashboard.take(Ok(then));
    }
    dashboard
}

fn slow_station() -> Dashboard {
    let mut slow = station(3, "old-printer", 9.3);
    slow.limited_by = "slow-station".to_owned();
    slow.reason = "slow on the air: its PHY rate is 13 Mbit/s, that of the fastest station 390 Mbit/s; it \
                   gets 9.3 Mbit/s of the 9.5 Mbit/s it may have, and takes 34 % of the air for that"
        .to_owned();
    (slow.phy_mbps, slow.phy_assumed) = (Some(13.0), false);
    (slow.level, slow.share, slow.wait_p95_ms) = (Some(4.0), Some(0.34), Some(31.0));
    slow.sensor = Some("block-ack".to_owned());
    let events = vec![
        event(1, 3_000.0, "tv", "has joined"),
        event(2, 65.0, "old-printer", "has joined"),
    ];
    dashboard(&status(
        vec![station(1, "tv", 94.0), station(2, "laptop", 88.0), slow],
        events,
    ))
}

fn backhaul() -> Dashboard {
    let mut behind = station(2, "laptop", 30.0);
    behind.limited_by = "backhaul".to_owned();
    behind.reason = "the bottleneck is on the wired side, before the box: a round trip to the server takes \
                     180 ms, 165 ms of which is spent in a queue, and only 30 Mbit/s arrive of the 190 \
                     Mbit/s it may have"
        .to_owned();
    behind.rate_mbps = Some(190.0);
    (behind.backhaul_rtt_ms, behind.backhaul_delay_ms) = (Some(180.0), Some(165.0));
    (behind.sojourn_p50_ms, behind.wifi_delay_ms) = (Some(0.0), Some(4.2));
    dashboard(&status(vec![station(1, "tv", 5.0), behind], Vec::new()))
}

fn lost_sensor() -> Dashboard {
    let mut blind = station(1, "tv", 19.0);
    blind.limited_by = "sensor-lost".to_owned();
    blind.reason =
        "sensor lost: its agent has not reported for 61 s; meanwhile its rate is an estimate: \
                    it gets 19 Mbit/s of the 20 Mbit/s it may have"
            .to_owned();
    blind.sensor = Some("none".to_owned());
    blind.lost_sensor = Some("agent".to_owned());
    (blind.confidence, blind.level) = (Some(0.0), None);
    (blind.wait_p50_ms, blind.wait_p95_ms) = (None, None);
    (blind.goodput_mbps, blind.mean_goodput_mbps) = (None, None);
    let events = vec![event(
        9,
        61.0,
        "tv",
        "has lost its agent sensor: no sensor observes it now",
    )];
    dashboard(&status(vec![blind, station(2, "laptop", 88.0)], events))
}

fn assert_screen(dashboard: &Dashboard, width: u16, height: u16, expected: &str) {
    let shown = screen(dashboard, width, height);
    assert!(shown == expected, "shown:\n{shown}\nexpected:\n{expected}");
}

#[test]
fn a_slow_station_is_told_on_a_small_screen() {
    let expected = include_str!("snapshots/slow-station.txt");
    assert_screen(&slow_station(), 80, 24, expected);
}

#[test]
fn a_bottleneck_in_the_backhaul_is_told_on_a_small_screen() {
    let expected = include_str!("snapshots/backhaul.txt");
    assert_screen(&backhaul(), 80, 24, expected);
}

#[test]
fn a_lost_sensor_is_told_on_a_small_screen() {
    let expected = include_str!("snapshots/sensor-lost.txt");
    assert_screen(&lost_sensor(), 80, 24, expected);
}

#[test]
fn a_radio_that_is_down_is_told_although_no_station_needs_it() {
    let mut last = status(vec![station(1, "tv", 94.0)], Vec::new());
    let trouble = "the radio air0 near the access point has been down for 9 s";
    last.access_points[0].radio_trouble = Some(trouble.to_owned());
    let shown = screen(&dashboard(&last), 80, 24);
    assert!(shown.contains(&trouble[4..]), "{shown}");
}

#[test]
fn a_wide_screen_has_the_reason_of_every_station() {
    let expected = include_str!("snapshots/wide.txt");
    assert_screen(&slow_station(), 160, 24, expected);
}

#[test]
fn a_box_that_goes_away_is_told_and_its_return_ends_that() {
    let mut dashboard = slow_station();
    let last = dashboard.status.clone().unwrap();
    dashboard.take(Err(
        "no airpace edge runs in this network namespace".to_owned()
    ));
    let shown = screen(&dashboard, 80, 24);
    assert!(shown.contains("NO ANSWER"), "{shown}");
    assert!(
        shown.contains("old-printer"),
        "the last figures stay: {shown}"
    );
    dashboard.take(Ok(last));
    let shown = screen(&dashboard, 80, 24);
    assert!(!shown.contains("NO ANSWER"), "{shown}");
}

#[test]
fn arrows_choose_the_station_and_the_order() {
    let mut dashboard = slow_station();
    let order = |dashboard: &Dashboard| -> Vec<String> {
        let rows = dashboard.rows().into_iter();
        rows.map(|row| row.label().to_owned()).collect()
    };
    assert_eq!(order(&dashboard), ["old-printer", "tv", "laptop"]);
    dashboard.handle(Input::Down);
    dashboard.handle(Input::SortRight);
    assert_eq!(dashboard.sort, Sort::Name);
    assert_eq!(order(&dashboard), ["laptop", "old-printer", "tv"]);
    assert_eq!(dashboard.selected_index(), 2, "the tv stays selected");
    dashboard.handle(Input::Down);
    assert_eq!(dashboard.selected_index(), 2);
    dashboard.handle(Input::SortRight);
    assert_eq!(order(&dashboard), ["tv", "laptop", "old-printer"]);
    for _ in 0..3 {
        dashboard.handle(Input::Up);
    }
    assert_eq!(dashboard.selected_index(), 0);
    dashboard.handle(Input::NextAp);
    dashboard.handle(Input::PreviousAp);
    assert_eq!(dashboard.ap().map(|(index, _)| index), Some(0));
}

#[test]
fn any_size_of_the_screen_and_any_status_can_be_drawn() {
    let empty = Dashboard::new(true);
    let mut crowd = Vec::new();
    for number in 0..60 {
        crowd.push(station(number, "a name that is far too long 端末", 1e9));
    }
    let mut crowd = dashboard(&status(crowd, Vec::new()));
    for _ in 0..59 {
        crowd.handle(Input::Down);
    }
    for (width, height) in [(1, 1), (10, 3), (79, 12), (80, 24), (300, 90)] {
        for shown in [&empty, &crowd, &lost_sensor()] {
            screen(shown, width, height);
        }
    }
    let none = EdgeStatus {
        passing: Some("eth1 was removed".to_owned()),
        ..EdgeStatus::default()
    };
    let mut dashboard = Dashboard::new(true);
    dashboard.take(Ok(none));
    for input in [Input::Up, Input::Down, Input::NextAp, Input::PreviousAp] {
        dashboard.handle(input);
    }
    assert!(screen(&dashboard, 80, 24).contains("ALL FRAMES PASS UNPACED: eth1 was removed"));
}
