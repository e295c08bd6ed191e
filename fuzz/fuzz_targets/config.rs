//! Files of proxy and agent: whatever is accepted is written as a file that reads back to the same, and every refusal
//! has a line of its own.
#![no_main]

use airpace_api::config::{AgentConfig, ProxyConfig};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match ProxyConfig::from_toml(text) {
        Ok(config) => {
            let again =
                ProxyConfig::from_toml(&config.to_toml()).expect("what is written is accepted");
            assert_eq!(again, config);
        }
        Err(error) => assert!(!error.one_line("proxy.toml").contains('\n')),
    }
    match AgentConfig::from_toml(text) {
        Ok(config) => {
            let again =
                AgentConfig::from_toml(&config.to_toml()).expect("what is written is accepted");
            assert_eq!(again, config);
        }
        Err(error) => assert!(!error.one_line("agent.toml").contains('\n')),
    }
});
