//! Rate traces: the times at which stations change their rates.

use airpace_config::quantity::{QuantityError, Span};
use airpace_core::phy::{RateError, TxRate};
use airpace_sim::mac::{RateChange, StationConfig};
use airpace_units::{StationId, Time};

/// Why a rate trace was refused.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("line {line} of the rate trace: {fault}")]
#[non_exhaustive]
pub struct TraceError {
    /// Number of the line, counted from one.
    pub line: usize,
    /// What is wrong with the line.
    pub fault: TraceFault,
}

/// What is wrong with a line of a rate trace.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceFault {
    /// It does not have three or four words.
    #[error("write time, station, MCS and, if they change, streams: for example \"2500ms 0 4 1\"")]
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
    /// The rate does not exist.
    #[error(transparent)]
    Rate(#[from] RateError),
    /// Its time is earlier than that of the line before.
    #[error("it is earlier than the line before it")]
    Order,
}

/// Parses a rate trace.
///
/// Each line has a time since the start (with its unit, without a space), a station's index, an MCS
/// index and optionally the number of spatial streams, separated by spaces. Standard, width and
/// guard interval stay those of the station. Empty lines, and the rest of a line after `#`, are
/// skipped.
///
/// ```
/// # use airpace_core::phy::{GuardInterval, Standard, TxRate, Width};
/// # use airpace_sim::mac::StationConfig;
/// let rate = TxRate::new(Standard::Vht, Width::Mhz80, 2, 9, GuardInterval::Ns800)?;
/// let trace = "# the station walks away and comes back\n 2s 0 4 1\n2500ms 0 9 2";
/// let changes = airpace_emu::parse_trace(trace, &[StationConfig::new(rate)])?;
/// assert_eq!((changes[0].rate.mcs(), changes[0].rate.nss()), (4, 1));
/// assert_eq!(changes[1].rate, rate);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The first line that is malformed, with its number and what is expected.
pub fn parse_trace(text: &str, stations: &[StationConfig]) -> Result<Vec<RateChange>, TraceError> {
    let mut changes: Vec<RateChange> = Vec::new();
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
        let change = parse_line(&words, stations).map_err(at_line)?;
        if changes.last().is_some_and(|last| change.at < last.at) {
            return Err(at_line(TraceFault::Order));
        }
        changes.push(change);
    }
    Ok(changes)
}

fn parse_line(words: &[&str], stations: &[StationConfig]) -> Result<RateChange, TraceFault> {
    let (&[at, station, mcs], rest) = words.split_first_chunk().ok_or(TraceFault::Words)?;
    let at = Time::ZERO.saturating_add(at.parse::<Span>()?.0);
    let station = number(station)?;
    let last = stations.len().saturating_sub(1);
    let current = stations
        .get(usize::from(station))
        .ok_or(TraceFault::Station { station, last })?
        .rate;
    let nss = match rest {
        [] => current.nss(),
        [nss] => number(nss)?,
        _ => return Err(TraceFault::Words),
    };
    let rate = TxRate::new(
        current.standard(),
        current.width(),
        nss,
        number(mcs)?,
        current.gi(),
    )?;
    Ok(RateChange {
        at,
        station: StationId(station.into()),
        rate,
    })
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
        ];
        for (text, part) in cases {
            let error = parse_trace(text, &stations).unwrap_err();
            let (message, line) = (error.to_string(), text.lines().count());
            assert!(
                message.contains(part) && message.contains(&format!("line {line}")),
                "{text}: {message}"
            );
            assert!(!message.contains('\n'));
        }
        assert_eq!(parse_trace("\n # nothing\n", &stations).unwrap().len(), 0);
    }
}
