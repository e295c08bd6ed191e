//! Linux plumbing: TUN/TAP devices, namespaces, addresses and routes, batched UDP, packet capture and a punctual event loop.
//!
//! It knows no Wi-Fi and takes no decisions: it moves bytes and tells the time. It is the only crate with unsafe code, all of
//! it in the private module `sys`, and it needs no asynchronous runtime and no external program such as `ip`.
//!
//! Three types to know: [`tun::Tun`] (a network interface of this process), [`netns::Namespace`] (a network of one's own that
//! is gone when the process is) and [`poll::Poller`] (waits for files and for precise deadlines).
//!
//! ```
//! use airpace_net::{clock::Clock, poll::{Poller, Wake}};
//! use core::time::Duration;
//!
//! let clock = Clock::start();
//! let mut poller = Poller::new().expect("epoll is there");
//! let wake = poller.wait(&clock, Some(clock.now() + Duration::from_millis(1))).expect("waiting works");
//! assert_eq!(wake, Wake::Deadline);
//! ```

#[cfg(not(target_os = "linux"))]
compile_error!("airpace-net speaks to Linux only; airpace-core and airpace-sim build everywhere");

pub mod clock;
pub mod interfaces;
pub mod netlink;
pub mod netns;
pub mod offload;
pub mod packet;
pub mod poll;
pub mod program;
pub mod realtime;
pub mod signals;
pub mod tun;
pub mod udp;

mod sys;
mod tcp;

pub use tcp::{TcpInfo, tcp_info};
