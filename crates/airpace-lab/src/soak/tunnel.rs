//! The proxy and its agents: each agent has a namespace, with a wire of its own to the proxy's.

use super::SoakPlan;
use super::announce::{Announcements, Subject};
use super::daemon::Daemon;
use super::pings::{ECHO_PORT, Pinger, echo_socket};
use super::schedule::{Disturbance, Step};
use super::watch::Figures;
use crate::tool::Stop;
use crate::tool::cbr::{self, CbrConfig};
use airpace_api::config::{AgentConfig, ControlConfig, ProxyConfig, StationConfig, TunConfig};
use airpace_config::quantity::Span;
use airpace_live::keys::KeyPair;
use airpace_live::run_agent;
use airpace_net::netlink::{Netlink, Route};
use airpace_net::netns::{Namespace, NamespaceError};
use anyhow::{Context, Result, anyhow, bail};
use ipnet::{IpNet, Ipv4Net};
use nix::sys::signal::Signal;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;

/// The proxy outside of the tunnel.
const PROXY_OUTSIDE: Ipv4Addr = Ipv4Addr::new(172, 16, 0, 1);
/// Prefix of the network outside of the tunnel.
const OUTSIDE_PREFIX: u8 = 12;
/// UDP port of the proxy.
const PORT: u16 = 51_900;
/// The proxy within the tunnel.
const PROXY_INSIDE: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
/// Prefix of the network within the tunnel.
const INSIDE_PREFIX: u8 = 16;
/// Outer addresses that an agent takes in turn when it roams.
const PLACES: u32 = 4;
/// Time between two pings to one agent.
const PING_INTERVAL: Duration = Duration::from_secs(2);
/// Length of a slot. With the default of 100 ms, the reports of a thousand agents, which all run on one
/// machine here, would take a whole processor.
const SLOT: Span = Span::from_millis(500);
/// Name of an agent's interface to the proxy.
const WIRE: &str = "wire";

/// Hardware addresses of the two ends of each wire.
const PROXY_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
const AGENT_MAC: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// Time between two loads, each to one agent.
const LOAD_EVERY: Duration = Duration::from_secs(60);
/// How long it lasts.
const LOAD_FOR: Duration = Duration::from_secs(10);
/// The first so many agents get it in turn. A station that once had a long queue keeps the memory for
/// it, so that others would look like a leak.
const LOADED: usize = 5;
/// Payload rate of the load in bit/s, half of what a station is granted before it reports.
const LOAD_BPS: f64 = 10e6;

/// The proxy, the agents and the pings.
pub(super) struct TunnelPart {
    // Fields are dropped in this order: pings first, then programs, then namespaces.
    pinger: Pinger,
    load: Option<JoinHandle<Result<Result<u64>, NamespaceError>>>,
    next_load: Duration,
    loads: usize,
    proxy: Daemon,
    agents: Agents,
    proxy_side: Namespace,
    link: Netlink,
}

/// An agent and its machine.
struct Agent {
    runs: AgentRuns,
    config: AgentConfig,
    namespace: Namespace,
    /// How often it has moved to another network.
    moves: u32,
}

/// All agents. Dropping this ends them, all at once: the kernel takes a while to remove each interface.
struct Agents(Vec<Agent>);

impl Drop for Agents {
    fn drop(&mut self) {
        self.tell();
    }
}

impl Agents {
    /// Tells the agents that are threads to end.
    fn tell(&mut self) {
        for agent in &mut self.0 {
            if let AgentRuns::Thread(Some(thread)) = &mut agent.runs {
                thread.tell();
            }
        }
    }
}

enum AgentRuns {
    Process(Daemon),
    Thread(Option<AgentThread>),
}

