//! The proxy's decisions in simulated time.

mod storm;

use super::*;
use crate::packet::PacketBuf;
use ::core::net::{IpAddr, Ipv4Addr};
use ::core::time::Duration;
use airpace_api::config::ProxyConfig;
use airpace_api::config::{
    ControlConfig, FallbackConfig, LawChoice, QueueConfig, StationConfig, TelemetryDetail,
    TunConfig, UdpLoadConfig,
};
use airpace_api::keys::PublicKey;
use airpace_config::quantity::{Rate, Size};
use airpace_core::pace::Account;
use airpace_core::report::{Answers, LevelSource, OtherNetworks, SenderView, SlotReport};
use airpace_core::wire::report;
use airpace_units::{BitRate, StationId, Time};

fn config(stations: u8) -> ProxyConfig {
    let station = |n: u8| StationConfig {
        name: format!("station{n}"),
        public_key: PublicKey([n; 32]),
        address: IpAddr::V4(Ipv4Addr::new(10, 77, 0, 2 + n)),
        weight: 1.0,
        ..StationConfig::default()
    };
    ProxyConfig {
        listen: "127.0.0.1:5000".parse().expect("valid"),
        private_key: None,
        private_key_file: None,
        telemetry: Some("records are wanted".into()),
        telemetry_detail: TelemetryDetail::Slots,
        realtime: false,
        tun: TunConfig {
            name: "airpace0".to_owned(),
            address: "10.77.0.1/24".parse().expect("valid"),
            mtu: Size::from_bytes(1420),
            copy_dscp: true,
            ..TunConfig::default()
        },
        control: ControlConfig::default(),
        queue: QueueConfig::default(),
        l4s: true,
        fallback: FallbackConfig::default(),
        udp_load: None,
        interactive: None,
        interactive_budget: None,
        station: (0..stations).map(station).collect(),
        ..ProxyConfig::default()
    }
}

fn core(config: ProxyConfig) -> PacketProxy {
    PacketProxy::new(&config, Duration::from_secs(1_700_000_000), [3; 16]).expect("valid")
}

/// A UDP packet of `bytes` for a station, of flow `port`.
fn packet(now: Time, station: u8, port: u16, bytes: usize) -> PacketBuf {
    let mut packet = vec![0; bytes];
    packet[0] = 0x45;
    packet[2..4].copy_from_slice(&(bytes as u16).to_be_bytes());
    packet[9] = 17;
    packet[12..16].copy_from_slice(&[192, 0, 2, 1]);
    packet[16..20].copy_from_slice(&[10, 77, 0, 2 + station]);
    packet[20..22].copy_from_slice(&port.to_be_bytes());
    PacketBuf::new(now, packet)
}

/// A report of a slot in which frames of `level` packets came every `round_ms`.
fn report_bytes(station: u32, slot: u64, level: u32, round_ms: f64) -> Vec<u8> {
    let frames = (100.0 / round_ms) as u32;
    let last = Time::ZERO + Duration::from_secs_f64(f64::from(frames - 1) * round_ms / 1e3);
    let report = SlotReport {
        station: StationId(station),
        slot,
        length: Duration::from_millis(100),
        frames,
        mpdus: frames * level,
        packets: frames * level,
        longest_frame: 0,
        bytes: u64::from(frames * level) * 1488,
        span: Some((Time::ZERO, last)),
        inverse_rate_sum: f64::from(frames) / 390e6,
        recent_inverse_rate: 0.0,
        lost: 0,
        late: 0,
        wait: None,
        transit: None,
        others: OtherNetworks::Unknown,
        airtime_bps: None,
        answers: Answers::Tell,
        upload_bps: None,
        source: LevelSource::AmpduReference,
        sensor: airpace_core::report::Sensor::Agent,
        confidence: 1.0,
        sender: SenderView::default(),
    };
    report::encode(&report).to_vec()
}

