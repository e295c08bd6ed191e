//! What monitor interfaces show besides data, and what a third radio hears.

use super::ethernet::{Wire, ethernet};
use super::{config, start};
use airpace_core::wire::control::{BlockAck, ControlFrame};
use airpace_core::wire::ieee80211::{DataHeader, MacAddr};
use airpace_core::wire::radiotap::Radiotap;
use airpace_emu::{
    AirConfig, BSSID, Emulator, EmulatorConfig, FrameLog, TrueLevel, station_address, station_mac,
};
use airpace_sim::mac::Direction;
use airpace_units::{StationId, Time};
use std::net::UdpSocket;
use std::time::Duration;

/// What a monitor interface has shown.
#[derive(Default, Debug)]
struct Shown {
    /// Start, bitmap and time of the block acks of the first station.
    block_acks: Vec<(u16, Vec<u8>, u64)>,
    acks: usize,
    rts: Vec<u64>,
    cts: Vec<u64>,
    beacons: Vec<u64>,
    unicast: usize,
    group: usize,
    /// Everything in the order in which it was shown: its time and rate.
    times: Vec<u64>,
}

impl Shown {
    fn of(frames: &[Vec<u8>]) -> Self {
        let mut shown = Self::default();
        for frame in frames {
            shown.add(frame);
        }
        shown
    }

    fn add(&mut self, bytes: &[u8]) {
        let (radiotap, at) = Radiotap::parse(bytes).unwrap();
        let (time, frame) = (radiotap.tsft_us.unwrap(), &bytes[at..]);
        self.times.push(time);
        if let Ok((header, _)) = DataHeader::parse(frame) {
            if header.receiver.0[0] & 1 == 1 {
                assert!(radiotap.legacy_rate.is_some() && header.tid.is_none());
                self.group += 1;
            } else {
                self.unicast += 1;
            }
            return;
        }
        assert!(radiotap.legacy_rate.is_some(), "a legacy rate");
        if frame[0] == 0x80 {
            assert_eq!(&frame[10..16], &BSSID.0);
            return self.beacons.push(time);
        }
        match ControlFrame::parse(frame).unwrap() {
            ControlFrame::BlockAck(BlockAck {
                receiver,
                transmitter,
                start,
                bitmap,
                ..
            }) if transmitter == station_mac(0) => {
                assert_eq!(receiver, BSSID);
                self.block_acks.push((start, bitmap.to_vec(), time));
            }
            ControlFrame::Ack { .. } => self.acks += 1,
            ControlFrame::Rts {
                receiver,
                transmitter,
                duration_us,
            } => {
                assert_eq!((receiver, transmitter), (station_mac(0), BSSID));
                assert!(duration_us > 100);
                self.rts.push(time);
            }
            ControlFrame::Cts { receiver, .. } => {
                assert_eq!(receiver, BSSID);
                self.cts.push(time);
            }
            other => assert!(matches!(other, ControlFrame::BlockAck(_)), "{other:?}"),
        }
    }

    /// The highest sequence number of each block ack.
    fn highest(&self) -> Vec<u16> {
        let highest = |(start, bitmap, _): &(u16, Vec<u8>, u64)| {
            let block_ack = BlockAck {
                receiver: BSSID,
                transmitter: MacAddr::default(),
                tid: 0,
                start: *start,
                bitmap,
            };
            block_ack.highest().unwrap()
        };
        self.block_acks.iter().map(highest).collect()
    }
}

fn with_air(mut config: EmulatorConfig, data_loss: f64, control_loss: f64) -> EmulatorConfig {
    config.air = Some(AirConfig {
        data_loss,
        control_loss,
        ..AirConfig::default()
    });
    config
}

/// Sends bursts of datagrams to the first station and returns when all have arrived.
fn send_bursts(emulator: &Emulator, bursts: usize, datagrams: usize) {
    let network = emulator.network();
    let socket = network
        .station(0)
        .run(|| UdpSocket::bind((station_address(0), 9)).unwrap())
        .unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(2)))
        .unwrap();
    let server = network
        .server()
        .run(|| UdpSocket::bind("10.77.0.1:0").unwrap())
        .unwrap();
    for _ in 0..bursts {
        for _ in 0..datagrams {
            server
                .send_to(&[1; 1_000], (station_address(0), 9))
                .unwrap();
        }
        for _ in 0..datagrams {
            socket.recv(&mut [0; 2_000]).unwrap();
        }
    }
}

