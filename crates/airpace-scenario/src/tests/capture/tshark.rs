//! What Wireshark makes of a capture.

use super::super::*;
use super::{CONVERSATIONS, capture};
use std::collections::BTreeMap;
use std::process::Command;

/// Numbers of packets that fit a display filter; `None` without tshark.
fn counts(name: &str, finished: &Finished, filters: &[&'static str]) -> Option<Counts> {
    let record = file::Record {
        pcap: true,
        ..file::Record::default()
    };
    let bytes = capture(name, finished, &record);
    let path = std::env::temp_dir().join(format!("airpace-{name}-{}.pcap", std::process::id()));
    fs::write(&path, bytes).unwrap();
    let mut counts = Counts::new();
    for filter in filters {
        let mut command = Command::new("tshark");
        command.args(["-n", "-o", "tcp.check_checksum:TRUE"]);
        command.args(["-o", "ip.check_checksum:TRUE", "-Y", filter]);
        command.args(["-T", "fields", "-e", "frame.number", "-r"]);
        let Ok(output) = command.arg(&path).output() else {
            eprintln!("tshark is not installed: what Wireshark makes of captures is NOT tested");
            fs::remove_file(&path).unwrap();
            return None;
        };
        assert!(output.status.success(), "{filter}: {output:?}");
        let lines = output.stdout.split(|&byte| byte == b'\n');
        counts.insert(filter, lines.filter(|line| !line.is_empty()).count());
    }
    fs::remove_file(&path).unwrap();
    Some(counts)
}

type Counts = BTreeMap<&'static str, usize>;

/// Everything that Wireshark finds wrong, and every retransmission: nothing is lost on this channel.
const FLAWS: &str = "_ws.malformed || tcp.checksum.status == \"Bad\" || ip.checksum.status == \"Bad\" \
     || tcp.analysis.retransmission || tcp.analysis.fast_retransmission \
     || tcp.analysis.spurious_retransmission || tcp.analysis.out_of_order \
     || tcp.analysis.lost_segment || tcp.analysis.ack_lost_segment || tcp.analysis.zero_window \
     || tcp.analysis.window_full || tcp.analysis.reused_ports";

const KINDS: [&str; 7] = [
    "tcp.stream == 0 && tcp.flags.syn == 1",
    "tcp.stream == 0 && tcp.flags.fin == 1",
    "tcp.len > 0",
    "icmp.type == 0",
    "wlan.fc.type_subtype == 0x1b",
    "wlan.fc.type_subtype == 0x19",
    "wlan.fc.type_subtype == 0x08",
];

#[test]
fn wireshark_follows_conversations_and_finds_no_flaw() {
    let finished = finished(&loaded(CONVERSATIONS, &[]));
    let filters = [[FLAWS].as_slice(), &KINDS].concat();
    let Some(counts) = counts("shark", &finished, &filters) else {
        return;
    };
    assert_eq!(counts[FLAWS], 0);
    for kind in KINDS {
        assert!(counts[kind] > 0, "{kind}: {counts:?}");
    }
}

#[test]
fn wireshark_reads_the_packets_of_an_amsdu() {
    let finished = finished(&loaded(CONVERSATIONS, &["channel.amsdu=4 kB"]));
    let several = "wlan.qos.amsdupresent == 1 && tcp.len > 0 && frame.len > 2500";
    let Some(counts) = counts("shark-amsdu", &finished, &[FLAWS, several]) else {
        return;
    };
    assert_eq!(counts[FLAWS], 0);
    assert!(counts[several] > 10, "{counts:?}");
}
