//! What becomes of a frame: what its receiver decodes, what its sender learns, and what the caller
//! is told of both.

use super::exchange::{Exchange, Work};
use super::field::{Field, MpduClock, Wanted};
use super::flight::Flight;
use super::frame::Rules;
use super::group::GroupReception;
use super::link::Link;
use super::outputs::Outputs;
use super::path::CategoryPath;
use super::window::{Fate, Reception, Tell, TryLimit};
use super::{DropReason, FrameRecord, Mac, Mpdu, RadioId};
use airpace_core::packet::Packet;
use airpace_core::phy::{AccessCategory, Medium, Timing, TxRate};
use airpace_units::Time;
use core::time::Duration;

/// How an exchange ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ending {
    /// When.
    pub(super) at: Time,
    /// From when on that is known: at most `at`.
    pub(super) known: Time,
    /// Whether its sender got an answer to the data.
    pub(super) answered: bool,
    /// Whether the data were sent; not if RTS met no answer.
    pub(super) is_sent: bool,
}

/// For how long a sender asks for a block ack (ns-3 asks for 500 ms, the lifetime of its MPDUs).
const REQUESTS_LAST: Duration = Duration::from_millis(500);

impl Ending {
    /// Without an answer to the data.
    pub(super) const fn unanswered(at: Time) -> Self {
        Self {
            at,
            known: at,
            answered: false,
            is_sent: true,
        }
    }

    /// Without data, because RTS met no answer.
    pub(super) const fn withheld(at: Time) -> Self {
        Self {
            is_sent: false,
            ..Self::unanswered(at)
        }
    }
}

/// Whose packets a frame carries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address {
    pub(super) from: RadioId,
    pub(super) to: RadioId,
    pub(super) category: AccessCategory,
}

impl Address {
    /// That of the frames of `link`.
    pub(super) const fn of(link: &Link, category: AccessCategory) -> Self {
        Self {
            from: link.from,
            to: link.to,
            category,
        }
    }

    #[inline(always)]
    fn mpdu(self, reception: Reception) -> Mpdu {
        let Self { from, to, category } = self;
        Mpdu {
            from,
            to,
            category,
            ampdu: reception.ampdu,
            sequence: reception.sequence,
            retry: reception.retry,
            packets: reception.packets,
        }
    }
}

/// Tells the caller of packets: once each, or, if they were for a group, of the copy of each member.
struct Told<'t, P> {
    at: Time,
    address: Address,
    group: Option<&'t GroupReception>,
    outputs: &'t mut Outputs<P>,
}

impl<P: Clone> Told<'_, P> {
    #[cold]
    #[inline(never)]
    fn tell_of_group(&mut self, group: &GroupReception, fate: Fate<P>) {
        fate.tell_of_group(self.at, self.address, group, self.outputs);
    }
}

impl<P: Clone> Tell<P> for Told<'_, P> {
    // A reception that is passed in memory is written in parts and read as a whole, which makes the
    // processor wait for the writes.
    #[inline(always)]
    fn heard(&mut self, bytes: u32, packet: Option<P>, reception: Reception) {
        let Some(group) = self.group else {
            let mpdu = self.address.mpdu(reception);
            return self.outputs.heard(mpdu, bytes, packet);
        };
        let fate = Fate::Heard {
            bytes,
            packet,
            reception,
        };
        self.tell_of_group(group, fate);
    }

    #[inline(always)]
    fn released(&mut self, packet: P, reception: Reception) {
        match self.group {
            None => {
                let mpdu = self.address.mpdu(reception);
                self.outputs.delivered(self.at, mpdu, packet);
            }
            Some(group) => self.tell_of_group(group, Fate::Released { packet, reception }),
        }
    }

    #[inline]
    fn given_up(&mut self, packet: P) {
        match self.group {
            None => Fate::GivenUp { packet }.tell(self.at, self.address, self.outputs),
            Some(group) => self.tell_of_group(group, Fate::GivenUp { packet }),
        }
    }
}

/// A data frame that others overlap, as its receiver gets it.
struct Overlapped<'f> {
    field: &'f mut Field,
    wanted: Wanted,
    clock: MpduClock,
}

impl<'f> Overlapped<'f> {
    /// The frame that has just ended; `None` if nothing overlaps it.
    fn of(field: &'f mut Field, exchange: &Exchange, flight: &Flight, link: &Link) -> Option<Self> {
        let rate = flight.built.rate;
        let wanted = link.wanted(exchange.begun, field.overlapped()?);
        let clock = MpduClock::new(exchange.begun + field.preamble(rate), rate);
        Some(Self {
            field,
            wanted,
            clock,
        })
    }