#[test]
fn a_third_radio_hears_block_acks_protection_and_beacons_but_no_data() {
    let mut config = with_air(ethernet(&[9, 9]), 1.0, 0.0);
    config.rts_threshold = Some(4_000);
    let Some(emulator) = start(config) else {
        return;
    };
    let network = emulator.network();
    let mut air = Wire::open(network.box_namespace().unwrap(), "air0");
    let mut own = Wire::open(network.station(0), "mon0");
    let mut other = Wire::open(network.station(1), "mon0");
    send_bursts(&emulator, 20, 20);
    let air = Shown::of(&air.frames(300));
    let own = Shown::of(&own.frames(20));
    let other = Shown::of(&other.frames(20));
    let report = emulator.stop().unwrap();
    let frames = report.stations[0].down.frames as usize;
    assert!(
        air.block_acks.len() > 10 && air.block_acks.len() <= frames,
        "{air:?}"
    );
    assert_eq!(air.unicast, 0);
    assert!(air.rts.len() > 10);
    assert_eq!(air.rts.len(), air.cts.len());
    assert!(air.beacons.len() >= 2, "{:?}", air.beacons);
    for pair in air.beacons.windows(2) {
        // A beacon waits for the frame that is on the air.
        assert!((pair[1] - pair[0]).abs_diff(102_400) < 6_000, "{pair:?}");
    }
    assert!(
        air.times.is_sorted(),
        "everything is shown in the order of the air"
    );
    // The other station hears the same; the station itself does not hear what it sends.
    assert_eq!(other.block_acks.len(), air.block_acks.len());
    assert!(own.block_acks.is_empty() && own.cts.is_empty());
    assert_eq!(own.rts.len(), air.rts.len());
    assert!(own.unicast >= 400);
}

#[test]
fn block_acks_advance_as_the_access_point_sends() {
    let log = FrameLog::new();
    let mut config = with_air(ethernet(&[9]), 0.0, 0.0);
    config.cell.stations[0].loss = 0.1;
    if start(config.clone()).is_none() {
        return;
    }
    let emulator = Emulator::start(config, log.clone()).unwrap();
    let mut air = Wire::open(emulator.network().box_namespace().unwrap(), "air0");
    send_bursts(&emulator, 10, 64);
    let shown = Shown::of(&air.frames(50));
    let end = emulator.clock().now();
    let truth = log.level(StationId(0), Time::ZERO, end);
    let report = emulator.stop().unwrap();
    let records = log.take();
    assert_eq!(
        truth,
        TrueLevel::of(&records, StationId(0), Time::ZERO, end)
    );
    let answered = |frame: &&airpace_sim::mac::FrameRecord| {
        frame.direction() == Direction::Down
            && frame.station() == StationId(0)
            && frame.decoded > 0
            && frame.mpdus > 1
    };
    let frames: Vec<_> = records.iter().filter(answered).collect();
    assert_eq!(shown.block_acks.len(), frames.len());
    for (frame, (_, _, time)) in frames.iter().zip(&shown.block_acks) {
        assert_eq!(frame.end.as_nanos() / 1_000 + 16, *time);
    }
    // Between the first and the last block ack, the highest number advances by what was sent.
    let highest = shown.highest();
    let advance = highest
        .windows(2)
        .map(|w| u64::from(w[1].wrapping_sub(w[0]) & 0xfff))
        .sum::<u64>();
    assert!(
        advance > 500 && advance <= report.stations[0].down.packets,
        "{advance}"
    );
    assert!(
        highest
            .windows(2)
            .all(|w| w[1].wrapping_sub(w[0]) & 0xfff < 65)
    );
    assert!(
        truth.retries > 20 && truth.level.unwrap() > 2.0,
        "{truth:?}"
    );
}

#[test]
fn a_third_radio_misses_frames_with_the_given_probabilities() {
    let Some(emulator) = start(with_air(ethernet(&[9]), 0.5, 0.5)) else {
        return;
    };
    let network = emulator.network();
    let mut air = Wire::open(network.box_namespace().unwrap(), "air0");
    send_bursts(&emulator, 100, 8);
    let shown = Shown::of(&air.frames(50));
    let report = emulator.stop().unwrap();
    let (frames, packets) = (
        report.stations[0].down.frames as f64,
        report.stations[0].down.packets as f64,
    );
    let answers = (shown.block_acks.len() + shown.acks) as f64 / frames;
    let data = shown.unicast as f64 / packets;
    println!("{frames} frames: {answers} of the answers, {data} of the packets");
    assert!((0.3..0.7).contains(&answers) && (0.3..0.7).contains(&data));
}

#[test]
fn cells_of_ip_packets_show_no_control_frames_unless_asked() {
    for control_frames in [false, true] {
        let mut config = config(&[9]);
        config.control_frames = control_frames;
        let Some(emulator) = start(config) else {
            return;
        };
        let mut monitor = Wire::open(emulator.network().station(0), "mon0");
        send_bursts(&emulator, 3, 10);
        let shown = Shown::of(&monitor.frames(250));
        assert_eq!(!shown.beacons.is_empty(), control_frames);
        assert_eq!(shown.unicast, 30);
    }
}
