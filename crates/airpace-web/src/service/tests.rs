use super::*;
use airpace_api::operator::{ApStatus, EdgeStationStatus};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver};

const TOKEN: &str = "a token of the operator";

/// A service whose box counts what it is asked, with what it was asked.
fn service(has_token: bool) -> (Service, Receiver<EdgeRequest>) {
    let (asked, seen) = mpsc::channel();
    let statuses = AtomicU64::new(0);
    let ask = move |request: &EdgeRequest| {
        asked.send(request.clone()).expect("the test listens");
        let mut reply = EdgeReply::default();
        match request {
            EdgeRequest::Status => {
                let sent = statuses.fetch_add(1, Ordering::Relaxed);
                reply.status = Some(EdgeStatus {
                    sent,
                    access_points: vec![ApStatus {
                        stations: vec![EdgeStationStatus::default()],
                        ..ApStatus::default()
                    }],
                    ..EdgeStatus::default()
                });
            }
            EdgeRequest::Aim { aim } if aim == "nonsense" => {
                reply.error = Some("not an aim".to_owned());
            }
            _ => reply.done = Some("done".to_owned()),
        }
        Ok(reply)
    };
    let mut service = Service::new(Box::new(ask));
    let token = has_token.then(|| Token::new(TOKEN).expect("random numbers"));
    service.serve_page(Time::ZERO, token, vec!["box.example".to_owned()]);
    (service, seen)
}

fn get(path: &str) -> Request {
    Request {
        method: "GET".to_owned(),
        path: path.to_owned(),
        host: Some("127.0.0.1:8080".to_owned()),
        ..Request::default()
    }
}

fn post(path: &str, body: &str) -> Request {
    Request {
        method: "POST".to_owned(),
        authorization: Some(format!("Bearer {TOKEN}")),
        content_type: Some("application/json; charset=utf-8".to_owned()),
        body: body.as_bytes().to_vec(),
        ..get(path)
    }
}

fn error_of(response: &Response) -> String {
    let body: serde_json::Value = serde_json::from_slice(&response.body).expect("JSON");
    body["error"].as_str().expect("a reason").to_owned()
}

#[test]
fn the_status_is_asked_for_once_a_second_at_most_and_only_on_demand() {
    let (mut service, seen) = service(false);
    for ms in (0..3000).step_by(100) {
        let response = service.respond(Time::from_millis(ms), Site::Web, &get("/api/status"));
        assert_eq!(response.status, 200);
    }
    let asked = seen.try_iter().count();
    assert!((3..=4).contains(&asked), "{asked}");
    for ms in (10_000..20_000).step_by(100) {
        service.respond(Time::from_millis(ms), Site::Web, &get("/"));
    }
    assert_eq!(seen.try_iter().count(), 0);
}

#[test]
fn the_status_has_the_names_of_the_command() {
    let (mut service, _seen) = service(false);
    let response = service.respond(Time::ZERO, Site::Web, &get("/api/status"));
    let body: serde_json::Value = serde_json::from_slice(&response.body).expect("JSON");
    assert!(body["aps"][0]["stations"].is_array(), "{body}");
}

#[test]
fn the_history_gets_a_point_every_five_seconds() {
    let (mut service, _seen) = service(false);
    for ms in (0..60_001).step_by(500) {
        service.on_time(Time::from_millis(ms));
    }
    let response = service.respond(Time::ZERO, Site::Web, &get("/api/history"));
    let body: serde_json::Value = serde_json::from_slice(&response.body).expect("JSON");
    assert_eq!(body["unix_s"].as_array().map(Vec::len), Some(13), "{body}");
}

