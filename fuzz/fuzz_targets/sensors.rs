//! Packets as the in-line box sees them, in both directions, to the table of stations and all sensors:
//! no frame is invented or lost, tables stay bounded, and what a sensor reports makes sense.
#![no_main]

use airpace_core::packet::Packet;
use airpace_core::queue::FqCoDelConfig;
use airpace_core::report::SlotReport;
use airpace_core::sensor::ack_burst::{
    DownlinkPacket, DownlinkSegment, FlowKey, SpinBit, UplinkAck, UplinkQuic,
};
use airpace_core::sensor::waiting::WaitingMeter;
use airpace_core::wire::ieee80211::MacAddr;
use airpace_core::wire::tcp::Timestamps;
use airpace_core::wire::transport::SackBlock;
use airpace_edge::inline::{
    DownlinkFrame, Inline, InlineConfig, MediumConfig, Observer, StationChange, Uplink,
};
use airpace_edge::proxy::ProxyConfig;
use airpace_units::{StationId, Time};
use core::hash::Hasher;
use core::time::Duration;
use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use std::collections::BTreeSet;

const STEPS: usize = 48;
const SLOT: Duration = Duration::from_millis(100);
/// Addresses from which frames come, so that there are more than the table holds.
const ADDRESSES: u8 = 12;
const MOST_STATIONS: usize = 8;
const MOST_UNCONFIRMED: usize = 3;

/// A frame for a station, with a number of its own.
#[derive(Clone, Copy, Debug)]
struct Frame {
    number: u64,
    packet: DownlinkPacket,
}

impl Packet for Frame {
    fn bytes(&self) -> u32 {
        self.packet.bytes
    }
    fn hash_flow<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.packet.tcp.map_or(0, |segment| segment.flow.0));
    }
    fn mark_ce(&mut self) -> bool {
        false
    }
}

impl DownlinkFrame for Frame {
    fn downlink(&self) -> DownlinkPacket {
        self.packet
    }
}

struct InlineBox {
    inline: Inline<Frame>,
    /// The sensors of one station by themselves, whose reports can be seen.
    observer: Observer,
    waiting: WaitingMeter,
    now: Time,
    slot_end: Time,
    next_frame: u64,
    /// Frames that were handed in and have not left.
    inside: BTreeSet<u64>,
    joined: BTreeSet<MacAddr>,
    /// Next sequence number to the stations.
    sequence: u32,
    acknowledged: u64,
    sent_bytes: u64,
}

impl InlineBox {
    fn new(records: bool) -> Self {
        let medium = |name: &str| MediumConfig {
            name: name.to_owned(),
            stations: Vec::new(),
            bssid: None,
        };
        let config = InlineConfig {
            proxy: ProxyConfig {
                records,
                // Many queues take long to make.
                queue: FqCoDelConfig {
                    queues: 4,
                    ..FqCoDelConfig::default()
                },
                ..ProxyConfig::default()
            },
            media: vec![medium("hall"), medium("attic")],
            ports: vec![0, 1, 1],
            most_stations: MOST_STATIONS,
            most_unconfirmed: MOST_UNCONFIRMED,
            ..InlineConfig::default()
        };
        let mut observer = Observer::default();
        observer.join(Time::ZERO, 0);
        Self {
            inline: Inline::new(config, [9; 16]).expect("the law is valid"),
            observer,
            waiting: WaitingMeter::new(Time::ZERO),
            now: Time::ZERO,
            slot_end: Time::ZERO + SLOT,
            next_frame: 0,
            inside: BTreeSet::new(),
            joined: BTreeSet::new(),
            sequence: 0,
            acknowledged: 0,
            sent_bytes: 0,
        }
    }

