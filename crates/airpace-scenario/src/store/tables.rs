//! The tables of a run.

use super::parquet::{Column, Table};
use crate::results::{DelaySummary, SimulationSummary};
use crate::run::Finished;
use airpace_units::Time;

/// A column of whole numbers.
fn whole<T>(items: &[T], value: impl Fn(&T) -> u64) -> Column {
    // Counts and nanoseconds stay far below 2^63.
    Column::Whole(items.iter().map(|item| value(item) as i64).collect())
}

fn real<T>(items: &[T], value: impl Fn(&T) -> f64) -> Column {
    Column::Real(items.iter().map(value).collect())
}

fn perhaps<T>(items: &[T], value: impl Fn(&T) -> Option<f64>) -> Column {
    Column::Perhaps(items.iter().map(value).collect())
}

/// One name per row, all different.
fn names(names: Vec<String>) -> Column {
    let places = (0..).take(names.len()).collect();
    Column::Name(places, names)
}

/// One row with the figures of the whole.
pub(super) fn summary(summary: &SimulationSummary) -> Table {
    let mut table = Table::default();
    let totals = [summary.totals];
    table.add("seed", whole(&totals, |_| summary.seed));
    table.add("warm_up_s", real(&totals, |_| summary.warm_up_s));
    table.add("duration_s", real(&totals, |_| summary.duration_s));
    table.add("goodput_mbps", real(&totals, |totals| totals.goodput_mbps));
    table.add("level", perhaps(&totals, |totals| totals.level));
    delays(&mut table, &totals, |totals| totals.delay_ms);
    table.add("sent", whole(&totals, |totals| totals.sent));
    table.add("received", whole(&totals, |totals| totals.received));
    table.add("dropped", whole(&totals, |totals| totals.dropped));
    table.add(
        "airtime_share",
        real(&totals, |totals| totals.airtime_share),
    );
    table.add(
        "jain_airtime",
        perhaps(&totals, |totals| totals.jain_airtime),
    );
    table.add(
        "jain_goodput",
        perhaps(&totals, |totals| totals.jain_goodput),
    );
    table
}

fn delays<T>(table: &mut Table, items: &[T], delay: impl Fn(&T) -> Option<DelaySummary>) {
    table.add(
        "delay_mean_ms",
        perhaps(items, |item| delay(item).map(|delay| delay.mean)),
    );
    table.add(
        "delay_p50_ms",
        perhaps(items, |item| delay(item).map(|delay| delay.p50)),
    );
    table.add(
        "delay_p95_ms",
        perhaps(items, |item| delay(item).map(|delay| delay.p95)),
    );
    table.add(
        "delay_p99_ms",
        perhaps(items, |item| delay(item).map(|delay| delay.p99)),
    );
    table.add(
        "delay_min_ms",
        perhaps(items, |item| delay(item).map(|delay| delay.min)),
    );
}

/// One row per station.
pub(super) fn stations(summary: &SimulationSummary) -> Table {
    let mut table = Table::default();
    let stations = &summary.stations;
    table.add(
        "station",
        names(
            stations
                .iter()
                .map(|station| station.name.clone())
                .collect(),
        ),
    );
    table.add(
        "goodput_mbps",
        real(stations, |station| station.goodput_mbps),
    );
    table.add("level", perhaps(stations, |station| station.level));
    delays(&mut table, stations, |station| station.delay_ms);
    table.add("sent", whole(stations, |station| station.sent));
    table.add("received", whole(stations, |station| station.received));
    table.add(
        "dropped",
        whole(stations, |station| station.dropped.values().sum()),
    );
    table.add(
        "airtime_share",
        real(stations, |station| station.airtime_share),
    );
    table
}

fn node_names(finished: &Finished) -> Vec<String> {
    finished
        .resolved
        .nodes
        .iter()
        .map(|member| member.name.clone())
        .collect()
}

fn seconds(at: Time) -> f64 {
    at.since(Time::ZERO).as_secs_f64()
}

/// One row per slot and directed link, with what reached the receiver in that slot.
pub(super) fn slots(finished: &Finished) -> Table {
    let links = &finished.outcome.links;
    let slots = finished.outcome.slots.iter();
    let rows: Vec<_> = slots
        .flat_map(|slot| {
            slot.links
                .iter()
                .zip(links)
                .map(move |(link, ends)| (slot, link, ends))
        })
        .collect();
    let mut table = Table::default();
    let node = |value: fn(&airpace_sim::world::LinkSummary) -> u32| {
        Column::Name(
            rows.iter().map(|(_, _, ends)| value(ends)).collect(),
            node_names(finished),
        )
    };
    table.add("end_s", real(&rows, |(slot, _, _)| seconds(slot.end)));
    table.add("from", node(|ends| ends.from.0));
    table.add("to", node(|ends| ends.to.0));
    table.add("frames", whole(&rows, |(_, link, _)| link.counts.frames));
    table.add("level", perhaps(&rows, |(_, link, _)| link.counts.level()));
    table.add("mpdus", whole(&rows, |(_, link, _)| link.counts.mpdus));
    table.add("retries", whole(&rows, |(_, link, _)| link.counts.retries));
    table.add(
        "airtime_s",
        real(&rows, |(_, link, _)| link.counts.airtime.as_secs_f64()),
    );
    table.add(
        "phy_mbps",
        perhaps(&rows, |(_, link, _)| {
            link.counts.mean_rate_bps().map(|bps| bps / 1e6)
        }),
    );
    table.add("queued", whole(&rows, |(_, link, _)| link.queued as u64));
    let reached = |(slot, _, ends): &(
        &airpace_sim::world::SlotRecord,
        _,
        &airpace_sim::world::LinkSummary,
    )| {
        slot.nodes
            .get(ends.to.0 as usize)
            .copied()
            .unwrap_or_default()
    };
    table.add(
        "received",
        whole(&rows, |row| u64::from(reached(row).received)),
    );
    table.add("received_bytes", whole(&rows, |row| reached(row).bytes));
    table.add("lost", whole(&rows, |row| u64::from(reached(row).lost)));
    table.add(
        "delay_mean_ms",
        perhaps(&rows, |row| {
            let node = reached(row);
            (node.received > 0)
                .then(|| node.delay_sum.as_secs_f64() * 1e3 / f64::from(node.received))
        }),
    );
    table.add(
        "delay_max_ms",
        real(&rows, |row| reached(row).delay_max.as_secs_f64() * 1e3),
    );
    table
}

