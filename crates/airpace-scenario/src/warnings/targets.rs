//! Targets of delay, a proxy's `delay`, that the frames of a run show not to be met.
//!
//! A target bounds the round: the time between two frames to a station while packets for it wait.
//! Frames cannot hold less than a packet, so a round that is too long although they hold hardly
//! more cannot be shortened: the target is infeasible. Law nonlinear may also fail at a target that
//! is feasible: it then stays at frames of one packet.

use super::{FEWEST_SLOTS, Run, Warning, WarningName, warning};
use airpace_core::control::LawConfig;
use airpace_core::phy::{AccessCategory, Edca};
use airpace_edge::proxy::Pacing;
use airpace_sim::world::{NodeId, ProxyConfig, ProxySlot, SlotRecord, Traffic};
use airpace_units::Time;
use std::collections::BTreeMap;

/// A round that exceeds the target by less than this factor meets it.
const MISSED_FACTOR: f64 = 1.1;
/// Frames that hold fewer packets than this on average cannot be much shorter: where a target is
/// infeasible, law waterfill lets the fastest station's frames hold 1.2, and noise adds to that.
const SHORT: f64 = 1.5;
/// Frames of a law that has collapsed hold fewer packets than this: all levels are stuck at 1.
const STUCK: f64 = 1.1;
/// A law must use a target that allows more packets than this in each frame.
const ALLOWED: f64 = 1.25;
/// Repetitions and collisions lengthen the least round by up to about this factor.
const LEAST_FACTOR: f64 = 1.05;
/// Rounds that are longer than the least by this factor leave the air idle.
const IDLE_FACTOR: f64 = 1.2;
/// Share of the decisions at which packets must wait for a station before it counts as held back by
/// the law. What arrives rarely has long gaps between frames, whatever the law does.
const HELD_BACK: f64 = 0.5;

/// A station that the law holds back: means over the decisions.
struct HeldBack {
    /// Packets per frame.
    level: f64,
    /// Time between frames, seconds.
    round_s: f64,
    /// Time that a frame and its responses occupy the channel, seconds.
    frame_s: f64,
    /// Time on the air of one packet within a frame, seconds.
    packet_s: f64,
}

/// The frames to all stations that a law holds back.
struct Rounds {
    stations: usize,
    level: f64,
    round_s: f64,
    /// About the shortest round in which every station has a frame, while frames hold about one
    /// packet each.
    least_s: f64,
    /// What one more packet in each station's frame adds to a round.
    packets_s: f64,
}

impl Rounds {
    /// `None` without stations.
    fn of(stations: &[HeldBack]) -> Option<Self> {
        let count = stations.len();
        let sum = |of: fn(&HeldBack) -> f64| stations.iter().map(of).sum::<f64>();
        let access = Edca::of(AccessCategory::BestEffort);
        let gap_s = (access.aifs() + access.mean_backoff()).as_secs_f64();
        (count > 0).then(|| Self {
            stations: count,
            level: sum(|station| station.level) / count as f64,
            // The mean of the frame rates: a single starved station does not make rounds long.
            round_s: count as f64 / sum(|station| 1.0 / station.round_s),
            least_s: sum(|station| station.frame_s) + count as f64 * gap_s,
            packets_s: sum(|station| station.packet_s),
        })
    }

    /// Packets that every frame may hold in rounds of `target_s`, if they hold about one now.
    fn allowed(&self, target_s: f64) -> f64 {
        1.0 + (target_s - LEAST_FACTOR * self.least_s) / self.packets_s
    }
}

