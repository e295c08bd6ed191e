//! The telemetry file: one JSON object per line, written by a thread of its own.
//!
//! The loops must not wait for a disk or for the reader of a pipe. So they hand rows to a queue of
//! bounded length; a row that finds it full is lost and counted.

use airpace_net::files;
use airpace_units::Time;
use anyhow::Context as _;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use serde::Serialize;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::thread;

/// Rows that may wait for the file: half a minute of a few stations, some megabytes at most.
const ROWS: usize = 4096;
/// How long the end of a journal waits for the rows that are still queued.
const LAST_WAIT: Duration = Duration::from_millis(300);
/// How long the thread waits before it tries a full pipe or disk again.
const RETRY: Duration = Duration::from_millis(20);
/// Attempts to write a row before it is lost.
const ATTEMPTS: u32 = 5;

/// Limits the rows per second of all stations together.
#[derive(Debug)]
pub(crate) struct RowBudget {
    most: u32,
    /// When the second began that runs, and the rows in it.
    since: Time,
    rows: u32,
    left_out: u64,
}

impl RowBudget {
    /// At most so many rows per second.
    pub(crate) const fn new(most: u32) -> Self {
        Self {
            most,
            since: Time::ZERO,
            rows: 0,
            left_out: 0,
        }
    }

    /// Returns whether a row at `at` may be written, and counts it.
    pub(crate) fn takes(&mut self, at: Time) -> bool {
        if at >= self.since.saturating_add(Duration::from_secs(1)) {
            (self.since, self.rows) = (at, 0);
        }
        let is_taken = self.rows < self.most;
        if is_taken {
            self.rows += 1;
        } else {
            self.left_out += 1;
        }
        is_taken
    }

    /// Rows that were left out because there were too many.
    pub(crate) const fn left_out(&self) -> u64 {
        self.left_out
    }
}

/// The telemetry file, if there is one.
pub(crate) struct Journal {
    writer: Option<Writer>,
}

/// The queue to the thread that writes.
struct Writer {
    rows: SyncSender<Vec<u8>>,
    lost: Arc<AtomicU64>,
    /// Closed when the thread has written everything.
    ended: Receiver<()>,
    /// Rows that were lost when the operator was last told.
    told: u64,
}

impl Journal {
    /// Appends to the file at `path`; without a path nothing is written.
    pub(crate) fn open(path: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = path else {
            return Ok(Self { writer: None });
        };
        let context = || format!("telemetry file {}", path.display());
        let file = files::append(path).with_context(context)?;
        let (rows, queue) = mpsc::sync_channel(ROWS);
        let (end, ended) = mpsc::sync_channel(0);
        let lost = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&lost);
        let writes = move || {
            write_rows(file, &queue, &counter);
            drop(end);
        };
        thread::Builder::new()
            .name("telemetry".to_owned())
            .spawn(writes)
            .with_context(context)?;
        Ok(Self {
            writer: Some(Writer {
                rows,
                lost,
                ended,
                told: 0,
            }),
        })
    }

    /// Hands over one record. It is lost, and counted, if the file does not keep up.
    pub(crate) fn write(&mut self, record: &impl Serialize) {
        let Some(writer) = &mut self.writer else {
            return;
        };
        let Ok(mut row) = serde_json::to_vec(record) else {
            return;
        };
        row.push(b'\n');
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) =
            writer.rows.try_send(row)
        {
            writer.lost.fetch_add(1, Ordering::Relaxed);
        }
        // Told when rows are first lost, and each time their number has doubled.
        let lost = writer.lost.load(Ordering::Relaxed);
        if lost >= (2 * writer.told).max(1) {
            writer.told = lost;
            tracing::warn!(
                rows = lost,
                "telemetry is lost: the file cannot be written, or its reader is slow; packets are still forwarded"
            );
        }
    }

    /// Rows that were lost so far.
    pub(crate) fn lost(&self) -> u64 {
        let lost = self.writer.as_ref().map(|writer| &writer.lost);
        lost.map_or(0, |lost| lost.load(Ordering::Relaxed))
    }
}

/// Waits for the rows that are still queued, but not for a file that takes none.
impl Drop for Journal {
    fn drop(&mut self) {
        let Some(Writer { rows, ended, .. }) = self.writer.take() else {
            return;
        };
        drop(rows);
        // Nothing is ever sent; the wait ends when the other end is dropped.
        let _ = ended.recv_timeout(LAST_WAIT);
    }
}

