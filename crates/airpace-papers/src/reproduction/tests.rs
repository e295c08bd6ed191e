use super::case::{Case, Figures, Results, Run};
use super::claim::Claim;
use super::findings::{Bar, Findings, Printed};
use super::sample::Sample;
use super::store::Store;
use super::verdicts::{RowKind, Verdict};
use super::{Completed, Effort, Progress, ReproduceError, render, reproduce, select};
use crate::catalogue;
use airpace_scenario::stop::Stop;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

fn claim(id: &str) -> Vec<Claim> {
    select(&catalogue(), &[id.to_owned()]).unwrap()
}

/// Reproduces without a test bed for real packets.
fn run(claims: &[Claim], effort: &Effort, stop: &Stop) -> Result<Completed, ReproduceError> {
    reproduce(claims, effort, None, None, &|_| {}, stop)
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
fn a_verdict_is_that_of_the_whole_interval() {
    use Verdict::{Holds, Inconclusive, Missed};
    // The interval of these is 35 ± 63.5.
    let wide = Sample::of(vec![30.0, 40.0]);
    let narrow = Sample::of(vec![34.999, 35.001]);
    let cases = [
        (Bar::AtMost(35.0), &wide, Inconclusive),
        (Bar::AtMost(100.0), &wide, Holds),
        (Bar::AtLeast(100.0), &wide, Missed),
        (Bar::Between(30.0, 40.0), &narrow, Holds),
        (Bar::Between(30.0, 40.0), &wide, Inconclusive),
        (Bar::About(50.0, 5.0), &narrow, Missed),
        (Bar::Below(35.0), &Sample::exactly(35.0), Missed),
        (Bar::Above(34.0), &Sample::exactly(35.0), Holds),
        // One run has no interval, and an event that never came misses every bar.
        (Bar::Above(34.0), &Sample::of(vec![35.0]), Inconclusive),
        (
            Bar::AtLeast(3.0),
            &Sample::of(vec![f64::INFINITY, 4.0]),
            Missed,
        ),
        (Bar::AtLeast(3.0), &Sample::default(), Missed),
    ];
    for (bar, sample, verdict) in cases {
        assert_eq!(bar.verdict(sample), verdict, "{bar} {sample:?}");
    }
}

#[test]
fn what_misses_a_printed_mean_by_less_than_its_uncertainty_is_inconclusive() {
    // Standard deviation 2: means over 4 runs are uncertain by 1.96 · 2 / √4 = 1.96, ours over 16 by
    // 0.95.
    let spread = [2.0_f64, -2.0].map(|half| half * (15.0_f64 / 16.0).sqrt());
    let at = |mean: f64| Sample::of((0..16).map(|run| mean + spread[run % 2]).collect());
    assert!((at(0.0).ci95_of_others(4) - 1.96).abs() < 1e-9);
    let bar = Bar::About(30.0, 5.0);
    let verdict = |mut findings: Findings, printed, bar, mean| {
        findings.ratio("ping", printed, &at(mean), bar);
        findings.verdict()
    };
    let figure = Printed::Figure(30.0);
    for (mean, expected) in [
        (33.0, Verdict::Holds),
        (35.5, Verdict::Inconclusive),
        (37.0, Verdict::Inconclusive),
        (39.0, Verdict::Missed),
    ] {
        assert_eq!(
            verdict(Findings::of_printed_means(4), figure, bar, mean),
            expected,
            "{mean}"
        );
    }
    // Words, bounds on one side, and figures of other papers miss as they are.
    let four = || Findings::of_printed_means(4);
    assert_eq!(
        verdict(four(), Printed::Words("about 30"), bar, 37.0),
        Verdict::Missed
    );
    assert_eq!(
        verdict(four(), figure, Bar::AtMost(35.0), 37.0),
        Verdict::Missed
    );
    assert_eq!(
        verdict(Findings::default(), figure, bar, 37.0),
        Verdict::Missed
    );
    assert!(four().text().contains("means over 4 runs"));
}

#[test]
fn a_row_holds_only_if_all_its_relations_hold() {
    let mut findings = Findings::default();
    assert_eq!(findings.verdict(), Verdict::Missed);
    let ping = Sample::of(vec![30.0, 30.0]);
    findings.relate(
        "ping",
        "ms",
        Printed::Figure(24.0),
        &ping,
        Bar::AtMost(35.0),
    );
    assert_eq!(
        (findings.verdict(), findings.text().as_str()),
        (Verdict::Holds, "")
    );
    let one = Sample::of(vec![3.5]);
    findings.ratio("gain", Printed::Range(4.0, 5.0), &one, Bar::AtLeast(3.0));
    assert_eq!(findings.verdict(), Verdict::Inconclusive);
    findings.ratio(
        "loss",
        Printed::Words("none"),
        &Sample::exactly(2.0),
        Bar::AtMost(0.0),
    );
    findings.variant("a longer queue", &Sample::exactly(0.0));
    assert_eq!(findings.verdict(), Verdict::Missed);
    assert_eq!(
        findings.text(),
        "inconclusive: gain is 3.5, bar ≥ 3; missed: loss is 2, bar ≤ 0 (holds with a longer queue)"
    );
    let results = findings.results();
    assert_eq!(results[0].printed, "24 ms");
    assert_eq!(results[0].deviation_percent, Some(25.0));
    assert_eq!(results[1].deviation_percent, Some(-12.5));
    assert_eq!(results[2].deviation_percent, None);
    assert_eq!(results[2].variants[0].verdict, Verdict::Holds);
}

#[test]
fn a_variant_without_a_figure_has_no_verdict_and_a_relation_without_one_is_missed() {
    let nothing = Sample::of(vec![f64::NAN, f64::NAN]);
    let rendered = |judged: &Sample| {
        let mut completed = run(&claim("000-F9"), &effort(), &Stop::default()).unwrap();
        let mut findings = Findings::default();
        let bar = Bar::AtMost(35.0);
        findings.relate("ping", "ms", Printed::Figure(24.0), judged, bar);
        findings.variant("a longer queue", &nothing);
        findings.variant("a shorter queue", &Sample::exactly(50.0));
        let row = &mut completed.reproduction.rows[0];
        (row.relations, row.verdict) = (findings.results(), findings.verdict());
        let verdict = row.verdict;
        let pages = [
            render::text(&completed.reproduction),
            render::markdown(&completed.reproduction),
        ];
        (verdict, pages)
    };
    let line = |page: &str, what: &str| {
        let line = page.lines().find(|line| line.contains(what)).unwrap();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };

    let (verdict, [text, markdown]) = rendered(&Sample::exactly(30.0));
    assert_eq!(verdict, Verdict::Holds);
    assert_eq!(
        line(&text, "longer"),
        "with a longer queue not measured",
        "{text}"
    );
    assert_eq!(
        line(&text, "shorter"),
        "with a shorter queue 50 ms missed",
        "{text}"
    );
    assert_eq!(
        line(&markdown, "longer"),
        "| … with a longer queue | | | | | not measured |"
    );
    assert_eq!(
        line(&markdown, "shorter"),
        "| … with a shorter queue | | 50 ms | | | **missed** |"
    );

    let (verdict, [text, markdown]) = rendered(&nothing);
    assert_eq!(verdict, Verdict::Missed);
    assert!(
        line(&text, "ping").starts_with("! ping not measured"),
        "{text}"
    );
    assert!(line(&markdown, "| ping").ends_with("| **missed** |"));
}

#[test]
fn samples_are_combined_seed_by_seed() {
    let (a, b) = (Sample::of(vec![10.0, 30.0]), Sample::of(vec![5.0, 10.0]));
    assert_eq!((&a / &b).values, [2.0, 3.0]);
    assert_eq!((&a / &Sample::exactly(10.0)).values, [1.0, 3.0]);
    let exact = Sample::geometric_mean(&[Sample::exactly(2.0), Sample::exactly(8.0)]);
    assert!(exact.exact && exact.values == [4.0]);
    assert!((&a / &Sample::of(vec![f64::NAN, 1.0])).mean().is_nan());
    assert!(Sample::default().mean().is_nan());
}

#[test]
fn rows_of_the_model_hold() {
    for claim in catalogue()
        .into_iter()
        .filter(|claim| claim.kind == RowKind::Model)
    {
        let completed = run(&[claim], &effort(), &Stop::default()).unwrap();
        let row = &completed.reproduction.rows[0];
        assert_eq!(row.verdict, Verdict::Holds, "{}: {}", row.id, row.note);
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
                settings: String::new(),
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
        assert_ne!(findings.verdict(), Verdict::Holds, "{}", claim.id);
    }
}

/// A folder of this test's own, which does not exist yet.
fn folder(name: &str) -> std::path::PathBuf {
    let name = format!("airpace-reproduce-{name}-{}", std::process::id());
    std::env::temp_dir().join(name)
}

#[test]
fn the_same_seed_gives_the_same_rows_and_files() {
    let folder = folder("same");
    let run_and_store = || {
        let store = Store::new(&folder, false).unwrap();
        let stop = Stop::default();
        let claims = claim("004-F1/4");
        let completed = reproduce(&claims, &effort(), None, Some(&store), &|_| {}, &stop).unwrap();
        let file = std::fs::read_to_string(folder.join("004-F1-4.json")).unwrap();
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
        text.contains("004-F1/4")
            && text.contains("bar 35 ± 10 ms")
            && text.contains("paper 35 ms"),
        "{text}"
    );
    assert!(
        render::markdown(&first.reproduction).contains("| fq-codel, fast: median ping | 35 ms")
    );
}

#[test]
fn finished_rows_survive_a_stop_and_are_resumed() {
    let folder = folder("resume");
    let stop = Stop::default();
    let rows = [claim("000-F2"), claim("000-F8")].concat();
    let effort = Effort {
        parallel: 1,
        ..effort()
    };
    // The stop comes when the first row is judged.
    let raise = |event: Progress<'_>| {
        if matches!(event, Progress::RowJudged { .. }) {
            stop.raise();
        }
    };
    let store = Store::new(&folder, false).unwrap();
    let stopped = reproduce(&rows, &effort, None, Some(&store), &raise, &stop).unwrap();
    assert!(stopped.reproduction.interrupted);
    assert_eq!(stopped.reproduction.rows.len(), 1);
    assert!(folder.join("000-F2.json").exists() && !folder.join("000-F8.json").exists());

    let store = Store::new(&folder, true).unwrap();
    let again = reproduce(
        &rows,
        &effort,
        None,
        Some(&store),
        &|_| {},
        &Stop::default(),
    )
    .unwrap();
    assert!(!again.reproduction.interrupted);
    // The runs of the first row were not made again: even their wall time is the same.
    let before = &stopped.reproduction.rows[0];
    assert_eq!(&again.reproduction.rows[0], before);
    // With other settings they are.
    let longer = Effort {
        horizon: 2.0,
        ..effort
    };
    let first = &rows[..1];
    let longer = reproduce(
        first,
        &longer,
        None,
        Some(&store),
        &|_| {},
        &Stop::default(),
    )
    .unwrap();
    assert_ne!(longer.reproduction.rows[0].wall_s, before.wall_s);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_horizon_multiplies_the_measured_time() {
    let effort = Effort {
        horizon: 2.0,
        ..effort()
    };
    let completed = run(&claim("000-F2"), &effort, &Stop::default()).unwrap();
    let summary = completed.runs[0]["low"][0].summary.as_ref().unwrap();
    assert!((summary.duration_s - 0.4).abs() < 1e-9);
}

#[test]
fn rows_share_runs_and_a_stop_ends_them() {
    // The same runs in both rows.
    let rows = [claim("004-F1/4"), claim("004-F1/4")].concat();
    let completed = run(&rows, &effort(), &Stop::default()).unwrap();
    let first = |row: usize| &completed.runs[row]["fifo"][0];
    assert!(Arc::ptr_eq(first(0), first(1)));
    let stop = Stop::default();
    stop.raise();
    let stopped = run(&rows, &effort(), &stop).unwrap();
    assert!(stopped.reproduction.interrupted && stopped.reproduction.rows.is_empty());
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
    reproduce(&rows, &effort, None, None, &progress, &Stop::default()).unwrap();
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
    assert_eq!(row.verdict, Verdict::Missed);
    assert!(row.note.contains("no test bed"), "{}", row.note);
}

#[test]
#[ignore = "all rows of 003 and 004, minutes in release"]
fn the_rows_of_003_and_004_that_do_not_depend_on_open_conditions_are_not_missed() {
    let rows = select(&catalogue(), &["003".to_owned(), "004".to_owned()]).unwrap();
    let effort = Effort {
        seeds: Some(3),
        ..Effort::default()
    };
    let completed = run(&rows, &effort, &Stop::default()).unwrap();
    println!("{}", render::text(&completed.reproduction));
    for id in ["003-T1", "003-F2/3", "003-F7", "004-F11"] {
        let mut rows = completed.reproduction.rows.iter();
        let row = rows.find(|row| row.id == id).unwrap();
        assert_ne!(row.verdict, Verdict::Missed, "{id}: {}", row.note);
    }
}
