//! The server: it sends load without end, and answers requests.
//!
//! A client says with the first byte what its connection is for. After [`PROBE`] each byte is a request
//! and is answered with a byte. After [`LOAD`] the server sends records of [`RECORD`] bytes without
//! end; a byte of the client is a request, and the first byte of the record that is begun next says how
//! many requests it answers. So an answer on a connection with load waits for what is queued before
//! it, as an object of HTTP/2 does.

use crate::tool::socket::{readable_until, ready_until};
use crate::tool::{Stop, WAKE};
use anyhow::{Context as _, Result};
use nix::poll::PollFlags;
use serde::Serialize;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

/// First byte of a connection for probes.
pub const PROBE: u8 = b'P';
/// First byte of a connection for load.
pub const LOAD: u8 = b'L';
/// Length of a record of load, bytes.
pub const RECORD: usize = 16 * 1024;

/// Most connections at a time; further ones are closed, so that a stranger cannot exhaust memory.
const MOST_CONNECTIONS: usize = 512;
/// Requests that are read at once.
const REQUESTS: usize = 64;

/// What a server has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Served {
    /// Requests that were answered.
    pub answered: u64,
    /// Bytes of load that were handed to the kernel.
    pub bytes: u64,
    /// Connections that were refused because there were too many.
    pub refused: u64,
}

#[derive(Default)]
struct Counters {
    answered: AtomicU64,
    bytes: AtomicU64,
    open: AtomicUsize,
}

/// Serves clients until `stop` is raised.
///
/// # Errors
/// Accepting connections fails. A connection that breaks is no error.
pub fn serve(listener: &TcpListener, stop: &Stop) -> Result<Served> {
    listener
        .set_nonblocking(true)
        .context("making a listener non-blocking")?;
    let counters = Counters::default();
    let mut refused = 0;
    thread::scope(|scope| {
        while !stop.is_raised() {
            if !readable_until(listener, Instant::now() + WAKE)? {
                continue;
            }
            let stream = match listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if is_harmless(error.kind()) => continue,
                Err(error) => return Err(error).context("accepting a connection"),
            };
            if counters.open.load(Ordering::Relaxed) >= MOST_CONNECTIONS {
                refused += 1;
                continue;
            }
            counters.open.fetch_add(1, Ordering::Relaxed);
            let counters = &counters;
            scope.spawn(move || {
                // The client ends connections as it likes.
                if let Err(error) = serve_one(stream, counters, stop) {
                    tracing::debug!(%error, "a connection ended");
                }
                counters.open.fetch_sub(1, Ordering::Relaxed);
            });
        }
        Ok(())
    })?;
    Ok(Served {
        answered: counters.answered.into_inner(),
        bytes: counters.bytes.into_inner(),
        refused,
    })
}

fn is_harmless(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::WouldBlock
            | ErrorKind::TimedOut
            | ErrorKind::Interrupted
            | ErrorKind::ConnectionAborted
    )
}

fn serve_one(mut stream: TcpStream, counters: &Counters, stop: &Stop) -> Result<()> {
    stream.set_nonblocking(true)?;
    stream.set_nodelay(true)?;
    let mut kind = [0];
    loop {
        if stop.is_raised() {
            return Ok(());
        }
        if readable_until(&stream, Instant::now() + WAKE)? {
            match stream.read(&mut kind) {
                Ok(0) => return Ok(()),
                Ok(_) => break,
                Err(error) if is_harmless(error.kind()) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    match kind[0] {
        PROBE => answer(stream, counters, stop),
        LOAD => send_load(stream, counters, stop),
        // Not a client of this tool.
        _ => Ok(()),
    }
}

/// The number of requests that have come; `None` if the client has closed the connection.
fn requests(stream: &mut TcpStream) -> Result<Option<usize>> {
    let mut bytes = [0; REQUESTS];
    match stream.read(&mut bytes) {
        Ok(0) => Ok(None),
        Ok(count) => Ok(Some(count)),
        Err(error) if is_harmless(error.kind()) => Ok(Some(0)),
        Err(error) => Err(error.into()),
    }
}

fn answer(mut stream: TcpStream, counters: &Counters, stop: &Stop) -> Result<()> {
    while !stop.is_raised() {
        if !readable_until(&stream, Instant::now() + WAKE)? {
            continue;
        }
        let Some(count) = requests(&mut stream)? else {
            return Ok(());
        };
        // Some bytes always fit into the send buffer of a connection that carries nothing else.
        stream.write_all(&[1; REQUESTS][..count])?;
        counters.answered.fetch_add(count as u64, Ordering::Relaxed);
    }
    Ok(())
}

fn send_load(mut stream: TcpStream, counters: &Counters, stop: &Stop) -> Result<()> {
    let mut record = vec![0; RECORD];
    let (mut sent, mut waiting) = (0, 0);
    while !stop.is_raised() {
        let events = PollFlags::POLLIN | PollFlags::POLLOUT;
        if !ready_until(&stream, events, Instant::now() + WAKE)? {
            continue;
        }
        let Some(count) = requests(&mut stream)? else {
            return Ok(());
        };
        waiting += count;
        if sent == 0 {
            let answered = waiting.min(usize::from(u8::MAX));
            // At most 255.
            record[0] = answered as u8;
        }
        match stream.write(&record[sent..]) {
            Ok(count) => {
                if sent == 0 && count > 0 {
                    let answered = u64::from(record[0]);
                    counters.answered.fetch_add(answered, Ordering::Relaxed);
                    waiting -= usize::from(record[0]);
                }
                sent = (sent + count) % RECORD;
                counters.bytes.fetch_add(count as u64, Ordering::Relaxed);
            }
            Err(error) if is_harmless(error.kind()) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
