use super::*;
use airpace_api::operator::{ApStatus, EdgeStationStatus};

/// A station of which everything is known.
fn station(n: usize) -> EdgeStationStatus {
    EdgeStationStatus {
        mac: format!("02:00:00:00:{:02x}:{:02x}", n / 256, n % 256),
        name: Some(format!("station {n}")),
        rate_mbps: Some(50.0),
        mean_sent_mbps: n as f64,
        mean_goodput_mbps: Some(12.5),
        uplink_mbps: Some(1.0),
        level: Some(8.0),
        wait_p50_ms: Some(2.0),
        wait_p95_ms: Some(5.0),
        sensor: Some("block-ack".to_owned()),
        confidence: Some(0.9),
        held_packets: Some(3),
        share: Some(0.25),
        limited_by: "fair-share".to_owned(),
        mode: "controlled".to_owned(),
        phy_mbps: Some(300.0),
        sojourn_p50_ms: Some(1.0),
        sojourn_p95_ms: Some(3.0),
        wifi_delay_ms: Some(3.0),
        backhaul_rtt_ms: Some(20.0),
        backhaul_delay_ms: Some(1.0),
        backhaul_limit_mbps: Some(40.0),
        ..EdgeStationStatus::default()
    }
}

fn status(stations: usize) -> Arc<EdgeStatus> {
    Arc::new(EdgeStatus {
        version: "1".to_owned(),
        wan: "eth0".to_owned(),
        sent: 7,
        reports_refused: 3,
        access_points: vec![ApStatus {
            name: "hall".to_owned(),
            aimed_round_ms: Some(4.0),
            price: Some(1.0),
            air_of_others: Some(0.1),
            least_latency_ms: Some(9.0),
            stations: (0..stations).map(station).collect(),
            ..ApStatus::default()
        }],
        ..EdgeStatus::default()
    })
}

fn series_of(text: &str, label: &str) -> usize {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.filter(|line| line.contains(label)).count()
}

#[test]
fn values_stand_under_conventional_names_with_base_units() {
    let text = text(&status(1));
    let labels = "{ap=\"hall\",station=\"02:00:00:00:00:00\"}";
    for line in [
        "# TYPE airpace_station_goodput_bits_per_second gauge".to_owned(),
        format!("airpace_station_goodput_bits_per_second{labels} 12500000.0"),
        format!("airpace_station_ap_wait_p95_seconds{labels} 0.005"),
        format!("airpace_station_air_share_ratio{labels} 0.25"),
        "# TYPE airpace_frames_sent counter".to_owned(),
        "airpace_frames_sent_total 7.0".to_owned(),
        "airpace_reports_refused_total 3.0".to_owned(),
        "airpace_ap_aimed_round_seconds{ap=\"hall\"} 0.004".to_owned(),
        "airpace_pacing_suspended 0.0".to_owned(),
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    let limit = "airpace_station_limited_by{ap=\"hall\",station=\"02:00:00:00:00:00\",cause=";
    assert!(
        text.contains(&format!("{limit}\"fair-share\"}} 1.0")),
        "{text}"
    );
    assert!(
        text.contains(&format!("{limit}\"backhaul\"}} 0.0")),
        "{text}"
    );
    assert!(text.ends_with("# EOF\n"));
}

#[test]
fn a_station_has_at_most_60_series_and_the_stations_are_bounded() {
    let one = text(&status(1));
    let series = series_of(&one, "station=\"02:00:00:00:00:00\"");
    assert!((30..=60).contains(&series), "{series} series");
    let many = text(&status(1000));
    let told = "airpace_stations_without_series 744.0";
    assert!(many.lines().any(|line| line == told));
    let weights = many
        .lines()
        .filter(|line| line.starts_with("airpace_station_weight{"));
    assert_eq!(weights.count(), MOST_STATIONS);
    // Those to which most is sent.
    assert!(many.contains("02:00:00:00:03:e7") && !many.contains("02:00:00:00:00:00\""));
}

#[test]
fn a_station_that_has_left_leaves_no_series() {
    assert!(text(&status(2)).contains("02:00:00:00:00:01"));
    assert!(!text(&status(1)).contains("02:00:00:00:00:01"));
}

#[test]
fn a_name_cannot_forge_series() {
    let mut forged = (*status(1)).clone();
    forged.access_points[0].stations[0].name = Some("x\"} 1\nforged{a=\"\\".to_owned());
    let text = text(&Arc::new(forged));
    assert!(
        text.lines().all(|line| !line.starts_with("forged")),
        "{text}"
    );
    assert!(text.contains(r#"name="x\"} 1\nforged{a=\"\\""#), "{text}");
}

#[test]
fn what_is_not_known_has_no_series() {
    let mut unknown = (*status(1)).clone();
    unknown.access_points[0].stations[0].mean_goodput_mbps = None;
    unknown.access_points[0].stations[0].share = Some(f64::NAN);
    let text = text(&Arc::new(unknown));
    assert!(
        !text.contains("airpace_station_goodput_bits_per_second{"),
        "{text}"
    );
    assert!(!text.contains("airpace_station_air_share_ratio{"), "{text}");
}

#[test]
fn the_names_are_those_that_are_written() {
    let text = text(&status(1));
    let mut written = BTreeSet::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split(['{', ' ']).next().unwrap_or_default();
        written.insert(name.to_owned());
    }
    assert_eq!(written, names());
}

#[test]
fn the_causes_are_those_that_the_box_tells() {
    use strum::IntoEnumIterator as _;
    let told: Vec<String> = airpace_edge::inline::LimitedBy::iter()
        .map(|cause| cause.to_string())
        .collect();
    assert_eq!(told, station::CAUSES);
}
