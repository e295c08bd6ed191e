//! Frames that are received by their powers.

use super::air::{Flow, Log, drive};
use super::*;
use crate::channel::{self, Channel, PathLoss, Position};

/// Radios at these places in m, with the rate and the links of each test.
fn network(places: &[(f64, f64)], links: &[(u32, u32)], mcs: u8) -> MacConfig {
    powers(places, links, mcs, None)
}

fn powers(
    places: &[(f64, f64)],
    links: &[(u32, u32)],
    mcs: u8,
    capture: Option<Capture>,
) -> MacConfig {
    let propagation = propagation(places);
    let link = |&(from, to): &(u32, u32)| {
        let (from, to) = (RadioId(from), RadioId(to));
        LinkConfig {
            quality: Quality::of(Signal::Channel(propagation.link(from, to))),
            ..LinkConfig::new(from, to, vht(1, mcs))
        }
    };
    let links = links.iter().map(link).collect();
    MacConfig {
        hearing: propagation.powers(capture),
        ..MacConfig::new(vec![RadioConfig::new(); places.len()], links)
    }
}

fn propagation(places: &[(f64, f64)]) -> Channel {
    let radio = |&(x, y): &(f64, f64)| channel::Radio::at(Position::new(x, y, 0.0));
    let radios = places.iter().map(radio).collect();
    let config = channel::ChannelConfig {
        path_loss: PathLoss::default(),
        ..channel::ChannelConfig::new(radios)
    };
    Channel::new(config).unwrap()
}

/// All flows saturated for a second.
fn saturated(config: MacConfig, flows: &[(u32, u32)]) -> Log {
    let flows: Vec<Flow> = flows
        .iter()
        .map(|&(from, to)| Flow::new(from, to, 25))
        .collect();
    drive(
        &mut Mac::new(config, 7).unwrap(),
        &flows,
        Duration::from_secs(1),
    )
}

/// Two access points `distance` apart, each with a station `station` beyond it.
fn two_cells(distance: f64, station: f64) -> Vec<(f64, f64)> {
    vec![
        (0.0, 0.0),
        (distance, 0.0),
        (-station, 0.0),
        (distance + station, 0.0),
    ]
}

const DOWN: [(u32, u32); 2] = [(0, 2), (1, 3)];

/// Data frames of which nothing was decoded, some MPDUs, and all.
fn decoded(log: &Log) -> [usize; 3] {
    let mut counts = [0; 3];
    for frame in &log.frames {
        let class = match frame.decoded {
            0 => 0,
            some if some < frame.mpdus => 1,
            _ => 2,
        };
        counts[class] += 1;
    }
    counts
}

#[test]
fn cells_out_of_carrier_sense_have_the_full_rate_where_the_signal_is_strong_enough() {
    let places = two_cells(60.0, 3.0);
    let alone = saturated(network(&places, &DOWN, 7), &DOWN[..1]);
    let both = saturated(network(&places, &DOWN, 7), &DOWN);
    for flow in [0, 1] {
        assert_near(both.mbps(flow, 1.0), alone.mbps(0, 1.0), 0.01);
    }
    assert!(both.collided() > 0.5, "{}", both.collided());
    // The same network in which whatever is as strong as the noise destroys a frame.
    let all_or_nothing = MacConfig {
        hearing: propagation(&places).hearing(),
        ..network(&places, &DOWN, 7)
    };
    let destroyed = saturated(all_or_nothing, &DOWN);
    assert!(destroyed.mbps(0, 1.0) < 0.5 * both.mbps(0, 1.0));
}

#[test]
fn frames_of_one_slot_survive_where_the_signal_is_strong_enough() {
    // The access points sense each other, so that frames overlap only if they begin together.
    let strong = saturated(network(&two_cells(20.0, 3.0), &DOWN, 7), &DOWN);
    assert!(
        (0.05..0.2).contains(&strong.collided()),
        "{}",
        strong.collided()
    );
    assert_eq!(decoded(&strong)[0], 0);
    // At 20 m the signal is 9 dB above that of the other access point: too little for MCS 4.
    let weak = saturated(network(&two_cells(20.0, 20.0), &DOWN, 4), &DOWN);
    assert!(decoded(&weak)[0] > 10, "{:?}", decoded(&weak));
}

#[test]
fn a_frame_overlapped_in_part_loses_only_what_is_overlapped() {
    // Two stations that do not sense each other send to the access point between them.
    let places = [(0.0, 0.0), (-30.0, 0.0), (30.0, 0.0)];
    let flows = [(1, 0), (2, 0)];
    let log = saturated(network(&places, &flows, 2), &flows);
    let [_, some, _] = decoded(&log);
    assert!(some > 5, "{:?}", decoded(&log));
    for frame in log.frames.iter().filter(|frame| frame.decoded > 0) {
        assert!(frame.collided || frame.decoded == frame.mpdus, "{frame:?}");
    }
}

