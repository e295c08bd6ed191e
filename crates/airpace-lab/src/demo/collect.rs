//! Computing the figures of an arm from its records.

use super::plan::{ArmKind, DemoOptions};
use crate::frames::{FrameLog, StationFrames};
use crate::load::Measured;
use crate::quality::{self, Requirement, trimmed_mean};
use crate::results::{
    ArmResult, ArmSeries, DEMO_FORMAT, SlotSample, StationResult, StationSeries, SteadyFigures,
};
use crate::stats::Samples;
use crate::tool::ping::Ping;
use airpace_core::model::jain;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

/// The records of one arm. Times count from the start of the arm's clock.
pub(super) struct Recorded<'a> {
    pub(super) options: &'a DemoOptions,
    pub(super) kind: ArmKind,
    pub(super) mcs: &'a [u8],
    pub(super) phy_mbps: &'a [f64],
    pub(super) frames: &'a FrameLog,
    pub(super) measured: &'a [Measured],
    /// Per station, in order; empty without a proxy.
    pub(super) reported: &'a [Vec<Reported>],
    pub(super) lag_p99: Duration,
    pub(super) trusted: bool,
    /// When the idle pings began.
    pub(super) idle_from: Duration,
    /// When the load began.
    pub(super) load_from: Duration,
}

/// One slot of a station as the box, or proxy and agent, reported it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Reported {
    /// End of the slot.
    pub(super) at_s: f64,
    /// Frames; not a whole number where they follow from a mean time between frames.
    pub(super) frames: f64,
    /// Packets in those frames.
    pub(super) packets: f64,
    /// Rate of payload that the station received. Only meaningful in the arm without TCP.
    pub(super) payload_mbps: f64,
    pub(super) allocated_mbps: Option<f64>,
    /// Packets that the queue of proxy or box dropped since the last slot.
    pub(super) dropped: u64,
    /// What observed the station.
    pub(super) sensor: Option<String>,
}

/// Phases of an arm.
#[derive(Clone, Copy, Debug)]
struct Spans {
    load_from: Duration,
    steady_from: Duration,
    load_to: Duration,
}

