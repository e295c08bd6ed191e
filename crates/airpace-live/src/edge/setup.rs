//! The bridge and the programs, and what is left of them when a run is killed.

use super::{settings, socket};
use airpace_api::config::{Datapath, EdgeConfig};
use airpace_net::bridge::{self, BridgeChoice, BridgeState, PortState};
use airpace_net::inline::{AttachMode, InlineError, InlineOptions, InlinePath};
use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Name of a bridge that is made.
const BRIDGE: &str = "airpace-br";

/// Where a run notes how everything was before, so that it can be undone after a crash. It is gone
/// after a restart of the machine, as are the bridge and the programs.
pub(super) const STATE_DIR: &str = "/run/airpace";

/// The bridge as it was before, as it stands in the file.
#[derive(Serialize, Deserialize)]
struct StoredState {
    bridge: Option<String>,
    is_ours: bool,
    was_up: bool,
    ports: Vec<StoredPort>,
}

#[derive(Serialize, Deserialize)]
struct StoredPort {
    name: String,
    was_up: bool,
    master: Option<String>,
    strips_tags: bool,
}

/// What a run has set up. Dropping it takes the programs out; [`Setup::end`] restores the bridge.
pub(super) struct Setup {
    pub(super) path: InlinePath,
    bridge: BridgeState,
    state_file: PathBuf,
}

impl Setup {
    /// Makes the bridge and attaches the programs.
    pub(super) fn begin(config: &EdgeConfig) -> anyhow::Result<Self> {
        let access_points = settings::ports(config);
        let mut ports = vec![config.wan.as_str()];
        ports.extend(&access_points);
        let state_file = state_file(&config.wan);
        if socket::is_running(&config.wan) {
            bail!(
                "airpace edge runs already on {0}: airpace edge status --wan {0}",
                config.wan
            );
        }
        let taken_over = take_over(config, &ports, &state_file)?;
        if taken_over.is_none() && undo(&config.wan)? {
            tracing::warn!("an earlier run was killed: what it had left is restored");
        }
        if config.datapath == Datapath::Packet {
            return Self::without_bpf(config, &ports, &access_points, state_file);
        }
        let bridge = match taken_over {
            Some(bridge) => bridge,
            None => {
                let choice = match &config.bridge {
                    Some(name) => BridgeChoice::Take(name),
                    None => BridgeChoice::Make(BRIDGE),
                };
                BridgeState::set_up(choice, &ports).context("the bridge")?
            }
        };
        let setup = Self::store(&state_file, &bridge).and_then(|()| {
            let options = InlineOptions {
                mode: attach_mode(config.datapath),
                ..InlineOptions::default()
            };
            InlinePath::open_xdp(&config.wan, &access_points, options).map_err(anyhow::Error::from)
        });
        match setup {
            Ok(path) => {
                warn_of_filters();
                Ok(Self {
                    path,
                    bridge,
                    state_file,
                })
            }
            Err(error) => {
                let undone = bridge.undo();
                let _ = fs::remove_file(&state_file);
                undone.context("restoring the bridge")?;
                let is_without_bpf = matches!(error.downcast_ref(), Some(InlineError::Load(_)));
                if is_without_bpf && config.datapath == Datapath::Auto {
                    tracing::warn!(
                        "{error:#}; continuing with a bridge in user space, so traffic stops when airpace does"
                    );
                    return Self::without_bpf(config, &ports, &access_points, state_file);
                }
                Err(error)
            }
        }
    }

    /// A bridge in user space.
    fn without_bpf(
        config: &EdgeConfig,
        ports: &[&str],
        access_points: &[&str],
        state_file: PathBuf,
    ) -> anyhow::Result<Self> {
        if config.bridge.is_some() {
            bail!("without BPF airpace is the bridge itself: leave out `bridge`");
        }
        let bridge = BridgeState::set_up(BridgeChoice::None, ports).context("the ports")?;
        let path = Self::store(&state_file, &bridge)
            .and_then(|()| Ok(InlinePath::open_packet(&config.wan, access_points)?));
        match path {
            Ok(path) => Ok(Self {
                path,
                bridge,
                state_file,
            }),
            Err(error) => {
                bridge.undo().context("restoring the ports")?;
                let _ = fs::remove_file(&state_file);
                Err(error)
            }
        }
    }

