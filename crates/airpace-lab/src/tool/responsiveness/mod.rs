//! Responsiveness under load: parallel TCP downloads fill the path, and probes measure round trips.
//!
//! The method is that of draft-ietf-ippm-responsiveness-08 without TLS and HTTP; the protocol of the
//! two halves is in [`server`]. Load grows by a connection per interval; first goodput must become
//! stable, then the responsiveness.

pub mod client;
pub mod flent;
pub mod server;

pub use client::measure;
pub use server::serve;

use crate::quality::{Grade, Requirement, Responsiveness};
use crate::results::Quantiles;
use serde::Serialize;
use std::net::SocketAddr;
use std::time::Duration;

/// Settings of a measurement. The defaults are those of the draft, but for the number of probes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Settings {
    /// The server.
    pub to: SocketAddr,
    /// Longest duration, if stability is not reached before.
    #[serde(rename = "limit_s", serialize_with = "seconds")]
    pub limit: Duration,
    /// Length of an interval (ID).
    #[serde(rename = "interval_s", serialize_with = "seconds")]
    pub interval: Duration,
    /// Intervals over which averages are taken (MAD).
    pub intervals_of_average: usize,
    /// Standard deviation of the averages, relative to the last one, up to which they count as stable
    /// (SDT).
    pub tolerance: f64,
    /// Most load-generating connections (MNP).
    pub most_connections: usize,
    /// Probes of each of the two kinds per second.
    pub probes_per_second: u32,
    /// What the Quality of Outcome is measured against.
    pub requirement: Requirement,
}

impl Settings {
    /// The defaults, with the server at `to`.
    #[must_use]
    pub const fn new(to: SocketAddr) -> Self {
        Self {
            to,
            limit: Duration::from_secs(20),
            interval: Duration::from_secs(1),
            intervals_of_average: 4,
            tolerance: 0.05,
            most_connections: 16,
            probes_per_second: 20,
            requirement: Requirement::VIDEO_CALL,
        }
    }
}

fn seconds<S: serde::Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(span.as_secs_f64())
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The settings.
    pub settings: Settings,
    /// Responsiveness in the last intervals, in round trips per minute.
    #[serde(flatten)]
    pub responsiveness: Responsiveness,
    /// The category of `rpm`.
    pub grade: Option<Grade>,
    /// Whether goodput and responsiveness were stable at the end.
    pub is_stable: bool,
    /// Mean goodput of the last intervals, Mbit/s.
    pub goodput_mbps: f64,
    /// Quality of Outcome from 0 to 100, of the requests on connections of their own.
    pub qoo: Option<f64>,
    /// Share of the probes that were not answered.
    pub probe_loss: f64,
    /// TCP handshakes in the last intervals, ms.
    pub connect_ms: Quantiles,
    /// Requests on connections of their own, ms.
    pub request_ms: Quantiles,
    /// Requests on connections that carry load, ms.
    pub loaded_ms: Quantiles,
    /// All intervals, in order.
    pub intervals: Vec<Interval>,
}

/// One interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Interval {
    /// Its end in seconds since the measurement began.
    pub at_s: f64,
    /// Load-generating connections in it.
    pub connections: usize,
    /// Payload received on them, Mbit/s.
    pub goodput_mbps: f64,
    /// Responsiveness of its probes.
    pub rpm: Option<f64>,
    /// Mean duration of a request on a connection of its own, ms.
    pub request_ms: Option<f64>,
}
