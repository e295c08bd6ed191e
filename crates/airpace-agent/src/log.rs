//! Logging to standard error, as text or as JSON objects.
//!
//! A pipe whose reader has stopped must not stop packets. So a thread of its own writes the lines
//! from a queue of bounded length; lines that find it full are lost and counted.

mod format;

pub use format::prefer;
pub(crate) use format::{is_json, json_line};

use airpace_api::config::LogFormat;
use clap::{ArgAction, Args, ValueEnum};
use core::str::FromStr;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use format::{HumanFields, Lines};
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
    /// Form of the log: text, or a JSON object per line. By default as `AIRPACE_LOG_FORMAT` or the
    /// configuration says, else text.
    #[arg(
        long,
        value_name = "FORM",
        value_enum,
        global = true,
        display_order = 1000
    )]
    log_format: Option<Form>,
}

/// The form of log lines.
#[derive(Clone, Copy, ValueEnum)]
enum Form {
    /// Text for people.
    Human,
    /// A JSON object per line.
    Json,
}

impl From<Form> for LogFormat {
    fn from(form: Form) -> Self {
        match form {
            Form::Human => Self::Human,
            Form::Json => Self::Json,
        }
    }
}

/// What the help of every program says about the environment.
pub const ENVIRONMENT: &str = "Environment:
  AIRPACE_LOG         what is logged, in place of -v and -q: a level (off, error, warn, info, debug, trace), or
                      levels by module, such as warn,airpace_live::agent=debug
  AIRPACE_LOG_FORMAT  human or json, as --log-format
  docs/logs.md lists the events";

impl Verbosity {
    /// Logs from now on. The environment variable `AIRPACE_LOG` wins over `-v` and `-q`; the option
    /// `--log-format` wins over `AIRPACE_LOG_FORMAT` (see [`ENVIRONMENT`]).
    ///
    /// Keep the result until the program ends: dropping it waits a moment for the last lines.
    pub fn start_logging(&self) -> LogEnd {
        let level = match (self.quiet, self.verbose) {
            (true, _) => "warn",
            (false, 0) => "info",
            (false, 1) => "debug",
            (false, _) => "trace",
        };
        let mut ignored = Vec::new();
        let named = from_environment("AIRPACE_LOG", &mut ignored);
        let filter: Targets = named.unwrap_or_else(|| {
            level
                .parse()
                .expect("the names of levels are filters for all modules")
        });
        let form = self.log_format.or_else(|| {
            let named: Option<NamedForm> = from_environment("AIRPACE_LOG_FORMAT", &mut ignored);
            named.map(|named| named.0)
        });
        if let Some(form) = form {
            format::decide(form.into());
        }
        // `Targets` in place of `EnvFilter`: the latter brings a megabyte of regular expressions
        // into the program.
        let (queue, end) = start_writer();
        let lines = tracing_subscriber::fmt::layer()
            .with_writer(move || queue.clone())
            .with_ansi(std::io::stderr().is_terminal())
            .fmt_fields(HumanFields)
            .event_format(Lines::new());
        tracing_subscriber::registry()
            .with(filter)
            .with(lines)
            .init();
        for (variable, value) in ignored {
            tracing::warn!(
                event = "log-setting-ignored",
                variable,
                value,
                "this is not a setting of the log, so it is ignored: see --help"
            );
        }
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
                let told = format!("{lost} log lines were lost: standard error did not take them");
                let _ = if is_json() {
                    writeln!(errors, "{}", json_line("WARN", "log-lines-lost", &told))
                } else {
                    writeln!(errors, "{told}")
                };
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

/// What a variable of the environment asks for. A value that means nothing is `ignored`, and noted
/// there.
fn from_environment<T: FromStr>(
    variable: &'static str,
    ignored: &mut Vec<(&'static str, String)>,
) -> Option<T> {
    let value = std::env::var_os(variable)?;
    let parsed = value.to_str().and_then(|text| text.trim().parse().ok());
    if parsed.is_none() {
        ignored.push((variable, value.to_string_lossy().into_owned()));
    }
    parsed
}

/// A form by its name.
struct NamedForm(Form);

impl FromStr for NamedForm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Form::from_str(text, true).map(Self)
    }
}
