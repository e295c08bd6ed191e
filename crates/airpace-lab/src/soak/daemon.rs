//! A program of airpace as a child process that is killed, stopped and started again.

use super::watch::Figures;
use airpace_net::netns::Namespace;
use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a program may take to end after SIGTERM.
const END_WITHIN: Duration = Duration::from_secs(5);

/// A folder that other users cannot read, because its files hold keys. Removed when this is dropped.
pub(super) struct ScratchFolder(PathBuf);

impl ScratchFolder {
    pub(super) fn new() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("airpace-soak-{}", std::process::id()));
        // A process of the same number may have been killed here.
        let _ = fs::remove_dir_all(&path);
        fs::DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .with_context(|| format!("creating {}", path.display()))?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Copies the programs' logs, and nothing else, to the folder `to`, which is made.
    pub(super) fn keep_logs(&self, to: &Path) -> Result<()> {
        fs::create_dir_all(to).with_context(|| format!("creating {}", to.display()))?;
        for entry in fs::read_dir(&self.0)? {
            let path = entry?.path();
            if let Some(name) = path.file_name()
                && path.extension().is_some_and(|extension| extension == "log")
            {
                fs::copy(&path, to.join(name))
                    .with_context(|| format!("copying {}", path.display()))?;
            }
        }
        Ok(())
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        // The check for leftovers reports a folder that stays.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A program that runs, or is to run again. Dropping it kills it.
pub(super) struct Daemon {
    program: PathBuf,
    verb: &'static str,
    name: String,
    folder: PathBuf,
    namespace: Namespace,
    child: Option<Child>,
}

impl Daemon {
    /// Starts `program verb` in a namespace. Its configuration and its log are files in `folder`.
    pub(super) fn start(
        program: &Path,
        verb: &'static str,
        name: &str,
        config: &str,
        folder: &Path,
        namespace: &Namespace,
    ) -> Result<Self> {
        let mut daemon = Self {
            program: program.to_owned(),
            verb,
            name: name.to_owned(),
            folder: folder.to_owned(),
            namespace: namespace.try_clone()?,
            child: None,
        };
        let path = daemon.file("toml");
        let mut options = File::options();
        options.write(true).create_new(true).mode(0o600);
        options
            .open(&path)
            .and_then(|mut file| file.write_all(config.as_bytes()))
            .with_context(|| format!("writing {}", path.display()))?;
        daemon.start_again()?;
        Ok(daemon)
    }

    fn file(&self, extension: &str) -> PathBuf {
        self.folder.join(format!("{}.{extension}", self.name))
    }

    /// Starts the program, which does not run.
    pub(super) fn start_again(&mut self) -> Result<()> {
        let path = self.file("log");
        // A program that was killed and started again has one log.
        let log = File::options()
            .append(true)
            .create(true)
            .open(&path)
            .with_context(|| format!("writing {}", path.display()))?;
        let mut command = Command::new(&self.program);
        command
            .arg(self.verb)
            .arg("--config")
            .arg(self.file("toml"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        let child = self
            .namespace
            .spawn(command)
            .with_context(|| format!("starting {}", self.name))?;
        self.child = Some(child);
        Ok(())
    }

    /// Kills it with SIGKILL.
    pub(super) fn kill(&mut self) -> Result<()> {
        let mut child = self.child.take().context("it does not run")?;
        child.kill()?;
        child.wait()?;
        Ok(())
    }

    /// Sends a signal.
    pub(super) fn signal(&self, signal: Signal) -> Result<()> {
        let child = self.child.as_ref().context("it does not run")?;
        Ok(kill(Pid::from_raw(child.id().cast_signed()), signal)?)
    }

    /// Memory and descriptors; `None` while it does not run.
    pub(super) fn figures(&self) -> Option<Figures> {
        Figures::of(&self.child.as_ref()?.id().to_string()).ok()
    }

    /// Why it has ended although nobody killed it. It is then started again.
    pub(super) fn ended_by_itself(&mut self) -> Option<String> {
        let status = self.child.as_mut()?.try_wait().ok()??;
        let what = format!("{} ended ({status}): {}", self.name, self.last_line());
        self.child = None;
        match self.start_again() {
            Ok(()) => Some(what),
            Err(error) => Some(format!("{what}; {error:#}")),
        }
    }

    fn last_line(&self) -> String {
        let log = fs::read_to_string(self.file("log")).unwrap_or_default();
        log.lines().last().unwrap_or("it logged nothing").to_owned()
    }

    /// Ends it with SIGTERM.
    ///
    /// # Errors
    /// If it does not end in time, or with an exit code other than 0.
    pub(super) fn end(&mut self) -> Result<()> {
        self.signal(Signal::SIGCONT)?;
        self.signal(Signal::SIGTERM)?;
        let mut child = self.child.take().context("it does not run")?;
        let deadline = Instant::now() + END_WITHIN;
        while Instant::now() < deadline {
            if let Some(status) = child.try_wait()? {
                if !status.success() {
                    bail!("{} ended with {status}: {}", self.name, self.last_line());
                }
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        child.kill()?;
        child.wait()?;
        bail!("{} did not end after SIGTERM", self.name)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // Neither can fail for a child that nobody has waited for.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_kept_and_keys_are_not() {
        let folder = ScratchFolder::new().unwrap();
        fs::write(folder.path().join("proxy.log"), "a line").unwrap();
        fs::write(folder.path().join("proxy.toml"), "private_key = …").unwrap();
        let to = folder.path().join("kept").join("deeper");
        folder.keep_logs(&to).unwrap();
        let kept: Vec<_> = fs::read_dir(&to)
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        assert_eq!(kept, ["proxy.log"]);
    }
}
