//! Traces: the times at which stations change their rates, sleep, leave, come back and roam.

use airpace_config::quantity::{QuantityError, Span};
use airpace_core::phy::{RateError, TxRate};
use airpace_sim::mac::{RateChange, StationConfig};
use airpace_units::{StationId, Time};

/// What stations do in the course of a run, in the order of time.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Trace {
    /// Changes of rates, for [`airpace_sim::mac::CellConfig::trace`].
    pub rates: Vec<RateChange>,
    /// Stations that come and go, for [`crate::EmulatorConfig::moves`].
    pub moves: Vec<StationMove>,
}

/// A station sleeps, wakes, leaves, comes back or roams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StationMove {
    /// When, since the start.
    pub at: Time,
    /// Which station.
    pub station: StationId,
    /// What it does.
    pub what: Move,
}

/// What a station does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Move {
    /// It sleeps and hears every so many beacons ([`crate::Emulator::sleep`]).
    Sleep {
        /// One beacon of so many is heard, at least 1.
        listen_interval: u16,
    },
    /// It is awake again ([`crate::Emulator::wake`]).
    Wake,
    /// It goes out of range without notice ([`crate::Emulator::leave`]).
    Leave,
    /// It comes back ([`crate::Emulator::join`]).
    Join,
    /// It goes to another access point ([`crate::Emulator::roam`]).
    Roam {
        /// Index of the access point, 0 for the first.
        access_point: usize,
    },
}

/// Why a trace was refused.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("line {line} of the trace: {fault}")]
#[non_exhaustive]
pub struct TraceError {
    /// Number of the line, counted from one.
    pub line: usize,
    /// What is wrong with the line.
    pub fault: TraceFault,
}

/// What is wrong with a line of a trace.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceFault {
    /// It does not have three or four words, or has one too many.
    #[error(
        "write time, station and what changes: an MCS and, if they change, streams (\"2500ms 0 4 1\"), \
         `sleep` and, if not 1, of how many beacons one is heard (\"3s 1 sleep 3\"), `wake`, `leave`, \
         `join`, or `roam` and the access point (\"4s 1 roam 1\")"
    )]
    Words,
    /// The time has no unit, or is not a time.
    #[error(transparent)]
    Time(#[from] QuantityError),
    /// A word is not a number.
    #[error("`{0}` is not a whole number from 0 to 255")]
    Number(String),
    /// The station does not exist.
    #[error("there is no station {station}: the last is {last}")]
    Station {
        /// The index in the trace.
        station: u8,
        /// Index of the last station.
        last: usize,
    },
    /// The access point does not exist.
    #[error(
        "there is no access point {access_point}: the last is {last}, and --cells says how many there are"
    )]
    AccessPoint {
        /// The index in the trace.
        access_point: u8,
        /// Index of the last access point.
        last: usize,
    },
    /// A sleeping station hears no beacon at all.
    #[error("of how many beacons a sleeping station hears one: give 1 to 255")]
    ListenInterval,
    /// The rate does not exist.
    #[error(transparent)]
    Rate(#[from] RateError),
    /// Its time is earlier than that of the line before.
    #[error("it is earlier than the line before it")]
    Order,
}

/// Parses a trace.
///
/// Each line has a time since the start (with its unit, without a space), a station's index, and what
/// changes, separated by spaces: an MCS index and optionally the number of spatial streams, or a
/// [`Move`] (`sleep`, `sleep 3`, `wake`, `leave`, `join`, `roam 1`). Standard, width and guard interval
/// stay those of the station. `access_points` is the number of access points. Empty lines, and the rest
/// of a line after `#`, are skipped.
///
/// ```
/// # use airpace_core::phy::{GuardInterval, Standard, TxRate, Width};
/// # use airpace_emu::Move;
/// # use airpace_sim::mac::StationConfig;
/// let rate = TxRate::new(Standard::Vht, Width::Mhz80, 2, 9, GuardInterval::Ns800)?;
/// let text = "# the station walks away and comes back\n 2s 0 4 1\n2500ms 0 9 2\n3s 0 leave";
/// let trace = airpace_emu::parse_trace(text, &[StationConfig::new(rate)], 1)?;
/// assert_eq!((trace.rates[0].rate.mcs(), trace.rates[0].rate.nss()), (4, 1));
/// assert_eq!(trace.rates[1].rate, rate);
/// assert_eq!(trace.moves[0].what, Move::Leave);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The first line that is malformed, with its number and what is expected.
pub fn parse_trace(
    text: &str,
    stations: &[StationConfig],
    access_points: usize,
) -> Result<Trace, TraceError> {
    let mut trace = Trace::default();
    let mut latest = Time::ZERO;
    for (index, line) in text.lines().enumerate() {
        let words: Vec<&str> = line
            .split('#')
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .collect();
        if words.is_empty() {
            continue;
        }
        let at_line = |fault| TraceError {
            line: index + 1,
            fault,
        };
        let parsed = parse_line(&words, stations, access_points).map_err(at_line)?;
        let at = match parsed {
            Line::Rate(change) => change.at,
            Line::Move(change) => change.at,
        };
        if at < latest {
            return Err(at_line(TraceFault::Order));
        }
        latest = at;
        match parsed {
            Line::Rate(change) => trace.rates.push(change),
            Line::Move(change) => trace.moves.push(change),
        }
    }
    Ok(trace)
}

