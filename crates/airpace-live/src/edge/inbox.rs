//! Requests from other threads of the process, such as the one that serves the web page. The loop
//! answers them as it answers those of the control socket, and never waits for who asks.

use airpace_api::operator::{EdgeReply, EdgeRequest};
use anyhow::bail;
use core::time::Duration;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};

/// Requests that may wait for the loop.
const MOST_WAITING: usize = 16;
/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// A request and where its answer goes.
#[derive(Debug)]
struct Letter {
    request: EdgeRequest,
    /// It has room for the one answer, so that answering never blocks.
    reply: SyncSender<EdgeReply>,
}

/// The end of a thread that asks. See [`inbox`].
#[derive(Debug)]
pub struct EdgeHandle {
    letters: SyncSender<Letter>,
    /// A byte wakes the loop.
    bell: UnixStream,
}

/// The end of the box that answers; see [`inbox`] and [`super::run_edge`].
#[derive(Debug)]
pub struct EdgeInbox {
    letters: Receiver<Letter>,
    bell: UnixStream,
}

/// Returns both ends of a way on which one thread may ask the box that another thread runs.
///
/// # Errors
/// The process has too many open files.
pub fn inbox() -> io::Result<(EdgeHandle, EdgeInbox)> {
    let (rings, rung) = UnixStream::pair()?;
    rings.set_nonblocking(true)?;
    rung.set_nonblocking(true)?;
    let (sender, receiver) = mpsc::sync_channel(MOST_WAITING);
    let handle = EdgeHandle {
        letters: sender,
        bell: rings,
    };
    let inbox = EdgeInbox {
        letters: receiver,
        bell: rung,
    };
    Ok((handle, inbox))
}

impl EdgeHandle {
    /// Asks the box, and waits for its answer for at most two seconds.
    ///
    /// # Errors
    /// The box is ending, or does not answer in time. That it refuses a request is no error here:
    /// [`EdgeReply::error`] says it.
    pub fn ask(&self, request: &EdgeRequest) -> anyhow::Result<EdgeReply> {
        let (reply, answer) = mpsc::sync_channel(1);
        let letter = Letter {
            request: request.clone(),
            reply,
        };
        match self.letters.try_send(letter) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => bail!("airpace edge has not answered earlier requests"),
            Err(TrySendError::Disconnected(_)) => bail!("airpace edge is ending"),
        }
        // A full pipe means that the loop has been woken already.
        let _ = (&self.bell).write(&[1]);
        match answer.recv_timeout(PATIENCE) {
            Ok(reply) => Ok(reply),
            Err(RecvTimeoutError::Disconnected) => bail!("airpace edge is ending"),
            Err(RecvTimeoutError::Timeout) => bail!(
                "airpace edge does not answer within {} s: the bridge carries the traffic",
                PATIENCE.as_secs()
            ),
        }
    }
}

impl EdgeInbox {
    /// Answers what has come, at most as many requests as may wait.
    pub(super) fn serve(&self, mut answer: impl FnMut(&EdgeRequest) -> EdgeReply) {
        let mut rings = [0; 64];
        while matches!((&self.bell).read(&mut rings), Ok(count) if count == rings.len()) {}
        for letter in self.letters.try_iter().take(MOST_WAITING) {
            // Who has asked may have given up.
            let _ = letter.reply.try_send(answer(&letter.request));
        }
    }
}

impl AsFd for EdgeInbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_request_of_another_thread_wakes_the_loop_and_is_answered() {
        let (handle, inbox) = inbox().expect("a pair of sockets");
        let asks = thread::spawn(move || handle.ask(&EdgeRequest::Reload));
        let mut served = 0;
        while served == 0 {
            inbox.serve(|request| {
                served += 1;
                assert_eq!(*request, EdgeRequest::Reload);
                EdgeReply {
                    done: Some("reloaded".to_owned()),
                    ..EdgeReply::default()
                }
            });
            thread::yield_now();
        }
        let reply = asks.join().expect("no panic").expect("an answer");
        assert_eq!(reply.done.as_deref(), Some("reloaded"));
    }

    #[test]
    fn a_box_that_has_ended_is_not_waited_for() {
        let (handle, inbox) = inbox().expect("a pair of sockets");
        drop(inbox);
        let error = handle
            .ask(&EdgeRequest::Status)
            .expect_err("nobody is there");
        assert!(error.to_string().contains("ending"), "{error}");
    }
}
