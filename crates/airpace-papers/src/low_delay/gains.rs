//! Figures 15 and 16: gain and slot of Algorithm 2; and dual ascent.

use crate::reproduction::{
    Bar, Case, Figures, Findings, Printed, Results, Sample, decisions, deviation, levels, settled,
};
use airpace_core::control::Law;
use airpace_sim::steady::{SteadyConfig, steady};
use std::time::Duration;

pub(super) const GAINS: &str = "The larger the gain and the shorter the slot, the faster Algorithm 2 \
     settles; a gain of 10 oscillates without end where the theory predicts it";
pub(super) const SPREAD: &str = "On a channel that fluctuates the standard deviation of the level \
     grows with large gains and is least for slots of 1250 to 2000 ms";
pub(super) const DUAL: &str = "Dual ascent with measured levels finds the proportional fair rates";

const GAIN: &str = include_str!("../../../../scenarios/000-f15-gains.toml");
const FLUCTUATING: &str = include_str!("../../../../scenarios/000-f16-spread.toml");

const K: [f64; 4] = [0.5, 1.0, 2.0, 5.0];
const SLOTS_MS: [u32; 4] = [250, 500, 1_000, 2_000];

/// A station at which a gain of 10 is judged.
struct Plant {
    name: &'static str,
    rate: &'static str,
    /// Whether 10 Mbit/s per packet exceeds 2/(∂μ/∂x), the bound of §6.1.1 without its slip of
    /// units, with c = 214 µs and 32 packets: 3.2, 5.7 and 17.5 Mbit/s per packet.
    oscillates: bool,
}

/// One stream; the mean rate of the paper's station 1, which is nearly 526.5 Mbit/s; and the
/// greatest of its test bed.
const PLANTS: [Plant; 3] = [
    Plant {
        name: "390 Mbit/s",
        rate: "mcs 9",
        oscillates: true,
    },
    Plant {
        name: "526 Mbit/s",
        rate: "mcs 4 nss 3",
        oscillates: true,
    },
    Plant {
        name: "1170 Mbit/s",
        rate: "mcs 9 nss 3",
        oscillates: false,
    },
];

impl Plant {
    fn case(&self, gain: f64) -> String {
        format!("{}, gain {gain}", self.name)
    }
}

pub(super) fn gain_cases() -> Vec<Case> {
    let case = |name: String, gain: f64, slot_ms: u32| {
        Case::scenario(name, GAIN, &[])
            .set(format!("proxy.0.gain={gain}"))
            .set(format!("slot=\"{slot_ms} ms\""))
            .extract(decisions)
    };
    let mut cases = Vec::new();
    for gain in K {
        cases.push(case(format!("gain {gain}"), gain, 500));
    }
    for slot_ms in SLOTS_MS {
        cases.push(case(format!("slot {slot_ms}"), 1.0, slot_ms));
    }
    for plant in &PLANTS {
        for gain in [1.0, 10.0] {
            let case = case(plant.case(gain), gain, 500);
            cases.push(case.set(format!("node.station.rate=\"{}\"", plant.rate)));
        }
    }
    cases
}

/// Relative distance from the target within which the level counts as settled.
const BAND: f64 = 0.15;
const TARGET: f64 = 32.0;

/// Standard deviation of the level in the second half of each run.
fn deviation_in_the_end(results: &Results, case: &str) -> Sample {
    results.of_runs(case, |run| {
        let level = run.figures.get("level")?;
        Some(deviation(&level[level.len() / 2..]))
    })
}

