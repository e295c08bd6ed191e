use super::*;
use crate::queue::tests::TestPacket;
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};

fn packet(number: u64, ce: Option<bool>) -> TestPacket {
    TestPacket {
        flow: 0,
        number,
        bytes: 1_500,
        ce,
        scalable: false,
        acknowledges: None,
    }
}

/// CoDel as the pseudo-code of RFC 8289 §5 goes, with its queue and without ECN, to compare with.
#[derive(Default)]
struct Plain {
    queue: VecDeque<(u64, u64)>,
    first_above: u64,
    drop_next: u64,
    count: u32,
    last_count: u32,
    dropping: bool,
    dropped: Vec<u64>,
}

const TARGET: u64 = 5_000_000;
const INTERVAL: u64 = 100_000_000;

impl Plain {
    fn take(&mut self, now: u64) -> (Option<u64>, bool) {
        let Some((number, since)) = self.queue.pop_front() else {
            self.first_above = 0;
            return (None, false);
        };
        let mut ok_to_drop = false;
        if now - since < TARGET || self.queue.len() as u64 * 1_500 <= 1_514 {
            self.first_above = 0;
        } else if self.first_above == 0 {
            self.first_above = now + INTERVAL;
        } else if now >= self.first_above {
            ok_to_drop = true;
        }
        (Some(number), ok_to_drop)
    }

    fn law(&self, time: u64) -> u64 {
        time + (INTERVAL * INTERVAL / u64::from(self.count)).isqrt()
    }

    fn dequeue(&mut self, now: u64) -> Option<u64> {
        let (mut taken, mut ok_to_drop) = self.take(now);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                self.dropped.extend(taken);
                self.count += 1;
                (taken, ok_to_drop) = self.take(now);
                if ok_to_drop {
                    self.drop_next = self.law(self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            self.dropped.extend(taken);
            taken = self.take(now).0;
            self.dropping = true;
            let delta = self.count - self.last_count;
            let recent = now.saturating_sub(self.drop_next) < 16 * INTERVAL;
            self.count = if delta > 1 && recent { delta } else { 1 };
            self.drop_next = self.law(now);
            self.last_count = self.count;
        }
        taken
    }
}

proptest! {
    #[test]
    fn drops_what_the_pseudo_code_drops(bursts in prop::collection::vec((1..40u64, 0..60_000_000u64, 0..12u64), 1..600)) {
        let mut queue = CoDelQueue::new(CoDelConfig::default(), Limits::packets(usize::MAX));
        let (mut plain, mut number, mut now, mut dropped) = (Plain::default(), 0, 1u64, Vec::new());
        for (arrivals, wait, departures) in bursts {
            for _ in 0..arrivals.min(departures + 3) {
                number += 1;
                queue.enqueue(Time::from_nanos(now), packet(number, None));
                plain.queue.push_back((number, now));
            }
            for _ in 0..departures {
                now += wait / 12;
                let taken = queue.dequeue(Time::from_nanos(now)).map(|p| p.number);
                dropped.extend(std::iter::from_fn(|| queue.poll_drop()).map(|d| d.packet.number));
                prop_assert_eq!(taken, plain.dequeue(now));
            }
        }
        prop_assert_eq!(dropped, plain.dropped);
    }
}

/// What senders that halve their windows on a loss do to a link of 10 Mbit/s.
struct Link<Q> {
    queue: Q,
    events: BTreeMap<(Time, u64), Event>,
    windows: Vec<Window>,
    sent: u64,
    idle: bool,
    delivered: u64,
    sojourns: Vec<Duration>,
    since: BTreeMap<u64, Time>,
}

#[derive(Clone, Copy)]
enum Event {
    Departure,
    Ack { flow: u32 },
    Loss { flow: u32, number: u64 },
}

struct Window {
    size: f64,
    in_flight: u32,
    /// Losses of packets up to this one belong to a window that was halved already.
    recovered: u64,
}

const SERVICE: Duration = Duration::from_micros(1_200);
const ROUND_TRIP: Duration = Duration::from_millis(40);

impl<Q: LinkQueue> Link<Q> {
    fn new(queue: Q, flows: usize) -> Self {
        let windows = (0..flows)
            .map(|_| Window {
                size: 2.0,
                in_flight: 0,
                recovered: 0,
            })
            .collect();
        let (events, since, sojourns) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        Self {
            queue,
            events,
            windows,
            sent: 0,
            idle: true,
            delivered: 0,
            sojourns,
            since,
        }
    }

