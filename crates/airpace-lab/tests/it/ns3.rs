//! The simulator against stored results of ns-3.

use airpace_lab::validate::{reference, simulate};

#[test]
fn the_simulator_agrees_with_ns3() {
    let text = include_str!("../../../../validation/ns3/reference/runs.csv");
    let runs = reference::read(text).unwrap();
    for (setting, ns3) in runs.iter().filter(|r| r.0.name == "n20rrd0.5w" || r.0.family > "S4".into()) {
        let ours = simulate(setting).unwrap();
        let mut pairs = vec![("all".to_owned(), ns3.all, ours.all)];
        for (index, (a, b)) in ns3.stations.iter().zip(&ours.stations).enumerate() {
            if ns3.stations.len() > 1 {
                pairs.push((index.to_string(), *a, *b));
            }
        }
        for (who, a, b) in pairs {
            let d = |a: f64, b: f64| format!("{a:9.4}/{b:9.4} ({:+5.1}%)", (b / a - 1.0) * 100.0);
            eprintln!(
                "{} {:14} {} {:>3} x {} N {} d {}",
                setting.family,
                setting.name,
                setting.seed,
                who,
                d(a.goodput_mbps, b.goodput_mbps),
                d(a.level, b.level),
                d(a.delay.unwrap().mean, b.delay.map_or(f64::NAN, |d| d.mean))
            );
        }
    }
}