    /// Notes how everything was.
    fn store(file: &Path, bridge: &BridgeState) -> anyhow::Result<()> {
        let stored = StoredState {
            bridge: bridge.bridge.clone(),
            is_ours: bridge.is_ours,
            was_up: bridge.was_up,
            ports: bridge
                .ports
                .iter()
                .map(|port| StoredPort {
                    name: port.name.clone(),
                    was_up: port.was_up,
                    master: port.master.clone(),
                    strips_tags: port.strips_tags,
                })
                .collect(),
        };
        let text = serde_json::to_string_pretty(&stored)?;
        // Written beside it first: half a file would be of no use after a crash.
        let draft = file.with_extension("json.new");
        fs::create_dir_all(STATE_DIR)
            .and_then(|()| fs::write(&draft, text))
            .and_then(|()| fs::rename(&draft, file))
            .with_context(|| format!("{}, from which --undo restores the bridge", file.display()))
    }

    /// Takes the programs out and restores the bridge, unless it is to stay.
    pub(super) fn end(self, keep_bridge: bool) -> anyhow::Result<()> {
        let Self {
            path,
            bridge,
            state_file,
        } = self;
        drop(path);
        if keep_bridge && bridge.bridge.is_some() {
            // Undone by `--undo` when the operator wants it.
            tracing::info!(bridge = bridge.bridge, "the bridge stays");
            return Ok(());
        }
        bridge.undo().context("restoring the bridge")?;
        match fs::remove_file(&state_file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(error).with_context(|| state_file.display().to_string())
            }
            _ => Ok(()),
        }
    }
}

/// The bridge that an earlier run has left, if this run wants the same and it is still in place: then
/// traffic does not notice that the box has begun again.
fn take_over(
    config: &EdgeConfig,
    ports: &[&str],
    state_file: &Path,
) -> anyhow::Result<Option<BridgeState>> {
    let Some(state) = read_state(state_file)? else {
        return Ok(None);
    };
    let wanted = config.bridge.as_deref().unwrap_or(BRIDGE);
    let is_wanted = config.datapath != Datapath::Packet
        && state.bridge.as_deref() == Some(wanted)
        && state.is_ours == config.bridge.is_none();
    if !(is_wanted && state.is_in_place(ports)?) {
        return Ok(None);
    }
    tracing::info!(
        bridge = wanted,
        "the bridge of an earlier run is taken over"
    );
    Ok(Some(state))
}

/// How everything was before an earlier run; `None` if it has left nothing.
fn read_state(file: &Path) -> anyhow::Result<Option<BridgeState>> {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| file.display().to_string()),
    };
    let stored: StoredState =
        serde_json::from_str(&text).with_context(|| file.display().to_string())?;
    let restore = |port: StoredPort| PortState {
        name: port.name,
        was_up: port.was_up,
        master: port.master,
        strips_tags: port.strips_tags,
    };
    Ok(Some(BridgeState {
        bridge: stored.bridge,
        is_ours: stored.is_ours,
        was_up: stored.was_up,
        ports: stored.ports.into_iter().map(restore).collect(),
    }))
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
    let file = state_file(wan);
    let Some(state) = read_state(&file)? else {
        return Ok(false);
    };
    state.undo().context("restoring the bridge")?;
    fs::remove_file(&file).with_context(|| file.display().to_string())?;
    Ok(true)
}

/// Where a run on the port `wan` notes how everything was.
fn state_file(wan: &str) -> PathBuf {
    Path::new(STATE_DIR).join(format!("{}{wan}.json", socket::prefix()))
}

const fn attach_mode(datapath: Datapath) -> AttachMode {
    match datapath {
        Datapath::Native => AttachMode::Native,
        Datapath::Generic => AttachMode::Generic,
        Datapath::Auto | Datapath::Packet => AttachMode::Auto,
    }
}

fn warn_of_filters() {
    let filtered = bridge::filtered_protocols();
    if !filtered.is_empty() {
        tracing::warn!(
            protocols = filtered.join(", "),
            "bridged packets pass the firewall's rules for routed ones, which may drop them: sysctl net.bridge.bridge-nf-call-iptables=0 and -ip6tables=0 end that"
        );
    }
}
