//! `airpace demo`; what it shows is measured by `make demo`.

use crate::shared::assert_refused;

#[test]
fn demos_that_make_no_sense_are_refused() {
    assert_refused("demo --arms cubic,reno", "airpace-cubic");
    assert_refused("demo --stations 9,12", "MCS 0 to 9");
    assert_refused("demo --stations nine", "not an MCS index");
    assert_refused(
        "demo --stations 9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9",
        "at most 16",
    );
    assert_refused("demo --load 14", "has no unit");
    assert_refused("demo --load=3s --ramp=4s", "--ramp");
    assert_refused("demo --level NaN", "--level");
    assert_refused("demo --flows 0", "1..=64");
}
