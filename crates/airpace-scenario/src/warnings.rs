//! What makes the figures of a run meaningless although its settings were accepted.
//!
//! A warning has a name that stays the same from version to version, says which node or flow it is
//! about, and gives the figures from which it follows and a remedy. A run without warnings can
//! still be badly chosen; these are the mistakes that a run can see.

mod targets;

use crate::resolve::{FlowName, Resolved};
use crate::summary::main_direction;
use airpace_edge::proxy::Pacing;
use airpace_sim::mac::{Quality, Signal};
use airpace_sim::world::{
    Change, Details, DirectionCounts, FlowConfig, LinkSummary, NodeId, Outcome, Traffic, World,
};
use airpace_units::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// Round-trip times within the measured time below which figures of TCP are those of its start.
const FEWEST_ROUND_TRIPS: u32 = 10;
/// Slots within the measured time below which figures of a proxy are those of its first rates.
const FEWEST_SLOTS: u32 = 5;
/// Share of the time in which a radio must hold packets before it can count as starved.
const HOLDING_SHARE: f64 = 0.1;
/// Time for which a radio must hold packets before it can count as starved.
const HOLDING_TIME: Duration = Duration::from_millis(100);
/// A radio is starved if its frames take less than this share of the time for which it holds
/// packets, and less than this share of …
const STARVED_SHARE: f64 = 0.01;
/// … an equal share of the channel times this.
const STARVED_FAIR_SHARE: f64 = 0.1;
/// A receiver hears nothing if it decodes less than this share of the MPDUs that it is sent …
const DECODED_SHARE: f64 = 0.01;
/// … of which there must be at least this many.
const FEWEST_MPDUS: u64 = 10;
/// From this share of disturbed frames on, others are the cause of the losses.
const MANY_COLLISIONS: f64 = 0.5;

/// What a warning is about. The words in results are the names in kebab case.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, strum::Display,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
#[non_exhaustive]
pub enum WarningName {
    /// The latency asked of a proxy is below what the medium allows.
    LatencyInfeasible,
    /// The round time allowed to a proxy is below what the medium allows.
    DelayTargetInfeasible,
    /// A law keeps frames at one packet although its target of delay allows longer ones.
    LawCollapsed,
    /// A radio holds packets and hardly ever sends.
    ChannelNeverWon,
    /// A receiver decodes hardly anything of what it is sent.
    NothingDecoded,
    /// A rate law got no reports of a station.
    NoReports,
    /// No packet of a flow arrived.
    NothingArrived,
    /// The measured time is too short for what is measured.
    MeasuredTooShort,
}

/// A reason not to trust figures of a run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Warning {
    /// What it is about.
    pub name: WarningName,
    /// The node, link or flow.
    pub who: String,
    /// The figures and the remedy, as sentences.
    pub text: String,
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: `{}` {}", self.name, self.who, self.text)
    }
}

/// How often each radio held packets, looked at between the steps of a run within the measured time.
#[derive(Clone, Default, Debug)]
pub(crate) struct Holding {
    looks: u64,
    /// By channel and node.
    held: BTreeMap<(usize, NodeId), u64>,
}

impl Holding {
    /// Looks at every radio, unless figures are not taken yet.
    pub(crate) fn look(&mut self, world: &World) {
        if !world.has_begun() {
            return;
        }
        self.looks += 1;
        for (channel, node, holds) in world.holding() {
            *self.held.entry((channel, node)).or_default() += u64::from(holds);
        }
    }

    /// Share of the looks at which a radio held packets.
    fn share(&self, held: u64) -> f64 {
        held as f64 / self.looks.max(1) as f64
    }
}

/// The warnings of a run.
pub(crate) fn warnings(resolved: &Resolved, outcome: &Outcome, holding: &Holding) -> Vec<Warning> {
    let run = Run { resolved, outcome };
    let mut warnings = run.infeasible_latencies();
    warnings.extend(run.missed_targets());
    warnings.extend(run.starved_radios(holding));
    warnings.extend(outcome.links.iter().filter_map(|link| run.deaf(link)));
    warnings.extend(run.missing_reports());
    warnings.extend(run.silent_flows());
    warnings.extend(run.few_slots());
    warnings.extend(run.few_round_trips());
    warnings
}

