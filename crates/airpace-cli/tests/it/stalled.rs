//! Nobody takes the telemetry or the log, or there are no more file descriptors: packets pass all
//! the same, and SIGTERM ends the programs. And programs that stood still for a while go on.
#![expect(
    clippy::disallowed_methods,
    reason = "real programs take real time until packets pass"
)]

use crate::shared::{Folder, airpace_words, folder};
use airpace_lab::bench::datapath::{AGENT, PROXY, PROXY_OUTSIDE, Testbed};
use airpace_lab::bench::edge::{EdgeTestbed, station_address};
use airpace_net::netns::Namespace;
use nix::fcntl::OFlag;
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};
use std::fs::{self, File};
use std::io::{PipeReader, PipeWriter, Read as _, Write as _, pipe};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// What stands in the way of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Obstacle {
    /// The reader of the telemetry's pipe has closed it.
    NoReader,
    /// The reader of the telemetry's pipe keeps it open and reads no more.
    StoppedReader,
    /// Standard error is a pipe that is full.
    FullErrors,
    /// The file system of telemetry and log is full.
    FullDisk,
    /// The program may not open any further file.
    NoDescriptors,
}

const OBSTACLES: [Obstacle; 5] = [
    Obstacle::NoReader,
    Obstacle::StoppedReader,
    Obstacle::FullErrors,
    Obstacle::FullDisk,
    Obstacle::NoDescriptors,
];

/// Time within which SIGTERM must end a program.
const END_WITHIN: Duration = Duration::from_secs(1);
/// Time for which packets must pass while the obstacle stands.
const SPAN: Duration = Duration::from_secs(3);
/// Share of the packets that must be answered. All are on an idle machine.
const ANSWERED: f64 = 0.97;

/// A program that logs everything, and whose telemetry or log can be stalled.
struct Stallable {
    name: &'static str,
    obstacle: Obstacle,
    child: Child,
    /// The folder of its telemetry; under `FullDisk` a file system of its own stands there.
    place: PathBuf,
    telemetry_reader: Option<File>,
    errors: Option<(PipeReader, PipeWriter)>,
}

