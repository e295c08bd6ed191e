//! Fuzzed operations against the plain model, and what holds whatever senders do.

use super::*;
use proptest::prelude::*;
use std::collections::HashMap;

#[derive(Clone, Debug)]
enum Step {
    Enqueue {
        tid: u32,
        flow: u32,
        bytes: u32,
        ecn: bool,
    },
    Dequeue {
        tid: u32,
    },
    Flush {
        tid: u32,
    },
    Rate {
        station: u32,
        mbps: u64,
    },
    Wait {
        us: u64,
    },
}

fn sizes() -> impl Strategy<Value = u32> {
    prop_oneof![4 => 0..1_600u32, 1 => Just(0), 1 => 0..=65_535u32]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        20 => (0..TIDS, 0..30u32, sizes(), any::<bool>())
            .prop_map(|(tid, flow, bytes, ecn)| Step::Enqueue { tid, flow, bytes, ecn }),
        16 => (0..TIDS).prop_map(|tid| Step::Dequeue { tid }),
        1 => (0..TIDS).prop_map(|tid| Step::Flush { tid }),
        2 => (0..STATIONS, 0..24u64).prop_map(|(station, mbps)| Step::Rate { station, mbps }),
        8 => (0..90_000u64).prop_map(|us| Step::Wait { us }),
    ];
    prop::collection::vec(step, 0..500)
}

fn configs() -> impl Strategy<Value = FqMacConfig> {
    let limits = (0..80u32, prop_oneof![0..60_000u64, Just(u64::MAX)]);
    (1..24u32, 256..3_000u32, limits, 0..400u64).prop_map(
        |(queues, quantum, (packet_limit, memory_limit), ms)| FqMacConfig {
            queues,
            quantum,
            packet_limit,
            memory_limit,
            hysteresis: Duration::from_millis(ms),
            ..FqMacConfig::default()
        },
    )
}

/// The queues, the model, and what the checks need to remember.
struct Pair {
    queue: FqMac<TestPacket>,
    model: model::Model,
    tids: Vec<TidId>,
    now: Time,
    number: u64,
    /// The number of the last packet handed out, by TID and flow.
    last: HashMap<(u32, u32), u64>,
    out: (u64, u64),
    dropped: (u64, u64),
}

impl Pair {
    fn new(config: FqMacConfig) -> Self {
        let mut queue = queue(config);
        let tids = (0..TIDS).map(|tid| queue.add_tid(tid % STATIONS)).collect();
        let (last, out, dropped) = (HashMap::new(), (0, 0), (0, 0));
        Self {
            queue,
            model: model::Model::new(config),
            tids,
            now: Time::ZERO,
            number: 0,
            last,
            out,
            dropped,
        }
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Wait { us } => self.now += Duration::from_micros(us),
            Step::Enqueue {
                tid,
                flow,
                bytes,
                ecn,
            } => {
                self.number += 1;
                let packet = TestPacket {
                    ce: ecn.then_some(false),
                    ..packet(flow, self.number, bytes)
                };
                let home = home(&self.queue, flow) as usize;
                self.model.enqueue(self.now, tid, home, packet.clone());
                self.queue
                    .enqueue(self.now, self.tids[tid as usize], packet);
            }
            Step::Dequeue { tid } => self.dequeue(tid),
            Step::Flush { tid } => {
                self.model.flush(tid);
                self.queue.flush(self.tids[tid as usize]);
                assert!(self.queue.is_empty(self.tids[tid as usize]));
            }
            Step::Rate { station, mbps } => {
                self.model.rate(self.now, station, BitRate::from_mbps(mbps));
                self.queue
                    .set_expected_throughput(self.now, station, BitRate::from_mbps(mbps));
            }
        }
    }

    fn dequeue(&mut self, tid: u32) {
        let taken = self.queue.dequeue(self.now, self.tids[tid as usize]);
        assert_eq!(taken, self.model.dequeue(self.now, tid));
        if let Some((_, packet)) = taken {
            let before = self.last.insert((tid, packet.flow), packet.number);
            assert!(before < Some(packet.number), "order within a flow");
            self.out = (self.out.0 + 1, self.out.1 + u64::from(packet.bytes));
        }
    }

    fn check(&mut self) {
        for (tid, reason, packet) in self.model.drops.drain(..) {
            assert_eq!(
                self.queue.poll_drop(),
                Some((
                    self.tids[tid as usize],
                    Dropped {
                        reason,
                        packet: packet.clone()
                    }
                ))
            );
            self.dropped = (self.dropped.0 + 1, self.dropped.1 + u64::from(packet.bytes));
        }
        assert_eq!(self.queue.poll_drop(), None);
        let (queue, config) = (&self.queue, self.queue.config());
        for (tid, id) in (0..TIDS).zip(&self.tids) {
            assert_eq!((queue.len(*id), queue.bytes(*id)), self.model.backlog(tid));
        }
        let (len, bytes) = (queue.total_len(), queue.total_bytes());
        assert!(len <= config.packet_limit as usize && bytes <= config.memory_limit);
        assert_eq!(
            len,
            self.tids.iter().map(|&tid| queue.len(tid)).sum::<usize>()
        );
        assert_eq!(
            bytes,
            self.tids.iter().map(|&tid| queue.bytes(tid)).sum::<u64>()
        );
        let counters = queue.counters();
        assert_eq!(
            (counters.offered, counters.dequeued, counters.dropped()),
            (self.number, self.out.0, self.dropped.0)
        );
        assert_eq!(
            counters.offered,
            counters.dequeued + counters.dropped() + len as u64
        );
        assert_eq!(
            (counters.dequeued_bytes, counters.dropped_bytes),
            (self.out.1, self.dropped.1)
        );
        assert_eq!(
            counters.offered_bytes,
            counters.dequeued_bytes + counters.dropped_bytes + bytes
        );
    }
}

