use super::super::case::{Case, Figures, Results};
use super::super::findings::{Bar, Findings};
use airpace_api::results::ArmResult;
use airpace_lab::demo::{self, ArmKind, DemoOptions};
use airpace_scenario::stop::Stop;
use anyhow::{Context as _, Result};

pub(super) const CLAIM: &str = "The same with real packets, the kernel's Cubic and BBR and the emulated access point: at least 80 % of Cubic's rate at a \
     twentieth of its delay or less, hardly any loss";

const ARMS: [ArmKind; 3] = [ArmKind::Cubic, ArmKind::Bbr, ArmKind::AirpaceUdp];

pub(super) fn cases() -> Vec<Case> {
    // Real time: once is enough, and two at a time would disturb each other.
    vec![Case::call("demo", arms).seeds(1)]
}

/// Runs the demo's arms on one station.
fn arms(seed: u64, stop: &Stop) -> Result<Figures> {
    let folder = std::env::temp_dir().join(format!("airpace-reproduce-{}", std::process::id()));
    let program =
        std::env::current_exe().context("finding this program to start proxies and agents from")?;
    let mut options = DemoOptions::new(folder.clone(), program);
    options.arms = ARMS.to_vec();
    options.cells = vec![vec![9]];
    options.seed = seed;
    let summary = demo::run(&options, stop);
    // What the row needs is in the summary; left behind at worst.
    let _ = std::fs::remove_dir_all(&folder);
    Ok(summary?.arms.iter().flat_map(figures).collect())
}

fn figures(arm: &ArmResult) -> [(String, Vec<f64>); 4] {
    let named = |what: &str, value: f64| (format!("{} {what}", arm.name), vec![value]);
    [
        named("goodput", arm.goodput_mbps),
        named("ping", arm.ping_ms.mean),
        named("loss", 100.0 * arm.loss),
        named("trusted", f64::from(u8::from(arm.trusted))),
    ]
}

pub(super) fn judge(results: &Results) -> Findings {
    let mut findings = Findings::default();
    let of = |arm: ArmKind, what: &str| results.figure("demo", &format!("{} {what}", arm.name()));
    let (ours, cubic) = (ArmKind::AirpaceUdp, ArmKind::Cubic);
    findings.ratio(
        "goodput, ours over Cubic",
        &(&of(ours, "goodput") / &of(cubic, "goodput")),
        Bar::AtLeast(0.8),
    );
    findings.ratio(
        "mean ping, ours over Cubic",
        &(&of(ours, "ping") / &of(cubic, "ping")),
        Bar::AtMost(0.05),
    );
    findings.relate(
        "ours: packets lost",
        "%",
        &of(ours, "loss"),
        Bar::AtMost(0.1),
    );
    for arm in ARMS {
        findings.relate(
            format!("{}: the emulator kept up", arm.name()),
            "",
            &of(arm, "trusted"),
            Bar::AtLeast(1.0),
        );
    }
    findings
}
