//! The sentences of section 4 that have no figure of their own.

use super::applications::call_score;
use super::bulk::{BOTH_WAYS, SIX_PACKETS, SMALL_QUEUE_OF_SIX};
use super::{
    LOSSLESS, REPETITIONS, SCHEMES, airtime_share, counted_share, lossless, note_losses, ping_ms,
    with_scheme, without_losses,
};
use crate::reproduction::{Bar, Case, Findings, Printed, Results, Sample, flows, mean_if_complete};
use airpace_scenario::results::StationSummary;
use airpace_sim::mac::Scheme;

pub(super) const CLAIM: &str = "FQ-MAC cuts the fast stations' ping by another 45 % and the slow one's \
     to that of the fast under FQ-CoDel; with TCP both ways the airtime scheduler slightly worsens \
     the slow station's ping, and the throughput steps are those of downloads; a call to a fast \
     station is as good under each scheme as one to the slow, or better; the slow station's pages \
     take 5 to 10 % longer under airtime fairness";

const PING: &str = include_str!("../../../../scenarios/004-f1-latency.toml");
const VOIP: &str = include_str!("../../../../scenarios/004-t2-voip.toml");
const PAGES: &str = include_str!("../../../../scenarios/004-f11-web.toml");
const BULK: &str = include_str!("../../../../scenarios/004-f6-fairness.toml");

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for scheme in SCHEMES {
        cases.push(with_scheme(format!("down, {scheme}"), scheme, PING, &[]));
        let both = with_scheme(format!("both, {scheme}"), scheme, BULK, &BOTH_WAYS);
        cases.push(both.set(PINGS).seeds(REPETITIONS));
        let name = without_losses(&format!("down, {scheme}"));
        cases.push(lossless(name, scheme, PING, &[]));
        for (with, setting) in OTHER_DOWNLOADS {
            let name = format!("down, {scheme}, {with}");
            cases.push(with_scheme(name, scheme, PING, &[setting]));
        }
        let name = format!("both, {scheme}, {SIX_PACKETS}");
        let six = with_scheme(name, scheme, BULK, &BOTH_WAYS);
        cases.push(six.set(SMALL_QUEUE_OF_SIX).set(PINGS));
        let to_fast = with_scheme(format!("call, {scheme}"), scheme, VOIP, &[]);
        cases.push(to_fast.set("flow.voip.to=\"fast-1\""));
    }
    for scheme in [Scheme::FqMac, Scheme::Airtime] {
        for page in ["small", "large"] {
            let case = |name: String| {
                with_scheme(name, scheme, PAGES, &SWAPPED).set(format!("flow.web.page=\"{page}\""))
            };
            cases.push(case(format!("{page}, {scheme}")));
            for (with, setting) in OTHER_LOADS {
                let other = case(format!("{page}, {scheme}, {with}")).set(setting);
                cases.push(other.seeds(SEEDS_OF_OTHER_LOADS));
            }
        }
    }
    cases
}

/// The slow station loads the pages, and the fast ones download.
const SWAPPED: [&str; 3] = [
    "flow.web.to=\"slow\"",
    "flow.slow-bulk.count=0",
    "flow.fast-bulk.count=1",
];
/// A page varies by a tenth from run to run, and the printed range is as narrow.
const SEEDS_OF_OTHER_LOADS: u32 = 4 * REPETITIONS;
/// Other settings of the pages. Their base delay is not given; that of the calls is 5 ms or 50 ms. In
/// turns, airtime fairness takes from the slow station what its frames are longer than those of the
/// others: with the 57.8 Mbit/s of MCS 11 they are equally long.
const OTHER_LOADS: [(&str, &str); 3] = [
    ("20 ms to the server", "wire.0.delay=\"20 ms\""),
    ("50 ms to the server", "wire.0.delay=\"50 ms\""),
    (
        "frames to the fast as long as those to the slow (MCS 11)",
        "node.fast.rate=\"mcs 11\"",
    ),
];
/// The downloads, of which that to the slow station has a receive window.
macro_rules! in_flight_to_slow {
    ($window:literal) => {
        concat!(
            "flow=[{ name = \"tcp-1\", kind = \"tcp\", to = \"fast\" }, ",
            "{ name = \"tcp-2\", kind = \"tcp\", to = \"slow\", window = \"",
            $window,
            "\" }, { kind = \"ping\", interval = \"100 ms\" }]"
        )
    };
}

