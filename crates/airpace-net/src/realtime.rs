//! Real-time priority for loops that must meet their deadlines.

use crate::sys;
use std::io;

/// Puts the calling thread under SCHED_FIFO at `priority` (1 is the lowest, 99 the highest), if the
/// system permits.
///
/// Children that the thread starts do not inherit the priority. A thread under SCHED_FIFO that
/// never sleeps starves its core, so sleep in [`crate::poll::Poller::wait`].
///
/// # Errors
/// [`io::ErrorKind::PermissionDenied`] without CAP_SYS_NICE or an RLIMIT_RTPRIO. The caller should
/// go on without it and say so in its results.
pub fn try_fifo(priority: u8) -> io::Result<()> {
    sys::set_fifo(i32::from(priority))
}
