//! One radio: its four access functions, their transmit paths, and the radios that it sends to.

use super::contention::{Contender, backoff_stream};
use super::ids::{AccessFunctionId, ByCategory, ContenderId, LaneId, LinkId, ViewId};
use super::link::Link;
use super::path::{Backlog, TransmitPaths};
use super::view::View;
use super::{RadioAirtime, RadioConfig, RadioId};
use crate::row::Row;
use airpace_core::packet::Packet;
use airpace_core::phy::AccessCategory;

/// A radio.
#[derive(Debug)]
pub(super) struct Radio<P> {
    pub(super) config: RadioConfig,
    /// The view of the channel that it shares with radios that hear the same.
    pub(super) view: ViewId,
    /// The back-off of each access function.
    pub(super) contenders: ByCategory<Contender>,
    /// What each access function has to send.
    pub(super) paths: TransmitPaths<P>,
    /// Time that it has transmitted.
    pub(super) airtime: RadioAirtime,
    /// Whether it is on another channel: it receives nothing, and begins no exchange.
    pub(super) is_away: bool,
    /// The access functions that won this channel while it was away.
    pub(super) parked: Vec<AccessCategory>,
    /// By receiver.
    peers: Row<Peer>,
}

/// A radio to which another has a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer {
    pub(super) link: LinkId,
    /// Its lane in the transmit path of each category in which anything was sent to it.
    pub(super) lanes: ByCategory<Option<LaneId>>,
}

impl<P: Packet + Clone> Radio<P> {
    /// A silent radio without links; `state` is the state of the view `view`.
    pub(super) fn new(
        id: RadioId,
        config: RadioConfig,
        view: ViewId,
        state: &mut View,
        seed: u64,
    ) -> Self {
        let contenders = ByCategory::from_fn(|category| {
            let function = AccessFunctionId {
                radio: id,
                category,
            };
            let backoff = backoff_stream(seed, function, config.stream);
            let id = ContenderId::Radio(function);
            Contender::new(id, config.edca(category), view, state, backoff)
        });
        Self {
            view,
            contenders,
            paths: TransmitPaths::new(&config),
            airtime: RadioAirtime::default(),
            is_away: false,
            parked: Vec::new(),
            peers: Row::default(),
            config,
        }
    }

    /// There is a link to `to`.
    pub(super) fn add_link(&mut self, to: RadioId, link: LinkId) {
        let peer = Peer {
            link,
            lanes: ByCategory::from_fn(|_| None),
        };
        self.peers.set(to.index(), peer);
    }

    /// Adds a lane for a link that has none in this category.
    pub(super) fn add_lane(&mut self, category: AccessCategory, id: LinkId, link: &Link) -> LaneId {
        let lane = self.paths.add_lane(category, id, link);
        if let Some(peer) = self.peers.get_mut(link.to.index()) {
            peer.lanes[category] = Some(lane);
        }
        lane
    }

    /// The receiver `to`, if there is a link to it.
    pub(super) fn peer(&self, to: RadioId) -> Option<&Peer> {
        self.peers.get(to.index())
    }

    /// The lane of the receiver `to`, if anything was ever sent to it in this category.
    pub(super) fn lane(&self, to: RadioId, category: AccessCategory) -> Option<LaneId> {
        self.peer(to)?.lanes[category]
    }

    /// What waits for `to` in all categories; what is in flight is not counted.
    pub(super) fn waiting(&self, to: RadioId) -> Backlog {
        let mut sum = Backlog::default();
        for (category, lane) in self.lanes(to) {
            let waiting = self.paths[category].lane(lane).waiting();
            sum.packets += waiting.packets;
            sum.bytes += waiting.bytes;
        }
        sum
    }

    /// The longest that the queue for `to` has been since this was last asked, the peaks of the
    /// categories added up.
    pub(super) fn take_peak(&mut self, to: RadioId) -> usize {
        let Some(&peer) = self.peer(to) else {
            return 0;
        };
        let mut sum = 0;
        for (category, lane) in peer.present_lanes() {
            sum += self.paths[category].lane_mut(lane).take_peak();
        }
        sum
    }

    fn lanes(&self, to: RadioId) -> impl Iterator<Item = (AccessCategory, LaneId)> {
        let peer = self.peer(to).copied();
        peer.into_iter().flat_map(Peer::present_lanes)
    }
}

impl Peer {
    /// The categories in which anything was ever sent, with the lanes.
    fn present_lanes(self) -> impl Iterator<Item = (AccessCategory, LaneId)> {
        super::ids::CATEGORIES
            .into_iter()
            .filter_map(move |category| Some((category, self.lanes[category]?)))
    }
}
