use super::super::case::{Case, Figures, Results};
use super::super::findings::{Bar, Findings};
use super::super::sample::Sample;
use super::super::series::{level_and_delay, mean, quantile};
use airpace_scenario::run::Finished;

pub(super) const TIMESTAMPS: &str = "At a low rate each packet has its own receive timestamp, at a high one bursts of packets share one";
pub(super) const LOSSES: &str = "With losses there are holes and late arrivals, retransmissions come in smaller frames, and the level that a station \
     reports is within 5 % of the true one";
pub(super) const FLUCTUATING: &str = "On a channel that fluctuates delay rises with the level, and the largest delays come at a level of 64";

const TWO_STATIONS: &str = include_str!("../../../../scenarios/000-f2-timestamps.toml");
const LOSSY: &str = include_str!("../../../../scenarios/000-f3-losses.toml");
const FADING: &str = include_str!("../../../../scenarios/000-f4-fluctuating.toml");

pub(super) fn timestamp_cases() -> Vec<Case> {
    let at = |name: &str, rate: &str| {
        Case::scenario(name, TWO_STATIONS, &[])
            .set(format!("flow.udp-cbr.rate=\"{rate}\""))
            .extract(shared_timestamps)
    };
    vec![at("low", "10 Mbit/s"), at("high", "150 Mbit/s")]
}

/// Share of the packets that have the timestamp of the packet before, in per cent.
fn shared_timestamps(finished: &Finished) -> Figures {
    let (mut shared, mut all) = (0_u32, 0_u32);
    for flow in 0..finished.outcome.flows.len() {
        let received: Vec<_> = finished
            .outcome
            .packets
            .iter()
            .filter(|p| p.flow as usize == flow)
            .map(|p| p.received)
            .collect();
        shared += received
            .windows(2)
            .filter(|pair| pair[0] == pair[1])
            .count() as u32;
        all += received.len() as u32;
    }
    Figures::from([(
        "shared".to_owned(),
        vec![100.0 * f64::from(shared) / f64::from(all)],
    )])
}

pub(super) fn timestamps(results: &Results) -> Findings {
    let mut findings = Findings::default();
    let what =
        |rate: &str| format!("{rate} rate: packets that share their predecessor's timestamp");
    findings.relate(
        what("low"),
        "%",
        &results.figure("low", "shared"),
        Bar::AtMost(1.0),
    );
    findings.relate(
        what("high"),
        "%",
        &results.figure("high", "shared"),
        Bar::AtLeast(50.0),
    );
    findings
}

pub(super) fn loss_cases() -> Vec<Case> {
    vec![Case::scenario("lossy", LOSSY, &["channel.in_order=false"]).extract(corrections)]
}

/// The level that stations reported over the true one; packets that came after later ones; MPDUs per frame with retransmissions over those
/// without.
fn corrections(finished: &Finished) -> Figures {
    let outcome = &finished.outcome;
    let frames: Vec<_> = outcome
        .frames
        .iter()
        .map(|(_, frame)| frame)
        .filter(|frame| frame.from.0 == 0)
        .collect();
    let size = |of: &dyn Fn(&airpace_sim::mac::FrameRecord) -> Option<u16>| {
        mean(
            &frames
                .iter()
                .filter_map(|frame| of(frame).map(f64::from))
                .collect::<Vec<_>>(),
        )
    };
    let true_level = size(&|frame| Some(frame.mpdus - frame.retries).filter(|&fresh| fresh > 0));
    let again = size(&|frame| Some(frame.mpdus).filter(|_| frame.retries > 0));
    let fresh = size(&|frame| Some(frame.mpdus).filter(|_| frame.retries == 0));
    let reported: Vec<f64> = outcome
        .decisions
        .iter()
        .flatten()
        .filter_map(|slot| slot.level)
        .collect();
    let mut late = 0_u32;
    for flow in 0..outcome.flows.len() {
        let mut highest = 0;
        for packet in outcome
            .packets
            .iter()
            .filter(|packet| packet.flow as usize == flow)
        {
            late += u32::from(packet.sequence < highest);
            highest = highest.max(packet.sequence);
        }
    }
    Figures::from([
        ("ratio".to_owned(), vec![mean(&reported) / true_level]),
        ("late".to_owned(), vec![f64::from(late)]),
        ("again".to_owned(), vec![again / fresh]),
    ])
}

pub(super) fn losses(results: &Results) -> Findings {
    let mut findings = Findings::default();
    findings.ratio(
        "level, reported over true",
        &results.figure("lossy", "ratio"),
        Bar::About(1.0, 0.05),
    );
    findings.relate(
        "packets that came late",
        "",
        &results.figure("lossy", "late"),
        Bar::Above(0.0),
    );
    let what = "MPDUs of frames with retransmissions over those of others";
    findings.ratio(what, &results.figure("lossy", "again"), Bar::Below(1.0));
    findings.because(
        what,
        "our access point, like ns-3's, sends lost packets again in the next frame together with new ones, as 802.11 allows; the paper's sends them in \
         frames of their own",
    );
    findings
}

pub(super) fn fluctuating_cases() -> Vec<Case> {
    vec![Case::scenario("fading", FADING, &[]).extract(level_and_delay)]
}

pub(super) fn fluctuating(results: &Results) -> Findings {
    let mut findings = Findings::default();
    let series = |of: fn(&[f64], &[f64]) -> f64| {
        results.of_runs("fading", |run| {
            Some(of(run.figures.get("level")?, run.figures.get("delay_ms")?))
        })
    };
    findings.ratio(
        "rank correlation of level and delay",
        &series(rank_correlation),
        Bar::AtLeast(0.7),
    );
    let at_largest: Sample = series(level_at_largest_delays);
    findings.relate(
        "median level of the slots with the largest 2 % of delays",
        "",
        &at_largest,
        Bar::AtLeast(60.0),
    );
    findings.because(
        "largest",
        "at low PHY rates the limit on a frame's duration, 5.484 ms, holds it below 64 packets",
    );
    findings
}

fn level_at_largest_delays(level: &[f64], delay: &[f64]) -> f64 {
    let bound = quantile(delay, 0.98);
    let at: Vec<f64> = level
        .iter()
        .zip(delay)
        .filter(|(_, delay)| **delay >= bound)
        .map(|(level, _)| *level)
        .collect();
    quantile(&at, 0.5)
}

/// Spearman's coefficient.
fn rank_correlation(a: &[f64], b: &[f64]) -> f64 {
    let ranks = |values: &[f64]| {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
        let mut ranks = vec![0.0; values.len()];
        order
            .iter()
            .enumerate()
            .for_each(|(rank, &at)| ranks[at] = rank as f64);
        ranks
    };
    let points: Vec<(f64, f64)> = ranks(a).into_iter().zip(ranks(b)).collect();
    // Ranks have the same variance, so the slope is the coefficient.
    super::super::series::line(&points).0
}
