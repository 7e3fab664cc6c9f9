//! REST: `GET /metrics`, and the scripts of `runtime_restapi_routes` under `/sync/`.
//!
//! Plain HTTP at `pointsman-restapi_address` and `admin-restapi_port` while `admin-restapi_enabled`
//! is true, for the accounts of `pointsman-restapi_credentials`, if there are some. Scripts run by
//! POST, and by GET where `pointsman-restapi_get` says so; a browser that a page of another site
//! tells to send one is refused. Replies, codes and texts are ProxySQL 2.7's.

mod access;
mod exposer;
mod reply;
mod script;

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::watch;

use self::exposer::Exposer;
use self::reply::Reply;
use crate::engine::Engine;
use crate::http::Service;
use crate::limits::{LOGIN_TIME_MAX, REST_BODY_BYTES_MAX, REST_CLIENTS_MAX};
use crate::settings::{Route, Settings};

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
        settings.rest_address.into_iter().collect()
    }

    async fn serve(self, stream: TcpStream, peer: SocketAddr) {
        serve(stream, peer.ip(), self.0).await;
    }
}

async fn serve(stream: TcpStream, client: IpAddr, shared: Arc<Shared>) {
    let service = service_fn(|request| {
        let shared = Arc::clone(&shared);
        async move { Ok::<_, Infallible>(answer(request, client, &shared).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(LOGIN_TIME_MAX)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a client of REST is gone");
    }
}

async fn answer(request: Request<Incoming>, client: IpAddr, shared: &Shared) -> Response<Full<Bytes>> {
    if let Err(reply) = access::check(request.headers(), client, shared).await {
        return respond(reply);
    }
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
    if let Err(reply) = access::check_script(&request, shared.settings.borrow().rest_get) {
        return respond(reply);
    }
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
    let mut text = shared.engine.metrics().await.unwrap_or_default().into_bytes();
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
    if reply.code == 401 {
        headers.insert(WWW_AUTHENTICATE, hyper::header::HeaderValue::from_static("Basic realm=\"REST\""));
    }
    response
}
