//! Experiments on real packets, in namespaces of their own. Where the system allows none, they say so and are skipped.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests fail by panicking and say what they skip")]

mod comparison;
