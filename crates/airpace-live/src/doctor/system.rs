//! The kernel and the rights of this process.

use super::Check;
use airpace_net::bridge;
use airpace_net::probe::{self, Capability};
use std::fs;

/// The oldest kernel whose BPF has everything that the XDP programs call.
const XDP_KERNEL: (u32, u32) = (5, 18);
/// The oldest kernel that the event loop runs on: `epoll_pwait2`.
const OLDEST_KERNEL: (u32, u32) = (5, 11);
/// 2026-01-01, before which no version of this program existed, in seconds since 1970.
const FIRST_RELEASE: u64 = 1_767_225_600;

pub(super) fn kernel() -> Check {
    let release = probe::kernel_release();
    match probe::version_of(&release) {
        Some(version) if version < OLDEST_KERNEL => Check::bad(
            "kernel",
            format!("Linux {release}"),
            "install Linux 5.18 or later; the event loop needs 5.11",
        ),
        Some(version) if version < XDP_KERNEL => Check::good("kernel", format!("Linux {release}"))
            .with_advice(
                "Linux 5.18 or later runs the XDP programs; without them airpace edge is a bridge in \
                 user space, and traffic stops when it does",
            ),
        Some(_) => Check::good("kernel", format!("Linux {release}")),
        None => Check::good("kernel", format!("Linux {release}, of which the version is unknown")),
    }
}

/// What the in-line box needs of the kernel.
pub(super) fn in_line() -> Vec<Check> {
    vec![
        rights(),
        priority(),
        programs(),
        sockets(),
        bridges(),
        filters(),
    ]
}

/// Rights to interfaces and packets.
fn rights() -> Check {
    let wanted = [
        (Capability::NetAdmin, "CAP_NET_ADMIN"),
        (Capability::NetRaw, "CAP_NET_RAW"),
        (Capability::Bpf, "CAP_BPF"),
    ];
    let mut missing = Vec::new();
    for (capability, name) in wanted {
        let covered = capability == Capability::Bpf && probe::has(Capability::SysAdmin);
        if !covered && !probe::has(capability) {
            missing.push(name);
        }
    }
    lacking("rights", &missing)
}

/// The check of rights of which some are missing.
pub(super) fn lacking(name: &str, missing: &[&str]) -> Check {
    if missing.is_empty() {
        return Check::good(name, "all that are needed");
    }
    Check::bad(
        name,
        format!("without {}", missing.join(", ")),
        "run it as root, or as the service of the Debian package, which has these rights",
    )
}

/// Real-time scheduling, which is only of use on a busy machine.
fn priority() -> Check {
    if probe::has(Capability::SysNice) {
        return Check::good("real-time scheduling", "permitted");
    }
    Check::good("real-time scheduling", "not permitted")
        .with_advice("with CAP_SYS_NICE, deadlines are also met on a busy machine")
}

fn programs() -> Check {
    match probe::load_programs() {
        Ok(()) => Check::good("BPF", "the kernel accepts the XDP programs"),
        Err(error) => Check::bad(
            "BPF",
            error.to_string(),
            "give the rights above, or use a kernel with CONFIG_BPF_SYSCALL; `datapath = \"packet\"` \
             works without, but traffic then stops when airpace does",
        ),
    }
}

fn sockets() -> Check {
    match probe::open_xdp_socket() {
        Ok(()) => Check::good("AF_XDP", "sockets can be opened"),
        Err(error) => Check::bad(
            "AF_XDP",
            error.to_string(),
            "give CAP_NET_RAW, or use a kernel with CONFIG_XDP_SOCKETS",
        ),
    }
}

fn bridges() -> Check {
    match probe::make_bridge() {
        Ok(()) => Check::good("bridge", "the kernel makes bridges"),
        Err(error) => Check::bad(
            "bridge",
            error.to_string(),
            "as root: modprobe bridge; or use a kernel with CONFIG_BRIDGE",
        ),
    }
}

/// The firewall's rules for routed packets, where they apply to bridged ones.
fn filters() -> Check {
    let filtered = bridge::filtered_protocols();
    if filtered.is_empty() {
        return Check::good(
            "firewall",
            "bridged frames do not pass the rules for routed ones",
        );
    }
    Check::good(
        "firewall",
        format!(
            "bridged {} pass the rules for routed packets",
            filtered.join(", ")
        ),
    )
    .with_advice(
        "sysctl net.bridge.bridge-nf-call-iptables=0 net.bridge.bridge-nf-call-ip6tables=0",
    )
}

/// The clocks: the tunnel's handshakes carry the time of day, and pacing needs fine timers.
pub(super) fn clock() -> Check {
    let source =
        fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    let source = source.unwrap_or_default();
    let source = source.trim();
    if source == "jiffies" {
        return Check::bad(
            "clock",
            "the kernel's clock is `jiffies`, milliseconds coarse",
            "remove clocksource=jiffies from the kernel's command line",
        );
    }
    if crate::runtime::wall_clock().as_secs() < FIRST_RELEASE {
        return Check::bad(
            "clock",
            "the time of day is years behind",
            "set it: timedatectl set-ntp true; the other end refuses handshakes that look old",
        );
    }
    if source.is_empty() {
        Check::good("clock", "the time of day is plausible")
    } else {
        Check::good("clock", format!("{source}; the time of day is plausible"))
    }
}
