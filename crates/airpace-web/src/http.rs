//! Requests and answers of HTTP/1.1, as bytes. One request per connection, without transfer codings.

use std::borrow::Cow;

/// Longest head of a request, bytes.
pub(crate) const MOST_HEAD_BYTES: usize = 8192;
/// Longest body of a request, bytes.
pub(crate) const MOST_BODY_BYTES: usize = 4096;
/// Most header fields of a request.
const MOST_HEADERS: usize = 64;

/// What a browser may do with the page: load its own scripts, styles and data, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A request, as far as it matters here.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// The path without the query.
    pub(crate) path: String,
    pub(crate) host: Option<String>,
    pub(crate) authorization: Option<String>,
    pub(crate) content_type: Option<String>,
    pub(crate) body: Vec<u8>,
}

/// What has come of a request.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Parsed {
    /// More must come.
    Incomplete,
    /// All of it.
    Complete(Request),
    /// It cannot become a request that is answered otherwise.
    Refused(Response),
}

/// Reads the beginning of a connection. It accepts any bytes.
pub(crate) fn parse(bytes: &[u8]) -> Parsed {
    let mut fields = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut head = httparse::Request::new(&mut fields);
    let length = match head.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if bytes.len() <= MOST_HEAD_BYTES => {
            return Parsed::Incomplete;
        }
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            return Parsed::Refused(Response::error(431, "the head of the request is too long"));
        }
        Err(_) => {
            return Parsed::Refused(Response::error(400, "this is not a request of HTTP/1.1"));
        }
    };
    let refuse = |status, why| Parsed::Refused(Response::error(status, why));
    if length > MOST_HEAD_BYTES {
        return refuse(431, "the head of the request is too long");
    }
    let mut request = Request {
        method: head.method.unwrap_or_default().to_owned(),
        ..Request::default()
    };
    let target = head.path.unwrap_or_default();
    let path = target.split_once('?').map_or(target, |(path, _)| path);
    request.path = path.to_owned();
    let mut body_length = None;
    for field in head.headers.iter() {
        let Ok(value) = core::str::from_utf8(field.value) else {
            return refuse(400, "a header field is not text");
        };
        let slot = match field.name.to_ascii_lowercase().as_str() {
            "host" => &mut request.host,
            "authorization" => &mut request.authorization,
            "content-type" => &mut request.content_type,
            "content-length" => &mut body_length,
            "transfer-encoding" => return refuse(411, "send the body with its Content-Length"),
            _ => continue,
        };
        // Programs disagree which of two counts, so neither does.
        if slot.replace(value.trim().to_owned()).is_some() {
            return refuse(400, "a header field comes twice");
        }
    }
    let body_length = match body_length.as_deref().map(str::parse::<usize>) {
        None => 0,
        Some(Ok(length)) if length <= MOST_BODY_BYTES => length,
        Some(Ok(_)) => return refuse(413, "the body of the request is too long"),
        Some(Err(_)) => return refuse(400, "Content-Length is not a number"),
    };
    let Some(body) = bytes.get(length..length + body_length) else {
        return Parsed::Incomplete;
    };
    request.body = body.to_vec();
    Parsed::Complete(request)
}

/// An answer.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    content_type: &'static str,
    pub(crate) body: Cow<'static, [u8]>,
}

impl Response {
    /// An answer with content.
    pub(crate) fn ok(content_type: &'static str, body: impl Into<Cow<'static, [u8]>>) -> Self {
        Self {
            status: 200,
            content_type,
            body: body.into(),
        }
    }

    /// An answer in JSON.
    pub(crate) fn json(status: u16, value: &impl serde::Serialize) -> Self {
        Self {
            status,
            content_type: "application/json",
            body: serde_json::to_vec(value).unwrap_or_default().into(),
        }
    }

    /// A refusal, with its reason as the field `error` of an object.
    pub(crate) fn error(status: u16, why: impl core::fmt::Display) -> Self {
        let why = why.to_string();
        Self::json(status, &serde_json::json!({ "error": why }))
    }

