//! The machines of the guide as network namespaces, each with a shell whose `/etc` and `/run` are
//! its own.
#![expect(
    clippy::disallowed_methods,
    reason = "real programs take real time until the network works"
)]

use super::guide::Block;
use crate::shared::{Folder, folder};
use airpace_net::netlink::Netlink;
use airpace_net::netns::Namespace;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Address of the station's interface, as in the guide.
const STATION_MAC: [u8; 6] = [2, 0, 0, 0, 1, 2];

/// UDP port of the server that answers the station.
const ECHO_PORT: u16 = 7_777;

/// How long the network may take until it works.
const PATIENCE: Duration = Duration::from_secs(15);

/// How long a program must keep running after the network works, and stations become known.
const SETTLE: Duration = Duration::from_millis(700);

/// A private `/etc` and `/run`, and the programs of this test on the path.
const PREPARE: &str = "mount --make-rprivate / && mount -t tmpfs tmpfs /mnt && cp -a /etc /mnt/etc \
    && mkdir /mnt/run && mount --bind /mnt/etc /etc && mount --bind /mnt/run /run && set -m";

/// The machines, and a station that asks a server for answers all the time.
pub(super) struct Lab {
    folder: Folder,
    machines: BTreeMap<&'static str, Machine>,
    /// Keys that machines have printed, by the words that stand for them in later blocks.
    keys: BTreeMap<String, String>,
    /// What each block printed.
    printed: Vec<(String, String)>,
    probe: Probe,
}

struct Machine {
    namespace: Namespace,
    shell: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// Whether a block is running until it is stopped, and the file of its log.
    running: Option<PathBuf>,
}

/// Answers that the station has had.
#[derive(Default)]
struct Probe {
    answers: Arc<AtomicU32>,
    /// Address from which the server was last asked.
    source: Arc<Mutex<Option<IpAddr>>>,
    stop: Arc<AtomicBool>,
}

impl Lab {
    /// A wired network with a server, a box with two interfaces, and a station. The cable to the
    /// station stands for the access point.
    pub(super) fn in_the_cable(title: &str) -> Option<Self> {
        let mut lab = Self::new(title, &["gateway", "box", "station"])?;
        lab.cable("gateway", "wired0", "box", "eth0");
        lab.cable("box", "eth1", "station", "wlan0");
        lab.address("gateway", "wired0", [192, 168, 1, 1]);
        lab.station([192, 168, 1, 50]);
        lab.probe([192, 168, 1, 1]);
        Some(lab)
    }

    /// A router between a server in the Internet and a station.
    pub(super) fn on_the_router() -> Option<Self> {
        let mut lab = Self::new("deploy", &["gateway", "router", "station"])?;
        lab.cable("gateway", "wired0", "router", "eth0");
        lab.cable("router", "eth1", "station", "wlan0");
        lab.address("gateway", "wired0", [203, 0, 113, 2]);
        lab.address("router", "eth0", [203, 0, 113, 1]);
        lab.address("router", "eth1", [192, 168, 1, 1]);
        lab.station([192, 168, 1, 50]);
        lab.route("gateway", "192.168.1.0/24", [203, 0, 113, 1]);
        lab.route("station", "default", [192, 168, 1, 1]);
        lab.shell("router", "sysctl -qw net.ipv4.ip_forward=1");
        lab.probe([203, 0, 113, 2]);
        Some(lab)
    }

    /// A router, a proxy and a station in one network, and a server behind the router.
    pub(super) fn through_a_tunnel() -> Option<Self> {
        let mut lab = Self::new("deploy", &["gateway", "proxy", "station", "switch"])?;
        for (port, machine, interface) in [
            ("port0", "gateway", "wired0"),
            ("port1", "proxy", "eth0"),
            ("port2", "station", "wlan0"),
        ] {
            lab.cable("switch", port, machine, interface);
        }
        lab.configure("switch", |link| {
            link.add_bridge("br0").unwrap();
            for port in ["port0", "port1", "port2"] {
                link.set_master(port, Some("br0")).unwrap();
            }
            link.set_up("br0").unwrap();
        });
        lab.address("gateway", "wired0", [192, 168, 1, 1]);
        lab.address("proxy", "eth0", [192, 168, 1, 2]);
        lab.station([192, 168, 1, 50]);
        // The server's own address stands for a network behind the router.
        lab.address("gateway", "lo", [198, 51, 100, 1]);
        lab.route("proxy", "198.51.100.0/24", [192, 168, 1, 1]);
        lab.route("station", "default", [192, 168, 1, 1]);
        lab.probe([198, 51, 100, 1]);
        Some(lab)
    }

