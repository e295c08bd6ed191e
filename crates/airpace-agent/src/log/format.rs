//! The two forms of a log line: text for people, and JSON objects.

use airpace_api::config::LogFormat;
use core::fmt;
use core::sync::atomic::{AtomicU8, Ordering};
use serde_json::{Map, Value};
use std::borrow::Cow;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::format::{Format, Full, Writer};
use tracing_subscriber::fmt::time::{FormatTime as _, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// The name of records that have none: what tools and experiments say, which nobody parses.
const UNNAMED: &str = "note";

/// The form of lines from now on. The thread that writes them is started before any configuration is
/// read.
static FORM: AtomicU8 = AtomicU8::new(HUMAN);
const HUMAN: u8 = 0;
const JSON: u8 = 1;
/// Added to what the user has asked for outside of configurations.
const DECIDED: u8 = 2;

/// Sets the form that an option or the environment asks for, which configurations do not change.
pub(super) fn decide(format: LogFormat) {
    FORM.store(number(format) + DECIDED, Ordering::Relaxed);
}

/// Sets the form that a configuration asks for, unless the user has decided otherwise.
pub fn prefer(format: LogFormat) {
    // If the user has decided, nothing changes, which is no error.
    let _ = FORM.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |form| {
        (form < DECIDED).then(|| number(format))
    });
}

const fn number(format: LogFormat) -> u8 {
    match format {
        LogFormat::Human => HUMAN,
        LogFormat::Json => JSON,
    }
}

/// Whether lines are JSON objects.
pub(crate) fn is_json() -> bool {
    FORM.load(Ordering::Relaxed) % DECIDED == JSON
}

/// A line of the log as JSON that no record of `tracing` stands behind.
pub(crate) fn json_line(level: &str, event: &str, message: &str) -> String {
    let mut object = Map::new();
    object.insert("time".to_owned(), now().into());
    object.insert("level".to_owned(), level.into());
    object.insert("event".to_owned(), event.into());
    object.insert("message".to_owned(), message.into());
    Value::Object(object).to_string()
}

/// The wall-clock time in UTC, RFC 3339.
fn now() -> String {
    let mut text = String::new();
    // A string takes everything.
    let _ = SystemTime.format_time(&mut Writer::new(&mut text));
    text
}

/// Writes events in the form that is asked for.
pub(super) struct Lines {
    human: Format<Full>,
}

impl Lines {
    pub(super) fn new() -> Self {
        Self {
            human: tracing_subscriber::fmt::format().with_target(false),
        }
    }
}

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        if !is_json() {
            return self.human.format_event(context, writer, event);
        }
        let mut object = Map::new();
        object.insert("time".to_owned(), now().into());
        let level = event.metadata().level().as_str();
        object.insert("level".to_owned(), level.into());
        object.insert("event".to_owned(), UNNAMED.into());
        event.record(&mut JsonFields(&mut object));
        writeln!(writer, "{}", Value::Object(object))
    }
}

/// Collects fields as members of an object.
struct JsonFields<'a>(&'a mut Map<String, Value>);

impl JsonFields<'_> {
    fn put(&mut self, field: &Field, value: Value) {
        self.0.insert(field.name().to_owned(), value);
    }
}

impl Visit for JsonFields<'_> {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, format!("{value:?}").into());
    }
}

/// Writes fields for people: the message, then the others, and the name of the event in brackets, under
/// which `docs/logs.md` explains it.
pub(super) struct HumanFields;

impl<'w> FormatFields<'w> for HumanFields {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'w>, fields: R) -> fmt::Result {
        let mut text = HumanText {
            writer,
            is_first: true,
            event: None,
            result: Ok(()),
        };
        fields.record(&mut text);
        text.end()
    }
}

struct HumanText<'w> {
    writer: Writer<'w>,
    is_first: bool,
    event: Option<String>,
    result: fmt::Result,
}

impl HumanText<'_> {
    /// Writes the name of the event.
    fn end(mut self) -> fmt::Result {
        self.result?;
        match self.event {
            None => Ok(()),
            Some(event) if self.writer.has_ansi_escapes() => {
                write!(self.writer, " \x1b[2m[{event}]\x1b[0m")
            }
            Some(event) => write!(self.writer, " [{event}]"),
        }
    }
}

impl Visit for HumanText<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => self.record_debug(field, &format_args!("{value}")),
            "event" => self.event = Some(value.to_owned()),
            _ => self.record_debug(field, &value),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if self.result.is_err() {
            return;
        }
        let space = if self.is_first { "" } else { " " };
        self.is_first = false;
        self.result = match field.name() {
            "message" => write!(self.writer, "{space}{value:?}"),
            name => {
                let name: Cow<'_, str> = if self.writer.has_ansi_escapes() {
                    // The name in italics, the sign dimmed.
                    format!("\x1b[3m{name}\x1b[0m\x1b[2m=\x1b[0m").into()
                } else {
                    format!("{name}=").into()
                };
                write!(self.writer, "{space}{name}{value:?}")
            }
        };
    }
}
