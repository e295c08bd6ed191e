//! Files and pipes as real ones behave.

use super::*;
use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;
use std::time::Instant;

/// A limit that no test reaches by accident.
const LIMIT: u64 = 100_000_000;

fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("airpace-journal-{}-{name}", std::process::id()))
}

#[test]
fn rows_are_in_the_file_once_the_journal_has_ended() {
    let path = scratch("rows");
    let mut journal = Journal::open(Some(&path), LIMIT).unwrap();
    for row in 0..1000 {
        journal.write(&row);
    }
    drop(journal);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(text.lines().count(), 1000);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test is about real time")]
fn a_pipe_that_nobody_empties_costs_rows_and_no_time() {
    let path = scratch("fifo");
    let made = std::process::Command::new("mkfifo")
        .arg(&path)
        .status()
        .unwrap();
    assert!(made.success());
    // Opening waits for the other end otherwise.
    let mut reader = files_of_both_ends(&path);
    let mut journal = Journal::open(Some(&path), LIMIT).unwrap();
    let begin = Instant::now();
    let row = "x".repeat(500);
    for _ in 0..20_000 {
        journal.write(&row);
    }
    thread::sleep(Duration::from_millis(300));
    assert!(journal.lost() > 1000, "{} lost", journal.lost());
    // A reader that comes back gets rows again.
    let mut bytes = vec![0; 1 << 16];
    reader.read_exact(&mut bytes).unwrap();
    drop(journal);
    std::fs::remove_file(&path).unwrap();
    let took = begin.elapsed();
    assert!(took < Duration::from_secs(2), "{took:?}");
}

/// Both ends of the pipe at `path`.
fn files_of_both_ends(path: &Path) -> File {
    File::options().read(true).write(true).open(path).unwrap()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "threads begin in real time")]
fn the_thread_that_writes_has_no_real_time_priority_even_after_a_reload() {
    let path = scratch("priority");
    let opens = path.clone();
    let real_time = thread::spawn(move || {
        // A loop opens another journal when it has real-time priority already.
        let has_priority = airpace_net::realtime::try_fifo(1).is_ok();
        let mut journal = Journal::open(Some(&opens), LIMIT).unwrap();
        journal.write(&1);
        thread::sleep(Duration::from_millis(100));
        let policies = policies_of_threads("telemetry");
        (has_priority, policies)
    });
    let (has_priority, policies) = real_time.join().unwrap();
    std::fs::remove_file(&path).unwrap();
    if !has_priority {
        eprintln!("SKIPPED, NOTHING WAS TESTED: no right to real-time scheduling");
    }
    // Other tests may have journals as well.
    assert!(!policies.is_empty());
    assert!(policies.iter().all(|&policy| policy == 0), "{policies:?}");
}

/// The scheduling policies of the threads with this name: field 41 of `stat`
/// (`proc_pid_stat(5)`), 0 for ordinary ones.
fn policies_of_threads(name: &str) -> Vec<u32> {
    let mut policies = Vec::new();
    for task in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
        // A thread may end meanwhile.
        let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        if let Some((head, fields)) = stat.rsplit_once(") ")
            && head.ends_with(&format!("({name}"))
        {
            let policy = fields.split_whitespace().nth(38).unwrap();
            policies.push(policy.parse().unwrap());
        }
    }
    policies
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test is about real time")]
fn a_full_disk_costs_rows_and_no_time() {
    let mut journal = Journal::open(Some(Path::new("/dev/full")), LIMIT).unwrap();
    let begin = Instant::now();
    for row in 0..10_000 {
        journal.write(&row);
    }
    thread::sleep(Duration::from_millis(300));
    assert!(journal.lost() > 0);
    drop(journal);
    let took = begin.elapsed();
    assert!(took < Duration::from_secs(1), "{took:?}");
}

#[test]
fn a_file_that_has_reached_its_limit_is_renamed_and_one_older_file_is_kept() {
    let folder = scratch("limit");
    std::fs::create_dir_all(&folder).unwrap();
    let (path, older) = (folder.join("rows.jsonl"), folder.join("rows.jsonl.1"));
    std::fs::write(&older, "from long ago").unwrap();
    std::fs::write(&path, vec![b'\n'; 9_000]).unwrap();
    let limit = 10_000;
    let mut journal = Journal::open(Some(&path), limit).unwrap();
    for row in 0..1_000 {
        journal.write(&format!("row {row}"));
        if row % 100 == 99 {
            journal.finish();
        }
    }
    assert_eq!(journal.lost(), 0);
    drop(journal);
    let (kept, newest) = (
        std::fs::read_to_string(&older).unwrap(),
        std::fs::read_to_string(&path).unwrap(),
    );
    assert!(kept.len() as u64 <= limit, "{} bytes", kept.len());
    assert!(!kept.contains("long ago"));
    assert!(newest.ends_with("\"row 999\"\n"), "{newest}");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_file_that_was_moved_away_is_followed_by_a_new_one_when_it_is_opened_again() {
    let folder = scratch("moved");
    std::fs::create_dir_all(&folder).unwrap();
    let (path, moved) = (folder.join("rows.jsonl"), folder.join("moved"));
    let mut journal = Journal::open(Some(&path), LIMIT).unwrap();
    journal.write(&"before");
    journal.finish();
    std::fs::rename(&path, &moved).unwrap();
    journal.write(&"between");
    journal.finish();
    journal.reopen();
    journal.write(&"after");
    journal.finish();
    let text = |path| std::fs::read_to_string(path).unwrap();
    assert_eq!(text(&moved), "\"before\"\n\"between\"\n");
    assert_eq!(text(&path), "\"after\"\n");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn compact_rows_have_four_digits_or_three_decimals() {
    let values = [93.123_456, 1_790_000_000.123_456, 0.001_234_56, 0.0, -7.5];
    let row = compact_row(&values).unwrap();
    let text = String::from_utf8(row).unwrap();
    assert_eq!(text, "[93.123,1790000000.123,0.001235,0.0,-7.5]");
}
