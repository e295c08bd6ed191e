use super::*;
use crate::network;
use airpace_core::phy::{GuardInterval, Standard, TxRate, Width};
use airpace_net::clock::Clock;
use airpace_sim::mac::{CellConfig, DropReason, FrameRecord, StationConfig};
use core::time::Duration;
use std::sync::{Arc, Mutex};

/// An observer that keeps the frames.
struct KeptFrames(Arc<Mutex<Vec<FrameRecord>>>);

impl Observer for KeptFrames {
    fn on_frame(&mut self, frame: &FrameRecord) {
        self.0.lock().unwrap().push(*frame);
    }
    fn on_dropped(&mut self, _: Time, _: StationId, _: Direction, _: DropReason) {}
}

fn packet() -> EmulatedPacket {
    let mut bytes = [0; 40];
    (bytes[0], bytes[3]) = (0x45, 40);
    EmulatedPacket::copy(&bytes).unwrap()
}

/// A cell with its devices, and the frames that have been on the air.
struct TestCell {
    channel: Channel,
    ports: Ports,
    frames: Arc<Mutex<Vec<FrameRecord>>>,
}

/// Returns a cell of one station with 1 ms of wire; prints a line and returns `None` where the
/// system does not allow namespaces.
fn test_cell() -> Option<TestCell> {
    let rate = TxRate::new(Standard::Vht, Width::Mhz80, 1, 9, GuardInterval::Ns800).unwrap();
    let config = EmulatorConfig::new(CellConfig::new(vec![StationConfig::new(rate)]), 1);
    let Ok((_, devices)) = network::create(&config) else {
        println!("SKIPPED, NOTHING WAS TESTED: no namespaces (try `unshare -rnm cargo test`)");
        return None;
    };
    let frames = Arc::new(Mutex::new(Vec::new()));
    let observer: Box<dyn Observer> = Box::new(KeptFrames(Arc::clone(&frames)));
    let observer = Rc::new(RefCell::new(observer));
    let channel = Channel::new(&config, &[0], None, observer).unwrap();
    let ports = Ports::new(Clock::start(), devices.wired, devices.stations, true);
    Some(TestCell {
        channel,
        ports,
        frames,
    })
}

#[test]
fn a_packet_on_the_wire_comes_before_one_that_is_read_later() {
    let Some(test) = test_cell() else { return };
    let (mut channel, mut ports) = (test.channel, test.ports);
    let station = StationId(0);
    channel.cells[0]
        .wire_down
        .push(Time::ZERO, (Destination::Station(station), packet()));
    // The loop wakes at 5 ms and finds a packet from the station. The one on the wire has reached
    // the access point at 1 ms.
    channel.on_station_packet(Time::from_millis(5), 0, station, packet(), &mut ports);
    channel.advance(Time::from_millis(6), &mut ports);
    let frames = test.frames.lock().unwrap();
    let starts: Vec<_> = frames
        .iter()
        .map(|frame| (frame.direction(), frame.start.as_nanos() / 1_000_000))
        .collect();
    assert_eq!(starts, [(Direction::Down, 1), (Direction::Up, 5)]);
}

#[test]
fn the_lag_of_each_frame_and_each_delivery_is_measured() {
    let Some(test) = test_cell() else { return };
    let (mut channel, mut ports) = (test.channel, test.ports);
    let station = StationId(0);
    channel.cells[0]
        .wire_down
        .push(Time::ZERO, (Destination::Station(station), packet()));
    channel.advance(Time::from_millis(3), &mut ports);
    assert_eq!(
        channel.cells[0].statistics.lag().events,
        2,
        "the frame's end, and its delivery"
    );
    channel.on_station_packet(Time::from_millis(4), 0, station, packet(), &mut ports);
    channel.advance(Time::from_millis(5) + Duration::from_millis(1), &mut ports);
    assert_eq!(
        channel.cells[0].statistics.lag().events,
        4,
        "the frame's end, and what comes out of the wire"
    );
}
