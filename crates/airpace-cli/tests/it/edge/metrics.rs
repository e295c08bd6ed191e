//! Metrics and web page of the real process, and Prometheus itself with the rules and the dashboard
//! that are delivered.

use super::{edge, eventually, start, testbed};
use airpace_lab::bench::edge::{EdgeTestbed, SERVER, pause, station_address};
use airpace_net::clock::Clock;
use core::net::{Ipv4Addr, SocketAddr};
use core::time::Duration;
use nix::sys::signal::Signal;
use serde_json::Value;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

const METRICS: u16 = 9110;
const WEB: u16 = 8080;
const PROMETHEUS: u16 = 9090;
const SETTINGS: &str = "[metrics]\n[web]\n";
const TOKEN: &str = "a token of sixteen or more";

/// The metric that only a radio near the access point tells.
const NEEDS_A_RADIO: &str = "airpace_ap_air_of_others_ratio";
/// Has no series where no sensor sees frames: between namespaces there is no Wi-Fi, and what looks like
/// bursts of acknowledgements is chance.
const NEEDS_FRAMES: &str = "airpace_station_aggregation_level_packets";

const DASHBOARD: &str = include_str!("../../../../../dist/grafana/airpace.json");

/// Sends a request to a port of the box itself, and returns the head and the body of the answer.
fn ask(bed: &EdgeTestbed, port: u16, request: &str, body: &str) -> Option<(String, String)> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let connect = || TcpStream::connect(address);
    let mut stream = bed.middle.run(connect).unwrap().ok()?;
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .ok()?;
    let length = body.len();
    write!(
        stream,
        "{request}\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    Some((head.to_owned(), body.to_owned()))
}

fn get(bed: &EdgeTestbed, port: u16, path: &str) -> Option<String> {
    let (head, body) = ask(bed, port, &format!("GET {path} HTTP/1.0"), "")?;
    head.contains(" 200 ").then_some(body)
}

/// The test bed with its loopback interface, which a namespace has down at first.
fn bed() -> Option<EdgeTestbed> {
    let bed = testbed(1, 1500)?;
    let mut up = Command::new("ip");
    up.args(["link", "set", "lo", "up"]);
    assert!(bed.middle.run(|| up.status()).unwrap().unwrap().success());
    Some(bed)
}

/// A TCP connection from the server to the first station, which carries so many bytes a second until
/// it is dropped.
struct Download {
    reader: TcpStream,
    threads: Vec<thread::JoinHandle<()>>,
}

impl Download {
    fn begin(bed: &EdgeTestbed, bytes_per_s: usize) -> Self {
        let at = SocketAddr::from((station_address(0), 7001));
        let listener = bed.stations[0]
            .run(|| TcpListener::bind(at))
            .unwrap()
            .unwrap();
        let mut sender = bed.server.run(|| TcpStream::connect(at)).unwrap().unwrap();
        assert_eq!(sender.local_addr().unwrap().ip(), SERVER);
        let (reader, _) = listener.accept().unwrap();
        let mut reads = reader.try_clone().unwrap();
        let sends = thread::spawn(move || {
            let chunk = vec![0; bytes_per_s / 100];
            while sender.write_all(&chunk).is_ok() {
                pause(Duration::from_millis(10));
            }
        });
        let receives = thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            while matches!(reads.read(&mut buffer), Ok(count) if count > 0) {}
        });
        Self {
            reader,
            threads: vec![sends, receives],
        }
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        let _ = self.reader.shutdown(std::net::Shutdown::Both);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[test]
fn metrics_and_page_show_the_running_box_and_change_it_with_the_token() {
    let Some(bed) = bed() else { return };
    let token = std::env::temp_dir().join(format!("airpace-web-token-{}", std::process::id()));
    fs::write(&token, TOKEN).unwrap();
    fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
    let settings = format!("{SETTINGS}token_file = {token:?}\n");
    let started = start(&bed, &settings);
    fs::remove_file(&token).unwrap();
    let Some(mut process) = started else { return };
    let download = Download::begin(&bed, 1_000_000);
    let sent = "airpace_station_sent_bits_per_second{ap=\"ap0\",station=\"02:00:00:00:01:00\"}";
    eventually("metrics show what is sent", || {
        let text = get(&bed, METRICS, "/metrics").unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with(sent));
        let value = line.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
        value.is_some_and(|bps| bps > 1e6)
    });
    eventually("the history has the station", || {
        let text = get(&bed, WEB, "/api/history").unwrap_or_default();
        text.contains("02:00:00:00:01:00")
    });
    assert!(get(&bed, WEB, "/").unwrap().contains("/app.js"));

    let body = r#"{"station":"02:00:00:00:01:00","exempt":true}"#;
    let exempt = "POST /api/exempt HTTP/1.1\r\nContent-Type: application/json";
    let (head, _) = ask(&bed, WEB, exempt, body).unwrap();
    assert!(head.contains(" 401 "), "{head}");
    assert!(!bed.status().unwrap()[0].1.exempt);
    let with_token = format!("{exempt}\r\nAuthorization: Bearer {TOKEN}");
    let (head, answer) = ask(&bed, WEB, &with_token, body).unwrap();
    assert!(
        head.contains(" 200 ") && answer.contains("exempt"),
        "{head} {answer}"
    );
    assert!(bed.status().unwrap()[0].1.exempt);
    let status = get(&bed, WEB, "/api/status").unwrap();
    assert!(status.contains("\"exempt\":true"), "{status}");

    // The addresses are fixed while it runs.
    fs::write(
        process.config(),
        bed.configuration("[web]\nlisten = \"127.0.0.1:8081\"\n"),
    )
    .unwrap();
    let (code, text) = edge(&bed, &["reload"]);
    assert!(
        code == Some(1) && text.contains("cannot change while airpace runs"),
        "{text}"
    );
    drop(download);
    process.signal(Signal::SIGTERM).unwrap();
    assert!(process.wait().unwrap().success());
    assert_eq!(get(&bed, METRICS, "/metrics"), None);
}