#[test]
fn a_change_needs_the_token_and_reaches_the_box() {
    let (mut service, seen) = service(true);
    let exempt = post(
        "/api/exempt",
        r#"{"station":"02:00:00:00:00:01","exempt":true}"#,
    );
    let response = service.respond(Time::ZERO, Site::Web, &exempt);
    assert_eq!(response.status, 200);
    let station = "02:00:00:00:00:01".to_owned();
    let asked = EdgeRequest::Exempt {
        station,
        exempt: true,
    };
    assert_eq!(seen.try_recv(), Ok(asked));
    let response = service.respond(Time::ZERO, Site::Web, &post("/api/reload", ""));
    assert_eq!(response.status, 200);
    assert_eq!(seen.try_recv(), Ok(EdgeRequest::Reload));
    let response = service.respond(
        Time::ZERO,
        Site::Web,
        &post("/api/aim", r#"{"aim":"nonsense"}"#),
    );
    assert_eq!(
        (response.status, error_of(&response).as_str()),
        (400, "not an aim")
    );
    seen.try_iter().for_each(drop);

    let mut wrong = exempt.clone();
    wrong.authorization = Some("Bearer A token of the operator".to_owned());
    assert_eq!(service.respond(Time::ZERO, Site::Web, &wrong).status, 401);
    let mut form = exempt.clone();
    form.content_type = Some("text/plain".to_owned());
    assert_eq!(service.respond(Time::ZERO, Site::Web, &form).status, 415);
    let read = get("/api/exempt");
    assert_eq!(service.respond(Time::ZERO, Site::Web, &read).status, 405);
    for body in ["[]", "{", r#"{"station":7,"exempt":true}"#, "{}"] {
        let response = service.respond(Time::ZERO, Site::Web, &post("/api/exempt", body));
        assert_eq!(response.status, 400, "{body}");
    }
    // The path decides what is asked for, whatever the body says.
    let other = post("/api/reload", r#"{"command":"aim","aim":"10 ms"}"#);
    assert_eq!(service.respond(Time::ZERO, Site::Web, &other).status, 200);
    assert_eq!(seen.try_iter().collect::<Vec<_>>(), [EdgeRequest::Reload]);
}

#[test]
fn without_a_token_file_nothing_can_be_changed() {
    let (mut service, seen) = service(false);
    let response = service.respond(Time::ZERO, Site::Web, &post("/api/reload", ""));
    assert_eq!(response.status, 403);
    assert!(error_of(&response).contains("web.token_file"));
    assert_eq!(seen.try_iter().count(), 0);
}

#[test]
fn a_request_for_a_foreign_name_is_refused() {
    let (mut service, _seen) = service(true);
    let mut rebound = get("/api/status");
    rebound.host = Some("evil.example:8080".to_owned());
    assert_eq!(service.respond(Time::ZERO, Site::Web, &rebound).status, 421);
    let metrics = |any_host| Site::Metrics { any_host };
    rebound.path = "/metrics".to_owned();
    assert_eq!(
        service.respond(Time::ZERO, metrics(false), &rebound).status,
        421
    );
    assert_eq!(
        service.respond(Time::ZERO, metrics(true), &rebound).status,
        200
    );
    let mut own = get("/api/status");
    own.host = Some("box.example".to_owned());
    assert_eq!(service.respond(Time::ZERO, Site::Web, &own).status, 200);
}

#[test]
fn the_page_loads_nothing_from_elsewhere() {
    let (mut service, _seen) = service(false);
    for path in [
        "/",
        "/style.css",
        "/app.js",
        "/chart.js",
        "/verdict.js",
        "/icon.svg",
    ] {
        let response = service.respond(Time::ZERO, Site::Web, &get(path));
        assert_eq!(response.status, 200, "{path}");
        let text = String::from_utf8(response.body.into_owned()).expect("text");
        let text = text.replace("http://www.w3.org/2000/svg", "");
        assert!(
            !text.contains("http:") && !text.contains("https:"),
            "{path}"
        );
        assert!(
            !text.contains("innerHTML") && !text.contains("<style"),
            "{path}"
        );
    }
    assert_eq!(
        service
            .respond(Time::ZERO, Site::Web, &get("/metrics"))
            .status,
        404
    );
    assert_eq!(
        service
            .respond(Time::ZERO, Site::Web, &get("/../etc/passwd"))
            .status,
        404
    );
    let metrics = Site::Metrics { any_host: false };
    assert_eq!(
        service
            .respond(Time::ZERO, metrics, &get("/api/status"))
            .status,
        404
    );
}

#[test]
fn a_box_that_does_not_answer_is_told() {
    let ask = |_: &EdgeRequest| Err(anyhow::anyhow!("airpace edge is ending"));
    let mut service = Service::new(Box::new(ask));
    service.serve_page(Time::ZERO, None, Vec::new());
    service.on_time(Time::ZERO);
    for path in ["/api/status", "/metrics"] {
        let site = if path == "/metrics" {
            Site::Metrics { any_host: false }
        } else {
            Site::Web
        };
        let response = service.respond(Time::ZERO, site, &get(path));
        assert_eq!(response.status, 503, "{path}");
        assert!(error_of(&response).contains("ending"));
    }
}