#[test]
fn a_block_ack_request_saves_the_frame_whose_block_ack_was_missed() {
    let places = [(0.0, 0.0), (-30.0, 0.0), (30.0, 0.0)];
    let flows = [(1, 0), (2, 0)];
    let goodput = |block_ack_requests| {
        let config = MacConfig {
            block_ack_requests,
            endless_retries: true,
            ..network(&places, &flows, 2)
        };
        let log = saturated(config, &flows);
        log.mbps(0, 1.0) + log.mbps(1, 1.0)
    };
    let (without, with) = (goodput(false), goodput(true));
    assert!(with > 4.0 * without, "{without} {with}");
}

#[test]
fn ampdus_without_an_answer_are_repeated_up_to_the_retry_limit_or_without_one() {
    let places = [(0.0, 0.0), (-30.0, 0.0), (30.0, 0.0)];
    let flows = [(1, 0), (2, 0)];
    let given_up = |endless_retries| {
        let config = MacConfig {
            endless_retries,
            ..network(&places, &flows, 2)
        };
        let log = saturated(config, &flows);
        let dropped = log.dropped.iter();
        dropped
            .filter(|&&reason| reason == DropReason::RetryLimit)
            .count()
    };
    assert!(given_up(false) > 100);
    assert_eq!(given_up(true), 0);
}

#[test]
fn the_sum_of_signals_that_are_each_too_weak_makes_the_channel_busy() {
    // Each of the outer access points is received 2 dB below the threshold by the middle one,
    // both together 1 dB above it.
    let places = [
        (0.0, 0.0),
        (60.0, 0.0),
        (120.0, 0.0),
        (0.0, 3.0),
        (60.0, 3.0),
        (120.0, 3.0),
    ];
    let flows = [(0, 3), (1, 4), (2, 5)];
    let log = saturated(network(&places, &flows, 7), &flows);
    let outer = log.mbps(0, 1.0);
    assert_near(log.mbps(2, 1.0), outer, 0.02);
    let middle = log.mbps(1, 1.0) / outer;
    assert!((0.4..0.9).contains(&middle), "{middle}");
}

/// The share of the first frame that radio 0 decodes if that of radio 2 begins 10 µs later, and is
/// received 18 dB stronger; and the share of the second.
fn first_come(capture: Option<Capture>) -> (f64, f64) {
    // Radio 1 and radio 2 do not sense each other.
    let places = [(0.0, 0.0), (-40.0, 0.0), (15.0, 0.0), (-43.0, 0.0)];
    let config = powers(&places, &[(1, 0), (2, 0)], 0, capture);
    let mut mac: Mac<Datagram> = Mac::new(config, 7).unwrap();
    for (from, micros) in [(1, 100), (2, 110)] {
        let at = Time::from_micros(micros);
        mac.handle(
            at,
            Input::Send {
                from: RadioId(from),
                to: RadioId(0),
                packet: Datagram::new(0, IP_BYTES),
            },
        );
    }
    mac.handle(Time::from_millis(1), Input::Tick);
    let mut shares = [f64::NAN; 2];
    while let Some(output) = mac.poll() {
        if let Output::Frame(frame) = output
            && shares[frame.from.index() - 1].is_nan()
        {
            shares[frame.from.index() - 1] = f64::from(frame.decoded) / f64::from(frame.mpdus);
        }
    }
    (shares[0], shares[1])
}

#[test]
fn a_receiver_keeps_to_the_frame_that_it_is_on_unless_it_captures() {
    assert_eq!(first_come(None).1, 0.0);
    assert_eq!(first_come(Some(Capture::default())), (0.0, 1.0));
}

/// Radio 0 is on a long, weak frame when that of a nearer radio begins, `later` than the first, and
/// is lost. Whether that radio's next try is decoded, which begins while the weak frame goes on.
fn next_try_is_decoded(later: Duration) -> bool {
    let places = [(0.0, 0.0), (-40.0, 0.0), (15.0, 0.0)];
    let config = network(&places, &[(1, 0), (2, 0)], 0);
    let mut mac: Mac<Datagram> = Mac::new(config, 7).unwrap();
    let begin = Time::from_micros(100);
    for (from, at, bytes) in [(1, begin, IP_BYTES), (2, begin + later, 60)] {
        let packet = Datagram::new(0, bytes);
        let (from, to) = (RadioId(from), RadioId(0));
        mac.handle(at, Input::Send { from, to, packet });
    }
    mac.handle(Time::from_millis(1), Input::Tick);
    let outputs = core::iter::from_fn(|| mac.poll());
    let frames: Vec<_> = outputs
        .filter_map(|output| match output {
            Output::Frame(frame) => Some(frame),
            _ => None,
        })
        .collect();
    let of = |radio| {
        frames
            .iter()
            .filter(move |frame| frame.from == RadioId(radio))
    };
    let (weak, tries) = (of(1).next().unwrap(), of(2).collect::<Vec<_>>());
    assert_eq!(tries[0].decoded, 0);
    assert!(tries[1].end < weak.end, "{frames:?}");
    tries[1].decoded > 0
}

