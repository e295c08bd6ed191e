//! The benchmark of the datapath, briefly: that it measures something. Figures are taken from optimised builds.

use airpace_api::config::Cipher;
use airpace_lab::bench::datapath::{DatapathPlan, datapath};
use std::time::Duration;

#[test]
fn the_datapath_is_measured() {
    let plan = DatapathPlan {
        loads_mbps: vec![50.0],
        span: Duration::from_millis(300),
        ..DatapathPlan::default()
    };
    match datapath(&plan) {
        Ok(report) => {
            println!("{report:#?}");
            assert!(report.saturated.packets_per_s > 0.0);
            assert!(report.loads[0].tunnel_p50_us > 0.0);
        }
        Err(error) if airpace_net::netns::Namespace::new().is_err() => {
            println!("SKIPPED, NOTHING WAS TESTED: {error:#} (try `unshare -rnm cargo test`)");
        }
        Err(error) => panic!("{error:#}"),
    }
}

#[test]
#[ignore = "needs an optimised build and the machine to itself"]
fn the_datapath_carries_a_gigabit_per_second() {
    for cipher in [Cipher::Auto, Cipher::Chacha20Poly1305] {
        let report = datapath(&DatapathPlan {
            cipher,
            ..DatapathPlan::default()
        })
        .unwrap();
        println!("{report:#?}");
        assert!(report.saturated.gbps >= 1.0, "{:?}", report.saturated);
    }
}
