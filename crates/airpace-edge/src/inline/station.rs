//! What the box knows about a station that it has learnt.

use super::config::KnownStation;
use super::watch::StationWatch;
use airpace_core::wire::ieee80211::MacAddr;
use airpace_units::Time;

/// Where a station is: the medium, and the station's number in the medium's proxy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Seat {
    pub(super) medium: usize,
    pub(super) station: usize,
}

/// A station that the box has learnt.
#[derive(Clone, Debug)]
pub(super) struct LearntStation {
    pub(super) mac: MacAddr,
    /// The name in the configuration.
    pub(super) configured_name: Option<String>,
    /// The name that it gives itself.
    pub(super) own_name: Option<String>,
    pub(super) weight: f64,
    pub(super) is_exempt: bool,
    pub(super) seat: Seat,
    /// The port of the box where it was heard last.
    pub(super) port: usize,
    /// The port where it was heard before that, and when it left it.
    pub(super) left_port: Option<(usize, Time)>,
    /// When it was last heard.
    pub(super) heard_at: Time,
    /// Whether frames have been sent to it, or an operator has named it, so that it is not one that
    /// somebody has invented.
    pub(super) is_confirmed: bool,
    /// When a frame of it came on the wired side, if it has not been heard since.
    pub(super) wired_at: Option<Time>,
    /// What is kept of it for the operator.
    pub(super) watch: StationWatch,
}

impl LearntStation {
    pub(super) fn new(
        mac: MacAddr,
        seat: Seat,
        port: usize,
        now: Time,
        known: Option<&KnownStation>,
    ) -> Self {
        Self {
            mac,
            configured_name: known.and_then(|known| known.name.clone()),
            own_name: None,
            weight: known.map_or(1.0, |known| known.weight),
            is_exempt: known.is_some_and(|known| known.is_exempt),
            seat,
            port,
            left_port: None,
            heard_at: now,
            // An operator has named it.
            is_confirmed: known.is_some(),
            wired_at: None,
            watch: StationWatch::new(now),
        }
    }

    /// Returns its name, if one is known.
    pub(super) fn name(&self) -> Option<&str> {
        let name = self.configured_name.as_ref().or(self.own_name.as_ref());
        name.map(String::as_str)
    }
}
