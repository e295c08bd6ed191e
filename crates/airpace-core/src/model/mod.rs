//! Models of aggregation: how long a round is, how many packets a frame carries, which rates are
//! stable, and how long a packet waits. Rates are in packets per second, times in seconds, and
//! levels in packets per frame.
//!
//! - [`Downlink`]: stations served in turn, with the published and the refined fixed point, delays
//!   and the rate region (000 §4, 002 §3).
//! - [`stability`]: how large the gains of the published controllers may be.
//! - [`anomaly`]: throughput and airtime shares of 802.11n stations (004 §2.2.1).
//! - [`wqm`]: buffer sizes of 802.11n nodes (003 §3.2).
//! - [`jain`]: Jain's fairness index.
//! - [`voice`]: the quality of a call by ITU-T G.107 (004 §4.2.1).
//!
//! These models and the allocator use floats; clocks and counters of the MAC do not depend on them.
//!
//! ```
//! use airpace_core::model::{Downlink, Link};
//!
//! // 000 fig. 7: one station at 513 Mbit/s, 214 µs of overhead per frame, at most 64 packets of 1500 bytes.
//! let downlink = Downlink::new(vec![Link::new(12_000.0 / 513e6, 214e-6, 64.0)])?;
//! let at_448_mbps = downlink.published(&[448e6 / 12_000.0]);
//! assert!((at_448_mbps.level[0] - 63.1).abs() < 0.1);
//! # Ok::<(), airpace_core::model::ModelError>(())
//! ```

pub mod anomaly;
mod delay;
mod downlink;
mod fairness;
mod refined;
pub mod stability;
pub mod voice;
pub mod wqm;

pub use delay::{mean_delay_s, round_variation};
pub use downlink::{
    Downlink, Link, ModelError, Operating, effective_overhead_s, round_with_limited_demand_s,
};
pub use fairness::jain;