/// What a line says.
#[derive(Clone, Copy)]
enum Line {
    Rate(RateChange),
    Move(StationMove),
}

fn parse_line(
    words: &[&str],
    stations: &[StationConfig],
    access_points: usize,
) -> Result<Line, TraceFault> {
    let (&[at, station, what], rest) = words.split_first_chunk().ok_or(TraceFault::Words)?;
    let at = Time::ZERO.saturating_add(at.parse::<Span>()?.0);
    let station = number(station)?;
    let last = stations.len().saturating_sub(1);
    let current = stations
        .get(usize::from(station))
        .ok_or(TraceFault::Station { station, last })?
        .rate;
    let station = StationId(station.into());
    if let Some(what) = parse_move(what, rest, access_points)? {
        return Ok(Line::Move(StationMove { at, station, what }));
    }
    let nss = match rest {
        [] => current.nss(),
        [nss] => number(nss)?,
        _ => return Err(TraceFault::Words),
    };
    let rate = TxRate::new(
        current.standard(),
        current.width(),
        nss,
        number(what)?,
        current.gi(),
    )?;
    Ok(Line::Rate(RateChange { at, station, rate }))
}

/// Returns the move that the words name; `None` if they are about a rate.
fn parse_move(what: &str, rest: &[&str], access_points: usize) -> Result<Option<Move>, TraceFault> {
    let what = match (what, rest) {
        ("sleep", []) => Move::Sleep { listen_interval: 1 },
        ("sleep", [beacons]) => match number(beacons)? {
            0 => return Err(TraceFault::ListenInterval),
            beacons => Move::Sleep {
                listen_interval: beacons.into(),
            },
        },
        ("wake", []) => Move::Wake,
        ("leave", []) => Move::Leave,
        ("join", []) => Move::Join,
        ("roam", [access_point]) => {
            let access_point = number(access_point)?;
            if usize::from(access_point) >= access_points {
                let last = access_points.saturating_sub(1);
                return Err(TraceFault::AccessPoint { access_point, last });
            }
            Move::Roam {
                access_point: access_point.into(),
            }
        }
        ("sleep" | "wake" | "leave" | "join" | "roam", _) => return Err(TraceFault::Words),
        _ => return Ok(None),
    };
    Ok(Some(what))
}

fn number(word: &str) -> Result<u8, TraceFault> {
    word.parse()
        .map_err(|_| TraceFault::Number(word.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use airpace_core::phy::{GuardInterval, Standard, Width};

    #[test]
    fn an_error_names_the_line_and_the_fault() {
        let rate = TxRate::new(Standard::Vht, Width::Mhz20, 1, 4, GuardInterval::Ns800).unwrap();
        let stations = [StationConfig::new(rate); 2];
        let cases = [
            ("1s 0", "write time"),
            ("1s 0 4 1 9", "write time"),
            ("1 0 4", "has no unit"),
            ("1s 2 4", "no station 2: the last is 1"),
            ("1s x 4", "`x` is not a whole number"),
            ("1s 0 256", "`256` is not a whole number"),
            ("1s 0 9", "MCS 9"),
            ("2s 0 4\n1s 1 4", "earlier"),
            ("99999999999s 0 4", "too large"),
            ("1s 0 sleep 0", "1 to 255"),
            ("1s 0 wake 1", "write time"),
            ("1s 0 roam", "write time"),
            ("1s 0 roam 2", "no access point 2: the last is 1"),
            ("2s 0 leave\n1s 0 join", "earlier"),
        ];
        for (text, part) in cases {
            let error = parse_trace(text, &stations, 2).unwrap_err();
            let (message, line) = (error.to_string(), text.lines().count());
            assert!(
                message.contains(part) && message.contains(&format!("line {line}")),
                "{text}: {message}"
            );
            assert!(!message.contains('\n'));
        }
        let nothing = parse_trace("\n # nothing\n", &stations, 2).unwrap();
        assert_eq!(nothing, Trace::default());
    }

    #[test]
    fn moves_and_rates_may_alternate() {
        let rate = TxRate::new(Standard::Vht, Width::Mhz20, 1, 4, GuardInterval::Ns800).unwrap();
        let stations = [StationConfig::new(rate); 2];
        let text =
            "1s 1 sleep\n1s 0 3\n2s 1 sleep 3\n3s 1 wake\n4s 1 roam 1\n5s 1 leave\n6s 1 join";
        let trace = parse_trace(text, &stations, 2).expect("a valid trace");
        assert_eq!(trace.rates.len(), 1);
        let moves: Vec<Move> = trace.moves.iter().map(|change| change.what).collect();
        let expected = [
            Move::Sleep { listen_interval: 1 },
            Move::Sleep { listen_interval: 3 },
            Move::Wake,
            Move::Roam { access_point: 1 },
            Move::Leave,
            Move::Join,
        ];
        assert_eq!(moves, expected);
    }
}
