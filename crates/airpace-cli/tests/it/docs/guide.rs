//! Reads the blocks of commands of the guide.

use std::path::Path;

/// What the test does with a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Action {
    /// Nothing.
    NotRun,
    /// Runs it on this machine; it must succeed.
    Run(String),
    /// Runs it on this machine until the next block of its kind or the next heading.
    UntilStopped(String),
}

/// A block of commands.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) action: Action,
    /// The heading under which it stands, of any depth.
    pub(super) heading: String,
    pub(super) text: String,
}

/// The blocks under a heading of the second depth.
#[derive(Clone, Debug)]
pub(super) struct Section {
    pub(super) title: String,
    pub(super) blocks: Vec<Block>,
}

/// The sections of `docs/deploy.md`.
pub(super) fn sections() -> Vec<Section> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/deploy.md");
    let text = std::fs::read_to_string(path).unwrap();
    let mut sections = vec![Section {
        title: String::new(),
        blocks: Vec::new(),
    }];
    let mut heading = String::new();
    let mut action = None;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("```sh") {
            let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            let text = body.join("\n") + "\n";
            let action = action.take();
            let action = action.unwrap_or_else(|| panic!("no comment before this block:\n{text}"));
            let section = sections.last_mut().unwrap();
            section.blocks.push(Block {
                action,
                heading: heading.clone(),
                text,
            });
        } else if let Some(title) = line.strip_prefix("## ") {
            heading = title.to_owned();
            sections.push(Section {
                title: heading.clone(),
                blocks: Vec::new(),
            });
        } else if let Some(title) = line.strip_prefix("### ") {
            heading = title.to_owned();
        } else if let Some(comment) = line.strip_prefix("<!-- ") {
            action = action_of(comment.trim_end_matches(" -->"));
        } else if !line.is_empty() {
            // The comment must stand directly before the block.
            action = None;
        }
    }
    sections
}

fn action_of(comment: &str) -> Option<Action> {
    let (what, rest) = comment.split_once(": ")?;
    match what {
        "run" => Some(Action::Run(rest.to_owned())),
        "run until stopped" => Some(Action::UntilStopped(rest.to_owned())),
        // The rest is the reason.
        "not run" => Some(Action::NotRun),
        _ => None,
    }
}
