//! What the page shows of the last hour: delay, goodput and share of each station, every five
//! seconds.

use airpace_api::operator::EdgeStatus;
use core::time::Duration;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};

/// Time between two points.
pub(crate) const STEP: Duration = Duration::from_secs(5);
/// Points that are kept: those of an hour.
const KEPT: usize = 720;
/// Most stations with points at one time: those to which most is sent.
pub const MOST_STATIONS: usize = 128;
/// Most stations in an answer. Stations that change their addresses come on top of those at one time.
const MOST_TOLD: usize = 256;

/// The last hour.
#[derive(Debug, Default)]
pub(crate) struct History {
    moments: VecDeque<Moment>,
}

#[derive(Debug)]
struct Moment {
    unix_s: f64,
    points: Vec<Point>,
}

/// A station at one moment. Single precision is finer than any of the figures.
#[derive(Debug)]
struct Point {
    mac: Box<str>,
    delay_ms: Option<f32>,
    goodput_mbps: f32,
    share: Option<f32>,
}

impl History {
    /// Adds a point for each station that is used, and forgets what is older than an hour.
    pub(crate) fn add(&mut self, status: &EdgeStatus) {
        let mut points = Vec::new();
        for station in status.access_points.iter().flat_map(|ap| &ap.stations) {
            // What was sent stands for what arrived where no sensor tells that.
            let goodput_mbps = station.mean_goodput_mbps.unwrap_or(station.mean_sent_mbps) as f32;
            points.push(Point {
                mac: station.mac.as_str().into(),
                delay_ms: station.wifi_delay_ms.map(|delay| delay as f32),
                goodput_mbps,
                share: station.share.map(|share| share as f32),
            });
        }
        points.sort_by(|a, b| {
            let by_use = b.goodput_mbps.total_cmp(&a.goodput_mbps);
            by_use.then_with(|| a.mac.cmp(&b.mac))
        });
        points.truncate(MOST_STATIONS);
        if self.moments.len() == KEPT {
            self.moments.pop_front();
        }
        self.moments.push_back(Moment {
            unix_s: status.unix_s,
            points,
        });
    }

    /// Returns the history as the page reads it: the moments, and for each station one value per
    /// moment and figure, `null` where it was not there or not known.
    pub(crate) fn to_json(&self) -> Value {
        let mut columns: BTreeMap<&str, Columns> = BTreeMap::new();
        for (at, moment) in self.moments.iter().enumerate() {
            for point in &moment.points {
                if columns.len() >= MOST_TOLD && !columns.contains_key(&*point.mac) {
                    continue;
                }
                let entry = columns.entry(&point.mac);
                let column = entry.or_insert_with(|| Columns::new(self.moments.len()));
                column.delay_ms[at] = point.delay_ms.map(|delay| rounded(delay, 10.0));
                column.goodput_mbps[at] = Some(rounded(point.goodput_mbps, 100.0));
                column.share[at] = point.share.map(|share| rounded(share, 1000.0));
            }
        }
        let mut stations = Vec::new();
        for (mac, column) in columns {
            stations.push(json!({
                "mac": mac,
                "delay_ms": column.delay_ms,
                "goodput_mbps": column.goodput_mbps,
                "share": column.share,
            }));
        }
        let moments = self.moments.iter();
        let unix_s: Vec<f64> = moments.map(|moment| moment.unix_s.round()).collect();
        json!({ "step_s": STEP.as_secs(), "unix_s": unix_s, "stations": stations })
    }
}

/// The figures of a station, one value per moment.
struct Columns {
    delay_ms: Vec<Option<f64>>,
    goodput_mbps: Vec<Option<f64>>,
    share: Vec<Option<f64>>,
}

impl Columns {
    fn new(moments: usize) -> Self {
        Self {
            delay_ms: vec![None; moments],
            goodput_mbps: vec![None; moments],
            share: vec![None; moments],
        }
    }
}

/// The value with as many digits as the page can show: an hour of 100 stations is long enough.
fn rounded(value: f32, steps: f64) -> f64 {
    (f64::from(value) * steps).round() / steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use airpace_api::operator::{ApStatus, EdgeStationStatus};

    fn status(at: u32, stations: impl Iterator<Item = u32>) -> EdgeStatus {
        let stations = stations.map(|n| EdgeStationStatus {
            mac: format!("02:00:00:00:{:02x}:{:02x}", n / 256, n % 256),
            mean_sent_mbps: f64::from(n) + 0.123,
            wifi_delay_ms: Some(4.56),
            ..EdgeStationStatus::default()
        });
        EdgeStatus {
            unix_s: f64::from(at) * 5.0,
            access_points: vec![ApStatus {
                stations: stations.collect(),
                ..ApStatus::default()
            }],
            ..EdgeStatus::default()
        }
    }

    #[test]
    fn an_hour_is_kept_and_a_station_that_was_away_has_gaps() {
        let mut history = History::default();
        for at in 0..1000 {
            let is_there = at < 500;
            history.add(&status(at, 0..if is_there { 2 } else { 1 }));
        }
        let json = history.to_json();
        assert_eq!(json["unix_s"].as_array().map(Vec::len), Some(KEPT));
        assert_eq!(json["unix_s"][0], 1400.0);
        let second = &json["stations"][1];
        assert_eq!(second["mac"], "02:00:00:00:00:01");
        assert_eq!(second["goodput_mbps"][0], 1.12);
        assert_eq!(second["delay_ms"][219], 4.6);
        assert_eq!(second["delay_ms"][220], Value::Null);
    }

    #[test]
    fn stations_with_changing_addresses_do_not_fill_the_memory() {
        let mut history = History::default();
        for at in 0..KEPT as u32 {
            history.add(&status(at, at..at + 300));
        }
        assert!(
            history
                .moments
                .iter()
                .all(|moment| moment.points.len() == MOST_STATIONS)
        );
        let told = history.to_json();
        assert_eq!(told["stations"].as_array().map(Vec::len), Some(MOST_TOLD));
        assert!(told.to_string().len() < 8 << 20);
    }
}
