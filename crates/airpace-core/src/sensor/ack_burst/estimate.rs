//! The number of downlink frames behind a number of bursts.

use crate::report::Answers;
use core::time::Duration;

/// Time that an uplink frame of acknowledgements takes, seconds: AIFS, backoff, preamble, some
/// hundred bytes, SIFS and block ack.
const UPLINK_EXCHANGE_S: f64 = 210e-6;
/// The same of a downlink frame without its packets.
const FRAME_OVERHEAD_S: f64 = 250e-6;
/// Rounds of the fixed-point iterations below; each changes the result by less than the one before.
const ITERATIONS: usize = 4;
/// Frames per burst beyond the first where one station and the access point contend with equal
/// parameters (DCF renewal argument and simulation), and how that falls with the number of stations
/// whose turns lie in between.
const LONE_EXCESS: f64 = 0.75;
const EXCESS_EXPONENT: f64 = 1.2;
/// Frames per burst are fewer by this factor, since losses in the uplink divide some bursts (simulation of one to five
/// stations).
pub(super) const UNDIVIDED: f64 = 0.95;
/// Other networks are taken to send if the cell leaves them this share of the time at the least and its frames hold so many
/// packets. With fewer, the channel may be idle, which looks the same.
const FOREIGN_LEAST: f64 = 0.25;
const FOREIGN_LEVEL: f64 = 6.0;
/// With fewer packets in about a second a station takes next to nothing of the air, whether it answers or not.
const LITTLE: f64 = 20.0;
/// Observations fade with this time constant.
const MEMORY_S: f64 = 1.0;
/// Fewest bursts for an estimate.
const FEWEST_BURSTS: f64 = 10.0;
/// Smallest share of packets that ask for an answer, below which too many frames carry none.
const LEAST_ELICITING: f64 = 0.6;
/// Largest share of QUIC beside which the clock of TCP timestamps tells the frames of all bursts.
const HIDDEN_SOME: f64 = 0.1;
/// From this share of QUIC on, its clients' habits count.
const HIDDEN_MUCH: f64 = 0.3;
/// A QUIC client that answers every second packet (RFC 9000 §13.2.2) has fewer packets per answer, and leaves no more
/// frames unanswered than one of TCP.
const EVERY_SECOND: f64 = 2.5;
/// Others answer every tenth, as Chromium does. Frames that hold so many on average nearly all hold ten.
const ANSWERED_LEVEL: f64 = 13.0;
/// With so many packets per answer on average, a client answers once for all that it has read.
const AT_ONCE_SEGMENTS: f64 = 14.0;
/// A client that answers a frame so many times on average leaves few unanswered.
const ANSWERS_PER_FRAME: f64 = 2.0;
/// Fewest bursts in a second that tell an airtime although frames cannot be told apart, at first and as long as they
/// did in the slot before: of a station that uses little most answers follow frames to others.
const TELLING_BURSTS: (f64, f64) = (40.0, 25.0);
/// Largest share of bursts in which a QUIC client uploads: these may answer nothing.
const UPLOADING_MOST: f64 = 0.2;
/// Segments per burst from which on few frames hold acknowledgements for an upload alone: with so many that
/// are mixed at random, one frame in e⁴ = 55.
const SHARED_SEGMENTS: f64 = 4.0;
/// Smallest share of segments handed over that acknowledgements account for.
const LEAST_ACKNOWLEDGED: f64 = 0.7;
/// Bursts this far apart on average, seconds, hardly ever begin within one tick of the clock.
const APART_S: f64 = 1.3e-3;
/// More frames per burst than this are not plausible.
const MOST_FRAMES: f64 = 4.0;
/// A station whose bursts hold fewer acknowledgements per connection beyond the first than this part
/// of what is expected, and that acknowledges this many segments at once, drops acknowledgements that
/// newer ones replace.
const THINNED_REPEATS: f64 = 0.25;
const THINNED_SEGMENTS: f64 = 4.0;
/// A receiver with fewer segments per acknowledgement acknowledges every segment.
const EVERY_SEGMENT: f64 = 1.2;
/// The part of silent frames that a later packet does not make up for (simulation).
const SILENT: f64 = 0.85;
/// The largest error that unknown frames per burst may cause, as a factor.
const TOLERATED: f64 = 1.3;

