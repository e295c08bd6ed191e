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

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// Scheduling policy of the calling thread: field 41 of `stat` (`proc_pid_stat(5)`).
    fn policy() -> i32 {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        // The name, which is the second field, may contain spaces.
        let (_, fields) = stat.rsplit_once(')').unwrap();
        fields.split_whitespace().nth(38).unwrap().parse().unwrap()
    }

    #[test]
    fn threads_that_a_real_time_thread_starts_are_ordinary() {
        let real_time = thread::spawn(|| {
            if try_fifo(1).is_err() {
                return None;
            }
            let own = policy() & 0xff;
            let helper = thread::spawn(policy);
            Some((own, helper.join().unwrap()))
        });
        match real_time.join().unwrap() {
            Some(policies) => assert_eq!(policies, (libc::SCHED_FIFO, libc::SCHED_OTHER)),
            None => eprintln!("SKIPPED, NOTHING WAS TESTED: no right to real-time scheduling"),
        }
    }
}
