//! What a request is answered with.

use hyper::Method;
use serde_json::json;

/// A code and a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) code: u16,
    pub(super) body: Vec<u8>,
    pub(super) json: bool,
}

impl Reply {
    /// What a script wrote.
    pub(super) const fn success(body: Vec<u8>) -> Self {
        Self { code: 200, body, json: true }
    }

    /// A text for people.
    pub(super) fn plain(code: u16, text: String) -> Self {
        Self { code, body: text.into_bytes(), json: false }
    }

    /// 400: the parameters cannot be used.
    pub(super) fn bad_input(error: &str) -> Self {
        let body = json!({ "type": "in", "error": error });
        Self { code: 400, body: body.to_string().into_bytes(), json: true }
    }

    /// 400: there is no such route.
    pub(super) fn no_route(method: &Method, uri: &str) -> Self {
        let error = format!(
            "The script for method [{method}] and route [{uri}] was not found. See table restapi_routes, its active rows and LOAD \
             RESTAPI TO RUNTIME"
        );
        Self { code: 400, body: json!({ "error": error }).to_string().into_bytes(), json: true }
    }

    /// 424: the script failed. `code` is its status, the number of a signal, or 0.
    pub(super) fn failed(error: &str, code: i32, output: &[u8]) -> Self {
        let output = String::from_utf8_lossy(output);
        let body =
            json!({ "type": "out", "error": error, "error_code": code.to_string(), "script_stderr": output });
        Self { code: 424, body: body.to_string().into_bytes(), json: true }
    }
}
