//! Parameters of a route's script, and what its run comes to.

use serde_json::{Map, Value};

use super::reply::Reply;
use crate::program::{self, Failure};
use crate::settings::Route;

/// The parameters of a GET: the query string as an object of texts.
pub(super) fn from_query(query: &str) -> String {
    let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(name), Value::String(decoded(value)))
    });
    Value::Object(pairs.collect::<Map<_, _>>()).to_string()
}

/// The parameters of a POST: the body as it is, if it is JSON.
pub(super) fn from_body(body: &[u8]) -> Result<String, Reply> {
    if body.is_empty() {
        return Err(Reply::bad_input("Empty parameters"));
    }
    let broken = |error: &dyn std::fmt::Display| {
        Reply::bad_input(&format!("Error parsing input JSON parameters - {error}"))
    };
    let text = std::str::from_utf8(body).map_err(|error| broken(&error))?;
    serde_json::from_str::<serde::de::IgnoredAny>(text).map_err(|error| broken(&error))?;
    Ok(text.to_owned())
}

/// Runs a script with its parameters as the only argument. What it writes must be JSON.
pub(super) async fn run(route: &Route, parameters: String) -> Reply {
    let finished = match program::run(&route.script, &[parameters], route.limit).await {
        Ok(finished) => finished,
        Err(failure @ Failure::Start(_)) => {
            return Reply::failed(&format!("Script failed to be executed: {failure}"), 0, b"");
        }
        Err(failure @ Failure::TooLong(_)) => {
            return Reply::failed(&format!("Script execution timed out: {failure}"), 0, b"");
        }
    };
    let (stdout, stderr) = (finished.stdout.as_slice(), finished.stderr.as_slice());
    if let Some(signal) = finished.signal() {
        return Reply::failed("Script was ended by a signal", signal, stderr);
    }
    match finished.status.code() {
        Some(0) => {}
        code => return Reply::failed("Script execution failed", code.unwrap_or(0), stderr),
    }
    if stdout.is_empty() {
        return Reply::failed("Script response is empty", 0, stderr);
    }
    match serde_json::from_slice::<serde::de::IgnoredAny>(stdout) {
        Ok(_) => Reply::success(finished.stdout),
        Err(error) => Reply::failed(&format!("Script response is not valid JSON: {error}"), 0, stderr),
    }
}

/// A part of a query string as text: `+` is a blank, `%41` an `A`.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let digit =
            |byte: Option<u8>| char::from(byte?).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let mut ahead = rest.clone();
        match (byte, digit(ahead.next()), digit(ahead.next())) {
            (b'%', Some(high), Some(low)) => {
                bytes.push(high << 4 | low);
                rest = ahead;
            }
            (b'+', ..) => bytes.push(b' '),
            (byte, ..) => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A script with this text, which is there as long as the folder is.
    fn route(folder: &tempfile::TempDir, text: &str) -> Route {
        use std::os::unix::fs::PermissionsExt as _;
        let path = folder.path().join("script");
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        Route {
            method: "GET".to_owned(),
            uri: "x".to_owned(),
            script: path.display().to_string(),
            limit: Duration::from_secs(30),
        }
    }

    async fn ran(text: &str) -> (u16, String) {
        let folder = tempfile::tempdir().unwrap();
        let reply = run(&route(&folder, text), r#"{"a":1}"#.to_owned()).await;
        (reply.code, String::from_utf8(reply.body).unwrap())
    }

    #[test]
    fn query_strings_become_objects() {
        assert_eq!(from_query(""), "{}");
        assert_eq!(from_query("a=1&b=x+y%21&c"), r#"{"a":"1","b":"x y!","c":""}"#);
        assert_eq!(from_query("a=%zz%4&q=%22"), r#"{"a":"%zz%4","q":"\""}"#);
    }

    #[test]
    fn bodies_must_be_json() {
        assert_eq!(from_body(br#"{"a": 1}"#), Ok(r#"{"a": 1}"#.to_owned()));
        for body in [&b""[..], b"{", b"{} x", b"\xff"] {
            let reply = from_body(body).unwrap_err();
            assert_eq!(reply.code, 400);
            assert!(String::from_utf8(reply.body).unwrap().contains(r#""type":"in""#));
        }
    }

    #[tokio::test]
    async fn a_script_gets_its_parameters_and_its_json_comes_back() {
        assert_eq!(ran("echo \"[$1]\"").await, (200, "[{\"a\":1}]\n".to_owned()));
    }

    #[tokio::test]
    async fn what_is_wrong_with_a_script_is_said() {
        for (script, part) in [
            ("exit 0", "empty"),
            ("echo no json", "not valid JSON"),
            ("echo why >&2; exit 3", r#""error_code":"3""#),
            ("kill -9 $$", r#""error_code":"9""#),
        ] {
            let (code, body) = ran(script).await;
            assert!(code == 424 && body.contains(part), "{script}: {code} {body}");
        }
    }

    #[tokio::test]
    async fn scripts_have_a_time_limit() {
        let folder = tempfile::tempdir().unwrap();
        let route = Route { limit: Duration::from_millis(100), ..route(&folder, "sleep 1000") };
        let reply = run(&route, "{}".to_owned()).await;
        assert_eq!(reply.code, 424);
        assert!(String::from_utf8(reply.body).unwrap().contains("timed out"));
    }
}
