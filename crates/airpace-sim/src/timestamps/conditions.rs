//! The receivers that the classifier is trained on, and those that it is judged by.
//!
//! Both have jitter, merged packets and combined interrupts, but no receiver is in both lists, and
//! the distributions of the latency have other shapes.

use super::receiver::{Coalescing, Latency, Receiver};
use core::time::Duration;

/// A receiver and its name in tables.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Condition {
    /// What disturbs its timestamps.
    pub family: &'static str,
    /// Its name.
    pub name: &'static str,
    /// The receiver.
    pub receiver: Receiver,
}

/// A list of conditions: name, family and what differs from [`Receiver::default`].
macro_rules! conditions {
    ($($family:literal { $($name:literal: $($field:ident = $value:expr),*;)* })*) => {
        vec![$($(Condition {
            family: $family,
            name: $name,
            #[allow(clippy::needless_update, reason = "some conditions set every field")]
            receiver: Receiver { $($field: $value,)* ..Receiver::default() },
        }),*),*]
    };
}

/// What the classifier is trained on.
#[must_use]
pub fn training() -> Vec<Condition> {
    use Coalescing::{Delayed, Periodic, Throttled};
    use Latency::LogNormal;
    let us = Duration::from_micros(1);
    conditions! {
        "plain" {
            "quick": merges = false;
            "quick, merging": merges = true, tick = us;
            "hardware": latency = LogNormal(2.0, 0.2), per_packet_us = 0.3;
            "jitter of 8 µs": latency = LogNormal(8.0, 0.6), per_packet_us = 0.6, merges = true;
        }
        "jitter" {
            "jitter of 20 µs": latency = LogNormal(20.0, 0.8), per_packet_us = 2.0;
            "jitter of 60 µs": latency = LogNormal(60.0, 0.8), per_packet_us = 2.0, merges = true;
            "jitter of 120 µs": latency = LogNormal(120.0, 0.6), per_packet_us = 5.0, tick = us;
            "jitter of 200 µs": latency = LogNormal(200.0, 1.0), per_packet_us = 1.5;
        }
        "pauses" {
            "pauses of 150 µs": latency = LogNormal(30.0, 0.6), per_packet_us = 3.0, pauses = (0.004, 150.0);
            "pauses of 60 µs": latency = LogNormal(15.0, 0.6), per_packet_us = 2.0, pauses = (0.02, 60.0);
        }
        "by MPDU" {
            "by MPDU": latency = LogNormal(10.0, 0.5), by_mpdu = true;
            "by MPDU, jitter of 20 µs": latency = LogNormal(20.0, 0.6), by_mpdu = true;
            "by MPDU, jitter of 40 µs": latency = LogNormal(40.0, 0.8), by_mpdu = true, tick = us;
        }
        "delayed" {
            "delayed by 50 µs": coalescing = Delayed(50.0), latency = LogNormal(15.0, 0.5);
            "delayed by 200 µs": coalescing = Delayed(200.0), latency = LogNormal(15.0, 0.5), merges = true;
            "delayed by 400 µs": coalescing = Delayed(400.0), latency = LogNormal(10.0, 0.5);
            "delayed by 900 µs": coalescing = Delayed(900.0), latency = LogNormal(10.0, 0.5), merges = true;
        }
        "throttled" {
            "throttled to 100 µs": coalescing = Throttled(100.0), latency = LogNormal(15.0, 0.5);
            "throttled to 250 µs": coalescing = Throttled(250.0), latency = LogNormal(15.0, 0.5);
            "throttled to 600 µs": coalescing = Throttled(600.0), latency = LogNormal(25.0, 0.7), merges = true;
            "throttled to 800 µs": coalescing = Throttled(800.0), latency = LogNormal(40.0, 0.6);
            "throttled to 1.5 ms": coalescing = Throttled(1_500.0), latency = LogNormal(10.0, 0.6);
            "throttled to 3 ms": coalescing = Throttled(3_000.0), latency = LogNormal(30.0, 0.6), merges = true;
        }
        "timer" {
            "every 125 µs": coalescing = Periodic(125.0), latency = LogNormal(10.0, 0.4);
            "every 400 µs": coalescing = Periodic(400.0), latency = LogNormal(5.0, 0.4);
            "every 4 ms": coalescing = Periodic(4_000.0), latency = LogNormal(10.0, 0.6);
            "every 1 ms": coalescing = Periodic(1_000.0), latency = LogNormal(20.0, 0.6), merges = true;
        }
    }
}

