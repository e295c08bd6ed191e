mod bottleneck;
mod capture;
mod cell;
mod l4s;
mod moves;
mod multicast;
mod observed;
mod quic;
mod radio;
mod reception;
mod reports;
mod roaming;
mod store;
mod sweep;
mod targets;
mod unseen;
mod uploads;
mod warnings;

use super::*;
use crate::file::Place;
use crate::progress::Silent;
use crate::run::{Finished, run};
use crate::stop::Stop;
use crate::warnings::Warning;
use airpace_sim::world::NodeId;
use std::fs;

const CELL: &str = "\
duration = \"200 ms\"
warm_up = \"50 ms\"
[[node]]
kind = \"ap\"
[[node]]
kind = \"station\"
count = 2
rate = \"mcs 9 nss 2\"
[[flow]]
kind = \"udp-cbr\"
rate = \"50 Mbit/s\"
";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

fn loaded(text: &str, settings: &[&str]) -> Loaded {
    let settings = settings.iter().map(|text| text.parse().unwrap()).collect();
    match Loaded::new(text, settings, &folder()) {
        Ok(loaded) => loaded,
        Err(error) => panic!(
            "{}\n{}",
            error.one_line("x.toml"),
            error.excerpt().unwrap_or_default()
        ),
    }
}

fn finished(loaded: &Loaded) -> Finished {
    let resolved = loaded
        .resolve()
        .unwrap_or_else(|error| panic!("{}", error.one_line("x.toml")));
    run(loaded, resolved, &Stop::default(), &Silent)
        .unwrap()
        .unwrap()
}

/// What is said of `text` when it is resolved.
#[track_caller]
fn refusal(text: &str) -> String {
    let error = loaded(text, &[]).resolve().expect_err("must be refused");
    assert!(matches!(error.place, Place::Line { .. }), "{error:?}");
    error.one_line("x.toml")
}

#[test]
fn a_proxy_at_a_host_paces_the_stations_to_whose_access_points_wires_lead() {
    let text = "duration = \"100 ms\"\n[[node]]\nname = \"box\"\nkind = \"host\"\n\
        [[node]]\nname = \"ap\"\nkind = \"ap\"\n[[node]]\nname = \"neighbour\"\nkind = \"ap\"\n\
        [[node]]\nname = \"own\"\nkind = \"station\"\nap = \"ap\"\n\
        [[node]]\nname = \"other\"\nkind = \"station\"\nap = \"neighbour\"\n\
        [[wire]]\na = \"box\"\nb = \"ap\"\n\
        [[flow]]\nkind = \"tcp\"\nto = \"own\"\n[[proxy]]\nat = \"box\"\n";
    let paced = |text: &str| {
        let resolved = loaded(text, &[]).resolve().unwrap();
        resolved.world.proxies[0].stations.clone()
    };
    assert_eq!(paced(text), [NodeId(3)]);
    let both = format!("{text}[[wire]]\na = \"ap\"\nb = \"neighbour\"\n");
    assert_eq!(paced(&both), [NodeId(3), NodeId(4)]);
}

#[test]
fn every_scenario_of_the_folder_runs() {
    let mut names: Vec<PathBuf> = Vec::new();
    for folder in [folder(), folder().join("frontier")] {
        let entries = fs::read_dir(folder).unwrap();
        let files = entries.map(|entry| entry.unwrap().path());
        names.extend(files.filter(|path| path.is_file()));
    }
    names.sort();
    assert!(names.len() > 50, "{names:?}");
    for path in names {
        let text = fs::read_to_string(&path).unwrap();
        assert!(
            text.lines().count() <= 64,
            "{}: a scenario is short",
            path.display()
        );
        assert!(
            text.starts_with("# "),
            "{}: a scenario begins with what it is about",
            path.display()
        );
        let whole = loaded(&text, &[]);
        let outcome = whole.resolve();
        assert!(
            outcome.is_ok(),
            "{}: {}",
            path.display(),
            outcome.unwrap_err()
        );
        let short: Vec<&str> = ["warm_up=20 ms", "duration=100 ms", "change=[]"].to_vec();
        let finished = finished(&loaded(&text, &short));
        assert!(
            finished.summary.totals.sent > 0 || text.contains("joins"),
            "{}: nothing was sent",
            path.display()
        );
        let share = finished.summary.totals.airtime_share;
        assert!((0.0..=1.0).contains(&share), "{}: {share}", path.display());
    }
}

