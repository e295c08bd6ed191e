use super::sample::Sample;
use airpace_scenario::Loaded;
use airpace_scenario::file::Override;
use airpace_scenario::results::{FlowSummary, LinkSummary, SimulationSummary, StationSummary};
use airpace_scenario::run::Finished;
use airpace_scenario::stop::Stop;
use anyhow::Result;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Figures of a run beside its summary: lists of numbers by name.
pub type Figures = BTreeMap<String, Vec<f64>>;

/// Takes figures from a finished simulation that its summary does not have.
pub(super) type Extract = fn(&Finished) -> Figures;

/// What makes the figures of one seed without a scenario.
pub(super) type Call = Arc<dyn Fn(u64, &Stop) -> Result<Figures> + Send + Sync>;

/// Something to be run once per seed.
#[derive(Clone)]
pub struct Case {
    /// Its name within the row.
    pub name: String,
    pub(super) source: Source,
    /// Its own number of seeds, in place of what was asked for.
    pub(super) seeds: Option<u32>,
}

/// Where the figures of a case come from.
#[derive(Clone)]
pub(super) enum Source {
    Scenario {
        text: &'static str,
        settings: Vec<String>,
        extract: Option<Extract>,
    },
    Call(Call),
}

impl Case {
    /// A scenario of the folder `scenarios` with settings, each `key=value`.
    pub(super) fn scenario(name: impl Into<String>, text: &'static str, settings: &[&str]) -> Self {
        let settings = settings.iter().map(|&setting| setting.to_owned()).collect();
        Self {
            name: name.into(),
            source: Source::Scenario {
                text,
                settings,
                extract: None,
            },
            seeds: None,
        }
    }

    /// A function of the seed.
    pub(super) fn call(
        name: impl Into<String>,
        call: impl Fn(u64, &Stop) -> Result<Figures> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            source: Source::Call(Arc::new(call)),
            seeds: None,
        }
    }

    /// The same with one more setting.
    pub(super) fn set(mut self, setting: impl Into<String>) -> Self {
        if let Source::Scenario { settings, .. } = &mut self.source {
            settings.push(setting.into());
        }
        self
    }

    /// The same with figures that the summary does not have.
    pub(super) fn extract(mut self, with: Extract) -> Self {
        if let Source::Scenario { extract, .. } = &mut self.source {
            *extract = Some(with);
        }
        self
    }

    /// The same with a number of seeds of its own.
    pub(super) const fn seeds(mut self, seeds: u32) -> Self {
        self.seeds = Some(seeds);
        self
    }
}

/// A scenario with the settings of a case and those of the command line, which win.
pub(super) fn load(text: &str, settings: &[String], more: &[String]) -> Result<Loaded, String> {
    let overrides: Result<Vec<Override>, String> = settings
        .iter()
        .chain(more)
        .map(|setting| setting.parse())
        .collect();
    // No embedded scenario names files.
    Loaded::new(text, overrides?, Path::new(".")).map_err(|error| error.one_line("scenario"))
}

/// A finished run of a case.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its seed.
    pub seed: u64,
    /// The simulator's figures, if it is one of a scenario; without the scenario's text.
    pub summary: Option<SimulationSummary>,
    /// Other figures.
    pub figures: Figures,
    /// Time that it took, seconds.
    pub wall_s: f64,
}

/// The runs of a row, by case.
#[derive(Default)]
pub(super) struct Results {
    pub(super) cases: BTreeMap<String, Vec<Arc<Run>>>,
}

impl Results {
    /// One value per run of a case. What `value` does not find is not a number.
    pub(super) fn sample(
        &self,
        case: &str,
        value: impl Fn(&SimulationSummary) -> Option<f64>,
    ) -> Sample {
        self.of_runs(case, |run| run.summary.as_ref().and_then(&value))
    }

    /// One of the figures of each run of a case: the only value, or the mean of several.
    pub(super) fn figure(&self, case: &str, name: &str) -> Sample {
        let mean = |values: &Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
        self.of_runs(case, |run| {
            run.figures
                .get(name)
                .filter(|values| !values.is_empty())
                .map(mean)
        })
    }

    pub(super) fn of_runs(&self, case: &str, value: impl Fn(&Run) -> Option<f64>) -> Sample {
        debug_assert!(self.cases.contains_key(case), "no case is called {case}");
        let runs = self.cases.get(case).into_iter().flatten();
        Sample(runs.map(|run| value(run).unwrap_or(f64::NAN)).collect())
    }
}

/// The flows whose name is `name`, or that and a station (`name@station`) or a number (`name#2`).
pub(super) fn flows<'s>(
    summary: &'s SimulationSummary,
    name: &'s str,
) -> impl Iterator<Item = &'s FlowSummary> {
    summary
        .flows
        .iter()
        .filter(move |flow| is_of(&flow.name, name, &['@', '#']))
}

/// The stations whose name is `name` or begins with `name-`.
pub(super) fn stations<'s>(
    summary: &'s SimulationSummary,
    name: &'s str,
) -> impl Iterator<Item = &'s StationSummary> {
    summary
        .stations
        .iter()
        .filter(move |station| is_of(&station.name, name, &['-']))
}

/// The links from the access point to stations whose name is `name` or begins with `name-`.
pub(super) fn links<'s>(
    summary: &'s SimulationSummary,
    name: &'s str,
) -> impl Iterator<Item = &'s LinkSummary> {
    summary
        .links
        .iter()
        .filter(move |link| is_of(&link.to, name, &['-']))
}

fn is_of(full: &str, name: &str, separators: &[char]) -> bool {
    full.strip_prefix(name)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(separators))
}

/// The mean of what is there; `None` if nothing is, or if anything is missing.
pub(super) fn mean(values: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
    let values: Option<Vec<f64>> = values.into_iter().collect();
    values
        .filter(|values| !values.is_empty())
        .map(|values| values.iter().sum::<f64>() / values.len() as f64)
}
