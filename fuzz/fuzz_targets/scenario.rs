//! Scenario files with settings: whatever is accepted is written as a file that reads back to the same,
//! and every refusal points at a place that exists.
#![no_main]

use airpace_scenario::file::{Override, Place, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    // The settings stand before the text, one a line, as `--set key=value`.
    let mut text = input;
    let mut settings: Vec<Override> = Vec::new();
    while let Some(rest) = text.strip_prefix("--set ") {
        let (setting, rest) = rest.split_once('\n').unwrap_or((rest, ""));
        settings.extend(setting.parse::<Override>());
        text = rest;
    }
    match read(text, &settings) {
        Ok((scenario, _)) => {
            let written = toml::to_string(&scenario).expect("every scenario is TOML");
            let (again, _) = read(&written, &[]).expect("what is written is accepted");
            assert_eq!(again, scenario, "{written}");
        }
        Err(error) => {
            assert!(!error.one_line("x.toml").is_empty());
            if let Place::Line { line, .. } = error.place {
                assert!(line >= 1 && line <= text.matches('\n').count() + 1);
            }
        }
    }
});
