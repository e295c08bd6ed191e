use crate::reproduction::{Bar, Case, Figures, Findings, Printed, Results, Trial};
use airpace_scenario::stop::Stop;
use anyhow::Result;

pub(super) const CLAIM: &str = "The same with real packets, the kernel's Cubic and BBR and the \
     emulated access point: at least 80 % of Cubic's rate at a twentieth of its delay or less, \
     hardly any loss";

/// Runs downloads with real packets through an emulated access point. This crate has no sockets;
/// whoever calls it provides the test bed.
pub trait LiveTestbed: Sync {
    /// Runs a download to one station with 802.11ac, 80 MHz, MCS 9 and one stream, once per sender
    /// and in their order, each for the test bed's usual time multiplied by the trial's horizon.
    ///
    /// # Errors
    /// If the test bed cannot be set up, or `stop` was raised.
    fn downloads(
        &self,
        senders: &[LiveSender],
        trial: Trial,
        stop: &Stop,
    ) -> Result<Vec<LiveDownload>>;
}

/// Who sends a download.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LiveSender {
    /// The kernel's TCP with Cubic.
    Cubic,
    /// The kernel's TCP with BBR.
    Bbr,
    /// Our proxy: UDP at the allocated rate.
    AirpaceUdp,
}

impl LiveSender {
    const ALL: [Self; 3] = [Self::Cubic, Self::Bbr, Self::AirpaceUdp];

    const fn name(self) -> &'static str {
        match self {
            Self::Cubic => "cubic",
            Self::Bbr => "bbr",
            Self::AirpaceUdp => "airpace-udp",
        }
    }
}

/// The steady state of a download.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LiveDownload {
    /// Payload received, Mbit/s.
    pub goodput_mbps: f64,
    /// Mean round-trip time of pings under load, ms.
    pub mean_ping_ms: f64,
    /// Data packets lost, as a share.
    pub loss: f64,
    /// Whether the emulator kept up with real time.
    pub trusted: bool,
}

pub(super) fn cases() -> Vec<Case> {
    vec![Case::live("demo", download)]
}

fn download(testbed: &dyn LiveTestbed, trial: Trial, stop: &Stop) -> Result<Figures> {
    let downloads = testbed.downloads(&LiveSender::ALL, trial, stop)?;
    let mut figures = Figures::new();
    for (sender, download) in LiveSender::ALL.into_iter().zip(downloads) {
        for (what, value) in [
            ("goodput", download.goodput_mbps),
            ("ping", download.mean_ping_ms),
            ("loss", 100.0 * download.loss),
            ("trusted", f64::from(u8::from(download.trusted))),
        ] {
            figures.insert(format!("{} {what}", sender.name()), vec![value]);
        }
    }
    Ok(figures)
}

pub(super) fn judge(results: &Results) -> Findings {
    let mut findings = Findings::default();
    let figure = |sender: LiveSender, what: &str| {
        results.figure("demo", &format!("{} {what}", sender.name()))
    };
    let (ours, cubic) = (LiveSender::AirpaceUdp, LiveSender::Cubic);
    findings.ratio(
        "goodput, ours over Cubic",
        Printed::Figure(480.0 / 600.0),
        &(&figure(ours, "goodput") / &figure(cubic, "goodput")),
        Bar::AtLeast(0.8),
    );
    findings.ratio(
        "mean ping, ours over Cubic",
        Printed::Figure(2.0 / 50.0),
        &(&figure(ours, "ping") / &figure(cubic, "ping")),
        Bar::AtMost(0.05),
    );
    findings.relate(
        "ours: packets lost",
        "%",
        Printed::Words("a handful of around 4 million"),
        &figure(ours, "loss"),
        Bar::AtMost(0.1),
    );
    for sender in LiveSender::ALL {
        findings.relate(
            format!("{}: the emulator kept up", sender.name()),
            "",
            Printed::Ours,
            &figure(sender, "trusted"),
            Bar::AtLeast(1.0),
        );
    }
    findings
}