pub(super) fn gains(results: &Results) -> Findings {
    let mut findings = Findings::default();
    let time = |case: &str| {
        results.of_runs(case, |run| {
            let (level, at) = (run.figures.get("level")?, run.figures.get("at_s")?);
            Some(settled(level, TARGET, BAND).map_or(f64::INFINITY, |slot| at[slot]))
        })
    };
    for pair in K.windows(2) {
        let ratio = &time(&format!("gain {}", pair[1])) / &time(&format!("gain {}", pair[0]));
        findings.ratio(
            format!("time to settle, gain {} over gain {}", pair[1], pair[0]),
            Printed::Words("decreases with the gain"),
            &ratio,
            Bar::Below(1.0),
        );
    }
    for pair in SLOTS_MS.windows(2) {
        let ratio = &time(&format!("slot {}", pair[0])) / &time(&format!("slot {}", pair[1]));
        findings.ratio(
            format!("time to settle, slots of {} over {} ms", pair[0], pair[1]),
            Printed::Words("decreases with the slot"),
            &ratio,
            Bar::Below(1.0),
        );
    }
    for plant in &PLANTS {
        findings.relate(
            format!("{}: deviation of the level, gain 1", plant.name),
            "",
            Printed::Words("converges"),
            &deviation_in_the_end(results, &plant.case(1.0)),
            Bar::AtMost(3.0),
        );
        let (words, bar) = if plant.oscillates {
            ("large, sustained oscillations", Bar::AtLeast(6.0))
        } else {
            ("K0 is below the bound here", Bar::AtMost(3.0))
        };
        findings.relate(
            format!("{}: deviation of the level, gain 10", plant.name),
            "",
            Printed::Words(words),
            &deviation_in_the_end(results, &plant.case(10.0)),
            bar,
        );
    }
    findings
}

/// Gains with slots of 500 ms, and slots with a gain of 1.
const SPREAD_GAINS: [f64; 5] = [0.5, 1.0, 2.0, 5.0, 8.0];
const SPREAD_SLOTS_MS: [u32; 7] = [125, 250, 500, 1_250, 2_000, 4_000, 8_000];
/// Where the paper finds the least deviation.
const SWEET_SPOT_MS: [u32; 2] = [1_250, 2_000];
/// A channel that fluctuates. The paper's was "shared by many networks", "and groups of people
/// move about" (§6.3.1): a person who walks changes the fading at 5 GHz within some 50 ms, and a
/// group that stands in the way changes the mean for half a minute. The paper gives no figures.
struct Office {
    name: &'static str,
    settings: [&'static str; 2],
}

const FAST: &str = "channel.fading={ law = \"rician\", k_factor = 10, coherence = \"50 ms\" }";
const OFFICES: [Office; 3] = [
    Office {
        name: "fast fading and slow shadowing",
        settings: [
            FAST,
            "channel.shadowing={ deviation = \"3 dB\", coherence = \"30 s\" }",
        ],
    },
    Office {
        name: "fast fading alone",
        settings: [FAST, "channel.shadowing={ deviation = \"0 dB\" }"],
    },
    Office {
        name: "slow shadowing alone",
        settings: [
            "channel.fading={ law = \"none\" }",
            "channel.shadowing={ deviation = \"3 dB\", coherence = \"30 s\" }",
        ],
    },
];
const JUDGED_OFFICE: &str = OFFICES[0].name;

pub(super) fn spread_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for Office { name, settings } in OFFICES {
        let case = |case: String, gain: f64, slot_ms: u32| {
            Case::scenario(case, FLUCTUATING, &settings)
                .set(format!("proxy.0.gain={gain}"))
                .set(format!("slot=\"{slot_ms} ms\""))
                .extract(levels)
        };
        if name == JUDGED_OFFICE {
            for gain in SPREAD_GAINS {
                cases.push(case(spread_gain(gain), gain, 500));
            }
        }
        for slot_ms in SPREAD_SLOTS_MS {
            cases.push(case(spread_slot(name, slot_ms), 1.0, slot_ms));
        }
    }
    cases
}

fn spread_gain(gain: f64) -> String {
    format!("gain {gain}")
}

fn spread_slot(office: &str, slot_ms: u32) -> String {
    format!("{office}, slot {slot_ms}")
}

/// Standard deviation of the levels that were reported after the warm-up.
fn deviation_of_reports(results: &Results, case: &str) -> Sample {
    results.of_runs(case, |run| Some(deviation(&run.reported_levels())))
}

