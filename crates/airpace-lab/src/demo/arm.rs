//! One arm from the empty cell to its figures.

use super::collect::{Recorded, Reported};
use super::plan::{ArmKind, DemoOptions};
use super::progress::Progress;
use super::tunnel::{Site, Tunnel, TunnelPlan};
use crate::bench::saturation::{UDP_OVERHEAD, vht80};
use crate::cell::{Cell, closed};
use crate::load::{Load, Measured, Target};
use crate::tool::Stop;
use airpace_api::config::UdpLoadConfig;
use airpace_api::results::{ArmResult, ArmSeries};
use airpace_api::telemetry::AgentSlot;
use airpace_sim::mac::Scheme;
use anyhow::{Context, Result, bail};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// An arm to be run.
pub(super) struct Arm<'a> {
    pub(super) options: &'a DemoOptions,
    pub(super) kind: ArmKind,
    pub(super) mcs: &'a [u8],
}

impl Arm<'_> {
    /// Runs the arm. Whatever happens, nothing of it is left running.
    pub(super) fn run(&self, stop: &Stop, progress: &Progress) -> Result<(ArmResult, ArmSeries)> {
        let cell = self.cell()?;
        let (start, unix_start) = (Instant::now(), unix_now());
        cell.record_from_now();
        let tick = |elapsed: Duration| progress.at(elapsed);
        // The proxy's constant load begins with the proxy, so that arm's idle pings take the plain path before it.
        let mut tunnel = if self.kind == ArmKind::AirpaceCubic {
            Some(self.tunnel(&cell, stop)?)
        } else {
            None
        };
        let idle_from = start.elapsed();
        let idle = self
            .phase(&cell, tunnel.is_some(), true)
            .run(start, stop, tick)?;
        if self.kind == ArmKind::AirpaceUdp {
            tunnel = Some(self.tunnel(&cell, stop)?);
        }
        let load_from = start.elapsed();
        let loaded = self
            .phase(&cell, tunnel.is_some(), false)
            .run(start, stop, tick)?;
        if stop.is_raised() {
            bail!("stopped");
        }
        let reported = self.reported(tunnel, unix_start)?;
        let record = cell.finish()?;
        record
            .warnings
            .iter()
            .for_each(|warning| tracing::warn!("{warning}"));
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

    fn cell(&self) -> Result<Cell> {
        let mut config = closed(self.mcs, self.options.ap_buffer_packets, self.options.seed)?;
        config.wired_delay = self.options.wired_delay;
        if self.kind.is_modified() {
            config = config.with_access_point(Scheme::Airtime);
            // The firmware of 802.11ac composes an aggregate when it is due. Composed ahead, two of 64 packets do not fit the block-ack window, and
            // the fastest station could not have two frames in succession, which it is due.
            config.cell.access_point.hardware = 0;
        }
        Cell::start(config, self.options.slot)
    }

    fn phase<'c>(&self, cell: &'c Cell, tunnelled: bool, idle: bool) -> Load<'c> {
        let target = |station| Target {
            namespace: cell.station(station),
            address: if tunnelled {
                Tunnel::address(station)
            } else {
                cell.station_address(station)
            },
        };
        Load {
            server: cell.server(),
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

    fn tunnel(&self, cell: &Cell, stop: &Stop) -> Result<Tunnel> {
        let site = |station| Site {
            namespace: cell.station(station),
            monitor: "mon0".to_owned(),
        };
        let plan = TunnelPlan {
            program: &self.options.program,
            server: (cell.server(), cell.server_address()),
            sites: (0..self.mcs.len()).map(site).collect(),
            target_level: self.options.target_level,
            slot: self.options.slot,
            udp_load: self.kind == ArmKind::AirpaceUdp,
        };
        Tunnel::start(&plan, stop)
    }

    /// What proxy and agents wrote, on the arm's clock. Both live on this machine, so the wall clock lines them up.
    fn reported(&self, tunnel: Option<Tunnel>, unix_start: f64) -> Result<Vec<Vec<Reported>>> {
        let Some(mut tunnel) = tunnel else {
            return Ok(Vec::new());
        };
        tunnel
            .check()
            .context("proxy and agents must last as long as the load")?;
        tunnel.keep_telemetry(
            &self.options.out,
            &format!("{}-{}", self.mcs.len(), self.kind.name()),
        )?;
        (0..self.mcs.len())
            .map(|station| self.reports_of(&tunnel, station, unix_start))
            .collect()
    }

    fn reports_of(
        &self,
        tunnel: &Tunnel,
        station: usize,
        unix_start: f64,
    ) -> Result<Vec<Reported>> {
        let granted = tunnel.proxy_slots(station)?;
        let mut rows = granted.iter().peekable();
        let report = |slot: AgentSlot| {
            let since_last = core::iter::from_fn(|| rows.next_if(|row| row.unix_s <= slot.unix_s));
            let dropped = since_last.map(|row| row.dropped).sum();
            Reported {
                at_s: slot.unix_s - unix_start,
                frames: slot.frames,
                packets: slot.packets,
                payload_mbps: self.payload_mbps(slot.bytes),
                allocated_mbps: granted
                    .iter()
                    .rev()
                    .find(|row| row.unix_s <= slot.unix_s)
                    .and_then(|row| row.rate_mbps),
                dropped,
            }
        };
        Ok(tunnel
            .agent_slots(station)?
            .into_iter()
            .map(report)
            .collect())
    }

    /// UDP payload in a slot's bytes of IP packets, when all are of the constant load. Pings among them are a few parts in 10⁴.
    fn payload_mbps(&self, ip_bytes: u64) -> f64 {
        let payload = UdpLoadConfig::default().payload.0.0 as f64;
        let share = payload / (payload + f64::from(UDP_OVERHEAD));
        ip_bytes as f64 * share * 8.0 / 1e6 / self.options.slot.as_secs_f64()
    }

    fn phy_mbps(&self) -> Result<Vec<f64>> {
        let rate = |&mcs: &u8| Ok(vht80(mcs)?.rate().as_mbps_f64());
        self.mcs.iter().map(rate).collect()
    }
}

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
