//! The status of stations, and what an operator changes for a single one.

use super::cause::ToldCause;
use super::nearby::{NearbyRadio, RadioState};
use super::news::{News, NewsKind};
use super::station::{LearntStation, Seat};
use super::watch::{LostSensor, Recent, SlotView, has_level};
use super::{DownlinkFrame, Inline, StationChange};
use crate::proxy::{Mode, RejectedReports};
use airpace_core::control::AirEstimate;
use airpace_core::report::{Allocation, SlotReport};
use airpace_core::sensor::block_ack::Unusable;
use airpace_core::wire::ieee80211::MacAddr;
use airpace_units::Time;
use core::time::Duration;

/// A station counts as active from this rate on, bits per second.
const ACTIVE_BPS: f64 = 100e3;

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
    /// When the last slot ended, for which the means are.
    pub now: Time,
    /// Whether nothing is held back, whatever is granted.
    pub is_dry_run: bool,
    /// Means of about the last second.
    pub recent: Recent,
    /// Share of the air that the station uses in both directions, 0 to 1; `None` if it is not known.
    pub share: Option<f64>,
    /// What the law believes of its air, if it estimates that.
    pub air: Option<AirEstimate>,
    /// Median time that packets have lately waited in the box; `None` without packets.
    pub sojourn_p50: Option<Duration>,
    /// 95th percentile of the same.
    pub sojourn_p95: Option<Duration>,
    /// The sensor that it has lost, until that is back.
    pub lost: Option<LostSensor>,
    /// Why the radio near its access point does not tell of its frames, if it is up and does not.
    pub radio_unused: Option<Unusable>,
    /// The radio near its access point, if there is one.
    pub radio: Option<&'a NearbyRadio>,
    /// What the access point's stations have in common.
    pub cell: CellPicture,
    /// The cause that is told until another one has lasted; `None` before the first slot has ended.
    pub told: Option<&'a ToldCause>,
}

/// What holds for all stations of an access point.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct CellPicture {
    /// Stations to which packets are sent.
    pub active: usize,
    /// The highest PHY rate of one of them, bit/s.
    pub fastest_bps: Option<f64>,
    /// Share of the air that others than the access point and its stations use, 0 to 1; `None`
    /// without a radio near it that hears.
    pub air_of_others: Option<f64>,
    /// Sum of the stations' shares of the air as they were estimated. Errors can make it exceed 1.
    pub air_of_stations: f64,
}

/// The PHY rate of a station with which others may be compared, bit/s. What is assumed of one whose frames
/// no sensor sees can be anything.
pub(super) fn comparable_phy_bps(
    report: Option<&SlotReport>,
    air: Option<AirEstimate>,
) -> Option<f64> {
    let report = report?;
    let assumed = air.filter(|_| has_level(report.sensor));
    report.phy_rate_bps().or_else(|| assumed?.phy_bps)
}

impl StationStatus<'_> {
    /// Returns the PHY rate of its frames in bit/s, reported or assumed; `None` until either is known.
    #[must_use]
    pub fn phy_bps(&self) -> Option<f64> {
        let reported = self.report.and_then(SlotReport::phy_rate_bps);
        reported.or_else(|| self.air?.phy_bps)
    }

    /// Returns whether the PHY rate is assumed, because no sensor reports it.
    #[must_use]
    pub fn is_phy_assumed(&self) -> bool {
        let reported = self.report.and_then(SlotReport::phy_rate_bps);
        reported.is_none() && self.phy_bps().is_some()
    }
}

