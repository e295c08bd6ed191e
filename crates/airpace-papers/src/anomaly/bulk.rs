use super::table_1::{
    AT_RANDOM, FLOOD, MEASURED_FAST_PERCENT, UDP, at_random, fast_percent_of_model, flood_cases,
};
use super::{
    LOSSLESS, ON_CHANNEL, SCHEMES, airtime_of_time, counted_of_time, counted_share, goodput,
    lossless, note_losses, with_scheme, without_losses,
};
use crate::reproduction::{Bar, Case, Findings, Printed, Results, Sample, stations};
use airpace_core::model::jain;
use airpace_scenario::results::SimulationSummary;
use airpace_sim::mac::Scheme;

pub(super) const AIRTIME: &str = "Airtime of one-way UDP as the access point's driver counts it, as a \
     share of all time: under FIFO and FQ-CoDel the slow station has about 80 % and the two fast share \
     20 %; FQ-MAC is between; under airtime fairness all have the same";
pub(super) const FAIRNESS: &str = "Jain's index of airtime as the access point's driver counts it: about 1 \
     under airtime fairness, with a slight dip when TCP goes both ways, and best of all schemes";
pub(super) const THROUGHPUT: &str = "TCP downloads: from FIFO to FQ-CoDel, FQ-MAC and airtime \
     fairness the fast get more, the slow less, all together more";

const TCP: &str = include_str!("../../../../scenarios/004-f6-fairness.toml");
/// Adds uploads under TCP small queues: Linux never holds more of a connection below TCP than
/// `tcp_limit_output_bytes`, 256 KiB by default since 4.2.
pub(super) const BOTH_WAYS: [&str; 2] = ["flow.up.count=1", "flow.up.small_queue=\"262144 B\""];
/// Other uploads, and what they stand for. Within the limit Linux 4.4, which the stations had, holds
/// two segments or what the pacing rate sends in a millisecond (`tcp_write_xmit`): at these rates
/// two segments of two packets each, and one more.
///
/// Table 1, from which the losses are, is of downloads. The more of a fast station's uploads is lost,
/// the shorter are its frames, and the less of the air it has beside the slow one.
const OTHER_UPLOADS: [(&str, &[&str]); 5] = [
    (SIX_PACKETS, &[SMALL_QUEUE_OF_SIX]),
    (
        "no limit at the senders' radios",
        &["flow.up.small_queue=\"1000 MB\""],
    ),
    (
        "the losses of each downlink on its uplink",
        &["node.fast.uplink_loss=[0.06, 0.14]"],
    ),
    (
        "no losses on the uplink",
        &["node.fast.uplink_loss=0", "node.slow.uplink_loss=0"],
    ),
    (
        "at most seven transmissions of an MPDU",
        &["channel.retry_limit=7"],
    ),
];

pub(super) const SIX_PACKETS: &str = "six packets at the senders' radios";
pub(super) const SMALL_QUEUE_OF_SIX: &str = "flow.up.small_queue=\"9 kB\"";

pub(super) fn udp_cases() -> Vec<Case> {
    let mut cases = flood_cases();
    cases.extend([Scheme::Fifo, Scheme::FqCodel].map(at_random));
    cases
}

/// Airtime of a station called `name`, in per cent of that of all stations.
fn airtime_percent(results: &Results, scheme: Scheme, name: &str) -> Sample {
    &results.sample(scheme.name(), |summary| counted_share(summary, name)) * 100.0
}

/// Airtime of the stations called `name` together, in per cent of all time.
fn percent_of_time(results: &Results, scheme: Scheme, name: &str) -> Sample {
    &results.sample(scheme.name(), |summary| counted_of_time(summary, name)) * 100.0
}

