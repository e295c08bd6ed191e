use super::*;
use crate::queue::tests::TestPacket;

const KEY: [u8; 16] = *b"not very secret!";
const MS: Duration = Duration::from_millis(1);

fn scalable(flow: u32, number: u64) -> TestPacket {
    TestPacket {
        flow,
        number,
        bytes: 1_500,
        ce: Some(false),
        scalable: true,
        acknowledges: None,
    }
}

fn classic(flow: u32, number: u64) -> TestPacket {
    TestPacket {
        ce: None,
        scalable: false,
        acknowledges: None,
        ..scalable(flow, number)
    }
}

fn queue() -> DualQueue<TestPacket> {
    DualQueue::new(FqCoDelConfig::default(), Some(L4sConfig::default()), KEY)
}

/// A link that sends a packet every `gap`, in front of which the queue stands.
struct Link {
    queue: DualQueue<TestPacket>,
    now: Time,
    gap: Duration,
    next_number: u64,
    /// Packets sent and their longest wait, by flow.
    sent: [u64; 8],
    longest: [Duration; 8],
}

impl Link {
    fn new(gap: Duration) -> Self {
        Self {
            queue: queue(),
            now: Time::ZERO,
            gap,
            next_number: 0,
            sent: [0; 8],
            longest: [Duration::ZERO; 8],
        }
    }

    /// Sends `packets`; before each, `arrivals` says which packets arrive.
    fn run(&mut self, packets: u64, mut arrivals: impl FnMut(u64, &mut Vec<TestPacket>)) {
        let mut arrived = Vec::new();
        for turn in 0..packets {
            arrivals(turn, &mut arrived);
            for packet in arrived.drain(..) {
                self.next_number += 1;
                let number = self.next_number;
                self.queue
                    .enqueue(self.now, TestPacket { number, ..packet });
            }
            self.now += self.gap;
            if let Some((packet, sojourn)) = self.queue.dequeue_with_sojourn(self.now) {
                let flow = packet.flow as usize;
                self.sent[flow] += 1;
                self.longest[flow] = self.longest[flow].max(sojourn);
            }
        }
    }
}

#[test]
fn without_low_latency_packets_the_queue_is_fq_codel() {
    let mut dual = queue();
    let mut plain = FqCoDel::new(FqCoDelConfig::default(), KEY);
    let mut now = Time::ZERO;
    for number in 0..20_000u64 {
        now += Duration::from_micros(37 * (number % 5));
        let flow = (number * number % 13) as u32;
        let packet = TestPacket {
            ce: flow.is_multiple_of(2).then_some(false),
            ..classic(flow, number)
        };
        dual.enqueue(now, packet.clone());
        plain.enqueue(now, packet);
        if number % 8 != 7 {
            assert_eq!(
                dual.dequeue_with_sojourn(now),
                plain.dequeue_with_sojourn(now)
            );
        }
        assert_eq!(dual.poll_drop(), plain.poll_drop());
    }
    assert_eq!(dual.counters(), plain.counters());
    assert!(dual.counters().marked > 0 && dual.counters().dropped() > 0);
}

#[test]
fn a_scalable_flow_below_its_share_does_not_wait_for_classic_flows() {
    let mut link = Link::new(MS / 10);
    link.run(100, |_, arrivals| {
        arrivals.extend([classic(1, 0), classic(1, 0), classic(2, 0)]);
    });
    // A fifth of the link; its share is a third.
    link.run(1_000, |turn, arrivals| {
        arrivals.push(classic(1 + (turn % 2) as u32, 0));
        if turn.is_multiple_of(5) {
            arrivals.push(scalable(3, 0));
        }
    });
    assert_eq!(link.sent[3], 200);
    assert!(link.longest[3] <= MS / 10, "{:?}", link.longest[3]);
}

#[test]
fn backlogged_flows_of_both_kinds_get_equal_shares() {
    let mut link = Link::new(MS / 10);
    // All four send as much as the link carries, for less time than it takes to ban one.
    let load = |_: u64, arrivals: &mut Vec<TestPacket>| {
        arrivals.extend([scalable(1, 0), scalable(2, 0), classic(3, 0), classic(4, 0)]);
    };
    link.run(3_000, load);
    let before = link.sent;
    link.run(5_000, load);
    let sent = |flow: usize| link.sent[flow] - before[flow];
    // Which of the scalable flows loses more is chance: they share one queue.
    for (flows, sent) in [(2, sent(1) + sent(2)), (1, sent(3)), (1, sent(4))] {
        let share = flows * 5_000 / 4;
        assert!(sent.abs_diff(share) <= 50, "{sent}, not {share}");
    }
}

#[test]
fn a_flood_of_low_latency_packets_never_starves_classic_flows_and_is_banned() {
    let mut link = Link::new(MS / 10);
    // Five times the link from one flow that ignores marks, beside a polite scalable flow and a
    // classic one.
    let load = |turn: u64, arrivals: &mut Vec<TestPacket>| {
        arrivals.extend((0..5).map(|_| scalable(1, 0)));
        arrivals.push(classic(2, 0));
        if turn.is_multiple_of(10) {
            arrivals.push(scalable(3, 0));
        }
    };
    link.run(11_000, load);
    let before = link.sent;
    assert!(before[2] > 5_000, "{before:?}");
    assert!(link.queue.counters().dropped_for(DropReason::FattestFlow) > 0);
    // From now on the flood waits elsewhere: the polite flow loses nothing and waits for nobody.
    link.longest = [Duration::ZERO; 8];
    link.run(20_000, load);
    assert!(link.sent[2] - before[2] > 8_500, "{:?}", link.sent);
    assert!(link.sent[3] - before[3] >= 1_999, "{:?}", link.sent);
    assert!(link.longest[3] <= MS / 5, "{:?}", link.longest);
}