/// A run that is over.
struct Run<'r> {
    resolved: &'r Resolved,
    outcome: &'r Outcome,
}

impl<'r> Run<'r> {
    fn name(&self, node: NodeId) -> &'r str {
        &self.resolved.nodes[node.0 as usize].name
    }

    /// When figures begin to be taken.
    fn begin(&self) -> Time {
        Time::ZERO.saturating_add(self.resolved.world.warm_up)
    }

    fn end(&self) -> Time {
        self.begin().saturating_add(self.outcome.window)
    }

    fn infeasible_latencies(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        for proxy in &self.outcome.proxies {
            let Some(least_s) = proxy.least_latency_s else {
                continue;
            };
            let text = format!(
                "cannot meet the latency asked of it: the least seems to be {:.1} ms. Set its \
                 `latency` to at least that, or let fewer stations or less traffic share the air.",
                least_s * 1e3
            );
            warnings.push(warning(
                WarningName::LatencyInfeasible,
                self.name(proxy.node),
                text,
            ));
        }
        warnings
    }

    /// Radios that hold packets and hardly ever send.
    fn starved_radios(&self, holding: &Holding) -> Vec<Warning> {
        let mut warnings = Vec::new();
        for (&(channel, node), &held) in &holding.held {
            let share = holding.share(held);
            let held_time = self.outcome.window.mul_f64(share);
            if share < HOLDING_SHARE || held_time < HOLDING_TIME {
                continue;
            }
            let (frames, on_air) = self.sent(channel, node);
            let sending = on_air.as_secs_f64() / held_time.as_secs_f64();
            let rivals = self.transmitters(channel, holding) as f64;
            if sending >= STARVED_SHARE || sending >= STARVED_FAIR_SHARE / rivals.max(1.0) {
                continue;
            }
            let text = format!(
                "had packets to send for {:.0} % of the measured time, and its {frames} data \
                 frames took {:.2} % of that: other transmitters keep the channel `{}` busy for \
                 it, or its receivers do not answer its RTS. Give it another channel, more \
                 distance or less `tx_power` of the others, or less load.",
                100.0 * share,
                100.0 * sending,
                self.resolved.channels[channel]
            );
            warnings.push(warning(WarningName::ChannelNeverWon, self.name(node), text));
        }
        warnings
    }

    /// Data frames of a node on a channel, and the time that they took.
    fn sent(&self, channel: usize, node: NodeId) -> (u64, Duration) {
        let (mut frames, mut on_air) = (0, Duration::ZERO);
        for link in &self.outcome.links {
            if (link.channel, link.from) == (channel, node) {
                frames += link.counts.frames;
                on_air += link.counts.ppdu_time;
            }
        }
        (frames, on_air)
    }

    /// How many transmitters there were on a channel that often had packets, neighbours included.
    fn transmitters(&self, channel: usize, holding: &Holding) -> u64 {
        let busy = |&(&(at, _), &held): &(&(usize, NodeId), &u64)| {
            at == channel && holding.share(held) >= HOLDING_SHARE
        };
        let own = holding.held.iter().filter(busy).count() as u64;
        let changes = self.resolved.world.changes.iter();
        let neighbours = changes.filter_map(|(_, change)| match change {
            Change::Neighbours {
                channel: at,
                neighbours,
            } if *at == channel => Some(u64::from(neighbours.count)),
            _ => None,
        });
        own + neighbours.max().unwrap_or(0)
    }

    /// A warning if the receiver of a link decodes hardly anything.
    fn deaf(&self, link: &LinkSummary) -> Option<Warning> {
        let counts = link.counts;
        let decoded = counts.decoded as f64 / counts.mpdus.max(1) as f64;
        if counts.mpdus < FEWEST_MPDUS || decoded >= DECODED_SHARE {
            return None;
        }
        let disturbed = counts.collisions as f64 / counts.frames.max(1) as f64;
        let (why, remedy) = if disturbed >= MANY_COLLISIONS {
            (
                format!("others disturbed {:.0} % of its frames", 100.0 * disturbed),
                "Let senders ask by RTS (the channel's `rts_threshold`), or give the others \
                 another channel or more distance.",
            )
        } else {
            (
                format!(
                    "they were sent at {:.1} Mbit/s{}",
                    counts.mean_rate_bps().unwrap_or(0.0) / 1e6,
                    self.received(link)
                ),
                "Choose a lower `rate` or an adaptive one, less `loss`, less distance or more \
                 `tx_power`.",
            )
        };
        let text = format!(
            "decoded {} of the {} MPDUs that `{}` sent to it: {why}. {remedy}",
            counts.decoded,
            counts.mpdus,
            self.name(link.from)
        );
        let name = WarningName::NothingDecoded;
        Some(warning(name, self.name(link.to), text))
    }

    /// With which power a link's frames arrived, if that follows from positions that never changed.
    fn received(&self, link: &LinkSummary) -> String {
        let world = &self.resolved.world;
        let moved = world.changes.iter().any(|(_, change)| {
            matches!(change, Change::Quality(node, _) if [link.from, link.to].contains(node))
        });
        let channel = &world.channels[link.channel];
        let node = |radio: airpace_sim::mac::RadioId| channel.nodes[radio.index()];
        let mut links = channel.mac.links.iter();
        let found = links.find(|other| (node(other.from), node(other.to)) == (link.from, link.to));
        match found.map(|found| &found.quality) {
            Some(Quality::Noise(noise)) if !moved => match &noise.signal {
                Signal::Channel(signal) => {
                    format!(
                        " and received at {:.0} dBm",
                        signal.received_dbm(Time::ZERO)
                    )
                }
                _ => String::new(),
            },
            _ => String::new(),
        }
    }

    /// Stations of which a law knows nothing although there was traffic for them.
    fn missing_reports(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let proxies = self
            .outcome
            .proxies
            .iter()
            .zip(&self.resolved.world.proxies);
        for (proxy, config) in proxies {
            let has_law = matches!(config.edge.pacing, Pacing::Law(_));
            if !has_law || self.outcome.window < 2 * config.edge.slot {
                continue;
            }
            for &station in &proxy.unreported {
                if !self.has_traffic(station) {
                    continue;
                }
                let text = format!(
                    "has sent no report that arrived at the proxy at `{}` in {:.1} s: its law \
                     paced the station blindly. Let its agent run, let fewer reports be lost, \
                     let its uplink reach the proxy, or choose another `reports` for the proxy.",
                    self.name(proxy.node),
                    self.outcome.window.as_secs_f64()
                );
                warnings.push(warning(WarningName::NoReports, self.name(station), text));
            }
        }
        warnings
    }

    /// Whether any flow sent packets towards a node within the measured time.
    fn has_traffic(&self, node: NodeId) -> bool {
        self.outcome.flows.iter().any(|flow| {
            let towards = [
                (flow.to, flow.counts.forward.sent),
                (flow.from, flow.counts.backward.sent),
            ];
            towards.iter().any(|&(to, sent)| to == node && sent > 0)
        })
    }

    /// The flows with their names and what was asked of them.
    fn flows(
        &self,
    ) -> impl Iterator<
        Item = (
            &'r FlowName,
            &'r FlowConfig,
            &'r airpace_sim::world::FlowSummary,
        ),
    > {
        let configs = self.resolved.flows.iter().zip(&self.resolved.world.flows);
        let flows = configs.zip(&self.outcome.flows);
        flows.map(|((name, config), flow)| (name, config, flow))
    }

    /// Flows of which no packet arrived.
    fn silent_flows(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        for (name, config, flow) in self.flows() {
            let counts = main_direction(name, flow).counts;
            if counts.received > 0 {
                continue;
            }
            let text = self.why_silent(config, counts);
            warnings.push(warning(WarningName::NothingArrived, &name.name, text));
        }
        warnings
    }

    /// Why no packet of a flow arrived.
    fn why_silent(&self, config: &FlowConfig, counts: &DirectionCounts) -> String {
        let (begin, end) = (self.begin(), self.end());
        if config.start >= end {
            format!(
                "starts at {:.1} s, but the run ends at {:.1} s: let it `start` earlier, or \
                 measure longer.",
                seconds(config.start),
                seconds(end)
            )
        } else if let Some(stop) = config.stop.filter(|&stop| stop <= begin) {
            format!(
                "stops at {:.1} s, but figures are taken only from {:.1} s on: let it `stop` \
                 later, or shorten the `warm_up`.",
                seconds(stop),
                seconds(begin)
            )
        } else if counts.sent == 0 {
            format!(
                "sent no packet from {:.1} s to {:.1} s: its `rate`, `interval`, `bytes` or \
                 pauses leave none for that time, or it got no answer before.",
                seconds(begin),
                seconds(end)
            )
        } else {
            let mut lost = Vec::new();
            for (loss, count) in counts.lost.iter() {
                lost.push(format!("{count} by {}", loss.name()));
            }
            let lost = if lost.is_empty() {
                "none was lost, all were still waiting".to_owned()
            } else {
                format!("lost: {}", lost.join(", "))
            };
            format!(
                "sent {} packets, of which none arrived ({lost}): look at the links on its \
                 path, or measure longer than its packets take.",
                counts.sent
            )
        }
    }

    /// Laws that hardly decided anything.
    fn few_slots(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        for config in &self.resolved.world.proxies {
            let slots = self.outcome.window.as_secs_f64() / config.edge.slot.as_secs_f64();
            let has_law = matches!(config.edge.pacing, Pacing::Law(_));
            if !has_law || slots >= f64::from(FEWEST_SLOTS) {
                continue;
            }
            let text = format!(
                "decided {slots:.1} times in the measured time, too seldom to settle: let the \
                 `duration` be at least {:.1} s, or its `slot` shorter.",
                (config.edge.slot * FEWEST_SLOTS).as_secs_f64()
            );
            let name = WarningName::MeasuredTooShort;
            warnings.push(warning(name, self.name(config.at), text));
        }
        warnings
    }

    /// The TCP flow that had the fewest round trips, if they were too few.
    fn few_round_trips(&self) -> Option<Warning> {
        let mut worst: Option<(f64, &str, Duration)> = None;
        let mut count = 0;
        for (name, config, flow) in self.flows() {
            let (Details::Tcp(tcp), Traffic::Tcp(traffic)) = (&flow.details, &config.traffic)
            else {
                continue;
            };
            let Some(round_trip) = &tcp.round_trip else {
                continue;
            };
            let stop = config.stop.unwrap_or(Time::MAX).min(self.end());
            let active = stop.saturating_since(config.start.max(self.begin()));
            let trips = active.as_secs_f64() / round_trip.mean.as_secs_f64().max(1e-9);
            // A transfer that ends is as short as it is meant to be.
            if traffic.bytes.is_some() || trips >= f64::from(FEWEST_ROUND_TRIPS) {
                continue;
            }
            count += 1;
            if worst.is_none_or(|(least, ..)| trips < least) {
                worst = Some((trips, &name.name, round_trip.mean));
            }
        }
        let (trips, name, round_trip) = worst?;
        let others = match count {
            1 => String::new(),
            2 => " (another flow has too few as well)".to_owned(),
            _ => format!(" ({} other flows have too few as well)", count - 1),
        };
        let text = format!(
            "has {trips:.1} round trips of {:.0} ms in the measured time{others}: these are \
             figures of its start. Measure for at least {:.1} s.",
            round_trip.as_secs_f64() * 1e3,
            (round_trip * FEWEST_ROUND_TRIPS).as_secs_f64()
        );
        Some(warning(WarningName::MeasuredTooShort, name, text))
    }
}

fn warning(name: WarningName, who: &str, text: String) -> Warning {
    Warning {
        name,
        who: who.to_owned(),
        text,
    }
}

fn seconds(time: Time) -> f64 {
    time.since(Time::ZERO).as_secs_f64()
}