    /// Whether the next MPDU, of `bytes`, is lost.
    fn loses(&mut self, link: &mut Link, bytes: u32) -> bool {
        let span = self.clock.next(bytes);
        link.loses_overlapped(bytes, self.field, &self.wanted, span)
    }
}

/// The airtime of decoded MPDUs as if each were a frame of its own, as ath9k computes it of what it
/// receives (`ath_rx_count_airtime`).
#[derive(Debug)]
struct MpdusAlone {
    rate: TxRate,
    medium: Medium,
    timing: Timing,
    /// The last length, and how long an MPDU of it takes: most in a frame have the same.
    last: (u32, Duration),
    sum: Duration,
}

impl MpdusAlone {
    const fn new(rate: TxRate, rules: &Rules) -> Self {
        Self {
            rate,
            medium: rules.medium,
            timing: rules.timing,
            last: (0, Duration::ZERO),
            sum: Duration::ZERO,
        }
    }

    fn add(&mut self, bytes: u32) {
        if self.last.0 != bytes {
            let airtime = self.medium.airtime(self.rate, bytes, self.timing);
            self.last = (bytes, airtime);
        }
        self.sum += self.last.1;
    }
}

/// Counts an MPDU of `bytes` if it is not `lost` and its receiver counts each; returns `lost`.
#[inline]
fn count_alone(alone: &mut Option<MpdusAlone>, bytes: u32, lost: bool) -> bool {
    if !lost && let Some(alone) = alone {
        alone.add(bytes);
    }
    lost
}

impl<P: Packet + Clone> Mac<P> {
    /// The data PPDU has ended: draws which of its MPDUs are decoded and hands out its record and
    /// what it carried. Returns how many MPDUs were decoded.
    pub(super) fn receive(&mut self, exchange: &Exchange, flight: &Flight, clean: bool) -> u16 {
        let link = &mut self.links[flight.link.index()];
        let receiver = &self.radios[link.to.index()].config;
        let counts_alone = receiver.path.driver.counts_frames_alone;
        let path = &mut self.radios[flight.function.radio.index()].paths[flight.function.category];
        let lane = path.lane_mut(flight.lane);
        let mut record = flight.record(exchange, link.from, link.to, self.next_ampdu);
        record.collided = match &self.air.field {
            Some(_) if !link.members.is_empty() => false,
            Some(field) => field.is_disturbed(),
            None => !clean,
        };
        self.next_ampdu = self.next_ampdu.wrapping_add(1);
        self.outputs.begin_frame();
        let (outputs, at) = (&mut self.outputs, exchange.at);
        let address = Address::of(link, record.category);
        let group = self.group.of(link);
        let mut tell = Told {
            at,
            address,
            group,
            outputs,
        };
        let mut alone = counts_alone.then(|| MpdusAlone::new(flight.built.rate, &self.rules));
        link.receive(exchange.begun, flight.built.rate);
        let field = self.air.field.as_deref_mut();
        let mut overlapped = field.and_then(|field| Overlapped::of(field, exchange, flight, link));
        let (number, ampdu, rules) = (flight.built.number, record.ampdu, &self.rules);
        let window = &mut lane.window;
        // What loses MPDUs is decided once for all of them.
        let decoded = match &mut overlapped {
            _ if !clean => window.receive(number, ampdu, rules, |_| true, &mut tell),
            Some(overlapped) => {
                let lost = |bytes| count_alone(&mut alone, bytes, overlapped.loses(link, bytes));
                window.receive(number, ampdu, rules, lost, &mut tell)
            }
            None => {
                let lost = |bytes| count_alone(&mut alone, bytes, link.loses(bytes));
                window.receive(number, ampdu, rules, lost, &mut tell)
            }
        };
        if !self.air.is_shared_by_all() {
            // With one view the exchange is concluded now, which hands the packets over too.
            lane.window.release(&mut tell);
        }
        record.decoded = decoded;
        if decoded > 0 && !link.group {
            record.airtime += self.rules.medium.sifs() + flight.built.response;
        }
        self.outputs.complete_frame(&record);
        let received = alone.map_or(record.airtime, |alone| alone.sum);
        self.account(flight, &record, received);
        decoded
    }

    /// Counts the airtime of a frame, and charges it to its station where airtime is shared out: at
    /// the sender, and at the receiver, where the station is the one that sends and of which the
    /// receiver knows what it has decoded, which took `received`.
    fn account(&mut self, flight: &Flight, record: &FrameRecord, received: Duration) {
        let category = record.category;
        let path = &mut self.radios[record.from.index()].paths[category];
        let sent = path.airtime_of_sent(record);
        path.charge(flight.lane, sent);
        path.on_frame(record);
        let counted = &mut self.links[flight.link.index()].counted;
        counted.sender += sent;
        if record.decoded == 0 {
            return;
        }
        counted.receiver += received;
        let receiver = &mut self.radios[record.to.index()];
        if let Some(back) = receiver.lane(record.from, category) {
            receiver.paths[category].charge(back, received);
        }
    }

