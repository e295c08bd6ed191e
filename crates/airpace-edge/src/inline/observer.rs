//! The sensors of one access point: what passes the box in both directions, what a radio hears and
//! what agents report becomes a report of each station and slot.

use super::radio::CellRadio;
use super::reports::{AgentReports, RefusedReport};
use airpace_core::report::{Sensor, SlotReport, WaitingTime};
use airpace_core::sensor::USABLE;
use airpace_core::sensor::ack_burst::{
    AckBurst, DownlinkPacket, SegmentTransit, UplinkAck, UplinkQuic,
};
use airpace_core::sensor::block_ack::Unusable;
use airpace_core::sensor::ladder::Ladder;
use airpace_core::sensor::waiting::WaitingMeter;
use airpace_core::wire::ieee80211::MacAddr;
use airpace_units::{StationId, Time};
use core::time::Duration;

/// Observes the stations of an access point without their help.
///
/// ```
/// use airpace_core::report::Sensor;
/// use airpace_edge::inline::Observer;
/// use airpace_units::Time;
///
/// let mut observer = Observer::default();
/// observer.join(Time::ZERO, 0);
/// // Nothing has passed: the report says no more than that.
/// let report = observer.close_slot(Time::from_millis(100), 0).unwrap();
/// assert_eq!((report.frames, report.sensor), (0, Sensor::None));
/// assert!(observer.close_slot(Time::from_millis(100), 1).is_none());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Observer {
    bursts: AckBurst,
    pub(super) radio: CellRadio,
    /// Length of a slot.
    slot: Duration,
    /// By index of the station; `None` where there is none.
    stations: Vec<Option<ObservedStation>>,
}

/// How long the latest transit stands for that of slots in which there were too few acknowledgements to
/// tell.
const TRANSIT_KEPT: Duration = Duration::from_secs(1);

/// What is kept for one station beside its bursts.
#[derive(Clone, Debug)]
struct ObservedStation {
    /// Its hardware address, by which the radio knows it.
    address: Option<MacAddr>,
    /// Whether its packets pass unseen.
    is_exempt: bool,
    waiting: WaitingMeter,
    ladder: Ladder,
    agent: AgentReports,
    /// What passed in the slot before this one: the waiting time, and the bytes acknowledged.
    last_wait: Option<WaitingTime>,
    last_acknowledged: u64,
    /// How long frames to it took, and when that was last seen.
    last_transit: Option<(Time, SegmentTransit)>,
}

impl ObservedStation {
    /// The address by which a radio observes it; `None` if it is not known, or the station is exempt.
    fn observed_address(&self) -> Option<MacAddr> {
        self.address.filter(|_| !self.is_exempt)
    }
}

impl Observer {
    /// An observer that may have a radio and agents besides, for slots of length `slot`. `bssid` is
    /// the access point's address on the air, if the radio is not to learn it.
    #[must_use]
    pub fn with_radio(slot: Duration, bssid: Option<MacAddr>) -> Self {
        Self {
            slot,
            radio: CellRadio::new(bssid),
            ..Self::default()
        }
    }

    /// A station has come, and its first slot begins.
    pub fn join(&mut self, now: Time, station: usize) {
        if self.stations.len() <= station {
            self.stations.resize_with(station + 1, || None);
        }
        self.stations[station] = Some(ObservedStation {
            address: None,
            is_exempt: false,
            waiting: WaitingMeter::new(now),
            ladder: Ladder::new(StationId::from_index(station), now),
            agent: AgentReports::default(),
            last_wait: None,
            last_acknowledged: 0,
            last_transit: None,
        });
    }

    /// Sets the hardware address of a station, by which a radio knows it.
    pub fn set_address(&mut self, station: usize, address: MacAddr) {
        if let Some(Some(observed)) = self.stations.get_mut(station) {
            observed.address = Some(address);
        }
    }