impl Run<'_> {
    /// The proxies whose target of delay is not met, and those whose law fails to use what it
    /// allows.
    pub(super) fn missed_targets(&self) -> Vec<Warning> {
        let configs = &self.resolved.world.proxies;
        let decisions = configs.iter().zip(&self.outcome.decisions);
        decisions
            .filter_map(|(config, decisions)| self.missed_target(config, decisions))
            .collect()
    }

    fn missed_target(&self, config: &ProxyConfig, decisions: &[ProxySlot]) -> Option<Warning> {
        let target_s = config.edge.delay_target?.as_secs_f64();
        let Pacing::Law(law) = &config.edge.pacing else {
            return None;
        };
        // The other laws ignore the target.
        let level_limit = match law {
            LawConfig::Waterfill(_) => None,
            LawConfig::Nonlinear(law) => Some(law.level_limit),
            _ => return None,
        };
        let rounds = Rounds::of(&self.held_back(config, decisions))?;
        let is_missed = rounds.round_s > MISSED_FACTOR * target_s;
        let at = self.name(config.at);
        match level_limit {
            // Water-filling finds the least round by itself.
            None if is_missed && rounds.level < SHORT => {
                Some(infeasible(at, target_s, &rounds, rounds.round_s))
            }
            Some(_) if is_missed && rounds.level < SHORT && rounds.least_s > target_s => {
                Some(infeasible(at, target_s, &rounds, rounds.least_s))
            }
            Some(limit)
                if rounds.level < STUCK
                    && (is_missed || rounds.allowed(target_s).min(limit) > ALLOWED) =>
            {
                Some(collapsed(at, target_s, &rounds, is_missed))
            }
            _ => None,
        }
    }

    /// The stations of a proxy for which packets wait most of the time, in the later half of the
    /// measured time: laws begin with short frames.
    fn held_back(&self, config: &ProxyConfig, decisions: &[ProxySlot]) -> Vec<HeldBack> {
        let from = self.begin().saturating_add(self.outcome.window / 2);
        let mut waiting: BTreeMap<NodeId, (u32, u32)> = BTreeMap::new();
        for decision in decisions.iter().filter(|decision| decision.at > from) {
            let (all, held) = waiting.entry(decision.station).or_default();
            *all += 1;
            let waits = decision.queued > 0 || self.saturates(decision.station, from);
            *held += u32::from(waits && decision.rate_pps.is_some());
        }
        let slots = self.outcome.slots.iter();
        let slots: Vec<&SlotRecord> = slots.filter(|slot| slot.end > from).collect();
        if 2 * slots.len() < FEWEST_SLOTS as usize {
            return Vec::new();
        }
        let is_held = |&(all, held): &(u32, u32)| f64::from(held) >= HELD_BACK * f64::from(all);
        let held = waiting.iter().filter(|(_, counts)| is_held(counts));
        let packet_bits = 8.0 * f64::from(config.edge.packet_bytes);
        held.filter_map(|(&station, _)| self.frames_to(station, &slots, packet_bits))
            .collect()
    }

    /// Whether there is a flow to a station that always has packets, from `from` to the end. A proxy
    /// takes its packets as it sends them, so that none is seen to wait.
    fn saturates(&self, station: NodeId, from: Time) -> bool {
        self.resolved.world.flows.iter().any(|flow| {
            matches!(flow.traffic, Traffic::Saturating { .. })
                && flow.to == station
                && flow.start <= from
                && flow.stop.is_none_or(|stop| stop >= self.end())
        })
    }

    /// The frames to a station in these slots; `None` without any.
    fn frames_to(
        &self,
        station: NodeId,
        slots: &[&SlotRecord],
        packet_bits: f64,
    ) -> Option<HeldBack> {
        let (mut frames, mut packets, mut on_air_s, mut seconds_per_bit) = (0, 0, 0.0, 0.0);
        for slot in slots {
            for (link, in_slot) in self.outcome.links.iter().zip(&slot.links) {
                if link.to == station {
                    let counts = &in_slot.counts;
                    frames += counts.frames;
                    packets += counts.packets;
                    on_air_s += counts.airtime.as_secs_f64();
                    seconds_per_bit += counts.inverse_rate_sum;
                }
            }
        }
        if frames == 0 {
            return None;
        }
        let length = self.resolved.world.slot?;
        let frame_count = frames as f64;
        Some(HeldBack {
            level: packets as f64 / frame_count,
            round_s: slots.len() as f64 * length.as_secs_f64() / frame_count,
            frame_s: on_air_s / frame_count,
            packet_s: packet_bits * seconds_per_bit / frame_count,
        })
    }
}

fn infeasible(at: &str, target_s: f64, rounds: &Rounds, least_s: f64) -> Warning {
    let collapse = if rounds.round_s > IDLE_FACTOR * least_s {
        format!(
            " Its law has collapsed below that: rounds of {} leave the air idle; choose another \
             `law`, such as waterfill.",
            span(rounds.round_s)
        )
    } else {
        String::new()
    };
    let text = format!(
        "cannot meet its target of delay: rounds are to take at most {}, but with {:.1} packets \
         in each frame, hardly more than the least, a round of {} takes {}. Set its `delay` to \
         more than that, or let fewer stations share the air.{collapse}",
        span(target_s),
        rounds.level,
        stations(rounds),
        span(least_s),
    );
    warning(WarningName::DelayTargetInfeasible, at, text)
}

fn collapsed(at: &str, target_s: f64, rounds: &Rounds, is_missed: bool) -> Warning {
    let although = if is_missed {
        format!("such frames would need only about {}", span(rounds.least_s))
    } else {
        format!(
            "frames of {:.1} packets would still meet the target",
            rounds.allowed(target_s)
        )
    };
    let text = format!(
        "aims at rounds of {} with a law that has collapsed: frames hold {:.1} packets, and a \
         round of {} takes {}, although {although}. Choose another `law`, such as waterfill, or \
         a longer `delay`.",
        span(target_s),
        rounds.level,
        stations(rounds),
        span(rounds.round_s),
    );
    warning(WarningName::LawCollapsed, at, text)
}

fn stations(rounds: &Rounds) -> String {
    match rounds.stations {
        1 => "the one busy station".to_owned(),
        count => format!("the {count} busy stations"),
    }
}

/// A time in the unit in which it is a handy number.
fn span(seconds: f64) -> String {
    if seconds < 1e-3 {
        format!("{:.0} us", seconds * 1e6)
    } else {
        format!("{:.1} ms", seconds * 1e3)
    }
}
