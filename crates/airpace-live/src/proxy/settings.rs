//! The configuration of the proxy of [`airpace_edge`] from a configuration file.

use crate::queues;
use airpace_api::config::{Interactive, LawChoice, ProxyConfig};
use airpace_config::quantity::Rate;
use airpace_core::control::{Goal, LawConfig};
use airpace_core::pace::PaceConfig;
use airpace_core::phy::AccessCategory;
use airpace_core::wire::ip::{IPV4_HEADER_BYTES, IPV4_UDP_HEADER_BYTES};
use airpace_edge::proxy::{self, Fallback, InteractiveConfig, Pacing, StartRate, StationConfig};
use airpace_units::BitRate;

/// Bytes that the tunnel, UDP and IPv4 add to a packet on its way. They take airtime, so the pacers
/// count them.
pub(crate) const TUNNEL_OVERHEAD: u32 =
    airpace_core::wire::data::OVERHEAD_BYTES as u32 + IPV4_UDP_HEADER_BYTES;

/// The state machine's configuration. `config` has been validated.
pub(super) fn edge(config: &ProxyConfig) -> proxy::ProxyConfig {
    let control = &config.control;
    // Load is configured without the IPv4 header, and validated to be at most 65000 bytes.
    let load_bytes = config
        .udp_load
        .as_ref()
        .map(|load| u32::try_from(load.payload.0.0).unwrap_or(1470) + IPV4_HEADER_BYTES);
    proxy::ProxyConfig {
        pacing: pacing(config),
        slot: control.slot.0,
        start: StartRate::Fixed(control.initial_rate.0),
        // Validated to be at most 9000 bytes.
        packet_bytes: u32::try_from(control.packet.0.0).unwrap_or(1500),
        level: control.level_limit.unwrap_or(Goal::DEFAULT_LEVEL),
        delay_target: control.delay_target.map(|target| target.0),
        pace: PaceConfig {
            burst: control.burst.0,
            frame_overhead: control.initial_overhead.0,
            ..PaceConfig::default()
        },
        frame_overhead: control.initial_overhead.0,
        queue: queues::fq_codel(&config.queue),
        l4s: queues::l4s(config.l4s, &config.queue),
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
    }
}

/// What sets the rates.
fn pacing(config: &ProxyConfig) -> Pacing {
    let control = &config.control;
    let name = match control.law {
        LawChoice::Measured(law) => law,
        // Validated: law `fixed` has its rate. Without one, packets would pass unpaced.
        LawChoice::Fixed => {
            let Rate(rate) = control.fixed_rate.unwrap_or(Rate(BitRate::from_bps(0)));
            return Pacing::Fixed(rate);
        }
        LawChoice::None => return Pacing::Unpaced,
    };
    let mut law = LawConfig::named(name, control.goal());
    if let LawConfig::Waterfill(waterfill) = &mut law {
        waterfill.packet_bytes = control.packet.0.0 as f64;
        waterfill.frame_overhead = control.initial_overhead.0;
    }
    Pacing::Law(law)
}
