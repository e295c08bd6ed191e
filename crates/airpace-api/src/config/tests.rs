//! What is read, what is refused and with which message.

mod examples;

use super::*;

const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const OTHER_KEY: &str = "AQECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

fn proxy_text() -> String {
    format!(
        r#"
private_key = "{KEY}"

[tun]
address = "10.77.0.1/24"

[control]
delay_target = "20 ms"

[udp_load]

[[station]]
name = "laptop"
public_key = "{KEY}"
address = "10.77.0.2"

[[station]]
name = "phone"
public_key = "{OTHER_KEY}"
address = "10.77.0.3"
weight = 2.5
"#
    )
}

fn agent_text() -> String {
    format!(
        r#"
proxy = "192.0.2.1:51900"
proxy_public_key = "{KEY}"
private_key_file = "/etc/airpace/agent.key"
monitor = "mon0"
routes = ["10.1.0.0/16"]

[tun]
address = "10.77.0.2/24"

[uplink]
rate = "58.5 Mbit/s"
"#
    )
}

/// The refusal of the sample in which `from` is replaced by `to`.
fn refused(from: &str, to: &str) -> DocumentError {
    assert!(proxy_text().contains(from), "the sample lacks {from}");
    ProxyConfig::from_toml(&proxy_text().replacen(from, to, 1)).expect_err("must be refused")
}

fn refusal(from: &str, to: &str) -> String {
    refused(from, to).one_line("proxy.toml")
}

#[test]
fn a_refused_value_with_control_characters_is_repeated_in_one_line() {
    let error = AgentConfig::from_toml(
        "proxy = \"nowhere\\nat\\u001b[31mall\"\n[tun]\naddress = \"10.77.0.2/24\"\n",
    )
    .expect_err("the address is none");
    let line = error.one_line("agent.toml");
    assert!(!line.contains(char::is_control), "{line:?}");
    assert!(line.contains(r"nowhere\nat\u{1b}[31mall"), "{line}");
}

#[test]
fn the_effective_configuration_reads_back_to_the_same() {
    let config = ProxyConfig::from_toml(&proxy_text()).expect("valid");
    config.validate().expect("valid");
    let printed = config.to_toml();
    assert!(printed.contains("slot = \"100 ms\""), "{printed}");
    assert!(!printed.contains("level_limit"), "{printed}");
    assert!(printed.contains("law = \"waterfill\""), "{printed}");
    assert_eq!(ProxyConfig::from_toml(&printed).expect(&printed), config);

    let config = AgentConfig::from_toml(&agent_text()).expect("valid");
    let printed = config.to_toml();
    assert!(printed.contains("rate = \"58.5 Mbit/s\""), "{printed}");
    assert_eq!(AgentConfig::from_toml(&printed).expect(&printed), config);
}

#[test]
fn unknown_keys_are_refused_with_their_line_and_the_nearest_known_key() {
    let error = refused("delay_target", "delay_taget");
    assert_eq!(
        error.one_line("proxy.toml"),
        "proxy.toml:8:1: [control] has no key `delay_taget`: did you mean `delay_target`?"
    );
    assert_eq!(
        error.excerpt(),
        Some("8 | delay_taget = \"20 ms\"\n  | ^^^^^^^^^^^")
    );
    assert_eq!(
        refusal("[udp_load]", "[udp_laod]"),
        "proxy.toml:10:2: the proxy's configuration has no key `udp_laod`: did you mean `udp_load`?"
    );
}

#[test]
fn missing_keys_are_refused_with_an_example() {
    let message = refusal("address = \"10.77.0.1/24\"", "");
    assert!(
        message.ends_with("[tun] lacks `address`: add for example address = \"10.77.0.1/24\""),
        "{message}"
    );
    let error = AgentConfig::from_toml("").expect_err("must be refused");
    assert_eq!(
        error.message,
        "the agent's configuration lacks `proxy`: add for example proxy = \"192.0.2.1:51900\""
    );
}