/// Runs until `end`, with a source that keeps `backlog` packets waiting; returns the bytes sent to
/// each station.
fn run(proxy: &mut PacketProxy, start: Time, end: Time, backlog: &[u8]) -> Vec<u64> {
    let mut sent = vec![0; 4];
    let mut now = start;
    while now < end {
        proxy.handle_timeout(now);
        for &station in backlog {
            for _ in 0..4 {
                proxy.on_packet(now, packet(now, station, 7, 1400));
            }
        }
        while let Some(output) = proxy.poll(now) {
            match output {
                Output::Packet {
                    station, packet, ..
                } => {
                    sent[station] += packet.as_bytes().len() as u64 + 68;
                    proxy.pool().put(packet);
                }
                Output::Load { station, body } => sent[station] += body as u64 + 68,
            }
        }
        now = proxy
            .deadline()
            .expect("slots never end")
            .max(now + Duration::from_micros(50))
            .min(now + Duration::from_millis(1));
    }
    sent
}

fn mbps(bytes: u64, span: Duration) -> f64 {
    bytes as f64 * 8.0 / span.as_secs_f64() / 1e6
}

const SLOT: Duration = Duration::from_millis(100);

#[test]
fn packets_for_nobody_and_for_absent_stations_are_dropped_and_counted() {
    let mut proxy = core(config(1));
    let now = Time::ZERO;
    proxy.on_packet(now, packet(now, 0, 7, 1400));
    proxy.on_packet(now, packet(now, 9, 7, 1400));
    proxy.on_packet(now, PacketBuf::new(now, vec![0x45; 3]));
    proxy.on_packet(now, PacketBuf::new(now, Vec::new()));
    assert_eq!((proxy.counts().away, proxy.counts().unroutable), (1, 3));
    assert!(proxy.poll(now).is_none());
}

#[test]
fn a_new_station_is_paced_at_the_initial_rate_until_it_reports() {
    let mut proxy = core(config(1));
    proxy.set_connected(Time::ZERO, 0, true);
    assert_eq!(proxy.mode(0), Some(Mode::Starting));
    let sent = run(&mut proxy, Time::ZERO, Time::from_millis(300), &[0]);
    let rate = mbps(sent[0], Duration::from_millis(300));
    assert!((rate - 20.0).abs() < 1.0, "{rate} Mbit/s");
    assert_eq!(proxy.mode(0), Some(Mode::Starting));
}

#[test]
fn reports_put_the_law_in_charge() {
    let mut proxy = core(config(1));
    proxy.set_connected(Time::ZERO, 0, true);
    let mut now = Time::ZERO;
    let mut sent = 0;
    for slot in 0..10 {
        sent = run(&mut proxy, now, now + SLOT, &[0])[0];
        now += SLOT;
        // What a station at 390 Mbit/s and 200 µs of overhead would see at level 32: 32 packets of
        // 31 µs each.
        proxy.on_report(now, 0, &report_bytes(0, slot, 32, 1.19));
    }
    assert_eq!(proxy.mode(0), Some(Mode::Controlled));
    let rate = mbps(sent, SLOT);
    assert!((250.0..350.0).contains(&rate), "{rate} Mbit/s");
    let records: Vec<_> = std::iter::from_fn(|| proxy.poll_record()).collect();
    let last = records.last().expect("a record per slot");
    assert_eq!(
        (last.mode.as_str(), last.station.as_str()),
        ("controlled", "station0")
    );
    assert_eq!(last.level, Some(32.0));
    assert!(
        (last.sent_mbps - rate).abs() < 0.05 * rate,
        "{} and {rate}",
        last.sent_mbps
    );
    assert!(last.backlog_packets > 0 && last.sojourn_p50_ms.is_some());
    assert!((last.unix_s - 1_700_000_000.0 - last.time_s).abs() < 1e-3);
}

