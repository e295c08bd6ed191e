//! Several access points behind one box, and stations that go from one to another.

use super::ethernet::{Wire, ethernet, goodput};
use super::start;
use airpace_core::wire::ieee80211::MacAddr;
use airpace_emu::{
    AccessPointConfig, AirConfig, EmulatorConfig, EmulatorError, bssid, station_address,
};
use airpace_units::StationId;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A cell of two stations, the second of which begins at the second access point.
fn two_access_points() -> EmulatorConfig {
    let mut config = ethernet(&[9, 9]);
    let air = |name: &str| AirConfig {
        interface: name.to_owned(),
        ..AirConfig::default()
    };
    config.air = Some(air("air0"));
    config.further_access_points = vec![AccessPointConfig {
        port: "ap1".to_owned(),
        air: Some(air("air1")),
    }];
    config.home = vec![0, 1];
    config
}

#[test]
fn access_points_have_channels_of_their_own() {
    let Some(emulator) = start(two_access_points()) else {
        return;
    };
    let length = Duration::from_secs(1);
    let mut mbps = [0.0; 2];
    std::thread::scope(|scope| {
        for (station, mbps) in mbps.iter_mut().enumerate() {
            let emulator = &emulator;
            scope.spawn(move || *mbps = goodput(emulator, station, length));
        }
    });
    let middle = emulator.network().box_namespace().unwrap();
    for (index, name) in ["air0", "air1"].into_iter().enumerate() {
        let heard = Wire::open(middle, name).frames(250);
        let with_address = |address: usize| {
            let contains = |frame: &&Vec<u8>| frame.windows(6).any(|six| six == bssid(address).0);
            heard.iter().filter(contains).count()
        };
        assert!(with_address(index) >= 2, "beacons on {name}");
        assert_eq!(with_address(1 - index), 0, "{name}");
    }
    let report = emulator.stop().unwrap();
    println!("{mbps:?} {:?}", report.lag);
    // On one channel each would have half of that.
    assert!(mbps.iter().all(|&mbps| mbps > 190.0), "{mbps:?}");
}

/// Two access points as above, on one channel.
fn one_channel() -> EmulatorConfig {
    EmulatorConfig {
        channels: vec![36, 36],
        ..two_access_points()
    }
}

/// Returns whether a frame behind a radiotap header is a block ack to this address.
fn is_block_ack_to(frame: &[u8], receiver: MacAddr) -> bool {
    let header = usize::from(u16::from_le_bytes([frame[2], frame[3]]));
    // Frame control, duration, receiver.
    frame[header] == 0x94 && frame[header + 4..header + 10] == receiver.0
}

#[test]
fn access_points_on_one_channel_share_it_and_everybody_hears_both() {
    let Some(emulator) = start(one_channel()) else {
        return;
    };
    let length = Duration::from_secs(5);
    let mut mbps = [0.0; 2];
    let middle = emulator.network().box_namespace().unwrap();
    // The first packet to a station may be lost, and is repeated a second later: without this the
    // downloads would not begin together.
    for station in 0..2 {
        goodput(&emulator, station, Duration::from_millis(50));
    }
    std::thread::scope(|scope| {
        for (station, mbps) in mbps.iter_mut().enumerate() {
            let emulator = &emulator;
            scope.spawn(move || *mbps = goodput(emulator, station, length));
        }
        // A radio near one access point hears what is acknowledged to either.
        // On a busy machine one load begins long after the other.
        for name in ["air0", "air1"] {
            let heard = Wire::open(middle, name).frames(2000);
            for address in 0..2 {
                let block_ack = |frame: &&Vec<u8>| is_block_ack_to(frame, bssid(address));
                let count = heard.iter().filter(block_ack).count();
                assert!(count > 20, "{count} to access point {address} on {name}");
            }
        }
    });
    let monitors = [
        (middle, "air0"),
        (middle, "air1"),
        (emulator.network().station(0), "mon0"),
        (emulator.network().station(1), "mon0"),
    ];
    for (namespace, name) in monitors {
        let heard = Wire::open(namespace, name).frames(250);
        for address in 0..2 {
            let contains = |frame: &&Vec<u8>| frame.windows(6).any(|six| six == bssid(address).0);
            assert!(
                heard.iter().filter(contains).count() >= 2,
                "beacons of access point {address} on {name}"
            );
        }
    }
    let report = emulator.stop().unwrap();
    let airtime = [0, 1].map(|station| report.stations[station].airtime);
    println!("{mbps:?} {airtime:?} {:?}", report.lag);
    // A download alone has 300 Mbit/s.
    assert!(mbps.iter().sum::<f64>() < 330.0, "{mbps:?}");
    let share = airtime[0] / (airtime[0] + airtime[1]);
    assert!((share - 0.5).abs() < 0.1, "{airtime:?}");
    let collisions = |station: usize| report.stations[station].down.collisions;
    assert!(collisions(0) > 0 && collisions(1) > 0);
}

