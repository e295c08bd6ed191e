use crate::reproduction::{Bar, Case, Figures, Findings, Printed, Results, line, mean, quantile};
use airpace_scenario::run::Finished;
use airpace_sim::mac::FrameRecord;
use airpace_sim::world::NodeId;
use airpace_units::Time;
use std::collections::BTreeMap;

pub(super) const TIMESTAMPS: &str = "At a low rate each packet has its own receive timestamp; \
     at a high rate bursts of packets share one";
pub(super) const LOSSES: &str = "With losses there are gaps and late arrivals, retransmissions are \
     sent in smaller frames, and the level that a station reports is within 5 % of the true one";
pub(super) const FLUCTUATING: &str = "On a fluctuating channel the delay of a frame's packets rises \
     with the frame's level, and the largest delays occur at a level of 64";

const TWO_STATIONS: &str = include_str!("../../../../scenarios/000-f2-timestamps.toml");
const LOSSY: &str = include_str!("../../../../scenarios/000-f3-losses.toml");
const FADING: &str = include_str!("../../../../scenarios/000-f4-fluctuating.toml");

pub(super) fn timestamp_cases() -> Vec<Case> {
    let at_rate = |name: &str, rate: &str| {
        Case::scenario(name, TWO_STATIONS, &[])
            .set(format!("flow.udp-cbr.rate=\"{rate}\""))
            .extract(shared_timestamps)
    };
    vec![at_rate("low", "10 Mbit/s"), at_rate("high", "150 Mbit/s")]
}

/// Share of the packets that have the same timestamp as the packet before, in per cent.
fn shared_timestamps(finished: &Finished) -> Figures {
    let (mut shared, mut all) = (0_u32, 0_u32);
    for flow in 0..finished.outcome.flows.len() {
        let packets = finished.outcome.packets.iter();
        let received: Vec<_> = packets
            .filter(|packet| packet.flow as usize == flow)
            .map(|packet| packet.received)
            .collect();
        let same = received.windows(2).filter(|pair| pair[0] == pair[1]);
        shared += same.count() as u32;
        all += received.len() as u32;
    }
    let share = 100.0 * f64::from(shared) / f64::from(all);
    Figures::from([("shared".to_owned(), vec![share])])
}

pub(super) fn timestamps(results: &Results) -> Findings {
    let mut findings = Findings::default();
    for (rate, words, bar) in [
        ("low", "a distinct timestamp", Bar::AtMost(1.0)),
        (
            "high",
            "bursts having the same timestamp",
            Bar::AtLeast(50.0),
        ),
    ] {
        findings.relate(
            format!("{rate} rate: packets that share their predecessor's timestamp"),
            "%",
            Printed::Words(words),
            &results.figure(rate, "shared"),
            bar,
        );
    }
    findings
}

pub(super) fn loss_cases() -> Vec<Case> {
    // The paper's access point has a chip of Broadcom.
    let case = |name: &str, driver: &str| {
        Case::scenario(name, LOSSY, &["channel.in_order=false"])
            .set(format!("node.ap.queue.driver=\"{driver}\""))
            .extract(corrections)
    };
    vec![case("lossy", "broadcom"), case("closed", "closed")]
}

/// `ratio`: the level that stations reported over the true one; `late`: packets that arrived after
/// later ones; `again`: MPDUs per frame with retransmissions over those per frame without.
fn corrections(finished: &Finished) -> Figures {
    let outcome = &finished.outcome;
    let (mut new_mpdus, mut with_retries, mut without_retries) = (vec![], vec![], vec![]);
    // Radio 0 is the access point.
    let is_downlink = |frame: &&FrameRecord| frame.from.0 == 0;
    for frame in outcome
        .frames
        .iter()
        .map(|(_, frame)| frame)
        .filter(is_downlink)
    {
        let new = frame.mpdus - frame.retries;
        // A frame of retransmissions alone is no sample of the level.
        if new > 0 {
            new_mpdus.push(f64::from(new));
        }
        if frame.retries > 0 {
            with_retries.push(f64::from(frame.mpdus));
        } else {
            without_retries.push(f64::from(frame.mpdus));
        }
    }
    let decisions = outcome.decisions.iter().flatten();
    let reported: Vec<f64> = decisions.filter_map(|slot| slot.level).collect();
    let mut late = 0_u32;
    for flow in 0..outcome.flows.len() {
        let mut highest = 0;
        for packet in &outcome.packets {
            if packet.flow as usize == flow {
                late += u32::from(packet.sequence < highest);
                highest = highest.max(packet.sequence);
            }
        }
    }
    let ratio = mean(&reported) / mean(&new_mpdus);
    let again = mean(&with_retries) / mean(&without_retries);
    Figures::from([
        ("ratio".to_owned(), vec![ratio]),
        ("late".to_owned(), vec![f64::from(late)]),
        ("again".to_owned(), vec![again]),
    ])
}