proptest! {
    #[test]
    fn fuzzed_operations_do_what_the_plain_model_does_and_lose_nothing(config in configs(), steps in steps()) {
        let mut pair = Pair::new(config);
        for step in &steps {
            pair.step(step);
            pair.check();
        }
        for tid in 0..TIDS {
            while !pair.queue.is_empty(pair.tids[tid as usize]) {
                pair.dequeue(tid);
                pair.check();
            }
        }
        // Nothing is left behind: no queue has an owner, none waits for packets that have strayed.
        prop_assert!(pair.queue.flows.iter().all(|flow| flow.bytes == 0) && pair.queue.strays.iter().all(|s| s.count == 0));
        prop_assert!((0..pair.queue.flows.len()).all(|index| !pair.queue.turns.is_listed(index as u32)));
        prop_assert!(pair.queue.flows.len() <= (config.queues + TIDS) as usize);
    }
}

/// Large limits, and a CoDel that leaves all packets alone.
fn patient(queues: u32, quantum: u32) -> FqMacConfig {
    let codel = CoDelConfig {
        target: Duration::from_secs(3_600),
        ..CoDelConfig::default()
    };
    let (packet_limit, memory_limit) = (1_000_000, u64::MAX);
    FqMacConfig {
        queues,
        quantum,
        packet_limit,
        memory_limit,
        codel,
        slow: codel,
        ..FqMacConfig::default()
    }
}

/// What a flow gets of one with a backlog, if it sends a packet of two quanta less a byte whenever
/// it is in no list.
fn share_of_who_times_it(as_published: bool) -> f64 {
    let mut model = model::Model::new(patient(2, 1_000));
    model.as_published = as_published;
    for number in 0..3_000 {
        model.enqueue(Time::ZERO, 0, 0, packet(0, number, 1_000));
    }
    model.dequeue(Time::ZERO, 0).unwrap();
    let mut sent = [0u32; 2];
    for number in 0..2_000 {
        if model.is_idle(1) {
            model.enqueue(Time::ZERO, 0, 1, packet(1, number, 1_999));
        }
        let (_, packet) = model.dequeue(Time::ZERO, 0).unwrap();
        sent[packet.flow as usize] += packet.bytes;
    }
    f64::from(sent[1]) / f64::from(sent[0])
}

#[test]
fn a_queue_that_leaves_the_lists_at_once_gets_two_quanta_in_a_round() {
    let (published, ours) = (share_of_who_times_it(true), share_of_who_times_it(false));
    assert!(published > 1.95, "{published}");
    assert!(ours < 1.01, "{ours}");
}

