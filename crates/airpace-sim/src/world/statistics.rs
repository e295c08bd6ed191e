//! Counts of packets and frames.

use super::Parcel;
use crate::mac::{self, FrameRecord, RadioId};
use crate::row::Row;
use crate::traffic::{DelayStatistic, DelaySummary};
use airpace_core::packet::Packet as _;
use airpace_core::queue::DropReason;
use airpace_edge::agent::UplinkDrop;
use airpace_units::Time;
use core::time::Duration;

/// Why a packet never arrived.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
#[non_exhaustive]
pub enum Loss {
    /// A queue in front of the air was full.
    QueueLimit,
    /// CoDel dropped it in front of the air.
    Sojourn,
    /// The MAC gave up after the last retry.
    RetryLimit,
    /// The proxy's queue was full.
    ProxyLimit,
    /// The proxy's CoDel dropped it.
    ProxySojourn,
    /// It waited at a proxy or an agent that stopped, or its station was away.
    ProxyAway,
    /// A later acknowledgement made it redundant at an agent.
    RedundantAck,
    /// The queue of a wire was full.
    Wire,
    /// There was no next hop.
    NoRoute,
    /// It waited for a station that had left its access point, or came from one without any.
    Roaming,
    /// It was for a group, and the station did not receive it.
    Missed,
}

impl Loss {
    /// Every reason, in the order of the enumeration.
    pub const ALL: [Self; 11] = [
        Self::QueueLimit,
        Self::Sojourn,
        Self::RetryLimit,
        Self::ProxyLimit,
        Self::ProxySojourn,
        Self::ProxyAway,
        Self::RedundantAck,
        Self::Wire,
        Self::NoRoute,
        Self::Roaming,
        Self::Missed,
    ];

    /// Its name in tables and files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::QueueLimit => "queue_limit",
            Self::Sojourn => "codel",
            Self::RetryLimit => "retry_limit",
            Self::ProxyLimit => "proxy_limit",
            Self::ProxySojourn => "proxy_codel",
            Self::ProxyAway => "proxy_away",
            Self::RedundantAck => "redundant_ack",
            Self::Wire => "wire",
            Self::NoRoute => "no_route",
            Self::Roaming => "roaming",
            Self::Missed => "missed",
        }
    }

    /// The loss of a packet that an agent has dropped.
    pub(super) const fn at_agent(reason: UplinkDrop) -> Self {
        match reason {
            UplinkDrop::Queue(reason) => Self::at_proxy(reason),
            UplinkDrop::RedundantAck => Self::RedundantAck,
        }
    }

    /// The loss of a packet that the queue of a proxy or an agent has dropped.
    pub(super) const fn at_proxy(reason: DropReason) -> Self {
        match reason {
            DropReason::Sojourn => Self::ProxySojourn,
            _ => Self::ProxyLimit,
        }
    }
}

impl From<mac::DropReason> for Loss {
    fn from(reason: mac::DropReason) -> Self {
        match reason {
            mac::DropReason::Queue(DropReason::Sojourn) => Self::Sojourn,
            mac::DropReason::Queue(DropReason::Gone) => Self::Roaming,
            mac::DropReason::Queue(_) => Self::QueueLimit,
            mac::DropReason::RetryLimit => Self::RetryLimit,
            mac::DropReason::Missed => Self::Missed,
            _ => Self::NoRoute,
        }
    }
}

/// Packets lost, by reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Losses([u64; Loss::ALL.len()]);

impl Losses {
    /// How many packets were lost for the reason `loss`.
    #[must_use]
    pub const fn of(&self, loss: Loss) -> u64 {
        self.0[loss as usize]
    }

    /// How many packets were lost.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The reasons for which packets were lost, each with the number of packets.
    pub fn iter(&self) -> impl Iterator<Item = (Loss, u64)> + '_ {
        Loss::ALL
            .into_iter()
            .map(|loss| (loss, self.of(loss)))
            .filter(|&(_, count)| count > 0)
    }

    pub(super) fn add(&mut self, loss: Loss) {
        self.0[loss as usize] += 1;
    }

    /// Adds another count.
    pub fn merge(&mut self, other: &Self) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count += more;
        }
    }
}

/// One direction of a flow within the time of the statistics.
#[derive(Clone, Debug, Default)]
pub struct DirectionCounts {
    /// Packets that left the source.
    pub sent: u64,
    /// Packets that arrived.
    pub received: u64,
    /// IP bytes of the packets that arrived.
    pub received_bytes: u64,
    /// Packets lost.
    pub lost: Losses,
    /// Delay from the source to the end of the flow.
    pub delay: DelayStatistic,
    /// The part of the delay for which packets waited in the queue of an airpace proxy; `None` if
    /// none passed through one.
    pub proxy_wait: Option<DelayStatistic>,
}

