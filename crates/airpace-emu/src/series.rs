//! A time series of bounded size.

use airpace_api::emulation::EmulationSlot;

/// Most slots that are kept for one station: an hour of slots of 100 ms.
const MAX_SLOTS: usize = 36_000;

/// Most slots that are kept for all stations together, 40 MB. Merging them delays the emulator by
/// about 10 ms; it becomes rarer as the slots grow.
const MAX_SLOTS_IN_ALL: usize = 360_000;

/// Returns how many slots are kept for each of `stations` stations; an even number, so that merging
/// leaves none over.
pub(crate) fn limit(stations: usize) -> usize {
    (MAX_SLOTS_IN_ALL / stations.max(1)).min(MAX_SLOTS) & !1
}

/// Merges every two neighbouring slots into one.
pub(crate) fn halve(slots: &mut Vec<EmulationSlot>) {
    for i in 0..slots.len() / 2 {
        slots[i] = merged(&slots[2 * i], &slots[2 * i + 1]);
    }
    slots.truncate(slots.len() / 2);
}

/// Adds up what two cells have counted of a station in one slot.
pub(crate) fn sum(a: &EmulationSlot, b: &EmulationSlot) -> EmulationSlot {
    EmulationSlot {
        queue: a.queue.saturating_add(b.queue),
        queue_max: a.queue_max.saturating_add(b.queue_max),
        ..merged(a, b)
    }
}

/// Joins a slot with the one that follows it.
fn merged(a: &EmulationSlot, b: &EmulationSlot) -> EmulationSlot {
    let (frames, packets) = (
        a.frames.saturating_add(b.frames),
        a.packets.saturating_add(b.packets),
    );
    EmulationSlot {
        at_s: a.at_s,
        frames,
        packets,
        level: (frames > 0).then(|| f64::from(packets) / f64::from(frames)),
        bytes: a.bytes + b.bytes,
        queue: b.queue,
        queue_max: a.queue_max.max(b.queue_max),
        airtime_s: a.airtime_s + b.airtime_s,
        retries: a.retries.saturating_add(b.retries),
        dropped: a.dropped.saturating_add(b.dropped),
        up_frames: a.up_frames.saturating_add(b.up_frames),
        up_bytes: a.up_bytes + b.up_bytes,
        up_airtime_s: a.up_airtime_s + b.up_airtime_s,
    }
}
