//! What has happened lately, kept for the operator.

use airpace_api::mac::MacAddress;
use airpace_api::operator::EdgeEvent;
use airpace_core::report::Sensor;
use airpace_core::wire::ieee80211::MacAddr;
use airpace_edge::inline::{News, NewsKind};
use airpace_edge::proxy::Event;
use std::collections::VecDeque;

/// Events that are kept.
const KEPT: usize = 256;

/// The last events.
#[derive(Debug, Default)]
pub(super) struct EventLog {
    kept: VecDeque<EdgeEvent>,
    /// Events since the box began.
    count: u64,
}

impl EventLog {
    /// Notes an event of the whole box.
    pub(super) fn note(&mut self, unix_s: f64, kind: &str, text: impl Into<String>) {
        self.push(EdgeEvent {
            unix_s,
            kind: kind.to_owned(),
            text: text.into(),
            ..EdgeEvent::default()
        });
    }

    /// Notes an event, and forgets the oldest one if there are too many.
    pub(super) fn push(&mut self, event: EdgeEvent) {
        self.count += 1;
        if self.kept.len() == KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back(EdgeEvent {
            number: self.count,
            ..event
        });
    }

    /// The same, if there is one.
    pub(super) fn extend(&mut self, event: Option<EdgeEvent>) {
        if let Some(event) = event {
            self.push(event);
        }
    }

    /// The events that are kept, the oldest first.
    pub(super) fn kept(&self) -> Vec<EdgeEvent> {
        self.kept.iter().cloned().collect()
    }
}

/// The event that news of a station are. `names` are those of the access points.
pub(super) fn of_news(unix_s: f64, news: &News, names: &[String]) -> EdgeEvent {
    let ap = |medium: usize| names.get(medium).cloned();
    let (kind, text) = match news.what {
        NewsKind::Joined => ("station-joined", "has joined".to_owned()),
        NewsKind::Left => ("station-left", "has left".to_owned()),
        NewsKind::Roamed { from } => {
            let from = ap(from).unwrap_or_default();
            let to = ap(news.medium).unwrap_or_default();
            ("station-roamed", format!("has roamed from {from} to {to}"))
        }
        NewsKind::SensorChanged { from, to } => sensor_change(from, to),
    };
    EdgeEvent {
        unix_s,
        kind: kind.to_owned(),
        ap: ap(news.medium),
        station: Some(MacAddress(news.mac.0).to_string()),
        name: news.name.clone(),
        text,
        ..EdgeEvent::default()
    }
}

fn sensor_change(from: Sensor, to: Sensor) -> (&'static str, String) {
    let (old, new) = (from.name(), to.name());
    let has_been_lost = to > from;
    if !has_been_lost {
        return (
            "sensor-changed",
            format!("is now observed by the {new} sensor"),
        );
    }
    let instead = match to {
        // It comes and goes with TCP.
        _ if from == Sensor::AckBurst => {
            let text = "shows no frames by its TCP acknowledgements now".to_owned();
            return ("sensor-changed", text);
        }
        Sensor::None => "no sensor observes it now".to_owned(),
        _ => format!("the {new} sensor observes it now"),
    };
    let text = format!("has lost its {old} sensor: {instead}");
    ("sensor-lost", text)
}

/// The event that one of a medium is, if an operator is to see it.
pub(super) fn of_medium(
    unix_s: f64,
    ap: &str,
    station: Option<MacAddr>,
    event: &Event,
) -> Option<EdgeEvent> {
    let text = match event {
        // Changes of a mode follow from the coming and going of stations and sensors.
        Event::ModeChanged { .. } => return None,
        Event::ReportsRejected { reports, .. } => format!(
            "{reports} of its reports made impossible claims or came too often; they were corrected or \
             ignored"
        ),
        other => other.to_string(),
    };
    let kind: &'static str = event.into();
    Some(EdgeEvent {
        unix_s,
        kind: kind.to_owned(),
        ap: Some(ap.to_owned()),
        station: station.map(|mac| MacAddress(mac.0).to_string()),
        text,
        ..EdgeEvent::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_events_are_kept_with_their_numbers() {
        let mut log = EventLog::default();
        for n in 0..1000 {
            log.note(f64::from(n), "reloaded", format!("{n}"));
        }
        let kept = log.kept();
        assert_eq!(kept.len(), KEPT);
        let last = kept.last().expect("events");
        assert_eq!((last.number, last.text.as_str()), (1000, "999"));
        assert_eq!(kept[0].number, 1001 - KEPT as u64);
    }

    #[test]
    fn news_name_the_station_and_the_access_points() {
        let names = ["hall".to_owned(), "attic".to_owned()];
        let mut news = News {
            mac: MacAddr([2, 0, 0, 0, 0, 1]),
            name: Some("tv".to_owned()),
            medium: 1,
            what: NewsKind::Roamed { from: 0 },
        };
        let event = of_news(7.0, &news, &names);
        assert_eq!(event.kind, "station-roamed");
        assert_eq!(event.text, "has roamed from hall to attic");
        assert_eq!(event.station.as_deref(), Some("02:00:00:00:00:01"));
        assert_eq!(event.ap.as_deref(), Some("attic"));
        news.what = NewsKind::SensorChanged {
            from: Sensor::Agent,
            to: Sensor::AckBurst,
        };
        let event = of_news(7.0, &news, &names);
        assert_eq!(event.kind, "sensor-lost");
        assert!(event.text.contains("ack-burst sensor observes it now"));
        news.what = NewsKind::SensorChanged {
            from: Sensor::None,
            to: Sensor::AckBurst,
        };
        assert_eq!(of_news(7.0, &news, &names).kind, "sensor-changed");
        news.what = NewsKind::SensorChanged {
            from: Sensor::AckBurst,
            to: Sensor::None,
        };
        assert_eq!(of_news(7.0, &news, &names).kind, "sensor-changed");
    }
}
