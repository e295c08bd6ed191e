//! The configuration of [`airpace_edge::inline`] from a configuration file.

use crate::control;
use airpace_api::config::EdgeConfig;
use airpace_core::control::LawConfig;
use airpace_core::wire::ieee80211::MacAddr;
use airpace_edge::inline::{InlineConfig, KnownStation, MediumConfig};
use airpace_edge::proxy::{Pacing, ProxyConfig};
use std::collections::BTreeSet;

/// Returns the configuration of the state machine. `config` has been validated.
pub(super) fn inline(config: &EdgeConfig) -> InlineConfig {
    let mut proxy = control::proxy_config(
        &config.control,
        &config.queue,
        EdgeConfig::codel(),
        config.l4s,
    );
    if let Pacing::Law(LawConfig::Waterfill(law)) = &mut proxy.pacing {
        law.set_in_line();
        law.obeyed = !config.dry_run;
    }
    InlineConfig {
        proxy: ProxyConfig {
            records: config.telemetry.is_some(),
            dry_run: config.dry_run,
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
pub(crate) fn ports(config: &EdgeConfig) -> Vec<&str> {
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

pub(super) fn name_of(ap: &airpace_api::config::ApConfig) -> String {
    let first_port = ap.ports.first().cloned().unwrap_or_default();
    ap.name.clone().unwrap_or(first_port)
}

/// Keys that may change while the box runs. Everything else needs another bridge, other sockets or
/// other queues.
const RELOADABLE: [&str; 9] = [
    "control",
    "dry_run",
    "keep_bridge",
    "leave_after",
    "log_format",
    "station",
    "telemetry",
    "telemetry_detail",
    "telemetry_limit",
];

/// The first key of `new` whose value differs from that in `old` and cannot change while the box
/// runs.
pub(super) fn fixed_change(old: &EdgeConfig, new: &EdgeConfig) -> Option<String> {
    let (old, new) = (as_table(old), as_table(new));
    let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for key in keys {
        let (before, after) = (old.get(key), new.get(key));
        if before == after || RELOADABLE.contains(&key.as_str()) {
            continue;
        }
        if key != "ap" || without_names(before) != without_names(after) {
            return Some(key.clone());
        }
    }
    // Sessions of agents are those of the keys with which the box began.
    if agent_keys(&old) != agent_keys(&new) {
        return Some("station.public_key".to_owned());
    }
    // The pacers keep the burst with which they began.
    let burst = |table: &Table| Some(table.get("control")?.get("burst")?.clone());
    (burst(&old) != burst(&new)).then(|| "control.burst".to_owned())
}

type Table = serde_json::Map<String, serde_json::Value>;

fn as_table(config: &EdgeConfig) -> Table {
    match serde_json::to_value(config) {
        Ok(serde_json::Value::Object(table)) => table,
        _ => Table::new(),
    }
}

/// The keys of agents and the stations that they are on.
fn agent_keys(config: &Table) -> BTreeSet<(String, String)> {
    let stations = config.get("station").and_then(serde_json::Value::as_array);
    let mut keys = BTreeSet::new();
    for station in stations.into_iter().flatten() {
        if let (Some(mac), Some(key)) = (station.get("mac"), station.get("public_key"))
            && !key.is_null()
        {
            keys.insert((mac.to_string(), key.to_string()));
        }
    }
    keys
}

/// The access points without what may change: their names, and lists of their stations.
fn without_names(access_points: Option<&serde_json::Value>) -> Option<serde_json::Value> {
    let mut access_points = access_points?.clone();
    for ap in access_points.as_array_mut()? {
        if let Some(ap) = ap.as_object_mut() {
            ap.remove("name");
            ap.remove("stations");
        }
    }
    Some(access_points)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> EdgeConfig {
        EdgeConfig::from_toml(text).expect("it is valid")
    }

    const BEFORE: &str = "wan = \"eth0\"\n[[ap]]\nports = [\"eth1\"]\n";

    #[test]
    fn stations_and_the_aim_may_change_at_run_time() {
        let after = "wan = \"eth0\"\nleave_after = \"60 s\"\n[control]\nlatency = \"10 ms\"\n[[ap]]\n\
                     name = \"hall\"\nports = [\"eth1\"]\nstations = [\"02:00:00:00:00:01\"]\n[[station]]\n\
                     mac = \"02:00:00:00:00:01\"\nweight = 2.0\n";
        assert_eq!(fixed_change(&config(BEFORE), &config(after)), None);
    }

    #[test]
    fn ports_the_bridge_and_the_queue_may_not_change_at_run_time() {
        let cases = [
            ("ap", "wan = \"eth0\"\n[[ap]]\nports = [\"eth2\"]\n"),
            (
                "bridge",
                "wan = \"eth0\"\nbridge = \"br0\"\n[[ap]]\nports = [\"eth1\"]\n",
            ),
            (
                "queue",
                "wan = \"eth0\"\n[queue]\nlimit = \"99 packets\"\n[[ap]]\nports = [\"eth1\"]\n",
            ),
            (
                "control.burst",
                "wan = \"eth0\"\n[control]\nburst = \"1 ms\"\n[[ap]]\nports = [\"eth1\"]\n",
            ),
        ];
        for (key, after) in cases {
            let change = fixed_change(&config(BEFORE), &config(after));
            assert_eq!(change.as_deref(), Some(key));
        }
    }
}