#[test]
fn a_receiver_leaves_a_frame_whose_first_header_field_is_drowned() {
    assert!(next_try_is_decoded(Duration::from_micros(10)));
    // From 20 µs on the field has passed, and the receiver knows how long the frame is.
    assert!(!next_try_is_decoded(Duration::from_micros(30)));
}

#[test]
fn interference_below_the_noise_costs_signal() {
    // A link that loses few MPDUs alone, and a sender 90 m from its receiver: -89.3 dBm, 1.3 dB
    // below the noise.
    let places = [(0.0, 0.0), (107.0, 0.0), (17.0, 0.0), (110.0, 0.0)];
    let links = [(0, 2), (1, 3)];
    let lost = |flows: &[(u32, u32)]| {
        let log = saturated(network(&places, &links, 7), flows);
        let frames = || log.frames.iter().filter(|frame| frame.from == RadioId(0));
        let decoded: u32 = frames().map(|frame| u32::from(frame.decoded)).sum();
        let sent: u32 = frames().map(|frame| u32::from(frame.mpdus)).sum();
        1.0 - f64::from(decoded) / f64::from(sent)
    };
    let (alone, beside) = (lost(&links[..1]), lost(&links));
    assert!(beside > 1.5 * alone + 0.01, "{alone} {beside}");
}

#[test]
fn without_others_a_link_is_the_same_in_both_models() {
    let places = [(0.0, 0.0), (15.0, 0.0)];
    let by_powers = saturated(network(&places, &[(0, 1)], 7), &[(0, 1)]);
    let by_pairs = MacConfig {
        hearing: Hearing::All,
        ..network(&places, &[(0, 1)], 7)
    };
    let by_pairs = saturated(by_pairs, &[(0, 1)]);
    let figures = |log: &Log| -> Vec<_> {
        let frames = log.frames.iter();
        frames
            .map(|frame| (frame.start, frame.mpdus, frame.decoded))
            .collect()
    };
    assert_eq!(figures(&by_powers), figures(&by_pairs));
}

#[test]
fn neighbours_drown_what_they_overlap() {
    let places = [(0.0, 0.0), (3.0, 0.0)];
    let mut mac: Mac<Datagram> = Mac::new(network(&places, &[(0, 1)], 7), 7).unwrap();
    mac.handle(
        Time::ZERO,
        Input::SetNeighbours(Neighbours {
            count: 2,
            airtime: Duration::from_millis(2),
        }),
    );
    let log = drive(&mut mac, &[Flow::new(0, 1, 25)], Duration::from_secs(1));
    let collided = log.frames.iter().filter(|frame| frame.collided);
    let (mut count, mut intact) = (0, 0);
    for frame in collided {
        count += 1;
        intact += usize::from(frame.decoded == frame.mpdus);
    }
    assert!(count > 5 && intact == 0, "{count} {intact}");
}

#[test]
fn a_radio_that_moves_is_heard_and_hears_as_at_its_new_place() {
    // Two access points that do not sense each other, each with a station beside it. The second
    // cell walks to the first: from then on they share the channel.
    let (apart, together) = (two_cells(100.0, 3.0), two_cells(10.0, 3.0));
    let flows = DOWN.map(|(from, to)| Flow::new(from, to, 25));
    let run = |places: &[(f64, f64)], moves: bool| {
        let mut mac = Mac::<Datagram>::new(network(places, &DOWN, 7), 7).unwrap();
        let mut places = places.to_vec();
        for radio in [1, 3].into_iter().filter(|_| moves) {
            places[radio] = together[radio];
            let there = propagation(&places);
            let radio = RadioId::from_index(radio);
            let pairs = (0..4).map(RadioId).map(|other| PairPowers {
                sent_dbm: there.received_dbm(radio, other),
                received_dbm: there.received_dbm(other, radio),
            });
            let pairs = pairs.collect();
            mac.handle(Time::ZERO, Input::SetPowers { radio, pairs });
        }
        drive(&mut mac, &flows, Duration::from_secs(1))
    };
    let moved = run(&apart, true);
    let placed = run(&together, false);
    assert_eq!(
        moved.delivered, placed.delivered,
        "as if it always stood there"
    );
    let stayed = run(&apart, false);
    let sum = |log: &Log| log.mbps(0, 1.0) + log.mbps(1, 1.0);
    assert!(sum(&stayed) > 1.5 * sum(&placed), "{}", sum(&placed));
}
