//! The results of a run.

use super::config::NodeId;
use super::flow::Details;
use super::intake::Intake;
use super::proxy::{ModeChange, ProxySlot};
use super::slots::SlotRecord;
use super::statistics::{FlowCounts, LinkCounts};
use super::{HandOver, MpduRecord, PacketOnAir, PacketRecord, PassingRecord, World};
use crate::mac::{ControlRecord, CountedAirtime, FrameRecord, RadioId};
use crate::traffic::DelaySummary;
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
    /// For every channel, how long transmissions kept it busy at its first radio, which is the
    /// first access point: at most `window`.
    pub busy: Vec<Duration>,
    /// Packets of the whole run, with the warm-up.
    pub totals: Totals,
    /// The series of slots, if the configuration has slots.
    pub slots: Vec<SlotRecord>,
    /// The decisions of each proxy, in order of time, if the configuration has slots.
    pub decisions: Vec<Vec<ProxySlot>>,
    /// What each proxy's law made of the medium, in the order of the configuration.
    pub proxies: Vec<ProxySummary>,
    /// The hand-overs of roaming stations in the whole run, in order of time.
    pub hand_overs: Vec<HandOver>,
    /// The changes of mode of each proxy's stations, in order of time.
    pub modes: Vec<Vec<ModeChange>>,
    /// The frames, if they were recorded: index of the channel and frame.
    pub frames: Vec<(u32, FrameRecord)>,
    /// The packets, if they were recorded.
    pub packets: Vec<PacketRecord>,
    /// The decoded MPDUs, if they were recorded.
    pub mpdus: Vec<MpduRecord>,
    /// What the packets of these MPDUs say, one for each, if headers were recorded.
    pub headers: Vec<PacketOnAir>,
    /// The control frames and beacons, if they were recorded: index of the channel and frame.
    pub controls: Vec<(u32, ControlRecord)>,
    /// The packets that passed the node of [`Record::passing`](super::Record::passing), in order of
    /// time.
    pub passing: Vec<PassingRecord>,
}

/// The results of a flow.
#[derive(Clone, Debug)]
pub struct FlowSummary {
    /// Where it starts.
    pub from: NodeId,
    /// Where it ends.
    pub to: NodeId,
    /// Packets in both directions.
    pub counts: FlowCounts,
    /// Payload delivered to the application at `to`, bytes.
    pub payload_bytes: u64,
    /// Results that only this kind of traffic has.
    pub details: Details,
}

/// The results of a directed link.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LinkSummary {
    /// Index of the channel.
    pub channel: usize,
    /// The sender.
    pub from: NodeId,
    /// The receiver.
    pub to: NodeId,
    /// Frames, MPDUs and airtime.
    pub counts: LinkCounts,
    /// The airtime as the drivers of its two ends count it.
    pub counted: CountedAirtime,
    /// Time from the arrival of a packet at the sender's queue to the end of the frame that
    /// delivered it; `None` if no packet was delivered.
    pub wait: Option<DelaySummary>,
}

/// What a proxy's law made of the medium.
#[derive(Clone, PartialEq, Debug)]
pub struct ProxySummary {
    /// The node at which it stands.
    pub node: NodeId,
    /// How often it reported that the bottleneck of stations lies elsewhere than at the access
    /// point, in the whole run.
    pub bottleneck_alarms: u64,
    /// If the latency that was asked for could not be met at the last decision, the least in seconds
    /// that seemed feasible.
    pub least_latency_s: Option<f64>,
    /// The stations that have joined and of which the law has got no report, neither from an agent
    /// nor from the sensors, within the time of the statistics.
    pub unreported: Vec<NodeId>,
}

/// Packets of flows over the whole run. `sent = delivered + dropped + held` at any time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Packets that left their sources.
    pub sent: u64,
    /// Packets that arrived.
    pub delivered: u64,
    /// Packets lost for any reason.
    pub dropped: u64,
    /// Packets still in flight or waiting.
    pub held: u64,
    /// Reports that stations sent to proxies.
    pub reports_sent: u64,
    /// Reports that arrived.
    pub reports_delivered: u64,
    /// Reports lost.
    pub reports_dropped: u64,
    /// Reports still in flight or waiting.
    pub reports_held: u64,
    /// How often a proxy reported that the bottleneck of stations lies elsewhere than at the access
    /// point.
    pub bottleneck_alarms: u64,
}

