//! One station of a proxy: the agent that runs on it, and what the proxy's node keeps for it.

use super::super::config::ReportFaults;
use super::super::event::Alarm;
use super::super::parcel::{Parcel, Tunnel};
use super::super::{Feedback, NodeId, ProxyConfig};
use crate::mac::{self, FrameRecord};
use crate::rng::{self, Stream};
use airpace_core::meter::Grouping;
use airpace_core::phy::TxRate;
use airpace_edge::agent::{Agent, AgentConfig, Message};
use airpace_units::{BitRate, StationId, Time};
use core::time::Duration;

/// One station of a proxy, with its agent.
pub(in crate::world) struct ManagedStation {
    pub(in crate::world) node: NodeId,
    /// When the station joins.
    pub(super) joins: Time,
    pub(in crate::world) joined: bool,
    /// `None` before the station joins and while the agent is stopped.
    pub(super) agent: Option<Agent<Box<Parcel>>>,
    /// The agent's alarm.
    pub(super) alarm: Alarm,
    /// Index of a saturating flow that starts at the proxy, which pulls its packets.
    pub(super) source: Option<usize>,
    /// Where within a slot the station reports, 0 to 1, so that stations are out of step.
    pub(super) report_phase: f64,
    pub(super) faults: ReportFaults,
    /// Draws of the reports that faults lose.
    pub(super) fault_draws: Stream,
    /// Whether an agent is to run on it.
    pub(super) has_agent: bool,
    /// Whether the agent has a monitor interface.
    monitored: bool,
    /// Packets of the MPDU that its monitor interface hears, and their bytes so far.
    hearing: (u16, u32),
    /// The rate of the last frame that was heard, and in bits per second.
    heard_at: Option<(TxRate, BitRate)>,
    /// Reports of it that the law has got since the statistics began.
    pub(super) reports: u64,
    /// Sequence number of the next packet of the tunnel.
    pub(super) next_sequence: u32,
    /// Secret key of the flow queues for this station.
    pub(super) hash_key: [u8; 16],
}

/// Whether packets of a station pass through its agent.
pub(super) const fn shapes_uplink(config: &AgentConfig) -> bool {
    config.uplink_rate.is_some() || !config.gather_acks.is_zero()
}

impl ManagedStation {
    /// A station that has not joined. Its random streams derive from `seed` and `key`.
    pub(super) fn new(node: NodeId, config: &ProxyConfig, key: u64, seed: u64) -> Self {
        let late = config.joins.iter().find(|(late, _)| *late == node);
        Self {
            node,
            joins: late.map_or(Time::ZERO, |&(_, at)| at),
            joined: false,
            agent: None,
            alarm: Alarm::default(),
            source: None,
            report_phase: Stream::new(seed, "report phase", key).unit(),
            faults: ReportFaults::default(),
            fault_draws: Stream::new(seed, "report faults", key),
            has_agent: config.feedback != Feedback::Observed || config.agents.contains(&node),
            monitored: !config.unmonitored.contains(&node),
            hearing: (0, 0),
            heard_at: None,
            reports: 0,
            next_sequence: 0,
            hash_key: rng::hash_key(seed, "proxy queue", key),
        }
    }

    /// Starts the station's agent, whose first slot is as long as `first_slot`. `station` is its
    /// index at the proxy.
    pub(super) fn start_agent(
        &mut self,
        now: Time,
        config: &AgentConfig,
        station: usize,
        first_slot: Duration,
    ) {
        let mut config = AgentConfig {
            station: StationId::from_index(station),
            first_slot,
            ..config.clone()
        };
        if self.monitored {
            // The monitor interface shows every frame, so nothing is told apart by arrival times, and
            // the classifier would only take time.
            config.grouping = Grouping::FixedGap;
        }
        if !shapes_uplink(&config) {
            // Nothing ever waits in the queue, and a thousand flow queues per station take time to make.
            config.queue.queues = 1;
        }
        self.agent = Some(Agent::new(now, &config, self.hash_key));
    }

    /// Whether the agent wants to report before its slot ends.
    pub(in crate::world) fn has_news(&self) -> bool {
        self.agent.as_ref().is_some_and(Agent::has_news)
    }

    /// Takes packets of MPDUs of `frame`, with their bytes. With the last of an MPDU the agent has
    /// it, as the station's monitor interface shows it.
    #[inline]
    pub(in crate::world) fn on_mpdus(
        &mut self,
        frame: &FrameRecord,
        packets: impl Iterator<Item = (mac::Mpdu, u32)>,
    ) {
        if !self.monitored {
            return;
        }
        let Some(agent) = &mut self.agent else { return };
        let rate = match self.heard_at {
            Some((last, rate)) if last == frame.rate => rate,
            _ => frame.rate.rate(),
        };
        self.heard_at = Some((frame.rate, rate));
        for (mpdu, packet_bytes) in packets {
            let (packets, bytes) = self.hearing;
            let (packets, bytes) = (packets + 1, bytes.saturating_add(packet_bytes));
            if packets < mpdu.packets {
                self.hearing = (packets, bytes);
                continue;
            }
            self.hearing = (0, 0);
            agent.on_mpdu(&frame.shown(&mpdu, bytes, rate));
        }
    }

    /// Hands a packet of the tunnel to the agent.
    #[inline]
    pub(in crate::world) fn on_tunnel_packet(
        &mut self,
        arrival: Time,
        tunnel: &Tunnel,
        parcel: &Parcel,
    ) {
        let Some(agent) = &mut self.agent else { return };
        let delay = arrival.saturating_since(tunnel.released);
        agent.on_message(
            arrival,
            Message {
                session: u32::from(tunnel.session.get()),
                sequence: u64::from(tunnel.sequence),
                bytes: parcel.bytes,
                category: parcel.category,
                // No packet is in flight for the 292 years of 2^63 ns.
                delay_ns: delay.as_nanos() as i64,
            },
        );
    }
}
