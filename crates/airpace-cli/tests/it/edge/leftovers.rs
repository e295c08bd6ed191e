//! What other runs and operators leave behind: files that cannot be used, ports that are gone, other
//! boxes, connections that nobody uses, pipes under the names of files.

use super::{NATIVE, edge, eventually, own_file, program, start, testbed};
use airpace_api::operator::EdgeRequest;
use airpace_lab::bench::edge::EdgeTestbed;
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};
use std::fs;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

const ARGUMENTS: [&str; 4] = ["--wan", "wan", "--ap", "ap0"];

fn links(bed: &EdgeTestbed) -> String {
    let output = bed.middle.run(|| Command::new("ip").arg("link").output());
    String::from_utf8(output.unwrap().unwrap().stdout).unwrap()
}

fn run(bed: &EdgeTestbed, words: &str) {
    let mut words = words.split(' ');
    let mut command = Command::new(words.next().unwrap());
    command.args(words);
    assert!(
        bed.middle
            .run(|| command.status())
            .unwrap()
            .unwrap()
            .success()
    );
}

/// A second box in the same namespace. Dropping it kills it.
struct SecondBox(Child);

impl SecondBox {
    fn start(bed: &EdgeTestbed, wan: &str, ap: &str) -> Self {
        let mut link = bed.middle.netlink().unwrap();
        for port in [wan, ap] {
            let far = format!("far-{port}");
            link.add_veth(port, &far, Some(&bed.server)).unwrap();
        }
        let mut command = Command::new(program());
        command.args(["edge", "--wan", wan, "--ap", ap]);
        command.stderr(Stdio::null());
        let second = Self(bed.middle.spawn(command).unwrap());
        eventually("the second box runs", || {
            edge(bed, &["status", "--wan", wan]).0 == Some(0)
        });
        second
    }

    fn end(mut self) {
        kill(Pid::from_raw(self.0.id().cast_signed()), Signal::SIGTERM).unwrap();
        assert_eq!(self.0.wait().unwrap().code(), Some(0));
    }
}

impl Drop for SecondBox {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_state_file_that_cannot_be_used_is_set_aside_or_refused_with_the_remedy() {
    let Some(bed) = testbed(1, 1500) else { return };
    let file = own_file(&bed, "wan", "json");
    fs::create_dir_all("/run/airpace").unwrap();
    for content in ["", "{\"bridge\": 7", "\u{0}\u{0}"] {
        fs::write(&file, content).unwrap();
        let Some(mut process) = start(&bed, "") else {
            fs::remove_file(&file).unwrap();
            return;
        };
        assert!(
            process.log().contains("cannot be used"),
            "{}",
            process.log()
        );
        process.signal(Signal::SIGTERM).unwrap();
        assert_eq!(process.wait().unwrap().code(), Some(0));
    }
    fs::write(&file, "").unwrap();
    let (code, text) = edge(&bed, &["--wan", "wan", "--undo"]);
    assert!(
        code == Some(0) && text.contains("nothing to undo"),
        "{text}"
    );

    let Some(mut killed) = start(&bed, "") else {
        return;
    };
    killed.signal(Signal::SIGKILL).unwrap();
    killed.wait().unwrap();
    fs::write(&file, "").unwrap();
    for arguments in [&ARGUMENTS[..], &["--wan", "wan", "--undo"]] {
        let (code, text) = edge(&bed, arguments);
        let remedy = format!("ip link del airpace-br && rm {}", file.display());
        assert!(code == Some(1) && text.contains(&remedy), "{text}");
    }
    run(&bed, "ip link del airpace-br");
    fs::remove_file(&file).unwrap();
    let Some(mut process) = start(&bed, "") else {
        return;
    };
    process.signal(Signal::SIGTERM).unwrap();
    process.wait().unwrap();
    fs::remove_file(file.with_extension("json.unusable")).unwrap();
}

#[test]
fn two_boxes_in_one_namespace_do_not_share_a_bridge() {
    let Some(bed) = testbed(1, 1500) else { return };
    let Some(mut first) = start(&bed, "") else {
        return;
    };
    let second = SecondBox::start(&bed, "wan2", "ap9");
    assert!(links(&bed).contains("airpace-br1"), "{}", links(&bed));
    second.end();
    assert!(!links(&bed).contains("airpace-br1"));
    bed.ask(&EdgeRequest::Status).unwrap();
    first.signal(Signal::SIGTERM).unwrap();
    assert_eq!(first.wait().unwrap().code(), Some(0));
    assert!(!links(&bed).contains("airpace-br"), "{}", links(&bed));
}

#[test]
fn what_a_killed_box_has_left_goes_with_its_ports() {
    let Some(bed) = testbed(1, 1500) else { return };
    let Some(mut killed) = start(&bed, "") else {
        return;
    };
    killed.signal(Signal::SIGKILL).unwrap();
    killed.wait().unwrap();
    let file = own_file(&bed, "wan", "json");
    assert!(file.exists());
    run(&bed, "ip link del wan");
    let second = SecondBox::start(&bed, "wan2", "ap9");
    assert!(file.exists(), "one of its ports is still there");
    second.end();
    run(&bed, "ip link del ap0");
    let third = SecondBox::start(&bed, "wan3", "ap8");
    assert!(!file.exists());
    third.end();
    assert!(!links(&bed).contains("airpace-br"), "{}", links(&bed));
}

#[test]
fn connections_that_nobody_uses_do_not_lock_the_operator_out() {
    let Some(bed) = testbed(1, 1500) else { return };
    let Some(_process) = start(&bed, "") else {
        return;
    };
    let path = own_file(&bed, "wan", "sock");
    let mut idle = Vec::new();
    for _ in 0..40 {
        idle.push(UnixStream::connect(&path).unwrap());
        bed.ask(&EdgeRequest::Status).unwrap();
    }
    assert_eq!(edge(&bed, &["status"]).0, Some(0));
}

#[test]
fn pipes_and_folders_under_the_names_of_files_are_refused_and_stop_nothing() {
    let Some(bed) = testbed(1, 1500) else { return };
    let folder = std::env::temp_dir().join(format!("airpace-pipes-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let pipe = folder.join("pipe");
    mkfifo(&pipe, Mode::S_IRWXU).unwrap();
    for path in [&pipe, &folder] {
        let path = path.to_str().unwrap();
        let (code, text) = edge(&bed, &["--config", path]);
        assert!(code == Some(2) && text.contains(path), "{text}");
        let telemetry = [&ARGUMENTS[..], &["--telemetry", path]].concat();
        let (code, text) = edge(&bed, &telemetry);
        assert!(code == Some(1) && text.contains(path), "{text}");
        assert!(!links(&bed).contains("airpace-br"));
    }
    let Some(process) = start(&bed, "") else {
        return;
    };
    let config = process.config();
    fs::remove_file(&config).unwrap();
    mkfifo(&config, Mode::S_IRWXU).unwrap();
    let (code, text) = edge(&bed, &["reload"]);
    assert!(code == Some(1) && text.contains("a pipe"), "{text}");
    fs::remove_file(&config).unwrap();
    let settings = format!("{NATIVE}telemetry = \"{}\"\n", pipe.display());
    fs::write(&config, bed.configuration(&settings)).unwrap();
    let (code, text) = edge(&bed, &["reload"]);
    assert!(code == Some(1) && text.contains("a pipe"), "{text}");
    bed.ask(&EdgeRequest::Status).unwrap();
    fs::remove_dir_all(&folder).unwrap();
}
