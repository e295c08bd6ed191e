//! The radios of a channel: their channel access, limits and beacons.

use super::super::network::{Member, Network};
use super::{Air, access_category};
use crate::file::{AccessPointEdca, Category, Edca, NodeKind, Protection};
use airpace_config::document::{KeyError, refuse};
use airpace_core::phy::{self, LegacyRate};
use airpace_sim::mac::{Beacon, RadioConfig};
use std::time::Duration;

/// Bytes of a beacon: 236 µs at 6 Mbit/s, as ns-3 3.44 sends them.
const BEACON_BYTES: u32 = 158;

impl Air<'_> {
    /// Whether a node is told of beacons and probes: it roams, or is roamed to.
    fn listens(&self, member: usize) -> bool {
        let members = &self.network.members;
        let is_visited = |other: &Member| other.roams_to.contains(&member);
        !members[member].roams_to.is_empty() || members.iter().any(is_visited)
    }

    pub(super) fn radio(&self, member: usize) -> Result<RadioConfig, KeyError> {
        let node = self.network.table(member);
        let channel = self.channel;
        let Network {
            scenario, members, ..
        } = self.network;
        let is_above = members[member].downlink == Some(self.index);
        let beacons = channel.beacons && is_above && node.kind == NodeKind::Ap;
        Ok(RadioConfig {
            edca: self.edca(is_above)?,
            beacon: beacons.then(|| self.beacon()),
            path: super::super::queue::path(&node.queue, scenario.seed, &members[member].name),
            max_mpdus: channel.max_mpdus,
            max_duration: channel.max_duration.0,
            // The bounds of both keys keep them within 32 bits.
            max_amsdu: channel.amsdu.map_or(0, |size| size.0.0 as u32),
            listens: self.listens(member),
            rts_threshold: channel.rts_threshold.map(|size| size.0.0 as u32),
            cts_to_self: self.cts_to_self(),
            ..RadioConfig::new()
        })
    }

    /// The rate of CTS to oneself, if frames are protected.
    fn cts_to_self(&self) -> Option<LegacyRate> {
        match self.channel.protection {
            Protection::None => None,
            Protection::CtsToSelf => self.medium().basic_rates().first().copied(),
        }
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
    pub(super) fn stagger_beacons(&self, radios: &mut [RadioConfig]) {
        let count = radios.iter().filter(|radio| radio.beacon.is_some()).count();
        let beacons = radios.iter_mut().filter_map(|radio| radio.beacon.as_mut());
        for (turn, beacon) in (0..).zip(beacons) {
            // There are at most 20,000 nodes.
            let share: Duration = beacon.interval * turn / count as u32;
            beacon.first += share;
        }
    }

    fn edca(&self, is_above: bool) -> Result<[phy::Edca; 4], KeyError> {
        let categories = [
            Category::Background,
            Category::BestEffort,
            Category::Video,
            Category::Voice,
        ];
        let by_table = is_above && self.channel.access_point_edca == AccessPointEdca::Own;
        let mut edca = categories.map(|category| match access_category(category) {
            category if by_table => phy::Edca::of_access_point(category),
            category => self.medium().edca(category),
        });
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
}
