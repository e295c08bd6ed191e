//! What other runs and operators leave behind: files that cannot be used, ports that are gone, other
//! boxes, connections that nobody uses, pipes under the names of files.

use super::{
    NATIVE, airpace, edge, eventually, own_file, program, snapshot, start, start_and_kill, testbed,
};
use airpace_api::operator::EdgeRequest;
use airpace_lab::bench::edge::EdgeTestbed;
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};
use serde_json::Value;
use std::fs;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
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

    let Some(_killed) = start_and_kill(&bed) else {
        return;
    };
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
fn ports_that_are_in_a_bridge_stay_there_and_those_of_which_some_are_in_one_are_refused() {
    let Some(bed) = testbed(1, 1500) else { return };
    run(&bed, "ip link add br0 type bridge");
    run(&bed, "ip link set br0 up");
    run(&bed, "ip address add 10.99.0.1/24 dev br0");
    run(&bed, "ip link set wan master br0");
    let (code, text) = edge(&bed, &ARGUMENTS);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("ip link set wan nomaster"), "{text}");
    run(&bed, "ip link set ap0 master br0");
    let before = snapshot(&bed);
    let Some(mut process) = start(&bed, "") else {
        return;
    };
    let during = links(&bed);
    assert!(!during.contains("airpace-br"), "{during}");
    assert_eq!(during.matches("master br0").count(), 2, "{during}");
    assert!(process.log().contains("stay there"), "{}", process.log());
    process.signal(Signal::SIGTERM).unwrap();
    assert!(process.wait().unwrap().success());
    assert_eq!(snapshot(&bed), before);
}

