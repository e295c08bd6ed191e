//! Receivers that hand over what they have received some time later.

use super::*;
use crate::mac::{DriverRules, Mitigation};

const MITIGATION: Mitigation = Mitigation {
    after_last: Duration::from_micros(500),
    after_first: Duration::from_millis(2),
};

/// The same network with receivers that wait, or do not.
fn with(mitigation: Option<Mitigation>, mut config: WorldConfig) -> WorldConfig {
    for radio in &mut config.channels[0].mac.radios {
        radio.path.driver = DriverRules {
            mitigation,
            ..DriverRules::NONE
        };
    }
    config
}

/// The shortest and the longest delay of a flow.
fn delays(outcome: &Outcome, flow: usize) -> (Duration, Duration) {
    let summary = outcome.flows[flow].counts.forward.delay.summary();
    let summary = summary.expect("packets came");
    (summary.min, summary.max)
}

#[test]
fn a_lone_packet_is_handed_over_when_the_interrupt_comes() {
    // A packet every 12 ms.
    let outcome = run(with(Some(MITIGATION), cell(1, vec![flow(0, 1, cbr(1.0))])));
    let delay = outcome.flows[0].counts.forward.delay.summary();
    let wait = outcome.links[0].wait.expect("packets came").mean;
    let held = delay.expect("packets came").mean - wait;
    assert!(
        held.abs_diff(MITIGATION.after_last) < Duration::from_micros(1),
        "{held:?}"
    );
}

#[test]
fn packets_that_come_one_after_the_other_wait_no_longer_than_the_first_may() {
    // A packet every 118 us: the last is never 500 us old.
    let outcome = |mitigation| run(with(mitigation, cell(1, vec![flow(0, 1, cbr(100.0))])));
    let (at_once, later) = (outcome(None), outcome(Some(MITIGATION)));
    let ((_, longest), (shortest, latest)) = (delays(&at_once, 0), delays(&later, 0));
    assert!(shortest < longest, "{shortest:?} {longest:?}");
    let bound = longest + MITIGATION.after_first;
    assert!(
        latest > MITIGATION.after_first && latest <= bound,
        "{latest:?}"
    );
    // Nothing is lost, and how long packets wait for the air is another matter.
    assert_eq!(later.totals.dropped, 0);
    let wait = |outcome: &Outcome| outcome.links[0].wait.expect("packets came").mean;
    assert_eq!(wait(&at_once), wait(&later));
}
