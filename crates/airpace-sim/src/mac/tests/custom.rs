//! Queues of the user's own.

use super::air::{Flow, drive};
use super::*;
use airpace_core::queue::DropReason as QueueDrop;
use std::collections::VecDeque;

/// Last in, first out.
#[derive(Default)]
struct Lifo(Vec<QueuedPacket>);

impl TransmitQueue for Lifo {
    fn enqueue(&mut self, _now: Time, packet: QueuedPacket, _store: &mut dyn PacketStore) {
        self.0.push(packet);
    }

    fn dequeue(&mut self, _now: Time, _store: &mut dyn PacketStore) -> Option<QueuedPacket> {
        self.0.pop()
    }
}

/// First in, first out; when it is full, the oldest packet makes room for the new one.
struct DropFromHead(VecDeque<QueuedPacket>, usize);

impl TransmitQueue for DropFromHead {
    fn enqueue(&mut self, _now: Time, packet: QueuedPacket, store: &mut dyn PacketStore) {
        self.0.push_back(packet);
        if self.0.len() > self.1
            && let Some(oldest) = self.0.pop_front()
        {
            store.discard(oldest, QueueDrop::PacketLimit);
        }
    }

    fn dequeue(&mut self, _now: Time, _store: &mut dyn PacketStore) -> Option<QueuedPacket> {
        self.0.pop_front()
    }
}

fn lifo(_: &QueueSite) -> Box<dyn TransmitQueue> {
    Box::new(Lifo::default())
}

/// A queue of `packets` packets that drops from its head.
pub(super) fn drop_from_head(packets: usize) -> Box<dyn TransmitQueue> {
    Box::new(DropFromHead(VecDeque::new(), packets))
}

fn short_queue(_: &QueueSite) -> Box<dyn TransmitQueue> {
    drop_from_head(50)
}

fn one_station(path: PathConfig) -> Mac<Datagram> {
    let config = CellConfig {
        access_point: path,
        ..cell(&[vht(1, 9)])
    };
    Mac::cell(&config, 3).unwrap()
}

/// The packets of one flow that are delivered within a second, in the order of delivery.
fn delivered(mac: &mut Mac<Datagram>, gap_us: u64, count: u64) -> Vec<u64> {
    let mut ids = Vec::new();
    let mut take = |mac: &mut Mac<Datagram>| {
        while let Some(output) = mac.poll() {
            if let Output::Delivered { packet, .. } = output {
                ids.push(packet.id);
            }
        }
    };
    for id in 0..count {
        let at = Time::from_micros(gap_us * id);
        mac.handle(at, Input::down(StationId(0), Datagram::new(id, IP_BYTES)));
        take(mac);
    }
    while let Some(due) = mac.deadline().filter(|due| *due < Time::from_millis(5_000)) {
        mac.handle(due, Input::Tick);
        take(mac);
    }
    ids
}

#[test]
fn a_stack_delivers_the_newest_packet_first() {
    let mut mac = one_station(PathConfig::custom(lifo));
    let ids = delivered(&mut mac, 1, 1_000);
    assert_eq!(ids.len(), 1_000);
    // The first access is at 43 µs, with packets 0 to 42 on the stack. Packet 43 comes next, and
    // stays at the bottom until all later ones are gone.
    assert_eq!((ids[0], *ids.last().unwrap()), (42, 43));
    assert!(ids.windows(2).filter(|pair| pair[1] < pair[0]).count() > 900);
    assert_eq!(mac.held(ACCESS_POINT), 0);
}

#[test]
fn dropping_from_the_head_keeps_delays_short_where_tail_drop_does_not() {
    let flow = [Flow::new(0, 1, 20)];
    let run = |path| {
        let mut mac = one_station(path);
        let log = drive(&mut mac, &flow, Duration::from_secs(1));
        let (packets, dropped) = (log.delivered[0].0, log.dropped.len() as u64);
        // Every packet is delivered, dropped or held.
        let sent = 1 + (1_000_000 - flow[0].phase.as_micros() as u64) / 20;
        assert_eq!(packets + dropped + mac.held(ACCESS_POINT) as u64, sent);
        (packets, log.mean_delay(0), log.dropped)
    };
    let (tail_packets, tail_delay, _) = run(PathConfig::per_station(50));
    let (head_packets, head_delay, reasons) = run(PathConfig::custom(short_queue));
    assert!(reasons.contains(&DropReason::Queue(QueueDrop::PacketLimit)));
    assert_near(head_packets as f64, tail_packets as f64, 0.02);
    assert!(head_delay < tail_delay, "{head_delay:?} {tail_delay:?}");
}

