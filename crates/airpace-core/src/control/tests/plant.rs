//! A round-robin access point in eighty lines: paced arrivals, one frame per station and turn,
//! random back-off.
//!
//! It is the model of the theory with the noise of real rounds, and quick enough for unit tests;
//! the whole MAC is in the simulator.

use crate::control::RateController;
use crate::control::roster::packet_airtime_s;
use crate::report::{Answers, LevelSource, OtherNetworks, SenderView, SlotReport};
use airpace_units::{StationId, Time};
use core::time::Duration;

const PACKET_BYTES: f64 = 1498.0;

pub(in crate::control) struct PlantStation {
    pub(in crate::control) phy_bps: f64,
    /// Rate that a bottleneck before the access point lets through.
    pub(in crate::control) backhaul_pps: f64,
    /// Share of packets lost at random on that path.
    pub(in crate::control) random_loss: f64,
    /// Packets per second that the station can use; infinite for a saturating source.
    pub(in crate::control) demand_pps: f64,
    pub(in crate::control) rate_pps: f64,
    /// Time left for which nothing is sent, and the pause with which the slot began, seconds.
    pause_left_s: f64,
    pause_s: f64,
    arriving: f64,
    /// Until when packets have arrived, seconds.
    arrived_s: f64,
    /// Packets lost at random in this slot.
    lost_before: f64,
    /// Part of a packet that was sent and not yet counted.
    uncounted: f64,
    queue: u32,
    overflowed: u32,
}

impl PlantStation {
    pub(in crate::control) fn at_mbps(mbps: f64) -> Self {
        Self {
            phy_bps: mbps * 1e6,
            backhaul_pps: f64::INFINITY,
            random_loss: 0.0,
            demand_pps: f64::INFINITY,
            rate_pps: 0.0,
            pause_left_s: 0.0,
            pause_s: 0.0,
            arriving: 0.0,
            arrived_s: 0.0,
            lost_before: 0.0,
            uncounted: 0.0,
            queue: 0,
            overflowed: 0,
        }
    }

    pub(in crate::control) const fn queued(&self) -> u32 {
        self.queue
    }

    /// Counts the packets sent in a slot.
    fn count_sent(&mut self, slot_s: f64) -> u32 {
        self.uncounted += self.rate_pps.min(self.demand_pps) * (slot_s - self.pause_s);
        let whole = self.uncounted.floor();
        self.uncounted -= whole;
        whole as u32
    }

    /// Lets the packets arrive that come until `now_s`.
    fn arrive(&mut self, now_s: f64) {
        let span_s = now_s - self.arrived_s;
        self.arrived_s = now_s;
        let paused_s = self.pause_left_s.min(span_s);
        self.pause_left_s -= paused_s;
        let span_s = span_s - paused_s;
        let rate = self.rate_pps.min(self.demand_pps).min(self.backhaul_pps);
        self.arriving += rate * (1.0 - self.random_loss) * span_s;
        self.lost_before += rate * self.random_loss * span_s;
        let whole = self.arriving.floor();
        self.arriving -= whole;
        let room = 2000_u32.saturating_sub(self.queue);
        let taken = room.min(whole as u32);
        self.overflowed += whole as u32 - taken;
        self.queue += taken;
    }
}

#[derive(Clone, Copy, Default)]
struct Tally {
    frames: u32,
    packets: u32,
    longest: u32,
    first: f64,
    last: f64,
}

/// Mean over a slot.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::control) struct SlotView {
    pub(in crate::control) level: f64,
    pub(in crate::control) round_s: f64,
    pub(in crate::control) received_pps: f64,
    pub(in crate::control) queue: u32,
}

pub(in crate::control) struct Plant {
    pub(in crate::control) stations: Vec<PlantStation>,
    pub(in crate::control) overhead_s: f64,
    /// Most packets in a frame.
    pub(in crate::control) longest_frame: u32,
    pub(in crate::control) slot_s: f64,
    now_s: f64,
    slot: u64,
    random: u64,
}

impl Plant {
    pub(in crate::control) fn new(mbps: &[f64], slot_s: f64) -> Self {
        let mut stations: Vec<PlantStation> =
            mbps.iter().map(|&m| PlantStation::at_mbps(m)).collect();
        for (idx, s) in stations.iter_mut().enumerate() {
            s.arriving = idx as f64 * 0.618 % 1.0;
        }
        Self {
            stations,
            overhead_s: 200e-6,
            longest_frame: 64,
            slot_s,
            now_s: 0.0,
            slot: 0,
            random: 0x9E37_79B9_7F4A_7C15,
        }
    }

