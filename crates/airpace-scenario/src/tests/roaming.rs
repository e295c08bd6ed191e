//! Stations that go from one access point to another.

use super::*;
use airpace_sim::world::World;
use airpace_units::Time;

/// Two access points 60 m apart on channels of their own, and a station that walks from one to the
/// other within six seconds.
const WALK: &str = "\
warm_up = \"1 s\"
duration = \"9 s\"
[[channel]]
name = \"low\"
[[channel]]
name = \"high\"
[[node]]
name = \"server\"
kind = \"host\"
[[node]]
name = \"west\"
kind = \"ap\"
channel = \"low\"
position = [\"0 m\", \"0 m\"]
[[node]]
name = \"east\"
kind = \"ap\"
channel = \"high\"
position = [\"60 m\", \"0 m\"]
[[node]]
name = \"walker\"
kind = \"station\"
ap = \"west\"
position = [\"3 m\", \"2 m\"]
rate = { adaptation = \"ideal\" }
roam = { to = [\"east\"], scan_interval = \"1 s\" }
[[wire]]
a = \"server\"
b = \"west\"
delay = \"5 ms\"
[[wire]]
a = \"server\"
b = \"east\"
delay = \"5 ms\"
[[change]]
at = \"1 s\"
node = \"walker\"
position = [\"57 m\", \"2 m\"]
walk = \"6 s\"
";

const DOWNLOAD: &str = "\
[[flow]]
name = \"load\"
kind = \"tcp\"
from = \"server\"
to = \"walker\"
";

/// Only the time after the walk is measured.
const AFTERWARDS: [&str; 2] = ["warm_up=7.5 s", "duration=2.5 s"];

fn with(text: &str, settings: &[&str]) -> Finished {
    finished(&loaded(text, settings))
}

#[test]
fn a_download_survives_the_way_from_one_access_point_to_another() {
    let two_channels = format!("{WALK}{DOWNLOAD}");
    let one_channel = two_channels.replace("[[channel]]\nname = \"high\"\n", "");
    let one_channel = one_channel.replace("\"high\"", "\"low\"");
    for text in [two_channels, one_channel] {
        let summary = with(&text, &AFTERWARDS).summary;
        let [hand_over] = &summary.hand_overs[..] else {
            panic!("{:?}", summary.hand_overs);
        };
        assert_eq!((&*hand_over.from, &*hand_over.to), ("west", "east"));
        // Authentication and association, two frames each way, and acknowledgements.
        let interruption_ms = hand_over.interruption_ms;
        assert!((0.3..50.0).contains(&interruption_ms), "{interruption_ms}");
        let goodput_mbps = summary.flows[0].goodput_mbps;
        assert!(goodput_mbps > 100.0, "{goodput_mbps}");
        let stays = [&AFTERWARDS[..], &["node.walker.roam.to=[]"]].concat();
        let stays = with(&text, &stays).summary;
        assert!(stays.hand_overs.is_empty());
        assert!(stays.flows[0].goodput_mbps < 0.1, "{:?}", stays.flows[0]);
    }
}

#[test]
fn uploads_and_pings_survive_it_too_and_nothing_is_lost_uncounted() {
    let text = format!(
        "{WALK}{DOWNLOAD}{}",
        "[[flow]]\nname = \"up\"\nkind = \"tcp\"\nfrom = \"walker\"\nto = \"server\"\n\
         [[flow]]\nkind = \"ping\"\nfrom = \"server\"\nto = \"walker\"\ninterval = \"20 ms\"\n"
    );
    for scheme in ["per-station", "fifo", "fq-codel", "fq-mac", "airtime"] {
        let setting = format!("node.west.queue.scheme={scheme}");
        let resolved = loaded(&text, &[&setting]).resolve().unwrap();
        let mut world = World::new(resolved.world).unwrap();
        for step in 1..=100 {
            world.run_until(Time::from_millis(100 * step));
            let totals = world.totals();
            let held = totals.held + totals.reports_held;
            assert_eq!(world.count_held(), held, "{scheme} {step}");
        }
        let outcome = world.outcome();
        assert_eq!(outcome.hand_overs.len(), 1, "{scheme}");
        let pings = &outcome.flows[2].counts;
        let lost = pings.forward.lost.total() + pings.backward.lost.total();
        assert!(
            lost < 30 && pings.backward.received > 400,
            "{scheme} {lost}"
        );
    }
}

#[test]
fn hysteresis_and_the_least_time_keep_a_station_from_going_to_and_fro() {
    let mut text = format!(
        "{}{}",
        WALK.split("[[change]]").next().unwrap(),
        "[[flow]]\nkind = \"udp-cbr\"\nrate = \"1 Mbit/s\"\nfrom = \"server\"\nto = \"walker\"\n"
    );
    // A step to one side and to the other of the middle, twice a second.
    for step in 0..18 {
        let x = if step % 2 == 0 { 33 } else { 27 };
        let at = 500 + 500 * step;
        text += &format!(
            "[[change]]\nat = \"{at} ms\"\nnode = \"walker\"\nposition = [\"{x} m\", \"0 m\"]\n"
        );
    }
    let count = |settings: &[&str]| with(&text, settings).summary.hand_overs.len();
    let eager = [
        "node.walker.roam.better_by=1 dB",
        "node.walker.roam.scan_interval=100 ms",
    ];
    assert_eq!(count(&[]), 0);
    let flaps = count(&eager);
    assert!(flaps >= 8, "{flaps}");
    let rested = count(&[eager[0]]);
    assert!((1..=9).contains(&rested) && rested < flaps, "{rested}");
}

#[test]
fn a_station_whose_access_point_is_gone_finds_another_one() {
    let text = format!("{WALK}{DOWNLOAD}").replace("walk = \"6 s\"\n", "");
    let leap = ["warm_up=4 s", "duration=2 s"];
    let summary = with(&text, &leap).summary;
    assert_eq!(summary.hand_overs.len(), 1);
    // Seven beacons are missed, and two channels are searched.
    let found = summary.hand_overs[0].at_s - 1.0;
    assert!((0.6..1.2).contains(&found), "{found}");
    assert!(summary.flows[0].goodput_mbps > 100.0);
}

#[test]
fn scans_of_other_channels_cost_no_packets() {
    // It stays where its access point is weak and the other one is not better.
    let text = format!(
        "{}{}",
        WALK.split("[[change]]").next().unwrap(),
        "[[flow]]\nkind = \"udp-cbr\"\nrate = \"5 Mbit/s\"\nfrom = \"server\"\nto = \"walker\"\n"
    );
    let settings = ["node.walker.position=['28 m', '0 m']"];
    let summary = with(&text, &settings).summary;
    assert!(summary.hand_overs.is_empty());
    let flow = &summary.flows[0];
    assert_eq!(flow.dropped_packets(), 0, "{flow:?}");
    // Packets wait while it is away for some 30 ms, once a second.
    let delay = flow.delay_ms.as_ref().unwrap();
    assert!(delay.p50 < 8.0 && delay.p99 > 15.0, "{delay:?}");
}

#[test]
fn the_proxies_of_a_box_follow_a_station_to_the_medium_of_its_access_point() {
    let text = format!(
        "{}{DOWNLOAD}[[proxy]]\nat = \"server\"\nreports = \"observed\"\n",
        WALK.replace("warm_up = \"1 s\"\n", "warm_up = \"0 s\"\n")
    );
    for reports in ["observed", "air", "radio"] {
        let setting = format!("proxy.0.reports={reports}");
        let finished = with(&text, &[&setting]);
        let outcome = &finished.outcome;
        let joined = outcome.hand_overs[0].joined;
        assert_eq!(outcome.decisions.len(), 2, "{reports}");
        let paces = |decisions: &[airpace_sim::world::ProxySlot], later: bool| {
            let rates = decisions.iter().filter(|slot| (slot.at > joined) == later);
            rates.filter(|slot| slot.rate_pps.is_some()).count()
        };
        let [west, east] = &outcome.decisions[..] else {
            unreachable!("there are two");
        };
        assert!(
            paces(west, false) > 5 && paces(west, true) == 0,
            "{reports}"
        );
        assert!(
            paces(east, false) == 0 && paces(east, true) > 5,
            "{reports}"
        );
        let settings = [&AFTERWARDS[..], &[&setting]].concat();
        let afterwards = with(&text, &settings).summary;
        let goodput_mbps = afterwards.flows[0].goodput_mbps;
        assert!(goodput_mbps > 80.0, "{reports} {goodput_mbps}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_station_changes_no_draw() {
    let text = format!("{WALK}{DOWNLOAD}");
    let bytes = || serde_json::to_string(&with(&text, &[]).summary).unwrap();
    assert_eq!(bytes(), bytes());
}

#[test]
fn settings_that_roaming_cannot_have_are_refused_with_a_remedy() {
    let text = format!("{WALK}{DOWNLOAD}");
    let refused = |text: &str, remedy: &str| {
        let said = match Loaded::new(text, Vec::new(), &folder()) {
            Ok(loaded) => loaded.resolve().err().map(|error| error.one_line("x.toml")),
            Err(error) => Some(error.one_line("x.toml")),
        };
        let said = said.expect("must be refused");
        assert!(said.contains(remedy), "{said}");
    };
    let named = |name: &str| text.replace("[\"east\"]", &format!("[\"{name}\"]"));
    refused(&named("esat"), "did you mean `east`?");
    refused(&named("server"), "there is no access point `server`");
    let on_channel =
        |line: &str| text.replace("name = \"high\"\n", &format!("name = \"high\"\n{line}\n"));
    refused(
        &on_channel("reception = \"collide\""),
        "let `reception` be \"sinr\"",
    );
    refused(
        &on_channel("error_model = \"none\""),
        "let `error_model` be \"snr\"",
    );
    refused(
        &on_channel("carrier_sense_range = \"90 m\""),
        "leave `carrier_sense_range` out",
    );
    refused(&on_channel("beacons = false"), "let `beacons` be true");
    let told = format!("{text}[[proxy]]\nat = \"server\"\nreports = \"told\"\n");
    refused(&told, "let `reports` be \"air\"");
    let host = text.replace(
        "name = \"server\"\n",
        "name = \"server\"\nroam = { to = [\"east\"] }\n",
    );
    refused(&host, "only stations roam");
}
