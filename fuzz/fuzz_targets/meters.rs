//! Frames of monitor interfaces to both meters, that of the agent and that of a radio near the access
//! point: levels are finite, and no more is counted than was heard.
#![no_main]

use airpace_core::packet::Packet;
use airpace_core::phy::AccessCategory;
use airpace_core::queue::FqCoDelConfig;
use airpace_core::report::SlotReport;
use airpace_core::sensor::ack_burst::DownlinkPacket;
use airpace_core::wire::control::BlockAck;
use airpace_core::wire::ieee80211::{DataHeader, Direction, MacAddr};
use airpace_core::wire::radiotap::{Ampdu, Flags, HtMcs, Radiotap, VhtUser};
use airpace_core::wire::report::{decode, encode};
use airpace_core::wire::tcp::PureAck;
use airpace_edge::agent::{Agent, AgentConfig, Message, UplinkPacket};
use airpace_edge::inline::Observer;
use airpace_units::{StationId, Time};
use core::hash::Hasher;
use core::time::Duration;
use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;

const STEPS: usize = 48;
const BSSID: MacAddr = MacAddr([2, 0, 0, 0, 9, 9]);
/// The last one is not a station.
const STATIONS: [MacAddr; 3] = [
    MacAddr([2, 0, 0, 0, 0, 1]),
    MacAddr([2, 0, 0, 0, 0, 2]),
    MacAddr([2, 0, 0, 0, 0, 3]),
];
/// Sequence numbers that one MPDU can move the count on by: half of their space.
const MOST_PER_MPDU: u64 = 2048;

/// A packet of the uplink, of which there are none.
#[derive(Debug)]
struct Nothing;

impl Packet for Nothing {
    fn bytes(&self) -> u32 {
        0
    }
    fn hash_flow<H: Hasher>(&self, _state: &mut H) {}
    fn mark_ce(&mut self) -> bool {
        false
    }
}

impl UplinkPacket for Nothing {
    fn pure_ack(&self) -> Option<PureAck> {
        None
    }
    fn is_same_flow(&self, _other: &Self) -> bool {
        false
    }
}

struct Meters {
    agent: Agent<Nothing>,
    radio: Observer,
    now: Time,
    /// Frames and messages that the agent was given in the slot that runs, and all before.
    given: u64,
    /// The sequence numbers that frames have.
    sequence: u16,
    counter: u64,
    delivered: u64,
    slot_end: Time,
}

const SLOT: Duration = Duration::from_millis(100);

impl Meters {
    fn new() -> Self {
        let config = AgentConfig {
            // The uplink is not used.
            queue: FqCoDelConfig {
                queues: 1,
                ..FqCoDelConfig::default()
            },
            ..AgentConfig::default()
        };
        let mut agent = Agent::new(Time::ZERO, &config, [3; 16]);
        agent.listen_for(STATIONS[0]);
        let mut radio = Observer::with_radio(SLOT, Some(BSSID));
        for (index, address) in STATIONS.into_iter().take(2).enumerate() {
            radio.join(Time::ZERO, index);
            radio.set_address(index, address);
        }
        Self {
            agent,
            radio,
            now: Time::ZERO,
            given: 0,
            sequence: 0,
            counter: 0,
            delivered: 0,
            slot_end: Time::ZERO + SLOT,
        }
    }

    fn step(&mut self, input: &mut Unstructured<'_>) -> Result<()> {
        match input.arbitrary::<u8>()? % 12 {
            0 => self.pass(Duration::from_micros(input.int_in_range(0..=20_000)?)),
            1 => self.pass(Duration::from_millis(input.int_in_range(0..=1_000)?)),
            2..=5 => {
                // An A-MPDU, with holes.
                let ampdu = Ampdu::new(input.arbitrary::<u8>()?.into(), false);
                let radiotap = radiotap(input, Some(ampdu))?;
                for _ in 0..input.int_in_range(1..=8)? {
                    self.data(input, &radiotap)?;
                }
            }
            6 => {
                let radiotap = radiotap(input, None)?;
                self.data(input, &radiotap)?;
            }
            7 => self.block_ack(input)?,
            8 => {
                // Anything, from the radiotap header on.
                let length = input.int_in_range(0..=120)?;
                let bytes = input.bytes(length.min(input.len()))?.to_vec();
                self.frame(&bytes, input.arbitrary::<u16>()?.into());
            }
            9 => {
                self.counter = match input.arbitrary::<u8>()? {
                    0..=199 => self.counter.wrapping_add(input.int_in_range(1..=20)?),
                    _ => input.arbitrary()?,
                };
                self.given += 1;
                self.agent.on_message(
                    self.now,
                    Message {
                        session: input.int_in_range(0..=1)?,
                        sequence: self.counter,
                        bytes: input.arbitrary::<u16>()?.into(),
                        category: AccessCategory::of_user_priority(input.int_in_range(0..=7)?),
                        delay_ns: input.arbitrary()?,
                    },
                );
            }
            10 => {
                let packet = DownlinkPacket {
                    bytes: input.arbitrary::<u16>()?.into(),
                    tcp: None,
                    quic: None,
                };
                for _ in 0..input.int_in_range(1..=8)? {
                    self.radio
                        .on_sent(self.now, input.int_in_range(0..=1)?, &packet);
                }
            }
            _ => {
                self.delivered = self
                    .delivered
                    .saturating_add(input.arbitrary::<u32>()?.into());
                self.agent.on_delivered(self.delivered);
            }
        }
        Ok(())
    }

