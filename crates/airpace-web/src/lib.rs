//! What the in-line box serves over HTTP: metrics for Prometheus, and a web page.
//!
//! [`start`] begins a thread apart from the packets' path. It asks the box for its status once a
//! second at most, and only while somebody asks the thread, or every five seconds for the page's
//! history. The box answers through whatever is given as [`Ask`]; the thread computes nothing that
//! the status does not tell.
//!
//! It is no general web server: a connection carries one request, requests and connections are few
//! and small, and there is no TLS. `docs/metrics.md` says how to put one in front of it.

#[cfg(fuzzing)]
pub mod fuzzing;
mod guard;
mod history;
mod http;
mod metrics;
mod server;
mod service;

pub use guard::{TokenFileError, check_token_file, make_token};
pub use history::MOST_STATIONS as MOST_STATIONS_OF_HISTORY;
pub use metrics::text as metrics_text;
pub use metrics::{MOST_STATIONS as MOST_STATIONS_OF_METRICS, names as metric_names};
pub use server::{Ask, Server, start};
