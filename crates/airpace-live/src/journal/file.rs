//! The file that rows are appended to, and its successor when it has reached its limit.

use airpace_net::files;
use core::time::Duration;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::thread;

/// How long the thread waits before it tries a full pipe or disk again.
const RETRY: Duration = Duration::from_millis(20);
/// Attempts to write a row before it is lost.
const ATTEMPTS: u32 = 5;

/// An open file.
pub(super) struct RowFile {
    /// As the operator names it.
    path: PathBuf,
    /// Bytes that a regular file may have.
    limit: u64,
    file: File,
}

impl RowFile {
    /// Opens the file at `path`, which is made if there is none.
    pub(super) fn open(path: &Path, limit: u64) -> io::Result<Self> {
        Ok(Self {
            file: files::append(path)?,
            path: path.to_owned(),
            limit,
        })
    }

    /// Opens the file again. If that is not possible, the open one stays, and the operator is told.
    pub(super) fn reopen(&mut self) {
        match files::append(&self.path) {
            Ok(file) => {
                self.file = file;
                tracing::info!(event = "telemetry-reopened", file = %self.path.display(), "the telemetry file was opened again");
            }
            Err(error) => {
                tracing::warn!(event = "telemetry-reopen-failed", file = %self.path.display(), %error, "the telemetry file cannot be opened again; rows go to the one that is open");
            }
        }
    }

    /// Writes everything, with some attempts if the file takes nothing now. Returns how many bytes
    /// were written.
    #[expect(
        clippy::disallowed_methods,
        reason = "this thread has no event loop and nothing else to do"
    )]
    pub(super) fn write(&mut self, bytes: &[u8]) -> (usize, io::Result<()>) {
        if let Err(error) = self.make_room(bytes.len() as u64) {
            return (0, Err(error));
        }
        let (mut written, mut attempts) = (0, 0);
        while written < bytes.len() {
            match self.file.write(&bytes[written..]) {
                Ok(0) => return (written, Err(io::ErrorKind::WriteZero.into())),
                Ok(count) => (written, attempts) = (written + count, 0),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if attempts >= ATTEMPTS => return (written, Err(error)),
                Err(_) => {
                    attempts += 1;
                    thread::sleep(RETRY);
                }
            }
        }
        (written, Ok(()))
    }

    /// Renames a regular file that has no room for so many bytes, and opens another one.
    fn make_room(&mut self, bytes: u64) -> io::Result<()> {
        let open = self.file.metadata()?;
        // A file that others have emptied has room again, so its length is asked for each time.
        let has_room = open.len() == 0 || open.len().saturating_add(bytes) <= self.limit;
        if !open.is_file() || has_room {
            return Ok(());
        }
        // The file behind a symbolic link is renamed, and not the link.
        let path = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        // Somebody else may have moved the file away already.
        if fs::metadata(&path).is_ok_and(|there| is_same(&there, &open)) {
            fs::rename(&path, older(&path))?;
        }
        self.file = files::append(&path)?;
        Ok(())
    }
}

fn is_same(a: &Metadata, b: &Metadata) -> bool {
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

/// The name of the older file.
fn older(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".1");
    name.into()
}
