//! Which network namespaces of the machine are still in use.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Number of the first namespace of processes (`PROC_PID_INIT_INO` of the kernel). In another one, `/proc`
/// does not show all processes.
const FIRST_PROCESS_NAMESPACE: u64 = 0xEFFF_FFFC;

/// Returns the numbers (inodes) of the network namespaces that processes of this machine are in, or hold
/// by open files or mounts; `None` if this process may not look at all of them. A namespace that only a
/// socket of a process elsewhere holds is left out: nobody can enter it by a name.
#[must_use]
pub fn in_use() -> Option<BTreeSet<u64>> {
    let own = fs::metadata("/proc/self/ns/pid").ok()?.ino();
    // Where processes of others are hidden, the first one is, too.
    if own != FIRST_PROCESS_NAMESPACE || fs::metadata("/proc/1/ns/net").is_err() {
        return None;
    }
    let mut found = BTreeSet::new();
    let mut seen_mounts = BTreeSet::new();
    for entry in fs::read_dir("/proc").ok()? {
        let entry = entry.ok()?;
        let is_process = entry.file_name().to_string_lossy().parse::<u32>().is_ok();
        if is_process {
            of_process(&entry.path(), &mut found, &mut seen_mounts).ok()?;
        }
    }
    Some(found)
}

/// Adds the namespaces that a process is in or holds.
fn of_process(
    process: &Path,
    found: &mut BTreeSet<u64>,
    seen_mounts: &mut BTreeSet<u64>,
) -> io::Result<()> {
    for thread in entries(&process.join("task"))? {
        if let Some(metadata) = unless_gone(fs::metadata(thread.join("ns/net")))? {
            found.insert(metadata.ino());
        }
    }
    for file in entries(&process.join("fd"))? {
        // The link is read and not followed: a file on a dead server would make this wait.
        if let Some(link) = unless_gone(fs::read_link(file))? {
            found.extend(number_of(&link.to_string_lossy()));
        }
    }
    // Most processes share their mounts.
    let mounts = unless_gone(fs::metadata(process.join("ns/mnt")))?;
    if mounts.is_some_and(|mounts| seen_mounts.insert(mounts.ino()))
        && let Some(table) = unless_gone(fs::read_to_string(process.join("mountinfo")))?
    {
        found.extend(mounted(&table));
    }
    Ok(())
}

/// The entries of a folder of a process, none if the process has ended.
fn entries(folder: &Path) -> io::Result<Vec<std::path::PathBuf>> {
    let Some(listed) = unless_gone(fs::read_dir(folder))? else {
        return Ok(Vec::new());
    };
    let mut paths = Vec::new();
    for entry in listed {
        if let Some(entry) = unless_gone(entry)? {
            paths.push(entry.path());
        }
    }
    Ok(paths)
}

/// `None` if the process or thread has ended in the meantime.
fn unless_gone<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error)
            if error.kind() == io::ErrorKind::NotFound
                || error.raw_os_error() == Some(libc::ESRCH) =>
        {
            Ok(None)
        }
        // The mounts of a process that has ended (EINVAL).
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(None),
        Err(error) => Err(error),
    }
}

/// The number in the name of a namespace, `net:[4026531840]`.
fn number_of(name: &str) -> Option<u64> {
    let number = name.strip_prefix("net:[")?.strip_suffix(']')?;
    number.parse().ok()
}

/// The namespaces that a table of mounts names in its fourth field (`man 5 proc_pid_mountinfo`).
fn mounted(table: &str) -> impl Iterator<Item = u64> {
    let roots = table.lines().filter_map(|line| line.split(' ').nth(3));
    roots.filter_map(number_of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netns::Namespace;

    #[test]
    fn names_of_namespaces_and_mounts_of_them_are_read() {
        assert_eq!(number_of("net:[4026531840]"), Some(4_026_531_840));
        for other in ["pid:[4026531840]", "net:[x]", "net:[1", "/dev/null", ""] {
            assert_eq!(number_of(other), None, "{other}");
        }
        let table = "36 35 98:0 / / rw - ext4 /dev/root rw\n\
                     61 22 0:4 net:[4026532178] /run/netns/blue rw shared:1 - nsfs nsfs rw\n\
                     62 22 0:4 mnt:[4026532179] /run/x rw - nsfs nsfs rw\n";
        assert_eq!(mounted(table).collect::<Vec<_>>(), [4_026_532_178]);
    }

    #[test]
    fn a_namespace_is_in_use_until_nobody_holds_it() {
        let Some(before) = in_use() else {
            eprintln!("SKIPPED, NOTHING WAS TESTED: not all processes can be seen");
            return;
        };
        let own = fs::metadata("/proc/thread-self/ns/net").unwrap().ino();
        assert!(before.contains(&own));
        let Ok(namespace) = Namespace::new() else {
            eprintln!("SKIPPED, NOTHING WAS TESTED: no namespaces");
            return;
        };
        let number = fs::metadata(namespace.path()).unwrap().ino();
        assert!(in_use().unwrap().contains(&number));
        drop(namespace);
        assert!(!in_use().unwrap().contains(&number));
    }
}
