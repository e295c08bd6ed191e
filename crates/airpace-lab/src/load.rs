//! The load of a cell: pings to every station, alone or beside bulk traffic.

use crate::tool::bulk::{self, FlowReport, Receiver, SendConfig};
use crate::tool::cbr::{self, CbrConfig};
use crate::tool::ping::{self, Ping, PingConfig};
use crate::tool::{Bins, Stop};
use airpace_net::netns::Namespace;
use anyhow::{Context, Result, anyhow};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

const ECHO_PORT: u16 = 7_007;
const BULK_PORT: u16 = 7_008;

/// The ports at which the server receives the stations' uploads begin here.
const UPLOAD_PORT: u16 = 7_100;

/// UDP payload of a datagram, as video calls and QUIC have it.
const DATAGRAM_BYTES: usize = 1_200;

/// How long a flow may take to connect.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long to wait for answers to the last pings under load: the time of 2500 packets of 1500
/// bytes at 15 Mbit/s.
const STRAGGLERS: Duration = Duration::from_secs(2);

/// The same without load, when queues are empty.
const IDLE_STRAGGLERS: Duration = Duration::from_millis(200);

/// Duration of one attempt to ping all stations.
const PROBE: Duration = Duration::from_millis(100);

/// Priority of the ping threads under SCHED_FIFO, below emulator, proxy and agents.
const PING_PRIORITY: u8 = 1;

/// What loads a station besides the pings.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Traffic {
    /// Bulk TCP to it.
    #[default]
    Download,
    /// Bulk TCP from it.
    Upload,
    /// Bulk TCP to it and from it. What is measured is the download.
    BothWays,
    /// UDP to it that nothing answers.
    Datagrams {
        /// Payload, bit/s.
        bps: f64,
    },
}

/// A station that is loaded.
#[derive(Clone, Debug)]
pub(crate) struct Target<'a> {
    /// The namespace in which its tools run.
    pub(crate) namespace: &'a Namespace,
    /// The address at which the server reaches it: its own, or its address in the tunnel.
    pub(crate) address: IpAddr,
    /// What loads it.
    pub(crate) traffic: Traffic,
}

/// One phase of an experiment.
#[derive(Debug)]
pub(crate) struct Load<'a> {
    /// The namespace of the server, which pings and sends.
    pub(crate) server: &'a Namespace,
    /// The address at which stations reach it.
    pub(crate) server_address: IpAddr,
    /// The stations in order.
    pub(crate) targets: Vec<Target<'a>>,
    /// Congestion control of bulk TCP; `None` for no traffic but pings.
    pub(crate) congestion: Option<&'static str>,
    /// TCP flows per station.
    pub(crate) flows: u16,
    /// Time between pings to one station.
    pub(crate) ping_interval: Duration,
    /// How long it lasts.
    pub(crate) duration: Duration,
    /// Whether there is nothing but the pings.
    pub(crate) idle: bool,
}

/// The measurements at one station. Times count from the start of the experiment's clock.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    pub(crate) pings: Vec<Ping>,
    pub(crate) received: Bins,
    pub(crate) flows: Vec<FlowReport>,
}

/// When a phase starts and what ends it. Servers must outlive clients, and a failure of any tool
/// must end all.
struct Timing {
    start: Instant,
    stop: Stop,
    servers_stop: Stop,
}

type Worker<'s, T> = ScopedJoinHandle<'s, Result<T>>;