impl Recorded<'_> {
    fn spans(&self) -> Spans {
        let load_from = self.load_from;
        Spans {
            load_from,
            steady_from: load_from + self.options.ramp,
            load_to: load_from + self.options.load,
        }
    }

    /// The arm's figures in the steady state.
    pub(super) fn result(&self) -> ArmResult {
        let per_station: Vec<StationResult> =
            (0..self.mcs.len()).map(|i| self.station(i)).collect();
        let downlink: Vec<f64> = per_station.iter().map(|station| station.airtime).collect();
        let both_ways: Vec<f64> = per_station
            .iter()
            .map(|station| station.airtime + station.uplink_airtime)
            .collect();
        ArmResult {
            stations: u32::try_from(self.mcs.len()).unwrap_or(u32::MAX),
            name: self.kind.name().to_owned(),
            title: self.kind.title().to_owned(),
            figures: self.figures_of_all(&per_station),
            jain_airtime: jain(&downlink),
            jain_airtime_both_ways: jain(&both_ways),
            lag_p99_ms: self.lag_p99.as_secs_f64() * 1e3,
            trusted: self.trusted,
            per_station,
        }
    }

    fn figures_of_all(&self, per_station: &[StationResult]) -> SteadyFigures {
        let spans = self.spans();
        let (mut frames, mut packets, mut dropped) = (0, 0, 0);
        for station in 0..self.mcs.len() {
            let steady = self.steady(station);
            frames += steady.down.frames;
            packets += steady.down.packets;
            dropped += steady.dropped;
        }
        dropped += self.dropped_at_proxy(0..self.reported.len());
        let pings = |from, to| -> Samples {
            self.measured
                .iter()
                .flat_map(|m| window(&m.pings, from, to))
                .collect()
        };
        let loaded = self.loaded_pings(self.measured);
        let stations = || per_station.iter().map(|station| station.figures);
        SteadyFigures {
            goodput_mbps: stations().map(|s| s.goodput_mbps).sum(),
            ping_ms: pings(spans.steady_from, spans.load_to).quantiles(),
            idle_ping_ms: pings(self.idle_from, self.idle_from + self.options.idle).quantiles(),
            one_way_ms: loaded.one_way_ms,
            rpm: trimmed_mean(&loaded.rtts_ms).and_then(quality::rpm),
            qoo: Requirement::VIDEO_CALL.score(&loaded.rtts_ms, loaded.loss, None),
            loss: share(dropped, packets + dropped),
            ping_loss: mean(stations().map(|s| s.ping_loss)),
            level: ratio(packets as f64, frames),
            level_reported: self.reported_level(0..self.reported.len()),
            // A station with fewer than two frames has no round.
            round_ms: mean(stations().map(|s| s.round_ms).filter(|&round| round > 0.0)),
            retransmits: stations().map(|s| s.retransmits).sum(),
        }
    }

    /// The pings of these stations in the steady state, together.
    fn loaded_pings(&self, stations: &[Measured]) -> LoadedPings {
        let spans = self.spans();
        let (from, to) = (spans.steady_from, spans.load_to);
        let (mut rtts_ms, mut one_ways_ms) = (Vec::new(), Vec::new());
        let mut sent = 0;
        for station in stations {
            rtts_ms.extend(window(&station.pings, from, to));
            let pings = within(&station.pings, from, to);
            one_ways_ms.extend(pings.filter_map(|ping| ping.one_way_ms));
            sent += within(&station.pings, from, to).count();
        }
        LoadedPings {
            loss: share((sent - rtts_ms.len()) as u64, sent as u64),
            one_way_ms: (!one_ways_ms.is_empty()).then(|| mean(one_ways_ms.into_iter())),
            rtts_ms,
        }
    }

    fn station(&self, index: usize) -> StationResult {
        let (spans, sum, measured) = (self.spans(), self.steady(index), &self.measured[index]);
        let pings = |from, to| {
            window(&measured.pings, from, to)
                .collect::<Samples>()
                .quantiles()
        };
        let loaded = self.loaded_pings(&self.measured[index..=index]);
        let length = (spans.load_to - spans.steady_from).as_secs_f64();
        let dropped = sum.dropped + self.dropped_at_proxy(index..index + 1);
        let figures = SteadyFigures {
            goodput_mbps: self.goodput(index, spans.steady_from, spans.load_to),
            ping_ms: pings(spans.steady_from, spans.load_to),
            idle_ping_ms: pings(self.idle_from, self.idle_from + self.options.idle),
            one_way_ms: loaded.one_way_ms,
            rpm: trimmed_mean(&loaded.rtts_ms).and_then(quality::rpm),
            qoo: Requirement::VIDEO_CALL.score(&loaded.rtts_ms, loaded.loss, None),
            loss: share(dropped, sum.down.packets + dropped),
            ping_loss: unanswered(&measured.pings, spans.steady_from, spans.load_to),
            level: sum.down.level().unwrap_or(0.0),
            level_reported: self.reported_level(index..index + 1),
            round_ms: sum
                .down
                .round()
                .map_or(0.0, |round| round.as_secs_f64() * 1e3),
            retransmits: measured.flows.iter().map(|f| f.retransmits).sum(),
        };
        StationResult {
            station: u32::try_from(index).unwrap_or(u32::MAX),
            mcs: self.mcs[index],
            phy_mbps: self.phy_mbps[index],
            figures,
            airtime: sum.down.airtime.as_secs_f64() / length,
            uplink_airtime: sum.up_airtime.as_secs_f64() / length,
            sensor: self.sensor(index),
        }
    }

    /// The frames of a station in the steady state.
    fn steady(&self, station: usize) -> StationFrames {
        let spans = self.spans();
        self.frames.sum(station, spans.steady_from, spans.load_to)
    }

    /// Payload received, Mbit/s: by the TCP receiver, or as the agent counted it in the arm without
    /// TCP.
    fn goodput(&self, station: usize, from: Duration, to: Duration) -> f64 {
        match self.kind {
            ArmKind::AirpaceUdp => mean(self.reports(station, from, to).map(|r| r.payload_mbps)),
            _ => self.measured[station].received.mbps(from, to),
        }
    }

    fn reports(
        &self,
        station: usize,
        from: Duration,
        to: Duration,
    ) -> impl Iterator<Item = &Reported> {
        let slots = self.reported.get(station).map_or(&[][..], Vec::as_slice);
        slots
            .iter()
            .filter(move |r| r.at_s > from.as_secs_f64() && r.at_s <= to.as_secs_f64())
    }

    fn reported_level(&self, stations: Range<usize>) -> Option<f64> {
        let spans = self.spans();
        let slots: Vec<&Reported> = stations
            .flat_map(|i| self.reports(i, spans.steady_from, spans.load_to))
            .collect();
        let frames: f64 = slots.iter().map(|r| r.frames).sum();
        let packets: f64 = slots.iter().map(|r| r.packets).sum();
        (frames > 0.0).then(|| packets / frames)
    }

    /// What observed the station in most slots of the steady state.
    fn sensor(&self, station: usize) -> Option<String> {
        let spans = self.spans();
        let mut slots_by_sensor: BTreeMap<&str, u32> = BTreeMap::new();
        for report in self.reports(station, spans.steady_from, spans.load_to) {
            if let Some(sensor) = &report.sensor {
                *slots_by_sensor.entry(sensor).or_default() += 1;
            }
        }
        let most = slots_by_sensor.into_iter().max_by_key(|&(_, slots)| slots);
        most.map(|(sensor, _)| sensor.to_owned())
    }

    /// Packets that the queues of proxy or box dropped in the steady state. They count as losses, because
    /// these queues take the place of the access point's.
    fn dropped_at_proxy(&self, stations: Range<usize>) -> u64 {
        let spans = self.spans();
        stations
            .flat_map(|i| self.reports(i, spans.steady_from, spans.load_to))
            .map(|r| r.dropped)
            .sum()
    }

    /// The arm's time series.
    pub(super) fn series(&self) -> ArmSeries {
        let spans = self.spans();
        ArmSeries {
            format: DEMO_FORMAT,
            stations: u32::try_from(self.mcs.len()).unwrap_or(u32::MAX),
            name: self.kind.name().to_owned(),
            load_from_s: spans.load_from.as_secs_f64(),
            steady_from_s: spans.steady_from.as_secs_f64(),
            load_to_s: spans.load_to.as_secs_f64(),
            per_station: (0..self.mcs.len())
                .map(|i| self.station_series(i))
                .collect(),
        }
    }

    fn station_series(&self, index: usize) -> StationSeries {
        let n = (self.spans().load_to.as_nanos() / self.options.slot.as_nanos()) as usize;
        StationSeries {
            station: u32::try_from(index).unwrap_or(u32::MAX),
            slots: (0..n).map(|slot| self.slot_sample(index, slot)).collect(),
            pings: self.measured[index]
                .pings
                .iter()
                .map(|p| (round3(p.at_s), p.rtt_ms.map(round3)))
                .collect(),
        }
    }

    fn slot_sample(&self, station: usize, slot: usize) -> SlotSample {
        let length = self.options.slot;
        let from = length * u32::try_from(slot).unwrap_or(u32::MAX);
        let frames = self
            .frames
            .slots(station)
            .get(slot)
            .copied()
            .unwrap_or_default();
        let reported = self.reports(station, from, from + length).last();
        SlotSample {
            at_s: from.as_secs_f64(),
            goodput_mbps: self.goodput(station, from, from + length),
            frames: u32::try_from(frames.down.frames).unwrap_or(u32::MAX),
            level: frames.down.level(),
            airtime: frames.down.airtime.as_secs_f64() / length.as_secs_f64(),
            ap_queue: frames.down.queued,
            allocated_mbps: reported.and_then(|r| r.allocated_mbps),
        }
    }
}