pub(super) fn losses(results: &Results) -> Findings {
    let mut findings = Findings::default();
    findings.ratio(
        "level, reported over true",
        Printed::Words("compensate for them when estimating the level"),
        &results.figure("lossy", "ratio"),
        Bar::About(1.0, 0.05),
    );
    findings.relate(
        "packets that arrived late",
        "",
        Printed::Words("out of order delivery"),
        &results.figure("lossy", "late"),
        Bar::Above(0.0),
    );
    findings.ratio(
        "MPDUs per frame with retransmissions over those per frame without",
        Printed::Words("often lower than for regular frames"),
        &results.figure("lossy", "again"),
        Bar::Below(1.0),
    );
    findings.variant(
        "retransmissions together with new packets",
        &results.figure("closed", "again"),
    );
    findings
}

/// A channel that fluctuates. The paper says what it was in its other measurements with the same
/// hardware: "almost always" three streams (§2.3), a mean PHY rate of 513 or 850 Mbit/s with the
/// short guard interval (footnote 6), people who move about (§6.3.1).
struct Office {
    name: &'static str,
    settings: [&'static str; 4],
}

/// In the figure, levels stay at 64 for some 1500 frames, which are three seconds: the gain
/// changes every two seconds, beside the fading by what moves. With 3 dB it is rarely so low that
/// the longest PPDU of 5.484 ms holds fewer than 64 packets, as at MCS 0; the last channel has
/// such fades.
const OFFICES: [Office; 3] = [
    Office {
        name: "513 Mbit/s on average",
        settings: [
            "node.station.distance=\"26 m\"",
            "channel.fading.k_factor=10",
            "channel.fading.coherence=\"50 ms\"",
            "channel.shadowing={ deviation = \"3 dB\", coherence = \"2 s\" }",
        ],
    },
    Office {
        name: "850 Mbit/s on average",
        settings: [
            "node.station.distance=\"17 m\"",
            "channel.fading.k_factor=10",
            "channel.fading.coherence=\"50 ms\"",
            "channel.shadowing={ deviation = \"3 dB\", coherence = \"2 s\" }",
        ],
    },
    Office {
        name: "fades down to MCS 0, which cannot send 64 packets in the longest PPDU",
        settings: [
            "node.station.distance=\"12 m\"",
            "channel.fading.k_factor=4",
            "channel.fading.coherence=\"500 ms\"",
            "channel.shadowing={ deviation = \"0 dB\" }",
        ],
    },
];
const JUDGED: &str = OFFICES[0].name;

pub(super) fn fluctuating_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for Office { name, settings } in OFFICES {
        let mut case = Case::scenario(name, FADING, &["record.packets=true"]);
        for setting in settings {
            case = case.set(setting);
        }
        cases.push(case.extract(frames_and_delays));
    }
    cases
}

/// Level and mean delay of the packets of each frame that reached a station after the warm-up: the
/// lists `level` and `delay_ms`.
fn frames_and_delays(finished: &Finished) -> Figures {
    let mut frames: BTreeMap<(NodeId, Time), (f64, f64)> = BTreeMap::new();
    for packet in &finished.outcome.packets {
        // The packets of a frame are handed over at its end.
        let frame = frames.entry((packet.to, packet.received)).or_default();
        frame.0 += 1.0;
        frame.1 += 1e3 * packet.received.since(packet.sent).as_secs_f64();
    }
    let levels = frames.values().map(|&(packets, _)| packets).collect();
    let delays = frames.values().map(|&(packets, delay)| delay / packets);
    Figures::from([
        ("level".to_owned(), levels),
        ("delay_ms".to_owned(), delays.collect()),
    ])
}

pub(super) fn fluctuating(results: &Results) -> Findings {
    let mut findings = Findings::default();
    let of_frames = |case: &str, statistic: fn(&[f64], &[f64]) -> f64| {
        results.of_runs(case, |run| {
            let (level, delay) = (run.figures.get("level")?, run.figures.get("delay_ms")?);
            Some(statistic(level, delay))
        })
    };
    let others = || {
        OFFICES
            .iter()
            .map(|office| office.name)
            .filter(|&name| name != JUDGED)
    };
    findings.ratio(
        "rank correlation of a frame's level and its packets' mean delay",
        Printed::Words("the level tends to rise with the delay"),
        &of_frames(JUDGED, rank_correlation),
        Bar::AtLeast(0.7),
    );
    for name in others() {
        findings.variant(name, &of_frames(name, rank_correlation));
    }
    findings.relate(
        "median level of the frames with the largest 2 % of delays",
        "",
        Printed::Figure(64.0),
        &of_frames(JUDGED, level_at_largest_delays),
        Bar::AtLeast(63.5),
    );
    for name in others() {
        findings.variant(name, &of_frames(name, level_at_largest_delays));
    }
    findings
}

fn level_at_largest_delays(level: &[f64], delay: &[f64]) -> f64 {
    let bound = quantile(delay, 0.98);
    let mut levels = Vec::new();
    for (&level, &delay) in level.iter().zip(delay) {
        if delay >= bound {
            levels.push(level);
        }
    }
    quantile(&levels, 0.5)
}

/// Spearman's rank correlation coefficient.
fn rank_correlation(a: &[f64], b: &[f64]) -> f64 {
    // Both lists of ranks have the same variance, so that the slope of the line is the coefficient.
    line(&ranks(a), &ranks(b)).slope
}

/// The place of each value in the sorted list of values.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
    let mut ranks = vec![0.0; values.len()];
    for (rank, &index) in order.iter().enumerate() {
        ranks[index] = rank as f64;
    }
    ranks
}
