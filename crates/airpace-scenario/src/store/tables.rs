//! The tables of a run.

use super::table::{Column, Table};
use crate::file::Record;
use crate::results::{
    DelaySummary, FlowSummary, PageLoadSummary, SimulationSummary, StationSummary,
};
use crate::run::Finished;
use airpace_edge::proxy::Mode;
use airpace_sim::mac::FrameRecord;
use airpace_sim::world::{LinkSlot, LinkSummary, NodeSlot, SlotRecord};
use airpace_units::Time;
use std::borrow::Cow;

/// The tables that `record` asks for.
pub(super) fn tables(finished: &Finished, record: &Record) -> Vec<Table> {
    let figures = &finished.summary;
    let mut tables = vec![
        summary(figures),
        stations(&figures.stations),
        flows(&figures.flows),
    ];
    if record.slots {
        tables.push(slots(finished));
        if !finished.outcome.decisions.is_empty() {
            tables.push(decisions(finished));
        }
    }
    if record.frames {
        tables.push(frames(finished));
    }
    if record.packets {
        tables.push(packets(finished));
    }
    tables
}

/// A table with one row per item, to which columns are added.
struct Rows<'i, T> {
    items: &'i [T],
    table: Table,
}

impl<'i, T> Rows<'i, T> {
    const fn new(name: &'static str, items: &'i [T]) -> Self {
        Self {
            items,
            table: Table::new(name),
        }
    }

    fn integers(&mut self, name: &'static str, value: impl Fn(&T) -> u64) {
        // Counts and nanoseconds stay far below 2^63.
        let values = self.items.iter().map(|item| value(item) as i64).collect();
        self.table.add(name, Column::Integer(values));
    }

    fn floats(&mut self, name: &'static str, value: impl Fn(&T) -> f64) {
        let values = self.items.iter().map(value).collect();
        self.table.add(name, Column::Float(values));
    }

    fn optional_integers(&mut self, name: &'static str, value: impl Fn(&T) -> Option<u64>) {
        let value = |item| value(item).map(|count| count as i64);
        let values = self.items.iter().map(value).collect();
        self.table.add(name, Column::OptionalInteger(values));
    }

    fn optional_floats(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        value: impl Fn(&T) -> Option<f64>,
    ) {
        let values = self.items.iter().map(value).collect();
        self.table.add(name, Column::OptionalFloat(values));
    }

    fn bools(&mut self, name: &'static str, value: impl Fn(&T) -> bool) {
        let values = self.items.iter().map(value).collect();
        self.table.add(name, Column::Bool(values));
    }

    fn texts(&mut self, name: &'static str, text: impl Fn(&T) -> &str) {
        let column = Column::of_texts(self.items.iter().map(text));
        self.table.add(name, column);
    }

    /// A column of names, given by their index in `names`.
    fn names(&mut self, name: &'static str, names: Vec<String>, index: impl Fn(&T) -> u32) {
        let indices = self.items.iter().map(index).collect();
        self.table.add(name, Column::Name { indices, names });
    }

    fn delays(&mut self, delay: impl Fn(&T) -> Option<DelaySummary>) {
        self.spans("delay", delay);
    }

    /// Columns of the spans `what`, in milliseconds.
    fn spans(&mut self, what: &'static str, span: impl Fn(&T) -> Option<DelaySummary>) {
        let mut column = |figure, value: fn(DelaySummary) -> f64| {
            let name = format!("{what}_{figure}_ms");
            self.optional_floats(name, |item| span(item).map(value));
        };
        column("mean", |span| span.mean);
        column("p50", |span| span.p50);
        column("p95", |span| span.p95);
        column("p99", |span| span.p99);
        column("min", |span| span.min);
    }
}

/// One row with the figures of the network.
fn summary(summary: &SimulationSummary) -> Table {
    let totals = [summary.totals];
    let mut rows = Rows::new("summary", &totals);
    rows.integers("seed", |_| summary.seed);
    rows.floats("warm_up_s", |_| summary.warm_up_s);
    rows.floats("duration_s", |_| summary.duration_s);
    rows.floats("goodput_mbps", |totals| totals.goodput_mbps);
    rows.optional_floats("level", |totals| totals.level);
    rows.delays(|totals| totals.delay_ms);
    rows.integers("sent", |totals| totals.sent);
    rows.integers("received", |totals| totals.received);
    rows.integers("dropped", |totals| totals.dropped);
    rows.floats("airtime_share", |totals| totals.airtime_share);
    rows.optional_floats("jain_airtime", |totals| totals.jain_airtime);
    rows.optional_floats("jain_goodput", |totals| totals.jain_goodput);
    rows.table
}

