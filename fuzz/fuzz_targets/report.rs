//! A report that is accepted is consistent and is encoded to the same bytes.
#![no_main]

use airpace_core::wire::report::{decode, encode};
use airpace_units::StationId;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(report) = decode(StationId(1), bytes) else {
        return;
    };
    assert!(report.frames <= report.mpdus && report.mpdus <= report.packets);
    assert!(report.inverse_rate_sum.is_finite() && !report.length.is_zero());
    assert_eq!(encode(&report)[..], *bytes);
});
