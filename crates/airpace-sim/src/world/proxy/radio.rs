//! A radio near the access point, whose monitor interface the box reads that has no agents.

use super::super::{AirRadioConfig, NodeId, World};
use super::{PacedBy, ProxyNode};
use crate::mac::{FrameRecord, Mpdu, RadioId};
use crate::overheard::{self, ControlOnAir, ExchangeEnds, Scoreboard};
use crate::rng::Stream;
use airpace_core::phy::{FCS_BYTES, mpdu_bytes};
use airpace_core::wire::ieee80211::{DataHeader, Direction, MacAddr};
use airpace_edge::inline::Observer;
use airpace_units::Time;
use std::collections::BTreeMap;

/// The radio of a proxy. It hears one channel.
#[derive(Debug)]
pub(super) struct AirRadio {
    config: AirRadioConfig,
    /// Index of its channel.
    channel: usize,
    /// Address of each station of the proxy; `None` for those that are not on the channel.
    addresses: Vec<Option<MacAddr>>,
    /// Draws of the frames that it misses.
    draws: Stream,
    /// What each receiver on the channel has of each sender and traffic identifier.
    scoreboards: BTreeMap<(RadioId, RadioId, u8), Scoreboard>,
    /// The frame whose MPDUs the MAC reports.
    current: Option<HeardFrame>,
    /// Bytes of a frame, kept for their memory.
    frame: Vec<u8>,
}

/// A frame whose MPDUs the MAC reports.
#[derive(Debug)]
struct HeardFrame {
    record: FrameRecord,
    /// Whether the radio hears the data.
    is_heard: bool,
    /// MPDUs reported so far.
    reported: u16,
    /// Sequence numbers of the MPDUs that were decoded.
    decoded: Vec<u16>,
}

impl AirRadio {
    /// Returns the address by which the sensors know a station of the proxy.
    pub(super) fn address_of(&self, station: usize) -> Option<MacAddr> {
        *self.addresses.get(station)?
    }

    /// A frame has left the air. Its MPDUs follow, and then [`AirRadio::end_frame`].
    fn begin_frame(&mut self, now: Time, record: &FrameRecord, observer: &mut Observer) {
        self.end_frame(now, observer);
        let is_heard = !self.draws.happens(self.config.data_loss);
        if let Some(controls) = overheard::protection(record, ends(self.channel, record)) {
            for control in &controls {
                self.show_control(now, control, observer);
            }
        }
        self.current = Some(HeardFrame {
            record: *record,
            is_heard,
            reported: 0,
            decoded: Vec::new(),
        });
    }

    /// An MPDU of the current frame was decoded by its receiver; its packet has `bytes`.
    fn on_mpdu(
        &mut self,
        now: Time,
        mpdu: &Mpdu,
        bytes: u32,
        direction: Direction,
        observer: &mut Observer,
    ) {
        let Some(current) = &mut self.current else {
            return;
        };
        // The packets of an A-MSDU have the same number.
        let is_new = current.decoded.last() != Some(&mpdu.sequence);
        if is_new {
            current.reported += 1;
            current.decoded.push(mpdu.sequence);
        }
        if !current.is_heard || !is_new {
            return;
        }
        let is_last = current.reported == current.record.decoded;
        let (from, to) = (
            address(self.channel, mpdu.from),
            address(self.channel, mpdu.to),
        );
        let header = DataHeader {
            direction,
            tid: Some(mpdu.category.user_priority()),
            ..DataHeader::downlink(to, from, mpdu.sequence, mpdu.retry)
        };
        self.frame.clear();
        overheard::data_radiotap(&current.record, is_last).write(&mut self.frame);
        let radiotap_bytes = self.frame.len();
        header.write(&mut self.frame);
        // The box captures headers only. MPDUs have a few thousand bytes.
        let length = radiotap_bytes + (mpdu_bytes(bytes) - FCS_BYTES) as usize;
        observer.on_radio_frame(now, &self.frame, length);
    }

    /// All MPDUs of the current frame have been reported: the answer to it follows.
    fn end_frame(&mut self, now: Time, observer: &mut Observer) {
        let Some(current) = self.current.take() else {
            return;
        };
        if current.decoded.is_empty() {
            return;
        }
        let record = &current.record;
        let tid = record.category.user_priority();
        let key = (record.from, record.to, tid);
        let scoreboard = self.scoreboards.entry(key).or_default();
        for &sequence in &current.decoded {
            scoreboard.receive(sequence);
        }
        let ends = ends(self.channel, record);
        let answer = overheard::answer(record, ends, scoreboard);
        self.show_control(now, &answer, observer);
    }