#[test]
fn queues_of_the_users_own_share_airtime_and_are_composed_ahead() {
    let rates = [vht(1, 9), vht(1, 0)];
    let config = CellConfig {
        access_point: PathConfig {
            airtime_fairness: Some(Default::default()),
            hardware: 2,
            ..PathConfig::custom(short_queue)
        },
        ..cell(&rates)
    };
    let mut mac = Mac::cell(&config, 3).unwrap();
    let flows = [Flow::new(0, 1, 30), Flow::new(0, 2, 30)];
    let log = drive(&mut mac, &flows, Duration::from_secs(2));
    let airtime = |station: u32| -> f64 {
        let frames = log.frames.iter().filter(|f| f.to == RadioId(station));
        frames.map(|frame| frame.airtime.as_secs_f64()).sum()
    };
    assert_near(airtime(1), airtime(2), 0.05);
}

/// Keeps every second packet until the next one comes.
#[derive(Default)]
struct Hesitant(Vec<QueuedPacket>);

impl TransmitQueue for Hesitant {
    fn enqueue(&mut self, _now: Time, packet: QueuedPacket, _store: &mut dyn PacketStore) {
        self.0.push(packet);
    }

    fn dequeue(&mut self, _now: Time, _store: &mut dyn PacketStore) -> Option<QueuedPacket> {
        if self.0.len() < 2 { None } else { self.0.pop() }
    }
}

#[test]
fn a_queue_that_keeps_a_packet_back_is_asked_again_when_the_next_one_comes() {
    for (hardware, schedule) in [(0, Schedule::RoundRobin), (2, Schedule::OldestFirst)] {
        let path = PathConfig {
            hardware,
            schedule,
            ..PathConfig::custom(|_: &QueueSite| {
                Box::new(Hesitant::default()) as Box<dyn TransmitQueue>
            })
        };
        let mut mac = one_station(path);
        let ids = delivered(&mut mac, 10_000, 100);
        assert_eq!((ids.len(), mac.held(ACCESS_POINT)), (99, 1));
        assert_eq!(mac.queued(ACCESS_POINT, RadioId(1)), 1);
    }
}

/// Marks every packet, and drops those that cannot be marked.
#[derive(Default)]
struct MarkAll(VecDeque<QueuedPacket>);

impl TransmitQueue for MarkAll {
    fn enqueue(&mut self, _now: Time, packet: QueuedPacket, _store: &mut dyn PacketStore) {
        self.0.push_back(packet);
    }

    fn dequeue(&mut self, _now: Time, store: &mut dyn PacketStore) -> Option<QueuedPacket> {
        while let Some(packet) = self.0.pop_front() {
            if store.mark(&packet) {
                return Some(packet);
            }
            store.discard(packet, QueueDrop::Sojourn);
        }
        None
    }
}

#[test]
fn packets_that_cannot_be_marked_are_dropped_where_the_queue_says_so() {
    let mut mac = one_station(PathConfig::custom(|_: &QueueSite| {
        Box::new(MarkAll::default()) as Box<dyn TransmitQueue>
    }));
    let log = drive(
        &mut mac,
        &[Flow::new(0, 1, 100)],
        Duration::from_millis(100),
    );
    // A datagram takes no part in ECN.
    assert_eq!(log.delivered[0].0, 0);
    assert!(log.dropped.len() > 900);
    assert!(
        log.dropped
            .iter()
            .all(|reason| *reason == DropReason::Queue(QueueDrop::Sojourn))
    );
}

#[test]
fn configurations_with_queues_of_the_users_own_are_compared_and_printed() {
    let path = PathConfig::custom(lifo);
    assert_eq!(path, path.clone());
    assert_ne!(path, PathConfig::custom(lifo));
    assert!(format!("{path:?}").contains("lifo"), "{path:?}");
}