impl Stallable {
    /// Starts `airpace COMMAND --config FILE`, whose configuration is preceded by the key of the
    /// telemetry.
    fn start(
        namespace: &Namespace,
        folder: &Folder,
        (name, configuration): (&'static str, &str),
        obstacle: Obstacle,
    ) -> Self {
        let place = folder.path().join(format!("{name}-{obstacle:?}"));
        fs::create_dir_all(&place).unwrap();
        let telemetry = place.join("telemetry");
        let file = place.with_extension("toml");
        let text = format!(
            "telemetry = \"{}\"\ntelemetry_detail = \"slots\"\n{configuration}",
            telemetry.display()
        );
        fs::write(&file, text).unwrap();

        let program = env!("CARGO_BIN_EXE_airpace");
        let mut command = Command::new(program);
        let mut errors = None;
        let mut telemetry_reader = None;
        match obstacle {
            Obstacle::NoDescriptors => {
                command.stderr(Stdio::null());
            }
            Obstacle::NoReader | Obstacle::StoppedReader => {
                mkfifo(&telemetry, Mode::S_IRWXU).unwrap();
                // Opened in both directions it does not wait for the other end.
                let both = File::options().read(true).write(true).open(&telemetry);
                telemetry_reader = Some(both.unwrap());
                command.stderr(Stdio::null());
            }
            Obstacle::FullErrors => {
                let (reader, writer) = pipe().unwrap();
                command.stderr(writer.try_clone().unwrap());
                errors = Some((reader, writer));
            }
            Obstacle::FullDisk => {
                const IN_A_SMALL_DISK: &str =
                    "mount -t tmpfs -o size=64k tmpfs \"$0\" && exec \"$@\" 2> \"$0/log\"";
                command = Command::new("unshare");
                command.args(["--mount", "sh", "-c", IN_A_SMALL_DISK]);
                command.arg(&place).arg(program);
                command.stderr(Stdio::null());
            }
        }
        command.args(["-vv", name, "--config"]).arg(&file);
        command.stdout(Stdio::null()).stdin(Stdio::null());
        Self {
            name,
            obstacle,
            child: namespace.spawn(command).unwrap(),
            place,
            telemetry_reader,
            errors,
        }
    }

    /// Puts the obstacle into its way.
    fn obstruct(&mut self) {
        match self.obstacle {
            Obstacle::NoDescriptors => self.limit_descriptors("0"),
            Obstacle::NoReader => {
                self.read_telemetry();
                self.telemetry_reader = None;
            }
            Obstacle::StoppedReader => {
                self.read_telemetry();
                fill_pipe(&self.place.join("telemetry"));
            }
            Obstacle::FullErrors => {
                let (_, writer) = self.errors.as_ref().unwrap();
                let path = format!("/proc/self/fd/{}", writer.as_raw_fd());
                fill_pipe(Path::new(&path));
            }
            Obstacle::FullDisk => {
                let root = format!("/proc/{}/root", self.child.id());
                let place = self.place.strip_prefix("/").unwrap();
                let place = Path::new(&root).join(place);
                let begin = Instant::now();
                while fs::metadata(place.join("telemetry")).map_or(0, |file| file.len()) == 0 {
                    let is_soon = begin.elapsed() < Duration::from_secs(10);
                    assert!(is_soon, "{} writes no telemetry", self.name);
                    thread::sleep(Duration::from_millis(20));
                }
                let mut filler = File::create(place.join("filler")).unwrap();
                while filler.write_all(&[0; 512]).is_ok() {}
            }
        }
    }

    /// Sets how many descriptors the program may have from now on; the hard limit stays.
    fn limit_descriptors(&self, most: &str) {
        let limit = format!("--nofile={most}:");
        let pid = self.child.id().to_string();
        let limited = Command::new("prlimit")
            .args([&limit, "--pid", &pid])
            .status();
        assert!(limited.unwrap().success());
    }

    /// Takes some telemetry, which shows that the program writes to the pipe.
    fn read_telemetry(&mut self) {
        let mut row = [0; 64];
        self.telemetry_reader
            .as_mut()
            .unwrap()
            .read_exact(&mut row)
            .unwrap();
        assert_eq!(row[0], b'{');
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().cast_signed()), signal).unwrap();
    }

    /// Sends SIGTERM and returns the time until the program has ended.
    fn end(&mut self) -> Duration {
        if self.obstacle == Obstacle::NoDescriptors {
            // To restore a bridge takes a socket. Without one the box ends with code 1 and names
            // `--undo`.
            self.limit_descriptors("1024");
        }
        let begin = Instant::now();
        self.signal(Signal::SIGTERM);
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                assert!(
                    status.success(),
                    "{} under {:?}: {status}",
                    self.name,
                    self.obstacle
                );
                return begin.elapsed();
            }
            assert!(
                begin.elapsed() < 10 * END_WITHIN,
                "{} ignores SIGTERM under {:?}",
                self.name,
                self.obstacle
            );
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Stallable {
    fn drop(&mut self) {
        // Both fail after its end, as they should.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes to a pipe until it takes no more, through a file of its own, so that the other writers
/// block.
fn fill_pipe(path: &Path) {
    let mut options = File::options();
    options.write(true).custom_flags(OFlag::O_NONBLOCK.bits());
    let mut pipe = options.open(path).unwrap();
    for piece in [4096, 1] {
        while pipe.write_all(&vec![b'\n'; piece]).is_ok() {}
    }
}

/// A host that is pinged by another.
struct Pings {
    client: UdpSocket,
    to: SocketAddr,
}

/// What became of the pings.
struct Answers {
    sent: u32,
    answered: u32,
    longest_gap: Duration,
}

impl Pings {
    /// Opens the sockets, and starts a thread that answers until the test ends.
    fn open(from: &Namespace, to: &Namespace, at: Ipv4Addr) -> Self {
        let bind = |namespace: &Namespace, port| {
            let bound = namespace.run(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)));
            bound.unwrap().unwrap()
        };
        let (client, server) = (bind(from, 0), bind(to, 9));
        client
            .set_read_timeout(Some(Duration::from_millis(5)))
            .unwrap();
        thread::spawn(move || {
            let mut buffer = [0; 64];
            while let Ok((n, from)) = server.recv_from(&mut buffer) {
                // An answer that cannot be sent is lost, as in a network.
                let _ = server.send_to(&buffer[..n], from);
            }
        });
        Self {
            client,
            to: (at, 9).into(),
        }
    }

    /// Pings for so long.
    fn run(&self, span: Duration) -> Answers {
        let begin = Instant::now();
        let mut answers = Answers {
            sent: 0,
            answered: 0,
            longest_gap: Duration::ZERO,
        };
        let mut last = begin;
        let mut buffer = [0; 64];
        // What was sent last is answered within a moment.
        let grace = Duration::from_millis(300);
        while begin.elapsed() < span + grace {
            if begin.elapsed() < span {
                // Without a route it is lost.
                let _ = self.client.send_to(b"ping", self.to);
                answers.sent += 1;
            }
            // Waits for 5 ms, which is the time between two pings.
            let next = Instant::now() + Duration::from_millis(5);
            while Instant::now() < next {
                if self.client.recv(&mut buffer).is_ok() {
                    answers.answered += 1;
                    answers.longest_gap = answers.longest_gap.max(last.elapsed());
                    last = Instant::now();
                }
            }
        }
        answers
    }

    /// Pings until there is an answer.
    fn wait(&self) {
        let begin = Instant::now();
        while self.run(Duration::from_millis(50)).answered == 0 {
            assert!(
                begin.elapsed() < Duration::from_secs(20),
                "no packet passes"
            );
        }
    }
}

