use super::case::{Case, Results};
use super::findings::Findings;
use super::{anomaly, low_delay, nonlinear, wqm};
use crate::verdicts::{ListedRow, RowKind};

/// What a row runs.
type Cases = fn() -> Vec<Case>;
/// What its runs come to.
type Judge = fn(&Results) -> Findings;

/// A figure or table of a paper, and how it is made again.
#[derive(Clone, Copy)]
pub struct Claim {
    /// Paper and figure or table, as in `004-T2`; figures that are judged together as in `003-F2/3`.
    pub id: &'static str,
    /// Where it stands.
    pub source: &'static str,
    /// How its figures are had.
    pub kind: RowKind,
    /// What the paper says, as far as it is tested.
    pub claim: &'static str,
    /// Whether it is left out unless it is asked for by its own id, because it needs more than this process.
    pub only_by_id: bool,
    /// Seeds of each of its cases, unless another number is asked for.
    pub seeds: u32,
    pub(super) cases: Cases,
    pub(super) judge: Judge,
}

/// Every row, in the order of papers and figures.
#[must_use]
pub fn catalogue() -> Vec<Claim> {
    [
        low_delay::CLAIMS,
        nonlinear::CLAIMS,
        wqm::CLAIMS,
        anomaly::CLAIMS,
    ]
    .concat()
}

impl Claim {
    /// A row of the model, which runs nothing.
    pub(super) const fn model(
        id: &'static str,
        source: &'static str,
        claim: &'static str,
        judge: Judge,
    ) -> Self {
        Self {
            id,
            source,
            kind: RowKind::Model,
            claim,
            only_by_id: false,
            seeds: 1,
            cases: Vec::new,
            judge,
        }
    }

    /// A row that is simulated: with so many seeds of each case, unless another number is asked for.
    pub(super) const fn sim(
        id: &'static str,
        source: &'static str,
        claim: &'static str,
        (cases, judge): (Cases, Judge),
        seeds: u32,
    ) -> Self {
        Self {
            id,
            source,
            kind: RowKind::Sim,
            claim,
            only_by_id: false,
            seeds,
            cases,
            judge,
        }
    }

    /// The paper: `004`.
    #[must_use]
    pub fn paper(&self) -> &'static str {
        self.id.split('-').next().unwrap_or(self.id)
    }

    /// The row as it is listed.
    #[must_use]
    pub fn listed(&self) -> ListedRow {
        ListedRow {
            id: self.id.to_owned(),
            source: self.source.to_owned(),
            kind: self.kind,
            claim: self.claim.to_owned(),
            only_by_id: self.only_by_id,
        }
    }
}
