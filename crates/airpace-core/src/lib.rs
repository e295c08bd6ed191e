//! The decisions of a Wi-Fi downlink that is paced from outside the access point, as pure
//! computation.
//!
//! A proxy in front of an access point paces what each station is sent. This crate holds everything
//! that decides how: the time that frames take ([`phy`]), how packets aggregate and what that costs
//! ([`model`]), which rates are fair ([`alloc`]), the laws that hold those rates ([`control`]),
//! queues ([`queue`]), pacing ([`pace`]), the receiver's measurements ([`meter`]) and the bytes of
//! every message ([`wire`]). The proxy, the agent, the emulated access point and the simulator run
//! the same code.
//!
//! It never reads a clock, socket, file, environment variable or global random generator, and it
//! starts no thread: time is an argument of whatever needs it, and the caller owns sockets and
//! buffers. No input from the network makes it panic.
//!
//! Three types to know: [`report::SlotReport`] is what a station received in one time slot; a
//! [`control::RateController`] turns the reports of a slot into rates; [`report::Allocation`] is
//! one station's rate and the aggregation level that it aims at.
//!
//! ```
//! use airpace_core::control::{Goal, Law, LawConfig};
//! use airpace_core::report::SlotReport;
//! use airpace_units::{StationId, Time};
//! use core::time::Duration;
//!
//! let goal = Goal::papers(32.0, Some(Duration::from_millis(5)));
//! let mut law = LawConfig::named(Law::Waterfill, goal).build()?;
//!
//! // In 100 ms the station received 90 frames of 20 packets each, at 390 Mbit/s.
//! let (first, last) = (Time::from_micros(800), Time::from_micros(99_500));
//! let report = SlotReport {
//!     frames: 90,
//!     mpdus: 1_800,
//!     packets: 1_800,
//!     bytes: 1_800 * 1_498,
//!     span: Some((first, last)),
//!     inverse_rate_sum: 90.0 / 390e6,
//!     ..SlotReport::silent(StationId(0), Duration::from_millis(100))
//! };
//! let rates = law.on_slot(Time::from_millis(100), &[report]);
//! // Frames of 20 packets leave room up to the goal of 32, so the law raises the rate above the 18,000 packets/s received.
//! assert!(rates[0].rate_pps > 18_000.0);
//! assert_eq!(rates[0].station, StationId(0));
//! # Ok::<(), airpace_core::control::ConfigError>(())
//! ```

pub mod packet;
pub mod report;

pub mod alloc;
pub mod control;
pub mod meter;
pub mod model;
pub mod pace;
pub mod phy;
pub mod queue;
pub mod sensor;
pub mod wire;
