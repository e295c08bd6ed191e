//! Bulk TCP: a sender of one or more flows and a receiver that counts goodput in bins.

use super::socket::{connect_tcp, readable_until};
use super::{Bins, Stop, WAKE};
use airpace_net::tcp_info;
use anyhow::{Context, Result};
use serde::Serialize;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes per write and per read: so many that the tool's own system calls cost little beside the
/// network's work.
const CHUNK: usize = 128 * 1024;

/// How often a sender reads the state of its connection from the kernel.
pub const SAMPLE_INTERVAL: Duration = Duration::from_millis(10);

/// Configuration of a sender.
#[derive(Clone, Debug)]
pub struct SendConfig {
    /// The receiver.
    pub to: SocketAddr,
    /// Parallel flows, at least one.
    pub flows: u16,
    /// Name of the kernel's congestion control (`cubic`, `bbr`); `None` for the system's default.
    pub congestion: Option<String>,
    /// How long data is sent.
    pub duration: Duration,
    /// How long to keep trying to connect.
    pub patience: Duration,
}

/// Statistics of a flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FlowReport {
    /// Bytes handed to the kernel.
    pub bytes_written: u64,
    /// Segments sent again.
    pub retransmits: u64,
    /// Segments with payload sent in all.
    pub segments: u64,
    /// The kernel's smoothed round-trip time at the end, in milliseconds.
    pub smoothed_rtt_ms: f64,
    /// The congestion window at the end, in segments.
    pub window_segments: u32,
    /// The state of the connection every [`SAMPLE_INTERVAL`].
    #[serde(skip)]
    pub samples: Vec<FlowSample>,
}

/// The state of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowSample {
    /// Time since the flow began.
    pub at: Duration,
    /// Smoothed round-trip time in milliseconds.
    pub smoothed_rtt_ms: f64,
    /// Congestion window in segments.
    pub window_segments: u32,
}

/// Sends on every flow until the duration is over or `stop` is raised.
///
/// Connections are aborted at the end, so that nobody waits for data in queues.
///
/// # Errors
/// If a connection cannot be opened, or the kernel does not have the congestion control.
pub fn send(config: &SendConfig, stop: &Stop) -> Result<Vec<FlowReport>> {
    thread::scope(|scope| {
        let flows: Vec<_> = (0..config.flows.max(1))
            .map(|_| scope.spawn(|| send_flow(config, stop)))
            .collect();
        flows
            .into_iter()
            .map(|flow| flow.join().expect("a sender thread returns its errors"))
            .collect()
    })
}

fn send_flow(config: &SendConfig, stop: &Stop) -> Result<FlowReport> {
    let mut stream = connect_tcp(config.to, config.congestion.as_deref(), config.patience)?;
    stream
        .set_write_timeout(Some(WAKE))
        .context("setting a write timeout")?;
    let (start, mut sampled) = (Instant::now(), Instant::now());
    let deadline = start + config.duration;
    let chunk = vec![0u8; CHUNK];
    let mut report = FlowReport::default();
    while Instant::now() < deadline && !stop.is_raised() {
        if sampled.elapsed() >= SAMPLE_INTERVAL {
            sampled = Instant::now();
            let info = tcp_info(&stream).context("reading TCP_INFO")?;
            report.samples.push(FlowSample {
                at: start.elapsed(),
                smoothed_rtt_ms: info.smoothed_rtt.as_secs_f64() * 1e3,
                window_segments: info.window_segments,
            });
        }
        match stream.write(&chunk) {
            Ok(written) => report.bytes_written += written as u64,
            Err(error) if is_timeout(&error) => {}
            Err(error) => return Err(error).with_context(|| format!("sending to {}", config.to)),
        }
    }
    let info = tcp_info(&stream).context("reading TCP_INFO")?;
    report.retransmits = u64::from(info.total_retransmits);
    report.segments = u64::from(info.data_segments_out);
    report.smoothed_rtt_ms = info.smoothed_rtt.as_secs_f64() * 1e3;
    report.window_segments = info.window_segments;
    abort(&stream);
    Ok(report)
}

