//! The monitor interface near an access point as the caller finds it, and what it tells of the air.

use super::{DownlinkFrame, Inline};
use airpace_units::Time;
use core::time::Duration;

/// A radio that has shown no frame for this long tells nothing of the air: access points send ten
/// beacons a second.
const SILENT_AFTER: Duration = Duration::from_secs(10);

/// How a monitor interface stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RadioState {
    /// It is up and can be read.
    Up,
    /// It exists and is down, or cannot be read.
    Down,
    /// There is no such interface.
    Missing,
}

/// The monitor interface near an access point.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NearbyRadio {
    /// Name of the interface.
    pub interface: String,
    /// How it stands.
    pub state: RadioState,
    /// Since when it is up, or since when it is not.
    pub since: Time,
}

impl NearbyRadio {
    /// Says what is the matter with the interface, and what to do; `None` if it is up.
    #[must_use]
    pub fn trouble(&self, now: Time) -> Option<String> {
        let Self {
            interface, since, ..
        } = self;
        let seconds = now.saturating_since(*since).as_secs();
        match self.state {
            RadioState::Up => None,
            RadioState::Down => Some(format!(
                "the radio {interface} near the access point has been down for {seconds} s (ip link set {interface} up)"
            )),
            RadioState::Missing => Some(format!(
                "the radio {interface} near the access point has been missing for {seconds} s (plug its adapter \
                 in, or make the interface again: iw phy phy0 interface add {interface} type monitor && ip \
                 link set {interface} up)"
            )),
        }
    }

    /// Notes how the interface stands.
    fn note(&mut self, now: Time, state: RadioState) {
        // Down or missing, it is away since the first of both.
        if (self.state == RadioState::Up) != (state == RadioState::Up) {
            self.since = now;
        }
        self.state = state;
    }
}

impl<F: DownlinkFrame> Inline<F> {
    /// Notes how the monitor interface near the access point of `medium` stands. Without such an access
    /// point it is ignored.
    pub fn on_radio_state(&mut self, now: Time, medium: usize, interface: &str, state: RadioState) {
        let Some(medium) = self.media.get_mut(medium) else {
            return;
        };
        let nearby = &mut medium.observer.radio.nearby;
        let radio = nearby.get_or_insert_with(|| NearbyRadio {
            interface: interface.to_owned(),
            state,
            since: now,
        });
        radio.note(now, state);
    }

    /// The monitor interface near an access point, if there is one.
    #[must_use]
    pub fn nearby_radio(&self, medium: usize) -> Option<&NearbyRadio> {
        self.media.get(medium)?.observer.radio.nearby.as_ref()
    }

    /// Says what is the matter with the radio near an access point, and what to do; `None` if it shows
    /// frames, or if there is none.
    #[must_use]
    pub fn radio_trouble(&self, medium: usize) -> Option<String> {
        let radio = &self.media.get(medium)?.observer.radio;
        let nearby = radio.nearby.as_ref()?;
        let now = self.watched_at;
        let silent = now.saturating_since(radio.heard_at.max(nearby.since));
        nearby.trouble(now).or_else(|| {
            let interface = &nearby.interface;
            (silent >= SILENT_AFTER).then(|| {
                format!(
                    "the radio {interface} near the access point has shown no frames for {} s (is it on the \
                     access point's channel? iw dev {interface} info)",
                    silent.as_secs()
                )
            })
        })
    }

    /// Share of the last slot for which others than the access point and its stations used the air,
    /// 0 to 1, as far as the radio near the access point has heard; `None` if it has heard no control
    /// frame yet, has shown nothing for ten seconds, or is down or away.
    #[must_use]
    pub fn air_of_others(&self, medium: usize) -> Option<f64> {
        let observer = &self.media.get(medium)?.observer;
        let radio = &observer.radio;
        let is_away = |nearby: &NearbyRadio| nearby.state != RadioState::Up;
        if radio.counts().control == 0 || radio.nearby.as_ref().is_some_and(is_away) {
            return None;
        }
        if self.watched_at.saturating_since(radio.heard_at) >= SILENT_AFTER {
            return None;
        }
        let slot_s = observer.slot().as_secs_f64().max(1e-9);
        Some((radio.air().others.as_secs_f64() / slot_s).min(1.0))
    }
}
