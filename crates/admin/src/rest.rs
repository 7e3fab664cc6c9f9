//! REST: `GET /metrics`, and the scripts of `runtime_restapi_routes` under `/sync/`.
//!
//! Plain HTTP on all addresses at `admin-restapi_port` while `admin-restapi_enabled` is true,
//! without accounts, as in ProxySQL 2.7; replies, codes and texts are ProxySQL's.

mod exposer;
mod reply;
mod script;

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CONTENT_TYPE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::watch;

use self::exposer::Exposer;
use self::reply::Reply;
use crate::answer::Answer;
use crate::engine::Engine;
use crate::http::Service;
use crate::limits::{LOGIN_TIME_MAX, REST_BODY_BYTES_MAX, REST_CLIENTS_MAX};
use crate::settings::Settings;
use crate::who::{Rights, Who};

/// An active row of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) method: String,
    pub(crate) uri: String,
    pub(crate) script: String,
    pub(crate) limit: Duration,
}

/// REST, and what all requests share.
#[derive(Clone)]
pub(crate) struct Rest(Arc<Shared>);

struct Shared {
    engine: Engine,
    settings: watch::Receiver<Arc<Settings>>,
    exposer: Exposer,
}

impl Rest {
    /// REST of this engine.
    pub(crate) fn new(engine: &Engine) -> Self {
        let (engine, settings) = (engine.clone(), engine.settings());
        Self(Arc::new(Shared { engine, settings, exposer: Exposer::default() }))
    }
}

impl Service for Rest {
    const NAME: &'static str = "REST";
    const CLIENTS_MAX: usize = REST_CLIENTS_MAX;

    fn addresses(&self, settings: &Settings) -> Vec<SocketAddr> {
        settings.rest_port.map(|port| (Ipv4Addr::UNSPECIFIED, port).into()).into_iter().collect()
    }

    async fn serve(self, stream: TcpStream, _: SocketAddr) {
        serve(stream, self.0).await;
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let service = service_fn(|request| {
        let shared = Arc::clone(&shared);
        async move { Ok::<_, Infallible>(answer(request, &shared).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(LOGIN_TIME_MAX)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a client of REST is gone");
    }
}

async fn answer(request: Request<Incoming>, shared: &Shared) -> Response<Full<Bytes>> {
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    if method == Method::GET && path == "/metrics" {
        return metrics(shared).await;
    }
    if method != Method::GET && method != Method::POST {
        return respond(Reply::plain(200, format!("HTTP method {method} is not implemented")));
    }
    let Some(uri) = path.strip_prefix("/sync/") else {
        return respond(Reply::plain(404, "Not Found".to_owned()));
    };
    let routes = shared.settings.borrow().routes.clone();
    let wanted = |route: &&Route| route.method.eq_ignore_ascii_case(method.as_str()) && route.uri == uri;
    let Some(route) = routes.iter().find(wanted) else { return respond(Reply::no_route(&method, uri)) };
    let parameters = if method == Method::GET {
        Ok(script::from_query(request.uri().query().unwrap_or_default()))
    } else {
        match tokio::time::timeout(LOGIN_TIME_MAX, body(request)).await {
            Ok(Ok(bytes)) => script::from_body(&bytes),
            Ok(Err(reply)) => Err(reply),
            Err(_) => Err(Reply::bad_input("The request took too long")),
        }
    };
    respond(match parameters {
        Ok(parameters) => script::run(route, parameters).await,
        Err(reply) => reply,
    })
}

async fn body(request: Request<Incoming>) -> Result<Bytes, Reply> {
    let limited = Limited::new(request.into_body(), REST_BODY_BYTES_MAX);
    let collected = limited.collect().await;
    collected.map(http_body_util::Collected::to_bytes).map_err(|error| Reply::bad_input(&error.to_string()))
}

async fn metrics(shared: &Shared) -> Response<Full<Bytes>> {
    let started = Instant::now();
    let who = Who { user: "metrics".to_owned(), rights: Rights::Stats, address: None };
    let answer = shared.engine.ask(&who, "SHOW PROMETHEUS METRICS".to_owned()).answer().await;
    let mut text = match answer {
        Answer::Rows { rows, .. } => rows.concat().into_iter().flatten().next().unwrap_or_default(),
        _ => Vec::new(),
    };
    shared.exposer.add_to(&mut text);
    shared.exposer.count(text.len(), started.elapsed());
    let mut response = Response::new(Full::new(Bytes::from(text)));
    let kind = hyper::header::HeaderValue::from_static("text/plain; version=0.0.4");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

fn respond(reply: Reply) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(reply.body)));
    *response.status_mut() = StatusCode::from_u16(reply.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    let kind = if reply.json { "application/json" } else { "text/plain" };
    headers.insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(kind));
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, hyper::header::HeaderValue::from_static("*"));
    response
}