/// What was observed of a station's bursts: in one slot, or in faded sums over about a second.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Observed {
    /// Time, seconds.
    pub(super) seconds: f64,
    /// Bursts that acknowledge something.
    pub(super) bursts: f64,
    /// Bursts whose first acknowledgement was written later than the last of the burst before, on
    /// the station's clock.
    pub(super) crossings: f64,
    /// Sum over bursts of how far the station's clock advances within them, seconds.
    pub(super) clock_s: f64,
    /// Acknowledgements of something new.
    pub(super) acks: f64,
    /// Those of them with timestamps that can be compared.
    pub(super) stamped: f64,
    /// Those that are not the first of their connection in the burst.
    pub(super) repeats: f64,
    /// Segments acknowledged.
    pub(super) segments: f64,
    /// Connections that acknowledged something in the latest slot with any.
    pub(super) flows: f64,
    /// Bursts that upload besides.
    pub(super) uploading: f64,
    /// Packets handed over.
    pub(super) packets: f64,
    /// Those of them that ask for an answer: TCP segments that were not sent before, and packets of QUIC.
    pub(super) eliciting: f64,
    /// The packets of QUIC among those, of which no answer says which it answers.
    pub(super) hidden: f64,
    /// IP bytes of those.
    pub(super) hidden_bytes: f64,
    /// Acknowledgements without payload among the packets, for what the station uploads.
    pub(super) bare_acks: f64,
}

/// How many frames there are per burst.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Estimate {
    /// Downlink frames per burst, at least 1.
    pub(super) frames_per_burst: f64,
    /// 0 to 1; 0 if the estimate is not usable.
    pub(super) confidence: f64,
}

impl Estimate {
    const UNUSABLE: Self = Self {
        frames_per_burst: 1.0,
        confidence: 0.0,
    };
}

/// What frames take of the air, and how many there are, per second.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CellAir {
    share: f64,
    segments: f64,
    frames: f64,
    bursts: f64,
}

impl CellAir {
    pub(super) fn add(self, other: Self) -> Self {
        Self {
            share: self.share + other.share,
            segments: self.segments + other.segments,
            frames: self.frames + other.frames,
            bursts: self.bursts + other.bursts,
        }
    }

    /// For how long other networks send between two frames of the cell, seconds, if this is all of the cell. The frames
    /// of the access point and its stations contend with theirs alike. `None` if the channel may be idle as well.
    pub(super) fn foreign_s(self) -> Option<f64> {
        let foreign = 1.0 - self.share;
        if foreign < FOREIGN_LEAST {
            return Some(0.0);
        }
        let is_full = self.frames > 0.0 && self.segments >= FOREIGN_LEVEL * self.frames;
        is_full.then(|| foreign / (self.frames + self.bursts))
    }
}

impl Observed {
    /// Adds a slot, and lets older ones fade.
    pub(super) fn add(&mut self, slot: &Self, length: Duration) {
        let keep = (-length.as_secs_f64() / MEMORY_S).exp();
        let fade = |old: &mut f64, new: f64| *old = *old * keep + new;
        fade(&mut self.seconds, length.as_secs_f64());
        fade(&mut self.bursts, slot.bursts);
        fade(&mut self.crossings, slot.crossings);
        fade(&mut self.clock_s, slot.clock_s);
        fade(&mut self.acks, slot.acks);
        fade(&mut self.stamped, slot.stamped);
        fade(&mut self.repeats, slot.repeats);
        if slot.flows > 0.0 {
            self.flows = slot.flows;
        }
        fade(&mut self.segments, slot.segments);
        fade(&mut self.uploading, slot.uploading);
        fade(&mut self.packets, slot.packets);
        fade(&mut self.eliciting, slot.eliciting);
        fade(&mut self.hidden, slot.hidden);
        fade(&mut self.hidden_bytes, slot.hidden_bytes);
        fade(&mut self.bare_acks, slot.bare_acks);
    }