pub(super) fn airtime(results: &Results) -> Findings {
    let mut findings = Findings::default();
    for scheme in [Scheme::Fifo, Scheme::FqCodel] {
        findings.relate(
            format!("{scheme}, slow: share of all time"),
            "%",
            Printed::Words("around 80 %"),
            &percent_of_time(results, scheme, "slow"),
            Bar::About(80.0, 5.0),
        );
        findings.variant(
            "the time of all stations in place of all time",
            &airtime_percent(results, scheme, "slow"),
        );
        let on_channel = |name: &str| {
            let sample = results.sample(scheme.name(), |summary| airtime_of_time(summary, name));
            &sample * 100.0
        };
        findings.variant(ON_CHANNEL, &on_channel("slow"));
        findings.relate(
            format!("{scheme}, both fast: share of all time"),
            "%",
            Printed::Words("share the remaining 20 %"),
            &percent_of_time(results, scheme, "fast"),
            Bar::About(20.0, 5.0),
        );
        findings.variant(ON_CHANNEL, &on_channel("fast"));
        let sample = results.sample(&format!("{scheme}, {AT_RANDOM}"), |summary| {
            counted_of_time(summary, "fast")
        });
        findings.variant(AT_RANDOM, &(&sample * 100.0));
        findings.variant(
            "the rates that Table 1 prints in place of ours",
            &Sample::exactly(MEASURED_FAST_PERCENT),
        );
        findings.variant(
            "the model of equation 4 and our levels, a frame of each station in turn",
            &fast_percent_of_model(results, scheme.name()),
        );
        findings.variant(
            "all time but the slow station's, back-off included",
            &percent_of_time(results, scheme, "slow").map(|slow| 100.0 - slow),
        );
    }
    let fifo = airtime_percent(results, Scheme::Fifo, "slow").mean();
    findings.relate(
        "fq-mac, slow: share of the stations' time",
        "%",
        Printed::Words("between FIFO and airtime"),
        &airtime_percent(results, Scheme::FqMac, "slow"),
        Bar::Between(100.0 / 3.0, fifo),
    );
    for name in ["slow", "fast-1", "fast-2"] {
        findings.relate(
            format!("airtime, {name}: share of the stations' time"),
            "%",
            Printed::Words("exactly the same amount"),
            &airtime_percent(results, Scheme::Airtime, name),
            Bar::About(100.0 / 3.0, 1.0),
        );
    }
    note_losses(&mut findings);
    findings
}

/// Seeds of the downloads under FIFO and FQ-CoDel, whose shares of one queue differ from run to run.
const SEEDS_OF_SHARED_QUEUES: u32 = 80;

pub(super) fn download_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for scheme in SCHEMES {
        for case in [
            with_scheme(scheme.name(), scheme, TCP, &[]),
            lossless(without_losses(scheme.name()), scheme, TCP, &[]),
        ] {
            cases.push(match scheme {
                Scheme::Fifo | Scheme::FqCodel => case.seeds(SEEDS_OF_SHARED_QUEUES),
                _ => case,
            });
        }
        for (with, window) in WINDOWS {
            let name = format!("{scheme}, {with}");
            cases.push(with_scheme(name, scheme, TCP, &[window]));
        }
    }
    for (with, setting) in OTHER_QUEUES {
        let name = with_other_queue(Scheme::Fifo.name(), with);
        cases.push(with_scheme(name, Scheme::Fifo, TCP, &[setting]));
    }
    cases
}

/// Other receive windows. Those of Linux grow to half of `tcp_rmem`'s 6 MB, the other half being for
/// its overhead (`tcp_adv_win_scale`), and losses decide who fills the queue of the unmodified kernel,
/// 1000 packets and those in the driver. With 512 kB three connections hardly overflow it.
const WINDOWS: [(&str, &str); 2] = [
    ("receive windows of 512 kB", "flow.down.window=\"512 kB\""),
    (
        "receive windows of 3 MB, as Linux has them",
        "flow.down.window=\"3145728 B\"",
    ),
];

/// With generic receive offload at the access point's wire, a queue of 1000 packets holds as many
/// packets of up to 64 KB, and overflows later or never.
const LONG_QUEUE: &str = "node.ap.queue.qdisc_limit=\"3000 packets\"";
const WITH_LONG_QUEUE: &str = "room for 3000 packets under FIFO";
/// If it joins no more than the two packets that an acknowledgement releases, which come one right
/// after the other, the queue holds twice as many. The paper does not say what its wired card does.
pub(super) const QUEUE_OF_PAIRS: &str = "node.ap.queue.qdisc_limit=\"2000 packets\"";
pub(super) const WITH_PAIRS: &str = "pairs of packets that count as one in the queue under FIFO";

/// Other queues under FIFO, and what they stand for.
const OTHER_QUEUES: [(&str, &str); 2] =
    [(WITH_LONG_QUEUE, LONG_QUEUE), (WITH_PAIRS, QUEUE_OF_PAIRS)];

/// The name of a case, under FIFO that of the one with another queue.
pub(super) fn with_other_queue(case: &str, with: &str) -> String {
    if case == Scheme::Fifo.name() {
        format!("{case}, {with}")
    } else {
        case.to_owned()
    }
}

