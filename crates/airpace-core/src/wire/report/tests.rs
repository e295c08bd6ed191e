use super::*;
use proptest::prelude::*;

fn report() -> SlotReport {
    SlotReport {
        station: StationId(3),
        slot: 1 << 40,
        length: Duration::from_millis(100),
        frames: 120,
        mpdus: 3_840,
        packets: 3_841,
        longest_frame: 64,
        bytes: 5_644_800,
        span: Some((
            Time::from_nanos(7_000_000_123),
            Time::from_nanos(7_099_000_123),
        )),
        inverse_rate_sum: f64::from(120.0_f32 / 390e6),
        recent_inverse_rate: f64::from(1.0_f32 / 351e6),
        lost: 4,
        late: 9,
        wait: Some(WaitingTime {
            mean: Duration::from_micros(1_000),
            p50: Duration::from_micros(900),
            p95: Duration::from_micros(1_900),
            p99: Duration::from_micros(2_000),
            source: WaitSource::TcpAcks,
        }),
        transit: None,
        others: OtherNetworks::Unknown,
        airtime_bps: None,
        answers: Answers::Tell,
        upload_bps: None,
        source: LevelSource::Tsft,
        sensor: crate::report::Sensor::Agent,
        confidence: 1.0,
        sender: SenderView::default(),
    }
}

fn empty() -> SlotReport {
    SlotReport {
        frames: 0,
        mpdus: 0,
        packets: 0,
        longest_frame: 0,
        bytes: 1_500,
        span: None,
        inverse_rate_sum: 0.0,
        recent_inverse_rate: 0.0,
        wait: None,
        transit: None,
        others: OtherNetworks::Unknown,
        airtime_bps: None,
        answers: Answers::Tell,
        upload_bps: None,
        source: LevelSource::SocketTimestamps,
        ..report()
    }
}

#[test]
fn reports_round_trip() {
    let unsure = SlotReport {
        confidence: 0.0,
        ..empty()
    };
    for report in [report(), empty(), unsure] {
        assert_eq!(decode(StationId(3), &encode(&report)), Ok(report));
    }
}

#[test]
fn frames_that_could_not_be_told_apart_reliably_are_marked() {
    let unsure = encode(&SlotReport {
        confidence: 0.4,
        ..report()
    });
    assert_eq!(unsure[1] & 0x40, 0x40);
    let decoded = decode(StationId(3), &unsure).unwrap();
    assert!(decoded.is_unsure());
    assert_eq!(decoded.frames, report().frames);
    // A level of which an agent is not quite sure is usable.
    let sure = encode(&SlotReport {
        confidence: 0.7,
        ..report()
    });
    assert_eq!(decode(StationId(3), &sure), Ok(report()));
}

#[test]
fn numbers_too_large_for_their_field_are_clamped() {
    let large = SlotReport {
        lost: u32::MAX,
        late: 70_000,
        bytes: u64::MAX,
        length: Duration::MAX,
        ..report()
    };
    let decoded = decode(StationId(0), &encode(&large)).unwrap();
    assert_eq!((decoded.lost, decoded.late), (65_535, 65_535));
    assert_eq!(decoded.bytes, u64::from(u32::MAX));
    assert_eq!(decoded.length, Duration::from_micros(u64::from(u32::MAX)));
}

#[test]
fn contradictions_are_refused() {
    let refused = |report: SlotReport| decode(StationId(0), &encode(&report)).unwrap_err();
    assert_eq!(
        refused(SlotReport {
            frames: 4_000,
            ..report()
        }),
        ReportError::Counts
    );
    assert_eq!(
        refused(SlotReport {
            mpdus: 4_000,
            ..report()
        }),
        ReportError::Counts
    );
    assert_eq!(
        refused(SlotReport {
            frames: 0,
            ..report()
        }),
        ReportError::Counts
    );
    assert_eq!(
        refused(SlotReport {
            span: None,
            ..report()
        }),
        ReportError::Times
    );
    assert_eq!(
        refused(SlotReport {
            span: Some((Time::ZERO, Time::ZERO)),
            ..empty()
        }),
        ReportError::Times
    );
    for sum in [f64::NAN, f64::INFINITY, -1.0, 1e300] {
        assert_eq!(
            refused(SlotReport {
                inverse_rate_sum: sum,
                ..report()
            }),
            ReportError::InverseRate
        );
    }
    assert_eq!(
        refused(SlotReport {
            inverse_rate_sum: 1.0,
            ..empty()
        }),
        ReportError::InverseRate
    );
    let wait = WaitingTime {
        p50: Duration::from_millis(5),
        ..Default::default()
    };
    assert_eq!(
        refused(SlotReport {
            wait: Some(wait),
            ..report()
        }),
        ReportError::Wait
    );
    let end = Some((Time::MAX, Time::MAX));
    assert!(
        decode(
            StationId(0),
            &encode(&SlotReport {
                span: end,
                ..report()
            })
        )
        .is_ok()
    );
    let mut past_the_end = encode(&SlotReport {
        span: end,
        ..report()
    });
    past_the_end[44] = 1;
    assert_eq!(decode(StationId(0), &past_the_end), Err(ReportError::Times));
}

#[test]
fn other_layouts_are_refused() {
    let good = encode(&report());
    let changed = |at: usize, to: u8| {
        let mut bytes = good;
        bytes[at] = to;
        decode(StationId(0), &bytes)
    };
    assert_eq!(changed(0, 1), Err(ReportError::Version(1)));
    assert_eq!(changed(1, 0x80), Err(ReportError::Reserved));
    assert_eq!(changed(1, 0x3c), Err(ReportError::Wait));
    assert_eq!(
        decode(StationId(0), &good[..71]),
        Err(ReportError::Length(71))
    );
    assert_eq!(decode(StationId(0), &[]), Err(ReportError::Length(0)));
    let mut no_length = good;
    no_length[16..20].fill(0);
    assert_eq!(decode(StationId(0), &no_length), Err(ReportError::NoLength));
}

proptest! {
    #[test]
    fn accepted_reports_are_consistent_and_encode_to_the_same_bytes(mut bytes in prop::collection::vec(any::<u8>(), REPORT_BYTES), valid: u8) {
        // Random bytes hardly ever form a report, so most bytes are those of a valid one.
        let good = encode(&report());
        for (i, byte) in bytes.iter_mut().enumerate() {
            if i % 8 != usize::from(valid % 8) || i < 2 {
                *byte = good[i];
            }
        }
        if let Ok(report) = decode(StationId(1), &bytes) {
            prop_assert!(report.frames <= report.mpdus && report.mpdus <= report.packets);
            prop_assert!(report.inverse_rate_sum.is_finite());
            prop_assert_eq!(&encode(&report)[..], &bytes[..]);
        }
    }

    #[test]
    fn no_bytes_make_the_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let _ = decode(StationId(0), &bytes);
    }
}
