//! The files of the page, embedded in the program and compressed once.

use std::collections::HashMap;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::HeaderMap;
use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, ETAG, HeaderValue, IF_NONE_MATCH, VARY,
};
use sql::spooky;

use crate::reply::{Reply, reply};

mod files {
    include!(concat!(env!("OUT_DIR"), "/files.rs"));
}

/// All files, by path.
#[derive(Debug)]
pub(crate) struct Assets(HashMap<String, Asset>);

#[derive(Debug)]
struct Asset {
    kind: &'static str,
    tag: String,
    plain: &'static [u8],
    gzip: Bytes,
}

impl Assets {
    /// Those of this program.
    pub(crate) fn new() -> Self {
        let of = |(name, plain): &(&str, &'static [u8])| {
            let path = if *name == "index.html" { "/".to_owned() } else { format!("/{name}") };
            let tag = format!("\"{:016x}\"", spooky::hash64(plain));
            (path, Asset { kind: kind(name), tag, plain, gzip: gzip(plain) })
        };
        Self(files::FILES.iter().map(of).collect())
    }

    /// The reply to a `GET` of `path`; nothing if there is no such file.
    pub(crate) fn get(&self, path: &str, headers: &HeaderMap) -> Option<Reply> {
        let asset = self.0.get(path)?;
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let known =
            text(IF_NONE_MATCH).split(',').any(|tag| tag.trim().trim_start_matches("W/") == asset.tag);
        let wants_gzip = text(ACCEPT_ENCODING).split(',').any(is_gzip);
        let (code, body) = match (known, wants_gzip) {
            (true, _) => (StatusCode::NOT_MODIFIED, Bytes::new()),
            (false, true) => (StatusCode::OK, asset.gzip.clone()),
            (false, false) => (StatusCode::OK, Bytes::from_static(asset.plain)),
        };
        let mut reply = reply(code, asset.kind, body);
        let own = reply.headers_mut();
        own.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        own.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
        if let Ok(tag) = HeaderValue::from_str(&asset.tag) {
            own.insert(ETAG, tag);
        }
        if wants_gzip && !known {
            own.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        Some(reply)
    }
}

/// Whether an element of `Accept-Encoding` allows gzip.
fn is_gzip(coding: &str) -> bool {
    let mut parts = coding.split(';').map(str::trim);
    let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
    let refused = parts.any(|part| part.strip_prefix("q=").is_some_and(|q| q.parse() == Ok(0.0)));
    named && !refused
}

/// What a file is, by its name.
fn kind(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, end)| end) {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "json" | "map" => "application/json",
        _ => "text/plain; charset=utf-8",
    }
}

fn gzip(plain: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // Writing to memory does not fail.
    let written = encoder.write_all(plain).and_then(|()| encoder.finish());
    Bytes::from(written.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use hyper::header::CONTENT_TYPE;

    use super::*;

    fn headers(pairs: &[(hyper::header::HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap())).collect()
    }

    #[test]
    fn a_file_has_a_tag_and_is_sent_once() {
        let assets = Assets::new();
        let first = assets.get("/", &headers(&[])).unwrap();
        assert_eq!(first.headers()[CONTENT_TYPE], "text/html; charset=utf-8");
        let tag = first.headers()[ETAG].to_str().unwrap().to_owned();
        for known in [tag.clone(), format!("\"x\", W/{tag}")] {
            let again = assets.get("/", &headers(&[(IF_NONE_MATCH, &known)])).unwrap();
            assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
        }
        let other = assets.get("/", &headers(&[(IF_NONE_MATCH, "\"x\"")])).unwrap();
        assert_eq!(other.status(), StatusCode::OK);
        for path in ["", "/index.html/", "/../Cargo.toml", "/nothing"] {
            assert!(assets.get(path, &headers(&[])).is_none(), "{path}");
        }
    }

    #[test]
    fn gzip_is_sent_where_it_is_accepted() {
        let assets = Assets::new();
        for (accepted, is) in [("gzip", true), ("br, gzip;q=0.5", true), ("gzip;q=0", false), ("br", false)] {
            let reply = assets.get("/", &headers(&[(ACCEPT_ENCODING, accepted)])).unwrap();
            assert_eq!(reply.headers().contains_key(CONTENT_ENCODING), is, "{accepted}");
        }
    }
}
