//! Whether the times of frames agree with each other, which they do where no other network sends.
//!
//! Frames of other networks come between a frame and its answer and make that transit longer. Frames of the cell itself do not, if
//! they are answered: the next transit then begins with the answer. Those to a station that answers nothing do.

use crate::report::OtherNetworks;

/// Weight of a slot in the mean: each tells of the last second or two, and the mean is one over some three.
const GAIN: f64 = 0.05;
/// Fewest slots that tell anything: two seconds at 100 ms.
const FEWEST: u32 = 20;
/// Slots in a row of which nothing is known after which the ones before do not count any more.
const FORGOTTEN: u32 = 20;

/// From these shares on, no other network sends: of frames that are answered over TCP, and over QUIC, of which packets an answer is for is a
/// guess. Without other networks they were 0.45 to 0.58 and 0.23 to 0.32, except at MCS 0 (0.30, and 0.14 of a client that answers every
/// tenth packet); beside a network with 20 Mbit/s at most 0.31 and 0.19, beside more 0.27 and 0.15 (simulated, two stations). At the
/// emulated access point, beside hosts that are busy, those of TCP were 0.29 to 0.48 without others.
const SILENT: (f64, f64) = (0.38, 0.22);
/// Below these, others seem to send.
const SENDING: (f64, f64) = (0.34, 0.2);

/// The share of a station's frames whose times agree.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Agreement {
    mean: f64,
    slots: u32,
    silent_slots: u32,
}

impl Agreement {
    /// Takes a slot in which this share agreed, 0 to 1, if that is known.
    pub(super) fn observe(&mut self, share: Option<f64>) {
        let Some(share) = share else {
            self.silent_slots += 1;
            if self.silent_slots > FORGOTTEN {
                *self = Self::default();
            }
            return;
        };
        self.silent_slots = 0;
        self.slots = self.slots.saturating_add(1);
        let gain = GAIN.max(1.0 / f64::from(self.slots));
        self.mean += gain * (share - self.mean);
    }

    /// The mean over the last seconds, 0 to 1; `None` unless enough slots tell it.
    pub(super) fn share(&self) -> Option<f64> {
        (self.slots >= FEWEST).then_some(self.mean)
    }

    /// Whether other networks seem to send, if this is the share of frames that are answered over QUIC.
    pub(super) fn is_among_others(&self) -> bool {
        self.share().is_some_and(|share| share < SENDING.1)
    }
}

/// The shares of a station.
#[derive(Clone, Copy, Debug)]
pub(super) struct Agreements {
    /// Of frames that are answered over TCP.
    pub(super) told: Agreement,
    /// Of those that are answered over QUIC.
    pub(super) guessed: Agreement,
}

/// What the shares of all stations of an access point show of other networks. What agrees most counts, and TCP before QUIC.
pub(super) fn others(stations: impl Iterator<Item = Agreements>) -> OtherNetworks {
    let largest = |most: Option<f64>, of: Agreement| match (most, of.share()) {
        (Some(most), Some(share)) => Some(most.max(share)),
        (most, share) => most.or(share),
    };
    let (told, guessed) = stations.fold((None, None), |(told, guessed), of| {
        (largest(told, of.told), largest(guessed, of.guessed))
    });
    let is_silent = told.is_some_and(|share| share >= SILENT.0)
        || guessed.is_some_and(|share| share >= SILENT.1);
    let is_sending = match (told, guessed) {
        (Some(told), _) => told < SENDING.0,
        (None, Some(guessed)) => guessed < SENDING.1,
        (None, None) => false,
    };
    if is_silent {
        OtherNetworks::Silent
    } else if is_sending {
        OtherNetworks::Sending
    } else {
        OtherNetworks::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stations of which these shares of answers over TCP, and over QUIC, agree.
    fn others_by(stations: &[(Option<f64>, Option<f64>)]) -> OtherNetworks {
        let known = |share: Option<f64>| {
            let mut agreement = Agreement::default();
            (0..FEWEST).for_each(|_| agreement.observe(share));
            agreement
        };
        let agreements = |&(told, guessed): &(Option<f64>, Option<f64>)| Agreements {
            told: known(told),
            guessed: known(guessed),
        };
        others(stations.iter().map(agreements))
    }

    #[test]
    fn what_agrees_most_tells_of_other_networks_and_tcp_before_quic() {
        assert_eq!(others_by(&[]), OtherNetworks::Unknown);
        assert_eq!(others_by(&[(None, None)]), OtherNetworks::Unknown);
        let quiet = (Some(0.5), None);
        assert_eq!(
            others_by(&[quiet, (Some(0.1), Some(0.1))]),
            OtherNetworks::Silent
        );
        assert_eq!(others_by(&[(Some(0.3), Some(0.25))]), OtherNetworks::Silent);
        assert_eq!(
            others_by(&[(Some(0.36), Some(0.1))]),
            OtherNetworks::Unknown
        );
        assert_eq!(
            others_by(&[(Some(0.3), Some(0.21))]),
            OtherNetworks::Sending
        );
        assert_eq!(others_by(&[(None, Some(0.21))]), OtherNetworks::Unknown);
        assert_eq!(others_by(&[(None, Some(0.19))]), OtherNetworks::Sending);
    }

    #[test]
    fn a_share_is_known_after_two_seconds_and_forgotten_after_as_long() {
        let mut agreement = Agreement::default();
        for slot in 0..100 {
            assert_eq!(agreement.share().is_some(), slot >= 20);
            agreement.observe(Some(if slot % 2 == 0 { 0.3 } else { 0.5 }));
        }
        let share = agreement.share().unwrap();
        assert!((share - 0.4).abs() < 0.01, "{share}");
        for _ in 0..FORGOTTEN {
            agreement.observe(None);
        }
        assert_eq!(agreement.share(), Some(share));
        agreement.observe(None);
        assert_eq!(agreement.share(), None);
    }
}