    /// Shows a control frame, unless the radio misses it.
    fn show_control(&mut self, now: Time, control: &ControlOnAir, observer: &mut Observer) {
        if self.draws.happens(self.config.control_loss) {
            return;
        }
        self.frame.clear();
        overheard::legacy_radiotap(control.at, control.rate).write(&mut self.frame);
        self.frame.extend(&control.bytes);
        observer.on_radio_frame(now, &self.frame, self.frame.len());
    }
}

/// Returns the addresses of the sender and the receiver of a frame.
fn ends(channel: usize, record: &FrameRecord) -> ExchangeEnds {
    ExchangeEnds {
        sender: address(channel, record.from),
        receiver: address(channel, record.to),
    }
}

/// Returns the hardware address of a radio (locally administered).
fn address(channel: usize, radio: RadioId) -> MacAddr {
    let [a, b, c, d] = radio.0.to_be_bytes();
    // A network has a handful of channels.
    MacAddr([2, channel as u8, a, b, c, d])
}

impl ProxyNode {
    /// Gives the box a radio, if the configuration asks for one. `channels` has the node of each
    /// radio of each channel; the radio is on the channel of the access point that the proxy paces, or
    /// else of the first station.
    pub(super) fn add_radio<'a>(
        &mut self,
        mut channels: impl Iterator<Item = &'a [NodeId]>,
        seed: u64,
    ) {
        let (Some(observing), Some(config)) = (&mut self.observing, self.config.radio) else {
            return;
        };
        let first = self.stations.first().map(|station| station.node);
        let Some(first) = self.config.medium.or(first) else {
            return;
        };
        let Some((channel, nodes)) = (0..).zip(&mut channels).find(|(_, n)| n.contains(&first))
        else {
            return;
        };
        let mut addresses = Vec::new();
        for station in &self.stations {
            let radio = nodes.iter().position(|&node| node == station.node);
            addresses.push(radio.map(|radio| address(channel, RadioId::from_index(radio))));
        }
        observing.observer = Observer::with_radio(self.config.edge.slot, None);
        observing.radio = Some(AirRadio {
            config,
            channel,
            addresses,
            draws: Stream::new(seed, "air radio", u64::from(self.config.at.0)),
            scoreboards: BTreeMap::new(),
            current: None,
            frame: Vec::new(),
        });
    }
}

impl World {
    /// Lets the radios on a channel hear a frame that has left the air.
    pub(in crate::world) fn overhear_frame(&mut self, channel: usize, record: &FrameRecord) {
        let now = self.now;
        for (radio, observer) in radios(&mut self.proxies, channel) {
            radio.begin_frame(now, record, observer);
        }
    }

    /// Whether any radio hears what is on the air for others.
    #[inline]
    pub(in crate::world) fn overhears(&self) -> bool {
        let mut observing = self.proxies.iter().flat_map(|proxy| &proxy.observing);
        observing.any(|observing| observing.radio.is_some())
    }

    /// Lets them hear an MPDU of that frame, which carries a packet of `bytes`.
    pub(in crate::world) fn overhear_mpdu(&mut self, channel: usize, mpdu: &Mpdu, bytes: u32) {
        let now = self.now;
        let node = self.channels[channel].nodes[mpdu.from.index()];
        let sender: Option<PacedBy> = self.paced_by[node.0 as usize];
        let direction = match sender {
            Some(_) => Direction::ToDs,
            None => Direction::FromDs,
        };
        for (radio, observer) in radios(&mut self.proxies, channel) {
            radio.on_mpdu(now, mpdu, bytes, direction, observer);
        }
    }

    /// Lets them hear the answer to that frame.
    #[inline]
    pub(in crate::world) fn overhear_answer(&mut self, channel: usize) {
        let now = self.now;
        for (radio, observer) in radios(&mut self.proxies, channel) {
            radio.end_frame(now, observer);
        }
    }
}

/// Returns the radios on a channel, with the sensors that they serve.
fn radios(
    proxies: &mut [ProxyNode],
    channel: usize,
) -> impl Iterator<Item = (&mut AirRadio, &mut Observer)> {
    proxies.iter_mut().filter_map(move |proxy| {
        let observing = proxy.observing.as_mut()?;
        let radio = observing.radio.as_mut()?;
        (radio.channel == channel).then_some((radio, &mut observing.observer))
    })
}
