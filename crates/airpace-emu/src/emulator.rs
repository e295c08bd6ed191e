use crate::config::{EmulatorConfig, EmulatorError};
use crate::control::Control;
use crate::engine::{Engine, Observer};
use crate::network::{self, Network};
use crate::statistics::{Circumstances, Statistics};
use airpace_api::emulation::EmulationReport;
use airpace_net::clock::Clock;
use airpace_net::realtime;
use airpace_units::Time;
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

/// A running cell. Dropping it stops it.
#[derive(Debug)]
pub struct Emulator {
    network: Arc<Network>,
    clock: Clock,
    seed: u64,
    access_point: String,
    bell: Arc<EventFd>,
    /// `None` once the loop has been told to stop.
    control: Option<Sender<Control>>,
    thread: Option<JoinHandle<Result<Finished, EmulatorError>>>,
}

struct Finished {
    statistics: Statistics,
    end: Time,
    realtime: Realtime,
}

enum Realtime {
    Not,
    Granted,
    Refused(String),
}

impl Emulator {
    /// Creates namespaces and devices, and starts the loop in a thread of its own.
    ///
    /// # Errors
    /// What is wrong with the configuration ([`EmulatorError::is_bad_input`]), or what the system refuses: see
    /// [`airpace_net::netns::acquire_rights`], which `main` should call first.
    pub fn start(
        config: EmulatorConfig,
        observer: impl Observer + 'static,
    ) -> Result<Self, EmulatorError> {
        config.validate()?;
        let (network, devices) = network::create(&config)?;
        let network = Arc::new(network);
        let to_the_loop = (Arc::clone(&network), devices);
        let flags = EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC;
        let bell = Arc::new(EventFd::from_value_and_flags(0, flags).map_err(std::io::Error::from)?);
        let (control, orders) = channel();
        let (seed, access_point) = (config.seed, config.access_point.clone());
        let (clock, loop_bell) = (Clock::start(), Arc::clone(&bell));
        let body = move || {
            let realtime = ask_for_priority(config.realtime);
            let engine = Engine::new(
                &config,
                to_the_loop,
                Box::new(observer),
                (orders, loop_bell),
                clock,
            )?;
            let statistics = engine.run()?;
            Ok(Finished {
                statistics,
                end: clock.now(),
                realtime,
            })
        };
        let thread = thread::Builder::new().name("emulator".into()).spawn(body)?;
        Ok(Self {
            network,
            clock,
            seed,
            access_point,
            bell,
            control: Some(control),
            thread: Some(thread),
        })
    }

    /// The namespaces, to run programs and threads in.
    #[must_use]
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The clock on which the cell's times are; it read zero at the start.
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Changes the running cell. Without effect once the loop has failed, which [`Emulator::stop`] tells.
    pub fn control(&self, change: Control) {
        if let Some(control) = &self.control
            && control.send(change).is_ok()
        {
            self.ring();
        }
    }

    /// Whether the loop still runs; it ends early only when it fails.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.thread
            .as_ref()
            .is_some_and(|thread| !thread.is_finished())
    }

    /// Stops the cell and reports. The devices are gone then; the namespaces go with the last program inside.
    ///
    /// # Errors
    /// Why the loop had stopped by itself.
    pub fn stop(mut self) -> Result<EmulationReport, EmulatorError> {
        let finished = self.end_thread().ok_or(EmulatorError::Panicked)??;
        let (realtime, no_realtime) = match finished.realtime {
            Realtime::Not => (false, None),
            Realtime::Granted => (true, None),
            Realtime::Refused(reason) => (false, Some(reason)),
        };
        let (seed, access_point) = (self.seed, core::mem::take(&mut self.access_point));
        let duration = finished.end.since(Time::ZERO);
        Ok(finished.statistics.report(Circumstances {
            seed,
            duration,
            no_realtime,
            realtime,
            access_point,
        }))
    }

    /// Tells the loop to stop and waits for it; `None` if it has panicked or was stopped before.
    fn end_thread(&mut self) -> Option<Result<Finished, EmulatorError>> {
        self.control = None;
        self.ring();
        self.thread.take()?.join().ok()
    }

    fn ring(&self) {
        // The bell refuses only when it has been rung 2^64 times without being heard.
        let _ = self.bell.write(1);
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.end_thread();
    }
}

fn ask_for_priority(priority: Option<u8>) -> Realtime {
    match priority.map(realtime::try_fifo) {
        None => Realtime::Not,
        Some(Ok(())) => Realtime::Granted,
        Some(Err(error)) => {
            tracing::debug!(%error, "no real-time priority");
            Realtime::Refused(error.to_string())
        }
    }
}
