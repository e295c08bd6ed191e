//! Tests against the real kernel, each in namespaces of its own.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests; they report what they skip"
)]

mod bridge;
mod inline;
mod inline_packet;
mod namespaces;
mod offload;
mod packet;
mod program;
mod topology;
mod tun;
mod udp;

use airpace_net::netns::Namespace;

/// Returns a prepared namespace; prints a line and returns `None` where the system does not allow
/// one.
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
