//! The 802.11 MAC as one sans-IO state machine, and virtual time to drive it.
