//! Figure 9: a download against Cubic and BBR.

use crate::reproduction::{Bar, Case, Findings, Printed, Results, Sample, flows};

pub(super) const TCP: &str = "One station for 100 s: 480 Mbit/s at 2 ms, against Cubic with 600 at 50 \
     ms and BBR with 400 at 75; ours has at least 80 % of Cubic's rate at a twentieth of its delay \
     or less, and hardly any loss";

const DOWNLOAD: &str = include_str!("../../../../scenarios/002-f9-tcp.toml");
/// Packets that the access point's queue holds. The paper does not say how many its own held.
const BUFFERS: [u32; 3] = [500, 1_000, 2_500];
const JUDGED_BUFFER: u32 = BUFFERS[2];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for packets in BUFFERS {
        let limit = format!("node.ap.queue.limit=\"{packets} packets\"");
        for congestion in ["cubic", "bbr"] {
            let setting = format!("flow.tcp.congestion=\"{congestion}\"");
            let case = Case::scenario(name(congestion, packets), DOWNLOAD, &[]);
            cases.push(case.set(setting).set(limit.clone()));
        }
        // The papers' prototype is the sender: it sends UDP at the allocated rate.
        let ours = Case::scenario(name("ours", packets), DOWNLOAD, &["proxy=[{ level = 32 }]"]);
        cases.push(
            ours.set("flow=[{ name = \"tcp\", kind = \"saturate\" }]")
                .set(limit),
        );
    }
    cases
}

fn name(sender: &str, packets: u32) -> String {
    format!("{sender}, {packets} packets")
}

/// Mean one-way delay, ms. That of the proxy counts from its release of the packets, because in the
/// paper the proxy is the sender.
fn delay_ms(results: &Results, case: &str) -> Sample {
    results.sample(case, |summary| {
        let flow = flows(summary, "tcp").next()?;
        let waited = flow.proxy_wait_ms.map_or(0.0, |wait| wait.mean);
        Some(flow.delay_ms?.mean - waited)
    })
}

pub(super) fn judge(results: &Results) -> Findings {
    let mut findings = Findings::default();
    let goodput = |sender: &str, packets| results.goodput_mbps(&name(sender, packets));
    let delay = |sender: &str, packets| delay_ms(results, &name(sender, packets));
    let rate_ratio = |packets| &goodput("ours", packets) / &goodput("cubic", packets);
    let delay_ratio = |packets| &delay("ours", packets) / &delay("cubic", packets);
    let others = || {
        BUFFERS
            .into_iter()
            .filter(|&packets| packets != JUDGED_BUFFER)
    };
    let queue = |packets: u32| format!("a queue of {packets} packets");
    findings.ratio(
        "goodput, ours over Cubic",
        Printed::Figure(480.0 / 600.0),
        &rate_ratio(JUDGED_BUFFER),
        Bar::AtLeast(0.8),
    );
    for packets in others() {
        findings.variant(queue(packets), &rate_ratio(packets));
    }
    findings.ratio(
        "mean one-way delay, ours over Cubic",
        Printed::Figure(2.0 / 50.0),
        &delay_ratio(JUDGED_BUFFER),
        Bar::AtMost(0.05),
    );
    for packets in others() {
        findings.variant(queue(packets), &delay_ratio(packets));
    }
    findings.relate(
        "ours: mean one-way delay from its release",
        "ms",
        Printed::Figure(2.0),
        &delay("ours", JUDGED_BUFFER),
        Bar::About(2.0, 1.0),
    );
    findings.relate(
        "Cubic: mean one-way delay",
        "ms",
        Printed::Figure(50.0),
        &delay("cubic", JUDGED_BUFFER),
        Bar::near(50.0, 0.3),
    );
    for packets in others() {
        findings.variant(queue(packets), &delay("cubic", packets));
    }
    findings.ratio(
        "goodput, BBR over Cubic",
        Printed::Figure(400.0 / 600.0),
        &(&goodput("bbr", JUDGED_BUFFER) / &goodput("cubic", JUDGED_BUFFER)),
        Bar::Below(1.0),
    );
    findings.relate(
        "ours: packets lost",
        "%",
        Printed::Words("a handful of around 4 million"),
        &results.loss_percent(&name("ours", JUDGED_BUFFER)),
        Bar::AtMost(0.001),
    );
    let mut figures = Vec::new();
    for sender in ["ours", "cubic", "bbr"] {
        let (goodput, delay) = (goodput(sender, JUDGED_BUFFER), delay(sender, JUDGED_BUFFER));
        figures.push(format!(
            "{sender} {:.0} Mbit/s at {:.1} ms",
            goodput.mean(),
            delay.mean()
        ));
    }
    findings.note(figures.join(", "));
    findings
}
