//! Several senders behind one queue that refuses segments.

use super::*;
use crate::mac::{Driver, PathConfig, Scheme};

/// Payload of each of `count` flows from the access point, whose queue WQM keeps short, to its station.
fn payloads(count: usize) -> Vec<u64> {
    let mut traffic = tcp(Algorithm::Cubic, false, None);
    traffic.sender.refusals = true;
    let flows = vec![flow(0, 1, Traffic::Tcp(traffic)); count];
    let mut config = cell(1, flows);
    config.duration = Duration::from_secs(20);
    for radio in &mut config.channels[0].mac.radios {
        radio.path = PathConfig::of(Scheme::Wqm);
        radio.path.drive_by(Driver::Ath9k);
    }
    let outcome = run(config);
    outcome
        .flows
        .iter()
        .map(|flow| flow.payload_bytes)
        .collect()
}

#[test]
fn no_flow_is_refused_more_often_because_of_its_place_in_the_list() {
    // The acknowledgements of all flows arrive with one frame. Flows that answered all of theirs in
    // turn would leave the full queue to the last one, which had a third of the others' goodput.
    for count in [3, 5] {
        let payloads = payloads(count);
        let mean = payloads.iter().sum::<u64>() / payloads.len() as u64;
        for (index, &payload) in payloads.iter().enumerate() {
            assert!(
                10 * payload > 8 * mean,
                "flow {index} of {count} has {payload} of {mean} bytes"
            );
        }
    }
}