#[test]
fn a_station_that_roams_to_another_channel_keeps_its_connections() {
    roam(two_access_points());
}

#[test]
fn a_station_that_roams_on_its_channel_keeps_its_connections() {
    roam(one_channel());
}

/// Lets a station go to and fro while packets are exchanged with it.
fn roam(config: EmulatorConfig) {
    let Some(emulator) = start(config) else {
        return;
    };
    let network = emulator.network();
    let address = (station_address(0), 7);
    let echo = network
        .station(0)
        .run(|| UdpSocket::bind(address).unwrap())
        .unwrap();
    echo.set_read_timeout(Some(Duration::from_millis(100)))
        .unwrap();
    let socket = network
        .server()
        .run(|| UdpSocket::bind("10.77.0.1:0").unwrap())
        .unwrap();
    socket
        .set_read_timeout(Some(Duration::from_millis(500)))
        .unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&is_over);
    let echoing = std::thread::spawn(move || {
        let mut buffer = [0; 100];
        while !stop.load(Ordering::Relaxed) {
            if let Ok((n, from)) = echo.recv_from(&mut buffer) {
                echo.send_to(&buffer[..n], from).unwrap();
            }
        }
    });
    let mut lost = 0;
    for number in 0..200_u8 {
        // At other times than those at which packets are under way.
        match number {
            50 | 150 => emulator.roam(StationId(0), 1),
            100 => emulator.roam(StationId(0), 0),
            // These change nothing.
            120 => emulator.roam(StationId(0), 9),
            130 => emulator.roam(StationId(7), 1),
            _ => {}
        }
        std::thread::sleep(Duration::from_millis(5));
        socket.send_to(&[number; 50], address).unwrap();
        lost += u32::from(socket.recv(&mut [0; 100]).is_err());
    }
    is_over.store(true, Ordering::Relaxed);
    echoing.join().unwrap();
    // On a busy machine a packet is under way at each of the three moves.
    assert!(lost <= 3, "{lost} lost");
    // A station at the same access point and one that is not there reach each other.
    let other = network
        .station(1)
        .run(|| UdpSocket::bind((station_address(1), 9)).unwrap())
        .unwrap();
    other
        .set_read_timeout(Some(Duration::from_secs(2)))
        .unwrap();
    let mut buffer = [0; 100];
    for access_point in [0, 1] {
        emulator.roam(StationId(0), access_point);
        std::thread::sleep(Duration::from_millis(20));
        let socket = network
            .station(0)
            .run(|| UdpSocket::bind((station_address(0), 0)).unwrap())
            .unwrap();
        let begun = Instant::now();
        socket
            .send_to(b"neighbour", (station_address(1), 9))
            .unwrap();
        assert_eq!(other.recv(&mut buffer).unwrap(), 9, "{:?}", begun.elapsed());
    }
    let report = emulator.stop().unwrap();
    assert!(
        report.stations[0].down.packets >= 199,
        "both cells are counted"
    );
}

#[test]
fn impossible_access_points_are_refused() {
    let refused = |change: fn(&mut EmulatorConfig)| {
        let mut config = two_access_points();
        change(&mut config);
        let error = config.validate().unwrap_err();
        assert!(error.is_bad_input() && !error.to_string().contains('\n'));
        error
    };
    assert!(matches!(
        refused(|config| config.home = vec![0, 2]),
        EmulatorError::UnknownAccessPoint(2)
    ));
    refused(|config| config.layer = airpace_emu::Layer::Ip);
    refused(|config| config.dtim_period = 0);
    refused(|config| config.air.as_mut().unwrap().data_loss = 1.5);
    refused(|config| config.channels = vec![1]);
    refused(|config| config.air.as_mut().unwrap().snr_db = vec![20.0]);
    refused(|config| config.air.as_mut().unwrap().snr_db = vec![20.0, f64::NAN]);
    refused(|config| {
        let one = config.further_access_points[0].clone();
        config.further_access_points = vec![one; 8];
    });
}
