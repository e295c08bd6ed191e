//! Figure 9: a download against Cubic and BBR.

use crate::reproduction::{Bar, Case, Findings, Printed, Results, Sample, flows};

pub(super) const TCP: &str = "One station for 100 s: 480 Mbit/s at 2 ms, against Cubic with 600 at 50 \
     ms and BBR with 400 at 75; ours has at least 80 % of Cubic's rate at a twentieth of its delay \
     or less, and hardly any loss";

const DOWNLOAD: &str = include_str!("../../../../scenarios/002-f9-tcp.toml");
/// A test bed. In the paper's "a Linux server [is] connected to this AP via a gigabit switch", and
/// A-MSDUs have two packets (§6.1.2). Its one-way delay is "the time between when a packet is passed
/// into the socket in the sender and when it is received", so that a packet is sent twice before
/// it is at the access point, by the server and by the switch. The paper does not say how many packets
/// the access point's queue holds. Its 600 Mbit/s at 50 ms are 2500 packets on average, so that it
/// holds as many at least.
struct Testbed {
    name: &'static str,
    queue_packets: u32,
    amsdu: &'static str,
    wire: &'static str,
}

const JUDGED: Testbed = Testbed {
    name: "the paper's test bed",
    queue_packets: 2_500,
    amsdu: "3100 B",
    wire: THROUGH_THE_SWITCH,
};
/// 100 µs, and 12 in which the switch sends a packet of 1536 bytes again, with its preamble.
const THROUGH_THE_SWITCH: &str = "112 us";
const OTHERS: [Testbed; 4] = [
    Testbed {
        name: "a queue of 500 packets",
        queue_packets: 500,
        ..JUDGED
    },
    Testbed {
        name: "a queue of 1000 packets",
        queue_packets: 1_000,
        ..JUDGED
    },
    Testbed {
        name: "one packet in each A-MSDU",
        amsdu: "1600 B",
        ..JUDGED
    },
    Testbed {
        name: "1 ms between server and access point",
        wire: "1 ms",
        ..JUDGED
    },
];

impl Testbed {
    fn case(&self, sender: &str) -> Case {
        let case = Case::scenario(name(sender, self), DOWNLOAD, &[])
            .set(format!(
                "node.ap.queue.limit=\"{} packets\"",
                self.queue_packets
            ))
            .set(format!("channel.amsdu=\"{}\"", self.amsdu))
            .set(format!("wire.0.delay=\"{}\"", self.wire));
        if sender == OURS {
            // The papers' prototype is the sender: it sends UDP at the allocated rate.
            // The paper's limit of the level (§5.4.2, §6.2), and its target (§6.3.2).
            case.set("proxy=[{ level = 48, delay = \"10 ms\" }]")
                .set("flow=[{ name = \"tcp\", kind = \"saturate\" }]")
        } else {
            case.set(format!("flow.tcp.congestion=\"{sender}\""))
        }
    }
}

const OURS: &str = "ours";

pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![JUDGED.case("bbr")];
    for testbed in OTHERS.iter().chain([&JUDGED]) {
        cases.extend([OURS, "cubic"].map(|sender| testbed.case(sender)));
    }
    cases
}

fn name(sender: &str, testbed: &Testbed) -> String {
    format!("{sender}, {}", testbed.name)
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
    let goodput = |sender: &str, testbed: &Testbed| results.goodput_mbps(&name(sender, testbed));
    let delay = |sender: &str, testbed: &Testbed| delay_ms(results, &name(sender, testbed));
    let rate_ratio = |testbed: &Testbed| &goodput(OURS, testbed) / &goodput("cubic", testbed);
    let delay_ratio = |testbed: &Testbed| &delay(OURS, testbed) / &delay("cubic", testbed);
    findings.ratio(
        "goodput, ours over Cubic",
        Printed::Figure(480.0 / 600.0),
        &rate_ratio(&JUDGED),
        Bar::AtLeast(0.8),
    );
    for other in &OTHERS {
        findings.variant(other.name, &rate_ratio(other));
    }
    findings.ratio(
        "mean one-way delay, ours over Cubic",
        Printed::Figure(2.0 / 50.0),
        &delay_ratio(&JUDGED),
        Bar::AtMost(0.05),
    );
    for other in &OTHERS {
        findings.variant(other.name, &delay_ratio(other));
    }
    findings.relate(
        "ours: mean one-way delay from its release",
        "ms",
        Printed::Figure(2.0),
        &delay(OURS, &JUDGED),
        Bar::About(2.0, 1.0),
    );
    for other in &OTHERS {
        findings.variant(other.name, &delay(OURS, other));
    }
    findings.relate(
        "Cubic: mean one-way delay",
        "ms",
        Printed::Figure(50.0),
        &delay("cubic", &JUDGED),
        Bar::near(50.0, 0.3),
    );
    for other in &OTHERS {
        findings.variant(other.name, &delay("cubic", other));
    }
    findings.ratio(
        "goodput, BBR over Cubic",
        Printed::Figure(400.0 / 600.0),
        &(&goodput("bbr", &JUDGED) / &goodput("cubic", &JUDGED)),
        Bar::Below(1.0),
    );
    findings.relate(
        "ours: packets lost",
        "%",
        Printed::Words("a handful of around 4 million"),
        &results.loss_percent(&name(OURS, &JUDGED)),
        Bar::AtMost(0.001),
    );
    let mut figures = Vec::new();
    for sender in [OURS, "cubic", "bbr"] {
        let (goodput, delay) = (goodput(sender, &JUDGED), delay(sender, &JUDGED));
        figures.push(format!(
            "{sender} {:.0} Mbit/s at {:.1} ms",
            goodput.mean(),
            delay.mean()
        ));
    }
    findings.note(figures.join(", "));
    findings.note(
        "the paper's BBR waited for 75 ms, which the paper puts down to the end hosts' kernels; so its delay is \
         not judged",
    );
    findings
}
