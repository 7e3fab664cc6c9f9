//! Which request is answered how.

use std::sync::Arc;
use std::time::Instant;

use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ALLOW, CONTENT_DISPOSITION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, SET_COOKIE,
};
use hyper::{Method, Request, StatusCode};
use net::clock::unix_ms;
use querylog::AuditEvent;
use serde_json::{Value, json};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::access::{self, TOKEN};
use crate::form::Fields;
use crate::limits::{BODY_BYTES_MAX, LOGIN_TIME_MAX, REQUEST_TIME_MAX};
use crate::list::Wanted;
use crate::logins::random_key;
use crate::origin::Origin;
use crate::reply::{Refusal, Reply, object, reply};
use crate::sample::Views;
use crate::site::Site;
use crate::viewer::Viewer;
use crate::views::{Listed, SESSION_COLUMNS, chosen_sessions};
use crate::{action, explain, plain, stream};

/// The reply to `request`.
pub(crate) async fn answer(site: &Arc<Site>, origin: Origin, request: Request<Incoming>) -> Reply {
    if !site.is_served(origin.port) {
        // Clients that are connected stay when the listener closes.
        return Refusal::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "ending",
            "the page is not served here any more",
        )
        .closing()
        .into();
    }
    if let Err(refusal) = access::check_origin(request.headers(), origin) {
        return refusal.into();
    }
    let path = request.uri().path().to_owned();
    let wanted = match path.as_str() {
        "/login" | "/logout" | "/api/action" => Method::POST,
        _ => Method::GET,
    };
    // Of a reply to HEAD, hyper sends the head.
    let is_head = request.method() == Method::HEAD && wanted == Method::GET;
    if *request.method() != wanted && !is_head {
        return bad_method(&wanted);
    }
    if let Some(reply) = site.assets.get(&path, request.headers()) {
        return reply;
    }
    match path.as_str() {
        "/login" => login(site, origin, request).await,
        "/plain" => plain::page(site, origin, &request).await,
        _ => for_viewers(site, origin, &path, request).await.unwrap_or_else(Reply::from),
    }
}

/// What needs a login.
async fn for_viewers(
    site: &Arc<Site>,
    origin: Origin,
    path: &str,
    request: Request<Incoming>,
) -> Result<Reply, Refusal> {
    const PATHS: [&str; 10] = [
        "/api/session",
        "/api/state",
        "/api/statements",
        "/api/sessions",
        "/api/ticket",
        "/api/stream",
        "/api/record",
        "/api/explain",
        "/api/action",
        "/logout",
    ];
    if !PATHS.contains(&path) {
        return Err(Refusal::new(StatusCode::NOT_FOUND, "not_found", format!("there is no {path}")));
    }
    let viewer = access::viewer(site, request.headers(), origin).await?;
    let query = Fields::of(request.uri().query().unwrap_or_default());
    match path {
        "/api/session" => Ok(object(StatusCode::OK, &viewer.json())),
        "/api/state" => state(site, &viewer, Views::parse(query.get("views"))?).await,
        "/api/statements" => statements(site, &query).await,
        "/api/sessions" => sessions(site, &viewer, &query).await,
        "/api/ticket" => ticket(site, &viewer).await,
        "/api/stream" => {
            let views = Views::parse(query.get("views"))?;
            let last = request.headers().get("last-event-id").and_then(|value| value.to_str().ok());
            stream::open(site, viewer, origin.port, views, last.or(query.get("last"))).await
        }
        "/api/record" => record(site, &viewer, query.get("at")),
        "/api/explain" => explain::explain(site, &query).await,
        "/api/action" => {
            check_token(&viewer, request.headers())?;
            let body = body(request, "application/json").await?;
            action::act(site, &viewer, origin, &body).await
        }
        _ => {
            check_token(&viewer, request.headers())?;
            Ok(log_out(site, &viewer, origin))
        }
    }
}

