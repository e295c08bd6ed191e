//! Queueing schemes of the access point with the kernel's TCP.

use crate::{kept_up, namespaces_allowed};
use airpace_lab::bench::ap::{ApComparison, JAIN_BAR, PING_BAR, Plan, compare};
use airpace_lab::tool::Stop;
use airpace_sim::mac::Scheme;
use std::time::Duration;

fn run(plan: &Plan) -> ApComparison {
    let result = compare(plan, &Stop::default()).unwrap();
    println!("{}", serde_json::to_string_pretty(&result).unwrap());
    result
}

/// Takes a few seconds on a machine that may be busy, so the bars are far below those of the full
/// comparison.
#[test]
fn flow_queues_and_airtime_fairness_shorten_pings_and_share_the_air() {
    if !namespaces_allowed() {
        return;
    }
    let plan = Plan {
        schemes: vec![Scheme::Fifo, Scheme::Airtime],
        ramp: Duration::from_millis(1_500),
        ping_interval: Duration::from_millis(20),
        simulate: false,
        ..Plan::new(Duration::from_millis(2_500))
    };
    let result = run(&plan);
    let [fifo, airtime] = &result.schemes[..] else {
        panic!("two schemes")
    };
    assert!(
        airtime.ping_gain.unwrap() >= 3.0,
        "{:?} {:?}",
        fifo.emulated,
        airtime.emulated
    );
    assert!(
        airtime.emulated.jain_airtime >= 0.95,
        "{:?}",
        airtime.emulated
    );
    assert!(
        fifo.emulated.jain_airtime < airtime.emulated.jain_airtime,
        "{:?}",
        fifo.emulated
    );
}

#[test]
#[ignore = "needs the machine to itself"]
fn the_schemes_reach_their_bars_with_kernel_tcp_and_in_virtual_time() {
    if !namespaces_allowed() {
        return;
    }
    let schemes = vec![
        Scheme::Fifo,
        Scheme::FqCodel,
        Scheme::FqMac,
        Scheme::Airtime,
    ];
    let result = run(&Plan {
        schemes,
        ..Plan::new(Duration::from_secs(20))
    });
    assert_eq!(
        result.bars.len(),
        6,
        "two of pings and one of airtime, with kernel TCP and simulated"
    );
    assert!(
        result
            .bars
            .iter()
            .all(|bar| [PING_BAR, JAIN_BAR].contains(&bar.bar))
    );
    let lags = result.schemes.iter().map(|run| run.lag_p99_ms);
    let kept_up = kept_up(
        "the_schemes_reach_their_bars_with_kernel_tcp_and_in_virtual_time, kernel TCP",
        result.schemes.iter().all(|run| run.trusted),
        lags.fold(0.0, f64::max),
    );
    for bar in &result.bars {
        // Virtual time does not depend on the machine.
        let is_tested = kept_up || bar.claim.contains("simulated");
        assert!(bar.holds || !is_tested, "{:?}", result.bars);
    }
}
