//! The loop of the in-line box: it carries frames, observations and time between the ports and the
//! state machine, and decides nothing itself.

use super::changes::StationLog;
use super::events::EventLog;
use super::frame::FrameBuf;
use super::headers::FlowKeys;
use super::hosts::{HostAddresses, WiredSenders};
use super::inbox::EdgeInbox;
use super::long_frames::LongFrames;
use super::operate::Reload;
use super::ports::PortWatch;
use super::radio::Radios;
use super::reports::Reports;
use super::setup::Setup;
use super::socket::ControlSocket;
use super::telemetry::RowFilter;
use super::uplink::UplinkCounters;
use super::waiter::{Turn, Waiter};
use super::{EdgeTotals, settings};
use crate::crypto::random_key;
use crate::journal::Journal;
use crate::runtime::{self, Stop};
use crate::service::Service;
use airpace_api::config::EdgeConfig;
use airpace_core::wire::ieee80211::MacAddr;
use airpace_edge::inline::{Departure, Inline};
use airpace_net::clock::Clock;
use airpace_net::inline::is_port_away;
use airpace_net::netlink::Netlink;
use airpace_net::signals::Signals;
use airpace_units::Time;
use core::time::Duration;
use std::collections::VecDeque;

/// Interval between heartbeats. The programs let everything pass when the last one is 200 ms old.
const BEAT: Duration = Duration::from_millis(50);
/// Interval between looks at what the service manager is told.
const STATUS_INTERVAL: Duration = Duration::from_secs(2);
/// Frames and observations that are taken in one turn of the loop, so that pacers are served in
/// between.
pub(super) const BATCH: usize = 256;
/// Most spare buffers: the memory of a larger burst is given back.
const MAX_SPARE: usize = 4096;

/// Most rounds of sending at the end: a port that has no room must not keep the box from ending.
const MOST_FLUSHES: usize = 64;

const STOP: u64 = 0;
pub(super) const PORTS: u64 = 1;
const REPORTS: u64 = 2;
const RELOAD: u64 = 3;
const INBOX: u64 = 4;
/// The control socket; its clients have the tokens after it.
const CONTROL: u64 = 1000;

/// Runs the in-line box in the network namespace of the calling thread until `stop` becomes
/// readable (see [`Stop`]). `reload` says where another configuration comes from, and `inbox` where
/// other threads of the process ask.
///
/// It makes the bridge and attaches the programs; both are gone when it returns, unless the bridge
/// is to stay. If the process is killed the bridge carries all traffic on, and [`super::undo`]
/// removes it.
///
/// # Errors
/// The configuration is contradictory, or the system refuses the bridge or the programs.
pub fn run_edge(
    config: &EdgeConfig,
    stop: Stop<'_>,
    reload: Reload<'_>,
    inbox: Option<&EdgeInbox>,
) -> anyhow::Result<EdgeTotals> {
    config.validate()?;
    // The programs stamp what they observe with the time since the machine started.
    let clock = Clock::since_boot();
    let inline = Inline::new(settings::inline(config), random_key())?;
    let journal = Journal::open(config.telemetry.as_deref(), config.telemetry_limit.0.0)?;
    let sensors = RemoteSensors {
        radios: Radios::open(config, clock)?,
        reports: Reports::open(config)?,
    };
    let setup = Setup::begin(config)?;
    tracing::info!(
        event = "edge-started",
        wan = config.wan,
        access_points = config.ap.len(),
        path = setup.path.name(),
        dry_run = config.dry_run,
        "in-line"
    );
    let mut edge = RunningEdge::new(config, clock, inline, setup, sensors, journal);
    let ran = edge.run(stop, reload, inbox);
    edge.release_all();
    edge.end_rows(None);
    let totals = edge.totals();
    edge.radios.log_end(&edge.inline);
    if let Some(reports) = &edge.reports {
        reports.log_end();
    }
    let keep_bridge = edge.config.keep_bridge;
    let ended = edge.setup.end(keep_bridge);
    ran?;
    ended?;
    tracing::info!(
        event = "edge-ended",
        sent = totals.sent,
        dropped = totals.dropped,
        refused = totals.refused,
        passed_unknown = totals.frames.unknown,
        passed_large = totals.frames.large,
        passed_stale = totals.frames.stale,
        observations_lost = totals.frames.records_lost,
        "in-line ends"
    );
    Ok(totals)
}

