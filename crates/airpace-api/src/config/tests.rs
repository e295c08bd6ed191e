//! What parses, what is refused and with which words.

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

fn proxy(edit: impl Fn(String) -> String) -> Result<ProxyConfig, ConfigError> {
    let config = ProxyConfig::from_toml(&edit(proxy_text()))?;
    config.validate().map(|()| config)
}

/// The message for a configuration that was edited into a wrong one.
fn refusal(from: &str, to: &str) -> String {
    assert!(proxy_text().contains(from), "the sample lacks {from}");
    proxy(|text| text.replacen(from, to, 1))
        .expect_err("must be refused")
        .to_string()
}

#[test]
fn the_effective_configuration_parses_back_to_the_same() {
    let config = proxy(|text| text).expect("valid");
    let printed = config.to_toml();
    assert!(printed.contains("slot = \"100 ms\""), "{printed}");
    assert!(printed.contains("level_limit = 32.0"), "{printed}");
    assert_eq!(ProxyConfig::from_toml(&printed).expect(&printed), config);

    let config = AgentConfig::from_toml(&agent_text()).expect("valid");
    config.validate().expect("valid");
    let printed = config.to_toml();
    assert!(printed.contains("rate = \"58.5 Mbit/s\""), "{printed}");
    assert_eq!(AgentConfig::from_toml(&printed).expect(&printed), config);
}

#[test]
fn unknown_keys_are_refused_with_their_line() {
    let message = refusal("delay_target", "delay_taget");
    assert!(
        message.starts_with("TOML parse error at line 8, column 1"),
        "{message}"
    );
    assert!(
        message.contains("unknown field `delay_taget`, expected one of `law`, `slot`"),
        "{message}"
    );
}

#[test]
fn bare_numbers_are_refused_with_a_hint() {
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
fn contradictions_are_told_in_one_line() {
    let cases = [
        (
            "\"20 ms\"",
            "\"200 us\"",
            "control.delay_target = 200 us is below the feasible: 2 stations need at least 244 us, the overhead of one frame each",
        ),
        (
            "\"10.77.0.3\"",
            "\"10.77.0.2\"",
            "stations `laptop` and `phone` have the same address",
        ),
        (
            OTHER_KEY,
            KEY,
            "stations `laptop` and `phone` have the same public_key",
        ),
        (
            "\"phone\"",
            "\"laptop\"",
            "stations `laptop` and `laptop` have the same name",
        ),
        (
            "\"10.77.0.3\"",
            "\"10.78.0.3\"",
            "station `phone`: 10.78.0.3 is outside of the tunnel's network 10.77.0.1/24",
        ),
        (
            "\"10.77.0.3\"",
            "\"10.77.0.1\"",
            "station `phone`: 10.77.0.1 is the proxy's own address",
        ),
        (
            "weight = 2.5",
            "weight = 0.0",
            "station.weight = 0 is impossible: a number greater than 0",
        ),
        (
            "weight = 2.5",
            "weight = nan",
            "station.weight = NaN is impossible: a number greater than 0",
        ),
        (
            "delay_target = \"20 ms\"",
            "level_limit = 0.5",
            "control.level_limit = 0.5 is impossible: 1 to 1024 packets per frame",
        ),
        (
            "delay_target = \"20 ms\"",
            "slot = \"1 ms\"",
            "control.slot = 1 ms is impossible: 10 ms to 10 s",
        ),
        (
            "delay_target = \"20 ms\"",
            "law = \"fixed\"",
            "control.law = \"fixed\" needs control.fixed_rate",
        ),
        (
            "delay_target = \"20 ms\"",
            "law = \"none\"",
            "udp_load needs a rate, and control.law = \"none\" has none: use another law, or `fixed` with control.fixed_rate",
        ),
        (
            "[tun]",
            "[tun]\nname = \"a/b\"",
            "`a/b` is no name of an interface: 1 to 15 characters without `/` and blanks",
        ),
        (
            "[tun]",
            "[tun]\nmtu = \"100 B\"",
            "tun.mtu = 100 B is impossible: 576 B to 9000 B",
        ),
    ];
    for (from, to, expected) in cases {
        assert_eq!(refusal(from, to), expected);
    }
    let keyless = proxy_text().replacen("private_key =", "#", 1);
    let message = ProxyConfig::from_toml(&keyless)
        .and_then(|c| c.validate())
        .expect_err("no key")
        .to_string();
    assert_eq!(
        message,
        "give one of private_key and private_key_file (`airpace keygen` makes a key)"
    );
}

#[test]
fn an_agent_does_not_route_the_proxy_into_the_tunnel() {
    let text = agent_text().replace("10.1.0.0/16", "0.0.0.0/0");
    let message = AgentConfig::from_toml(&text)
        .and_then(|c| c.validate())
        .expect_err("a cycle")
        .to_string();
    assert_eq!(
        message,
        "route 0.0.0.0/0 contains the proxy's address 192.0.2.1: the tunnel would swallow its own packets"
    );
}

#[test]
fn malformed_keys_are_refused() {
    let message = refusal(KEY, "AAAA");
    assert!(
        message.contains("this is no key: 32 bytes in base64 (44 characters) are expected"),
        "{message}"
    );
}
