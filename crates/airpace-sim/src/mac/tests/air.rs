//! What happens between radios: categories, hidden nodes, reservations, bursts.

use super::*;
use airpace_core::phy::{LegacyRate, Medium};

/// A constant-rate source over any link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) category: AccessCategory,
    pub(super) bytes: u32,
    pub(super) gap: Duration,
    pub(super) phase: Duration,
}

impl Flow {
    /// The packet `id` of this flow, which is the one with this index, handed to its radio.
    pub(super) fn send(&self, index: usize, id: u64) -> Input<Datagram> {
        Input::Send {
            from: RadioId(self.from),
            to: RadioId(self.to),
            packet: Datagram {
                flow: index as u32,
                category: self.category,
                ..Datagram::new(id, self.bytes)
            },
        }
    }
}

/// When the first packet of each flow is due.
pub(super) fn first_due(flows: &[Flow]) -> Vec<Time> {
    flows.iter().map(|flow| Time::ZERO + flow.phase).collect()
}

/// The flow of which a packet is due next, and when.
pub(super) fn next_due(due: &[Time]) -> (usize, Time) {
    let next = due.iter().copied().enumerate().min_by_key(|&(_, at)| at);
    next.expect("there is a flow")
}

/// The results of a run.
#[derive(Default, Debug)]
pub(super) struct Log {
    pub(super) frames: Vec<FrameRecord>,
    /// Per flow: packets delivered, and the sum of their delays.
    pub(super) delivered: Vec<(u64, Duration)>,
    pub(super) dropped: Vec<DropReason>,
}

impl Flow {
    /// A packet of the reference size every `gap_us`.
    pub(super) fn new(from: u32, to: u32, gap_us: u64) -> Self {
        let phase = Duration::from_nanos(1_000 * gap_us / 3 + 137 * u64::from(from));
        let gap = Duration::from_micros(gap_us);
        Self {
            from,
            to,
            category: AccessCategory::BestEffort,
            bytes: IP_BYTES,
            gap,
            phase,
        }
    }

    fn of(self, category: AccessCategory) -> Self {
        Self { category, ..self }
    }
}

impl Log {
    pub(super) fn mbps(&self, flow: usize, seconds: f64) -> f64 {
        self.delivered[flow].0 as f64 * f64::from(IP_BYTES) * 8e-6 / seconds
    }

    pub(super) fn mean_delay(&self, flow: usize) -> Duration {
        self.delivered[flow].1 / u32::try_from(self.delivered[flow].0.max(1)).unwrap()
    }

    pub(super) fn collided(&self) -> f64 {
        self.frames.iter().filter(|frame| frame.collided).count() as f64 / self.frames.len() as f64
    }
}

pub(super) fn drive(mac: &mut Mac<Datagram>, flows: &[Flow], until: Duration) -> Log {
    let mut log = Log {
        delivered: vec![Default::default(); flows.len()],
        ..Log::default()
    };
    let mut due = first_due(flows);
    loop {
        let (index, now) = next_due(&due);
        if now > Time::ZERO + until {
            return log;
        }
        due[index] += flows[index].gap;
        mac.handle(now, flows[index].send(index, now.as_nanos()));
        while let Some(output) = mac.poll() {
            match output {
                Output::Frame(frame) => log.frames.push(*frame),
                Output::Delivered { at, packet, .. } => {
                    let (count, delay) = &mut log.delivered[packet.flow as usize];
                    *count += 1;
                    *delay += at.since(Time::from_nanos(packet.id));
                }
                Output::Dropped { reason, .. } => log.dropped.push(reason),
                Output::Heard { .. } => {}
            }
        }
    }
}

fn link(from: u32, to: u32, rate: TxRate) -> LinkConfig {
    LinkConfig::new(RadioId(from), RadioId(to), rate)
}

