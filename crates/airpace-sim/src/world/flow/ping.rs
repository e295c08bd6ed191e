//! Echo requests and their replies.

use super::Departure;
use crate::rng::Stream;
use crate::traffic::{Ping, PingConfig, PingReport, Request, SourceError};
use crate::world::parcel::{Parcel, Payload};
use airpace_core::packet::{Ecn, Packet as _};
use airpace_core::wire::ip::IPV4_HEADER_BYTES;
use airpace_units::Time;
use std::collections::VecDeque;

/// Length of the header of an echo message (RFC 792).
const ICMP_HEADER_BYTES: u32 = 8;
/// Bytes that IPv4 and ICMP add to the payload of an echo request.
const HEADER_BYTES: u32 = IPV4_HEADER_BYTES + ICMP_HEADER_BYTES;

/// Both ends of a ping: who asks, and who replies at once.
#[derive(Debug)]
pub(super) struct PingEnds {
    ping: Ping,
    next: Option<Request>,
    /// Replies to send at once: the number and the IP bytes of each request.
    replies: VecDeque<(u64, u32)>,
    /// When the statistics begin.
    begin: Time,
}

impl PingEnds {
    pub(super) fn new(
        config: PingConfig,
        stream: Stream,
        begin: Time,
    ) -> Result<Self, SourceError> {
        // The report covers the time of the statistics only, so nothing is asked before.
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
            request.payload_bytes.saturating_add(HEADER_BYTES),
            request.sequence,
        ))
    }

    /// Takes a request or a reply. Returns the payload bytes handed over, and whether the flow has
    /// something to send now.
    pub(super) fn receive(&mut self, now: Time, parcel: &Parcel) -> (u64, bool) {
        let Payload::Echo { request, number } = parcel.payload else {
            return (0, false);
        };
        if request {
            self.replies.push_back((u64::from(number), parcel.bytes()));
            return (u64::from(parcel.bytes().saturating_sub(HEADER_BYTES)), true);
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
        ecn: Ecn::NotEct,
        payload,
    }
}
