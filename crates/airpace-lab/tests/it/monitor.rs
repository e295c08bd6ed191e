//! An agent whose monitor interface disappears and comes back, or shows what was never delivered.

use crate::testbed;
use airpace_api::config::TelemetryDetail;
use airpace_core::wire::ieee80211::{DataHeader, MacAddr, write_frame};
use airpace_core::wire::radiotap::{Ampdu, INTERFACE_TYPE, Radiotap};
use airpace_lab::bench::datapath::{AGENT_OUTSIDE, Testbed};
use airpace_net::interfaces::interface_of;
use airpace_net::tun::{Tun, TunConfig};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A monitor interface on which the agent sees frames.
struct Monitor {
    device: Tun,
    station: MacAddr,
    sequence: u16,
    /// Bytes in an MPDU. Few do not exceed what is delivered; more are taken for forged.
    payload: usize,
}

impl Monitor {
    fn new(bed: &Testbed) -> Self {
        let config = TunConfig::link("mon0").with_link_type(INTERFACE_TYPE);
        let device = bed.agent_side.run(|| Tun::open(&config)).unwrap().unwrap();
        bed.agent_side.netlink().unwrap().set_up("mon0").unwrap();
        let wire = bed
            .agent_side
            .run(|| interface_of(AGENT_OUTSIDE.into()))
            .unwrap()
            .unwrap()
            .unwrap();
        Self {
            device,
            station: MacAddr(wire.hardware.unwrap()),
            sequence: 0,
            payload: 40,
        }
    }

    /// Shows the agent a frame of three MPDUs.
    fn show(&mut self) {
        let reference = u32::from(self.sequence);
        for _ in 0..3 {
            let mut frame = Vec::new();
            Radiotap {
                ampdu: Some(Ampdu::new(reference, false)),
                ..Radiotap::default()
            }
            .write(&mut frame);
            let header = DataHeader::downlink(self.station, MacAddr([2; 6]), self.sequence, false);
            write_frame(&header, &vec![0x45; self.payload], false, &mut frame);
            let _ = self.device.write(&frame);
            self.sequence = (self.sequence + 1) % 4096;
        }
    }
}

/// A testbed whose agent has a monitor interface, and its telemetry, a file of its own for the test
/// `name`; `None` where the system does not permit it.
fn monitored(name: &str) -> Option<(Testbed, PathBuf)> {
    let mut bed = testbed()?;
    let telemetry =
        std::env::temp_dir().join(format!("airpace-{name}-{}.jsonl", std::process::id()));
    let _ = std::fs::remove_file(&telemetry);
    bed.agent.monitor = Some("mon0".to_owned());
    bed.agent.telemetry = Some(telemetry.clone());
    bed.agent.telemetry_detail = TelemetryDetail::Slots;
    Some((bed, telemetry))
}

/// Shows frames, if there is a monitor, until the agent reports `source` as the source of its
/// slots. Returns whether it did within 15 s.
fn source_becomes(telemetry: &Path, source: &str, mut monitor: Option<&mut Monitor>) -> bool {
    let wanted = format!("\"source\":\"{source}\"");
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(15) {
        if let Some(monitor) = &mut monitor {
            monitor.show();
        }
        std::thread::sleep(Duration::from_millis(2));
        let text = std::fs::read_to_string(telemetry).unwrap_or_default();
        if text
            .lines()
            .last()
            .is_some_and(|line| line.contains(&wanted))
        {
            return true;
        }
    }
    false
}

#[test]
fn a_monitor_that_disappears_is_used_again_when_it_is_back() {
    let Some((bed, telemetry)) = monitored("returning") else {
        return;
    };
    let mut monitor = Monitor::new(&bed);
    let (proxy, agent) = (bed.start_proxy().unwrap(), bed.start_agent().unwrap());
    assert!(source_becomes(&telemetry, "ampdu", Some(&mut monitor)));
    drop(monitor);
    // Without frames the agent counts datagrams at its socket. The proxy sends a keepalive every
    // second.
    assert!(source_becomes(&telemetry, "socket", None));
    let mut monitor = Monitor::new(&bed);
    assert!(source_becomes(&telemetry, "ampdu", Some(&mut monitor)));
    // Down and up again.
    bed.agent_side.netlink().unwrap().set_down("mon0").unwrap();
    assert!(source_becomes(&telemetry, "socket", None));
    bed.agent_side.netlink().unwrap().set_up("mon0").unwrap();
    assert!(source_becomes(&telemetry, "ampdu", Some(&mut monitor)));
    agent.stop().unwrap();
    proxy.stop().unwrap();
    std::fs::remove_file(&telemetry).unwrap();
}

#[test]
fn frames_beyond_what_was_delivered_are_not_believed() {
    let Some((bed, telemetry)) = monitored("forged") else {
        return;
    };
    let mut monitor = Monitor::new(&bed);
    let (proxy, agent) = (bed.start_proxy().unwrap(), bed.start_agent().unwrap());
    assert!(source_becomes(&telemetry, "ampdu", Some(&mut monitor)));
    // Some 600 kB/s of frames of which nothing is delivered.
    monitor.payload = 400;
    assert!(source_becomes(&telemetry, "socket", Some(&mut monitor)));
    // They are believed again after five seconds in agreement.
    monitor.payload = 40;
    assert!(source_becomes(&telemetry, "ampdu", Some(&mut monitor)));
    agent.stop().unwrap();
    proxy.stop().unwrap();
    std::fs::remove_file(&telemetry).unwrap();
}
