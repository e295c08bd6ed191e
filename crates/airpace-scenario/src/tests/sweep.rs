//! Sweeps.

use super::*;
use crate::sweep::{self, Completion, Execution, Job, Journal};
use std::time::Duration;

fn execute(
    jobs: &[Job],
    journal: &mut Journal,
    parallel: usize,
    stop: &Stop,
) -> anyhow::Result<Completion> {
    let execution = Execution {
        parallel,
        stop,
        progress: &Silent,
        clock: &|| Duration::ZERO,
    };
    sweep::execute(jobs, journal, &execution)
}

#[test]
fn a_sweep_runs_each_job_once_and_resumes_where_it_stopped() {
    let out = std::env::temp_dir().join(format!("airpace-sim-sweep-{}", std::process::id()));
    fs::remove_dir_all(&out).ok();
    let axes = ["node.station.count=1,2".parse().unwrap()];
    let jobs = sweep::jobs(&loaded(CELL, &[]), &axes, 2).unwrap();
    let first_point = sweep::jobs(&loaded(CELL, &["node.station.count=1"]), &[], 1).unwrap();
    let mut journal = sweep::Journal::open(&out).unwrap();
    assert!(
        execute(&first_point, &mut journal, 1, &Stop::default())
            .unwrap()
            .complete
    );
    assert_eq!(journal.runs().len(), 1);
    let stopped = Stop::default();
    stopped.raise();
    assert!(!execute(&jobs, &mut journal, 2, &stopped).unwrap().complete);
    assert!(
        execute(&jobs, &mut journal, 2, &Stop::default())
            .unwrap()
            .complete
    );
    assert_eq!(
        journal.runs().len(),
        4,
        "the run that was there is the same as the first of the grid"
    );
    let rows = sweep::rows(&sweep::finished(&jobs, &journal));
    drop(journal);
    assert_eq!(rows.len(), 2);
    assert_eq!((rows[0].runs, rows[1].runs), (2, 2));
    assert!(
        (rows[1].goodput_mbps.mean.unwrap() - 100.0).abs() < 5.0,
        "{rows:?}"
    );
    assert!(rows[1].goodput_mbps.ci95.is_some());
    assert!(sweep::table(&rows).contains("node.station.count=2"));
    let wrong = sweep::jobs(
        &loaded(CELL, &[]),
        &["node.station.rate.mcs=9,12".parse().unwrap()],
        1,
    );
    assert!(wrong.unwrap_err().to_string().contains("not 12"));
    fs::remove_dir_all(&out).unwrap();
}

#[test]
fn a_seed_that_places_a_station_out_of_reach_does_not_end_the_sweep() {
    let out = std::env::temp_dir().join(format!("airpace-sim-refused-{}", std::process::id()));
    fs::remove_dir_all(&out).ok();
    let text = CELL.replace("count = 2", "within = \"120 m\"");
    let text = format!("{text}[[channel]]\ncarrier_sense_range = \"45 m\"\n");
    let jobs = sweep::jobs(&loaded(&text, &[]), &[], 8).unwrap();
    let mut journal = sweep::Journal::open(&out).unwrap();
    let completion = execute(&jobs, &mut journal, 2, &Stop::default()).unwrap();
    assert!(
        completion.complete && (1..8).contains(&completion.refused),
        "{completion:?}"
    );
    assert_eq!(journal.runs().len() + completion.refused, 8);
    assert!(
        completion
            .reason
            .as_ref()
            .unwrap()
            .contains("do not hear each other"),
        "{completion:?}"
    );
    let none = sweep::jobs(&loaded(&text.replace("45 m", "1 m"), &[]), &[], 2).unwrap();
    let error = execute(&none, &mut journal, 2, &Stop::default())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("no run was finished, 2 were refused"),
        "{error}"
    );
    drop(journal);
    fs::remove_dir_all(&out).unwrap();
}
