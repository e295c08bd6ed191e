//! An attacker's radio: it sends frames under other addresses, which monitor interfaces show.
//!
//! The frames reach the monitors alone. They take no airtime, so that only what is made of them
//! shows in a measurement.

use crate::bench::saturation::vht80;
use crate::cell::Cell;
use airpace_core::phy::{LegacyRate, TxRate};
use airpace_core::wire::control::BlockAck;
use airpace_core::wire::ieee80211::{DataHeader, MacAddr, write_frame};
use airpace_core::wire::radiotap::{Ampdu, Radiotap};
use airpace_emu::{BSSID, station_mac};
use airpace_units::Time;
use anyhow::Result;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// What the attacker sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Forgery {
    /// 100 A-MPDUs of 32 MPDUs a second to the first station.
    Aggregates(Transmitter),
    /// 1,000 frames of a single MPDU a second to the first station.
    Singles(Transmitter),
    /// 100 block acks a second in the name of the first station, each for 64 MPDUs.
    BlockAcks,
}

/// Under whose address the attacker sends data frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Transmitter {
    /// One of its own.
    Own,
    /// That of the access point.
    AccessPoint,
}

impl Transmitter {
    const fn address(self) -> MacAddr {
        match self {
            Self::Own => MacAddr([0x02, 0x66, 0, 0, 0, 0x66]),
            Self::AccessPoint => BSSID,
        }
    }
}

/// MPDUs in a forged A-MPDU.
const MPDUS: u16 = 32;
/// MPDUs that a forged block ack acknowledges, and sequence numbers that it moves on.
const ACKNOWLEDGED: u16 = 64;
/// Length of the IP packet in a forged MPDU.
const PACKET_BYTES: usize = 1500;
/// VHT MCS of the forged frames, 80 MHz and one stream.
const FORGED_MCS: u8 = 4;
/// Sequence numbers are counted modulo this.
const SEQUENCES: u16 = 4096;

impl Forgery {
    /// Frames on the air per second.
    const fn per_second(self) -> u32 {
        match self {
            Self::Aggregates(_) | Self::BlockAcks => 100,
            Self::Singles(_) => 1_000,
        }
    }
}

/// Forges frames until `is_over`, in a thread of its own.
pub(crate) fn forge<'s, 'e: 's>(
    scope: &'s Scope<'s, 'e>,
    forgery: Forgery,
    cell: &'e Cell,
    is_over: &'e AtomicBool,
) -> ScopedJoinHandle<'s, Result<u64>> {
    scope.spawn(move || {
        let begin = Instant::now();
        let mut forger = Forger::new(forgery)?;
        let mut sent: u64 = 0;
        while !is_over.load(Ordering::Relaxed) {
            let elapsed = begin.elapsed().as_secs_f64();
            let due = (elapsed * f64::from(forgery.per_second())) as u64;
            while sent < due {
                forger.send(cell)?;
                sent += 1;
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(sent)
    })
}

/// Builds the frames in a buffer that it keeps.
struct Forger {
    forgery: Forgery,
    data_rate: TxRate,
    sequence: u16,
    reference: u32,
    frame: Vec<u8>,
    packet: Vec<u8>,
}

impl Forger {
    fn new(forgery: Forgery) -> Result<Self> {
        let mut packet = vec![0; PACKET_BYTES];
        // The first byte of an IPv4 header.
        packet[0] = 0x45;
        Ok(Self {
            forgery,
            data_rate: vht80(FORGED_MCS)?,
            sequence: 0,
            reference: 1 << 31,
            frame: Vec::new(),
            packet,
        })
    }

    /// Sends one frame of its kind.
    fn send(&mut self, cell: &Cell) -> Result<()> {
        let now = cell.now();
        match self.forgery {
            Forgery::Aggregates(transmitter) => self.send_data(cell, now, transmitter, MPDUS),
            Forgery::Singles(transmitter) => self.send_data(cell, now, transmitter, 1),
            Forgery::BlockAcks => self.send_block_ack(cell, now),
        }
    }

    fn send_data(
        &mut self,
        cell: &Cell,
        now: Time,
        transmitter: Transmitter,
        mpdus: u16,
    ) -> Result<()> {
        self.reference = self.reference.wrapping_add(1);
        for index in 0..mpdus {
            let radiotap = Radiotap {
                ampdu: Some(Ampdu::new(self.reference, index + 1 == mpdus)),
                ..heard_at(now)
            };
            self.frame.clear();
            radiotap.with_rate(self.data_rate).write(&mut self.frame);
            let (station, from) = (station_mac(0), transmitter.address());
            let header = DataHeader::downlink(station, from, self.sequence, false);
            write_frame(&header, &self.packet, false, &mut self.frame);
            // What the interface has no room for is lost, as on the air.
            cell.network().show_on_monitor(0, &self.frame)?;
            self.sequence = (self.sequence + 1) % SEQUENCES;
        }
        Ok(())
    }

    fn send_block_ack(&mut self, cell: &Cell, now: Time) -> Result<()> {
        let rate = TxRate::legacy(LegacyRate::Mbps24);
        self.frame.clear();
        heard_at(now).with_rate(rate).write(&mut self.frame);
        BlockAck {
            receiver: BSSID,
            transmitter: station_mac(0),
            tid: 0,
            start: self.sequence,
            bitmap: &[0xff; 8],
        }
        .write(&mut self.frame);
        cell.network().show_on_radio(0, &self.frame)?;
        self.sequence = (self.sequence + ACKNOWLEDGED) % SEQUENCES;
        Ok(())
    }
}

/// The radiotap header of a frame that the radio hears now.
fn heard_at(now: Time) -> Radiotap {
    Radiotap {
        tsft_us: Some(now.as_nanos() / 1_000),
        ..Radiotap::default()
    }
}
