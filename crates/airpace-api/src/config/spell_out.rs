//! Writes what holds where a configuration says nothing into it, so that a reader sees it.

use super::{AgentConfig, EdgeConfig, ProxyConfig, QueueConfig};
use airpace_config::quantity::Span;
use airpace_core::queue::CoDelConfig;

impl EdgeConfig {
    /// CoDel's values where the configuration has none.
    #[must_use]
    pub fn codel() -> CoDelConfig {
        CoDelConfig::in_line()
    }

    /// Writes what holds where nothing is given into the configuration.
    pub fn spell_out(&mut self) {
        self.control.spell_out_aim();
        self.queue.spell_out(Self::codel());
    }
}

impl ProxyConfig {
    /// CoDel's values where the configuration has none.
    #[must_use]
    pub fn codel() -> CoDelConfig {
        CoDelConfig::paced()
    }

    /// Writes what holds where nothing is given into the configuration.
    pub fn spell_out(&mut self) {
        self.control.spell_out_aim();
        self.queue.spell_out(Self::codel());
    }
}

impl AgentConfig {
    /// CoDel's values where the configuration has none.
    #[must_use]
    pub fn codel() -> CoDelConfig {
        CoDelConfig::paced()
    }

    /// Writes what holds where nothing is given into the configuration.
    pub fn spell_out(&mut self) {
        self.queue.spell_out(Self::codel());
    }
}

impl QueueConfig {
    fn spell_out(&mut self, codel: CoDelConfig) {
        self.target.get_or_insert(Span(codel.target));
    }
}
