//! What is answered to which request.

use crate::guard::{Token, is_own_host};
use crate::history::{History, STEP};
use crate::http::{Request, Response};
use crate::metrics;
use crate::server::Ask;
use airpace_api::operator::{EdgeReply, EdgeRequest, EdgeStatus};
use airpace_units::Time;
use core::time::Duration;
use std::sync::Arc;

/// How old a status may be that is told again.
const FRESH: Duration = Duration::from_millis(950);

const PAGE: (&str, &str) = (
    "text/html; charset=utf-8",
    include_str!("../web/index.html"),
);
const STYLE: (&str, &str) = ("text/css; charset=utf-8", include_str!("../web/style.css"));
const APP: (&str, &str) = (SCRIPT, include_str!("../web/app.js"));
const CHART: (&str, &str) = (SCRIPT, include_str!("../web/chart.js"));
const VERDICT: (&str, &str) = (SCRIPT, include_str!("../web/verdict.js"));
const ICON: (&str, &str) = ("image/svg+xml", include_str!("../web/icon.svg"));
const SCRIPT: &str = "text/javascript; charset=utf-8";
/// What the format of Prometheus calls itself.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What is served at an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Site {
    /// Metrics.
    Metrics {
        /// Whether requests for any name are answered: Prometheus may know the box by one.
        any_host: bool,
    },
    /// The page and what it asks for.
    Web,
}

/// Answers requests from what the box tells.
pub(crate) struct Service {
    ask: Ask,
    status: Option<(Time, Arc<EdgeStatus>)>,
    history: History,
    /// When the history gets its next point; `None` without a page.
    next_point: Option<Time>,
    token: Option<Token>,
    hosts: Vec<String>,
}

impl Service {
    /// A service without a page.
    pub(crate) fn new(ask: Ask) -> Self {
        Self {
            ask,
            status: None,
            history: History::default(),
            next_point: None,
            token: None,
            hosts: Vec::new(),
        }
    }

    /// Serves the page from `now` on. `hosts` are names of the box.
    pub(crate) fn serve_page(&mut self, now: Time, token: Option<Token>, hosts: Vec<String>) {
        self.next_point = Some(now);
        self.token = token;
        self.hosts = hosts;
    }

    /// When [`Service::on_time`] must be called next.
    pub(crate) const fn deadline(&self) -> Option<Time> {
        self.next_point
    }

    /// Adds a point to the history if one is due.
    pub(crate) fn on_time(&mut self, now: Time) {
        let Some(due) = self.next_point.filter(|&due| now >= due) else {
            return;
        };
        // While the box does not answer the history has a gap.
        if let Ok(status) = self.status(now) {
            self.history.add(&status);
        }
        let next = due.saturating_add(STEP);
        self.next_point = Some(if next > now {
            next
        } else {
            now.saturating_add(STEP)
        });
    }

    /// Answers a request.
    pub(crate) fn respond(&mut self, now: Time, site: Site, request: &Request) -> Response {
        let any_host = matches!(site, Site::Metrics { any_host: true });
        if !any_host && !is_own_host(request.host.as_deref(), &self.hosts) {
            return Response::error(
                421,
                "this name is not one of the box: reach it by its address, or list the name in web.hosts",
            );
        }
        let is_read = matches!(request.method.as_str(), "GET" | "HEAD");
        match (site, request.path.as_str()) {
            (Site::Metrics { .. }, "/metrics") if is_read => self.metrics(now),
            (Site::Metrics { .. }, "/metrics") => not_allowed(),
            (Site::Metrics { .. }, _) => Response::error(404, "metrics are at /metrics"),
            (Site::Web, "/api/exempt" | "/api/reload" | "/api/aim") => self.change(request),
            (Site::Web, _) if !is_read => not_allowed(),
            (Site::Web, "/api/status") => match self.status(now) {
                Ok(status) => Response::json(200, &status.to_json()),
                Err(error) => Response::error(503, error),
            },
            (Site::Web, "/api/history") => Response::json(200, &self.history.to_json()),
            (Site::Web, path) => asset(path),
        }
    }

    fn metrics(&mut self, now: Time) -> Response {
        match self.status(now) {
            Ok(status) => Response::ok(OPEN_METRICS, metrics::text(&status).into_bytes()),
            Err(error) => Response::error(503, error),
        }
    }

    /// How the box stands, at most about a second ago.
    fn status(&mut self, now: Time) -> Result<Arc<EdgeStatus>, String> {
        if let Some((at, status)) = &self.status
            && now.saturating_since(*at) < FRESH
        {
            return Ok(Arc::clone(status));
        }
        let reply = (self.ask)(&EdgeRequest::Status).map_err(|error| format!("{error:#}"))?;
        let status = reply.status.ok_or("the box did not send its status")?;
        let status = Arc::new(status);
        self.status = Some((now, Arc::clone(&status)));
        Ok(status)
    }

    /// Changes something, if the request has the token.
    fn change(&mut self, request: &Request) -> Response {
        if request.method != "POST" {
            return not_allowed();
        }
        let Some(token) = &self.token else {
            return Response::error(
                403,
                "the page changes nothing: give web.token_file in the box's configuration",
            );
        };
        if !token.admits(request.authorization.as_deref()) {
            return Response::error(401, "the token is missing or wrong");
        }
        // A page of another site cannot send this type without being asked first.
        let media_type = request.content_type.as_deref().unwrap_or_default();
        let media_type = media_type.split(';').next().unwrap_or_default().trim();
        if !media_type.eq_ignore_ascii_case("application/json") {
            return Response::error(415, "send the Content-Type application/json");
        }
        let command = request.path.trim_start_matches("/api/");
        let change = match parse_change(command, &request.body) {
            Ok(change) => change,
            Err(error) => return Response::error(400, error),
        };
        tracing::info!(event = "web-change", ?change, "asked for by the web page");
        // The next status shows what has changed.
        self.status = None;
        match (self.ask)(&change) {
            Ok(EdgeReply {
                error: Some(error), ..
            }) => Response::error(400, error),
            Ok(reply) => Response::json(200, &reply),
            Err(error) => Response::error(503, format!("{error:#}")),
        }
    }
}

/// The request that a body is: an object with the fields of `command`, or nothing where it has none.
fn parse_change(command: &str, body: &[u8]) -> Result<EdgeRequest, String> {
    let mut fields = serde_json::Map::new();
    if !body.is_empty() {
        fields = serde_json::from_slice(body)
            .map_err(|error| format!("the body is not an object in JSON: {error}"))?;
    }
    fields.insert("command".to_owned(), command.into());
    serde_json::from_value(fields.into())
        .map_err(|error| format!("the body does not fit the request: {error}"))
}

fn not_allowed() -> Response {
    Response::error(405, "this is not done with this method")
}

fn asset(path: &str) -> Response {
    let (content_type, text) = match path {
        "/" => PAGE,
        "/style.css" => STYLE,
        "/app.js" => APP,
        "/chart.js" => CHART,
        "/verdict.js" => VERDICT,
        "/icon.svg" => ICON,
        _ => return Response::error(404, "there is no such page"),
    };
    Response::ok(content_type, text.as_bytes())
}

#[cfg(test)]
mod tests;