    /// Packets handed over for every one that asks for an answer.
    pub(super) fn packets_per_segment(&self) -> f64 {
        (self.packets / self.eliciting.max(1.0)).max(1.0)
    }

    /// Share of the packets that ask for an answer. Acknowledgements for an upload share their frames with
    /// them, so they do not count where most frames hold some.
    fn eliciting_share(&self) -> f64 {
        let share_frames = self.segments >= SHARED_SEGMENTS * self.bursts;
        let bare_acks = if share_frames { self.bare_acks } else { 0.0 };
        self.eliciting / (self.packets - bare_acks).max(1.0)
    }

    /// Whether enough bursts answer most of what was handed over.
    fn is_answered(&self) -> bool {
        self.bursts >= FEWEST_BURSTS
            && self.eliciting_share() >= LEAST_ELICITING
            && self.segments / self.eliciting.max(1.0) >= LEAST_ACKNOWLEDGED
    }

    /// The longest that other networks can send between two frames of the cell, seconds: the station's own frames and
    /// answers, one of each per burst at the least, leave them no more.
    fn foreign_most_s(&self) -> f64 {
        let own_s = self.bursts * (FRAME_OVERHEAD_S + UPLINK_EXCHANGE_S);
        ((self.seconds - own_s) / (2.0 * self.bursts)).max(0.0)
    }

    /// Whether much is hidden by QUIC.
    pub(super) fn is_hidden(&self) -> bool {
        self.hidden > HIDDEN_MUCH * self.eliciting
    }

    /// What the answers tell.
    pub(super) fn answers(&self) -> Answers {
        if !self.is_hidden() || self.bursts < FEWEST_BURSTS {
            Answers::Tell
        } else if self.segments <= EVERY_SECOND * self.acks {
            Answers::Often
        } else if self.segments < AT_ONCE_SEGMENTS * self.acks {
            Answers::Seldom
        } else {
            Answers::AtOnce
        }
    }

    /// IP bits per second of airtime, if packets of QUIC take `segment_s` seconds each; `None` if too few bursts
    /// tell, or hardly any packet is of QUIC. Fewer are enough if the slot before `was_told`.
    pub(super) fn airtime_bps(&self, segment_s: f64, was_told: bool) -> Option<f64> {
        let (first, later) = TELLING_BURSTS;
        let enough = if was_told { later } else { first };
        let packet_bits = 8.0 * self.hidden_bytes / self.hidden;
        (self.is_hidden() && self.bursts >= enough).then_some(packet_bits / segment_s)
    }

    /// Whether much is hidden by QUIC, and the bursts may be other than one for each `frames_per_burst` frames.
    ///
    /// A client need not answer before ten packets have come, so only frames that hold more, or are answered
    /// several times, are surely answered. And what it uploads may come without an answer.
    fn is_obscure(&self, frames_per_burst: f64) -> bool {
        let frames = self.bursts * frames_per_burst;
        let may_skip = self.segments > EVERY_SECOND * self.acks
            && self.segments < ANSWERED_LEVEL * frames
            && self.acks < ANSWERS_PER_FRAME * frames;
        self.is_hidden() && (may_skip || self.uploading > UPLOADING_MOST * self.bursts)
    }

    /// What the station's frames and answers take of the air, if a segment takes `segment_s` and there were
    /// `frames_per_burst`; `None` if that is not known. One that is sent little takes nothing.
    pub(super) fn air(&self, segment_s: f64, frames_per_burst: f64) -> Option<CellAir> {
        if self.packets < LITTLE {
            return Some(CellAir::default());
        }
        let is_told = segment_s > 0.0 && self.seconds > 0.0 && self.is_answered();
        is_told.then(|| {
            let frames = self.bursts * frames_per_burst;
            let overhead_s = FRAME_OVERHEAD_S * frames + UPLINK_EXCHANGE_S * self.bursts;
            CellAir {
                share: (self.segments * segment_s + overhead_s) / self.seconds,
                segments: self.segments / self.seconds,
                frames: frames / self.seconds,
                bursts: self.bursts / self.seconds,
            }
        })
    }