/// One row per station.
pub(crate) fn stations(stations: &[StationSummary]) -> Table {
    let mut rows = Rows::new("stations", stations);
    rows.texts("station", |station| &station.name);
    rows.floats("goodput_mbps", |station| station.goodput_mbps);
    rows.optional_floats("level", |station| station.level);
    rows.delays(|station| station.delay_ms);
    rows.integers("sent", |station| station.sent);
    rows.integers("received", |station| station.received);
    rows.integers("dropped", StationSummary::dropped_packets);
    rows.floats("airtime_share", |station| station.airtime_share);
    rows.optional_floats("counted_airtime_share", |station| {
        station.counted_airtime_share
    });
    rows.table
}

/// One row per flow.
pub(crate) fn flows(flows: &[FlowSummary]) -> Table {
    let mut rows = Rows::new("flows", flows);
    rows.texts("flow", |flow| &flow.name);
    rows.texts("kind", |flow| &flow.kind);
    rows.texts("from", |flow| &flow.from);
    rows.texts("to", |flow| &flow.to);
    rows.floats("goodput_mbps", |flow| flow.goodput_mbps);
    rows.delays(|flow| flow.delay_ms);
    rows.spans("proxy_wait", |flow| flow.proxy_wait_ms);
    rows.integers("sent", |flow| flow.sent);
    rows.integers("received", |flow| flow.received);
    rows.integers("dropped", FlowSummary::dropped_packets);
    rows.spans("rtt", |flow| flow.rtt_ms);
    rows.optional_integers("retransmits", |flow| flow.retransmits);
    rows.optional_floats("mos", |flow| flow.mos);
    rows.optional_floats("network_mos", |flow| flow.network_mos);
    rows.optional_integers("pages", |flow| flow.page_load_s.map(|pages| pages.count));
    let mut page_load = |name, value: fn(PageLoadSummary) -> f64| {
        rows.optional_floats(name, |flow| flow.page_load_s.map(value));
    };
    page_load("page_load_mean_s", |pages| pages.mean);
    page_load("page_load_min_s", |pages| pages.min);
    page_load("page_load_max_s", |pages| pages.max);
    rows.table
}

fn node_names(finished: &Finished) -> Vec<String> {
    let nodes = finished.resolved.nodes.iter();
    nodes.map(|member| member.name.clone()).collect()
}

fn seconds(at: Time) -> f64 {
    at.since(Time::ZERO).as_secs_f64()
}

/// A directed link in a slot.
struct LinkRow<'o> {
    slot: &'o SlotRecord,
    link: &'o LinkSlot,
    ends: &'o LinkSummary,
}

impl LinkRow<'_> {
    /// What reached the link's receiver in the slot, over whichever link.
    fn receiver(&self) -> NodeSlot {
        let receiver = self.slot.nodes.get(self.ends.to.0 as usize);
        receiver.copied().unwrap_or_default()
    }

    /// Mean delay of the packets that reached the receiver.
    fn mean_delay_ms(&self) -> Option<f64> {
        let receiver = self.receiver();
        let sum_ms = receiver.delay_sum.as_secs_f64() * 1e3;
        (receiver.received > 0).then(|| sum_ms / f64::from(receiver.received))
    }
}

/// One row per slot and directed link.
fn slots(finished: &Finished) -> Table {
    let mut items = Vec::new();
    for slot in &finished.outcome.slots {
        for (link, ends) in slot.links.iter().zip(&finished.outcome.links) {
            items.push(LinkRow { slot, link, ends });
        }
    }
    let mut rows = Rows::new("slots", &items);
    rows.floats("end_s", |row| seconds(row.slot.end));
    rows.names("from", node_names(finished), |row| row.ends.from.0);
    rows.names("to", node_names(finished), |row| row.ends.to.0);
    rows.integers("frames", |row| row.link.counts.frames);
    rows.optional_floats("level", |row| row.link.counts.level());
    rows.integers("mpdus", |row| row.link.counts.mpdus);
    rows.integers("retries", |row| row.link.counts.retries);
    rows.floats("airtime_s", |row| row.link.counts.airtime.as_secs_f64());
    rows.optional_floats("phy_mbps", |row| {
        let rate_bps = row.link.counts.mean_rate_bps();
        rate_bps.map(|bps| bps / 1e6)
    });
    rows.integers("queued", |row| row.link.queued as u64);
    rows.integers("received", |row| u64::from(row.receiver().received));
    rows.integers("received_bytes", |row| row.receiver().bytes);
    rows.integers("lost", |row| u64::from(row.receiver().lost));
    rows.optional_floats("delay_mean_ms", LinkRow::mean_delay_ms);
    rows.floats("delay_max_ms", |row| {
        row.receiver().delay_max.as_secs_f64() * 1e3
    });
    rows.table
}

