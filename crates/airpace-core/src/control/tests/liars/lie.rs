//! What a station can say instead of the truth.

use super::draws::Draws;
use crate::report::SlotReport;

/// How a station's reports differ from the truth: factors of what it measured.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Lie {
    pub(super) phy: f64,
    pub(super) frames: f64,
    pub(super) packets: f64,
    pub(super) bytes: f64,
    pub(super) span: f64,
    pub(super) wait: f64,
    /// Waiting time added, seconds.
    pub(super) wait_s: f64,
    /// Packets claimed as lost and as late, as shares of those received.
    pub(super) lost: f64,
    pub(super) late: f64,
    pub(super) longest: Option<u32>,
    /// The first slot with a lie.
    pub(super) begins: u64,
    /// Slots in which the claimed PHY rate moves from the true to the false one.
    pub(super) ramp: u64,
    /// The station lies, or says nothing, in slots of this length out of two such lengths; in all
    /// slots if it is zero.
    pub(super) alternates: u64,
    pub(super) is_silent: bool,
}

pub(super) const TRUTH: Lie = Lie {
    phy: 1.0,
    frames: 1.0,
    packets: 1.0,
    bytes: 1.0,
    span: 1.0,
    wait: 1.0,
    wait_s: 0.0,
    lost: 0.0,
    late: 0.0,
    longest: None,
    begins: 0,
    ramp: 0,
    alternates: 0,
    is_silent: false,
};

impl Lie {
    /// Any lie.
    pub(super) fn draw(draws: &mut Draws) -> Self {
        let mut lie = TRUTH;
        for parameter in 0..Self::PARAMETERS {
            lie.redraw(parameter, draws);
        }
        lie
    }

    pub(super) const PARAMETERS: u64 = 13;

    /// The same lie with one parameter or two changed, by a little or altogether.
    pub(super) fn mutated(mut self, draws: &mut Draws) -> Self {
        for _ in 0..=draws.below(2) {
            let parameter = draws.below(Self::PARAMETERS);
            if draws.uniform() < 0.5 {
                self.redraw(parameter, draws);
            } else {
                self.nudge(parameter, draws);
            }
        }
        self
    }

    fn redraw(&mut self, parameter: u64, draws: &mut Draws) {
        match parameter {
            // Beyond the fastest PHY rate of the standard a claim is not believed at all.
            0 => self.phy = draws.factor(5.0),
            1 => self.frames = draws.factor(4.6),
            2 => self.packets = draws.factor(4.6),
            3 => self.bytes = draws.factor(4.6),
            4 => self.span = draws.factor(4.6),
            5 => self.wait = draws.factor(4.6),
            6 => self.wait_s = draws.or_zero(0.3),
            7 => self.lost = draws.or_zero(2.0),
            8 => self.late = draws.or_zero(2.0),
            9 => self.longest = (draws.uniform() < 0.5).then(|| 1 + draws.below(3000) as u32),
            10 => self.begins = [0, 0, 5, 30][draws.below(4) as usize],
            11 => self.ramp = [0, 0, 10, 40][draws.below(4) as usize],
            _ => {
                self.alternates = draws.below(16).saturating_sub(4);
                self.is_silent = draws.uniform() < 0.1;
            }
        }
    }

    fn nudge(&mut self, parameter: u64, draws: &mut Draws) {
        let factor = (draws.uniform() - 0.5).exp();
        match parameter {
            0 => self.phy *= factor,
            1 => self.frames *= factor,
            2 => self.packets *= factor,
            3 => self.bytes *= factor,
            4 => self.span *= factor,
            5 => self.wait *= factor,
            6 => self.wait_s *= factor,
            7 => self.lost *= factor,
            8 => self.late *= factor,
            10 => self.begins = (self.begins + draws.below(10)) % 40,
            11 => self.ramp = (self.ramp + draws.below(10)) % 50,
            _ => self.alternates = (self.alternates + draws.below(3)) % 16,
        }
    }

