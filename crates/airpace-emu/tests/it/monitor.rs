//! A monitor interface shows what was on the air.

use super::{config, start, station};
use airpace_core::phy::TxRate;
use airpace_core::wire::ieee80211::{DataHeader, Direction, split_snap};
use airpace_core::wire::radiotap::Radiotap;
use airpace_emu::{BSSID, Emulator, Monitor, station_mac};
use airpace_net::packet::PacketSocket;
use airpace_net::udp::ReceiveBatch;
use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// One MPDU as the monitor shows it.
#[derive(Clone, Debug)]
struct Heard {
    reference: u32,
    tsft_us: u64,
    rate: TxRate,
    sequence: u16,
    retry: bool,
    last: bool,
    packet: Vec<u8>,
    length: usize,
}

fn parse(bytes: &[u8], length: usize) -> Heard {
    let (radiotap, at) = Radiotap::parse(bytes).unwrap();
    let frame = &bytes[at..];
    let (header, n) = DataHeader::parse(frame).unwrap();
    assert_eq!(header.direction, Direction::FromDs);
    assert_eq!(
        (header.receiver, header.transmitter),
        (station_mac(0), BSSID)
    );
    let ampdu = radiotap.ampdu.unwrap();
    Heard {
        reference: ampdu.reference,
        tsft_us: radiotap.tsft_us.unwrap(),
        rate: radiotap.rate().unwrap(),
        sequence: header.sequence,
        retry: header.retry,
        last: ampdu.flags & airpace_core::wire::radiotap::Ampdu::IS_LAST != 0,
        packet: split_snap(&frame[n..]).unwrap().1.to_vec(),
        length,
    }
}

/// Sends `n` datagrams at once from the server to the first station and returns the MPDUs that its
/// monitor shows.
fn listen(emulator: &Emulator, n: u16) -> Vec<Heard> {
    let network = emulator.network();
    let monitor = network
        .station(0)
        .run(|| PacketSocket::open("mon0", 1 << 22).unwrap())
        .unwrap();
    let _bound = network
        .station(0)
        .run(|| UdpSocket::bind("10.77.0.10:9").unwrap())
        .unwrap();
    let socket = network
        .server()
        .run(|| UdpSocket::bind("10.77.0.1:0").unwrap())
        .unwrap();
    for i in 0..n {
        let mut payload = [0; 1000];
        payload[..2].copy_from_slice(&i.to_be_bytes());
        socket.send_to(&payload, "10.77.0.10:9").unwrap();
    }
    let (mut heard, mut batch) = (Vec::new(), ReceiveBatch::new(64, 2048));
    let begun = Instant::now();
    while heard.len() < usize::from(n) && begun.elapsed() < Duration::from_secs(5) {
        monitor.receive(&mut batch).unwrap();
        heard.extend(batch.frames().map(|f| parse(f.bytes, f.length)));
        std::thread::sleep(Duration::from_millis(1));
    }
    heard
}

#[test]
fn every_mpdu_is_shown_with_its_ampdu_rate_and_packet() {
    let Some(emulator) = start(config(&[9])) else {
        return;
    };
    let heard = listen(&emulator, 150);
    let report = emulator.stop().unwrap();
    assert_eq!(heard.len(), 150);
    for (i, h) in heard.iter().enumerate() {
        assert_eq!(usize::from(h.sequence), i);
        assert_eq!(h.packet.len(), 1028);
        assert_eq!(
            usize::from(u16::from_be_bytes([h.packet[28], h.packet[29]])),
            i
        );
        assert_eq!(h.rate, station(9).rate);
    }
    // The reference number and the time change together, after the last subframe of an A-MPDU.
    let ends: Vec<bool> = heard.iter().map(|h| h.last).collect();
    let changes: Vec<bool> = heard
        .windows(2)
        .map(|w| w[0].reference != w[1].reference)
        .collect();
    let times: Vec<bool> = heard
        .windows(2)
        .map(|w| w[0].tsft_us != w[1].tsft_us)
        .collect();
    assert_eq!(ends[..149], changes[..]);
    assert_eq!(changes, times);
    let frames = 1 + changes.iter().filter(|&&c| c).count() as u64;
    assert_eq!(report.stations[0].down.frames, frames);
    assert_eq!(report.stray.unheard, 0);
}

#[test]
fn retransmissions_have_the_retry_bit_and_complete_the_sequence() {
    let mut config = config(&[9]);
    config.cell.stations[0].loss = 0.2;
    config.monitor = Monitor::Snap(80);
    let Some(emulator) = start(config) else {
        return;
    };
    let heard = listen(&emulator, 300);
    let report = emulator.stop().unwrap();
    assert!(heard.iter().any(|h| h.retry) && heard.iter().any(|h| !h.retry));
    let mut sequences: Vec<u16> = heard.iter().map(|h| h.sequence).collect();
    sequences.sort_unstable();
    // An MPDU may be lost for good after its last retry, and nothing is heard of it then.
    let lost = 300 - sequences.len();
    assert!(lost <= 1 && sequences.last() == Some(&299), "{sequences:?}");
    sequences.dedup();
    assert_eq!(sequences.len(), 300 - lost);
    assert!(
        heard
            .iter()
            .all(|h| h.packet.len() == 80 - 26 - 8 && h.length < 160)
    );
    assert_eq!(report.stations[0].down.packets, 300);
}

#[test]
fn tcpdump_decodes_the_frames_as_wifi() {
    if Command::new("tcpdump")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_err()
    {
        println!("SKIPPED, NOTHING WAS TESTED: no tcpdump");
        return;
    }
    let Some(emulator) = start(config(&[9])) else {
        return;
    };
    // With whole packets and --immediate-mode, libpcap's ring has room for eight frames only, and
    // the burst has thirty.
    let mut command = Command::new("timeout");
    command
        .args([
            "20",
            "tcpdump",
            "-n",
            "-i",
            "mon0",
            "-c",
            "20",
            "-s",
            "256",
            "-l",
            "--immediate-mode",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut dump = emulator.network().station(0).spawn(command).unwrap();
    // It prints "listening on mon0, link-type …" when it is ready. As root of a user namespace, it
    // cannot change to its unprivileged user.
    let lines = BufReader::new(dump.stderr.take().unwrap()).lines();
    let is_ready = |line: &String| line.contains("listening") || line.contains("Couldn't change");
    let message = lines
        .map_while(Result::ok)
        .find(is_ready)
        .unwrap_or_default();
    if message.contains("Couldn't change") {
        println!("SKIPPED, NOTHING WAS TESTED: {message}");
        dump.wait().unwrap();
        return;
    }
    assert!(message.contains("IEEE802_11_RADIO"), "{message}");
    listen(&emulator, 30);
    let output = dump.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(text.lines().count(), 20);
    assert!(
        text.contains("10.77.0.1.") && text.contains("> 10.77.0.10.9: UDP, length 1000"),
        "{text}"
    );
}