/// Pings under load.
struct LoadedPings {
    /// Round-trip times of those that were answered.
    rtts_ms: Vec<f64>,
    /// Mean time from the server to the station of those that tell it.
    one_way_ms: Option<f64>,
    /// Share of those that were not answered.
    loss: f64,
}

/// Round-trip times of the answered pings sent within `from..to`.
fn window(pings: &[Ping], from: Duration, to: Duration) -> impl Iterator<Item = f64> {
    within(pings, from, to).filter_map(|p| p.rtt_ms)
}

fn within(pings: &[Ping], from: Duration, to: Duration) -> impl Iterator<Item = &Ping> {
    pings
        .iter()
        .filter(move |p| p.at_s >= from.as_secs_f64() && p.at_s < to.as_secs_f64())
}

/// Share of the pings sent within `from..to` that were not answered.
fn unanswered(pings: &[Ping], from: Duration, to: Duration) -> f64 {
    let (mut all, mut lost) = (0, 0);
    for ping in within(pings, from, to) {
        all += 1;
        lost += u64::from(ping.rtt_ms.is_none());
    }
    share(lost, all)
}

fn share(part: u64, whole: u64) -> f64 {
    ratio(part as f64, whole)
}

/// Zero if `count` is.
fn ratio(sum: f64, count: u64) -> f64 {
    if count == 0 { 0.0 } else { sum / count as f64 }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    ratio(sum, count)
}

