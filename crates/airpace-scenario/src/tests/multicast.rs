//! Flows to all stations of an access point.

use super::*;

const CELL: &str = "\
warm_up = \"1 s\"
duration = \"5 s\"
[[node]]
name = \"server\"
kind = \"host\"
[[node]]
kind = \"ap\"
[[node]]
kind = \"station\"
count = 3
loss = [0.0, 0.5, 0.0]
[[wire]]
a = \"server\"
b = \"ap\"
[[flow]]
name = \"tv\"
kind = \"multicast\"
to = \"ap\"
rate = \"1 Mbit/s\"
";

#[test]
fn a_packet_for_all_is_sent_once_at_the_lowest_basic_rate_and_not_acknowledged() {
    for settings in [&[][..], &["channel.reception=sinr"], &["flow.tv.from=ap"]] {
        let summary = finished(&loaded(CELL, settings)).summary;
        let [link] = &summary.links[..] else {
            panic!("{:?}", summary.links);
        };
        assert_eq!((&*link.from, &*link.to), ("ap", "ap"));
        // 1470 bytes of payload, 28 of IP and UDP, 8 of LLC, 26 of header and 4 of FCS are 1536 bytes;
        // with service and tail 12,310 bits, 513 symbols of 24 bits and 4 µs, after 20 µs of preamble.
        // 1 Mbit/s is 85.03 packets a second.
        let (airtime_s, packets) = (2_072e-6, 1e6 / (1_470.0 * 8.0));
        let due = airtime_s * packets;
        assert!((link.airtime_share / due - 1.0).abs() < 0.005, "{link:?}");
        assert_eq!(link.level, 1.0);
        // Beacons are the rest of the time for which the channel is busy: 236 of 102,400 µs.
        let busy = due + 236.0 / 102_400.0;
        let share = summary.totals.airtime_share;
        assert!((share / busy - 1.0).abs() < 0.01, "{share} {busy}");
        // Of three copies of each packet one is missed by half.
        let flow = &summary.flows[0];
        let share = flow.received as f64 / flow.sent as f64;
        assert!((share - 2.5 / 3.0).abs() < 0.03, "{share}");
        assert_eq!(flow.dropped["missed"], flow.sent - flow.received);
        assert!((flow.goodput_mbps / 2.5 - 1.0).abs() < 0.05, "{flow:?}");
        let run = &summary.totals.run;
        assert_eq!(run.sent, run.delivered + run.dropped + run.held);
    }
}

#[test]
fn multicast_leaves_the_others_what_it_does_not_take() {
    let text =
        format!("{CELL}[[flow]]\nname = \"load\"\nkind = \"saturate\"\nto = \"station-1\"\n");
    let goodput = |settings: &[&str]| {
        let summary = finished(&loaded(&text, settings)).summary;
        let load = summary.flows.iter().find(|flow| flow.name == "load");
        load.unwrap().goodput_mbps
    };
    let share = goodput(&[]) / goodput(&["flow.tv.count=0"]);
    // 17.6 % and an access to the channel for each packet.
    assert!((0.78..0.83).contains(&share), "{share}");
}

#[test]
fn multicast_needs_an_access_point() {
    for to in ["station", "each station", "server"] {
        let text = CELL.replace("to = \"ap\"", &format!("to = \"{to}\""));
        let error = Loaded::new(&text, Vec::new(), &folder()).unwrap_err();
        let said = error.one_line("x.toml");
        assert!(said.contains("say with `to` which access point"), "{said}");
    }
}
