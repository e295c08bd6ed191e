//! What decides at which rate stations are sent packets.

use airpace_config::choice::{self, Words};
use airpace_config::declaration::{Kind, Word};
use airpace_config::setting::Setting;
use airpace_core::control::Law;
use serde::{Deserializer, Serialize, Serializer};

/// What decides at which rate stations are sent packets: a law that follows their reports, or
/// something simpler for comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LawChoice {
    /// A law decides from the stations' reports.
    Measured(Law),
    /// Each station has the same rate: `control.fixed_rate`. For benchmarks.
    Fixed,
    /// Packets are not paced at all. For comparison.
    None,
}

impl Default for LawChoice {
    fn default() -> Self {
        Self::Measured(Law::default())
    }
}

/// The words besides the names of the laws.
const WITHOUT_REPORTS: [(LawChoice, Word); 2] = [
    (
        LawChoice::Fixed,
        Word {
            word: "fixed",
            meaning: "Each station at `fixed_rate`, for benchmarks.",
        },
    ),
    (
        LawChoice::None,
        Word {
            word: "none",
            meaning: "No pacing at all: the tunnel alone, for comparison.",
        },
    ),
];

impl Words for LawChoice {
    fn words() -> Vec<Word> {
        let mut words = Law::words();
        words.extend(WITHOUT_REPORTS.map(|(_, word)| word));
        words
    }
    fn from_word(text: &str) -> Option<Self> {
        if let Some(law) = Law::from_word(text) {
            return Some(Self::Measured(law));
        }
        let found = WITHOUT_REPORTS.iter().find(|(_, word)| word.word == text)?;
        Some(found.0)
    }
    fn word(&self) -> &'static str {
        match self {
            Self::Measured(law) => law.name(),
            Self::Fixed => WITHOUT_REPORTS[0].1.word,
            Self::None => WITHOUT_REPORTS[1].1.word,
        }
    }
}

impl Serialize for LawChoice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl Setting for LawChoice {
    fn kind() -> Kind {
        Kind::Choice(Self::words)
    }
    fn from_text(text: &str) -> Option<Self> {
        Self::from_word(text)
    }
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        choice::read(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_stands_for_the_value_that_is_written_as_it() {
        for Word { word, meaning } in LawChoice::words() {
            let choice = LawChoice::from_word(word).expect(word);
            assert_eq!(choice.word(), word);
            assert!(!meaning.is_empty(), "{word} has no meaning");
        }
        assert_eq!(LawChoice::words().len(), Law::NAMES.len() + 2);
        assert_eq!(LawChoice::from_word("pid"), None);
    }
}