/// Writes rows until the other end of the queue is gone.
fn write_rows(mut file: File, rows: &Receiver<Vec<u8>>, lost: &AtomicU64) {
    // What has been put together for one system call.
    let mut batch = Vec::new();
    let mut waiting = 0;
    loop {
        let row = match rows.recv_timeout(Duration::from_secs(60)) {
            Ok(row) => row,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        batch.extend_from_slice(&row);
        waiting += 1;
        while batch.len() < 1 << 16
            && let Ok(row) = rows.try_recv()
        {
            batch.extend_from_slice(&row);
            waiting += 1;
        }
        let (written, result) = write_all(&mut file, &batch);
        if result.is_err() {
            // A row that was cut must end, or the next one would be a part of it.
            let whole = batch[..written]
                .iter()
                .filter(|&&byte| byte == b'\n')
                .count() as u64;
            lost.fetch_add(waiting - whole.min(waiting), Ordering::Relaxed);
            batch.clear();
            if written > 0 {
                batch.push(b'\n');
            }
        } else {
            batch.clear();
        }
        waiting = 0;
    }
}

/// Writes everything, with some attempts if the file takes nothing now. Returns how many bytes were
/// written.
#[expect(
    clippy::disallowed_methods,
    reason = "this thread has no event loop and nothing else to do"
)]
fn write_all(file: &mut File, bytes: &[u8]) -> (usize, io::Result<()>) {
    let (mut written, mut attempts) = (0, 0);
    while written < bytes.len() {
        match file.write(&bytes[written..]) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;
    use std::path::PathBuf;
    use std::time::Instant;

    fn scratch(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("airpace-journal-{}-{name}", std::process::id()))
    }

    #[test]
    fn rows_are_in_the_file_once_the_journal_has_ended() {
        let path = scratch("rows");
        let mut journal = Journal::open(Some(&path)).unwrap();
        for row in 0..1000 {
            journal.write(&row);
        }
        drop(journal);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(text.lines().count(), 1000);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test is about real time")]
    fn a_pipe_that_nobody_empties_costs_rows_and_no_time() {
        let path = scratch("fifo");
        let made = std::process::Command::new("mkfifo")
            .arg(&path)
            .status()
            .unwrap();
        assert!(made.success());
        // Opening waits for the other end otherwise.
        let mut reader = files_of_both_ends(&path);
        let mut journal = Journal::open(Some(&path)).unwrap();
        let begin = Instant::now();
        let row = "x".repeat(500);
        for _ in 0..20_000 {
            journal.write(&row);
        }
        thread::sleep(Duration::from_millis(300));
        assert!(journal.lost() > 1000, "{} lost", journal.lost());
        // A reader that comes back gets rows again.
        let mut bytes = vec![0; 1 << 16];
        reader.read_exact(&mut bytes).unwrap();
        drop(journal);
        std::fs::remove_file(&path).unwrap();
        let took = begin.elapsed();
        assert!(took < Duration::from_secs(2), "{took:?}");
    }

    /// Both ends of the pipe at `path`.
    fn files_of_both_ends(path: &Path) -> File {
        File::options().read(true).write(true).open(path).unwrap()
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "threads begin in real time")]
    fn the_thread_that_writes_has_no_real_time_priority_even_after_a_reload() {
        let path = scratch("priority");
        let opens = path.clone();
        let real_time = thread::spawn(move || {
            // A loop opens another journal when it has real-time priority already.
            let has_priority = airpace_net::realtime::try_fifo(1).is_ok();
            let mut journal = Journal::open(Some(&opens)).unwrap();
            journal.write(&1);
            thread::sleep(Duration::from_millis(100));
            let policies = policies_of_threads("telemetry");
            (has_priority, policies)
        });
        let (has_priority, policies) = real_time.join().unwrap();
        std::fs::remove_file(&path).unwrap();
        if !has_priority {
            eprintln!("SKIPPED, NOTHING WAS TESTED: no right to real-time scheduling");
        }
        // Other tests may have journals as well.
        assert!(!policies.is_empty());
        assert!(policies.iter().all(|&policy| policy == 0), "{policies:?}");
    }

    /// The scheduling policies of the threads with this name: field 41 of `stat`
    /// (`proc_pid_stat(5)`), 0 for ordinary ones.
    fn policies_of_threads(name: &str) -> Vec<u32> {
        let mut policies = Vec::new();
        for task in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
            // A thread may end meanwhile.
            let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
            if let Some((head, fields)) = stat.rsplit_once(") ")
                && head.ends_with(&format!("({name}"))
            {
                let policy = fields.split_whitespace().nth(38).unwrap();
                policies.push(policy.parse().unwrap());
            }
        }
        policies
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test is about real time")]
    fn a_full_disk_costs_rows_and_no_time() {
        let mut journal = Journal::open(Some(Path::new("/dev/full"))).unwrap();
        let begin = Instant::now();
        for row in 0..10_000 {
            journal.write(&row);
        }
        thread::sleep(Duration::from_millis(300));
        assert!(journal.lost() > 0);
        drop(journal);
        let took = begin.elapsed();
        assert!(took < Duration::from_secs(1), "{took:?}");
    }
}
