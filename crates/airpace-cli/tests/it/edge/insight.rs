//! What an operator sees of a running box: limits and their reasons, events, the aim, and who may ask.

use super::{NATIVE, airpace, edge, eventually, own_file, program, start, testbed, traffic};
use crate::shared::folder;
use airpace_lab::bench::edge::EdgeTestbed;
use airpace_net::tun::{Tun, TunConfig};
use nix::sys::signal::Signal;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Link type of a monitor interface with radiotap headers (`linux/if_arp.h`).
const ARPHRD_IEEE80211_RADIOTAP: u16 = 803;

const LIMITS: [&str; 10] = [
    "sender",
    "fair-share",
    "slow-station",
    "backhaul",
    "contention",
    "no-sensor",
    "sensor-lost",
    "exempt",
    "passing",
    "idle",
];

fn status(bed: &EdgeTestbed) -> Value {
    let (code, text) = airpace(bed, &["status", "--json"]);
    assert_eq!(code, Some(0), "{text}");
    serde_json::from_str(&text).unwrap()
}

fn kinds(status: &Value) -> Vec<String> {
    let events = status["events"].as_array().unwrap().iter();
    events
        .map(|event| event["kind"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn the_status_says_what_limits_each_station_and_what_has_happened() {
    let Some(bed) = testbed(2, 1500) else { return };
    let Some(_process) = start(&bed, "") else {
        return;
    };
    drop(traffic(&bed));
    let of_first = |status: &Value| status["aps"][0]["stations"][0].clone();
    let shown = status(&bed);
    assert_eq!(shown["aps"][0]["name"], "ap0");
    let station = of_first(&shown);
    let (mac, name) = (&station["mac"], &station["name"]);
    assert_eq!((mac, mac), (name, &Value::from("02:00:00:00:01:00")));
    let limit = station["limited_by"].as_str().unwrap();
    assert!(LIMITS.contains(&limit), "{station}");
    assert!(!station["reason"].as_str().unwrap().is_empty());
    for key in ["goodput_mbps", "rate_mbps", "share", "level", "wait_p95_ms"] {
        assert!(station.get(key).is_some(), "{key}: {station}");
    }
    eventually("without traffic the station is idle", || {
        of_first(&status(&bed))["limited_by"] == "idle"
    });
    let (code, text) = edge(&bed, &["exempt", "nobody"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("no station is called nobody"), "{text}");
    edge(&bed, &["exempt", "02:00:00:00:01:00"]);
    let shown = status(&bed);
    let station = of_first(&shown);
    assert_eq!(station["limited_by"], "exempt", "{station}");
    let kinds = kinds(&shown);
    for kind in ["began", "station-joined", "exempted"] {
        assert!(kinds.iter().any(|known| known == kind), "{kind}: {kinds:?}");
    }
    let (code, text) = airpace(&bed, &["status"]);
    assert_eq!(code, Some(0), "{text}");
    for words in ["limited by", "02:00:00:00:01:00: exempt", "station-joined"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

/// A box with a radio. Dropping it kills it.
struct WithRadio(Child);

impl WithRadio {
    fn start(bed: &EdgeTestbed, folder: &Path) -> Self {
        // The last table of the configuration is that of the access point.
        let config = bed.configuration(NATIVE) + "radio = \"air0\"\n";
        let file = folder.join("edge.toml");
        fs::write(&file, config).unwrap();
        let mut command = Command::new(program());
        command.args(["edge", "--config"]).arg(&file);
        command.stderr(Stdio::null());
        let process = Self(bed.middle.spawn(command).unwrap());
        eventually("the box with a radio runs", || {
            airpace(bed, &["status"]).0 == Some(0)
        });
        process
    }
}

impl Drop for WithRadio {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_radio_that_goes_down_or_away_is_named_with_the_remedy() {
    let Some(bed) = testbed(1, 1500) else { return };
    // Shows whether this kernel runs XDP programs.
    let Some(mut plain) = start(&bed, "") else {
        return;
    };
    plain.signal(Signal::SIGTERM).unwrap();
    plain.wait().unwrap();
    let monitor = TunConfig::link("air0").with_link_type(ARPHRD_IEEE80211_RADIOTAP);
    let radio = bed.middle.run(|| Tun::open(&monitor)).unwrap().unwrap();
    let mut link = bed.middle.netlink().unwrap();
    link.set_up("air0").unwrap();
    let folder = folder("edge-radio");
    let _process = WithRadio::start(&bed, folder.path());
    let reason = || {
        // Traffic keeps the station known.
        drop(traffic(&bed));
        let shown = status(&bed);
        assert_eq!(shown["aps"][0]["air_of_others"], Value::Null);
        let reason = &shown["aps"][0]["stations"][0]["reason"];
        reason.as_str().unwrap().to_owned()
    };
    assert!(!reason().contains("near the access point has been"));
    link.set_down("air0").unwrap();
    eventually("the radio is down", || {
        reason().contains("(ip link set air0 up)")
    });
    link.set_up("air0").unwrap();
    eventually("the radio is back", || {
        !reason().contains("ip link set air0")
    });
    drop(radio);
    eventually("the radio is missing", || {
        reason().contains("the radio air0 near the access point has been missing")
    });
    let kinds = kinds(&status(&bed));
    for kind in ["radio-lost", "radio-returned"] {
        assert!(kinds.iter().any(|known| known == kind), "{kind}: {kinds:?}");
    }
}

#[test]
fn another_aim_holds_until_the_configuration_is_reloaded() {
    let Some(bed) = testbed(1, 1500) else { return };
    let Some(_process) = start(&bed, "") else {
        return;
    };
    assert_eq!(status(&bed)["aim"], "balanced");
    let (code, text) = edge(&bed, &["aim", "10 ms"]);
    assert!(code == Some(0) && text.contains("within 10 ms"), "{text}");
    assert_eq!(status(&bed)["aim"], "95 of 100 packets within 10 ms");
    let (code, text) = edge(&bed, &["aim", "low-latency", "--wan", "wan"]);
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = edge(&bed, &["aim", "fast"]);
    assert!(code == Some(2) && text.contains("low-latency"), "{text}");
    assert_eq!(status(&bed)["aim"], "low-latency", "the old aim stays");
    let (code, text) = edge(&bed, &["reload"]);
    assert_eq!(code, Some(0), "{text}");
    let shown = status(&bed);
    assert_eq!(shown["aim"], "balanced");
    assert_eq!(
        kinds(&shown),
        ["began", "aim-changed", "aim-changed", "reloaded"]
    );
}

#[test]
fn a_law_without_an_aim_refuses_one() {
    let Some(bed) = testbed(1, 1500) else { return };
    let fixed = "[control]\nlaw = \"fixed\"\nfixed_rate = \"400 Mbit/s\"\n";
    let Some(_process) = start(&bed, fixed) else {
        return;
    };
    let (code, text) = edge(&bed, &["aim", "balanced"]);
    assert!(
        code == Some(1) && text.contains("law `fixed` has no aim"),
        "{text}"
    );
}

#[test]
fn only_root_and_its_group_may_ask() {
    let Some(bed) = testbed(1, 1500) else { return };
    let Some(_process) = start(&bed, "") else {
        return;
    };
    let socket = fs::metadata(own_file(&bed, "wan", "sock")).unwrap();
    assert_eq!(socket.permissions().mode() & 0o777, 0o660);
    let owner = fs::metadata("/proc/self").unwrap();
    assert_eq!((socket.uid(), socket.gid()), (owner.uid(), owner.gid()));
}

#[test]
fn a_dashboard_needs_a_terminal_and_a_status_a_box() {
    let Some(bed) = testbed(1, 1500) else { return };
    let (code, text) = airpace(&bed, &["status", "--watch"]);
    assert!(
        code == Some(2) && text.contains("needs a terminal"),
        "{text}"
    );
    let (code, text) = airpace(&bed, &["status", "--watch", "--json"]);
    assert_eq!(code, Some(2), "{text}");
    let (code, text) = airpace(&bed, &["status"]);
    assert!(
        code == Some(1) && text.contains("no airpace edge runs"),
        "{text}"
    );
}
