//! A server and stations with a box between them, each in a namespace of its own, and the real
//! `airpace edge` as a process in the box.

use airpace_api::operator::{EdgeReply, EdgeRequest, EdgeStationStatus};
use airpace_net::bridge::{BridgeChoice, BridgeState};
use airpace_net::clock::Clock;
use airpace_net::netlink::Netlink;
use airpace_net::netns::Namespace;
use airpace_net::poll::Poller;
use anyhow::{Context as _, bail};
use core::net::Ipv4Addr;
use core::time::Duration;
use ipnet::Ipv4Net;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

/// Address of the server.
pub const SERVER: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
/// Hardware address of the server.
pub const SERVER_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];

/// `server`:eth0 – wan:`middle`:ap0 – wlan0:`stations[0]`, and so on for further stations, each
/// behind a port of its own.
pub struct EdgeTestbed {
    /// The wired side.
    pub server: Namespace,
    /// The box, with nothing configured.
    pub middle: Namespace,
    /// The stations.
    pub stations: Vec<Namespace>,
}

/// Address of a station.
#[must_use]
pub const fn station_address(index: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 9, 0, 10 + index)
}

/// Hardware address of a station.
#[must_use]
pub const fn station_mac(index: u8) -> [u8; 6] {
    [2, 0, 0, 0, 1, index]
}

/// Name of the box's port towards a station.
#[must_use]
pub fn access_port(index: usize) -> String {
    format!("ap{index}")
}

impl EdgeTestbed {
    /// Builds it with so many stations; all interfaces have this MTU.
    ///
    /// # Errors
    /// If rights are missing (see [`airpace_net::netns::acquire_rights`]).
    pub fn new(stations: u8, mtu: u32) -> anyhow::Result<Self> {
        let (server, middle) = (namespace()?, namespace()?);
        let mut bed = Self {
            server,
            middle,
            stations: Vec::new(),
        };
        let mut link = bed.middle.netlink()?;
        link.add_veth("wan", "eth0", Some(&bed.server))?;
        link.set_mtu("wan", mtu)?;
        wake(&mut link, "wan")?;
        configure(&bed.server, "eth0", SERVER_MAC, SERVER, mtu)?;
        for index in 0..stations {
            let station = namespace()?;
            let port = access_port(usize::from(index));
            link.add_veth(&port, "wlan0", Some(&station))?;
            link.set_mtu(&port, mtu)?;
            wake(&mut link, &port)?;
            let (mac, address) = (station_mac(index), station_address(index));
            configure(&station, "wlan0", mac, address, mtu)?;
            bed.stations.push(station);
        }
        Ok(bed)
    }

    /// Puts all ports of the box into a kernel bridge, for comparison.
    ///
    /// # Errors
    /// If the kernel refuses the bridge.
    pub fn add_bridge(&self) -> anyhow::Result<BridgeState> {
        let ports: Vec<String> = (0..self.stations.len()).map(access_port).collect();
        let mut names = vec!["wan"];
        names.extend(ports.iter().map(String::as_str));
        let made = self
            .middle
            .run(|| BridgeState::set_up(BridgeChoice::Make("br0"), &names))?;
        Ok(made?)
    }

    /// Starts `program`, which is airpace, as `airpace edge` with a configuration whose first table
    /// is preceded by `settings`, with an access point for each station's port.
    ///
    /// # Errors
    /// If it cannot be started, or does not answer within ten seconds.
    pub fn start(&self, program: &Path, settings: &str) -> anyhow::Result<EdgeProcess> {
        let folder = scratch_folder()?;
        let config = folder.join("edge.toml");
        fs::write(&config, self.configuration(settings))?;
        let log = fs::File::create(folder.join("edge.log"))?;
        let mut command = Command::new(program);
        command.arg("edge").arg("--config").arg(&config);
        command.stdout(Stdio::null()).stderr(log);
        let child = self
            .middle
            .spawn(command)
            .context("starting airpace edge")?;
        let mut process = EdgeProcess {
            child,
            folder,
            is_waited_for: false,
        };
        for _ in 0..200 {
            if self.ask(&EdgeRequest::Status).is_ok() {
                return Ok(process);
            }
            if let Some(status) = process.child.try_wait()? {
                bail!("airpace edge ended with {status}: {}", process.log());
            }
            pause(Duration::from_millis(50));
        }
        bail!("airpace edge does not answer: {}", process.log())
    }

