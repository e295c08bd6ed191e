//! The proxy: paces what each station is sent, so that the queue stands here and not in the access
//! point.
//!
//! [`Proxy`] holds a flow queue and a pacer per station and one rate law. The caller
//!
//! 1. hands in packets ([`Proxy::enqueue`]), reports ([`Proxy::on_report`], or [`Proxy::on_reports`]
//!    of all stations at once) and the coming and going of stations ([`Proxy::set_connected`]);
//! 2. takes packets out with [`Proxy::poll`] until there is none, and what was dropped with
//!    [`Proxy::poll_drop`];
//! 3. at [`Proxy::deadline`], calls [`Proxy::handle_timeout`], then [`Proxy::poll`].
//!
//! A slot ends, and the law decides, when every awaited report has come, half a slot after they
//! were due, or, if the law takes it, on a report that was sent early because it has news. Between
//! slots the law is told when packets begin or cease to wait for a station's pacer, and may change
//! the rates.

mod allowance;
mod bursts;
mod config;
mod interactive;
mod law;
mod mode;
mod output;
mod permitted;
mod reconfigure;
mod record;
mod reports;
mod sending;
mod slot;
mod station;
mod status;
#[cfg(test)]
mod tests;
mod turns;
mod warnings;

pub use config::{CustomLaw, Fallback, Pacing, ProxyConfig, StartRate, StationConfig};
pub use interactive::InteractiveConfig;
pub use law::controller;
pub use mode::Mode;
pub use output::{Counts, DroppedPacket, Event, Output, ProxyError, RejectedReports};
pub use record::SlotRecord;

use airpace_core::control::RateController;
use airpace_core::pace::Account;
use airpace_core::packet::Packet;
use airpace_core::report::SlotReport;
use airpace_core::report::claims::Ledger;
use airpace_units::{StationId, Time};
use bursts::Bursts;
use interactive::AirtimeBudget;
use permitted::Permitted;
use station::PacedStation;
use std::collections::VecDeque;
use turns::Turns;
use warnings::MediumEstimates;

/// [`Proxy::deadline`] comes this share of the permitted burst after the release of a paced packet,
/// so that packets leave in small groups; what is sent at [`Proxy::poll`] in between still leaves
/// on time.
pub const GATHER_SHARE: u32 = 4;

/// The proxy's decisions, for packets of type `P`. Stations are numbered as in the configuration.
pub struct Proxy<P> {
    config: ProxyConfig,
    stations: Vec<PacedStation<P>>,
    law: Option<Box<dyn RateController + Send>>,
    turns: Turns,
    /// Reports for the next decision, and [silent](SlotReport::silent) ones of stations that it
    /// introduces to the law.
    pending: Vec<SlotReport>,
    /// Stations whose reports are awaited.
    awaited: usize,
    /// Stations whose report waits in `pending`, except those that may extend their slots.
    reported: usize,
    budget: AirtimeBudget,
    /// Until when a scalable flow counts as present.
    scalable_until: Time,
    estimates: MediumEstimates,
    next_decision: Time,
    last_decision: Option<Time>,
    bursts: Bursts,
    /// See [`GATHER_SHARE`], nanoseconds.
    gather_ns: u64,
    records: VecDeque<SlotRecord>,
    events: VecDeque<Event>,
    drops: VecDeque<DroppedPacket<P>>,
    counts: Counts,
}