    /// Says whether the packets for a station pass the box unseen. While they do, its answers tell nothing
    /// of its own frames; they only show when other stations' frames could begin.
    pub fn set_exempt(&mut self, station: usize, is_exempt: bool) {
        let Some(Some(observed)) = self.stations.get_mut(station) else {
            return;
        };
        if core::mem::replace(&mut observed.is_exempt, is_exempt) == is_exempt {
            return;
        }
        // What was sent before is not what will be acknowledged.
        if let Some(address) = observed.address {
            self.radio.remove(address);
        }
        self.bursts.remove(StationId::from_index(station));
    }

    /// A station has left.
    pub fn leave(&mut self, station: usize) {
        self.bursts.remove(StationId::from_index(station));
        let observed = self.stations.get_mut(station).and_then(Option::take);
        if let Some(address) = observed.and_then(|observed| observed.address) {
            self.radio.remove(address);
        }
    }

    /// A packet leaves for the access point.
    pub fn on_sent(&mut self, now: Time, station: usize, packet: &DownlinkPacket) {
        let Some(Some(observed)) = self.stations.get_mut(station) else {
            return;
        };
        self.bursts
            .on_downlink(now, StationId::from_index(station), packet);
        if let Some(address) = observed.address {
            self.radio.on_downlink(now, address, packet.bytes);
        }
        observed.waiting.on_sent(now, packet);
    }

    /// A TCP acknowledgement has come.
    pub fn on_ack(&mut self, now: Time, station: usize, ack: &UplinkAck) {
        let Some(Some(observed)) = self.stations.get_mut(station) else {
            return;
        };
        let id = StationId::from_index(station);
        if observed.is_exempt {
            self.bursts.on_uplink_other(now, id, None);
            return;
        }
        self.bursts.on_ack(now, id, ack);
        observed.waiting.on_ack(now, ack);
    }

    /// An uplink packet without an acknowledgement has come. `before_bytes` is what had come from the station
    /// before, in all, modulo 2³².
    pub fn on_other(&mut self, now: Time, station: usize, before_bytes: u32) {
        if let Some(Some(_)) = self.stations.get(station) {
            self.bursts
                .on_uplink_other(now, StationId::from_index(station), Some(before_bytes));
        }
    }

    /// A QUIC packet with a short header has come.
    pub fn on_quic(&mut self, now: Time, station: usize, packet: &UplinkQuic) {
        let Some(Some(observed)) = self.stations.get_mut(station) else {
            return;
        };
        let id = StationId::from_index(station);
        if observed.is_exempt {
            self.bursts.on_uplink_other(now, id, packet.before_bytes);
            return;
        }
        self.bursts.on_quic(now, id, packet);
        observed.waiting.on_spin(now, packet.spin);
    }

    /// Takes a frame that the monitor interface near the access point has shown: its first bytes,
    /// from the radiotap header on, and the length of the whole frame.
    pub fn on_radio_frame(&mut self, arrival: Time, bytes: &[u8], length: usize) {
        let is_station = |address| has_address(&self.stations, address);
        self.radio.on_frame(arrival, bytes, length, is_station);
    }

    /// Takes the report of the agent on a station. Returns it, completed and numbered, if the agent
    /// speaks for the station; `None` while another sensor does, or if the agent could not tell frames
    /// apart.
    ///
    /// # Errors
    /// The report repeats the one before, or there is no such station.
    pub fn on_report(
        &mut self,
        now: Time,
        station: usize,
        mut report: SlotReport,
    ) -> Result<Option<SlotReport>, RefusedReport> {
        let Some(Some(observed)) = self.stations.get_mut(station) else {
            return Err(RefusedReport);
        };
        observed.agent.take(now, self.slot, &report)?;
        if report.is_unsure() {
            // Arrivals did not tell the agent's frames apart, so the box's own sensors know more.
            observed.agent.distrust();
            if observed.ladder.current() == Sensor::Agent {
                observed.ladder.turn_to(Sensor::None);
            }
            return Ok(None);
        }
        let current = observed.ladder.current();
        if current != Sensor::Agent && !observed.agent.takes_over(current) {
            return Ok(None);
        }
        observed.ladder.turn_to(Sensor::Agent);
        report.station = StationId::from_index(station);
        report.sensor = Sensor::Agent;
        report.confidence = 1.0;
        // No send stamps of a tunnel reach an agent beside the box, but the box has seen how long
        // packets waited, and which bytes were acknowledged.
        report.wait = report.wait.or(observed.last_wait);
        if report.bytes == 0 {
            report.bytes = observed.last_acknowledged;
        }
        // Rates of stations without agents are judged by how long frames take to those with agents.
        if let Some((seen, transit)) = observed.last_transit
            && now.saturating_since(seen) <= TRANSIT_KEPT
        {
            report.transit = report.level().map(|level| transit.of_frame(level));
        }
        observed.agent.number(&mut report);
        Ok(Some(report))
    }

