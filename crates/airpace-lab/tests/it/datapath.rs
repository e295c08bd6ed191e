//! The benchmark of the datapath. The short test shows that it measures something; figures need an
//! optimised build.

use crate::namespaces_allowed;
use airpace_api::config::Cipher;
use airpace_lab::bench::datapath::{DatapathPlan, datapath};
use std::time::{Duration, Instant};

/// From this many processors that others use on, throughput is not that of the datapath alone.
const OTHERS_MOST: f64 = 0.2;

/// Processor time that this process and all together have used, in the kernel's ticks.
struct ProcessorTime {
    at: Instant,
    own: u64,
    all: u64,
}

impl ProcessorTime {
    fn now() -> Self {
        let numbers = |text: &str| -> Vec<u64> {
            let words = text.split_whitespace();
            words.filter_map(|word| word.parse().ok()).collect()
        };
        let stat = std::fs::read_to_string("/proc/stat").unwrap();
        // User, nice, system, idle, iowait, irq, softirq and steal. Soft interrupts are the work of
        // the network, which belongs to the test and which no process is charged for.
        let all = numbers(stat.lines().next().unwrap());
        let own = std::fs::read_to_string("/proc/self/stat").unwrap();
        // The name in parentheses may hold spaces. User and system time are fields 14 and 15; after
        // the name and the letter of the state, field 4 is the first.
        let own = numbers(own.rsplit(')').next().unwrap());
        Self {
            at: Instant::now(),
            own: own[10] + own[11],
            all: all[0] + all[1] + all[2] + all[7],
        }
    }

    /// Processors that other programs have used on average since then.
    fn others(&self) -> f64 {
        // The kernel tells ticks of 10 ms on all architectures that this runs on.
        const TICKS_PER_S: f64 = 100.0;
        let now = Self::now();
        let ticks = (now.all - self.all).saturating_sub(now.own - self.own);
        ticks as f64 / TICKS_PER_S / (now.at - self.at).as_secs_f64()
    }
}

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
        let begin = ProcessorTime::now();
        let report = datapath(&DatapathPlan {
            cipher,
            ..DatapathPlan::default()
        })
        .unwrap();
        let others = begin.others();
        println!("{report:#?}\nothers used {others:.2} processors");
        if report.saturated.gbps < 1.0 && others > OTHERS_MOST {
            eprintln!(
                "SKIPPED, WAS NOT TESTED: the_datapath_carries_a_gigabit_per_second, {cipher:?}: \
                 the machine was too busy (others used {others:.2} processors)"
            );
            continue;
        }
        assert!(report.saturated.gbps >= 1.0, "{:?}", report.saturated);
    }
}
