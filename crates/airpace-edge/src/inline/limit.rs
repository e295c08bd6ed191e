//! What limits a station, and why, in words for an operator.
//!
//! The figures are means of about the last second. The first of the causes that applies is told, in
//! the order of [`LimitedBy`]'s documentation in `docs/operate.md`; it replaces the one before when
//! that has not applied for two seconds ([`ToldCause`](super::ToldCause)).

use super::status::StationStatus;
use super::watch::{LostSensor, has_level};
use airpace_core::report::Sensor;
use airpace_core::sensor::wired::WiredRoundTrip;
use core::time::Duration;
use strum::{Display, EnumIter, IntoStaticStr};

/// A station that is sent less than this has nothing to do, bits per second: pings and keep-alives.
const IDLE_BPS: f64 = 50e3;
/// A station uses its rate if it is sent at least this share of it. TCP that backs off leaves a part.
const USED_SHARE: f64 = 0.7;
/// Least share of the packets that wait for the pacer while the rate limits the station.
const HELD_SHARE: f64 = 0.3;
/// Packets that wait at the end of so many slots are a standing queue, whatever is sent.
const QUEUED_SHARE: f64 = 0.8;
/// A PHY rate of at most this share of the fastest active station's is slow: most of the air goes to
/// few packets.
const SLOW_SHARE: f64 = 1.0 / 3.0;
/// A PHY rate below this is slow in any company, bit/s: fewer than 16 full-sized packets fit into the
/// longest frame (5.484 ms).
const SLOW_BPS: f64 = 36e6;
/// Others that use at least this share of the air are the reason why little is left.
const OTHERS_SHARE: f64 = 0.3;
/// Packets of a station that the pacer does not hold back wait this long behind the box only because
/// the channel is taken, or their acknowledgements wait: the round of a loaded cell takes 5 to 15 ms,
/// and beside one station's upload 34 to 68 ms were measured.
const LONG_AIR_WAIT: Duration = Duration::from_millis(25);
/// A queue stands on the wired side if round trips are above the smallest one by at least this, and
/// are at least twice as long. BBR leaves some 15 ms in a queue of 20 Mbit/s.
const WIRED_EXCESS: Duration = Duration::from_millis(5);
/// A station that is sent at least this share of its rate has what it may have, whatever the wired side
/// does.
const FULL_SHARE: f64 = 0.9;
/// Least share of the slots with packets while a queue on the wired side limits: requests with pauses
/// have long round trips as well, because the server thinks.
const STEADY_SHARE: f64 = 0.9;
/// A bottleneck elsewhere is not looked for below this, bits per second.
const BUSY_BPS: f64 = 500e3;

/// What limits a station.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Display, EnumIter, IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
#[non_exhaustive]
pub enum LimitedBy {
    /// The whole box lets frames pass, or nothing paces this station: nothing is limited.
    Passing,
    /// The operator has exempted the station.
    Exempt,
    /// Next to nothing is sent to the station.
    Idle,
    /// Packets wait or are lost before the access point, or on the way to the box.
    Backhaul,
    /// Its sensor has been lost, so what is assumed decides.
    SensorLost,
    /// No sensor has observed its frames, so what is assumed decides.
    NoSensor,
    /// Its frames take long: few packets fit into one.
    SlowStation,
    /// Others use the air.
    Contention,
    /// Its share of the air: all is well.
    FairShare,
    /// There is less to send than it may have.
    Sender,
}

/// What limits a station, with the reason as a sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limit {
    /// What limits it.
    pub by: LimitedBy,
    /// Why, in one sentence with the figures.
    pub reason: String,
}

