use super::*;

const fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

#[test]
fn a_sparse_station_is_served_at_once() {
    let mut fairness = AirtimeFairness::new(AirtimeConfig::default());
    let stations: Vec<u32> = (0..20).map(|_| fairness.add(DEFAULT_WEIGHT)).collect();
    stations[1..].iter().for_each(|&s| fairness.wake(s));
    for _ in 0..100 {
        let station = fairness.next().unwrap();
        fairness.charge(station, us(1_000));
    }
    fairness.wake(stations[0]);
    assert_eq!(fairness.next(), Some(stations[0]));
}
