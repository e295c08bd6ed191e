//! The published algorithms written down plainly, with sweeps over everything, to compare with.

use super::*;
use std::collections::{BTreeSet, VecDeque};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Idle,
    New,
    Old,
}

#[derive(Clone)]
struct Queue {
    place: Place,
    owner: u32,
    deficit: i64,
    packets: VecDeque<(Time, usize, TestPacket)>,
    /// TIDs of which packets that belong here have gone to overflow queues since there were none.
    strayed: BTreeSet<u32>,
    law: CoDel,
}

impl Queue {
    fn new() -> Self {
        let (owner, packets, strayed) = (NONE, VecDeque::new(), BTreeSet::new());
        Self {
            place: Place::Idle,
            owner,
            deficit: 0,
            packets,
            strayed,
            law: CoDel::NEW,
        }
    }

    fn bytes(&self) -> u64 {
        self.packets
            .iter()
            .map(|(.., packet)| u64::from(packet.bytes))
            .sum()
    }

    fn weight(&self) -> u64 {
        self.packets
            .iter()
            .map(|(.., packet)| u64::from(packet.bytes.max(256)))
            .sum()
    }
}

#[derive(Default)]
struct Station {
    slow: bool,
    changed: Option<Time>,
}

pub(super) struct Model {
    config: FqMacConfig,
    /// Those of the set and after them those for overflow.
    queues: Vec<Queue>,
    /// The overflow queue of each TID; the last ones given back are at the end of those that nobody
    /// has.
    overflow: [Option<usize>; TIDS as usize],
    spare: Vec<usize>,
    /// New and old queues of each TID.
    lists: Vec<[VecDeque<usize>; 2]>,
    stations: [Station; STATIONS as usize],
    /// Queues leave the lists as in RFC 8290 and Algorithm 2.
    pub(super) as_published: bool,
    pub(super) drops: Vec<(u32, DropReason, TestPacket)>,
}

impl Model {
    pub(super) fn new(config: FqMacConfig) -> Self {
        Self {
            config,
            queues: vec![Queue::new(); config.queues as usize],
            overflow: [None; TIDS as usize],
            spare: vec![],
            lists: vec![Default::default(); TIDS as usize],
            stations: Default::default(),
            as_published: false,
            drops: vec![],
        }
    }

    pub(super) fn backlog(&self, tid: u32) -> (usize, u64) {
        let own = self.queues.iter().filter(|q| q.owner == tid);
        own.fold((0, 0), |(len, bytes), q| {
            (len + q.packets.len(), bytes + q.bytes())
        })
    }

    pub(super) fn is_idle(&self, home: usize) -> bool {
        self.queues[home].place == Place::Idle
    }

    fn strays(&self, home: usize) -> bool {
        self.queues[self.config.queues as usize..]
            .iter()
            .any(|q| q.packets.iter().any(|p| p.1 == home))
    }

    pub(super) fn enqueue(&mut self, now: Time, tid: u32, home: usize, packet: TestPacket) {
        if !self.strays(home) {
            self.queues[home].strayed.clear();
        }
        let at_home = &mut self.queues[home];
        let kept_out = if at_home.place == Place::Idle {
            at_home.strayed.contains(&tid) || at_home.strayed.len() > 1
        } else {
            at_home.owner != tid
        };
        let index = if kept_out {
            at_home.strayed.insert(tid);
            self.overflow(tid)
        } else {
            home
        };
        let queue = &mut self.queues[index];
        if queue.owner != tid {
            (queue.owner, queue.law) = (tid, CoDel::NEW);
        }
        queue.packets.push_back((now, home, packet));
        if queue.place == Place::Idle {
            (queue.place, queue.deficit) = (Place::New, i64::from(self.config.quantum));
            self.lists[tid as usize][0].push_back(index);
        }
        self.hold_limits();
    }

    fn overflow(&mut self, tid: u32) -> usize {
        *self.overflow[tid as usize].get_or_insert_with(|| {
            self.spare.pop().unwrap_or_else(|| {
                self.queues.push(Queue::new());
                self.queues.len() - 1
            })
        })
    }

