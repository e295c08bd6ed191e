//! A node's transmit path: the scheme, with the parameters that the scenario gives.

use crate::file::{AirtimeQueueLimit, CodelQueue, NodeQueue, SlowStations, WqmQueue};
use airpace_config::quantity::{Packets, Size, Span};
use airpace_core::queue::{
    AirtimeConfig, AirtimeLimitConfig, CoDelConfig, FqCoDelConfig, FqMacConfig, WqmConfig,
};
use airpace_sim::mac::{PathConfig, Qdisc, QueueLimit, QueueScope, Queues, Scheme};
use airpace_sim::rng::hash_key;

/// The path that `queue` describes, of a node called `name`.
pub(super) fn path(queue: &NodeQueue, seed: u64, name: &str) -> PathConfig {
    let mut path = base(queue);
    if let Some(driver) = queue.driver {
        path.drive_by(driver.0);
    }
    if let Some(limit) = queue.aql.as_ref().and_then(airtime_limit) {
        path.limit_airtime(limit);
    }
    replace(&mut path.hardware, queue.hardware_queue);
    replace(
        &mut path.schedule,
        queue.schedule.map(|schedule| schedule.0),
    );
    if let Some(qdisc) = &mut path.qdisc {
        change_qdisc(qdisc, queue);
    }
    match &mut path.queues {
        Queues::Fifo(limit) => replace(&mut limit.packets, queue.driver_limit.map(packets)),
        Queues::FlowQueues(config) => change_flow_queues(config, queue),
        // No scheme of a scenario has such queues.
        Queues::Custom(_) => {}
    }
    if let Some(config) = &mut path.airtime_fairness {
        change_airtime(config, queue);
    }
    if let Some(config) = &mut path.wqm {
        change_wqm(config, &queue.wqm);
    }
    path.key = secret(seed, name);
    path
}

/// The path of the scheme with its own parameters.
fn base(queue: &NodeQueue) -> PathConfig {
    match queue.scheme.0 {
        Scheme::PerStation => per_station(queue),
        scheme => PathConfig::of(scheme),
    }
}

/// Queues in the MAC alone. What is left out is as in ns-3.
fn per_station(queue: &NodeQueue) -> PathConfig {
    let scope = queue.sharing.unwrap_or_default().0;
    let limit = QueueLimit {
        packets: queue.limit.map_or(LIMIT, packets),
        scope,
        in_flight: queue.in_flight.unwrap_or(scope == QueueScope::Radio),
    };
    PathConfig::queued(limit)
}

/// Packets of a queue without a limit in the scenario: Linux's `txqueuelen`.
const LIMIT: usize = 1_000;

fn change_qdisc(qdisc: &mut Qdisc, queue: &NodeQueue) {
    let limit = queue.qdisc_limit.map(packets);
    match qdisc {
        Qdisc::Fifo { packets } => replace(packets, limit),
        Qdisc::Codel { config, packets } => {
            replace(packets, limit);
            change_codel(config, &queue.codel);
        }
        Qdisc::FqCodel(config) => change_fq_codel(config, queue),
    }
}

fn change_fq_codel(config: &mut FqCoDelConfig, queue: &NodeQueue) {
    replace(&mut config.queues, queue.flow_queues);
    replace(&mut config.quantum, queue.quantum.map(bytes));
    replace(&mut config.leaving, queue.leaving.map(|leaving| leaving.0));
    replace(&mut config.backlog, queue.backlog.map(|backlog| backlog.0));
    replace(
        &mut config.packet_limit,
        queue.qdisc_limit.map(|limit| limit.0),
    );
    replace(
        &mut config.byte_limit,
        queue.memory_limit.map(|limit| limit.0.0),
    );
    change_codel(&mut config.codel, &queue.codel);
}

fn change_flow_queues(config: &mut FqMacConfig, queue: &NodeQueue) {
    replace(&mut config.queues, queue.flow_queues);
    replace(&mut config.quantum, queue.quantum.map(bytes));
    replace(
        &mut config.packet_limit,
        queue.packet_limit.map(|limit| limit.0),
    );
    replace(
        &mut config.memory_limit,
        queue.memory_limit.map(|limit| limit.0.0),
    );
    change_codel(&mut config.codel, &queue.codel);
    let SlowStations {
        below,
        target,
        interval,
        hysteresis,
    } = &queue.slow;
    replace(&mut config.slow_below, below.map(|rate| rate.0));
    replace(&mut config.slow.target, span(*target));
    replace(&mut config.slow.interval, span(*interval));
    replace(&mut config.slow.mtu, queue.codel.mtu.map(bytes));
    replace(&mut config.hysteresis, span(*hysteresis));
}

fn change_codel(config: &mut CoDelConfig, codel: &CodelQueue) {
    replace(&mut config.target, span(codel.target));
    replace(&mut config.interval, span(codel.interval));
    replace(&mut config.mtu, codel.mtu.map(bytes));
}

fn change_airtime(config: &mut AirtimeConfig, queue: &NodeQueue) {
    replace(&mut config.quantum, span(queue.airtime_quantum));
    replace(&mut config.sparse, queue.sparse);
}

fn change_wqm(config: &mut WqmConfig, wqm: &WqmQueue) {
    replace(&mut config.limit, span(wqm.limit));
    replace(&mut config.interval, span(wqm.interval));
    replace(&mut config.decrease, wqm.decrease);
    replace(&mut config.increase, wqm.increase);
    replace(&mut config.drain, wqm.drain.map(|drain| drain.0));
}

/// The airtime queue limit, unless it is switched off.
fn airtime_limit(aql: &AirtimeQueueLimit) -> Option<AirtimeLimitConfig> {
    let mut config = AirtimeLimitConfig::default();
    replace(&mut config.per_station_low, span(aql.low));
    replace(&mut config.per_station_high, span(aql.high));
    replace(&mut config.threshold, span(aql.threshold));
    aql.on.then_some(config)
}

/// The key with which flows are hashed. It depends on seed and name alone, so that other nodes change nothing.
fn secret(seed: u64, name: &str) -> [u8; 16] {
    hash_key(seed, &format!("flow hashes of {name}"), 0)
}

/// Replaces `parameter` if a value is given.
fn replace<T>(parameter: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *parameter = value;
    }
}

fn packets(limit: Packets) -> usize {
    // The bounds of the keys keep limits within 32 bits.
    limit.0 as usize
}

fn bytes(size: Size) -> u32 {
    // The bounds of the key keep it within 32 bits.
    size.0.0 as u32
}

fn span(span: Option<Span>) -> Option<std::time::Duration> {
    span.map(|span| span.0)
}
