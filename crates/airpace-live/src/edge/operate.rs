//! Requests of an operator while the box runs.

use super::reports::Reports;
use super::run::RunningEdge;
use super::settings;
use super::status::{self, Passing};
use crate::journal::Journal;
use airpace_api::config::EdgeConfig;
use airpace_api::mac::MacAddress;
use airpace_api::operator::{ApStatus, EdgeReply, EdgeRequest, EdgeStatus};
use airpace_core::wire::ieee80211::MacAddr;
use airpace_net::signals::Signals;
use anyhow::{bail, ensure};

/// Where a running box gets a new configuration from.
#[derive(Clone, Copy)]
pub struct Reload<'a> {
    /// The signal that asks for it (SIGHUP).
    pub signal: Option<&'a Signals>,
    /// Whether there is a configuration file to read again. If not, the signal only opens the
    /// telemetry file again.
    pub is_possible: bool,
    /// Reads the configuration again.
    pub read: &'a dyn Fn() -> anyhow::Result<EdgeConfig>,
}

impl Reload<'_> {
    /// For a box whose configuration cannot be read again.
    pub const NONE: Self = Self {
        signal: None,
        is_possible: false,
        read: &|| bail!("this box has no configuration file"),
    };
}

impl core::fmt::Debug for Reload<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Reload").finish_non_exhaustive()
    }
}

impl RunningEdge {
    /// What the service manager shows.
    pub(super) fn service_status(&self) -> String {
        if let Some(reason) = self.watch.passing() {
            return format!("all frames pass unpaced: {reason}");
        }
        let does = if self.config.dry_run {
            "measures"
        } else {
            "paces"
        };
        let stations = self.inline.stations().count();
        let path = self.setup.path.name();
        format!("{does} {stations} stations ({path})")
    }

    /// Answers a request.
    pub(super) fn answer(&mut self, request: &EdgeRequest, reload: Reload<'_>) -> EdgeReply {
        let answered = match request {
            EdgeRequest::Status => {
                return EdgeReply {
                    status: Some(self.status()),
                    ..EdgeReply::default()
                };
            }
            EdgeRequest::Reload => self.reload(reload),
            EdgeRequest::Exempt { station, exempt } => self.exempt(station, *exempt),
            EdgeRequest::Aim { aim } => self.aim(aim),
        };
        match answered {
            Ok(done) => EdgeReply {
                done: Some(done),
                ..EdgeReply::default()
            },
            Err(error) => EdgeReply {
                error: Some(format!("{error:#}")),
                ..EdgeReply::default()
            },
        }
    }

    /// Reads the configuration again and applies it. On an error nothing changes.
    pub(super) fn reload(&mut self, reload: Reload<'_>) -> anyhow::Result<String> {
        let taken = (reload.read)().and_then(|config| self.take_over(config));
        match &taken {
            Ok(done) => {
                tracing::info!(event = "configuration-reloaded", "{done}");
                self.note("reloaded", done);
            }
            Err(error) => {
                let text =
                    format!("the configuration was not reloaded, the old one stays: {error:#}");
                tracing::error!(event = "configuration-refused", "{text}");
                self.note("reload-refused", text);
            }
        }
        taken
    }

    fn take_over(&mut self, config: EdgeConfig) -> anyhow::Result<String> {
        config.validate()?;
        if let Some(key) = settings::fixed_change(&self.config, &config) {
            bail!(
                "`{key}` cannot change while airpace runs: restart it, the bridge carries traffic in between"
            );
        }
        // Opened anew each time, so that the file can be moved away and compressed.
        let journal = Journal::open(config.telemetry.as_deref(), config.telemetry_limit.0.0)?;
        let now = self.clock.now();
        self.inline.reconfigure(now, settings::inline(&config))?;
        if config.telemetry_detail != self.config.telemetry_detail {
            self.end_rows(None);
        }
        self.rows.set_detail(config.telemetry_detail);
        self.journal = journal;
        self.names = config.ap.iter().map(settings::name_of).collect();
        self.config = config;
        Ok("configuration reloaded".to_owned())
    }

