//! Echo requests at regular intervals, and their replies.

use super::{
    Activity, DelayStatistic, DelaySummary, Emission, Pattern, Phase, Rate, SequenceStatistic,
    Source, SourceConfig, SourceError,
};
use crate::rng::Stream;
use airpace_units::Time;
use core::time::Duration;
use std::collections::VecDeque;

/// How requests are sent.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PingConfig {
    /// Time between requests; 1 s by default, as for `ping`. Zero sends none.
    pub interval: Duration,
    /// Bytes after the ICMP header; 56 by default, which makes an IP packet of 84 bytes.
    pub payload_bytes: u32,
    /// A request whose reply takes longer counts as lost; 10 s by default.
    pub timeout: Duration,
    /// When the first request leaves after the start.
    pub phase: Phase,
    /// No request leaves before this time.
    pub start: Time,
    /// No request leaves at this time or later.
    pub stop: Option<Time>,
    /// At most this many requests.
    pub limit: Option<u64>,
}

impl Default for PingConfig {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(1),
            payload_bytes: 56,
            timeout: Duration::from_secs(10),
            phase: Phase::Random,
            start: Time::ZERO,
            stop: None,
            limit: None,
        }
    }
}

/// A request to send. The reply has the same sequence number and size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// When it leaves.
    pub at: Time,
    /// Sequence number, counted from zero.
    pub sequence: u64,
    /// Bytes after the ICMP header.
    pub payload_bytes: u32,
}

/// Counts and round-trip times of a ping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PingReport {
    /// Requests sent.
    pub sent: u64,
    /// Requests answered in time.
    pub received: u64,
    /// Requests without reply within the timeout.
    pub lost: u64,
    /// Requests that may still be answered.
    pub outstanding: u64,
    /// Replies to requests that were already answered, that had timed out, or that were never sent.
    pub stray: u64,
    /// Round-trip times; `None` if no reply came in time.
    pub round_trip: Option<DelaySummary>,
}

/// Sends requests and matches replies.
#[derive(Clone, Debug)]
pub struct Ping {
    source: Source,
    timeout: Duration,
    sent: u64,
    lost: u64,
    stray: u64,
    /// The latest requests, the last of which has number `sent - 1`: when they left, or `None` if
    /// they were answered.
    outstanding: VecDeque<Option<Time>>,
    replies: SequenceStatistic,
    round_trip: DelayStatistic,
}

impl Ping {
    /// The ping that `config` describes, with its phase drawn from `stream`.
    ///
    /// # Errors
    /// See [`SourceError`].
    pub fn new(config: PingConfig, stream: Stream) -> Result<Self, SourceError> {
        let PingConfig {
            interval,
            payload_bytes,
            timeout,
            phase,
            start,
            stop,
            limit,
        } = config;
        // A request may have no payload, but a source may not: the 8 bytes of the ICMP header count
        // as payload of the source.
        let payload_bytes = payload_bytes.saturating_add(ICMP_HEADER_BYTES);
        let pattern = Pattern::Constant {
            payload_bytes,
            rate: Rate::Packets {
                count: 1,
                period: interval,
            },
        };
        let source = Source::new(
            SourceConfig {
                pattern,
                phase,
                activity: Activity::Always,
                start,
                stop,
                limit,
            },
            stream,
        )?;
        Ok(Self {
            source,
            timeout,
            sent: 0,
            lost: 0,
            stray: 0,
            outstanding: VecDeque::new(),
            replies: SequenceStatistic::default(),
            round_trip: DelayStatistic::default(),
        })
    }

    /// The next request; `None` when there are no more. Call this again when the request has left.
    pub fn next_request(&mut self) -> Option<Request> {
        let Emission { at, payload_bytes } = self.source.next()?;
        self.expire(at);
        let sequence = self.sent;
        self.sent += 1;
        self.outstanding.push_back(Some(at));
        Some(Request {
            at,
            sequence,
            payload_bytes: payload_bytes - ICMP_HEADER_BYTES,
        })
    }

