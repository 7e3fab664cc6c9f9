//! `/plain`: one table, made here, for browsers without JavaScript and for text browsers.

use std::fmt::Write as _;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::{Request, StatusCode};
use serde_json::Value;

use crate::access;
use crate::form::Fields;
use crate::origin::Origin;
use crate::reply::{Reply, reply};
use crate::sample::{View, Views};
use crate::site::Site;

/// The members of a server that are columns.
const COLUMNS: [&str; 13] = [
    "hostgroup",
    "server",
    "name",
    "status",
    "reason",
    "used",
    "free",
    "limit",
    "qps",
    "latency_us",
    "lag_s",
    "failed",
    "queries",
];

/// The page: the table, or a form to log in with.
pub(crate) async fn page(site: &Arc<Site>, origin: Origin, request: &Request<Incoming>) -> Reply {
    let query = Fields::of(request.uri().query().unwrap_or_default());
    if access::viewer(site, request.headers(), origin).await.is_err() {
        return html(&form(query.get("error")), false);
    }
    let mut views = Views::default();
    if let Some(wanted) = views.0.get_mut(View::Servers as usize) {
        *wanted = true;
    }
    match site.hub.sample(views).await {
        Ok(sample) => {
            let view = sample.texts.get(View::Servers as usize).and_then(Option::as_ref);
            let about = serde_json::from_str(&format!("{{{}}}", sample.about)).unwrap_or(Value::Null);
            let view = view.and_then(|text| serde_json::from_str(&text.stats).ok()).unwrap_or(Value::Null);
            html(&table(&about, &view), true)
        }
        Err(refusal) => refusal.into(),
    }
}

fn html(body: &str, refreshes: bool) -> Reply {
    let refresh = if refreshes { "<meta http-equiv=\"refresh\" content=\"5\">\n" } else { "" };
    let text = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n{refresh}<title>Pointsman</title>\n\
         </head>\n<body>\n<h1>Pointsman</h1>\n{body}</body>\n</html>\n"
    );
    reply(StatusCode::OK, "text/html; charset=utf-8", text)
}

fn form(error: Option<&str>) -> String {
    let error = match error {
        None => "",
        Some("wrong_login") => {
            "<p role=\"alert\">Wrong user or password, or an account of the proxy's machine only.</p>\n"
        }
        Some("too_many_logins") => "<p role=\"alert\">Too many wrong logins: try again in a minute.</p>\n",
        Some(_) => "<p role=\"alert\">The login failed.</p>\n",
    };
    format!(
        "{error}<form method=\"post\" action=\"/login\">\n<input type=\"hidden\" name=\"next\" value=\"/plain\">\n\
         <p><label>User <input name=\"user\" autocomplete=\"username\" required></label></p>\n\
         <p><label>Password <input name=\"password\" type=\"password\" autocomplete=\"current-password\"></label></p>\n\
         <p><button>Log in</button></p>\n</form>\n"
    )
}

fn table(about: &Value, view: &Value) -> String {
    let head = about.get("head").unwrap_or(&Value::Null);
    let verdict = head.pointer("/verdict/text").map(show).unwrap_or_default();
    let mut out = format!("<p><strong>{}</strong></p>\n<p>", escaped(&verdict));
    for (n, name) in ["clients", "clients_max", "qps", "p95_us", "waiting", "errors"].iter().enumerate() {
        let value = head.get(*name).map(show).unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = write!(out, "{}{name} {}", if n > 0 { ", " } else { "" }, escaped(&value));
    }
    out.push_str("</p>\n<table border=\"1\">\n<thead><tr>");
    for column in COLUMNS {
        let _ = write!(out, "<th scope=\"col\">{column}</th>");
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for server in view.get("servers").and_then(Value::as_array).into_iter().flatten() {
        out.push_str("<tr>");
        for column in COLUMNS {
            let value = server.get(column).map(show).unwrap_or_default();
            let _ = write!(out, "<td>{}</td>", escaped(&value));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table>\n");
    out
}

fn show(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_of_servers_are_text() {
        let about = json!({ "head": { "verdict": { "text": "a < b" }, "qps": 7 } });
        let view = json!({ "servers": [{ "server": "<script>", "reason": null, "used": 3 }] });
        let table = table(&about, &view);
        assert!(table.contains("a &lt; b") && table.contains("qps 7") && table.contains("<td>3</td>"));
        assert!(table.contains("&lt;script&gt;") && !table.contains("<script>"));
    }
}
