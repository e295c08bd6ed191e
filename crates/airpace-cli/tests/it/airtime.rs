//! `airpace airtime`.

use crate::shared::{airpace, assert_close, assert_refused, json};

#[test]
fn the_reference_frame_has_the_duration_of_the_standard_and_of_ns3() {
    let line =
        "airtime --standard vht --width 80 --nss 1 --mcs 9 --gi 800 --mpdus 32 --payload 1470";
    let frame = json(line);
    assert_eq!(frame["ppdu_us"], 1052.0);
    assert_eq!(frame["preamble_us"], 40.0);
    assert_eq!(frame["symbols"], 253);
    assert_eq!(frame["bits_per_symbol"], 1560);
    assert_eq!(frame["subframe_bytes"], 1540);
    assert_eq!(frame["response_us"], 32.0);
    let ns3 = json(&format!("{line} --timing ns3"));
    assert_eq!(ns3["ppdu_us"], 1048.0);
    assert_close(ns3["cycle_us"].as_f64().unwrap(), 1206.5, 1e-9);
}

#[test]
fn a_single_mpdu_is_answered_by_an_ack() {
    let frame = json("airtime --mcs 9 --timing ns3");
    assert_eq!(frame["ppdu_us"], 68.0);
    assert_eq!(frame["response"], "ack");
    assert_eq!(frame["response_us"], 28.0);
}

#[test]
fn the_parts_add_up() {
    let frame = json("airtime --standard he --width 160 --nss 2 --mcs 11 --gi 1600 --mpdus 100");
    let us = |part: &str| frame[part].as_f64().unwrap();
    assert_close(us("preamble_us") + us("data_us"), us("ppdu_us"), 1e-12);
    assert_close(
        us("symbols") * us("symbol_us") + us("symbol_padding_us"),
        us("data_us"),
        1e-12,
    );
    let bytes: u64 = frame["mpdu"]
        .as_object()
        .unwrap()
        .values()
        .map(|v| v.as_u64().unwrap())
        .sum();
    assert_eq!(frame["subframe_bytes"], bytes);
    let cycle = [
        "aifs_us",
        "mean_backoff_us",
        "ppdu_us",
        "sifs_us",
        "response_us",
    ]
    .map(us)
    .iter()
    .sum();
    assert_close(us("cycle_us"), cycle, 1e-12);
}

#[test]
fn the_table_names_every_part() {
    let text = airpace("airtime --mcs 9 --mpdus 32").stdout;
    for part in [
        "PPDU 1052.0 µs",
        "AIFS",
        "back-off",
        "preamble",
        "253 symbols",
        "SIFS",
        "block-ack",
        "24 Mbit/s",
    ] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
}

#[test]
fn rates_without_mcs_are_named() {
    let slowest = json("airtime --rate dsss/1");
    assert_eq!(slowest["standard"], "dsss");
    assert_eq!(
        (&slowest["ppdu_us"], &slowest["aifs_us"]),
        (&12_480.0.into(), &70.0.into())
    );
    assert_eq!(
        (&slowest["response_us"], &slowest["sifs_us"]),
        (&304.0.into(), &10.0.into())
    );
    let short = json("airtime --rate dsss/5.5 --short-preamble");
    assert_eq!(
        (&short["preamble_us"], &short["response_rate_mbps"]),
        (&96.0.into(), &5.5.into())
    );
    let low = json("airtime --rate ofdm/54 --band 2.4");
    assert_eq!(
        (&low["signal_extension_us"], &low["cycle_us"]),
        (&6.0.into(), &json("airtime --rate ofdm/54")["cycle_us"])
    );
    let text = airpace("airtime --rate ofdm/6 --band 2.4").stdout;
    assert!(
        text.contains("signal extension") && text.contains("at 6 Mbit/s"),
        "{text}"
    );
}

#[test]
fn impossible_legacy_rates_are_refused() {
    assert_refused("airtime --rate dsss/3", "dsss/5.5");
    assert_refused(
        "airtime --rate dsss/1 --short-preamble",
        "no short preamble",
    );
    assert_refused(
        "airtime --rate ofdm/6 --short-preamble",
        "no short preamble",
    );
    assert_refused("airtime --rate dsss/1 --band 5", "no DSSS on 5 GHz");
    assert_refused("airtime --mcs 3 --band 2.4", "no VHT on 2.4 GHz");
    assert_refused("airtime --rate ofdm/6 --mpdus 2", "at most 1");
    assert_refused("airtime --rate ofdm/6 --mcs 2", "cannot be used with");
    assert_refused("airtime", "--mcs");
}

#[test]
fn impossible_rates_are_refused_with_what_is_possible() {
    assert_refused("airtime --mcs 9 --width 20", "choose another --mcs");
    assert_refused("airtime --mcs 10", "MCS 0 to 9");
    assert_refused("airtime --mcs 0 --nss 9", "1 to 8");
    assert_refused(
        "airtime --standard ht --mcs 9 --nss 1 --width 20",
        "2 spatial streams",
    );
    assert_refused("airtime --standard ht --mcs 3 --width 80", "20 or 40");
    assert_refused("airtime --standard vht --mcs 3 --gi 1600", "400 and 800");
    assert_refused("airtime --mcs 3 --width 30", "20, 40, 80 or 160");
    assert_refused("airtime --mcs 3 --gi NaN", "400, 800, 1600 or 3200");
    assert_refused("airtime --mcs 300", "--mcs");
    assert_refused("airtime --mcs 3 --standard ah", "ht, vht, he");
}

#[test]
fn frames_beyond_the_limits_of_an_ampdu_are_refused() {
    assert_refused("airtime --mcs 9 --mpdus 65", "at most 64");
    assert_refused("airtime --mcs 9 --mpdus 0", "at least one MPDU");
    assert_refused("airtime --mcs 0 --mpdus 60 --width 20", "duration: at most");
    assert_refused(
        "airtime --standard ht --width 20 --mcs 31 --nss 4 --mpdus 64",
        "bytes: at most 42",
    );
    assert_refused("airtime --mcs 9 --payload 99999999", "at most 2268");
}