/// Radios of which `pairs` hear each other, with links in one direction.
fn network(radios: usize, pairs: &[(u32, u32)], links: &[(u32, u32)]) -> MacConfig {
    let hears = |a: RadioId, b: RadioId| pairs.contains(&(a.0, b.0)) || pairs.contains(&(b.0, a.0));
    let links = links
        .iter()
        .map(|&(from, to)| link(from, to, vht(1, 4)))
        .collect();
    let relation = Relation::by(radios, hears);
    let hearing = Hearing::Matrix {
        senses: relation.clone(),
        disturbs: relation.clone(),
        decodes: relation,
    };
    MacConfig {
        hearing,
        ..MacConfig::new(vec![RadioConfig::new(); radios], links)
    }
}

fn run_flows(config: MacConfig, flows: &[Flow], millis: u64) -> Log {
    drive(
        &mut Mac::new(config, 7).unwrap(),
        flows,
        Duration::from_millis(millis),
    )
}

fn all_radios(mut config: MacConfig, change: impl Fn(&mut RadioConfig)) -> MacConfig {
    config.radios.iter_mut().for_each(change);
    config
}

/// Stations 1 and 2 hear radio 0 but not each other.
fn hidden(rts_threshold: Option<u32>) -> MacConfig {
    let config = network(3, &[(0, 1), (0, 2)], &[(1, 0), (2, 0)]);
    all_radios(config, |radio| {
        (radio.rts_threshold, radio.max_mpdus) = (rts_threshold, 16)
    })
}

#[test]
fn hidden_nodes_collide_unless_they_use_rts() {
    let flows = [Flow::new(1, 0, 60), Flow::new(2, 0, 60)];
    let goodput = |log: &Log| log.mbps(0, 1.0) + log.mbps(1, 1.0);
    let (bare, protected) = (
        run_flows(hidden(None), &flows, 1_000),
        run_flows(hidden(Some(500)), &flows, 1_000),
    );
    assert!(bare.collided() > 0.3, "{}", bare.collided());
    assert!(protected.collided() < 0.02, "{}", protected.collided());
    assert!(
        goodput(&protected) > 1.5 * goodput(&bare),
        "{} {}",
        goodput(&protected),
        goodput(&bare)
    );
    // Radios that hear each other do not need RTS.
    let fully = MacConfig {
        hearing: Hearing::All,
        ..hidden(None)
    };
    assert!(goodput(&run_flows(fully, &flows, 1_000)) > goodput(&protected));
}

#[test]
fn radios_that_do_not_hear_each_other_do_not_share_the_channel() {
    let config = network(4, &[(0, 1), (2, 3)], &[(0, 1), (2, 3)]);
    let flows = [Flow::new(0, 1, 40), Flow::new(2, 3, 40)];
    let log = run_flows(config, &flows, 500);
    let alone = run_flows(network(2, &[(0, 1)], &[(0, 1)]), &flows[..1], 500);
    assert_near(log.mbps(0, 0.5), alone.mbps(0, 0.5), 0.01);
    assert_near(log.mbps(1, 0.5), alone.mbps(0, 0.5), 0.01);
    assert_eq!(log.collided(), 0.0);
}

#[test]
fn voice_is_delivered_faster_than_best_effort() {
    let radios = vec![RadioConfig::new(); 4];
    let config = MacConfig::new(
        radios,
        (1..4).map(|from| link(from, 0, vht(1, 4))).collect(),
    );
    let mut flows = [
        Flow::new(1, 0, 40),
        Flow::new(2, 0, 40),
        Flow::new(3, 0, 20_000),
    ];
    let slow = run_flows(config.clone(), &flows, 3_000).mean_delay(2);
    flows[2] = flows[2].of(AccessCategory::Voice);
    let fast = run_flows(config, &flows, 3_000).mean_delay(2);
    assert!(slow > 2 * fast, "{slow:?} {fast:?}");
}