proptest! {
    /// Whatever others send, and when, they get a bounded number of quanta between two packets of a
    /// flow that has a backlog.
    #[test]
    fn a_backlogged_flow_is_served_within_a_bounded_number_of_quanta(
        quantum in 256..2_000u32, bytes in 1..=3_000u32,
        others in prop::collection::vec((0..3u8, 1..60u32, 0..=3_000u32), 1..2_000),
    ) {
        let mut queue = queue(patient(8, quantum));
        let tid = queue.add_tid(0);
        let own = home(&queue, 0);
        (0..2_000).for_each(|number| queue.enqueue(Time::ZERO, tid, packet(0, number, bytes)));
        // Seven queues at most compete. To pay for a packet takes so many rounds; in each, another
        // queue may get a quantum as a new one and one as an old one, and once exceed each by a
        // packet.
        let rounds = u64::from(3_000 / quantum + 1);
        let bound = 7 * 2 * (rounds * u64::from(quantum) + 3_000);
        let mut waited = 0;
        for (number, (comes, flow, bytes)) in (0..).zip(others) {
            if home(&queue, flow) != own {
                (0..comes).for_each(|_| queue.enqueue(Time::ZERO, tid, packet(flow, number, bytes)));
            }
            let (_, packet) = queue.dequeue(Time::ZERO, tid).unwrap();
            waited = if packet.flow == 0 { 0 } else { waited + u64::from(packet.bytes.max(1)) };
            prop_assert!(waited <= bound, "{waited} bytes of others, {bound} allowed");
        }
    }

    /// A sender that times its packets by what leaves, in order to be a new queue again and again,
    /// gets no more than one that always has a backlog.
    #[test]
    fn emptying_and_refilling_again_and_again_gains_no_precedence(
        quantum in 256..2_000u32, honest in 1..=3_000u32, refills in prop::collection::vec((0..4u8, 0..7u8, 0..=3_000u32), 1..3_000),
    ) {
        let mut queue = queue(patient(64, quantum));
        let tid = queue.add_tid(0);
        let greedy = (1..).find(|&flow| home(&queue, flow) != home(&queue, 0)).unwrap();
        (0..6_000).for_each(|number| queue.enqueue(Time::ZERO, tid, packet(0, number, honest)));
        queue.dequeue(Time::ZERO, tid).unwrap();
        let (mut sent, mut inside) = ([0u64; 2], 0);
        for (number, (when, kind, bytes)) in (0..).zip(refills) {
            // Sizes that spend a quantum but for a byte, or as much as one that is given twice, and
            // any.
            let bytes = *[1, quantum - 1, quantum, 2 * quantum - 1].get(usize::from(kind)).unwrap_or(&bytes);
            // Whenever it has run empty, or now and then besides, or once it has been forgotten by
            // the lists.
            let forgotten = !queue.turns.is_listed(home(&queue, greedy));
            if (when == 0 && inside == 0) || when == 1 || forgotten {
                queue.enqueue(Time::ZERO, tid, packet(greedy, number, bytes));
                inside += 1;
            }
            let (_, packet) = queue.dequeue(Time::ZERO, tid).unwrap();
            sent[usize::from(packet.flow == greedy)] += u64::from(packet.bytes);
            inside -= u32::from(packet.flow == greedy);
        }
        let allowed = sent[0] + 2 * u64::from(quantum) + 2 * 4_000;
        prop_assert!(sent[1] <= allowed, "{} bytes against {} of the flow with a backlog", sent[1], sent[0]);
    }

    /// Being new once is all the advantage that a sender has over one that has waited longer: bytes
    /// differ by a quantum and a packet each.
    #[test]
    fn backlogged_flows_share_bytes_whatever_their_packet_sizes(
        quantum in 256..2_000u32, sizes in prop::collection::vec(300..=3_000u32, 2..6), head_start in 0..200usize,
    ) {
        let mut queue = queue(patient(1_024, quantum));
        let tid = queue.add_tid(0);
        // Flows of different queues.
        let mut flows: Vec<u32> = Vec::new();
        for flow in 0.. {
            if flows.len() == sizes.len() {
                break;
            }
            if flows.iter().all(|&other| home(&queue, other) != home(&queue, flow)) {
                flows.push(flow);
            }
        }
        (0..400).for_each(|number| queue.enqueue(Time::ZERO, tid, packet(flows[0], number, sizes[0])));
        take(&mut queue, tid, head_start);
        for (&flow, &bytes) in flows.iter().zip(&sizes).skip(1) {
            (0..5_000).for_each(|number| queue.enqueue(Time::ZERO, tid, packet(flow, number, bytes)));
        }
        let mut sent: HashMap<u32, u64> = flows.iter().map(|&flow| (flow, 0)).collect();
        while queue.flows[home(&queue, flows[0]) as usize].list.len() > 0 {
            let (_, packet) = queue.dequeue(Time::ZERO, tid).unwrap();
            *sent.get_mut(&packet.flow).unwrap() += u64::from(packet.bytes);
        }
        let (least, most) = (sent.values().min().unwrap(), sent.values().max().unwrap());
        prop_assert!(most - least <= 2 * (u64::from(quantum) + 3_000), "{sent:?}");
    }
}
