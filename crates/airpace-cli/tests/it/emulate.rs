//! `airpace emulate`.

use crate::shared::{Run, airpace_words, assert_refused, folder};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Runs `airpace emulate` with these arguments; `None`, loudly, where the system allows no
/// namespaces or no TUN.
fn emulate(words: &[&str]) -> Option<Run> {
    let run = airpace_words(&[&["emulate"], words].concat());
    let denied = [
        "Operation not permitted",
        "Permission denied",
        "/dev/net/tun",
        "user namespace",
    ];
    if run.code == Some(1) && denied.iter().any(|text| run.stderr.contains(text)) {
        eprintln!(
            "SKIPPED: this system allows no namespaces or no TUN: {}",
            run.stderr
        );
        return None;
    }
    Some(run)
}

#[test]
fn a_command_finds_the_stations_and_its_exit_code_comes_through() {
    let script = "test $AIRPACE_SERVER = 10.77.0.1 || exit 3; set -- $AIRPACE_STATION_IPS; test $# = 2 || exit 4; \
                  nsenter --net=$AIRPACE_NS_STA1 cat /proc/net/dev | grep -q mon0 || exit 5; echo done; exit 7";
    let Some(run) = emulate(&[
        "--stations",
        "2",
        "--mcs",
        "9,4",
        "--nss",
        "1",
        "--",
        "sh",
        "-c",
        script,
    ]) else {
        return;
    };
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(7), "done\n"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_command_finds_the_box_between_the_wired_side_and_the_access_point() {
    let script = "test $AIRPACE_LAN_PORT = lan0 && test $AIRPACE_AP_PORT = ap1 || exit 3; \
                  test \"$AIRPACE_STATION_MACS\" = '02:77:00:00:01:00 02:77:00:00:01:01' || exit 4; \
                  nsenter --net=$AIRPACE_NS_BOX cat /proc/net/dev >/tmp/box.$$; \
                  for name in lan0 ap1 ap2 br0 air7 air8; do grep -q $name: /tmp/box.$$ || exit 5; done; \
                  rm /tmp/box.$$; exit 7";
    let words = "--layer ethernet --stations 2 --cells 2 --ap-port ap1 --air air7 --air-loss 0.5 --rts 3000";
    let mut words: Vec<&str> = words.split(' ').collect();
    words.extend(["--", "sh", "-c", script]);
    let Some(run) = emulate(&words) else { return };
    assert_eq!(run.code, Some(7), "{}", run.stderr);
}

#[test]
fn access_points_share_a_channel_and_a_third_radio_hears_by_its_signal_to_noise_ratio() {
    let words =
        "--layer ethernet --stations 3 --cells 3 --channel 36,36,44 --air --air-snr 12,30,25";
    let mut words: Vec<&str> = words.split(' ').collect();
    let script =
        "nsenter --net=$AIRPACE_NS_BOX cat /proc/net/dev | grep -q air2: || exit 5; exit 7";
    words.extend(["--", "sh", "-c", script]);
    let Some(run) = emulate(&words) else { return };
    assert_eq!(run.code, Some(7), "{}", run.stderr);
}

#[test]
fn impossible_channels_and_ratios_are_refused() {
    let cell = "emulate --layer ethernet --stations 3 --cells 3";
    assert_refused(
        &format!("{cell} --channel 1,2 -- true"),
        "--channel has 2 values for 3 access points",
    );
    assert_refused(
        &format!("{cell} --air --air-snr 1,2 -- true"),
        "--air-snr has 2 values for 3 stations",
    );
    assert_refused(&format!("{cell} --air --air-snr nan -- true"), "finite");
    assert_refused(&format!("{cell} --air-snr 9 -- true"), "--air");
    assert_refused(
        &format!("{cell} --air --air-snr 9 --air-loss 0.1 -- true"),
        "cannot be used with",
    );
}

#[test]
fn options_of_layer_2_are_refused_in_a_cell_of_ip_packets() {
    for options in [
        "--no-bridge",
        "--air",
        "--ap-port eth1",
        "--box /run/netns/x",
        "--cells 2",
        "--cells 1 --channel 36",
    ] {
        assert_refused(&format!("emulate {options} -- true"), "--layer ethernet");
    }
}

#[test]
fn the_report_says_what_went_over_the_air() {
    let folder = folder("emulate");
    let path = folder.path().join("run.json");
    let send =
        "nsenter --net=$AIRPACE_NS_STA0 bash -c 'exec 3<>/dev/udp/10.77.0.1/9; echo hello >&3'";
    let words = ["--report", path.to_str().unwrap(), "--", "bash", "-c", send];
    let Some(run) = emulate(&words) else { return };
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let report: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(report["stations"].as_array().unwrap().len(), 1);
    assert!(report["lag"]["p99_ms"].is_number());
    assert!(run.stderr.contains("station 0:"), "{}", run.stderr);
}

#[test]
fn every_scheme_carries_packets_and_is_named() {
    let folder = folder("emulate-schemes");
    let send = "for i in $(seq 50); do echo $i >/dev/udp/10.77.0.10/9; echo $i >/dev/udp/10.77.0.12/9; done; sleep 0.3";
    for scheme in [
        "fifo",
        "codel",
        "fq-codel",
        "fq-mac",
        "airtime",
        "wqm",
        "wqm-fq",
        "per-station",
    ] {
        let path = folder.path().join(format!("{scheme}.json"));
        let cell = [
            "--standard",
            "ht",
            "--width",
            "20",
            "--gi",
            "400",
            "--mcs",
            "15,15,0",
            "--nss",
            "2,2,1",
        ];
        let rest = [
            "--ap",
            scheme,
            "--qos",
            "--max-duration",
            "4 ms",
            "--report",
            path.to_str().unwrap(),
        ];
        let command = ["--", "bash", "-c", send];
        let Some(run) = emulate(&[&cell[..], &rest[..], &command[..]].concat()) else {
            return;
        };
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let report: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(report["access_point"], scheme);
        for station in [0, 2] {
            let totals = &report["stations"][station]["down"];
            assert_eq!(totals["packets"], 50, "{scheme}: {totals}");
            assert_eq!(totals["drops"]["full"], 0, "{scheme}");
        }
        assert!(
            report["stations"][2]["airtime"].as_f64() > report["stations"][0]["airtime"].as_f64(),
            "{scheme}"
        );
        let jain = report["jain_airtime"].as_f64().unwrap();
        assert!(jain > 0.3 && jain < 1.0, "{scheme}: {jain}");
        assert!(
            run.stderr
                .contains(&format!("access point {scheme}: Jain index")),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn a_command_that_does_not_exist_is_named() {
    let Some(run) = emulate(&["--", "no-such-program"]) else {
        return;
    };
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr.contains("cannot run no-such-program"),
        "{}",
        run.stderr
    );
}

#[test]
fn impossible_cells_are_refused() {
    assert_refused(
        "emulate --stations 3 --mcs 9,4 -- true",
        "--mcs has 2 values for 3 stations",
    );
    assert_refused("emulate --stations 0 -- true", "at least one station");
    assert_refused("emulate --stations 100000 -- true", "at most");
    assert_refused("emulate --stations 9999999999999999 -- true", "at most");
    assert_refused(
        "emulate --report /nonexistent/report.json -- true",
        "cannot write",
    );
    assert_refused("emulate --mcs 12 -- true", "MCS 0 to 9");
    let ports = "emulate --layer ethernet --ap-port";
    assert_refused(&format!("{ports} a/b -- true"), "name of an interface");
    assert_refused(&format!("{ports} lan0 -- true"), "a name of its own");
    assert_refused("emulate --mcs 9 --width 20 -- true", "choose another --mcs");
    assert_refused("emulate --loss 1 -- true", "below 1");
    assert_refused("emulate --loss NaN -- true", "finite");
    assert_refused("emulate --loss -1 -- true", "0 or more");
    assert_refused("emulate --wired-delay 20 -- true", "no unit");
    assert_refused("emulate --ap-buffer 0 -- true", "queue limit");
    assert_refused("emulate --ap bufferbloat -- true", "fq-codel");
    assert_refused(
        "emulate --ap airtime --ap-buffer 9 -- true",
        "--ap-buffer needs --ap per-station",
    );
    assert_refused(
        "emulate --ap fifo --aql -- true",
        "--aql needs --ap fq-mac or airtime",
    );
    assert_refused(
        "emulate --ap fq-mac --mcs 9,9 --airtime-weight 512,256 -- true",
        "--airtime-weight needs --ap airtime",
    );
    assert_refused(
        "emulate --ap airtime --airtime-weight 0 -- true",
        "--airtime-weight",
    );
    assert_refused(
        "emulate --ap airtime --stations 3 --airtime-weight 1,2 -- true",
        "--airtime-weight has 2 values",
    );
    assert_refused("emulate --max-duration 4 -- true", "no unit");
    assert_refused("emulate --max-duration 0s -- true", "at most 5.484 ms");
    assert_refused("emulate --max-duration 6ms -- true", "at most 5.484 ms");
    assert_refused("emulate --hardware-queue 65 -- true", "--hardware-queue");
}

/// Whether a process runs whose command line contains this word.
fn runs(word: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.into_iter().any(|process| {
        // Empty for processes that have ended, and unreadable for those that are gone.
        let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(word)
    })
}

/// Waits until it is true, for up to ten seconds.
#[expect(
    clippy::disallowed_methods,
    reason = "real processes take real time to begin and to end"
)]
fn eventually(is_true: impl Fn() -> bool) -> bool {
    let begin = Instant::now();
    while !is_true() {
        if begin.elapsed() > Duration::from_secs(10) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

/// The program, which ends after SIGHUP also if the tests run under `nohup`, as it else would not.
fn heeding_hangups() -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP", env!("CARGO_BIN_EXE_airpace")]);
    command
}

#[test]
#[expect(clippy::disallowed_methods, reason = "real processes end in real time")]
fn nothing_is_left_however_the_emulator_ends() {
    let signals = [
        Signal::SIGINT,
        Signal::SIGTERM,
        Signal::SIGHUP,
        Signal::SIGKILL,
    ];
    if emulate(&["--", "true"]).is_none() {
        return;
    }
    for signal in signals {
        // No other process has such an argument.
        let mark = format!("1000.{}{}", std::process::id(), signal as i32);
        // A daemon, and a process that does not heed the gentle signals.
        let script =
            format!("setsid sleep {mark} & trap '' INT TERM HUP; sleep {mark}; sleep {mark}");
        let mut command = heeding_hangups();
        command.args(["emulate", "--stations", "2", "--", "sh", "-c", &script]);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut emulator = command.spawn().unwrap();
        let is_asleep = || runs(&format!("sleep\0{mark}"));
        assert!(eventually(is_asleep), "{signal}: the command has not begun");
        kill(Pid::from_raw(emulator.id().cast_signed()), signal).unwrap();
        let begin = Instant::now();
        emulator.wait().unwrap();
        let took = begin.elapsed();
        assert!(eventually(|| !runs(&mark)), "{signal}: processes are left");
        eprintln!("{signal}: ended after {took:?}");
        assert!(took < Duration::from_secs(10), "{signal}: {took:?}");
    }
}

#[test]
fn the_report_is_written_however_a_signal_ends_the_run() {
    if emulate(&["--", "true"]).is_none() {
        return;
    }
    let folder = folder("hangup");
    for signal in [Signal::SIGHUP, Signal::SIGTERM, Signal::SIGINT] {
        let path = folder.path().join(format!("{signal}.json"));
        let mark = format!("1000.{}77{}", std::process::id(), signal as i32);
        let mut emulator = heeding_hangups()
            .args(["emulate", "--report", path.to_str().unwrap()])
            .args(["--", "sh", "-c", &format!("exec sleep {mark}")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let is_asleep = || runs(&format!("sleep\0{mark}"));
        assert!(eventually(is_asleep), "{signal}: the command has not begun");
        kill(Pid::from_raw(emulator.id().cast_signed()), signal).unwrap();
        emulator.wait().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let report: Value = serde_json::from_str(&text).expect("a whole report");
        assert_eq!(report["stations"].as_array().unwrap().len(), 1, "{signal}");
        assert!(report["duration_s"].as_f64().unwrap() > 0.0, "{signal}");
    }
}

#[test]
fn a_run_that_fails_leaves_an_older_report_alone_and_no_empty_one() {
    let folder = folder("older");
    let (old, new) = (
        folder.path().join("old.json"),
        folder.path().join("new.json"),
    );
    std::fs::write(&old, "{}").unwrap();
    for path in [&old, &new] {
        let words = ["--report", path.to_str().unwrap(), "--", "no-such-program"];
        if emulate(&words).is_none() {
            return;
        }
    }
    assert_eq!(std::fs::read_to_string(&old).unwrap(), "{}");
    assert!(!new.exists());
}
