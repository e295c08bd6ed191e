//! What `airpace tool responsiveness` prints for people.

use airpace_lab::quality::Grade;
use airpace_lab::results::Quantiles;
use airpace_lab::tool::responsiveness::Report;

/// The verdict in one line, and the figures behind it.
pub(super) fn text(report: &Report) -> String {
    let mut text = verdict(report);
    let found = report.responsiveness;
    let connections = report.intervals.last().map_or(0, |last| last.connections);
    text.push_str(&format!(
        "\n\nround trips per minute: {} on connections of their own, {} on those that carry load\n",
        whole(found.foreign_rpm),
        whole(found.loaded_rpm)
    ));
    text.push_str(&format!(
        "goodput: {:.1} Mbit/s on {connections} connections\n",
        report.goodput_mbps
    ));
    let rows = [
        ("handshakes", report.connect_ms),
        ("requests", report.request_ms),
        ("requests under load", report.loaded_ms),
    ];
    for (name, durations) in rows {
        text.push_str(&format!("{name}: {}\n", quantiles(&durations)));
    }
    if report.probe_loss > 0.0 {
        let percent = 100.0 * report.probe_loss;
        text.push_str(&format!("probes without an answer: {percent:.1} %\n"));
    }
    text.push_str(&format!(
        "Quality of Outcome of a video call: {} of 100\n",
        whole(report.qoo)
    ));
    if !report.is_stable {
        text.push_str(
            "goodput or round trips were not stable at the end: a longer --for tells more\n",
        );
    }
    text
}

/// The verdict in plain words.
fn verdict(report: &Report) -> String {
    let Some((rpm, grade)) = report.responsiveness.rpm.zip(report.grade) else {
        return "Responsiveness: unknown, too few probes were answered under load".to_owned();
    };
    let words = match grade {
        Grade::Poor => "calls and games stall while others load",
        Grade::Fair => "calls work, with pauses that are noticed",
        Grade::Good => "calls are good, fast games notice the load",
        Grade::Excellent => "nobody notices the load",
    };
    format!(
        "Responsiveness: {}, {rpm:.0} round trips per minute under load, {:.0} ms each ({words})",
        grade.name(),
        60_000.0 / rpm
    )
}

fn whole(value: Option<f64>) -> String {
    value.map_or_else(|| "unknown".to_owned(), |value| format!("{value:.0}"))
}

fn quantiles(durations: &Quantiles) -> String {
    if durations.count == 0 {
        return "none was answered".to_owned();
    }
    format!(
        "median {:.1} ms, 95 of 100 within {:.1} ms, 99 within {:.1} ms",
        durations.p50, durations.p95, durations.p99
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use airpace_lab::quality::Responsiveness;
    use airpace_lab::tool::responsiveness::Settings;

    fn report(rpm: Option<f64>) -> Report {
        let at = "10.0.0.1:5201".parse().expect("an address");
        Report {
            settings: Settings::new(at),
            responsiveness: Responsiveness {
                foreign_rpm: rpm,
                loaded_rpm: rpm,
                rpm,
            },
            grade: rpm.map(Grade::of),
            is_stable: false,
            goodput_mbps: 93.2,
            qoo: Some(63.4),
            probe_loss: 0.02,
            connect_ms: Quantiles::default(),
            request_ms: Quantiles::default(),
            loaded_ms: Quantiles::default(),
            intervals: Vec::new(),
        }
    }

    #[test]
    fn the_first_line_is_a_verdict() {
        let text = text(&report(Some(585.0)));
        let first = "Responsiveness: fair, 585 round trips per minute under load, 103 ms each (calls \
                     work, with pauses that are noticed)";
        assert_eq!(text.lines().next(), Some(first));
        for words in ["93.2 Mbit/s", "63 of 100", "2.0 %", "not stable"] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }

    #[test]
    fn without_answers_the_verdict_says_so() {
        let first = verdict(&report(None));
        assert!(first.starts_with("Responsiveness: unknown"), "{first}");
    }
}
