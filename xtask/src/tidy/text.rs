//! Any text file: no markers of unfinished work, no paths of one developer's machine.

use super::{File, Report};

/// Markers of unfinished work. They are written in pieces, so that this file does not contain them.
const LEFTOVERS: [&str; 3] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
];

/// Folders that exist on one developer's machine only.
const MACHINE_PATHS: [&str; 4] = [
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
];

/// Checks one file, line by line.
pub(super) fn check(file: &File, report: &mut Report) {
    for (index, line) in file.content.lines().enumerate() {
        let place = format!("{}:{}", file.path, index + 1);
        for word in LEFTOVERS.iter().filter(|word| has_word(line, word)) {
            report.faults.push(format!(
                "{place}: {word}: finish it, or write down the limit where users look"
            ));
        }
        for path in MACHINE_PATHS.iter().filter(|path| has_root(line, path)) {
            report
                .faults
                .push(format!("{place}: {path} exists on one machine only"));
        }
    }
}

/// Whether the line contains `word` without a letter or digit on either side.
fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    })
}

/// Whether the line contains the absolute path, and not as a part of a longer path or of an
/// address.
fn has_root(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        !line[..at]
            .chars()
            .next_back()
            .is_some_and(|c| c.is_alphanumeric() || "._-}$".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_are_whole_words() {
        assert!(has_word("// ABC: later", "ABC"));
        assert!(!has_word("ABCD", "ABC"));
    }

    #[test]
    fn a_machine_path_is_absolute() {
        assert!(has_root("see /abc/file", "/abc/"));
        assert!(!has_root("https://example.org/abc/file", "/abc/"));
        assert!(!has_root("target/abc/file", "/abc/"));
    }
}
