//! What a turn of the loop reports: stations that have joined or left, events, records of slots.

use super::events;
use super::run::RunningEdge;
use super::telemetry::{self, Row};
use super::told::ToldCount;
use airpace_api::mac::MacAddress;
use airpace_core::wire::ieee80211::MacAddr;
use airpace_edge::inline::{NewsKind, StationChange};
use airpace_edge::proxy::{Event, Mode};
use airpace_units::Time;
use core::time::Duration;

/// Most log lines per second about stations: an attacker may invent thousands of them.
const MOST_LINES: u32 = 20;

/// Limits the log lines about stations.
#[derive(Debug, Default)]
pub(super) struct StationLog {
    /// When the second began that runs.
    since: Time,
    lines: u32,
    left_out: u64,
    /// Stations that were crowded out.
    crowded_out: ToldCount,
}

impl StationLog {
    /// Counts a line, and returns whether it may be written.
    fn takes_line(&mut self, now: Time) -> bool {
        if now >= self.since.saturating_add(Duration::from_secs(1)) {
            if self.left_out > 0 {
                tracing::info!(
                    event = "lines-left-out",
                    lines = self.left_out,
                    "left out, about further stations"
                );
            }
            (self.since, self.lines, self.left_out) = (now, 0, 0);
        }
        self.lines += 1;
        let takes = self.lines <= MOST_LINES;
        self.left_out += u64::from(!takes);
        takes
    }

    /// Logs that stations are crowded out, at most once a minute.
    /// Returns how many if it is told.
    fn tell_crowd(&mut self, now: Time, crowded_out: u64) -> Option<u64> {
        let stations = self.crowded_out.increase(now, crowded_out)?;
        tracing::warn!(
            event = "stations-crowded-out",
            stations,
            "too many stations appear to which nothing is sent, so some were not learnt or were forgotten, and their frames pass unpaced: an attacker may be inventing addresses"
        );
        Some(stations)
    }
}

impl RunningEdge {
    /// Reports what has changed to the programs, the log and the telemetry.
    pub(super) fn tell_changes(&mut self, now: Time) -> anyhow::Result<()> {
        while let Some(change) = self.inline.poll_change() {
            self.on_change(now, &change)?;
        }
        let unix_s = self.unix_s(now);
        while let Some(news) = self.inline.poll_news() {
            if let NewsKind::Roamed { from } = news.what {
                let (from, to) = (&self.names[from], &self.names[news.medium]);
                let station = MacAddress(news.mac.0);
                if self.station_log.takes_line(now) {
                    tracing::info!(event = "station-roamed", %station, %from, %to, "roamed");
                }
            }
            let event = events::of_news(unix_s, &news, &self.names);
            self.events.push(event);
        }
        let crowded_out = self.inline.counts().crowded_out;
        if let Some(stations) = self.station_log.tell_crowd(now, crowded_out) {
            let text = format!(
                "{stations} addresses to which nothing is sent were forgotten: an attacker may be inventing them"
            );
            self.events.note(unix_s, "stations-crowded-out", text);
        }
        if self.long_frames.is_due(now) {
            let counted = self.setup.counters().large;
            if let Some(told) = self.long_frames.take(now, counted) {
                tracing::warn!(event = "frames-too-long", "{told}");
                self.events.note(unix_s, "frames-too-long", told);
            }
        }
        while let Some((ap, station, event)) = self.inline.poll_event() {
            log(&mut self.station_log, now, ap, station, &event);
            let event = events::of_medium(unix_s, ap, station, &event);
            self.events.extend(event);
        }
        while let Some(record) = self.inline.poll_record() {
            let air_of_others = self.inline.air_of_others(record.medium);
            if let Some(row) = self.rows.add(record, air_of_others) {
                self.write_row(&row);
            }
        }
        Ok(())
    }

    /// Writes a row of telemetry.
    fn write_row(&mut self, row: &Row) {
        let mut slot = telemetry::slot(
            row,
            &self.names[row.record.medium],
            self.inline.name(row.record.mac),
            self.epoch,
            self.config.dry_run,
        );
        slot.rows_left_out = self.rows.left_out();
        slot.crowded_out = self.inline.counts().crowded_out;
        match row.summary {
            Some(_) => self.journal.write_compact(&slot),
            None => self.journal.write(&slot),
        }
    }

    /// Writes the summaries that have not ended, of one station or of all.
    pub(super) fn end_rows(&mut self, mac: Option<MacAddr>) {
        while let Some(row) = self.rows.end(mac) {
            self.write_row(&row);
        }
    }

    fn on_change(&mut self, now: Time, change: &StationChange) -> anyhow::Result<()> {
        match *change {
            StationChange::Joined(mac) => {
                if self.station_log.takes_line(now) {
                    tracing::info!(event = "station-joined", station = %MacAddress(mac.0), "joined");
                }
                self.setup.path.insert_station(mac.0, false)?;
            }
            StationChange::Left(mac) => {
                // It may have come back in the meantime.
                if !self.inline.knows(mac) {
                    if self.station_log.takes_line(now) {
                        tracing::info!(event = "station-left", station = %MacAddress(mac.0), "left");
                    }
                    self.hosts.forget(mac);
                    self.uplink.forget(mac);
                    self.end_rows(Some(mac));
                    self.rows.forget(mac);
                }
                self.setup.path.remove_station(mac.0)?;
            }
            // The station was there before and still is, and the exemption was told by itself.
            StationChange::Exempted(mac) => self.setup.path.remove_station(mac.0)?,
            StationChange::Readmitted(mac) => self.setup.path.insert_station(mac.0, false)?,
        }
        Ok(())
    }
}

/// Logs an event of a medium.
fn log(lines: &mut StationLog, now: Time, ap: &str, station: Option<MacAddr>, event: &Event) {
    let Event::ModeChanged { from, to, .. } = event else {
        return tracing::warn!(event = "medium-warning", ap, "{event}");
    };
    // It has roamed or left, which is told by itself.
    let Some(station) = station else { return };
    let station = MacAddress(station.0);
    match to {
        Mode::Conservative | Mode::Unshaped => {
            if lines.takes_line(now) {
                tracing::warn!(event = "station-unobserved", ap, %station, %from, %to, "nothing is observed");
            }
        }
        _ => tracing::debug!(event = "station-mode", ap, %station, %from, %to, "mode"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_says_only_so_much_about_stations_in_a_second() {
        let mut log = StationLog::default();
        let lines = |log: &mut StationLog, now| {
            let wanted = 0..1000;
            wanted.filter(|_| log.takes_line(now)).count()
        };
        for second in 1..4 {
            let now = Time::from_millis(1000 * second);
            assert_eq!(lines(&mut log, now), MOST_LINES as usize);
        }
        assert_eq!(log.left_out, 1000 - u64::from(MOST_LINES));
    }
}
