//! Real-time priority for loops that must be punctual.

use crate::sys;
use std::io;

/// Puts the calling thread under SCHED_FIFO at `priority` (1 lowest to 99), if the system permits.
///
/// Children started by the thread do not inherit it. A thread under SCHED_FIFO that never sleeps starves its core: sleep in
/// [`crate::poll::Poller::wait`], and spin for tens of microseconds at most.
///
/// # Errors
/// [`io::ErrorKind::PermissionDenied`] without CAP_SYS_NICE or an RLIMIT_RTPRIO: go on without, and say so in the results.
pub fn try_fifo(priority: u8) -> io::Result<()> {
    sys::set_fifo(i32::from(priority))
}

/// Returns the calling thread to the ordinary scheduler.
///
/// # Errors
/// When the system refuses, which it does not for the thread's own priority.
pub fn leave_fifo() -> io::Result<()> {
    sys::set_other()
}
