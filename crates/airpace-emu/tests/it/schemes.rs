//! The access point's queueing schemes with real packets.

use super::{config, start, station};
use airpace_core::phy::AccessCategory;
use airpace_emu::{Emulator, EmulatorConfig, Observer};
use airpace_sim::mac::{CellConfig, Direction, DropReason, FrameRecord, Scheme};
use airpace_units::{StationId, Time};
use nix::sys::socket::{setsockopt, sockopt};
use std::net::UdpSocket;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// ECT(0) of RFC 3168, and expedited forwarding of RFC 3246, as values of the IP header's second
/// byte.
const ECT0: i32 = 2;
const EXPEDITED: i32 = 46 << 2;

/// Returns a socket on the wired side whose datagrams have this type of service.
fn sender(emulator: &Emulator, tos: i32) -> UdpSocket {
    let socket = emulator
        .network()
        .server()
        .run(|| UdpSocket::bind("10.77.0.1:0").unwrap())
        .unwrap();
    setsockopt(&socket, sockopt::Ipv4Tos, &tos).unwrap();
    socket
}

/// Sends 48 Mbit/s to `to` for a second and a half, whenever the machine lets this thread run.
fn flood(socket: &UdpSocket, to: &str) {
    let (begun, mut sent) = (Instant::now(), 0);
    while begun.elapsed() < Duration::from_millis(1_500) {
        let due = (begun.elapsed().as_secs_f64() * 4_000.0) as u64;
        for _ in sent..due {
            socket.send_to(&[0; 1_472], to).unwrap();
        }
        sent = due;
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn codel_marks_packets_that_are_ecn_capable_and_their_checksums_stay_correct() {
    // A station at 29 Mbit/s, about half of the load.
    let Some(emulator) = start(config(&[0]).with_access_point(Scheme::FqMac)) else {
        return;
    };
    let receiver = emulator
        .network()
        .station(0)
        .run(|| UdpSocket::bind("10.77.0.10:9").unwrap())
        .unwrap();
    receiver
        .set_read_timeout(Some(Duration::from_millis(500)))
        .unwrap();
    let receiving = std::thread::spawn(move || {
        // The socket's buffer has no room for all of them, so they are read as they arrive.
        core::iter::from_fn(|| receiver.recv(&mut [0; 2_000]).ok()).count() as u64
    });
    flood(&sender(&emulator, ECT0), "10.77.0.10:9");
    let received = receiving.join().unwrap();
    let report = emulator.stop().unwrap();
    let down = &report.stations[0].down;
    println!("{received} received; {down:?}");
    assert_eq!(report.access_point, "fq-mac");
    assert!(
        down.marked > 0 && down.drops.codel == 0,
        "marked, not dropped: {down:?}"
    );
    assert!(
        received + down.marked > down.packets,
        "the kernel drops packets with a wrong checksum: {received} of {down:?}"
    );
}

#[test]
fn codel_drops_packets_that_are_not_ecn_capable_and_the_reasons_add_up() {
    for scheme in [Scheme::Codel, Scheme::FqCodel, Scheme::Airtime] {
        let Some(emulator) = start(config(&[0]).with_access_point(scheme)) else {
            return;
        };
        flood(&sender(&emulator, 0), "10.77.0.10:9");
        let down = emulator.stop().unwrap().stations[0].down;
        println!("{}: {down:?}", scheme.name());
        assert!(
            down.drops.codel > 0 && down.marked == 0,
            "{}: {down:?}",
            scheme.name()
        );
        assert_eq!(down.drops.total(), down.dropped_queue);
        assert_eq!((down.drops.gone, down.drops.other), (0, 0));
    }
}

/// An observer that keeps the access categories of downlink frames.
struct KeptCategories(Arc<Mutex<Vec<AccessCategory>>>);

impl Observer for KeptCategories {
    fn on_frame(&mut self, frame: &FrameRecord) {
        if frame.direction() == Direction::Down {
            self.0.lock().unwrap().push(frame.category);
        }
    }
    fn on_dropped(&mut self, _: Time, _: StationId, _: Direction, _: DropReason) {}
}

/// Returns the access categories in which a best-effort datagram and an expedited one are sent.
fn categories(by_dscp: bool) -> Option<Vec<AccessCategory>> {
    let cell = CellConfig::new(vec![station(9)]);
    let cell = CellConfig {
        category: cell.category.filter(|_| !by_dscp),
        ..cell
    };
    let config = EmulatorConfig::new(cell, 1).with_access_point(Scheme::Airtime);
    // Prints a line if nothing can be tested.
    start(config.clone())?;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let emulator = Emulator::start(config, KeptCategories(Arc::clone(&seen))).unwrap();
    for tos in [0, EXPEDITED] {
        sender(&emulator, tos)
            .send_to(b"datagram", "10.77.0.10:9")
            .unwrap();
        std::thread::sleep(Duration::from_millis(50));
    }
    emulator.stop().unwrap();
    let seen = seen.lock().unwrap().clone();
    Some(seen)
}

#[test]
fn differentiated_services_choose_the_access_category_when_asked() {
    use AccessCategory::{BestEffort, Voice};
    let (Some(plain), Some(by_dscp)) = (categories(false), categories(true)) else {
        return;
    };
    assert_eq!(plain, [BestEffort, BestEffort]);
    assert_eq!(by_dscp, [BestEffort, Voice]);
}
