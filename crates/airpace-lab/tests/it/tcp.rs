//! Simulated TCP against the kernel's.

use airpace_lab::bench::tcp::{Download, Hosts, kernel, simulate};
use airpace_lab::tool::Stop;
use airpace_sim::transport::tcp::Algorithm;
use std::time::Duration;

#[test]
#[ignore = "needs the machine to itself"]
fn kernel_figures() {
    if !super::namespaces_allowed() {
        return;
    }
    for algorithm in Algorithm::ALL {
        for delay_ms in [10, 0] {
            let download = Download {
                algorithm,
                wired_delay: Duration::from_millis(delay_ms),
                ramp: Duration::from_secs(5),
                measure: Duration::from_secs(10),
                seed: 1,
            };
            let run = kernel(&download, &Stop::default()).unwrap();
            println!("{},{delay_ms},{run:?}", algorithm.name());
        }
    }
}

#[test]
fn simulated_figures() {
    for algorithm in Algorithm::ALL {
        for delay_ms in [10, 0] {
            for (ramp, hosts) in [(5, Hosts::KERNEL), (10, Hosts::NS3)] {
                let download = Download {
                    algorithm,
                    wired_delay: Duration::from_millis(delay_ms),
                    ramp: Duration::from_secs(ramp),
                    measure: Duration::from_secs(10),
                    seed: 1,
                };
                let run = simulate(&download, hosts).unwrap();
                println!("{},{delay_ms},{run:?}", algorithm.name());
            }
        }
    }
}
