//! The proxy of [`airpace_edge`] for IP packets in buffers: it finds the station of an address,
//! turns records into telemetry, and logs events.

use super::addresses::StationAddresses;
use super::settings;
use super::{Counts, Output, ProxyError};
use crate::device::Intake;
use crate::journal::RowBudget;
use crate::packet::{PacketBuf, Pool};
use crate::summary::{Summaries, Summary};
use airpace_api::config::{ProxyConfig, TelemetryDetail};
use airpace_api::telemetry::ProxySlot;
use airpace_core::control::Diagnostics;
use airpace_core::report::SlotReport;
use airpace_core::wire::{ip, report};
use airpace_edge::proxy::{self, Event, Mode, Proxy, SlotRecord};
use airpace_units::{StationId, Time};
use core::net::IpAddr;
use core::time::Duration;

/// The proxy's decisions about IP packets. Stations are numbered as in the configuration, as are
/// the peers of the tunnel.
pub struct PacketProxy {
    proxy: Proxy<PacketBuf>,
    names: Vec<String>,
    addresses: StationAddresses,
    /// Wall-clock time since 1970 at [`Time::ZERO`].
    epoch: Duration,
    /// Buffers of packets that the queues dropped.
    pool: Pool,
    unroutable: u64,
    malformed_reports: u64,
    rows: RowBudget,
    /// If only summaries become rows.
    summaries: Option<Summaries<usize>>,
}

/// Most records of all stations together per second, less than 1 MB/s.
const MOST_ROWS: u32 = 1300;

impl PacketProxy {
    /// A proxy without connected stations. `epoch` is the wall-clock time since 1970 at
    /// [`Time::ZERO`]. `key` is secret, so that senders cannot choose addresses that share the
    /// queue of another flow.
    ///
    /// # Errors
    /// The law does not support its parameters or a station's weight.
    pub fn new(config: &ProxyConfig, epoch: Duration, key: [u8; 16]) -> Result<Self, ProxyError> {
        let stations = &config.station;
        let is_summary = config.telemetry_detail == TelemetryDetail::Summary;
        let proxy = Proxy::new(settings::edge(config), |idx| station_key(key, idx));
        let proxy = proxy.map_err(|error| with_station_name(error, config))?;
        Ok(Self {
            proxy,
            names: stations
                .iter()
                .map(|station| station.name.clone())
                .collect(),
            addresses: StationAddresses::new(stations),
            epoch,
            pool: Pool::default(),
            unroutable: 0,
            malformed_reports: 0,
            rows: RowBudget::new(MOST_ROWS),
            summaries: is_summary.then(Summaries::default),
        })
    }

    /// The pool from which buffers of packets are taken and to which they are returned.
    pub const fn pool(&mut self) -> &mut Pool {
        &mut self.pool
    }

