//! How each command of the pages is run, or why it is not.

use super::commands::Command;

/// How a command is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// In a folder with the scenarios, shortened.
    Files,
    /// Before a box is started, on its machine.
    BeforeBox,
    /// While a box runs.
    Box,
    /// After the box has ended.
    AfterBox,
    /// On one machine until it is stopped, for a [`Way::Client`] on another.
    Server,
    /// Against the servers.
    Client,
    /// In the Debian of `scripts/test-deb` ([`super::packages`]).
    Packages,
    /// A command that is only named: its `--help` is shown.
    Help,
    /// A test or benchmark by name: there must be one.
    Test,
    /// Not run, for this reason.
    Not(&'static str),
}

use Way::{AfterBox, BeforeBox, Box, Client, Files, Not, Packages, Server, Test};

const BUILDS: &str = "builds, measures, downloads or tests for minutes; that the target exists is tested (`documented`)";
const LONG: &str = "measures for minutes; parsed by `documented`, and short runs are in tests/it/bench.rs and demo.rs";
const ELSEWHERE: &str = "needs another machine or a program that is not installed by `make test`";
const PATTERN: &str = "a pattern with a gap; the forms without it are run";

/// A page (all if empty), a command (its beginning, if it ends with `*`), and how it is run. The first
/// that fits counts.
pub(super) const RULES: &[(&str, &str, Way)] = &[
    (
        "docs/install.md",
        "apt-get install -y git make gcc libc6-dev curl python3-venv",
        Not(BUILDS),
    ),
    ("docs/install.md", "curl --proto*", Not(BUILDS)),
    ("docs/install.md", "make deb", Not(BUILDS)),
    (
        "docs/install.md",
        "rustup target add*",
        Not("a cross build, which is documented and not tested"),
    ),
    (
        "docs/install.md",
        "apt-get install -y gcc-aarch64-linux-gnu",
        Not("a cross build, which is documented and not tested"),
    ),
    (
        "docs/install.md",
        "export C*",
        Not("a cross build, which is documented and not tested"),
    ),
    (
        "docs/install.md",
        "cargo build*",
        Not("a cross build, which is documented and not tested"),
    ),
    ("docs/install.md", "airpace schema edge --json", Files),
    ("docs/install.md", "make *", Not(BUILDS)),
    ("docs/install.md", "airpace edge", Way::Help),
    ("docs/install.md", "*", Packages),
    ("docs/metrics.md", "systemctl *", Packages),
    ("docs/metrics.md", "(umask 077;*", BeforeBox),
    ("docs/metrics.md", "chown *", BeforeBox),
    ("docs/metrics.md", "curl *", Box),
    ("docs/metrics.md", "ssh *", Not(ELSEWHERE)),
    ("", "flent *", Not(ELSEWHERE)),
    ("", "valgrind *", Not(ELSEWHERE)),
    (
        "",
        "airpace status --watch",
        Not("needs a terminal; run in one by tests/it/edge/watch.rs"),
    ),
    ("", "airpace edge --wan eth0 --undo", AfterBox),
    ("", "airpace status*", Box),
    ("", "airpace edge status*", Box),
    ("", "airpace edge reload", Box),
    ("", "airpace edge aim *", Box),
    ("", "airpace edge exempt MAC*", Box),
    ("", "airpace edge --schema", Files),
    (
        "",
        "airpace edge --wan eth0 --ap eth1 --radio air0",
        Not("needs a Wi-Fi card that can monitor"),
    ),
    (
        "",
        "airpace edge --wan eth0 --ap eth1",
        Not("run as a block of docs/deploy.md"),
    ),
    ("", "ip link *", Not("run as a block of docs/deploy.md")),
    (
        "",
        "ip address add *",
        Not("run as a block of docs/deploy.md"),
    ),
    ("", "iw *", Not("needs a Wi-Fi card that can monitor")),
    (
        "docs/responsiveness.md",
        "airpace tool responsiveness-server 10.77.0.1:5201",
        Server,
    ),
    (
        "docs/responsiveness.md",
        "airpace tool responsiveness 10.77.0.1:5201*",
        Client,
    ),
    (
        "README.md",
        "target/release/airpace sim run scenarios/002-f1-cell.toml --watch",
        Not("needs a terminal; run in one by tests/it/watch.rs"),
    ),
    ("", "target/release/airpace *", Files),
    (
        "docs/benchmarks.md",
        "airpace sim sweep scenarios/runaway.toml*",
        Not(LONG),
    ),
    ("", "airpace bench classifier --seed * --train *", Not(LONG)),
    ("", "airpace bench classifier*", Way::Help),
    ("", "airpace sim sweep *…*", Not(PATTERN)),
    ("", "airpace reproduce …*", Not(PATTERN)),
    ("", "airpace sim run --json", Way::Help),
    (
        "",
        "airpace sim run --out",
        Not("named for what it leaves; run with a folder by tests/it/sim.rs"),
    ),
    (
        "",
        "airpace sim run FILE --watch",
        Not("needs a terminal; run in one by tests/it/watch.rs"),
    ),
    ("", "airpace sim run scenarios/*", Files),
    ("", "airpace sim sweep scenarios/*", Files),
    ("", "airpace sim schema", Files),
    ("", "airpace emulate -- CMD", Not(PATTERN)),
    ("", "airpace emulate *", Files),
    ("", "airpace bench *-*", Not(LONG)),
    ("", "airpace demo --*", Not(LONG)),
    ("", "airpace step --json", Not(LONG)),
    ("", "airpace allocate --price 0.25", Way::Help),
    ("", "airpace keygen --preshared --out shared.key", Files),
    (
        "README.md",
        "airpace-agent *",
        Not("the other program; its commands are run as blocks of docs/deploy.md"),
    ),
    ("", "make help", Not("prints the Makefile's own comments")),
    ("", "make *", Not(BUILDS)),
    ("", "scripts/fuzz *", Not(BUILDS)),
    ("fuzz/README.md", "*", Not(BUILDS)),
    ("", "cargo test -p *", Test),
    ("", "cargo test --release -p *", Test),
    ("", "cargo bench -p CRATE*", Not(PATTERN)),
    ("", "cargo bench -p *", Test),
    ("", "cargo bench", Not(BUILDS)),
    (
        "",
        "cargo run -p airpace-examples --example cell",
        Not("all examples are run by the tests of airpace-examples"),
    ),
    ("", "cargo run -p xtask -- tidy", Not("a part of make lint")),
    ("", "cargo doc *", Not(BUILDS)),
];

/// The rule, as numbered in [`RULES`], and how a command is run; `None` if nothing is said of it. A
/// command within the text without options is only named.
pub(super) fn way(command: &Command) -> Option<(Option<usize>, Way)> {
    let fits = |(page, pattern, _): &(&str, &str, Way)| {
        (page.is_empty() || *page == command.page) && matches(pattern, &command.line)
    };
    if let Some(rule) = RULES.iter().position(fits) {
        return Some((Some(rule), RULES[rule].2));
    }
    let mut words = command.line.split_whitespace();
    let is_ours = words.next() == Some("airpace");
    let is_word = |word: &str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    let is_named = is_ours && words.all(|word| is_word(word) && !word.starts_with('-'));
    (is_named && !command.is_block).then_some((None, Way::Help))
}

/// `*` stands for any text.
fn matches(pattern: &str, line: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else {
        return false;
    };
    for part in parts {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.is_empty() || pattern.ends_with('*')
}

#[test]
fn stars_stand_for_any_text() {
    assert!(matches("make *", "make lint") && !matches("make *", "make"));
    assert!(matches("make", "make") && !matches("make", "make lint"));
    assert!(matches("sweep *…*", "sweep a=1,…,25 b") && !matches("sweep *…*", "sweep a"));
}
