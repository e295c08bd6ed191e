use super::*;
use airpace_config::declaration::{Absent, Field, Kind};
use airpace_config::section::Section;
use airpace_sim::mac::Scheme;
use airpace_sim::rate::AdaptationKind;

const CELL: &str = "\
title = \"a cell\"
[channel]
width = \"80 MHz\"
[[node]]
kind = \"ap\"
[[node]]
kind = \"station\"
count = 5
rate = \"mcs 9 nss 2\"
[[flow]]
kind = \"udp-cbr\"
rate = \"50 Mbit/s\"
";

fn set(settings: &[&str]) -> Vec<Override> {
    settings.iter().map(|text| text.parse().unwrap()).collect()
}

/// The scenario of `text` with `settings` put in.
fn read_ok(text: &str, settings: &[&str]) -> Scenario {
    match read(text, &set(settings)) {
        Ok((scenario, _)) => scenario,
        Err(error) => panic!(
            "{}\n{}",
            error.one_line("x.toml"),
            error.excerpt().unwrap_or_default()
        ),
    }
}

/// What is said of `text` with `settings` put in.
#[track_caller]
fn refusal(text: &str, settings: &[&str]) -> String {
    let error = read(text, &set(settings)).expect_err("must be refused");
    let excerpt = error
        .excerpt()
        .map(|excerpt| format!("\n{excerpt}"))
        .unwrap_or_default();
    error.one_line("x.toml") + &excerpt
}

#[test]
fn a_cell_of_equal_stations_takes_eleven_lines_and_defaults_fill_the_rest() {
    assert!(CELL.lines().count() <= 12);
    let scenario = read_ok(CELL, &[]);
    assert_eq!(scenario.node[1].names().last().unwrap(), "station-5");
    assert_eq!(scenario.node[1].rate[0].mcs, Some(9));
    assert_eq!(scenario.node[1].rate[0].nss, Some(2));
    assert_eq!(scenario.flow[0].to, EACH_STATION);
    assert_eq!(scenario.duration, "10 s".parse().unwrap());
    assert_eq!(scenario.channel[0].max_mpdus, 64);
}

#[test]
fn what_is_written_reads_back_to_the_same() {
    let scenario = read_ok(
        CELL,
        &[
            "node.station.rate=[\"minstrel-ht\",\"1 Mbit/s\"]",
            "node.station.count=2",
        ],
    );
    let text = toml::to_string(&scenario).unwrap();
    assert_eq!(read_ok(&text, &[]), scenario, "{text}");
}