#[test]
fn packets_are_dropped_when_marks_do_not_reduce_the_low_latency_queue() {
    let mut link = Link::new(MS / 10);
    // For less time than it takes to ban the flow, which would then wait with the classic ones.
    let load = |_: u64, arrivals: &mut Vec<TestPacket>| {
        arrivals.extend((0..3).map(|_| scalable(1, 0)));
    };
    // Within the first quarter of a second the flow may not have seen the marks.
    link.run(2_400, load);
    assert_eq!(link.queue.counters().dropped(), 0);
    link.run(200, load);
    link.longest = [Duration::ZERO; 8];
    link.run(6_000, load);
    assert!(link.longest[1] <= 51 * MS, "{:?}", link.longest[1]);
    assert!(link.queue.counters().dropped_for(DropReason::Sojourn) > 0);
}

#[test]
fn packets_that_are_not_ecn_capable_never_wait_in_the_low_latency_queue() {
    let mut queue = queue();
    queue.enqueue(Time::ZERO, classic(1, 0));
    queue.enqueue(
        Time::ZERO,
        TestPacket {
            ce: Some(false),
            ..classic(2, 0)
        },
    );
    assert_eq!((queue.len(), queue.low_latency_len()), (2, 0));
    queue.enqueue(Time::ZERO, scalable(3, 0));
    assert_eq!((queue.len(), queue.low_latency_len()), (3, 1));
}

#[test]
fn a_marked_packet_stays_behind_those_of_its_flow() {
    let mut queue = queue();
    let marked = |flow| TestPacket {
        ce: Some(true),
        ..classic(flow, 1)
    };
    queue.enqueue(Time::ZERO, classic(1, 0));
    queue.enqueue(Time::ZERO, marked(1));
    assert_eq!(queue.low_latency_len(), 0);
    queue.enqueue(Time::ZERO, marked(2));
    assert_eq!(queue.low_latency_len(), 1);
}

#[test]
fn a_standing_low_latency_queue_is_marked_by_the_ramp() {
    for (us, share) in [(900, 0), (1_165, 50), (1_600, 100)] {
        let mut queue = queue();
        let mut marked = 0;
        for number in 0..1_000u64 {
            let now = Time::from_millis(number);
            queue.enqueue(now, scalable(1, number));
            queue.enqueue(now, scalable(1, number));
            queue.enqueue(now, scalable(1, number));
            let packet = queue.dequeue(now + Duration::from_micros(us)).unwrap();
            marked += u32::from(packet.ce == Some(true));
            // The others are one packet behind and none: no queue.
            let later = now + Duration::from_micros(us);
            for _ in 0..2 {
                assert_eq!(queue.dequeue(later).unwrap().ce, Some(false));
            }
        }
        assert!(
            marked.abs_diff(share * 10) <= 1,
            "{us} µs: {marked} of 1000"
        );
    }
}

#[test]
fn a_scalable_flow_that_uses_its_share_is_marked_as_the_classic_signals_imply() {
    // The classic flow gets a signal for one packet in a hundred; √0.01 · 1.3 is 0.13.
    let marked_of_1000 = |credit: i64| {
        let mut dual = queue();
        let low = dual.low.as_mut().unwrap();
        for packet in 0..50_000u64 {
            let now = Time::from_micros(100 * packet);
            low.on_classic_sent(now, 1_500, 1, u64::from(packet % 100 == 0));
        }
        let now = Time::from_millis(5_000);
        dual.enqueue(now, classic(1, 0));
        let mut marked = 0;
        for number in 0..1_000 {
            dual.enqueue(now, scalable(2, number));
            dual.low.as_mut().unwrap().credit = credit;
            let packet = dual.dequeue(now).unwrap();
            marked += u32::from(packet.ce == Some(true));
        }
        marked
    };
    assert!(marked_of_1000(0).abs_diff(130) < 25);
    // Half of each packet is the other flow's. Below its share the flow is left alone.
    assert!(marked_of_1000(749) > 105);
    assert_eq!(marked_of_1000(750), 0);
}

#[test]
fn the_low_latency_queue_holds_at_most_half_of_the_limits() {
    let config = FqCoDelConfig {
        packet_limit: 100,
        ..FqCoDelConfig::default()
    };
    let mut queue = DualQueue::new(config, Some(L4sConfig::default()), KEY);
    for number in 0..200 {
        queue.enqueue(Time::ZERO, scalable(1, number));
    }
    assert_eq!(queue.len(), 50);
    assert_eq!(queue.counters().dropped_for(DropReason::PacketLimit), 150);
    for number in 0..200 {
        queue.enqueue(Time::ZERO, classic(2, number));
        assert!(queue.len() <= 100);
    }
    assert_eq!(queue.low_latency_len(), 50);
    assert!(queue.len() > 70, "{}", queue.len());
}
