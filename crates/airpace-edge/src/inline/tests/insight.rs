//! What the box knows of its stations for an operator: means, shares, limits, news.

use super::remote::Cell;
use super::*;
use airpace_core::sensor::ack_burst::UplinkAck;
use airpace_core::wire::tcp::Timestamps;
use airpace_units::BitRate;

const BSSID: MacAddr = MacAddr([2, 0, 0, 0, 9, 0]);

fn news<F: DownlinkFrame>(inline: &mut Inline<F>) -> Vec<NewsKind> {
    let news = std::iter::from_fn(|| inline.poll_news());
    news.map(|news| news.what).collect()
}

#[test]
fn stations_that_come_roam_and_leave_are_news_and_invented_ones_are_not() {
    let mut inline = inline(config());
    inline.on_uplink(ms(0), 0, PHONE, Uplink::Presence);
    inline.on_uplink(ms(0), 0, LAPTOP, Uplink::Presence);
    inline.on_name(PHONE, "pixel-9");
    assert_eq!(news(&mut inline), [], "nothing was sent to either");
    inline.on_downlink(ms(1), PHONE, Frame(0)).unwrap();
    inline.on_uplink(ms(2), 1, PHONE, Uplink::Presence);
    let joined = inline.poll_news().expect("the phone has come");
    assert_eq!(joined.name.as_deref(), Some("pixel-9"));
    assert_eq!((joined.mac, joined.what), (PHONE, NewsKind::Joined));
    let roamed = inline.poll_news().expect("it has roamed");
    assert_eq!(roamed.what, NewsKind::Roamed { from: 0 });
    assert_eq!(roamed.medium, 1);
    inline.handle_timeout(ms(400_000));
    assert_eq!(inline.station_count(), 0);
    assert_eq!(news(&mut inline), [NewsKind::Left]);
}

#[test]
fn news_that_nobody_takes_are_bounded() {
    let mut inline = inline(config());
    inline.on_uplink(ms(0), 0, PHONE, Uplink::Presence);
    inline.on_downlink(ms(0), PHONE, Frame(0)).unwrap();
    for roam in 1..1000 {
        let port = usize::from(roam % 2 == 1);
        inline.on_uplink(ms(100 * roam), port, PHONE, Uplink::Presence);
    }
    assert_eq!(news(&mut inline).len(), 256);
}

#[test]
fn a_station_that_nothing_observes_is_paced_by_what_is_assumed_and_then_idle() {
    let mut paced = config();
    paced.proxy.pacing = Pacing::Fixed(BitRate::from_mbps(12));
    let mut inline = inline(paced);
    inline.on_uplink(ms(0), 0, PHONE, Uplink::Presence);
    let mut number = 0;
    for now in 1..3_000 {
        // 24 Mbit/s are offered.
        for _ in 0..2 {
            number += 1;
            inline.on_downlink(ms(now), PHONE, Frame(number)).unwrap();
        }
        inline.handle_timeout(ms(now));
        departures(&mut inline, ms(now));
        while inline.poll_drop().is_some() {}
    }
    let status = inline.stations().next().expect("the phone");
    let sent = status.recent.sent_bps;
    assert!((11e6..12.5e6).contains(&sent), "{sent}");
    assert_eq!(status.recent.granted_bps, Some(12e6));
    assert!(status.recent.held_share > 0.9, "{:?}", status.recent);
    assert!(
        status
            .sojourn_p50
            .is_some_and(|wait| wait > Duration::from_millis(2))
    );
    assert_eq!(status.limit(None).by, LimitedBy::NoSensor);
    for now in 3_000..14_000 {
        inline.handle_timeout(ms(now));
        departures(&mut inline, ms(now));
    }
    let status = inline.stations().next().expect("the phone");
    let limit = status.limit(None);
    assert_eq!(limit.by, LimitedBy::Idle, "{}", limit.reason);
    assert_eq!(status.sojourn_p50, None);
}

#[test]
fn a_radio_that_is_lost_is_news_and_missed_until_it_is_back() {
    let mut cell = Cell::new(&[(PHONE, BSSID)]);
    cell.run(ms(0), ms(3_000), true);
    let status = cell.inline.stations().next().expect("the phone");
    assert_eq!(status.lost, None);
    assert!(!status.is_phy_assumed());
    let phy_bps = status.phy_bps().expect("the radio has heard it");
    assert!((phy_bps / 390e6 - 1.0).abs() < 0.1, "{phy_bps}");
    // 4,000 packets of 32 µs and 250 frames per second.
    let share = status.share.expect("the law estimates it");
    assert!((0.12..0.4).contains(&share), "{share}");
    let goodput = status.recent.goodput_bps.expect("it is observed");
    assert!((40e6..56e6).contains(&goodput), "{goodput}");
    let found = NewsKind::SensorChanged {
        from: Sensor::None,
        to: Sensor::BlockAck,
    };
    assert_eq!(news(&mut cell.inline), [NewsKind::Joined, found]);
    cell.run(ms(3_000), ms(6_000), false);
    let status = cell.inline.stations().next().expect("the phone");
    let lost = status.lost.expect("the radio is silent");
    assert_eq!(lost.sensor, Sensor::BlockAck);
    let reason = status.limit(None).reason;
    let words = "the radio near the access point has not heard its frames";
    assert!(reason.contains(words), "{reason}");
    let changes = news(&mut cell.inline);
    assert!(
        matches!(changes[..], [NewsKind::SensorChanged { from: Sensor::BlockAck, to }] if to > Sensor::BlockAck),
        "{changes:?}"
    );
    cell.run(ms(6_000), ms(9_000), true);
    let status = cell.inline.stations().next().expect("the phone");
    assert_eq!(status.lost, None);
}

/// A full-sized segment that returns a timestamp.
#[derive(Debug)]
struct Echoing(u32);

impl Packet for Echoing {
    fn bytes(&self) -> u32 {
        1500
    }

    fn hash_flow<H: Hasher>(&self, _state: &mut H) {}

    fn mark_ce(&mut self) -> bool {
        false
    }
}

impl DownlinkFrame for Echoing {
    fn downlink(&self) -> DownlinkPacket {
        Frame(self.0).downlink()
    }

    fn echo(&self) -> Option<u32> {
        Some(self.0)
    }
}

#[test]
fn round_trips_on_the_wired_side_are_told_apart_from_waits_at_the_access_point() {
    let mut inline: Inline<Echoing> = Inline::new(config(), [9; 16]).expect("it is valid");
    inline.on_uplink(ms(0), 0, PHONE, Uplink::Presence);
    let mut trip = |begin: u64, length: u64, value: u32| {
        let ack = UplinkAck {
            flow: FLOW,
            number: 1,
            timestamps: Some(Timestamps { value, echo: 0 }),
            highest_sack: None,
            before_bytes: None,
        };
        inline.on_uplink(ms(begin), 0, PHONE, Uplink::Ack(ack));
        let back = ms(begin + length);
        inline.on_downlink(back, PHONE, Echoing(value)).unwrap();
        inline.handle_timeout(ms(begin + 500));
        inline
            .stations()
            .next()
            .and_then(|status| status.recent.wired)
    };
    let empty = trip(0, 20, 1).expect("a round trip");
    assert_eq!(empty.time, Duration::from_millis(20));
    assert_eq!(empty.excess(), Duration::ZERO);
    let queued = trip(1_000, 170, 2).expect("a round trip");
    assert_eq!(queued.excess(), Duration::from_millis(150));
    inline.handle_timeout(ms(60_000));
    let status = inline.stations().next().expect("the phone");
    assert_eq!(status.recent.wired, None, "it is old");
}
