//! Rate laws that are written in Python.

use crate::failure::FirstError;
use airpace_core::control::{BacklogChange, RateController};
use airpace_core::report;
use airpace_edge::proxy::{CustomLaw, Pacing};
use airpace_scenario::resolve::Resolved;
use airpace_units::{StationId, Time};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::sync::Arc;
use std::time::Duration;

/// What one station received in one slot, and what the proxy knows about that slot.
#[pyclass(frozen, module = "airpace._native")]
pub(crate) struct SlotReport(report::SlotReport);

/// A read-only property of each field of the report that is a number or a truth value.
macro_rules! properties {
    ($($(#[$doc:meta])* $name:ident: $kind:ty = $value:expr;)+) => {
        #[pymethods]
        impl SlotReport {
            $($(#[$doc])*
            #[getter]
            fn $name(&self) -> $kind {
                let value: fn(&report::SlotReport) -> $kind = $value;
                value(&self.0)
            })+

            fn __repr__(&self) -> String {
                let report = &self.0;
                format!(
                    "SlotReport(station={}, slot={}, frames={}, packets={}, bytes={}, backlogged={})",
                    report.station.0, report.slot, report.frames, report.packets, report.bytes,
                    if report.sender.backlogged { "True" } else { "False" },
                )
            }
        }
    };
}

properties! {
    /// The station.
    station: u32 = |it| it.station.0;
    /// Number of the slot, counted by the station from zero.
    slot: u64 = |it| it.slot;
    /// Length of the slot, seconds.
    length_s: f64 = |it| it.length.as_secs_f64();
    /// Data frames that carried new packets.
    frames: u32 = |it| it.frames;
    /// MPDUs in those frames.
    mpdus: u32 = |it| it.mpdus;
    /// Packets in those frames.
    packets: u32 = |it| it.packets;
    /// Most packets in one of those frames; 0 if it is not known.
    longest_frame: u32 = |it| it.longest_frame;
    /// Bytes of the packets.
    bytes: u64 = |it| it.bytes;
    /// Mean packets per frame; `None` without frames.
    level: Option<f64> = report::SlotReport::level;
    /// Mean time between frames, seconds; `None` with fewer than two.
    round_s: Option<f64> = report::SlotReport::round_s;
    /// Harmonic mean of the PHY rate, bit/s; `None` if it is unknown.
    phy_bps: Option<f64> = report::SlotReport::phy_rate_bps;
    /// Packets received per second.
    received_pps: f64 = report::SlotReport::received_pps;
    /// Packets that did not arrive.
    lost: u32 = |it| it.lost;
    /// Packets that arrived after a later one.
    late: u32 = |it| it.late;
    /// Mean time through the access point above the smallest, seconds, if it was measured.
    wait_mean_s: Option<f64> = |it| it.wait.map(|wait| wait.mean.as_secs_f64());
    /// 95th percentile of that time, seconds.
    wait_p95_s: Option<f64> = |it| it.wait.map(|wait| wait.p95.as_secs_f64());
    /// How far frames and level can be relied upon, 0 to 1.
    confidence: f64 = |it| it.confidence;
    /// Whether packets for the station waited at the proxy during the slot.
    backlogged: bool = |it| it.sender.backlogged;
    /// Whether the proxy's low-latency queue marked packets during the slot.
    marked: bool = |it| it.sender.marked;
    /// Packets that the proxy sent to the station in the last slot.
    sent_packets: u32 = |it| it.sender.sent_packets;
    /// Bytes of those packets.
    sent_bytes: u64 = |it| it.sender.sent_bytes;
}

/// The rate that a law grants to a station: `rate_pps` packets of `packet_bytes` per second, at
/// which frames should have `level` packets; nothing is sent for the first `pause_s` seconds.
#[pyclass(frozen, from_py_object, get_all, module = "airpace._native")]
#[derive(Clone, Copy)]
pub(crate) struct Allocation {
    /// The station.
    station: u32,
    /// Packets per second, at least 0.
    rate_pps: f64,
    /// Bytes of a packet.
    packet_bytes: f64,
    /// Target of the packets per frame.
    level: f64,
    /// Seconds without packets from now on.
    pause_s: f64,
}

#[pymethods]
impl Allocation {
    #[new]
    #[pyo3(signature = (station, rate_pps, packet_bytes = 1500.0, level = 1.0, pause_s = 0.0))]
    fn new(
        station: u32,
        rate_pps: f64,
        packet_bytes: f64,
        level: f64,
        pause_s: f64,
    ) -> PyResult<Self> {
        let values = [
            ("rate_pps", rate_pps, 0.0),
            ("packet_bytes", packet_bytes, 1.0),
            ("level", level, 0.0),
            ("pause_s", pause_s, 0.0),
        ];
        for (name, value, least) in values {
            if !(least..=1e12).contains(&value) {
                let text = format!(
                    "{name} of station {station} is {value}: it must be from {least} to 1e12"
                );
                return Err(PyValueError::new_err(text));
            }
        }
        Ok(Self {
            station,
            rate_pps,
            packet_bytes,
            level,
            pause_s,
        })
    }

    fn __repr__(&self) -> String {
        let Self {
            station,
            rate_pps,
            packet_bytes,
            level,
            pause_s,
        } = self;
        format!(
            "Allocation(station={station}, rate_pps={rate_pps}, packet_bytes={packet_bytes}, level={level}, pause_s={pause_s})"
        )
    }
}

impl Allocation {
    fn granted(&self) -> report::Allocation {
        let station = StationId(self.station);
        let granted =
            report::Allocation::new(station, self.rate_pps, self.packet_bytes, self.level);
        report::Allocation {
            pause: Duration::try_from_secs_f64(self.pause_s).unwrap_or(Duration::MAX),
            ..granted
        }
    }
}

/// Puts the laws into every proxy of the network.
pub(crate) fn plug_in(network: &mut Resolved, laws: PythonLaws) -> PyResult<()> {
    if network.world.proxies.is_empty() {
        let text = "there is no [[proxy]] in which the law could decide: add one to the scenario";
        return Err(PyValueError::new_err(text));
    }
    let laws = Pacing::Custom(CustomLaw::new(move || laws.build()));
    for proxy in &mut network.world.proxies {
        proxy.edge.pacing = laws.clone();
    }
    Ok(())
}

/// Builds a law for each proxy that begins.
pub(crate) struct PythonLaws {
    factory: Arc<Py<PyAny>>,
    errors: FirstError,
}

impl PythonLaws {
    pub(crate) fn new(factory: Py<PyAny>, errors: FirstError) -> Self {
        let factory = Arc::new(factory);
        Self { factory, errors }
    }

    fn build(&self) -> Box<dyn RateController + Send> {
        let law = Python::attach(|py| {
            let law = self.factory.call0(py)?;
            check_methods(law.bind(py))?;
            let takes_news = match law.bind(py).getattr_opt("takes_news")? {
                Some(takes_news) => takes_news.is_truthy()?,
                None => false,
            };
            let has = |name: &str| law.bind(py).hasattr(name);
            Ok(PythonLaw {
                takes_news,
                hears_backlog: has("on_backlog")?,
                removes: has("remove")?,
                law: Some(law),
                errors: self.errors.clone(),
                granted: Vec::new(),
            })
        });
        Box::new(law.unwrap_or_else(|error| {
            self.errors.keep(error);
            PythonLaw {
                law: None,
                takes_news: false,
                hears_backlog: false,
                removes: false,
                errors: self.errors.clone(),
                granted: Vec::new(),
            }
        }))
    }
}

fn check_methods(law: &Bound<'_, PyAny>) -> PyResult<()> {
    if law.hasattr("on_slot")? {
        return Ok(());
    }
    let text = format!(
        "{} is not a law: it has no method on_slot(now, reports)",
        law.repr()?
    );
    Err(PyTypeError::new_err(text))
}

/// A law in Python. After its first exception it is not called again, and the run ends.
struct PythonLaw {
    law: Option<Py<PyAny>>,
    takes_news: bool,
    hears_backlog: bool,
    removes: bool,
    errors: FirstError,
    granted: Vec<report::Allocation>,
}

impl PythonLaw {
    /// Lets the law act; its exception ends the run.
    fn act<T>(&mut self, act: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> Option<T> {
        let law = self.law.as_ref()?;
        match Python::attach(|py| act(law.bind(py))) {
            Ok(value) => Some(value),
            Err(error) => {
                self.errors.keep(error);
                self.law = None;
                None
            }
        }
    }
}

fn granted(allocations: &Bound<'_, PyAny>) -> PyResult<Vec<report::Allocation>> {
    let mut granted = Vec::new();
    for allocation in allocations.try_iter()? {
        granted.push(allocation?.extract::<Allocation>()?.granted());
    }
    Ok(granted)
}

impl RateController for PythonLaw {
    fn name(&self) -> &'static str {
        "python"
    }

    fn on_slot(&mut self, now: Time, reports: &[report::SlotReport]) -> &[report::Allocation] {
        let decided = self.act(|law| {
            let reports: Vec<SlotReport> = reports.iter().cloned().map(SlotReport).collect();
            granted(&law.call_method1("on_slot", (seconds(now), reports))?)
        });
        if let Some(decided) = decided {
            self.granted = decided;
        }
        &self.granted
    }

    fn on_backlog(
        &mut self,
        now: Time,
        changes: &[BacklogChange],
    ) -> Option<&[report::Allocation]> {
        if !self.hears_backlog {
            return None;
        }
        let changes: Vec<(u32, bool)> = changes
            .iter()
            .map(|change| (change.station.0, change.waits))
            .collect();
        let decided = self.act(|law| {
            let allocations = law.call_method1("on_backlog", (seconds(now), changes))?;
            if allocations.is_none() {
                Ok(None)
            } else {
                granted(&allocations).map(Some)
            }
        });
        self.granted = decided??;
        Some(&self.granted)
    }

    fn takes_news(&self) -> bool {
        self.takes_news
    }

    fn remove(&mut self, station: StationId) {
        self.granted.retain(|known| known.station != station);
        if self.removes {
            self.act(|law| law.call_method1("remove", (station.0,)).map(drop));
        }
    }
}

/// Simulated time in seconds.
pub(crate) fn seconds(at: Time) -> f64 {
    at.since(Time::ZERO).as_secs_f64()
}
