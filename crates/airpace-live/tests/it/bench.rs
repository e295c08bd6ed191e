//! The benchmark of the datapath, briefly: that it measures something. Figures are taken from optimised builds.

use airpace_live::bench::{DatapathPlan, datapath};
use std::time::Duration;

#[test]
fn the_datapath_is_measured() {
    let plan = DatapathPlan { loads_mbps: vec![50.0], span: Duration::from_millis(300), ..DatapathPlan::default() };
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
#[ignore = "the real measurement; run with --release --nocapture"]
fn the_datapath_at_full_length() {
    for (cipher, paced) in [
        (airpace_api::config::Cipher::Chacha20Poly1305, true),
        (airpace_api::config::Cipher::Aes256Gcm, false),
        (airpace_api::config::Cipher::Aes256Gcm, true),
    ] {
        println!("{:#?}", datapath(&DatapathPlan { cipher, paced, ..DatapathPlan::default() }).unwrap());
    }
}
