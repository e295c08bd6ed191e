//! The kernel and the rights of this process.

use super::Check;
use airpace_net::bridge;
use airpace_net::inline::InlineOptions;
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

/// What the in-line box needs of the kernel to stand between `ports` ports.
pub(super) fn in_line(ports: usize) -> Vec<Check> {
    vec![
        rights(),
        memory(ports),
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

/// Locked memory: AF_XDP charges its buffers to the limit of the user, unless the process has
/// CAP_IPC_LOCK (`xdp_umem_account_pages` of the kernel). BPF did so until Linux 5.10, on which the box
/// does not run anyway.
fn memory(ports: usize) -> Check {
    let has_any = probe::has(Capability::IpcLock) || probe::has(Capability::SysResource);
    // Each port has a socket for each of its queues, so at least one.
    let needed = InlineOptions::default().socket_bytes() * ports as u64;
    judge_memory(has_any, probe::locked_memory_limit(), needed)
}

/// `limit` and `needed` are in bytes; no limit is `None`.
fn judge_memory(has_any: bool, limit: Option<u64>, needed: u64) -> Check {
    let name = "locked memory";
    let mebibytes = |bytes: u64| bytes.div_ceil(1 << 20);
    match limit {
        Some(limit) if !has_any && limit < needed => Check::bad(
            name,
            format!(
                "{} MiB at most; the buffers of AF_XDP need {} MiB, and more if the wan port has several \
                 queues",
                limit >> 20,
                mebibytes(needed)
            ),
            "give CAP_IPC_LOCK, or raise the limit: LimitMEMLOCK=infinity in the service, or as root in \
             the shell that starts it: ulimit -l unlimited",
        ),
        Some(limit) if !has_any => Check::good(
            name,
            format!(
                "{} MiB at most, of which {} MiB are needed",
                limit >> 20,
                mebibytes(needed)
            ),
        ),
        _ => Check::good(name, "not limited"),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_locked_memory_is_told_with_both_remedies() {
        let needed = 16 << 20;
        let check = judge_memory(false, Some(8 << 20), needed);
        assert!(!check.ok && check.found.contains("16 MiB"), "{check:?}");
        let remedy = check.remedy.unwrap_or_default();
        assert!(remedy.contains("CAP_IPC_LOCK") && remedy.contains("LimitMEMLOCK"));
        for (has_any, limit) in [(true, Some(0)), (false, None), (false, Some(needed))] {
            assert!(judge_memory(has_any, limit, needed).ok);
        }
    }
}
