//! What is shown of a run: the last slot of each node, and the figures of the last seconds.

use super::Input;
use crate::dashboard::history::History;
use airpace_scenario::file::NodeKind;
use airpace_scenario::resolve::Resolved;
use airpace_sim::world::{LinkSlot, ProxySlot, SlotRecord, World};
use airpace_units::Time;
use std::time::Duration;

/// Most simulated seconds that a line shows.
const LONGEST_S: f64 = 10.0;

/// A node to which data go, or a station.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) name: String,
    /// Index of the node.
    node: usize,
    /// IP bytes that arrived in the last slot, Mbit/s.
    pub(super) mbps: Option<f64>,
    /// What a proxy allows it, Mbit/s; `None` if it is not paced.
    pub(super) paced_mbps: Option<f64>,
    /// MPDUs per frame to it, or from it if there were none to it.
    pub(super) level: Option<f64>,
    /// PHY rate of these frames, Mbit/s.
    pub(super) phy_mbps: Option<f64>,
    /// Mean delay of what arrived in the last slot, and the longest, milliseconds.
    pub(super) delay_ms: Option<f64>,
    pub(super) longest_ms: Option<f64>,
    pub(super) histories: Histories,
}

/// Figures of a node over time.
#[derive(Clone, Debug)]
pub(super) struct Histories {
    pub(super) goodput: History,
    pub(super) level: History,
    pub(super) delay: History,
}

/// A directed radio link of the network.
#[derive(Clone, Copy, Debug)]
struct Ends {
    from: usize,
    to: usize,
}

/// Everything that is shown.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) title: String,
    pub(super) has_colour: bool,
    pub(super) is_paused: bool,
    /// Simulated seconds so far, and in all.
    pub(super) done_s: f64,
    pub(super) total_s: f64,
    pub(super) warm_up_s: f64,
    /// Simulated seconds per second.
    pub(super) speed: f64,
    /// Simulated seconds that a line shows.
    pub(super) shown_s: f64,
    pub(super) rows: Vec<Row>,
    /// The first row on the screen.
    pub(super) first: usize,
    /// Share of the last slot in which data frames and their answers were on the air, by channel.
    pub(super) busy: Vec<(String, f64)>,
    links: Vec<Ends>,
    /// Links of each channel.
    counts: Vec<usize>,
    /// Slots and decisions of each proxy that were taken.
    slots: usize,
    decisions: Vec<usize>,
    last_end: Time,
}

impl Watched {
    /// Nothing yet of the run of `resolved`.
    pub(super) fn new(title: &str, resolved: &Resolved, has_colour: bool) -> Self {
        let world = &resolved.world;
        let total_s = (world.warm_up + world.duration).as_secs_f64();
        let shown_s = total_s.min(LONGEST_S);
        let mut rows = Vec::new();
        for (node, member) in resolved.nodes.iter().enumerate() {
            let is_station = matches!(member.kind, NodeKind::Station);
            if is_station || world.flows.iter().any(|flow| flow.to.0 as usize == node) {
                rows.push(Row::new(&member.name, node, shown_s));
            }
        }
        let mut links = Vec::new();
        for channel in &world.channels {
            for link in &channel.mac.links {
                let node = |radio: airpace_sim::mac::RadioId| channel.nodes[radio.index()].0;
                links.push(Ends {
                    from: node(link.from) as usize,
                    to: node(link.to) as usize,
                });
            }
        }
        let names = resolved.channels.iter().cloned();
        Self {
            title: title.to_owned(),
            has_colour,
            is_paused: false,
            done_s: 0.0,
            total_s,
            warm_up_s: world.warm_up.as_secs_f64(),
            speed: 0.0,
            shown_s,
            rows,
            first: 0,
            busy: names.map(|name| (name, 0.0)).collect(),
            links,
            counts: world.channels.iter().map(|c| c.mac.links.len()).collect(),
            slots: 0,
            decisions: vec![0; world.proxies.len()],
            last_end: Time::ZERO,
        }
    }

