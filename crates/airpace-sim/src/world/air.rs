//! The radio channels of a network.

use super::intake::{Intake, IntakeOfRadio, intakes};
use super::slots::LinkSlot;
use super::statistics::Links;
use super::{ChannelConfig, NodeId, Parcel, WorldConfig, WorldError};
use crate::mac::{CountedAirtime, Input, Mac, MacConfig, Monitoring, RadioId};
use crate::rng::Stream;
use airpace_units::Time;
use core::time::Duration;

/// A channel: its MAC and the counts of its links.
#[derive(Debug)]
pub(super) struct Channel {
    pub(super) mac: Mac<Box<Parcel>>,
    /// The node of each radio.
    pub(super) nodes: Vec<NodeId>,
    /// When the MAC must be called next.
    pub(super) due: Option<Time>,
    pub(super) links: Links,
    pub(super) intake_of_radio: IntakeOfRadio,
    /// How long the channel had been busy at its first radio when the statistics began.
    busy_before: Option<Duration>,
    /// The airtime of each link that drivers had counted then.
    counted_before: Vec<CountedAirtime>,
}

/// The channels of a network.
pub(super) fn channels(
    config: &WorldConfig,
    intakes: &mut Vec<Intake>,
) -> Result<Vec<Channel>, WorldError> {
    let mut channels = Vec::with_capacity(config.channels.len());
    for (index, channel) in config.channels.iter().enumerate() {
        channels.push(new_channel(config, index, channel, intakes)?);
    }
    Ok(channels)
}

fn new_channel(
    config: &WorldConfig,
    index: usize,
    channel: &ChannelConfig,
    all_intakes: &mut Vec<Intake>,
) -> Result<Channel, WorldError> {
    let links = &channel.mac.links;
    let pairs: Vec<_> = links.iter().map(|link| (link.from, link.to)).collect();
    // Records hold the packets that a monitor interface shows. Agents need only their lengths, unless
    // some are multicast packets, which agents do not count.
    let has_agents = !config.proxies.is_empty();
    let monitored = if config.record.mpdus || has_agents && config.has_multicast() {
        Monitoring::Packets
    } else if has_agents {
        Monitoring::Lengths
    } else {
        Monitoring::Off
    };
    let mut mac = MacConfig {
        monitor: channel.mac.monitor.max(monitored),
        controls: config.record.air,
        ..channel.mac.clone()
    };
    for (radio, node) in mac.radios.iter_mut().zip(&channel.nodes) {
        radio.stream = radio.stream.or(config.keys.get(node.0 as usize).copied());
    }
    // Each channel has a random stream of its own.
    let mut draws = Stream::new(config.seed, "channel", index as u64);
    let seed = u64::from(draws.up_to(u32::MAX)) << 32 | u64::from(draws.up_to(u32::MAX));
    let radios = mac.radios.len();
    let intake_of_radio = intakes(&mac, &channel.nodes, all_intakes);
    let mac = Mac::new(mac, seed).map_err(|error| WorldError::Mac {
        channel: index,
        error,
    })?;
    let due = mac.deadline();
    Ok(Channel {
        mac,
        nodes: channel.nodes.clone(),
        due,
        links: Links::new(pairs, radios),
        intake_of_radio,
        busy_before: None,
        counted_before: Vec::new(),
    })
}

impl Channel {
    /// Hands an input to the MAC.
    pub(super) fn handle(&mut self, now: Time, input: Input<Box<Parcel>>) {
        self.mac.handle(now, input);
        self.due = self.mac.deadline();
    }

    /// Hands a packet to the MAC; the same as [`Input::Send`], which would move the packet once
    /// more.
    #[inline(always)]
    pub(super) fn send(&mut self, now: Time, from: RadioId, to: RadioId, packet: Box<Parcel>) {
        self.mac.handle_packet(now, from, to, packet);
        self.due = self.mac.deadline();
    }

    /// Notes that the statistics begin at `begin`.
    pub(super) fn begin_statistics(&mut self, begin: Time) {
        self.busy_before = Some(self.busy(begin));
        self.counted_before = self.counted().collect();
    }

    /// The airtime of each link that drivers have counted, in the order of the configuration.
    fn counted(&self) -> impl Iterator<Item = CountedAirtime> + '_ {
        let pairs = self.links.pairs();
        pairs.map(|(from, to)| self.mac.counted_airtime(from, to))
    }

    /// The same within the statistics.
    pub(super) fn counted_since(&self) -> impl Iterator<Item = CountedAirtime> + '_ {
        let before = self.counted_before.iter().copied();
        let before = before.chain(core::iter::repeat(CountedAirtime::default()));
        self.counted()
            .zip(before)
            .map(|(counted, before)| counted.since(before))
    }

    /// How long the channel has been busy within the statistics, up to `now`.
    pub(super) fn busy_since(&self, now: Time) -> Duration {
        self.busy(now)
            .saturating_sub(self.busy_before.unwrap_or_default())
    }

    /// How long the channel has been busy at its first radio, up to `now`.
    fn busy(&self, now: Time) -> Duration {
        self.mac.channel(RadioId(0), now).busy
    }

    /// The counts of every link in the slot that ends now.
    pub(super) fn take_slot(&mut self) -> Vec<LinkSlot> {
        let counts = self.links.take_slot();
        let mut slots = Vec::with_capacity(counts.len());
        for (counts, (from, to)) in counts.into_iter().zip(self.links.pairs()) {
            let queued = self.mac.queued(from, to);
            slots.push(LinkSlot { counts, queued });
        }
        slots
    }
}
