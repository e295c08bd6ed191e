use super::case::{Case, Figures, Results, Run};
use super::claim::Claim;
use super::findings::{Bar, Findings};
use super::sample::Sample;
use super::verdicts::{RowKind, RowOutcome};
use super::{Completed, Effort, Progress, ReproduceError, render, reproduce, select, store};
use crate::catalogue;
use airpace_scenario::stop::Stop;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

fn claim(id: &str) -> Vec<Claim> {
    select(&catalogue(), &[id.to_owned()]).unwrap()
}

/// Reproduces without a test bed for real packets.
fn run(claims: &[Claim], effort: &Effort, stop: &Stop) -> Result<Completed, ReproduceError> {
    reproduce(claims, effort, None, &|_| {}, stop)
}

fn effort() -> Effort {
    Effort {
        duration: "200 ms".parse().ok(),
        seeds: Some(1),
        parallel: 2,
        ..Effort::default()
    }
}

#[test]
fn a_bar_holds_for_figures_in_its_range_and_never_for_nan() {
    let bars = [
        (Bar::AtLeast(5.0), 5.0, 4.99),
        (Bar::AtMost(5.0), 5.0, 5.01),
        (Bar::Above(5.0), 5.01, 5.0),
        (Bar::Below(5.0), 4.99, 5.0),
        (Bar::Between(4.0, 5.0), 4.0, 5.01),
        (Bar::About(5.0, 0.5), 5.5, 5.51),
    ];
    for (bar, good, bad) in bars {
        assert!(
            bar.holds(good) && !bar.holds(bad) && !bar.holds(f64::NAN),
            "{bar}"
        );
    }
}

#[test]
fn a_row_is_reproduced_only_if_all_its_relations_hold() {
    let mut findings = Findings::default();
    assert_eq!(findings.outcome(), RowOutcome::Not);
    assert!(findings.relate("ping", "ms", &Sample(vec![30.0, 40.0]), Bar::AtMost(35.0)));
    findings.because("ping", "not shown");
    assert_eq!(
        (findings.outcome(), findings.text().as_str()),
        (RowOutcome::Reproduced, "")
    );
    assert!(!findings.ratio("gain", &Sample(vec![f64::INFINITY]), Bar::AtLeast(3.0)));
    findings.because("gain", "nothing was sent");
    assert_eq!(findings.outcome(), RowOutcome::Not);
    assert_eq!(
        findings.text(),
        "missed: gain is not measured, bar ≥ 3; nothing was sent"
    );
    assert_eq!(findings.expected(), "ping: ≤ 35 ms; gain: ≥ 3");
    assert!(
        findings.measured().starts_with("ping: 35 ± 63.5 ms"),
        "{}",
        findings.measured()
    );
}

#[test]
fn samples_are_combined_seed_by_seed() {
    let (a, b) = (Sample(vec![10.0, 30.0]), Sample(vec![5.0, 10.0]));
    assert_eq!((&a / &b).0, [2.0, 3.0]);
    assert_eq!(
        Sample::geometric_mean(&[Sample::exactly(2.0), Sample::exactly(8.0)]).0,
        [4.0]
    );
    assert!((&a / &Sample(vec![f64::NAN, 1.0])).mean().is_nan());
    assert!(Sample::default().mean().is_nan());
}

#[test]
fn rows_of_the_model_are_reproduced() {
    for claim in catalogue()
        .into_iter()
        .filter(|claim| claim.kind == RowKind::Model)
    {
        let completed = run(&[claim], &effort(), &Stop::default()).unwrap();
        let row = &completed.reproduction.rows[0];
        assert_eq!(
            row.outcome,
            RowOutcome::Reproduced,
            "{}: {}",
            row.id,
            row.note
        );
        assert!(!row.measured.is_empty() && !row.expected.is_empty());
    }
}

#[test]
fn every_scenario_of_every_row_can_be_resolved() {
    for claim in catalogue() {
        let cases = (claim.cases)();
        let names: BTreeSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(
            names.len(),
            cases.len(),
            "{}: two cases have the same name",
            claim.id
        );
        for case in &cases {
            if let super::case::Source::Scenario { text, settings, .. } = &case.source {
                let loaded = super::case::load(text, settings, &[]);
                let resolved = loaded.map(|loaded| loaded.resolve().map_err(|error| error.message));
                assert!(
                    matches!(resolved, Ok(Ok(_))),
                    "{}, {}: {resolved:?}",
                    claim.id,
                    case.name
                );
            }
        }
    }
}

