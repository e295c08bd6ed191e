//! Delivery rate: how fast segments arrive, sampled by each acknowledgement
//! (draft-cheng-iccrg-delivery-rate-estimation, as in Linux `tcp_rate.c`).

use super::scoreboard::Segment;
use airpace_units::Time;
use core::time::Duration;

/// The state of [`Delivery`] when a segment was sent (the per-packet state of the draft).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DeliverySnapshot {
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    app_limited: bool,
}

/// Counts delivered segments (the per-connection state of the draft).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Delivery {
    /// Segments delivered: acknowledged cumulatively or selectively.
    pub(super) delivered: u64,
    /// Segments declared lost.
    pub(super) lost: u64,
    delivered_at: Time,
    first_sent: Time,
    /// Until this many are delivered, samples measure the application and not the path.
    app_limited_until: Option<u64>,
}

/// The rate sample of one acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RateSample {
    /// The delivery count when the most recently sent of the acknowledged segments was sent.
    pub(super) prior_delivered: Option<u64>,
    prior_at: Time,
    /// Sending time and end of that segment.
    newest: (Time, u64),
    send_interval: Duration,
    /// Segments delivered since then and the time that took; `None` if the sample is not reliable.
    pub(super) rate: Option<(u64, Duration)>,
    /// Whether the application had too little to send.
    pub(super) app_limited: bool,
}

impl RateSample {
    /// A segment that was in flight has been delivered.
    pub(super) fn on_delivered(&mut self, delivery: &mut Delivery, segment: &Segment) {
        delivery.delivered += 1;
        let newest = (segment.sent, segment.end());
        if self.prior_delivered.is_none() || newest > self.newest {
            self.prior_delivered = Some(segment.snapshot.delivered);
            self.prior_at = segment.snapshot.delivered_at;
            self.app_limited = segment.snapshot.app_limited;
            self.send_interval = segment.sent.saturating_since(segment.snapshot.first_sent);
            self.newest = newest;
            delivery.first_sent = segment.sent;
        }
    }

    /// Completes the sample when all segments that the acknowledgement delivers have been counted.
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
        // The longer of the two phases: acknowledgements may be compressed, and so may sending.
        let interval = self.send_interval.max(now.saturating_since(self.prior_at));
        // A sample over less than the minimum round-trip time comes from lost or compressed
        // acknowledgements (Linux `tcp_rate_gen`).
        if interval >= min_rtt && !interval.is_zero() {
            self.rate = Some((delivery.delivered - prior, interval));
        }
    }
}

impl Delivery {
    /// The snapshot for a segment sent at `now`; `idle` says whether nothing else was in flight.
    pub(super) fn on_send(&mut self, now: Time, idle: bool) -> DeliverySnapshot {
        // After an idle time the send and acknowledgement phases begin anew (Linux
        // `tcp_rate_skb_sent`).
        if idle {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        DeliverySnapshot {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            app_limited: self.app_limited_until.is_some(),
        }
    }

    /// The application has nothing more to send although the window would allow more.
    pub(super) fn on_app_limited(&mut self, in_flight: u32) {
        self.app_limited_until = Some((self.delivered + u64::from(in_flight)).max(1));
    }

    /// Whether the application limits the sending rate.
    pub(super) fn is_app_limited(&self) -> bool {
        self.app_limited_until.is_some()
    }
}
