//! The error model against that of ns-3: the signal-to-noise ratio at which a tenth of the MPDUs is lost.

use super::report::Row;
use airpace_core::phy::error::{Coding, ErrorModel};
use airpace_core::phy::{GuardInterval, LegacyRate, Standard, TxRate, Width};
use anyhow::{Context as _, bail};

/// The greatest difference in dB.
const BAR_DB: f64 = 1.0;
/// The length of the MPDU that is compared.
const BYTES: u32 = 1_458;

/// One row per rate of what `validation/ns3/error_model.cc` prints.
///
/// # Errors
/// A line that is none of its.
pub(super) fn rows(printed: &str) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for line in printed.lines().skip(1) {
        let words: Vec<&str> = line.split(',').collect();
        let &[standard, mhz, mcs, coding, bytes, _, at_tenth, ..] = words.as_slice() else {
            bail!("the error model of ns-3 printed `{line}`")
        };
        if bytes != BYTES.to_string() {
            continue;
        }
        let read = || -> Option<(u32, u8, f64)> {
            Some((mhz.parse().ok()?, mcs.parse().ok()?, at_tenth.parse().ok()?))
        };
        let (mhz, mcs, ns3_db) =
            read().with_context(|| format!("the error model of ns-3 printed `{line}`"))?;
        // What ns-3 knows and the standard does not, such as MCS 9 of VHT at 20 MHz, has nothing to be compared with.
        let Some(rate) = rate(standard, mhz, mcs) else {
            continue;
        };
        let code = if coding == "ldpc" {
            Coding::Ldpc
        } else {
            Coding::Convolutional
        };
        let ours_db = ErrorModel::new(code).required_snr_db(rate, BYTES, 0.1);
        rows.push(Row::snr(
            format!("{standard} {mhz} MHz MCS {mcs} {coding}"),
            ns3_db,
            ours_db,
            BAR_DB,
        ));
    }
    Ok(rows)
}

fn rate(standard: &str, mhz: u32, mcs: u8) -> Option<TxRate> {
    let shape = |standard| {
        TxRate::new(
            standard,
            Width::from_mhz(mhz)?,
            1,
            mcs,
            GuardInterval::Ns800,
        )
        .ok()
    };
    match standard {
        "dsss" => LegacyRate::of(Standard::Dsss, mcs).map(TxRate::legacy),
        "ofdm" => LegacyRate::of(Standard::Ofdm, mcs).map(TxRate::legacy),
        "ht" => shape(Standard::Ht),
        "vht" => shape(Standard::Vht),
        "he" => shape(Standard::He),
        _ => None,
    }
}