    fn run(&mut self, until: Time) {
        let mut now = Time::ZERO;
        while now < until {
            for flow in 0..self.windows.len() {
                while f64::from(self.windows[flow].in_flight) < self.windows[flow].size {
                    self.send(now, u32::try_from(flow).unwrap());
                }
            }
            if self.idle {
                self.depart(now);
            }
            let Some(((at, _), event)) = self.events.pop_first() else {
                return;
            };
            now = at;
            match event {
                Event::Departure => self.idle = true,
                Event::Ack { flow } => {
                    let window = &mut self.windows[flow as usize];
                    window.in_flight -= 1;
                    window.size += 1.0 / window.size;
                }
                Event::Loss { flow, number } => {
                    let sent = self.sent;
                    let window = &mut self.windows[flow as usize];
                    window.in_flight -= 1;
                    if number > window.recovered {
                        window.size = (window.size / 2.0).max(1.0);
                        window.recovered = sent;
                    }
                }
            }
        }
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.events
            .insert((at, self.events.len() as u64 + self.sent * 1_000), event);
    }

    fn send(&mut self, now: Time, flow: u32) {
        self.sent += 1;
        self.windows[flow as usize].in_flight += 1;
        self.since.insert(self.sent, now);
        self.queue.enqueue(
            now,
            TestPacket {
                flow,
                number: self.sent,
                bytes: 1_500,
                ce: None,
                scalable: false,
                acknowledges: None,
            },
        );
        self.drops(now);
    }

    fn drops(&mut self, now: Time) {
        while let Some(dropped) = self.queue.poll_drop() {
            let TestPacket { flow, number, .. } = dropped.packet;
            self.schedule(now + ROUND_TRIP, Event::Loss { flow, number });
        }
    }

    fn depart(&mut self, now: Time) {
        let packet = self.queue.dequeue(now);
        self.drops(now);
        let Some(packet) = packet else { return };
        self.idle = false;
        self.delivered += 1;
        self.sojourns
            .push(now.since(self.since.remove(&packet.number).unwrap()));
        self.schedule(now + SERVICE, Event::Departure);
        self.schedule(now + SERVICE + ROUND_TRIP, Event::Ack { flow: packet.flow });
    }