/// Other settings of the downloads. With one frame ahead, the airtime of a frame is known before the
/// next is composed. The less is in flight to the slow station, the more of the driver's 123 packets
/// is left to the fast ones under FQ-CoDel, whose pings then wait behind their own downloads there.
const OTHER_DOWNLOADS: [(&str, &str); 4] = [
    (ONE_AHEAD, "node.ap.queue.hardware_queue=1"),
    (
        "at most 80 kB in flight to the slow station",
        in_flight_to_slow!("80 kB"),
    ),
    (
        "at most 40 kB in flight to the slow station",
        in_flight_to_slow!("40 kB"),
    ),
    (
        "30 % of what the slow station sends lost",
        "node.slow.uplink_loss=0.3",
    ),
];
const ONE_AHEAD: &str = "one frame ahead";
/// A ping to every station.
const PINGS: &str = "flow.ping.count=1";

pub(super) fn judge(results: &Results) -> Findings {
    let mut findings = Findings::of_printed_means(REPETITIONS);
    pings(&mut findings, results);
    both_ways(&mut findings, results);
    calls(&mut findings, results);
    counters(&mut findings, results);
    pages(&mut findings, results);
    note_losses(&mut findings);
    findings
}

fn ping(results: &Results, kind: &str, scheme: Scheme, name: &str) -> Sample {
    results.sample(&format!("{kind}, {scheme}"), |summary| {
        ping_ms(summary, "ping", name)
    })
}

fn pings(findings: &mut Findings, results: &Results) {
    let down = |scheme, name| ping(results, "down", scheme, name);
    let lossless = |scheme: Scheme, name: &str| {
        let case = without_losses(&format!("down, {scheme}"));
        results.sample(&case, |summary| ping_ms(summary, "ping", name))
    };
    let other = |with: &str, scheme: Scheme, name: &str| {
        results.sample(&format!("down, {scheme}, {with}"), |summary| {
            ping_ms(summary, "ping", name)
        })
    };
    let lower = |pings: [Sample; 2]| {
        Sample::combine(&pings, |medians| 100.0 * (1.0 - medians[0] / medians[1]))
    };
    findings.relate(
        "downloads: median ping of the fast, lower under fq-mac than under fq-codel by",
        "%",
        Printed::Figure(45.0),
        &lower([Scheme::FqMac, Scheme::FqCodel].map(|scheme| down(scheme, "fast"))),
        Bar::About(45.0, 10.0),
    );
    let pings = [Scheme::FqMac, Scheme::FqCodel].map(|scheme| lossless(scheme, "fast"));
    findings.variant(LOSSLESS, &lower(pings));
    for (with, _) in OTHER_DOWNLOADS {
        let pings = [Scheme::FqMac, Scheme::FqCodel].map(|scheme| other(with, scheme, "fast"));
        findings.variant(with, &lower(pings));
    }
    findings.ratio(
        "downloads: median ping of the slow under fq-mac over that of the fast under fq-codel",
        Printed::Figure(1.0),
        &(&down(Scheme::FqMac, "slow") / &down(Scheme::FqCodel, "fast")),
        Bar::About(1.0, 0.25),
    );
    findings.variant(
        LOSSLESS,
        &(&lossless(Scheme::FqMac, "slow") / &lossless(Scheme::FqCodel, "fast")),
    );
    findings.ratio(
        "downloads: median ping of the slow, airtime over fq-mac",
        Printed::Figure(1.0),
        &(&down(Scheme::Airtime, "slow") / &down(Scheme::FqMac, "slow")),
        Bar::About(1.0, 0.25),
    );
    findings.variant(
        LOSSLESS,
        &(&lossless(Scheme::Airtime, "slow") / &lossless(Scheme::FqMac, "slow")),
    );
    for (with, _) in OTHER_DOWNLOADS {
        let ping = |scheme| other(with, scheme, "slow");
        findings.variant(with, &(&ping(Scheme::Airtime) / &ping(Scheme::FqMac)));
    }
}

fn both_ways(findings: &mut Findings, results: &Results) {
    let six_packets = |scheme: Scheme| format!("both, {scheme}, {SIX_PACKETS}");
    let both = |scheme| ping(results, "both", scheme, "slow");
    findings.ratio(
        "both ways: median ping of the slow, airtime over fq-mac",
        Printed::Words("slightly worsens"),
        &(&both(Scheme::Airtime) / &both(Scheme::FqMac)),
        Bar::Between(1.0, 2.0),
    );
    let ping_of_six = |scheme| {
        results.sample(&six_packets(scheme), |summary| {
            ping_ms(summary, "ping", "slow")
        })
    };
    let six = &ping_of_six(Scheme::Airtime) / &ping_of_six(Scheme::FqMac);
    findings.variant(SIX_PACKETS, &six);
    let total = |scheme: Scheme| results.goodput_mbps(&format!("both, {scheme}"));
    let total_of_six = |scheme| results.goodput_mbps(&six_packets(scheme));
    for step in SCHEMES.windows(2) {
        findings.ratio(
            format!("both ways: total, {} over {}", step[1], step[0]),
            Printed::Words("similar to downloads: a net increase"),
            &(&total(step[1]) / &total(step[0])),
            Bar::AtLeast(1.0),
        );
        findings.variant(
            SIX_PACKETS,
            &(&total_of_six(step[1]) / &total_of_six(step[0])),
        );
    }
    let share = results.sample("both, airtime", |summary| counted_share(summary, "slow"));
    findings.relate(
        "both ways, airtime: the slow station's share of the stations' time",
        "%",
        Printed::Words("cannot enforce perfect fairness"),
        &(&share * 100.0),
        Bar::About(33.3, 10.0),
    );
}

