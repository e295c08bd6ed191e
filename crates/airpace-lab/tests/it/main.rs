//! Experiments on real packets, in namespaces of their own. Where the system allows none, they say so and are skipped.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "tests against the real kernel and clock; they fail by panicking and say what they skip"
)]

mod ap;
mod comparison;
mod datapath;
mod demo;
mod iperf3;
mod monitor;
mod tcp;
mod tunnel;

use airpace_net::netns::Namespace;

/// Whether this system allows what the tests need; says loudly if not.
fn namespaces_allowed() -> bool {
    let missing = match Namespace::new() {
        Err(error) => Some(error.to_string()),
        Ok(_) if !std::path::Path::new("/dev/net/tun").exists() => {
            Some("there is no /dev/net/tun".to_owned())
        }
        Ok(_) => None,
    };
    if let Some(reason) = &missing {
        println!("SKIPPED: {reason}");
    }
    missing.is_none()
}
