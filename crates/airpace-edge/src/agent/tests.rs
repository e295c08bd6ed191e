//! The agent by itself, with packets that are acknowledgements or not.

use super::*;
use airpace_core::report::LevelSource;
use core::hash::Hasher;
use proptest::prelude::*;

const SLOT: Duration = Duration::from_millis(100);

const fn ms(ms: u64) -> Time {
    Time::from_millis(ms)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct ToyPacket {
    number: u32,
    bytes: u32,
    is_ack: bool,
}

impl ToyPacket {
    const fn data(number: u32) -> Self {
        Self {
            number,
            bytes: 1250,
            is_ack: false,
        }
    }

    const fn ack(number: u32) -> Self {
        Self {
            number,
            bytes: 52,
            is_ack: true,
        }
    }
}

impl Packet for ToyPacket {
    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn hash_flow<H: Hasher>(&self, state: &mut H) {
        state.write_u32(0);
    }

    fn mark_ce(&mut self) -> bool {
        false
    }
}

impl UplinkPacket for ToyPacket {
    fn pure_ack(&self) -> Option<PureAck> {
        // The numbers of packets are those of acknowledgements.
        self.is_ack.then_some(PureAck {
            number: self.number,
            window: 1000,
            ecn: 0,
            timestamps: None,
            is_plain: true,
        })
    }

    fn is_same_flow(&self, _: &Self) -> bool {
        true
    }
}

fn agent(config: &AgentConfig) -> Agent<ToyPacket> {
    Agent::new(Time::ZERO, config, [7; 16])
}

/// The numbers of the packets that leave at `now`.
fn sent(agent: &mut Agent<ToyPacket>, now: Time) -> Vec<u32> {
    let packets = std::iter::from_fn(|| agent.poll(now));
    packets.map(|packet| packet.number).collect()
}

fn message(session: u32, sequence: u64) -> Message {
    Message {
        session,
        sequence,
        bytes: 1500,
        category: AccessCategory::BestEffort,
        delay_ns: 3_000_000,
    }
}

#[test]
fn a_shorter_first_slot_shifts_all_later_ones() {
    let mut agent = agent(&AgentConfig {
        first_slot: Duration::from_millis(30),
        adapts_slots: false,
        ..AgentConfig::default()
    });
    let mut ends = Vec::new();
    for now in (0..400).map(ms) {
        if agent.handle_timeout(now).is_some() {
            ends.push(now);
        }
    }
    assert_eq!(ends, [30, 130, 230, 330].map(ms));
}

#[test]
fn reports_are_numbered_and_have_the_length_of_their_slot() {
    let mut agent = agent(&AgentConfig {
        station: StationId(5),
        adapts_slots: false,
        ..AgentConfig::default()
    });
    for slot in 0..5 {
        let end = agent.slot_end();
        assert_eq!(agent.deadline(), Some(end));
        let report = agent.handle_timeout(end).expect("the slot is over");
        assert_eq!((report.station, report.slot), (StationId(5), slot));
        assert_eq!((report.length, report.frames), (SLOT, 0));
    }
}

/// Times at which the agent reports until `end`, while a frame of `packets` messages arrives every
/// `gap_us`, and the delay of a message that arrives at `at` is `delay_ns(at)`.
fn report_times(
    agent: &mut Agent<ToyPacket>,
    end: Time,
    gap_us: u64,
    delay_ns: impl Fn(Time) -> i64,
) -> Vec<Time> {
    let mut times = Vec::new();
    let mut sequence = 0;
    for us in (0..end.as_nanos() / 1_000).step_by(100) {
        let now = Time::from_micros(us);
        if us % gap_us == 0 {
            for _ in 0..8 {
                let delay_ns = delay_ns(now);
                agent.on_message(
                    now,
                    Message {
                        delay_ns,
                        ..message(1, sequence)
                    },
                );
                sequence += 1;
            }
        }
        if agent.deadline().is_some_and(|due| due <= now) && agent.handle_timeout(now).is_some() {
            times.push(now);
        }
    }
    times
}

#[test]
fn an_idle_station_reports_every_fourth_slot_after_the_first() {
    let mut agent = agent(&AgentConfig::default());
    let times = report_times(&mut agent, ms(1_000), u64::MAX, |_| 0);
    // The frame at the start ends with the first slot; the idle slot after it is news.
    assert_eq!(times, [100, 200, 600].map(ms));
}

#[test]
fn a_slot_with_few_frames_goes_on_until_it_has_enough() {
    let mut agent = agent(&AgentConfig::default());
    let times = report_times(&mut agent, ms(650), 60_000, |_| 0);
    // A frame every 60 ms: three more slots pass until four have come and ended.
    assert_eq!(times, [100, 400].map(ms));
}

#[test]
fn a_queue_that_grows_is_reported_at_once_in_a_slot_that_was_extended() {
    let mut agent = agent(&AgentConfig::default());
    // A frame every 40 ms; packets wait for 40 ms from 230 ms on.
    let delay_ns = |at| if at < ms(230) { 1_000_000 } else { 41_000_000 };
    let times = report_times(&mut agent, ms(290), 40_000, delay_ns);
    // Two frames show it; without the queue the slot would end at 300 ms at the soonest.
    assert_eq!(times, [100, 280].map(ms));
}

#[test]
fn a_queue_that_takes_longer_than_a_slot_is_reported_in_every_slot() {
    let mut agent = agent(&AgentConfig::default());
    let delay_ns = |at| if at < ms(60) { 0 } else { 300_000_000 };
    let times = report_times(&mut agent, ms(650), 60_000, delay_ns);
    assert!(times.len() >= 6, "{times:?}");
}

#[test]
fn a_queue_that_grows_is_reported_before_the_slot_ends() {
    let mut agent = agent(&AgentConfig::default());
    // From 210 ms on packets wait for 40 ms.
    let delay_ns = |at| if at < ms(210) { 1_000_000 } else { 41_000_000 };
    let times = report_times(&mut agent, ms(300), 2_000, delay_ns);
    assert_eq!(times[..2], [100, 200].map(ms));
    assert!((ms(219)..ms(235)).contains(&times[2]), "{times:?}");
}

#[test]
fn messages_that_arrive_together_count_as_one_frame_and_gaps_as_losses() {
    let mut agent = agent(&AgentConfig::default());
    let mut sequence = 0;
    for frame in 0..30_u64 {
        for packet in 0..8 {
            let arrival = Time::from_micros(3_000 * frame + packet);
            agent.on_message(arrival, message(1, sequence));
            sequence += 1;
        }
        // Every frame is followed by a packet that is lost.
        sequence += 1;
    }
    let report = agent.handle_timeout(ms(100)).expect("the slot is over");
    assert_eq!(report.source, LevelSource::SocketTimestamps);
    let level = report.level().expect("there were frames");
    assert!((level - 8.0).abs() < 0.2, "{level}");
    // A gap may still be filled by a retransmission until the end of the next slot.
    assert_eq!(report.lost, 0);
    let report = agent.handle_timeout(ms(200)).expect("the slot is over");
    assert!((28..=30).contains(&report.lost), "{}", report.lost);
}

#[test]
fn a_new_session_is_not_a_loss() {
    let mut agent = agent(&AgentConfig::default());
    for (session, first) in [(1, 0), (2, 0), (3, 1_000_000)] {
        for sequence in first..first + 50 {
            let us = 30_000 * u64::from(session) + 100 * (sequence - first);
            agent.on_message(Time::from_micros(us), message(session, sequence));
        }
    }
    let report = agent.handle_timeout(ms(120)).expect("the slot is over");
    assert_eq!((report.lost, report.late), (0, 0));
}

#[test]
fn the_uplink_is_paced_with_the_headers_of_the_tunnel() {
    let mut agent = agent(&AgentConfig {
        uplink_rate: Some(BitRate::from_mbps(8)),
        packet_overhead: 250,
        ..AgentConfig::default()
    });
    for number in 0..100 {
        agent.enqueue(Time::ZERO, ToyPacket::data(number));
    }
    // 1500 bytes at 8 Mbit/s: one packet every 1.5 ms, and the pacer's burst of two at the start.
    let mut count = 0;
    for us in (0..60_000).step_by(100) {
        count += sent(&mut agent, Time::from_micros(us)).len();
    }
    assert!((40..=42).contains(&count), "{count}");
    let next = agent.deadline().expect("packets wait");
    assert!(next < Time::from_micros(61_600), "{next:?}");
}

#[test]
fn an_agent_that_ends_hands_out_everything_in_order() {
    let mut agent = agent(&AgentConfig {
        uplink_rate: Some(BitRate::from_mbps(1)),
        ..AgentConfig::default()
    });
    agent.enqueue(Time::ZERO, ToyPacket::data(0));
    agent.enqueue(Time::ZERO, ToyPacket::data(1));
    agent.enqueue(Time::ZERO, ToyPacket::ack(2));
    agent.enqueue(Time::ZERO, ToyPacket::ack(3));
    assert_eq!(agent.backlog(), 4);
    let waiting = agent.into_waiting();
    let mut numbers: Vec<u32> = waiting.iter().map(|packet| packet.number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [0, 1, 2, 3]);
}

#[test]
fn packets_that_the_queue_drops_are_handed_out() {
    let mut agent = agent(&AgentConfig {
        uplink_rate: Some(BitRate::from_mbps(1)),
        queue: FqCoDelConfig {
            packet_limit: 10,
            drop_batch: 1,
            ..FqCoDelConfig::default()
        },
        ..AgentConfig::default()
    });
    let mut dropped = 0;
    for number in 0..15 {
        agent.enqueue(Time::ZERO, ToyPacket::data(number));
        dropped += std::iter::from_fn(|| agent.poll_drop()).count();
    }
    assert_eq!((dropped, agent.backlog()), (5, 10));
}

#[test]
fn redundant_acknowledgements_are_handed_out_and_counted() {
    let mut agent = agent(&AgentConfig::default());
    let mut redundant = Vec::new();
    for number in 0..10 {
        agent.enqueue(Time::ZERO, ToyPacket::ack(number));
        while let Some(dropped) = agent.poll_drop() {
            assert_eq!(dropped.reason, UplinkDrop::RedundantAck);
            redundant.push(dropped.packet.number);
        }
    }
    assert_eq!(redundant, [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(agent.counts().thinned_acks, 8);
    assert_eq!(sent(&mut agent, ms(5)), [0, 9]);
}

#[test]
fn acknowledgements_stay_held_while_the_pacer_permits_nothing() {
    let mut agent = agent(&AgentConfig {
        uplink_rate: Some(BitRate::from_mbps(1)),
        ..AgentConfig::default()
    });
    // Two packets fill the pacer's burst; the next may leave 10 ms later.
    agent.enqueue(Time::ZERO, ToyPacket::data(0));
    agent.enqueue(Time::ZERO, ToyPacket::data(1));
    assert_eq!(sent(&mut agent, Time::ZERO), [0, 1]);
    agent.enqueue(Time::ZERO, ToyPacket::ack(2));
    assert!(sent(&mut agent, ms(6)).is_empty(), "due, but not permitted");
    let release = agent.deadline().expect("an acknowledgement waits");
    assert!(release > ms(6), "{release:?}");
    for number in 3..9 {
        agent.enqueue(ms(6), ToyPacket::ack(number));
    }
    assert_eq!(agent.backlog(), 2);
    assert_eq!(sent(&mut agent, release), [2]);
    assert_eq!(sent(&mut agent, ms(100)), [8]);
}

proptest! {
    #[test]
    fn packets_of_one_flow_leave_in_order_and_none_is_lost_unseen(
        packets in prop::collection::vec((any::<bool>(), 0..4_000_u64), 1..200),
        gather_ms in 0..8_u64,
        shaped in any::<bool>(),
    ) {
        let mut agent = agent(&AgentConfig {
            gather_acks: Duration::from_millis(gather_ms),
            uplink_rate: shaped.then(|| BitRate::from_mbps(20)),
            ..AgentConfig::default()
        });
        let (mut now, mut numbers, mut dropped) = (Time::ZERO, Vec::new(), 0_usize);
        for (number, (is_ack, gap_us)) in (0..).zip(packets.clone()) {
            now += Duration::from_micros(gap_us);
            let packet = if is_ack { ToyPacket::ack(number) } else { ToyPacket::data(number) };
            agent.enqueue(now, packet);
            dropped += std::iter::from_fn(|| agent.poll_drop()).count();
            while let Some(packet) = agent.poll(now) {
                numbers.push(packet.number);
                dropped += std::iter::from_fn(|| agent.poll_drop()).count();
            }
            dropped += std::iter::from_fn(|| agent.poll_drop()).count();
            prop_assert_eq!(numbers.len() + dropped + agent.backlog(), number as usize + 1);
        }
        prop_assert!(numbers.is_sorted(), "{:?}", numbers);
    }
}