/// One row per proxy, slot and station.
pub(super) fn decisions(finished: &Finished) -> Table {
    let proxies = finished.outcome.decisions.iter().enumerate();
    let rows: Vec<_> = proxies
        .flat_map(|(proxy, slots)| slots.iter().map(move |slot| (proxy, slot)))
        .collect();
    let mut table = Table::default();
    table.add("proxy", whole(&rows, |(proxy, _)| *proxy as u64));
    table.add("at_s", real(&rows, |(_, slot)| seconds(slot.at)));
    table.add(
        "station",
        Column::Name(
            rows.iter().map(|(_, slot)| slot.station.0).collect(),
            node_names(finished),
        ),
    );
    table.add("rate_pps", perhaps(&rows, |(_, slot)| slot.rate_pps));
    table.add("target_level", real(&rows, |(_, slot)| slot.target_level));
    table.add("level", perhaps(&rows, |(_, slot)| slot.level));
    table.add(
        "round_ms",
        perhaps(&rows, |(_, slot)| slot.round_s.map(|round| round * 1e3)),
    );
    table.add("lost", whole(&rows, |(_, slot)| u64::from(slot.lost)));
    table.add("queued", whole(&rows, |(_, slot)| u64::from(slot.queued)));
    table.add(
        "overhead_ms",
        perhaps(&rows, |(_, slot)| {
            slot.overhead_s.map(|overhead| overhead * 1e3)
        }),
    );
    table
}

/// One row per frame.
pub(super) fn frames(finished: &Finished) -> Table {
    let rows = &finished.outcome.frames;
    let channels = &finished.resolved.world.channels;
    let node = |value: fn(&airpace_sim::mac::FrameRecord) -> airpace_sim::mac::RadioId| {
        let place =
            |(channel, frame): &(u32, _)| channels[*channel as usize].nodes[value(frame).index()].0;
        Column::Name(rows.iter().map(place).collect(), node_names(finished))
    };
    let mut table = Table::default();
    table.add("channel", whole(rows, |(channel, _)| u64::from(*channel)));
    table.add("start_ns", whole(rows, |(_, frame)| frame.start.as_nanos()));
    table.add("end_ns", whole(rows, |(_, frame)| frame.end.as_nanos()));
    table.add("from", node(|frame| frame.from));
    table.add("to", node(|frame| frame.to));
    table.add("category", whole(rows, |(_, frame)| frame.category as u64));
    table.add("mpdus", whole(rows, |(_, frame)| u64::from(frame.mpdus)));
    table.add(
        "packets",
        whole(rows, |(_, frame)| u64::from(frame.packets)),
    );
    table.add(
        "retries",
        whole(rows, |(_, frame)| u64::from(frame.retries)),
    );
    table.add(
        "decoded",
        whole(rows, |(_, frame)| u64::from(frame.decoded)),
    );
    table.add(
        "psdu_bytes",
        whole(rows, |(_, frame)| u64::from(frame.psdu_bytes)),
    );
    table.add(
        "airtime_ns",
        whole(rows, |(_, frame)| frame.airtime.as_nanos() as u64),
    );
    table.add(
        "phy_mbps",
        real(rows, |(_, frame)| frame.rate.rate().as_bps_f64() / 1e6),
    );
    table.add("mcs", whole(rows, |(_, frame)| u64::from(frame.rate.mcs())));
    table.add("nss", whole(rows, |(_, frame)| u64::from(frame.rate.nss())));
    table.add(
        "collided",
        Column::Truth(rows.iter().map(|(_, frame)| frame.collided).collect()),
    );
    table.add("queued", whole(rows, |(_, frame)| u64::from(frame.queued)));
    table
}

/// One row per packet that arrived.
pub(super) fn packets(finished: &Finished) -> Table {
    let rows = &finished.outcome.packets;
    let flows = finished
        .resolved
        .flows
        .iter()
        .map(|flow| flow.name.clone())
        .collect();
    let mut table = Table::default();
    table.add(
        "flow",
        Column::Name(rows.iter().map(|packet| packet.flow).collect(), flows),
    );
    table.add(
        "to",
        Column::Name(
            rows.iter().map(|packet| packet.to.0).collect(),
            node_names(finished),
        ),
    );
    table.add("sequence", whole(rows, |packet| packet.sequence));
    table.add("sent_ns", whole(rows, |packet| packet.sent.as_nanos()));
    table.add(
        "received_ns",
        whole(rows, |packet| packet.received.as_nanos()),
    );
    table.add("bytes", whole(rows, |packet| u64::from(packet.bytes)));
    table
}
