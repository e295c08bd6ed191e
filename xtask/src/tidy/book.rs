//! The pages of the book: every page stands in its summary, and no link leads nowhere.

use super::{File, Report};
use std::path::Path;

const SUMMARY: &str = "docs/SUMMARY.md";

/// Checks every link between Markdown files, and that the summary lists every page of `docs`.
pub(super) fn check(root: &Path, files: &[File], report: &mut Report) {
    for file in files.iter().filter(|file| file.path.ends_with(".md")) {
        for (line, target) in links(&file.content) {
            if let Err(fault) = resolve(root, files, &file.path, &target) {
                let place = format!("{}:{line}", file.path);
                report.faults.push(format!("{place}: {target}: {fault}"));
            }
        }
    }
    let Some(summary) = files.iter().find(|file| file.path == SUMMARY) else {
        report.faults.push(format!("{SUMMARY}: is missing"));
        return;
    };
    let listed: Vec<String> = links(&summary.content)
        .map(|(_, target)| format!("docs/{target}"))
        .collect();
    for file in files {
        let is_page = file.path.starts_with("docs/") && file.path.ends_with(".md");
        if is_page && file.path != SUMMARY && !listed.contains(&file.path) {
            let fault = format!("{}: is not listed in {SUMMARY}", file.path);
            report.faults.push(fault);
        }
    }
}

/// The targets of links and pictures, with the number of their line, outside blocks of code.
fn links(content: &str) -> impl Iterator<Item = (usize, String)> {
    let mut is_code = false;
    let text = content.lines().enumerate().filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    text.flat_map(|(index, line)| {
        let after = without_code(line);
        let targets: Vec<String> = after
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split_once(')'))
            .map(|(target, _)| target.to_owned())
            .collect();
        targets.into_iter().map(move |target| (index + 1, target))
    })
}

/// A line without what stands between backticks.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect()
}

/// Whether the link leads somewhere: to another site, to a file or folder, and to a heading of it.
fn resolve(root: &Path, files: &[File], page: &str, target: &str) -> Result<(), String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return Ok(());
    }
    let (path, heading) = target.split_once('#').unwrap_or((target, ""));
    let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
    let path = if path.is_empty() {
        page.to_owned()
    } else {
        normal(&format!("{folder}/{path}"))
    };
    if !root.join(&path).exists() {
        return Err("there is no such file".to_owned());
    }
    if heading.is_empty() {
        return Ok(());
    }
    let Some(file) = files.iter().find(|file| file.path == path) else {
        return Ok(());
    };
    let has_heading = file
        .content
        .lines()
        .filter(|line| line.starts_with('#'))
        .any(|line| anchor(line.trim_start_matches('#')) == heading);
    if has_heading {
        Ok(())
    } else {
        Err(format!("{path} has no such heading"))
    }
}

/// A path without `.` and `..`.
fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The name of a heading in links.
fn anchor(heading: &str) -> String {
    let heading = heading.trim().to_lowercase();
    heading
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, content: &str) -> File {
        File {
            path: path.to_owned(),
            content: content.to_owned(),
        }
    }

    fn faults(files: &[File]) -> Vec<String> {
        let mut report = Report::default();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        check(&root, files, &mut report);
        report.faults
    }

    #[test]
    fn pages_that_are_not_listed_and_links_that_lead_nowhere_are_faults() {
        let pages = [
            file("docs/SUMMARY.md", "- [Errata](errata.md)"),
            file(
                "docs/errata.md",
                "[here](#of-paper-1), [not](gone.md)\n## Of paper 1",
            ),
            file(
                "docs/queues.md",
                "`[code](no-link.md)` [there](errata.md#of-paper-2)",
            ),
        ];
        let faults = faults(&pages);
        assert_eq!(
            faults,
            [
                "docs/errata.md:1: gone.md: there is no such file",
                "docs/queues.md:1: errata.md#of-paper-2: docs/errata.md has no such heading",
                "docs/queues.md: is not listed in docs/SUMMARY.md",
            ]
        );
    }

    #[test]
    fn a_heading_is_named_as_the_book_and_the_forge_name_it() {
        assert_eq!(anchor(" What `κ` is, and why"), "what-κ-is-and-why");
    }
}