#[test]
fn the_figures_are_those_of_the_load() {
    let summary = finished(&loaded(CELL, &["duration=1 s"])).summary;
    assert_eq!(summary.stations.len(), 2);
    for station in &summary.stations {
        assert!((station.goodput_mbps - 50.0).abs() < 0.5, "{station:?}");
        assert!(station.dropped.is_empty() && station.level.unwrap() >= 1.0);
        assert!((0.05..0.5).contains(&station.airtime_share), "{station:?}");
        let delay = station.delay_ms.unwrap();
        assert!(delay.min <= delay.p50 && delay.p50 <= delay.p95 && delay.p95 <= delay.p99);
    }
    assert!((summary.totals.goodput_mbps - 100.0).abs() < 1.0);
    assert!(summary.totals.jain_airtime.unwrap() > 0.99);
    assert_eq!(summary.flows[0].name, "udp-cbr@station-1");
}

#[test]
fn pages_and_uploads_count_for_whom_they_are() {
    let text = format!(
        "{CELL}[[flow]]\nkind = \"web\"\nto = \"station-1\"\n[[flow]]\nname = \"up\"\nkind = \"udp-cbr\"\nfrom = \"station-2\"\nto = \"ap\"\nrate = \"5 Mbit/s\"\n"
    );
    let summary = finished(&loaded(
        &text,
        &["duration=1 s", "warm_up=0 s", "flow.0.rate=1 Mbit/s"],
    ))
    .summary;
    let page = summary
        .flows
        .iter()
        .find(|flow| flow.name == "web")
        .unwrap();
    assert_eq!((page.from.as_str(), page.to.as_str()), ("ap", "station-1"));
    assert_eq!(page.page_load_s.unwrap().count, 1);
    let extra = summary.stations[0].goodput_mbps - summary.stations[1].goodput_mbps;
    // What the second sends counts as its own.
    let extra = extra + 5.0;
    assert!(
        (extra - page.goodput_mbps).abs() < 0.1 && page.goodput_mbps > 0.4,
        "{extra} {page:?}"
    );
    assert!(
        table::render(&summary).contains("\nup "),
        "{}",
        table::render(&summary)
    );
}

#[test]
fn the_same_scenario_and_seed_give_the_same_bytes() {
    let text = |settings: &[&str]| {
        let mut summary = finished(&loaded(CELL, settings)).summary;
        (summary.wall_s, summary.packets_per_wall_s) = (0.0, 0.0);
        serde_json::to_string(&summary).unwrap()
    };
    assert_eq!(text(&["seed=7"]), text(&["seed=7"]));
    assert_ne!(text(&["seed=7"]), text(&["seed=8"]));
}

#[test]
fn rates_that_do_not_exist_are_refused_with_the_reason_and_the_line() {
    let with = |from: &str, to: &str| {
        assert!(CELL.contains(from));
        refusal(&CELL.replace(from, to))
    };
    let said = with("\"mcs 9 nss 2\"", "\"mcs 10\"");
    assert!(
        said.starts_with("x.toml:8:8: VHT has MCS 0 to 9, not 10"),
        "{said}"
    );
    let said = with("\"mcs 9 nss 2\"", "{ mcs = 9, width = \"20 MHz\" }");
    assert!(
        said.contains("VHT excludes MCS 9, NSS 1 at 20 MHz"),
        "{said}"
    );
    let said = with("\"mcs 9 nss 2\"", "\"7 Mbit/s\"");
    assert!(said.contains("7 Mbit/s is not a legacy rate"), "{said}");
    let said = with("\"mcs 9 nss 2\"", "\"1 Mbit/s\"");
    assert!(
        said.contains("there is no DSSS at 5 GHz: set the channel's band to \"2.4 GHz\""),
        "{said}"
    );
    let said = with("\"mcs 9 nss 2\"", "{ width = \"30 MHz\" }");
    assert!(
        said.contains("channels are 20, 40, 80 or 160 MHz wide"),
        "{said}"
    );
}

