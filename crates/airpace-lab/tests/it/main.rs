//! Experiments on real packets, in their own namespaces. Where the system does not permit
//! namespaces, the tests say so and test nothing.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "tests against the real kernel and clock, which print what they skip"
)]

mod adversity;
mod ap;
mod datapath;
mod demo;
mod ecn;
mod emulator;
mod iperf3;
mod monitor;
mod paths;
mod tcp;
mod tunnel;

use airpace_lab::bench::datapath::Testbed;
use airpace_net::netns::Namespace;

/// Whether this system permits namespaces and TUN devices. Prints the reason if it does not.
fn namespaces_allowed() -> bool {
    let missing = match Namespace::new() {
        Err(error) => Some(error.to_string()),
        Ok(_) if !std::path::Path::new("/dev/net/tun").exists() => {
            Some("there is no /dev/net/tun".to_owned())
        }
        Ok(_) => None,
    };
    if let Some(reason) = &missing {
        println!("SKIPPED, NOTHING WAS TESTED: {reason} (try `unshare -rnm cargo test`)");
    }
    missing.is_none()
}

/// Whether the emulator kept up with the clock. Says on standard error which test was not made if it
/// did not: its figures are then those of the machine.
fn kept_up(test: &str, trusted: bool, lag_p99_ms: f64) -> bool {
    if !trusted {
        eprintln!(
            "SKIPPED, WAS NOT TESTED: {test}: the machine was too busy (lag p99 {lag_p99_ms:.2} ms)"
        );
    }
    trusted
}

/// A test bed of proxy and agent; `None` where the system does not permit namespaces.
fn testbed() -> Option<Testbed> {
    namespaces_allowed().then(|| Testbed::new().unwrap())
}
