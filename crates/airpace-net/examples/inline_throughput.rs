//! Throughput and added delay of the in-line path without pacing: UDP packets of 1500 bytes from a
//! server through a box to a station, in three namespaces, once through the kernel bridge alone and
//! once through the XDP program and the AF_XDP sockets.
//!
//! ```text
//! cargo run --release -p airpace-net --example inline_throughput [native|generic] [seconds]
//! ```
//!
//! Sender, box and receiver share the cores of the machine. The delay is that of packets sent in
//! bursts of four at a tenth, half and four fifths of the throughput, from the system call that
//! sends them to the one that receives them; what the path adds is the difference to the bridge
//! alone. The station's part of the network stack runs on the box's time, because a virtual pair
//! has no interrupts: about half of the CPU time per packet printed for the box.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "an example, which prints its results"
)]

use airpace_net::bridge::{BridgeChoice, BridgeState};
use airpace_net::clock::Clock;
use airpace_net::inline::{AttachMode, InlineOptions, XdpPath};
use airpace_net::netns::{Namespace, acquire_rights};
use airpace_net::poll::{Interest, Poller};
use airpace_net::udp::{ReceiveBatch, Transmit, UdpOptions, UdpSocket};
use airpace_units::Time;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::io::IoSlice;
use std::net::SocketAddr;
use std::sync::Arc;

/// Payload of a UDP packet of 1500 bytes over IPv4.
const PAYLOAD_BYTES: usize = 1472;
/// Packets sent by one system call: many to find the throughput, few to measure the delay.
const LONG_BURST: usize = 32;
const SHORT_BURST: usize = 4;
const SERVER: &str = "10.9.0.1:7000";
const STATION: &str = "10.9.0.2:7000";
const STATION_MAC: [u8; 6] = [2, 0, 0, 0, 0, 2];

fn main() {
    acquire_rights().unwrap();
    let mut arguments = std::env::args().skip(1);
    let mode = match arguments.next().as_deref() {
        Some("generic") => AttachMode::Generic,
        Some("native") => AttachMode::Native,
        _ => AttachMode::Auto,
    };
    let seconds = arguments.next().map_or(3.0, |text| text.parse().unwrap());
    let span = Duration::from_secs_f64(seconds);

    let bridge_alone = Network::new();
    let plain = bridge_alone.measure(span, None);
    println!("bridge alone: {plain}");
    let network = Network::new();
    let forwarder = network.start_forwarder(mode);
    let flat_out = network.measure(span, None);
    println!("AF_XDP ({:?}): {flat_out}", forwarder.mode);
    for share in [0.1, 0.5, 0.8] {
        let rate = flat_out.gbps * share;
        let slow = network.measure(span, Some(rate));
        let reference = bridge_alone.measure(span, Some(rate));
        println!(
            "at {rate:.2} Gbit/s: bridge alone p50 {:.0} µs p99 {:.0} µs; AF_XDP p50 {:.0} µs p99 \
             {:.0} µs, {:.3} % lost",
            reference.quantile_us(0.5),
            reference.quantile_us(0.99),
            slow.quantile_us(0.5),
            slow.quantile_us(0.99),
            100.0 * (1.0 - slow.gbps / slow.offered_gbps),
        );
    }
    forwarder.stop.store(true, Ordering::Relaxed);
    println!("{}", forwarder.thread.join().unwrap());
}

/// A server and a station with a box between them.
struct Network {
    server: Namespace,
    middle: Namespace,
    station: Namespace,
}

/// A thread that forwards in the box.
struct Forwarder {
    mode: AttachMode,
    stop: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<String>,
}

/// What arrived.
struct Outcome {
    gbps: f64,
    offered_gbps: f64,
    /// CPU time per packet of the sending and of the receiving thread, with what the kernel does on
    /// their time.
    sender_ns: f64,
    receiver_ns: f64,
    delays_ns: Vec<u64>,
}

impl core::fmt::Display for Outcome {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "{:.2} Gbit/s of {:.2} offered; CPU per packet: sender {:.0} ns, receiver {:.0} ns",
            self.gbps, self.offered_gbps, self.sender_ns, self.receiver_ns
        )
    }
}