#[test]
fn what_cannot_be_reached_is_refused_with_its_line() {
    let host = "[[node]]\nname = \"server\"\nkind = \"host\"\n";
    let said = refusal(&format!("{CELL}{host}"));
    assert!(
        said.contains("there is no path from `server` to `station-1`: connect them"),
        "{said}"
    );
    let wire = "[[wire]]\na = \"server\"\nb = \"ap\"\n";
    assert!(
        loaded(&format!("{CELL}{host}{wire}"), &[])
            .resolve()
            .is_ok()
    );
    let route = "[[route]]\nat = \"ap\"\nto = \"server\"\nvia = \"station-1\"\n[[route]]\nat = \"server\"\nto = \"ap\"\nvia = \"station-1\"\n";
    let said = refusal(&format!("{CELL}{host}{wire}{route}"));
    assert!(
        said.contains("`server` has no link to `station-1`"),
        "{said}"
    );
    let gains = "[[proxy]]\nlaw = \"waterfill\"\ngain = 1\n";
    let said = refusal(&format!("{CELL}{gains}"));
    assert!(said.contains("law waterfill has no `gain`"), "{said}");
    let twice = "[[proxy]]\n[[proxy]]\n";
    assert!(refusal(&format!("{CELL}{twice}")).contains("two proxies"));
}

#[test]
fn a_latency_that_cannot_be_met_is_told_with_the_least_that_seems_feasible() {
    let cell = CELL.replace("udp-cbr", "udp-poisson");
    let told = |latency: &str| {
        let proxy = format!("[[proxy]]\nslot = \"100 ms\"\nlatency = \"{latency}\"\n");
        let settings = [
            "duration=9 s",
            "node.station.count=12",
            "flow.0.rate=80 Mbit/s",
        ];
        let summary = finished(&loaded(&format!("{cell}{proxy}"), &settings)).summary;
        assert_eq!(summary.proxies.len(), 1);
        assert_eq!(summary.proxies[0].at, "ap");
        let warnings: Vec<String> = summary.warnings.iter().map(Warning::to_string).collect();
        (summary.proxies[0].least_latency_ms, warnings.join("\n"))
    };
    let (least_ms, text) = told("1 ms");
    let least_ms = least_ms.expect("the overhead of twelve frames alone takes longer");
    assert!((1.1..20.0).contains(&least_ms), "{least_ms} ms");
    let line = format!(
        "latency-infeasible: `ap` cannot meet the latency asked of it: the least seems to be {least_ms:.1} ms."
    );
    assert!(text.contains(&line), "{text}");
    let (least_ms, text) = told("50 ms");
    assert_eq!(least_ms, None);
    assert_eq!(text, "");
}

#[test]
fn a_station_that_walks_away_loses_its_packets() {
    let walk =
        "[[change]]\nat = \"150 ms\"\nnode = \"station-1\"\nposition = [\"500 m\", \"0 m\"]\n";
    let summary = finished(&loaded(&format!("{CELL}{walk}"), &["duration=500 ms"])).summary;
    let goodput = |station: usize| summary.stations[station].goodput_mbps;
    // What is sent in vain takes airtime from the other.
    assert!(
        goodput(0) < 20.0 && goodput(1) > 30.0,
        "{:?}",
        summary.stations
    );
    let said = refusal(&format!("{CELL}{}", walk.replace("station-1", "ap")));
    assert!(said.contains("`ap` cannot move"), "{said}");
}

#[test]
fn distance_decides_the_rate_that_the_oracle_takes() {
    let at = |distance: &str| {
        let settings = ["node.station.rate=ideal", "flow.0.rate=20 Mbit/s", distance];
        finished(&loaded(CELL, &settings)).summary.links[0].phy_mbps
    };
    let (near, far) = (
        at("node.station.distance=2 m"),
        at("node.station.distance=30 m"),
    );
    assert!((near - 390.0).abs() < 1.0, "{near}");
    assert!(far < 200.0, "{far}");
}

#[test]
fn neighbours_take_their_share_from_the_beginning() {
    let goodput = |settings: &[&str]| {
        finished(&loaded(CELL, settings))
            .summary
            .totals
            .goodput_mbps
    };
    let load = ["flow.0.rate=400 Mbit/s", "duration=1 s"];
    let (alone, shared) = (
        goodput(&load),
        goodput(&[&load[..], &["channel.neighbours=2"]].concat()),
    );
    assert!(shared < 0.7 * alone, "{alone} {shared}");
}

