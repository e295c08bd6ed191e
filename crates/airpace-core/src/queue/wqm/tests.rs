use super::*;

const fn sample(packets: u64, mbps: u64) -> WqmSample {
    WqmSample { backlog_bits: packets * 12_000, rate: BitRate::from_mbps(mbps), mean_ampdu: 20.0, free: 1.0 }
}

#[test]
fn the_first_size_and_the_bounds_are_those_of_the_calculator() {
    let wqm = Wqm::new(WqmConfig::default(), BitRate::from_mbps(600));
    assert_eq!((wqm.limit(), wqm.bounds()), (66, (42, 89)));
}

#[test]
fn the_size_is_halved_at_the_second_interval_above_the_limit() {
    let mut wqm = Wqm::new(WqmConfig::default(), BitRate::from_kbps(144_400));
    let first = wqm.limit();
    assert_eq!(wqm.on_interval(&sample(500, 65)), first);
    assert!(wqm.on_interval(&sample(500, 65)) < first);
}
