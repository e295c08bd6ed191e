//! Linux plumbing: TUN/TAP, batched UDP, timers, namespaces, netlink. Knows no Wi-Fi.
