//! The proxy and the agents as child processes, with fresh keys and configurations.

use super::configs;
use crate::tool::Stop;
use airpace_api::telemetry::{AgentSlot, ProxySlot, parse_lines};
use airpace_live::keys::KeyPair;
use airpace_net::netns::Namespace;
use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// UDP port at which the proxy listens.
pub(super) const PORT: u16 = 51_900;

/// How long proxy and agents may take until every station has reported.
const READY_WITHIN: Duration = Duration::from_secs(8);

/// How long a child may take to end after SIGTERM before it is killed.
const END_WITHIN: Duration = Duration::from_secs(2);

/// A station on which an agent will run.
#[derive(Debug)]
pub(super) struct AgentSite<'a> {
    /// Its namespace.
    pub(super) namespace: &'a Namespace,
    /// Its monitor interface.
    pub(super) monitor: String,
}

/// What proxy and agents will do.
#[derive(Debug)]
pub(super) struct TunnelPlan<'a> {
    /// The airpace program.
    pub(super) program: &'a Path,
    /// Where the proxy runs.
    pub(super) server: &'a Namespace,
    /// The address at which agents reach the proxy.
    pub(super) server_address: IpAddr,
    /// The stations in order.
    pub(super) sites: Vec<AgentSite<'a>>,
    /// Target level, mean packets per frame.
    pub(super) target_level: Option<f64>,
    /// The interval of the reports.
    pub(super) slot: Duration,
    /// Whether the proxy itself sends a constant load.
    pub(super) udp_load: bool,
}

/// Running proxy and agents. Dropping this ends them and removes their files.
#[derive(Debug)]
pub(super) struct Tunnel {
    folder: PathBuf,
    children: Vec<(String, Child)>,
    stations: usize,
}

impl Tunnel {
    /// Starts everything and waits until every station has reported.
    pub(super) fn start(plan: &TunnelPlan<'_>, stop: &Stop) -> Result<Self> {
        let folder = private_folder()?;
        let mut tunnel = Self {
            folder,
            children: Vec::new(),
            stations: plan.sites.len(),
        };
        tunnel.write_and_spawn(plan)?;
        tunnel.wait_until_ready(stop)?;
        Ok(tunnel)
    }

    /// The address of a station within the tunnel.
    pub(super) fn address(station: usize) -> IpAddr {
        // The proxy has host part 1. The command line allows far fewer than 250 stations.
        configs::tunnel_address(u8::try_from(station + 2).unwrap_or(u8::MAX))
    }

    /// The telemetry that the proxy has written about `station` so far.
    pub(super) fn proxy_slots(&self, station: usize) -> Result<Vec<ProxySlot>> {
        let text = read(&self.folder.join("proxy.jsonl"))?;
        let rows: Vec<ProxySlot> = parse_lines(&text).context("the proxy's telemetry")?;
        let name = station_name(station);
        Ok(rows.into_iter().filter(|row| row.station == name).collect())
    }

    /// The telemetry that the agent of `station` has written so far.
    pub(super) fn agent_slots(&self, station: usize) -> Result<Vec<AgentSlot>> {
        let text = read(&self.folder.join(format!("{}.jsonl", station_name(station))))?;
        parse_lines(&text).context("an agent's telemetry")
    }

    /// Copies the telemetry of proxy and agents to `folder`, with `-suffix` appended to each name.
    pub(super) fn keep_telemetry(&self, folder: &Path, suffix: &str) -> Result<()> {
        for (name, _) in &self.children {
            let to = folder.join(format!("{name}-{suffix}.jsonl"));
            let from = self.folder.join(format!("{name}.jsonl"));
            fs::copy(from, &to).with_context(|| format!("writing {}", to.display()))?;
        }
        Ok(())
    }

    fn write_and_spawn(&mut self, plan: &TunnelPlan<'_>) -> Result<()> {
        let proxy_keys = KeyPair::generate();
        let agent_keys: Vec<KeyPair> = plan.sites.iter().map(|_| KeyPair::generate()).collect();
        let config = configs::proxy(plan, &proxy_keys, &agent_keys, &self.folder);
        self.spawn(plan, plan.server, "proxy", &config.to_toml())?;
        for (index, site) in plan.sites.iter().enumerate() {
            let config = configs::agent(plan, index, &agent_keys[index], &proxy_keys, &self.folder);
            self.spawn(
                plan,
                site.namespace,
                &station_name(index),
                &config.to_toml(),
            )?;
        }
        Ok(())
    }