/// Prometheus in the box's namespace. Dropping it ends it.
struct Prometheus {
    child: Child,
    folder: PathBuf,
}

impl Prometheus {
    fn start(bed: &EdgeTestbed) -> Self {
        let folder =
            std::env::temp_dir().join(format!("airpace-prometheus-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let rules = dist("prometheus/airpace.rules.yml");
        let config = format!(
            "global: {{scrape_interval: 2s, evaluation_interval: 2s}}\n\
             rule_files: [{rules:?}]\n\
             scrape_configs:\n\
             - job_name: airpace\n  static_configs: [{{targets: [\"127.0.0.1:{METRICS}\"]}}]\n"
        );
        fs::write(folder.join("prometheus.yml"), config).unwrap();
        let log = fs::File::create(folder.join("log")).unwrap();
        let mut command = Command::new("prometheus");
        command
            .arg(format!("--config.file={}/prometheus.yml", folder.display()))
            .arg(format!("--storage.tsdb.path={}/data", folder.display()))
            .arg(format!("--web.listen-address=127.0.0.1:{PROMETHEUS}"))
            .stdout(Stdio::null())
            .stderr(log);
        let child = bed.middle.spawn(command).unwrap();
        Self { child, folder }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn dist(file: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dist");
    root.join(file).canonicalize().unwrap()
}

/// Returns how many series a query has.
fn series(bed: &EdgeTestbed, query: &str) -> Result<usize, String> {
    let mut encoded = String::new();
    for byte in query.bytes() {
        encoded.push_str(&format!("%{byte:02X}"));
    }
    let path = format!("GET /api/v1/query?query={encoded} HTTP/1.0");
    let (_, body) = ask(bed, PROMETHEUS, &path, "").ok_or("Prometheus does not answer")?;
    let answer: Value = serde_json::from_str(&body).map_err(|error| format!("{error}: {body}"))?;
    let result = answer["data"]["result"].as_array();
    result.map(Vec::len).ok_or(body)
}

/// The queries of the dashboard, with everything chosen.
fn queries() -> Vec<String> {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let mut queries = Vec::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().unwrap() {
            let query = target["expr"].as_str().unwrap();
            let query = query.replace("$instance", ".*").replace("$ap", ".*");
            queries.push(query.replace("$__rate_interval", "5m"));
        }
    }
    queries
}

#[test]
#[ignore = "runs for a minute, or for AIRPACE_METRICS_SECONDS, with Prometheus: make test-metrics"]
#[expect(
    clippy::disallowed_methods,
    reason = "make test-metrics takes the length from the environment"
)]
fn prometheus_takes_metrics_rules_and_every_query_of_the_dashboard() {
    let rules = dist("prometheus/airpace.rules.yml");
    let checked = Command::new("promtool")
        .args(["check", "rules"])
        .arg(&rules)
        .output();
    let Ok(checked) = checked else {
        eprintln!("SKIPPED, NOTHING WAS TESTED: sudo apt-get install prometheus");
        return;
    };
    assert!(checked.status.success(), "{checked:?}");
    let seconds = std::env::var("AIRPACE_METRICS_SECONDS").unwrap_or_else(|_| "60".to_owned());
    let span = Duration::from_secs(seconds.parse().unwrap());
    let Some(bed) = bed() else { return };
    let Some(mut process) = start(&bed, SETTINGS) else {
        return;
    };
    let prometheus = Prometheus::start(&bed);
    let download = Download::begin(&bed, 3_000_000);
    let clock = Clock::start();
    let end = clock.now() + span;
    eventually("Prometheus scrapes the box", || {
        series(&bed, "up{job=\"airpace\"} == 1").is_ok_and(|count| count == 1)
    });
    while clock.now() < end {
        pause(Duration::from_secs(1));
        let up = series(&bed, "up{job=\"airpace\"} == 1");
        assert_eq!(up, Ok(1), "{}\n{}", prometheus.log(), process.log());
    }
    let mut silent = queries();
    silent.retain(|query| !query.starts_with(NEEDS_A_RADIO) && !query.starts_with(NEEDS_FRAMES));
    // On a busy machine Prometheus may not have scraped often enough yet for rates.
    for _ in 0..60 {
        silent.retain(|query| match series(&bed, query) {
            Ok(count) => count == 0,
            Err(error) => panic!("{query}: {error}"),
        });
        if silent.is_empty() {
            break;
        }
        pause(Duration::from_secs(1));
    }
    assert!(silent.is_empty(), "queries without series: {silent:#?}");
    let per_station = series(&bed, "{station=\"02:00:00:00:01:00\", job=\"airpace\"}").unwrap();
    assert!(
        (30..=60).contains(&per_station),
        "{per_station} series of a station"
    );
    assert_eq!(series(&bed, "ALERTS{alertname=\"AirpaceDown\"}"), Ok(0));

    drop(download);
    process.signal(Signal::SIGTERM).unwrap();
    process.wait().unwrap();
    eventually("Prometheus tells that the box is down", || {
        series(&bed, "ALERTS{alertname=\"AirpaceDown\"}").is_ok_and(|count| count == 1)
    });
    let left = series(&bed, "airpace_station_info");
    assert_eq!(left, Ok(0), "series of a box that has ended");
    eprintln!(
        "{} queries, {per_station} series of a station, {span:?}",
        queries().len()
    );
}
