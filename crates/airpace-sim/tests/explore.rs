use airpace_core::phy::*;
use airpace_edge::proxy::Pacing;
use airpace_sim::mac::*;
use airpace_sim::transport::tcp::{Algorithm, ReceiverConfig, SenderConfig};
use airpace_sim::world::*;
use airpace_units::{BitRate, StationId};
use core::time::Duration;
use std::collections::BTreeMap;

fn run(n: usize, flows: usize, level: f64, merge: bool, mcs: &[u8]) {
    let rates: Vec<TxRate> = (0..n)
        .map(|i| TxRate::new(Standard::Vht, Width::Mhz80, 1, mcs[i % mcs.len()], GuardInterval::Ns800).unwrap())
        .collect();
    let cell = CellConfig::new(rates.iter().map(|&r| StationConfig::new(r)).collect());
    let mut net = WorldConfig::new(n as u32 + 3, Duration::from_secs(1), Duration::from_secs(3));
    let node = |i: usize| NodeId(i as u32 + 3);
    net.channels = vec![ChannelConfig {
        mac: cell.mac().unwrap(),
        nodes: [NodeId(2)].into_iter().chain((0..n).map(node)).collect(),
    }];
    net.wires = vec![
        WireConfig { ends: (NodeId(0), NodeId(1)), rate: None, delay: Duration::from_millis(5), queue: u32::MAX },
        WireConfig { ends: (NodeId(1), NodeId(2)), rate: Some(BitRate::from_mbps(1000)), delay: Duration::ZERO, queue: u32::MAX },
    ];
    for i in 0..n {
        for _ in 0..flows {
            net.flows.push(FlowConfig::new(NodeId(0), node(i), Traffic::Tcp(TcpConfig {
                sender: SenderConfig::new(Algorithm::Cubic),
                receiver: ReceiverConfig { merge, ..ReceiverConfig::default() },
                bytes: None,
            })));
        }
    }
    let pkt = |r: TxRate| 1540.0 * 8.0 / r.rate().as_bps_f64();
    let round: f64 = rates.iter().map(|&r| 250e-6 + 200e-6 + level * pkt(r)).sum();
    let pps = level / round;
    let mut proxy = ProxyConfig::new(NodeId(1), (0..n).map(node).collect(), None, Duration::from_millis(100));
    proxy.edge.pacing = Pacing::Fixed(BitRate::from_bps((pps * 1500.0 * 8.0) as u64));
    proxy.report_bytes = None;
    net.proxies = vec![proxy];
    net.record = Record { frames: true, passing: Some(NodeId(1)), ..Record::default() };
    let mut w = World::new(net).unwrap();
    w.run();
    let o = w.outcome();
    for i in 0..n.min(2) {
        let st = StationId(i as u32);
        let down: Vec<_> = o.frames.iter().map(|f| &f.1).filter(|f| f.station() == st && f.direction() == Direction::Down).collect();
        let up = o.frames.iter().filter(|f| f.1.station() == st && f.1.direction() == Direction::Up).count();
        let pk: u32 = down.iter().map(|f| f.packets).sum();
        let true_level = f64::from(pk) / down.len() as f64;
        // bursts
        let mut acks = 0; let mut bursts = 0; let mut last = None; let mut sizes = vec![];
        let mut prev: BTreeMap<u32, u32> = BTreeMap::new(); let mut acked = 0u64; let mut strides: BTreeMap<u32,u32> = BTreeMap::new();
        let mut cur = 0f64;
        for p in &o.passing {
            if let PassingHeader::Ack(a) = p.header {
                if p.flow as usize / flows != i { continue; }
                acks += 1;
                if last.is_none_or(|l| p.at.saturating_since(l) > Duration::from_micros(100)) { bursts += 1; sizes.push(cur); cur = 0.0; }
                last = Some(p.at);
                let pr = prev.insert(p.flow, a.number).unwrap_or(a.number);
                let d = a.number.wrapping_sub(pr);
                cur += d as f64 / 1448.0;
                *strides.entry(d / 1448).or_default() += 1;
                acked += u64::from(d);
            }
        }
        sizes.sort_by(f64::total_cmp);
        let mut top: Vec<_> = strides.into_iter().collect(); top.sort_by_key(|x| std::cmp::Reverse(x.1)); top.truncate(6);
        println!("n={n} f={flows} L={level} merge={merge} st={i}: frames {} level {true_level:.2} upframes {up} bursts {bursts} F/B {:.2} acks {acks} acked/burst {:.1} median {:.1} strides {top:?}", down.len(), down.len() as f64 / bursts as f64, acked as f64 / 1448.0 / bursts as f64, sizes[sizes.len()/2]);
    }
}

#[test]
fn explore() {
    for merge in [true, false] {
        for n in [1, 2, 5] {
            for flows in [1, 4] {
                for level in [2.0, 8.0, 20.0, 48.0] {
                    run(n, flows, level, merge, &[9, 4, 2]);
                }
            }
        }
    }
}