    fn spawn(
        &mut self,
        plan: &TunnelPlan<'_>,
        namespace: &Namespace,
        name: &str,
        config: &str,
    ) -> Result<()> {
        let path = self.folder.join(format!("{name}.toml"));
        fs::write(&path, config).with_context(|| format!("writing {}", path.display()))?;
        let log =
            File::create(self.folder.join(format!("{name}.log"))).context("creating a log")?;
        let verb = if name == "proxy" { "proxy" } else { "agent" };
        let mut command = Command::new(plan.program);
        command
            .arg(verb)
            .arg("--config")
            .arg(&path)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        let child = namespace
            .spawn(command)
            .with_context(|| format!("starting {} {verb}", plan.program.display()))?;
        self.children.push((name.to_owned(), child));
        Ok(())
    }

    fn wait_until_ready(&mut self, stop: &Stop) -> Result<()> {
        let deadline = Instant::now() + READY_WITHIN;
        while !self.is_ready() {
            self.check()?;
            if stop.is_raised() {
                bail!("the demo was stopped");
            }
            if Instant::now() > deadline {
                bail!(
                    "proxy and agents did not connect within {} s; {}",
                    READY_WITHIN.as_secs(),
                    self.last_lines()
                );
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Whether every station has reported. Before that the proxy calls it away.
    fn is_ready(&self) -> bool {
        (0..self.stations).all(|station| {
            let slots = self.proxy_slots(station).unwrap_or_default();
            slots.last().is_some_and(|slot| slot.mode != "away")
        })
    }

    /// Fails if a child has ended.
    pub(super) fn check(&mut self) -> Result<()> {
        for index in 0..self.children.len() {
            let (name, child) = &mut self.children[index];
            if let Some(status) = child.try_wait().context("querying a child process")? {
                let name = name.clone();
                bail!("{name} ended ({status}): {}", self.last_line(&name));
            }
        }
        Ok(())
    }

    fn last_lines(&self) -> String {
        let lines: Vec<String> = self
            .children
            .iter()
            .map(|(name, _)| format!("{name}: {}", self.last_line(name)))
            .collect();
        lines.join("; ")
    }

    fn last_line(&self, name: &str) -> String {
        let text = read(&self.folder.join(format!("{name}.log"))).unwrap_or_default();
        text.lines()
            .last()
            .unwrap_or("it logged nothing")
            .to_owned()
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        for (_, child) in &self.children {
            // This fails only if the child has already ended.
            let _ = kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM);
        }
        let deadline = Instant::now() + END_WITHIN;
        for (name, child) in &mut self.children {
            end(name, child, deadline);
        }
        if let Err(error) = fs::remove_dir_all(&self.folder) {
            tracing::warn!(%error, folder = %self.folder.display(), "temporary files were not removed");
        }
    }
}

fn end(name: &str, child: &mut Child, deadline: Instant) {
    while Instant::now() < deadline {
        if matches!(child.try_wait(), Ok(Some(_))) {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    tracing::warn!(name, "did not end after SIGTERM and is killed");
    // Neither call can fail for a running child.
    let _ = child.kill();
    let _ = child.wait();
}

/// Beginning of the names of temporary folders; the id of the process follows.
const FOLDER: &str = "airpace-demo-";

/// Removes the folders of demos that were killed. Their keys are of no use, but nobody should find
/// them.
fn remove_stale_folders() {
    let Ok(entries) = fs::read_dir(std::env::temp_dir()) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let process = name
            .to_str()
            .and_then(|name| name.strip_prefix(FOLDER)?.split('-').next());
        let dead = process.is_some_and(|pid| {
            pid.parse::<u32>().is_ok() && !Path::new("/proc").join(pid).exists()
        });
        if dead && let Err(error) = fs::remove_dir_all(entry.path()) {
            tracing::debug!(%error, folder = %entry.path().display(), "a folder of another demo was not removed");
        }
    }
}

/// Creates a temporary folder that other users cannot read, because it will hold keys.
fn private_folder() -> Result<PathBuf> {
    use std::os::unix::fs::DirBuilderExt as _;
    remove_stale_folders();
    for attempt in 0..100 {
        let folder = std::env::temp_dir().join(format!("{FOLDER}{}-{attempt}", std::process::id()));
        match fs::DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(error).with_context(|| format!("creating {}", folder.display()));
            }
        }
    }
    bail!(
        "no temporary folder could be created in {}",
        std::env::temp_dir().display()
    )
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))
}

pub(super) fn station_name(index: usize) -> String {
    format!("sta{index}")
}
