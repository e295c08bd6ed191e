//! At which rate frames to a node are sent.

use super::channel::Standard;
use airpace_config::choice;
use airpace_config::quantity::{Frequency, Rate, Span};
use airpace_config::section;

choice! {
    /// Who chooses the rate.
    Adaptation:
    /// Nobody: it is given.
    Fixed = "fixed",
    /// An oracle: the fastest whose error probability at the present signal-to-noise ratio is small.
    Ideal = "ideal",
    /// Minstrel-HT as Linux does it.
    MinstrelHt = "minstrel-ht",
    /// A list of times and rates.
    Trace = "trace",
}

section! {
    /// A rate, or who chooses it. Short forms: "mcs 9", "mcs 9 nss 2", "54 Mbit/s", "ideal", "minstrel-ht".
    RateChoice as "rate" or RateChoice::parse {
        /// Who chooses.
        adaptation: Adaptation = default("fixed"),
        /// MCS index; for "ideal" and "minstrel-ht" the highest that is used. HT counts 0 to 31.
        mcs: Option<u8> = optional("0", "31"),
        /// Spatial streams; for "ideal" and "minstrel-ht" the most that are used. HT: as the MCS index says.
        nss: Option<u8> = optional("1", "8"),
        /// Data rate of a legacy station (1 to 54 Mbit/s), in place of MCS and streams.
        legacy: Option<Rate> = optional("1 Mbit/s", "54 Mbit/s"),
        /// Generation of the PHY, where it is not the channel's.
        standard: Option<Standard> = optional,
        /// Width, where it is not the channel's.
        width: Option<Frequency> = optional,
        /// Guard interval, where it is not the channel's.
        guard_interval: Option<Span> = optional,
        /// The rates from given times on, for "trace".
        trace: Vec<RateStep> = nested,
        /// A file of such a trace, one `seconds mcs nss` a line, from the folder of the scenario.
        file: Option<String> = optional,
        /// Whether the trace begins anew at its end; its last rate lasts as long as its last but one.
        repeat: bool = default("false"),
    }
}

section! {
    /// One step of a trace of rates.
    RateStep as "trace" {
        /// When the rate begins.
        at: Span = required("1 s", "0 s", "1000000 s"),
        /// MCS index.
        mcs: u8 = required("9", "0", "31"),
        /// Spatial streams.
        nss: u8 = default("1", "1", "8"),
    }
}

impl RateChoice {
    /// A short form.
    ///
    /// # Errors
    /// If it is none, with those there are.
    pub fn parse(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let number = |word: &str| {
            word.parse::<u8>()
                .map_err(|_| format!("`{word}` is no index"))
        };
        match words.as_slice() {
            [word @ ("ideal" | "minstrel-ht")] => Ok(Self {
                adaptation: word.parse()?,
                ..Self::default()
            }),
            ["mcs", mcs] => Ok(Self {
                mcs: Some(number(mcs)?),
                ..Self::default()
            }),
            ["mcs", mcs, "nss", nss] => Ok(Self {
                mcs: Some(number(mcs)?),
                nss: Some(number(nss)?),
                ..Self::default()
            }),
            _ => match text.parse::<Rate>() {
                Ok(rate) => Ok(Self {
                    legacy: Some(rate),
                    ..Self::default()
                }),
                Err(_) => Err(format!(
                    "`{text}` is no rate: write \"mcs 9\", \"mcs 9 nss 2\", \"54 Mbit/s\", \"ideal\", \"minstrel-ht\" or a table"
                )),
            },
        }
    }
}