fn bad_method(wanted: &Method) -> Reply {
    let (message, allowed) = if *wanted == Method::POST {
        ("only POST is answered here", "POST")
    } else {
        ("only GET and HEAD are answered here", "GET, HEAD")
    };
    let mut reply: Reply = Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "bad_method", message).into();
    reply.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    reply
}

async fn state(site: &Arc<Site>, viewer: &Viewer, views: Views) -> Result<Reply, Refusal> {
    let sample = site.hub.sample(views).await?;
    Ok(reply(StatusCode::OK, "application/json", sample.whole(views, viewer)))
}

/// The view `now` of a moment of the last 24 hours; without one, from when to when there are some.
fn record(site: &Site, viewer: &Viewer, at: Option<&str>) -> Result<Reply, Refusal> {
    let recorder = site.hub.recorder();
    let Some(at) = at else {
        let [from_ms, to_ms] = recorder.range().map_or([None; 2], |range| range.map(Some));
        return Ok(object(StatusCode::OK, &json!({ "from_ms": from_ms, "to_ms": to_ms })));
    };
    let at = at.parse().map_err(|_| Refusal::bad("`at` must be milliseconds of Unix time"))?;
    let sample = recorder
        .sample(at)
        .ok_or_else(|| Refusal::new(StatusCode::NOT_FOUND, "not_recorded", "nothing is recorded yet"))?;
    Ok(reply(StatusCode::OK, "application/json", sample.whole(Views::NOW, viewer)))
}

/// Rows of the view of statements, chosen among all digests.
async fn statements(site: &Arc<Site>, query: &Fields) -> Result<Reply, Refusal> {
    let wanted = Wanted::parse(query, Listed::COLUMNS)?;
    let sample = site.hub.sample(Views::STATEMENTS).await?;
    chosen(move || sample.digests.as_ref().map(|list| list.chosen(&wanted))).await
}

/// Rows of the view of sessions, chosen among all sessions.
async fn sessions(site: &Arc<Site>, viewer: &Viewer, query: &Fields) -> Result<Reply, Refusal> {
    let wanted = Wanted::parse(query, SESSION_COLUMNS)?;
    let sample = site.hub.sample(Views::SESSIONS).await?;
    let is_admin = viewer.is_admin();
    chosen(move || sample.sessions.as_ref().map(|all| chosen_sessions(all, &wanted, is_admin))).await
}

/// The rows that `choose` returns, and how many match. It may take some milliseconds.
async fn chosen(
    choose: impl FnOnce() -> Option<(Vec<Value>, usize)> + Send + 'static,
) -> Result<Reply, Refusal> {
    let (rows, matching) = spawn_blocking(choose).await.ok().flatten().ok_or_else(Refusal::busy)?;
    Ok(object(StatusCode::OK, &json!({ "rows": rows, "matching": matching })))
}

/// The state as a file. A ticket is passed on: no literals and no messages are in it, for admins
/// too.
async fn ticket(site: &Arc<Site>, viewer: &Viewer) -> Result<Reply, Refusal> {
    let mut reply = state(site, &viewer.as_stats(), Views::ALL).await?;
    let name = format!("attachment; filename=\"pointsman-{}-{}.json\"", site.hub.host(), unix_ms());
    if let Ok(value) = HeaderValue::from_str(&name) {
        reply.headers_mut().insert(CONTENT_DISPOSITION, value);
    }
    Ok(reply)
}

/// The form of a login, of the page or of the table without JavaScript.
async fn login(site: &Arc<Site>, origin: Origin, request: Request<Incoming>) -> Reply {
    let fields = match body(request, "application/x-www-form-urlencoded").await {
        Ok(body) => Fields::of(&String::from_utf8_lossy(&body)),
        Err(refusal) => return refusal.into(),
    };
    let is_plain = fields.get("next") == Some("/plain");
    match log_in(site, origin, &fields).await {
        Ok(viewer) => {
            let mut reply =
                if is_plain { see_other("/plain") } else { object(StatusCode::OK, &viewer.json()) };
            let cookie = viewer.cookie.map(|(cookie, _)| cookie).unwrap_or_default();
            set_cookie(&mut reply, origin, &cookie, LOGIN_TIME_MAX.as_secs());
            reply
        }
        Err(refusal) if is_plain => see_other(&format!("/plain?error={}", refusal.word)),
        Err(refusal) => refusal.into(),
    }
}