#[test]
fn numbers_without_a_unit_are_refused_with_a_hint() {
    let message = refusal("\"20 ms\"", "20");
    assert!(
        message.contains("`20` has no unit: write for example \"100 ms\""),
        "{message}"
    );
    let message = refusal("\"20 ms\"", "\"20 Mbit/s\"");
    assert!(
        message.contains("`Mbit/s` is not a unit here: use one of ns, us, ms, s"),
        "{message}"
    );
}

#[test]
fn words_that_are_not_laws_are_refused_with_those_that_are() {
    assert_eq!(
        refusal("delay_target = \"20 ms\"", "law = \"linear_pf\""),
        "proxy.toml:8:7: `linear_pf` is not one of the choices: did you mean `linear-pf`?"
    );
    let message = refusal("delay_target = \"20 ms\"", "law = \"magic\"");
    assert!(
        message.contains("linear, linear-pf, dual, nonlinear, waterfill"),
        "{message}"
    );
    assert!(message.ends_with("fixed, none"), "{message}");
}

#[test]
fn values_out_of_range_are_refused_with_the_range() {
    let target = "delay_target = \"20 ms\"";
    let weight = "weight = 2.5";
    let cases = [
        (
            weight,
            "weight = 0.0",
            "21:10: out of range: give 0.000001 to 1000000",
        ),
        (
            weight,
            "weight = nan",
            "21:10: out of range: give 0.000001 to 1000000",
        ),
        (
            target,
            "level_limit = 0.5",
            "8:15: out of range: give 1 to 1024",
        ),
        (
            target,
            "slot = \"1 ms\"",
            "8:8: out of range: give 10 ms to 10 s",
        ),
        (
            "[tun]",
            "[tun]\nmtu = \"100 B\"",
            "5:7: out of range: give 576 B to 9000 B",
        ),
    ];
    for (from, to, expected) in cases {
        let expected = format!("proxy.toml:{expected}");
        assert_eq!(refusal(from, to), expected);
    }
}

#[test]
fn contradictions_are_refused_at_the_line_of_the_key() {
    let target = "delay_target = \"20 ms\"";
    let phone = "\"10.77.0.3\"";
    let cases = [
        (
            "\"20 ms\"",
            "\"200 us\"",
            ":8:16: 200 us is below the feasible: 2 stations need at least 244 us, the overhead of one frame each",
        ),
        (
            phone,
            "\"10.77.0.2\"",
            ":20:11: stations `laptop` and `phone` have the same address",
        ),
        (
            OTHER_KEY,
            KEY,
            ":19:14: stations `laptop` and `phone` have the same public_key",
        ),
        (
            "\"phone\"",
            "\"laptop\"",
            ":18:8: stations `laptop` and `laptop` have the same name",
        ),
        (
            phone,
            "\"10.78.0.3\"",
            ":20:11: station `phone`: 10.78.0.3 is outside of the tunnel's network 10.77.0.1/24",
        ),
        (
            phone,
            "\"10.77.0.1\"",
            ":20:11: station `phone`: 10.77.0.1 is the proxy's own address",
        ),
        (
            target,
            "law = \"fixed\"",
            ":8:7: law = \"fixed\" needs fixed_rate",
        ),
        (
            target,
            "law = \"linear\"\naim = \"throughput\"",
            ":9:7: law linear has no `aim`: leave it out, or leave out `law` for law waterfill",
        ),
        (
            target,
            "law = \"fixed\"\nfixed_rate = \"9 Mbit/s\"\nlatency = \"10 ms\"",
            ":10:11: law fixed has no `latency`: leave it out, or leave out `law` for law waterfill",
        ),
        (
            "[tun]",
            "interactive_budget = 0.1\n[tun]",
            ":4:22: `interactive_budget` needs `interactive`: add interactive = \"video\" or \"voice\"",
        ),
        (
            target,
            "law = \"none\"",
            ":10:1: udp_load needs a rate, and control.law = \"none\" has none: use another law, or `fixed` with control.fixed_rate",
        ),
        (
            "[tun]",
            "[tun]\nname = \"a/b\"",
            ":5:8: `a/b` is not a valid interface name: use 1 to 15 characters without `/` or spaces",
        ),
        (
            "[udp_load]",
            "[fallback]\nunshaped_after_slots = 3",
            ":11:24: 3 is too small: it must be more than conservative_after_slots = 5",
        ),
        (
            "private_key =",
            "#",
            ": give one of private_key and private_key_file (the command `keygen` makes a key)",
        ),
    ];
    for (from, to, expected) in cases {
        assert_eq!(refusal(from, to), format!("proxy.toml{expected}"));
    }
}

