//! What the daemons and their users exchange: configuration, telemetry, and an operator's requests. No behaviour: nothing
//! here touches the machine.
//!
//! Types to know: [`config::ProxyConfig`] and [`config::AgentConfig`] (TOML, every value with its
//! unit), [`telemetry::ProxySlot`] (one JSON line per station and slot).
//!
//! ```
//! use airpace_api::config::ProxyConfig;
//!
//! let text = "
//! private_key_file = \"/etc/airpace/proxy.key\"
//! [tun]
//! address = \"10.77.0.1/24\"
//! [control]
//! delay_taget = \"20 ms\"
//! ";
//! let error = ProxyConfig::from_toml(text).unwrap_err();
//! assert_eq!(
//!     error.one_line("proxy.toml"),
//!     "proxy.toml:6:1: [control] has no key `delay_taget`: did you mean `delay_target`?"
//! );
//! ```

pub mod config;
pub mod emulation;
pub mod endpoint;
pub mod keys;
pub mod mac;
pub mod operator;
pub mod telemetry;
