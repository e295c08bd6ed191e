//! Running an arm, from starting the cell to its figures.

use super::collect::{Recorded, Reported};
use super::inline::{InlineBox, InlinePlan};
use super::plan::{ArmKind, DemoOptions, EdgeSensor, Pacer};
use super::tunnel::{AgentSite, Tunnel, TunnelPlan};
use crate::bench::saturation::vht80;
use crate::cell::{AIR, Cell, closed};
use crate::forge::{Forgery, forge};
use crate::load::{Load, Measured, Target, Traffic};
use crate::results::{ArmResult, ArmSeries};
use crate::tool::Stop;
use airpace_api::config::UdpLoadConfig;
use airpace_core::wire::ip::IPV4_UDP_HEADER_BYTES;
use airpace_emu::{AirConfig, EthernetConfig, Monitor};
use airpace_sim::mac::Scheme;
use anyhow::{Context, Result, anyhow, bail};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// An arm that will be run.
pub(crate) struct Arm<'a> {
    pub(crate) options: &'a DemoOptions,
    pub(crate) kind: ArmKind,
    pub(crate) mcs: &'a [u8],
    /// What loads the stations, in order; downloads where nothing is said.
    pub(crate) traffic: &'a [Traffic],
    /// Frames that an attacker's radio sends while there is load.
    pub(crate) forgery: Option<Forgery>,
}