    /// Exempts a station from pacing, or ends that.
    fn exempt(&mut self, station: &str, is_exempt: bool) -> anyhow::Result<String> {
        let mac: MacAddress = station.parse()?;
        let now = self.clock.now();
        let is_known = self.inline.set_exempt(now, MacAddr(mac.0), is_exempt);
        ensure!(
            is_known,
            "{mac} is not a station that has been heard: `airpace edge status` lists them. To exempt one that has yet to come, set \
             `exempt = true` in its [[station]] and run `airpace edge reload`"
        );
        let done = if is_exempt {
            format!("{mac} is exempt until airpace ends: its frames pass unpaced")
        } else {
            format!("{mac} is paced")
        };
        tracing::info!(event = "station-exemption", "{done}");
        let kind = if is_exempt {
            "exempted"
        } else {
            "exemption-ended"
        };
        self.note(kind, done.clone());
        Ok(done)
    }

    /// Has the law aim at something else until the configuration is read again. On an error nothing
    /// changes.
    fn aim(&mut self, aim: &str) -> anyhow::Result<String> {
        let mut config = self.config.clone();
        config.control.set_aim(aim)?;
        let now = self.clock.now();
        self.inline.reconfigure(now, settings::inline(&config))?;
        self.config = config;
        let words = self.config.control.aim_in_words();
        let done =
            format!("the aim is {words}, until the configuration is reloaded or airpace ends");
        tracing::info!(event = "aim-changed", "{done}");
        self.note("aim-changed", done.clone());
        Ok(done)
    }

    /// Reports of agents that were refused since the start.
    fn reports_refused(&self) -> u64 {
        let refused = self.reports.as_ref().map_or(0, Reports::refused);
        refused + self.inline.surplus_reports()
    }

    /// Returns the status of the box.
    fn status(&self) -> EdgeStatus {
        let now = self.clock.now();
        let frames = self.setup.counters();
        let access_points = self.config.ap.iter().enumerate().map(|(medium, ap)| {
            let estimates = self.inline.diagnostics(medium);
            let cell = self.inline.cell(medium);
            let passing = Passing {
                all: self.watch.passing(),
                long_frames: self.long_frames.passed_lately(now),
            };
            let stations = self.inline.stations();
            ApStatus {
                name: settings::name_of(ap),
                ports: ap.ports.clone(),
                aimed_round_ms: estimates
                    .and_then(|estimates| Some(estimates.aimed_round_s? * 1e3)),
                price: estimates.and_then(|estimates| estimates.price),
                air_of_others: cell.air_of_others,
                radio_trouble: self.inline.radio_trouble(medium),
                active_stations: cell.active as u64,
                capped_elsewhere: estimates.map_or(0, |estimates| estimates.capped_elsewhere),
                least_latency_ms: estimates
                    .and_then(|estimates| Some(estimates.least_latency_s? * 1e3)),
                stations: stations
                    .filter(|station| station.medium == medium)
                    .map(|station| status::station(now, &station, &self.hosts, passing))
                    .collect(),
            }
        });
        EdgeStatus {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            uptime_s: now.saturating_since(self.began).as_secs_f64(),
            wan: self.config.wan.clone(),
            datapath: self.setup.path.name().to_owned(),
            fail_open: self.setup.is_fail_open(),
            passing: self.watch.passing().map(str::to_owned),
            dry_run: self.config.dry_run,
            sent: self.sent,
            dropped: self.dropped,
            refused: self.refused,
            passed_stale: frames.stale,
            passed_large: frames.large,
            observations_lost: frames.records_lost,
            crowded_out: self.inline.counts().crowded_out,
            reports_refused: self.reports_refused(),
            rows_left_out: self.rows.left_out(),
            rows_lost: self.journal.lost(),
            unix_s: self.unix_s(now),
            aim: self.config.control.aim_in_words(),
            access_points: access_points.collect(),
            events: self.events.kept(),
        }
    }
}
