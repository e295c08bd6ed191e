//! Which packets have priority.

use super::*;

const BUDGET: f64 = 0.02;
const VIDEO: Option<AccessCategory> = Some(AccessCategory::Video);
/// A frame with a short packet takes 0.2 ms: a hundred per second are 2 %.
const WAY: Way = Way {
    frame_overhead: Duration::from_micros(196),
    rate_bps: Some(400e6),
    round_s: Some(2e-3),
};

const fn ms(ms: u64) -> Time {
    Time::from_millis(ms)
}

fn new(queue: u32) -> Served {
    Served {
        queue,
        is_new: true,
        acknowledged_bytes: 0,
    }
}

/// Lanes of some stations that share a budget.
struct Lanes {
    lanes: Vec<FastLane>,
    budget: AirtimeBudget,
}

impl Lanes {
    fn new(stations: usize) -> Self {
        let lane = |idx| FastLane::new(StationId::from_index(idx), AccessCategory::Video, 1024);
        Self {
            lanes: (0..stations).map(lane).collect(),
            budget: AirtimeBudget::new(BUDGET),
        }
    }

    fn category_at(
        &mut self,
        now: Time,
        station: usize,
        served: Served,
        bytes: u32,
    ) -> Option<AccessCategory> {
        self.lanes[station].category(now, served, bytes, &WAY, &mut self.budget)
    }

    /// The category of a packet for the first station.
    fn category(
        &mut self,
        now: Time,
        served: Served,
        bytes: u32,
        way: &Way,
    ) -> Option<AccessCategory> {
        self.lanes[0].category(now, served, bytes, way, &mut self.budget)
    }
}

fn lane() -> Lanes {
    Lanes::new(1)
}

/// Airtime of a frame of its own with a full-sized packet, seconds.
const FULL_S: f64 = 196e-6 + 1500.0 * 8.0 / 400e6;

#[test]
fn a_call_and_a_ping_have_priority_throughout() {
    let mut lane = lane();
    for n in 0..500 {
        assert_eq!(lane.category(ms(20 * n), new(3), 200, &WAY), VIDEO, "{n}");
        if n % 5 == 0 {
            assert_eq!(lane.category(ms(20 * n), new(4), 84, &WAY), VIDEO, "{n}");
        }
    }
}

#[test]
fn a_download_below_its_share_is_not_sparse_although_its_queue_is_always_new() {
    let mut lane = lane();
    // 12 Mbit/s.
    let sent = (0..5000).map(|n| lane.category(ms(n), new(3), 1500, &WAY));
    assert!(sent.flatten().count() <= 3);
    // Its packets leave the budget to others.
    assert_eq!(lane.category(ms(5001), new(4), 84, &WAY), VIDEO);
}

#[test]
fn a_backlogged_flow_has_no_priority() {
    let served = Served {
        queue: 3,
        is_new: false,
        acknowledged_bytes: 0,
    };
    assert_eq!(lane().category(ms(1), served, 84, &WAY), None);
}

#[test]
fn bulk_in_many_sparse_flows_gets_no_more_than_the_budget() {
    let mut lane = lane();
    let mut airtime_s = 0.0;
    for n in 0..100_000_u32 {
        let now = Time::from_micros(100 * u64::from(n));
        if lane.category(now, new(n % 1024), 1500, &WAY).is_some() {
            airtime_s += FULL_S;
        }
    }
    // Ten seconds, and what was saved up before.
    assert!((0.19..=0.2051).contains(&airtime_s), "{airtime_s}");
}

#[test]
fn a_station_within_its_part_keeps_priority_beside_others_that_split_bulk_into_sparse_flows() {
    let mut lanes = Lanes::new(4);
    let mut bulk_s = 0.0;
    for n in 0..100_000_u32 {
        let now = Time::from_micros(100 * u64::from(n));
        // Three such stations, so that together they use what they can get.
        for station in 1..4 {
            let served = new(n % 1024);
            if lanes.category_at(now, station, served, 1500).is_some() {
                bulk_s += FULL_S;
            }
        }
        if n % 500 == 100 {
            assert_eq!(lanes.category_at(now, 0, new(3), 200), VIDEO, "{now:?}");
        }
    }
    // In ten seconds the call uses 0.04 s, less than a quarter of the 0.2 s.
    assert!((0.15..=0.165).contains(&bulk_s), "{bulk_s}");
}

#[test]
fn stations_that_want_more_than_there_is_get_equal_parts() {
    let mut lanes = Lanes::new(10);
    let mut used_s = [0.0; 10];
    for n in 0..100_000_u32 {
        let now = Time::from_micros(100 * u64::from(n));
        for (station, used_s) in used_s.iter_mut().enumerate() {
            if lanes
                .category_at(now, station, new(n % 1024), 1500)
                .is_some()
            {
                *used_s += FULL_S;
            }
        }
    }
    let total: f64 = used_s.iter().sum();
    assert!((0.19..=0.2051).contains(&total), "{total}");
    for used_s in used_s {
        assert!((0.018..=0.022).contains(&used_s), "{used_s}");
    }
}

#[test]
fn a_flow_gets_priority_only_after_its_last_packet_has_left_the_access_point() {
    let mut lane = lane();
    let old = Served {
        queue: 3,
        is_new: false,
        acknowledged_bytes: 0,
    };
    assert_eq!(lane.category(ms(100), old, 84, &WAY), None);
    // Four rounds of 2 ms are less than the least time. Each of these begins it anew.
    assert_eq!(lane.category(ms(105), new(3), 84, &WAY), None);
    assert_eq!(lane.category(ms(114), new(3), 84, &WAY), None);
    assert_eq!(lane.category(ms(124), new(3), 84, &WAY), VIDEO);
    let slow = Way {
        round_s: Some(12e-3),
        ..WAY
    };
    assert_eq!(lane.category(ms(200), old, 84, &slow), None);
    assert_eq!(lane.category(ms(247), new(3), 84, &slow), None);
    assert_eq!(lane.category(ms(295), new(3), 84, &slow), VIDEO);
}

#[test]
fn nothing_has_priority_while_no_rate_is_known() {
    let unknown = Way {
        rate_bps: None,
        ..WAY
    };
    assert_eq!(lane().category(ms(1), new(3), 84, &unknown), None);
}