impl Arm<'_> {
    /// Runs the arm and ends everything that it started, even if it fails. `tick` gets the time
    /// since the arm began.
    pub(crate) fn run(
        &self,
        stop: &Stop,
        tick: &mut dyn FnMut(Duration),
    ) -> Result<(ArmResult, ArmSeries)> {
        let cell = self.cell()?;
        let mut pacer = match self.kind.pacer() {
            Pacer::Edge(sensor) => RunningPacer::Inline(self.inline(&cell, sensor, stop)?),
            _ => RunningPacer::None,
        };
        let (start, unix_start) = (Instant::now(), unix_now());
        cell.record_from_now();
        // The proxy's constant load begins when the proxy starts. So in that arm the idle pings are
        // sent before, without the tunnel.
        if self.kind == ArmKind::AirpaceCubic {
            pacer = RunningPacer::Tunnel(self.tunnel(&cell, stop)?);
        }
        let idle_from = start.elapsed();
        let idle = self
            .phase(&cell, pacer.is_tunnel(), true)
            .run(start, stop, &mut *tick)?;
        if self.kind == ArmKind::AirpaceUdp {
            pacer = RunningPacer::Tunnel(self.tunnel(&cell, stop)?);
        }
        let load_from = start.elapsed();
        let loaded = self.load(&cell, pacer.is_tunnel(), start, stop, tick)?;
        if stop.is_raised() {
            bail!("the demo was stopped");
        }
        let reported = self.reported(pacer, unix_start)?;
        let record = cell.finish()?;
        for warning in &record.warnings {
            tracing::warn!("{warning}");
        }
        let recorded = Recorded {
            options: self.options,
            kind: self.kind,
            mcs: self.mcs,
            phy_mbps: &self.phy_mbps()?,
            frames: &record.frames,
            measured: &merge(idle, loaded),
            reported: &reported,
            lag_p99: record.lag_p99,
            trusted: record.trusted,
            idle_from,
            load_from,
        };
        Ok((recorded.result(), recorded.series()))
    }

    /// Runs the phase with load, with forged frames if there are any.
    fn load(
        &self,
        cell: &Cell,
        tunnelled: bool,
        start: Instant,
        stop: &Stop,
        tick: &mut dyn FnMut(Duration),
    ) -> Result<Vec<Measured>> {
        let phase = self.phase(cell, tunnelled, false);
        let Some(forgery) = self.forgery else {
            return phase.run(start, stop, tick);
        };
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let forger = forge(scope, forgery, cell, &is_over);
            let measured = phase.run(start, stop, tick);
            is_over.store(true, Ordering::Relaxed);
            let forged = forger
                .join()
                .map_err(|_| anyhow!("the forger panicked"))??;
            tracing::debug!(forged, "frames");
            measured
        })
    }

    fn cell(&self) -> Result<Cell> {
        let mut config = closed(self.mcs, self.options.ap_buffer_packets, self.options.seed)?;
        config.wired_delay = self.options.wired_delay;
        if self.kind.is_modified() {
            config = config.with_access_point(Scheme::Airtime);
            // The firmware of 802.11ac composes an aggregate when its turn comes. If aggregates
            // were composed ahead, two of 64 packets would not fit the block-ack window, and the
            // fastest station could not send two frames in succession, to which equal airtime
            // entitles it.
            config.cell.access_point.hardware = 0;
        }
        if self.needs_no_monitors() {
            // The emulator is spared the copies that nobody reads.
            config.monitor = Monitor::Off;
        }
        let Pacer::Edge(sensor) = self.kind.pacer() else {
            return Cell::start(config, self.options.slot);
        };
        if sensor == EdgeSensor::Radio {
            config.air = Some(AirConfig {
                interface: AIR.to_owned(),
                ..AirConfig::default()
            });
        }
        let has_agents = sensor.agents(self.mcs.len()) > 0;
        let config = config.with_ethernet(EthernetConfig {
            // The agents' reports go to the bridge, so it is there before the box, which otherwise
            // makes its own.
            bridged: has_agents,
            ..EthernetConfig::default()
        });
        let cell = Cell::start(config, self.options.slot)?;
        if has_agents {
            cell.address_the_bridge()?;
        }
        Ok(cell)
    }

    /// Whether no agent listens to the stations' monitors.
    const fn needs_no_monitors(&self) -> bool {
        match self.kind.pacer() {
            Pacer::None => true,
            Pacer::Edge(sensor) => sensor.agents(self.mcs.len()) == 0,
            Pacer::Tunnel => false,
        }
    }

    fn phase<'c>(&self, cell: &'c Cell, tunnelled: bool, idle: bool) -> Load<'c> {
        let target = |station| Target {
            namespace: cell.station(station),
            address: if tunnelled {
                Tunnel::address(station)
            } else {
                cell.station_address(station)
            },
            traffic: self.traffic.get(station).copied().unwrap_or_default(),
        };
        Load {
            server: cell.server(),
            server_address: cell.server_address(),
            targets: (0..self.mcs.len()).map(target).collect(),
            congestion: if idle { None } else { self.kind.congestion() },
            flows: self.options.flows,
            ping_interval: self.options.ping_interval,
            duration: if idle {
                self.options.idle
            } else {
                self.options.load
            },
            idle,
        }
    }

    fn inline(&self, cell: &Cell, sensor: EdgeSensor, stop: &Stop) -> Result<InlineBox> {
        let plan = InlinePlan {
            program: &self.options.program,
            cell,
            stations: self.mcs.len(),
            access_points: 1,
            sensor,
            target_level: self.options.target_level,
            slot: self.options.slot,
        };
        let idle = self.phase(cell, false, true);
        let is_forwarding = || idle.is_answered(stop);
        InlineBox::start(&plan, stop, is_forwarding)
    }

    fn tunnel(&self, cell: &Cell, stop: &Stop) -> Result<Tunnel> {
        let site = |station| AgentSite {
            namespace: cell.station(station),
            monitor: "mon0".to_owned(),
        };
        let plan = TunnelPlan {
            program: &self.options.program,
            server: cell.server(),
            server_address: cell.server_address(),
            sites: (0..self.mcs.len()).map(site).collect(),
            target_level: self.options.target_level,
            slot: self.options.slot,
            udp_load: self.kind == ArmKind::AirpaceUdp,
        };
        Tunnel::start(&plan, stop)
    }

    /// The telemetry of box, proxy and agents, on the arm's clock. They run on this machine, so
    /// their wall clocks agree.
    fn reported(&self, mut pacer: RunningPacer, unix_start: f64) -> Result<Vec<Vec<Reported>>> {
        let children = match &mut pacer {
            RunningPacer::None => return Ok(Vec::new()),
            RunningPacer::Inline(inline) => &mut inline.children,
            RunningPacer::Tunnel(tunnel) => &mut tunnel.children,
        };
        children
            .check()
            .context("box, proxy and agents must run until the load ends")?;
        let suffix = format!("{}-{}", self.mcs.len(), self.kind.name());
        children.keep_telemetry(&self.options.out, &suffix)?;
        (0..self.mcs.len())
            .map(|station| match &pacer {
                RunningPacer::None => Ok(Vec::new()),
                RunningPacer::Inline(inline) => self.edge_reports_of(inline, station, unix_start),
                RunningPacer::Tunnel(tunnel) => self.reports_of(tunnel, station, unix_start),
            })
            .collect()
    }

    fn edge_reports_of(
        &self,
        inline: &InlineBox,
        station: usize,
        unix_start: f64,
    ) -> Result<Vec<Reported>> {
        let slot_ms = self.options.slot.as_secs_f64() * 1e3;
        let mut reports = Vec::new();
        for slot in inline.slots(station)? {
            // The box tells level and round; together they give the frames of the slot.
            let frames = slot.round_ms.map_or(0.0, |round_ms| slot_ms / round_ms);
            reports.push(Reported {
                at_s: slot.unix_s - unix_start,
                frames,
                packets: frames * slot.level.unwrap_or_default(),
                payload_mbps: slot.goodput_mbps.unwrap_or_default(),
                allocated_mbps: slot.rate_mbps,
                dropped: slot.dropped,
                sensor: slot.sensor,
            });
        }
        Ok(reports)
    }

    fn reports_of(
        &self,
        tunnel: &Tunnel,
        station: usize,
        unix_start: f64,
    ) -> Result<Vec<Reported>> {
        let proxy_slots = tunnel.proxy_slots(station)?;
        let mut pending = proxy_slots.iter().peekable();
        let mut allocated_mbps = None;
        let mut reports = Vec::new();
        for slot in tunnel.agent_slots(station)? {
            // The proxy's slots that ended since the agent's last one.
            let mut dropped = 0;
            while let Some(row) = pending.next_if(|row| row.unix_s <= slot.unix_s) {
                dropped += row.dropped;
                allocated_mbps = row.rate_mbps;
            }
            reports.push(Reported {
                at_s: slot.unix_s - unix_start,
                frames: slot.frames.into(),
                packets: slot.packets.into(),
                payload_mbps: self.payload_mbps(slot.bytes),
                allocated_mbps,
                dropped,
                sensor: Some("agent".to_owned()),
            });
        }
        Ok(reports)
    }

    /// Rate of UDP payload in a slot with this many bytes of IP packets, if all belong to the
    /// constant load. Pings make up less than a thousandth of them.
    fn payload_mbps(&self, ip_bytes: u64) -> f64 {
        let payload = UdpLoadConfig::default().payload.0.0 as f64;
        let share = payload / (payload + f64::from(IPV4_UDP_HEADER_BYTES));
        ip_bytes as f64 * share * 8.0 / 1e6 / self.options.slot.as_secs_f64()
    }

    fn phy_mbps(&self) -> Result<Vec<f64>> {
        let rate = |&mcs: &u8| Ok(vht80(mcs)?.rate().as_mbps_f64());
        self.mcs.iter().map(rate).collect()
    }
}

/// What paces the stations while the arm runs. Dropping it ends it.
enum RunningPacer {
    None,
    Inline(InlineBox),
    Tunnel(Tunnel),
}

impl RunningPacer {
    const fn is_tunnel(&self) -> bool {
        matches!(self, Self::Tunnel(_))
    }
}

/// The measurements of both phases together.
fn merge(mut idle: Vec<Measured>, loaded: Vec<Measured>) -> Vec<Measured> {
    for (all, later) in idle.iter_mut().zip(loaded) {
        all.pings.extend(later.pings);
        all.received.merge(&later.received);
        all.flows.extend(later.flows);
    }
    idle
}

fn unix_now() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0.0, |since| since.as_secs_f64())
}