    /// Takes what has happened in the network since it was last asked. The run has taken `ran`.
    pub(super) fn take(&mut self, world: &World, ran: Duration) {
        self.done_s = world.now().since(Time::ZERO).as_secs_f64();
        self.speed = self.done_s / ran.as_secs_f64().max(1e-9);
        for (taken, decisions) in self.decisions.iter_mut().zip(world.decisions()) {
            for decision in &decisions[*taken..] {
                take_decision(&mut self.rows, decision);
            }
            *taken = decisions.len();
        }
        let slots = world.slots();
        for slot in &slots[self.slots..] {
            self.take_slot(slot);
        }
        self.slots = slots.len();
    }

    fn take_slot(&mut self, slot: &SlotRecord) {
        let length_s = slot.end.saturating_since(self.last_end).as_secs_f64();
        self.last_end = slot.end;
        let at_s = slot.end.since(Time::ZERO).as_secs_f64();
        for row in &mut self.rows {
            let node = slot.nodes[row.node];
            row.mbps = Some(node.bytes as f64 * 8e-6 / length_s.max(1e-9));
            let sum_ms = node.delay_sum.as_secs_f64() * 1e3;
            let has_any = node.received > 0;
            row.delay_ms = has_any.then(|| sum_ms / f64::from(node.received));
            row.longest_ms = has_any.then_some(node.delay_max.as_secs_f64() * 1e3);
            let link = link_of(row.node, &self.links, &slot.links);
            row.level = link.and_then(|link| link.counts.level());
            row.phy_mbps = link.and_then(|link| link.counts.mean_rate_bps().map(|bps| bps / 1e6));
            row.histories.goodput.add(at_s, row.mbps);
            row.histories.level.add(at_s, row.level);
            row.histories.delay.add(at_s, row.delay_ms);
        }
        let mut links = slot.links.iter();
        for (channel, count) in self.busy.iter_mut().zip(&self.counts) {
            let own = links.by_ref().take(*count);
            let airtime: Duration = own.map(|link| link.counts.airtime).sum();
            channel.1 = airtime.as_secs_f64() / length_s.max(1e-9);
        }
    }

    /// Does what the user wants.
    pub(super) fn handle(&mut self, input: Input) {
        match input {
            Input::Pause => self.is_paused = !self.is_paused,
            Input::Up => self.first = self.first.saturating_sub(1),
            // The view knows how many rows fit.
            Input::Down => self.first = (self.first + 1).min(self.rows.len().saturating_sub(1)),
            Input::Quit | Input::Interrupt => {}
        }
    }
}

impl Row {
    fn new(name: &str, node: usize, shown_s: f64) -> Self {
        Self {
            name: name.to_owned(),
            node,
            mbps: None,
            paced_mbps: None,
            level: None,
            phy_mbps: None,
            delay_ms: None,
            longest_ms: None,
            histories: Histories::over(shown_s),
        }
    }
}

impl Histories {
    /// Empty ones of `shown_s` seconds.
    pub(super) const fn over(shown_s: f64) -> Self {
        Self {
            goodput: History::over(shown_s),
            level: History::over(shown_s),
            delay: History::over(shown_s),
        }
    }
}

/// The link with the most frames to the node, or from it if there were none to it.
fn link_of<'a>(node: usize, ends: &[Ends], links: &'a [LinkSlot]) -> Option<&'a LinkSlot> {
    let most = |fits: &dyn Fn(&Ends) -> bool| {
        let own = ends.iter().zip(links).filter(|(ends, _)| fits(ends));
        let own = own.map(|(_, link)| link);
        own.filter(|link| link.counts.frames > 0)
            .max_by_key(|link| link.counts.frames)
    };
    most(&|ends| ends.to == node).or_else(|| most(&|ends| ends.from == node))
}

/// Bytes of the packets in whose number per second a proxy paces, with IP and UDP headers.
const PACED_BYTES: f64 = 1_498.0;

fn take_decision(rows: &mut [Row], decision: &ProxySlot) {
    let station = decision.station.0 as usize;
    if let Some(row) = rows.iter_mut().find(|row| row.node == station) {
        let pps = decision.rate_pps;
        row.paced_mbps = pps.map(|pps| pps * PACED_BYTES * 8e-6);
    }
}
