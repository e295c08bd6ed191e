//! Linux plumbing: TUN/TAP, batched UDP, timers, namespaces, netlink. Knows no Wi-Fi.

mod tcp;

pub use tcp::{TcpInfo, tcp_info};
