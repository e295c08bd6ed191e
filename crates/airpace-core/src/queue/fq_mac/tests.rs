use super::*;
use crate::queue::tests::TestPacket;

fn packet(flow: u32, number: u64, bytes: u32) -> TestPacket {
    TestPacket { flow, number, bytes, ce: None }
}

fn queue(config: FqMacConfig) -> FqMac<TestPacket> {
    FqMac::new(config, *b"not very secret!")
}

#[test]
fn a_collision_between_tids_goes_to_the_overflow_queue() {
    let mut queue = queue(FqMacConfig { queues: 1, ..FqMacConfig::default() });
    let (a, b) = (queue.add_tid(0), queue.add_tid(1));
    queue.enqueue(Time::ZERO, a, packet(1, 1, 100));
    queue.enqueue(Time::ZERO, b, packet(2, 2, 100));
    assert_eq!((queue.len(a), queue.len(b), queue.flows.len()), (1, 1, 2));
    assert_eq!(queue.dequeue(Time::ZERO, b).unwrap().1.flow, 2);
    assert_eq!(queue.dequeue(Time::ZERO, a).unwrap().1.flow, 1);
    assert_eq!((queue.total_len(), queue.spare.len()), (0, 1));
}
