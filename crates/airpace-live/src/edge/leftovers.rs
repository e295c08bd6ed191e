//! What boxes leave in `/run/airpace` that were killed: what an operator is told of it, and when it goes.
//!
//! A file goes only if its name and content are those that a box writes, and its box cannot run any
//! more. One that says how to restore a bridge stays for as long as there is anything to restore.

use super::socket::{self, is_running};
use super::state::{self, STATE_DIR, prefix};
use airpace_net::bridge::BridgeState;
use airpace_net::netlink::Netlink;
use airpace_net::netns;
use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// The kinds of files that a box writes, by the ends of their names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    State,
    /// A state file that was not finished.
    Draft,
    Socket,
}

const ENDINGS: [(&str, Kind); 3] = [
    (".json", Kind::State),
    (".json.new", Kind::Draft),
    (".sock", Kind::Socket),
];

/// A file of a box.
struct BoxFile {
    path: PathBuf,
    /// Number of the network namespace.
    namespace: u64,
    wan: String,
    kind: Kind,
}

impl BoxFile {
    fn of(path: PathBuf) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let (namespace, rest) = name.strip_prefix("edge-")?.split_once('-')?;
        let namespace = namespace.parse().ok()?;
        let (wan, kind) = ENDINGS
            .iter()
            .find_map(|(end, kind)| Some((rest.strip_suffix(end)?, *kind)))?;
        // A link or a folder of that name was made by somebody else.
        let file_type = fs::symlink_metadata(&path).ok()?.file_type();
        let is_fit = match kind {
            Kind::Socket => file_type.is_socket(),
            Kind::State | Kind::Draft => file_type.is_file(),
        };
        let wan = wan.to_owned();
        (is_fit && !wan.is_empty()).then_some(Self {
            namespace,
            wan,
            kind,
            path,
        })
    }

    /// Whether nobody answers behind it, and its content is a box's.
    fn is_dead(&self) -> bool {
        match self.kind {
            Kind::Socket => is_refused(&self.path),
            Kind::State => state::is_state_file(&self.path),
            Kind::Draft => true,
        }
    }

    fn remove(&self) {
        match fs::remove_file(&self.path) {
            Ok(()) => tracing::debug!(
                event = "file-removed",
                path = %self.path.display(),
                "left by a box that is gone"
            ),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => tracing::warn!(
                event = "leftovers-stay",
                path = %self.path.display(),
                %error,
                "what a box that is gone has left cannot be removed"
            ),
        }
    }
}

