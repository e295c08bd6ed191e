//! The Unix socket on which a running box takes requests, and the client's end of it.

use super::leftovers;
use super::state::{STATE_DIR, prefix};
use super::waiter::Waiter;
use airpace_api::operator::{EdgeReply, EdgeRequest};
use airpace_units::Time;
use anyhow::{Context as _, bail};
use core::time::Duration;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Most connections at once; a further one takes the place of the one that has been silent longest.
const MOST_CLIENTS: usize = 16;
/// Longest request in bytes. The connection of a client that sends more is closed.
const MOST_REQUEST_BYTES: usize = 4096;
/// Most bytes of answers that wait for a client. The connection of one that does not read them is
/// closed.
const MOST_REPLY_BYTES: usize = 16 << 20;
/// How long a connection may be silent before it is closed.
const IDLE: Duration = Duration::from_secs(30);
/// How long a client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The socket of a box. Dropping it removes the file.
#[derive(Debug)]
pub(super) struct ControlSocket {
    path: PathBuf,
    listener: UnixListener,
    clients: Vec<Option<Client>>,
    /// Token of the listener; those of the clients follow.
    token: u64,
}

#[derive(Debug)]
struct Client {
    stream: UnixStream,
    /// When it connected or last sent something.
    active_at: Time,
    request: Vec<u8>,
    /// What the client has not taken yet.
    reply: Vec<u8>,
}

impl ControlSocket {
    /// Opens the socket of the box on the port `wan`, which only root and its group may use.
    /// `token` and those after it are its tokens in the loop.
    pub(super) fn open(wan: &str, token: u64) -> anyhow::Result<Self> {
        let path = socket_file(wan);
        // A killed run has left it: whether one lives was checked before.
        let _ = fs::remove_file(&path);
        let listener = fs::create_dir_all(STATE_DIR)
            .and_then(|()| UnixListener::bind(&path))
            .and_then(|listener| {
                fs::set_permissions(&path, fs::Permissions::from_mode(0o660))?;
                listener.set_nonblocking(true)?;
                Ok(listener)
            })
            .with_context(|| format!("control socket {}", path.display()))?;
        Ok(Self {
            path,
            listener,
            clients: Vec::new(),
            token,
        })
    }

    /// Begins to wait for requests.
    pub(super) fn register(&self, waiter: &Waiter) -> io::Result<()> {
        waiter.add(&self.listener, self.token)
    }

    /// Answers what has come, and closes connections that have been silent for long. `tokens` are
    /// those of the files that are ready.
    pub(super) fn serve(
        &mut self,
        now: Time,
        waiter: &Waiter,
        tokens: impl IntoIterator<Item = u64>,
        mut answer: impl FnMut(&EdgeRequest) -> EdgeReply,
    ) {
        self.close_idle(now);
        for token in tokens {
            if token == self.token {
                self.accept(now, waiter);
                continue;
            }
            let Some(index) = token.checked_sub(self.token + 1) else {
                continue;
            };
            let Some(slot) = self.clients.get_mut(index as usize) else {
                continue;
            };
            let Some(client) = slot else { continue };
            client.active_at = now;
            // Closing the stream takes it out of the loop.
            if client.serve(&mut answer).is_err() {
                *slot = None;
            } else {
                let wants_write = !client.reply.is_empty();
                if waiter.modify(&client.stream, token, wants_write).is_err() {
                    *slot = None;
                }
            }
        }
    }

    fn accept(&mut self, now: Time, waiter: &Waiter) {
        // As many as one turn answers: the others have their turn, and packets theirs in between.
        for _ in 0..MOST_CLIENTS {
            let Ok((stream, _)) = self.listener.accept() else {
                return;
            };
            let index = self.free_place();
            let token = self.token + 1 + index as u64;
            if stream.set_nonblocking(true).is_ok() && waiter.add(&stream, token).is_ok() {
                self.clients[index] = Some(Client {
                    stream,
                    active_at: now,
                    request: Vec::new(),
                    reply: Vec::new(),
                });
            }
        }
    }
}

impl ControlSocket {
    /// A place for another client: a free one, else that of the client that has been silent longest.
    fn free_place(&mut self) -> usize {
        if let Some(free) = self.clients.iter().position(Option::is_none) {
            return free;
        }
        if self.clients.len() < MOST_CLIENTS {
            self.clients.push(None);
            return self.clients.len() - 1;
        }
        let mut longest = (Time::MAX, 0);
        for (index, client) in self.clients.iter().enumerate() {
            if let Some(client) = client {
                longest = longest.min((client.active_at, index));
            }
        }
        self.clients[longest.1] = None;
        longest.1
    }