#[test]
fn categories_of_one_radio_do_not_collide_on_the_air() {
    let config = MacConfig::new(vec![RadioConfig::new(); 2], vec![link(0, 1, vht(1, 4))]);
    let config = all_radios(config, |radio| {
        radio
            .edca
            .iter_mut()
            .for_each(|edca| edca.txop = Duration::ZERO)
    });
    let flows = [AccessCategory::BestEffort, AccessCategory::Voice]
        .map(|category| Flow::new(0, 1, 90).of(category));
    let log = run_flows(config, &flows, 1_000);
    assert_eq!(log.collided(), 0.0);
    assert!(
        log.frames
            .windows(2)
            .all(|pair| pair[1].start >= pair[0].start + pair[0].airtime)
    );
    assert!(
        log.delivered[1].0 > 2 * log.delivered[0].0 && log.delivered[0].0 > 0,
        "{:?}",
        log.delivered
    );
}

#[test]
fn a_lower_category_that_yields_doubles_its_window() {
    // Both arrive while a neighbour is on the air; windows of one slot make them collide for
    // certain.
    let one_slot = |_| Edca {
        aifsn: 2,
        cw_min: 0,
        cw_max: 1_023,
        txop: Duration::ZERO,
    };
    let config = MacConfig::new(vec![RadioConfig::new(); 2], vec![link(0, 1, vht(1, 4))]);
    let mut mac = Mac::new(
        all_radios(config, |radio| radio.edca = radio.edca.map(one_slot)),
        1,
    )
    .unwrap();
    for (id, category) in [AccessCategory::BestEffort, AccessCategory::Voice]
        .into_iter()
        .enumerate()
    {
        let packet = Datagram {
            category,
            ..Datagram::new(id as u64, IP_BYTES)
        };
        mac.handle(
            Time::from_millis(1),
            Input::Send {
                from: RadioId(0),
                to: RadioId(1),
                packet,
            },
        );
    }
    mac.handle(Time::from_millis(1), Input::Tick);
    assert_eq!(mac.exchanges.len(), 0);
    mac.handle(Time::from_millis(20), Input::Tick);
    let frames: Vec<_> = core::iter::from_fn(|| mac.poll())
        .filter_map(|output| {
            if let Output::Frame(frame) = output {
                Some(frame)
            } else {
                None
            }
        })
        .collect();
    assert_eq!(
        frames
            .iter()
            .map(|frame| frame.category)
            .collect::<Vec<_>>(),
        [AccessCategory::Voice, AccessCategory::BestEffort]
    );
    assert_eq!(
        mac.links[0].unanswered, 0,
        "the answer to the second frame has reset the count"
    );
}

/// Radio 0 sends to 1 and radio 2 to 3; of radios 0 and 1, radio 2 senses 0 alone. Returns how long
/// radio 2 waits after a frame of radio 0.
fn pause_after(decodes: bool) -> Vec<Duration> {
    let mut config = network(4, &[(0, 1), (2, 3)], &[(0, 1), (2, 3)]);
    let Hearing::Matrix {
        senses,
        decodes: reads,
        ..
    } = &mut config.hearing
    else {
        panic!()
    };
    senses.set(RadioId(0), RadioId(2), true);
    reads.set(RadioId(0), RadioId(2), decodes);
    let log = run_flows(
        config,
        &[Flow::new(0, 1, 3_000), Flow::new(2, 3, 100)],
        2_000,
    );
    let by_sender = |id: u32| log.frames.iter().filter(move |frame| frame.from.0 == id);
    let apart = |frame: &&FrameRecord| {
        by_sender(2)
            .all(|other| other.start + other.airtime <= frame.start || other.start > frame.end)
    };
    let after = |frame: &FrameRecord| {
        by_sender(2)
            .find(|other| other.start > frame.end)
            .map(|f| f.start.since(frame.end))
    };
    by_sender(0).filter(apart).filter_map(after).collect()
}

