//! Channels: radios, links, who hears whom.

use super::network::Network;
use super::rate::{Place, Rates};
use crate::file::{
    Category, Channel, Edca, ErrorModel as ErrorModelName, FadingLaw, NodeKind, RateChoice, Timing,
};
use airpace_config::document::{KeyError, refuse};
use airpace_config::quantity::Length;
use airpace_core::phy::{self, AccessCategory, Band, Medium};
use airpace_sim::channel::{self, Position};
use airpace_sim::mac::{
    Beacon, Hearing, LinkConfig, MacConfig, Quality, RadioConfig, RadioId, Relation, Signal,
};
use airpace_sim::world::ChannelConfig;
use std::time::Duration;

/// Bytes of a beacon: at 6 Mbit/s 236 µs, as ns-3 3.44 sends them.
const BEACON_BYTES: u32 = 158;

pub(super) const fn timing(channel: &Channel) -> phy::Timing {
    match channel.timing {
        Timing::Standard => phy::Timing::Standard,
        Timing::Ns3 => phy::Timing::Ns3,
    }
}

/// The band of a channel; the bounds of the key leave only those that are near.
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
    let channels = network.scenario.channel.iter().enumerate();
    channels
        .map(|(index, channel)| {
            Air {
                network,
                rates,
                index,
                channel,
            }
            .build()
        })
        .collect()
}

/// What a client's links lose once it stands at `position`; `None` if positions decide nothing for it. Who hears whom stays as it was.
pub(super) fn moved(
    network: &Network<'_>,
    rates: &Rates<'_>,
    member: usize,
    position: (f64, f64),
) -> Result<Option<Quality>, KeyError> {
    let mut network = network.clone();
    network.members[member].position = position;
    let (Some(index), Some(above)) = (
        network.members[member].uplink,
        network.members[member].above,
    ) else {
        return Ok(None);
    };
    let channel = &network.scenario.channel[index];
    if channel.error_model != ErrorModelName::Snr {
        return Ok(None);
    }
    let air = Air {
        network: &network,
        rates,
        index,
        channel,
    };
    let members = air.members();
    let radio = |node: usize| {
        members
            .iter()
            .position(|&other| other == node)
            .map(RadioId::from_index)
    };
    let propagation = air.propagation(&members)?;
    let link = radio(above)
        .zip(radio(member))
        .map(|(from, to)| propagation.link(from, to));
    Ok(link.map(|link| Quality::of(Signal::Channel(link))))
}

/// One channel in the making.
struct Air<'n> {
    network: &'n Network<'n>,
    rates: &'n Rates<'n>,
    index: usize,
    channel: &'n Channel,
}