impl TunnelPart {
    /// Starts proxy, agents and pings; agents connect later.
    pub(super) fn start(
        plan: &SoakPlan,
        folder: &Path,
        announcements: &Announcements,
        stop: &Stop,
    ) -> Result<Self> {
        let proxy_side = Namespace::new()?;
        proxy_side.prepare()?;
        let mut link = proxy_side.netlink()?;
        link.add_address("lo", Ipv4Net::new_assert(PROXY_OUTSIDE, 32).into())?;
        let proxy_keys = KeyPair::generate();
        let agent_keys: Vec<KeyPair> = (0..plan.agents).map(|_| KeyPair::generate()).collect();
        let config = proxy_config(&proxy_keys, &agent_keys);
        let proxy = Daemon::start(
            &plan.program,
            "proxy",
            "proxy",
            &config.to_toml(),
            folder,
            &proxy_side,
        )?;
        let mut agents = Agents(Vec::with_capacity(plan.agents));
        let mut echoes = Vec::with_capacity(plan.agents);
        for (index, keys) in agent_keys.into_iter().enumerate() {
            if stop.is_raised() {
                bail!("the run was stopped");
            }
            let namespace = Namespace::new()?;
            namespace.prepare()?;
            connect(&mut link, &namespace, index, 0)
                .with_context(|| format!("the wire of agent {index}"))?;
            echoes.push(echo_socket(&namespace)?);
            let config = agent_config(index, keys, &proxy_keys);
            let runs = if index < plan.processes {
                let (name, text) = (format!("agent{index}"), config.to_toml());
                let daemon =
                    Daemon::start(&plan.program, "agent", &name, &text, folder, &namespace)?;
                AgentRuns::Process(daemon)
            } else {
                AgentRuns::Thread(Some(AgentThread::start(&namespace, &config)?))
            };
            agents.0.push(Agent {
                runs,
                config,
                namespace,
                moves: 0,
            });
        }
        let addresses: Vec<IpAddr> = (0..plan.agents).map(inside).collect();
        let subject: fn(Option<usize>) -> Subject = Subject::Tunnel;
        let pinger = Pinger::start(
            &proxy_side,
            &addresses,
            echoes,
            PING_INTERVAL,
            announcements,
            subject,
        )?;
        Ok(Self {
            pinger,
            load: None,
            next_load: LOAD_FOR,
            loads: 0,
            proxy,
            agents,
            proxy_side,
            link,
        })
    }

    pub(super) const fn pings(&self) -> &Pinger {
        &self.pinger
    }

    pub(super) fn proxy_figures(&self) -> Option<Figures> {
        self.proxy.figures()
    }

    /// Of the first agent, which is never killed.
    pub(super) fn agent_figures(&self) -> Option<Figures> {
        match &self.agents.0.first()?.runs {
            AgentRuns::Process(daemon) => daemon.figures(),
            AgentRuns::Thread(_) => None,
        }
    }

    /// Begins or ends a disturbance.
    pub(super) fn disturb(&mut self, what: Disturbance, step: Step) -> Result<()> {
        let begins = matches!(step, Step::Begin { .. });
        match what {
            Disturbance::KillProxy => kill_or_start(&mut self.proxy, begins),
            Disturbance::StopProxy => stop_or_continue(&self.proxy, begins),
            Disturbance::KillAgent(index) => kill_or_start(self.process(index)?, begins),
            Disturbance::StopAgent(index) => stop_or_continue(self.process(index)?, begins),
            Disturbance::LeaveAgent(index) => self.leave_or_join(index, begins),
            Disturbance::RoamAgent(index) => self.roam(index),
            other => bail!("{other:?} is not of the tunnel"),
        }
    }

    fn process(&mut self, index: usize) -> Result<&mut Daemon> {
        match &mut self.agents.0[index].runs {
            AgentRuns::Process(daemon) => Ok(daemon),
            AgentRuns::Thread(_) => bail!("agent {index} is not a process"),
        }
    }

    fn leave_or_join(&mut self, index: usize, leaves: bool) -> Result<()> {
        let agent = &mut self.agents.0[index];
        let AgentRuns::Thread(thread) = &mut agent.runs else {
            bail!("agent {index} is not a thread");
        };
        if leaves {
            let running = thread.take().context("the agent has left already")?;
            running.end()
        } else {
            *thread = Some(AgentThread::start(&agent.namespace, &agent.config)?);
            Ok(())
        }
    }