impl<F: DownlinkFrame> Inline<F> {
    /// Returns the status of all stations, by hardware address.
    pub fn stations(&self) -> impl Iterator<Item = StationStatus<'_>> {
        let cells: Vec<CellPicture> = (0..self.media.len()).map(|m| self.cell(m)).collect();
        self.by_mac.values().filter_map(move |&index| {
            let station = self.stations[index].as_ref()?;
            Some(StationStatus {
                sojourn_p50: station.watch.sojourn(0.5),
                sojourn_p95: station.watch.sojourn(0.95),
                ..self.status_of(station, cells[station.seat.medium])
            })
        })
    }

    /// The status without the times in the box, which take longer to find.
    fn status_of<'a>(&'a self, station: &'a LearntStation, cell: CellPicture) -> StationStatus<'a> {
        let Seat {
            medium,
            station: seat,
        } = station.seat;
        let proxy = &self.media[medium].proxy;
        let watch = &station.watch;
        let scale = 1.0 / cell.air_of_stations.max(1.0);
        let radio = self.nearby_radio(medium);
        StationStatus {
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
            now: self.watched_at,
            is_dry_run: self.config.proxy.dry_run,
            recent: watch.recent,
            share: watch.recent.air_share.map(|share| scale * share),
            air: watch.air,
            sojourn_p50: None,
            sojourn_p95: None,
            lost: watch.lost,
            radio_unused: radio
                .filter(|radio| radio.state == RadioState::Up)
                .and_then(|_| self.media[medium].observer.radio_unused(seat)),
            radio,
            cell,
            told: watch.told.as_ref(),
        }
    }

    /// Returns what holds for all stations of a medium.
    #[must_use]
    pub fn cell(&self, medium: usize) -> CellPicture {
        let mut cell = CellPicture {
            air_of_others: self.air_of_others(medium),
            ..CellPicture::default()
        };
        let Some(proxy) = self.media.get(medium).map(|medium| &medium.proxy) else {
            return cell;
        };
        for station in self.stations.iter().flatten() {
            if station.seat.medium != medium {
                continue;
            }
            let watch = &station.watch;
            cell.air_of_stations += watch.recent.air_share.unwrap_or(0.0);
            if watch.recent.sent_bps < ACTIVE_BPS {
                continue;
            }
            cell.active += 1;
            let report = proxy.last_report(station.seat.station);
            let phy_bps = comparable_phy_bps(report, watch.air);
            cell.fastest_bps = match (cell.fastest_bps, phy_bps) {
                (Some(fastest), Some(phy)) => Some(phy.max(fastest)),
                (fastest, phy) => fastest.or(phy),
            };
        }
        cell
    }

    /// Takes what the end of a medium's slot shows of its stations.
    pub(super) fn watch_slot(&mut self, now: Time, medium: usize) {
        self.watched_at = now;
        let mut changes = Vec::new();
        let proxy = &self.media[medium].proxy;
        for (index, station) in self.stations.iter_mut().enumerate() {
            let Some(station) = station.as_mut().filter(|it| it.seat.medium == medium) else {
                continue;
            };
            let seat = station.seat.station;
            let view = SlotView {
                granted: proxy.granted(seat),
                report: proxy.last_report(seat),
                air: proxy.air_estimate(seat),
                queued: proxy.queued(seat),
            };
            if let Some(change) = station.watch.close_slot(now, &view) {
                changes.push((index, change));
            }
        }
        for (index, change) in changes {
            let (from, to) = (change.from, change.to);
            self.tell(index, NewsKind::SensorChanged { from, to });
        }
        self.note_causes(medium);
    }

    /// Notes the causes that the end of a medium's slot shows.
    fn note_causes(&mut self, medium: usize) {
        let cell = self.cell(medium);
        for index in 0..self.stations.len() {
            let station = self.stations[index].as_ref();
            let Some(station) = station.filter(|it| it.seat.medium == medium) else {
                continue;
            };
            let shown = ToldCause::of(&self.status_of(station, cell));
            let Some(station) = &mut self.stations[index] else {
                continue;
            };
            station.watch.told = Some(match station.watch.told.take() {
                Some(told) => told.followed_by(shown),
                None => shown,
            });
        }
    }

    /// Notes what has happened to a station, for the operator.
    pub(super) fn tell(&mut self, index: usize, what: NewsKind) {
        let Some(station) = &self.stations[index] else {
            return;
        };
        self.news.push(News {
            mac: station.mac,
            name: station.name().map(str::to_owned),
            medium: station.seat.medium,
            what,
        });
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
            self.media[seat.medium].set_exempt(now, seat.station, is_exempt);
            self.changes.push_back(if is_exempt {
                StationChange::Exempted(mac)
            } else {
                StationChange::Readmitted(mac)
            });
        }
        true
    }

    pub(super) fn station_mut(&mut self, mac: MacAddr) -> Option<&mut LearntStation> {
        let &index = self.by_mac.get(&mac)?;
        self.stations[index].as_mut()
    }
}
