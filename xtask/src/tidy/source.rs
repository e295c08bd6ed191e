//! Rust sources: their length, and the paths that the crates behind a wall must not name. Works on
//! tokens, so comments and strings do not count.

use super::walls::{self, Reach, Wall};
use super::{File, Report};
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A file longer than this fails.
const LONGEST: usize = 800;
/// A file longer than this is worth a thought.
const LONG: usize = 500;

/// What a walled crate never names unless it is permitted, and what to do instead. A path is at
/// fault when it has these segments in a row.
const PROHIBITED: [(&[&str], Reach, &str); 15] = [
    (
        &["std", "net"],
        Reach::Network,
        "no sockets here; for addresses use core::net",
    ),
    (
        &["std", "fs"],
        Reach::Files,
        "no files here; take or return bytes",
    ),
    (
        &["std", "env"],
        Reach::Environment,
        "no environment here; take an argument",
    ),
    (
        &["std", "thread"],
        Reach::Threads,
        "no threads here; they belong to the caller",
    ),
    (&["std", "process"], Reach::Processes, "no processes here"),
    (
        &["std", "os"],
        Reach::OperatingSystem,
        "no operating system here",
    ),
    (
        &["Instant"],
        Reach::Clock,
        "no clock here; take `now: Time`",
    ),
    (
        &["SystemTime"],
        Reach::Clock,
        "no clock here; take `now: Time`",
    ),
    (
        &["rand", "rng"],
        Reach::Chance,
        "no global generator here; take a seeded one",
    ),
    (
        &["thread_rng"],
        Reach::Chance,
        "no global generator here; take a seeded one",
    ),
    (
        &["StdRng"],
        Reach::Chance,
        "its stream changes between versions; use rand_pcg",
    ),
    (
        &["OsRng"],
        Reach::Chance,
        "no global generator here; take a seeded one",
    ),
    (
        &["SysRng"],
        Reach::Chance,
        "no global generator here; take a seeded one",
    ),
    (
        &["DefaultHasher"],
        Reach::Chance,
        "its hash changes between versions; use siphasher",
    ),
    (
        &["RandomState"],
        Reach::Chance,
        "it is seeded by the system; use a fixed hasher or a BTreeMap",
    ),
];

/// Checks one Rust file.
pub(super) fn check(file: &File, report: &mut Report) {
    let Ok(tokens) = file.content.parse::<TokenStream>() else {
        report.faults.push(format!("{}: is not Rust", file.path));
        return;
    };
    if is_test_file(&file.path) {
        return;
    }
    let mut production = Production::default();
    production.walk(tokens, &[]);
    check_length(file, &production, report);
    if let Some(wall) = wall_around(&file.path) {
        check_paths(file, wall, &production, report);
    }
}

fn check_length(file: &File, production: &Production, report: &mut Report) {
    let lines = file
        .content
        .lines()
        .count()
        .saturating_sub(production.test_lines);
    if lines > LONGEST {
        report.faults.push(format!(
            "{}: {lines} production lines, at most {LONGEST}; split it",
            file.path
        ));
    } else if lines > LONG {
        report.warnings.push(format!(
            "{}: {lines} production lines, aim below {LONG}",
            file.path
        ));
    }
}

fn check_paths(file: &File, wall: &Wall, production: &Production, report: &mut Report) {
    for (path, line) in &production.paths {
        for (segments, reach, advice) in PROHIBITED {
            let named = path
                .windows(segments.len())
                .any(|window| window == segments);
            if named && !wall.permits.contains(&reach) {
                report.faults.push(format!(
                    "{}:{line}: names {}: {advice}",
                    file.path,
                    path.join("::")
                ));
            }
        }
    }
}

/// Whether the file holds tests or benches only, by its place.
fn is_test_file(path: &str) -> bool {
    let folder = path
        .split('/')
        .any(|part| matches!(part, "tests" | "benches" | "examples" | "fuzz"));
    folder || path.ends_with("/tests.rs") || path.ends_with("_tests.rs")
}

/// The wall around the crate whose source the file is.
fn wall_around(path: &str) -> Option<&'static Wall> {
    let (name, rest) = path.strip_prefix("crates/")?.split_once('/')?;
    rest.starts_with("src/").then(|| walls::wall(name))?
}

/// What stands outside test modules.
#[derive(Default)]
struct Production {
    /// Every path named, `use` trees expanded, with its line.
    paths: Vec<(Vec<String>, usize)>,
    /// Lines that belong to test items.
    test_lines: usize,
}