#[test]
fn undecoded_frames_are_followed_by_eifs_and_decoded_ones_reserve_the_channel_for_the_answer() {
    let slots = |pauses: Vec<Duration>, idle: Duration| {
        assert!(pauses.len() > 20, "{}", pauses.len());
        let slot = |pause: &Duration| pause.checked_sub(idle).map(|rest| rest.as_nanos() % 9_000);
        pauses.iter().filter(|pause| slot(pause) == Some(0)).count() as f64 / pauses.len() as f64
    };
    let aifs = Duration::from_micros(43);
    // SIFS and an ack at 6 Mbit/s; SIFS and the ack at 24 Mbit/s that answers MCS 4.
    assert_near(
        slots(pause_after(false), aifs + Duration::from_micros(16 + 44)),
        1.0,
        0.0,
    );
    assert_near(
        slots(pause_after(true), aifs + Duration::from_micros(16 + 28)),
        1.0,
        0.0,
    );
}

#[test]
fn a_cts_silences_radios_that_do_not_hear_the_data() {
    let log = run_flows(
        hidden(Some(0)),
        &[Flow::new(1, 0, 500), Flow::new(2, 0, 500)],
        1_000,
    );
    for frame in log.frames.iter().filter(|frame| frame.decoded > 0) {
        // MCS 4 is answered at 24 Mbit/s: RTS 28 µs, CTS 28 µs, three SIFS.
        let around = Duration::from_micros(28 + 28 + 48) + answer(frame);
        assert_eq!(frame.airtime, frame.end.since(frame.start) + around);
    }
    // An RTS that begins within the SIFS before a CTS keeps its sender from hearing that CTS.
    assert!(log.collided() < 0.02, "{}", log.collided());
    // Its sender may use up all of its tries while the other's frame lasts.
    assert!(log.dropped.len() < 10, "{}", log.dropped.len());
}

/// A rate of HT at 20 MHz with one stream.
fn ht(mcs: u8) -> TxRate {
    TxRate::new(Standard::Ht, Width::Mhz20, 1, mcs, GuardInterval::Ns800).unwrap()
}

#[test]
fn frames_follow_a_cts_to_oneself_except_at_dsss_rates_and_to_groups() {
    let config = MacConfig {
        medium: Medium::GHZ_2_4,
        ..MacConfig::new(
            vec![RadioConfig::new(); 4],
            vec![
                link(0, 1, ht(4)),
                link(0, 2, TxRate::legacy(LegacyRate::Mbps1)),
                LinkConfig {
                    group: true,
                    ..link(0, 3, TxRate::legacy(LegacyRate::Mbps6))
                },
            ],
        )
    };
    let config = all_radios(config, |radio| {
        radio.cts_to_self = Some(LegacyRate::Mbps1);
    });
    let flows = [1, 2, 3].map(|to| Flow::new(0, to, 50_000));
    let mut mac = Mac::new(config, 7).unwrap();
    let log = drive(&mut mac, &flows, Duration::from_secs(1));
    // 14 bytes at 1 Mbit/s after the long preamble of 192 us, and a SIFS of 10 us.
    let protection = Duration::from_micros(192 + 14 * 8 + 10);
    let mut protected = 0;
    for frame in &log.frames {
        let around = frame.airtime - frame.end.since(frame.start);
        match frame.to {
            // MCS 4 is acknowledged at 24 Mbit/s.
            RadioId(1) => assert_eq!(around, protection + Duration::from_micros(10 + 34)),
            RadioId(2) => assert_eq!(around, Duration::from_micros(10 + 192 + 14 * 8)),
            _ => assert_eq!(around, Duration::ZERO),
        }
        protected += u32::from(frame.to == RadioId(1));
    }
    assert!(protected >= 19, "{protected}");
    assert!(log.frames.len() >= 57, "{}", log.frames.len());
    let cts = Duration::from_micros(192 + 14 * 8);
    assert_eq!(mac.airtime(RadioId(0)).control, cts * protected);
}

