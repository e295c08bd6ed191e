//! Our error model against that of ns-3: the signal-to-noise ratio at which a tenth of the MPDUs is
//! lost.

use super::report::Row;
use airpace_core::phy::error::{Coding, ErrorModel};
use airpace_core::phy::{GuardInterval, LegacyRate, Standard, TxRate, Width};
use anyhow::{Context as _, bail};

/// Greatest difference that is allowed, in dB.
const BAR_DB: f64 = 1.0;
/// Length of the MPDU that is compared.
const BYTES: u32 = 1_458;

/// One row per rate that `validation/ns3/error_model.cc` printed.
///
/// # Errors
/// The first line that cannot be understood.
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
        let numbers = || -> Option<(u32, u8, f64)> {
            Some((mhz.parse().ok()?, mcs.parse().ok()?, at_tenth.parse().ok()?))
        };
        let (mhz, mcs, ns3_db) =
            numbers().with_context(|| format!("the error model of ns-3 printed `{line}`"))?;
        // ns-3 also has rates that the standard does not, such as MCS 9 of VHT at 20 MHz.
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

/// `None` if the standard has no such rate.
fn rate(standard: &str, mhz: u32, mcs: u8) -> Option<TxRate> {
    let one_stream = |standard| {
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
        "ht" => one_stream(Standard::Ht),
        "vht" => one_stream(Standard::Vht),
        "he" => one_stream(Standard::He),
        _ => None,
    }
}
