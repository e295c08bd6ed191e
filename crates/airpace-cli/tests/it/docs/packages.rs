//! `packaging/test/inside` takes the commands of `docs/install.md` from the page: it says under which
//! heading they stand and which of them it runs. This checks that none is left out.

use super::commands::{self, Command};
use super::plan::{self, Way};

/// A call of `documented` in the script: a heading, and the first and the last line below it.
#[derive(Debug)]
struct Call {
    heading: String,
    first: usize,
    last: usize,
}

fn calls(script: &str) -> Vec<Call> {
    let found = script.split("documented \"").skip(1);
    let call = |text: &str| {
        let (heading, rest) = text.split_once('"')?;
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != ' ');
        let mut numbers = rest[..end.unwrap_or(rest.len())].split_whitespace();
        Some(Call {
            heading: heading.to_owned(),
            first: numbers.next()?.parse().ok()?,
            last: numbers.next()?.parse().ok()?,
        })
    };
    found.filter_map(call).collect()
}

#[test]
fn the_test_of_the_packages_runs_every_command_of_the_page() {
    let root = commands::root();
    let script = std::fs::read_to_string(root.join("packaging/test/inside")).unwrap();
    let calls = calls(&script);
    let all = commands::all();
    let of_page: Vec<&Command> = all.iter().filter(|c| c.page == "docs/install.md").collect();
    let under = |heading: &str| -> Vec<&Command> {
        let is_under = |c: &&&Command| c.is_block && c.heading == heading;
        of_page.iter().filter(is_under).copied().collect()
    };
    for call in &calls {
        let lines = under(&call.heading).len();
        let is_there = 1 <= call.first && call.first <= call.last && call.last <= lines;
        assert!(is_there, "{call:?}: the page has {lines} lines there");
    }
    let is_run = |command: &Command| {
        calls.iter().any(|call| {
            let lines = under(&call.heading);
            let run = lines.get(call.first - 1..call.last).unwrap_or_default();
            run.iter().any(|line| line.line == command.line)
        })
    };
    for command in &all {
        if plan::way(command).is_some_and(|(_, way)| way == Way::Packages) {
            let is_repeated = !command.is_block && script.contains(&command.line);
            assert!(
                is_run(command) || is_repeated,
                "packaging/test/inside does not run `{}` of {}, {}",
                command.line,
                command.page,
                command.heading
            );
        }
    }
}