/// Duration of the answer at 24 Mbit/s.
fn answer(frame: &FrameRecord) -> Duration {
    Duration::from_micros(if frame.mpdus > 1 { 32 } else { 28 })
}

#[test]
fn a_txop_holds_several_exchanges_a_sifs_apart() {
    let config = MacConfig::new(
        vec![RadioConfig::new(); 3],
        vec![link(0, 1, vht(1, 4)), link(0, 2, vht(1, 4))],
    );
    let config = all_radios(config, |radio| radio.max_mpdus = 8);
    let flows = [1, 2].map(|to| Flow::new(0, to, 60).of(AccessCategory::Video));
    let log = run_flows(config, &flows, 500);
    let (mut start, mut bursts) = (log.frames[0].start, Vec::new());
    for pair in log.frames.windows(2) {
        let end = pair[0].start + pair[0].airtime;
        if pair[1].start.since(end) > Duration::from_micros(16) {
            bursts.push(end.since(start));
            start = pair[1].start;
        }
    }
    let longest = bursts.iter().max().unwrap();
    assert!(
        *longest <= Duration::from_micros(3_008) && *longest > Duration::from_micros(2_500),
        "{longest:?}"
    );
    assert!(log.frames.len() > 3 * bursts.len());
}

#[test]
fn an_amsdu_carries_several_packets_in_one_mpdu() {
    let config = MacConfig::new(vec![RadioConfig::new(); 2], vec![link(0, 1, vht(1, 9))]);
    let log = run_flows(
        all_radios(config, |radio| radio.max_amsdu = 3_839),
        &[Flow::new(0, 1, 20)],
        200,
    );
    let full = log.frames.iter().max_by_key(|frame| frame.packets).unwrap();
    // Two packets: 2 · (14 + 8 + 1498) bytes; header and FCS 30; delimiter 4; subframes padded to
    // 4.
    assert_eq!((full.mpdus, full.packets), (64, 128));
    assert_eq!(full.psdu_bytes, 64 * (2 * 1_520 + 34) + 63 * 2);
    assert!(log.delivered[0].0 > 1_500, "{:?}", log.delivered);
}

#[test]
fn a_slow_station_fills_a_shared_queue() {
    let config = MacConfig::new(
        vec![RadioConfig::new(); 3],
        vec![link(0, 1, vht(1, 0)), link(0, 2, vht(1, 9))],
    );
    let config = all_radios(config, |radio| {
        radio.path = PathConfig::queued(QueueLimit::shared(50))
    });
    let mut mac = Mac::new(config, 1).unwrap();
    let log = drive(
        &mut mac,
        &[Flow::new(0, 1, 100), Flow::new(0, 2, 130)],
        Duration::from_secs(1),
    );
    assert!(mac.held(RadioId(0)) <= 50);
    assert!(!log.dropped.is_empty());
    // The slow station's packets take the places of the other's.
    assert!(
        log.mbps(1, 1.0) < 0.9 * 1_498.0 * 8.0 / 130.0,
        "{}",
        log.mbps(1, 1.0)
    );
}

#[test]
fn oldest_first_serves_the_link_with_the_oldest_packet() {
    let order = |schedule| {
        let config = MacConfig::new(
            vec![RadioConfig::new(); 3],
            vec![link(0, 1, vht(1, 4)), link(0, 2, vht(1, 4))],
        );
        let mut mac = Mac::new(
            all_radios(config, |radio| {
                (radio.path.schedule, radio.max_mpdus) = (schedule, 1)
            }),
            1,
        )
        .unwrap();
        for (id, to) in [1, 1, 1, 2].into_iter().enumerate() {
            let at = Time::from_micros(1_000 + id as u64);
            mac.handle(
                at,
                Input::Send {
                    from: RadioId(0),
                    to: RadioId(to),
                    packet: Datagram::new(id as u64, IP_BYTES),
                },
            );
        }
        mac.handle(Time::from_millis(50), Input::Tick);
        let frame = |output| {
            if let Output::Frame(frame) = output {
                Some(frame.to.0)
            } else {
                None
            }
        };
        core::iter::from_fn(|| mac.poll())
            .filter_map(frame)
            .collect::<Vec<_>>()
    };
    assert_eq!(order(Schedule::RoundRobin), [1, 2, 1, 1]);
    assert_eq!(order(Schedule::OldestFirst), [1, 1, 1, 2]);
}

