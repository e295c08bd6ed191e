//! Messages: what a monitor interface shows ([`radiotap`], [`ieee80211`]), what the tunnel carries ([`data`], [`report`]), the window
//! that keeps replays out ([`replay`]), and what can be read from the packets inside ([`inner`]).
//!
//! Every parser takes any bytes: it answers with a value or with a small error, never panics, and never allocates. All integers of
//! the tunnel's own messages are little-endian; 802.11 and radiotap are little-endian by their standards, IP is big-endian.

pub mod data;
pub mod ieee80211;
pub mod inner;
pub mod radiotap;
pub mod replay;
pub mod report;

mod cursor;

#[cfg(test)]
mod corpus;
