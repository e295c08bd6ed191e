//! Every erratum names the test that demonstrates it, and that test exists.

use super::{File, Report};

const ERRATA: &str = "docs/errata.md";

/// Checks each row of each table in the errata: its last cell names tests in backticks, such as
/// `control::tests::it_holds`.
pub(super) fn check(files: &[File], report: &mut Report) {
    let Some(errata) = files.iter().find(|file| file.path == ERRATA) else {
        report.faults.push(format!("{ERRATA}: is missing"));
        return;
    };
    for (index, line) in errata
        .content
        .lines()
        .enumerate()
        .filter(|(index, _)| is_row(&errata.content, *index))
    {
        let cell = line
            .trim()
            .trim_end_matches('|')
            .rsplit('|')
            .next()
            .unwrap_or_default();
        let names: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
        if names.is_empty() {
            report
                .faults
                .push(format!("{ERRATA}:{}: names no test", index + 1));
        }
        for name in names.iter().filter(|name| !exists(files, name)) {
            report
                .faults
                .push(format!("{ERRATA}:{}: there is no test {name}", index + 1));
        }
    }
}

/// Whether the line is a row of a table, and neither its head nor the rule below the head.
fn is_row(content: &str, index: usize) -> bool {
    let lines: Vec<&str> = content.lines().collect();
    let is_rule = |line: &&str| {
        line.starts_with('|') && line.contains("--") && line.chars().all(|c| "|-: ".contains(c))
    };
    lines[index].starts_with('|')
        && !is_rule(&lines[index])
        && !lines.get(index + 1).is_some_and(is_rule)
}

fn exists(files: &[File], name: &str) -> bool {
    let function = format!("fn {}(", name.rsplit("::").next().unwrap_or(name).trim());
    files
        .iter()
        .any(|file| file.path.ends_with(".rs") && file.content.contains(&function))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_without_an_existing_test_is_a_fault() {
        let table = "| what | test |\n|---|---|\n| a | `m::it_holds` |\n| b | `m::nowhere` |\n| c | none |\n";
        let files = [
            File {
                path: ERRATA.into(),
                content: table.into(),
            },
            File {
                path: "x.rs".into(),
                content: "fn it_holds() {}".into(),
            },
        ];
        let mut report = Report::default();
        check(&files, &mut report);
        assert_eq!(
            report.faults,
            [
                "docs/errata.md:4: there is no test m::nowhere",
                "docs/errata.md:5: names no test"
            ]
        );
    }
}
