//! Pacing of one station by airtime.
//!
//! A controller grants a station packets per second. Packets differ in size, so the pacer spaces
//! them by the airtime that they will take: `bytes · 8 / R` plus the packet's share of the overhead
//! of its frame, `overhead / level`. A packet of the controller's size then leaves every `1 /
//! rate`; after a small one the next follows sooner. Without a known R, packets are spaced by
//! bytes.
//!
//! The pacer keeps the time at which everything released so far is paid for, as an exact fraction
//! of a nanosecond, so the rate does not drift. A packet may leave up to the *burst* before that
//! time. The burst lets a sender whose timer is late catch up, lets it send small groups, and
//! bounds what leaves at once after a pause.

mod account;

pub use account::Account;

use crate::phy::{DELIMITER_BYTES, mpdu_bytes};
use crate::report::Allocation;
use airpace_units::{BitRate, Time};
use core::time::Duration;

/// Default overhead of a frame: 106 µs of channel access and 108 µs of preamble, SIFS and block
/// acknowledgement (000 fig. 7).
const FRAME_OVERHEAD: Duration = Duration::from_micros(214);

/// Default burst. User-space timers on a loaded machine are late by 100 µs and more (timerfd: 90th
/// to 99th percentile 89–632 µs).
const BURST: Duration = Duration::from_micros(200);

/// Costs are counted in this fraction of a bit, so that even rates below a packet per second are
/// exact to a millionth.
const UNITS_PER_BIT: f64 = 1024.0;
const UNITS_PER_BYTE: u64 = 8 * 1024;
const NANOS: u128 = 1_000_000_000;

/// Quotient, at most the largest that fits, and remainder.
const fn divide(owed: u128, per_second: u64) -> (u64, u64) {
    // The cost of a packet fits 64 bits at all rates but the highest, and dividing those takes a
    // small part of the time.
    if owed <= u64::MAX as u128 {
        let owed = owed as u64;
        return (owed / per_second, owed % per_second);
    }
    let (per_second, most) = (per_second as u128, u64::MAX as u128);
    let quotient = owed / per_second;
    let quotient = if quotient > most { most } else { quotient };
    // Both fit: a remainder is below its divisor.
    (quotient as u64, (owed % per_second) as u64)
}

/// Parameters of a [`Pacer`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PaceConfig {
    /// How long before it is paid for a packet may leave. Default 200 µs.
    pub burst: Duration,
    /// Number of packets of the controller's size that may leave together, even if they take longer
    /// than `burst`. Default 2.
    pub burst_packets: u32,
    /// Airtime of a frame without its packets: channel access, preamble, SIFS, block
    /// acknowledgement. Default 214 µs.
    pub frame_overhead: Duration,
    /// Bytes that the MAC adds to each packet: LLC, MAC header, frame check sequence, A-MPDU
    /// delimiter. Default 42.
    pub packet_overhead: u32,
}

impl Default for PaceConfig {
    fn default() -> Self {
        Self {
            burst: BURST,
            burst_packets: 2,
            frame_overhead: FRAME_OVERHEAD,
            packet_overhead: mpdu_bytes(0) + DELIMITER_BYTES,
        }
    }
}

/// The cost of a packet and the rate at which costs are paid off, as integers, so that the
/// arithmetic per packet is exact.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Tariff {
    /// Units added to each packet of any size: its overhead bytes and its share of the frame's
    /// overhead at the PHY rate.
    per_packet: u64,
    /// Units paid off per second; not zero.
    per_second: u64,
    /// Whether what a packet permits its receiver to send is paid for too.
    counts_permitted: bool,
    /// Nanoseconds between packets of the controller's size, at least one.
    interval_ns: u64,
    /// How long before it is paid for a packet may leave. One packet may always leave at the time
    /// when the others are paid for, so a burst of n packets is n − 1 intervals long.
    burst_ns: u64,
}