/// What of [`CELL`] is replaced, by what, and a part of the refusal.
const MISTAKES: &[(&str, &str, &str)] = &[
    (
        "width = \"80 MHz\"",
        "widht = \"80 MHz\"",
        "x.toml:3:1: [channel] has no key `widht`: did you mean `width`?\n3 | widht = \"80 MHz\"\n  | ^^^^^",
    ),
    (
        "width = \"80 MHz\"",
        "width = 80",
        "x.toml:3:9: `80` has no unit: write for example \"80 MHz\"\n3 | width = 80\n  |         ^^",
    ),
    (
        "[channel]",
        "[channel",
        "x.toml:2:9: unclosed table, expected `]`",
    ),
    (
        "count = 5",
        "count = 0",
        "x.toml:8:9: out of range: give 1 to 2000",
    ),
    (
        "count = 5",
        "count = -5",
        "x.toml:8:9: `-5` does not fit here: give a whole number such as 1000",
    ),
    (
        "count = 5",
        "count = 99999999999",
        "`99999999999` does not fit here",
    ),
    (
        "count = 5",
        "count = \"5\"",
        "expected a whole number such as",
    ),
    (
        "count = 5",
        "loss = nan",
        "x.toml:8:8: out of range: give 0 to 0.999",
    ),
    (
        "count = 5",
        "loss = 1",
        "x.toml:8:8: out of range: give 0 to 0.999",
    ),
    (
        "count = 5",
        "loss = [0, 0.1]",
        "x.toml:8:8: 2 values for 1 nodes: give one for all or one for each (`count`)",
    ),
    (
        "count = 5",
        "uplink_loss = [0, 0.1]",
        "x.toml:8:15: 2 values for 1 nodes: give one for all or one for each (`count`)",
    ),
    (
        "count = 5",
        "ap = \"roof\"",
        "x.toml:8:6: there is no access point `roof`: use one of ap",
    ),
    ("count = 5", "channel = \"b\"", "there is no channel `b`"),
    (
        "kind = \"ap\"",
        "kind = \"app\"",
        "x.toml:5:8: `app` is not one of the choices: did you mean `ap`?",
    ),
    (
        "kind = \"ap\"\n",
        "",
        "[[node]] lacks `kind`: add for example kind = \"station\"",
    ),
    (
        "kind = \"ap\"",
        "kind = \"host\"",
        "`station` has no access point: add a [[node]] with kind = \"ap\"",
    ),
    (
        "kind = \"ap\"",
        "kind = \"ap\"\nname = \"station\"",
        "x.toml:7:1: the name `station` is taken",
    ),
    (
        "\"mcs 9 nss 2\"",
        "\"mcs9\"",
        "x.toml:9:8: `mcs9` is not a rate: write \"mcs 9\", \"mcs 9 nss 2\"",
    ),
    (
        "\"mcs 9 nss 2\"",
        "\"60 Mbit/s\"",
        "x.toml:9:8: legacy is out of range: give 1 Mbit/s to 54 Mbit/s",
    ),
    (
        "\"mcs 9 nss 2\"",
        "\"mcs 32\"",
        "x.toml:9:8: mcs is out of range: give 0 to 31",
    ),
    (
        "\"mcs 9 nss 2\"",
        "{ msc = 9 }",
        "x.toml:9:10: rate has no key `msc`: did you mean `mcs`?",
    ),
    (
        "\"mcs 9 nss 2\"",
        "{ legacy = \"1 Mbit/s\", mcs = 9 }",
        "a legacy rate has no MCS",
    ),
    (
        "\"mcs 9 nss 2\"",
        "{ adaptation = \"trace\" }",
        "needs one of `trace` and `file`",
    ),
    (
        "rate = \"50 Mbit/s\"",
        "",
        "kind = \"udp-cbr\" needs `rate`",
    ),
    (
        "rate = \"50 Mbit/s\"",
        "rate = \"-50 Mbit/s\"",
        "is not a number",
    ),
    (
        "rate = \"50 Mbit/s\"",
        "rate = \"0 bit/s\"",
        "out of range: give 1 bit/s to 100 Gbit/s",
    ),
    (
        "rate = \"50 Mbit/s\"",
        "rate = \"5 Mbit/s\"\nto = \"statoin\"",
        "there is no node `statoin`: did you mean `station`?",
    ),
    (
        "rate = \"50 Mbit/s\"",
        "rate = \"5 Mbit/s\"\nmss = \"1448 B\"",
        "`mss` means nothing for kind = \"udp-cbr\": it is for tcp, web",
    ),
    (
        "rate = \"50 Mbit/s\"",
        "rate = \"5 Mbit/s\"\nstart = \"2 s\"\nstop = \"1 s\"",
        "it stops before it starts",
    ),
    (
        "rate = \"50 Mbit/s\"",
        "rate = \"5 Mbit/s\"\non = \"2 s\"",
        "`on` needs `off`",
    ),
    (
        "title",
        "format = 2\ntitle",
        "x.toml:1:10: out of range: give 1 to 1",
    ),
    (
        "title",
        "colour = 2\ntitle",
        "a scenario has no key `colour`: use one of format, title",
    ),
];

#[test]
fn mistakes_are_shown_with_their_line_and_a_remedy() {
    for &(from, to, said) in MISTAKES {
        assert!(CELL.contains(from), "{from}");
        let said_of_it = refusal(&CELL.replacen(from, to, 1), &[]);
        assert!(
            said_of_it.contains(said),
            "`{to}`: `{said}` is not in:\n{said_of_it}"
        );
    }
}