    /// Ends the slot of a station. Returns what the sensors saw of it; `None` if there is no such
    /// station, or while its agent speaks for it, whose reports [`Observer::on_report`] has returned.
    pub fn close_slot(&mut self, now: Time, station: usize) -> Option<SlotReport> {
        let id = StationId::from_index(station);
        let observed = self.stations.get_mut(station)?.as_mut()?;
        let bursts = self.bursts.close_slot(now, id);
        let waiting = observed.waiting.close_slot(now, id);
        let block_acks = observed
            .observed_address()
            .and_then(|address| self.radio.close_slot(now, address, id));
        let (bytes, airtime_bps, upload_bps) =
            (bursts.bytes, bursts.airtime_bps, bursts.upload_bps);
        let (answers, others) = (bursts.answers, bursts.others);
        (observed.last_wait, observed.last_acknowledged) = (waiting.wait, bytes);
        if bursts.confidence >= USABLE
            && let Some(transit) = SegmentTransit::of(&bursts)
        {
            observed.last_transit = Some((now, transit));
        }
        let agent_speaks = observed.ladder.current() == Sensor::Agent;
        if agent_speaks && observed.agent.is_present(now, self.slot) {
            return None;
        }
        let mut candidates = vec![bursts, waiting];
        candidates.extend(block_acks);
        let mut report = observed.ladder.pick(now, &candidates);
        if report.frames == 0 {
            // What was acknowledged is known even while the frames are not. Where they are, the
            // larger of two noisy counts would be too large on average.
            report.bytes = report.bytes.max(bytes);
        }
        (report.upload_bps, report.others) = (upload_bps, others);
        report.airtime_bps = airtime_bps.filter(|_| report.frames == 0);
        // A radio tells frames apart, whatever the answers say.
        if report.sensor != Sensor::BlockAck {
            report.answers = answers;
        }
        if report.sensor == Sensor::Agent {
            // The agent is silent, which does not say that nothing arrived.
            report.sensor = Sensor::None;
        }
        observed.agent.number(&mut report);
        Some(report)
    }

    /// Why the radio does not tell of a station's frames; `None` if it does, if an agent speaks for the
    /// station, or if there is nothing to tell.
    pub(super) fn radio_unused(&self, station: usize) -> Option<Unusable> {
        let observed = self.stations.get(station)?.as_ref()?;
        if matches!(observed.ladder.current(), Sensor::Agent | Sensor::BlockAck) {
            return None;
        }
        self.radio.unusable(observed.observed_address()?)
    }

    /// Length of a slot.
    pub(super) const fn slot(&self) -> Duration {
        self.slot
    }

    /// Ends the slot of the cell, after those of its stations.
    pub fn close_cell(&mut self) {
        let is_station = |address| has_address(&self.stations, address);
        self.radio.close_cell(is_station);
    }
}

/// Whether one of the stations that are observed has this address.
fn has_address(stations: &[Option<ObservedStation>], address: MacAddr) -> bool {
    let mut stations = stations.iter().flatten();
    stations.any(|observed| observed.observed_address() == Some(address))
}
