use super::*;

fn run(law: Law, delay_ms: u64, warm_up: usize, judged: usize) -> SteadyRow {
    let delay = Duration::from_millis(delay_ms);
    let config = SteadyConfig {
        law,
        delay,
        slot: Duration::from_millis(100),
        warm_up,
        judged,
        seed: 1,
    };
    steady(&config).expect("the run is valid")
}

#[test]
fn waterfill_holds_ten_mixed_stations_at_the_optimum_and_within_the_delay_target() {
    for delay_ms in [10, 20] {
        let row = run(Law::Waterfill, delay_ms, 10, 300);
        assert!(row.utility_gap.abs() <= 0.005, "{row:?}");
        assert!(row.round_s <= delay_ms as f64 * 1e-3, "{row:?}");
        assert!(row.level < 1.01 * LEVEL_LIMIT, "{row:?}");
    }
}

#[test]
fn the_published_set_point_overshoots_the_interior_optimum() {
    let (published, corrected) = (
        run(Law::Nonlinear, 20, 60, 60),
        run(Law::NonlinearCorrected, 20, 60, 60),
    );
    assert!(
        published.round_s > 1.08 * published.optimal_round_s,
        "{published:?}"
    );
    assert!(
        (corrected.round_s / corrected.optimal_round_s - 1.0).abs() < 0.03,
        "{corrected:?}"
    );
}
