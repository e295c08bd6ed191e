//! The walls: what each crate may import of ours, what it may reach beyond its arguments, and what
//! never stands beneath it.

/// Our crates, lowest first, each with all of ours that it may import; the prefix `airpace-` is
/// left out. `ARCHITECTURE.md` has the picture of it.
pub(super) const IMPORTS: [(&str, &str); 18] = [
    ("units", ""),
    ("core", "units"),
    ("edge", "units core"),
    ("sim", "units core edge"),
    ("config", "units"),
    ("scenario", "units core edge sim config"),
    ("api", "units core edge config"),
    ("net", "units"),
    ("live", "units core edge config api net"),
    ("agent", "units core edge config api net live"),
    ("web", "units core edge config api net"),
    ("emu", "units core edge sim config api net"),
    (
        "lab",
        "units core edge sim config scenario api net live emu",
    ),
    ("papers", "units core edge sim config scenario"),
    ("python", "units core edge sim scenario"),
    (
        "cli",
        "units core edge sim config scenario api net live agent web emu lab papers",
    ),
    ("examples", "units core edge sim scenario net emu lab"),
    ("xtask", ""),
];

/// Something outside of a crate's arguments that its sources could reach.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reach {
    /// Sockets.
    Network,
    /// Files.
    Files,
    /// Environment variables and arguments of the process.
    Environment,
    /// Threads.
    Threads,
    /// Other processes.
    Processes,
    /// What the standard library has for one operating system only.
    OperatingSystem,
    /// A clock.
    Clock,
    /// Anything that a repeated run would draw or order differently.
    Chance,
}

/// A crate that reaches nothing but its arguments, apart from what it is permitted.
pub(super) struct Wall {
    /// Its name.
    pub(super) name: &'static str,
    /// The exceptions.
    pub(super) permits: &'static [Reach],
}

/// The crates behind a wall. No operating-system crate stands beneath any of them.
pub(super) const WALLS: [Wall; 7] = [
    sans_io("airpace-units"),
    sans_io("airpace-core"),
    sans_io("airpace-edge"),
    sans_io("airpace-sim"),
    sans_io("airpace-config"),
    sans_io("airpace-api"),
    Wall {
        name: "airpace-scenario",
        // It reads rate tables, stores results, sweeps on all cores and says how long a run took;
        // all of that works on any operating system that has the standard library.
        permits: &[Reach::Files, Reach::Threads, Reach::Clock],
    },
];

const fn sans_io(name: &'static str) -> Wall {
    Wall { name, permits: &[] }
}

/// Crates that call the operating system on behalf of whoever depends on them. `rand` is not one of
/// them: it draws from the system only through `getrandom`.
pub(super) const OS_CRATES: [&str; 39] = [
    "async-io",
    "async-std",
    "aws-lc-sys",
    "crossterm",
    "dirs-sys",
    "errno",
    "getrandom",
    "hermit-abi",
    "iana-time-zone",
    "io-uring",
    "libc",
    "libloading",
    "linux-raw-sys",
    "memmap2",
    "mio",
    "neli",
    "netlink-sys",
    "nix",
    "num_cpus",
    "openssl-sys",
    "pcap",
    "polling",
    "quinn-udp",
    "ring",
    "rtnetlink",
    "rustix",
    "signal-hook",
    "signal-hook-registry",
    "smol",
    "socket2",
    "terminal_size",
    "tokio",
    "tun",
    "tun-rs",
    "wait-timeout",
    "winapi",
    "windows-sys",
    "windows-targets",
    "xsk-rs",
];

/// Crates that start threads, or keep a generator or a table for each thread.
pub(super) const THREAD_CRATES: [&str; 7] = [
    "crossbeam",
    "crossbeam-epoch",
    "crossbeam-utils",
    "fastrand",
    "rayon",
    "rayon-core",
    "threadpool",
];

/// A program and what it must not contain, so that it stays small.
pub(super) struct Lean {
    /// The crate.
    pub(super) name: &'static str,
    /// What never stands beneath it.
    pub(super) without: &'static [&'static str],
}

/// The programs that must stay small.
pub(super) const LEAN: [Lean; 1] = [Lean {
    name: "airpace-agent",
    without: &[
        "airpace-emu",
        "airpace-lab",
        "airpace-papers",
        "airpace-scenario",
        "airpace-sim",
        "clarabel",
        "indicatif",
        "parquet",
        "regex-automata",
        "tokio",
    ],
}];

/// The wall around a crate, if it has one.
pub(super) fn wall(name: &str) -> Option<&'static Wall> {
    WALLS.iter().find(|wall| wall.name == name)
}