    /// A data frame of the access point, or of a station to it.
    fn data(&mut self, input: &mut Unstructured<'_>, radiotap: &Radiotap) -> Result<()> {
        let what: u8 = input.arbitrary()?;
        self.sequence = match what {
            0..=219 => self.sequence.wrapping_add(u16::from(what % 8 != 7)),
            _ => input.arbitrary()?,
        } & 0x0fff;
        let station = *input.choose(&STATIONS)?;
        let mut header = DataHeader::downlink(station, BSSID, self.sequence, what % 16 == 15);
        header.protected = what & 64 == 0;
        if what % 32 == 31 {
            header.tid = Some(input.int_in_range(0..=15)?);
            header.amsdu = input.arbitrary()?;
        }
        if what % 64 == 63 {
            header.direction = Direction::ToDs;
            (header.receiver, header.transmitter) = (BSSID, station);
        }
        let mut bytes = Vec::new();
        radiotap.write(&mut bytes);
        header.write(&mut bytes);
        let payload: u16 = input.int_in_range(0..=2_000)?;
        let length = bytes.len() + usize::from(payload);
        self.frame(&bytes, length);
        Ok(())
    }

    fn block_ack(&mut self, input: &mut Unstructured<'_>) -> Result<()> {
        let bitmap: [u8; 8] = input.arbitrary()?;
        self.sequence = match input.arbitrary::<u8>()? {
            0..=219 => self.sequence.wrapping_add(input.int_in_range(0..=64)?),
            _ => input.arbitrary()?,
        } & 0x0fff;
        let station = *input.choose(&STATIONS)?;
        let (receiver, transmitter) = if input.ratio(1, 8)? {
            (station, BSSID)
        } else {
            (BSSID, station)
        };
        let block_ack = BlockAck {
            receiver,
            transmitter,
            tid: input.int_in_range(0..=7)?,
            start: self.sequence,
            bitmap: &bitmap,
        };
        let mut bytes = Vec::new();
        radiotap(input, None)?.write(&mut bytes);
        block_ack.write(&mut bytes);
        let length = bytes.len();
        self.frame(&bytes, length);
        Ok(())
    }

    fn frame(&mut self, bytes: &[u8], length: usize) {
        self.given += 1;
        self.agent.on_monitor_frame(self.now, bytes, length);
        self.radio.on_radio_frame(self.now, bytes, length);
    }

    fn pass(&mut self, span: Duration) {
        self.now = self.now.saturating_add(span);
        if let Some(report) = self.agent.handle_timeout(self.now) {
            self.check(&report);
            // What is sent is what the proxy reads.
            let mut read = decode(report.station, &encode(&report)).expect("it was just written");
            read.sender = report.sender;
            self.check(&read);
        }
        if self.now >= self.slot_end {
            self.slot_end = self.now + SLOT;
            for station in 0..2 {
                if let Some(report) = self.radio.close_slot(self.now, station) {
                    assert_eq!(report.station, StationId::from_index(station));
                    self.check_counts(&report);
                }
            }
            self.radio.close_cell();
        }
    }

    /// Checks a report of the agent.
    fn check(&self, report: &SlotReport) {
        self.check_counts(report);
        assert!(u64::from(report.frames) <= self.given, "{report:?}");
    }

    fn check_counts(&self, report: &SlotReport) {
        assert!(report.frames <= report.mpdus, "{report:?}");
        assert!(report.mpdus <= report.packets, "{report:?}");
        let most = self.given.saturating_mul(MOST_PER_MPDU * 64);
        assert!(u64::from(report.packets) <= most, "{report:?}");
        if let Some(level) = report.level() {
            assert!(level.is_finite() && level >= 1.0, "{report:?}");
        }
        for rate in [report.inverse_rate_sum, report.recent_inverse_rate] {
            assert!(rate.is_finite() && rate >= 0.0, "{report:?}");
        }
        assert!((0.0..=1.0).contains(&report.confidence), "{report:?}");
        if let Some((first, last)) = report.span {
            assert!(first <= last, "{report:?}");
        }
    }
}

fn radiotap(input: &mut Unstructured<'_>, ampdu: Option<Ampdu>) -> Result<Radiotap> {
    let what: u8 = input.arbitrary()?;
    let tsft_us = match what & 3 {
        0 => None,
        1 => Some(input.arbitrary()?),
        _ => Some(input.int_in_range(0..=10_000_000)?),
    };
    Ok(Radiotap {
        tsft_us,
        flags: (what & 4 == 0).then_some(Flags(what >> 3)),
        legacy_rate: (what & 32 != 0).then_some(what),
        ht: if what & 64 != 0 {
            Some(HtMcs {
                known: input.arbitrary()?,
                flags: input.arbitrary()?,
                mcs: input.arbitrary()?,
            })
        } else {
            None
        },
        vht: if what & 128 != 0 {
            Some(VhtUser {
                known: input.arbitrary()?,
                flags: input.arbitrary()?,
                bandwidth: input.arbitrary()?,
                mcs_nss: input.arbitrary()?,
                coding: 0,
                group_id: 0,
                partial_aid: 0,
            })
        } else {
            None
        },
        ampdu,
        ..Radiotap::default()
    })
}

fuzz_target!(|bytes: &[u8]| {
    let mut input = Unstructured::new(bytes);
    let mut meters = Meters::new();
    for _ in 0..STEPS {
        if input.is_empty() || meters.step(&mut input).is_err() {
            break;
        }
    }
    for _ in 0..3 {
        meters.pass(Duration::from_millis(400));
    }
});
