//! The configuration of the proxy of [`airpace_edge`] from a configuration file.

use crate::control;
use airpace_api::config::{Interactive, ProxyConfig};
use airpace_core::phy::AccessCategory;
use airpace_core::wire::ip::{IPV4_HEADER_BYTES, IPV4_UDP_HEADER_BYTES};
use airpace_edge::proxy::{self, Fallback, InteractiveConfig, StationConfig};

/// Bytes that the tunnel, UDP and IPv4 add to a packet on its way. They take airtime, so the pacers
/// count them.
pub(crate) const TUNNEL_OVERHEAD: u32 =
    airpace_core::wire::data::OVERHEAD_BYTES as u32 + IPV4_UDP_HEADER_BYTES;

/// The state machine's configuration. `config` has been validated.
pub(super) fn edge(config: &ProxyConfig) -> proxy::ProxyConfig {
    // Load is configured without the IPv4 header, and validated to be at most 65000 bytes.
    let load_bytes = config
        .udp_load
        .as_ref()
        .map(|load| u32::try_from(load.payload.0.0).unwrap_or(1470) + IPV4_HEADER_BYTES);
    proxy::ProxyConfig {
        fallback: Fallback {
            conservative_after_slots: config.fallback.conservative_after_slots,
            rate: config.fallback.rate.0,
            unshaped_after_slots: config.fallback.unshaped_after_slots,
        },
        packet_overhead: TUNNEL_OVERHEAD,
        keeps_category: config.tun.copy_dscp,
        interactive: config.interactive.map(|category| InteractiveConfig {
            category: match category {
                Interactive::Video => AccessCategory::Video,
                Interactive::Voice => AccessCategory::Voice,
            },
            budget: config
                .interactive_budget
                .unwrap_or(InteractiveConfig::DEFAULT_BUDGET),
        }),
        records: config.telemetry.is_some(),
        stations: config
            .station
            .iter()
            .map(|station| StationConfig {
                weight: station.weight,
                load_bytes,
                ..StationConfig::default()
            })
            .collect(),
        ..control::proxy_config(
            &config.control,
            &config.queue,
            ProxyConfig::codel(),
            config.l4s,
        )
    }
}
