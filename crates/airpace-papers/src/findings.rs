use super::sample::Sample;
use crate::verdicts::{RelationResult, RowOutcome};
use std::fmt;

/// What a figure must be.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Bar {
    /// This or more.
    AtLeast(f64),
    /// This or less.
    AtMost(f64),
    /// More than this.
    Above(f64),
    /// Less than this.
    Below(f64),
    /// From the first to the second.
    Between(f64, f64),
    /// The first, give or take the second.
    About(f64, f64),
}

impl Bar {
    /// Whether `value` is what it must be. What is not a number never is.
    pub(super) fn holds(self, value: f64) -> bool {
        match self {
            Self::AtLeast(least) => value >= least,
            Self::AtMost(most) => value <= most,
            Self::Above(bound) => value > bound,
            Self::Below(bound) => value < bound,
            Self::Between(low, high) => (low..=high).contains(&value),
            Self::About(middle, off) => (value - middle).abs() <= off,
        }
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::AtLeast(least) => write!(f, "≥ {}", exact(least)),
            Self::AtMost(most) => write!(f, "≤ {}", exact(most)),
            Self::Above(bound) => write!(f, "> {}", exact(bound)),
            Self::Below(bound) => write!(f, "< {}", exact(bound)),
            Self::Between(low, high) => write!(f, "{} to {}", exact(low), exact(high)),
            Self::About(middle, off) => write!(f, "{} ± {}", exact(middle), exact(off)),
        }
    }
}

/// What judging a row comes to.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Findings {
    pub(super) relations: Vec<RelationResult>,
    notes: Vec<String>,
}

impl Findings {
    /// Judges one figure; tells whether it holds.
    pub(super) fn relate(
        &mut self,
        what: impl Into<String>,
        unit: &str,
        measured: &Sample,
        bar: Bar,
    ) -> bool {
        let mean = measured.mean();
        // What is infinite compares with something that did not come about.
        let holds = mean.is_finite() && bar.holds(mean);
        self.relations.push(RelationResult {
            what: what.into(),
            unit: unit.to_owned(),
            measured: Some(mean).filter(|mean| mean.is_finite()),
            ci95: measured.ci95(),
            bar: bar.to_string(),
            holds,
        });
        holds
    }

    /// Judges a ratio or an index.
    pub(super) fn ratio(&mut self, what: impl Into<String>, measured: &Sample, bar: Bar) -> bool {
        self.relate(what, "", measured, bar)
    }

    /// Adds what a reader must know whatever the outcome.
    pub(super) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// Adds the reason of a miss, told only if one of the relations whose names hold `what` is missed.
    pub(super) fn because(&mut self, what: &str, text: impl Into<String>) {
        if self
            .relations
            .iter()
            .any(|relation| !relation.holds && relation.what.contains(what))
        {
            self.notes.push(text.into());
        }
    }

    /// A row without relations shows nothing, so it is not reproduced either.
    pub(super) fn outcome(&self) -> RowOutcome {
        let holds =
            !self.relations.is_empty() && self.relations.iter().all(|relation| relation.holds);
        if holds {
            RowOutcome::Reproduced
        } else {
            RowOutcome::Not
        }
    }

    /// Every figure on one line.
    pub(super) fn measured(&self) -> String {
        joined(
            self.relations
                .iter()
                .map(|relation| format!("{}: {}", relation.what, measured(relation))),
        )
    }

    /// Every bar on one line.
    pub(super) fn expected(&self) -> String {
        joined(
            self.relations
                .iter()
                .map(|relation| format!("{}: {}", relation.what, bar(relation))),
        )
    }

    /// What was missed, and the notes.
    pub(super) fn text(&self) -> String {
        let missed = self.relations.iter().filter(|relation| !relation.holds);
        let missed =
            missed.map(|r| format!("missed: {} is {}, bar {}", r.what, measured(r), bar(r)));
        joined(missed.chain(self.notes.iter().cloned()))
    }
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join("; ")
}

/// The figure of a relation with its interval and unit.
pub(super) fn measured(relation: &RelationResult) -> String {
    let Some(value) = relation.measured else {
        return "not measured".to_owned();
    };
    let interval = relation
        .ci95
        .map_or(String::new(), |half| format!(" ± {}", figure(half)));
    unit(format!("{}{interval}", figure(value)), &relation.unit)
}

/// The bar of a relation with its unit.
pub(super) fn bar(relation: &RelationResult) -> String {
    unit(relation.bar.clone(), &relation.unit)
}

fn unit(text: String, unit: &str) -> String {
    if unit.is_empty() {
        text
    } else {
        format!("{text} {unit}")
    }
}

/// A bar as it is compared with, but for what no figure is measured to.
fn exact(value: f64) -> String {
    let rounded = (value * 1e6).round() / 1e6;
    format!("{rounded}")
}

/// A number with as many decimals as are of interest.
pub(super) fn figure(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    let text = format!("{value:.decimals$}");
    // Whole numbers and the like lose the zeros that say nothing.
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}