#[test]
fn rows_judge_only_figures_of_their_own_cases() {
    // Empty runs miss every bar. Asking for a case that the row does not have would panic.
    for claim in catalogue()
        .into_iter()
        .filter(|claim| claim.kind != RowKind::Model)
    {
        let empty = || {
            Arc::new(Run {
                seed: 1,
                summary: None,
                figures: Figures::new(),
                wall_s: 0.0,
            })
        };
        let cases = (claim.cases)()
            .into_iter()
            .map(|case: Case| (case.name, vec![empty()]))
            .collect();
        let findings = (claim.judge)(&Results { cases });
        assert_eq!(findings.outcome(), RowOutcome::Not, "{}", claim.id);
    }
}

#[test]
fn the_same_seed_gives_the_same_rows_and_files() {
    let run_and_store = || {
        let completed = run(&claim("004-T1"), &effort(), &Stop::default()).unwrap();
        let folder =
            std::env::temp_dir().join(format!("airpace-reproduce-test-{}", std::process::id()));
        let files = store::store(&folder, &completed).unwrap();
        let file = std::fs::read_to_string(&files[1]).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let text: Vec<String> = file
            .lines()
            .filter(|line| !line.contains("wall_s"))
            .map(str::to_owned)
            .collect();
        (completed, text)
    };
    let ((first, file), (second, again)) = (run_and_store(), run_and_store());
    assert_eq!(
        first.reproduction.rows[0].measured,
        second.reproduction.rows[0].measured
    );
    assert_eq!(file, again);
    let text = render::text(&first.reproduction);
    assert!(
        text.contains("004-T1") && text.contains("bar 80 ± 5 %"),
        "{text}"
    );
    assert!(render::markdown(&first.reproduction).contains("| FIFO, slow: airtime |"));
}

#[test]
fn rows_share_runs_and_a_stop_ends_them() {
    let rows = [claim("004-T1"), claim("004-F5")].concat();
    let completed = run(&rows, &effort(), &Stop::default()).unwrap();
    let first = |row: usize| &completed.runs[row]["fifo"][0];
    assert!(Arc::ptr_eq(first(0), first(1)));
    let stop = Stop::default();
    stop.raise();
    let result = run(&rows, &effort(), &stop);
    assert!(matches!(result, Err(ReproduceError::Stopped)));
}

#[test]
fn progress_is_reported_for_each_run_and_row() {
    let seen = Mutex::new(Vec::new());
    let progress = |event: Progress<'_>| seen.lock().unwrap().push(format!("{event:?}"));
    let rows = claim("000-F2");
    // One run at a time, so that the order is certain.
    let effort = Effort {
        parallel: 1,
        ..effort()
    };
    reproduce(&rows, &effort, None, &progress, &Stop::default()).unwrap();
    let seen = seen.into_inner().unwrap();
    let rows = seen.iter().filter(|event| event.contains("000-F2"));
    assert_eq!(rows.count(), 1);
    let runs: Vec<&str> = seen
        .iter()
        .map(String::as_str)
        .filter(|event| event.starts_with("Runs"))
        .collect();
    let expected = [0, 1, 2].map(|done| format!("Runs {{ done: {done}, total: 2 }}"));
    assert_eq!(runs, expected);
}

#[test]
fn a_row_of_real_packets_says_that_it_needs_a_test_bed() {
    let completed = run(&claim("002-F9-live"), &effort(), &Stop::default()).unwrap();
    let row = &completed.reproduction.rows[0];
    assert_eq!(row.outcome, RowOutcome::Not);
    assert!(row.note.contains("no test bed"), "{}", row.note);
}

#[test]
#[ignore = "all rows of 003 and 004, three minutes in release"]
fn most_rows_of_003_and_004_are_reproduced() {
    let rows = select(&catalogue(), &["003".to_owned(), "004".to_owned()]).unwrap();
    let effort = Effort {
        seeds: Some(3),
        ..Effort::default()
    };
    let completed = run(&rows, &effort, &Stop::default()).unwrap();
    println!("{}", render::text(&completed.reproduction));
    // The rows that do not depend on channel conditions that the papers leave open.
    for id in [
        "003-T1", "003-F2/3", "003-F7", "004-F6", "004-F8", "004-F11",
    ] {
        let row = completed
            .reproduction
            .rows
            .iter()
            .find(|row| row.id == id)
            .unwrap();
        assert_eq!(row.outcome, RowOutcome::Reproduced, "{id}: {}", row.note);
    }
}
