use super::sample::Sample;
use super::verdicts::{RelationResult, VariantResult, Verdict};
use std::fmt;

/// What stands in the place of a figure that no run gave.
pub(super) const NOT_MEASURED: &str = "not measured";

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
    /// At most `share` of `target` away from it.
    pub(crate) fn near(target: f64, share: f64) -> Self {
        Self::About(target, share * target.abs())
    }

    /// The range of a printed figure, wider by what is uncertain about the figure itself. Bounds on
    /// one side are words, not figures, and stay.
    fn widened(self, by: f64) -> Self {
        match self {
            Self::Between(low, high) => Self::Between(low - by, high + by),
            Self::About(target, tolerance) => Self::About(target, tolerance + by),
            bound => bound,
        }
    }

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

    /// Whether all, none or a part of the values from `low` to `high` lie in the range.
    fn judge(self, low: f64, high: f64) -> Verdict {
        // The range is an interval, so it holds all values between two that it holds.
        if self.holds(low) && self.holds(high) {
            return Verdict::Holds;
        }
        let is_apart = match self {
            Self::AtLeast(least) => high < least,
            Self::AtMost(most) => low > most,
            Self::Above(bound) => high <= bound,
            Self::Below(bound) => low >= bound,
            Self::Between(least, most) => high < least || low > most,
            Self::About(target, tolerance) => high < target - tolerance || low > target + tolerance,
        };
        if is_apart {
            Verdict::Missed
        } else {
            Verdict::Inconclusive
        }
    }

    /// The verdict on a figure, by the confidence interval of its mean.
    pub(super) fn verdict(self, measured: &Sample) -> Verdict {
        let mean = measured.mean();
        // An infinite figure stands for an event that never came, such as a level that never
        // settled.
        if !mean.is_finite() {
            return Verdict::Missed;
        }
        match measured.ci95() {
            Some(half) => self.judge(mean - half, mean + half),
            None if measured.exact => self.judge(mean, mean),
            None => Verdict::Inconclusive,
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

/// What a paper has in the place of a figure of ours.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Printed {
    /// A figure, in the text or read off a plot.
    Figure(f64),
    /// A range.
    Range(f64, f64),
    /// Words, in its own or in short.
    Words(&'static str),
    /// Nothing: the relation is this project's own demand.
    Ours,
}

impl Printed {
    /// How far `value` is from it, in per cent.
    fn deviation_percent(self, value: f64) -> Option<f64> {
        let nearest = match self {
            Self::Figure(figure) => figure,
            Self::Range(low, high) => value.clamp(low, high),
            Self::Words(_) | Self::Ours => return None,
        };
        let deviation = 100.0 * (value / nearest - 1.0);
        deviation.is_finite().then_some(deviation)
    }

    fn text(self, unit: &str) -> String {
        match self {
            Self::Figure(value) => with_unit(figure(value), unit),
            Self::Range(low, high) => {
                with_unit(format!("{} to {}", figure(low), figure(high)), unit)
            }
            Self::Words(words) => format!("“{words}”"),
            Self::Ours => "(ours)".to_owned(),
        }
    }
}

/// A relation while it is judged.
#[derive(Clone, PartialEq, Debug)]
struct Relation {
    what: String,
    unit: String,
    printed: Printed,
    measured: Sample,
    bar: Bar,
    /// How uncertain the printed figure itself is: half its 95 % confidence interval, or 0.
    printed_ci95: f64,
    variants: Vec<(String, Sample)>,
}

impl Relation {
    fn verdict(&self) -> Verdict {
        match self.bar.verdict(&self.measured) {
            // It would not miss a figure that is within the printed one's own uncertainty.
            Verdict::Missed
                if self.bar.widened(self.printed_ci95).verdict(&self.measured)
                    != Verdict::Missed =>
            {
                Verdict::Inconclusive
            }
            verdict => verdict,
        }
    }

    fn result(&self) -> RelationResult {
        let mean = finite(self.measured.mean());
        let variants = self.variants.iter().map(|(with, measured)| VariantResult {
            with: with.clone(),
            measured: finite(measured.mean()),
            ci95: measured.ci95(),
            verdict: self.bar.verdict(measured),
        });
        RelationResult {
            what: self.what.clone(),
            unit: self.unit.clone(),
            printed: self.printed.text(&self.unit),
            measured: mean,
            ci95: self.measured.ci95(),
            deviation_percent: mean.and_then(|mean| self.printed.deviation_percent(mean)),
            bar: self.bar.to_string(),
            verdict: self.verdict(),
            variants: variants.collect(),
        }
    }
}

fn finite(value: f64) -> Option<f64> {
    Some(value).filter(|value| value.is_finite())
}

/// The relations of a row, judged, and notes on them.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Findings {
    relations: Vec<Relation>,
    notes: Vec<String>,
    /// The number of runs of which the printed figures are means, if the paper says it.
    printed_runs: Option<u32>,
}

impl Findings {
    /// Findings of a paper that prints means over `runs` runs, each as uncertain as one of ours. What
    /// misses a printed figure by less than half the 95 % confidence interval of such a mean is
    /// inconclusive.
    pub(crate) fn of_printed_means(runs: u32) -> Self {
        let mut findings = Self {
            printed_runs: Some(runs),
            ..Self::default()
        };
        findings.note(format!(
            "the paper prints means over {runs} runs: what misses a printed figure by less than the 95 % \
             confidence interval of such a mean, by the spread of our runs, is inconclusive"
        ));
        findings
    }

    /// Compares `measured` with `bar`. The paper has `printed` in its place.
    pub(crate) fn relate(
        &mut self,
        what: impl Into<String>,
        unit: &str,
        printed: Printed,
        measured: &Sample,
        bar: Bar,
    ) {
        let is_figure = matches!(printed, Printed::Figure(_) | Printed::Range(..));
        let runs = self.printed_runs.filter(|_| is_figure);
        self.relations.push(Relation {
            what: what.into(),
            unit: unit.to_owned(),
            printed,
            measured: measured.clone(),
            bar,
            printed_ci95: runs.map_or(0.0, |runs| measured.ci95_of_others(runs)),
            variants: Vec::new(),
        });
    }

    /// Compares a ratio or an index, which has no unit, with `bar`.
    pub(crate) fn ratio(
        &mut self,
        what: impl Into<String>,
        printed: Printed,
        measured: &Sample,
        bar: Bar,
    ) {
        self.relate(what, "", printed, measured, bar);
    }

    /// Shows the figure of the last relation under other settings: what it depends on, as an
    /// experiment and not as an opinion. It does not change the verdict.
    pub(crate) fn variant(&mut self, with: impl Into<String>, measured: &Sample) {
        if let Some(relation) = self.relations.last_mut() {
            relation.variants.push((with.into(), measured.clone()));
        }
    }

    /// Adds a note. What it says of our runs must be computed from them.
    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// The verdict on the whole row.
    pub(super) fn verdict(&self) -> Verdict {
        Verdict::of_all(self.relations.iter().map(Relation::verdict))
    }

    /// The relations in the form of the output.
    pub(super) fn results(&self) -> Vec<RelationResult> {
        self.relations.iter().map(Relation::result).collect()
    }

    /// Every measured figure, on one line.
    pub(super) fn measured(&self) -> String {
        let results = self.results();
        let parts = results.iter();
        joined(parts.map(|relation| format!("{}: {}", relation.what, measured(relation))))
    }

    /// Every bar, on one line.
    pub(super) fn expected(&self) -> String {
        let results = self.results();
        let parts = results.iter();
        joined(parts.map(|relation| format!("{}: {}", relation.what, bar(relation))))
    }

    /// The relations that do not hold, with the variants in which they do, and the notes, on one line.
    pub(super) fn text(&self) -> String {
        let results = self.results();
        let open = results
            .iter()
            .filter(|relation| relation.verdict != Verdict::Holds)
            .map(|relation| {
                let word = relation.verdict.word();
                let (measured, bar) = (measured(relation), bar(relation));
                let what = &relation.what;
                format!(
                    "{word}: {what} is {measured}, bar {bar}{}",
                    remedies(relation)
                )
            });
        joined(open.chain(self.notes.iter().cloned()))
    }
}

/// Under which other settings a relation holds: the causes that experiments show.
fn remedies(relation: &RelationResult) -> String {
    if relation.variants.is_empty() {
        return String::new();
    }
    let holds = |variant: &&VariantResult| variant.verdict == Verdict::Holds;
    let variants = relation.variants.iter().filter(holds);
    let with: Vec<&str> = variants.map(|variant| variant.with.as_str()).collect();
    if with.is_empty() {
        return " (holds with no other setting that was tried)".to_owned();
    }
    format!(" (holds with {})", with.join(", or with "))
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join("; ")
}

/// The measured figure of a relation with its confidence interval and unit.
pub(super) fn measured(relation: &RelationResult) -> String {
    estimate(relation.measured, relation.ci95, &relation.unit)
}

/// A figure with its confidence interval and unit.
pub(super) fn estimate(mean: Option<f64>, ci95: Option<f64>, unit: &str) -> String {
    let Some(value) = mean else {
        return NOT_MEASURED.to_owned();
    };
    let interval = ci95.map_or(String::new(), |half| format!(" ± {}", figure(half)));
    with_unit(format!("{}{interval}", figure(value)), unit)
}

/// The bar of a relation with its unit.
pub(super) fn bar(relation: &RelationResult) -> String {
    with_unit(relation.bar.clone(), &relation.unit)
}

/// The distance from the printed figure; empty if there is none.
pub(super) fn deviation(relation: &RelationResult) -> String {
    let percent = relation.deviation_percent;
    percent.map_or(String::new(), |percent| format!("{percent:+.1} %"))
}

fn with_unit(text: String, unit: &str) -> String {
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
