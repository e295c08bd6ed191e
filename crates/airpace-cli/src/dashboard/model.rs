//! What the dashboard shows: the last status, the figures of the last minutes, and what the user has
//! chosen.

use super::history::History;
use airpace_api::operator::{ApStatus, EdgeEvent, EdgeStationStatus, EdgeStatus};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// What the user wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Input {
    Quit,
    /// Ctrl-C.
    Interrupt,
    Up,
    Down,
    SortLeft,
    SortRight,
    NextAp,
    PreviousAp,
}

/// By what the stations are sorted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sort {
    Name,
    Goodput,
    Share,
    Wait,
    Limit,
}

impl Sort {
    const ALL: [Self; 5] = [
        Self::Name,
        Self::Goodput,
        Self::Share,
        Self::Wait,
        Self::Limit,
    ];

    fn moved(self, step: usize) -> Self {
        let index = Self::ALL.iter().position(|&sort| sort == self);
        Self::ALL[(index.unwrap_or(0) + step) % Self::ALL.len()]
    }
}

/// The figures of one station over the last minutes.
#[derive(Clone, Debug, Default)]
pub(super) struct StationHistory {
    pub(super) goodput: History,
    pub(super) wait: History,
}

/// Everything that is shown.
#[derive(Debug)]
pub(super) struct Dashboard {
    pub(super) status: Option<EdgeStatus>,
    /// Why the box does not answer, if it does not.
    pub(super) away: Option<String>,
    pub(super) sort: Sort,
    pub(super) has_colour: bool,
    histories: BTreeMap<String, StationHistory>,
    ap: usize,
    /// Hardware address of the station that the user has chosen.
    chosen: Option<String>,
}

impl Dashboard {
    pub(super) fn new(has_colour: bool) -> Self {
        Self {
            status: None,
            away: None,
            sort: Sort::Limit,
            has_colour,
            histories: BTreeMap::new(),
            ap: 0,
            chosen: None,
        }
    }

    /// Takes an answer of the box, or why there is none.
    pub(super) fn take(&mut self, answer: Result<EdgeStatus, String>) {
        let status = match answer {
            Ok(status) => status,
            Err(error) => return self.away = Some(error),
        };
        self.away = None;
        let mut histories = BTreeMap::new();
        for station in status.access_points.iter().flat_map(|ap| &ap.stations) {
            let mut history = self.histories.remove(&station.mac).unwrap_or_default();
            history.goodput.add(status.unix_s, throughput(station));
            history.wait.add(status.unix_s, station.wait_p95_ms);
            histories.insert(station.mac.clone(), history);
        }
        // Those of stations that have left are forgotten.
        self.histories = histories;
        self.ap = self.ap.min(status.access_points.len().saturating_sub(1));
        self.status = Some(status);
    }

    /// Does what the user wants.
    pub(super) fn handle(&mut self, input: Input) {
        match input {
            Input::Up => self.choose(-1),
            Input::Down => self.choose(1),
            Input::SortLeft => self.sort = self.sort.moved(Sort::ALL.len() - 1),
            Input::SortRight => self.sort = self.sort.moved(1),
            Input::NextAp => self.turn(1),
            Input::PreviousAp => self.turn(self.ap_count().saturating_sub(1)),
            Input::Quit | Input::Interrupt => {}
        }
    }

    fn turn(&mut self, step: usize) {
        self.ap = (self.ap + step) % self.ap_count().max(1);
        self.chosen = None;
    }

    fn choose(&mut self, step: isize) {
        let rows = self.rows();
        let last = rows.len().saturating_sub(1);
        let index = self.selected_index().saturating_add_signed(step).min(last);
        self.chosen = rows.get(index).map(|station| station.mac.clone());
    }

    pub(super) fn ap_count(&self) -> usize {
        let status = self.status.as_ref();
        status.map_or(0, |status| status.access_points.len())
    }

    /// The access point that is shown, and its number from 0.
    pub(super) fn ap(&self) -> Option<(usize, &ApStatus)> {
        let ap = self.status.as_ref()?.access_points.get(self.ap)?;
        Some((self.ap, ap))
    }

    /// The stations of that access point in the order of the table.
    pub(super) fn rows(&self) -> Vec<&EdgeStationStatus> {
        let mut rows: Vec<_> = self
            .ap()
            .map_or(Vec::new(), |(_, ap)| ap.stations.iter().collect());
        rows.sort_by(|a, b| self.order(a, b).then_with(|| a.label().cmp(b.label())));
        rows
    }

    fn order(&self, a: &EdgeStationStatus, b: &EdgeStationStatus) -> Ordering {
        // Whatever is not known comes last.
        let falling = |a: Option<f64>, b: Option<f64>| {
            let key = |value: Option<f64>| value.unwrap_or(f64::NEG_INFINITY);
            key(b).total_cmp(&key(a))
        };
        match self.sort {
            Sort::Name => Ordering::Equal,
            Sort::Goodput => falling(throughput(a), throughput(b)),
            Sort::Share => falling(a.share, b.share),
            Sort::Wait => falling(a.wait_p95_ms, b.wait_p95_ms),
            Sort::Limit => Concern::of(b)
                .cmp(&Concern::of(a))
                .then_with(|| falling(throughput(a), throughput(b))),
        }
    }

    /// The row that is selected: what the user has chosen, or the first.
    pub(super) fn selected_index(&self) -> usize {
        let chosen = self.chosen.as_deref();
        let rows = self.rows();
        let index = rows.iter().position(|row| Some(row.mac.as_str()) == chosen);
        index.unwrap_or(0)
    }

    pub(super) fn history(&self, mac: &str) -> Option<&StationHistory> {
        self.histories.get(mac)
    }

    /// The events of the whole box and of the access point that is shown, the newest first.
    pub(super) fn events(&self) -> Vec<&EdgeEvent> {
        let Some(status) = &self.status else {
            return Vec::new();
        };
        let name = self.ap().map(|(_, ap)| ap.name.as_str());
        let concerns = |event: &&EdgeEvent| event.ap.is_none() || event.ap.as_deref() == name;
        status.events.iter().rev().filter(concerns).collect()
    }
}

/// How much an operator should mind what limits a station.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Concern {
    /// Nothing is to be done.
    None,
    /// It is as intended or unavoidable, and costs.
    Notice,
    /// Something is wrong.
    Trouble,
}

impl Concern {
    pub(super) fn of(station: &EdgeStationStatus) -> Self {
        match station.limited_by.as_str() {
            "sensor-lost" | "backhaul" | "slow-station" => Self::Trouble,
            "contention" | "no-sensor" | "passing" | "exempt" => Self::Notice,
            _ if misses_sensor(station) => Self::Notice,
            _ => Self::None,
        }
    }
}

/// Whether a sensor is missed that does not come and go with TCP.
fn misses_sensor(station: &EdgeStationStatus) -> bool {
    let lost = station.lost_sensor.as_deref();
    lost.is_some_and(|sensor| sensor != "ack-burst")
}

/// What the station gets: what has arrived, or what was sent where nobody knows.
pub(super) fn throughput(station: &EdgeStationStatus) -> Option<f64> {
    station.mean_goodput_mbps.or(Some(station.mean_sent_mbps))
}
