//! The configuration of [`airpace_edge::inline`] from a configuration file.

use crate::queues;
use airpace_api::config::{ControlConfig, EdgeConfig, LawChoice};
use airpace_config::quantity::Rate;
use airpace_core::control::{Goal, LawConfig};
use airpace_core::pace::PaceConfig;
use airpace_core::wire::ieee80211::MacAddr;
use airpace_edge::inline::{InlineConfig, KnownStation, MediumConfig};
use airpace_edge::proxy::{self, Pacing, StartRate};
use airpace_units::BitRate;

/// The state machine's configuration. `config` has been validated.
pub(super) fn inline(config: &EdgeConfig) -> InlineConfig {
    let control = &config.control;
    InlineConfig {
        proxy: proxy::ProxyConfig {
            pacing: if config.dry_run {
                Pacing::Unpaced
            } else {
                pacing(control)
            },
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
            records: config.telemetry.is_some(),
            ..proxy::ProxyConfig::default()
        },
        media: config
            .ap
            .iter()
            .map(|ap| MediumConfig {
                name: name_of(ap),
                stations: ap.stations.iter().map(|mac| MacAddr(mac.0)).collect(),
            })
            .collect(),
        ports: media_of_ports(config),
        stations: config
            .station
            .iter()
            .map(|station| KnownStation {
                mac: MacAddr(station.mac.0),
                name: station.name.clone(),
                weight: station.weight,
                is_exempt: station.exempt,
            })
            .collect(),
        leave_after: config.leave_after.0,
        dry_run: config.dry_run,
        ..InlineConfig::default()
    }
}

/// The ports towards access points, each once, in the order of the configuration.
pub(super) fn ports(config: &EdgeConfig) -> Vec<&str> {
    let mut ports: Vec<&str> = Vec::new();
    for (_, port) in config.ports() {
        if !ports.contains(&port) {
            ports.push(port);
        }
    }
    ports
}

/// For each of [`ports`] the access point to which stations belong that no access point lists.
fn media_of_ports(config: &EdgeConfig) -> Vec<usize> {
    let medium_of = |port: &str| config.ports().find(|&(_, other)| other == port);
    ports(config)
        .into_iter()
        .filter_map(|port| medium_of(port).map(|(medium, _)| medium))
        .collect()
}

fn name_of(ap: &airpace_api::config::ApConfig) -> String {
    let first_port = ap.ports.first().cloned().unwrap_or_default();
    ap.name.clone().unwrap_or(first_port)
}

/// What sets the rates.
fn pacing(control: &ControlConfig) -> Pacing {
    let name = match control.law {
        LawChoice::Measured(law) => law,
        // Validated: law `fixed` has its rate.
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
