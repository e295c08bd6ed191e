//! Queues: [`Fifo`] (tail drop), [`CoDelQueue`] (RFC 8289), [`FqCoDel`] (RFC 8290), [`DualQueue`]
//! (RFC 9332: a low-latency queue beside FQ-CoDel) and [`FqMac`] (the queues of an access point,
//! one set of flow queues for all stations) over anything that is a [`Packet`].
//!
//! All have the methods `enqueue(now, packet)`, `dequeue(now)` and `poll_drop()`; those of
//! [`FqMac`] also take a TID. A packet that a call drops is kept with the reason until the caller
//! takes it with `poll_drop` or makes the next call; [`Counters`] count it either way. So a caller
//! may ignore dropped packets, and memory does not grow.
//!
//! Beside the queues, [`AirtimeFairness`] decides which station sends next, [`AirtimeLimit`] how
//! much may wait below the queues, and [`Wqm`] how long a queue may be.
//!
//! Nothing is allocated per packet once a queue has held its largest backlog.
//!
//! [`Packet`]: crate::packet::Packet

mod airtime;
mod airtime_limit;
mod codel;
mod counters;
mod dual;
mod fifo;
mod flow_hash;
mod fq_codel;
mod fq_mac;
mod longest;
mod schedule;
mod store;
mod wqm;

pub use airtime::{AirtimeConfig, AirtimeFairness, DEFAULT_WEIGHT};
pub use airtime_limit::{AirtimeLimit, AirtimeLimitConfig};
pub use codel::{CoDel, CoDelConfig, CoDelQueue, Verdict};
pub use counters::{Counters, DropReason, Dropped};
pub use dual::{DualQueue, L4sConfig};
pub use fifo::{Fifo, Limits};
pub use fq_codel::{Backlog, FqCoDel, FqCoDelConfig, Leaving, Served};
pub use fq_mac::{FqMac, FqMacConfig, TidId};
pub use wqm::{DrainEstimate, Wqm, WqmConfig, WqmSample};

#[cfg(test)]
pub(crate) mod tests;