impl<P: Packet> Proxy<P> {
    /// A proxy whose stations are all away, at [`Time::ZERO`]. `hash_key` gives each station's
    /// queue a secret key, which keeps senders from aiming at the queue of a neighbour.
    ///
    /// # Errors
    /// The law refuses its parameters or a weight.
    pub fn new(
        config: ProxyConfig,
        hash_key: impl Fn(usize) -> [u8; 16],
    ) -> Result<Self, ProxyError> {
        let law = law::build(&config)?;
        let mut stations = Vec::with_capacity(config.stations.len());
        for (idx, &station) in config.stations.iter().enumerate() {
            let id = StationId::from_index(idx);
            stations.push(PacedStation::new(id, station, &config, hash_key(idx)));
        }
        Ok(Self {
            budget: AirtimeBudget::new(config.interactive.map_or(0.0, |fast| fast.budget)),
            scalable_until: Time::ZERO,
            next_decision: Time::ZERO.saturating_add(config.slot),
            last_decision: None,
            bursts: Bursts::new(config.stations.len()),
            gather_ns: u64::try_from((config.pace.burst / GATHER_SHARE).as_nanos())
                .unwrap_or(u64::MAX),
            config,
            stations,
            law,
            turns: Turns::default(),
            pending: Vec::new(),
            reported: 0,
            awaited: 0,
            estimates: MediumEstimates::default(),
            records: VecDeque::new(),
            events: VecDeque::new(),
            drops: VecDeque::new(),
            counts: Counts::default(),
        })
    }

    /// Adds a station, which is away, and returns its number. `hash_key` is the secret key of its
    /// queue.
    ///
    /// # Errors
    /// The law does not support the weight.
    pub fn add_station(
        &mut self,
        station: StationConfig,
        hash_key: [u8; 16],
    ) -> Result<usize, ProxyError> {
        let idx = self.stations.len();
        self.config.stations.push(station);
        let id = StationId::from_index(idx);
        self.stations
            .push(PacedStation::new(id, station, &self.config, hash_key));
        self.bursts.set_stations(self.stations.len());
        self.set_weight(idx, station.weight).inspect_err(|_| {
            // As if it had never come.
            self.stations.pop();
            self.config.stations.pop();
        })?;
        Ok(idx)
    }

    /// Changes the weight of a station's share, from the next decision on.
    ///
    /// # Errors
    /// The law does not support the weight.
    pub fn set_weight(&mut self, station: usize, weight: f64) -> Result<(), ProxyError> {
        let Some(config) = self.config.stations.get_mut(station) else {
            return Ok(());
        };
        let is_new = weight != 1.0 || config.weight != 1.0;
        if let Some(law) = self.law.as_mut().filter(|_| is_new)
            && !law.set_weight(StationId::from_index(station), weight)
        {
            return Err(ProxyError::Weight {
                station,
                law: law.name(),
            });
        }
        config.weight = weight;
        Ok(())
    }

    /// Takes a packet for a station. For a station that is away it is dropped at once.
    ///
    /// # Panics
    /// If there is no such station.
    pub fn enqueue(&mut self, now: Time, station: usize, packet: P) {
        let paced = &mut self.stations[station];
        if !paced.connected {
            self.counts.away += 1;
            return self.drops.push_back(DroppedPacket {
                station,
                reason: None,
                packet,
            });
        }
        paced.queue.enqueue(now, packet);
        paced.account.wait(now);
        self.collect_drops(station);
        self.activate(station);
        self.advance(now, station);
    }

    /// Counts a packet of `bytes` that has come from a station: it took airtime on its way.
    pub fn on_uplink(&mut self, now: Time, station: usize, bytes: u32) {
        if let Some(paced) = self.stations.get_mut(station) {
            paced.account.received(now, bytes);
        }
    }

    /// Counts `frames` on the air with packets of `bytes` in all that have come from a station, where
    /// they are not handed in one by one.
    pub fn on_uplink_frames(&mut self, station: usize, frames: u64, bytes: u64) {
        if let Some(paced) = self.stations.get_mut(station) {
            paced.account.received_frames(frames, bytes);
        }
    }

    /// Lets everything for a station pass from now on, or ends that.
    pub fn set_exempt(&mut self, now: Time, station: usize, is_exempt: bool) {
        if let Some(paced) = self.stations.get_mut(station)
            && core::mem::replace(&mut paced.is_exempt, is_exempt) != is_exempt
        {
            self.apply_rate(now, station);
        }
    }