    /// Gives the agent's machine another wire, with another address.
    fn roam(&mut self, index: usize) -> Result<()> {
        let agent = &mut self.agents.0[index];
        agent.moves += 1;
        self.link.delete_link(&port(index))?;
        connect(&mut self.link, &agent.namespace, index, agent.moves)
    }

    /// Sends a constant load to one agent after the other.
    pub(super) fn load(&mut self, now: Duration, stop: &Stop) {
        if now < self.next_load {
            return;
        }
        self.next_load += LOAD_EVERY;
        if let Some(done) = self.load.take() {
            join_load(done);
        }
        let agent = self.loads % LOADED.min(self.agents.0.len());
        self.loads += 1;
        let config = CbrConfig {
            // The echo server ignores everything but pings.
            to: SocketAddr::new(inside(agent), ECHO_PORT),
            payload: 1_200,
            rate_bps: LOAD_BPS,
            duration: LOAD_FOR,
        };
        let stop = stop.clone();
        let generate = move || cbr::generate(&config, &stop);
        match self.proxy_side.spawn_thread("load", generate) {
            Ok(thread) => self.load = Some(thread),
            Err(error) => tracing::warn!(%error, "the load was not started"),
        }
    }

    /// Programs and agents that have ended although nobody ended them, and why.
    pub(super) fn ended_by_themselves(&mut self) -> Vec<String> {
        let mut ended: Vec<String> = self.proxy.ended_by_itself().into_iter().collect();
        for (index, agent) in self.agents.0.iter_mut().enumerate() {
            match &mut agent.runs {
                AgentRuns::Process(daemon) => ended.extend(daemon.ended_by_itself()),
                AgentRuns::Thread(thread) => {
                    if let Some(finished) = thread.take_if(|thread| thread.is_finished()) {
                        let why = finished.end().err();
                        ended.push(format!("agent {index} ended: {why:?}"));
                    }
                }
            }
        }
        ended
    }

    /// Ends everything; returns what did not end as it should.
    pub(super) fn end(self) -> Vec<String> {
        let Self {
            pinger,
            load,
            mut proxy,
            mut agents,
            ..
        } = self;
        drop(pinger);
        if let Some(load) = load {
            join_load(load);
        }
        let mut failures = Vec::new();
        // All are told before the first is waited for.
        agents.tell();
        for agent in &mut agents.0 {
            let ended = match &mut agent.runs {
                AgentRuns::Process(daemon) => daemon.end(),
                AgentRuns::Thread(thread) => thread.take().map_or(Ok(()), AgentThread::end),
            };
            failures.extend(ended.err().map(|error| format!("an agent: {error:#}")));
        }
        failures.extend(proxy.end().err().map(|error| format!("{error:#}")));
        failures
    }
}

fn join_load(load: JoinHandle<Result<Result<u64>, NamespaceError>>) {
    match load.join() {
        Ok(Ok(Ok(_))) => {}
        Ok(Ok(Err(error))) => tracing::debug!(%error, "load"),
        Ok(Err(error)) => tracing::debug!(%error, "load"),
        Err(_) => tracing::error!("the load panicked"),
    }
}

/// Kills a program, or starts it again.
pub(super) fn kill_or_start(daemon: &mut Daemon, kills: bool) -> Result<()> {
    if kills {
        daemon.kill()
    } else {
        daemon.start_again()
    }
}

/// Stops a program, or lets it continue.
pub(super) fn stop_or_continue(daemon: &Daemon, stops: bool) -> Result<()> {
    daemon.signal(if stops {
        Signal::SIGSTOP
    } else {
        Signal::SIGCONT
    })
}

/// An agent that runs in a thread. Dropping it ends it.
struct AgentThread {
    stop: UnixStream,
    thread: Option<JoinHandle<Result<Result<()>, NamespaceError>>>,
}