async fn log_in(site: &Arc<Site>, origin: Origin, fields: &Fields) -> Result<Viewer, Refusal> {
    let field = |name: &str| fields.get(name).unwrap_or_default().to_owned();
    let login = access::check_password(site, field("user"), field("password").into_bytes(), origin).await?;
    let keys = [random_key(), random_key()];
    let cookie = keys.first().cloned().unwrap_or_default();
    let settings = site.settings.borrow().clone();
    let entry = site.logins().begin(login.clone(), keys, Instant::now(), |login| settings.has(login));
    tracing::info!(user = %login.who.user, client = %origin.client, "an account logs in to the page");
    access::audit(site, AuditEvent::ConnectOk, &login.who.user, origin, "");
    Ok(Viewer { login, cookie: Some((cookie, entry)) })
}

fn log_out(site: &Site, viewer: &Viewer, origin: Origin) -> Reply {
    if let Some((cookie, _)) = &viewer.cookie {
        site.logins().end(cookie);
        access::audit(site, AuditEvent::Quit, &viewer.login.who.user, origin, "");
    }
    let mut reply = reply(StatusCode::NO_CONTENT, "text/plain", Bytes::new());
    set_cookie(&mut reply, origin, "", 0);
    reply
}

fn set_cookie(reply: &mut Reply, origin: Origin, cookie: &str, seconds: u64) {
    let name = access::cookie_name(origin);
    let secure = if origin.is_tls { "; Secure" } else { "" };
    let value = format!("{name}={cookie}; HttpOnly; SameSite=Strict; Path=/; Max-Age={seconds}{secure}");
    if let Ok(value) = HeaderValue::from_str(&value) {
        reply.headers_mut().insert(SET_COOKIE, value);
    }
}

fn see_other(path: &str) -> Reply {
    let mut reply = reply(StatusCode::SEE_OTHER, "text/plain", Bytes::new());
    if let Ok(path) = HeaderValue::from_str(path) {
        reply.headers_mut().insert(LOCATION, path);
    }
    reply
}

/// A request with a cookie that changes something must name the token of the login.
fn check_token(viewer: &Viewer, headers: &HeaderMap) -> Result<(), Refusal> {
    let Some((_, entry)) = &viewer.cookie else { return Ok(()) };
    let given = headers.get(TOKEN).map(HeaderValue::as_bytes);
    if given == Some(entry.token.as_bytes()) {
        return Ok(());
    }
    Err(Refusal::new(StatusCode::FORBIDDEN, "bad_token", "the header X-CSRF-Token is not that of the login"))
}

/// The body of a request, which must be of this `kind`.
async fn body(request: Request<Incoming>, kind: &str) -> Result<Bytes, Refusal> {
    let text = |name: HeaderName| request.headers().get(name).and_then(|value| value.to_str().ok());
    let given = text(CONTENT_TYPE).and_then(|value| value.split(';').next()).unwrap_or_default();
    if !given.trim().eq_ignore_ascii_case(kind) {
        let message = format!("Content-Type must be {kind}");
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "bad_content_type", message));
    }
    let limited = Limited::new(request.into_body(), BODY_BYTES_MAX);
    match timeout(REQUEST_TIME_MAX, limited.collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
            let message = format!("a body may have {BODY_BYTES_MAX} bytes");
            Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message))
        }
        Ok(Err(error)) => Err(Refusal::bad(error.to_string())),
        Err(_) => Err(Refusal::bad("the request took too long")),
    }
}
