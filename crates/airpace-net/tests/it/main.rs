//! The plumbing against the real kernel, in namespaces of the tests' own.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests; what was skipped is said aloud"
)]

mod namespaces;
mod offload;
mod packet;
mod program;
mod tun;
mod udp;

use airpace_net::netns::Namespace;

/// A prepared namespace, or a loud line and `None` where the system does not allow one.
fn namespace() -> Option<Namespace> {
    match Namespace::new() {
        Ok(namespace) => {
            namespace
                .prepare()
                .expect("a fresh namespace can be prepared");
            Some(namespace)
        }
        Err(error) => {
            println!("SKIPPED, NOTHING WAS TESTED: {error} (try `unshare -rnm cargo test`)");
            None
        }
    }
}
