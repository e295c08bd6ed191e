//! The bridge and the programs of a run: how they are set up, closed while a port is away, opened
//! again, and taken down.

use super::state::{self, StateFile};
use super::{leftovers, settings, socket};
use airpace_api::config::{Datapath, EdgeConfig};
use airpace_net::bridge::{self, BridgeChoice, BridgeError, BridgeState, Forwarding};
use airpace_net::clock::Clock;
use airpace_net::inline::{
    AttachMode, InlineCounters, InlineError, InlineOptions, InlinePath, UplinkUse,
};
use airpace_net::interfaces;
use airpace_net::netlink::{LinkError, Netlink};
use airpace_net::poll::Poller;
use anyhow::{Context as _, bail};
use core::time::Duration;
use std::{fs, io};

/// What a run has set up. Dropping it takes the programs out; [`Setup::end`] restores the bridge.
pub(super) struct Setup {
    pub(super) path: InlinePath,
    bridge: BridgeState,
    state_file: StateFile,
    wan: String,
    access_points: Vec<String>,
    datapath: Datapath,
    /// Every port with the index of its interface at the time when the path was opened.
    attached: Vec<(String, u32)>,
    /// What paths have counted that are closed by now.
    counted_before: InlineCounters,
}

impl Setup {
    /// Makes the bridge and attaches the programs.
    pub(super) fn begin(config: &EdgeConfig) -> anyhow::Result<Self> {
        let access_points = settings::ports(config);
        let mut ports = vec![config.wan.as_str()];
        ports.extend(&access_points);
        let state_file = StateFile::of(&config.wan);
        if socket::is_running(&config.wan) {
            bail!(
                "airpace edge runs already on {0}: airpace edge status --wan {0}",
                config.wan
            );
        }
        leftovers::remove();
        let taken_over = take_over(config, &ports, &state_file)?;
        if taken_over.is_none() {
            // The bridge of a run that was killed carries traffic: a mistake must not end that.
            require_ports(config)?;
            if state_file
                .read()?
                .is_some_and(|state| state.bridge.is_some())
            {
                bridge::refuse_addresses(&ports).context("the bridge")?;
            }
            refuse_own_bridge(config, &state_file)?;
            if undo(&config.wan)? {
                tracing::warn!(
                    event = "earlier-run-restored",
                    "an earlier run was killed: what it had left is restored"
                );
            }
        }
        if config.datapath == Datapath::Packet {
            return Self::without_bpf(config, &ports, &access_points, state_file);
        }
        let bridge = match taken_over {
            Some(bridge) => bridge,
            None => set_up_bridge(config, &ports).context("the bridge")?,
        };
        let path = state_file.store(&bridge).and_then(|()| {
            refuse_obstacles(&bridge, &config.wan, &access_points)?;
            open_xdp_when_free(&config.wan, &access_points, config.datapath)
        });
        match path {
            Ok(path) => {
                warn_of_filters();
                Ok(Self::new(config, path, bridge, state_file))
            }
            Err(error) => {
                bridge.undo().context("restoring the bridge")?;
                let _ = state_file.remove();
                let is_without_bpf = matches!(error.downcast_ref(), Some(InlineError::Load(_)));
                if is_without_bpf && config.datapath == Datapath::Auto {
                    tracing::warn!(
                        event = "bridge-in-user-space",
                        "{error:#}; continuing with a bridge in user space, so traffic stops when airpace does"
                    );
                    return Self::without_bpf(config, &ports, &access_points, state_file);
                }
                Err(error)
            }
        }
    }

    fn new(
        config: &EdgeConfig,
        path: InlinePath,
        bridge: BridgeState,
        state_file: StateFile,
    ) -> Self {
        let access_points = settings::ports(config).into_iter().map(str::to_owned);
        let mut setup = Self {
            path,
            bridge,
            state_file,
            wan: config.wan.clone(),
            access_points: access_points.collect(),
            datapath: config.datapath,
            attached: Vec::new(),
            counted_before: InlineCounters::default(),
        };
        setup.note_attached();
        setup
    }

    /// Notes to which interfaces the path is attached.
    fn note_attached(&mut self) {
        self.attached = vec![(self.wan.clone(), self.path.wan_index())];
        let indices = self.path.access_point_indices();
        self.attached
            .extend(self.access_points.iter().cloned().zip(indices));
    }

    /// A bridge in user space.
    fn without_bpf(
        config: &EdgeConfig,
        ports: &[&str],
        access_points: &[&str],
        state_file: StateFile,
    ) -> anyhow::Result<Self> {
        if config.bridge.is_some() {
            bail!("without BPF airpace is the bridge itself: leave out `bridge`");
        }
        let bridge = BridgeState::set_up(BridgeChoice::None, ports).context("the ports")?;
        let path = state_file
            .store(&bridge)
            .and_then(|()| Ok(InlinePath::open_packet(&config.wan, access_points)?));
        match path {
            Ok(path) => Ok(Self::new(config, path, bridge, state_file)),
            Err(error) => {
                bridge.undo().context("restoring the ports")?;
                let _ = state_file.remove();
                Err(error)
            }
        }
    }