    /// Frames per burst, where `contending` stations contend for the air, and other networks send for `foreign_s`
    /// seconds between two frames of the cell. `clarity`, 0 to 1, says how clearly bursts are apart.
    pub(super) fn estimate(&self, contending: usize, clarity: f64, foreign_s: f64) -> Estimate {
        if !self.is_answered() {
            return Estimate::UNUSABLE;
        }
        let foreign_s = foreign_s.min(self.foreign_most_s());
        let expected = expected_frames_per_burst(contending);
        // Where few frames share a burst anyway, thinning hides little.
        let is_thinned = expected > TOLERATED
            && self.repeats < THINNED_REPEATS * (expected - 1.0) * self.bursts
            && self.segments > THINNED_SEGMENTS * self.acks;
        if is_thinned {
            return Estimate::UNUSABLE;
        }
        // Bursts of QUIC bear no timestamps.
        let is_stamped =
            2.0 * self.stamped > self.acks && self.hidden < HIDDEN_SOME * self.eliciting.max(1.0);
        let (frames_per_burst, basis) = if is_stamped {
            (self.frames_per_burst_by_clock(foreign_s), 0.9)
        } else {
            (Some(UNDIVIDED * expected), 0.6)
        };
        let Some(frames_per_burst) = frames_per_burst.filter(|&frames| !self.is_obscure(frames))
        else {
            return Estimate::UNUSABLE;
        };
        let frames_per_burst = frames_per_burst * self.silent_bursts(frames_per_burst);
        let sampled = 1.0 - 1.0 / self.bursts.sqrt();
        Estimate {
            frames_per_burst,
            confidence: basis * sampled * clarity * self.eliciting_share().min(1.0).sqrt(),
        }
    }

    /// Frames per burst from the station's own clock.
    ///
    /// Let B bursts answer F frames in the time T. Within a burst the frames follow each other after
    /// d, and from the last frame of a burst to the first of the next it takes d + U, where U is due
    /// to the uplink frame in between: T = (F − B)·d + B·(d + U). The clock advances by
    /// S = (F − B)·d within bursts. Hence F/B = 1/(1 − S/(T − U·B)).
    ///
    /// U is the uplink frame, what other networks send before it, and the airtime of the packets that gather
    /// meanwhile, which is the larger, the more of the time between frames is packets rather than overhead.
    ///
    /// An acknowledgement that is lost on the air divides a burst: what follows it comes with its
    /// retransmission. Where bursts are further apart than the clock's ticks, such a part is known by
    /// its first acknowledgement, which was written in the same tick as the one before.
    fn frames_per_burst_by_clock(&self, foreign_s: f64) -> Option<f64> {
        let apart_s = (self.seconds - self.clock_s) / self.bursts;
        let bursts = if apart_s >= APART_S {
            self.crossings.clamp(1.0, self.bursts)
        } else {
            self.bursts
        };
        let mut frames_per_burst = 1.5;
        for _ in 0..ITERATIONS {
            let round_s = self.seconds / (bursts * frames_per_burst);
            let payload = (1.0 - (FRAME_OVERHEAD_S + foreign_s) / round_s).max(0.0);
            let uplink_s = (UPLINK_EXCHANGE_S + foreign_s) * (1.0 + payload);
            let without_uplink = self.seconds - uplink_s * bursts;
            let within = self.clock_s / without_uplink;
            if without_uplink <= 0.0 || within >= 1.0 - 1.0 / MOST_FRAMES {
                return None;
            }
            frames_per_burst = 1.0 / (1.0 - within);
        }
        Some(frames_per_burst * bursts / self.bursts)
    }

