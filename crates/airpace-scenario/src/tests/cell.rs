//! The cell in which tests of proxies compare what stations get.

/// Agents that change nothing but what is known: they hold no acknowledgements, and the law is that of a
/// box in the wire.
pub(super) const AGENTS: &str = "reports = \"air\"\ngather_acks = \"0 ms\"\nin_line = true";

/// A server, an access point and these stations, which are pinged.
pub(super) fn cell(stations: &str) -> String {
    format!(
        r#"
slot = "100 ms"
warm_up = "5 s"
duration = "6 s"
[[node]]
name = "server"
kind = "host"
[[node]]
kind = "ap"
queue = {{ limit = "1000 packets" }}
{stations}
[[wire]]
a = "server"
b = "ap"
rate = "10 Gbit/s"
delay = "1 ms"
[[flow]]
kind = "ping"
interval = "100 ms"
"#
    )
}