/// Stalls the programs one after the other while packets pass, and then ends them.
fn assert_unharmed(pings: &Pings, mut programs: Vec<Stallable>) {
    pings.wait();
    // The first rows of telemetry are on their way.
    thread::sleep(Duration::from_millis(500));
    for program in &mut programs {
        program.obstruct();
    }
    let answers = pings.run(SPAN);
    let obstacle = programs[0].obstacle;
    eprintln!(
        "{obstacle:?}: {} of {} answered, longest gap {:?}",
        answers.answered, answers.sent, answers.longest_gap
    );
    let share = f64::from(answers.answered) / f64::from(answers.sent);
    assert!(share >= ANSWERED, "{obstacle:?}: {share}");
    for program in &mut programs {
        let took = program.end();
        eprintln!("{obstacle:?}: {} ended after {took:?}", program.name);
        assert!(took < END_WITHIN, "{}: {took:?}", program.name);
    }
}

/// Whether a file system of its own can be made for a program. Says so if not.
fn disks_allowed() -> bool {
    let mut command = Command::new("unshare");
    command.args(["--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]);
    let is_allowed = command.status().is_ok_and(|status| status.success());
    if !is_allowed {
        eprintln!("SKIPPED, NOTHING WAS TESTED: a full disk: no file system can be mounted");
    }
    is_allowed
}

/// The obstacles that this system allows.
fn obstacles() -> Vec<Obstacle> {
    let mut obstacles = OBSTACLES.to_vec();
    if !disks_allowed() {
        obstacles.retain(|&obstacle| obstacle != Obstacle::FullDisk);
    }
    obstacles
}

/// Makes a key; returns the file and the public key.
fn key(folder: &Folder, name: &str) -> (PathBuf, String) {
    let file = folder.path().join(name);
    let run = airpace_words(&["keygen", "--out", file.to_str().unwrap()]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    (file, run.stdout.trim().to_owned())
}

#[test]
fn proxy_and_agent_forward_and_obey_sigterm_whatever_takes_no_more() {
    let Some(tunnel) = TunnelLab::new("stalled-tunnel") else {
        return;
    };
    for obstacle in obstacles() {
        assert_unharmed(&tunnel.pings, tunnel.start(obstacle));
    }
}

#[test]
fn proxy_and_agent_go_on_after_either_has_stood_still() {
    let Some(tunnel) = TunnelLab::new("still-tunnel") else {
        return;
    };
    let programs = tunnel.start(Obstacle::NoDescriptors);
    tunnel.pings.wait();
    for program in &programs {
        // Shorter than the time after which an end takes the other for gone, and longer.
        for stands_still in [Duration::from_secs(2), Duration::from_secs(12)] {
            program.signal(Signal::SIGSTOP);
            thread::sleep(stands_still);
            program.signal(Signal::SIGCONT);
            let begin = Instant::now();
            tunnel.pings.wait();
            let took = begin.elapsed();
            eprintln!(
                "{} stood still for {stands_still:?}: back after {took:?}",
                program.name
            );
            assert!(took < Duration::from_secs(10), "{}: {took:?}", program.name);
        }
    }
}

/// Proxy and agent in namespaces, and pings through their tunnel.
struct TunnelLab {
    bed: Testbed,
    folder: Folder,
    proxy: String,
    agent: String,
    pings: Pings,
}

impl TunnelLab {
    /// `None`, loudly, where the system allows no namespaces.
    fn new(name: &str) -> Option<Self> {
        let bed = match Testbed::new() {
            Ok(bed) => bed,
            Err(error) => {
                eprintln!("SKIPPED, NOTHING WAS TESTED: {error:#}");
                return None;
            }
        };
        let folder = folder(name);
        let (proxy_key, proxy_public) = key(&folder, "proxy.key");
        let (agent_key, agent_public) = key(&folder, "agent.key");
        let proxy = format!(
            "listen = \"0.0.0.0:51900\"\nprivate_key_file = \"{}\"\n[tun]\naddress = \"{PROXY}/24\"\n\
         [[station]]\nname = \"laptop\"\npublic_key = \"{agent_public}\"\naddress = \"{AGENT}\"\n",
            proxy_key.display()
        );
        let agent = format!(
            "proxy = \"{PROXY_OUTSIDE}:51900\"\nproxy_public_key = \"{proxy_public}\"\n\
         private_key_file = \"{}\"\n[tun]\naddress = \"{AGENT}/24\"\n",
            agent_key.display()
        );
        let pings = Pings::open(&bed.proxy_side, &bed.agent_side, AGENT);
        Some(Self {
            bed,
            folder,
            proxy,
            agent,
            pings,
        })
    }

    /// Starts the programs.
    fn start(&self, obstacle: Obstacle) -> Vec<Stallable> {
        let (agent, proxy) = (
            ("agent", self.agent.as_str()),
            ("proxy", self.proxy.as_str()),
        );
        vec![
            Stallable::start(&self.bed.agent_side, &self.folder, agent, obstacle),
            Stallable::start(&self.bed.proxy_side, &self.folder, proxy, obstacle),
        ]
    }
}

#[test]
fn the_box_forwards_and_obeys_sigterm_whatever_takes_no_more() {
    let bed = match EdgeTestbed::new(1, 1500) {
        Ok(bed) => bed,
        Err(error) => {
            eprintln!("SKIPPED, NOTHING WAS TESTED: {error:#}");
            return;
        }
    };
    let folder = folder("stalled-edge");
    let pings = Pings::open(&bed.server, &bed.stations[0], station_address(0));
    // Frames that pass a bridge in user space stop if the program does.
    let configuration = bed.configuration("datapath = \"packet\"");
    for obstacle in obstacles() {
        let edge = ("edge", configuration.as_str());
        let program = Stallable::start(&bed.middle, &folder, edge, obstacle);
        assert_unharmed(&pings, vec![program]);
    }
}