    /// Whether a kernel bridge carries what this process does not.
    pub(super) const fn is_fail_open(&self) -> bool {
        self.bridge.bridge.is_some()
    }

    /// The ports whose interface has been removed since the path was opened, or replaced by another
    /// one of the same name.
    pub(super) fn lost_ports(&self, link: &mut Netlink) -> Vec<String> {
        let mut lost = Vec::new();
        for (name, index) in &self.attached {
            let is_lost = match link.index(name) {
                Ok(now) => now != *index,
                // Any other error says nothing about the port.
                Err(error) => error.is_missing(),
            };
            if is_lost {
                lost.push(name.clone());
            }
        }
        lost
    }

    /// Whether the path is closed because a port is away.
    pub(super) const fn is_closed(&self) -> bool {
        matches!(self.path, InlinePath::Closed)
    }

    /// Closes the path: the programs are detached, and the bridge carries all frames.
    pub(super) fn close(&mut self) {
        self.counted_before = self.counters();
        self.path = InlinePath::Closed;
    }

    /// Opens the path again after all ports have come back. `returned` are those that were away;
    /// they join the bridge first.
    ///
    /// # Errors
    /// A port is still away, or the bridge or the programs refuse one.
    pub(super) fn reopen(&mut self, returned: &[String]) -> anyhow::Result<()> {
        let returned: Vec<&str> = returned.iter().map(String::as_str).collect();
        self.bridge.repair(&returned)?;
        let access_points: Vec<&str> = self.access_points.iter().map(String::as_str).collect();
        self.path = if self.is_fail_open() {
            open_xdp(&self.wan, &access_points, self.datapath)?
        } else {
            InlinePath::open_packet(&self.wan, &access_points)?
        };
        self.note_attached();
        Ok(())
    }

    /// Makes the bridge again if it was made for this run and has been deleted.
    pub(super) fn repair_bridge(&mut self) -> anyhow::Result<()> {
        Ok(self.bridge.repair(&[])?)
    }

    /// What the bridge does with frames between the ports; a bridge in user space forwards all.
    pub(super) fn forwarding(&self) -> Result<Forwarding, LinkError> {
        let access_points: Vec<&str> = self.access_points.iter().map(String::as_str).collect();
        match &self.bridge.bridge {
            Some(bridge) => bridge::forwarding(bridge, &self.wan, &access_points),
            None => Ok(Forwarding::Unchanged),
        }
    }

    /// Returns the counters of the frames that arrived on the wired port since the start.
    pub(super) fn counters(&self) -> InlineCounters {
        let now = self.path.counters().unwrap_or_default();
        self.counted_before.plus(now)
    }

    /// What a station has sent; `None` if nothing since the path was opened.
    pub(super) fn uplink(&self, mac: [u8; 6]) -> Result<Option<UplinkUse>, InlineError> {
        self.path.uplink(mac)
    }

    /// Takes the programs out and restores the bridge, unless it is to stay.
    pub(super) fn end(self, keep_bridge: bool) -> anyhow::Result<()> {
        let Self {
            path,
            bridge,
            state_file,
            ..
        } = self;
        drop(path);
        if keep_bridge && bridge.bridge.is_some() {
            // Undone by `--undo` when the operator wants it.
            tracing::info!(
                event = "bridge-kept",
                bridge = bridge.bridge,
                "the bridge stays"
            );
            return Ok(());
        }
        bridge.undo().context("restoring the bridge")?;
        state_file.remove()
    }
}

/// Refuses interfaces that do not exist, by the role that the operator gave them.
fn require_ports(config: &EdgeConfig) -> anyhow::Result<()> {
    let ports = config
        .ports()
        .map(|(_, port)| ("access point's port", port));
    let named = core::iter::once(("wan", config.wan.as_str()))
        .chain(ports)
        .chain(config.bridge.iter().map(|name| ("bridge", name.as_str())));
    for (role, name) in named {
        if !interfaces::exists(name)? {
            bail!(
                "{role}: there is no interface {name} (`ip -br link` lists those that there are)"
            );
        }
    }
    Ok(())
}

/// Refuses a configuration that names the bridge of an earlier run: that one is taken over without being named.
fn refuse_own_bridge(config: &EdgeConfig, state_file: &StateFile) -> anyhow::Result<()> {
    let made = state_file.read()?.filter(|state| state.is_ours);
    if let Some(name) = &config.bridge
        && made.is_some_and(|state| state.bridge.as_ref() == Some(name))
    {
        bail!(
            "bridge: {name} was made by an earlier run of airpace, which was killed; leave it out, and it is taken over"
        );
    }
    Ok(())
}

