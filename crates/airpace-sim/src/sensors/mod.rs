//! The sensors of [`airpace_core::sensor`] against a simulated cell whose levels are known.
//!
//! A [`Trial`] is a cell with TCP downloads, paced at a fixed rate by a box in front of the access
//! point. The sensors are given what that box would see, and what a radio beside the access point
//! would hear; the access point's own frames are the truth. [`standard`] lists the trials of the
//! benchmark.
//!
//! ```
//! use airpace_sim::sensors::Trial;
//! use core::time::Duration;
//!
//! let trial = Trial {
//!     stations: 2,
//!     level: 10.0,
//!     duration: Duration::from_secs(1),
//!     ..Trial::default()
//! };
//! for row in trial.run()? {
//!     println!("{} {:.1} {:?}", row.sensor.name(), row.true_level, row.level);
//! }
//! # Ok::<(), airpace_sim::world::WorldError>(())
//! ```

mod bursts;
pub(crate) mod cell;
mod radio;

use crate::world::WorldError;
use airpace_core::phy::{GuardInterval, Standard, TxRate, Width};
use airpace_core::report::{Sensor, SlotReport};
use airpace_units::Time;
use core::time::Duration;

/// A report with less confidence than this is not usable.
pub use airpace_core::sensor::USABLE;

/// Length of the slots of all sensors.
const SLOT: Duration = Duration::from_millis(100);

/// How the stations acknowledge.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Client {
    /// Every second segment.
    #[default]
    Delayed,
    /// What arrives together as one, as with generic receive offload.
    Merging,
    /// As `Delayed`, but only the last of a connection's acknowledgements in an uplink frame is sent.
    Thinning,
    /// As `Delayed`, without the timestamps option.
    Unstamped,
    /// QUIC, as `Delayed`: the box sees packets both ways and nothing in them.
    Quic,
    /// QUIC that answers every tenth packet, as Chromium does.
    QuicTenth,
    /// QUIC that answers what arrives together as one.
    QuicMerging,
}

impl Client {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::Delayed,
        Self::Merging,
        Self::Thinning,
        Self::Unstamped,
        Self::Quic,
        Self::QuicTenth,
        Self::QuicMerging,
    ];

    /// Its name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Delayed => "delayed",
            Self::Merging => "merging",
            Self::Thinning => "thinning",
            Self::Unstamped => "unstamped",
            Self::Quic => "quic",
            Self::QuicTenth => "quic-tenth",
            Self::QuicMerging => "quic-merging",
        }
    }

    /// Whether its packets are encrypted but for their first byte.
    pub(crate) const fn is_quic(self) -> bool {
        matches!(self, Self::Quic | Self::QuicTenth | Self::QuicMerging)
    }
}

/// What the radio beside the access point hears.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Hearing {
    /// Probability that a control frame is missed.
    pub missed: f64,
    /// Probability that the header of a data frame is decoded.
    pub data: f64,
    /// Whether the access point protects its frames by RTS and CTS.
    pub rts: bool,
    /// Whether stations answer with the start of the frame and a single bit, as some do, rather than
    /// with the bits of the whole window.
    pub single_bit: bool,
}

impl Default for Hearing {
    fn default() -> Self {
        Self {
            missed: 0.2,
            data: 0.1,
            rts: false,
            single_bit: false,
        }
    }
}

/// One cell, and what is observed of it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Trial {
    /// Stations, of which every third has the same rate.
    pub stations: u32,
    /// The rates of three stations in a row, both ways. Default VHT at 80 MHz with one stream and
    /// MCS 9, 4 and 2.
    pub rates: [TxRate; 3],
    /// TCP downloads of each station.
    pub flows: u32,
    /// Packets per frame at which the pacing aims. What comes of it is the row's `true_level`.
    pub level: f64,
    /// How the stations acknowledge.
    pub client: Client,
    /// Probability that an MPDU is lost on the air.
    pub loss: f64,
    /// What the radio hears.
    pub hearing: Hearing,
    /// Time that is observed, after a second of warm-up.
    pub duration: Duration,
    /// Seed of every draw.
    pub seed: u64,
}

impl Default for Trial {
    /// One station with one download.
    fn default() -> Self {
        let rate = |mcs| TxRate::new(Standard::Vht, Width::Mhz80, 1, mcs, GuardInterval::Ns800);
        Self {
            stations: 1,
            rates: [9, 4, 2].map(|mcs| rate(mcs).expect("these rates exist at 80 MHz")),
            flows: 1,
            level: 20.0,
            client: Client::Delayed,
            loss: 0.0,
            hearing: Hearing::default(),
            duration: Duration::from_secs(4),
            seed: 1,
        }
    }
}