    /// Median sojourn time of the second half, in milliseconds.
    fn median_ms(&mut self) -> f64 {
        let n = self.sojourns.len();
        let half = &mut self.sojourns[n / 2..];
        half.sort();
        half[half.len() / 2].as_secs_f64() * 1e3
    }
}

/// The queues that a link may have.
trait LinkQueue {
    fn enqueue(&mut self, now: Time, packet: TestPacket);
    fn dequeue(&mut self, now: Time) -> Option<TestPacket>;
    fn poll_drop(&mut self) -> Option<Dropped<TestPacket>>;
}

macro_rules! link_queue {
    ($($name:ty),*) => { $(
        impl LinkQueue for $name {
            fn enqueue(&mut self, now: Time, packet: TestPacket) {
                <$name>::enqueue(self, now, packet);
            }
            fn dequeue(&mut self, now: Time) -> Option<TestPacket> {
                <$name>::dequeue(self, now)
            }
            fn poll_drop(&mut self) -> Option<Dropped<TestPacket>> {
                <$name>::poll_drop(self)
            }
        }
    )* };
}
link_queue!(Fifo<TestPacket>, CoDelQueue<TestPacket>);

#[test]
fn an_overloaded_link_settles_near_the_target() {
    let until = Time::from_millis(60_000);
    let full = until.as_secs_f64() / SERVICE.as_secs_f64();
    // The more senders, the smaller each one's answer to a drop: ten stand at three times the
    // target.
    for (flows, most_ms) in [(1, 8.0), (4, 15.0), (10, 20.0)] {
        let mut link = Link::new(
            CoDelQueue::new(CoDelConfig::default(), Limits::packets(1_000)),
            flows,
        );
        link.run(until);
        let median = link.median_ms();
        assert!(
            (1.0..most_ms).contains(&median),
            "{flows} flows: median {median} ms"
        );
        assert!(
            link.delivered as f64 > 0.85 * full,
            "{flows} flows: {} of {full} packets",
            link.delivered
        );
    }
    let mut fifo = Link::new(Fifo::new(Limits::packets(1_000)), 4);
    fifo.run(until);
    assert!(fifo.median_ms() > 500.0, "{}", fifo.median_ms());
}

/// Keeps a queue at a standing delay of 20 ms and returns the packets that left it: number and
/// mark.
fn standing(
    config: CoDelConfig,
    ce: Option<bool>,
    ms: u64,
) -> (CoDelQueue<TestPacket>, Vec<TestPacket>) {
    let mut queue = CoDelQueue::new(config, Limits::packets(usize::MAX));
    let mut out = Vec::new();
    for now in 0..ms {
        queue.enqueue(Time::from_millis(now), packet(now, ce));
        if now >= 20 {
            out.extend(queue.dequeue(Time::from_millis(now)));
        }
    }
    (queue, out)
}

#[test]
fn capable_packets_are_marked_and_not_dropped() {
    let (queue, out) = standing(CoDelConfig::default(), Some(false), 2_000);
    assert_eq!(queue.counters().dropped(), 0);
    assert_eq!(
        queue.counters().marked,
        out.iter().filter(|p| p.ce == Some(true)).count() as u64
    );
    // Signals come at 100 ms after the delay rose, then 100/√1, 100/√2 … ms apart: 1.88 s take
    // about 103.
    assert!(
        (100..=106).contains(&queue.counters().marked),
        "{}",
        queue.counters().marked
    );
    let (queue, _) = standing(
        CoDelConfig {
            ecn: false,
            ..CoDelConfig::default()
        },
        Some(false),
        2_000,
    );
    assert!(queue.counters().marked == 0 && queue.counters().dropped() > 0);
}

#[test]
fn nothing_is_dropped_below_the_target_or_of_a_single_packet() {
    let mut queue = CoDelQueue::new(CoDelConfig::default(), Limits::packets(usize::MAX));
    for second in 0..100 {
        // One packet that waits for a second: it leaves nothing behind.
        queue.enqueue(Time::from_millis(second * 1_000), packet(second, None));
        assert!(
            queue
                .dequeue(Time::from_millis(second * 1_000 + 999))
                .is_some()
        );
    }
    for ms in 0..5_000 {
        queue.enqueue(Time::from_millis(200_000 + ms), packet(ms, None));
        if ms > 3 {
            assert!(queue.dequeue(Time::from_millis(200_000 + ms)).is_some());
        }
    }
    assert_eq!(queue.counters().dropped(), 0);
}

#[test]
fn a_standing_queue_of_small_packets_is_dropped_from_if_no_bytes_may_stay() {
    // A ping each 200 ms, and ten of them wait: 840 bytes.
    let dropped = |mtu| {
        let config = CoDelConfig {
            mtu,
            ..CoDelConfig::default()
        };
        let mut queue = CoDelQueue::new(config, Limits::packets(usize::MAX));
        for number in 0..100 {
            let ping = TestPacket {
                bytes: 84,
                ..packet(number, None)
            };
            let now = Time::from_millis(200 * number);
            queue.enqueue(now, ping);
            if number >= 10 {
                queue.dequeue(now);
            }
        }
        queue.counters().dropped()
    };
    assert_eq!(dropped(1_514), 0);
    assert!(dropped(0) > 5, "{}", dropped(0));
}

#[test]
fn a_queue_that_returns_soon_is_signalled_at_the_old_rate() {
    let config = CoDelConfig::default();
    let judge = |law: &mut CoDel, ms: u64, sojourn_ms: u64| {
        law.judge(
            Time::from_millis(ms),
            &config,
            Duration::from_millis(sojourn_ms),
            10_000,
            || false,
        )
    };
    let count_after_pause = |pause: u64| {
        let mut law = CoDel::default();
        for ms in 0..2_000 {
            judge(&mut law, ms, 20);
        }
        let count = law.count;
        judge(&mut law, 2_000, 1);
        for ms in 0..=100 {
            judge(&mut law, 2_000 + pause + ms, 20);
        }
        (count, law.count)
    };
    let (before, after) = count_after_pause(500);
    assert!(before > 50 && after + 5 > before, "{before} then {after}");
    assert_eq!(count_after_pause(3_000).1, 1);
}

#[test]
fn a_backlog_above_a_lowered_limit_drains_before_packets_are_accepted() {
    let mut queue = CoDelQueue::new(CoDelConfig::default(), Limits::packets(10));
    for number in 0..10 {
        assert!(queue.enqueue(Time::ZERO, packet(number, None)));
    }
    queue.set_limits(Limits::packets(4));
    assert_eq!((queue.len(), queue.limits().packets), (10, 4));
    for number in 10..18 {
        assert_eq!(
            queue.enqueue(Time::ZERO, packet(number, None)),
            number == 17,
            "{number}"
        );
        queue.dequeue(Time::ZERO);
    }
    assert_eq!(queue.counters().dropped(), 7);
}
