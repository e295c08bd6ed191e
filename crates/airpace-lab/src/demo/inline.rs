//! The in-line box in front of the emulated access point, alone or with agents on the stations.

use super::children::Children;
use super::configs;
use super::plan::EdgeSensor;
use super::tunnel::station_name;
use crate::cell::{BOX_ADDRESS, Cell};
use crate::tool::Stop;
use airpace_api::mac::MacAddress;
use airpace_api::telemetry::{EdgeSlot, parse_lines};
use airpace_emu::{EthernetConfig, station_mac};
use airpace_live::keys::KeyPair;
use anyhow::{Context, Result};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

/// UDP port on which the box waits for the reports of agents.
pub(crate) const PORT: u16 = 51_900;

/// Name of the box's files.
const EDGE: &str = "edge";

/// What the box will do.
#[derive(Debug)]
pub(crate) struct InlinePlan<'a> {
    /// The airpace program.
    pub(crate) program: &'a Path,
    /// The cell, at layer 2.
    pub(crate) cell: &'a Cell,
    /// Number of stations.
    pub(crate) stations: usize,
    /// Number of access points, each a medium of its own behind a port of its own.
    pub(crate) access_points: usize,
    /// What observes the stations.
    pub(crate) sensor: EdgeSensor,
    /// Target level, mean packets per frame.
    pub(crate) target_level: Option<f64>,
    /// The interval of the reports.
    pub(crate) slot: Duration,
}

impl InlinePlan<'_> {
    /// The box's interfaces towards the access points.
    pub(crate) fn ports(&self) -> impl Iterator<Item = String> {
        (0..self.access_points).map(port)
    }

    /// The address at which agents reach the box.
    pub(crate) fn listen(&self) -> SocketAddr {
        (BOX_ADDRESS, PORT).into()
    }
}

/// The box's interface towards an access point.
pub(crate) fn port(access_point: usize) -> String {
    match access_point {
        0 => EthernetConfig::default().ap_port,
        further => format!("ap{further}"),
    }
}

/// A running box. Dropping this ends it, and the agents, and removes their files.
#[derive(Debug)]
pub(crate) struct InlineBox {
    pub(super) children: Children,
}

impl InlineBox {
    /// Starts the box, and agents if the plan has any, and waits until `is_forwarding` says that
    /// frames pass. The frames that it sends make the stations known to the box.
    pub(crate) fn start(
        plan: &InlinePlan<'_>,
        stop: &Stop,
        mut is_forwarding: impl FnMut() -> Result<bool>,
    ) -> Result<Self> {
        let mut children = Children::new()?;
        let box_keys = KeyPair::generate();
        let agents = plan.sensor.agents(plan.stations);
        let agent_keys: Vec<KeyPair> = (0..agents).map(|_| KeyPair::generate()).collect();
        let telemetry = children.telemetry_path(EDGE);
        let config = configs::edge(plan, &box_keys, &agent_keys, telemetry);
        let namespace = plan.cell.box_namespace()?;
        children.spawn(plan.program, namespace, "edge", EDGE, &config.to_toml())?;
        children.wait_until("the in-line box did not forward pings", stop, |_| {
            is_forwarding()
        })?;
        for (index, keys) in agent_keys.iter().enumerate() {
            let name = station_name(index);
            let telemetry = children.telemetry_path(&name);
            let config = configs::sensor_agent(plan, keys, &box_keys, telemetry);
            let namespace = plan.cell.station(index);
            children.spawn(plan.program, namespace, "agent", &name, &config.to_toml())?;
        }
        if agents > 0 {
            let what = "the agents did not reach the in-line box";
            children.wait_until(what, stop, |children| {
                // Agents are relied upon after some reports about frames, so there must be frames.
                is_forwarding()?;
                Ok((0..agents).all(|station| has_agent(children, station)))
            })?;
        }
        Ok(Self { children })
    }

    /// Fails if the box or an agent has ended.
    pub(crate) fn check(&mut self) -> Result<()> {
        self.children.check()
    }

    /// The telemetry that the box has written about `station` so far.
    pub(super) fn slots(&self, station: usize) -> Result<Vec<EdgeSlot>> {
        slots(&self.children, station)
    }
}

/// Whether the box has had a report of the station's agent. Without traffic an agent does not report
/// in every slot.
fn has_agent(children: &Children, station: usize) -> bool {
    let slots = slots(children, station).unwrap_or_default();
    slots
        .iter()
        .any(|slot| slot.sensor.as_deref() == Some("agent"))
}

fn slots(children: &Children, station: usize) -> Result<Vec<EdgeSlot>> {
    let text = children.telemetry(EDGE)?;
    let rows: Vec<EdgeSlot> = parse_lines(&text).context("the in-line box's telemetry")?;
    let mac = MacAddress(station_mac(station).0).to_string();
    Ok(rows.into_iter().filter(|row| row.station == mac).collect())
}
