//! Channels: radios, links, and who hears whom.

mod radio;

use super::network::{Member, Network};
use super::rate::{LinkContext, Rates};
use crate::file::{Category, Channel, ErrorModel as ErrorModelName, FlowKind, RateChoice, Timing};
use airpace_config::document::{KeyError, refuse};
use airpace_core::phy::{self, AccessCategory, Band, Medium, TxRate};
use airpace_sim::channel::{self, FadingKind, FadingLaw};
use airpace_sim::mac::{LinkConfig, MacConfig, Quality, RadioId, Signal};
use airpace_sim::world::ChannelConfig;

pub(super) const fn timing(channel: &Channel) -> phy::Timing {
    match channel.timing {
        Timing::Standard => phy::Timing::Standard,
        Timing::Ns3 => phy::Timing::Ns3,
    }
}

/// The band of a channel. The bounds of the key leave 2.4 to 6 GHz, and the bands are far apart.
pub(super) const fn band(channel: &Channel) -> Band {
    if channel.band.0 < 3_000_000_000 {
        Band::Ghz2_4
    } else {
        Band::Ghz5
    }
}

/// All channels with their radios.
pub(super) fn channels(
    network: &Network<'_>,
    rates: &Rates<'_>,
) -> Result<Vec<ChannelConfig>, KeyError> {
    let mut channels = Vec::new();
    for index in 0..network.scenario.channel.len() {
        channels.push(Air::new(network, rates, index).build()?);
    }
    Ok(channels)
}

/// The quality of a client's links where it stands; `None` if positions decide nothing for it.
pub(super) fn quality_of(
    network: &Network<'_>,
    rates: &Rates<'_>,
    member: usize,
) -> Result<Option<Quality>, KeyError> {
    let (Some(index), Some(above)) = (
        network.members[member].uplink,
        network.members[member].above,
    ) else {
        return Ok(None);
    };
    quality_between(network, rates, index, member, above)
}

/// The quality of the links between a client where it stands and an access point on a channel;
/// `None` if positions decide nothing for it.
pub(super) fn quality_between(
    network: &Network<'_>,
    rates: &Rates<'_>,
    index: usize,
    member: usize,
    above: usize,
) -> Result<Option<Quality>, KeyError> {
    let air = Air::new(network, rates, index);
    if air.channel.error_model != ErrorModelName::Snr {
        return Ok(None);
    }
    let members = air.members();
    let (Some(from), Some(to)) = (radio_of(&members, above), radio_of(&members, member)) else {
        return Ok(None);
    };
    let link = air.propagation(&members)?.link(from, to);
    Ok(Some(Quality::of(Signal::Channel(link))))
}

/// The radio of a node on a channel with these members.
fn radio_of(members: &[usize], node: usize) -> Option<RadioId> {
    let index = members.iter().position(|&other| other == node)?;
    Some(RadioId::from_index(index))
}

/// A channel, and what it is resolved against.
pub(super) struct Air<'n> {
    pub(super) network: &'n Network<'n>,
    pub(super) rates: &'n Rates<'n>,
    pub(super) index: usize,
    pub(super) channel: &'n Channel,
}

impl<'n> Air<'n> {
    /// The channel at `index`.
    pub(super) fn new(network: &'n Network<'n>, rates: &'n Rates<'n>, index: usize) -> Self {
        Self {
            network,
            rates,
            index,
            channel: &network.scenario.channel[index],
        }
    }
}