/// Makes closing send a reset, so that the kernel drops the data that it has not sent. If that
/// fails, the flow is closed normally.
fn abort(stream: &TcpStream) {
    let linger = nix::libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    if let Err(error) =
        nix::sys::socket::setsockopt(stream, nix::sys::socket::sockopt::Linger, &linger)
    {
        tracing::debug!(%error, "a flow is closed without a reset");
    }
}

fn is_timeout(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}

/// A listening receiver; any number of flows may connect.
#[derive(Debug)]
pub struct Receiver {
    listener: TcpListener,
}

impl Receiver {
    /// Listens at `at` in the namespace of the calling thread.
    ///
    /// # Errors
    /// If the address cannot be bound.
    pub fn bind(at: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind(at).with_context(|| format!("listening at {at}"))?;
        listener
            .set_nonblocking(true)
            .context("making a listener non-blocking")?;
        Ok(Self { listener })
    }

    /// The address it listens at.
    ///
    /// # Errors
    /// If the kernel refuses the query.
    pub fn local_addr(&self) -> Result<SocketAddr> {
        self.listener
            .local_addr()
            .context("reading the address of a listener")
    }

    /// Receives on all flows until `stop` is raised, and counts bytes by time after `start`.
    ///
    /// # Errors
    /// If accepting fails. A flow that breaks is not an error; its bytes count until then.
    pub fn run(&self, start: Instant, stop: &Stop) -> Result<Bins> {
        thread::scope(|scope| {
            let mut flows = Vec::new();
            while !stop.is_raised() {
                if readable_until(&self.listener, Instant::now() + WAKE)? {
                    match self.listener.accept() {
                        Ok((stream, _)) => {
                            flows.push(scope.spawn(move || receive_flow(stream, start, stop)))
                        }
                        Err(error)
                            if is_timeout(&error)
                                || error.kind() == ErrorKind::ConnectionAborted => {}
                        Err(error) => return Err(error).context("accepting a flow"),
                    }
                }
            }
            let mut bins = Bins::default();
            for flow in flows {
                bins.merge(&flow.join().expect("a receiver thread returns its errors")?);
            }
            Ok(bins)
        })
    }
}

fn receive_flow(mut stream: TcpStream, start: Instant, stop: &Stop) -> Result<Bins> {
    stream
        .set_nonblocking(false)
        .context("making a flow blocking")?;
    stream
        .set_read_timeout(Some(WAKE))
        .context("setting a read timeout")?;
    let mut bins = Bins::default();
    let mut chunk = vec![0u8; CHUNK];
    while !stop.is_raised() {
        match stream.read(&mut chunk) {
            Ok(0) => break,
            Ok(n) => bins.add(start.elapsed(), n as u64),
            Err(error) if is_timeout(&error) => {}
            Err(error) => {
                tracing::debug!(%error, "a flow ended");
                break;
            }
        }
    }
    Ok(bins)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loopback() -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], 0))
    }

    #[test]
    fn the_receiver_counts_no_more_than_was_sent() {
        let receiver = Receiver::bind(loopback()).unwrap();
        let config = SendConfig {
            to: receiver.local_addr().unwrap(),
            flows: 2,
            congestion: Some("reno".to_owned()),
            duration: Duration::from_millis(200),
            patience: Duration::from_secs(1),
        };
        let stop = Stop::default();
        let (bins, flows) = thread::scope(|scope| {
            let receiving = scope.spawn(|| receiver.run(Instant::now(), &stop));
            let flows = send(&config, &stop).unwrap();
            stop.raise();
            (receiving.join().unwrap().unwrap(), flows)
        });
        let written: u64 = flows.iter().map(|f| f.bytes_written).sum();
        assert_eq!(flows.len(), 2);
        assert!(
            bins.total() > 0 && bins.total() <= written,
            "{} of {written}",
            bins.total()
        );
        assert!(
            flows
                .iter()
                .all(|f| f.segments > 0 && f.window_segments > 0)
        );
    }

    #[test]
    fn an_unknown_congestion_control_is_named_in_the_error() {
        let config = SendConfig {
            to: loopback(),
            flows: 1,
            congestion: Some("carrier-pigeon".to_owned()),
            duration: Duration::from_millis(1),
            patience: Duration::ZERO,
        };
        let error = format!("{:#}", send(&config, &Stop::default()).unwrap_err());
        assert!(error.contains("carrier-pigeon"), "{error}");
    }
}
