//! A cell with a liar in it, and what its honest stations have.

use super::draws::Draws;
use super::lie::{Lie, TRUTH};
use crate::control::tests::plant::Plant;
use crate::control::{Aim, Goal, Law, LawConfig, RateController};
use crate::report::claims::Ledger;
use crate::report::{Sensor, SlotReport, WaitingTime};
use core::time::Duration;

pub(super) const SLOT_S: f64 = 0.1;
/// Slots of a run, and those at its beginning that are not judged.
pub(super) const SLOTS: usize = 300;
pub(super) const SETTLING: usize = 200;

/// What the proxy does with a station that is silent: after these slots it is sent little ...
const CONSERVATIVE_SLOTS: u32 = 5;
/// ... which are 10 Mbit/s ...
const CONSERVATIVE_PPS: f64 = 834.0;
/// ... and after these the law is told what is sent.
const UNSHAPED_SLOTS: u32 = 50;

/// A cell of which the first station may lie.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) mbps: Vec<f64>,
    pub(super) aim: Aim,
    pub(super) latency: Option<Duration>,
}

/// What stations had in the judged slots.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    /// Packets per second of each station.
    pub(super) received_pps: Vec<f64>,
    /// Mean round, seconds; mean queue, packets; and mean of the 95th percentile of the waiting time,
    /// seconds: of the honest stations.
    pub(super) round_s: f64,
    pub(super) queue: f64,
    pub(super) p95_s: f64,
}

impl Cell {
    pub(super) fn balanced(mbps: &[f64]) -> Self {
        Self {
            mbps: mbps.to_vec(),
            aim: Aim::Balanced,
            latency: None,
        }
    }

    /// A cell of 3 to 20 stations with equal or mixed rates.
    pub(super) fn draw(draws: &mut Draws) -> Self {
        const MBPS: [f64; 6] = [29.0, 58.0, 117.0, 195.0, 390.0, 780.0];
        let any = |draws: &mut Draws| MBPS[draws.below(6) as usize];
        let stations = 3 + draws.below(18) as usize;
        let is_small = draws.below(2) == 0;
        let stations = if is_small { 3 + stations % 4 } else { stations };
        let mbps = if draws.below(4) == 0 {
            // The liar has a rate of its own even beside equal ones.
            let common = any(draws);
            let mut mbps = vec![common; stations];
            mbps[0] = any(draws);
            mbps
        } else {
            (0..stations).map(|_| any(draws)).collect()
        };
        let latency_ms = [None, None, None, Some(5), Some(10), Some(20)][draws.below(6) as usize];
        let aim = [
            Aim::Balanced,
            Aim::Balanced,
            Aim::Throughput,
            Aim::LowLatency,
        ][draws.below(4) as usize];
        Self {
            mbps,
            aim,
            latency: latency_ms.map(Duration::from_millis),
        }
    }

    fn law(&self) -> Box<dyn RateController + Send> {
        let goal = Goal {
            aim: Some(self.aim),
            latency: self.latency,
            ..Goal::default()
        };
        LawConfig::named(Law::Waterfill, goal)
            .build()
            .expect("its defaults are valid")
    }

    /// The same cell without the first station.
    fn without_liar(&self) -> Self {
        Self {
            mbps: self.mbps[1..].to_vec(),
            ..self.clone()
        }
    }

    /// What stations have if none of them lies.
    pub(super) fn honest(&self) -> Honest {
        Honest {
            all: self.run(&TRUTH),
            departed: self.without_liar().run(&TRUTH),
        }
    }

    pub(super) fn run(&self, lie: &Lie) -> Outcome {
        self.run_under(self.law().as_mut(), lie)
    }

