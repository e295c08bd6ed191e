//! Requests over HTTP as strangers send them, for the fuzz target `web`, which is outside of this crate. It
//! exists only in builds with `--cfg fuzzing`, as `cargo fuzz` makes them.

use crate::guard::Token;
use crate::http::{self, Parsed, Request, Response};
use crate::service::{Service, Site};
use airpace_api::operator::{EdgeReply, EdgeRequest, EdgeStatus};
use airpace_units::Time;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The token of the page.
pub const TOKEN: &str = "a token of sixteen or more";

/// Page and metrics of a box that grants everything.
pub struct Pages {
    service: Service,
    /// Changes that the box was asked for.
    changes: Arc<AtomicU64>,
}

impl core::fmt::Debug for Pages {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Pages").finish_non_exhaustive()
    }
}

impl Default for Pages {
    fn default() -> Self {
        let changes = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&changes);
        let ask = move |request: &EdgeRequest| {
            let mut reply = EdgeReply::default();
            match request {
                EdgeRequest::Status => reply.status = Some(EdgeStatus::default()),
                _ => {
                    counter.fetch_add(1, Ordering::Relaxed);
                    reply.done = Some("done".to_owned());
                }
            }
            Ok(reply)
        };
        let mut service = Service::new(Box::new(ask));
        let token = Token::new(TOKEN).expect("the system has random numbers");
        let hosts = vec!["box.example".to_owned()];
        service.serve_page(Time::ZERO, Some(token), hosts);
        Self { service, changes }
    }
}

impl Pages {
    /// Handles what a connection begins with, as page and as metrics. Returns whether it is a whole
    /// request.
    ///
    /// # Panics
    /// A promise is broken: what is fuzzed.
    pub fn handle(&mut self, bytes: &[u8]) -> bool {
        let parsed = http::parse(bytes);
        let more = [bytes, b"GET / HTTP/1.1\r\n\r\n"].concat();
        match &parsed {
            Parsed::Incomplete => {
                let most = http::MOST_HEAD_BYTES + http::MOST_BODY_BYTES;
                assert!(bytes.len() <= most, "a client could send for ever");
                return false;
            }
            Parsed::Refused(response) => {
                check(response, &[400, 411, 413, 431]);
                return false;
            }
            // What follows a request is never a part of it.
            Parsed::Complete(_) => assert_eq!(http::parse(&more), parsed),
        }
        let Parsed::Complete(request) = parsed else {
            return false;
        };
        assert!(request.body.len() <= http::MOST_BODY_BYTES && !request.path.contains('?'));
        for site in [
            Site::Web,
            Site::Metrics { any_host: true },
            Site::Metrics { any_host: false },
        ] {
            self.ask(site, &request);
        }
        true
    }

    fn ask(&mut self, site: Site, request: &Request) {
        let before = self.changes.load(Ordering::Relaxed);
        let response = self.service.respond(Time::ZERO, site, request);
        check(&response, &[200, 400, 401, 404, 405, 415, 421]);
        if self.changes.load(Ordering::Relaxed) == before {
            return;
        }
        assert_eq!(site, Site::Web, "metrics change nothing");
        assert_eq!(request.method, "POST");
        let is_offered = |field: &String| field.ends_with(TOKEN);
        assert!(
            request.authorization.as_ref().is_some_and(is_offered),
            "something was changed without the token"
        );
        assert!(request.host.is_some(), "a foreign page could ask for it");
    }
}

/// An answer has one of these codes, and a head that nothing of the request can have ended early.
fn check(response: &Response, codes: &[u16]) {
    assert!(codes.contains(&response.status), "{}", response.status);
    let bytes = response.to_bytes(true);
    let head = bytes.strip_suffix(response.body.as_ref());
    let head = head.expect("the body comes last");
    let ends = head.windows(4).filter(|four| four == b"\r\n\r\n").count();
    assert_eq!(ends, 1, "one head");
    let length = format!("\r\nContent-Length: {}\r\n", response.body.len());
    let head = String::from_utf8_lossy(head);
    assert!(head.contains(&length), "{head}");
}
