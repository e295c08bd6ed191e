//! The data file of Flent (`.flent.gz`), version 4 of its format, so that `flent -i` plots a
//! measurement. Source: `flent/resultset.py` of Flent 2.1.1.

use super::Report;
use serde_json::{Value, json};

/// Version of the format.
const FORMAT: u32 = 4;
/// Names of series that Flent's test `tcp_1down` has, whose plots then work.
const TEST: &str = "tcp_1down";
const GOODPUT: &str = "TCP download";
const LATENCY: &str = "Ping (ms) ICMP";

/// The measurement as a data file of Flent: a gzip member. `unix_s` is the time at which the
/// measurement began, in seconds since 1970, and `title` appears in plots.
///
/// The latency series has the mean duration of requests on connections of their own, although Flent
/// calls it a ping.
#[must_use]
pub fn data_file(report: &Report, unix_s: u64, title: &str) -> Vec<u8> {
    gzip(document(report, unix_s, title).to_string().as_bytes())
}

fn document(report: &Report, unix_s: u64, title: &str) -> Value {
    let time = date(unix_s);
    let settings = &report.settings;
    let step = settings.interval.as_secs_f64();
    let length = report.intervals.last().map_or(0.0, |last| last.at_s);
    let raw = |value: fn(&super::Interval) -> Option<f64>| -> Vec<Value> {
        let at = |interval: &super::Interval| unix_s as f64 + interval.at_s;
        report
            .intervals
            .iter()
            .filter_map(|i| Some(json!({ "t": at(i), "val": value(i)?, "dur": step })))
            .collect()
    };
    let series: fn(&super::Interval) -> Option<f64> = |interval| Some(interval.goodput_mbps);
    let latency: fn(&super::Interval) -> Option<f64> = |interval| interval.request_ms;
    let values = |value: fn(&super::Interval) -> Option<f64>| -> Vec<Option<f64>> {
        report.intervals.iter().map(value).collect()
    };
    let x_values: Vec<f64> = report.intervals.iter().map(|i| i.at_s).collect();
    json!({
        "version": FORMAT,
        "metadata": {
            "NAME": TEST,
            "TITLE": title,
            "NOTE": "airpace tool responsiveness; the latency is that of TCP requests",
            "TIME": time,
            "T0": time,
            "HOST": settings.to.ip().to_string(),
            "HOSTS": [settings.to.ip().to_string()],
            "LOCAL_HOST": "",
            "LENGTH": length,
            "TOTAL_LENGTH": length,
            "STEP_SIZE": step,
            "IP_VERSION": if settings.to.is_ipv4() { 4 } else { 6 },
            "FLENT_VERSION": "2.1.1",
            "DATA_FILENAME": "airpace.flent.gz",
            "TEST_PARAMETERS": { "rpm": report.responsiveness.rpm, "qoo": report.qoo },
            "SERIES_META": {
                GOODPUT: { "UNITS": "Mbits/s", "MEAN_VALUE": report.goodput_mbps },
                LATENCY: { "UNITS": "ms", "MEAN_VALUE": report.request_ms.mean },
            },
        },
        "x_values": x_values,
        "results": { GOODPUT: values(series), LATENCY: values(latency) },
        "raw_values": { GOODPUT: raw(series), LATENCY: raw(latency) },
    })
}

/// A time as Flent writes it, in UTC.
fn date(unix_s: u64) -> String {
    let (days, second) = (unix_s / 86_400, unix_s % 86_400);
    // The civil calendar from days since 1970 (Howard Hinnant, "chrono-compatible low-level date
    // algorithms", `civil_from_days`), for dates after 1970.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = 400 * era + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.000000Z")
}

