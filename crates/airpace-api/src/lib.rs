//! serde types: configuration, telemetry, results. No behaviour.
