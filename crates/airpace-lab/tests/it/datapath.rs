//! The benchmark of the datapath. The short test shows that it measures something; figures need an
//! optimised build.

use crate::namespaces_allowed;
use airpace_api::config::Cipher;
use airpace_lab::bench::datapath::{DatapathPlan, datapath};
use std::time::Duration;

#[test]
fn the_datapath_is_measured() {
    if !namespaces_allowed() {
        return;
    }
    let plan = DatapathPlan {
        loads_mbps: vec![50.0],
        span: Duration::from_millis(300),
        ..DatapathPlan::default()
    };
    let report = datapath(&plan).unwrap();
    println!("{report:#?}");
    assert!(report.saturated.packets_per_s > 0.0);
    assert!(report.loads[0].tunnel_p50_us > 0.0);
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