    /// A reply has arrived. Returns its round-trip time if it is the first reply to its request and
    /// in time.
    pub fn on_reply(&mut self, now: Time, sequence: u64) -> Option<Duration> {
        self.expire(now);
        let first = self.sent - self.outstanding.len() as u64;
        let index = sequence
            .checked_sub(first)
            .and_then(|index| usize::try_from(index).ok());
        let request = index.and_then(|index| self.outstanding.get_mut(index));
        let Some(sent) = request.and_then(Option::take) else {
            // Answered already, timed out, or never sent.
            self.stray += 1;
            return None;
        };
        let round_trip = now.saturating_since(sent);
        self.replies.record(sequence);
        self.round_trip.record(round_trip);
        Some(round_trip)
    }

    /// Counts and round-trip times until `now`.
    pub fn report(&mut self, now: Time) -> PingReport {
        self.expire(now);
        // The last request may have been announced by `next_request` but not have left yet.
        let ahead = self
            .outstanding
            .back()
            .is_some_and(|last| last.is_some_and(|at| at > now));
        let sent = self.sent - u64::from(ahead);
        PingReport {
            sent,
            received: self.replies.received(),
            lost: self.lost,
            outstanding: sent.saturating_sub(self.replies.received() + self.lost),
            stray: self.stray,
            round_trip: self.round_trip.summary(),
        }
    }

    /// Round-trip times of the replies that came in time.
    #[must_use]
    pub const fn round_trips(&self) -> &DelayStatistic {
        &self.round_trip
    }

    /// Removes requests that were answered, and counts those that have timed out as lost.
    fn expire(&mut self, now: Time) {
        while let Some(&oldest) = self.outstanding.front() {
            match oldest {
                Some(sent) if now.saturating_since(sent) <= self.timeout => return,
                Some(_) => self.lost += 1,
                None => {}
            }
            self.outstanding.pop_front();
        }
    }
}

/// RFC 792: type, code, checksum, identifier, sequence number.
const ICMP_HEADER_BYTES: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn ping(config: PingConfig) -> Ping {
        Ping::new(config, Stream::new(1, "ping", 0)).unwrap()
    }

    #[test]
    fn replies_are_matched_and_late_ones_lost() {
        let mut ping = ping(PingConfig {
            phase: Phase::Fixed(Duration::ZERO),
            limit: Some(5),
            ..PingConfig::default()
        });
        let requests: Vec<Request> = core::iter::from_fn(|| ping.next_request()).collect();
        assert_eq!(requests.len(), 5);
        assert!(requests.iter().all(|request| request.payload_bytes == 56));
        assert_eq!(requests[3].at, Time::from_millis(3_000));
        let reply = |ping: &mut Ping, ms, sequence| ping.on_reply(Time::from_millis(ms), sequence);
        assert_eq!(reply(&mut ping, 3_020, 3), Some(Duration::from_millis(20)));
        assert_eq!(reply(&mut ping, 3_030, 3), None);
        assert_eq!(reply(&mut ping, 3_040, 77), None);
        // The first was sent at 0 s and is lost after 10 s; the second is in time to the
        // millisecond.
        assert_eq!(reply(&mut ping, 11_000, 0), None);
        assert_eq!(reply(&mut ping, 11_000, 1), Some(Duration::from_secs(10)));
        let report = ping.report(Time::from_millis(11_000));
        assert_eq!(
            (
                report.sent,
                report.received,
                report.lost,
                report.outstanding,
                report.stray
            ),
            (5, 2, 1, 2, 3)
        );
        let report = ping.report(Time::from_millis(60_000));
        assert_eq!((report.lost, report.outstanding), (3, 0));
        assert_eq!(report.round_trip.unwrap().min, Duration::from_millis(20));
    }

    #[test]
    fn requests_are_remembered_no_longer_than_the_timeout() {
        let mut ping = ping(PingConfig {
            interval: Duration::from_millis(10),
            timeout: Duration::from_secs(1),
            ..PingConfig::default()
        });
        for _ in 0..10_000 {
            ping.next_request();
        }
        assert!(ping.outstanding.len() <= 101);
        assert_eq!(ping.report(Time::from_millis(200_000)).lost, 10_000);
    }

    #[test]
    fn a_request_that_has_not_left_is_not_sent() {
        let mut ping = ping(PingConfig {
            phase: Phase::Fixed(Duration::ZERO),
            ..PingConfig::default()
        });
        let first = ping.next_request().unwrap();
        ping.next_request();
        let report = ping.report(first.at);
        assert_eq!((report.sent, report.outstanding, report.lost), (1, 1, 0));
    }
}