/// The modes in which a proxy sends to a station.
const MODES: [Mode; 5] = [
    Mode::Away,
    Mode::Starting,
    Mode::Controlled,
    Mode::Conservative,
    Mode::Unshaped,
];

/// One row per proxy, slot and station.
fn decisions(finished: &Finished) -> Table {
    let mut items = Vec::new();
    for (proxy, decisions) in finished.outcome.decisions.iter().enumerate() {
        for decision in decisions {
            items.push((proxy, decision));
        }
    }
    let mut rows = Rows::new("decisions", &items);
    rows.integers("proxy", |(proxy, _)| *proxy as u64);
    rows.floats("at_s", |(_, decision)| seconds(decision.at));
    rows.names("station", node_names(finished), |(_, decision)| {
        decision.station.0
    });
    let modes = MODES.iter().map(Mode::to_string).collect();
    rows.names("mode", modes, |(_, decision)| {
        let index = MODES.iter().position(|mode| *mode == decision.mode);
        // `MODES` has every mode.
        index.unwrap_or_default() as u32
    });
    rows.optional_floats("rate_pps", |(_, decision)| decision.rate_pps);
    rows.floats("target_level", |(_, decision)| decision.target_level);
    rows.optional_floats("level", |(_, decision)| decision.level);
    rows.optional_floats("round_ms", |(_, decision)| {
        decision.round_s.map(|s| s * 1e3)
    });
    rows.integers("lost", |(_, decision)| u64::from(decision.lost));
    rows.integers("queued", |(_, decision)| u64::from(decision.queued));
    rows.optional_floats("overhead_ms", |(_, decision)| {
        decision.overhead_s.map(|s| s * 1e3)
    });
    rows.table
}

/// One row per frame.
fn frames(finished: &Finished) -> Table {
    let channels = &finished.resolved.world.channels;
    let node = |channel: u32, radio: usize| channels[channel as usize].nodes[radio].0;
    let mut rows: Rows<'_, (u32, FrameRecord)> = Rows::new("frames", &finished.outcome.frames);
    rows.integers("channel", |(channel, _)| u64::from(*channel));
    rows.integers("start_ns", |(_, frame)| frame.start.as_nanos());
    rows.integers("end_ns", |(_, frame)| frame.end.as_nanos());
    rows.names("from", node_names(finished), |(channel, frame)| {
        node(*channel, frame.from.index())
    });
    rows.names("to", node_names(finished), |(channel, frame)| {
        node(*channel, frame.to.index())
    });
    rows.integers("category", |(_, frame)| frame.category as u64);
    rows.integers("mpdus", |(_, frame)| u64::from(frame.mpdus));
    rows.integers("packets", |(_, frame)| u64::from(frame.packets));
    rows.integers("retries", |(_, frame)| u64::from(frame.retries));
    rows.integers("decoded", |(_, frame)| u64::from(frame.decoded));
    rows.integers("psdu_bytes", |(_, frame)| u64::from(frame.psdu_bytes));
    rows.integers("airtime_ns", |(_, frame)| frame.airtime.as_nanos() as u64);
    rows.floats("phy_mbps", |(_, frame)| {
        frame.rate.rate().as_bps_f64() / 1e6
    });
    rows.integers("mcs", |(_, frame)| u64::from(frame.rate.mcs()));
    rows.integers("nss", |(_, frame)| u64::from(frame.rate.nss()));
    rows.bools("collided", |(_, frame)| frame.collided);
    rows.integers("queued", |(_, frame)| u64::from(frame.queued));
    rows.table
}

/// One row per packet that arrived.
fn packets(finished: &Finished) -> Table {
    let flows = finished.resolved.flows.iter();
    let flows = flows.map(|flow| flow.name.clone()).collect();
    let mut rows = Rows::new("packets", &finished.outcome.packets);
    rows.names("flow", flows, |packet| packet.flow);
    rows.names("to", node_names(finished), |packet| packet.to.0);
    rows.integers("sequence", |packet| packet.sequence);
    rows.integers("sent_ns", |packet| packet.sent.as_nanos());
    rows.integers("received_ns", |packet| packet.received.as_nanos());
    rows.integers("bytes", |packet| u64::from(packet.bytes));
    rows.table
}