#[test]
fn a_configuration_that_was_not_read_from_a_file_is_checked_as_well() {
    let mut config = ProxyConfig::from_toml(&proxy_text()).expect("valid");
    config.control.slot = Span::from_millis(1);
    let error = config.validate().expect_err("must be refused");
    assert_eq!(error.message, "out of range: give 10 ms to 10 s");
    config.control.slot = Span::from_millis(100);
    config.station.clear();
    let error = config.validate().expect_err("must be refused");
    assert_eq!(error.message, "at least one [[station]] is needed");
}

#[test]
fn an_agent_does_not_route_the_proxy_into_the_tunnel() {
    let text = agent_text().replace("10.1.0.0/16", "192.0.0.0/8");
    let error = AgentConfig::from_toml(&text).expect_err("a cycle");
    assert_eq!(
        error.one_line("agent.toml"),
        "agent.toml:6:11: route 192.0.0.0/8 contains the proxy's address 192.0.2.1: the tunnel would swallow its own packets"
    );
}

#[test]
fn default_routes_and_several_addresses_of_either_version_are_possible() {
    let text = agent_text()
        .replace("\"10.1.0.0/16\"", "\"0.0.0.0/0\", \"::/0\"")
        .replace("[tun]", "[tun]\nmore_addresses = \"fd77::2/64\"");
    let agent = AgentConfig::from_toml(&text).expect("valid");
    let networks: Vec<String> = agent
        .tun
        .iter()
        .flat_map(TunConfig::networks)
        .map(ToString::to_string)
        .collect();
    assert_eq!(networks, ["10.77.0.2/24", "fd77::2/64"]);
    let small = text.replace("[tun]", "[tun]\nmtu = \"1200 B\"");
    let error = AgentConfig::from_toml(&small).expect_err("IPv6 needs more");
    assert!(
        error
            .message
            .contains("1200 B is too small for fd77::2/64: IPv6 needs an MTU of at least 1280 B"),
        "{error}"
    );
}

#[test]
fn a_proxy_may_be_given_by_name() {
    let text = agent_text().replace("192.0.2.1:51900", "proxy.example.net:51900");
    let agent = AgentConfig::from_toml(&text).expect("valid");
    assert_eq!(agent.proxy.address(), None);
    let again = AgentConfig::from_toml(&agent.to_toml()).expect("valid");
    assert_eq!(again.proxy, agent.proxy);
    let text = agent_text().replace("192.0.2.1:51900", "192.0.2.1");
    let error = AgentConfig::from_toml(&text).expect_err("no port");
    assert!(error.message.contains("proxy.example.net:51900"), "{error}");
}

#[test]
fn stations_may_have_further_networks_but_not_those_of_the_proxy_or_each_other() {
    let with = |networks: &str| {
        let text = proxy_text().replace(
            "address = \"10.77.0.3\"",
            &format!("address = \"10.77.0.3\"\nnetworks = [{networks}]"),
        );
        ProxyConfig::from_toml(&text)
    };
    let proxy = with("\"fd77::3\", \"10.8.0.0/16\"").expect("valid");
    assert_eq!(proxy.station[1].networks.len(), 2);
    let error = with("\"10.0.0.0/8\"").expect_err("the proxy is in it");
    assert!(
        error
            .message
            .contains("10.0.0.0/8 contains the proxy's own address 10.77.0.1"),
        "{error}"
    );
    let shared = proxy_text().replace("address = ", "networks = \"10.8.0.0/16\"\naddress = ");
    let shared = shared.replace("[tun]\nnetworks = \"10.8.0.0/16\"", "[tun]");
    let error = ProxyConfig::from_toml(&shared).expect_err("whose is it");
    assert!(error.message.contains("have the same networks"), "{error}");
}

