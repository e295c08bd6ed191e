//! The agent's telemetry: a row per slot, or per some seconds.

use crate::journal::Journal;
use crate::runtime;
use crate::summary::{CHANGE_INTERVAL, INTERVAL, Mean};
use airpace_api::config::{AgentConfig, TelemetryDetail};
use airpace_api::telemetry::AgentSlot;
use airpace_net::signals::Signals;

/// Writes rows about slots.
pub(super) struct AgentTelemetry<'a> {
    /// Asks for the file to be opened again.
    hangup: Option<&'a Signals>,
    journal: Journal,
    detail: TelemetryDetail,
    pending: Option<Summary>,
}

impl<'a> AgentTelemetry<'a> {
    /// Opens the file that the configuration names.
    pub(super) fn open(config: &AgentConfig, hangup: Option<&'a Signals>) -> anyhow::Result<Self> {
        Ok(Self {
            hangup,
            journal: Journal::open(config.telemetry.as_deref(), config.telemetry_limit.0.0)?,
            detail: config.telemetry_detail,
            pending: None,
        })
    }

    /// Opens the file again if the signal has come that asks for it.
    pub(super) fn on_hangup(&self) -> anyhow::Result<()> {
        if runtime::was_hung_up(self.hangup)? {
            self.journal.reopen();
        }
        Ok(())
    }

    /// Takes the row of a slot.
    pub(super) fn write(&mut self, slot: AgentSlot) {
        if self.detail == TelemetryDetail::Slots {
            return self.journal.write(&slot);
        }
        let ended = match &mut self.pending {
            Some(pending) if !pending.ends_before(&slot) => {
                pending.append(&slot);
                None
            }
            pending => pending.replace(Summary::new(slot)),
        };
        if let Some(ended) = ended {
            self.journal.write_compact(&ended.finish());
        }
    }
}

/// Writes the summary that has not ended.
impl Drop for AgentTelemetry<'_> {
    fn drop(&mut self) {
        if let Some(pending) = self.pending.take() {
            self.journal.write_compact(&pending.finish());
        }
    }
}

/// Several slots as one.
struct Summary {
    row: AgentSlot,
    slots: u32,
    /// When the first slot began, as far as is known: its end.
    since_s: f64,
    round: Mean,
    inverse_phy_rate: Mean,
}

impl Summary {
    fn new(first: AgentSlot) -> Self {
        let mut summary = Self {
            slots: 0,
            since_s: first.time_s,
            round: Mean::default(),
            inverse_phy_rate: Mean::default(),
            row: first.clone(),
        };
        summary.average(&first);
        summary
    }

    /// Whether a slot begins another summary: this one is long enough, or the source has changed.
    fn ends_before(&self, slot: &AgentSlot) -> bool {
        let length = slot.time_s - self.since_s;
        let has_changed = slot.source != self.row.source;
        length >= INTERVAL.as_secs_f64() || (has_changed && length >= CHANGE_INTERVAL.as_secs_f64())
    }

    fn append(&mut self, later: &AgentSlot) {
        self.average(later);
        let whole = &mut self.row;
        (whole.time_s, whole.unix_s, whole.slot) = (later.time_s, later.unix_s, later.slot);
        whole.source.clone_from(&later.source);
        whole.frames = whole.frames.saturating_add(later.frames);
        whole.packets = whole.packets.saturating_add(later.packets);
        whole.bytes = whole.bytes.saturating_add(later.bytes);
        whole.lost = whole.lost.saturating_add(later.lost);
        whole.late = whole.late.saturating_add(later.late);
        whole.thinned_acks = whole.thinned_acks.saturating_add(later.thinned_acks);
    }

    fn average(&mut self, slot: &AgentSlot) {
        self.slots += 1;
        let frames = f64::from(slot.frames);
        self.round.add(slot.round_ms, frames);
        self.inverse_phy_rate
            .add(slot.phy_mbps.map(f64::recip), frames);
    }

    fn finish(self) -> AgentSlot {
        let row = self.row;
        let (frames, packets) = (f64::from(row.frames), f64::from(row.packets));
        AgentSlot {
            slots: Some(self.slots),
            span_s: Some(row.time_s - self.since_s),
            level: (row.frames > 0).then(|| packets / frames),
            round_ms: self.round.value(),
            phy_mbps: self.inverse_phy_rate.value().map(f64::recip),
            ..row
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_of_ten_seconds_become_one_row_with_their_sums() {
        let slot = |n: u32| AgentSlot {
            time_s: f64::from(n) * 0.1,
            slot: u64::from(n),
            frames: 2 + n % 2,
            packets: 40,
            bytes: 60_000,
            round_ms: Some(f64::from(10 + n % 2)),
            phy_mbps: Some(400.0),
            lost: 1,
            source: "ampdu".to_owned(),
            ..AgentSlot::default()
        };
        let mut summary = Summary::new(slot(0));
        for n in 1..100 {
            assert!(!summary.ends_before(&slot(n)), "{n}");
            summary.append(&slot(n));
        }
        assert!(summary.ends_before(&slot(100)));
        let changed = AgentSlot {
            source: "socket".to_owned(),
            ..slot(51)
        };
        assert!(summary.ends_before(&changed));
        let row = summary.finish();
        assert_eq!(
            (row.slots, row.frames, row.packets),
            (Some(100), 250, 4_000)
        );
        assert_eq!((row.bytes, row.lost, row.slot), (6_000_000, 100, 99));
        assert_eq!(row.level, Some(16.0));
        let round = row.round_ms.expect("known");
        assert!((round - (10.0 * 100.0 + 11.0 * 150.0) / 250.0).abs() < 1e-9);
        assert!((row.phy_mbps.expect("known") - 400.0).abs() < 1e-9);
    }
}
