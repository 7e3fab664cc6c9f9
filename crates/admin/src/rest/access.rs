//! Who may use REST.

use std::net::IpAddr;

use hyper::header::{AUTHORIZATION, HeaderMap, ORIGIN};
use hyper::{Method, Request};
use tokio::task::spawn_blocking;

use super::Shared;
use super::reply::Reply;
use crate::basic;
use crate::tries::Try;

/// Refuses clients without an account, if there are accounts.
pub(super) async fn check(headers: &HeaderMap, client: IpAddr, shared: &Shared) -> Result<(), Reply> {
    let settings = shared.settings.borrow().clone();
    if settings.rest_accounts.is_empty() {
        return Ok(());
    }
    let value = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let Some((user, password)) = value.and_then(basic::credentials) else {
        return Err(Reply::plain(401, "an account of pointsman-restapi_credentials is needed".to_owned()));
    };
    let attempt = Try::begin(shared.engine.tries(), client).await.map_err(|left| {
        let seconds = left.as_secs().saturating_add(1);
        let text = format!("too many logins, or too many wrong ones: try again in {seconds} s");
        Reply::plain(429, text)
    })?;
    // A hash may take thousands of rounds, during which this thread would serve no client.
    let checked = spawn_blocking(move || settings.rest_accounts.log_in(&user, &password, client)).await;
    match checked {
        Ok(Ok(_)) => {
            attempt.succeeded();
            Ok(())
        }
        _ => Err(Reply::plain(401, "wrong user or password".to_owned())),
    }
}

/// Refuses requests for scripts that a page of another site can have a browser send, and those by
/// GET unless they are allowed: links and pictures are such ones.
pub(super) fn check_script<B>(request: &Request<B>, is_get_allowed: bool) -> Result<(), Reply> {
    if request.headers().contains_key(ORIGIN) {
        return Err(Reply::plain(403, "scripts are not for pages in browsers".to_owned()));
    }
    if request.method() == Method::GET && !is_get_allowed {
        let text = "scripts run by POST; pointsman-restapi_get allows GET, too".to_owned();
        return Err(Reply::plain(405, text));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_other_sites_run_no_scripts() {
        let code = |method: &str, origin: Option<&str>, is_get_allowed| {
            let mut request = Request::builder().method(method);
            if let Some(origin) = origin {
                request = request.header(ORIGIN, origin);
            }
            check_script(&request.body(()).unwrap(), is_get_allowed).err().map(|reply| reply.code)
        };
        assert_eq!(code("POST", None, false), None);
        assert_eq!(code("GET", None, false), Some(405));
        assert_eq!(code("GET", None, true), None);
        for origin in ["http://evil.example", "null"] {
            assert_eq!(code("POST", Some(origin), true), Some(403), "{origin}");
        }
    }
}
