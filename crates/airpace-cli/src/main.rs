//! The airpace program.

fn main() {}
