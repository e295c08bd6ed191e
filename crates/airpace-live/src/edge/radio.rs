//! The radios near the access points: frames of their monitor interfaces go to the sensors.

use super::frame::FrameBuf;
use crate::capture::{Monitor, SNAP};
use airpace_api::config::EdgeConfig;
use airpace_edge::inline::{Inline, RadioState};
use airpace_net::clock::{Clock, RealtimeMap};
use airpace_net::udp::ReceiveBatch;
use airpace_units::Time;
use core::time::Duration;

/// Age at which the map of timestamps is renewed, and time after which an interface that went away is
/// looked for again.
const REFRESH: Duration = Duration::from_secs(1);
/// Time between two looks at the interfaces. Their frames do not wake the loop, of which there may be
/// thousands per second; they carry times of their own, and are only needed when a slot ends.
const LOOK: Duration = Duration::from_millis(5);
/// Frames taken at once.
const BATCH: usize = 64;
/// Most batches of one radio in a look, so that pacers are served in between.
const BATCHES_PER_LOOK: usize = 8;
/// Time for which a radio shows frames, but no control frames, until that is told.
const TELL_AFTER: Duration = Duration::from_secs(10);
/// Time between two warnings of block acks that are not believed.
const DOUBT_EVERY: Duration = Duration::from_secs(60);

/// The radios of all access points that have one.
pub(super) struct Radios {
    radios: Vec<Radio>,
    clock: Clock,
    /// Maps the kernel's timestamps to the clock.
    stamps: RealtimeMap,
    room: ReceiveBatch,
    next_look: Time,
    next_refresh: Time,
    opened_at: Time,
    /// Whether it was told that a radio shows nothing of use.
    is_told: bool,
    /// When it may be told again that stations acknowledge more than they were sent.
    next_doubt: Time,
}

/// The event that the state of an interface is, after a change.
fn event(interface: &str, state: RadioState) -> (&'static str, String) {
    match state {
        RadioState::Up => ("radio-returned", format!("the radio {interface} is back")),
        RadioState::Down => (
            "radio-lost",
            format!("the radio {interface} is down: ip link set {interface} up"),
        ),
        RadioState::Missing => (
            "radio-lost",
            format!("the radio {interface} is no longer there"),
        ),
    }
}

/// The radio near one access point.
struct Radio {
    /// The access point, as numbered in the configuration.
    medium: usize,
    monitor: Monitor,
    /// Slots doubted when that was last looked at.
    doubted_before: u64,
    /// How the interface stood when that was last told.
    state: RadioState,
}

impl Radios {
    /// Opens the monitor interfaces.
    pub(super) fn open(config: &EdgeConfig, clock: Clock) -> anyhow::Result<Self> {
        let mut radios = Vec::new();
        for (medium, ap) in config.ap.iter().enumerate() {
            if let Some(name) = &ap.radio {
                let monitor = Monitor::open(name, "other sensors take its place")?;
                tracing::info!(
                    event = "radio-opened",
                    interface = name,
                    access_point = medium,
                    "radio"
                );
                radios.push(Radio {
                    medium,
                    monitor,
                    doubted_before: 0,
                    state: RadioState::Up,
                });
            }
        }
        let now = clock.now();
        Ok(Self {
            radios,
            clock,
            stamps: clock.realtime_map(),
            room: ReceiveBatch::new(BATCH, SNAP),
            next_look: Time::ZERO,
            next_refresh: now.saturating_add(REFRESH),
            opened_at: now,
            is_told: false,
            next_doubt: now,
        })
    }

    /// Hands what the radios have heard to the sensors, if it is time. Returns what an operator should
    /// know: kind and text of an event for each interface that has gone or come back.
    pub(super) fn look(
        &mut self,
        now: Time,
        inline: &mut Inline<FrameBuf>,
    ) -> Vec<(&'static str, String)> {
        if self.radios.is_empty() || now < self.next_look {
            return Vec::new();
        }
        self.next_look = now.saturating_add(LOOK);
        let is_refresh = now >= self.next_refresh;
        if is_refresh {
            self.refresh(now, inline);
        }
        self.receive(now, inline);
        let mut events = Vec::new();
        for radio in &mut self.radios {
            let was_up = radio.state == RadioState::Up;
            let is_up = radio.monitor.socket().is_some();
            // One that is down may be removed, which is looked at more rarely.
            if is_refresh || was_up != is_up {
                radio.state = radio.monitor.state();
                let (medium, name) = (radio.medium, radio.monitor.name());
                inline.on_radio_state(now, medium, name, radio.state);
                events.extend((was_up != is_up).then(|| event(name, radio.state)));
            }
        }
        events
    }

    /// Takes the frames that have come.
    fn receive(&mut self, now: Time, inline: &mut Inline<FrameBuf>) {
        for Radio {
            medium, monitor, ..
        } in &mut self.radios
        {
            for _ in 0..BATCHES_PER_LOOK {
                if !monitor.receive(&mut self.room) {
                    break;
                }
                let mut count = 0;
                for frame in self.room.frames() {
                    let arrival = self.stamps.arrival(now, frame.stamp);
                    inline.on_radio_frame(arrival, *medium, frame.bytes, frame.length);
                    count += 1;
                }
                if count < BATCH {
                    break;
                }
            }
        }
    }

    /// Follows the wall clock, opens interfaces that are back, and tells of radios that hear nothing.
    fn refresh(&mut self, now: Time, inline: &Inline<FrameBuf>) {
        self.next_refresh = now.saturating_add(REFRESH);
        self.stamps = self.clock.realtime_map();
        let is_time_to_tell = !self.is_told && now.saturating_since(self.opened_at) >= TELL_AFTER;
        for radio in &mut self.radios {
            let Radio {
                medium,
                monitor,
                doubted_before,
                ..
            } = radio;
            monitor.recover();
            let counts = inline.radio_counts(*medium).copied().unwrap_or_default();
            if counts.doubted_slots > *doubted_before && now >= self.next_doubt {
                self.next_doubt = now.saturating_add(DOUBT_EVERY);
                tracing::warn!(
                    event = "radio-doubted",
                    interface = monitor.name(),
                    slots = counts.doubted_slots - *doubted_before,
                    "stations acknowledge more than they were sent: somebody forges block acks, or they receive by other ways too; other sensors speak for them"
                );
            }
            *doubted_before = counts.doubted_slots;
            if is_time_to_tell && counts.control == 0 {
                tracing::warn!(
                    event = "radio-silent",
                    interface = monitor.name(),
                    data = counts.data,
                    other = counts.other,
                    malformed = counts.malformed,
                    "the radio has shown no block acks, RTS or CTS yet: is it on the access point's channel (iw dev {} set channel …)?",
                    monitor.name(),
                );
            }
        }
        self.is_told |= is_time_to_tell;
    }

    /// Logs what was heard in the whole run.
    pub(super) fn log_end(&mut self, inline: &Inline<FrameBuf>) {
        for Radio {
            medium, monitor, ..
        } in &mut self.radios
        {
            monitor.count_dropped();
            let counts = inline.radio_counts(*medium).copied().unwrap_or_default();
            tracing::info!(
                event = "radio-ended",
                interface = monitor.name(),
                control = counts.control,
                data = counts.data,
                other = counts.other,
                malformed = counts.malformed,
                doubted_slots = counts.doubted_slots,
                lost = monitor.dropped,
                "radio ends"
            );
        }
    }
}
