//! Properties that all queues share, and the packet that the tests use.

use super::*;
use crate::packet::{Ecn, Packet};
use airpace_units::Time;
use core::hash::Hasher;
use proptest::prelude::*;

/// A packet of a numbered flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TestPacket {
    pub(super) flow: u32,
    pub(super) number: u64,
    pub(super) bytes: u32,
    /// `None`: not ECN-capable; otherwise whether it is marked.
    pub(super) ce: Option<bool>,
    /// Whether its sender is scalable: ECT(1) instead of ECT(0).
    pub(super) scalable: bool,
    /// The acknowledgement number of a TCP segment.
    pub(super) acknowledges: Option<u32>,
}

impl Packet for TestPacket {
    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn hash_flow<H: Hasher>(&self, state: &mut H) {
        state.write_u32(self.flow);
    }

    fn mark_ce(&mut self) -> bool {
        self.ce.is_some_and(|_| {
            self.ce = Some(true);
            true
        })
    }

    fn ecn(&self) -> Ecn {
        match self.ce {
            None => Ecn::NotEct,
            Some(true) => Ecn::Ce,
            Some(false) if self.scalable => Ecn::Ect1,
            Some(false) => Ecn::Ect0,
        }
    }

    fn acknowledges(&self) -> Option<u32> {
        self.acknowledges
    }
}

/// What the properties require of a queue.
trait Queue {
    fn enqueue(&mut self, now: Time, packet: TestPacket);
    fn dequeue(&mut self, now: Time) -> Option<TestPacket>;
    fn poll_drop(&mut self) -> Option<Dropped<TestPacket>>;
    fn backlog(&self) -> (usize, u64);
    fn counters(&self) -> Counters;
}

macro_rules! queue {
    ($($name:ident),*) => { $(
        impl Queue for $name<TestPacket> {
            fn enqueue(&mut self, now: Time, packet: TestPacket) {
                $name::enqueue(self, now, packet);
            }
            fn dequeue(&mut self, now: Time) -> Option<TestPacket> {
                $name::dequeue(self, now)
            }
            fn poll_drop(&mut self) -> Option<Dropped<TestPacket>> {
                $name::poll_drop(self)
            }
            fn backlog(&self) -> (usize, u64) {
                (self.len(), self.bytes())
            }
            fn counters(&self) -> Counters {
                *$name::counters(self)
            }
        }
    )* };
}
queue!(Fifo, CoDelQueue, FqCoDel, DualQueue);

#[derive(Clone, Debug)]
enum Step {
    Enqueue { flow: u32, bytes: u32, ecn: bool },
    Dequeue,
    Wait { us: u64 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        5 => (0..40u32, 0..3000u32, any::<bool>())
            .prop_map(|(flow, bytes, ecn)| Step::Enqueue { flow, bytes, ecn }),
        4 => Just(Step::Dequeue),
        2 => (0..60_000u64).prop_map(|us| Step::Wait { us }),
    ];
    prop::collection::vec(step, 0..600)
}

/// Runs the steps and checks, after each, conservation, limits and the order within each flow.
fn check(queue: &mut impl Queue, limits: Limits, steps: &[Step]) {
    let mut now = Time::ZERO;
    let mut number = 0;
    let (mut inside, mut out, mut dropped) = (0usize, 0u64, 0u64);
    let mut last = [None; 40];
    for step in steps {
        match *step {
            Step::Wait { us } => now += core::time::Duration::from_micros(us),
            Step::Enqueue { flow, bytes, ecn } => {
                number += 1;
                inside += 1;
                let ce = ecn.then_some(false);
                queue.enqueue(
                    now,
                    TestPacket {
                        flow,
                        number,
                        bytes,
                        ce,
                        scalable: flow % 2 == 1,
                        acknowledges: None,
                    },
                );
            }
            Step::Dequeue => {
                if let Some(packet) = queue.dequeue(now) {
                    let before = last[packet.flow as usize].replace(packet.number);
                    assert!(before < Some(packet.number), "order within a flow");
                    inside -= 1;
                    out += 1;
                }
            }
        }
        while queue.poll_drop().is_some() {
            inside -= 1;
            dropped += 1;
        }
        let (len, bytes) = queue.backlog();
        assert_eq!(len, inside);
        assert!(len <= limits.packets && bytes <= limits.bytes);
        let counters = queue.counters();
        assert_eq!(
            (counters.offered, counters.dequeued, counters.dropped()),
            (number, out, dropped)
        );
        assert_eq!(
            counters.offered_bytes,
            counters.dequeued_bytes + counters.dropped_bytes + bytes
        );
    }
}

proptest! {
    #[test]
    fn fifo_conserves_packets_order_and_limits(steps in steps(), packets in 0..60usize, bytes in 0..60_000u64) {
        let limits = Limits { packets, bytes };
        check(&mut Fifo::new(limits), limits, &steps);
    }

    #[test]
    fn codel_conserves_packets_order_and_limits(steps in steps(), packets in 0..60usize, bytes in 0..60_000u64) {
        let limits = Limits { packets, bytes };
        check(&mut CoDelQueue::new(CoDelConfig::default(), limits), limits, &steps);
    }

    #[test]
    fn fq_codel_conserves_packets_order_and_limits(
        steps in steps(), packets in 0..60u32, bytes in 0..60_000u64, queues in 1..64u32, drop_batch in 0..8u32,
    ) {
        let config = FqCoDelConfig { queues, packet_limit: packets, byte_limit: bytes, drop_batch, ..Default::default() };
        let limits = Limits { packets: packets as usize, bytes };
        check(&mut FqCoDel::new(config, [7; 16]), limits, &steps);
    }

    #[test]
    fn dual_queues_conserve_packets_order_and_limits(
        steps in steps(), packets in 0..60u32, bytes in 0..60_000u64, queues in 1..64u32, l4s in l4s_configs(),
    ) {
        let config = FqCoDelConfig { queues, packet_limit: packets, byte_limit: bytes, ..Default::default() };
        let limits = Limits { packets: packets as usize, bytes };
        // Flows with odd numbers are scalable where they are ECN-capable. A flow that mixes
        // packets with and without ECN has no order between the two.
        let mut steps = steps;
        for step in &mut steps {
            if let Step::Enqueue { flow, ecn, .. } = step {
                *ecn = *flow % 4 != 0;
            }
        }
        check(&mut DualQueue::new(config, Some(l4s), [7; 16]), limits, &steps);
    }
}

/// Parameters of all sizes, contradictory ones included.
fn l4s_configs() -> impl Strategy<Value = L4sConfig> {
    let us = || (0..100_000u64).prop_map(core::time::Duration::from_micros);
    (us(), us(), us(), 0.0..10.0f64, us(), us(), us(), us()).prop_map(
        |(ramp_start, ramp_end, earlier, coupling, burst, overload, patience, ban)| L4sConfig {
            ramp_start,
            ramp_end,
            earlier_in_contention: earlier,
            coupling,
            burst,
            overload,
            patience,
            ban,
        },
    )
}
