//! Linux plumbing: TUN and TAP devices, namespaces, addresses and routes, bridges, batched UDP,
//! packet capture, XDP programs with AF_XDP sockets, and an event loop with precise deadlines.
//!
//! This crate knows nothing about Wi-Fi and makes no decisions: it moves bytes and tells the time.
//! It is the only crate with unsafe code, all of which is in the private module `sys`. It needs
//! neither an asynchronous runtime nor an external program such as `ip`.
//!
//! Types to know: [`tun::Tun`] (a network interface whose other end is this process),
//! [`netns::Namespace`] (a private network that disappears with the process), [`inline::InlinePath`]
//! (takes the frames for stations out of a bridge) and [`poll::Poller`] (waits for files and for
//! deadlines).
//!
//! ```
//! use airpace_net::{clock::Clock, poll::{Poller, Wake}};
//! use core::time::Duration;
//!
//! let clock = Clock::start();
//! let mut poller = Poller::new().expect("the kernel has epoll");
//! let deadline = clock.now() + Duration::from_millis(1);
//! let wake = poller.wait(&clock, Some(deadline)).expect("nothing but a bug makes it fail");
//! assert_eq!(wake, Wake::Deadline);
//! ```

#[cfg(not(target_os = "linux"))]
compile_error!("airpace-net needs Linux; airpace-core and airpace-sim build everywhere");

pub mod bridge;
pub mod clock;
pub mod files;
#[cfg(fuzzing)]
pub mod fuzzing;
pub mod inline;
pub mod interfaces;
pub mod netlink;
pub mod netns;
pub mod notify;
pub mod offload;
pub mod packet;
pub mod poll;
pub mod probe;
pub mod program;
pub mod realtime;
pub mod signals;
pub mod tun;
pub mod udp;
pub mod xsk;

mod sys;
mod tcp;

pub use tcp::{TcpInfo, tcp_info};
