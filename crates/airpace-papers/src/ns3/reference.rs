//! Results of ns-3 3.44 that are kept in the repository: `validation/ns3/reference/runs.csv`, one
//! run per line.

use super::figures::{Delay, Figures, Part};
use super::setting::{Control, Load, Setting, Station};
use airpace_sim::mac::{QueueScope, Schedule};
use anyhow::{Context as _, bail, ensure};
use std::str::FromStr;
use std::time::Duration;

/// The columns, in order.
const COLUMNS: &str = "family,run,standard,width_mhz,guard_ns,mcs,nss,offered_mbps,phases,scheduler,queue_packets,queue_scope,\
payload_bytes,law,level_target,delay_target_ms,slot_s,initial_mbps,report_bytes,seed,warm_s,duration_s,goodput_mbps,level,delay_ms,\
total_goodput_mbps,total_level,total_delay_ms,total_sent,total_lost";

/// Reads the runs with paced sources and with controllers. Runs with TCP are left out.
///
/// # Errors
/// The first line that cannot be understood.
pub fn read(text: &str) -> anyhow::Result<Vec<(Setting, Figures)>> {
    let mut lines = text.lines();
    ensure!(
        lines.next() == Some(COLUMNS),
        "the file does not have the expected columns"
    );
    let mut runs = Vec::new();
    // The head is line 1.
    for (number, line) in (2..).zip(lines) {
        let cells: Vec<&str> = line.split(',').collect();
        if !cells.iter().any(|cell| cell.starts_with("tcp-")) {
            runs.push(run(&cells).with_context(|| format!("line {number}"))?);
        }
    }
    Ok(runs)
}

/// The run of one line.
fn run(cells: &[&str]) -> anyhow::Result<(Setting, Figures)> {
    let &[
        family,
        name,
        standard,
        width,
        guard,
        mcs,
        nss,
        offered,
        phases,
        order,
        queue,
        scope,
        payload,
        ref rest @ ..,
    ] = cells
    else {
        bail!("the line has too few columns")
    };
    let &[
        law,
        level,
        delay,
        slot,
        initial,
        report,
        seed,
        warm,
        duration,
        ref results @ ..,
    ] = rest
    else {
        bail!("the line has too few columns")
    };
    let offered = if law.is_empty() { offered } else { "0" };
    let setting = Setting {
        family: family.to_owned(),
        name: name.to_owned(),
        standard: standard.to_owned(),
        width_mhz: number(width)?,
        guard_ns: number(guard)?,
        stations: stations(mcs, nss, offered, phases)?,
        schedule: if order == "fcfs" {
            Schedule::OldestFirst
        } else {
            Schedule::RoundRobin
        },
        queue_packets: number(queue)?,
        queue_scope: if scope == "link" {
            QueueScope::Link
        } else {
            QueueScope::Radio
        },
        payload_bytes: number(payload)?,
        load: match law {
            "" => Load::Constant,
            law => Load::Controlled(Control {
                law: law.parse()?,
                level: number(level)?,
                delay: if delay.is_empty() {
                    None
                } else {
                    Some(Duration::from_secs_f64(number::<f64>(delay)? * 1e-3))
                },
                slot: seconds(slot)?,
                initial_mbps: if initial.is_empty() {
                    1.0
                } else {
                    number(initial)?
                },
                report_bytes: number(report)?,
            }),
        },
        seed: number(seed)?,
        warm_up: seconds(warm)?,
        duration: seconds(duration)?,
    };
    Ok((setting, figures(results)?))
}

fn stations(mcs: &str, nss: &str, offered: &str, phases: &str) -> anyhow::Result<Vec<Station>> {
    let (mcs, nss) = (list::<u8>(mcs)?, list::<u8>(nss)?);
    let (offered, phases) = (list::<f64>(offered)?, list::<f64>(phases)?);
    ensure!(
        mcs.len() == nss.len(),
        "the columns mcs and nss have lists of different length"
    );
    let mut stations = Vec::new();
    for (index, (&mcs, &nss)) in mcs.iter().zip(&nss).enumerate() {
        // A single rate is that of all stations.
        let offered_mbps = offered.get(index).or(offered.first());
        stations.push(Station {
            mcs,
            nss,
            offered_mbps: offered_mbps.copied().unwrap_or_default(),
            phase: phases.get(index).copied(),
        });
    }
    Ok(stations)
}

fn figures(results: &[&str]) -> anyhow::Result<Figures> {
    let &[
        goodput,
        level,
        delay,
        goodput_all,
        level_all,
        delay_all,
        _sent,
        _lost,
    ] = results
    else {
        bail!("the line has the wrong number of columns")
    };
    // The stored 95th percentile counts to the end of the MPDU. Our simulator hands over whole
    // frames and has no such delay.
    let part = |goodput_mbps, level, mean| Part {
        goodput_mbps,
        level,
        delay: Some(Delay {
            mean,
            p95: f64::NAN,
        }),
    };
    let all = part(number(goodput_all)?, number(level_all)?, number(delay_all)?);
    let (goodput, level, delay) = (
        list::<f64>(goodput)?,
        list::<f64>(level)?,
        list::<f64>(delay)?,
    );
    let stations = goodput
        .iter()
        .zip(&level)
        .zip(&delay)
        .map(|((&goodput, &level), &mean)| part(goodput, level, mean));
    Ok(Figures {
        stations: stations.collect(),
        all,
        received: 0,
        wall_s: f64::NAN,
    })
}

/// Reads `1;2;3` or `5*20` (twenty times 5). The empty text is an empty list.
fn list<T: FromStr + Clone>(text: &str) -> anyhow::Result<Vec<T>> {
    match text.split_once('*') {
        Some((value, count)) => Ok(vec![number(value)?; number(count)?]),
        None => text
            .split(';')
            .filter(|item| !item.is_empty())
            .map(number)
            .collect(),
    }
}

fn seconds(text: &str) -> anyhow::Result<Duration> {
    Ok(Duration::try_from_secs_f64(number(text)?)?)
}

fn number<T: FromStr>(text: &str) -> anyhow::Result<T> {
    text.parse()
        .ok()
        .with_context(|| format!("`{text}` is not a number"))
}