impl StationStatus<'_> {
    /// Returns what limits the station, as it is told (see [`ToldCause`](super::ToldCause)). `passing`
    /// says why the whole box lets everything pass, if it does.
    #[must_use]
    pub fn limit(&self, passing: Option<&str>) -> Limit {
        let (by, mut reason) = self.judge(passing);
        // The loss is in the sentence already where it is what limits. That of a sensor which comes and
        // goes with traffic says nothing elsewhere.
        let is_told =
            |lost: &LostSensor| by != LimitedBy::SensorLost && lost.sensor != Sensor::AckBurst;
        if let Some(lost) = self.lost.filter(is_told) {
            reason.push_str("; ");
            reason.push_str(&self.loss(lost));
        }
        if let Some(trouble) = self.radio_trouble()
            && !matches!(by, LimitedBy::Passing | LimitedBy::Exempt)
            && !reason.contains(&trouble)
        {
            reason.push_str("; ");
            reason.push_str(&trouble);
        }
        if self.is_dry_run && self.recent.granted_bps.is_some() {
            reason.push_str(" (dry run: nothing is held back)");
        }
        Limit { by, reason }
    }

    /// What is told: the cause that applies, or the one before it until the new one has lasted.
    fn judge(&self, passing: Option<&str>) -> (LimitedBy, String) {
        let by = self.cause(passing);
        match self.told.filter(|told| !told.yields_to(by)) {
            Some(told) => (told.by, told.then(self).explain(told.by, passing)),
            None => (by, self.explain(by, passing)),
        }
    }

    /// The first cause that applies now.
    pub(super) fn cause(&self, passing: Option<&str>) -> LimitedBy {
        if passing.is_some() {
            return LimitedBy::Passing;
        }
        if self.is_exempt {
            return LimitedBy::Exempt;
        }
        let Some(granted_bps) = self.recent.granted_bps else {
            return LimitedBy::Passing;
        };
        if self.recent.sent_bps < IDLE_BPS && self.queued == 0 {
            return LimitedBy::Idle;
        }
        if self.path_bottleneck_bps().is_some() || self.wired_queue(granted_bps).is_some() {
            return LimitedBy::Backhaul;
        }
        if self.is_paced(granted_bps) {
            return self.paced_cause();
        }
        if self.long_air_wait().is_some() {
            return LimitedBy::Contention;
        }
        LimitedBy::Sender
    }

    /// Why the station is not granted more.
    fn paced_cause(&self) -> LimitedBy {
        if !has_level(self.sensor()) {
            let is_lost = self.lost.is_some() || self.radio_trouble().is_some();
            return if is_lost {
                LimitedBy::SensorLost
            } else {
                LimitedBy::NoSensor
            };
        }
        if self.is_slow() {
            return LimitedBy::SlowStation;
        }
        let others = self.cell.air_of_others;
        if others.is_some_and(|air| air >= OTHERS_SHARE) {
            return LimitedBy::Contention;
        }
        LimitedBy::FairShare
    }

    /// A cause in a sentence with the figures.
    fn explain(&self, by: LimitedBy, passing: Option<&str>) -> String {
        let granted_bps = self.recent.granted_bps.unwrap_or(0.0);
        let sent = rate(self.recent.sent_bps);
        let sent = format!("{sent} of the {} it may have", rate(granted_bps));
        match by {
            LimitedBy::Passing => passing.map_or_else(
                || "it has been granted no rate, so its frames pass unpaced".to_owned(),
                |why| format!("all frames of the box pass unpaced: {why}"),
            ),
            LimitedBy::Exempt => {
                "exempted by an operator: its frames pass unpaced and may queue in the access point"
                    .to_owned()
            }
            LimitedBy::Idle => format!("hardly anything is being sent to it: {sent}"),
            LimitedBy::Backhaul => self.explain_backhaul(granted_bps),
            LimitedBy::SensorLost => self.explain_lost_sensor(&sent),
            LimitedBy::NoSensor => {
                let seen = if self.sensor() == Sensor::WaitingTime {
                    "no sensor sees its frames, only how long its packets wait"
                } else {
                    "no sensor sees its frames"
                };
                format!("{seen}, so its rate is an estimate: it gets {sent}")
            }
            LimitedBy::SlowStation => self.explain_slowness(&sent),
            LimitedBy::Contention => self.explain_contention(granted_bps, &sent),
            LimitedBy::FairShare => {
                let company = match self.cell.active.saturating_sub(1) {
                    0 => "no other station is active".to_owned(),
                    1 => "the air is shared with 1 other station".to_owned(),
                    n => format!("the air is shared with {n} other stations"),
                };
                format!("paced to its fair share of the air: it gets {sent}; {company}")
            }
            LimitedBy::Sender => self.explain_sender(granted_bps),
        }
    }

    fn explain_sender(&self, granted_bps: f64) -> String {
        let (sent, granted) = (rate(self.recent.sent_bps), rate(granted_bps));
        if self.is_steady() {
            // A sender that finds its path's rate and leaves no queue, as BBR does, cannot be told from
            // one that has no more to send.
            format!(
                "only {sent} reach the box of the {granted} it may have, and no queue is seen on the \
                 wired side: either the server sends no faster, or a link on the way is full"
            )
        } else {
            format!(
                "the sender has no more to send: {sent} of the {granted} that the station may have"
            )
        }
    }

    fn explain_contention(&self, granted_bps: f64, sent: &str) -> String {
        if !self.is_paced(granted_bps)
            && let Some(wait) = self.long_air_wait()
        {
            return format!(
                "the channel is busy: packets or their acknowledgements wait {:.0} ms longer than usual for \
                 it, so the station gets only {sent}; it or other stations are probably uploading",
                ms(wait)
            );
        }
        format!(
            "other networks use {:.0} % of the air; paced to its share of the rest: it gets {sent}",
            100.0 * self.cell.air_of_others.unwrap_or(0.0)
        )
    }

    /// What observes the station now.
    fn sensor(&self) -> Sensor {
        self.report.map_or(Sensor::None, |report| report.sensor)
    }

    /// Returns its share of the air; `None` if it is not known. A rate that is assumed, and that no queue
    /// behind the box has put to the test, sinks to what a bottleneck elsewhere lets arrive, which would
    /// look like a full channel.
    #[must_use]
    pub fn told_share(&self, by: LimitedBy) -> Option<f64> {
        let is_untested = by == LimitedBy::Backhaul && self.is_phy_assumed();
        self.share.filter(|_| !is_untested)
    }

    /// Whether packets come all the time.
    fn is_steady(&self) -> bool {
        self.recent.active_share >= STEADY_SHARE && self.recent.sent_bps >= BUSY_BPS
    }

    /// How long packets that come all the time wait behind the box, if that is what slows their sender:
    /// its round trips are longer, so the same window gives less.
    fn long_air_wait(&self) -> Option<Duration> {
        let is_long = |wait: &Duration| self.is_steady() && *wait >= LONG_AIR_WAIT;
        self.recent.air_wait.filter(is_long)
    }

    /// Whether the pacer holds packets back.
    fn is_paced(&self, granted_bps: f64) -> bool {
        let recent = &self.recent;
        let is_used = recent.sent_bps >= USED_SHARE * granted_bps;
        let has_queue = recent.queued_share >= QUEUED_SHARE;
        recent.held_share >= HELD_SHARE && (is_used || has_queue)
    }

    /// Returns what the path to the access point carries, bits per second, if the law has found the
    /// bottleneck there.
    #[must_use]
    pub fn path_limit_bps(&self) -> Option<f64> {
        let cap_pps = self.air?.cap_pps?;
        let packet_bits = self.recent.sent_bps / self.recent.sent_pps.max(1e-9);
        Some(cap_pps * packet_bits)
    }

    /// The same while the station is busy enough for it to matter.
    fn path_bottleneck_bps(&self) -> Option<f64> {
        let is_busy = self.recent.sent_bps >= BUSY_BPS;
        self.path_limit_bps().filter(|_| is_busy)
    }

    /// The round trip on the wired side if a queue stands there and keeps the station from its rate.
    fn wired_queue(&self, granted_bps: f64) -> Option<WiredRoundTrip> {
        let trip = self.recent.wired?;
        let is_long = trip.excess() >= WIRED_EXCESS.max(trip.smallest);
        let is_full = self.recent.sent_bps >= FULL_SHARE * granted_bps;
        (self.is_steady() && is_long && !is_full).then_some(trip)
    }

    fn explain_backhaul(&self, granted_bps: f64) -> String {
        if let Some(limit_bps) = self.path_bottleneck_bps() {
            return format!(
                "the bottleneck is between the box and the access point, not on the air: about {} get \
                 through there, and packets beyond that wait or are lost",
                rate(limit_bps)
            );
        }
        let trip = self.wired_queue(granted_bps).map_or_else(String::new, |trip| {
            format!(
                "a round trip to the server takes {:.0} ms, {:.0} ms of which is spent in a queue, and ",
                ms(trip.time),
                ms(trip.excess())
            )
        });
        format!(
            "the bottleneck is on the wired side, before the box: {trip}only {} arrive of the {} it may \
             have",
            rate(self.recent.sent_bps),
            rate(granted_bps)
        )
    }

    fn explain_lost_sensor(&self, sent: &str) -> String {
        let loss = match self.lost {
            Some(lost) => self.loss(lost),
            None => self.radio_trouble().unwrap_or_default(),
        };
        format!("sensor lost: {loss}; meanwhile its rate is an estimate: it gets {sent}")
    }

    /// Whether the station's frames take long beside the fastest active station's.
    fn is_behind(&self, phy_bps: f64) -> bool {
        let fastest_bps = self.cell.fastest_bps.unwrap_or(phy_bps);
        phy_bps <= SLOW_SHARE * fastest_bps
    }

    /// Whether the station's frames take long, beside others' or in any company.
    fn is_slow(&self) -> bool {
        let is_slow = |phy_bps| self.is_behind(phy_bps) || phy_bps < SLOW_BPS;
        self.phy_bps().is_some_and(is_slow)
    }

    fn explain_slowness(&self, sent: &str) -> String {
        let phy_bps = self.phy_bps().unwrap_or(0.0);
        let about = if self.is_phy_assumed() { "about " } else { "" };
        let beside = match self.cell.fastest_bps {
            Some(fastest_bps) if self.is_behind(phy_bps) => {
                format!(", that of the fastest station {}", rate(fastest_bps))
            }
            _ => String::new(),
        };
        let share = self.share.map_or_else(String::new, |share| {
            format!(", and takes {:.0} % of the air for that", 100.0 * share)
        });
        format!(
            "slow on the air: its PHY rate is {about}{}{beside}; it gets {sent}{share}",
            rate(phy_bps)
        )
    }

    /// What is the matter with the radio near the access point, and what to do, if the station's agent
    /// does not speak for it anyway.
    fn radio_trouble(&self) -> Option<String> {
        let radio = self.radio.filter(|_| self.sensor() != Sensor::Agent)?;
        radio.trouble(self.now)
    }

    /// How a sensor was lost.
    fn loss(&self, lost: LostSensor) -> String {
        let since = self.now.saturating_since(lost.since).as_secs();
        let what = match lost.sensor {
            Sensor::Agent => format!("its agent has not reported for {since} s"),
            Sensor::BlockAck => self
                .radio_trouble()
                .unwrap_or_else(|| self.radio_silence(since)),
            _ => format!("no answers to TCP or QUIC have revealed its frames for {since} s"),
        };
        let current = self.sensor();
        let instead = if current == lost.sensor {
            ", but is back now".to_owned()
        } else if has_level(current) {
            format!("; the {} sensor observes it instead", current.name())
        } else {
            String::new()
        };
        format!("{what}{instead}")
    }

    /// What a radio that is up may lack.
    fn radio_silence(&self, seconds: u64) -> String {
        let (name, check) = self.radio.map_or_else(Default::default, |radio| {
            let name = &radio.interface;
            let check = format!(" (is it on the access point's channel? iw dev {name} info)");
            (format!(" {name}"), check)
        });
        format!(
            "the radio{name} near the access point has not heard its frames for {seconds} s{check}"
        )
    }
}

/// A rate in words.
fn rate(bps: f64) -> String {
    let mbps = bps / 1e6;
    if mbps >= 9.95 {
        format!("{mbps:.0} Mbit/s")
    } else if mbps >= 0.1 {
        format!("{mbps:.1} Mbit/s")
    } else {
        format!("{:.0} kbit/s", bps / 1e3)
    }
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests;
