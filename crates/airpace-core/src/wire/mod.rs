//! Bytes on the wire: frames from a monitor interface ([`radiotap`], [`ieee80211`], [`control`]),
//! messages of the tunnel ([`data`], [`report`]), the replay window ([`replay`]), IP packets ([`ip`])
//! and their outer headers in a tunnel ([`encap`]), TCP acknowledgements ([`tcp`]), and what a box on
//! the path reads in passing ([`ethernet`], [`transport`]).
//!
//! Every parser accepts any bytes. It returns a value or a small error, and neither panics nor
//! allocates. The tunnel's messages are little-endian, as are 802.11 and radiotap by their
//! standards; IP and TCP are big-endian.

pub mod control;
pub mod data;
pub mod encap;
pub mod ethernet;
pub mod ieee80211;
pub mod ip;
pub mod radiotap;
pub mod replay;
pub mod report;
pub mod tcp;
pub mod transport;

mod cursor;

#[cfg(test)]
mod corpus;