pub(super) fn fairness_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let kinds: [(&str, &'static str, &[&str]); 3] = [
        ("udp", UDP, &FLOOD),
        ("down", TCP, &[]),
        ("both", TCP, &BOTH_WAYS),
    ];
    for (kind, text, settings) in kinds {
        for scheme in SCHEMES {
            cases.push(with_scheme(
                format!("{kind}, {scheme}"),
                scheme,
                text,
                settings,
            ));
        }
    }
    for (with, settings) in OTHER_UPLOADS {
        let name = format!("both, {with}");
        let mut case = with_scheme(name, Scheme::Airtime, TCP, &BOTH_WAYS);
        for &setting in settings {
            case = case.set(setting);
        }
        cases.push(case);
    }
    cases
}

/// Jain's index of the three stations' airtime.
fn jain_of_airtime(summary: &SimulationSummary) -> Option<f64> {
    let fast = stations(summary, "fast");
    let shares: Option<Vec<f64>> = fast
        .chain(stations(summary, "slow"))
        .map(|station| station.counted_airtime_share)
        .collect();
    Some(jain(&shares?))
}

pub(super) fn fairness(results: &Results) -> Findings {
    let mut findings = Findings::default();
    let index =
        |kind: &str, scheme: Scheme| results.sample(&format!("{kind}, {scheme}"), jain_of_airtime);
    for kind in ["udp", "down"] {
        findings.ratio(
            format!("{kind}: Jain's index, airtime"),
            Printed::Words("close to perfect sharing"),
            &index(kind, Scheme::Airtime),
            Bar::AtLeast(0.99),
        );
    }
    // Figure 6 shows the bar of the bidirectional case a little below one.
    findings.ratio(
        "both: Jain's index, airtime",
        Printed::Words("a slight dip for bidirectional traffic"),
        &index("both", Scheme::Airtime),
        Bar::AtLeast(0.95),
    );
    let with_other = |with: &str| results.sample(&format!("both, {with}"), jain_of_airtime);
    for (with, _) in OTHER_UPLOADS {
        findings.variant(with, &with_other(with));
    }
    findings.ratio(
        "both: dip against downloads alone, airtime",
        Printed::Words("a slight dip for bidirectional traffic"),
        &(&index("down", Scheme::Airtime) - &index("both", Scheme::Airtime)),
        Bar::Between(0.0, 0.05),
    );
    for (with, _) in OTHER_UPLOADS {
        let dip = &index("down", Scheme::Airtime) - &with_other(with);
        findings.variant(with, &dip);
    }
    for kind in ["udp", "down", "both"] {
        for &scheme in &SCHEMES[..3] {
            findings.ratio(
                format!("{kind}: index of airtime less that of {scheme}"),
                Printed::Words("closest to 1"),
                &(&index(kind, Scheme::Airtime) - &index(kind, scheme)),
                Bar::Above(0.0),
            );
        }
    }
    note_losses(&mut findings);
    findings
}

/// What a goodput is measured in: the case of a scheme.
type Goodput<'g> = dyn Fn(&str) -> Sample + 'g;

pub(super) fn throughput(results: &Results) -> Findings {
    let mut findings = Findings::default();
    for step in SCHEMES.windows(2) {
        let (before, after) = (step[0], step[1]);
        let mut relate = |what: &str, words: &'static str, goodput: &Goodput<'_>, bar: Bar| {
            let growth = |named: &dyn Fn(&str) -> String| {
                let goodputs = [before, after].map(|scheme| goodput(&named(scheme.name())));
                &goodputs[1] / &goodputs[0]
            };
            let what = format!("{what}, {after} over {before}");
            findings.ratio(what, Printed::Words(words), &growth(&str::to_owned), bar);
            findings.variant(LOSSLESS, &growth(&without_losses));
            for (with, _) in WINDOWS {
                findings.variant(with, &growth(&|case| format!("{case}, {with}")));
            }
            if before == Scheme::Fifo {
                for (with, _) in OTHER_QUEUES {
                    findings.variant(with, &growth(&|case| with_other_queue(case, with)));
                }
            }
        };
        // Goodput of the stations called `name`.
        let of = |case: &str, name: &str| results.sample(case, |summary| goodput(summary, name));
        let (up, down) = (Bar::AtLeast(1.0), Bar::AtMost(1.0));
        relate(
            "fast",
            "increase their throughput",
            &|case| of(case, "fast"),
            up,
        );
        relate(
            "slow",
            "decreases its throughput",
            &|case| of(case, "slow"),
            down,
        );
        relate(
            "total",
            "a net increase",
            &|case| results.goodput_mbps(case),
            up,
        );
    }
    note_losses(&mut findings);
    findings
}
