//! Who sends a request: a cookie of a login, or user and password with each request.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use admin::{Login, Try, basic};
use hyper::header::{AUTHORIZATION, COOKIE, HOST, HeaderName, ORIGIN};
use hyper::{HeaderMap, StatusCode};
use net::clock::unix_us;
use querylog::{AuditEvent, AuditRecord, Port};
use tokio::task::spawn_blocking;

use crate::origin::Origin;
use crate::reply::Refusal;
use crate::site::Site;
use crate::viewer::Viewer;

/// The header with the token that an action needs.
pub(crate) const TOKEN: HeaderName = HeaderName::from_static("x-csrf-token");

/// The name of the cookie: cookies do not tell ports of one machine apart.
pub(crate) fn cookie_name(origin: Origin) -> String {
    format!("pointsman_{}", origin.port)
}

/// Refuses requests that another site may have a browser send, and those over plain HTTP from
/// elsewhere.
pub(crate) fn check_origin(headers: &HeaderMap, origin: Origin) -> Result<(), Refusal> {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let forbidden = |word, message: &str| Err(Refusal::new(StatusCode::FORBIDDEN, word, message).closing());
    if !origin.is_tls && !origin.is_local() {
        return forbidden("https_required", "only https:// is answered from other machines");
    }
    let host = text(HOST).unwrap_or_default();
    // A name that resolves to this machine may belong to another site; over TLS its certificate
    // would have to fit as well.
    if !origin.is_tls && !is_literal(host) {
        return forbidden("bad_origin", "plain HTTP is answered at an IP address or localhost only");
    }
    let is_own = |site: &str| {
        // Over TLS, a page of the same name over plain HTTP may come from an attacker on the way.
        // On
        // plain HTTP, a TLS tunnel on this machine makes the page https://.
        let (scheme, site) = site.split_once("://").unwrap_or_default();
        site.eq_ignore_ascii_case(host) && (scheme == "https" || scheme == "http" && !origin.is_tls)
    };
    if !text(ORIGIN).is_none_or(is_own) {
        return forbidden("bad_origin", "the request comes from another site");
    }
    Ok(())
}

/// Whether `host`, with or without a port, is an IP address or `localhost`; or empty, as with
/// HTTP/1.0.
fn is_literal(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    host.is_empty() || name.eq_ignore_ascii_case("localhost") || name.parse::<std::net::IpAddr>().is_ok()
}

/// The client that has sent a request with these headers.
pub(crate) async fn viewer(site: &Arc<Site>, headers: &HeaderMap, origin: Origin) -> Result<Viewer, Refusal> {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(value) = text(AUTHORIZATION) {
        let (user, password) =
            basic::credentials(value).ok_or_else(|| Refusal::bad("Authorization must be Basic"))?;
        let login = check_password(site, user, password, origin).await?;
        return Ok(Viewer { login, cookie: None });
    }
    let name = cookie_name(origin);
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let found = pairs.find(|(known, _)| *known == name).and_then(|(_, cookie)| {
        let settings = site.settings.borrow().clone();
        let entry = site.logins().find(cookie, Instant::now(), |login| settings.has(login))?;
        Some(Viewer { login: entry.login.clone(), cookie: Some((cookie.to_owned(), entry)) })
    });
    found.ok_or_else(|| Refusal::new(StatusCode::UNAUTHORIZED, "login_required", "log in first"))
}

/// Whether the login of `viewer` goes on.
pub(crate) fn is_current(site: &Site, viewer: &Viewer) -> bool {
    let settings = site.settings.borrow().clone();
    match &viewer.cookie {
        None => settings.has(&viewer.login),
        Some((cookie, _)) => {
            site.logins().find(cookie, Instant::now(), |login| settings.has(login)).is_some()
        }
    }
}

/// The login of `user` with this password.
pub(crate) async fn check_password(
    site: &Arc<Site>,
    user: String,
    password: Vec<u8>,
    origin: Origin,
) -> Result<Login, Refusal> {
    let one = Try::begin(site.engine.tries(), origin.client).await.map_err(|left| {
        let seconds = left.as_secs().saturating_add(1);
        let message = format!("too many logins, or too many wrong ones: try again in {seconds} s");
        Refusal::new(StatusCode::TOO_MANY_REQUESTS, "too_many_logins", message).retry_after(seconds)
    })?;
    let settings = site.settings.borrow().clone();
    let name = user.clone();
    // A hash may take thousands of rounds, during which this thread would serve no client.
    let checked = spawn_blocking(move || settings.log_in(&user, &password, origin.client)).await;
    let refused = match checked {
        Ok(Ok(login)) => {
            one.succeeded();
            return Ok(login);
        }
        Ok(Err(refused)) => refused,
        Err(_) => return Err(Refusal::busy()),
    };
    audit(site, AuditEvent::ConnectErr, &name, origin, &refused.to_string());
    // The same words for an account of this machine only: its password must not be told as right.
    let message = "wrong user or password, or an account that logs in on the proxy's machine only";
    Err(Refusal::new(StatusCode::UNAUTHORIZED, "wrong_login", message))
}

/// Tells the audit log what a client did.
pub(crate) fn audit(site: &Site, event: fn(Port) -> AuditEvent, user: &str, origin: Origin, why: &str) {
    site.plane.audit(AuditRecord {
        user: user.as_bytes().into(),
        client: SocketAddr::from((origin.client, 0)).to_string().into(),
        tls: origin.is_tls,
        extra: why.into(),
        ..AuditRecord::of(event(Port::Admin), unix_us(), 0)
    });
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn check(host: &str, site: Option<&str>, client: [u8; 4], is_tls: bool) -> Option<&'static str> {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_str(host).unwrap());
        if let Some(site) = site {
            headers.insert(ORIGIN, HeaderValue::from_str(site).unwrap());
        }
        let origin = Origin { client: client.into(), port: 6080, is_tls };
        check_origin(&headers, origin).err().map(|refusal| refusal.word)
    }

    #[test]
    fn other_sites_and_plain_http_from_elsewhere_are_refused() {
        const HERE: [u8; 4] = [127, 0, 0, 1];
        const THERE: [u8; 4] = [10, 0, 0, 1];
        assert_eq!(check("127.0.0.1:6080", None, HERE, false), None);
        assert_eq!(check("[::1]:6080", Some("http://[::1]:6080"), HERE, false), None);
        assert_eq!(check("localhost", Some("http://localhost"), HERE, false), None);
        assert_eq!(check("evil.example:6080", None, HERE, false), Some("bad_origin"));
        assert_eq!(check("proxy.example:6080", None, HERE, true), None);
        assert_eq!(check("proxy.example", Some("https://evil.example"), THERE, true), Some("bad_origin"));
        assert_eq!(check("proxy.example", Some("https://proxy.example"), THERE, true), None);
        assert_eq!(check("proxy.example", Some("http://proxy.example"), THERE, true), Some("bad_origin"));
        assert_eq!(check("localhost", Some("https://localhost"), HERE, false), None);
        assert_eq!(check("127.0.0.1", Some("null"), HERE, false), Some("bad_origin"));
        assert_eq!(check("10.0.0.2:6080", None, THERE, false), Some("https_required"));
    }
}
