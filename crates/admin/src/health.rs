//! Health checks: HTTP for load balancers and other programs that ask whether clients can be sent
//! here.
//!
//! `GET /health` says whether the process accepts clients, `GET /health/hostgroup/N` also whether a
//! server of that hostgroup works. Both are answered from memory, without the thread that owns
//! SQLite, so that a busy admin port does not fail health checks. There are no accounts: an answer
//! names no server, user or setting. Every connection is good for one request.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use observe::plane::DataPlane;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::http::Service;
use crate::limits::{HEALTH_CLIENTS_MAX, HEALTH_HEADER_BYTES_MAX, HEALTH_TIME_MAX};
use crate::settings::Settings;

/// Health checks of this proxy.
#[derive(Clone)]
pub(crate) struct Health(Arc<dyn DataPlane>);

impl Health {
    /// Those of `plane`.
    pub(crate) fn new(plane: &Arc<dyn DataPlane>) -> Self {
        Self(Arc::clone(plane))
    }
}

impl Service for Health {
    const NAME: &'static str = "health checks";
    const CLIENTS_MAX: usize = HEALTH_CLIENTS_MAX;

    fn addresses(&self, settings: &Settings) -> Vec<SocketAddr> {
        settings.health_addresses.clone()
    }

    async fn serve(self, stream: TcpStream, _: SocketAddr) {
        serve(stream, self.0).await;
    }
}

async fn serve(stream: TcpStream, plane: Arc<dyn DataPlane>) {
    let service = service_fn(|request: Request<Incoming>| {
        let answer = answer(request.method(), request.uri().path(), &*plane);
        async move { Ok::<_, Infallible>(answer) }
    });
    let connection = http1::Builder::new()
        .keep_alive(false)
        .max_buf_size(HEALTH_HEADER_BYTES_MAX)
        .timer(TokioTimer::new())
        .header_read_timeout(HEALTH_TIME_MAX)
        .serve_connection(TokioIo::new(stream), service);
    match timeout(HEALTH_TIME_MAX, connection).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a health check is gone"),
        Err(_) => tracing::debug!("a health check took too long"),
    }
}

fn answer(method: &Method, path: &str, plane: &dyn DataPlane) -> Response<Full<Bytes>> {
    let hostgroup = path.strip_prefix("/health/hostgroup/").map(str::parse::<u32>);
    if path != "/health" && !matches!(hostgroup, Some(Ok(_))) {
        let body = json!({ "error": "there are /health and /health/hostgroup/N" });
        return respond(StatusCode::NOT_FOUND, &body);
    }
    if method != Method::GET && method != Method::HEAD {
        let mut response =
            respond(StatusCode::METHOD_NOT_ALLOWED, &json!({ "error": "GET and HEAD are answered" }));
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    if !plane.accepts() {
        return respond(
            StatusCode::SERVICE_UNAVAILABLE,
            &unavailable("no new clients are accepted: PROXYSQL PAUSE"),
        );
    }
    let Some(Ok(hostgroup)) = hostgroup else { return respond(StatusCode::OK, &json!({ "status": "ok" })) };
    let reasons = plane.readiness(hostgroup);
    let is_there = reasons.is_some();
    let reasons = reasons.unwrap_or_default();
    let ready = reasons.iter().filter(|reason| reason.is_none()).count();
    let mut body = match reasons.len() {
        0 if is_there => unavailable("the monitor knows no server that belongs into it"),
        0 => unavailable("no server is configured for this hostgroup"),
        _ if ready > 0 => json!({ "status": "ok" }),
        _ => unavailable("no server of this hostgroup can be taken"),
    };
    if let Value::Object(fields) = &mut body {
        fields.extend([
            ("hostgroup".to_owned(), hostgroup.into()),
            ("servers".to_owned(), reasons.len().into()),
            ("ready".to_owned(), ready.into()),
            ("not_ready".to_owned(), reasons.into_iter().flatten().collect()),
        ]);
    }
    let code = if ready > 0 { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    respond(code, &body)
}

fn unavailable(reason: &str) -> Value {
    json!({ "status": "unavailable", "reason": reason })
}

fn respond(code: StatusCode, body: &Value) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(format!("{body}\n"))));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