    /// The configuration that [`EdgeTestbed::start`] writes.
    #[must_use]
    pub fn configuration(&self, settings: &str) -> String {
        let mut text = format!("wan = \"wan\"\n{settings}\n");
        for index in 0..self.stations.len() {
            text.push_str(&format!("[[ap]]\nports = [\"{}\"]\n", access_port(index)));
        }
        text
    }

    /// Asks the box that runs.
    ///
    /// # Errors
    /// If none runs.
    pub fn ask(&self, request: &EdgeRequest) -> anyhow::Result<EdgeReply> {
        self.middle
            .run(|| airpace_live::edge::ask(Some("wan"), request))?
    }

    /// The stations that the box knows, with the name of their access point.
    ///
    /// # Errors
    /// If no box runs.
    pub fn status(&self) -> anyhow::Result<Vec<(String, EdgeStationStatus)>> {
        let reply = self.ask(&EdgeRequest::Status)?;
        let mut stations = Vec::new();
        for ap in reply
            .status
            .context("a status was asked for")?
            .access_points
        {
            for station in ap.stations {
                stations.push((ap.name.clone(), station));
            }
        }
        Ok(stations)
    }
}

/// `airpace edge` as a process. Dropping it kills it.
#[derive(Debug)]
pub struct EdgeProcess {
    child: Child,
    folder: PathBuf,
    is_waited_for: bool,
}

impl EdgeProcess {
    /// Its configuration file.
    #[must_use]
    pub fn config(&self) -> PathBuf {
        self.folder.join("edge.toml")
    }

    /// What it has logged.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("edge.log")).unwrap_or_default()
    }

    /// Sends it a signal.
    ///
    /// # Errors
    /// If it has ended.
    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        Ok(kill(Pid::from_raw(self.child.id().cast_signed()), signal)?)
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// If it was waited for elsewhere.
    pub fn wait(&mut self) -> anyhow::Result<ExitStatus> {
        self.is_waited_for = true;
        Ok(self.child.wait()?)
    }

    /// CPU time that its threads have used which still run.
    ///
    /// # Errors
    /// If it has ended.
    pub fn cpu_time(&self) -> anyhow::Result<Duration> {
        let mut used = Duration::ZERO;
        for thread in fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            // A thread may end between the two readings.
            let Ok(text) = fs::read_to_string(thread?.path().join("schedstat")) else {
                continue;
            };
            let ns = text.split_whitespace().next().context("the first field")?;
            used += Duration::from_nanos(ns.parse()?);
        }
        Ok(used)
    }
}

impl Drop for EdgeTestbed {
    /// Removes what boxes that were killed here have left: nothing can be restored in a namespace that goes.
    fn drop(&mut self) {
        let left = self.middle.run(airpace_live::edge::files_of_boxes);
        for file in left.into_iter().flatten() {
            let _ = fs::remove_file(file);
        }
    }
}

impl Drop for EdgeProcess {
    fn drop(&mut self) {
        if !self.is_waited_for {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Waits on an empty poller.
pub fn pause(span: Duration) {
    let clock = Clock::start();
    if let Ok(mut poller) = Poller::new() {
        let _ = poller.wait(&clock, Some(clock.now() + span));
    }
}

/// Brings an interface up and down once, which gives it a queueing discipline for ever.
fn wake(link: &mut Netlink, interface: &str) -> anyhow::Result<()> {
    link.set_up(interface)?;
    Ok(link.set_down(interface)?)
}

fn namespace() -> anyhow::Result<Namespace> {
    let namespace = Namespace::new()?;
    namespace.prepare()?;
    Ok(namespace)
}

fn configure(
    namespace: &Namespace,
    interface: &str,
    mac: [u8; 6],
    address: Ipv4Addr,
    mtu: u32,
) -> anyhow::Result<()> {
    let mut link = namespace.netlink()?;
    link.set_hardware_address(interface, mac)?;
    link.set_mtu(interface, mtu)?;
    link.add_address(interface, Ipv4Net::new(address, 24)?.into())?;
    link.set_up(interface)?;
    Ok(())
}

/// A new folder for one process.
fn scratch_folder() -> anyhow::Result<PathBuf> {
    use core::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("airpace-edge-{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    fs::create_dir_all(&folder)?;
    Ok(folder)
}