/// What it is judged by. Training has no latencies of these distributions, no stalls, and no
/// interrupts by number.
#[must_use]
pub fn held_out() -> Vec<Condition> {
    use Coalescing::{Counted, Delayed, Periodic, Throttled};
    use Latency::{Gamma, Stalling};
    let us = Duration::from_micros(1);
    conditions! {
        "plain" {
            "clock of the radio": latency = Gamma(1.0, 4.0), per_packet_us = 0.1;
            "gamma 5 µs": latency = Gamma(5.0, 3.0), per_packet_us = 0.8;
            "gamma 3 µs, merging": latency = Gamma(3.0, 3.0), per_packet_us = 0.5, merges = true, tick = us;
            "gamma 10 µs, merging": latency = Gamma(10.0, 2.0), per_packet_us = 1.5, merges = true;
        }
        "jitter" {
            "gamma 30 µs": latency = Gamma(30.0, 2.0), per_packet_us = 1.5;
            "gamma 80 µs, merging": latency = Gamma(80.0, 1.5), per_packet_us = 3.0, merges = true, tick = us;
            "gamma 150 µs": latency = Gamma(150.0, 3.0), per_packet_us = 1.0;
        }
        "stalls" {
            "stalls of 250 µs": latency = Stalling(25.0, 50.0), per_packet_us = 4.0;
            "stalls of 600 µs": latency = Stalling(60.0, 20.0), per_packet_us = 1.0;
        }
        "pauses" {
            "pauses of 100 µs": latency = Gamma(20.0, 3.0), per_packet_us = 2.5, pauses = (0.008, 100.0);
            "pauses of 200 µs": latency = Gamma(10.0, 2.0), per_packet_us = 1.5, pauses = (0.003, 200.0);
        }
        "by MPDU" {
            "by MPDU, gamma 12 µs": latency = Gamma(12.0, 3.0), by_mpdu = true;
            "by MPDU, gamma 25 µs": latency = Gamma(25.0, 2.0), by_mpdu = true;
        }
        "delayed" {
            "delayed by 120 µs": coalescing = Delayed(120.0), latency = Gamma(20.0, 2.0);
            "delayed by 600 µs": coalescing = Delayed(600.0), latency = Gamma(12.0, 2.0);
        }
        "throttled" {
            "throttled to 160 µs": coalescing = Throttled(160.0), latency = Gamma(15.0, 2.0), merges = true;
            "throttled to 400 µs": coalescing = Throttled(400.0), latency = Gamma(25.0, 2.0);
            "throttled to 1 ms": coalescing = Throttled(1_000.0), latency = Gamma(30.0, 2.0);
        }
        "timer" {
            "every 250 µs": coalescing = Periodic(250.0), latency = Gamma(10.0, 2.0);
            "every 500 µs, merging": coalescing = Periodic(500.0), latency = Gamma(15.0, 2.0), merges = true;
            "every 2 ms": coalescing = Periodic(2_000.0), latency = Gamma(20.0, 2.0);
        }
        "counted" {
            "32 packets or 300 µs": coalescing = Counted(32, 300.0), latency = Gamma(15.0, 2.0);
            "64 packets or 800 µs": coalescing = Counted(64, 800.0), latency = Gamma(15.0, 2.0), merges = true;
        }
    }
}