impl Outcome {
    fn quantile_us(&self, q: f64) -> f64 {
        let at = (q * (self.delays_ns.len().max(1) - 1) as f64) as usize;
        self.delays_ns
            .get(at)
            .map_or(f64::NAN, |&ns| ns as f64 / 1e3)
    }
}

impl Network {
    fn new() -> Self {
        let namespace = || {
            let namespace = Namespace::new().unwrap();
            namespace.prepare().unwrap();
            namespace
        };
        let (server, middle, station) = (namespace(), namespace(), namespace());
        let mut link = middle.netlink().unwrap();
        link.add_veth("wan", "eth0", Some(&server)).unwrap();
        link.add_veth("ap", "wlan0", Some(&station)).unwrap();
        for (namespace, name, address) in [
            (&server, "eth0", "10.9.0.1/24"),
            (&station, "wlan0", "10.9.0.2/24"),
        ] {
            let mut link = namespace.netlink().unwrap();
            link.add_address(name, address.parse().unwrap()).unwrap();
            link.set_up(name).unwrap();
        }
        station
            .netlink()
            .unwrap()
            .set_hardware_address("wlan0", STATION_MAC)
            .unwrap();
        middle
            .run(|| BridgeState::set_up(BridgeChoice::Make("br0"), &["wan", "ap"]).unwrap())
            .unwrap();
        let network = Self {
            server,
            middle,
            station,
        };
        network.wait_until_it_forwards();
        network
    }

    /// The kernel notices asynchronously that both ends of a pair are up, which takes up to a
    /// second.
    fn wait_until_it_forwards(&self) {
        for _ in 0..100 {
            let trial = self.measure(Duration::from_millis(50), Some(0.01));
            if trial.gbps > 0.0 {
                return;
            }
        }
        panic!("no packet passes the bridge");
    }

    fn start_forwarder(&self, mode: AttachMode) -> Forwarder {
        let options = InlineOptions {
            mode,
            ..InlineOptions::default()
        };
        let path = self
            .middle
            .run(|| XdpPath::open("wan", &["ap"], options).unwrap())
            .unwrap();
        let mode = path.wan_mode();
        let stop = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("box".into())
            .spawn(move || forward(path, &until))
            .unwrap();
        Forwarder { mode, stop, thread }
    }

    /// Sends for `span`, at `gbps` or as fast as possible.
    fn measure(&self, span: Duration, gbps: Option<f64>) -> Outcome {
        let open = |namespace: &Namespace, address: &str| {
            let address: SocketAddr = address.parse().unwrap();
            let options = UdpOptions {
                stamp: false,
                ..UdpOptions::default()
            };
            namespace
                .run(|| UdpSocket::bind(address, options).unwrap())
                .unwrap()
        };
        let sender = open(&self.server, SERVER);
        let receiver = open(&self.station, STATION);
        let clock = Clock::start();
        let stop = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&stop);
        let receiving = std::thread::spawn(move || receive(&receiver, clock, &until));
        let before = cpu_ns();
        let sent = send(&sender, clock, span, gbps);
        let sender_ns = cpu_ns() - before;
        wait_until(clock, clock.now() + Duration::from_millis(50));
        stop.store(true, Ordering::Relaxed);
        let (bytes, mut delays_ns, receiver_ns) = receiving.join().unwrap();
        delays_ns.sort_unstable();
        let rate = |bytes: usize| bytes as f64 * 8e-9 / span.as_secs_f64();
        Outcome {
            gbps: rate(bytes / PAYLOAD_BYTES * 1500),
            offered_gbps: rate(sent * 1500),
            sender_ns: sender_ns / sent.max(1) as f64,
            receiver_ns: receiver_ns / (bytes / PAYLOAD_BYTES).max(1) as f64,
            delays_ns,
        }
    }
}

/// Waits on an empty poller, which is precise.
fn wait_until(clock: Clock, at: Time) {
    Poller::new().unwrap().wait(&clock, Some(at)).unwrap();
}

