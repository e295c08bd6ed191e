use super::{MAGNITUDE, SCHEMES, with_scheme};
use crate::reproduction::{Bar, Case, Findings, Results, Sample, flows};
use airpace_sim::mac::Scheme;

pub(super) const VOICE: &str = "A call to the slow station beside bulk to all: best effort is \
     useless under FIFO and FQ-CoDel (MOS 1.0 to 1.24) and as good as can be under FQ-MAC and \
     airtime fairness (4.35 or more of 4.41); throughput grows from FQ-CoDel to FIFO, FQ-MAC and \
     airtime fairness";
pub(super) const WEB: &str = "Pages of a fast station beside a download of the slow one: slowest \
     under FIFO (the large page takes tens of seconds), an order of magnitude better with FQ-CoDel, \
     best with airtime fairness";

const VOIP: &str = include_str!("../../../../scenarios/004-t2-voip.toml");
const PAGES: &str = include_str!("../../../../scenarios/004-f11-web.toml");

/// The paper's names of the access categories of the call, and ours.
const CATEGORIES: [(&str, &str); 2] = [("VO", "voice"), ("BE", "best-effort")];
const DELAYS: [&str; 2] = ["5 ms", "50 ms"];
/// The schemes from the least throughput to the most, as in Table 2.
const BY_THROUGHPUT: [Scheme; 4] = [
    Scheme::FqCodel,
    Scheme::Fifo,
    Scheme::FqMac,
    Scheme::Airtime,
];

pub(super) fn voice_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (mark, category) in CATEGORIES {
        for delay in DELAYS {
            for scheme in SCHEMES {
                let name = format!("{scheme}, {mark}, {delay}");
                let case = with_scheme(name, scheme, VOIP, &[])
                    .set(format!("flow.voip.category=\"{category}\""))
                    .set(format!("wire.0.delay=\"{delay}\""));
                cases.push(case);
            }
        }
    }
    cases
}

pub(super) fn voice(results: &Results) -> Findings {
    let mut findings = Findings::default();
    findings.note(
        "the score is computed from the network's mean delay and loss, without a jitter buffer; the \
         paper names delay, jitter and loss and prints no formula",
    );
    for delay in DELAYS {
        for scheme in SCHEMES {
            let score = results.sample(&format!("{scheme}, BE, {delay}"), |summary| {
                flows(summary, "voip").next()?.network_mos
            });
            // The paper prints 1.00 to 1.24 for the first two schemes, 4.37 and 4.39 for the
            // others.
            let bar = if matches!(scheme, Scheme::Fifo | Scheme::FqCodel) {
                Bar::AtMost(1.3)
            } else {
                Bar::AtLeast(4.35)
            };
            findings.relate(format!("{scheme}, BE, {delay}: MOS"), "", &score, bar);
        }
    }
    for (mark, _) in CATEGORIES {
        for delay in DELAYS {
            for pair in BY_THROUGHPUT.windows(2) {
                let (before, after) = (pair[0], pair[1]);
                let goodput =
                    |scheme: Scheme| bulk_mbps(results, &format!("{scheme}, {mark}, {delay}"));
                findings.ratio(
                    format!("{mark}, {delay}: throughput, {after} over {before}"),
                    &(&goodput(after) / &goodput(before)),
                    Bar::Above(1.0),
                );
            }
        }
    }
    findings.because(
        "BE",
        "the printed scores of FIFO and FQ-CoDel point to lost packets (by G.107 the delay alone \
         leaves 3 to 4 at 300 ms). Here few packets of a call meet a full queue, and a channel that \
         loses 15 % of the MPDUs changes little (3.4 for FQ-CoDel), as the MAC sends them again",
    );
    findings
}

/// Goodput of the bulk flows, Mbit/s.
fn bulk_mbps(results: &Results, case: &str) -> Sample {
    results.sample(case, |summary| {
        Some(flows(summary, "bulk").map(|flow| flow.goodput_mbps).sum())
    })
}

pub(super) fn web_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for page in ["small", "large"] {
        for scheme in SCHEMES {
            let case = with_scheme(format!("{page}, {scheme}"), scheme, PAGES, &[]);
            cases.push(case.set(format!("flow.web.page=\"{page}\"")));
        }
    }
    cases
}

pub(super) fn web(results: &Results) -> Findings {
    let mut findings = Findings::default();
    let load_s = |page: &str, scheme: Scheme| {
        results.sample(&format!("{page}, {scheme}"), |summary| {
            let flow = flows(summary, "web").next()?;
            Some(flow.page_load_s?.mean)
        })
    };
    // "35 seconds for the FIFO case". From ten on they are tens.
    findings.relate(
        "large, fifo: page load time",
        "s",
        &load_s("large", Scheme::Fifo),
        Bar::AtLeast(10.0),
    );
    for page in ["small", "large"] {
        findings.ratio(
            format!("{page}: page load time, fifo over fq-codel"),
            &(&load_s(page, Scheme::Fifo) / &load_s(page, Scheme::FqCodel)),
            Bar::AtLeast(MAGNITUDE),
        );
        for &scheme in &SCHEMES[..3] {
            findings.ratio(
                format!("{page}: page load time, {scheme} over airtime"),
                &(&load_s(page, scheme) / &load_s(page, Scheme::Airtime)),
                Bar::Above(1.0),
            );
        }
    }
    findings
}