    /// Machines with these names, for the test `title`; `None`, loudly, where the system does not allow them.
    fn new(title: &str, names: &[&'static str]) -> Option<Self> {
        let folder = folder(&format!("docs-{}-{title}", names[1]));
        let programs = folder.path().join("bin");
        std::fs::create_dir_all(&programs).unwrap();
        let program = env!("CARGO_BIN_EXE_airpace");
        let agent = format!(
            "#!/bin/sh\nif [ \"$1\" = run ]; then shift; exec {program} agent \"$@\"; fi\nexec {program} \"$@\"\n"
        );
        std::os::unix::fs::symlink(program, programs.join("airpace")).unwrap();
        std::fs::write(programs.join("airpace-agent"), agent).unwrap();
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(programs.join("airpace-agent"), executable).unwrap();
        let mut lab = Self {
            folder,
            machines: BTreeMap::new(),
            keys: BTreeMap::new(),
            printed: Vec::new(),
            probe: Probe::default(),
        };
        for &name in names {
            match Machine::new() {
                Ok(machine) => lab.machines.insert(name, machine),
                Err(error) => {
                    eprintln!("SKIPPED, NOTHING WAS TESTED: {error}");
                    return None;
                }
            };
            let (programs, folder) = (programs.display(), lab.folder.path().display());
            let path = format!("export PATH={programs}:$PATH; cd {folder}");
            lab.shell(name, &path);
            let (status, text) = lab.shell(name, PREPARE);
            if status != 0 {
                eprintln!("SKIPPED, NOTHING WAS TESTED: no private /etc: {text}");
                return None;
            }
        }
        Some(lab)
    }

    fn machine(&mut self, name: &str) -> &mut Machine {
        let machine = self.machines.get_mut(name);
        machine.unwrap_or_else(|| panic!("there is no machine {name:?} in this section"))
    }

    fn configure(&mut self, machine: &str, settings: impl FnOnce(&mut Netlink)) {
        settings(&mut self.machine(machine).namespace.netlink().unwrap());
    }

    /// Connects a port of machine `a` with a port of machine `b`, and brings both up.
    fn cable(&mut self, a: &str, a_port: &str, b: &str, b_port: &str) {
        let far = self.machine(b).namespace.try_clone().unwrap();
        self.configure(a, |link| {
            link.add_veth(a_port, b_port, Some(&far)).unwrap();
            link.set_up(a_port).unwrap();
        });
        self.configure(b, |link| link.set_up(b_port).unwrap());
    }

    fn address(&mut self, machine: &str, interface: &str, address: [u8; 4]) {
        let network = format!("{}/24", Ipv4Addr::from(address));
        self.shell(machine, &format!("ip addr add {network} dev {interface}"));
        self.configure(machine, |link| link.set_up(interface).unwrap());
    }

    fn station(&mut self, address: [u8; 4]) {
        self.configure("station", |link| {
            link.set_hardware_address("wlan0", STATION_MAC).unwrap();
        });
        self.address("station", "wlan0", address);
    }

    fn route(&mut self, machine: &str, network: &str, via: [u8; 4]) {
        let via = Ipv4Addr::from(via);
        let (status, text) = self.shell(machine, &format!("ip route add {network} via {via}"));
        assert_eq!(status, 0, "{text}");
    }

    /// Starts the server, and the station's questions.
    fn probe(&mut self, server: [u8; 4]) {
        let server_socket = || UdpSocket::bind((Ipv4Addr::UNSPECIFIED, ECHO_PORT)).unwrap();
        let socket = self
            .machine("gateway")
            .namespace
            .run(server_socket)
            .unwrap();
        let (stop, source) = (self.probe.stop.clone(), self.probe.source.clone());
        thread::spawn(move || answer(&socket, &stop, &source));
        let client_socket = || UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        let socket = self
            .machine("station")
            .namespace
            .run(client_socket)
            .unwrap();
        let (stop, answers) = (self.probe.stop.clone(), self.probe.answers.clone());
        let to = SocketAddr::from((server, ECHO_PORT));
        thread::spawn(move || ask(&socket, to, &stop, &answers));
    }

    /// Runs a block, which must succeed.
    pub(super) fn run(&mut self, machine: &str, block: &Block) {
        let file = self.block_file(block);
        let (status, printed) = self.shell(machine, &format!("bash -eu {}", file.display()));
        assert_eq!(status, 0, "on {machine}:\n{}\n{printed}", block.text);
        if block.text.contains("--preshared") {
            self.remember_key("PRESHARED KEY", &printed);
        } else {
            let place = format!("PUBLIC KEY OF THE {}", machine.to_uppercase());
            self.remember_key(&place, &printed);
        }
        self.printed.push((block.text.clone(), printed));
    }

    /// Starts a block that runs until it is stopped, in place of the one before.
    pub(super) fn start(&mut self, machine: &str, block: &Block) {
        self.stop(machine);
        let file = self.block_file(block);
        let log = file.with_extension("log");
        let line = format!(
            "bash -eu {} > {} 2>&1 < /dev/null & running=$!",
            file.display(),
            log.display()
        );
        self.shell(machine, &line);
        self.machine(machine).running = Some(log);
    }

    /// Waits until the station is answered while everything that was started runs on.
    pub(super) fn expect_answers(&mut self, block: &Block) {
        let deadline = Instant::now() + PATIENCE;
        thread::sleep(SETTLE);
        let before = self.probe.answers.load(Ordering::Relaxed);
        while self.probe.answers.load(Ordering::Relaxed) < before + 5 {
            assert!(
                Instant::now() < deadline,
                "the station is not answered after:\n{}\n{}",
                block.text,
                self.logs()
            );
            thread::sleep(Duration::from_millis(20));
        }
        thread::sleep(SETTLE);
        let names: Vec<&str> = self.machines.keys().copied().collect();
        for name in names {
            if self.machine(name).running.is_some() {
                let (status, _) = self.shell(name, "kill -0 $running");
                assert_eq!(status, 0, "{name} has ended:\n{}", self.logs());
            }
        }
    }

    /// Waits until the server is asked from this address.
    pub(super) fn expect_source(&self, address: IpAddr) {
        let deadline = Instant::now() + PATIENCE;
        while *self.probe.source.lock().unwrap() != Some(address) {
            assert!(
                Instant::now() < deadline,
                "asked from {:?}\n{}",
                self.probe.source,
                self.logs()
            );
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// What the block printed that begins with these words.
    pub(super) fn printed_by(&self, words: &str) -> &str {
        let found = self
            .printed
            .iter()
            .find(|(text, _)| text.starts_with(words));
        found.map_or("", |(_, printed)| printed)
    }

    /// The interfaces of a machine.
    pub(super) fn links(&mut self, machine: &str) -> String {
        self.shell(machine, "ip -br link").1
    }

    /// The text of a file of a machine.
    pub(super) fn text_of(&mut self, machine: &str, path: &str) -> String {
        self.shell(machine, &format!("cat {path}")).1
    }

    /// Ends everything that was started.
    pub(super) fn stop_all(&mut self) {
        let names: Vec<&str> = self.machines.keys().copied().collect();
        for name in names {
            self.stop(name);
        }
    }

    /// Ends what runs on a machine as Ctrl-C does.
    fn stop(&mut self, machine: &str) {
        let Some(log) = self.machine(machine).running.take() else {
            return;
        };
        // With job control a block is a process group of its own.
        self.shell(machine, "kill -INT -- -$running; wait $running");
        let text = read(&log);
        assert!(!text.contains("panicked"), "{text}");
        if text.contains("in-line ends") {
            let has_paced = text.contains("joined") && !text.contains(" sent=0 ");
            assert!(
                has_paced,
                "the station's packets did not pass the box: {text}"
            );
        }
    }

    /// A file with the commands of a block, in which the public keys are filled in.
    fn block_file(&self, block: &Block) -> PathBuf {
        let number = std::fs::read_dir(self.folder.path()).unwrap().count();
        let path = self.folder.path().join(format!("block-{number}.sh"));
        let mut text = block.text.clone();
        for (place, key) in &self.keys {
            text = text.replace(place, key);
        }
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Keeps the key that a block has printed, for the `place` where later blocks have it.
    fn remember_key(&mut self, place: &str, printed: &str) {
        let is_key = |line: &&str| line.len() == 44 && line.ends_with('=');
        if let Some(key) = printed.lines().find(is_key) {
            self.keys.insert(place.to_owned(), key.to_owned());
        }
    }

    /// Runs a line in the shell of a machine; returns its exit status and what it printed.
    pub(super) fn shell(&mut self, machine: &str, line: &str) -> (i32, String) {
        self.machine(machine).run(line)
    }

    /// What the programs that run have logged.
    pub(super) fn logs(&self) -> String {
        let running = self.machines.iter().filter_map(|(name, machine)| {
            let log = machine.running.as_ref()?;
            Some(format!("{name}: {}", read(log)))
        });
        running.collect()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.probe.stop.store(true, Ordering::Relaxed);
        for machine in self.machines.values_mut() {
            // The shell ends with its input or by this, and what it has started by SIGHUP or with
            // the namespace's last process; neither call can fail for a running child.
            let _ = machine.shell.kill();
            let _ = machine.shell.wait();
        }
    }
}

impl Machine {
    fn new() -> Result<Self, Box<dyn std::error::Error>> {
        let namespace = Namespace::new()?;
        namespace.netlink()?.set_up("lo")?;
        let mut command = Command::new("unshare");
        command
            .args([
                "--mount",
                "--pid",
                "--fork",
                "--kill-child",
                "--mount-proc",
                "bash",
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut shell = namespace.spawn(command)?;
        let input = shell.stdin.take().ok_or("no standard input")?;
        let output = BufReader::new(shell.stdout.take().ok_or("no standard output")?);
        Ok(Self {
            namespace,
            shell,
            input,
            output,
            running: None,
        })
    }

    fn run(&mut self, line: &str) -> (i32, String) {
        const END: &str = "@@ends ";
        writeln!(self.input, "{{ {line}\n}} 2>&1; echo \"{END}$?\"").unwrap();
        let mut printed = String::new();
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line).unwrap();
            assert!(read > 0, "the shell has ended: {printed}");
            if let Some(status) = line.trim_end().strip_prefix(END) {
                return (status.parse().unwrap(), printed);
            }
            printed.push_str(&line);
        }
    }
}

/// Answers questions, and notes where the last one came from.
fn answer(socket: &UdpSocket, stop: &AtomicBool, source: &Mutex<Option<IpAddr>>) {
    let mut buffer = [0; 64];
    socket
        .set_read_timeout(Some(Duration::from_millis(100)))
        .unwrap();
    while !stop.load(Ordering::Relaxed) {
        if let Ok((n, from)) = socket.recv_from(&mut buffer) {
            *source.lock().unwrap() = Some(from.ip());
            // An answer that cannot be sent is lost, as in a network.
            let _ = socket.send_to(&buffer[..n], from);
        }
    }
}

/// Asks all the time, and counts the answers.
fn ask(socket: &UdpSocket, to: SocketAddr, stop: &AtomicBool, answers: &AtomicU32) {
    let mut buffer = [0; 64];
    socket
        .set_read_timeout(Some(Duration::from_millis(20)))
        .unwrap();
    while !stop.load(Ordering::Relaxed) {
        // Without a route there is no answer either.
        let _ = socket.send_to(b"deploy", to);
        if socket.recv_from(&mut buffer).is_ok() {
            answers.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(10));
        }
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}