/// Sends bursts of stamped packets and returns how many packets the kernel took.
fn send(socket: &UdpSocket, clock: Clock, span: Duration, gbps: Option<f64>) -> usize {
    let burst = match gbps {
        Some(_) => SHORT_BURST,
        None => LONG_BURST,
    };
    let mut payload = vec![0; PAYLOAD_BYTES * burst];
    let to: SocketAddr = STATION.parse().unwrap();
    let mut poller = Poller::new().unwrap();
    poller.add(socket, 0, Interest::Write).unwrap();
    let end = clock.now() + span;
    let mut next = clock.now();
    let mut sent = 0;
    while clock.now() < end {
        if let Some(gbps) = gbps {
            next += Duration::from_secs_f64((burst * 1500 * 8) as f64 / (gbps * 1e9));
            wait_until(clock, next);
        }
        let now = clock.now().as_nanos().to_ne_bytes();
        for packet in payload.chunks_exact_mut(PAYLOAD_BYTES) {
            packet[..8].copy_from_slice(&now);
        }
        let message = Transmit {
            to: Some(to),
            parts: &[IoSlice::new(&payload)],
            segment: Some(PAYLOAD_BYTES as u16),
            class: airpace_net::udp::TrafficClass::DEFAULT,
        };
        if socket.send(&[message]).unwrap() == 1 {
            sent += burst;
        } else {
            poller.wait(&clock, Some(end)).unwrap();
        }
    }
    sent
}

/// Receives until told to stop; returns the bytes and the delay of each message.
fn receive(socket: &UdpSocket, clock: Clock, stop: &AtomicBool) -> (usize, Vec<u64>, f64) {
    let mut poller = Poller::new().unwrap();
    poller.add(socket, 0, Interest::Read).unwrap();
    let mut batch = ReceiveBatch::new(64, 65_536);
    let (mut bytes, mut delays) = (0, Vec::new());
    while !stop.load(Ordering::Relaxed) {
        poller
            .wait(&clock, Some(clock.now() + Duration::from_millis(10)))
            .unwrap();
        while socket.receive(&mut batch).unwrap() > 0 {
            let now = clock.now().as_nanos();
            for datagram in batch.iter() {
                bytes += datagram.bytes.len();
                for packet in datagram.segments() {
                    let stamp = packet.first_chunk().map_or(now, |s| u64::from_ne_bytes(*s));
                    delays.push(now.saturating_sub(stamp));
                }
            }
        }
    }
    (bytes, delays, cpu_ns())
}

/// Returns the CPU time of the calling thread.
fn cpu_ns() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).unwrap();
    let (user, system) = (usage.user_time(), usage.system_time());
    (user.num_microseconds() + system.num_microseconds()) as f64 * 1e3
}

/// Forwards frames for the station as the daemon does: received into a queue, sent from there.
fn forward(mut path: XdpPath, stop: &AtomicBool) -> String {
    // As the daemons do; it goes on without where the system does not permit it.
    let _ = airpace_net::realtime::try_fifo(1);
    let clock = Clock::start();
    let mut poller = Poller::new().unwrap();
    for file in path.frame_files() {
        poller.add(file, 0, Interest::Read).unwrap();
    }
    path.insert_station(STATION_MAC, false).unwrap();
    let mut forwarded = 0_usize;
    let mut queue: Vec<Vec<u8>> = vec![Vec::new(); 64];
    while !stop.load(Ordering::Relaxed) {
        path.beat().unwrap();
        let beat_at = clock.now() + Duration::from_millis(50);
        poller.wait(&clock, Some(beat_at)).unwrap();
        loop {
            let mut n = 0;
            path.receive(queue.len(), |frame| {
                queue[n].clear();
                queue[n].extend_from_slice(frame);
                n += 1;
            });
            if n == 0 {
                break;
            }
            forwarded += n;
            path.send(0, queue[..n].iter().map(Vec::as_slice)).unwrap();
            if clock.now() >= beat_at {
                break;
            }
        }
        path.observe(usize::MAX, |_| {});
    }
    let cpu_ns = cpu_ns() / forwarded.max(1) as f64;
    format!(
        "CPU of the box per packet: {cpu_ns:.0} ns\n{:?}\n{:?}",
        path.counters().unwrap(),
        path.statistics().unwrap()
    )
}