impl Production {
    /// Collects from `tokens`; `prefix` is the path that stands before them in a `use` tree.
    fn walk(&mut self, tokens: TokenStream, prefix: &[String]) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            if let Some(end) = test_item(&tokens[at..]) {
                let last = &tokens[(at + end).min(tokens.len()) - 1];
                self.test_lines += last.span().end().line + 1 - tokens[at].span().start().line;
                at += end;
            } else if let TokenTree::Ident(_) = &tokens[at] {
                at += self.path(&tokens[at..], prefix);
            } else {
                if let TokenTree::Group(group) = &tokens[at] {
                    self.walk(group.stream(), &[]);
                }
                at += 1;
            }
        }
    }

    /// Reads the path that starts here and returns how many tokens it took.
    fn path(&mut self, tokens: &[TokenTree], prefix: &[String]) -> usize {
        let mut path = prefix.to_vec();
        let mut at = 0;
        while let Some(TokenTree::Ident(segment)) = tokens.get(at) {
            path.push(segment.to_string());
            at += 1;
            if !is_path_separator(&tokens[at..]) {
                break;
            }
            at += 2;
            if let Some(TokenTree::Group(group)) = tokens.get(at)
                && group.delimiter() == Delimiter::Brace
            {
                self.walk(group.stream(), &path);
                return at + 1;
            }
        }
        self.paths.push((path, tokens[0].span().start().line));
        at
    }
}

fn is_path_separator(tokens: &[TokenTree]) -> bool {
    let colon = |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Punct(p)) if p.as_char() == ':');
    colon(tokens.first()) && colon(tokens.get(1))
}

/// The number of tokens of the item here, if an attribute says that it is for tests.
fn test_item(tokens: &[TokenTree]) -> Option<usize> {
    let [TokenTree::Punct(hash), TokenTree::Group(attribute), ..] = tokens else {
        return None;
    };
    let text: String = attribute.stream().to_string().split_whitespace().collect();
    if hash.as_char() != '#'
        || !(text == "test" || text == "cfg(test)" || text.starts_with("cfg(all(test,"))
    {
        return None;
    }
    let ends = |token: &TokenTree| match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(punct) => punct.as_char() == ';',
        _ => false,
    };
    Some(
        tokens
            .iter()
            .position(ends)
            .map_or(tokens.len(), |end| end + 1),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(content: &str) -> Vec<String> {
        faults_in("airpace-core", content)
    }

    fn faults_in(name: &str, content: &str) -> Vec<String> {
        let file = File {
            path: format!("crates/{name}/src/x.rs"),
            content: content.into(),
        };
        let mut report = Report::default();
        check(&file, &mut report);
        report.faults
    }

    #[test]
    fn a_prohibited_path_is_found_with_its_line() {
        assert!(
            faults("fn f() {\n let t = std::time::Instant::now();\n}")[0]
                .contains("x.rs:2: names std::time::Instant")
        );
        assert_eq!(
            faults("use std::{collections::BTreeMap, net::{UdpSocket, TcpStream}};").len(),
            2
        );
        assert_eq!(
            faults("use std::time::{self, SystemTime as Clock};").len(),
            1
        );
        assert_eq!(faults("macro_call!(rand::rng());").len(), 1);
    }

    #[test]
    fn what_a_crate_is_permitted_is_no_fault_there() {
        let content = "use std::{fs, thread, time::Instant, net::TcpStream};";
        assert_eq!(faults_in("airpace-edge", content).len(), 4);
        let faults = faults_in("airpace-scenario", content);
        assert_eq!(faults.len(), 1);
        assert!(faults[0].contains("no sockets here"), "{faults:?}");
        assert!(faults_in("airpace-live", content).is_empty());
    }

    #[test]
    fn comments_strings_and_tests_are_free() {
        assert!(
            faults("//! std::fs\nconst S: &str = \"std::fs\"; use core::net::IpAddr;").is_empty()
        );
        assert!(faults("#[cfg(test)]\nmod tests { use std::fs; }").is_empty());
        assert_eq!(
            faults("#[cfg(test)]\nmod tests { use std::fs; }\nuse std::fs;").len(),
            1
        );
    }

    #[test]
    fn only_production_lines_count_towards_the_length() {
        let body = "fn f() {}\n".repeat(LONGEST);
        let tests = format!("#[cfg(test)]\nmod tests {{\n{body}}}\n");
        assert!(faults(&body).is_empty());
        assert!(faults(&format!("{body}{tests}")).is_empty());
        assert_eq!(faults(&format!("{body}fn g() {{}}\n{tests}")).len(), 1);
    }
}