#[test]
fn parts_that_do_not_fit_together_are_refused() {
    let cases = [
        (
            "[[wire]]\na = \"ap\"\nb = \"server\"",
            "there is no node `server`",
        ),
        (
            "[[wire]]\na = \"ap\"\nb = \"ap\"",
            "a wire from `ap` to itself",
        ),
        (
            "[[wire]]\na = \"ap\"\nb = \"station\"",
            "`station` is several nodes: name one of them",
        ),
        (
            "[[flow]]\nkind = \"udp-cbr\"\nrate = \"1 Mbit/s\"",
            "the name `udp-cbr` is taken",
        ),
        ("[[proxy]]\nlaw = \"linaer\"", "did you mean `linear`?"),
        ("[[proxy]]\nat = \"server\"", "there is no node `server`"),
        (
            "[[proxy]]\nlaw = \"linear\"\naim = \"balanced\"",
            "x.toml:15:7: law linear has no `aim`: leave it out, or leave out `law` for law waterfill",
        ),
        (
            "[[proxy]]\nlaw = \"nonlinear\"\nlatency = \"10 ms\"",
            "law nonlinear has no `latency`: leave it out",
        ),
        (
            "[[proxy]]\nlaw = \"none\"\nprice = 0.2",
            "law none has no `price`: leave it out",
        ),
        (
            "[[proxy]]\naim = \"throughput\"\nprice = 0.2",
            "x.toml:15:9: `aim` sets the price already: give one of `aim` and `price`",
        ),
        (
            "[[proxy]]\ninteractive_budget = 0.1",
            "x.toml:14:22: `interactive_budget` needs `interactive`: add interactive = \"video\"",
        ),
        (
            "[[proxy]]\nair_loss = 0.1",
            "x.toml:14:12: `air_loss` needs a radio: add reports = \"radio\"",
        ),
        (
            "[[proxy]]\nreports = \"observed\"\nair_loss_control = 0.1",
            "x.toml:15:20: `air_loss_control` needs a radio",
        ),
        (
            "[[change]]\nat = \"99 s\"\nnode = \"station\"\nloss = 0.1",
            "the run ends at 11 s",
        ),
        ("[[change]]\nat = \"2 s\"", "nothing changes"),
        (
            "[[change]]\nat = \"2 s\"\nflow = \"udp-cbr\"",
            "`flow` and `flow_rate` go together",
        ),
        ("[[change]]\nat = \"2 s\"\nloss = 0.1", "say with `node`"),
        (
            "[[change]]\nat = \"2 s\"\nproxy_restart = true",
            "say with `node`",
        ),
        (
            "[[change]]\nat = \"2 s\"\nflow = \"tcp\"\nflow_rate = \"1 Mbit/s\"",
            "there is no flow `tcp`",
        ),
        ("[[channel.edca]]", "expected"),
        (
            "[channel.edca.voice]\ncw_min = 5",
            "one less than a power of two",
        ),
    ];
    for (addition, said) in cases {
        let said_of_it = refusal(&format!("{CELL}{addition}\n"), &[]);
        assert!(
            said_of_it.contains(said),
            "`{addition}`: `{said}` is not in:\n{said_of_it}"
        );
    }
    assert!(refusal("", &[]).contains("there is no [[node]]"));
    assert!(refusal("[[node]]\nkind = \"ap\"", &[]).contains("there is no [[flow]]"));
}