    /// The answer as bytes; without its body for the method HEAD.
    pub(crate) fn to_bytes(&self, with_body: bool) -> Vec<u8> {
        let allow = match self.status {
            401 => "WWW-Authenticate: Bearer\r\n",
            405 => "Allow: GET, HEAD, POST\r\n",
            _ => "",
        };
        let head = format!(
            "HTTP/1.1 {} {}\r\n\
             Content-Type: {}\r\n\
             Content-Length: {}\r\n\
             Connection: close\r\n\
             Cache-Control: no-store\r\n\
             X-Content-Type-Options: nosniff\r\n\
             Referrer-Policy: no-referrer\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\n\
             Content-Security-Policy: {POLICY}\r\n\
             {allow}\r\n",
            self.status,
            reason(self.status),
            self.content_type,
            self.body.len(),
        );
        let mut bytes = head.into_bytes();
        if with_body {
            bytes.extend_from_slice(&self.body);
        }
        bytes
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        411 => "Length Required",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        421 => "Misdirected Request",
        431 => "Request Header Fields Too Large",
        _ => "Service Unavailable",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(bytes: &[u8]) -> u16 {
        match parse(bytes) {
            Parsed::Refused(response) => response.status,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_request_is_complete_with_its_last_byte() {
        let whole = b"POST /api/aim?x=1 HTTP/1.1\r\nHost: box\r\ncontent-length: 4\r\n\r\nbody";
        for length in 0..whole.len() {
            assert_eq!(parse(&whole[..length]), Parsed::Incomplete, "{length}");
        }
        let Parsed::Complete(request) = parse(whole) else {
            panic!("it is complete");
        };
        assert_eq!(
            (request.method.as_str(), request.path.as_str()),
            ("POST", "/api/aim")
        );
        assert_eq!(request.host.as_deref(), Some("box"));
        assert_eq!(request.body, b"body");
    }

    #[test]
    fn requests_that_are_too_long_or_ambiguous_are_refused() {
        assert_eq!(refusal(b"\x16\x03\x01\x02\x00\x01"), 400);
        let endless = [b"GET / HTTP/1.1\r\nx: ".to_vec(), vec![b'y'; 9000]].concat();
        assert_eq!(refusal(&endless), 431);
        let fields = "x: y\r\n".repeat(100);
        assert_eq!(
            refusal(format!("GET / HTTP/1.1\r\n{fields}\r\n").as_bytes()),
            431
        );
        let with =
            |fields: &str| refusal(format!("POST / HTTP/1.1\r\n{fields}\r\n\r\n").as_bytes());
        assert_eq!(with("Content-Length: 5000"), 413);
        assert_eq!(with("Content-Length: -1"), 400);
        assert_eq!(with("Content-Length: 18446744073709551615"), 413);
        assert_eq!(with("Content-Length: 99999999999999999999"), 400);
        assert_eq!(with("Content-Length: 1\r\nContent-Length: 1"), 400);
        assert_eq!(with("Transfer-Encoding: chunked"), 411);
        assert_eq!(with("Host: a\r\nHost: b"), 400);
    }

    #[test]
    fn an_answer_forbids_what_the_page_does_not_need() {
        let bytes = Response::error(401, "no token").to_bytes(true);
        let text = String::from_utf8(bytes).expect("text");
        assert!(text.starts_with("HTTP/1.1 401 Unauthorized\r\n"), "{text}");
        assert!(
            text.contains("default-src 'none'; script-src 'self'"),
            "{text}"
        );
        assert!(!text.contains("unsafe-inline") && !text.contains("Access-Control"));
        assert!(text.ends_with("\r\n\r\n{\"error\":\"no token\"}"), "{text}");
        let head = Response::ok("text/plain", "abc".as_bytes()).to_bytes(false);
        assert!(head.ends_with(b"\r\n\r\n"));
    }
}
