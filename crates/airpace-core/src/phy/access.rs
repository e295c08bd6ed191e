use core::time::Duration;

/// Short interframe space at 5 GHz (aSIFSTime, tables 17-21, 19-25, 21-29).
pub const SIFS: Duration = Duration::from_micros(16);
/// Slot at 5 GHz with 20 MHz primary channel (aSlotTime, table 17-21).
pub const SLOT: Duration = Duration::from_micros(9);

/// The four priorities of EDCA (10.2.3.2), lowest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum AccessCategory {
    /// AC_BK.
    Background,
    /// AC_BE.
    #[default]
    BestEffort,
    /// AC_VI.
    Video,
    /// AC_VO.
    Voice,
}

impl AccessCategory {
    /// The category of a user priority, or of a traffic identifier of an MPDU (802.11-2020 table
    /// 10-1). Identifiers above 7, of traffic streams, count as best effort.
    #[must_use]
    pub const fn of_user_priority(priority: u8) -> Self {
        match priority {
            1 | 2 => Self::Background,
            4 | 5 => Self::Video,
            6 | 7 => Self::Voice,
            _ => Self::BestEffort,
        }
    }

    /// Whether it has precedence over best effort.
    #[must_use]
    pub const fn has_precedence(self) -> bool {
        matches!(self, Self::Video | Self::Voice)
    }

    /// The user priority that represents the category, for example as the traffic identifier of its
    /// MPDUs (802.11-2020 table 10-1).
    #[must_use]
    pub const fn user_priority(self) -> u8 {
        match self {
            Self::Background => 1,
            Self::BestEffort => 0,
            Self::Video => 5,
            Self::Voice => 6,
        }
    }
}

/// Channel access parameters of one access category.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Edca {
    /// Slots of the arbitration interframe space after SIFS (AIFSN).
    pub aifsn: u8,
    /// Contention window of the first try: the back-off is uniform in 0…`cw_min` slots.
    pub cw_min: u16,
    /// Largest contention window after failures.
    pub cw_max: u16,
    /// Transmission opportunity; zero means one frame exchange.
    pub txop: Duration,
}

impl Edca {
    /// The defaults of stations with the OFDM PHYs (802.11-2016 table 9-137; aCWmin 15, aCWmax
    /// 1023). The 2020 edition gives background and best effort a TXOP limit. Here it is zero, as
    /// in access points and ns-3.
    #[must_use]
    pub const fn of(category: AccessCategory) -> Self {
        let (aifsn, cw_min, cw_max, txop_us) = match category {
            AccessCategory::Background => (7, 15, 1_023, 0),
            AccessCategory::BestEffort => (3, 15, 1_023, 0),
            AccessCategory::Video => (2, 7, 15, 3_008),
            AccessCategory::Voice => (2, 3, 7, 1_504),
        };
        Self {
            aifsn,
            cw_min,
            cw_max,
            txop: Duration::from_micros(txop_us),
        }
    }

    /// What access points use themselves, where they announce [`Edca::of`] to their stations: the
    /// defaults of `dot11QAPEDCATable` (802.11-2016 annex C), which are those of hostapd
    /// (`tx_queue_data2` and the others of its default configuration).
    #[must_use]
    pub const fn of_access_point(category: AccessCategory) -> Self {
        let (aifsn, cw_max) = match category {
            AccessCategory::Background => (7, 1_023),
            AccessCategory::BestEffort => (3, 63),
            AccessCategory::Video => (1, 15),
            AccessCategory::Voice => (1, 7),
        };
        Self {
            aifsn,
            cw_max,
            ..Self::of(category)
        }
    }

    /// The defaults with the DSSS PHYs of clauses 15 and 16: aCWmin 31, so contention windows are
    /// twice those of OFDM, and longer TXOP limits (802.11-2016 table 9-137).
    #[must_use]
    pub const fn of_dsss(category: AccessCategory) -> Self {
        let (aifsn, cw_min, cw_max, txop_us) = match category {
            AccessCategory::Background => (7, 31, 1_023, 0),
            AccessCategory::BestEffort => (3, 31, 1_023, 0),
            AccessCategory::Video => (2, 15, 31, 6_016),
            AccessCategory::Voice => (2, 7, 15, 3_264),
        };
        Self {
            aifsn,
            cw_min,
            cw_max,
            txop: Duration::from_micros(txop_us),
        }
    }

    /// The idle time before back-off starts at 5 GHz: SIFS + AIFSN slots (10.3.2.3.6). For other
    /// bands see [`super::Medium::aifs`].
    #[must_use]
    pub fn aifs(self) -> Duration {
        SIFS + SLOT * u32::from(self.aifsn)
    }

    /// Mean back-off of a first try at 5 GHz, half the smallest contention window.
    #[must_use]
    pub fn mean_backoff(self) -> Duration {
        SLOT * u32::from(self.cw_min) / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aifs_per_category() {
        let micros = [
            AccessCategory::Background,
            AccessCategory::BestEffort,
            AccessCategory::Video,
            AccessCategory::Voice,
        ]
        .map(|category| Edca::of(category).aifs().as_micros());
        assert_eq!(micros, [79, 43, 34, 34]);
    }

    #[test]
    fn access_points_wait_for_less_than_their_stations_only_with_voice_and_video() {
        for (category, difference_us) in [
            (AccessCategory::Background, 0),
            (AccessCategory::BestEffort, 0),
            (AccessCategory::Video, 9),
            (AccessCategory::Voice, 9),
        ] {
            let [own, stations] = [Edca::of_access_point(category), Edca::of(category)];
            let difference = stations.aifs() - own.aifs();
            assert_eq!(difference, Duration::from_micros(difference_us));
            assert_eq!(own.cw_min, stations.cw_min);
        }
        assert_eq!(Edca::of_access_point(AccessCategory::BestEffort).cw_max, 63);
    }

    #[test]
    fn mean_backoff_of_best_effort_is_seven_and_a_half_slots() {
        assert_eq!(
            Edca::of(AccessCategory::BestEffort).mean_backoff(),
            Duration::from_nanos(67_500)
        );
    }
}
