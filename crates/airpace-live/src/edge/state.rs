//! The file in which a run notes how the bridge and its ports were before, so that it can be undone
//! after a crash.
//!
//! The files are gone after a restart of the machine, as are the bridge and the programs.

use airpace_net::bridge::{BridgeState, PortState};
use airpace_net::files;
use airpace_net::netlink::Netlink;
use airpace_net::netns;
use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Where the files of all boxes are.
pub(super) const STATE_DIR: &str = "/run/airpace";

/// How the names of bridges begin that are made; the first has nothing behind it.
const BRIDGE: &str = "airpace-br";
/// Most boxes that find a free name in one network namespace.
const MOST_BRIDGES: u32 = 64;

/// The bridge as it was before, as it stands in the file.
#[derive(Serialize, Deserialize)]
struct StoredState {
    /// What no other network namespace ever has ([`netns::cookie`]): its number may be used again.
    #[serde(default)]
    namespace_cookie: Option<u64>,
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
    #[serde(default)]
    hiding_peer: Option<String>,
}

/// The file in which a run on one wan port notes how everything was.
#[derive(Clone, Debug)]
pub(super) struct StateFile {
    path: PathBuf,
}

impl StateFile {
    /// The file of a run on the port `wan` in this network namespace.
    pub(super) fn of(wan: &str) -> Self {
        Self {
            path: Path::new(STATE_DIR).join(format!("{}{wan}.json", prefix())),
        }
    }

    /// Writes how everything was.
    pub(super) fn store(&self, bridge: &BridgeState) -> anyhow::Result<()> {
        let mut ports = Vec::new();
        for port in &bridge.ports {
            ports.push(StoredPort {
                name: port.name.clone(),
                was_up: port.was_up,
                master: port.master.clone(),
                strips_tags: port.strips_tags,
                hiding_peer: port.hiding_peer.clone(),
            });
        }
        let stored = StoredState {
            namespace_cookie: netns::cookie(),
            bridge: bridge.bridge.clone(),
            is_ours: bridge.is_ours,
            was_up: bridge.was_up,
            ports,
        };
        let text = serde_json::to_string_pretty(&stored)?;
        // Written beside it first: half a file would be of no use after a crash.
        let draft = self.path.with_extension("json.new");
        fs::create_dir_all(STATE_DIR)
            .and_then(|()| fs::write(&draft, text))
            .and_then(|()| fs::rename(&draft, &self.path))
            .with_context(|| {
                format!(
                    "{}, from which --undo restores the bridge",
                    self.path.display()
                )
            })
    }

    /// Reads how everything was before an earlier run; `None` if it has left nothing.
    ///
    /// A file that cannot be read is set aside if no bridge of an earlier run exists, because then
    /// nothing is left to restore.
    ///
    /// # Errors
    /// The file cannot be read, and a bridge of an earlier run exists.
    pub(super) fn read(&self) -> anyhow::Result<Option<BridgeState>> {
        let error = match read(&self.path) {
            Ok(state) => return Ok(state),
            Err(error) => error,
        };
        let file = self.path.display();
        let bridges = bridges_of_earlier_runs()?;
        if let Some(bridge) = bridges.first() {
            bail!(
                "{file} cannot be used ({error:#}), so how the ports were before an earlier run \
                 is unknown, and its bridge {bridge} may still exist. Restore by hand, then begin \
                 again: ip link del {bridge} && rm {file}"
            );
        }
        let aside = self.path.with_extension("json.unusable");
        let kept = fs::rename(&self.path, &aside);
        kept.with_context(|| {
            format!("{file} cannot be used ({error:#}) and cannot be moved away: rm -r {file}")
        })?;
        tracing::warn!(
            event = "state-file-unusable",
            "{file} cannot be used ({error:#}). No bridge of an earlier run exists, so it is not \
             needed; it is kept as {}",
            aside.display()
        );
        Ok(None)
    }

    /// Whether a run has left the file, or has it now.
    pub(super) fn exists(&self) -> bool {
        self.path.exists()
    }

    /// Removes the file, if it is there.
    pub(super) fn remove(&self) -> anyhow::Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(error).with_context(|| self.path.display().to_string())
            }
            _ => Ok(()),
        }
    }
}

/// Reads a file that [`StateFile::store`] has written; `None` if there is none, or if it is that of an
/// earlier namespace with the number of this one.
pub(super) fn read(path: &Path) -> anyhow::Result<Option<BridgeState>> {
    let Some(stored) = stored(path)? else {
        return Ok(None);
    };
    if is_of_earlier_namespace(&stored) {
        return Ok(None);
    }
    let restore = |port: StoredPort| PortState {
        name: port.name,
        was_up: port.was_up,
        master: port.master,
        strips_tags: port.strips_tags,
        hiding_peer: port.hiding_peer,
    };
    Ok(Some(BridgeState {
        bridge: stored.bridge,
        is_ours: stored.is_ours,
        was_up: stored.was_up,
        ports: stored.ports.into_iter().map(restore).collect(),
    }))
}

fn stored(path: &Path) -> anyhow::Result<Option<StoredState>> {
    match files::read_text(path) {
        Ok(text) => Ok(Some(serde_json::from_str(&text)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Whether a box has written this file, in whatever namespace.
pub(super) fn is_state_file(path: &Path) -> bool {
    matches!(stored(path), Ok(Some(_)))
}

/// Whether a box has written this file in a namespace that is gone and whose number this one has now.
pub(super) fn is_outlived(path: &Path) -> bool {
    matches!(stored(path), Ok(Some(stored)) if is_of_earlier_namespace(&stored))
}

fn is_of_earlier_namespace(stored: &StoredState) -> bool {
    let other = stored.namespace_cookie.zip(netns::cookie());
    other.is_some_and(|(then, now)| then != now)
}

/// The bridges of this namespace whose names are those that boxes give.
fn bridges_of_earlier_runs() -> anyhow::Result<Vec<String>> {
    let mut link = Netlink::open()?;
    let names = (0..MOST_BRIDGES).map(bridge_name);
    Ok(names.filter(|name| link.index(name).is_ok()).collect())
}

/// A name for a bridge that no interface has.
pub(crate) fn free_bridge_name() -> anyhow::Result<String> {
    let mut link = Netlink::open()?;
    let mut names = (0..MOST_BRIDGES).map(bridge_name);
    names
        .find(|name| link.index(name).is_err())
        .with_context(|| {
            format!("{MOST_BRIDGES} bridges are called {BRIDGE}…: delete some of them")
        })
}

fn bridge_name(number: u32) -> String {
    match number {
        0 => BRIDGE.to_owned(),
        _ => format!("{BRIDGE}{number}"),
    }
}

/// How the names of this namespace's files begin. Interfaces of different namespaces may share a
/// name, so the namespace is a part of it.
pub(super) fn prefix() -> String {
    format!("edge-{}-", own_namespace().unwrap_or(0))
}

/// The number of this thread's network namespace; `None` if the kernel does not tell.
pub(super) fn own_namespace() -> Option<u64> {
    use std::os::unix::fs::MetadataExt as _;
    let file = fs::metadata("/proc/thread-self/ns/net").ok()?;
    Some(file.ino())
}
