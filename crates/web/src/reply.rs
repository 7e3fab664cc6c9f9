//! Replies, their headers and their bodies.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use hyper::header::{CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};
use tokio::sync::mpsc::Receiver;

/// What a client is answered.
pub(crate) type Reply = Response<Body>;

/// The body of a reply.
#[derive(Debug)]
pub(crate) enum Body {
    /// All of it; nothing once it was taken.
    Whole(Option<Bytes>),
    /// Parts that come as they are made.
    Stream(Receiver<Bytes>),
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Stream(parts) => parts.poll_recv(cx).map(|part| part.map(|part| Ok(Frame::data(part)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}

/// What is in the head of every reply: nothing but the page's own files is loaded, nothing frames
/// it, and no other site gets its address. The policy `no-referrer` would make browsers send
/// `Origin: null` with the form of `/plain`.
const HEADERS: [(HeaderName, HeaderValue); 5] = [
    (
        hyper::header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
        ),
    ),
    (hyper::header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (hyper::header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (hyper::header::REFERRER_POLICY, HeaderValue::from_static("same-origin")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
];

/// A reply of this kind.
pub(crate) fn reply(code: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Reply {
    with_body(code, kind, Body::Whole(Some(body.into())))
}

/// A reply whose body comes in parts.
pub(crate) fn stream(kind: &'static str, parts: Receiver<Bytes>) -> Reply {
    with_body(StatusCode::OK, kind, Body::Stream(parts))
}

/// A reply of JSON.
pub(crate) fn object(code: StatusCode, value: &Value) -> Reply {
    reply(code, "application/json", format!("{value}\n"))
}

fn with_body(code: StatusCode, kind: &'static str, body: Body) -> Reply {
    let mut response = Response::new(body);
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.extend(HEADERS);
    response
}

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    code: StatusCode,
    /// The word for programs.
    pub(crate) word: &'static str,
    message: String,
    /// Seconds until another try makes sense.
    retry_after: Option<u64>,
    /// Whether the connection ends, so that the client does not keep its place.
    closes: bool,
}

impl Refusal {
    /// A refusal with the word for programs and a sentence for people.
    pub(crate) fn new(code: StatusCode, word: &'static str, message: impl Into<String>) -> Self {
        // A client without a login does not keep its place.
        let closes = matches!(code, StatusCode::UNAUTHORIZED | StatusCode::TOO_MANY_REQUESTS);
        Self { code, word, message: message.into(), retry_after: None, closes }
    }

    /// The same, and when another try makes sense, in seconds.
    pub(crate) const fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// The same, and the connection ends.
    pub(crate) const fn closing(mut self) -> Self {
        self.closes = true;
        self
    }

    /// The request cannot be used.
    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", message)
    }

    /// The proxy has refused what the request asks for.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "failed", message)
    }

    /// The proxy takes too long.
    pub(crate) fn busy() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "the proxy has not answered in time: try again")
    }

    /// The JSON that the client gets.
    pub(crate) fn json(&self) -> Value {
        json!({ "error": self.word, "message": self.message })
    }
}

impl From<Refusal> for Reply {
    fn from(refusal: Refusal) -> Self {
        let mut reply = object(refusal.code, &refusal.json());
        if let Some(seconds) = refusal.retry_after {
            reply.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        if refusal.closes {
            reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        reply
    }
}