impl Load<'_> {
    /// Runs the phase. Times in the results count from `start`; `tick` is called with the time
    /// since then, a few times per second.
    pub(crate) fn run(
        &self,
        start: Instant,
        stop: &Stop,
        mut tick: impl FnMut(Duration),
    ) -> Result<Vec<Measured>> {
        let timing = Timing {
            start,
            stop: stop.clone(),
            servers_stop: Stop::default(),
        };
        thread::scope(|scope| {
            let stations: Vec<_> = self
                .targets
                .iter()
                .zip(UPLOAD_PORT..)
                .map(|(target, port)| self.start_station(scope, target, port, &timing))
                .collect();
            let end = Instant::now() + self.duration;
            while Instant::now() < end
                && !stop.is_raised()
                && !stations.iter().any(StationTools::has_failed)
            {
                tick(start.elapsed());
                thread::sleep(Duration::from_millis(200));
            }
            let clients: Vec<_> = stations.into_iter().map(|s| s.join_clients(stop)).collect();
            timing.servers_stop.raise();
            clients.into_iter().map(ClientsDone::join_servers).collect()
        })
    }

    /// Pings every station for a moment; returns whether each has answered.
    pub(crate) fn is_answered(&self, stop: &Stop) -> Result<bool> {
        let probe = Load {
            server: self.server,
            server_address: self.server_address,
            targets: self.targets.clone(),
            congestion: None,
            flows: self.flows,
            ping_interval: self.ping_interval,
            duration: PROBE,
            idle: true,
        };
        let measured = probe.run(Instant::now(), stop, |_| {})?;
        let has_answered = |m: &Measured| m.pings.iter().any(|ping| ping.rtt_ms.is_some());
        Ok(measured.iter().all(has_answered))
    }

    fn start_station<'s, 'e: 's>(
        &'e self,
        scope: &'s Scope<'s, 'e>,
        target: &'e Target<'e>,
        upload_port: u16,
        timing: &'s Timing,
    ) -> StationTools<'s> {
        let Timing {
            start,
            stop,
            servers_stop,
        } = timing;
        let (address, start) = (target.address, *start);
        let echo = in_namespace(scope, target.namespace, move || {
            use_real_time_priority();
            let socket =
                UdpSocket::bind((address, ECHO_PORT)).context("opening the echo server")?;
            ping::echo(&socket, servers_stop)
        });
        let traffic = if self.congestion.is_some() {
            target.traffic
        } else {
            // Nothing is sent.
            Traffic::Download
        };
        let upload = Way {
            from: target.namespace,
            to: self.server,
            sink: SocketAddr::from((self.server_address, upload_port)),
        };
        let download = Way {
            from: self.server,
            to: target.namespace,
            sink: SocketAddr::from((address, BULK_PORT)),
        };
        let transfer = |way, traffic| self.start_transfer(scope, way, traffic, timing);
        let measured = match traffic {
            Traffic::Upload => transfer(upload, traffic),
            Traffic::Download | Traffic::BothWays | Traffic::Datagrams { .. } => {
                transfer(download, traffic)
            }
        };
        let beside = (traffic == Traffic::BothWays).then(|| transfer(upload, Traffic::Upload));
        let pinger = in_namespace(scope, self.server, move || {
            use_real_time_priority();
            let config = PingConfig {
                to: SocketAddr::from((address, ECHO_PORT)),
                interval: self.ping_interval,
                duration: self.duration,
                patience: if self.idle {
                    IDLE_STRAGGLERS
                } else {
                    STRAGGLERS
                },
            };
            ping::ping(&config, start, stop)
        });
        StationTools {
            echo,
            pinger,
            measured,
            beside,
        }
    }

    /// Starts what `traffic` sends one way.
    fn start_transfer<'s, 'e: 's>(
        &'e self,
        scope: &'s Scope<'s, 'e>,
        Way { from, to, sink }: Way<'e>,
        traffic: Traffic,
        timing: &'s Timing,
    ) -> Transfer<'s> {
        let receiver = in_namespace(scope, to, move || match traffic {
            Traffic::Datagrams { .. } => {
                let socket = cbr::listen(sink)?;
                Ok(cbr::receive(&socket, timing.start, &timing.servers_stop)?.bins)
            }
            Traffic::Download | Traffic::Upload | Traffic::BothWays => {
                Receiver::bind(sink)?.run(timing.start, &timing.servers_stop)
            }
        });
        let sender = in_namespace(scope, from, move || match traffic {
            Traffic::Datagrams { bps } => self.send_datagrams(sink, bps, &timing.stop),
            Traffic::Download | Traffic::Upload | Traffic::BothWays => {
                self.send(sink, &timing.stop)
            }
        });
        Transfer { receiver, sender }
    }

    fn send_datagrams(&self, to: SocketAddr, bps: f64, stop: &Stop) -> Result<Vec<FlowReport>> {
        let config = CbrConfig {
            to,
            payload: DATAGRAM_BYTES,
            rate_bps: bps,
            duration: self.duration,
        };
        cbr::generate(&config, stop)?;
        Ok(Vec::new())
    }

    fn send(&self, to: SocketAddr, stop: &Stop) -> Result<Vec<FlowReport>> {
        let Some(congestion) = self.congestion else {
            return Ok(Vec::new());
        };
        let config = SendConfig {
            to,
            flows: self.flows,
            congestion: Some(congestion.to_owned()),
            duration: self.duration,
            patience: PATIENCE,
        };
        bulk::send(&config, stop)
    }
}