/// Whether nobody listens on a socket. Any other answer says nothing about it.
fn is_refused(path: &Path) -> bool {
    let answer = UnixStream::connect(path);
    answer.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

/// All files of boxes.
fn files() -> Vec<BoxFile> {
    // Without the folder none has ever run.
    let entries = fs::read_dir(STATE_DIR).into_iter().flatten().flatten();
    let mut files: Vec<BoxFile> = entries
        .filter_map(|entry| BoxFile::of(entry.path()))
        .collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

/// The files of all boxes that run or have run in this network namespace.
pub fn files_of_boxes() -> Vec<PathBuf> {
    let own = files()
        .into_iter()
        .filter(|file| state::own_namespace() == Some(file.namespace));
    own.map(|file| file.path).collect()
}

/// Removes what killed runs have left where nothing can be restored with it: in this network namespace
/// if all their ports have been removed since, such as those of a USB adapter that was pulled out, and
/// of namespaces that are gone.
pub(super) fn remove() {
    let (own, others): (Vec<_>, Vec<_>) = files()
        .into_iter()
        .partition(|file| state::own_namespace() == Some(file.namespace));
    for file in &own {
        match file.kind {
            Kind::State if state::is_outlived(&file.path) => file.remove(),
            Kind::State => remove_orphan(&file.path, &file.wan),
            // A box writes its state before it listens, and removes it after that.
            Kind::Socket if !state::StateFile::of(&file.wan).exists() && file.is_dead() => {
                file.remove();
            }
            Kind::Socket | Kind::Draft => {}
        }
    }
    if others.is_empty() {
        return;
    }
    // After the files were listed, so that no namespace that is made meanwhile is missed.
    let Some(in_use) = netns::in_use() else {
        return;
    };
    for file in others {
        if !in_use.contains(&file.namespace) && file.is_dead() {
            file.remove();
        }
    }
}

/// Removes what a killed run of this namespace has left if none of its ports exists any more.
fn remove_orphan(path: &Path, wan: &str) {
    let (Ok(Some(state)), Ok(mut link)) = (state::read(path), Netlink::open()) else {
        return;
    };
    let is_away = |name: &str| link.index(name).is_err_and(|error| error.is_missing());
    if !is_every_port(&state, is_away) || is_running(wan) {
        return;
    }
    if let Err(error) = state.undo() {
        tracing::warn!(event = "leftovers-stay", wan, %error, "what an earlier run has left cannot be removed");
        return;
    }
    let _ = fs::remove_file(path);
    let _ = fs::remove_file(socket::socket_file(wan));
    tracing::info!(
        event = "leftovers-removed",
        wan,
        "what an earlier run has left is removed, its ports no longer exist"
    );
}

fn is_every_port(state: &BridgeState, mut holds: impl FnMut(&str) -> bool) -> bool {
    state.ports.iter().all(|port| holds(&port.name))
}

/// The ports towards the wired network of the boxes that run in this network namespace.
#[must_use]
pub fn ports_of_running_boxes() -> Vec<String> {
    let prefix = prefix();
    let mut running = Vec::new();
    for file in files() {
        let name = file.path.file_name().unwrap_or_default().to_string_lossy();
        let is_own = file.kind == Kind::Socket && name.starts_with(&prefix);
        // One that may not be asked runs all the same.
        if is_own && !is_refused(&file.path) {
            running.push(file.wan);
        }
    }
    running
}

/// What is left of boxes of this network namespace that no longer run, a sentence for each. `wan` asks
/// for a single one.
pub(super) fn of_gone_boxes(wan: Option<&str>) -> Vec<String> {
    gone_boxes()
        .filter(|(file, _)| wan.is_none_or(|wan| wan == file.wan))
        .map(|(file, state)| describe(&file.wan, state.as_ref()))
        .collect()
}

/// The wan ports of the boxes of this network namespace that no longer run and have left something.
pub fn ports_of_gone_boxes() -> Vec<String> {
    gone_boxes().map(|(file, _)| file.wan).collect()
}

/// The state files of those boxes, and what they say; `None` if a file cannot be used.
fn gone_boxes() -> impl Iterator<Item = (BoxFile, Option<BridgeState>)> {
    let is_of_gone_box = |file: &BoxFile| {
        file.kind == Kind::State
            && state::own_namespace() == Some(file.namespace)
            && !is_running(&file.wan)
            && !state::is_outlived(&file.path)
    };
    files()
        .into_iter()
        .filter(is_of_gone_box)
        .map(|file| {
            let state = state::read(&file.path).ok().flatten();
            (file, state)
        })
        .filter(|(_, state)| !state.as_ref().is_some_and(is_over))
}

/// Whether the bridge that was made for a run no longer exists, so that nothing passes in it.
fn is_over(state: &BridgeState) -> bool {
    let (Some(bridge), true) = (&state.bridge, state.is_ours) else {
        return false;
    };
    let found = Netlink::open().and_then(|mut link| link.index(bridge));
    found.is_err_and(|error| error.is_missing())
}

/// What a box has left that no longer runs. `state` is `None` if its file cannot be used.
fn describe(wan: &str, state: Option<&BridgeState>) -> String {
    let again = "Start it again with the same ports";
    let undo = format!("`airpace edge --wan {wan} --undo` removes what is left");
    let Some(state) = state else {
        return format!(
            "airpace edge on {wan} is gone, and its file in {STATE_DIR} cannot be used. {undo}, or says how"
        );
    };
    let ports: Vec<&str> = state.ports.iter().map(|port| port.name.as_str()).collect();
    let Some(bridge) = &state.bridge else {
        return format!(
            "airpace edge on {wan} is gone. It was the bridge between {} itself, so nothing passes \
             there. {again}; {undo}",
            ports.join(", ")
        );
    };
    if state.is_in_place(&ports).unwrap_or(false) {
        return format!(
            "airpace edge on {wan} is gone. Traffic passes in its bridge {bridge}, unpaced. {again}, and \
             it takes the bridge over; {undo}"
        );
    }
    format!(
        "airpace edge on {wan} is gone, and its bridge {bridge} over {} is no longer as it was: traffic may \
         not pass. {again}; {undo}",
        ports.join(", ")
    )
}