/// Sensors outside the box.
struct RemoteSensors {
    radios: Radios,
    reports: Option<Reports>,
}

/// Returns the wall-clock time since 1970 at the clock's origin.
fn wall_clock_at_origin(clock: Clock) -> Duration {
    let since_origin = Duration::from_nanos(clock.now().as_nanos());
    runtime::wall_clock().saturating_sub(since_origin)
}

/// The box with everything that it has opened.
pub(super) struct RunningEdge {
    pub(super) config: EdgeConfig,
    pub(super) clock: Clock,
    pub(super) began: Time,
    /// Wall-clock time since 1970 at the clock's origin.
    pub(super) epoch: Duration,
    pub(super) inline: Inline<FrameBuf>,
    pub(super) setup: Setup,
    radios: Radios,
    /// The agents on stations, if any are configured.
    pub(super) reports: Option<Reports>,
    pub(super) journal: Journal,
    pub(super) keys: FlowKeys,
    /// Name of each access point.
    pub(super) names: Vec<String>,
    pub(super) hosts: HostAddresses,
    pub(super) senders: WiredSenders,
    pub(super) uplink: UplinkCounters,
    /// Index of the interface of each port towards access points.
    pub(super) ports: Vec<u32>,
    pub(super) watch: PortWatch,
    pub(super) station_log: StationLog,
    pub(super) long_frames: LongFrames,
    pub(super) events: EventLog,
    pub(super) rows: RowFilter,
    spare: Vec<Vec<u8>>,
    /// Frames that a port had no room for yet.
    waiting: VecDeque<(usize, FrameBuf)>,
    pub(super) next_beat: Time,
    /// When the service manager is told next how the box stands.
    next_status: Time,
    pub(super) sent: u64,
    pub(super) dropped: u64,
    pub(super) refused: u64,
}

impl RunningEdge {
    fn new(
        config: &EdgeConfig,
        clock: Clock,
        inline: Inline<FrameBuf>,
        setup: Setup,
        sensors: RemoteSensors,
        journal: Journal,
    ) -> Self {
        // A bridge in user space sees all frames, so that it needs no reminders.
        let netlink = Netlink::open().ok();
        let netlink = netlink.filter(|_| setup.is_fail_open());
        let now = clock.now();
        Self {
            config: config.clone(),
            clock,
            began: now,
            hosts: HostAddresses::default(),
            senders: WiredSenders::new(now, netlink, setup.path.wan_index()),
            uplink: UplinkCounters::default(),
            epoch: wall_clock_at_origin(clock),
            radios: sensors.radios,
            reports: sensors.reports,
            names: config.ap.iter().map(settings::name_of).collect(),
            ports: setup.path.access_point_indices(),
            watch: PortWatch::new(),
            station_log: StationLog::default(),
            long_frames: LongFrames::default(),
            events: EventLog::default(),
            rows: RowFilter::new(config.telemetry_detail),
            inline,
            setup,
            journal,
            keys: FlowKeys::default(),
            spare: Vec::new(),
            waiting: VecDeque::new(),
            next_beat: Time::ZERO,
            next_status: Time::ZERO,
            sent: 0,
            dropped: 0,
            refused: 0,
        }
    }

    /// Wall-clock time in seconds since 1970.
    pub(super) fn unix_s(&self, now: Time) -> f64 {
        (self.epoch + Duration::from_nanos(now.as_nanos())).as_secs_f64()
    }

    /// Keeps an event of the whole box for the operator.
    pub(super) fn note(&mut self, kind: &str, text: impl Into<String>) {
        let unix_s = self.unix_s(self.clock.now());
        self.events.note(unix_s, kind, text);
    }