/// A gzip member of stored blocks (RFC 1952, RFC 1951 section 3.2.4): the files are small, and the
/// program needs no compressor otherwise.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut file = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let mut blocks = bytes.chunks(usize::from(u16::MAX)).peekable();
    if blocks.peek().is_none() {
        file.extend([1, 0, 0, 0xff, 0xff]);
    }
    while let Some(block) = blocks.next() {
        file.push(u8::from(blocks.peek().is_none()));
        // A chunk has at most 65535 bytes.
        let length = block.len() as u16;
        file.extend(length.to_le_bytes());
        file.extend((!length).to_le_bytes());
        file.extend(block);
    }
    file.extend(crc32(bytes).to_le_bytes());
    // Modulo 2³², as the format has it.
    file.extend((bytes.len() as u32).to_le_bytes());
    file
}

/// The checksum of RFC 1952, section 8.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for &byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            let mask = 0_u32.wrapping_sub(crc & 1);
            crc = (crc >> 1) ^ (0xedb8_8320 & mask);
        }
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::super::{Interval, Settings};
    use super::*;
    use crate::quality::Responsiveness;
    use crate::results::Quantiles;

    fn report() -> Report {
        let interval = |n: u32| Interval {
            at_s: f64::from(n),
            connections: 1,
            goodput_mbps: 50.0 + f64::from(n),
            rpm: Some(1_000.0),
            request_ms: (n != 3).then_some(20.0),
        };
        Report {
            settings: Settings::new(([192, 0, 2, 1], 5201).into()),
            responsiveness: Responsiveness::default(),
            grade: None,
            is_stable: true,
            goodput_mbps: 55.0,
            qoo: Some(93.0),
            probe_loss: 0.0,
            connect_ms: Quantiles::default(),
            request_ms: Quantiles::default(),
            loaded_ms: Quantiles::default(),
            intervals: (1..=10).map(interval).collect(),
        }
    }

    #[test]
    fn every_series_has_a_value_or_nothing_for_each_time() {
        let document = document(&report(), 1_790_000_000, "a title");
        assert_eq!(document["version"], 4);
        let times = document["x_values"].as_array().unwrap().len();
        for name in [GOODPUT, LATENCY] {
            let values = document["results"][name].as_array().unwrap();
            assert_eq!(values.len(), times, "{name}");
        }
        assert!(document["results"][LATENCY][2].is_null());
        let raw = document["raw_values"][LATENCY].as_array().unwrap();
        assert_eq!(raw.len(), times - 1);
        assert_eq!(document["metadata"]["TIME"], "2026-09-21T14:13:20.000000Z");
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(date(951_782_399), "2000-02-28T23:59:59.000000Z");
        assert_eq!(date(951_782_400), "2000-02-29T00:00:00.000000Z");
        assert_eq!(date(4_102_444_800), "2100-01-01T00:00:00.000000Z");
    }

    #[test]
    fn the_checksum_is_that_of_gzip() {
        // The check value of CRC-32/ISO-HDLC.
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn python_reads_the_file_and_flent_does_where_it_is_installed() {
        let path = std::env::temp_dir().join(format!("airpace-{}.flent.gz", std::process::id()));
        std::fs::write(&path, data_file(&report(), 1_790_000_000, "a title")).unwrap();
        let script = "import gzip, json, sys; d = json.load(gzip.open(sys.argv[1])); print(len(d['x_values']))";
        let python = std::process::Command::new("python3")
            .args(["-c", script])
            .arg(&path)
            .output();
        let flent = std::process::Command::new("flent")
            .args(["-f", "summary", "-i"])
            .arg(&path)
            .output();
        std::fs::remove_file(&path).unwrap();
        match python {
            Ok(output) => assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "10"),
            Err(error) => eprintln!("SKIPPED, NOTHING WAS TESTED: python3: {error}"),
        }
        match flent {
            Ok(output) => {
                let text = String::from_utf8_lossy(&output.stdout);
                assert!(text.contains(GOODPUT) && text.contains("55."), "{text}");
            }
            Err(error) => eprintln!("flent is not installed, so it was not asked: {error}"),
        }
    }
}
