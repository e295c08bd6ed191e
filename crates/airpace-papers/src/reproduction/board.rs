//! The rows while their runs are made: which runs each has, and which it waits for.

use super::Completed;
use super::case::{Results, Run};
use super::claim::Claim;
use super::runner::{Effort, Job, Progress};
use super::store::{Store, StoredRuns};
use super::verdicts::{REPRODUCTION_FORMAT, ReproducedRow, Reproduction, Verdict};
use airpace_scenario::PROGRAM_VERSION;
use anyhow::Result;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One of the runs of a case of a row.
#[derive(Clone)]
pub(super) struct User {
    pub(super) claim: usize,
    pub(super) case: String,
    /// Place among the runs of the case.
    pub(super) place: usize,
}

/// The runs and verdicts that each row has so far.
pub(super) struct Board<'a> {
    claims: &'a [Claim],
    store: Option<&'a Store>,
    rows: Vec<RowState>,
    /// The first failure to store a row.
    failure: Option<anyhow::Error>,
}

#[derive(Default)]
struct RowState {
    /// Runs that the row still waits for.
    waiting: usize,
    /// Runs by case and place.
    runs: BTreeMap<String, BTreeMap<usize, Arc<Run>>>,
    /// Why the first refused run was refused.
    refusal: Option<String>,
    row: Option<ReproducedRow>,
}

impl<'a> Board<'a> {
    pub(super) fn new(claims: &'a [Claim], jobs: &[Job], store: Option<&'a Store>) -> Self {
        let mut rows: Vec<RowState> = claims.iter().map(|_| RowState::default()).collect();
        for user in jobs.iter().flat_map(|job| &job.users) {
            rows[user.claim].waiting += 1;
        }
        Self {
            claims,
            store,
            rows,
            failure: None,
        }
    }

    /// Gives a run to the rows that use it, and judges those that wait for no other.
    pub(super) fn put(
        &mut self,
        job: &Job,
        run: &Arc<Run>,
        refusal: Option<String>,
        progress: &(dyn Fn(Progress<'_>) + Sync),
    ) {
        for user in &job.users {
            let state = &mut self.rows[user.claim];
            let places = state.runs.entry(user.case.clone()).or_default();
            places.insert(user.place, Arc::clone(run));
            state.waiting -= 1;
            if let Some(reason) = &refusal
                && state.refusal.is_none()
            {
                state.refusal = Some(format!("{} was refused: {reason}", user.case));
            }
            if state.waiting == 0 {
                self.judge(user.claim);
                if let Some(row) = &self.rows[user.claim].row {
                    progress(Progress::RowJudged {
                        id: &row.id,
                        verdict: row.verdict,
                    });
                }
            }
        }
    }

    /// Judges a row that has all its runs, and stores it.
    fn judge(&mut self, claim: usize) {
        let state = &mut self.rows[claim];
        let row = state.judge(&self.claims[claim]);
        if let Some(store) = self.store
            && let Err(error) = store.put(&row, &state.runs_by_case())
            && self.failure.is_none()
        {
            self.failure = Some(error);
        }
        state.row = Some(row);
    }

    /// The rows that have all their runs.
    ///
    /// # Errors
    /// If a row could not be stored.
    pub(super) fn finish(mut self, effort: &Effort, wall_s: f64) -> Result<Completed> {
        // Rows without runs are not judged before.
        for claim in 0..self.rows.len() {
            if self.rows[claim].waiting == 0 && self.rows[claim].row.is_none() {
                self.judge(claim);
            }
        }
        if let Some(error) = self.failure {
            return Err(error);
        }
        let (mut rows, mut runs) = (Vec::new(), Vec::new());
        for state in self.rows {
            if let Some(row) = state.row.clone() {
                rows.push(row);
                runs.push(state.runs_by_case());
            }
        }
        let count = |verdict: Verdict| rows.iter().filter(|row| row.verdict == verdict).count();
        let reproduction = Reproduction {
            format: REPRODUCTION_FORMAT,
            program_version: PROGRAM_VERSION.to_owned(),
            seed: effort.seed,
            horizon: effort.horizon,
            holding: count(Verdict::Holds),
            missed: count(Verdict::Missed),
            inconclusive: count(Verdict::Inconclusive),
            interrupted: rows.len() < self.claims.len(),
            rows,
            wall_s,
        };
        if let Some(store) = self.store {
            store.put_all(&reproduction)?;
        }
        Ok(Completed { reproduction, runs })
    }
}

impl RowState {
    fn runs_by_case(&self) -> StoredRuns {
        let mut cases = StoredRuns::new();
        for (case, places) in &self.runs {
            cases.insert(case.clone(), places.values().map(Arc::clone).collect());
        }
        cases
    }

    fn judge(&self, claim: &Claim) -> ReproducedRow {
        let results = Results {
            cases: self.runs_by_case(),
        };
        let mut findings = (claim.judge)(&results);
        if let Some(reason) = &self.refusal {
            findings.note(reason.clone());
        }
        let runs = || results.cases.values().flatten();
        ReproducedRow {
            id: claim.id.to_owned(),
            source: claim.source.to_owned(),
            kind: claim.kind,
            claim: claim.claim.to_owned(),
            verdict: findings.verdict(),
            measured: findings.measured(),
            expected: findings.expected(),
            note: findings.text(),
            relations: findings.results(),
            seeds: results.cases.values().map(Vec::len).max().unwrap_or(0),
            runs: runs().count(),
            wall_s: runs().map(|run| run.wall_s).sum(),
        }
    }
}
