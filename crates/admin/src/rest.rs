//! REST: `GET /metrics`, and the scripts of `runtime_restapi_routes` under `/sync/`.
//!
//! Plain HTTP on all addresses at `admin-restapi_port` while `admin-restapi_enabled` is true,
//! without accounts, as in ProxySQL 2.7; replies, codes and texts are ProxySQL's.

mod exposer;
mod reply;
mod script;

use std::convert::Infallible;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CONTENT_TYPE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

use self::exposer::Exposer;
use self::reply::Reply;
use crate::answer::Answer;
use crate::engine::Engine;
use crate::limits::{ACCEPT_PAUSE, LOGIN_TIME_MAX, REST_BODY_BYTES_MAX, REST_CLIENTS_MAX};
use crate::retry::{Wake, wake};
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

/// What all requests share.
struct Shared {
    engine: Engine,
    settings: watch::Receiver<Arc<Settings>>,
    places: Arc<Semaphore>,
    exposer: Exposer,
}

/// The listener. Dropped, it closes; clients that are connected stay.
struct Listening {
    port: u16,
    task: JoinHandle<()>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Listens while and where the variables say so, until the admin engine ends.
pub(crate) async fn run(engine: Engine, mut settings: watch::Receiver<Arc<Settings>>) {
    let places = Arc::new(Semaphore::new(REST_CLIENTS_MAX));
    let shared = Arc::new(Shared { engine, settings: settings.clone(), places, exposer: Exposer::default() });
    let mut listening: Option<Listening> = None;
    let mut why = Wake::Changed;
    while why != Wake::Over {
        let port = settings.borrow_and_update().rest_port;
        if let Some(mut other) = listening.take_if(|listening| Some(listening.port) != port) {
            other.task.abort();
            // Its port is free when it has ended.
            let _ = (&mut other.task).await;
        }
        if let Some(port) = port
            && listening.is_none()
        {
            match listen(port, &shared).await {
                Ok(task) => listening = Some(Listening { port, task }),
                Err(error) if why == Wake::Changed => {
                    tracing::error!(%error, port, "REST cannot be served yet: trying again until it can");
                }
                Err(_) => {}
            }
        }
        why = wake(&mut settings, port.is_some() && listening.is_none()).await;
    }
}

async fn listen(port: u16, shared: &Arc<Shared>) -> io::Result<JoinHandle<()>> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await?;
    tracing::info!(port, "REST is served");
    Ok(tokio::spawn(accept(listener, Arc::clone(shared))))
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        // Who comes when all places are taken waits in the kernel's queue.
        let Ok(place) = Arc::clone(&shared.places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let shared = Arc::clone(&shared);
                tokio::spawn(async move {
                    serve(stream, shared).await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a client of REST could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
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
