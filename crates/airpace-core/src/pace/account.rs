use crate::meter::FRAME_GAP;
use crate::report::SenderView;
use airpace_units::Time;
use core::time::Duration;

/// A station counts as backlogged if packets waited for at least one part in this many of the slot.
/// A few packets that arrive together wait for the pacer even if the demand is far below the rate.
const BACKLOGGED_SHARE: u32 = 4;

/// What a sender sent to a station since the station's last report, and how long packets waited.
#[derive(Clone, Debug)]
pub struct Account {
    since: Time,
    packets: u64,
    bytes: u64,
    held: u64,
    uplink_frames: u64,
    last_uplink: Option<Time>,
    uplink_bytes: u64,
    waited: Duration,
    waiting_since: Option<Time>,
    /// The previous account: how long it ran, and for how much of that time packets waited.
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
            held: 0,
            uplink_frames: 0,
            last_uplink: None,
            uplink_bytes: 0,
            waited: Duration::ZERO,
            waiting_since: None,
            before,
        }
    }

    /// Reports that packets wait from now on.
    pub fn wait(&mut self, now: Time) {
        self.waiting_since.get_or_insert(now);
    }

    /// Reports that no packets wait any more.
    pub fn empty(&mut self, now: Time) {
        if let Some(since) = self.waiting_since.take() {
            self.waited += now.saturating_since(since.max(self.since));
        }
    }

    /// Counts a packet of `bytes` that leaves; `held` says whether it had to wait for the pacer.
    pub fn sent(&mut self, bytes: u32, held: bool) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
        self.held += u64::from(held);
    }

    /// Counts a packet of `bytes` that came from the station. Packets that come together have come
    /// in one frame.
    pub fn received(&mut self, now: Time, bytes: u32) {
        let together = self
            .last_uplink
            .is_some_and(|last| now.saturating_since(last) < FRAME_GAP);
        self.uplink_frames += u64::from(!together);
        self.last_uplink = Some(now);
        self.uplink_bytes += u64::from(bytes);
    }

    /// Counts `frames` on the air with packets of `bytes` in all that came from the station, where
    /// something else has told the frames apart.
    pub const fn received_frames(&mut self, frames: u64, bytes: u64) {
        // The counts come from outside of the process.
        self.uplink_frames = self.uplink_frames.saturating_add(frames);
        self.uplink_bytes = self.uplink_bytes.saturating_add(bytes);
    }

    /// Closes the account when a report arrives and begins the next one. Returns the sender's view
    /// of the reported slot, whose length is `length`.
    ///
    /// `slots` is the number of slots since the last report, more than one if reports were lost:
    /// then only a part of what was sent belongs to the reported slot. But no more slots count than
    /// the account is long: it may have been closed in between.
    ///
    /// A report that arrives soon after a late one leaves too little time to judge whether packets
    /// waited. Then the previous account, which the late report made too long, counts as well.
    /// Nothing else is scaled by the time between reports, because a controller that balances
    /// packets sent and received needs exact sums.
    pub fn close(&mut self, now: Time, length: Duration, slots: u64) -> SenderView {
        let elapsed = now.saturating_since(self.since);
        let open_slots = elapsed.as_nanos().div_ceil(length.as_nanos().max(1));
        let open_slots = u64::try_from(open_slots).unwrap_or(u64::MAX);
        let running = self.waiting_since.map_or(Duration::ZERO, |since| {
            now.saturating_since(since.max(self.since))
        });
        let (mut elapsed, mut waited) = (elapsed, self.waited + running);
        // A report soon after a late one: judge by both accounts.
        if elapsed < length / 2 {
            elapsed += self.before.0;
            waited += self.before.1;
        }
        let backlogged = waited.saturating_mul(BACKLOGGED_SHARE) >= elapsed;
        let slots = slots.min(open_slots).max(1);
        let per_slot = |packets: u64| u32::try_from(packets / slots).unwrap_or(u32::MAX);
        let view = SenderView {
            backlogged,
            marked: false,
            sent_packets: per_slot(self.packets),
            sent_bytes: self.bytes / slots,
            held_packets: per_slot(self.held),
            uplink_frames: per_slot(self.uplink_frames),
            uplink_bytes: self.uplink_bytes / slots,
            bypassed: false,
        };
        *self = Self {
            waiting_since: self.waiting_since,
            before: (elapsed, waited),
            ..Self::new(now)
        };
        view
    }
}