    /// Closes connections that have been silent for long.
    fn close_idle(&mut self, now: Time) {
        for slot in &mut self.clients {
            let is_idle = |client: &mut Client| now.saturating_since(client.active_at) >= IDLE;
            drop(slot.take_if(is_idle));
        }
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Client {
    /// Reads requests, answers them, and writes what the client takes.
    ///
    /// # Errors
    /// The client has gone, or sends what is too long for a request.
    fn serve(&mut self, answer: &mut impl FnMut(&EdgeRequest) -> EdgeReply) -> io::Result<()> {
        let mut chunk = [0; 1024];
        let is_ended = loop {
            match self.stream.read(&mut chunk) {
                Ok(0) => break true,
                Ok(n) => self.request.extend_from_slice(&chunk[..n]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break false,
                Err(error) => return Err(error),
            }
            if self.request.len() > MOST_REQUEST_BYTES {
                return Err(io::ErrorKind::InvalidData.into());
            }
        };
        while let Some(end) = self.request.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.request.drain(..=end).collect();
            let reply = match serde_json::from_slice(&line) {
                Ok(request) => answer(&request),
                Err(error) => EdgeReply {
                    error: Some(format!("this is not a request: {error}")),
                    ..EdgeReply::default()
                },
            };
            serde_json::to_writer(&mut self.reply, &reply)?;
            self.reply.push(b'\n');
            if self.reply.len() > MOST_REPLY_BYTES {
                return Err(io::ErrorKind::OutOfMemory.into());
            }
        }
        self.write()?;
        // The client sends nothing more. Its answers have been written, or cannot be.
        if is_ended {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        while !self.reply.is_empty() {
            match self.stream.write(&self.reply) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => drop(self.reply.drain(..n)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Returns what a client is answered that sends these bytes, at most as many as a request may have.
///
/// # Panics
/// The system gives no sockets.
#[cfg(fuzzing)]
pub(super) fn answers_to(
    bytes: &[u8],
    mut answer: impl FnMut(&EdgeRequest) -> EdgeReply,
) -> Vec<u8> {
    let (own, mut other) = UnixStream::pair().expect("a pair of sockets");
    own.set_nonblocking(true).expect("a new socket");
    // The kernel's buffers hold a request and its answers.
    let bytes = bytes.get(..MOST_REQUEST_BYTES).unwrap_or(bytes);
    other.write_all(bytes).expect("there is room");
    let mut client = Client {
        stream: own,
        active_at: Time::ZERO,
        request: Vec::new(),
        reply: Vec::new(),
    };
    client.serve(&mut answer).expect("it has not gone");
    drop(client);
    let mut answers = Vec::new();
    other.read_to_end(&mut answers).expect("it has ended");
    answers
}

/// Returns the path of the socket of the box on the port `wan` of this network namespace.
pub(super) fn socket_file(wan: &str) -> PathBuf {
    Path::new(STATE_DIR).join(format!("{}{wan}.sock", prefix()))
}

/// Returns whether a box runs on the port `wan`, which includes one that is stopped (SIGSTOP).
pub(crate) fn is_running(wan: &str) -> bool {
    UnixStream::connect(socket_file(wan)).is_ok()
}

/// Sends a request to the box that runs on the port `wan` of this network namespace, or to the only
/// one if no port is given, and returns its answer.
///
/// # Errors
/// No box runs, or several do and none is named; this user may not ask it; it does not answer within five
/// seconds.
pub fn ask(wan: Option<&str>, request: &EdgeRequest) -> anyhow::Result<EdgeReply> {
    let running = leftovers::ports_of_running_boxes();
    let wan = match (wan, running.as_slice()) {
        (Some(wan), _) => wan,
        (None, [only]) => only,
        (None, []) => bail!(none_runs()),
        (None, several) => bail!(
            "several boxes run here: choose one by its wan port, --wan {}",
            several.join(" or --wan ")
        ),
    };
    let path = socket_file(wan);
    let mut stream = match UnixStream::connect(&path) {
        Ok(stream) => stream,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => bail!(
            "only root and the group of {} may ask the box on {wan}: run this as root",
            path.display()
        ),
        Err(_) => bail!(not_running(wan, &running)),
    };
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    // Without its kind: a broken pipe here is not that of standard output, which ends a program quietly.
    stream
        .write_all(&line)
        .map_err(|error| anyhow::anyhow!("airpace edge does not take the request: {error}"))?;
    let mut reply = String::new();
    if let Err(error) = BufReader::new(stream).read_line(&mut reply) {
        if matches!(
            error.kind(),
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
        ) {
            bail!(
                "airpace edge runs and does not answer within {} s: it is stopped or hangs, and the bridge carries the traffic",
                PATIENCE.as_secs()
            );
        }
        bail!("airpace edge does not answer: {error}");
    }
    if reply.is_empty() {
        bail!("airpace edge has closed the connection without an answer");
    }
    Ok(serde_json::from_str(&reply)?)
}

/// Why no box can be asked.
fn none_runs() -> String {
    let gone = leftovers::of_gone_boxes(None);
    if gone.is_empty() {
        return "no airpace edge runs in this network namespace: start one, airpace edge --wan eth0 --ap eth1"
            .to_owned();
    }
    gone.join(". ")
}

/// Why the box on the port `wan` cannot be asked, and which ones can. `running` are the ports of these.
fn not_running(wan: &str, running: &[String]) -> String {
    let gone = leftovers::of_gone_boxes(Some(wan));
    if !gone.is_empty() {
        return gone.join(". ");
    }
    let others: Vec<&str> = running.iter().map(String::as_str).collect();
    match others.as_slice() {
        [] => format!(
            "no airpace edge runs with the wan port {wan}. {}",
            none_runs()
        ),
        [other] => format!(
            "no airpace edge runs with the wan port {wan}. The one that runs here has {other}: use --wan \
             {other}, or leave --wan out"
        ),
        others => format!(
            "no airpace edge runs with the wan port {wan}. Those that run here have {}: choose one, \
             --wan {}",
            others.join(", "),
            others.join(" or --wan ")
        ),
    }
}
