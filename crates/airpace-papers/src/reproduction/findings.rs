use super::sample::Sample;
use super::verdicts::{RelationResult, RowOutcome};
use std::fmt;

/// The range in which a figure must lie.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Bar {
    /// This or more.
    AtLeast(f64),
    /// This or less.
    AtMost(f64),
    /// More than this.
    Above(f64),
    /// Less than this.
    Below(f64),
    /// From the first to the second, both included.
    Between(f64, f64),
    /// At most the second away from the first.
    About(f64, f64),
}

impl Bar {
    /// Whether `value` lies in the range. NaN never does.
    pub(super) fn holds(self, value: f64) -> bool {
        match self {
            Self::AtLeast(least) => value >= least,
            Self::AtMost(most) => value <= most,
            Self::Above(bound) => value > bound,
            Self::Below(bound) => value < bound,
            Self::Between(low, high) => (low..=high).contains(&value),
            Self::About(target, tolerance) => (value - target).abs() <= tolerance,
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
            Self::About(target, tolerance) => {
                write!(f, "{} ± {}", exact(target), exact(tolerance))
            }
        }
    }
}

/// The relations of a row, judged, and notes on them.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Findings {
    pub(super) relations: Vec<RelationResult>,
    notes: Vec<String>,
}

impl Findings {
    /// Compares the mean of `measured` with `bar`; returns whether it holds.
    pub(crate) fn relate(
        &mut self,
        what: impl Into<String>,
        unit: &str,
        measured: &Sample,
        bar: Bar,
    ) -> bool {
        let mean = measured.mean();
        // An infinite figure stands for an event that never came, such as a level that never
        // settled.
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

    /// Compares a ratio or an index, which has no unit, with `bar`.
    pub(crate) fn ratio(&mut self, what: impl Into<String>, measured: &Sample, bar: Bar) -> bool {
        self.relate(what, "", measured, bar)
    }

    /// Adds a note that holds whatever the outcome.
    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// Adds the reason for a miss, if a relation whose name contains `what` was missed.
    pub(crate) fn because(&mut self, what: &str, text: impl Into<String>) {
        let missed = |relation: &RelationResult| !relation.holds && relation.what.contains(what);
        if self.relations.iter().any(missed) {
            self.notes.push(text.into());
        }
    }

    /// Whether every relation holds. A row without relations shows nothing, so it is not reproduced
    /// either.
    pub(super) fn outcome(&self) -> RowOutcome {
        let holds =
            !self.relations.is_empty() && self.relations.iter().all(|relation| relation.holds);
        if holds {
            RowOutcome::Reproduced
        } else {
            RowOutcome::Not
        }
    }

    /// Every measured figure, on one line.
    pub(super) fn measured(&self) -> String {
        joined(
            self.relations
                .iter()
                .map(|relation| format!("{}: {}", relation.what, measured(relation))),
        )
    }

    /// Every bar, on one line.
    pub(super) fn expected(&self) -> String {
        joined(
            self.relations
                .iter()
                .map(|relation| format!("{}: {}", relation.what, bar(relation))),
        )
    }

    /// The relations that were missed, and the notes, on one line.
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

/// The measured figure of a relation with its confidence interval and unit.
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

/// A bar as it is compared with, but rounded to a millionth, which is finer than any figure is
/// measured.
fn exact(value: f64) -> String {
    let rounded = (value * 1e6).round() / 1e6;
    format!("{rounded}")
}

/// A number with about three significant digits.
pub(crate) fn figure(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    let text = format!("{value:.decimals$}");
    // Trailing zeros after the point say nothing.
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}