    /// Counts and charges what the sender of a frame, who alone knows of it, has used for that frame
    /// beside the frame itself.
    pub(super) fn account_beside(
        &mut self,
        flight: &Flight,
        airtime: impl FnOnce(&CategoryPath<P>) -> Duration,
    ) {
        let path = &mut self.radios[flight.function.radio.index()].paths[flight.function.category];
        let airtime = airtime(path);
        path.charge(flight.lane, airtime);
        self.links[flight.link.index()].counted.sender += airtime;
    }

    /// The exchange is over: its sender learns what was received, if there was an answer, and goes
    /// on with its TXOP or contends again.
    pub(super) fn conclude(&mut self, flight: &Flight, ending: Ending) {
        let Ending {
            at,
            known,
            answered,
            is_sent,
        } = ending;
        let function = flight.function;
        if is_sent && !answered && self.may_ask(flight, at) {
            return self.ask(flight, at);
        }
        let path = &mut self.radios[function.radio.index()].paths[function.category];
        let link = &mut self.links[flight.link.index()];
        let address = Address::of(link, function.category);
        let outputs = &mut self.outputs;
        let group = self.group.of(link);
        let mut tell = Told {
            at: known,
            address,
            group,
            outputs,
        };
        // The MPDUs of an A-MPDU that was sent may have any number of tries. A group-addressed frame
        // has one.
        let is_endless = self.rules.endless_retries && is_sent && flight.built.mpdus > 1;
        let limit = if link.group {
            Some(1)
        } else if is_endless {
            None
        } else {
            Some(self.rules.retry_limit)
        };
        let tries = TryLimit {
            limit,
            counts_answered: link.group || !self.rules.endless_retries,
        };
        let window = &mut path.lane_mut(flight.lane).window;
        let settled = window.settle(flight.built.number, answered, &tries, &mut tell);
        path.settled(flight.lane, settled.packets);
        link.adaptation.on_result(at, &flight.result(settled.acked));
        let spent = if answered {
            link.unanswered = 0;
            false
        } else {
            self.count_unanswered(flight.link)
        };
        if spent && !is_sent {
            self.account_beside(flight, |path| path.airtime_of_given_up(flight));
        }
        let done = answered || spent;
        self.end_service(flight, at, known, done);
        // A TXOP goes on after an answer only; the recovery of a failed exchange within its TXOP is
        // not modelled.
        let sifs = self.rules.medium.sifs();
        let goes_on = answered && flight.txop_end.is_some_and(|end| at + sifs < end);
        if goes_on && self.radios[function.radio.index()].paths[function.category].has_work() {
            self.after_sifs(at, Work::NextBegins(*flight));
        } else {
            self.back_off(at, function, done);
        }
    }
}

impl<P: Packet + Clone> Mac<P> {
    /// Whether the sender of a frame whose block ack it has missed asks for it.
    fn may_ask(&self, flight: &Flight, at: Time) -> bool {
        let lasts = flight.missed.is_none_or(|since| at < since + REQUESTS_LAST);
        self.rules.block_ack_requests && flight.built.mpdus > 1 && lasts
    }

    /// The sender asks for the block ack when it wins the channel next. Its contention window
    /// doubles as after any frame without an answer, and falls back when the retry limit is reached
    /// (QSRC, 10.23.2.2), although the sender goes on asking.
    fn ask(&mut self, flight: &Flight, at: Time) {
        let function = flight.function;
        let path = &mut self.radios[function.radio.index()].paths[function.category];
        path.put_request(Flight {
            txop_end: None,
            missed: flight.missed.or(Some(at)),
            ..*flight
        });
        let spent = self.count_unanswered(flight.link);
        self.back_off(at, function, spent);
    }
}

impl<P> Fate<P> {
    /// Tells the caller of a packet.
    pub(super) fn tell(self, at: Time, address: Address, outputs: &mut Outputs<P>) {
        match self {
            Self::Heard {
                bytes,
                packet,
                reception,
            } => outputs.heard(address.mpdu(reception), bytes, packet),
            Self::Released { packet, reception } => {
                outputs.delivered(at, address.mpdu(reception), packet);
            }
            Self::GivenUp { packet } => {
                outputs.dropped(at, address, DropReason::RetryLimit, packet);
            }
        }
    }
}