impl AgentThread {
    fn start(namespace: &Namespace, config: &AgentConfig) -> Result<Self> {
        let (stop, stopped) = UnixStream::pair()?;
        let config = config.clone();
        // A thousand agents would log more than anybody reads.
        let silent = tracing::subscriber::NoSubscriber::default();
        let run = move || {
            tracing::subscriber::with_default(silent, || run_agent(&config, stopped.as_fd(), None))
        };
        let thread = Some(namespace.spawn_thread("agent", run)?);
        Ok(Self { stop, thread })
    }

    fn is_finished(&self) -> bool {
        self.thread.as_ref().is_some_and(JoinHandle::is_finished)
    }

    /// Tells it to end.
    fn tell(&mut self) {
        // If it has ended by itself, the write fails, and joining says why.
        let _ = self.stop.write_all(b"x");
    }

    /// Ends it.
    fn end(mut self) -> Result<()> {
        self.tell();
        let thread = self.thread.take().context("it was ended before")?;
        thread.join().map_err(|_| anyhow!("it panicked"))??
    }
}

impl Drop for AgentThread {
    fn drop(&mut self) {
        self.tell();
        if let Some(thread) = self.thread.take() {
            // Why it ended is reported by `end`; here the whole run has failed already.
            let _ = thread.join();
        }
    }
}

/// The proxy's interface to an agent.
fn port(index: usize) -> String {
    format!("w{index}")
}

/// An address of an agent outside of the tunnel.
fn outside(index: usize, moves: u32) -> Ipv4Addr {
    let number = 256 + PLACES * index as u32 + moves % PLACES;
    Ipv4Addr::from_bits(PROXY_OUTSIDE.to_bits() + number)
}

/// The address of an agent within the tunnel.
fn inside(index: usize) -> IpAddr {
    Ipv4Addr::from_bits(PROXY_INSIDE.to_bits() + 1 + index as u32).into()
}

/// Connects an agent's namespace to the proxy's.
fn connect(link: &mut Netlink, agent: &Namespace, index: usize, moves: u32) -> Result<()> {
    let (port, address) = (port(index), outside(index, moves));
    link.add_veth(&port, WIRE, Some(agent))?;
    link.set_hardware_address(&port, PROXY_MAC)?;
    link.set_up(&port)?;
    let mut agent = agent.netlink()?;
    agent.set_hardware_address(WIRE, AGENT_MAC)?;
    agent.add_address(WIRE, Ipv4Net::new(address, OUTSIDE_PREFIX)?.into())?;
    agent.set_up(WIRE)?;
    // A thousand agents would be more than the kernel's table of neighbours takes by itself.
    agent.add_neighbour(WIRE, PROXY_OUTSIDE, PROXY_MAC)?;
    link.add_neighbour(&port, address, AGENT_MAC)?;
    link.add_route(&Route::through(IpAddr::from(address).into(), &port))?;
    Ok(())
}

fn tun(address: IpAddr) -> TunConfig {
    TunConfig {
        address: IpNet::new(address, INSIDE_PREFIX).expect("16 bits fit an IPv4 address"),
        ..TunConfig::default()
    }
}

fn proxy_config(own: &KeyPair, agents: &[KeyPair]) -> ProxyConfig {
    let station = |(index, keys): (usize, &KeyPair)| StationConfig {
        name: format!("agent{index}"),
        public_key: keys.public,
        address: inside(index),
        ..StationConfig::default()
    };
    ProxyConfig {
        listen: SocketAddr::from((PROXY_OUTSIDE, PORT)),
        private_key: Some(own.private.clone()),
        tun: tun(PROXY_INSIDE.into()),
        control: ControlConfig {
            slot: SLOT,
            ..ControlConfig::default()
        },
        station: agents.iter().enumerate().map(station).collect(),
        ..ProxyConfig::default()
    }
}

fn agent_config(index: usize, own: KeyPair, proxy: &KeyPair) -> AgentConfig {
    AgentConfig {
        proxy: SocketAddr::from((PROXY_OUTSIDE, PORT)).into(),
        proxy_public_key: proxy.public,
        private_key: Some(own.private),
        slot: SLOT,
        // A thousand agents with real-time priority would leave nothing to anybody else.
        realtime: false,
        tun: Some(tun(inside(index))),
        ..AgentConfig::default()
    }
}