#[test]
fn settings_of_the_command_line_replace_those_of_the_file() {
    let rate = |settings: &[&str]| read_ok(CELL, settings).flow[0].rate.unwrap().to_string();
    assert_eq!(rate(&["flow.0.rate=60 Mbit/s"]), "60 Mbit/s");
    assert_eq!(rate(&["flow.udp-cbr.rate=70 Mbit/s"]), "70 Mbit/s");
    assert_eq!(rate(&["flow.*.rate=\"80 Mbit/s\""]), "80 Mbit/s");
    let scenario = read_ok(
        CELL,
        &[
            "node.station.count=2",
            "node.station.rate.mcs=4",
            "seed=7",
            "record.frames=true",
        ],
    );
    assert_eq!(
        (
            scenario.node[1].count,
            scenario.seed,
            scenario.record.frames
        ),
        (2, 7, true)
    );
    assert_eq!(scenario.node[1].rate[0].mcs, Some(4));
    assert_eq!(
        read_ok(CELL, &["channel.edca.voice.cw_min=7"]).channel[0]
            .edca
            .voice
            .cw_min,
        Some(7)
    );
}

#[test]
fn mistakes_in_settings_name_the_flag() {
    let cases = [
        (
            "chanel.width=40 MHz",
            "--set chanel.width=40 MHz: a scenario has no key `chanel`: did you mean `channel`?",
        ),
        (
            "channel.width=40",
            "--set channel.width=40: `40` has no unit",
        ),
        (
            "node.statoin.count=2",
            "--set node.statoin.count=2: `node` has no entry `statoin`: did you mean `station`?",
        ),
        (
            "flow.3.rate=1 Mbit/s",
            "`flow` has 1 entries, counted from 0: 3 is not one of them",
        ),
        ("title.x=1", "expected a string"),
        (
            "node.station.count=0",
            "--set node.station.count=0: out of range",
        ),
        (
            "flow.0.to=nobody",
            "--set flow.0.to=nobody: there is no node `nobody`",
        ),
        (
            "node.station.rate=[\"mcs 9\", \"mcs x\"]",
            "`x` is not an index",
        ),
    ];
    for (setting, said) in cases {
        let said_of_it = refusal(CELL, &[setting]);
        assert!(
            said_of_it.contains(said),
            "`{setting}`: `{said}` is not in:\n{said_of_it}"
        );
    }
    assert!(
        "width"
            .parse::<Override>()
            .unwrap_err()
            .contains("not of the form key=value")
    );
    assert!(
        "a..b=1"
            .parse::<Override>()
            .unwrap_err()
            .contains("is not a key")
    );
}

/// What is said of a cell whose access point has `queue`.
#[track_caller]
fn queue_refusal(queue: &str) -> String {
    refusal(
        &CELL.replace(
            "kind = \"ap\"",
            &format!("kind = \"ap\"\nqueue = {{ {queue} }}"),
        ),
        &[],
    )
}

#[test]
fn keys_of_a_queue_that_the_scheme_does_not_have_are_refused_with_their_line() {
    let said = queue_refusal("scheme = \"fifo\", limit = \"500 packets\"");
    let whole = "x.toml:6:36: `limit` means nothing for scheme = \"fifo\": it is for per-station; give `qdisc_limit` or `driver_limit`\n\
        6 | queue = { scheme = \"fifo\", limit = \"500 packets\" }\n  |                                    ^^^^^^^^^^^^^";
    assert_eq!(said, whole);
    let cases = [
        (
            "scheme = \"airtim\"",
            "x.toml:6:20: `airtim` is not one of the choices: did you mean `airtime`?",
        ),
        (
            "scheme = \"airtime\", schedule = \"round-robin\"",
            "airtime decides the order",
        ),
        (
            "scheme = \"airtime\", limit = \"5 packets\"",
            "give `packet_limit`",
        ),
        (
            "scheme = \"wqm\", qdisc_limit = \"5 packets\"",
            "WQM sets the limit itself",
        ),
        (
            "scheme = \"fifo\", codel = { target = \"5 ms\" }",
            "it is for codel, fq-codel, fq-mac, airtime, wqm-fq",
        ),
        (
            "scheme = \"fq-mac\", sparse = false",
            "`sparse` means nothing for scheme = \"fq-mac\": it is for airtime",
        ),
        (
            "scheme = \"fq-codel\", aql = true",
            "it is for fq-mac, airtime",
        ),
        (
            "driver_limit = \"5 packets\"",
            "scheme = \"per-station\": it is for fifo, codel, fq-codel, wqm, wqm-fq; give `limit`",
        ),
        (
            "scheme = \"airtime\", aql = \"yes\"",
            "`yes` stands where true, false or a table is needed",
        ),
        (
            "scheme = \"airtime\", aql = { lo = \"5 ms\" }",
            "aql has no key `lo`: did you mean `low`?",
        ),
        (
            "scheme = \"wqm\", wqm = { decrease = 1 }",
            "out of range: give 0.01 to 0.99",
        ),
        (
            "scheme = \"fq-mac\", quantum = \"10 B\"",
            "out of range: give 256 B to 1 MB",
        ),
    ];
    for (queue, said) in cases {
        let said_of_it = queue_refusal(queue);
        assert!(
            said_of_it.contains(said),
            "`{queue}`: `{said}` is not in:\n{said_of_it}"
        );
    }
    assert!(
        refusal(CELL, &["node.station.airtime_weight=0"]).contains("out of range: give 1 to 65535")
    );
}

