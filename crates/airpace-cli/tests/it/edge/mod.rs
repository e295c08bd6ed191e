//! `airpace edge` as an operator meets it: the real process between namespaces.

mod doctor;
mod frames;
mod insight;
mod leftovers;
mod metrics;
mod mishaps;
mod operation;
mod outages;
mod passing;
mod service;
mod watch;

use airpace_lab::bench::edge::{EdgeProcess, EdgeTestbed, SERVER, Traffic, pause, station_address};
use airpace_net::clock::Clock;
use airpace_net::netns::Namespace;
use airpace_net::packet::PacketSocket;
use airpace_net::poll::{Interest, Poller};
use airpace_net::udp::ReceiveBatch;
use core::net::SocketAddr;
use core::time::Duration;
use nix::sys::signal::Signal;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The settings of a box that must be fail-open, whatever else it does.
const NATIVE: &str = "datapath = \"native\"\nrealtime = false\n";

/// The program under test.
fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_airpace"))
}

/// A test bed; `None` where the system does not allow namespaces.
fn testbed(stations: u8, mtu: u32) -> Option<EdgeTestbed> {
    match EdgeTestbed::new(stations, mtu) {
        Ok(bed) => Some(bed),
        Err(error) => {
            eprintln!("SKIPPED, NOTHING WAS TESTED: {error:#}");
            None
        }
    }
}

/// Starts the box; `None` where the kernel does not run XDP programs.
fn start(bed: &EdgeTestbed, settings: &str) -> Option<EdgeProcess> {
    match bed.start(program(), &format!("{NATIVE}{settings}")) {
        Ok(process) => Some(process),
        Err(error) if format!("{error:#}").contains("cannot load the XDP programs") => {
            eprintln!("SKIPPED, NOTHING WAS TESTED: {error:#}");
            None
        }
        Err(error) => panic!("{error:#}"),
    }
}

/// Starts the box and kills it, so that it restores nothing; `None` as for [`start`].
fn start_and_kill(bed: &EdgeTestbed) -> Option<EdgeProcess> {
    let mut process = start(bed, "")?;
    process.signal(Signal::SIGKILL).unwrap();
    process.wait().unwrap();
    Some(process)
}

/// Runs `airpace edge` with further arguments in the box, and returns its exit code and all that it
/// printed.
fn edge(bed: &EdgeTestbed, arguments: &[&str]) -> (Option<i32>, String) {
    airpace(bed, &[&["edge"], arguments].concat())
}

/// The same for any command of `airpace`.
fn airpace(bed: &EdgeTestbed, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(program());
    command.args(arguments);
    let output = bed.middle.run(|| command.output()).unwrap().unwrap();
    let printed = [output.stdout, output.stderr].concat();
    (
        output.status.code(),
        String::from_utf8_lossy(&printed).into_owned(),
    )
}

/// A file of the box on the port `wan`, with this ending.
fn own_file(bed: &EdgeTestbed, wan: &str, ending: &str) -> PathBuf {
    let namespace = || fs::metadata("/proc/thread-self/ns/net").unwrap().ino();
    let namespace = bed.middle.run(namespace).unwrap();
    PathBuf::from(format!("/run/airpace/edge-{namespace}-{wan}.{ending}"))
}

/// What the kernel tells of the box's interfaces, queueing disciplines and bridges.
fn snapshot(bed: &EdgeTestbed) -> String {
    let mut text = String::new();
    for words in ["ip -d link", "tc qdisc", "bridge link"] {
        let mut words = words.split(' ');
        let mut command = Command::new(words.next().unwrap());
        command.args(words);
        let output = bed.middle.run(|| command.output()).unwrap();
        text.push_str(&String::from_utf8_lossy(&output.unwrap().stdout));
    }
    // A new bridge has no carrier for a moment.
    without_timers(&text)
        .replace("NO-CARRIER,", "")
        .replace("state DOWN", "state UP")
}

/// The text without the values of the kernel's timers, which run.
fn without_timers(text: &str) -> String {
    let mut lines = String::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        while let Some(word) = words.next() {
            lines.push_str(word);
            lines.push(' ');
            if word.ends_with("_timer") {
                words.next();
            }
        }
        lines.push('\n');
    }
    lines
}

/// Sends UDP to the first station until packets arrive and the box queues them.
fn traffic(bed: &EdgeTestbed) -> Traffic {
    let traffic = Traffic::open(
        (&bed.server, SocketAddr::from((SERVER, 7000))),
        (
            &bed.stations[0],
            SocketAddr::from((station_address(0), 7000)),
        ),
    )
    .unwrap();
    for _ in 0..100 {
        let arrivals = traffic.run(Duration::from_millis(50), Some(0.005), || Ok(()));
        if arrivals.unwrap().received > 0 {
            pause(Duration::from_millis(200));
            return traffic;
        }
    }
    panic!("no packet passes the box");
}

/// Tries until it is true, for up to ten seconds.
fn eventually(what: &str, mut is_true: impl FnMut() -> bool) {
    for _ in 0..200 {
        if is_true() {
            return;
        }
        pause(Duration::from_millis(50));
    }
    panic!("not within ten seconds: {what}");
}

/// An interface, seen by a packet socket.
struct Wire {
    socket: PacketSocket,
    batch: ReceiveBatch,
    poller: Poller,
}

impl Wire {
    fn open(namespace: &Namespace, interface: &str) -> Self {
        let open = || PacketSocket::open(interface, 4 << 20).unwrap();
        let socket = namespace.run(open).unwrap();
        let poller = Poller::new().unwrap();
        poller.add(&socket, 0, Interest::Read).unwrap();
        Self {
            socket,
            batch: ReceiveBatch::new(64, 16_384),
            poller,
        }
    }

    fn send(&self, frame: &[u8]) {
        assert!(self.socket.send(frame).unwrap());
    }

    /// The frames that arrive until none has come for so long.
    fn frames(&mut self, quiet: Duration) -> Vec<Vec<u8>> {
        let clock = Clock::start();
        let mut frames = Vec::new();
        loop {
            let end = clock.now() + quiet;
            self.poller.wait(&clock, Some(end)).unwrap();
            if self.socket.receive(&mut self.batch).unwrap() == 0 {
                return frames;
            }
            frames.extend(self.batch.frames().map(|captured| captured.with_tag()));
        }
    }
}