#[test]
fn missing_reports_lead_to_a_conservative_rate_then_to_none_and_the_next_report_back() {
    let mut proxy = core(config(1));
    proxy.set_connected(Time::ZERO, 0, true);
    let mut now = Time::ZERO;
    for slot in 0..5 {
        run(&mut proxy, now, now + SLOT, &[0]);
        now += SLOT;
        proxy.on_report(now, 0, &report_bytes(0, slot, 32, 1.19));
    }
    assert_eq!(proxy.mode(0), Some(Mode::Controlled));
    // Five slots without a report, one and a half more until it is looked at.
    run(&mut proxy, now, now + SLOT * 7, &[0]);
    now += SLOT * 7;
    assert_eq!(proxy.mode(0), Some(Mode::Conservative));
    let sent = run(&mut proxy, now, now + SLOT, &[0]);
    assert!(
        (mbps(sent[0], SLOT) - 10.0).abs() < 1.0,
        "{} Mbit/s",
        mbps(sent[0], SLOT)
    );
    now += SLOT;
    run(&mut proxy, now, now + SLOT * 45, &[]);
    now += SLOT * 45;
    assert_eq!(proxy.mode(0), Some(Mode::Unshaped));
    proxy.on_packet(now, packet(now, 0, 7, 1400));
    let burst = run(&mut proxy, now, now + Duration::from_millis(1), &[]);
    assert!(burst[0] > 0, "everything passes at once");
    proxy.on_report(now, 0, &report_bytes(0, 99, 32, 1.19));
    // The slots that ended without a report are decisions too: the next may be half a slot away.
    let decided = now + SLOT / 2 + Duration::from_millis(1);
    run(&mut proxy, now, decided, &[]);
    proxy.handle_timeout(decided);
    assert_eq!(proxy.mode(0), Some(Mode::Controlled));
    let modes: Vec<_> = std::iter::from_fn(|| proxy.poll_record())
        .map(|record| record.mode)
        .collect();
    let mut changes = modes.clone();
    changes.dedup();
    assert_eq!(
        changes,
        ["controlled", "conservative", "unshaped", "controlled"],
        "{modes:?}"
    );
}

#[test]
fn malformed_and_repeated_reports_are_counted_and_change_nothing() {
    let mut proxy = core(config(1));
    proxy.set_connected(Time::ZERO, 0, true);
    let good = report_bytes(0, 1, 32, 1.19);
    proxy.on_report(Time::from_millis(100), 0, &good);
    proxy.on_report(Time::from_millis(200), 0, &good);
    proxy.on_report(Time::from_millis(200), 0, &good[..20]);
    proxy.on_report(Time::from_millis(200), 0, &[0xff; 64]);
    proxy.on_report(Time::from_millis(200), 7, &good);
    assert_eq!(proxy.counts().bad_reports, 3);
}

#[test]
fn the_law_waits_for_all_stations_but_not_for_long() {
    let mut proxy = core(config(2));
    for station in 0..2 {
        proxy.set_connected(Time::ZERO, station, true);
    }
    run(&mut proxy, Time::ZERO, Time::ZERO + SLOT, &[0, 1]);
    for station in 0..2 {
        proxy.on_report(
            Time::from_millis(100),
            station,
            &report_bytes(station as u32, 0, 2, 1.5),
        );
    }
    while proxy.poll_record().is_some() {}
    run(
        &mut proxy,
        Time::ZERO + SLOT,
        Time::from_millis(190),
        &[0, 1],
    );
    proxy.on_report(Time::from_millis(200), 0, &report_bytes(0, 1, 2, 1.5));
    assert!(
        proxy.poll_record().is_none(),
        "the other report is still to come"
    );
    proxy.handle_timeout(Time::from_millis(251));
    let records: Vec<_> = std::iter::from_fn(|| proxy.poll_record()).collect();
    assert_eq!(
        records.iter().map(|r| r.level).collect::<Vec<_>>(),
        [Some(2.0), None]
    );
}

#[test]
fn a_sparse_flow_passes_a_standing_queue() {
    let mut proxy = core(config(1));
    proxy.set_connected(Time::ZERO, 0, true);
    for _ in 0..200 {
        proxy.on_packet(Time::ZERO, packet(Time::ZERO, 0, 7, 1400));
    }
    run(&mut proxy, Time::ZERO, Time::from_millis(20), &[]);
    let now = Time::from_millis(20);
    proxy.on_packet(now, packet(now, 0, 99, 84));
    let mut at = now;
    let first = loop {
        if let Some(Output::Packet { packet, .. }) = proxy.poll(at) {
            break packet;
        }
        at += Duration::from_micros(50);
    };
    assert_eq!(first.as_bytes().len(), 84);
    // One packet's time at 20 Mbit/s is 0.6 ms.
    assert!(
        at.since(now) < Duration::from_millis(1),
        "{:?}",
        at.since(now)
    );
}

