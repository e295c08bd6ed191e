//! Segments per second of wall time through a TCP sender and a receiver, over a path of 1 Gbit/s
//! and 20 ms that does nothing else.

use airpace_sim::rng::Stream;
use airpace_sim::transport::tcp::{
    AckSegment, Algorithm, DataSegment, Receiver, ReceiverConfig, Sender, SenderConfig,
    SenderStatistics,
};
use airpace_units::Time;
use core::time::Duration;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::collections::VecDeque;

/// Segments per sample.
const SEGMENTS: u64 = 200_000;
/// Time that the link takes for a packet.
const PACKET: Duration = Duration::from_micros(12);
/// Delay in each direction.
const DELAY: Duration = Duration::from_millis(10);
/// Longest queue: 2000 packets.
const QUEUE: Duration = Duration::from_millis(24);

/// Both ends and the packets between them, in order of arrival. This is as little as keeps the ends
/// busy, so that their cost dominates; the test bed of the unit tests has queues and faults.
struct Path {
    sender: Sender,
    receiver: Receiver,
    data: VecDeque<(Time, DataSegment)>,
    acks: VecDeque<(Time, AckSegment)>,
    free_at: Time,
    random: Stream,
    loss: f64,
}

impl Path {
    fn new(algorithm: Algorithm, loss: f64) -> Self {
        let mut sender = Sender::new(SenderConfig::new(algorithm));
        sender.write(u64::MAX);
        Self {
            sender,
            receiver: Receiver::new(ReceiverConfig::default()),
            data: VecDeque::new(),
            acks: VecDeque::new(),
            free_at: Time::ZERO,
            random: Stream::new(1, "bench", 0),
            loss,
        }
    }

    /// When something happens next.
    fn next_event(&self) -> Time {
        let data = self.data.front().map(|(at, _)| *at);
        let ack = self.acks.front().map(|(at, _)| *at);
        let timers = [self.sender.deadline(), self.receiver.deadline()];
        [data, ack]
            .into_iter()
            .chain(timers)
            .flatten()
            .min()
            .expect("something is always in flight")
    }

    fn step(&mut self, now: Time) {
        while self.data.front().is_some_and(|(at, _)| *at <= now) {
            let Some((_, segment)) = self.data.pop_front() else {
                break;
            };
            self.receiver.on_data(now, &segment, false);
        }
        self.receiver.on_timeout(now);
        while let Some(ack) = self.receiver.poll_ack(now) {
            self.acks.push_back((now + DELAY, ack));
        }
        while self.acks.front().is_some_and(|(at, _)| *at <= now) {
            let Some((_, ack)) = self.acks.pop_front() else {
                break;
            };
            self.sender.on_ack(now, &ack);
        }
        self.sender.on_timeout(now);
        while let Some(segment) = self.sender.poll_transmit(now) {
            self.free_at = self.free_at.max(now);
            if self.free_at > now + QUEUE || self.random.happens(self.loss) {
                continue;
            }
            self.free_at += PACKET;
            self.data.push_back((self.free_at + DELAY, segment));
        }
    }
}

fn transfer(algorithm: Algorithm, loss: f64) -> SenderStatistics {
    let mut path = Path::new(algorithm, loss);
    path.step(Time::ZERO);
    while path.sender.statistics().segments < SEGMENTS {
        path.step(path.next_event());
    }
    path.sender.statistics()
}

fn transfers(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tcp");
    group
        .throughput(Throughput::Elements(SEGMENTS))
        .sample_size(20);
    for &algorithm in Algorithm::ALL {
        group.bench_function(algorithm.name(), |bencher| {
            bencher.iter(|| transfer(algorithm, 0.0))
        });
    }
    group.bench_function("bbr-1%-loss", |bencher| {
        bencher.iter(|| transfer(Algorithm::Bbr, 0.01))
    });
    group.finish();
}

criterion_group!(benches, transfers);
criterion_main!(benches);
