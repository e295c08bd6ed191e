use crate::reproduction::{Bar, Case, Figures, Findings, Printed, Results, Trial};
use airpace_scenario::stop::Stop;
use anyhow::Result;
use std::time::Duration;

pub(super) const CLAIM: &str = "The same with real packets, the kernel's Cubic and BBR and the \
     emulated access point: at least 80 % of Cubic's rate at a twentieth of its delay or less, \
     hardly any loss";

/// Packets that the access point holds for all stations: with fewer, the paper's Cubic would not wait for 50 ms at 600 Mbit/s.
pub const LIVE_BUFFER_PACKETS: u32 = 2_500;
/// Steady state of each download that is measured. The paper's are of 100 s: `--horizon 4`.
pub const LIVE_MEASURED: Duration = Duration::from_secs(25);

/// Runs downloads with real packets through an emulated access point. This crate has no sockets;
/// whoever calls it provides the test bed.
pub trait LiveTestbed: Sync {
    /// Runs a download to one station with 802.11ac, 80 MHz, MCS 9 and one stream, through an access point
    /// with a buffer of [`LIVE_BUFFER_PACKETS`], once per sender and in their order. Each is measured for
    /// [`LIVE_MEASURED`] multiplied by the trial's horizon. Not even other seeds run at the same time.
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
    /// Mean time of small packets from the server to the station under load, ms; `None` if none arrived.
    pub one_way_ms: Option<f64>,
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
            ("goodput", Some(download.goodput_mbps)),
            ("delay", download.one_way_ms),
            ("loss", Some(100.0 * download.loss)),
            ("trusted", Some(f64::from(u8::from(download.trusted)))),
        ] {
            figures.insert(format!("{} {what}", sender.name()), Vec::from_iter(value));
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
        "mean one-way delay, ours over Cubic",
        Printed::Figure(2.0 / 50.0),
        &(&figure(ours, "delay") / &figure(cubic, "delay")),
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
    let downloads = LiveSender::ALL.map(|sender| {
        let [goodput, delay] = ["goodput", "delay"].map(|what| figure(sender, what).mean());
        format!("{} {goodput:.0} Mbit/s at {delay:.1} ms", sender.name())
    });
    findings.note(downloads.join(", "));
    findings
}