#[test]
fn stations_share_the_loop_fairly_and_each_keeps_its_rate() {
    let mut config = config(3);
    config.control.law = LawChoice::Fixed;
    config.control.fixed_rate = Some(Rate(BitRate::from_mbps(50)));
    let mut proxy = core(config);
    for station in 0..3 {
        proxy.set_connected(Time::ZERO, station, true);
    }
    let span = Duration::from_millis(500);
    let sent = run(&mut proxy, Time::ZERO, Time::ZERO + span, &[0, 1, 2]);
    for (station, &bytes) in sent.iter().take(3).enumerate() {
        let rate = mbps(bytes, span);
        assert!(
            (rate - 50.0).abs() < 2.0,
            "station {station}: {rate} Mbit/s"
        );
    }
}

#[test]
fn load_fills_the_granted_rate_and_leaves_real_packets_their_place() {
    let mut config = config(1);
    config.control.law = LawChoice::Fixed;
    config.control.fixed_rate = Some(Rate(BitRate::from_mbps(100)));
    config.udp_load = Some(UdpLoadConfig::default());
    let mut proxy = core(config);
    proxy.set_connected(Time::ZERO, 0, true);
    let span = Duration::from_millis(500);
    let sent = run(&mut proxy, Time::ZERO, Time::ZERO + span, &[]);
    assert!(
        (mbps(sent[0], span) - 100.0).abs() < 2.0,
        "{} Mbit/s",
        mbps(sent[0], span)
    );
    let mut now = Time::ZERO + span;
    proxy.on_packet(now, packet(now, 0, 7, 84));
    loop {
        match proxy.poll(now) {
            Some(Output::Packet { .. }) => break,
            Some(Output::Load { body, .. }) => {
                assert_eq!(body, 1422);
                panic!("load went before a packet");
            }
            None => now += Duration::from_micros(50),
        }
    }
    proxy.set_connected(now, 0, false);
    assert!(
        proxy.poll(now + Duration::from_secs(1)).is_none(),
        "no load without a session"
    );
}

#[test]
fn pacing_wakes_for_groups_of_packets_and_loses_no_rate_when_it_wakes_late() {
    let mut config = config(1);
    config.control.law = LawChoice::Fixed;
    config.control.fixed_rate = Some(Rate(BitRate::from_mbps(600)));
    let mut proxy = core(config);
    proxy.set_connected(Time::ZERO, 0, true);
    for n in 0..20_000 {
        proxy.on_packet(Time::ZERO, packet(Time::ZERO, 0, n, 1400));
    }
    let (mut now, mut bytes, mut wakes) = (Time::ZERO, 0, 0_usize);
    while now < Time::from_millis(100) {
        while let Some(Output::Packet { packet, .. }) = proxy.poll(now) {
            bytes += packet.as_bytes().len() as u64 + 68;
        }
        wakes += 1;
        // Each wake-up is late by 0.1 to 0.7 ms.
        let late = Duration::from_micros([100, 700, 300][wakes % 3]);
        now = proxy.deadline().expect("packets wait").max(now) + late;
    }
    let rate = mbps(bytes, Duration::from_millis(100));
    assert!((580.0..620.0).contains(&rate), "{rate} Mbit/s");
    assert!(wakes < 1_000, "{wakes} wake-ups in 100 ms");
}

#[test]
fn a_stall_of_the_loop_is_followed_by_a_millisecond_worth_of_packets_and_no_more() {
    let mut config = config(1);
    config.control.law = LawChoice::Fixed;
    config.control.fixed_rate = Some(Rate(BitRate::from_mbps(600)));
    let mut proxy = core(config);
    proxy.set_connected(Time::ZERO, 0, true);
    for n in 0..5_000 {
        proxy.on_packet(Time::ZERO, packet(Time::ZERO, 0, n, 1400));
    }
    run(&mut proxy, Time::ZERO, Time::from_millis(10), &[]);
    let now = Time::from_millis(60);
    let mut bytes = 0;
    while let Some(Output::Packet { packet, .. }) = proxy.poll(now) {
        bytes += packet.as_bytes().len() as u64 + 68;
    }
    // 75 kB per millisecond, the packet that ends the burst, and one of a sparse flow ahead of it.
    assert!(
        (70_000..=75_000 + 2 * 1_468).contains(&bytes),
        "{bytes} bytes after a stall of 50 ms"
    );
}

