//! Runs of ns-3 3.44 that are kept in `validation/ns3/reference/neighbours.csv`, one per line.

use super::{Layout, NeighboursRun, POWER_DBM};
use anyhow::{Context as _, ensure};
use std::str::FromStr;
use std::time::Duration;

/// The stored runs.
const STORED: &str = include_str!("../../../../../validation/ns3/reference/neighbours.csv");
/// The columns, in order.
const COLUMNS: &str = "family,run,layout,distance_m,side,station_m,exponent,mcs,rts,requests,seed,\
warm_s,duration_s,goodput_mbps,total_goodput_mbps,mpdu_fail_share,no_answer_share";

/// The runs of ns-3 that are kept in the repository.
///
/// # Errors
/// The first line that cannot be understood.
pub fn stored() -> anyhow::Result<Vec<NeighboursRun>> {
    read(STORED)
}

/// Reads runs in the format of the stored ones.
///
/// # Errors
/// The first line that cannot be understood.
pub fn read(text: &str) -> anyhow::Result<Vec<NeighboursRun>> {
    let mut lines = text.lines();
    ensure!(
        lines.next() == Some(COLUMNS),
        "the runs with neighbours do not have the expected columns"
    );
    let numbered = (2..).zip(lines);
    numbered
        .map(|(number, line)| run(line).with_context(|| format!("line {number}")))
        .collect()
}

fn run(line: &str) -> anyhow::Result<NeighboursRun> {
    let cells: Vec<&str> = line.split(',').collect();
    let &[
        family,
        name,
        layout,
        distance,
        side,
        station,
        exponent,
        mcs,
        rts,
        requests,
        seed,
        warm,
        duration,
        goodput,
        ..,
    ] = cells.as_slice()
    else {
        anyhow::bail!("the line has too few columns")
    };
    let layout = match layout {
        "two" => Layout::Two {
            between: side == "near",
        },
        "three" => Layout::Three,
        _ => Layout::Uplink,
    };
    Ok(NeighboursRun {
        family: family.to_owned(),
        name: name.to_owned(),
        layout,
        distance_m: number(distance)?,
        station_m: number(station)?,
        exponent: number(exponent)?,
        powers_dbm: vec![POWER_DBM; 3],
        mcs: number(mcs)?,
        rts: rts == "1",
        requests: requests == "1",
        seed: number(seed)?,
        warm_up: Duration::try_from_secs_f64(number(warm)?)?,
        duration: Duration::try_from_secs_f64(number(duration)?)?,
        goodput_mbps: goodput.split(';').map(number).collect::<Result<_, _>>()?,
    })
}

fn number<T: FromStr>(text: &str) -> anyhow::Result<T> {
    text.parse()
        .ok()
        .with_context(|| format!("`{text}` is not a number"))
}