#[test]
fn access_points_have_their_own_access_and_protect_frames_where_a_scenario_says_so() {
    use airpace_core::phy::{AccessCategory, LegacyRate};
    use airpace_sim::mac::RadioConfig;
    let radios = |settings: &[&str]| {
        let resolved = loaded(CELL, settings).resolve().unwrap();
        resolved.world.channels[0].mac.radios.clone()
    };
    let windows = |radios: &[RadioConfig]| -> Vec<(u16, Option<LegacyRate>)> {
        let read = |radio: &RadioConfig| {
            let best_effort = radio.edca[AccessCategory::BestEffort as usize];
            (best_effort.cw_max, radio.cts_to_self)
        };
        radios.iter().map(read).collect()
    };
    assert_eq!(windows(&radios(&[])), [(1_023, None); 3]);
    let own = radios(&["channel.access_point_edca=\"own\""]);
    assert_eq!(windows(&own), [(63, None), (1_023, None), (1_023, None)]);
    // What a scenario says of a category holds for all.
    let settings = [
        "channel.access_point_edca=\"own\"",
        "channel.edca.best_effort.cw_max=127",
    ];
    assert_eq!(windows(&radios(&settings)), [(127, None); 3]);
    let settings = [
        "channel.band=\"2.4 GHz\"",
        "channel.standard=\"ht\"",
        "channel.width=\"20 MHz\"",
        "channel.protection=\"cts-to-self\"",
        "node.station.rate=\"mcs 7\"",
    ];
    assert_eq!(
        windows(&radios(&settings)),
        [(1_023, Some(LegacyRate::Mbps1)); 3]
    );
}

#[test]
fn every_scheme_runs_and_its_keys_reach_the_path() {
    use airpace_sim::mac::{PathConfig, Qdisc, QueueLimit, Queues, Scheme};
    let path = |settings: &[&str]| {
        let resolved = loaded(CELL, settings)
            .resolve()
            .unwrap_or_else(|error| panic!("{}", error.one_line("x.toml")));
        resolved.world.channels[0].mac.radios[0].path.clone()
    };
    for &scheme in Scheme::ALL {
        let word = scheme.name();
        let setting = format!("node.ap.queue.scheme={word}");
        let expected = PathConfig::of(scheme);
        let found = path(&[&setting]);
        assert_eq!(
            (&found.qdisc, found.hardware),
            (&expected.qdisc, expected.hardware),
            "{word}"
        );
        let summary = finished(&loaded(
            CELL,
            &[&setting, "flow.0.rate=100 Mbit/s", "duration=1 s"],
        ))
        .summary;
        let totals = summary.totals;
        assert!(
            (totals.goodput_mbps - 200.0).abs() < 4.0,
            "{word}: {totals:?}"
        );
        assert!(
            totals.run.sent == totals.run.delivered + totals.run.dropped + totals.run.held,
            "{word}: {totals:?}"
        );
    }
    assert_eq!(path(&[]).queues, Queues::Fifo(QueueLimit::per_link(1_000)));
    let shared = path(&[
        "node.ap.queue.sharing=shared",
        "node.ap.queue.limit=7 packets",
    ]);
    assert_eq!(shared.queues, Queues::Fifo(QueueLimit::shared(7)));
    let fifo = path(&[
        "node.ap.queue.scheme=fifo",
        "node.ap.queue.qdisc_limit=9 packets",
        "node.ap.queue.hardware_queue=1",
    ]);
    assert_eq!(
        (fifo.qdisc, fifo.hardware),
        (Some(Qdisc::Fifo { packets: 9 }), 1)
    );
    let airtime = [
        "node.ap.queue.scheme=airtime",
        "node.ap.queue.slow.below=0 bit/s",
        "node.ap.queue.codel.mtu=0 B",
        "node.ap.queue.aql=true",
    ];
    let Queues::FlowQueues(queues) = path(&airtime).queues else {
        panic!("airtime has flow queues")
    };
    assert_eq!(queues.slow_below.bps(), 0);
    assert_eq!([queues.codel.mtu, queues.slow.mtu], [0, 0]);
    assert!(path(&airtime).airtime_limit.is_some());
    assert_ne!(path(&["seed=1"]).key, path(&["seed=2"]).key);
}

