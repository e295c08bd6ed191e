//! Bytes on the wire: frames from a monitor interface ([`radiotap`], [`ieee80211`]), messages of
//! the tunnel ([`data`], [`report`]), the replay window ([`replay`]), IP packets ([`ip`]) and their
//! outer headers in a tunnel ([`encap`]), and TCP acknowledgements ([`tcp`]).
//!
//! Every parser accepts any bytes. It returns a value or a small error, and neither panics nor
//! allocates. The tunnel's messages are little-endian, as are 802.11 and radiotap by their
//! standards; IP and TCP are big-endian.

pub mod control;
pub mod data;
pub mod encap;
pub mod ieee80211;
pub mod ip;
pub mod radiotap;
pub mod replay;
pub mod report;
pub mod tcp;

mod cursor;

#[cfg(test)]
mod corpus;
