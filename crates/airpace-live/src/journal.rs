//! The telemetry file: one JSON object per line, written by a thread of its own.
//!
//! The loops must not wait for a disk or for the reader of a pipe. So they hand rows to a queue of
//! bounded length; a row that finds it full is lost and counted. A file that has reached its limit is
//! renamed, so that a disk never fills.

mod file;

use airpace_units::Time;
use anyhow::Context as _;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use file::RowFile;
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::thread;

/// Rows that may wait for the file: half a minute of a few stations, some megabytes at most.
const ROWS: usize = 4096;
/// How long the end of a journal waits for the rows that are still queued.
const LAST_WAIT: Duration = Duration::from_millis(300);

/// Bytes that are put together for one system call.
const BATCH: usize = 1 << 16;

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

/// What the thread is handed.
enum Work {
    Row(Vec<u8>),
    /// Nothing: looks whether the file is to be opened again.
    Look,
    /// Answers when everything before is in the file.
    #[cfg(test)]
    Tell(SyncSender<()>),
}

/// The queue to the thread that writes.
struct Writer {
    work: SyncSender<Work>,
    lost: Arc<AtomicU64>,
    /// Set to have the file opened again.
    reopen: Arc<AtomicBool>,
    /// Closed when the thread has written everything.
    ended: Receiver<()>,
    /// Rows that were lost when the operator was last told.
    told: u64,
}

impl Journal {
    /// Appends to the file at `path`, which is renamed when it has `limit` bytes; without a path
    /// nothing is written.
    pub(crate) fn open(path: Option<&Path>, limit: u64) -> anyhow::Result<Self> {
        let Some(path) = path else {
            return Ok(Self { writer: None });
        };
        let context = || format!("telemetry file {}", path.display());
        let file = RowFile::open(path, limit).with_context(context)?;
        let (work, queue) = mpsc::sync_channel(ROWS);
        let (end, ended) = mpsc::sync_channel(0);
        let lost = Arc::new(AtomicU64::new(0));
        let reopen = Arc::new(AtomicBool::new(false));
        let (counter, is_to_reopen) = (Arc::clone(&lost), Arc::clone(&reopen));
        let writes = move || {
            write_rows(file, &queue, &counter, &is_to_reopen);
            drop(end);
        };
        thread::Builder::new()
            .name("telemetry".to_owned())
            .spawn(writes)
            .with_context(context)?;
        Ok(Self {
            writer: Some(Writer {
                work,
                lost,
                reopen,
                ended,
                told: 0,
            }),
        })
    }

    /// Opens the file again, after it was moved away. If that is not possible, the open one stays.
    pub(crate) fn reopen(&self) {
        if let Some(writer) = &self.writer {
            writer.reopen.store(true, Ordering::Release);
            // If the queue is full, the thread looks before the next row.
            let _ = writer.work.try_send(Work::Look);
        }
    }

    /// Hands over one record with all digits. It is lost, and counted, if the file does not keep up.
    pub(crate) fn write(&mut self, record: &impl Serialize) {
        if self.writer.is_some() {
            self.push(serde_json::to_vec(record));
        }
    }

    /// The same, with no more digits than anybody needs to read.
    pub(crate) fn write_compact(&mut self, record: &impl Serialize) {
        if self.writer.is_some() {
            self.push(compact_row(record));
        }
    }

    fn push(&mut self, row: serde_json::Result<Vec<u8>>) {
        let (Some(writer), Ok(mut row)) = (&mut self.writer, row) else {
            return;
        };
        row.push(b'\n');
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) =
            writer.work.try_send(Work::Row(row))
        {
            writer.lost.fetch_add(1, Ordering::Relaxed);
        }
        // Told when rows are first lost, and each time their number has doubled.
        let lost = writer.lost.load(Ordering::Relaxed);
        if lost >= (2 * writer.told).max(1) {
            writer.told = lost;
            tracing::warn!(
                event = "telemetry-lost",
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

    /// Waits until everything is in the file.
    #[cfg(test)]
    fn finish(&self) {
        if let Some(writer) = &self.writer {
            let (tell, told) = mpsc::sync_channel(1);
            writer.work.send(Work::Tell(tell)).expect("the thread runs");
            told.recv().expect("the thread answers");
        }
    }
}

/// Waits for the rows that are still queued, but not for a file that takes none.
impl Drop for Journal {
    fn drop(&mut self) {
        let Some(Writer { work, ended, .. }) = self.writer.take() else {
            return;
        };
        drop(work);
        // Nothing is ever sent; the wait ends when the other end is dropped.
        let _ = ended.recv_timeout(LAST_WAIT);
    }
}

/// Writes rows until the other end of the queue is gone.
fn write_rows(mut file: RowFile, work: &Receiver<Work>, lost: &AtomicU64, reopen: &AtomicBool) {
    // What has been put together for one system call.
    let mut batch = Vec::new();
    loop {
        let mut next = match work.recv_timeout(Duration::from_secs(60)) {
            Ok(next) => Some(next),
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if reopen.swap(false, Ordering::AcqRel) {
            file.reopen();
        }
        let mut waiting = 0;
        #[cfg(test)]
        let mut asked = Vec::new();
        while let Some(item) = next.take() {
            match item {
                Work::Row(row) => {
                    batch.extend_from_slice(&row);
                    waiting += 1;
                }
                Work::Look => {}
                #[cfg(test)]
                Work::Tell(tell) => asked.push(tell),
            }
            if batch.len() < BATCH {
                next = work.try_recv().ok();
            }
        }
        let (written, result) = file.write(&batch);
        if result.is_err() {
            let rows = batch[..written].iter().filter(|&&byte| byte == b'\n');
            let whole = rows.count() as u64;
            lost.fetch_add(waiting - whole.min(waiting), Ordering::Relaxed);
        }
        batch.clear();
        if result.is_err() && written > 0 {
            // A row that was cut must end, or the next one would be a part of it.
            batch.push(b'\n');
        }
        #[cfg(test)]
        for tell in asked {
            let _ = tell.send(());
        }
    }
}

/// A record as JSON, its numbers with three decimals or four significant digits, whichever are more.
pub(crate) fn compact_row(record: &(impl Serialize + ?Sized)) -> serde_json::Result<Vec<u8>> {
    let mut row = Vec::new();
    record.serialize(&mut serde_json::Serializer::with_formatter(
        &mut row, FewDigits,
    ))?;
    Ok(row)
}

/// Writes numbers with few digits.
struct FewDigits;

impl Formatter for FewDigits {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        CompactFormatter.write_f64(writer, rounded(value))
    }
}

/// The value with three decimals or four significant digits, whichever are more.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    // At most 308 in size, so the cast is exact.
    let magnitude = value.abs().log10().floor() as i32;
    let decimals = (3 - magnitude).clamp(3, 12);
    let scale = 10_f64.powi(decimals);
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests;