#[test]
fn more_stations_than_a_tunnel_can_have_are_refused() {
    let mut config = ProxyConfig::from_toml(&proxy_text()).expect("valid");
    let station = config.station[0].clone();
    config.station = vec![station; MAX_STATIONS + 1];
    let error = config.contradictions().expect_err("too many");
    assert_eq!(
        error.to_string(),
        "16385 stations are too many: one proxy or box takes at most 16384"
    );
}

#[test]
fn malformed_networks_are_refused_with_an_example() {
    let text = agent_text().replace("10.77.0.2/24", "10.77.0.2/99");
    let error = AgentConfig::from_toml(&text).expect_err("not a network");
    assert_eq!(
        error.one_line("agent.toml"),
        "agent.toml:9:11: `10.77.0.2/99` is not an address with a prefix: write for example \"10.77.0.1/24\""
    );
}

#[test]
fn malformed_keys_are_refused_and_private_keys_not_shown() {
    let error = refused(KEY, "AAAA");
    assert!(
        error
            .message
            .contains("this is not a key: 32 bytes in base64 (44 characters) are expected"),
        "{error}"
    );
    assert_eq!(
        error.excerpt(),
        Some("2 | private_key = \"****\"\n  |               ^^^^^^")
    );
}

#[test]
fn every_default_lies_within_its_bounds() {
    // Validation reads what was written, so it refuses a default that is out of bounds.
    let mut proxy = ProxyConfig::from_toml(&proxy_text()).expect("valid");
    proxy.queue = QueueConfig::default();
    proxy.fallback = FallbackConfig::default();
    proxy.control = ControlConfig::default();
    proxy.udp_load = Some(UdpLoadConfig::default());
    proxy.validate().expect("defaults are valid");
    let mut agent = AgentConfig::from_toml(&agent_text()).expect("valid");
    agent.uplink = UplinkConfig::default();
    agent.validate().expect("defaults are valid");
}

#[test]
fn the_box_in_the_wire_refuses_what_the_proxy_refuses() {
    let minimal = "wan = \"eth0\"\n[[ap]]\nports = [\"eth1\"]\n";
    let config = EdgeConfig::from_toml(minimal).expect("the smallest configuration");
    assert_eq!(EdgeConfig::from_toml(&config.to_toml()), Ok(config));
    for (more, says) in [
        ("[control]\nlaw = \"linear\"\naim = \"balanced\"\n", "aim"),
        ("[control]\nlaw = \"fixed\"\n", "fixed_rate"),
        ("[[ap]]\nports = [\"eth1\"]\n", "eth1"),
        ("[[ap]]\nports = []\n", "port"),
    ] {
        let error = EdgeConfig::from_toml(&format!("{minimal}{more}")).expect_err(more);
        assert!(error.one_line("edge.toml").contains(says), "{error}");
    }
}

const BOX: &str = "wan = \"eth0\"\n[[ap]]\nports = [\"eth1\"]\n";

#[test]
fn radios_and_agents_of_the_box_are_read_and_printed() {
    let text = format!(
        "{BOX}radio = \"air0\"\nbssid = \"02:00:00:00:00:01\"\n\
         [agents]\nlisten = \"10.0.0.2:51900\"\nprivate_key_file = \"/etc/airpace/box.key\"\n\
         [[station]]\nmac = \"02:00:00:00:01:00\"\npublic_key = \"{KEY}\"\n"
    );
    let config = EdgeConfig::from_toml(&text).expect("valid");
    assert_eq!(config.ap[0].radio.as_deref(), Some("air0"));
    let agents = config.agents.as_ref().expect("given");
    assert_eq!(agents.listen, "10.0.0.2:51900".parse().unwrap());
    assert!(matches!(agents.key_source(), Ok(KeySource::File(_))));
    assert_eq!(EdgeConfig::from_toml(&config.to_toml()), Ok(config));
}

