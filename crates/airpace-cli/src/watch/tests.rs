use super::model::Watched;
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

#[test]
fn a_run_is_drawn_with_rates_levels_and_delays() {
    let (mut watched, looks) = watched();
    assert!(looks > 100, "{looks}");
    assert_screen(&mut watched, 80, 12, include_str!("snapshots/cell.txt"));
    assert_screen(&mut watched, 100, 12, include_str!("snapshots/wide.txt"));
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