/// The rate granted to a station that connects at `start` and reports a slot in which it had a
/// backlog.
fn rate_after_first_report(start: Time) -> f64 {
    let mut proxy = core(config(1));
    proxy.handle_timeout(start);
    proxy.set_connected(start, 0, true);
    run(&mut proxy, start, start + SLOT, &[0]);
    proxy.on_report(start + SLOT, 0, &report_bytes(0, 0, 4, 1.19));
    let records: Vec<_> = std::iter::from_fn(|| proxy.poll_record()).collect();
    records
        .last()
        .and_then(|record| record.rate_pps)
        .expect("a rate")
}

#[test]
fn a_station_that_joins_late_is_granted_as_much_as_one_that_was_there_from_the_start() {
    let (first, late) = (
        rate_after_first_report(Time::ZERO),
        rate_after_first_report(Time::from_millis(100_000)),
    );
    assert!((late / first - 1.0).abs() < 1e-6, "{late} and {first}");
}

#[test]
fn a_report_on_the_heels_of_a_late_one_does_not_hide_a_backlog() {
    let ms = Time::from_millis;
    let mut account = Account::new(ms(0));
    account.wait(ms(10));
    // Packets waited all the time until 199 ms, when the late report came; the next is punctual.
    account.empty(ms(199));
    assert!(account.close(ms(199), SLOT, 1).backlogged);
    account.sent(1500, false);
    let view = account.close(ms(200), SLOT, 1);
    assert!(view.backlogged, "1 ms tells nothing");
    assert_eq!(
        (view.sent_packets, view.sent_bytes),
        (1, 1500),
        "sums are left alone"
    );
    assert!(
        !account.close(ms(300), SLOT, 1).backlogged,
        "a whole slot tells all"
    );
}

#[test]
fn load_without_a_rate_neither_floods_nor_keeps_the_loop_awake_and_comes_back_with_the_reports() {
    let mut config = config(1);
    config.udp_load = Some(UdpLoadConfig::default());
    let mut proxy = core(config);
    proxy.set_connected(Time::ZERO, 0, true);
    run(&mut proxy, Time::ZERO, Time::from_millis(6_000), &[]);
    assert_eq!(proxy.mode(0), Some(Mode::Unshaped));
    let now = Time::from_millis(6_000);
    assert!(proxy.poll(now).is_none());
    proxy.handle_timeout(now);
    assert!(proxy.deadline().expect("slots never end") > now + Duration::from_millis(10));
    proxy.on_report(now, 0, &report_bytes(0, 0, 32, 1.19));
    let sent = run(&mut proxy, now, now + SLOT, &[]);
    assert!(sent[0] > 100_000, "{} bytes", sent[0]);
}

#[test]
fn reports_of_longer_slots_are_not_missed_between_them() {
    let mut proxy = core(config(1));
    proxy.set_connected(Time::ZERO, 0, true);
    let mut now = Time::ZERO;
    for slot in 0..5 {
        let mut report =
            report::decode(StationId(0), &report_bytes(0, slot, 32, 1.19)).expect("valid");
        report.length = Duration::from_millis(1_000);
        proxy.on_report(now, 0, &report::encode(&report));
        run(&mut proxy, now, now + SLOT * 10, &[]);
        now += SLOT * 10;
        assert_eq!(proxy.mode(0), Some(Mode::Controlled), "slot {slot}");
    }
    run(&mut proxy, now, now + SLOT * 50, &[]);
    assert_eq!(proxy.mode(0), Some(Mode::Conservative), "five of its slots");
}

#[test]
fn records_tell_of_a_delay_target_that_cannot_be_met() {
    let mut config = config(1);
    config.control.delay_target = Some("200 us".parse().expect("valid"));
    let mut proxy = core(config);
    proxy.set_connected(Time::ZERO, 0, true);
    run(&mut proxy, Time::ZERO, Time::ZERO + SLOT, &[0]);
    proxy.on_report(Time::ZERO + SLOT, 0, &report_bytes(0, 0, 32, 1.19));
    let record = std::iter::from_fn(|| proxy.poll_record())
        .last()
        .expect("a record");
    let least = record
        .smallest_delay_ms
        .expect("200 us are too little for a frame");
    assert!((0.2..1.0).contains(&least), "{least} ms");
    assert_eq!(proxy.diagnostics().smallest_delay_s, Some(least / 1e3));
}
