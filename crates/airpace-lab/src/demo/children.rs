//! The programs of an arm as child processes, with their configurations, logs and telemetry in a
//! temporary folder.

use crate::tool::Stop;
use airpace_net::netns::Namespace;
use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long the programs may take until they are ready.
const READY_WITHIN: Duration = Duration::from_secs(8);

/// How long a child may take to end after SIGTERM before it is killed.
const END_WITHIN: Duration = Duration::from_secs(2);

/// How long to wait before asking again whether the programs are ready.
const POLL: Duration = Duration::from_millis(50);

/// Running programs. Dropping this ends them and removes their files.
#[derive(Debug)]
pub(super) struct Children {
    folder: PathBuf,
    running: Vec<(String, Child)>,
}

impl Children {
    /// No programs yet, and a folder for their files that other users cannot read.
    pub(super) fn new() -> Result<Self> {
        Ok(Self {
            folder: private_folder()?,
            running: Vec::new(),
        })
    }

    /// Where a program called `name` is to write its telemetry.
    pub(super) fn telemetry_path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.jsonl"))
    }

    /// The telemetry that a program has written so far.
    pub(super) fn telemetry(&self, name: &str) -> Result<String> {
        read(&self.telemetry_path(name))
    }

    /// Copies the telemetry of every program to `folder`, with `-suffix` appended to each name.
    pub(super) fn keep_telemetry(&self, folder: &Path, suffix: &str) -> Result<()> {
        for (name, _) in &self.running {
            let to = folder.join(format!("{name}-{suffix}.jsonl"));
            fs::copy(self.telemetry_path(name), &to)
                .with_context(|| format!("writing {}", to.display()))?;
        }
        Ok(())
    }

    /// Starts `program verb` under the name `name` in a namespace, with a configuration.
    pub(super) fn spawn(
        &mut self,
        program: &Path,
        namespace: &Namespace,
        verb: &str,
        name: &str,
        config: &str,
    ) -> Result<()> {
        let path = self.folder.join(format!("{name}.toml"));
        // It may hold a private key.
        let mut options = File::options();
        options.write(true).create(true).truncate(true).mode(0o600);
        options
            .open(&path)
            .and_then(|mut file| file.write_all(config.as_bytes()))
            .with_context(|| format!("writing {}", path.display()))?;
        let log =
            File::create(self.folder.join(format!("{name}.log"))).context("creating a log")?;
        let mut command = Command::new(program);
        command
            .arg(verb)
            .arg("--config")
            .arg(&path)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        let child = namespace
            .spawn(command)
            .with_context(|| format!("starting {} {verb}", program.display()))?;
        self.running.push((name.to_owned(), child));
        Ok(())
    }

    /// Waits until `is_ready` returns true; `what` says in an error what did not happen.
    pub(super) fn wait_until(
        &mut self,
        what: &str,
        stop: &Stop,
        mut is_ready: impl FnMut(&Self) -> Result<bool>,
    ) -> Result<()> {
        let deadline = Instant::now() + READY_WITHIN;
        while !is_ready(self)? {
            self.check()?;
            if stop.is_raised() {
                bail!("the demo was stopped");
            }
            if Instant::now() > deadline {
                bail!(
                    "{what} within {} s; {}",
                    READY_WITHIN.as_secs(),
                    self.last_lines()
                );
            }
            std::thread::sleep(POLL);
        }
        Ok(())
    }

    /// Fails if a program has ended.
    pub(super) fn check(&mut self) -> Result<()> {
        for index in 0..self.running.len() {
            let (name, child) = &mut self.running[index];
            if let Some(status) = child.try_wait().context("querying a child process")? {
                let name = name.clone();
                bail!("{name} ended ({status}): {}", self.last_line(&name));
            }
        }
        Ok(())
    }

    fn last_lines(&self) -> String {
        let lines: Vec<String> = self
            .running
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

impl Drop for Children {
    fn drop(&mut self) {
        for (_, child) in &self.running {
            // This fails only if the child has already ended.
            let _ = kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM);
        }
        let deadline = Instant::now() + END_WITHIN;
        for (name, child) in &mut self.running {
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
