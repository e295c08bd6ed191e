//! Proxy and agent with the real kernel, in namespaces of their own.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests; what was skipped is said aloud")]

mod live;