/// Both directions of a flow.
#[derive(Clone, Debug, Default)]
pub struct FlowCounts {
    /// From `from` to `to`.
    pub forward: DirectionCounts,
    /// Back from `to` to `from`.
    pub backward: DirectionCounts,
}

impl DirectionCounts {
    #[inline]
    pub(super) fn on_received(&mut self, now: Time, parcel: &Parcel) {
        self.received += 1;
        self.received_bytes += u64::from(parcel.bytes());
        self.delay.record_since(parcel.sent, now);
    }

    /// Adds another count.
    pub fn merge(&mut self, other: &Self) {
        self.sent += other.sent;
        self.received += other.received;
        self.received_bytes += other.received_bytes;
        self.lost.merge(&other.lost);
        if let Some(wait) = &other.proxy_wait {
            self.proxy_wait.get_or_insert_default().merge(wait);
        }
        self.delay.merge(&other.delay);
    }
}

/// What was sent over one directed link of a channel within the time of the statistics.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct LinkCounts {
    /// Data frames (PPDUs).
    pub frames: u64,
    /// MPDUs in them, with those sent again.
    pub mpdus: u64,
    /// Sum of the squares of the MPDUs per frame.
    pub mpdus_squared: u64,
    /// MPDUs sent again.
    pub retries: u64,
    /// MPDUs decoded.
    pub decoded: u64,
    /// Packets in the frames.
    pub packets: u64,
    /// Frames that collided.
    pub collisions: u64,
    /// Time for which the frames and their responses occupied the channel.
    pub airtime: Duration,
    /// Duration of the frames alone.
    pub ppdu_time: Duration,
    /// Sum over the frames of 1/R, seconds per bit.
    pub inverse_rate_sum: f64,
    /// Sum over the frames of the packets that were left in the queue.
    pub queued_sum: u64,
    /// The most packets that a frame left in the queue.
    pub queued_max: u32,
    /// The aggregation level as Minstrel-HT reports it.
    pub windowed: WindowedLevel,
}

/// The mean over time of Minstrel-HT's average number of MPDUs per frame. Minstrel takes the mean of
/// the frames of 50 ms (`mi->ampdu_len / mi->ampdu_packets` in mac80211) and smooths it; smoothing
/// does not change the mean over time. Windows of few, long frames count as much in it as those of
/// many short ones, so that it is above the mean over frames if levels vary.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct WindowedLevel {
    /// End of the window that runs.
    end: Time,
    frames: u64,
    mpdus: u64,
    /// Windows that have ended and had frames, and the sum of their means.
    windows: u64,
    sum: f64,
}

impl WindowedLevel {
    /// Time between two updates of Minstrel-HT's statistics.
    const WINDOW: Duration = crate::rate::minstrel::HALVED_UPDATE_INTERVAL;

    fn on_frame(&mut self, at: Time, mpdus: u64) {
        if at >= self.end {
            self.close();
            self.end = at.saturating_add(Self::WINDOW);
        }
        self.frames += 1;
        self.mpdus += mpdus;
    }

    fn close(&mut self) {
        if self.frames > 0 {
            self.windows += 1;
            self.sum += self.mpdus as f64 / self.frames as f64;
        }
        (self.frames, self.mpdus) = (0, 0);
    }

    /// The mean; `None` without frames.
    #[must_use]
    pub fn mean(mut self) -> Option<f64> {
        self.close();
        (self.windows > 0).then(|| self.sum / self.windows as f64)
    }
}

impl LinkCounts {
    fn on_frame(&mut self, frame: &FrameRecord) {
        let mpdus = u64::from(frame.mpdus);
        self.frames += 1;
        self.mpdus += mpdus;
        self.mpdus_squared += mpdus * mpdus;
        self.retries += u64::from(frame.retries);
        self.decoded += u64::from(frame.decoded);
        self.packets += u64::from(frame.packets);
        self.collisions += u64::from(frame.collided);
        self.airtime += frame.airtime;
        self.ppdu_time += frame.end.saturating_since(frame.start);
        self.inverse_rate_sum += 1.0 / frame.rate.rate().as_bps_f64();
        self.queued_sum += u64::from(frame.queued);
        self.queued_max = self.queued_max.max(frame.queued);
        self.windowed.on_frame(frame.end, mpdus);
    }

    /// Mean MPDUs per frame (aggregation level N); `None` without frames.
    #[must_use]
    pub fn level(&self) -> Option<f64> {
        (self.frames > 0).then(|| self.mpdus as f64 / self.frames as f64)
    }