    /// Notes that a station has come or gone. One that has gone is forgotten by the law, and its
    /// packets are dropped.
    pub fn set_connected(&mut self, now: Time, station: usize, connected: bool) {
        let Some(paced) = self.stations.get_mut(station) else {
            return;
        };
        if paced.connected == connected {
            return;
        }
        paced.connected = connected;
        paced.heard_at = now;
        paced.last_report = None;
        paced.allocation = None;
        paced.known_to_wait = false;
        if connected {
            paced.account = Account::new(now);
            paced.permitted = Permitted::default();
            paced.ledger = Ledger::default();
            paced.rejected = RejectedReports::default();
            // What its first slot records begins now, not when the clock did.
            let counters = paced.queue.counters();
            let (dropped, marked) = (counters.dropped(), counters.marked);
            paced.slot.begin_slot(now, dropped, marked);
            if self.config.start == StartRate::FromLaw && self.law.is_some() {
                // The next decision introduces it to the law, and need not wait for it.
                self.pending
                    .push(SlotReport::silent(paced.id, self.config.slot));
                paced.reported = true;
                self.reported += usize::from(paced.counts_as_reported());
            }
        } else {
            self.forget(now, station);
        }
        self.update_mode(now, station);
    }

    /// Drops what waits for a station and what it reported.
    fn forget(&mut self, now: Time, station: usize) {
        while let Some(packet) = self.stations[station].queue.dequeue(now) {
            // The queue forgets its own drops at the next call.
            self.collect_drops(station);
            self.drops.push_back(DroppedPacket {
                station,
                reason: None,
                packet,
            });
        }
        self.collect_drops(station);
        let paced = &mut self.stations[station];
        let id = paced.id;
        self.reported -= usize::from(paced.counts_as_reported());
        paced.reported = false;
        self.pending.retain(|report| report.station != id);
    }

    /// Sets the load of a station: see [`StationConfig::load_bytes`].
    pub fn set_load(&mut self, station: usize, load_bytes: Option<u32>) {
        let Some(paced) = self.stations.get_mut(station) else {
            return;
        };
        paced.load_bytes = load_bytes;
        if paced.has_something() {
            self.activate(station);
        }
    }

    /// Decides at once instead of waiting for reports, and begins a slot now. With
    /// [`StartRate::FromLaw`] this gives the stations that have just connected their first rates.
    pub fn begin_slot(&mut self, now: Time) {
        self.decide(now);
        self.next_decision = now.saturating_add(self.config.slot);
    }

    /// A packet that was dropped since the last call.
    #[inline]
    pub fn poll_drop(&mut self) -> Option<DroppedPacket<P>> {
        self.drops.pop_front()
    }

    /// The next record of a station's slot, if records are made.
    #[inline]
    pub fn poll_record(&mut self) -> Option<SlotRecord> {
        self.records.pop_front()
    }

    /// The next event that an operator should know of.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When the next packets that a pacer holds back may leave, if any are held back.
    #[must_use]
    #[inline]
    pub fn release(&self) -> Option<Time> {
        let released = self.turns.next_release()?;
        let gathered = released.as_nanos().saturating_add(self.gather_ns);
        Some(Time::from_nanos(gathered))
    }

    /// When [`Proxy::handle_timeout`] and [`Proxy::poll`] are to be called next.
    #[must_use]
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        if self.turns.is_ready() {
            return Some(Time::ZERO);
        }
        let earliest = |due: Time, other: Option<Time>| other.map_or(due, |other| other.min(due));
        let due = earliest(self.next_decision, self.bursts.deadline());
        Some(earliest(due, self.release()))
    }

    /// Ends a slot whose reports did not all come in time, and looks for stations whose reports are
    /// missing.
    #[inline]
    pub fn handle_timeout(&mut self, now: Time) {
        if now >= self.next_decision {
            self.decide(now);
        }
        self.divide_again(now);
    }
}