#[test]
fn a_station_of_twice_the_weight_gets_twice_the_airtime() {
    let text = CELL.replace("count = 2", "count = 2\nairtime_weight = 512")
        + "[[node]]\nname = \"light\"\nkind = \"station\"\n";
    let settings = [
        "node.ap.queue.scheme=airtime",
        "flow.0.rate=400 Mbit/s",
        "duration=1 s",
    ];
    let stations = finished(&loaded(&text, &settings)).summary.stations;
    for heavy in &stations[..2] {
        let ratio = heavy.airtime_share / stations[2].airtime_share;
        assert!((ratio - 2.0).abs() < 0.05, "{ratio}: {stations:?}");
    }
}

#[test]
fn each_direction_of_a_link_has_the_loss_that_is_named_for_it() {
    // One station, so that nothing collides.
    let losses = |settings: &[&str]| {
        let settings = [&["node.station.count=1"], settings].concat();
        let finished = finished(&loaded(CELL, &settings));
        let of = |from: &str, to: &str| {
            let mut links = finished.summary.links.iter();
            let link = links.find(|link| link.from == from && link.to == to);
            link.map_or(0.0, |link| link.retry_share)
        };
        [of("ap", "station"), of("station", "ap")]
    };
    let upload =
        "flow=[{ kind = \"udp-cbr\", rate = \"50 Mbit/s\", from = \"station\", to = \"ap\" }]";
    let loss = "node.station.loss=0.3";
    let both = losses(&[upload, loss]);
    assert!(both[1] > 0.2, "{both:?}");
    let up = losses(&[upload, loss, "node.station.uplink_loss=0"]);
    assert!(up[1] < 0.02, "{up:?}");
    let down = losses(&[loss, "node.station.uplink_loss=0"]);
    assert!(down[0] > 0.2, "{down:?}");
}

#[test]
fn the_hash_tells_settings_apart_but_not_seeds() {
    let hash = |settings: &[&str]| loaded(CELL, settings).record().hash;
    assert_eq!(hash(&[]), hash(&["seed=9"]));
    assert_eq!(hash(&[]), hash(&["warm_up=50000 us"]));
    assert_ne!(hash(&[]), hash(&["node.station.count=3"]));
}

#[test]
fn a_run_that_is_stopped_within_its_warm_up_has_no_figures() {
    let stop = Stop::default();
    stop.raise();
    let loaded = loaded(CELL, &[]);
    assert!(
        run(&loaded, loaded.resolve().unwrap(), &stop, &Silent)
            .unwrap()
            .is_none()
    );
}

#[test]
fn what_stations_send_is_in_their_rows_and_packets_are_conserved() {
    let text = fs::read_to_string(folder().join("hidden.toml")).unwrap();
    let summary = finished(&loaded(&text, &["duration=300 ms", "warm_up=50 ms"])).summary;
    for station in &summary.stations {
        assert!(
            station.goodput_mbps > 0.1 && station.sent > 0 && station.received > 0,
            "{station:?}"
        );
        assert!(
            station.level.is_some() && station.delay_ms.is_some(),
            "{station:?}"
        );
    }
    let totals = &summary.totals;
    let table = table::render(&summary);
    let all: Vec<&str> = table
        .lines()
        .find(|line| line.starts_with("all "))
        .unwrap()
        .split_whitespace()
        .collect();
    assert_eq!(all[1], format!("{:.2}", totals.goodput_mbps));
    assert_eq!(
        *all.last().unwrap(),
        format!("{:.1}", 100.0 * totals.airtime_share)
    );
    let run = totals.run;
    assert!(run.sent > totals.sent);
    assert_eq!(run.sent, run.delivered + run.dropped + run.held);
}

#[test]
fn changes_to_anything_but_a_fixed_rate_are_refused() {
    for rate in ["minstrel-ht", "ideal"] {
        let change =
            format!("[[change]]\nat = \"100 ms\"\nnode = \"station-1\"\nrate = \"{rate}\"\n");
        let said = refusal(&format!("{CELL}{change}"));
        assert!(
            said.contains("x.toml:15:") && said.contains("a change is to a fixed rate"),
            "{said}"
        );
    }
}

#[test]
fn stations_out_of_reach_are_refused_with_name_and_remedy() {
    let far = CELL.replace("count = 2", "count = 2\ndistance = \"1000 km\"");
    let said = refusal(&far);
    assert!(
        said.contains("`station-1` and its access point `ap`, 1000000.0 m apart, do not hear"),
        "{said}"
    );
    assert!(said.contains("tx_power"), "{said}");
    let ranged = format!("{far}[[channel]]\ncarrier_sense_range = \"100 m\"\n");
    assert!(refusal(&ranged).contains("widen the channel's `carrier_sense_range`"));
}

