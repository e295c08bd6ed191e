//! The rate at which frames are sent.

use super::channel::Standard;
use airpace_config::choice::Choice;
use airpace_config::quantity::{Frequency, Rate, Span};
use airpace_config::section;
use airpace_sim::rate::AdaptationKind;
use airpace_sim::rate::minstrel::Samples;

section! {
    /// A rate, or how it is chosen. Short forms: "mcs 9", "mcs 9 nss 2", "54 Mbit/s", "ideal",
    /// "minstrel-ht".
    RateChoice as "rate" or RateChoice::parse {
        /// How the rate is chosen.
        adaptation: Choice<AdaptationKind> = default("fixed"),
        /// MCS index; for "ideal" and "minstrel-ht" the highest that is used. HT counts 0 to 31.
        mcs: Option<u8> = optional("9; ideal, minstrel-ht: the standard's highest", "0", "31"),
        /// Spatial streams; for "ideal" and "minstrel-ht" the most that are used.
        nss: Option<u8> = optional("1; HT: as the MCS index says", "1", "8"),
        /// Data rate of a legacy station (1 to 54 Mbit/s), in place of MCS and streams.
        legacy: Option<Rate> = optional("1 Mbit/s", "54 Mbit/s"),
        /// Generation of the PHY.
        standard: Option<Standard> = optional("the channel's"),
        /// Channel width.
        width: Option<Frequency> = optional("the channel's"),
        /// Guard interval.
        guard_interval: Option<Span> = optional("the channel's"),
        /// What a sample of "minstrel-ht" is: a whole frame, as in ns-3, or a single packet, as in Linux.
        samples: Option<Choice<Samples>> = optional("frames"),
        /// The rates from given times on, for "trace".
        trace: Vec<RateStep> = nested,
        /// A file with such a trace, one `seconds mcs nss` a line, relative to the folder of the
        /// scenario.
        file: Option<String> = optional,
        /// Whether the trace starts again at its end. Its last rate lasts as long as the one before
        /// it.
        repeat: bool = default("false"),
    }
}

section! {
    /// One step of a trace of rates.
    RateStep as "trace" {
        /// Time from which the rate is used.
        at: Span = required("1 s", "0 s", "1000000 s"),
        /// MCS index.
        mcs: u8 = required("9", "0", "31"),
        /// Spatial streams.
        nss: u8 = default("1", "1", "8"),
    }
}

impl RateChoice {
    /// The table that a short form stands for.
    ///
    /// # Errors
    /// `text` is not a short form; the message lists them.
    pub fn parse(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let number = |word: &str| {
            word.parse::<u8>()
                .map_err(|_| format!("`{word}` is not an index"))
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
                    "`{text}` is not a rate: write \"mcs 9\", \"mcs 9 nss 2\", \"54 Mbit/s\", \"ideal\", \"minstrel-ht\" or a table"
                )),
            },
        }
    }
}
