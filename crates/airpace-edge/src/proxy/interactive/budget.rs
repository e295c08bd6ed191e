//! The airtime that packets with priority may use at one access point, and its fair use.

use airpace_units::{StationId, Time};

/// How long the budget may be saved up, seconds. Longer, and a burst would keep the medium from bulk
/// for a noticeable time.
const SAVED_S: f64 = 0.25;

/// A budget of airtime that the stations of an access point share fairly.
///
/// What a station uses is its debt. What accrues repays all debts at the same rate, so stations that
/// want more than there is get equal parts, and what a station does not need goes to the others.
///
/// A station is served as long as its debt is no larger than what is left of the budget. This is the
/// dynamic threshold of A. K. Choudhury and E. L. Hahne (Dynamic queue length thresholds for
/// shared-memory packet switches, IEEE/ACM Transactions on Networking 6(2), 1998) with factor 1: n
/// stations that use all they can leave 1/(n + 1) of the budget, so that one which uses little finds
/// something left whenever it has a packet. If that is too little for a packet, the station with
/// the smallest debt is the first that can afford one.
pub(in crate::proxy) struct AirtimeBudget {
    /// As a share of the time.
    share: f64,
    debts: Vec<Debt>,
    repaid_at: Time,
}

/// What a station has used and the budget has not repaid.
struct Debt {
    station: StationId,
    seconds: f64,
}

impl AirtimeBudget {
    /// A budget of this share of the time.
    pub(in crate::proxy) const fn new(share: f64) -> Self {
        Self {
            share,
            debts: Vec::new(),
            repaid_at: Time::ZERO,
        }
    }

    /// Takes `cost_s` seconds of airtime for a station; returns whether there was as much for it.
    pub(super) fn spend(&mut self, now: Time, station: StationId, cost_s: f64) -> bool {
        self.repay(now);
        let mut left_s = self.share * SAVED_S;
        let mut own_s = 0.0;
        for debt in &self.debts {
            left_s -= debt.seconds;
            if debt.station == station {
                own_s = debt.seconds;
            }
        }
        if own_s + cost_s > left_s {
            return false;
        }
        match self.debts.iter_mut().find(|debt| debt.station == station) {
            Some(debt) => debt.seconds += cost_s,
            None => self.debts.push(Debt {
                station,
                seconds: cost_s,
            }),
        }
        true
    }

    /// Shares what has accrued since the last call equally among the debts.
    fn repay(&mut self, now: Time) {
        let mut accrued_s = self.share * now.saturating_since(self.repaid_at).as_secs_f64();
        self.repaid_at = self.repaid_at.max(now);
        // What is more than a debt goes to the others. Each pass but the last ends a debt at least.
        while accrued_s > 0.0 && !self.debts.is_empty() {
            let each_s = accrued_s / self.debts.len() as f64;
            accrued_s = 0.0;
            self.debts.retain_mut(|debt| {
                debt.seconds -= each_s;
                if debt.seconds <= 0.0 {
                    accrued_s -= debt.seconds;
                }
                debt.seconds > 0.0
            });
        }
    }
}