pub(super) fn spread(results: &Results) -> Findings {
    let mut findings = Findings::default();
    let by_gain = SPREAD_GAINS.map(|gain| deviation_of_reports(results, &spread_gain(gain)));
    let growth = &by_gain[SPREAD_GAINS.len() - 1] / &Sample::least(&by_gain);
    let others = || {
        OFFICES
            .iter()
            .map(|office| office.name)
            .filter(|&name| name != JUDGED_OFFICE)
    };
    findings.ratio(
        "deviation of the level, greatest gain over the best",
        Printed::Words("too high gains magnify the fluctuations"),
        &growth,
        Bar::Above(1.05),
    );
    // A slot is too short or too long if the deviation is a twentieth larger.
    for end in [
        SPREAD_SLOTS_MS[0],
        SPREAD_SLOTS_MS[SPREAD_SLOTS_MS.len() - 1],
    ] {
        let excess = |office: &str| {
            let of = |slot_ms| deviation_of_reports(results, &spread_slot(office, slot_ms));
            &of(end) / &Sample::least(&SWEET_SPOT_MS.map(of))
        };
        findings.ratio(
            format!("deviation of the level, slots of {end} ms over the least of 1250 and 2000 ms"),
            Printed::Words("increases when too small or too large"),
            &excess(JUDGED_OFFICE),
            Bar::Above(1.05),
        );
        for office in others() {
            findings.variant(office, &excess(office));
        }
    }
    let best = |office: &str| {
        let by_slot =
            SPREAD_SLOTS_MS.map(|slot| deviation_of_reports(results, &spread_slot(office, slot)));
        Sample::combine(&by_slot, |deviations| {
            let least =
                (0..deviations.len()).min_by(|&a, &b| deviations[a].total_cmp(&deviations[b]));
            least.map_or(f64::NAN, |index| f64::from(SPREAD_SLOTS_MS[index]))
        })
    };
    findings.relate(
        "slot with the least deviation",
        "ms",
        Printed::Range(1_250.0, 2_000.0),
        &best(JUDGED_OFFICE),
        Bar::Between(1_250.0, 2_000.0),
    );
    for office in others() {
        findings.variant(office, &best(office));
    }
    findings
}

/// Slots before those that are judged, and these. The multipliers take some hundred slots.
const DUAL_WARM_UP: usize = 600;
const DUAL_JUDGED: usize = 60;

pub(super) fn dual_cases() -> Vec<Case> {
    let case = |name: &str, warm_up: usize| {
        Case::compute(name, move |trial| {
            let row = steady(&SteadyConfig {
                law: Law::Dual,
                // Long enough not to bind: dual ascent has no delay target.
                delay: Duration::from_secs(1),
                slot: Duration::from_millis(500),
                warm_up,
                judged: trial.slots(DUAL_JUDGED),
                seed: trial.seed,
            })?;
            Ok(Figures::from([
                ("gap".to_owned(), vec![row.utility_gap]),
                ("level".to_owned(), vec![row.level]),
            ]))
        })
    };
    vec![
        case("dual", DUAL_WARM_UP),
        case("dual, early", DUAL_WARM_UP / 4),
    ]
}

pub(super) fn dual(results: &Results) -> Findings {
    let mut findings = Findings::default();
    let early = "a quarter of the time to converge";
    findings.relate(
        "sum of log rates below the optimum, per station",
        "",
        Printed::Words("we can find an optimum by dual ascent"),
        &results.figure("dual", "gap"),
        Bar::About(0.0, 0.02),
    );
    findings.variant(early, &results.figure("dual, early", "gap"));
    findings.relate(
        "level of the station with the most packets per frame",
        "",
        Printed::Words("at most the target, 48 here"),
        &results.figure("dual", "level"),
        Bar::About(48.0, 4.8),
    );
    findings.variant(early, &results.figure("dual, early", "level"));
    findings
}