impl Tariff {
    /// The tariff of an allocation; `None` if it allows no packets.
    fn new(
        config: &PaceConfig,
        allocation: &Allocation,
        phy_rate: Option<BitRate>,
        permitted_bytes: f64,
    ) -> Option<Self> {
        let rate = allocation.rate_pps;
        let nominal_bytes = allocation.rate_bytes_per_s / rate;
        if rate <= 0.0 || !nominal_bytes.is_finite() || nominal_bytes <= 0.0 {
            return None;
        }
        let per_packet = phy_rate.map_or(0.0, |r| {
            let share_s = config.frame_overhead.as_secs_f64() / allocation.level.max(1.0);
            f64::from(config.packet_overhead) * 8.0 + share_s * r.as_bps_f64()
        }) * UNITS_PER_BIT;
        // Float-to-integer `as` saturates. Rounding here changes the rate once, by less than a
        // millionth.
        let per_packet = per_packet.round() as u64;
        let nominal_bytes = nominal_bytes + permitted_bytes;
        let nominal = nominal_bytes * UNITS_PER_BYTE as f64 + per_packet as f64;
        let per_second = (nominal * rate).round() as u64;
        let interval_ns = ((1e9 / rate).round() as u64).max(1);
        let burst_packets = u64::from(config.burst_packets.saturating_sub(1));
        let burst_ns = u64::try_from(config.burst.as_nanos()).unwrap_or(u64::MAX);
        (per_second > 0).then_some(Self {
            per_packet,
            per_second,
            interval_ns,
            burst_ns: burst_ns.max(burst_packets.saturating_mul(interval_ns)),
            counts_permitted: permitted_bytes > 0.0,
        })
    }

    /// The cost of a packet of `bytes` that permits its receiver to send `permitted_bytes`, in units.
    fn cost(self, bytes: u32, permitted_bytes: u32) -> u128 {
        let permitted_bytes = if self.counts_permitted {
            permitted_bytes
        } else {
            0
        };
        // At most 2^33 · 2^13 + 2^64, far below 2^128.
        let bytes = u64::from(bytes) + u64::from(permitted_bytes);
        u128::from(bytes * UNITS_PER_BYTE) + u128::from(self.per_packet)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    /// Everything passes.
    Unshaped,
    /// Nothing passes.
    Stopped,
    Paced(Tariff),
}

/// Decides when the packets of one station are released. It starts unshaped.
///
/// ```
/// use airpace_core::{pace::{PaceConfig, Pacer}, report::Allocation};
/// use airpace_units::{StationId, Time};
/// use core::time::Duration;
///
/// let mut pacer = Pacer::new(PaceConfig { burst_packets: 1, burst: core::time::Duration::ZERO, ..PaceConfig::default() });
/// let grant = Allocation::new(StationId(0), 1_000.0, 1_500.0, 32.0);
/// pacer.grant(Time::ZERO, &grant, None);
/// assert!(pacer.release(Time::ZERO, 1_500));
/// assert!(!pacer.release(Time::from_micros(999), 1_500));
/// assert_eq!(pacer.next_release(), Some(Time::from_millis(1)));
/// ```
#[derive(Clone, Debug)]
pub struct Pacer {
    config: PaceConfig,
    mode: Mode,
    /// When everything released so far is paid for: at this time plus `remainder / per_second`
    /// nanoseconds.
    paid_at: Time,
    remainder: u64,
    /// See [`Pacer::expect_permitted`].
    permitted_bytes: f64,
    /// Nanoseconds in which what the last acknowledgement permitted is paid for.
    permitted_ns: u64,
}

impl Pacer {
    /// A pacer that releases everything at once until it is granted a rate.
    #[must_use]
    pub const fn new(config: PaceConfig) -> Self {
        Self {
            config,
            mode: Mode::Unshaped,
            paid_at: Time::ZERO,
            remainder: 0,
            permitted_bytes: 0.0,
            permitted_ns: 0,
        }
    }

    /// Expects that a packet permits the station to send `bytes_per_packet` bytes on average, from the next
    /// grant on. A packet then costs what it permits as well, and the rate is that of packets which permit
    /// as much as expected. With zero, or with a value that is not finite, what packets permit costs nothing.
    pub fn expect_permitted(&mut self, bytes_per_packet: f64) {
        self.permitted_bytes = if bytes_per_packet.is_finite() {
            bytes_per_packet.max(0.0)
        } else {
            0.0
        };
    }

    /// Paces at `allocation` from now on: by airtime if the PHY rate of the station's frames is
    /// given, otherwise by bytes.
    ///
    /// Packets that are not paid for yet are paid for at the new rate. A rate of zero stops the
    /// station. An allocation with a NaN is ignored.
    pub fn grant(&mut self, now: Time, allocation: &Allocation, phy_rate: Option<BitRate>) {
        if [
            allocation.rate_pps,
            allocation.rate_bytes_per_s,
            allocation.level,
        ]
        .iter()
        .any(|v| v.is_nan())
        {
            return;
        }
        let mode = Tariff::new(&self.config, allocation, phy_rate, self.permitted_bytes)
            .map_or(Mode::Stopped, Mode::Paced);
        // An unchanged tariff must not drop the fraction of a nanosecond.
        if mode == self.mode {
            return;
        }
        self.convert_debt(now, mode);
        self.mode = mode;
        self.permitted_ns = 0;
    }