#[test]
fn packets_too_long_for_the_air_are_refused_but_not_on_wires() {
    let with = |payload: &str| {
        CELL.replace(
            "rate = \"50 Mbit/s\"",
            &format!("rate = \"50 Mbit/s\"\npayload = \"{payload}\""),
        )
    };
    let said = refusal(&with("2269 B"));
    assert!(
        said.contains("x.toml:12:") && said.contains("at most 2268 B"),
        "{said}"
    );
    assert!(loaded(&with("2268 B"), &[]).resolve().is_ok());
    let tcp = "[[flow]]\nkind = \"tcp\"\nto = \"station-1\"\nmss = \"2245 B\"\n";
    assert!(refusal(&format!("{CELL}{tcp}")).contains("at most 2244 B"));
    let host =
        "[[node]]\nname = \"server\"\nkind = \"host\"\n[[wire]]\na = \"server\"\nb = \"ap\"\n";
    let wired = format!("{CELL}{host}{}", tcp.replace("station-1", "ap"));
    assert!(loaded(&wired, &[]).resolve().is_ok());
}

/// The modes that the proxy's station came to be in.
fn modes(text: &str, settings: &[&str]) -> Vec<String> {
    let outcome = finished(&loaded(text, settings)).outcome;
    let changes = outcome.modes[0].iter();
    changes.map(|change| change.to.to_string()).collect()
}

#[test]
fn reports_that_a_change_loses_lead_to_the_conservative_rate_and_back() {
    let cell = CELL.replace("count = 2", "count = 1");
    let faults = "[[proxy]]\n\
        [[change]]\nat = \"300 ms\"\nnode = \"station\"\nreport_loss = 1\n\
        [[change]]\nat = \"1100 ms\"\nnode = \"station\"\nreport_copies = 2\nreport_delay = \"5 ms\"\n";
    let settings = ["duration=1500 ms", "slot=100 ms"];
    let expected = ["starting", "controlled", "conservative", "controlled"];
    assert_eq!(modes(&format!("{cell}{faults}"), &settings), expected);
    let agent = "[[proxy]]\n\
        [[change]]\nat = \"300 ms\"\nnode = \"station\"\nagent = \"stopped\"\n\
        [[change]]\nat = \"1100 ms\"\nnode = \"station\"\nagent = \"running\"\n";
    assert_eq!(modes(&format!("{cell}{agent}"), &settings), expected);
}

#[test]
fn a_proxy_that_a_change_restarts_begins_with_its_stations_anew() {
    let cell = CELL.replace("count = 2", "count = 1");
    let restart = "[[proxy]]\n[[change]]\nat = \"500 ms\"\nnode = \"ap\"\nproxy_restart = true\n";
    let settings = ["duration=1 s", "slot=100 ms"];
    let expected = ["starting", "controlled", "starting", "controlled"];
    assert_eq!(modes(&format!("{cell}{restart}"), &settings), expected);
}

#[test]
fn faults_of_nodes_without_proxy_or_agent_are_refused() {
    let change = |keys: &str| format!("{CELL}[[proxy]]\n[[change]]\nat = \"10 ms\"\n{keys}\n");
    let said = refusal(&change("node = \"ap\"\nreport_loss = 0.5"));
    assert!(said.contains("`ap` is not a station of a proxy"), "{said}");
    let said = refusal(&change("node = \"station-1\"\nproxy_restart = true"));
    assert!(said.contains("no proxy stands at `station-1`"), "{said}");
}

#[test]
fn a_station_without_a_monitor_interface_reports_all_the_same() {
    let text = format!("{CELL}[[proxy]]\n");
    let settings = ["node.station.monitor=false", "slot=50 ms"];
    let loaded = loaded(&text, &settings);
    let proxies = loaded
        .resolve()
        .expect("the scenario is valid")
        .world
        .proxies;
    assert_eq!(proxies[0].unmonitored, proxies[0].stations);
    let outcome = finished(&loaded).outcome;
    assert!(
        outcome.decisions[0]
            .iter()
            .any(|decision| decision.frames > 0)
    );
}
