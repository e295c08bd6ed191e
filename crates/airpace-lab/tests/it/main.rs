//! Experiments on real packets, in their own namespaces. Where the system does not permit
//! namespaces, the tests say so and test nothing.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
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

/// A test bed of proxy and agent; `None` where the system does not permit namespaces.
fn testbed() -> Option<Testbed> {
    namespaces_allowed().then(|| Testbed::new().unwrap())
}
