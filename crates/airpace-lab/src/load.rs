//! What loads a cell: pings to every station, alone or beside bulk TCP.

use crate::tool::bulk::{self, FlowReport, Receiver, SendConfig};
use crate::tool::ping::{self, Ping, PingConfig};
use crate::tool::{Bins, Stop};
use airpace_net::netns::Namespace;
use anyhow::{Context, Result, anyhow};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

const ECHO_PORT: u16 = 7_007;
const BULK_PORT: u16 = 7_008;

/// How long a flow or a first ping may take to find its peer.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long answers to the last pings of a load are awaited: as long as 2500 packets of 1500 bytes take at 15 Mbit/s.
const STRAGGLERS: Duration = Duration::from_secs(2);

/// The same without load, where nothing can stand in a queue.
const IDLE_STRAGGLERS: Duration = Duration::from_millis(200);

/// Priority of the pings under SCHED_FIFO: below emulator, proxy and agents.
const PING_PRIORITY: u8 = 1;

/// A station as the load sees it.
#[derive(Debug)]
pub(crate) struct Target<'a> {
    /// Where its programs run.
    pub(crate) namespace: &'a Namespace,
    /// The address at which servers reach it: its own, or its address in the tunnel.
    pub(crate) address: IpAddr,
}

/// One phase of an experiment.
#[derive(Debug)]
pub(crate) struct Load<'a> {
    /// Where the servers run.
    pub(crate) server: &'a Namespace,
    /// The stations in order.
    pub(crate) targets: Vec<Target<'a>>,
    /// Congestion control of bulk TCP; no TCP if absent.
    pub(crate) congestion: Option<&'static str>,
    /// TCP flows per station.
    pub(crate) flows: u16,
    /// Time between pings to one station.
    pub(crate) ping_interval: Duration,
    /// How long it lasts.
    pub(crate) duration: Duration,
    /// Whether the stations are idle but for the pings.
    pub(crate) idle: bool,
}

/// What the tools at one station measured; times count from the start of the load's clock.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    pub(crate) pings: Vec<Ping>,
    pub(crate) received: Bins,
    pub(crate) flows: Vec<FlowReport>,
}

/// The clock of a phase and its ends: servers must outlive clients, and a failure anywhere must end all.
struct When {
    start: Instant,
    stop: Stop,
    servers_stop: Stop,
}

type Worker<'s, T> = ScopedJoinHandle<'s, Result<T>>;

impl Load<'_> {
    /// Runs the phase from now on; times in the results count from `start`. `tick` is called a few times per second.
    pub(crate) fn run(
        &self,
        start: Instant,
        stop: &Stop,
        mut tick: impl FnMut(Duration),
    ) -> Result<Vec<Measured>> {
        let when = When {
            start,
            stop: stop.clone(),
            servers_stop: Stop::default(),
        };
        thread::scope(|scope| {
            let stations: Vec<_> = self
                .targets
                .iter()
                .map(|t| self.start_station(scope, t, &when))
                .collect();
            let end = Instant::now() + self.duration;
            while Instant::now() < end
                && !stop.is_raised()
                && !stations.iter().any(Station::has_failed)
            {
                tick(start.elapsed());
                thread::sleep(Duration::from_millis(200));
            }
            let clients: Vec<_> = stations.into_iter().map(|s| s.join_clients(stop)).collect();
            when.servers_stop.raise();
            clients.into_iter().map(ClientsDone::join_servers).collect()
        })
    }

    fn start_station<'s, 'e: 's>(
        &'e self,
        scope: &'s Scope<'s, 'e>,
        target: &'e Target<'e>,
        when: &'s When,
    ) -> Station<'s> {
        let When {
            start,
            stop,
            servers_stop,
        } = when;
        let (address, start) = (target.address, *start);
        let echo = in_namespace(scope, target.namespace, move || {
            be_punctual();
            let socket =
                UdpSocket::bind((address, ECHO_PORT)).context("opening the echo server")?;
            ping::echo(&socket, servers_stop)
        });
        let receiver = in_namespace(scope, target.namespace, move || {
            Receiver::bind((address, BULK_PORT).into())?.run(start, servers_stop)
        });
        let pinger = in_namespace(scope, self.server, move || {
            be_punctual();
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
        let sender = in_namespace(scope, self.server, move || self.send(address, stop));
        Station {
            echo,
            receiver,
            pinger,
            sender,
        }
    }

    fn send(&self, address: IpAddr, stop: &Stop) -> Result<Vec<FlowReport>> {
        let Some(congestion) = self.congestion else {
            return Ok(Vec::new());
        };
        let config = SendConfig {
            to: SocketAddr::from((address, BULK_PORT)),
            flows: self.flows,
            congestion: Some(congestion.to_owned()),
            duration: self.duration,
            patience: PATIENCE,
        };
        bulk::send(&config, stop)
    }
}

/// Pings are to measure the network, not how long their own threads wait for a processor beside the load.
fn be_punctual() {
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

/// The running tools of one station.
struct Station<'s> {
    echo: Worker<'s, u64>,
    receiver: Worker<'s, Bins>,
    pinger: Worker<'s, Vec<Ping>>,
    sender: Worker<'s, Vec<FlowReport>>,
}

impl<'s> Station<'s> {
    /// Servers end only when told to, so a server that has ended has failed.
    fn has_failed(&self) -> bool {
        self.echo.is_finished() || self.receiver.is_finished()
    }

    fn join_clients(self, stop: &Stop) -> ClientsDone<'s> {
        if self.has_failed() {
            stop.raise();
        }
        let flows = join(self.sender);
        let pings = join(self.pinger);
        ClientsDone {
            flows,
            pings,
            echo: self.echo,
            receiver: self.receiver,
        }
    }
}

/// A station whose clients have ended.
struct ClientsDone<'s> {
    flows: Result<Vec<FlowReport>>,
    pings: Result<Vec<Ping>>,
    echo: Worker<'s, u64>,
    receiver: Worker<'s, Bins>,
}

impl ClientsDone<'_> {
    fn join_servers(self) -> Result<Measured> {
        let (echo, received) = (join(self.echo), join(self.receiver));
        echo.context("the echo server")?;
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
            targets: vec![Target {
                namespace: &namespace,
                address: [127, 0, 0, 1].into(),
            }],
            congestion: Some("cubic"),
            flows: 1,
            ping_interval: Duration::from_millis(5),
            duration: Duration::from_millis(400),
            idle: false,
        };
        let measured = load.run(Instant::now(), &Stop::default(), |_| {});
        // Entering even the own namespace needs rights that a build machine may lack.
        let measured = match measured {
            Err(error) if format!("{error:#}").contains("cannot enter") => {
                println!("SKIPPED: {error:#}");
                return;
            }
            other => other.unwrap(),
        };
        assert!(measured[0].pings.iter().any(|p| p.rtt_ms.is_some()));
        assert!(measured[0].received.total() > 0);
        assert_eq!(measured[0].flows.len(), 1);
    }
}
