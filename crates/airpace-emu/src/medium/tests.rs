use super::*;
use airpace_core::phy::{GuardInterval, Standard, Width};
use airpace_sim::mac::{CellConfig, Datagram, StationConfig};

/// How long each test simulates: long enough that the shares of random access are within 1 %.
const LENGTH: Duration = Duration::from_secs(20);

/// What one cell got within [`LENGTH`].
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Share {
    /// Packets that the station received.
    packets: u64,
    /// Packets that the access point received.
    up: u64,
    /// Share of the time for which its frames occupied the channel.
    air: f64,
    collisions: u64,
}

/// Returns the radios of a cell with one station.
fn cell() -> MacConfig {
    let rate = TxRate::new(Standard::Vht, Width::Mhz80, 1, 9, GuardInterval::Ns800).unwrap();
    CellConfig::new(vec![StationConfig::new(rate)])
        .mac()
        .unwrap()
}

/// Runs a channel of as many cells as there are entries; `saturated` says which senders of each cell
/// always have packets waiting.
fn run(saturated: &[&[Direction]], seed: u64) -> Vec<Share> {
    let station = StationId(0);
    let mut medium = Medium::new(&cell(), saturated.len(), seed).unwrap();
    let mut shares = vec![Share::default(); saturated.len()];
    let end = Time::ZERO + LENGTH;
    let mut now = Time::ZERO;
    while now < end {
        for (cell, directions) in saturated.iter().enumerate() {
            for &direction in *directions {
                while medium.queued(cell, station, direction) < 200 {
                    medium.send(now, cell, station, direction, Datagram::new(0, 1_500));
                }
            }
        }
        now = medium.deadline().unwrap();
        medium.advance(now);
        while let Some(CellOutput { cell, output }) = medium.poll() {
            let share = &mut shares[cell];
            match output {
                Output::Frame(frame) => {
                    assert_eq!(frame.station(), station, "numbered within the cell");
                    share.air += frame.airtime.as_secs_f64() / LENGTH.as_secs_f64();
                    share.collisions += u64::from(frame.collided);
                }
                Output::Delivered { mpdu, .. } if mpdu.direction() == Direction::Down => {
                    share.packets += 1;
                }
                Output::Delivered { .. } => share.up += 1,
                _ => {}
            }
        }
    }
    println!("{shares:?}");
    shares
}

const DOWN: &[Direction] = &[Direction::Down];

#[test]
fn two_saturated_access_points_on_one_channel_get_half_of_the_air_each() {
    let alone = run(&[DOWN], 1)[0];
    let shared = run(&[DOWN, DOWN], 1);
    let sum = shared[0].packets + shared[1].packets;
    let air: f64 = shared.iter().map(|share| share.air).sum();
    for share in &shared {
        assert!((share.packets as f64 / sum as f64 - 0.5).abs() < 0.025);
        assert!((share.air / air - 0.5).abs() < 0.025);
        // Contenders that draw the same back-off collide: with windows of 16 slots, one frame in
        // seventeen or so, which both senders lose.
        assert!(share.collisions > 0);
        assert!(share.packets as f64 > 0.45 * alone.packets as f64);
    }
}

#[test]
fn two_saturated_access_points_on_two_channels_get_all_of_the_air_each() {
    let alone = run(&[DOWN], 1)[0];
    let other = run(&[DOWN], 2)[0];
    assert_eq!((alone.collisions, other.collisions), (0, 0));
    assert!((other.packets as f64 / alone.packets as f64 - 1.0).abs() < 0.01);
    assert!(alone.air > 0.9);
}

#[test]
fn an_idle_access_point_on_the_channel_costs_its_beacons_only() {
    let alone = run(&[DOWN], 1)[0];
    let beside_idle = run(&[DOWN, &[]], 1);
    assert_eq!(beside_idle[1], Share::default());
    // A beacon of 236 µs every 102.4 ms, and the gaps around it.
    assert!(beside_idle[0].packets as f64 > 0.99 * alone.packets as f64);
}

#[test]
fn stations_of_both_cells_contend_with_both_access_points() {
    const BOTH: &[Direction] = &[Direction::Down, Direction::Up];
    let shared = run(&[BOTH, BOTH], 1);
    let air: f64 = shared.iter().map(|share| share.air).sum();
    let all: u64 = shared.iter().map(|share| share.packets + share.up).sum();
    for share in &shared {
        assert!((share.air / air - 0.5).abs() < 0.025);
        // Four contenders of the same kind.
        for packets in [share.packets, share.up] {
            assert!(
                (packets as f64 / all as f64 - 0.25).abs() < 0.025,
                "{shared:?}"
            );
        }
    }
}
