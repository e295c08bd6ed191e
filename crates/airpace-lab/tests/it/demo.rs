//! The demo, without the arms that need an airpace program.

use crate::namespaces_allowed;
use airpace_lab::demo::{self, ArmKind, DemoOptions, Progress};
use airpace_lab::results::DemoSummary;
use airpace_lab::tool::Stop;
use std::path::PathBuf;
use std::time::{Duration, Instant};

fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("airpace-lab-it-{name}-{}", std::process::id()))
}

/// The arms without a proxy, for a second or two each.
fn short(name: &str) -> DemoOptions {
    DemoOptions {
        cells: vec![vec![9, 1]],
        arms: vec![ArmKind::Cubic, ArmKind::Bbr],
        idle: Duration::from_millis(500),
        load: Duration::from_millis(2_000),
        ramp: Duration::from_millis(500),
        ..DemoOptions::new(scratch(name), "/nonexistent/airpace".into())
    }
}

#[test]
fn a_short_demo_leaves_a_summary_and_series() {
    if !namespaces_allowed() {
        return;
    }
    let options = short("short");
    let mut arms_done = 0;
    let mut progress =
        |event: Progress<'_>| arms_done += u32::from(matches!(event, Progress::ArmDone { .. }));
    let summary = demo::run(&options, &Stop::default(), &mut progress).unwrap();
    assert_eq!(arms_done, 2);
    let text = std::fs::read_to_string(options.out.join("summary.json")).unwrap();
    let stored: DemoSummary = serde_json::from_str(&text).unwrap();
    assert_eq!(stored.arms.len(), 2);
    assert_eq!(stored.arms[0].per_station.len(), 2);
    for arm in &summary.arms {
        let figures = &arm.figures;
        assert!(figures.goodput_mbps > 1.0 && figures.level > 1.0, "{arm:?}");
        assert!(
            figures.idle_ping_ms.p50 >= 2.0 && figures.ping_ms.p50 > figures.idle_ping_ms.p50,
            "{arm:?}"
        );
        assert!(arm.jain_airtime > 0.5 && arm.jain_airtime <= 1.0, "{arm:?}");
        assert!(
            options
                .out
                .join(format!("series-2-{}.json", arm.name))
                .exists()
        );
    }
    std::fs::remove_dir_all(&options.out).unwrap();
}

#[test]
fn a_demo_that_is_stopped_ends_at_once() {
    if !namespaces_allowed() {
        return;
    }
    let options = DemoOptions {
        load: Duration::from_secs(60),
        ..short("stopped")
    };
    let stop = Stop::default();
    let begun = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(1_500));
            stop.raise();
        });
        assert!(demo::run(&options, &stop, &mut |_| {}).is_err());
    });
    assert!(
        begun.elapsed() < Duration::from_secs(15),
        "{:?}",
        begun.elapsed()
    );
    std::fs::remove_dir_all(&options.out).unwrap();
}

#[test]
fn the_error_names_a_program_that_cannot_be_started() {
    if !namespaces_allowed() {
        return;
    }
    let options = DemoOptions {
        arms: vec![ArmKind::AirpaceCubic],
        ..short("noproxy")
    };
    let error = format!(
        "{:#}",
        demo::run(&options, &Stop::default(), &mut |_| {}).unwrap_err()
    );
    assert!(error.contains("/nonexistent/airpace"), "{error}");
    std::fs::remove_dir_all(&options.out).unwrap();
}
