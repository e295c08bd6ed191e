//! Echo requests and their replies.

use super::Departure;
use crate::rng::Stream;
use crate::traffic::{Ping, PingConfig, PingReport, Request, SourceError};
use crate::world::parcel::{Ecn, Parcel, Payload};
use airpace_core::packet::Packet as _;
use airpace_units::Time;
use std::collections::VecDeque;

/// Bytes of IPv4 and ICMP headers.
const HEADERS: u32 = 28;

#[derive(Debug)]
pub(super) struct PingEnds {
    ping: Ping,
    next: Option<Request>,
    /// Replies that leave at once: number and IP bytes of the request.
    replies: VecDeque<(u64, u32)>,
    begin: Time,
}

impl PingEnds {
    pub(super) fn new(
        config: PingConfig,
        stream: Stream,
        begin: Time,
    ) -> Result<Self, SourceError> {
        // Requests of the warm-up are no part of the report.
        let start = config.start.max(begin);
        let mut ping = Ping::new(PingConfig { start, ..config }, stream)?;
        let next = ping.next_request();
        Ok(Self {
            ping,
            next,
            replies: VecDeque::new(),
            begin,
        })
    }

    pub(super) fn poll(&mut self, now: Time) -> Option<Departure> {
        if let Some((number, bytes)) = self.replies.pop_front() {
            return Some(echo(false, bytes, number));
        }
        let request = self.next.filter(|request| request.at <= now)?;
        self.next = self.ping.next_request();
        Some(echo(
            true,
            request.payload_bytes.saturating_add(HEADERS),
            request.sequence,
        ))
    }

    pub(super) fn receive(&mut self, now: Time, parcel: Parcel) -> (u64, bool) {
        let Payload::Echo { request, number } = parcel.payload else {
            return (0, false);
        };
        if request {
            self.replies.push_back((u64::from(number), parcel.bytes()));
            return (u64::from(parcel.bytes().saturating_sub(HEADERS)), true);
        }
        self.ping.on_reply(now, u64::from(number));
        (0, false)
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        self.next.map(|request| request.at)
    }

    pub(super) fn report(&mut self, now: Time) -> PingReport {
        self.ping.report(now.max(self.begin))
    }
}

fn echo(request: bool, bytes: u32, number: u64) -> Departure {
    // No run sends 2^32 requests.
    let payload = Payload::Echo {
        request,
        number: number as u32,
    };
    Departure {
        forward: request,
        bytes,
        ecn: Ecn::NotCapable,
        payload,
    }
}
