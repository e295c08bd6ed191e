use airpace_sim::sensors::*;

#[test]
fn table() {
    let mut worst = std::collections::BTreeMap::new();
    for trial in standard() {
        let mut trial = trial;
        if let Ok(d) = std::env::var("DATA") {
            trial.hearing.data = d.parse().unwrap();
        }
        if std::env::var("RTS").is_ok() {
            trial.hearing.rts = true;
        }
        if let Ok(d) = std::env::var("SECS") {
            trial.duration = std::time::Duration::from_secs(d.parse().unwrap());
        }
        for row in trial.run().unwrap() {
            let e = row.error();
            let w = worst
                .entry((row.sensor, row.client.name()))
                .or_insert((0, 0, 0, 0, 0.0f64));
            w.0 += 1;
            if row.true_level < 2.0 || row.true_level > 48.0 {
                continue;
            }
            w.1 += 1;
            if row.usable {
                w.2 += 1;
                let e = e.unwrap();
                if e.abs() > 0.15 {
                    w.3 += 1;
                }
                if e.abs() > w.4 {
                    w.4 = e.abs();
                }
                if e.abs()
                    > (if row.sensor == airpace_core::report::Sensor::BlockAck {
                        0.05
                    } else {
                        0.15
                    })
                {
                    println!(
                        "{} {} n={} f={} st={} true {:.2} level {:?} err {:+.1}%",
                        row.sensor.name(),
                        row.client.name(),
                        row.stations,
                        row.flows,
                        row.station,
                        row.true_level,
                        row.level,
                        e * 100.0
                    );
                }
            } else {
                println!(
                    "UNUSABLE {} {} n={} f={} st={} true {:.2}",
                    row.sensor.name(),
                    row.client.name(),
                    row.stations,
                    row.flows,
                    row.station,
                    row.true_level
                );
            }
        }
    }
    println!("{worst:?}");
}
