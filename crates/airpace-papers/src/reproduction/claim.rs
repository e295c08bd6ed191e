use super::case::{Case, Results};
use super::findings::Findings;
use super::verdicts::{ListedRow, RowKind};

/// Lists the cases of a row.
type Cases = fn() -> Vec<Case>;
/// Judges the runs of a row.
type Judge = fn(&Results) -> Findings;

/// A row: a figure or table of a paper, and how it is reproduced.
#[derive(Clone, Copy)]
pub struct Claim {
    /// Paper and figure or table, as in `004-T2`; figures that are judged together as in
    /// `003-F2/3`.
    pub id: &'static str,
    /// Where the paper has it.
    pub source: &'static str,
    /// How its figures are obtained.
    pub kind: RowKind,
    /// What the paper says, as far as it is tested.
    pub claim: &'static str,
    /// Whether it is run only if it is named by its own id, because it needs more than this
    /// process.
    pub only_by_id: bool,
    /// Seeds of each of its cases, unless another number is asked for.
    pub seeds: u32,
    pub(super) cases: Cases,
    pub(super) judge: Judge,
}

impl Claim {
    /// A row of the analytical model, which needs no runs.
    pub(crate) const fn model(
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

    /// A simulated row. Each case is run with `seeds` seeds unless another number is asked for.
    pub(crate) const fn simulated(
        id: &'static str,
        source: &'static str,
        claim: &'static str,
        cases: Cases,
        judge: Judge,
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

    /// A row that is measured on real packets, and only if it is named by its own id.
    pub(crate) const fn live(
        id: &'static str,
        source: &'static str,
        claim: &'static str,
        cases: Cases,
        judge: Judge,
    ) -> Self {
        Self {
            id,
            source,
            kind: RowKind::Live,
            claim,
            only_by_id: true,
            // As few as give an interval that is not much wider than the spread: it takes real
            // time.
            seeds: 3,
            cases,
            judge,
        }
    }

    /// The number of the paper, as in `004`.
    #[must_use]
    pub fn paper(&self) -> &'static str {
        self.id.split('-').next().unwrap_or(self.id)
    }

    /// The row as `airpace reproduce` lists it.
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
