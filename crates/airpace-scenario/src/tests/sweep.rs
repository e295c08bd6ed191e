//! Sweeps.

use super::*;
use crate::store::table::Column;
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
    let mut journal = sweep::Journal::open(&out, false).unwrap();
    assert!(
        execute(&first_point, &mut journal, 1, &Stop::default())
            .unwrap()
            .complete
    );
    assert_eq!(journal.count(&jobs), 1);
    let stopped = Stop::default();
    stopped.raise();
    assert!(!execute(&jobs, &mut journal, 2, &stopped).unwrap().complete);
    assert!(
        execute(&jobs, &mut journal, 2, &Stop::default())
            .unwrap()
            .complete
    );
    let dataset = journal.dataset(&jobs).unwrap();
    assert_eq!(
        dataset.runs.rows(),
        4,
        "the run that was there is the same as the first of the grid"
    );
    assert_eq!((dataset.stations.rows(), dataset.flows.rows()), (6, 6));
    let counts = dataset.runs.column("node.station.count");
    assert_eq!(
        counts,
        Some(&Column::OptionalInteger(vec![
            Some(1),
            Some(1),
            Some(2),
            Some(2)
        ]))
    );
    let rows = sweep::rows(&sweep::finished(&jobs, &dataset));
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
    let mut journal = sweep::Journal::open(&out, false).unwrap();
    let completion = execute(&jobs, &mut journal, 2, &Stop::default()).unwrap();
    assert!(
        completion.complete && (1..8).contains(&completion.refused),
        "{completion:?}"
    );
    assert!(
        completion
            .reason
            .as_ref()
            .unwrap()
            .contains("do not hear each other"),
        "{completion:?}"
    );
    let dataset = journal.dataset(&jobs).unwrap();
    assert_eq!(dataset.runs.rows(), 8, "refused runs are rows");
    assert_eq!(
        sweep::finished(&jobs, &dataset).len() + completion.refused,
        8
    );
    drop(journal);
    fs::remove_dir_all(&out).unwrap();
}

#[test]
fn the_data_set_does_not_depend_on_the_order_of_the_runs() {
    let out = std::env::temp_dir().join(format!("airpace-sim-order-{}", std::process::id()));
    fs::remove_dir_all(&out).ok();
    let axes = ["node.station.count=1,2".parse().unwrap()];
    let jobs = sweep::jobs(&loaded(CELL, &[]), &axes, 2).unwrap();
    let mut datasets = Vec::new();
    for order in [[0, 1, 2, 3], [3, 1, 2, 0]] {
        let mut journal = Journal::open(&out.join(order[0].to_string()), false).unwrap();
        for idx in order {
            // Another process carries out the run.
            let there = Job::from_json(&jobs[idx].to_json()).unwrap();
            let outcome = sweep::attempt(&there, &Stop::default(), &|| Duration::ZERO).unwrap();
            let line = serde_json::to_string(&outcome.record).unwrap();
            journal
                .add_records(vec![serde_json::from_str(&line).unwrap()])
                .unwrap();
        }
        datasets.push(journal.dataset(&jobs).unwrap());
    }
    assert_eq!(datasets[0], datasets[1]);
    let tampered = jobs[0].to_json().replace("seed=1\"", "seed=2\"");
    let error = Job::from_json(&tampered).unwrap_err().to_string();
    assert!(error.contains("another run here"), "{error}");
    fs::remove_dir_all(&out).unwrap();
}

#[cfg(feature = "parquet")]
#[test]
fn folding_the_journal_into_the_data_set_loses_nothing() {
    let out = std::env::temp_dir().join(format!("airpace-sim-fold-{}", std::process::id()));
    fs::remove_dir_all(&out).ok();
    let loaded = loaded(CELL, &[]);
    let axes = ["node.station.count=1,2".parse().unwrap()];
    let jobs = sweep::jobs(&loaded, &axes, 2).unwrap();
    let mut journal = Journal::open(&out, false).unwrap();
    execute(&jobs[..2], &mut journal, 1, &Stop::default()).unwrap();
    journal.fold(&jobs[..2]).unwrap();
    assert!(fs::read(out.join("journal.jsonl")).unwrap().is_empty());
    execute(&jobs, &mut journal, 2, &Stop::default()).unwrap();
    drop(journal);
    let mut journal = Journal::open(&out, false).unwrap();
    assert_eq!(journal.count(&jobs), 4);
    let dataset = journal.fold(&jobs).unwrap();
    assert_eq!(sweep::read(&out).unwrap(), dataset);
    drop(journal);
    // A sweep over another setting keeps the earlier runs.
    let axes = ["node.station.rate=\"mcs 5\",mcs 7".parse().unwrap()];
    let others = sweep::jobs(&loaded, &axes, 1).unwrap();
    let mut journal = Journal::open(&out, false).unwrap();
    execute(&others, &mut journal, 1, &Stop::default()).unwrap();
    let both = journal.fold(&others).unwrap();
    assert_eq!(both.runs.rows(), 6);
    let rates = both.runs.column("node.station.rate").unwrap();
    assert_eq!(
        rates.texts().collect::<Vec<_>>()[..3],
        ["mcs 5", "mcs 7", ""]
    );
    let again = journal.fold(&jobs).unwrap();
    assert_eq!(again.flows.rows(), both.flows.rows());
    assert_eq!(sweep::finished(&jobs, &again).len(), 4);
    drop(journal);
    fs::remove_dir_all(&out).unwrap();
}