#[test]
fn the_path_of_a_queue_reads_and_settings_change_it() {
    let aql = read_ok(
        CELL,
        &[
            "node.ap.queue.scheme=airtime",
            "node.ap.queue.aql=true",
            "node.ap.queue.aql.low=8 ms",
        ],
    );
    let queue = &aql.node[0].queue;
    assert_eq!(queue.scheme.0, Scheme::Airtime);
    let limit = queue.aql.as_ref().unwrap();
    assert!(limit.on && limit.high.is_none());
    assert_eq!(limit.low, Some("8 ms".parse().unwrap()));
    let text = toml::to_string(&aql).unwrap();
    assert_eq!(read_ok(&text, &[]), aql, "{text}");
    assert_eq!(read_ok(CELL, &["flow.udp-cbr.count=0"]).flow[0].count, 0);
}

/// Calls `each` for every table that can be reached.
fn every_field(fields: &'static [Field], each: &mut dyn FnMut(&Field)) {
    for field in fields {
        each(field);
        if let Kind::Table { fields, .. } = (field.kind)().element() {
            every_field(fields(), each);
        }
    }
}

#[test]
fn every_key_is_explained_in_the_reference() {
    let (markdown, json) = (
        airpace_config::schema::markdown::<Scenario>("Scenario files"),
        airpace_config::schema::json::<Scenario>(FORMAT).to_string(),
    );
    let mut count = 0;
    every_field(Scenario::fields(), &mut |field| {
        count += 1;
        let doc = field.doc.trim();
        assert!(
            doc.len() > 4 && doc.ends_with('.'),
            "{}: `{doc}`",
            field.key
        );
        assert!(
            markdown.contains(&format!("| `{}`", field.key)),
            "{}",
            field.key
        );
        assert!(
            json.contains(&format!("\"{}\":{{", field.key)),
            "{}",
            field.key
        );
        assert!(field.absent != Absent::Nested || field.bounds.is_none());
    });
    assert!(count > 100, "{count}");
}

#[test]
fn the_rates_that_have_no_standard_form_parse() {
    for (text, adaptation) in [
        ("ideal", AdaptationKind::Ideal),
        ("minstrel-ht", AdaptationKind::MinstrelHt),
        ("mcs 0", AdaptationKind::Fixed),
    ] {
        assert_eq!(RateChoice::parse(text).unwrap().adaptation.0, adaptation);
    }
    assert_eq!(
        RateChoice::parse("5.5 Mbit/s")
            .unwrap()
            .legacy
            .unwrap()
            .to_string(),
        "5.5 Mbit/s"
    );
    let trace = "[[node]]\nkind = \"ap\"\n[[node]]\nkind = \"station\"\n[node.rate]\nadaptation = \"trace\"\n\
        trace = [{ at = \"0 s\", mcs = 9 }, { at = \"5 s\", mcs = 4, nss = 2 }]\n[[flow]]\nkind = \"tcp\"";
    assert_eq!(read_ok(trace, &[]).node[1].rate[0].trace.len(), 2);
}