    fn hold_limits(&mut self) {
        loop {
            let len: usize = self.queues.iter().map(|q| q.packets.len()).sum();
            let memory: u64 = self.queues.iter().map(Queue::weight).sum();
            if len <= self.config.packet_limit as usize && memory <= self.config.memory_limit {
                return;
            }
            let longest = self
                .queues
                .iter_mut()
                .rev()
                .max_by_key(|q| q.weight())
                .unwrap();
            let tid = longest.owner;
            let (.., packet) = longest.packets.pop_front().unwrap();
            self.drops.push((tid, DropReason::FattestFlow, packet));
            self.give_back(tid);
        }
    }

    fn give_back(&mut self, tid: u32) {
        if self.backlog(tid).0 == 0 {
            let [new, old] = core::mem::take(&mut self.lists[tid as usize]);
            new.into_iter()
                .chain(old)
                .for_each(|index| self.retire(index));
        }
    }

    fn retire(&mut self, index: usize) {
        let queue = &mut self.queues[index];
        queue.place = Place::Idle;
        queue.law.on_empty();
        if index >= self.config.queues as usize {
            queue.law = CoDel::NEW;
            self.overflow[queue.owner as usize] = None;
            self.spare.push(index);
        }
    }

    pub(super) fn dequeue(&mut self, now: Time, tid: u32) -> Option<(Time, TestPacket)> {
        loop {
            let [new, old] = &mut self.lists[tid as usize];
            let index = *new.front().or(old.front())?;
            let was_new = !new.is_empty();
            let queue = &mut self.queues[index];
            let spent = queue.deficit <= 0;
            if spent {
                queue.deficit += i64::from(self.config.quantum);
            } else if let Some((since, packet)) = self.codel(now, tid, index) {
                self.queues[index].deficit -= i64::from(packet.bytes.max(1));
                self.give_back(tid);
                return Some((since, packet));
            }
            let [new, old] = &mut self.lists[tid as usize];
            if was_new {
                new.pop_front()
            } else {
                old.pop_front()
            };
            let quantum = i64::from(self.config.quantum);
            let queue = &mut self.queues[index];
            let stays = if self.as_published {
                was_new
            } else {
                queue.deficit < quantum
            };
            if spent || (stays && !old.is_empty()) {
                queue.deficit = if spent || self.as_published {
                    queue.deficit
                } else {
                    quantum
                };
                queue.place = Place::Old;
                old.push_back(index);
            } else {
                self.retire(index);
            }
        }
    }

    fn codel(&mut self, now: Time, tid: u32, index: usize) -> Option<(Time, TestPacket)> {
        let slow = self.stations[(tid % STATIONS) as usize].slow;
        let config = if slow {
            self.config.slow
        } else {
            self.config.codel
        };
        while let Some((since, _, mut packet)) = self.queues[index].packets.pop_front() {
            let sojourn = now.saturating_since(since);
            let behind = self.queues[index].bytes();
            let law = &mut self.queues[index].law;
            match law.judge(now, &config, sojourn, behind, || packet.mark_ce()) {
                Verdict::Drop => self.drops.push((tid, DropReason::Sojourn, packet)),
                _ => return Some((since, packet)),
            }
        }
        self.queues[index].law.on_empty();
        None
    }

    pub(super) fn flush(&mut self, tid: u32) {
        let [new, old] = core::mem::take(&mut self.lists[tid as usize]);
        for index in new.into_iter().chain(old) {
            let queue = &mut self.queues[index];
            self.drops.extend(
                queue
                    .packets
                    .drain(..)
                    .map(|(.., packet)| (tid, DropReason::Gone, packet)),
            );
            self.retire(index);
        }
    }

    pub(super) fn rate(&mut self, now: Time, station: u32, rate: BitRate) {
        let slow = rate < self.config.slow_below;
        let station = &mut self.stations[station as usize];
        if slow != station.slow
            && station
                .changed
                .is_none_or(|at| now >= at + self.config.hysteresis)
        {
            *station = Station {
                slow,
                changed: Some(now),
            };
        }
    }
}
