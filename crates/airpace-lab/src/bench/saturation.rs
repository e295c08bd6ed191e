//! A saturated cell in virtual time. The emulator, which runs the same MAC under a real clock, is
//! compared with it.

use crate::frames::FrameLog;
use crate::results::MacFigures;
use airpace_core::phy::{GuardInterval, RateError, Standard, TxRate, Width};
use airpace_core::wire::ip::IPV4_UDP_HEADER_BYTES;
use airpace_sim::mac::{
    CellConfig, ConfigError, Datagram, Direction, Input, Mac, Output, PathConfig, StationConfig,
    ends, station_of,
};
use airpace_units::{StationId, Time};
use std::time::Duration;

/// Length of the slots in which frames are counted: short, because partial slots at the ends of the
/// window are left out.
const SLOT: Duration = Duration::from_millis(10);

/// A saturated downlink.
#[derive(Clone, Debug)]
pub struct Saturation {
    /// VHT MCS index of every station, 80 MHz, one stream.
    pub mcs: Vec<u8>,
    /// UDP payload per packet, bytes.
    pub payload: u32,
    /// The access point's buffer per station, packets.
    pub ap_buffer_packets: u32,
    /// Seed of the cell.
    pub seed: u64,
    /// Time at the beginning that is not measured.
    pub ramp: Duration,
    /// Time that is measured after it.
    pub measure: Duration,
}

/// Why a cell cannot be simulated.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SaturationError {
    /// The standard does not have the rate.
    #[error(transparent)]
    Rate(#[from] RateError),
    /// The MAC refuses the cell.
    #[error(transparent)]
    Cell(#[from] ConfigError),
}

/// The rate of a station of the demo and of the benchmarks: VHT, 80 MHz, one stream, long guard
/// interval.
///
/// # Errors
/// If there is no such MCS.
pub fn vht80(mcs: u8) -> Result<TxRate, RateError> {
    TxRate::new(Standard::Vht, Width::Mhz80, 1, mcs, GuardInterval::Ns800)
}

/// Figures of one station.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StationFigures {
    /// Payload delivered, Mbit/s.
    pub goodput_mbps: f64,
    /// Mean packets per frame.
    pub level: f64,
}

/// Runs the cell in virtual time with every buffer kept full. Returns the figures of the whole cell
/// and of each station.
///
/// # Errors
/// If the MCS or the cell is impossible.
pub fn simulate(
    scenario: &Saturation,
) -> Result<(MacFigures, Vec<StationFigures>), SaturationError> {
    let stations = scenario
        .mcs
        .iter()
        .map(|&mcs| Ok(StationConfig::new(vht80(mcs)?)))
        .collect::<Result<_, RateError>>()?;
    let mut config = CellConfig::new(stations);
    config.access_point = PathConfig::per_station(scenario.ap_buffer_packets as usize);
    let mut run = SaturatedRun {
        mac: Mac::cell(&config, scenario.seed)?,
        frames: FrameLog::new(scenario.mcs.len(), Time::ZERO, SLOT),
        delivered: vec![0; scenario.mcs.len()],
        from: Time::ZERO + scenario.ramp,
        packet: Datagram::new(0, scenario.payload + IPV4_UDP_HEADER_BYTES),
    };
    run.until(
        Time::ZERO + scenario.ramp + scenario.measure,
        scenario.ap_buffer_packets as usize,
    );
    Ok(run.figures(scenario))
}

struct SaturatedRun {
    mac: Mac<Datagram>,
    frames: FrameLog,
    /// Packets delivered to each station since `from`.
    delivered: Vec<u64>,
    from: Time,
    packet: Datagram,
}

impl SaturatedRun {
    fn until(&mut self, end: Time, buffer: usize) {
        let mut now = Time::ZERO;
        while now < end {
            self.top_up(now, buffer);
            now = self
                .mac
                .deadline()
                .expect("a saturated cell always has something to do");
            self.mac.handle(now, Input::Tick);
            self.drain();
        }
    }