    fn step(&mut self, input: &mut Unstructured<'_>) -> Result<()> {
        match input.arbitrary::<u8>()? % 12 {
            0 => self.pass(Duration::from_micros(input.int_in_range(0..=20_000)?)),
            1 => self.pass(Duration::from_millis(input.int_in_range(0..=1_000)?)),
            2..=4 => {
                let to = address(input)?;
                for _ in 0..input.int_in_range(1..=6)? {
                    self.downlink(input, to)?;
                }
            }
            5..=7 => {
                let from = address(input)?;
                let port = input.int_in_range(0..=3)?;
                for _ in 0..input.int_in_range(1..=6)? {
                    let ack = self.ack(input)?;
                    self.inline
                        .on_uplink(self.now, port, from, Uplink::Ack(ack));
                    self.observer.on_ack(self.now, 0, &ack);
                    self.waiting.on_ack(self.now, &ack);
                }
            }
            8 => {
                let before_bytes = input.arbitrary()?;
                let what = match input.int_in_range(0..=2)? {
                    0 => Uplink::Other { before_bytes },
                    1 => {
                        let packet = UplinkQuic {
                            spin: spin_bit(input)?,
                            bytes: input.arbitrary()?,
                            before_bytes: Some(before_bytes),
                        };
                        self.acknowledged += 1;
                        self.observer.on_quic(self.now, 0, &packet);
                        self.waiting.on_spin(self.now, packet.spin);
                        Uplink::Quic(packet)
                    }
                    _ => Uplink::Presence,
                };
                let port = input.int_in_range(0..=3)?;
                self.inline.on_uplink(self.now, port, address(input)?, what);
                self.observer.on_other(self.now, 0, before_bytes);
            }
            9 => {
                let last = Time::from_nanos(input.arbitrary()?);
                let (frames, bytes) = (input.arbitrary()?, input.arbitrary()?);
                self.inline
                    .on_uplink_use(address(input)?, frames, bytes, last);
            }
            _ => self.inline.on_wired(self.now, address(input)?),
        }
        self.drain();
        Ok(())
    }

    fn downlink(&mut self, input: &mut Unstructured<'_>, to: MacAddr) -> Result<()> {
        let payload = input.int_in_range(0..=1_448)?;
        let what: u8 = input.arbitrary()?;
        if what >= 250 {
            self.sequence = input.arbitrary()?;
        }
        let segment = DownlinkSegment {
            flow: FlowKey((what % 4).into()),
            sequence: self.sequence,
            payload,
            timestamp: Some(input.arbitrary::<u8>()?.into()),
        };
        self.sequence = self.sequence.wrapping_add(payload);
        let packet = DownlinkPacket {
            bytes: payload + 52,
            tcp: (what % 16 != 15).then_some(segment),
            quic: (what % 16 == 15).then(|| spin_bit(input)).transpose()?,
        };
        let frame = Frame {
            number: self.next_frame,
            packet,
        };
        self.next_frame += 1;
        if self.inline.on_downlink(self.now, to, frame).is_ok() {
            self.inside.insert(frame.number);
        }
        self.observer.on_sent(self.now, 0, &packet);
        self.waiting.on_sent(self.now, &packet);
        self.sent_bytes += u64::from(packet.bytes);
        Ok(())
    }

    fn ack(&mut self, input: &mut Unstructured<'_>) -> Result<UplinkAck> {
        let what: u8 = input.arbitrary()?;
        let number = match what {
            0..=199 => self.sequence.wrapping_sub(u32::from(what % 32) * 1_448),
            _ => input.arbitrary()?,
        };
        self.acknowledged += 1;
        Ok(UplinkAck {
            flow: FlowKey((what % 4).into()),
            number,
            timestamps: if what & 64 == 0 {
                Some(Timestamps {
                    value: input.arbitrary()?,
                    echo: input.arbitrary::<u8>()?.into(),
                })
            } else {
                None
            },
            highest_sack: if what & 128 == 0 {
                None
            } else {
                let end: u32 = input.arbitrary()?;
                // Blocks of any length, also beyond the sequence numbers that were sent.
                Some(SackBlock {
                    start: end.wrapping_sub(input.arbitrary::<u16>()?.into()),
                    end,
                })
            },
            before_bytes: input.arbitrary()?,
        })
    }