    /// Uniform in 0..1 (xorshift64).
    fn uniform(&mut self) -> f64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Runs one slot and hands the reports to the controller, whose rates hold from the next slot
    /// on.
    pub(in crate::control) fn run_slot(&mut self, law: &mut dyn RateController) -> Vec<SlotView> {
        self.run_slot_with(law, |_, reports| reports)
    }

    /// The same, but the controller gets what `tamper` makes of the reports and the slot's number.
    pub(in crate::control) fn run_slot_with(
        &mut self,
        law: &mut dyn RateController,
        tamper: impl FnOnce(u64, Vec<SlotReport>) -> Vec<SlotReport>,
    ) -> Vec<SlotView> {
        let end = (self.slot + 1) as f64 * self.slot_s;
        let mut tallies = vec![Tally::default(); self.stations.len()];
        while self.now_s < end {
            let before = self.now_s;
            for (idx, tally) in tallies.iter_mut().enumerate() {
                self.serve(idx, tally);
            }
            if self.now_s <= before {
                self.now_s += 20e-6;
            }
        }
        let now_s = self.now_s;
        self.stations.iter_mut().for_each(|s| s.arrive(now_s));
        let reports: Vec<SlotReport> = tallies
            .iter()
            .enumerate()
            .map(|(idx, t)| {
                let sent = self.stations[idx].count_sent(self.slot_s);
                self.report(idx, t, sent)
            })
            .collect();
        let views = reports
            .iter()
            .zip(&self.stations)
            .map(|(r, s)| view(r, s))
            .collect();
        self.stations
            .iter_mut()
            .for_each(|s| (s.overflowed, s.lost_before) = (0, 0.0));
        let reports = tamper(self.slot, reports);
        for a in law.on_slot(Time::from_nanos((end * 1e9) as u64), &reports) {
            if let Some(s) = self.stations.get_mut(a.station.index()) {
                s.rate_pps = a.rate_pps;
                s.pause_s = a.pause.as_secs_f64();
                s.pause_left_s = s.pause_s;
            }
        }
        self.slot += 1;
        views
    }

    fn serve(&mut self, idx: usize, tally: &mut Tally) {
        // Nobody looks at the queue between the station's turns.
        self.stations[idx].arrive(self.now_s);
        if self.stations[idx].queue == 0 {
            return;
        }
        // The back-off is 0…15 slots of 9 µs around its mean; packets that come during it still
        // join the frame.
        let backoff = (self.uniform() * 16.0).floor() * 9e-6 - 67.5e-6;
        self.now_s += (self.overhead_s + backoff).max(30e-6);
        let longest = self.longest_frame;
        let s = &mut self.stations[idx];
        s.arrive(self.now_s);
        let airtime = packet_airtime_s(PACKET_BYTES, s.phy_bps);
        let level = s
            .queue
            .min(longest)
            .min(((5.484e-3 / airtime) as u32).max(1));
        s.queue -= level;
        self.now_s += f64::from(level) * airtime;
        tally.frames += 1;
        tally.packets += level;
        tally.longest = tally.longest.max(level);
        tally.last = self.now_s;
        if tally.frames == 1 {
            tally.first = self.now_s;
        }
    }

    fn report(&self, idx: usize, tally: &Tally, sent: u32) -> SlotReport {
        let s = &self.stations[idx];
        let time = |at: f64| Time::from_nanos((at * 1e9) as u64);
        SlotReport {
            station: StationId::from_index(idx),
            slot: self.slot,
            length: Duration::from_secs_f64(self.slot_s),
            frames: tally.frames,
            mpdus: tally.packets,
            packets: tally.packets,
            longest_frame: tally.longest,
            bytes: u64::from(tally.packets) * PACKET_BYTES as u64,
            span: (tally.frames > 0).then(|| (time(tally.first), time(tally.last))),
            inverse_rate_sum: f64::from(tally.frames) / s.phy_bps,
            recent_inverse_rate: 0.0,
            lost: s.overflowed + s.lost_before as u32,
            late: 0,
            wait: None,
            transit: None,
            others: OtherNetworks::Unknown,
            airtime_bps: None,
            answers: Answers::Tell,
            upload_bps: None,
            source: LevelSource::AmpduReference,
            sensor: crate::report::Sensor::Agent,
            confidence: 1.0,
            sender: SenderView {
                backlogged: s.demand_pps >= s.rate_pps,
                sent_packets: sent,
                sent_bytes: u64::from(sent) * PACKET_BYTES as u64,
                ..SenderView::default()
            },
        }
    }
}

fn view(report: &SlotReport, station: &PlantStation) -> SlotView {
    SlotView {
        level: report.level().unwrap_or(0.0),
        round_s: report.round_s().unwrap_or(0.0),
        received_pps: report.received_pps(),
        queue: station.queue,
    }
}
