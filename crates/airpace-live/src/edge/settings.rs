//! The configuration of [`airpace_edge::inline`] from a configuration file.

use crate::control;
use airpace_api::config::EdgeConfig;
use airpace_core::wire::ieee80211::MacAddr;
use airpace_edge::inline::{InlineConfig, KnownStation, MediumConfig};
use airpace_edge::proxy::{Pacing, ProxyConfig};

/// The state machine's configuration. `config` has been validated.
pub(super) fn inline(config: &EdgeConfig) -> InlineConfig {
    let proxy = control::proxy_config(&config.control, &config.queue, config.l4s);
    let pacing = if config.dry_run {
        Pacing::Unpaced
    } else {
        proxy.pacing.clone()
    };
    InlineConfig {
        proxy: ProxyConfig {
            records: config.telemetry.is_some(),
            pacing,
            ..proxy
        },
        media: config
            .ap
            .iter()
            .map(|ap| MediumConfig {
                name: name_of(ap),
                stations: ap.stations.iter().map(|mac| MacAddr(mac.0)).collect(),
                bssid: ap.bssid.map(|mac| MacAddr(mac.0)),
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