#[test]
fn dsss_sends_one_mpdu_per_frame_with_its_own_timings() {
    let rate = TxRate::legacy(LegacyRate::Mbps1);
    let mut config = MacConfig::new(vec![RadioConfig::new(); 2], vec![link(0, 1, rate)]);
    config.medium = Medium::DSSS;
    let config = all_radios(config, |radio| radio.max_amsdu = 3_839);
    let log = run_flows(config, &[Flow::new(0, 1, 5_000)], 1_000);
    let frame = log.frames[3];
    // Long preamble 192 µs, 1536 bytes at 1 Mbit/s; SIFS 10 µs, ack of 14 bytes.
    assert_eq!(
        frame.end.since(frame.start),
        Duration::from_micros(192 + 8 * 1_536)
    );
    assert_eq!(
        frame.airtime,
        Duration::from_micros(192 + 8 * 1_536 + 10 + 192 + 8 * 14)
    );
    assert!(log.frames.iter().all(|frame| frame.mpdus == 1));
    // AIFS 10 + 3 · 20 µs and back-off in slots of 20 µs.
    for pair in log.frames[5..].windows(2) {
        let gap = pair[1]
            .start
            .since(pair[0].start + pair[0].airtime)
            .as_micros();
        assert!(gap >= 70 && (gap - 70).is_multiple_of(20), "{gap}");
    }
}

#[test]
fn errors_follow_signal_rate_and_length() {
    let loss = |snr_db, bytes| {
        let mut config = MacConfig::new(vec![RadioConfig::new(); 2], vec![link(0, 1, vht(1, 9))]);
        config.links[0].quality = Quality::of(Signal::Constant(snr_db));
        let log = run_flows(
            config,
            &[Flow {
                bytes,
                ..Flow::new(0, 1, 200)
            }],
            2_000,
        );
        let count =
            |of: fn(&FrameRecord) -> u16| log.frames.iter().map(|f| f64::from(of(f))).sum::<f64>();
        1.0 - count(|frame| frame.decoded) / count(|frame| frame.mpdus)
    };
    let model = airpace_core::phy::error::ErrorModel::default();
    for (snr_db, bytes) in [(25.0, IP_BYTES), (24.5, 200)] {
        let expected = model.mpdu_error(vht(1, 9), snr_db, bytes + 38);
        assert!(
            (loss(snr_db, bytes) - expected).abs() < 0.02,
            "{} {expected}",
            loss(snr_db, bytes)
        );
    }
    assert_eq!(loss(40.0, IP_BYTES), 0.0);
}

#[test]
fn beacons_of_several_access_points_do_not_collide() {
    let radios = vec![RadioConfig::access_point(); 5];
    let mut mac = Mac::<Datagram>::new(MacConfig::new(radios, Vec::new()), 1).unwrap();
    mac.handle(Time::from_millis(1_050), Input::Tick);
    assert!((0..5).all(|id| mac.airtime(RadioId(id)).beacons == Duration::from_micros(2_360)));
    let channel = mac.channel(RadioId(0), Time::from_millis(1_050));
    assert_eq!(
        (channel.busy, channel.overlapped),
        (Duration::from_micros(5 * 2_360), Duration::ZERO)
    );
}