impl Air<'_> {
    fn build(&self) -> Result<ChannelConfig, KeyError> {
        let members = self.members();
        let mut radios = Vec::new();
        for &member in &members {
            radios.push(self.radio(member)?);
        }
        self.stagger_beacons(&mut radios);
        let propagation = self.propagation(&members)?;
        let hearing = self.hearing(&members, &propagation)?;
        let mut links = Vec::new();
        for &member in members.iter().filter(|&&member| self.is_client(member)) {
            let Some(above) = self.network.members[member].above else {
                continue;
            };
            let (Some(below), Some(above)) =
                (radio_of(&members, member), radio_of(&members, above))
            else {
                continue;
            };
            // A link needs acknowledgements, so both ends must hear each other.
            if !(hearing.senses(below, above) && hearing.senses(above, below)) {
                return self.refuse_out_of_reach(member);
            }
            links.extend(self.links(member, below, above, &propagation)?);
        }
        for (member, above) in self.visits(&members) {
            let (Some(below), Some(radio)) =
                (radio_of(&members, member), radio_of(&members, above))
            else {
                continue;
            };
            for link in self.links(member, below, radio, &propagation)? {
                links.push(LinkConfig {
                    may_be_out_of_range: true,
                    ..link
                });
            }
        }
        links.extend(self.groups(&members));
        let mac = MacConfig {
            hearing,
            medium: self.medium(),
            timing: timing(self.channel),
            retry_limit: self.channel.retry_limit,
            block_ack_requests: self
                .channel
                .block_ack_requests
                .unwrap_or(self.channel.timing == Timing::Ns3),
            endless_retries: self.channel.endless_retries,
            in_order: self.channel.in_order,
            ..MacConfig::new(radios, links)
        };
        Ok(ChannelConfig {
            mac,
            nodes: members.into_iter().map(Network::id).collect(),
        })
    }

    /// The links of access points to all of their stations at once, where flows need them.
    fn groups(&self, members: &[usize]) -> Vec<LinkConfig> {
        let mut groups = Vec::new();
        let mut served = Vec::new();
        for flow in &self.network.scenario.flow {
            if flow.kind == FlowKind::Multicast {
                served.extend(self.network.group(&flow.to));
            }
        }
        let rate = TxRate::legacy(self.medium().basic_rates()[0]);
        for (index, &above) in members.iter().enumerate() {
            if !served.contains(&above) {
                continue;
            }
            let stations = members
                .iter()
                .filter(|&&station| self.network.members[station].may_be_at(above));
            let radios = stations.filter_map(|&station| radio_of(members, station));
            let radio = RadioId::from_index(index);
            groups.push(LinkConfig {
                group: true,
                members: radios.collect(),
                ..LinkConfig::new(radio, radio, rate)
            });
        }
        groups
    }

    /// Refuses a client and an access point that do not hear each other.
    fn refuse_out_of_reach<T>(&self, client: usize) -> Result<T, KeyError> {
        let members = &self.network.members;
        let Member {
            name,
            position,
            above,
            ..
        } = &members[client];
        let (above, distance) = match above.map(|above| &members[above]) {
            Some(above) => (above.name.as_str(), position.distance(above.position)),
            None => ("", 0.0),
        };
        let remedy = if self.channel.carrier_sense_range.is_some() {
            "place it nearer, or widen the channel's `carrier_sense_range`"
        } else {
            "place it nearer, give both more `tx_power`, or give the channel a `carrier_sense_range` that is wide enough"
        };
        let message = format!(
            "`{name}` and its access point `{above}`, {distance:.1} m apart, do not hear each other: {remedy}"
        );
        refuse(self.network.key(client), message)
    }

    /// The nodes on this channel, in the order of the scenario.
    pub(super) fn members(&self) -> Vec<usize> {
        let here = Some(self.index);
        let is_here = |&idx: &usize| {
            let member = &self.network.members[idx];
            member.uplink == here || member.downlink == here || self.visits_channel(idx)
        };
        (0..self.network.members.len()).filter(is_here).collect()
    }

    fn is_client(&self, member: usize) -> bool {
        self.network.members[member].uplink == Some(self.index)
    }

    /// Whether a station may go to an access point of this channel.
    pub(super) fn visits_channel(&self, member: usize) -> bool {
        let members = &self.network.members;
        let mut access_points = members[member].roams_to.iter();
        access_points.any(|&above| members[above].downlink == Some(self.index))
    }

    /// The stations with the access points of this channel to which they may go, besides their own.
    fn visits(&self, members: &[usize]) -> Vec<(usize, usize)> {
        let mut visits = Vec::new();
        for &station in members {
            for &above in self.network.members[station].roams_to.iter().skip(1) {
                if self.network.members[above].downlink == Some(self.index) {
                    visits.push((station, above));
                }
            }
        }
        visits
    }

    fn medium(&self) -> Medium {
        match (band(self.channel), self.channel.standard) {
            (Band::Ghz5, _) => Medium::GHZ_5,
            (Band::Ghz2_4, crate::file::Standard::Dsss) => Medium::DSSS,
            (Band::Ghz2_4, _) => Medium::GHZ_2_4,
        }
    }

    /// Both directions between a client, whose radio is `below`, and the node above it.
    fn links(
        &self,
        member: usize,
        below: RadioId,
        above: RadioId,
        propagation: &channel::Channel,
    ) -> Result<[LinkConfig; 2], KeyError> {
        let node = self.network.table(member);
        let Member { name, number, .. } = &self.network.members[member];
        let (up_key, up_rates) = if node.uplink_rate.is_empty() {
            ("rate", &node.rate)
        } else {
            ("uplink_rate", &node.uplink_rate)
        };
        let of_member = |losses: &[f64]| losses.get(*number).or(losses.first()).copied();
        let down_loss = of_member(&node.loss);
        let up_loss = of_member(&node.uplink_loss).or(down_loss);
        let link = |from, to, key: &str, rates: &[RateChoice], (stream, loss)| {
            let mut key = format!("{}.{key}", self.network.key(member));
            if rates.len() > 1 {
                key = format!("{key}.{number}");
            }
            let context = LinkContext {
                channel: self.channel,
                link: stream,
                key: &key,
            };
            let rate = rates.get(*number).unwrap_or(&rates[0]);
            let adaptation = self.rates.adaptation(rate, context)?;
            let quality = self.quality(loss, &propagation.link(from, to));
            Ok(LinkConfig {
                quality,
                ..LinkConfig::new(from, to, adaptation)
            })
        };
        // Each direction has its own random draws. They depend on the name alone, so that other
        // nodes change nothing.
        let stream = airpace_sim::rng::key(name);
        let down = link(above, below, "rate", &node.rate, (stream, down_loss))?;
        let up_stream = (stream.wrapping_add(1), up_loss);
        let up = link(below, above, up_key, up_rates, up_stream)?;
        let down = LinkConfig {
            weight: node.airtime_weight,
            ..down
        };
        Ok([down, up])
    }

    /// How MPDUs of a link are lost.
    fn quality(&self, loss: Option<f64>, link: &channel::Link) -> Quality {
        match (loss, self.channel.error_model) {
            (Some(loss), _) => Quality::Loss(loss),
            (None, ErrorModelName::None) => Quality::Loss(0.0),
            (None, ErrorModelName::Snr) => Quality::of(Signal::Channel(*link)),
        }
    }

    /// The propagation between the radios.
    pub(super) fn propagation(&self, members: &[usize]) -> Result<channel::Channel, KeyError> {
        let streams = members.iter().map(|&member| self.streams(member));
        let most_streams = streams.max().unwrap_or(1);
        let mut radios = Vec::new();
        for &member in members {
            let node = self.network.table(member);
            // An access point has the antennas that its best client needs.
            let antennas = if self.is_client(member) || self.visits_channel(member) {
                self.streams(member)
            } else {
                most_streams
            };
            radios.push(channel::Radio {
                tx_power_dbm: node.tx_power.0,
                noise_figure_db: self.channel.noise_figure.0,
                antennas,
                ..channel::Radio::at(self.network.members[member].position)
            });
        }
        let Channel {
            path_loss,
            fading,
            shadowing,
            ..
        } = self.channel;
        let free_space = if band(self.channel) == Band::Ghz2_4 {
            FREE_SPACE_2_4_DB
        } else {
            FREE_SPACE_5_DB
        };
        let config = channel::ChannelConfig {
            path_loss: channel::PathLoss {
                exponent: path_loss.exponent,
                reference_db: path_loss
                    .reference
                    .map_or(free_space, |reference| reference.0),
            },
            fading: channel::Fading {
                law: match fading.law.0 {
                    FadingKind::None => FadingLaw::None,
                    FadingKind::Rayleigh => FadingLaw::Rayleigh,
                    FadingKind::Rician => FadingLaw::Rician {
                        factor: fading.k_factor,
                    },
                    FadingKind::Nakagami => FadingLaw::Nakagami {
                        shape: fading.shape,
                    },
                },
                coherence: fading.coherence.0,
            },
            shadowing: channel::Shadowing {
                deviation_db: shadowing.deviation.0,
                coherence: shadowing.coherence.0,
            },
            seed: self.network.scenario.seed,
            ..channel::ChannelConfig::new(radios)
        };
        match channel::Channel::new(config) {
            Ok(channel) => Ok(channel),
            Err(error) => refuse(format!("channel.{}", self.index), error.to_string()),
        }
    }

    /// Most spatial streams of the rates of a node.
    fn streams(&self, member: usize) -> u8 {
        let node = self.network.table(member);
        let mut most = 1;
        for choice in node.rate.iter().chain(&node.uplink_rate) {
            most = most.max(choice.nss.unwrap_or(1));
            for step in &choice.trace {
                most = most.max(step.nss);
            }
        }
        most
    }
}

/// Free-space loss at 1 m in dB, at 5.15 GHz as in ns-3, and at 2.4 GHz.
const FREE_SPACE_5_DB: f64 = 46.6777;
const FREE_SPACE_2_4_DB: f64 = 40.05;

pub(super) const fn access_category(category: Category) -> AccessCategory {
    match category {
        Category::Background => AccessCategory::Background,
        Category::BestEffort => AccessCategory::BestEffort,
        Category::Video => AccessCategory::Video,
        Category::Voice => AccessCategory::Voice,
    }
}
