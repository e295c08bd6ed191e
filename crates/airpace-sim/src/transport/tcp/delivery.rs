//! Delivery rate: how fast segments arrive, measured for each acknowledgement (draft-cheng-iccrg-delivery-rate-estimation, as Linux `tcp_rate.c`).

use super::scoreboard::Segment;
use airpace_units::Time;
use core::time::Duration;

/// What had been delivered when a segment was sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mark {
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    app_limited: bool,
}

/// Counts what is delivered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Delivery {
    /// Segments delivered: acknowledged, selectively or not.
    pub(super) delivered: u64,
    /// Segments taken for lost.
    pub(super) lost: u64,
    delivered_at: Time,
    first_sent: Time,
    /// Until this many are delivered, samples tell of the application and not of the path.
    app_limited_until: Option<u64>,
}

/// What one acknowledgement tells of the rate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RateSample {
    /// Segments delivered when the newest of the segments acknowledged was sent.
    pub(super) prior_delivered: Option<u64>,
    prior_at: Time,
    newest: (Time, u64),
    send_interval: Duration,
    /// Segments delivered since then, and the time it took; `None` if that cannot be relied on.
    pub(super) rate: Option<(u64, Duration)>,
    /// Whether the application had too little to send.
    pub(super) app_limited: bool,
}

impl RateSample {
    /// A segment is delivered that `delivery` had counted as in flight.
    pub(super) fn on_delivered(&mut self, delivery: &mut Delivery, segment: &Segment) {
        delivery.delivered += 1;
        let newest = (segment.sent, segment.end());
        if self.prior_delivered.is_none() || newest > self.newest {
            self.prior_delivered = Some(segment.mark.delivered);
            self.prior_at = segment.mark.delivered_at;
            self.app_limited = segment.mark.app_limited;
            self.send_interval = segment.sent.saturating_since(segment.mark.first_sent);
            self.newest = newest;
            delivery.first_sent = segment.sent;
        }
    }

    /// All that the acknowledgement delivers has been counted.
    pub(super) fn finish(&mut self, delivery: &mut Delivery, now: Time, min_rtt: Duration) {
        if delivery
            .app_limited_until
            .is_some_and(|until| delivery.delivered > until)
        {
            delivery.app_limited_until = None;
        }
        let Some(prior) = self.prior_delivered else {
            return;
        };
        delivery.delivered_at = now;
        let interval = self.send_interval.max(now.saturating_since(self.prior_at));
        // Below the smallest round-trip time the sample is of acknowledgements that were lost or bunched.
        if interval >= min_rtt && !interval.is_zero() {
            self.rate = Some((delivery.delivered - prior, interval));
        }
    }
}

impl Delivery {
    /// The mark of a segment sent at `now`; `idle` tells whether nothing else was in flight.
    pub(super) fn on_send(&mut self, now: Time, idle: bool) -> Mark {
        if idle {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        Mark {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            app_limited: self.app_limited_until.is_some(),
        }
    }

    /// The application has nothing more to send although the window would allow it.
    pub(super) fn on_app_limited(&mut self, in_flight: u32) {
        self.app_limited_until = Some((self.delivered + u64::from(in_flight)).max(1));
    }

    /// Whether the application limits the rate.
    pub(super) fn is_app_limited(&self) -> bool {
        self.app_limited_until.is_some()
    }
}
