//! Checks of the tree itself.

fn main() {}
