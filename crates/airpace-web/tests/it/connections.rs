//! Clients that are slow, many or rude.

use airpace_api::config::{EdgeConfig, MetricsConfig, WebConfig};
use airpace_api::operator::{EdgeReply, EdgeRequest, EdgeStatus};
use airpace_web::Server;
use core::net::SocketAddr;
use core::time::Duration;
use std::fs::Permissions;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;

fn config() -> EdgeConfig {
    let listen: SocketAddr = "127.0.0.1:0".parse().unwrap();
    EdgeConfig {
        metrics: Some(MetricsConfig { listen }),
        web: Some(WebConfig {
            listen,
            ..WebConfig::default()
        }),
        ..EdgeConfig::default()
    }
}

fn answer(request: &EdgeRequest) -> anyhow::Result<EdgeReply> {
    assert_eq!(*request, EdgeRequest::Status);
    Ok(EdgeReply {
        status: Some(EdgeStatus::default()),
        ..EdgeReply::default()
    })
}

fn start() -> Server {
    airpace_web::start(&config(), Box::new(answer)).unwrap()
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    let patience = Some(Duration::from_secs(20));
    stream.set_read_timeout(patience).unwrap();
    stream
}

fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = connect(address);
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn page_and_metrics_have_addresses_of_their_own() {
    let server = start();
    let (web, metrics) = (
        server.web_address().unwrap(),
        server.metrics_address().unwrap(),
    );
    assert!(web.ip().is_loopback() && metrics.ip().is_loopback());
    assert!(get(web, "/").starts_with("HTTP/1.1 200 OK\r\n"));
    assert!(get(web, "/api/status").contains("\"aps\""));
    let text = get(metrics, "/metrics");
    assert!(text.contains("application/openmetrics-text") && text.ends_with("# EOF\n"));
    assert!(get(metrics, "/").starts_with("HTTP/1.1 404"));
}

#[test]
fn silent_clients_do_not_keep_others_out() {
    let server = start();
    let web = server.web_address().unwrap();
    let mut silent: Vec<TcpStream> = (0..200).map(|_| connect(web)).collect();
    for stream in &mut silent {
        // Some have been closed already.
        let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost:");
    }
    assert!(get(web, "/api/status").starts_with("HTTP/1.1 200"));
    // The first was closed for a later one, and the last after its time.
    for stream in [silent.remove(0), silent.pop().unwrap()] {
        let mut stream = stream;
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert!(rest.is_empty());
    }
}

#[test]
fn a_request_in_pieces_is_answered_and_a_rude_one_refused() {
    let server = start();
    let web = server.web_address().unwrap();
    let mut stream = connect(web);
    for byte in b"GET /api/history HTTP/1.1\r\nHost: localhost\r\n\r\n" {
        stream.write_all(&[*byte]).unwrap();
    }
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.contains("\"step_s\":5"), "{text}");
    for (request, status) in [
        ("\x16\x03\x01\r\n\r\n".to_owned(), "400"),
        (format!("GET /{} HTTP/1.1\r\n", "x".repeat(8300)), "431"),
        (
            "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_owned(),
            "421",
        ),
        (
            "POST /api/reload HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(),
            "403",
        ),
        (
            "DELETE / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(),
            "405",
        ),
    ] {
        let mut stream = connect(web);
        stream.write_all(request.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        assert!(
            text.starts_with(&format!("HTTP/1.1 {status} ")),
            "{request}: {text}"
        );
    }
}

#[test]
fn an_address_that_is_taken_and_a_token_that_others_can_read_are_refused() {
    let server = start();
    let mut config = config();
    config.metrics.as_mut().unwrap().listen = server.metrics_address().unwrap();
    let error = airpace_web::start(&config, Box::new(answer)).unwrap_err();
    assert!(format!("{error:#}").contains("metrics.listen"), "{error:#}");

    let file = std::env::temp_dir().join(format!("airpace-token-{}", std::process::id()));
    let refused = |text: &str, mode: u32| {
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        let mut config = self::config();
        config.web.as_mut().unwrap().token_file = Some(file.clone());
        let started = airpace_web::start(&config, Box::new(answer));
        std::fs::remove_file(&file).unwrap();
        started.err().map(|error| format!("{error:#}"))
    };
    let readable = refused("0123456789abcdef", 0o644).unwrap();
    assert!(readable.contains("chmod 600"), "{readable}");
    let short = refused("secret\n", 0o600).unwrap();
    assert!(short.contains("16 to"), "{short}");
    assert_eq!(refused("0123456789abcdef\n", 0o600), None);
    let mut missing = self::config();
    missing.web.as_mut().unwrap().token_file = Some(file);
    let error = airpace_web::start(&missing, Box::new(answer)).unwrap_err();
    assert!(format!("{error:#}").contains("makes a token"), "{error:#}");
}