impl Air<'_> {
    fn build(&self) -> Result<ChannelConfig, KeyError> {
        let members = self.members();
        let radio = |member: usize| {
            members
                .iter()
                .position(|&other| other == member)
                .map(RadioId::from_index)
        };
        let mut radios = Vec::new();
        for &member in &members {
            radios.push(self.radio(member)?);
        }
        self.stagger_beacons(&mut radios);
        let propagation = self.propagation(&members)?;
        let hearing = self.hearing(&members, &propagation);
        let mut links = Vec::new();
        for &member in &members {
            let Some(above) = self.network.members[member].above else {
                continue;
            };
            let ends = (radio(member), radio(above));
            if let (Some(below), Some(above), true) = (ends.0, ends.1, self.is_client(member)) {
                if !(hearing.senses(below, above) && hearing.senses(above, below)) {
                    return self.out_of_reach(member);
                }
                links.extend(self.links(member, (below, above), &propagation)?);
            }
        }
        let mac = MacConfig {
            hearing,
            medium: self.medium(),
            timing: timing(self.channel),
            retry_limit: self.channel.retry_limit,
            in_order: self.channel.in_order,
            ..MacConfig::new(radios, links)
        };
        Ok(ChannelConfig {
            mac,
            nodes: members.into_iter().map(Network::id).collect(),
        })
    }

    /// Refuses a client and an access point that do not hear each other.
    fn out_of_reach<T>(&self, client: usize) -> Result<T, KeyError> {
        let members = &self.network.members;
        let (name, (x, y)) = (&members[client].name, members[client].position);
        let above = members[client].above.map(|above| &members[above]);
        let (above, (a, b)) = above.map_or(("", (0.0, 0.0)), |above| {
            (above.name.as_str(), above.position)
        });
        let distance = (a - x).hypot(b - y);
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

    /// The nodes on this channel.
    fn members(&self) -> Vec<usize> {
        let members = self.network.members.iter().enumerate();
        let here = |channel: Option<usize>| channel == Some(self.index);
        members
            .filter(|(_, member)| here(member.uplink) || here(member.downlink))
            .map(|(idx, _)| idx)
            .collect()
    }

    fn is_client(&self, member: usize) -> bool {
        self.network.members[member].uplink == Some(self.index)
    }

    fn radio(&self, member: usize) -> Result<RadioConfig, KeyError> {
        let node = self.network.table(member);
        let channel = self.channel;
        let Network { scenario, members } = self.network;
        let is_above = members[member].downlink == Some(self.index);
        let beacons = channel.beacons && is_above && node.kind == NodeKind::Ap;
        Ok(RadioConfig {
            edca: self.edca()?,
            beacon: beacons.then(|| self.beacon()),
            path: super::queue::path(&node.queue, scenario.seed, &members[member].name),
            max_mpdus: channel.max_mpdus,
            max_duration: channel.max_duration.0,
            // The bounds of both keys keep them within 32 bits.
            max_amsdu: channel.amsdu.map_or(0, |size| size.0.0 as u32),
            rts_threshold: channel.rts_threshold.map(|size| size.0.0 as u32),
            ..RadioConfig::new()
        })
    }

    fn beacon(&self) -> Beacon {
        let medium = self.medium();
        let airtime = medium.control_airtime(medium.basic_rates()[0], BEACON_BYTES);
        let interval = self.channel.beacon_interval.0;
        Beacon {
            first: interval,
            interval,
            airtime,
        }
    }

    /// Spreads the beacons of several access points evenly.
    fn stagger_beacons(&self, radios: &mut [RadioConfig]) {
        let count = radios.iter().filter(|radio| radio.beacon.is_some()).count();
        let beacons = radios.iter_mut().filter_map(|radio| radio.beacon.as_mut());
        for (turn, beacon) in (0..).zip(beacons) {
            // There are at most 20,000 nodes.
            let share: Duration = beacon.interval * turn / count as u32;
            beacon.first += share;
        }
    }

    fn medium(&self) -> Medium {
        match (band(self.channel), self.channel.standard) {
            (Band::Ghz5, _) => Medium::GHZ_5,
            (Band::Ghz2_4, crate::file::Standard::Dsss) => Medium::DSSS,
            (Band::Ghz2_4, _) => Medium::GHZ_2_4,
        }
    }

    fn edca(&self) -> Result<[phy::Edca; 4], KeyError> {
        let categories = [
            Category::Background,
            Category::BestEffort,
            Category::Video,
            Category::Voice,
        ];
        let mut edca = categories.map(|category| self.medium().edca(access_category(category)));
        for (category, edca) in categories.into_iter().zip(&mut edca) {
            let Edca {
                cw_min,
                cw_max,
                aifsn,
                txop,
            } = self.channel.edca.of(category);
            edca.cw_min = cw_min.unwrap_or(edca.cw_min);
            edca.cw_max = cw_max.unwrap_or(edca.cw_max);
            edca.aifsn = aifsn.unwrap_or(edca.aifsn);
            edca.txop = txop.map_or(edca.txop, |txop| txop.0);
            if edca.cw_min > edca.cw_max {
                let key = format!(
                    "channel.{}.edca.{}",
                    self.index,
                    category.word().replace('-', "_")
                );
                return refuse(
                    key,
                    format!(
                        "the smallest window, {}, is larger than the largest, {}",
                        edca.cw_min, edca.cw_max
                    ),
                );
            }
        }
        Ok(edca)
    }

    /// Both directions between a client and the node above it.
    fn links(
        &self,
        member: usize,
        (below, above): (RadioId, RadioId),
        propagation: &channel::Channel,
    ) -> Result<[LinkConfig; 2], KeyError> {
        let node = self.network.table(member);
        let (down, up) = (
            &node.rate,
            if node.uplink_rate.is_empty() {
                &node.rate
            } else {
                &node.uplink_rate
            },
        );
        let up_key = if node.uplink_rate.is_empty() {
            "rate"
        } else {
            "uplink_rate"
        };
        // Each direction has its own draws; other nodes have no part in the number.
        let stream = airpace_sim::rng::key(&self.network.members[member].name);
        let link = |(from, to), choices: &[RateChoice], key: &str, link| {
            let number = self.network.members[member].number;
            let key = format!("{}.{key}", self.network.key(member));
            let key = if choices.len() > 1 {
                format!("{key}.{number}")
            } else {
                key
            };
            let place = Place {
                channel: self.channel,
                link,
                key: &key,
            };
            let adaptation = self.rates.adaptation(one_of(choices, number), place)?;
            let quality = self.quality(
                node.loss.get(number).or(node.loss.first()),
                &propagation.link(from, to),
            );
            Ok(LinkConfig {
                quality,
                ..LinkConfig::new(from, to, adaptation)
            })
        };
        let down = link((above, below), down, "rate", stream)?;
        let up = link((below, above), up, up_key, stream.wrapping_add(1))?;
        Ok([
            LinkConfig {
                weight: node.airtime_weight,
                ..down
            },
            up,
        ])
    }

    /// How MPDUs of a link are lost.
    fn quality(&self, loss: Option<&f64>, link: &channel::Link) -> Quality {
        match (loss, self.channel.error_model) {
            (Some(&loss), _) => Quality::Loss(loss),
            (None, ErrorModelName::None) => Quality::Loss(0.0),
            (None, ErrorModelName::Snr) => Quality::of(Signal::Channel(*link)),
        }
    }

    /// The radios in space.
    fn propagation(&self, members: &[usize]) -> Result<channel::Channel, KeyError> {
        let most = members
            .iter()
            .map(|&member| self.streams(member))
            .max()
            .unwrap_or(1);
        let radios = members.iter().map(|&member| {
            let (x, y) = self.network.members[member].position;
            let node = self.network.table(member);
            let antennas = if self.is_client(member) {
                self.streams(member)
            } else {
                most
            };
            channel::Radio {
                tx_power_dbm: node.tx_power.0,
                noise_figure_db: self.channel.noise_figure.0,
                antennas,
                ..channel::Radio::at(Position::new(x, y, 0.0))
            }
        });
        let Channel {
            path_loss, fading, ..
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
                law: match fading.law {
                    FadingLaw::None => channel::FadingLaw::None,
                    FadingLaw::Rayleigh => channel::FadingLaw::Rayleigh,
                    FadingLaw::Rician => channel::FadingLaw::Rician {
                        factor: fading.k_factor,
                    },
                    FadingLaw::Nakagami => channel::FadingLaw::Nakagami {
                        shape: fading.shape,
                    },
                },
                coherence: fading.coherence.0,
            },
            seed: self.network.scenario.seed,
            ..channel::ChannelConfig::new(radios.collect())
        };
        match channel::Channel::new(config) {
            Ok(channel) => Ok(channel),
            Err(error) => refuse(format!("channel.{}", self.index), error.to_string()),
        }
    }

    /// As many antennas as streams that the node's rates have.
    fn streams(&self, member: usize) -> u8 {
        let node = self.network.table(member);
        let choices = node.rate.iter().chain(&node.uplink_rate);
        let streams = |choice: &RateChoice| {
            let trace = choice.trace.iter().map(|step| step.nss).max().unwrap_or(1);
            choice.nss.unwrap_or(1).max(trace)
        };
        choices.map(streams).max().unwrap_or(1)
    }

    /// Who hears whom: by ranges if there are any, else by received power.
    fn hearing(&self, members: &[usize], propagation: &channel::Channel) -> Hearing {
        let Some(sense) = self.channel.carrier_sense_range else {
            let by_power = self.channel.error_model == ErrorModelName::Snr;
            return if by_power {
                simplest(propagation.hearing(), members.len())
            } else {
                Hearing::All
            };
        };
        let disturb = self.channel.interference_range.unwrap_or(sense);
        let place = |radio: RadioId| self.network.members[members[radio.index()]].position;
        let within = |range: Length| {
            Relation::by(members.len(), |from, to| {
                let ((a, b), (c, d)) = (place(from), place(to));
                from != to && (a - c).hypot(b - d) <= range.0
            })
        };
        Hearing::Matrix {
            senses: within(sense),
            disturbs: within(disturb),
            decodes: within(sense),
        }
    }
}

/// [`Hearing::All`] where that says the same, as it costs less.
fn simplest(hearing: Hearing, radios: usize) -> Hearing {
    let Hearing::Matrix {
        senses,
        disturbs,
        decodes,
    } = &hearing
    else {
        return hearing;
    };
    let all = Relation::by(radios, |from, to| from != to);
    if [senses, disturbs, decodes]
        .into_iter()
        .all(|relation| *relation == all)
    {
        Hearing::All
    } else {
        hearing
    }
}

/// Free-space loss at 1 m in dB, at 5.15 GHz as in ns-3, and at 2.4 GHz.
const FREE_SPACE_5_DB: f64 = 46.6777;
const FREE_SPACE_2_4_DB: f64 = 40.05;

/// A node's own value, or the one for all.
fn one_of<T>(values: &[T], number: usize) -> &T {
    values.get(number).unwrap_or(&values[0])
}

pub(super) const fn access_category(category: Category) -> AccessCategory {
    match category {
        Category::Background => AccessCategory::Background,
        Category::BestEffort => AccessCategory::BestEffort,
        Category::Video => AccessCategory::Video,
        Category::Voice => AccessCategory::Voice,
    }
}
