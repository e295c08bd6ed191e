//! Frames as a monitor interface shows them become a slot report. A hundred A-MPDUs of 16 packets
//! arrive within 100 ms; of each, the last packet is damaged and comes again in the next frame.
//!
//! ```text
//! $ cargo run -p airpace-examples --example meter
//! frames 100, packets 1599
//! level 15.99: packets that were sent again count in their first frame
//! a frame every 1.00 ms, at 390 Mbit/s
//! ```
#![expect(clippy::print_stdout, reason = "an example prints its results")]

use airpace_core::meter::{Meter, MeterConfig, Mpdu};
use airpace_core::phy::{GuardInterval, Standard, TxRate, Width};
use airpace_core::wire::ieee80211::{DataHeader, MacAddr, SNAP_BYTES, write_frame};
use airpace_core::wire::radiotap::{Ampdu, Radiotap};
use airpace_units::{StationId, Time};
use anyhow::Result;

const STATION: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const ACCESS_POINT: MacAddr = MacAddr([2, 0, 0, 0, 0, 0xff]);
const LEVEL: u16 = 16;

/// The bytes of one MPDU: radiotap header, 802.11 header, and an IP packet of 1500 bytes.
fn captured(ampdu: u16, sequence: u16, retry: bool) -> Result<Vec<u8>> {
    let rate = TxRate::new(Standard::Vht, Width::Mhz80, 1, 9, GuardInterval::Ns800)?;
    let radiotap = Radiotap {
        ampdu: Some(Ampdu::new(ampdu.into(), false)),
        ..Radiotap::default()
    };
    let mut bytes = Vec::new();
    radiotap.with_rate(rate).write(&mut bytes);
    let header = DataHeader::downlink(STATION, ACCESS_POINT, sequence, retry);
    write_frame(&header, &[0x45; 1_500], false, &mut bytes);
    Ok(bytes)
}

/// What the agent of a station does with a captured frame.
fn observe(meter: &mut Meter, arrival: Time, bytes: &[u8]) -> Result<()> {
    let (radiotap, frame_start) = Radiotap::parse(bytes)?;
    let (header, header_bytes) = DataHeader::parse(&bytes[frame_start..])?;
    let packet_bytes = bytes.len() - frame_start - header_bytes - SNAP_BYTES;
    meter.on_mpdu(&Mpdu::heard(
        arrival,
        &radiotap,
        &header,
        packet_bytes.try_into()?,
    ));
    Ok(())
}

fn main() -> Result<()> {
    let mut meter = Meter::new(MeterConfig::new(StationId(0)), Time::ZERO);
    for ampdu in 0..100 {
        let arrival = Time::from_micros(500 + 1_000 * u64::from(ampdu));
        let first = ampdu * LEVEL;
        if ampdu > 0 {
            observe(&mut meter, arrival, &captured(ampdu, first - 1, true)?)?;
        }
        for sequence in first..first + LEVEL - 1 {
            observe(&mut meter, arrival, &captured(ampdu, sequence, false)?)?;
        }
    }

    let report = meter.close_slot(Time::from_millis(100));
    let level = report.level().unwrap_or_default();
    let round_ms = report.round_s().unwrap_or_default() * 1e3;
    let rate_mbps = report.phy_rate_bps().unwrap_or_default() / 1e6;
    println!("frames {}, packets {}", report.frames, report.packets);
    println!("level {level:.2}: packets that were sent again count in their first frame");
    println!("a frame every {round_ms:.2} ms, at {rate_mbps:.0} Mbit/s");
    Ok(())
}
