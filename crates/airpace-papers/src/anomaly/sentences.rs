//! The sentences of section 4 that have no figure of their own.

use super::{SCHEMES, airtime_share, ping_ms, with_scheme};
use crate::reproduction::{Bar, Case, Findings, Printed, Results, Sample, flows};
use airpace_sim::mac::Scheme;

pub(super) const CLAIM: &str = "FQ-MAC cuts the fast stations' ping by another 45 % and the slow one's \
     to that of the fast under FQ-CoDel; with TCP both ways the airtime scheduler slightly worsens \
     the slow station's ping, and the throughput steps are those of downloads; a call to a fast \
     station is as good under each scheme as one to the slow, or better; the slow station's pages \
     take 5 to 10 % longer under airtime fairness";

const PING: &str = include_str!("../../../../scenarios/004-f1-latency.toml");
const VOIP: &str = include_str!("../../../../scenarios/004-t2-voip.toml");
const PAGES: &str = include_str!("../../../../scenarios/004-f11-web.toml");
/// Uploads beside the downloads.
const UPLOADS: &str = "flow.up.count=1";
const BULK: &str = include_str!("../../../../scenarios/004-f6-fairness.toml");

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for scheme in SCHEMES {
        cases.push(with_scheme(format!("down, {scheme}"), scheme, PING, &[]));
        cases.push(with_scheme(
            format!("both, {scheme}"),
            scheme,
            BULK,
            &[UPLOADS, PINGS],
        ));
        let to_fast = with_scheme(format!("call, {scheme}"), scheme, VOIP, &[]);
        cases.push(to_fast.set("flow.voip.to=\"fast-1\""));
    }
    for scheme in [Scheme::FqMac, Scheme::Airtime] {
        for page in ["small", "large"] {
            let case = with_scheme(format!("{page}, {scheme}"), scheme, PAGES, &[]);
            let swapped = case
                .set("flow.web.to=\"slow\"")
                .set("flow.slow-bulk.count=0")
                .set("flow.fast-bulk.count=1");
            cases.push(swapped.set(format!("flow.web.page=\"{page}\"")));
        }
    }
    cases
}

/// A ping to every station.
const PINGS: &str = "flow.ping.count=1";

pub(super) fn judge(results: &Results) -> Findings {
    let mut findings = Findings::default();
    pings(&mut findings, results);
    both_ways(&mut findings, results);
    calls(&mut findings, results);
    pages(&mut findings, results);
    findings
}

fn ping(results: &Results, kind: &str, scheme: Scheme, name: &str) -> Sample {
    results.sample(&format!("{kind}, {scheme}"), |summary| {
        ping_ms(summary, "ping", name)
    })
}

fn pings(findings: &mut Findings, results: &Results) {
    let down = |scheme, name| ping(results, "down", scheme, name);
    let lower = Sample::combine(
        &[down(Scheme::FqMac, "fast"), down(Scheme::FqCodel, "fast")],
        |medians| 100.0 * (1.0 - medians[0] / medians[1]),
    );
    findings.relate(
        "downloads: median ping of the fast, lower under fq-mac than under fq-codel by",
        "%",
        Printed::Figure(45.0),
        &lower,
        Bar::About(45.0, 10.0),
    );
    findings.ratio(
        "downloads: median ping of the slow under fq-mac over that of the fast under fq-codel",
        Printed::Figure(1.0),
        &(&down(Scheme::FqMac, "slow") / &down(Scheme::FqCodel, "fast")),
        Bar::About(1.0, 0.25),
    );
    findings.ratio(
        "downloads: median ping of the slow, airtime over fq-mac",
        Printed::Figure(1.0),
        &(&down(Scheme::Airtime, "slow") / &down(Scheme::FqMac, "slow")),
        Bar::About(1.0, 0.25),
    );
}

fn both_ways(findings: &mut Findings, results: &Results) {
    let both = |scheme| ping(results, "both", scheme, "slow");
    findings.ratio(
        "both ways: median ping of the slow, airtime over fq-mac",
        Printed::Words("slightly worsens"),
        &(&both(Scheme::Airtime) / &both(Scheme::FqMac)),
        Bar::Between(1.0, 2.0),
    );
    let total = |scheme: Scheme| results.goodput_mbps(&format!("both, {scheme}"));
    for step in SCHEMES.windows(2) {
        findings.ratio(
            format!("both ways: total, {} over {}", step[1], step[0]),
            Printed::Words("similar to downloads: a net increase"),
            &(&total(step[1]) / &total(step[0])),
            Bar::AtLeast(1.0),
        );
    }
    let share = results.sample("both, airtime", |summary| airtime_share(summary, "slow"));
    findings.relate(
        "both ways, airtime: the slow station's share of the stations' time",
        "%",
        Printed::Words("cannot enforce perfect fairness"),
        &(&share * 100.0),
        Bar::About(33.3, 10.0),
    );
}

fn calls(findings: &mut Findings, results: &Results) {
    for scheme in SCHEMES {
        let score = results.sample(&format!("call, {scheme}"), |summary| {
            flows(summary, "voip").next()?.network_mos
        });
        let good = matches!(scheme, Scheme::FqMac | Scheme::Airtime);
        findings.relate(
            format!("{scheme}: MOS of a call to a fast station, BE, 5 ms"),
            "",
            Printed::Words("similar relative performance"),
            &score,
            if good {
                Bar::AtLeast(4.35)
            } else {
                Bar::AtMost(4.35)
            },
        );
    }
}

fn pages(findings: &mut Findings, results: &Results) {
    for page in ["small", "large"] {
        let load_s = |scheme: Scheme| {
            results.sample(&format!("{page}, {scheme}"), |summary| {
                Some(flows(summary, "web").next()?.page_load_s?.mean)
            })
        };
        let longer = Sample::combine(&[load_s(Scheme::Airtime), load_s(Scheme::FqMac)], |times| {
            100.0 * (times[0] / times[1] - 1.0)
        });
        findings.relate(
            format!("{page} page of the slow station: longer under airtime than under fq-mac by"),
            "%",
            Printed::Range(5.0, 10.0),
            &longer,
            Bar::Between(5.0, 10.0),
        );
    }
}
