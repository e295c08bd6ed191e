//! What the daemons write besides packets: the log and the telemetry.

use airpace_config::choice;

choice! {
    /// How much telemetry is written.
    TelemetryDetail:
    /// A row for each station and ten seconds, sooner if something of note changes and later if
    /// nothing happens.
    Summary = "summary",
    /// A row for each station and slot: up to 10 GB a day with twenty stations.
    Slots = "slots",
}

choice! {
    /// The form of log lines.
    LogFormat:
    /// Text for people.
    Human = "human",
    /// A JSON object per line, with the name of the event: `docs/logs.md` lists them.
    Json = "json",
}

#[expect(
    clippy::derivable_impls,
    reason = "the macro that declares the enumeration cannot derive it"
)]
impl Default for TelemetryDetail {
    fn default() -> Self {
        Self::Summary
    }
}

#[expect(
    clippy::derivable_impls,
    reason = "the macro that declares the enumeration cannot derive it"
)]
impl Default for LogFormat {
    fn default() -> Self {
        Self::Human
    }
}