/// Rounds to a thousandth of a second or of a millisecond, which is fine enough for the series and
/// keeps the files small.
fn round3(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::tests::frame;
    use crate::tool::Bins;
    use airpace_units::Time;

    fn options() -> DemoOptions {
        DemoOptions {
            idle: Duration::from_secs(1),
            load: Duration::from_secs(2),
            ramp: Duration::from_secs(1),
            ..DemoOptions::new("out".into(), "airpace".into())
        }
    }

    /// Frames of 20 packets every 10 ms under load, 8 Mbit/s; pings of 2 ms before the load, 9 ms
    /// in the ramp, 5 ms after it.
    fn recorded() -> (FrameLog, Measured) {
        let mut frames = FrameLog::new(2, Time::ZERO, Duration::from_millis(100));
        let mut received = Bins::default();
        for ms in (1_000..3_000).step_by(10) {
            frames.on_frame(&frame(0, ms, 20, 0));
            received.add(Duration::from_millis(ms), 10_000);
        }
        let rtt = |i: u32| match i {
            0..100 => Some(2.0),
            100..200 => Some(9.0),
            _ => (i % 10 != 9).then_some(5.0),
        };
        let pings = (0..300)
            .map(|i| Ping {
                at_s: f64::from(i) / 100.0,
                rtt_ms: rtt(i),
                one_way_ms: rtt(i).map(|ms| ms / 2.0),
            })
            .collect();
        (
            frames,
            Measured {
                pings,
                received,
                flows: Vec::new(),
            },
        )
    }

    fn with_records<T>(
        kind: ArmKind,
        reported: &[Vec<Reported>],
        read: impl FnOnce(&Recorded<'_>) -> T,
    ) -> T {
        let (options, (frames, measured)) = (options(), recorded());
        let (mcs, phy_mbps, measured) = ([9, 9], [390.0, 390.0], [measured, Measured::default()]);
        read(&Recorded {
            options: &options,
            kind,
            mcs: &mcs,
            phy_mbps: &phy_mbps,
            frames: &frames,
            measured: &measured,
            reported,
            lag_p99: Duration::from_micros(300),
            trusted: true,
            idle_from: Duration::ZERO,
            load_from: options.idle,
        })
    }

    #[test]
    fn figures_cover_only_the_steady_state() {
        let result = with_records(ArmKind::Cubic, &[], |r| r.result());
        let (all, first) = (&result.figures, &result.per_station[0].figures);
        assert!((all.goodput_mbps - 8.0).abs() < 1e-9);
        assert!((all.ping_ms.max - 5.0).abs() < 0.01 && (all.idle_ping_ms.max - 2.0).abs() < 0.01);
        assert!((first.ping_loss - 0.1).abs() < 1e-9);
        // Pings of 5 ms, a tenth of them lost: as many round trips as if none was, and no call.
        assert_eq!((first.rpm, first.qoo), (Some(12_000.0), Some(0.0)));
        assert_eq!(all.rpm, Some(12_000.0));
        assert_eq!(
            (first.one_way_ms, result.per_station[1].figures.one_way_ms),
            (Some(2.5), None)
        );
        assert_eq!(result.per_station[1].figures.rpm, None);
        assert!((all.level - 20.0).abs() < 1e-9 && (first.round_ms - 10.0).abs() < 1e-9);
        assert!((result.per_station[0].airtime - 0.1).abs() < 1e-9);
        assert!(
            (result.jain_airtime - 0.5).abs() < 1e-9,
            "one of two stations had all of the airtime"
        );
        assert!(result.trusted && all.level_reported.is_none());
    }

    #[test]
    fn without_tcp_the_agents_count_goodput() {
        let slot = |at_s| Reported {
            at_s,
            frames: 10.0,
            packets: 330.0,
            payload_mbps: 12.0,
            allocated_mbps: Some(13.0),
            dropped: 1,
            sensor: Some("agent".to_owned()),
        };
        let reported = [
            (1..=30).map(|i| slot(f64::from(i) / 10.0)).collect(),
            Vec::new(),
        ];
        with_records(ArmKind::AirpaceUdp, &reported, |recorded| {
            let (result, series) = (recorded.result(), recorded.series());
            assert!((result.figures.goodput_mbps - 12.0).abs() < 1e-9);
            assert_eq!(result.figures.level_reported, Some(33.0));
            assert_eq!(result.per_station[0].sensor.as_deref(), Some("agent"));
            assert_eq!(result.per_station[1].sensor, None);
            assert!(
                result.figures.loss > 0.0,
                "packets that the proxy's queue drops are lost"
            );
            assert_eq!(series.per_station[0].slots.len(), 30);
            assert_eq!(series.per_station[0].slots[15].allocated_mbps, Some(13.0));
        });
    }
}