/// Without priority, pings would measure how long their own threads wait for a processor beside the
/// load.
fn use_real_time_priority() {
    if let Err(error) = airpace_net::realtime::try_fifo(PING_PRIORITY) {
        tracing::debug!(%error, "pings run without real-time priority");
    }
}

fn in_namespace<'s, 'e, T: Send + 's>(
    scope: &'s Scope<'s, 'e>,
    namespace: &'s Namespace,
    work: impl FnOnce() -> Result<T> + Send + 's,
) -> Worker<'s, T> {
    scope.spawn(move || {
        namespace.enter()?;
        work()
    })
}

/// From where to where bulk traffic goes.
#[derive(Clone, Copy)]
struct Way<'a> {
    from: &'a Namespace,
    to: &'a Namespace,
    sink: SocketAddr,
}

/// Bulk traffic that runs.
struct Transfer<'s> {
    receiver: Worker<'s, Bins>,
    sender: Worker<'s, Vec<FlowReport>>,
}

/// The running tools of one station.
struct StationTools<'s> {
    echo: Worker<'s, u64>,
    pinger: Worker<'s, Vec<Ping>>,
    /// What is measured, and what runs beside it.
    measured: Transfer<'s>,
    beside: Option<Transfer<'s>>,
}

impl<'s> StationTools<'s> {
    /// Servers end only when they are stopped, so one that has ended before has failed.
    fn has_failed(&self) -> bool {
        let mut transfers = [&self.measured].into_iter().chain(&self.beside);
        self.echo.is_finished() || transfers.any(|transfer| transfer.receiver.is_finished())
    }

    fn join_clients(self, stop: &Stop) -> ClientsDone<'s> {
        if self.has_failed() {
            stop.raise();
        }
        let flows = join(self.measured.sender);
        let beside = self
            .beside
            .map(|transfer| (join(transfer.sender), transfer.receiver));
        ClientsDone {
            flows,
            beside,
            pings: join(self.pinger),
            echo: self.echo,
            receiver: self.measured.receiver,
        }
    }
}

/// A station whose clients have ended.
struct ClientsDone<'s> {
    flows: Result<Vec<FlowReport>>,
    beside: Option<(Result<Vec<FlowReport>>, Worker<'s, Bins>)>,
    pings: Result<Vec<Ping>>,
    echo: Worker<'s, u64>,
    receiver: Worker<'s, Bins>,
}

impl ClientsDone<'_> {
    fn join_servers(self) -> Result<Measured> {
        let (echo, received) = (join(self.echo), join(self.receiver));
        let beside = self.beside.map(|(sent, receiver)| (sent, join(receiver)));
        echo.context("the echo server")?;
        if let Some((sent, received)) = beside {
            received.context("the TCP receiver of the upload")?;
            sent.context("the TCP sender of the upload")?;
        }
        Ok(Measured {
            received: received.context("the TCP receiver")?,
            pings: self.pings.context("the pinger")?,
            flows: self.flows.context("the TCP sender")?,
        })
    }
}

fn join<T>(worker: Worker<'_, T>) -> Result<T> {
    worker.join().map_err(|_| anyhow!("a tool panicked"))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_over_loopback_measures_pings_and_goodput() {
        let namespace = Namespace::current().unwrap();
        let load = Load {
            server: &namespace,
            server_address: [127, 0, 0, 1].into(),
            targets: vec![
                Target {
                    namespace: &namespace,
                    address: [127, 0, 0, 1].into(),
                    traffic: Traffic::Download,
                },
                Target {
                    namespace: &namespace,
                    address: [127, 0, 0, 2].into(),
                    traffic: Traffic::Upload,
                },
                Target {
                    namespace: &namespace,
                    address: [127, 0, 0, 3].into(),
                    traffic: Traffic::Datagrams { bps: 10e6 },
                },
            ],
            congestion: Some("cubic"),
            flows: 1,
            ping_interval: Duration::from_millis(5),
            duration: Duration::from_millis(400),
            idle: false,
        };
        let measured = load.run(Instant::now(), &Stop::default(), |_| {});
        // Even entering its own namespace needs rights that the test may lack.
        let measured = match measured {
            Err(error) if format!("{error:#}").contains("cannot enter") => {
                println!("SKIPPED: {error:#}");
                return;
            }
            other => other.unwrap(),
        };
        for station in &measured {
            assert!(station.pings.iter().any(|p| p.rtt_ms.is_some()));
            assert!(station.received.total() > 0);
        }
        let flows: Vec<_> = measured.iter().map(|m| m.flows.len()).collect();
        assert_eq!(flows, [1, 1, 0]);
    }
}
