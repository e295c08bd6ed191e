use crate::report::SenderView;
use airpace_units::Time;
use core::time::Duration;

/// Share of a slot during which packets must have waited for the station to count as backlogged. A few packets that come
/// together wait for the pacer even at a demand far below the rate.
const BACKLOGGED_SHARE: u32 = 4;

/// What went to a station since its last report, as its sender knows it.
#[derive(Clone, Debug)]
pub struct Account {
    since: Time,
    packets: u64,
    bytes: u64,
    waited: Duration,
    waiting_since: Option<Time>,
    /// The account before: how long it ran and for how much of that packets waited.
    before: (Duration, Duration),
}

impl Account {
    /// An account that begins now.
    #[must_use]
    pub const fn new(now: Time) -> Self {
        let before = (Duration::ZERO, Duration::ZERO);
        Self {
            since: now,
            packets: 0,
            bytes: 0,
            waited: Duration::ZERO,
            waiting_since: None,
            before,
        }
    }

    /// Packets wait from now on.
    pub fn wait(&mut self, now: Time) {
        self.waiting_since.get_or_insert(now);
    }

    /// Nothing waits any more.
    pub fn empty(&mut self, now: Time) {
        if let Some(since) = self.waiting_since.take() {
            self.waited += now.saturating_since(since.max(self.since));
        }
    }

    /// A packet of `bytes` leaves.
    pub fn sent(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }

    /// What the controller wants to know of the slot that a report tells of; the next account begins. `slots` is more than one if
    /// reports were lost on the way: of what was sent since the last one, only a part belongs to the slot reported.
    ///
    /// A report on the heels of a late one leaves too little time to tell whether packets waited: then the account before counts
    /// as well, which is the one that the late report cut too long. `length` is that of the slot.
    ///
    /// Otherwise nothing is scaled, although reports take a little more or less time on their way: a controller that sums what is
    /// sent and what is received must find the same sums.
    pub fn close(&mut self, now: Time, (length, slots): (Duration, u64)) -> SenderView {
        let elapsed = now.saturating_since(self.since);
        let running = self.waiting_since.map_or(Duration::ZERO, |since| {
            now.saturating_since(since.max(self.since))
        });
        let (mut elapsed, mut waited) = (elapsed, self.waited + running);
        if elapsed < length / 2 {
            elapsed += self.before.0;
            waited += self.before.1;
        }
        let backlogged = waited.saturating_mul(BACKLOGGED_SHARE) >= elapsed;
        let slots = slots.max(1);
        let sent_packets = u32::try_from(self.packets / slots).unwrap_or(u32::MAX);
        let view = SenderView {
            backlogged,
            sent_packets,
            sent_bytes: self.bytes / slots,
        };
        *self = Self {
            waiting_since: self.waiting_since,
            before: (elapsed, waited),
            ..Self::new(now)
        };
        view
    }
}