    /// Bursts, with those that were never sent because none of the frames that they would have
    /// answered elicits an acknowledgement, for every one that was sent.
    ///
    /// A receiver that acknowledges every second segment of a connection answers a frame of k packets
    /// of as many connections with probability 1 − 2⁻ᵏ. With k = 1 + Poisson(L − 1), E 2⁻ᵏ is
    /// e^(−(L − 1)/2)/2.
    fn silent_bursts(&self, frames_per_burst: f64) -> f64 {
        if self.segments < EVERY_SEGMENT * self.acks || self.flows < 1.0 {
            return 1.0;
        }
        let mut factor = 1.0;
        for _ in 0..ITERATIONS {
            let frames = self.bursts * frames_per_burst * factor;
            let level = (self.segments / frames).max(1.0);
            let silent = 0.5 * (-(level - 1.0) / 2.0).exp();
            // Two packets of one connection are always answered, and a frame that follows another
            // one is answered with it.
            let silent = SILENT * silent * (1.0 - 1.0 / self.flows) / frames_per_burst;
            factor = 1.0 / (1.0 - silent);
        }
        factor
    }
}

/// Frames per burst where access point and stations contend with equal parameters, and the access
/// point serves its stations in turn.
pub(super) fn expected_frames_per_burst(contending: usize) -> f64 {
    // There are far fewer than 2^52 stations.
    1.0 + LONE_EXCESS / (contending.max(1) as f64).powf(EXCESS_EXPONENT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sensor::USABLE;

    /// A second with so many frames of so many segments, two of three in a burst with the next, at 33 µs per segment
    /// and with `between_s` of others' frames before each access.
    fn second(frames: f64, level: f64, between_s: f64) -> Observed {
        let bursts = frames / 1.5;
        let own_s = frames * (FRAME_OVERHEAD_S + level * 33e-6) + bursts * UPLINK_EXCHANGE_S;
        let seconds = own_s + (frames + bursts) * between_s;
        let within_s = (seconds - bursts * (UPLINK_EXCHANGE_S + between_s)) / frames;
        Observed {
            seconds,
            bursts,
            crossings: bursts,
            clock_s: (frames - bursts) * within_s,
            acks: frames * level / 2.0,
            stamped: frames * level / 2.0,
            repeats: frames * level / 4.0,
            segments: frames * level,
            flows: 1.0,
            packets: frames * level,
            eliciting: frames * level,
            ..Observed::default()
        }
    }

    #[test]
    fn frames_of_other_networks_before_an_answer_do_not_make_frames_look_longer() {
        let observed = second(150.0, 40.0, 1.5e-3);
        let cell = observed.air(33e-6, 1.5).unwrap();
        let foreign_s = cell.foreign_s().unwrap();
        assert!((foreign_s / 1.5e-3 - 1.0).abs() < 0.01, "{foreign_s}");
        // Packets gather while others send, which the model adds to the way from one burst to the next.
        let known = observed.estimate(1, 1.0, foreign_s).frames_per_burst;
        let ignored = observed.estimate(1, 1.0, 0.0).frames_per_burst;
        assert!((known - 1.5).abs() < 0.25, "{known}");
        assert!(ignored < 1.4, "{ignored}");
    }

    #[test]
    fn more_time_of_others_than_there_is_does_not_make_frames_unusable() {
        // What was learnt while the station slept: they would have sent for three seconds in this one.
        let observed = second(600.0, 2.0, 0.0);
        let estimate = observed.estimate(1, 1.0, 5e-3);
        assert!(estimate.confidence > USABLE, "{estimate:?}");
        assert!(
            (1.0..2.0).contains(&estimate.frames_per_burst),
            "{estimate:?}"
        );
    }

    #[test]
    fn an_idle_channel_is_no_other_network() {
        // Few packets per frame.
        let cell = second(150.0, 3.0, 3e-3).air(33e-6, 1.5).unwrap();
        assert_eq!(cell.foreign_s(), None);
        assert_eq!(CellAir::default().foreign_s(), None);
        // Little time is left over.
        let cell = second(400.0, 40.0, 0.1e-3).air(33e-6, 1.5).unwrap();
        assert_eq!(cell.foreign_s(), Some(0.0));
    }

    #[test]
    fn what_a_station_takes_of_the_air_is_unknown_without_answers() {
        let mut observed = second(150.0, 40.0, 0.0);
        assert!(observed.air(0.0, 1.5).is_none());
        observed.segments = 0.5 * observed.eliciting;
        assert!(observed.air(33e-6, 1.5).is_none());
        let idle = Observed::default().air(0.0, 1.0).unwrap();
        assert_eq!(idle.share, 0.0);
    }
}