#[test]
fn contradictions_about_radios_and_agents_of_the_box_are_refused() {
    let agents = "[agents]\nprivate_key_file = \"box.key\"\n";
    let station =
        |n: u8| format!("[[station]]\nmac = \"02:00:00:00:01:0{n}\"\npublic_key = \"{KEY}\"\n");
    let cases = [
        ("radio = \"eth0\"\n".to_owned(), "iw phy phy0 interface add"),
        ("radio = \"a/b\"\n".to_owned(), "not a valid interface name"),
        (station(0), "add [agents]"),
        (agents.to_owned(), "no agent may report"),
        ("[agents]\n".to_owned() + &station(0), "private_key_file"),
        (
            agents.to_owned() + &station(0) + &station(1),
            "a key of its own",
        ),
    ];
    for (more, says) in cases {
        let error = EdgeConfig::from_toml(&format!("{BOX}{more}")).expect_err(&more);
        assert!(error.message.contains(says), "{}", error.message);
    }
}

#[test]
fn two_stations_of_one_name_are_refused() {
    let named =
        |n: u8, name| format!("[[station]]\nmac = \"02:00:00:00:01:0{n}\"\nname = \"{name}\"\n");
    let others = format!("{BOX}{}{}", named(1, "printer"), named(2, "laptop"));
    assert!(EdgeConfig::from_toml(&others).is_ok());
    let twice = format!("{others}{}", named(3, "printer"));
    let error = EdgeConfig::from_toml(&twice).expect_err("two printers");
    assert!(
        error.message.contains("another station already"),
        "{}",
        error.message
    );
}

#[test]
fn an_interval_must_be_longer_than_the_target_that_holds() {
    let queue = "\n[queue]\ninterval = \"15 ms\"\n";
    let error = EdgeConfig::from_toml(&format!("{BOX}{queue}")).expect_err("20 ms in the wire");
    assert!(error.message.contains("20 ms"), "{}", error.message);
    let sensor = format!(
        "mode = \"sensor\"\nproxy = \"10.0.0.2:51900\"\nproxy_public_key = \"{KEY}\"\n\
         private_key_file = \"agent.key\"\ninterface = \"wlan0\"\n{queue}"
    );
    let mut config = AgentConfig::from_toml(&sensor).expect("10 ms at a tunnel");
    config.spell_out();
    assert_eq!(
        config.queue.target,
        Some(Span(core::time::Duration::from_millis(10)))
    );
}

#[test]
fn an_agent_that_only_reports_has_no_tunnel() {
    let sensor = format!(
        "mode = \"sensor\"\nproxy = \"10.0.0.2:51900\"\nproxy_public_key = \"{KEY}\"\n\
         private_key_file = \"agent.key\"\ninterface = \"wlan0\"\n"
    );
    let config = AgentConfig::from_toml(&sensor).expect("valid");
    assert_eq!(
        (config.mode, config.tun.is_none()),
        (AgentMode::Sensor, true)
    );
    assert_eq!(AgentConfig::from_toml(&config.to_toml()), Ok(config));
    for (text, says) in [
        (
            format!("{sensor}[tun]\naddress = \"10.77.0.2/24\"\n"),
            "has no `tun`",
        ),
        (
            format!("{sensor}[uplink]\nrate = \"9 Mbit/s\"\n"),
            "has no `uplink.rate`",
        ),
        (
            sensor.replace("\"sensor\"", "\"tunnel\""),
            "has no `interface`",
        ),
        (
            sensor
                .replace("mode = \"sensor\"", "")
                .replace("interface = \"wlan0\"", ""),
            "needs the table [tun]",
        ),
    ] {
        let error = AgentConfig::from_toml(&text).expect_err(&text);
        assert!(error.message.contains(says), "{}", error.message);
    }
}