    /// Runs until the stop file becomes readable.
    fn run(
        &mut self,
        stop: Stop<'_>,
        reload: Reload<'_>,
        inbox: Option<&EdgeInbox>,
    ) -> anyhow::Result<()> {
        runtime::ask_for_real_time(self.config.realtime);
        self.note("began", "airpace edge has begun");
        let mut waiter = Waiter::new(self.clock, stop, STOP)?;
        for file in self.setup.path.files() {
            waiter.add(file, PORTS)?;
        }
        waiter.add_any(self.reports.as_ref().map(Reports::file), REPORTS)?;
        waiter.add_any(reload.signal, RELOAD)?;
        waiter.add_any(inbox, INBOX)?;
        let mut socket = ControlSocket::open(&self.config.wan, CONTROL)?;
        socket.register(&waiter)?;
        let mut service = Service::begin();
        loop {
            // Observations do not wake the loop one by one, so they are looked for in each turn,
            // and before the frames, because they are older.
            self.observe();
            let received = self.receive()?;
            let now = self.clock.now();
            self.look_after_ports(now, &waiter)?;
            self.on_time(now)?;
            // The loop turns at every heartbeat, so the manager needs no deadline of its own.
            service.turn(now);
            if now >= self.next_status {
                self.next_status = now.saturating_add(STATUS_INTERVAL);
                service.status(self.service_status());
            }
            let sent_before = self.sent;
            let is_blocked = !self.send(now);
            let deadline = if is_blocked {
                now.saturating_add(runtime::PORT_RETRY)
            } else {
                self.next_beat
                    .min(self.inline.deadline().unwrap_or(self.next_beat))
            };
            waiter.wait(Turn {
                deadline,
                release: self.inline.release(),
                moved_frames: received > 0 || self.sent > sent_before,
                has_more: received >= BATCH || is_blocked,
            })?;
            if waiter
                .ready()
                .any(|file| file.token == PORTS && file.closed)
            {
                self.watch.suspect();
            }
            let ready: Vec<u64> = waiter.ready().map(|file| file.token).collect();
            if ready.contains(&STOP) {
                service.stopping();
                return Ok(());
            }
            self.hear_remote_sensors(ready.contains(&REPORTS));
            if ready.contains(&RELOAD) {
                // Several signals ask for the same.
                while let Some(Some(_)) = reload.signal.map(Signals::next).transpose()? {}
                // The file is opened again even if the configuration is refused: it may have been
                // moved away.
                self.journal.reopen();
                if reload.is_possible {
                    // The error has been logged, and the old configuration stays.
                    let _ = self.reload(reload);
                } else {
                    tracing::info!(
                        event = "nothing-to-reload",
                        "SIGHUP: airpace was started without --config, so there is no configuration to read again; the telemetry file, if any, is opened again"
                    );
                }
            }
            if let Some(inbox) = inbox
                && ready.contains(&INBOX)
            {
                inbox.serve(|request| self.answer(request, reload));
            }
            let requests = ready.into_iter().filter(|&token| token >= CONTROL);
            let now = self.clock.now();
            socket.serve(now, &waiter, requests, |request| {
                self.answer(request, reload)
            });
        }
    }

    /// Passes frames of radios and reports of agents to the state machine.
    fn hear_remote_sensors(&mut self, has_reports: bool) {
        let now = self.clock.now();
        for (kind, text) in self.radios.look(now, &mut self.inline) {
            self.note(kind, text);
        }
        if let Some(reports) = &mut self.reports {
            if has_reports {
                reports.receive(now, &mut self.inline);
            }
            reports.on_time(now);
        }
    }

    /// Does what is due: heartbeat, timers, changes of stations, telemetry.
    fn on_time(&mut self, now: Time) -> anyhow::Result<()> {
        if now >= self.next_beat {
            // Without a sign of life all frames pass.
            if self.watch.passing().is_none() {
                self.setup.path.beat()?;
            }
            self.next_beat = now.saturating_add(BEAT);
            self.senders.refresh(now);
        }
        if now >= self.inline.slot_end() {
            self.count_uplink()?;
        }
        self.inline.handle_timeout(now);
        self.recycle();
        self.tell_changes(now)
    }