#[test]
fn what_a_killed_box_has_left_goes_with_its_ports() {
    let Some(bed) = testbed(1, 1500) else { return };
    let Some(_killed) = start_and_kill(&bed) else {
        return;
    };
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

#[test]
fn a_wrong_wan_port_is_answered_with_those_of_the_boxes_that_run() {
    let Some(bed) = testbed(1, 1500) else { return };
    let Some(_first) = start(&bed, "") else {
        return;
    };
    let station = "02:00:00:00:01:00";
    let requests: [&[&str]; 5] = [
        &["status", "--wan", "eth7"],
        &["edge", "status", "--wan", "eth7"],
        &["edge", "reload", "--wan", "eth7"],
        &["edge", "exempt", station, "--wan", "eth7"],
        &["edge", "aim", "balanced", "--wan", "eth7"],
    ];
    for request in requests {
        let (code, text) = airpace(&bed, request);
        assert_eq!(code, Some(1), "{text}");
        for words in ["with the wan port eth7", "use --wan wan"] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(!text.contains("os error"), "{text}");
    }
    let second = SecondBox::start(&bed, "wan2", "ap9");
    let (code, text) = airpace(&bed, &["status", "--wan", "eth7"]);
    let choice = "--wan wan or --wan wan2";
    assert!(code == Some(1) && text.contains(choice), "{text}");
    let (code, text) = airpace(&bed, &["status"]);
    assert!(code == Some(1) && text.contains(choice), "{text}");
    second.end();
}

#[test]
fn after_a_kill_the_status_says_where_traffic_passes_and_how_to_go_on() {
    let Some(bed) = testbed(1, 1500) else { return };
    let Some(_killed) = start_and_kill(&bed) else {
        return;
    };
    for request in [&["status"][..], &["status", "--wan", "wan"]] {
        let (code, text) = airpace(&bed, request);
        assert_eq!(code, Some(1), "{text}");
        for words in [
            "airpace edge on wan is gone",
            "passes in its bridge airpace-br, unpaced",
            "Start it again",
            "`airpace edge --wan wan --undo`",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
    run(&bed, "ip link set ap0 nomaster");
    let (_, text) = airpace(&bed, &["status"]);
    assert!(text.contains("no longer as it was"), "{text}");
    // It is the only one, so that its port need not be named.
    let (code, text) = edge(&bed, &["--undo"]);
    assert!(code == Some(0) && text.contains("restored"), "{text}");
    let (code, text) = edge(&bed, &["--undo"]);
    assert!(
        code == Some(0) && text.contains("nothing to undo"),
        "{text}"
    );
    let (_, text) = airpace(&bed, &["status"]);
    assert!(text.contains("no airpace edge runs"), "{text}");
}

#[test]
fn files_of_namespaces_that_are_gone_are_removed_and_no_others() {
    if airpace_net::netns::in_use().is_none() {
        eprintln!("SKIPPED, NOTHING WAS TESTED: not all processes can be seen");
        return;
    }
    let Some(bed) = testbed(1, 1500) else { return };
    let Some(mut living) = start(&bed, "") else {
        return;
    };
    let folder = Path::new("/run/airpace");
    // No network namespace has this number, and each test run has ports of its own.
    let own = |ending: &str| folder.join(format!("edge-1-t{}.{ending}", std::process::id()));
    let content = fs::read(own_file(&bed, "wan", "json")).unwrap();
    let fill = || {
        fs::write(own("json"), &content).unwrap();
        fs::write(own("json.new"), "{").unwrap();
        let _ = fs::remove_file(own("sock"));
        drop(UnixListener::bind(own("sock")).unwrap());
    };
    let foreign = own("txt");
    fs::write(&foreign, "").unwrap();
    let unusable = folder.join(format!("edge-1-u{}.json", std::process::id()));
    fs::write(&unusable, "not what a box writes").unwrap();
    let answered = folder.join(format!("edge-1-v{}.sock", std::process::id()));
    let _ = fs::remove_file(&answered);
    let listener = UnixListener::bind(&answered).unwrap();
    let is_clean = || {
        ["json", "json.new", "sock"]
            .iter()
            .all(|end| !own(end).exists())
    };

    let Some(other) = testbed(1, 1500) else {
        return;
    };
    fill();
    let Some(mut process) = start(&other, "") else {
        return;
    };
    assert!(is_clean(), "a start removes them");
    process.signal(Signal::SIGTERM).unwrap();
    process.wait().unwrap();
    fill();
    assert_eq!(edge(&other, &["--wan", "wan", "--undo"]).0, Some(0));
    assert!(is_clean(), "so does --undo");

    for kept in [&foreign, &unusable, &answered] {
        assert!(kept.exists(), "{}", kept.display());
        fs::remove_file(kept).unwrap();
    }
    drop(listener);
    bed.ask(&EdgeRequest::Status).unwrap();
    assert!(own_file(&bed, "wan", "json").exists());
    living.signal(Signal::SIGTERM).unwrap();
    assert_eq!(living.wait().unwrap().code(), Some(0));
}

#[test]
fn a_socket_without_a_box_goes_when_another_box_starts() {
    let Some(bed) = testbed(1, 1500) else { return };
    let dead = own_file(&bed, "eth7", "sock");
    fs::create_dir_all("/run/airpace").unwrap();
    drop(UnixListener::bind(&dead).unwrap());
    let started = start(&bed, "");
    assert!(!dead.exists() || started.is_none());
    let _ = fs::remove_file(&dead);
}

#[test]
fn a_file_of_an_earlier_namespace_with_the_same_number_is_not_taken_for_ones_own() {
    let Some(bed) = testbed(1, 1500) else { return };
    let Some(mut process) = start(&bed, "") else {
        return;
    };
    let file = own_file(&bed, "wan", "json");
    let mut state: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    process.signal(Signal::SIGTERM).unwrap();
    process.wait().unwrap();
    let Some(cookie) = state["namespace_cookie"].as_u64() else {
        eprintln!("SKIPPED, NOTHING WAS TESTED: the kernel tells no cookie");
        return;
    };
    state["namespace_cookie"] = (cookie + 1).into();
    // Restoring this would take the port down.
    state["ports"][0]["was_up"] = false.into();
    fs::write(&file, state.to_string()).unwrap();
    let (_, text) = airpace(&bed, &["status"]);
    assert!(text.contains("no airpace edge runs"), "{text}");
    let (code, text) = edge(&bed, &["--wan", "wan", "--undo"]);
    assert!(
        code == Some(0) && text.contains("nothing to undo"),
        "{text}"
    );
    assert!(!file.exists());
    assert!(links(&bed).contains("wan"), "{}", links(&bed));
}
