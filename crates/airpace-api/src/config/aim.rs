//! What an operator asks a running box to aim at.

use super::{ControlConfig, LawChoice};
use airpace_config::choice;
use airpace_config::choice::Words as _;
use airpace_config::quantity::Span;
use airpace_core::control::{Aim, Law};
use core::time::Duration;

/// Shortest and longest latency that can be asked for, as for the key `control.latency`.
const LATENCIES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_secs(10));

/// Why an aim is refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AimError {
    /// It is neither the name of an aim nor a duration.
    #[error("`{text}` is not an aim: give {names}, or a latency with its unit such as \"10 ms\"")]
    Unknown {
        /// What was given.
        text: String,
        /// The names that exist.
        names: String,
    },
    /// The latency is out of range.
    #[error("a latency of {latency} is out of range: give 1 ms to 10 s")]
    Range {
        /// What was given.
        latency: Span,
    },
    /// The law has no aim.
    #[error(
        "law `{law}` has no aim: it belongs to law `waterfill`; change `control.law` and reload"
    )]
    Law {
        /// The name of the law.
        law: &'static str,
    },
}

impl ControlConfig {
    /// Sets the aim of law `waterfill`: the name of an [`Aim`], or the latency within which 95 of 100
    /// packets are to pass the access point, such as `10 ms`. It takes the place of another aim and
    /// latency.
    ///
    /// # Errors
    /// See [`AimError`]; then nothing has changed.
    pub fn set_aim(&mut self, text: &str) -> Result<(), AimError> {
        if self.law != LawChoice::Measured(Law::Waterfill) {
            let law = self.law.word();
            return Err(AimError::Law { law });
        }
        let text = text.trim();
        if let Some(aim) = Aim::from_word(text) {
            (self.aim, self.latency) = (Some(choice::Choice(aim)), None);
            return Ok(());
        }
        let Ok(latency) = text.parse::<Span>() else {
            let names: Vec<&str> = Aim::words().iter().map(|word| word.word).collect();
            return Err(AimError::Unknown {
                text: text.to_owned(),
                names: names.join(", "),
            });
        };
        if !(LATENCIES.0..=LATENCIES.1).contains(&latency.0) {
            return Err(AimError::Range { latency });
        }
        (self.aim, self.latency) = (None, Some(latency));
        Ok(())
    }

    /// Writes the aim that holds where none is given into the configuration, so that a reader sees it.
    pub fn spell_out_aim(&mut self) {
        let has_aim = self.law == LawChoice::Measured(Law::Waterfill);
        let is_posed_otherwise =
            self.latency.is_some() || self.level_limit.is_some() || self.delay_target.is_some();
        if has_aim && self.aim.is_none() && !is_posed_otherwise {
            self.aim = Some(choice::Choice(Aim::default()));
        }
    }

    /// Returns what is aimed at, in words: `balanced`, `95 of 100 packets within 10 ms`, or the law
    /// where that has no aim.
    #[must_use]
    pub fn aim_in_words(&self) -> String {
        if self.law != LawChoice::Measured(Law::Waterfill) {
            return format!("law {}", self.law.word());
        }
        let mut words = Vec::new();
        if let Some(latency) = self.latency {
            words.push(format!("95 of 100 packets within {latency}"));
        }
        if let Some(limit) = self.level_limit {
            words.push(format!("at most {limit} packets per frame"));
        }
        if let Some(target) = self.delay_target {
            words.push(format!("rounds of at most {target}"));
        }
        if self.aim.is_some() || words.is_empty() {
            let aim = self.aim.map_or_else(Aim::default, |aim| aim.0);
            words.insert(0, aim.word().to_owned());
        }
        words.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_aim_is_a_name_or_a_latency_and_takes_the_place_of_the_other() {
        let mut control = ControlConfig::default();
        assert_eq!(control.aim_in_words(), "balanced");
        control.set_aim("low-latency").expect("a name");
        assert_eq!(control.aim_in_words(), "low-latency");
        control.set_aim(" 10 ms ").expect("a latency");
        assert_eq!(control.aim_in_words(), "95 of 100 packets within 10 ms");
        assert_eq!(control.goal().aim, None);
        control.set_aim("throughput").expect("a name");
        assert_eq!(control.latency, None);
        assert_eq!(control.aim_in_words(), "throughput");
    }

    #[test]
    fn the_default_aim_is_spelt_out_only_where_it_holds() {
        let mut control = ControlConfig::default();
        control.spell_out_aim();
        assert_eq!(control.goal().aim, Some(Aim::Balanced));
        let mut control = ControlConfig {
            level_limit: Some(32.0),
            ..ControlConfig::default()
        };
        control.spell_out_aim();
        assert_eq!(control.goal().aim, None);
        let mut control = ControlConfig {
            law: LawChoice::Measured(Law::Linear),
            ..ControlConfig::default()
        };
        control.spell_out_aim();
        assert_eq!(control.goal().aim, None);
    }

    #[test]
    fn what_is_no_aim_is_refused_with_what_is_one_and_changes_nothing() {
        let mut control = ControlConfig::default();
        for (text, advice) in [
            ("fast", "balanced, low-latency, throughput"),
            ("", "10 ms"),
            ("10", "with its unit"),
            ("0 ms", "1 ms to 10 s"),
            ("11 s", "1 ms to 10 s"),
        ] {
            let error = control.set_aim(text).expect_err(text).to_string();
            assert!(error.contains(advice), "{text}: {error}");
        }
        assert_eq!(control, ControlConfig::default());
        control.law = LawChoice::Measured(Law::Linear);
        let error = control.set_aim("balanced").expect_err("no aim").to_string();
        assert!(error.contains("law `linear` has no aim"), "{error}");
        assert_eq!(control.aim_in_words(), "law linear");
    }
}
