//! The vocabulary every other crate speaks: [`Time`], [`Bytes`], [`BitRate`] and identifiers.
//!
//! Spans of time are [`core::time::Duration`]. Nothing here reads a clock or depends on anything.
//! Floats appear only in conversions at the edges; clocks and counters are integers.
//!
//! ```
//! use airpace_units::{BitRate, Bytes, Time};
//! use core::time::Duration;
//!
//! let rate = BitRate::from_mbps(390);
//! let airtime = Bytes(1540).checked_div(rate).expect("the rate is not zero");
//! assert_eq!(airtime, Duration::from_nanos(31_589));
//! let sent = Time::ZERO + Duration::from_millis(5);
//! assert_eq!((sent + airtime).since(sent), airtime);
//! ```

mod ids;
mod rate;
mod time;

pub use ids::StationId;
pub use rate::{BitRate, Bytes};
pub use time::Time;
