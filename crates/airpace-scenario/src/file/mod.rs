//! The scenario language, TOML: channels, nodes, wires, traffic, proxies, and what changes.
//!
//! [`read`] parses a file, puts the settings of the command line in, and checks what can be checked
//! without the standard's tables; it never touches the machine. Every key is declared once, with
//! its type, default, range and explanation, from which reading, refusals and the reference follow
//! (see [`airpace_config`]).
//!
//! ```
//! let text = r#"
//! [[node]]
//! kind = "ap"
//! [[node]]
//! kind = "station"
//! count = 5
//! rate = "mcs 9 nss 2"
//! [[flow]]
//! kind = "udp-cbr"
//! rate = "50 Mbit/s"
//! "#;
//! let (scenario, _) = airpace_scenario::file::read(text, &["node.station.count=3".parse()?])?;
//! assert_eq!(scenario.node[1].count, 3);
//! let refusal = airpace_scenario::file::read("[chanel]", &[]).unwrap_err();
//! assert!(refusal.one_line("x.toml").starts_with("x.toml:1:2: a scenario has no key `chanel`: did you mean `channel`?"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod channel;
mod check;
mod flow;
mod node;
mod proxy;
mod queue;
mod rate;
#[cfg(test)]
mod tests;

pub use airpace_config::document::{DocumentError, Override, Place, Source};
pub use airpace_config::point::Point;
pub use channel::{
    AccessPointEdca, Channel, Edca, EdcaSet, ErrorModel, Fading, PathLoss, Protection, Reception,
    Shadowing, Standard, Timing,
};
pub use flow::{Category, EACH_STATION, Flow, FlowKind};
pub use node::{Node, NodeKind, Roam, Route, Wire};
pub use proxy::{AgentState, Change, Interactive, NoLaw, Proxy, ProxyLaw, Record, Reports};
pub use queue::{AirtimeQueueLimit, CodelQueue, NodeQueue, SlowStations, WqmQueue};
pub use rate::{RateChoice, RateStep};

use airpace_config::quantity::Span;
use airpace_config::{document, section};

/// Version of the format of scenario files.
pub const FORMAT: u32 = 1;

section! {
    /// A whole scenario.
    Scenario as "a scenario" {
        /// Version of this format.
        format: u32 = default("1", "1", "1"),
        /// Title.
        title: String = default(""),
        /// Seed of every random draw.
        seed: u64 = default("1"),
        /// Time before figures are taken.
        warm_up: Span = default("1 s", "0 s", "100000 s"),
        /// Time over which figures are taken, after the warm-up.
        duration: Span = default("10 s", "1 ms", "1000000 s"),
        /// Length of a slot, of the recorded series and of the proxies' control.
        slot: Span = default("100 ms", "1 ms", "100 s"),
        /// The channel, or a list of several.
        channel: Vec<Channel> = nested("one with all defaults"),
        /// The nodes.
        node: Vec<Node> = nested,
        /// The wires.
        wire: Vec<Wire> = nested,
        /// Routes other than the shortest.
        route: Vec<Route> = nested,
        /// The traffic.
        flow: Vec<Flow> = nested,
        /// The proxies.
        proxy: Vec<Proxy> = nested,
        /// What changes in the course of the run.
        change: Vec<Change> = nested,
        /// What is recorded besides the summary.
        record: Record = nested,
    }
}

/// Reads a scenario: the text of a file, with `settings` in place of what the file says.
///
/// # Errors
/// Malformed TOML, unknown keys, values out of range, keys that do not belong together, names of
/// nothing; with the place and a remedy.
pub fn read(text: &str, settings: &[Override]) -> Result<(Scenario, Source), DocumentError> {
    let (mut scenario, source) = document::read::<Scenario>(text, settings)?;
    if scenario.channel.is_empty() {
        scenario.channel.push(Channel::default());
    }
    check::check(&scenario).map_err(|error| source.locate(error))?;
    Ok((scenario, source))
}