    /// Releases everything at once from now on.
    pub fn unshape(&mut self) {
        self.mode = Mode::Unshaped;
        self.paid_at = Time::ZERO;
        self.remainder = 0;
    }

    /// Whether the pacer releases everything at once.
    #[must_use]
    #[inline]
    pub const fn is_unshaped(&self) -> bool {
        matches!(self.mode, Mode::Unshaped)
    }

    /// Whether a packet, of any size, may be released now.
    #[must_use]
    pub fn may_release(&self, now: Time) -> bool {
        self.next_release().is_some_and(|at| at <= now)
    }

    /// When the next packet may be released. The time lies in the past if it may leave at once;
    /// `None` if it must wait for another grant.
    #[must_use]
    #[inline]
    pub fn next_release(&self) -> Option<Time> {
        match &self.mode {
            Mode::Unshaped => Some(Time::ZERO),
            Mode::Stopped => None,
            Mode::Paced(tariff) => Some(Time::from_nanos(
                self.paid_up().as_nanos().saturating_sub(tariff.burst_ns),
            )),
        }
    }

    /// When a packet of a sparse flow may be released: one packet of the controller's size sooner
    /// than [`Pacer::next_release`], and not later for what an acknowledgement before it permits. It is
    /// charged like all others, so that the rate holds.
    #[must_use]
    pub fn next_release_ahead(&self) -> Option<Time> {
        let release = self.next_release()?;
        let ahead_ns = match self.mode {
            Mode::Paced(tariff) => tariff.interval_ns.saturating_add(self.permitted_ns),
            Mode::Unshaped | Mode::Stopped => 0,
        };
        Some(Time::from_nanos(
            release.as_nanos().saturating_sub(ahead_ns),
        ))
    }

    /// Charges a packet of `bytes` that leaves now and permits the station to send nothing.
    pub fn charge(&mut self, now: Time, bytes: u32) {
        self.charge_permitting(now, bytes, 0);
    }

    /// Charges a packet of `bytes` that leaves now and permits the station to send `permitted_bytes`.
    #[inline]
    pub fn charge_permitting(&mut self, now: Time, bytes: u32, permitted_bytes: u32) {
        let Mode::Paced(tariff) = self.mode else {
            return;
        };
        // A packet released in the very nanosecond in which the last one is paid for keeps the
        // fraction. Dropping it each time would lower the rate.
        if self.paid_up() < now {
            self.paid_at = now;
            self.remainder = 0;
        }
        // At most 2^65 · 2^30 + 2^64, below 2^128.
        let owed = tariff.cost(bytes, permitted_bytes) * NANOS + u128::from(self.remainder);
        if permitted_bytes > 0 && tariff.counts_permitted {
            let permitted = u128::from(u64::from(permitted_bytes) * UNITS_PER_BYTE) * NANOS;
            (self.permitted_ns, _) = divide(permitted, tariff.per_second);
        }
        let (ns, remainder) = divide(owed, tariff.per_second);
        self.paid_at = Time::from_nanos(self.paid_at.as_nanos().saturating_add(ns));
        self.remainder = remainder;
    }

    /// Releases a packet of `bytes` if it may leave now. Returns whether it may.
    pub fn release(&mut self, now: Time, bytes: u32) -> bool {
        let allowed = self.may_release(now);
        if allowed {
            self.charge(now, bytes);
        }
        allowed
    }

    /// The first whole nanosecond at which everything is paid for.
    #[inline]
    fn paid_up(&self) -> Time {
        let fraction = u64::from(self.remainder > 0);
        Time::from_nanos(self.paid_at.as_nanos().saturating_add(fraction))
    }

    /// Converts the debt from the old rate to the new one: it stays the same number of packets and
    /// becomes another time.
    fn convert_debt(&mut self, now: Time, mode: Mode) {
        let debt = self.paid_at.saturating_since(now);
        if let (Mode::Paced(old), Mode::Paced(new)) = (self.mode, mode) {
            let scaled =
                debt.as_nanos() * u128::from(new.interval_ns) / u128::from(old.interval_ns);
            let scaled = u64::try_from(scaled).unwrap_or(u64::MAX);
            if self.paid_at > now {
                self.paid_at = now.saturating_add(Duration::from_nanos(scaled));
            }
        }
        self.remainder = 0;
    }
}

#[cfg(test)]
mod tests;
