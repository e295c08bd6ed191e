//! The proxy and the agents of a tunnel, with fresh keys and configurations.

use super::children::Children;
use super::configs;
use crate::tool::Stop;
use airpace_api::telemetry::{AgentSlot, ProxySlot, parse_lines};
use airpace_live::keys::KeyPair;
use airpace_net::netns::Namespace;
use anyhow::{Context, Result};
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

/// UDP port at which the proxy listens.
pub(super) const PORT: u16 = 51_900;

/// Name of the proxy's files.
const PROXY: &str = "proxy";

/// A station on which an agent will run.
#[derive(Debug)]
pub(super) struct AgentSite<'a> {
    /// Its namespace.
    pub(super) namespace: &'a Namespace,
    /// Its monitor interface.
    pub(super) monitor: String,
}

/// What proxy and agents will do.
#[derive(Debug)]
pub(super) struct TunnelPlan<'a> {
    /// The airpace program.
    pub(super) program: &'a Path,
    /// Where the proxy runs.
    pub(super) server: &'a Namespace,
    /// The address at which agents reach the proxy.
    pub(super) server_address: IpAddr,
    /// The stations in order.
    pub(super) sites: Vec<AgentSite<'a>>,
    /// Target level, mean packets per frame.
    pub(super) target_level: Option<f64>,
    /// The interval of the reports.
    pub(super) slot: Duration,
    /// Whether the proxy itself sends a constant load.
    pub(super) udp_load: bool,
}

/// Running proxy and agents. Dropping this ends them and removes their files.
#[derive(Debug)]
pub(super) struct Tunnel {
    pub(super) children: Children,
    stations: usize,
}

impl Tunnel {
    /// Starts everything and waits until every station has reported.
    pub(super) fn start(plan: &TunnelPlan<'_>, stop: &Stop) -> Result<Self> {
        let mut tunnel = Self {
            children: Children::new()?,
            stations: plan.sites.len(),
        };
        tunnel.write_and_spawn(plan)?;
        let stations = tunnel.stations;
        tunnel
            .children
            .wait_until("proxy and agents did not connect", stop, |children| {
                Ok((0..stations).all(|station| has_reported(children, station)))
            })?;
        Ok(tunnel)
    }

    /// The address of a station within the tunnel.
    pub(super) fn address(station: usize) -> IpAddr {
        // The proxy has host part 1. The command line allows far fewer than 250 stations.
        configs::tunnel_address(u8::try_from(station + 2).unwrap_or(u8::MAX))
    }

    /// The telemetry that the proxy has written about `station` so far.
    pub(super) fn proxy_slots(&self, station: usize) -> Result<Vec<ProxySlot>> {
        proxy_slots(&self.children, station)
    }

    /// The telemetry that the agent of `station` has written so far.
    pub(super) fn agent_slots(&self, station: usize) -> Result<Vec<AgentSlot>> {
        let text = self.children.telemetry(&station_name(station))?;
        parse_lines(&text).context("an agent's telemetry")
    }

    fn write_and_spawn(&mut self, plan: &TunnelPlan<'_>) -> Result<()> {
        let proxy_keys = KeyPair::generate();
        let agent_keys: Vec<KeyPair> = plan.sites.iter().map(|_| KeyPair::generate()).collect();
        let telemetry = self.children.telemetry_path(PROXY);
        let config = configs::proxy(plan, &proxy_keys, &agent_keys, telemetry);
        let text = config.to_toml();
        self.children
            .spawn(plan.program, plan.server, "proxy", PROXY, &text)?;
        for (index, site) in plan.sites.iter().enumerate() {
            let name = station_name(index);
            let telemetry = self.children.telemetry_path(&name);
            let config = configs::agent(plan, index, &agent_keys[index], &proxy_keys, telemetry);
            let text = config.to_toml();
            self.children
                .spawn(plan.program, site.namespace, "agent", &name, &text)?;
        }
        Ok(())
    }
}

/// Whether a station has reported. Before that the proxy calls it away.
fn has_reported(children: &Children, station: usize) -> bool {
    let slots = proxy_slots(children, station).unwrap_or_default();
    slots.last().is_some_and(|slot| slot.mode != "away")
}

fn proxy_slots(children: &Children, station: usize) -> Result<Vec<ProxySlot>> {
    let text = children.telemetry(PROXY)?;
    let rows: Vec<ProxySlot> = parse_lines(&text).context("the proxy's telemetry")?;
    let name = station_name(station);
    Ok(rows.into_iter().filter(|row| row.station == name).collect())
}

pub(super) fn station_name(index: usize) -> String {
    format!("sta{index}")
}
