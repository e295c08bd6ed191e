//! How much of the time payload may take by the rates, in a cell of which rounds do not tell enough.

use super::AssumeRates;
use crate::report::Allocation;
use airpace_units::StationId;

/// Largest part of the time that payload may take by the rates of stations with a role. After a survey, in which rounds are
/// short, the law permits more for some slots, and the queue that the access point then holds would stay: what a mute station is
/// sent would tell nothing. With 0.82 it stayed in one run of two on the emulated access point, with 0.8 in three of three, and with
/// 0.78 in one of eighteen, of four cells; agents have 0.75 there.
const LOAD_MOST: f64 = 0.78;
const LOAD_LEAST: f64 = 0.2;
/// A station that was sent this part of what it might be needs it all; otherwise it is taken to be sent this multiple of what it was.
const USED_LEAST: f64 = 0.8;
const USED_RISE: f64 = 1.1;

/// What a station may be sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grant {
    pub(super) station: StationId,
    /// Least rate in the current slot, bit/s.
    bps: f64,
    /// What was sent in the last slot, bit/s, and whether that was nearly all that might be.
    sent_bps: f64,
    is_used: bool,
}

impl AssumeRates {
    /// Notes which stations have been sent as much in the last slot as they might.
    pub(super) fn note_use(&mut self) {
        for grant in &mut self.hidden.grants {
            let mut reports = self.reports.iter();
            let report = reports.find(|of| of.station == grant.station);
            grant.sent_bps = report.map_or(0.0, |report| {
                8.0 * report.sender.sent_bytes as f64 / report.length.as_secs_f64()
            });
            grant.is_used = grant.sent_bps >= USED_LEAST * grant.bps;
        }
    }

    /// Lowers the rates of stations with a role if packets would take too much of the time by them. A station that has used less
    /// than it was granted is taken to go on doing so.
    pub(super) fn limit_load(&mut self) {
        let (mut limited, mut load, mut others) = (Vec::new(), 0.0, 0.0);
        for idx in 0..self.allocations.len() {
            let allocation = &self.allocations[idx];
            let (station, bps) = (allocation.station, 8.0 * allocation.rate_bytes_per_s);
            let Some(assumed_bps) = self.budgeted_bps(station).filter(|_| bps.is_finite()) else {
                continue;
            };
            let mut grants = self.hidden.grants.iter();
            let grant = grants.find(|grant| grant.station == station);
            if let Some(grant) = grant.filter(|grant| !grant.is_used) {
                others += (USED_RISE * grant.sent_bps).min(bps) / assumed_bps;
            } else {
                load += bps / assumed_bps;
                limited.push(idx);
            }
        }
        let most = self.hidden.budget.load_most(LOAD_MOST);
        let factor = (most - others).max(LOAD_LEAST) / load;
        for idx in limited {
            self.allocations[idx].rate_pps *= factor.min(1.0);
            self.allocations[idx].rate_bytes_per_s *= factor.min(1.0);
        }
    }

    /// Notes what stations with a role may be sent, from a slot's end on or in the course of one.
    pub(super) fn note_grants(&mut self, is_slot: bool) {
        if is_slot {
            let before = core::mem::take(&mut self.hidden.grants);
            let role = |of: &&Allocation| self.hidden.role(of.station).is_some();
            let allocations = self.allocations.iter().filter(role);
            let of = |of: &Allocation| {
                let same = before.iter().find(|grant| grant.station == of.station);
                Grant {
                    station: of.station,
                    bps: 8.0 * of.rate_bytes_per_s,
                    sent_bps: same.map_or(0.0, |grant| grant.sent_bps),
                    is_used: same.is_none_or(|grant| grant.is_used),
                }
            };
            let grants = allocations.map(of).collect();
            self.hidden.grants = grants;
            return;
        }
        for grant in &mut self.hidden.grants {
            let mut allocations = self.allocations.iter();
            let now = allocations.find(|of| of.station == grant.station);
            grant.bps = now.map_or(grant.bps, |of| grant.bps.min(8.0 * of.rate_bytes_per_s));
        }
    }
}
