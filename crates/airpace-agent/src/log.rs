//! Logging to standard error.
//!
//! A pipe whose reader has stopped must not stop packets. So a thread of its own writes the lines
//! from a queue of bounded length; lines that find it full are lost and counted.

use clap::{ArgAction, Args};
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::io::{self, IsTerminal as _, Write};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// How much is logged.
#[derive(Args)]
pub struct Verbosity {
    /// Log more: once for decisions, twice for every step.
    #[arg(short, long, action = ArgAction::Count, global = true, conflicts_with = "quiet", display_order = 1000)]
    verbose: u8,
    /// Log only warnings and errors.
    #[arg(short, long, global = true, display_order = 1000)]
    quiet: bool,
}

impl Verbosity {
    /// Logs from now on. The environment variable `AIRPACE_LOG` wins over the flags: a level, or
    /// levels by module such as `warn,airpace_live::agent=debug`.
    ///
    /// Keep the result until the program ends: dropping it waits a moment for the last lines.
    pub fn start_logging(&self) -> LogEnd {
        let level = match (self.quiet, self.verbose) {
            (true, _) => "warn",
            (false, 0) => "info",
            (false, 1) => "debug",
            (false, _) => "trace",
        };
        let filter = from_environment().unwrap_or_else(|| {
            level
                .parse()
                .expect("the names of levels are filters for all modules")
        });
        // `Targets` in place of `EnvFilter`: the latter brings a megabyte of regular expressions
        // into the program.
        let (queue, end) = start_writer();
        let lines = tracing_subscriber::fmt::layer()
            .with_writer(move || queue.clone())
            .with_ansi(std::io::stderr().is_terminal())
            .with_target(false);
        tracing_subscriber::registry()
            .with(filter)
            .with(lines)
            .init();
        end
    }
}

/// Lines that may wait for standard error.
const LINES: usize = 1024;
/// How long the end of the program waits for the lines that are still queued.
const LAST_WAIT: Duration = Duration::from_millis(300);

/// The queue to the thread that writes. The subscriber hands over one whole line at a time.
#[derive(Clone)]
struct LineQueue {
    lines: SyncSender<Vec<u8>>,
    lost: Arc<AtomicU64>,
}

impl Write for LineQueue {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.lines.try_send(line.to_vec()).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Waits, when it is dropped, until the lines that are queued are written, but not for long.
#[must_use = "the last lines are lost unless it lives until the program ends"]
pub struct LogEnd {
    queue: SyncSender<Vec<u8>>,
    written: Receiver<()>,
}

impl Drop for LogEnd {
    fn drop(&mut self) {
        // An empty line asks the thread to tell that it has come to it. A full queue is not worth
        // waiting for.
        if self.queue.try_send(Vec::new()).is_ok() {
            let _ = self.written.recv_timeout(LAST_WAIT);
        }
    }
}

/// Starts the thread that writes lines to standard error.
fn start_writer() -> (LineQueue, LogEnd) {
    let (lines, queued) = mpsc::sync_channel::<Vec<u8>>(LINES);
    let (tell, written) = mpsc::sync_channel(1);
    let lost = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&lost);
    let writes = move || {
        while let Ok(line) = queued.recv() {
            if line.is_empty() {
                let _ = tell.try_send(());
                continue;
            }
            let lost = counter.swap(0, Ordering::Relaxed);
            let mut errors = io::stderr().lock();
            // Standard error may be closed; there is nowhere else to tell it.
            if lost > 0 {
                let _ = writeln!(
                    errors,
                    "{lost} log lines were lost: standard error did not take them"
                );
            }
            let _ = errors.write_all(&line);
        }
    };
    // Without the thread the queue fills and lines are lost, but the program runs.
    let _ = thread::Builder::new().name("log".to_owned()).spawn(writes);
    let end = LogEnd {
        queue: lines.clone(),
        written,
    };
    (LineQueue { lines, lost }, end)
}

/// The filter that the environment asks for; an invalid filter is ignored.
fn from_environment() -> Option<Targets> {
    let text = std::env::var_os("AIRPACE_LOG")?;
    text.to_str()?.parse().ok()
}
