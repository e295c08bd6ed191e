//! Arbitrary reports through the ledger of claims to every law and on to pacers: rates are finite and
//! above zero, and a pacer never lets more pass than was granted.
#![no_main]

use airpace_core::control::{BacklogChange, Goal, Law, LawConfig, RateController};
use airpace_core::pace::{PaceConfig, Pacer};
use airpace_core::report::claims::{LEVEL_MAX, Ledger, PHY_RANGE_BPS};
use airpace_core::report::{
    Allocation, LevelSource, SenderView, Sensor, SlotReport, WaitSource, WaitingTime,
};
use airpace_units::{BitRate, StationId, Time};
use core::time::Duration;
use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;

const STATIONS: u32 = 6;
const SLOTS: usize = 24;
/// Bytes of the packets that are paced.
const PACKET: u32 = 1500;

/// A count that is small, large or anything.
fn count(input: &mut Unstructured<'_>) -> Result<u32> {
    Ok(match input.arbitrary::<u8>()? {
        0..=99 => input.int_in_range(0..=64)?,
        100..=239 => input.int_in_range(0..=20_000)?,
        _ => input.arbitrary()?,
    })
}

/// A time that fits a slot, or anything.
fn time(input: &mut Unstructured<'_>) -> Result<Duration> {
    Ok(Duration::from_nanos(match input.arbitrary::<u8>()? {
        0..=199 => input.int_in_range(0..=200_000_000)?,
        _ => input.arbitrary()?,
    }))
}

/// 1/R in seconds per bit: of a PHY rate, or anything.
fn inverse_rate(input: &mut Unstructured<'_>) -> Result<f64> {
    Ok(match input.arbitrary::<u8>()? {
        0..=19 => 0.0,
        20..=219 => 1e-6 / f64::from(input.int_in_range(1..=10_000_u32)?),
        _ => input.arbitrary()?,
    })
}

fn report(input: &mut Unstructured<'_>, station: u32, slot: u64) -> Result<SlotReport> {
    let frames = count(input)?;
    let packets = if input.ratio(3, 4)? {
        frames.saturating_mul(input.int_in_range(1..=64)?)
    } else {
        count(input)?
    };
    let first = Time::from_nanos(input.int_in_range(0..=10_000_000_000)?);
    let last = first.saturating_add(time(input)?);
    let inverse = inverse_rate(input)?;
    let sender = SenderView {
        backlogged: input.arbitrary()?,
        marked: input.arbitrary()?,
        bypassed: input.ratio(1, 8)?,
        sent_packets: if input.arbitrary()? {
            packets
        } else {
            count(input)?
        },
        sent_bytes: u64::from(packets).saturating_mul(1500),
        held_packets: count(input)?,
        uplink_frames: count(input)?,
        uplink_bytes: count(input)?.into(),
    };
    let wait = if input.arbitrary()? {
        Some(WaitingTime {
            mean: time(input)?,
            p50: time(input)?,
            p95: time(input)?,
            p99: time(input)?,
            source: WaitSource::SendStamps,
        })
    } else {
        None
    };
    Ok(SlotReport {
        slot,
        length: if input.ratio(7, 8)? {
            Duration::from_millis(100)
        } else {
            time(input)?
        },
        frames,
        mpdus: packets,
        packets,
        longest_frame: count(input)?,
        bytes: u64::from(packets).saturating_mul(1500),
        span: input.arbitrary::<bool>()?.then_some((first, last)),
        inverse_rate_sum: inverse * f64::from(frames),
        recent_inverse_rate: if input.arbitrary()? {
            inverse
        } else {
            inverse_rate(input)?
        },
        lost: count(input)?,
        late: count(input)?,
        wait,
        transit: if input.arbitrary()? {
            Some(time(input)?)
        } else {
            None
        },
        source: if input.arbitrary()? {
            LevelSource::AmpduReference
        } else {
            LevelSource::Counters
        },
        sensor: *input.choose(&Sensor::ALL)?,
        confidence: if input.arbitrary()? {
            1.0
        } else {
            input.arbitrary()?
        },
        sender,
        ..SlotReport::silent(StationId(station), Duration::ZERO)
    })
}

const LAWS: [Law; 7] = [
    Law::Waterfill,
    Law::Linear,
    Law::LinearPf,
    Law::Dual,
    Law::Nonlinear,
    Law::LinearPfArgmax,
    Law::NonlinearCorrected,
];

fn law(input: &mut Unstructured<'_>) -> Result<Box<dyn RateController + Send>> {
    let law = match input.arbitrary::<u8>()? {
        0..=159 => Law::Waterfill,
        _ => *input.choose(&LAWS)?,
    };
    let goal = match input.arbitrary::<u8>()? % 4 {
        0 => Goal::default(),
        1 => Goal {
            latency: Some(Duration::from_millis(input.int_in_range(1..=10_000)?)),
            ..Goal::default()
        },
        2 => Goal::papers(f64::from(input.int_in_range(1..=64_u32)?), None),
        _ => Goal::papers(
            32.0,
            Some(Duration::from_millis(input.int_in_range(1..=100)?)),
        ),
    };
    Ok(LawConfig::named(law, goal)
        .build()
        .expect("the goal is valid"))
}