    /// Sends everything that may leave now; returns `false` if a port has no room.
    fn send(&mut self, now: Time) -> bool {
        while let Some((port, frame)) = self.waiting.pop_front() {
            if !self.push(port, frame) {
                return false;
            }
        }
        while let Some(Departure { port, frame, .. }) = self.inline.poll(now) {
            if !self.push(port, frame) {
                return false;
            }
        }
        match self.setup.path.flush() {
            Ok(0) => true,
            // The interface takes the rest later.
            Ok(_) => false,
            Err(error) => {
                self.refused += 1;
                self.watch.suspect();
                tracing::debug!(event = "port-refuses", %error, "a port refuses frames");
                true
            }
        }
    }

    /// Hands a frame to its port. If it has no room even after it was flushed, the frame waits.
    fn push(&mut self, port: usize, frame: FrameBuf) -> bool {
        for attempt in 0..2 {
            match self.setup.path.push(port, frame.as_bytes()) {
                Ok(true) => {
                    self.sent += 1;
                    self.put(frame);
                    return true;
                }
                Ok(false) if attempt == 0 => {
                    let _ = self.setup.path.flush();
                }
                Ok(false) => break,
                Err(_) => {
                    // The port is down or gone: what is sent to it is lost, as in a bridge.
                    self.refused += 1;
                    self.watch.suspect();
                    self.put(frame);
                    return true;
                }
            }
        }
        self.waiting.push_front((port, frame));
        false
    }

    /// Queues frames for stations and returns their number, about [`BATCH`] at most.
    fn receive(&mut self) -> anyhow::Result<usize> {
        let now = self.clock.now();
        let Self {
            inline,
            setup,
            keys,
            spare,
            dropped,
            senders,
            ..
        } = self;
        let received = setup.path.receive(BATCH, |frame| {
            if let Some(&sender) = frame.get(6..).and_then(|rest| rest.first_chunk()) {
                senders.see(sender);
            }
            let buffer = spare.pop().unwrap_or_else(|| Vec::with_capacity(2048));
            let Some((to, frame)) = FrameBuf::copy(frame, buffer, keys) else {
                *dropped += 1;
                return;
            };
            if let Err(frame) = inline.on_downlink(now, to, frame) {
                // The station has left since the program handed the frame over.
                *dropped += 1;
                spare.push(frame.into_buffer());
            }
        });
        self.recycle();
        match received {
            // A bridge in user space reads from the ports itself.
            Err(error) if is_port_away(&error) => {
                self.watch.suspect();
                Ok(0)
            }
            received => Ok(received?),
        }
    }

    /// Sends everything that waits, because nobody will send it later. New frames pass meanwhile.
    fn release_all(&mut self) {
        if self.setup.path.pause().is_err() {
            return;
        }
        let now = self.clock.now();
        let stations: Vec<MacAddr> = self.inline.addresses().collect();
        for mac in stations {
            self.inline.set_exempt(now, mac, true);
        }
        for _ in 0..MOST_FLUSHES {
            // What was handed over before the pause is still taken.
            let received = self.receive().unwrap_or(0);
            if self.send(now) && received == 0 {
                return;
            }
        }
    }

    /// Reuses the buffers of frames that the queues have dropped.
    fn recycle(&mut self) {
        while let Some(frame) = self.inline.poll_drop() {
            self.dropped += 1;
            self.put(frame);
        }
    }

    fn put(&mut self, frame: FrameBuf) {
        if self.spare.len() < MAX_SPARE {
            self.spare.push(frame.into_buffer());
        }
    }

    fn totals(&self) -> EdgeTotals {
        EdgeTotals {
            frames: self.setup.counters(),
            stations: *self.inline.counts(),
            sent: self.sent,
            dropped: self.dropped,
            refused: self.refused,
        }
    }
}