    fn pass(&mut self, span: Duration) {
        self.now = self.now.saturating_add(span);
        self.inline.handle_timeout(self.now);
        if self.now >= self.slot_end {
            self.slot_end = self.now + SLOT;
            let report = self.observer.close_slot(self.now, 0);
            check(&report.expect("the station is there"), self.acknowledged);
            check(
                &self.waiting.close_slot(self.now, StationId(0)),
                self.acknowledged,
            );
            self.observer.close_cell();
        }
    }

    /// Takes out what may leave, and checks it.
    fn drain(&mut self) {
        while let Some(departure) = self.inline.poll(self.now) {
            assert!(departure.port < 3);
            let number = departure.frame.number;
            assert!(self.inside.remove(&number), "a frame left twice");
        }
        while let Some(frame) = self.inline.poll_drop() {
            assert!(
                self.inside.remove(&frame.number),
                "a frame was dropped twice"
            );
        }
        assert_eq!(self.inline.backlog(), self.inside.len());
        while let Some(change) = self.inline.poll_change() {
            match change {
                StationChange::Joined(mac) | StationChange::Readmitted(mac) => {
                    assert!(self.joined.insert(mac));
                }
                StationChange::Left(mac) | StationChange::Exempted(mac) => {
                    assert!(self.joined.remove(&mac));
                }
            }
        }
        assert_eq!(self.joined.len(), self.inline.station_count());
        assert!(self.inline.station_count() <= MOST_STATIONS);
        while let Some(record) = self.inline.poll_record() {
            let rate = record
                .record
                .granted
                .map(|granted| granted.rate_bytes_per_s);
            assert!(rate.is_none_or(|rate| rate.is_finite() && rate > 0.0));
        }
        while self.inline.poll_event().is_some() {}
    }
}

/// Checks a report of a sensor that was given so many acknowledgements in all.
fn check(report: &SlotReport, acknowledgements: u64) {
    assert!(
        report.frames <= report.mpdus && report.mpdus <= report.packets,
        "{report:?}"
    );
    assert!(
        u64::from(report.frames) <= acknowledgements.saturating_mul(64),
        "{report:?}"
    );
    assert!((0.0..=1.0).contains(&report.confidence), "{report:?}");
    assert!(
        report.inverse_rate_sum.is_finite() && report.inverse_rate_sum >= 0.0,
        "{report:?}"
    );
    if let Some((first, last)) = report.span {
        assert!(first <= last, "{report:?}");
    }
    if let Some(wait) = report.wait {
        assert!(wait.p50 <= wait.p95 && wait.p95 <= wait.p99, "{report:?}");
    }
}

fn spin_bit(input: &mut Unstructured<'_>) -> Result<SpinBit> {
    Ok(SpinBit {
        flow: FlowKey(input.int_in_range(0..=3)?),
        is_set: input.arbitrary()?,
        is_fixed: input.arbitrary()?,
    })
}

fn address(input: &mut Unstructured<'_>) -> Result<MacAddr> {
    let number = input.int_in_range(0..=ADDRESSES)?;
    // The last one is a group address, which is never a source.
    Ok(MacAddr([
        if number == ADDRESSES { 3 } else { 2 },
        0,
        0,
        0,
        0,
        number,
    ]))
}

fuzz_target!(|bytes: &[u8]| {
    let mut input = Unstructured::new(bytes);
    let mut machine = InlineBox::new(bytes.first().is_some_and(|byte| byte % 8 == 0));
    for _ in 0..STEPS {
        if input.is_empty() || machine.step(&mut input).is_err() {
            break;
        }
    }
    machine.pass(Duration::from_secs(1));
    machine.drain();
    // After a long silence nobody is left.
    machine.pass(Duration::from_secs(400));
    machine.drain();
});
