//! What a run comes to.

use super::air::Channel;
use super::config::NodeId;
use super::flow::Details;
use super::proxy::{ModeChange, ProxySlot};
use super::slots::SlotRecord;
use super::statistics::{FlowCounts, LinkCounts};
use super::{MpduRecord, PacketRecord, World};
use crate::mac::{FrameRecord, RadioId};
use core::time::Duration;

/// A run's results.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Length of the time over which statistics were taken.
    pub window: Duration,
    /// Every flow, in the order of the configuration.
    pub flows: Vec<FlowSummary>,
    /// Every directed link of every channel.
    pub links: Vec<LinkSummary>,
    /// Per channel, how long transmissions kept it busy for its first radio, which is the first access point: at most the window.
    pub busy: Vec<Duration>,
    /// Of the whole run, the warm-up included.
    pub totals: Totals,
    /// The slots, if the configuration has any.
    pub slots: Vec<SlotRecord>,
    /// What the proxies decided, in order of time, if the configuration has slots.
    pub decisions: Vec<Vec<ProxySlot>>,
    /// When the proxies' stations came to be sent to in another way, in order of time.
    pub modes: Vec<Vec<ModeChange>>,
    /// The frames, if they were asked for: index of the channel and record.
    pub frames: Vec<(u32, FrameRecord)>,
    /// The packets, if they were asked for.
    pub packets: Vec<PacketRecord>,
    /// The MPDUs that were decoded, if they were asked for.
    pub mpdus: Vec<MpduRecord>,
}

/// What became of a flow's packets.
#[derive(Clone, Debug)]
pub struct FlowSummary {
    /// Where it comes from.
    pub from: NodeId,
    /// Where it goes.
    pub to: NodeId,
    /// Packets both ways.
    pub counts: FlowCounts,
    /// Payload delivered to the application at `to`, bytes.
    pub payload_bytes: u64,
    /// What the kind of traffic tells beside.
    pub details: Details,
}

/// What was sent over a directed link.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LinkSummary {
    /// Index of the channel.
    pub channel: usize,
    /// Who sends.
    pub from: NodeId,
    /// Who receives.
    pub to: NodeId,
    /// Frames, MPDUs and airtime.
    pub counts: LinkCounts,
}

/// Packets of flows over the whole run. `sent = delivered + dropped + held` at any time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Packets that left their sources.
    pub sent: u64,
    /// Packets that arrived.
    pub delivered: u64,
    /// Packets lost, for whatever reason.
    pub dropped: u64,
    /// Packets still under way.
    pub held: u64,
    /// Reports that stations sent to proxies.
    pub reports_sent: u64,
    /// Reports that arrived.
    pub reports_delivered: u64,
    /// Reports lost.
    pub reports_dropped: u64,
    /// Reports still under way.
    pub reports_held: u64,
}

impl World {
    /// What the run comes to so far. Records that were asked for are handed over, not copied.
    pub fn outcome(&mut self) -> Outcome {
        let now = self.now;
        let flows: Vec<FlowSummary> = self
            .flows
            .iter_mut()
            .map(|flow| flow.summary(now))
            .collect();
        let links = self
            .channels
            .iter()
            .enumerate()
            .flat_map(|(index, channel)| {
                channel
                    .links
                    .iter()
                    .map(move |((from, to), counts)| LinkSummary {
                        channel: index,
                        from: channel.nodes[from.index()],
                        to: channel.nodes[to.index()],
                        counts: *counts,
                    })
            });
        Outcome {
            window: self.now.min(self.end).saturating_since(self.begin),
            links: links.collect(),
            busy: self
                .channels
                .iter()
                .map(|channel| channel.busy_since(now))
                .collect(),
            flows,
            totals: self.totals(),
            slots: self
                .slots
                .as_mut()
                .map(|slots| core::mem::take(&mut slots.records))
                .unwrap_or_default(),
            decisions: self
                .proxies
                .iter_mut()
                .map(|proxy| core::mem::take(&mut proxy.decisions))
                .collect(),
            modes: self
                .proxies
                .iter_mut()
                .map(|proxy| core::mem::take(&mut proxy.modes))
                .collect(),
            frames: core::mem::take(&mut self.recorded.frames),
            packets: core::mem::take(&mut self.recorded.packets),
            mpdus: core::mem::take(&mut self.recorded.mpdus),
        }
    }

    /// Counts over the whole run, with what is under way.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let t = &self.totals;
        let held = t.sent - t.delivered - t.dropped;
        let reports_held = t.reports_sent - t.reports_delivered - t.reports_dropped;
        Totals {
            held,
            reports_held,
            ..*t
        }
    }

    /// Packets and reports that wait or travel somewhere in the network, counted where they are.
    #[must_use]
    pub fn count_held(&self) -> u64 {
        let radios = |channel: &Channel| {
            (0..channel.nodes.len())
                .map(|radio| channel.mac.held(RadioId::from_index(radio)))
                .sum()
        };
        let air = self.channels.iter().map(radios);
        let wires = self.lanes.iter().flatten().map(super::wire::Lane::held);
        let proxies = self.proxies.iter().map(super::proxy::ProxyNode::held);
        air.chain(wires)
            .chain(proxies)
            .map(|held| held as u64)
            .sum()
    }
}
