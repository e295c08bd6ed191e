//! `airpace bench`; what it measures is measured by `make bench`.

use crate::shared::assert_refused;

#[test]
fn plans_that_make_no_sense_are_refused() {
    assert_refused("bench datapath --packet-bytes 10", "64..=1420");
    assert_refused("bench datapath --loads-mbps 100,NaN", "--loads-mbps");
    assert_refused("bench datapath --loads-mbps 0", "above 0");
    assert_refused("bench datapath --seconds inf", "--seconds");
    assert_refused("bench datapath --seconds 1e9", "0.1 to 3600");
    assert_refused("bench datapath --cipher rot13", "aes-256-gcm");
    assert_refused("bench emulator --mcs 9,10", "MCS 0 to 9");
    assert_refused("bench emulator --seconds 0", "above 0");
    assert_refused("bench ap --schemes fifo,tail", "fq-codel");
    assert_refused("bench ap --seconds 0", "above 0");
    assert_refused("bench everything", "everything");
}
