//! The status of stations, and what an operator changes for a single one.

use super::station::{LearntStation, Seat};
use super::{DownlinkFrame, Inline, StationChange};
use crate::proxy::{Mode, RejectedReports};
use airpace_core::report::{Allocation, SlotReport};
use airpace_core::wire::ieee80211::MacAddr;
use airpace_units::Time;

/// The current status of a station.
#[derive(Clone, PartialEq, Debug)]
pub struct StationStatus<'a> {
    /// Its hardware address.
    pub mac: MacAddr,
    /// Its name, if one is known.
    pub name: Option<&'a str>,
    /// The access point, as numbered in [`InlineConfig::media`](super::InlineConfig::media).
    pub medium: usize,
    /// The port where it was heard last, as numbered in
    /// [`InlineConfig::ports`](super::InlineConfig::ports).
    pub port: usize,
    /// Weight (φ) of its share.
    pub weight: f64,
    /// Whether it is exempt: its frames pass unqueued.
    pub is_exempt: bool,
    /// How its frames are paced.
    pub mode: Mode,
    /// Its rate; `None` if everything passes.
    pub granted: Option<Allocation>,
    /// What was observed of it in the last slot.
    pub report: Option<&'a SlotReport>,
    /// Its reports that were rejected since it came.
    pub rejected: RejectedReports,
    /// Packets that wait for it.
    pub queued: usize,
    /// When it was last heard.
    pub heard_at: Time,
}

impl<F: DownlinkFrame> Inline<F> {
    /// Returns the status of all stations, by hardware address.
    pub fn stations(&self) -> impl Iterator<Item = StationStatus<'_>> {
        self.by_mac.values().filter_map(|&index| {
            let station = self.stations[index].as_ref()?;
            let Seat {
                medium,
                station: seat,
            } = station.seat;
            let proxy = &self.media[medium].proxy;
            Some(StationStatus {
                mac: station.mac,
                name: station.name(),
                medium,
                port: station.port,
                weight: station.weight,
                is_exempt: station.is_exempt,
                mode: proxy.mode(seat).unwrap_or(Mode::Away),
                granted: proxy.granted(seat),
                report: proxy.last_report(seat),
                rejected: proxy.rejected_reports(seat),
                queued: proxy.queued(seat),
                heard_at: station.heard_at,
            })
        })
    }

    /// Returns the hardware addresses of the stations, in order.
    pub fn addresses(&self) -> impl Iterator<Item = MacAddr> {
        self.by_mac.keys().copied()
    }

    /// Returns whether a station with this hardware address is known.
    #[must_use]
    pub fn knows(&self, mac: MacAddr) -> bool {
        self.by_mac.contains_key(&mac)
    }

    /// Returns the name of a station, if one is known.
    #[must_use]
    pub fn name(&self, mac: MacAddr) -> Option<&str> {
        let &index = self.by_mac.get(&mac)?;
        self.stations[index].as_ref()?.name()
    }

    /// Notes the name that a station has given itself. A configured name has precedence.
    pub fn on_name(&mut self, mac: MacAddr, name: &str) {
        if let Some(station) = self.station_mut(mac) {
            station.own_name = Some(name.to_owned());
        }
    }

    /// Exempts a station, so that its frames pass unqueued, or ends that. Queued frames leave at once.
    /// Returns whether the station is known.
    pub fn set_exempt(&mut self, now: Time, mac: MacAddr, is_exempt: bool) -> bool {
        let Some(&index) = self.by_mac.get(&mac) else {
            return false;
        };
        // The frames of an exempt station are not handed in, so they could not confirm it.
        self.confirm(index);
        let Some(station) = self.station_mut(mac) else {
            return false;
        };
        let seat = station.seat;
        if core::mem::replace(&mut station.is_exempt, is_exempt) != is_exempt {
            self.media[seat.medium]
                .proxy
                .set_exempt(now, seat.station, is_exempt);
            self.changes.push_back(if is_exempt {
                StationChange::Left(mac)
            } else {
                StationChange::Joined(mac)
            });
        }
        true
    }

    pub(super) fn station_mut(&mut self, mac: MacAddr) -> Option<&mut LearntStation> {
        let &index = self.by_mac.get(&mac)?;
        self.stations[index].as_mut()
    }
}