    /// Standard deviation of the MPDUs per frame.
    #[must_use]
    pub fn level_deviation(&self) -> Option<f64> {
        let mean = self.level()?;
        let mean_square = self.mpdus_squared as f64 / self.frames as f64;
        // Rounding can make the difference of equal numbers negative.
        Some((mean_square - mean * mean).max(0.0).sqrt())
    }

    /// Harmonic mean over the frames of the data rate in bit/s.
    #[must_use]
    pub fn mean_rate_bps(&self) -> Option<f64> {
        (self.frames > 0).then(|| self.frames as f64 / self.inverse_rate_sum)
    }
}

/// The directed links of a channel, in the order of its configuration.
#[derive(Debug)]
pub(super) struct Links {
    pairs: Vec<(RadioId, RadioId)>,
    /// Of each sender the index of its link to each receiver.
    rows: Vec<Row<u32>>,
    links: Vec<LinkTally>,
}

/// The counts of one link.
#[derive(Debug, Default)]
struct LinkTally {
    /// Since the statistics began.
    counts: LinkCounts,
    /// Within the slot that runs.
    slot: LinkCounts,
    last: Option<FrameRecord>,
    /// Waiting times of delivered packets since the statistics began. Most links of a large network
    /// deliver nothing, and a histogram takes 8 kB.
    wait: Option<DelayStatistic>,
}

impl Links {
    pub(super) fn new(pairs: Vec<(RadioId, RadioId)>, radios: usize) -> Self {
        let mut rows = vec![Row::default(); radios];
        for (number, &(from, to)) in (0..).zip(&pairs) {
            rows[from.index()].set(to.index(), number);
        }
        let links = pairs.iter().map(|_| LinkTally::default()).collect();
        Self { pairs, rows, links }
    }

    /// Index of the link between two radios.
    #[inline]
    pub(super) fn of(&self, from: RadioId, to: RadioId) -> Option<usize> {
        let number = self.rows.get(from.index())?.get(to.index())?;
        Some(*number as usize)
    }

    /// Counts a frame. The statistics begin at `begin`: they have frames that end later, with only
    /// the airtime from then on.
    pub(super) fn on_frame(&mut self, frame: &FrameRecord, begin: Time) {
        let Some(link) = self.of(frame.from, frame.to) else {
            return;
        };
        let link = &mut self.links[link];
        link.last = Some(*frame);
        link.slot.on_frame(frame);
        if frame.end >= begin {
            let before = begin.saturating_since(frame.start);
            let airtime = frame.airtime.saturating_sub(before);
            link.counts.on_frame(&FrameRecord {
                start: frame.start.max(begin),
                airtime,
                ..*frame
            });
        }
    }

    /// Records the time that a delivered packet spent on a link, from `queued`, its arrival at the
    /// sender's queue, to the end of the frame that delivered it at `at`.
    #[inline]
    pub(super) fn on_delivered(&mut self, link: usize, queued: Time, at: Time) {
        let wait = self.links[link].wait.get_or_insert_default();
        wait.record_since(queued, at);
    }

    /// The last frame of a link.
    pub(super) fn last_frame(&self, from: RadioId, to: RadioId) -> Option<&FrameRecord> {
        self.links[self.of(from, to)?].last.as_ref()
    }

    /// The ends of the links.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (RadioId, RadioId)> + '_ {
        self.pairs.iter().copied()
    }

    /// The ends, counts and waiting times of the links.
    pub(super) fn iter(
        &self,
    ) -> impl Iterator<Item = ((RadioId, RadioId), &LinkCounts, Option<DelaySummary>)> {
        let pairs = self.pairs.iter().zip(&self.links);
        pairs.map(|(&pair, link)| {
            let wait = link.wait.as_ref().and_then(DelayStatistic::summary);
            (pair, &link.counts, wait)
        })
    }

    /// The counts of every link in the slot that ends now.
    pub(super) fn take_slot(&mut self) -> Vec<LinkCounts> {
        self.links
            .iter_mut()
            .map(|link| core::mem::take(&mut link.slot))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_of_few_long_frames_count_as_much_as_those_of_many_short_ones() {
        let mut level = WindowedLevel::default();
        assert_eq!(level.mean(), None);
        // Nine single packets within 50 ms, then one frame of eleven.
        for index in 0..9 {
            level.on_frame(Time::from_millis(100 + 5 * index), 1);
        }
        assert_eq!(level.mean(), Some(1.0));
        level.on_frame(Time::from_millis(151), 11);
        assert_eq!(level.mean(), Some(6.0));
    }
}
