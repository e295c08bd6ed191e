//! The status of the box as metrics in the text format of Prometheus (OpenMetrics 1.0).
//!
//! Each metric is a row of a table: its name, its unit, what it means, and which field of the status
//! it is. Names carry base units: seconds, bits per second, ratios from 0 to 1.

mod ap;
mod edge;
mod station;

use airpace_api::operator::EdgeStatus;
use core::fmt;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Most stations that have series: those to which most is sent. The others are counted.
pub const MOST_STATIONS: usize = 256;

/// What the values of a metric do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// They go up and down.
    Gauge,
    /// They only go up, until airpace or the station begins anew.
    Counter,
}

/// A metric of a box, an access point or a station.
struct Metric<T> {
    /// The name without unit and `_total`.
    name: &'static str,
    /// The unit that ends the name; empty for plain numbers.
    unit: &'static str,
    kind: Kind,
    help: &'static str,
    /// The value; a series without one is left out.
    value: fn(&T) -> Option<f64>,
}

/// A gauge in `unit`.
const fn gauge<T>(
    name: &'static str,
    unit: &'static str,
    help: &'static str,
    value: fn(&T) -> Option<f64>,
) -> Metric<T> {
    Metric {
        name,
        unit,
        kind: Kind::Gauge,
        help,
        value,
    }
}

/// A counter of plain numbers.
const fn counter<T>(
    name: &'static str,
    help: &'static str,
    value: fn(&T) -> Option<f64>,
) -> Metric<T> {
    Metric {
        name,
        unit: "",
        kind: Kind::Counter,
        help,
        value,
    }
}

/// A metric that has one series per word, of which one is 1 and the others are 0.
struct States<T> {
    name: &'static str,
    /// The label that holds the word.
    label: &'static str,
    words: &'static [&'static str],
    help: &'static str,
    /// The word that holds.
    value: fn(&T) -> &str,
}

/// Whose values are told, with the labels of their series.
struct Subject<'a, T> {
    labels: Vec<(&'static str, &'a str)>,
    of: &'a T,
}

/// Returns the status as metrics.
///
/// The labels are `ap`, the access point's name, and `station`, the hardware address. Names of
/// stations, which they give themselves, are labels of `airpace_station_info` alone.
#[must_use]
pub fn text(status: &Arc<EdgeStatus>) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(StatusCollector(Arc::clone(status))));
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = encode(&mut text, &registry);
    text
}

/// The names of all metrics, as a query has them.
#[must_use]
pub fn names() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    add_names(&mut names, edge::METRICS);
    add_names(&mut names, ap::METRICS);
    add_names(&mut names, station::METRICS);
    names.extend(station::STATES.iter().map(|states| states.name.to_owned()));
    names.extend([edge::INFO, station::INFO].map(|name| format!("{name}_info")));
    names
}

fn add_names<T>(names: &mut BTreeSet<String>, metrics: &[Metric<T>]) {
    for metric in metrics {
        let mut name = metric.name.to_owned();
        if !metric.unit.is_empty() {
            name = format!("{name}_{}", metric.unit);
        }
        if metric.kind == Kind::Counter {
            name.push_str("_total");
        }
        names.insert(name);
    }
}

#[derive(Debug)]
struct StatusCollector(Arc<EdgeStatus>);

impl Collector for StatusCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let status = &*self.0;
        edge::encode(&mut encoder, status)?;
        ap::encode(&mut encoder, status)?;
        station::encode(&mut encoder, status)
    }
}

/// Writes every metric of a table with its series of all subjects.
fn encode_all<T>(
    encoder: &mut DescriptorEncoder<'_>,
    metrics: &[Metric<T>],
    subjects: &[Subject<'_, T>],
) -> fmt::Result {
    for metric in metrics {
        let unit = Unit::Other(metric.unit.to_owned());
        let unit = (!metric.unit.is_empty()).then_some(&unit);
        let kind = match metric.kind {
            Kind::Gauge => MetricType::Gauge,
            Kind::Counter => MetricType::Counter,
        };
        let mut family = encoder.encode_descriptor(metric.name, metric.help, unit, kind)?;
        for subject in subjects {
            // Not a number would hide the series' other values from some functions of queries.
            let Some(value) = (metric.value)(subject.of).filter(|value| value.is_finite()) else {
                continue;
            };
            if subject.labels.is_empty() {
                // The box itself is the only subject; its series have no braces.
                encode_value(family, metric.kind, value)?;
                break;
            }
            encode_value(family.encode_family(&subject.labels)?, metric.kind, value)?;
        }
    }
    Ok(())
}

fn encode_value(series: MetricEncoder<'_>, kind: Kind, value: f64) -> fmt::Result {
    match kind {
        Kind::Gauge => ConstGauge::new(value).encode(series),
        Kind::Counter => ConstCounter::new(value).encode(series),
    }
}

/// Writes every metric of a table of states.
fn encode_states<T>(
    encoder: &mut DescriptorEncoder<'_>,
    all: &[States<T>],
    subjects: &[Subject<'_, T>],
) -> fmt::Result {
    for states in all {
        let mut family =
            encoder.encode_descriptor(states.name, states.help, None, MetricType::Gauge)?;
        for subject in subjects {
            let holds = (states.value)(subject.of);
            for &word in states.words {
                let mut labels = subject.labels.clone();
                labels.push((states.label, word));
                let value = u8::from(word == holds);
                let series = family.encode_family(&labels)?;
                ConstGauge::new(f64::from(value)).encode(series)?;
            }
        }
    }
    Ok(())
}

/// Writes a metric `…_info`, whose labels are what it tells.
fn encode_info(
    encoder: &mut DescriptorEncoder<'_>,
    name: &'static str,
    help: &str,
    all: &[Vec<(&'static str, &str)>],
) -> fmt::Result {
    // The type `info` would be another name than the one in queries.
    let unit = Unit::Other("info".to_owned());
    let mut family = encoder.encode_descriptor(name, help, Some(&unit), MetricType::Gauge)?;
    for labels in all {
        ConstGauge::new(1.0).encode(family.encode_family(labels)?)?;
    }
    Ok(())
}

/// 1 for true.
fn flag(is_true: bool) -> Option<f64> {
    Some(f64::from(u8::from(is_true)))
}

/// A count. Above 2^53 its last digits are lost.
fn count(count: u64) -> Option<f64> {
    Some(count as f64)
}

fn mega(value: Option<f64>) -> Option<f64> {
    value.map(|value| value * 1e6)
}

fn milli(value: Option<f64>) -> Option<f64> {
    value.map(|value| value / 1e3)
}

#[cfg(test)]
mod tests;