/// What the sender of one station has.
struct Sender {
    ledger: Ledger,
    pacer: Pacer,
}

/// Checks a report that the ledger has corrected: a law sees only what an honest station could have
/// measured.
fn check_corrected(report: &SlotReport) {
    let frames = u64::from(report.frames);
    assert!(report.packets >= report.frames, "{report:?}");
    assert!(
        u64::from(report.packets) <= frames * u64::from(LEVEL_MAX),
        "{report:?}"
    );
    assert!(report.longest_frame <= LEVEL_MAX, "{report:?}");
    if let Some(bps) = report.phy_rate_bps() {
        assert!(
            bps >= PHY_RANGE_BPS.0 * 0.999 && bps <= PHY_RANGE_BPS.1 * 1.001,
            "{report:?}"
        );
    }
}

/// Checks what a law has granted, and grants it.
fn grant(now: Time, senders: &mut [Sender], granted: &[Allocation], phy: Option<BitRate>) {
    for allocation in granted {
        let Allocation {
            rate_pps,
            rate_bytes_per_s,
            level,
            ..
        } = *allocation;
        assert!(rate_pps.is_finite() && rate_pps > 0.0, "{allocation:?}");
        assert!(
            rate_bytes_per_s.is_finite() && rate_bytes_per_s > 0.0,
            "{allocation:?}"
        );
        assert!(level.is_finite() && level >= 0.0, "{allocation:?}");
        let sender = &mut senders[allocation.station.index()];
        sender.pacer.grant(now, allocation, phy);
        check_pacer(now, &sender.pacer, allocation);
    }
}

/// From a pacer that owes nothing, no more packets leave in a millisecond than are granted, and the
/// burst.
fn check_pacer(now: Time, pacer: &Pacer, allocation: &Allocation) {
    let mut pacer = pacer.clone();
    let bytes = (allocation.rate_bytes_per_s / allocation.rate_pps).round();
    if !(1.0..=65_535.0).contains(&bytes) {
        return;
    }
    let mut passed = 0_u32;
    let span = Duration::from_millis(1);
    let config = PaceConfig::default();
    let most = allocation.rate_pps * (span + config.burst).as_secs_f64() + 3.0;
    if most > 200.0 {
        return;
    }
    for step in 0..=10 {
        let at = now.saturating_add(span / 10 * step);
        while pacer.release(at, bytes as u32) {
            passed += 1;
            assert!(
                f64::from(passed) <= most * 1.01,
                "{passed} of {most}: {allocation:?}"
            );
        }
    }
    pacer.charge(now, PACKET);
    assert!(pacer.next_release_ahead() <= pacer.next_release());
}

fn run(input: &mut Unstructured<'_>) -> Result<()> {
    let mut law = law(input)?;
    let phy = if input.arbitrary()? {
        Some(BitRate::from_mbps(input.int_in_range(1..=10_000)?))
    } else {
        None
    };
    let mut senders: Vec<Sender> = (0..STATIONS)
        .map(|_| Sender {
            ledger: Ledger::default(),
            pacer: Pacer::new(PaceConfig::default()),
        })
        .collect();
    let mut now = Time::ZERO;
    for slot in 0..SLOTS as u64 {
        if input.is_empty() {
            break;
        }
        now = now.saturating_add(Duration::from_millis(100));
        let mut reports = Vec::new();
        let reporting: u8 = input.arbitrary()?;
        for station in (0..STATIONS).filter(|station| reporting >> station & 1 == 1) {
            let mut report = report(input, station, slot)?;
            senders[station as usize].ledger.correct(&mut report);
            check_corrected(&report);
            reports.push(report);
        }
        grant(now, &mut senders, law.on_slot(now, &reports), phy);
        let choice: u8 = input.arbitrary()?;
        let station = StationId(input.int_in_range(0..=STATIONS - 1)?);
        match choice % 8 {
            0 => law.remove(station),
            1 => {
                law.set_weight(station, input.arbitrary()?);
            }
            2 | 3 => {
                let change = BacklogChange {
                    station,
                    waits: choice & 8 == 0,
                };
                if let Some(granted) = law.on_backlog(now, &[change]) {
                    grant(now, &mut senders, granted, phy);
                }
            }
            _ => {}
        }
        let estimates = law.diagnostics();
        let times = [
            estimates.overhead_s,
            estimates.round_s,
            estimates.aimed_round_s,
        ];
        assert!(
            times.into_iter().flatten().all(f64::is_finite),
            "{estimates:?}"
        );
    }
    Ok(())
}

fuzz_target!(|bytes: &[u8]| {
    // An input that ends early is a shorter run.
    let _ = run(&mut Unstructured::new(bytes));
});