    /// What was dropped so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let proxy::Counts {
            away,
            bad_reports,
            corrected_reports,
            surplus_reports,
        } = *self.proxy.counts();
        Counts {
            unroutable: self.unroutable,
            away,
            bad_reports: bad_reports + self.malformed_reports,
            corrected_reports,
            surplus_reports,
        }
    }

    /// The law's estimates of the medium at the last decision.
    #[must_use]
    pub const fn diagnostics(&self) -> &Diagnostics {
        self.proxy.diagnostics()
    }

    /// The mode a station is in; `None` if there is no such station.
    #[must_use]
    pub fn mode(&self, station: usize) -> Option<Mode> {
        self.proxy.mode(station)
    }

    /// The station that an address within the tunnel belongs to; `None` if there is none.
    #[must_use]
    pub fn station_of(&self, address: IpAddr) -> Option<usize> {
        self.addresses.station_of(address)
    }

    /// Takes an IP packet for one of the stations. Packets for others are counted and dropped.
    pub fn on_packet(&mut self, now: Time, packet: PacketBuf) {
        let station = ip::destination(packet.as_bytes()).and_then(|to| self.station_of(to));
        let Some(station) = station else {
            self.unroutable += 1;
            return self.pool.put(packet);
        };
        self.proxy.enqueue(now, station, packet);
        self.recycle();
    }

    /// Takes the bytes of an authentic report of a station.
    pub fn on_report(&mut self, now: Time, station: usize, bytes: &[u8]) {
        if station >= self.names.len() {
            return;
        }
        match report::decode(StationId::from_index(station), bytes) {
            Ok(report) => self.proxy.on_report(now, report),
            Err(_) => self.malformed_reports += 1,
        }
        self.log_events();
    }

    /// Counts a datagram of `bytes` from a station, IP header included.
    pub fn on_uplink(&mut self, now: Time, station: usize, bytes: u32) {
        self.proxy.on_uplink(now, station, bytes);
    }

    /// Sets whether the tunnel has a session with a station.
    pub fn set_connected(&mut self, now: Time, station: usize, connected: bool) {
        self.proxy.set_connected(now, station, connected);
        self.recycle();
        self.log_events();
    }

    /// The next packet that may leave now.
    pub fn poll(&mut self, now: Time) -> Option<Output> {
        let output = self.proxy.poll(now);
        self.recycle();
        Some(match output? {
            proxy::Output::Packet {
                station,
                packet,
                priority,
                ..
            } => Output::Packet {
                station,
                packet,
                priority,
            },
            proxy::Output::Load { station, bytes } => Output::Load {
                station,
                body: bytes.saturating_sub(settings::TUNNEL_OVERHEAD) as usize,
            },
        })
    }

    /// The next row about a station: a record of its slot, or the summary of several.
    ///
    /// All stations together get at most 1,300 rows per second; the others are counted
    /// and left out.
    pub fn poll_record(&mut self) -> Option<ProxySlot> {
        loop {
            let record = self.proxy.poll_record()?;
            let at = record.at;
            let Some(summaries) = &mut self.summaries else {
                if self.rows.takes(at) {
                    return Some(self.telemetry(&record));
                }
                continue;
            };
            if let Some(ended) = summaries.add(record.station.index(), record, None)
                && self.rows.takes(at)
            {
                return Some(self.summary(&ended));
            }
        }
    }

    /// The next summary that had not ended when the proxy did.
    pub fn poll_last_record(&mut self) -> Option<ProxySlot> {
        let (_, ended) = self.summaries.as_mut()?.end_in(&..)?;
        Some(self.summary(&ended))
    }

    /// Records that were left out because there were too many.
    #[must_use]
    pub const fn records_left_out(&self) -> u64 {
        self.rows.left_out()
    }

    /// When [`PacketProxy::poll`] or [`PacketProxy::handle_timeout`] must be called next.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.proxy.deadline()
    }

    /// Ends a slot whose reports did not all come in time, and looks for stations whose reports are
    /// missing.
    pub fn handle_timeout(&mut self, now: Time) {
        self.proxy.handle_timeout(now);
        self.log_events();
    }

    /// Returns the buffers of packets that were dropped to the pool.
    fn recycle(&mut self) {
        while let Some(dropped) = self.proxy.poll_drop() {
            self.pool.put(dropped.packet);
        }
    }

    /// Logs the proxy's events.
    fn log_events(&mut self) {
        while let Some(event) = self.proxy.poll_event() {
            self.log(&event);
        }
    }

    fn log(&self, event: &Event) {
        let Event::ModeChanged {
            station,
            from,
            to,
            silence,
            ..
        } = event
        else {
            if let Event::ReportsRejected { station, reports } = event {
                let station = &self.names[*station];
                return tracing::warn!(event = "reports-rejected", %station, reports, "reports claim what cannot be, or come too often: corrected or left out");
            }
            // Warnings about the medium.
            return tracing::warn!(event = "medium-warning", "{event}");
        };
        let station = &self.names[*station];
        let silence_ms = silence.as_millis() as u64;
        match to {
            Mode::Conservative | Mode::Unshaped => {
                tracing::warn!(event = "reports-missing", %station, %from, %to, silence_ms, "reports are missing");
            }
            _ => tracing::info!(event = "station-mode", %station, %from, %to, "mode"),
        }
    }

    /// The telemetry of a summary.
    fn summary(&self, ended: &Summary) -> ProxySlot {
        ProxySlot {
            slots: Some(ended.slots),
            span_s: Some(ended.record.length.as_secs_f64()),
            round_ms: ended.round.value().map(|round| round * 1e3),
            ..self.telemetry(&ended.record)
        }
    }

    /// The telemetry of a record.
    fn telemetry(&self, record: &SlotRecord) -> ProxySlot {
        let report = record.report.as_ref();
        let seconds = record.length.as_secs_f64().max(1e-9);
        let wait = report.and_then(|report| report.wait.as_ref());
        let goodput_mbps = report
            .map(|report| report.bytes as f64 * 8.0 / report.length.as_secs_f64().max(1e-9) / 1e6);
        ProxySlot {
            time_s: record.at.as_secs_f64(),
            unix_s: (self.epoch + Duration::from_nanos(record.at.as_nanos())).as_secs_f64(),
            slots: None,
            span_s: None,
            station: self.names[record.station.index()].clone(),
            mode: record.mode.to_string(),
            level: report.and_then(SlotReport::level),
            level_target: record.granted.map(|granted| granted.level),
            rate_pps: record.granted.map(|granted| granted.rate_pps),
            rate_mbps: record
                .granted
                .map(|granted| granted.rate_bytes_per_s * 8.0 / 1e6),
            sent_mbps: record.sent_bytes as f64 * 8.0 / seconds / 1e6,
            goodput_mbps,
            round_ms: report
                .and_then(SlotReport::round_s)
                .map(|round| round * 1e3),
            overhead_us: record.diagnostics.overhead_s.map(|overhead| overhead * 1e6),
            smallest_delay_ms: record.diagnostics.smallest_delay_s.map(|delay| delay * 1e3),
            least_latency_ms: record.diagnostics.least_latency_s.map(|least| least * 1e3),
            price: record.diagnostics.price,
            capped_elsewhere: record.diagnostics.capped_elsewhere,
            phy_mbps: report
                .and_then(SlotReport::phy_rate_bps)
                .map(|rate| rate / 1e6),
            backlog_packets: record.backlog_packets,
            backlog_bytes: record.backlog_bytes,
            sojourn_p50_ms: record.sojourn_p50.map(ms),
            sojourn_p95_ms: record.sojourn_p95.map(ms),
            wait_mean_ms: wait.map(|wait| ms(wait.mean)),
            wait_p50_ms: wait.map(|wait| ms(wait.p50)),
            wait_p95_ms: wait.map(|wait| ms(wait.p95)),
            lost: report.map(|report| report.lost),
            dropped: record.dropped,
            marked: record.marked,
            corrected_reports: record.rejected.corrected,
            surplus_reports: record.rejected.surplus,
        }
    }
}

/// A duration in milliseconds.
fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// The key of a station's queue: each has one of its own.
fn station_key(mut key: [u8; 16], station: usize) -> [u8; 16] {
    for (byte, own) in key.iter_mut().zip((station as u64).to_le_bytes()) {
        *byte ^= own;
    }
    key
}

/// The error, with the station's name instead of its number.
fn with_station_name(error: proxy::ProxyError, config: &ProxyConfig) -> ProxyError {
    match error {
        proxy::ProxyError::Weight { station, law } => ProxyError::Weight {
            station: config.station[station].name.clone(),
            law,
        },
        other => ProxyError::Edge(other),
    }
}

impl Intake for PacketProxy {
    fn pool(&mut self) -> &mut Pool {
        Self::pool(self)
    }

    fn on_packet(&mut self, now: Time, packet: PacketBuf) {
        Self::on_packet(self, now, packet);
    }
}
