//! A radiotap header that is accepted keeps its fields when it is written and read again.
#![no_main]

use airpace_core::wire::radiotap::Radiotap;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok((fields, length)) = Radiotap::parse(bytes) else {
        return;
    };
    assert!(length <= bytes.len());
    let mut written = Vec::new();
    let written_length = fields.write(&mut written);
    assert_eq!(Radiotap::parse(&written), Ok((fields, written_length)));
    if let Some(rate) = fields.rate() {
        assert_eq!(fields.with_rate(rate).rate(), Some(rate));
    }
});