/// Takes the bridge that the configuration names or that the ports are in, or makes one.
fn set_up_bridge(config: &EdgeConfig, ports: &[&str]) -> anyhow::Result<BridgeState> {
    if let Some(name) = &config.bridge {
        return Ok(BridgeState::set_up(BridgeChoice::Take(name), ports)?);
    }
    // The box may be reachable at an address of that bridge, and other ports may be in it.
    if let Some(name) = bridge::common_bridge(ports)? {
        tracing::info!(event = "bridge-taken", bridge = %name, "the ports are in this bridge already and stay there");
        return Ok(BridgeState::set_up(BridgeChoice::Take(&name), ports)?);
    }
    loop {
        let name = state::free_bridge_name()?;
        match BridgeState::set_up(BridgeChoice::Make(&name), ports) {
            // Another box has taken the name in the meantime.
            Err(BridgeError::Exists(_)) => {}
            made => return Ok(made?),
        }
    }
}

/// Refuses a bridge that would drop or change what is redirected past it, unless that is expected to
/// end by itself.
fn refuse_obstacles(bridge: &BridgeState, wan: &str, access_points: &[&str]) -> anyhow::Result<()> {
    let Some(name) = &bridge.bridge else {
        return Ok(());
    };
    match bridge::forwarding(name, wan, access_points)? {
        Forwarding::Obstructed(obstacle) if !obstacle.is_transient() => Err(obstacle.into()),
        _ => Ok(()),
    }
}

fn open_xdp(
    wan: &str,
    access_points: &[&str],
    datapath: Datapath,
) -> Result<InlinePath, InlineError> {
    let mode = match datapath {
        Datapath::Native => AttachMode::Native,
        Datapath::Generic => AttachMode::Generic,
        Datapath::Auto | Datapath::Packet => AttachMode::Auto,
    };
    let options = InlineOptions {
        mode,
        ..InlineOptions::default()
    };
    InlinePath::open_xdp(wan, access_points, options)
}

/// How often sockets are tried that a killed run may still have, and the pause in between. A kernel
/// under load takes seconds.
const BUSY_RETRIES: usize = 250;
const BUSY_PAUSE: Duration = Duration::from_millis(20);

/// Opens the path. The kernel closes the sockets of a killed run only a while after its process has
/// ended, and a supervisor restarts it at once.
fn open_xdp_when_free(
    wan: &str,
    access_points: &[&str],
    datapath: Datapath,
) -> anyhow::Result<InlinePath> {
    let clock = Clock::start();
    let mut timer = Poller::new()?;
    for _ in 0..BUSY_RETRIES {
        match open_xdp(wan, access_points, datapath) {
            Err(InlineError::Socket { source, .. })
                if source.kind() == io::ErrorKind::ResourceBusy => {}
            opened => return Ok(opened?),
        }
        timer.wait(&clock, Some(clock.now().saturating_add(BUSY_PAUSE)))?;
    }
    Ok(open_xdp(wan, access_points, datapath)?)
}

/// The bridge that an earlier run has left, if this run wants the same and it is still in place: then
/// traffic does not notice that the box has begun again.
fn take_over(
    config: &EdgeConfig,
    ports: &[&str],
    state_file: &StateFile,
) -> anyhow::Result<Option<BridgeState>> {
    let Some(state) = state_file.read()? else {
        return Ok(None);
    };
    // Whatever name an earlier run found for the bridge that it made will do again.
    let is_wanted = config.datapath != Datapath::Packet
        && match &config.bridge {
            Some(name) => !state.is_ours && state.bridge.as_ref() == Some(name),
            None => state.is_ours,
        };
    if !(is_wanted && state.is_in_place(ports)?) {
        return Ok(None);
    }
    tracing::info!(
        event = "bridge-taken-over",
        bridge = state.bridge,
        "the bridge of an earlier run is taken over"
    );
    Ok(Some(state))
}

/// Restores what a run on the port `wan` has left. Returns whether there was anything.
///
/// # Errors
/// The run has not ended. The file in which it noted how everything was cannot be read, or the
/// kernel refuses.
pub fn undo(wan: &str) -> anyhow::Result<bool> {
    if socket::is_running(wan) {
        bail!("airpace edge still runs on {wan}: end it, which restores everything as well");
    }
    let _ = fs::remove_file(socket::socket_file(wan));
    let file = StateFile::of(wan);
    let left = file.read()?;
    if let Some(state) = &left {
        state.undo().context("restoring the bridge")?;
        file.remove()?;
    }
    leftovers::remove();
    Ok(left.is_some())
}

fn warn_of_filters() {
    let filtered = bridge::filtered_protocols();
    if !filtered.is_empty() {
        tracing::warn!(
            event = "firewall-filters-bridge",
            protocols = filtered.join(", "),
            "the firewall's rules for routed packets apply to bridged ones, and may drop those that pass in the bridge; paced frames bypass them: sysctl net.bridge.bridge-nf-call-iptables=0 and -ip6tables=0 end that"
        );
    }
}