impl World {
    /// The results so far. Records and series are moved out of the world, not copied.
    pub fn outcome(&mut self) -> Outcome {
        let now = self.now;
        let mut flows = Vec::with_capacity(self.flows.len());
        for flow in &mut self.flows {
            flows.push(flow.summary(now));
        }
        let (mut links, mut busy) = (Vec::new(), Vec::new());
        for (index, channel) in self.channels.iter().enumerate() {
            busy.push(channel.busy_since(now));
            let counted = channel.counted_since();
            for (((from, to), counts, wait), counted) in channel.links.iter().zip(counted) {
                links.push(LinkSummary {
                    channel: index,
                    from: channel.nodes[from.index()],
                    to: channel.nodes[to.index()],
                    counts: *counts,
                    counted,
                    wait,
                });
            }
        }
        let (mut decisions, mut modes) = (Vec::new(), Vec::new());
        let mut proxies = Vec::with_capacity(self.proxies.len());
        for proxy in &mut self.proxies {
            proxies.push(proxy.summary());
            decisions.push(core::mem::take(&mut proxy.decisions));
            modes.push(core::mem::take(&mut proxy.modes));
        }
        let slots = match &mut self.slots {
            Some(slots) => core::mem::take(&mut slots.records),
            None => Vec::new(),
        };
        Outcome {
            window: self.now.min(self.end).saturating_since(self.begin),
            flows,
            links,
            busy,
            totals: self.totals(),
            slots,
            decisions,
            proxies,
            hand_overs: core::mem::take(&mut self.hand_overs),
            modes,
            frames: core::mem::take(&mut self.recorded.frames),
            packets: core::mem::take(&mut self.recorded.packets),
            mpdus: core::mem::take(&mut self.recorded.mpdus),
            headers: core::mem::take(&mut self.recorded.headers),
            controls: core::mem::take(&mut self.recorded.controls),
            passing: core::mem::take(&mut self.recorded.passing),
        }
    }

    /// The slots so far, if the configuration has slots.
    #[must_use]
    pub fn slots(&self) -> &[SlotRecord] {
        self.slots.as_ref().map_or(&[], |slots| &slots.records)
    }

    /// The decisions of each proxy so far, in the order of the configuration, if that has slots.
    pub fn decisions(&self) -> impl Iterator<Item = &[ProxySlot]> {
        self.proxies.iter().map(|proxy| &*proxy.decisions)
    }

    /// Every radio, as the index of its channel and its node, and whether it holds packets that it
    /// has not got rid of.
    pub fn holding(&self) -> impl Iterator<Item = (usize, NodeId, bool)> {
        let channels = self.channels.iter().enumerate();
        channels.flat_map(|(index, channel)| {
            let radios = channel.nodes.iter().enumerate();
            radios.map(move |(radio, &node)| {
                let held = channel.mac.held(RadioId::from_index(radio));
                (index, node, held > 0)
            })
        })
    }

    /// Whether the statistics have begun.
    #[must_use]
    pub const fn has_begun(&self) -> bool {
        self.begun
    }

    /// Counts over the whole run so far.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let totals = &self.totals;
        Totals {
            held: totals.sent - totals.delivered - totals.dropped,
            bottleneck_alarms: self.proxies.iter().map(|p| p.bottleneck_alarms).sum(),
            reports_held: totals.reports_sent - totals.reports_delivered - totals.reports_dropped,
            ..*totals
        }
    }

    /// Packets and reports that wait or are in flight, found by a count of every queue, window and
    /// wire. It equals `held + reports_held` of [`World::totals`]: nothing gets lost uncounted.
    #[must_use]
    pub fn count_held(&self) -> u64 {
        let mut held = 0;
        for channel in &self.channels {
            for radio in 0..channel.nodes.len() {
                held += channel.mac.held(RadioId::from_index(radio));
            }
        }
        for lane in self.lanes.iter().flatten() {
            held += lane.held();
        }
        for proxy in &self.proxies {
            held += proxy.held();
        }
        held += self.intakes.iter().map(Intake::held).sum::<usize>();
        held as u64
    }
}
