//! A proxy and an agent in their own namespaces, connected by a pair of virtual Ethernet
//! interfaces.

use airpace_api::config::{
    AgentConfig, AgentMode, Cipher, ControlConfig, FallbackConfig, ProxyConfig, QueueConfig,
    StationConfig, TunConfig,
};
use airpace_config::quantity::{Size, Span};
use airpace_live::keys::KeyPair;
use airpace_live::proxy::Totals;
use airpace_live::{run_agent, run_proxy};
use airpace_net::netns::{Namespace, NamespaceError};
use anyhow::Context as _;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use ipnet::IpNet;
use ipnet::Ipv4Net;
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;

/// Address of the proxy within the tunnel.
pub const PROXY: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
/// Address of the agent within the tunnel.
pub const AGENT: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
/// Address of the proxy outside of the tunnel.
pub const PROXY_OUTSIDE: Ipv4Addr = Ipv4Addr::new(192, 168, 77, 1);
/// Address of the agent outside of the tunnel.
pub const AGENT_OUTSIDE: Ipv4Addr = Ipv4Addr::new(192, 168, 77, 2);
const PORT: u16 = 51_900;

/// Two namespaces, a link between them, and matching configurations.
pub struct Testbed {
    /// Where the proxy runs.
    pub proxy_side: Namespace,
    /// Where the agent runs.
    pub agent_side: Namespace,
    /// Configuration of the proxy; change it before [`Testbed::start_proxy`].
    pub proxy: ProxyConfig,
    /// Configuration of the agent; change it before [`Testbed::start_agent`].
    pub agent: AgentConfig,
}

/// A proxy or an agent that runs in a thread and returns `T`. Dropping it ends it.
pub struct Running<T = ()> {
    stop: UnixStream,
    thread: Option<JoinHandle<Result<anyhow::Result<T>, NamespaceError>>>,
}

impl Testbed {
    /// Creates the namespaces and the link. Nothing runs yet.
    ///
    /// # Errors
    /// If rights are missing (see [`airpace_net::netns::acquire_rights`]).
    pub fn new() -> anyhow::Result<Self> {
        let (proxy_side, agent_side) = (Namespace::new()?, Namespace::new()?);
        proxy_side.prepare()?;
        agent_side.prepare()?;
        let mut link = proxy_side.netlink()?;
        link.add_veth("wire0", "wire1", Some(&agent_side))?;
        link.add_address("wire0", Ipv4Net::new_assert(PROXY_OUTSIDE, 24).into())?;
        link.set_up("wire0")?;
        let mut link = agent_side.netlink()?;
        link.add_address("wire1", Ipv4Net::new_assert(AGENT_OUTSIDE, 24).into())?;
        link.set_up("wire1")?;
        let (proxy, agent) = configurations();
        Ok(Self {
            proxy_side,
            agent_side,
            proxy,
            agent,
        })
    }

    /// Starts the proxy.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start_proxy(&self) -> anyhow::Result<Running<Totals>> {
        let config = self.proxy.clone();
        start(&self.proxy_side, "proxy", move |stop| {
            run_proxy(&config, stop.as_fd(), None)
        })
    }

    /// Starts the agent.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start_agent(&self) -> anyhow::Result<Running> {
        Self::start_agent_with(&self.agent_side, self.agent.clone())
    }

    /// Starts an agent with another configuration.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start_agent_with(side: &Namespace, config: AgentConfig) -> anyhow::Result<Running> {
        start(side, "agent", move |stop| {
            run_agent(&config, stop.as_fd(), None)
        })
    }
}

fn start<T: Send + 'static>(
    side: &Namespace,
    name: &str,
    run: impl FnOnce(&UnixStream) -> anyhow::Result<T> + Send + 'static,
) -> anyhow::Result<Running<T>> {
    let (stop, stopped) = UnixStream::pair()?;
    let thread = side.spawn_thread(name, move || run(&stopped))?;
    Ok(Running {
        stop,
        thread: Some(thread),
    })
}

impl<T> Running<T> {
    /// Ends the loop and waits for it.
    ///
    /// # Errors
    /// The reason why it had already ended.
    pub fn stop(mut self) -> anyhow::Result<T> {
        self.end()
            .context("the loop")?
            .context("the loop has already ended")
    }

    /// `None` if the loop has already ended.
    fn end(&mut self) -> anyhow::Result<Option<T>> {
        let Some(thread) = self.thread.take() else {
            return Ok(None);
        };
        // If the loop has ended by itself, the write fails, and the join below says why.
        let _ = self.stop.write_all(b"x");
        thread
            .join()
            .map_err(|_| anyhow::anyhow!("the thread panicked"))??
            .map(Some)
    }
}

impl<T> Drop for Running<T> {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            tracing::error!(%error, "a loop ended unexpectedly");
        }
    }
}

fn configurations() -> (ProxyConfig, AgentConfig) {
    let (proxy_keys, agent_keys) = (KeyPair::generate(), KeyPair::generate());
    let tun = |address: Ipv4Addr| TunConfig {
        name: "airpace0".to_owned(),
        address: IpNet::new(IpAddr::V4(address), 24).expect("24 bits fit an IPv4 address"),
        mtu: Size::from_bytes(1420),
        copy_dscp: true,
        ..TunConfig::default()
    };
    let outside = SocketAddr::from((PROXY_OUTSIDE, PORT));
    let station = StationConfig {
        name: "station".to_owned(),
        public_key: agent_keys.public,
        address: IpAddr::V4(AGENT),
        weight: 1.0,
        ..StationConfig::default()
    };
    let proxy = ProxyConfig {
        listen: outside,
        private_key: Some(proxy_keys.private),
        private_key_file: None,
        telemetry: None,
        realtime: true,
        tun: tun(PROXY),
        control: ControlConfig::default(),
        queue: QueueConfig::default(),
        l4s: true,
        fallback: FallbackConfig::default(),
        udp_load: None,
        interactive: None,
        interactive_budget: None,
        station: vec![station],
        ..ProxyConfig::default()
    };
    let agent = AgentConfig {
        mode: AgentMode::Tunnel,
        proxy: outside.into(),
        proxy_public_key: proxy_keys.public,
        private_key: Some(agent_keys.private),
        private_key_file: None,
        cipher: Cipher::default(),
        monitor: None,
        interface: None,
        slot: Span::from_millis(100),
        telemetry: None,
        realtime: true,
        routes: Vec::new(),
        tun: Some(tun(AGENT)),
        ..AgentConfig::default()
    };
    (proxy, agent)
}
