//! The demo: the same download over the same emulated access point with Cubic, BBR and airpace.

pub mod table;

#[cfg(test)]
mod tests;
