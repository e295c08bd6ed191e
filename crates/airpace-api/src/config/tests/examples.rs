//! The files that packages install.

use super::*;
use airpace_config::document;
use airpace_config::section::Section;

/// The text with every key and table in effect.
fn uncommented(example: &str) -> String {
    let mut text = String::new();
    for line in example.lines() {
        // Explanations have a space after the mark.
        let line = match line.strip_prefix('#') {
            Some(rest) if !rest.starts_with(' ') => rest,
            _ => line,
        };
        // No key stands in an example: somebody would use it.
        match line.split_once(" = ") {
            Some((name @ ("private_key" | "public_key"), _)) => {
                text.push_str(&format!("{name} = \"{KEY}\"\n"));
            }
            _ => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    text
}

fn assert_every_key_is_read<T: Section>(example: &str) {
    let text = uncommented(example);
    assert_ne!(text, example);
    if let Err(error) = document::read::<T>(&text, &[]) {
        panic!("{}\n{text}", error.one_line("example"));
    }
    for field in T::fields() {
        let (key, table) = (format!("{} = ", field.key), format!("[{}]", field.key));
        assert!(
            text.contains(&key) || text.contains(&table),
            "{}",
            field.key
        );
    }
}

#[test]
fn an_example_is_valid_as_it_is_and_has_only_defaults_besides_what_must_be_given() {
    let edge = EdgeConfig::from_toml(&EdgeConfig::example()).unwrap();
    let small = "wan = \"eth0\"\n[[ap]]\nports = [\"eth1\"]\n";
    assert_eq!(edge, EdgeConfig::from_toml(small).unwrap());
    let proxy = ProxyConfig::from_toml(&ProxyConfig::example()).unwrap();
    assert_eq!((proxy.station.len(), proxy.l4s), (1, true));
    let agent = AgentConfig::from_toml(&AgentConfig::example()).unwrap();
    assert!(agent.tun.is_some());
}

#[test]
fn every_key_of_an_example_can_be_uncommented() {
    assert_every_key_is_read::<EdgeConfig>(&EdgeConfig::example());
    assert_every_key_is_read::<ProxyConfig>(&ProxyConfig::example());
    assert_every_key_is_read::<AgentConfig>(&AgentConfig::example());
}
