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

/// What the proxy does with a station that is silent: after these slots it is sent little, and the law
/// is told how much ...
const CONSERVATIVE_SLOTS: u32 = 5;
/// ... which are 10 Mbit/s ...
const CONSERVATIVE_PPS: f64 = 834.0;
/// ... and after these what the law grants it.
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

    pub(super) fn run(&self, lie: &Lie) -> Outcome {
        self.run_under(self.law().as_mut(), lie)
    }

    /// What honest stations have beside a first station that tells the truth.
    pub(super) fn reference(&self) -> Reference {
        let rest = Self {
            mbps: self.mbps[1..].to_vec(),
            ..self.clone()
        };
        let mut absent = rest.run_judged(rest.law().as_mut(), &TRUTH, 0);
        absent.received_pps.insert(0, 0.0);
        Reference {
            greedy: self.run(&TRUTH),
            absent,
        }
    }

    pub(super) fn run_under(&self, law: &mut dyn RateController, lie: &Lie) -> Outcome {
        self.run_judged(law, lie, 1)
    }

    /// Runs the cell. Means are those of the stations from number `first` on.
    fn run_judged(&self, law: &mut dyn RateController, lie: &Lie, first: usize) -> Outcome {
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
        let of_mean = 1.0 / (judged * (stations - first) as f64);
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
                if silent_slots > CONSERVATIVE_SLOTS {
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
            for (view, wait_s) in views.iter().zip(&waits).skip(first) {
                outcome.round_s += view.round_s * of_mean;
                outcome.queue += f64::from(view.queue) * of_mean;
                outcome.p95_s += wait_s * of_mean;
            }
        }
        outcome
    }
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

/// What honest stations have beside a first station that tells the truth and uses all it is granted,
/// and without it.
#[derive(Clone, Debug)]
pub(super) struct Reference {
    pub(super) greedy: Outcome,
    pub(super) absent: Outcome,
}

/// What a lie does to the honest stations of a cell.
#[derive(Clone, Debug)]
pub(super) struct Harm {
    /// Least share that an honest station has of what it has beside stations that use all they are granted.
    pub(super) share: f64,
    /// Factor by which the rounds of the honest stations, or their 95th percentile where a latency was
    /// asked for, exceed those without a liar, and the latency.
    pub(super) delay: f64,
    /// Packets that wait for them beyond those without a liar, each.
    pub(super) queue: f64,
}

impl Harm {
    /// Compares a cell with a lie with the same cell without one.
    ///
    /// Whoever refuses his packets leaves the others the cell that they have without him, and has told
    /// nothing false. Its rounds are longer where he had short frames, and a fast station may have less
    /// in it: the frames of slow ones grow with the round, and its own are full. So a share is lost, and
    /// a delay has grown, against the worse of both cells.
    pub(super) fn of(cell: &Cell, honest: &Reference, lied: &Outcome) -> Self {
        let least_pps = honest.greedy.received_pps.iter();
        let least_pps = least_pps
            .zip(&honest.absent.received_pps)
            .map(|(greedy, absent)| greedy.min(*absent));
        let share = lied
            .received_pps
            .iter()
            .zip(least_pps)
            .skip(1)
            .map(|(lied, honest)| lied / honest)
            .fold(f64::INFINITY, f64::min);
        let longest = |of: fn(&Outcome) -> f64| of(&honest.greedy).max(of(&honest.absent));
        let delay = match cell.latency {
            Some(latency) => lied.p95_s / longest(|had| had.p95_s).max(latency.as_secs_f64()),
            None => lied.round_s / longest(|had| had.round_s),
        };
        Self {
            share,
            delay,
            queue: lied.queue - longest(|had| had.queue),
        }
    }

    /// At most 1 if the honest stations keep share and delay.
    pub(super) fn degree(&self) -> f64 {
        (super::LEAST_SHARE / self.share)
            .max(self.delay / super::DELAY_MOST)
            .max(self.queue / super::QUEUE_MOST)
    }
}