    pub(super) fn run_under(&self, law: &mut dyn RateController, lie: &Lie) -> Outcome {
        let stations = self.mbps.len();
        let mut plant = Plant::new(&self.mbps, SLOT_S);
        let mut ledgers = vec![Ledger::default(); stations];
        let mut outcome = Outcome {
            received_pps: vec![0.0; stations],
            round_s: 0.0,
            queue: 0.0,
            p95_s: 0.0,
        };
        let judged = (SLOTS - SETTLING) as f64;
        let of_mean = 1.0 / (judged * (stations - 1) as f64);
        let mut silent_slots = 0;
        for slot in 0..SLOTS {
            let mut waits = vec![0.0; stations];
            let queues: Vec<u32> = plant.stations.iter().map(|s| s.queued()).collect();
            let views = plant.run_slot_with(law, |slot, mut reports| {
                let gaps = reports.iter().filter_map(SlotReport::round_s);
                let round_s = gaps.fold(f64::INFINITY, f64::min);
                for ((report, queue), wait_s) in reports.iter_mut().zip(queues).zip(&mut waits) {
                    report.wait = waiting_time(report, queue, round_s);
                    *wait_s = report.wait.map_or(0.0, |wait| wait.p95.as_secs_f64());
                }
                let is_told = lie.is_told_in(slot);
                if is_told {
                    lie.tell(slot, &mut reports[0]);
                }
                for (report, ledger) in reports.iter_mut().zip(&mut ledgers) {
                    ledger.correct(report);
                }
                // The first report makes the station known.
                silent_slots = if is_told && lie.is_silent && slot > 0 {
                    silent_slots + 1
                } else {
                    0
                };
                if silent_slots >= UNSHAPED_SLOTS {
                    reports[0] = SlotReport {
                        slot,
                        sensor: Sensor::None,
                        sender: reports[0].sender,
                        ..SlotReport::silent(reports[0].station, reports[0].length)
                    };
                } else if silent_slots > 0 {
                    reports.remove(0);
                }
                reports
            });
            if (CONSERVATIVE_SLOTS..UNSHAPED_SLOTS).contains(&silent_slots) {
                let liar = &mut plant.stations[0];
                liar.rate_pps = liar.rate_pps.min(CONSERVATIVE_PPS);
            }
            if slot < SETTLING {
                continue;
            }
            for (sum, view) in outcome.received_pps.iter_mut().zip(&views) {
                *sum += view.received_pps / judged;
            }
            for (view, wait_s) in views.iter().zip(&waits).skip(1) {
                outcome.round_s += view.round_s * of_mean;
                outcome.queue += f64::from(view.queue) * of_mean;
                outcome.p95_s += wait_s * of_mean;
            }
        }
        outcome
    }
}

/// What stations have if none of them lies, and what the others have once the first has left.
#[derive(Clone, Debug)]
pub(super) struct Honest {
    pub(super) all: Outcome,
    departed: Outcome,
}

/// Waiting times as an agent measures them: packets wait for the round that runs, and in the queue.
fn waiting_time(report: &SlotReport, queue: u32, round_s: f64) -> Option<WaitingTime> {
    let gap_s = report.round_s()?;
    let queued_s = f64::from(queue) / report.received_pps().max(1.0);
    let queued_s = (queued_s - gap_s).max(0.0);
    let at = |share: f64| Duration::from_secs_f64(share * round_s + queued_s);
    Some(WaitingTime {
        mean: at(0.5),
        p50: at(0.5),
        p95: at(0.95),
        p99: at(1.0),
        ..WaitingTime::default()
    })
}

/// What a lie does to the honest stations of a cell.
#[derive(Clone, Debug)]
pub(super) struct Harm {
    /// Least share that an honest station has of what it has in a cell without a liar.
    pub(super) share: f64,
    /// Factor by which the rounds of the honest stations, or their 95th percentile where a latency was
    /// asked for, exceed those without a liar, and the latency.
    pub(super) delay: f64,
    /// The same factor in a cell without the liar.
    pub(super) departed: f64,
    /// Packets that wait for them beyond those without a liar, each.
    pub(super) queue: f64,
}

impl Harm {
    pub(super) fn of(cell: &Cell, honest: &Honest, lied: &Outcome) -> Self {
        let pairs = lied.received_pps.iter().zip(&honest.all.received_pps);
        let share = pairs
            .skip(1)
            .map(|(lied, honest)| lied / honest)
            .fold(f64::INFINITY, f64::min);
        let delay = |outcome: &Outcome| match cell.latency {
            Some(latency) => outcome.p95_s / honest.all.p95_s.max(latency.as_secs_f64()),
            None => outcome.round_s / honest.all.round_s,
        };
        Self {
            share,
            delay: delay(lied),
            departed: delay(&honest.departed),
            queue: lied.queue - honest.all.queue,
        }
    }

    /// At most 1 if the honest stations keep share and delay.
    pub(super) fn degree(&self) -> f64 {
        self.degree_beyond(1.0)
    }

    /// The same beyond what happens if the liar leaves. A station that claims to receive next to nothing
    /// is sent next to nothing, and rounds are those of the others.
    pub(super) fn active_degree(&self) -> f64 {
        self.degree_beyond(self.departed.max(1.0))
    }

    fn degree_beyond(&self, delay: f64) -> f64 {
        (super::LEAST_SHARE / self.share)
            .max(self.delay / (delay * super::DELAY_MOST))
            .max(self.queue / super::QUEUE_MOST)
    }
}
