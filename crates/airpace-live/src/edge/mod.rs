//! The in-line box as a process: the loop between [`airpace_edge::inline`] and the ports of the
//! machine.
//!
//! [`run_edge`] makes the bridge, attaches the programs, and runs until it is stopped. [`undo`]
//! restores everything after a run was killed. [`ask`] sends a request to a running box of another
//! process, and [`inbox`] connects one to another thread of the same process.

mod changes;
mod events;
mod frame;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod headers;
mod hosts;
mod inbox;
mod leftovers;
mod long_frames;
mod observe;
mod operate;
mod ports;
mod radio;
mod reports;
mod run;
mod settings;
mod setup;
mod socket;
mod state;
mod status;
mod telemetry;
mod told;
mod uplink;
mod waiter;

pub use inbox::{EdgeHandle, EdgeInbox, inbox};
pub use leftovers::{files_of_boxes, ports_of_gone_boxes, ports_of_running_boxes};
pub use operate::Reload;
pub use run::run_edge;
pub use setup::undo;
pub use socket::ask;

pub(crate) use settings::ports;
pub(crate) use socket::is_running;
pub(crate) use state::free_bridge_name;

use airpace_edge::inline;
use airpace_net::inline::InlineCounters;

/// Counters of a whole run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EdgeTotals {
    /// Frames that arrived on the wired port, by what was done with them.
    pub frames: InlineCounters,
    /// Counters of the stations' table.
    pub stations: inline::Counts,
    /// Frames that left for stations.
    pub sent: u64,
    /// Frames that the queues have dropped.
    pub dropped: u64,
    /// Frames that a port refused.
    pub refused: u64,
}