/// Saturation throughput of `n` stations in Mbit/s by Bianchi's model (2000) with a retry limit (Wu
/// et al. 2002).
fn bianchi(n: i32, success_us: f64, collision_us: f64) -> f64 {
    let attempt = |p: f64| {
        let stages = || (0..7).map(|i| (p.powi(i), f64::from((16 << i).min(1_024))));
        stages().map(|(q, _)| q).sum::<f64>()
            / stages()
                .map(|(q, w)| q * (1.0 + (w - 1.0) / 2.0))
                .sum::<f64>()
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let p = f64::midpoint(low, high);
        if 1.0 - (1.0 - attempt(p)).powi(n - 1) > p {
            low = p
        } else {
            high = p
        }
    }
    let tau = attempt(low);
    let idle = (1.0 - tau).powi(n);
    let success = f64::from(n) * tau * (1.0 - tau).powi(n - 1);
    let slot = idle * 9.0 + success * success_us + (1.0 - idle - success) * collision_us;
    success * f64::from(IP_BYTES) * 8.0 / slot
}

#[test]
fn saturation_throughput_agrees_with_bianchis_model() {
    for n in [2, 5, 10, 20, 40] {
        let links = (1..=n).map(|from| link(from, 0, vht(1, 4))).collect();
        let config = MacConfig::new(vec![RadioConfig::new(); n as usize + 1], links);
        let config = all_radios(config, |radio| {
            (radio.max_mpdus, radio.path) = (1, PathConfig::per_station(5))
        });
        let ppdu = vht(1, 4)
            .ppdu_duration(1_540, Timing::Standard)
            .as_secs_f64()
            * 1e6;
        let flows: Vec<_> = (1..=n)
            .map(|from| Flow::new(from, 0, u64::from(n) * 120))
            .collect();
        let log = run_flows(config, &flows, 3_000);
        let measured: f64 = (0..n as usize).map(|flow| log.mbps(flow, 3.0)).sum();
        let expected = bianchi(n as i32, ppdu + 16.0 + 28.0 + 43.0, ppdu + 60.0 + 43.0);
        println!("{n}: {measured} {expected}");
        assert_near(measured, expected, 0.03);
    }
}

/// Radio 0 sends to the group that radio 2 stands for, and radio 1 sends to radio 0.
fn group_network(loss: f64) -> MacConfig {
    let basic = TxRate::legacy(LegacyRate::Mbps6);
    let group = LinkConfig {
        group: true,
        quality: Quality::Loss(loss),
        ..link(0, 2, basic)
    };
    let links = vec![group, link(1, 0, vht(1, 4))];
    let config = MacConfig::new(vec![RadioConfig::new(); 3], links);
    all_radios(config, |radio| radio.rts_threshold = Some(100))
}

#[test]
fn group_frames_are_sent_once_each_without_protection_or_answer() {
    for loss in [0.0, 1.0] {
        let flows = [Flow::new(0, 2, 5_000)];
        let log = run_flows(group_network(loss), &flows, 100);
        assert!(log.frames.len() >= 19, "{}", log.frames.len());
        for frame in &log.frames {
            assert_eq!((frame.mpdus, frame.retries), (1, 0));
            assert_eq!(frame.airtime, frame.end.since(frame.start));
        }
        let arrived = log.delivered[0].0 as usize;
        let given_up = log.dropped.len();
        assert_eq!(arrived + given_up, log.frames.len());
        assert_eq!(arrived == 0, loss > 0.0);
        assert!(
            log.dropped
                .iter()
                .all(|&reason| reason == DropReason::RetryLimit)
        );
    }
}

#[test]
fn group_frames_that_collide_are_lost() {
    let flows = [Flow::new(0, 2, 200), Flow::new(1, 0, 200)];
    let log = run_flows(group_network(0.0), &flows, 300);
    let mut collided = 0;
    for frame in log.frames.iter().filter(|frame| frame.to == RadioId(2)) {
        collided += usize::from(frame.collided);
        assert_eq!(frame.retries, 0);
    }
    assert!(collided > 0);
}