/// "The other cases show similar relative performance between the different queue management
/// schemes" (§4.2.1): the order of Table 2, in which FQ-MAC and airtime fairness score the same.
fn calls(findings: &mut Findings, results: &Results) {
    let score = |scheme: Scheme| call_score(results, &format!("call, {scheme}"));
    let order = [
        (Scheme::Fifo, Scheme::FqCodel, Bar::AtMost(1.0)),
        (Scheme::FqCodel, Scheme::FqMac, Bar::AtMost(1.0)),
        // "less than half a percent".
        (Scheme::Airtime, Scheme::FqMac, Bar::About(1.0, 0.005)),
    ];
    for (scheme, other, bar) in order {
        findings.ratio(
            format!("MOS of a call to a fast station, BE, 5 ms, {scheme} over {other}"),
            Printed::Words("similar relative performance"),
            &(&score(scheme) / &score(other)),
            bar,
        );
    }
}

/// "We verify the in-kernel airtime measurement against a tool [...] that measures airtime from captures
/// taken with a monitor device. [They] agree to within 1.5%, on average" (§4.1.6).
fn counters(findings: &mut Findings, results: &Results) {
    let apart = |apart: fn(&StationSummary, [f64; 2]) -> Option<f64>| {
        let of_cases = SCHEMES.map(|scheme| {
            results.sample(&format!("down, {scheme}"), |summary| {
                let stations = &summary.stations;
                let on_channel = stations.iter().map(|station| station.airtime_share).sum();
                let counted: Option<f64> = stations
                    .iter()
                    .map(|station| station.counted_airtime_share)
                    .sum();
                let all = [counted?, on_channel];
                mean_if_complete(stations.iter().map(|station| apart(station, all)))
            })
        });
        Sample::combine(&of_cases, |percents| {
            percents.iter().sum::<f64>() / percents.len() as f64
        })
    };
    findings.relate(
        "downloads: airtime of a station by the driver's counter, apart from that on the channel by",
        "%",
        Printed::Figure(1.5),
        &apart(|station, _| {
            Some(100.0 * (station.counted_airtime_share? / station.airtime_share - 1.0).abs())
        }),
        Bar::AtMost(1.5),
    );
    findings.variant(
        "shares of the stations' time in place of airtime",
        &apart(|station, [counted, on_channel]| {
            let share = station.counted_airtime_share? / counted;
            Some(100.0 * (share - station.airtime_share / on_channel).abs())
        }),
    );
}

fn pages(findings: &mut Findings, results: &Results) {
    for page in ["small", "large"] {
        let load_s = |case: &str| {
            results.sample(case, |summary| {
                Some(flows(summary, "web").next()?.page_load_s?.mean)
            })
        };
        let longer = |suffix: &str| {
            let cases = [Scheme::Airtime, Scheme::FqMac]
                .map(|scheme| load_s(&format!("{page}, {scheme}{suffix}")));
            Sample::combine(&cases, |times| 100.0 * (times[0] / times[1] - 1.0))
        };
        findings.relate(
            format!("{page} page of the slow station: longer under airtime than under fq-mac by"),
            "%",
            Printed::Range(5.0, 10.0),
            &longer(""),
            Bar::Between(5.0, 10.0),
        );
        for (with, _) in OTHER_LOADS {
            findings.variant(with, &longer(&format!(", {with}")));
        }
        // A page of which the rate decides takes longer as the station's share of the air falls.
        let share = |scheme: Scheme| {
            results.sample(&format!("{page}, {scheme}"), |summary| {
                airtime_share(summary, "slow")
            })
        };
        let less = &share(Scheme::FqMac) / &share(Scheme::Airtime);
        findings.variant(
            "the airtime of the station under fq-mac beyond that under airtime in its place",
            &less.map(|ratio| 100.0 * (ratio - 1.0)),
        );
    }
}
