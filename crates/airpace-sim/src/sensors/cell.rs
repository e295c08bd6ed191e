//! The simulated cell of a trial, and the truth about it.

use super::{Client, Trial, WARM_UP};
use crate::mac::{CellConfig, Direction, FrameRecord, StationConfig};
use crate::transport::tcp::{Algorithm, ReceiverConfig, SenderConfig};
use crate::world::{
    ChannelConfig, FlowConfig, NodeId, Outcome, ProxyConfig, Record, TcpConfig, Traffic,
    WireConfig, World, WorldConfig, WorldError,
};
use airpace_core::phy::{mpdu_bytes, subframe_bytes};
use airpace_edge::proxy::Pacing;
use airpace_units::{BitRate, StationId};
use core::time::Duration;

/// Nodes: the server, the box in front of the access point, the access point, then the stations.
const SERVER: NodeId = NodeId(0);
const BOX: NodeId = NodeId(1);
const ACCESS_POINT: NodeId = NodeId(2);
const STATIONS: u32 = 3;

/// IP bytes of a full segment.
const PACKET_BYTES: u32 = 1_500;
/// Airtime of a frame without its packets, and of the uplink frame that answers it, seconds. They
/// only set the rate at which a trial paces.
const FRAME_OVERHEAD_S: f64 = 180e-6;
const UPLINK_S: f64 = 130e-6;
/// Delay between server and box.
const WIRE_DELAY: Duration = Duration::from_millis(5);

/// What really happened to one station.
#[derive(Clone, Copy, Debug)]
pub(super) struct Truth {
    pub(super) level: f64,
    pub(super) round_s: f64,
}

pub(crate) fn run(trial: &Trial) -> Result<Outcome, WorldError> {
    let mut world = World::new(network(trial)?)?;
    world.run();
    Ok(world.outcome())
}

/// Level and round of a station over the frames that its access point sent and it received.
pub(super) fn truth(outcome: &Outcome, station: u32) -> Truth {
    let (mut frames, mut packets) = (0_u32, 0_u32);
    let (mut first, mut last) = (None, None);
    for frame in downlink(outcome, station) {
        frames += 1;
        packets += frame.packets;
        first = first.or(Some(frame.end));
        last = Some(frame.end);
    }
    let extent = first.zip(last).map_or(0.0, |(first, last)| {
        last.saturating_since(first).as_secs_f64()
    });
    Truth {
        level: f64::from(packets) / f64::from(frames.max(1)),
        round_s: extent / f64::from(frames.saturating_sub(1).max(1)),
    }
}

/// The frames to a station that arrived. After a collision a frame is composed anew, of what it had
/// and what has come since, so its packets are new to the station although they are retransmissions.
pub(crate) fn downlink(outcome: &Outcome, station: u32) -> impl Iterator<Item = &FrameRecord> {
    outcome
        .frames
        .iter()
        .map(|(_, frame)| frame)
        .filter(move |frame| {
            frame.station() == StationId(station)
                && frame.direction() == Direction::Down
                && frame.decoded > 0
        })
}

/// Packets per second of each station at which frames should have the trial's level, if every
/// station's frame is followed by one of acknowledgements.
fn paced_pps(trial: &Trial) -> f64 {
    let bits = 8.0 * f64::from(subframe_bytes(mpdu_bytes(PACKET_BYTES)));
    let mut round_s = 0.0;
    for station in 0..trial.stations {
        let packet_s = bits / trial.rate(station).rate().as_bps_f64();
        round_s += FRAME_OVERHEAD_S + UPLINK_S + trial.level * packet_s;
    }
    trial.level / round_s
}

fn network(trial: &Trial) -> Result<WorldConfig, WorldError> {
    let stations: Vec<NodeId> = (0..trial.stations).map(|i| NodeId(STATIONS + i)).collect();
    let cell = CellConfig::new(
        (0..trial.stations)
            .map(|i| StationConfig {
                loss: trial.loss,
                ..StationConfig::new(trial.rate(i))
            })
            .collect(),
    );
    let mut mac = cell
        .mac()
        .map_err(|error| WorldError::Mac { channel: 0, error })?;
    if trial.hearing.rts {
        mac.radios[0].rts_threshold = Some(PACKET_BYTES);
    }
    let mut network = WorldConfig::new(STATIONS + trial.stations, WARM_UP, trial.duration);
    network.seed = trial.seed;
    network.channels = vec![ChannelConfig {
        mac,
        nodes: [ACCESS_POINT].into_iter().chain(stations.clone()).collect(),
    }];
    network.wires = vec![
        wire(SERVER, BOX, None, WIRE_DELAY),
        wire(
            BOX,
            ACCESS_POINT,
            Some(BitRate::from_mbps(1_000)),
            Duration::ZERO,
        ),
    ];
    let tcp = TcpConfig {
        sender: SenderConfig::new(Algorithm::Cubic),
        receiver: ReceiverConfig {
            merge: matches!(trial.client, Client::Merging | Client::QuicMerging),
            ack_every: if trial.client == Client::QuicTenth {
                10
            } else {
                2
            },
            ..ReceiverConfig::default()
        },
        bytes: None,
        is_quic: false,
    };
    for &station in &stations {
        for _ in 0..trial.flows {
            network
                .flows
                .push(FlowConfig::new(SERVER, station, Traffic::Tcp(tcp)));
        }
    }
    let mut paced = ProxyConfig::new(BOX, stations, None, super::SLOT);
    let bits_per_s = paced_pps(trial) * 8.0 * f64::from(PACKET_BYTES);
    paced.edge.pacing = Pacing::Fixed(BitRate::from_bps(bits_per_s as u64));
    // Nothing is on the stations: they send no reports.
    paced.report_bytes = None;
    network.proxies = vec![paced];
    network.record = Record {
        frames: true,
        mpdus: true,
        passing: Some(BOX),
        ..Record::default()
    };
    Ok(network)
}

const fn wire(a: NodeId, b: NodeId, rate: Option<BitRate>, delay: Duration) -> WireConfig {
    WireConfig {
        ends: (a, b),
        rate,
        delay,
        queue: u32::MAX,
    }
}
