//! serde types: configuration and telemetry of the daemons. No behaviour: nothing here touches the machine.
//!
//! Types to know: [`config::ProxyConfig`] and [`config::AgentConfig`] (TOML, every value with its unit),
//! [`telemetry::ProxySlot`] (one JSON line per station and slot).
//!
//! ```
//! use airpace_config::quantity::Span;
//! let slot: Span = "100 ms".parse()?;
//! assert_eq!(slot.to_string(), "100 ms");
//! assert!("100".parse::<Span>().is_err());
//! # Ok::<(), airpace_config::quantity::QuantityError>(())
//! ```

pub mod config;
pub mod emulation;
pub mod keys;
pub mod network;
pub mod telemetry;
