//! The replay window against a plain set of counters. The input is a start and a sequence of steps.
#![no_main]

use airpace_core::wire::replay::{ReplayError, ReplayWindow, WINDOW};
use libfuzzer_sys::fuzz_target;
use std::collections::BTreeSet;

/// The rule in plain words: a counter is refused if it was accepted before or lies too far behind
/// the highest.
fn accept(accepted: &mut BTreeSet<u64>, counter: u64) -> Result<(), ReplayError> {
    let next = accepted.last().map_or(0, |&highest| highest + 1);
    if counter == u64::MAX || u128::from(counter) + u128::from(WINDOW) < u128::from(next) {
        Err(ReplayError::TooOld)
    } else if accepted.insert(counter) {
        Ok(())
    } else {
        Err(ReplayError::Seen)
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((start, steps)) = bytes.split_first_chunk() else {
        return;
    };
    let mut counter = u64::from_le_bytes(*start);
    let (mut window, mut accepted) = (ReplayWindow::new(), BTreeSet::new());
    for step in steps.chunks_exact(2) {
        // Steps of up to ±32,767 leave the window, which is 4032 wide, in either direction.
        let step = i16::from_le_bytes([step[0], step[1]]);
        counter = counter.saturating_add_signed(step.into());
        assert_eq!(window.accept(counter), accept(&mut accepted, counter));
        assert!(window.check(counter).is_err());
    }
});
