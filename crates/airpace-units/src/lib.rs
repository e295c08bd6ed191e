//! Time, rates, sizes and identifiers as types of their own, so that a rate is never added to a
//! size.
//!
//! The crate reads no clock and depends on nothing. Clocks and counters are integers; floats appear
//! only in conversions for models and output. There is no type for spans of time: they are
//! [`core::time::Duration`].
//!
//! Three types to know: [`Time`] is an instant in nanoseconds, [`Bytes`] a size and [`BitRate`] a
//! rate. Their operators keep the units apart: a size divided by a rate is a span, for example.
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