/// What one sensor said about one station.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SensorRow {
    /// The sensor.
    pub sensor: Sensor,
    /// Stations of the cell.
    pub stations: u32,
    /// Downloads of each.
    pub flows: u32,
    /// How the stations acknowledge.
    pub client: Client,
    /// Index of the station.
    pub station: u32,
    /// Packets per frame by the access point's own records: new frames that were received.
    pub true_level: f64,
    /// Packets per frame by the sensor, over all its usable slots.
    pub level: Option<f64>,
    /// Whether at least half of the slots after the first second were usable.
    pub usable: bool,
    /// Mean time between frames by the access point's records, seconds.
    pub true_round_s: f64,
    /// The same by the sensor.
    pub round_s: Option<f64>,
}

impl SensorRow {
    /// Relative error of the level, if the sensor gives one.
    #[must_use]
    pub fn error(&self) -> Option<f64> {
        Some(self.level? / self.true_level - 1.0)
    }
}

impl Trial {
    fn rate(&self, station: u32) -> TxRate {
        self.rates[station as usize % self.rates.len()]
    }

    /// Runs the cell and returns what each sensor that needs no agent says about each station.
    ///
    /// # Errors
    /// The configuration is invalid.
    pub fn run(&self) -> Result<Vec<SensorRow>, WorldError> {
        let outcome = cell::run(self)?;
        let bursts = bursts::observe(self, &outcome);
        let radio = radio::observe(self, &outcome);
        let mut rows = Vec::new();
        for station in 0..self.stations {
            let truth = cell::truth(&outcome, station);
            for (sensor, reports) in [
                (Sensor::AckBurst, &bursts[station as usize]),
                (Sensor::BlockAck, &radio[station as usize]),
            ] {
                rows.push(self.row(sensor, station, truth, reports));
            }
        }
        Ok(rows)
    }

    fn row(
        &self,
        sensor: Sensor,
        station: u32,
        truth: cell::Truth,
        reports: &[SlotReport],
    ) -> SensorRow {
        // Sensors learn for about a second.
        let learning = (1.0 / SLOT.as_secs_f64()) as usize;
        let judged = reports.get(learning..).unwrap_or_default();
        let usable: Vec<_> = judged
            .iter()
            .filter(|report| report.confidence >= USABLE)
            .collect();
        let frames: u32 = usable.iter().map(|report| report.frames).sum();
        let packets: u32 = usable.iter().map(|report| report.packets).sum();
        let rounds: Vec<f64> = usable
            .iter()
            .filter_map(|report| report.round_s())
            .collect();
        SensorRow {
            sensor,
            stations: self.stations,
            flows: self.flows,
            client: self.client,
            station,
            true_level: truth.level,
            level: (frames > 0).then(|| f64::from(packets) / f64::from(frames)),
            usable: frames > 0 && 2 * usable.len() >= judged.len(),
            true_round_s: truth.round_s,
            round_s: (!rounds.is_empty()).then(|| rounds.iter().sum::<f64>() / rounds.len() as f64),
        }
    }
}

/// The trials of the benchmark: one to five stations with one to four downloads each, at levels from
/// 2 to 48.
#[must_use]
pub fn standard() -> Vec<Trial> {
    let mut trials = Vec::new();
    for client in [Client::Delayed, Client::Merging, Client::Quic] {
        for stations in 1..=5 {
            for flows in [1, 2, 4] {
                for level in [2.2, 4.0, 8.0, 16.0, 24.0, 36.0] {
                    trials.push(Trial {
                        stations,
                        flows,
                        level,
                        client,
                        ..Trial::default()
                    });
                }
            }
        }
    }
    trials
}

/// The end of a warm-up, after which records begin.
const WARM_UP: Duration = Duration::from_secs(1);

/// Calls `at_slot_end` at the end of each slot that ends by `now`, and moves `next` on.
fn close_slots(next: &mut Time, now: Time, mut at_slot_end: impl FnMut(Time)) {
    while now >= *next {
        at_slot_end(*next);
        *next += SLOT;
    }
}

/// Index of the station of a flow: flows are listed station by station.
fn station_of_flow(trial: &Trial, flow: u32) -> u32 {
    flow / trial.flows.max(1)
}

/// The first slot's end.
fn first_slot_end() -> Time {
    Time::ZERO + WARM_UP + SLOT
}