    /// The same lie with one parameter true.
    pub(super) fn without(mut self, parameter: u64) -> Self {
        match parameter {
            0 => self.phy = TRUTH.phy,
            1 => self.frames = TRUTH.frames,
            2 => self.packets = TRUTH.packets,
            3 => self.bytes = TRUTH.bytes,
            4 => self.span = TRUTH.span,
            5 => self.wait = TRUTH.wait,
            6 => self.wait_s = TRUTH.wait_s,
            7 => self.lost = TRUTH.lost,
            8 => self.late = TRUTH.late,
            9 => self.longest = TRUTH.longest,
            10 => self.begins = TRUTH.begins,
            11 => self.ramp = TRUTH.ramp,
            12 => self.alternates = TRUTH.alternates,
            _ => self.is_silent = TRUTH.is_silent,
        }
        self
    }

    /// What the lie is about, with signs that say in which direction it differs from the truth.
    pub(super) fn class(&self) -> String {
        let sign = |factor: f64| match factor {
            1.0 => "",
            f if f > 1.0 => "+",
            _ => "-",
        };
        let factors = [
            ("phy", self.phy),
            ("frames", self.frames),
            ("packets", self.packets),
            ("bytes", self.bytes),
            ("span", self.span),
            ("wait", self.wait),
        ];
        let mut parts: Vec<String> = factors
            .iter()
            .filter(|(_, factor)| *factor != 1.0)
            .map(|(name, factor)| format!("{name}{}", sign(*factor)))
            .collect();
        let flags = [
            ("wait_s", self.wait_s > 0.0),
            ("lost", self.lost > 0.0),
            ("late", self.late > 0.0),
            ("longest", self.longest.is_some()),
            ("ramp", self.ramp > 0),
            ("alternates", self.alternates > 0),
            ("silent", self.is_silent),
        ];
        parts.extend(flags.iter().filter(|f| f.1).map(|f| f.0.to_owned()));
        parts.join(" ")
    }

    pub(super) fn is_told_in(&self, slot: u64) -> bool {
        let Some(since) = slot.checked_sub(self.begins) else {
            return false;
        };
        *self != TRUTH && (self.alternates == 0 || (since / self.alternates).is_multiple_of(2))
    }

    /// Replaces the truth in `report`, that of slot `slot`.
    pub(super) fn tell(&self, slot: u64, report: &mut SlotReport) {
        let scaled = |count: u32, factor: f64| (f64::from(count) * factor) as u32;
        let since = slot.saturating_sub(self.begins) as f64;
        let ramped = if self.ramp == 0 {
            1.0
        } else {
            (since / self.ramp as f64).min(1.0)
        };
        report.inverse_rate_sum /= self.phy.powf(ramped);
        report.packets = scaled(report.packets, self.packets);
        let frames = scaled(report.frames, self.frames).min(report.packets);
        report.inverse_rate_sum *= f64::from(frames) / f64::from(report.frames.max(1));
        report.frames = frames;
        report.mpdus = report.packets;
        report.bytes = (report.bytes as f64 * self.bytes) as u64;
        report.lost += scaled(report.packets, self.lost);
        report.late = scaled(report.packets, self.late);
        report.longest_frame = self.longest.unwrap_or(report.longest_frame);
        if report.frames == 0 {
            (report.span, report.packets, report.mpdus) = (None, 0, 0);
        }
        if let Some((first, last)) = &mut report.span {
            let span = last.saturating_since(*first).mul_f64(self.span);
            *last = first.saturating_add(span);
        }
        if let Some(wait) = &mut report.wait {
            for time in [&mut wait.mean, &mut wait.p50, &mut wait.p95, &mut wait.p99] {
                *time = time.mul_f64(self.wait) + core::time::Duration::from_secs_f64(self.wait_s);
            }
        }
    }
}
