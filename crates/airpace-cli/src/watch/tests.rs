use super::model::{Histories, Watched};
use super::{Input, ahead, view};
use airpace_scenario::Loaded;
use airpace_scenario::run;
use airpace_scenario::stop::Stop;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::time::Duration;

const CELL: &str = "\
title = \"a cell\"
duration = \"1 s\"
warm_up = \"200 ms\"
[[node]]
kind = \"ap\"
[[node]]
kind = \"station\"
count = 3
rate = [\"mcs 9\", \"mcs 4\", \"mcs 1\"]
[[flow]]
kind = \"udp-cbr\"
rate = \"8 Mbit/s\"
[[flow]]
kind = \"udp-cbr\"
name = \"up\"
from = \"station-1\"
to = \"ap\"
rate = \"2 Mbit/s\"
[[proxy]]
";

/// What stands on a screen of this size.
fn screen(watched: &mut Watched, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| view::draw(frame, watched)).unwrap();
    let buffer = terminal.backend().buffer();
    let mut text = String::new();
    for y in 0..height {
        let line: String = (0..width).map(|x| buffer[(x, y)].symbol()).collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// What is shown at the end of the run of [`CELL`], which takes half a second by its clock, and how
/// often it was looked at.
fn watched() -> (Watched, u32) {
    let loaded = Loaded::new(CELL, Vec::new(), ".".as_ref()).unwrap();
    let resolved = loaded.resolve().unwrap();
    let mut watched = Watched::new(&loaded.scenario.title, &resolved, false);
    let mut looks = 0;
    run::watched(&loaded, resolved, &Stop::default(), &mut |world| {
        looks += 1;
        watched.take(world, Duration::from_millis(500));
    })
    .unwrap()
    .unwrap();
    (watched, looks)
}

fn assert_screen(watched: &mut Watched, width: u16, height: u16, expected: &str) {
    let shown = screen(watched, width, height);
    assert!(shown == expected, "shown:\n{shown}\nexpected:\n{expected}");
}

/// The same network with figures that no change of the simulator moves: in the second half, levels
/// and delays are higher.
fn invented() -> Watched {
    let (mut watched, _) = watched();
    (watched.done_s, watched.speed) = (0.6, 2.4);
    watched.busy[0].1 = 0.42;
    for (place, row) in (1..).zip(&mut watched.rows) {
        let place = f64::from(place);
        row.mbps = Some(200.0 / place);
        row.paced_mbps = (place > 1.0).then_some(210.0 / place);
        row.level = Some(6.0 * place);
        row.phy_mbps = Some(390.0 / place);
        (row.delay_ms, row.longest_ms) = (Some(10.0 * place), Some(25.0 * place));
        row.histories = Histories::over(1.2);
        for slot in 1..=6_u32 {
            let (at_s, half) = (f64::from(slot) / 10.0, f64::from(slot / 4 + 1));
            row.histories.goodput.add(at_s, row.mbps);
            row.histories.level.add(at_s, Some(3.0 * place * half));
            row.histories.delay.add(at_s, Some(5.0 * place * half));
        }
    }
    watched
}

#[test]
fn rates_levels_and_delays_are_drawn() {
    let mut watched = invented();
    assert_screen(&mut watched, 80, 12, include_str!("snapshots/cell.txt"));
    assert_screen(&mut watched, 100, 12, include_str!("snapshots/wide.txt"));
}

#[test]
fn the_figures_are_those_of_the_network() {
    let (watched, looks) = watched();
    assert!(looks > 100, "{looks}");
    let names: Vec<&str> = watched.rows.iter().map(|row| &*row.name).collect();
    assert_eq!(names, ["ap", "station-1", "station-2", "station-3"]);
    for (row, (mbps, phy_mbps)) in watched.rows.iter().zip([
        // The packets have 28 bytes of headers; the access point is sent the upload.
        (2.0, 390.0),
        (8.0, 390.0),
        (8.0, 175.5),
        (8.0, 58.5),
    ]) {
        assert!((row.mbps.unwrap() / mbps - 1.0).abs() < 0.15, "{row:?}");
        assert!((row.phy_mbps.unwrap() - phy_mbps).abs() < 1e-6, "{row:?}");
        assert!(row.level.unwrap() >= 1.0, "{row:?}");
        assert!(row.delay_ms <= row.longest_ms, "{row:?}");
        assert_eq!(row.paced_mbps.is_some(), row.name != "ap", "{row:?}");
    }
    assert!((watched.done_s - 1.2).abs() < 1e-9);
    assert!((watched.speed - 2.4).abs() < 1e-9);
    assert!(
        (0.1..0.9).contains(&watched.busy[0].1),
        "{:?}",
        watched.busy
    );
}

#[test]
fn a_pause_is_told_and_rows_scroll() {
    let (mut watched, _) = watched();
    watched.handle(Input::Pause);
    for _ in 0..9 {
        watched.handle(Input::Down);
    }
    // Four lines of heading, that of the table, the keys, and two rows.
    let shown = screen(&mut watched, 80, 8);
    assert!(shown.contains("PAUSED"), "{shown}");
    assert!(!shown.contains("station-1"), "{shown}");
    assert!(shown.contains("station-3"), "{shown}");
    watched.handle(Input::Up);
    watched.handle(Input::Pause);
    let shown = screen(&mut watched, 80, 8);
    assert!(
        shown.contains("station-1") && !shown.contains("PAUSED"),
        "{shown}"
    );
}

#[test]
fn any_size_of_the_screen_can_be_drawn() {
    let (mut watched, _) = watched();
    for (width, height) in [(1, 1), (10, 3), (79, 12), (300, 90)] {
        screen(&mut watched, width, height);
    }
}

#[test]
fn a_run_waits_for_the_speed_that_is_asked_for() {
    let (second, half) = (Duration::from_secs(1), Duration::from_millis(500));
    assert_eq!(ahead(second, half, 1.0), half);
    assert_eq!(ahead(second, half, 2.0), Duration::ZERO);
    assert_eq!(ahead(second, half, 4.0), Duration::ZERO);
    assert_eq!(ahead(second, half, 1e-300), Duration::MAX - half);
}