    /// Fills the access point's buffers.
    fn top_up(&mut self, now: Time, buffer: usize) {
        for index in 0..self.delivered.len() {
            let (from, to) = ends(StationId::from_index(index), Direction::Down);
            for _ in self.mac.queued(from, to)..buffer {
                self.mac.handle(
                    now,
                    Input::Send {
                        from,
                        to,
                        packet: self.packet,
                    },
                );
            }
        }
    }

    fn drain(&mut self) {
        while let Some(output) = self.mac.poll() {
            match output {
                Output::Frame(frame) => self.frames.on_frame(&frame),
                Output::Delivered { at, mpdu, .. }
                    if mpdu.direction() == Direction::Down && at >= self.from =>
                {
                    self.delivered[mpdu.station().index()] += 1;
                }
                Output::Dropped { at, from, to, .. } => {
                    self.frames.on_drop(station_of(from, to).0, at)
                }
                _ => {}
            }
        }
    }

    fn figures(&self, scenario: &Saturation) -> (MacFigures, Vec<StationFigures>) {
        let seconds = scenario.measure.as_secs_f64();
        let mbps =
            |packets: u64| packets as f64 * f64::from(scenario.payload) * 8.0 / seconds / 1e6;
        let goodputs: Vec<f64> = self
            .delivered
            .iter()
            .map(|&packets| mbps(packets))
            .collect();
        cell_figures(
            &self.frames,
            &goodputs,
            scenario.ramp,
            scenario.ramp + scenario.measure,
        )
    }
}

/// Figures of a cell and its stations from its frame records within `from..to` and from the
/// stations' goodput.
#[must_use]
pub fn cell_figures(
    log: &FrameLog,
    goodputs: &[f64],
    from: Duration,
    to: Duration,
) -> (MacFigures, Vec<StationFigures>) {
    let sums: Vec<_> = (0..goodputs.len())
        .map(|station| log.sum(station, from, to))
        .collect();
    let (mut frames, mut packets, mut dropped, mut rounds_s) = (0, 0, 0, 0.0);
    let mut stations = Vec::new();
    for (sum, &goodput_mbps) in sums.iter().zip(goodputs) {
        frames += sum.down.frames;
        packets += sum.down.packets;
        dropped += sum.dropped;
        rounds_s += sum.down.round().unwrap_or_default().as_secs_f64();
        stations.push(StationFigures {
            goodput_mbps,
            level: sum.down.level().unwrap_or(0.0),
        });
    }
    let cell = MacFigures {
        goodput_mbps: goodputs.iter().sum(),
        level: packets as f64 / frames.max(1) as f64,
        round_ms: rounds_s * 1e3 / goodputs.len().max(1) as f64,
        loss: dropped as f64 / (packets + dropped).max(1) as f64,
    };
    (cell, stations)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(mcs: Vec<u8>) -> Saturation {
        Saturation {
            mcs,
            payload: 1_470,
            ap_buffer_packets: 2_500,
            seed: 1,
            ramp: Duration::from_millis(200),
            measure: Duration::from_millis(800),
        }
    }

    #[test]
    fn one_saturated_station_fills_its_frames() {
        let (cell, stations) = simulate(&scenario(vec![9])).unwrap();
        assert!((cell.level - 64.0).abs() < 0.5, "{cell:?}");
        assert!((300.0..390.0).contains(&cell.goodput_mbps), "{cell:?}");
        assert_eq!(stations.len(), 1);
    }

    #[test]
    fn round_robin_gives_a_slow_station_fewer_packets_per_frame() {
        let (_, stations) = simulate(&scenario(vec![9, 1])).unwrap();
        assert!(stations[1].level < stations[0].level, "{stations:?}");
    }

    #[test]
    fn an_impossible_mcs_is_refused() {
        assert!(simulate(&scenario(vec![12])).is_err());
    }
}
