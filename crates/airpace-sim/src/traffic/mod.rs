//! Traffic at its ends: sources that say when the next packet leaves, and sinks that judge what
//! arrived.
//!
//! Nothing here knows the MAC, a transport or the topology. Sources are iterators over
//! [`Emission`]s in order of time; sinks are told what arrived and when; [`web::Browser`] speaks of
//! connections and objects, which any TCP can serve. Saturating traffic has no source here: the
//! owner of the queue keeps it full.
//!
//! ```
//! use airpace_sim::{rng::Stream, traffic::{Pattern, Rate, Source, SourceConfig}};
//! use airpace_units::BitRate;
//!
//! // 1470-byte packets at 100 Mbit/s of payload, with a random phase.
//! let pattern = Pattern::Constant { payload_bytes: 1_470, rate: Rate::Bits(BitRate::from_mbps(100)) };
//! let mut source = Source::new(SourceConfig::new(pattern), Stream::new(1, "traffic", 0))?;
//! let (first, second) = (source.next().unwrap(), source.next().unwrap());
//! assert_eq!(second.at.since(first.at).as_nanos(), 117_600);
//! # Ok::<(), airpace_sim::traffic::SourceError>(())
//! ```

mod ping;
mod source;
mod statistics;
mod voip;
pub mod web;

pub use ping::{Ping, PingConfig, PingReport, Request};
pub use source::{
    Activity, Emission, FrameSize, Frames, Pattern, Period, Phase, Rate, Source, SourceConfig,
    SourceError, Spread,
};
pub use statistics::{DelayStatistic, DelaySummary, FlowStatistic, SequenceStatistic};
pub use voip::{Playout, VOIP_INTERVAL, VOIP_PAYLOAD_BYTES, VoipReport, VoipSink, VoipSinkConfig};
