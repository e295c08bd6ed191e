//! Feeds the ACK-burst sensor with what passes the box.

use super::{Client, Trial, close_slots, first_slot_end, station_of_flow};
use crate::rng::Stream;
use crate::world::{Outcome, PassingHeader, PassingRecord};
use airpace_core::report::SlotReport;
use airpace_core::sensor::ack_burst::{
    AckBurst, DownlinkPacket, DownlinkSegment, FlowKey, SpinBit, UplinkAck, UplinkQuic,
};
use airpace_units::{StationId, Time};
use core::time::Duration;

/// The access point's processor delays each uplink packet by up to this.
const FORWARDING_US: u32 = 30;
/// Acknowledgements of one connection that come at most this long after each other were in one
/// uplink frame, where clients drop all but the last.
const SAME_FRAME: Duration = Duration::from_micros(60);

/// The reports of every station, slot by slot.
pub(super) fn observe(trial: &Trial, outcome: &Outcome) -> Vec<Vec<SlotReport>> {
    let mut reports = vec![Vec::new(); trial.stations as usize];
    let mut sensor = AckBurst::new();
    let mut delays = Stream::new(trial.seed, "forwarding", 0);
    let mut next = first_slot_end();
    let mut forwarded = Time::ZERO;
    for (index, packet) in outcome.passing.iter().enumerate() {
        close_slots(&mut next, packet.at, |now| {
            for (station, reports) in (0..).zip(&mut reports) {
                reports.push(sensor.close_slot(now, StationId(station)));
            }
        });
        let station = StationId(station_of_flow(trial, packet.flow));
        let flow = FlowKey(u64::from(packet.flow));
        match packet.header {
            PassingHeader::Data {
                sequence,
                payload,
                timestamp,
            } => {
                let segment = DownlinkSegment {
                    flow,
                    sequence,
                    payload,
                    timestamp: Some(timestamp),
                };
                let is_quic = trial.client.is_quic();
                let packet_seen = DownlinkPacket {
                    bytes: packet.bytes,
                    tcp: (!is_quic).then_some(segment),
                    quic: is_quic.then_some(SpinBit::new(flow, false)),
                };
                sensor.on_downlink(packet.at, station, &packet_seen);
            }
            PassingHeader::Ack { ack, highest_sack } => {
                if trial.client == Client::Thinning && is_replaced(outcome, index) {
                    continue;
                }
                let delay = Duration::from_micros(u64::from(delays.up_to(FORWARDING_US)));
                // Packets do not overtake each other.
                forwarded = forwarded.max(packet.at + delay);
                if trial.client.is_quic() {
                    let answer = UplinkQuic {
                        spin: SpinBit::new(flow, false),
                        bytes: packet.bytes,
                        before_bytes: None,
                    };
                    sensor.on_quic(forwarded, station, &answer);
                    continue;
                }
                let ack = UplinkAck {
                    flow,
                    number: ack.number,
                    timestamps: ack.timestamps.filter(|_| trial.client != Client::Unstamped),
                    highest_sack,
                    before_bytes: None,
                };
                sensor.on_ack(forwarded, station, &ack);
            }
            PassingHeader::Quic { .. } | PassingHeader::Other => {}
        }
    }
    reports
}

/// Whether a later acknowledgement of the same connection was in the same uplink frame.
fn is_replaced(outcome: &Outcome, index: usize) -> bool {
    let this: &PassingRecord = &outcome.passing[index];
    let later = outcome.passing[index + 1..].iter();
    later
        .take_while(|later| later.at.saturating_since(this.at) <= SAME_FRAME)
        .any(|later| later.flow == this.flow && matches!(later.header, PassingHeader::Ack { .. }))
}
