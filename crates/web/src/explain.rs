//! EXPLAIN ROUTE: the same answer as on the admin port.

use std::net::IpAddr;
use std::sync::Arc;

use hyper::StatusCode;
use observe::plane::Question;
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use crate::form::Fields;
use crate::limits::EXPLAIN_BYTES_MAX;
use crate::reply::{Refusal, Reply, object};
use crate::site::Site;

/// The reply to the question in `query`.
pub(crate) async fn explain(site: &Arc<Site>, query: &Fields) -> Result<Reply, Refusal> {
    let question = question(query)?;
    let plane = Arc::clone(&site.plane);
    let explained = spawn_blocking(move || plane.explain(&question)).await;
    let explained = explained.map_err(|_| Refusal::busy())?.map_err(Refusal::failed)?;
    let step =
        |[step, result, detail]: &[String; 3]| json!({ "step": step, "result": result, "detail": detail });
    let route: Value = serde_json::from_str(&explained.json).unwrap_or(Value::Null);
    let steps: Vec<Value> = explained.steps.iter().map(step).collect();
    Ok(object(StatusCode::OK, &json!({ "steps": steps, "route": route })))
}

fn question(query: &Fields) -> Result<Question, Refusal> {
    let statement = query.get("statement").unwrap_or_default().trim();
    if statement.is_empty() {
        return Err(Refusal::bad("`statement` is missing"));
    }
    if statement.len() > EXPLAIN_BYTES_MAX {
        return Err(Refusal::bad(format!("`statement` may have {EXPLAIN_BYTES_MAX} bytes")));
    }
    let client = query.filled("client");
    if client.as_ref().is_some_and(|client| client.parse::<IpAddr>().is_err()) {
        return Err(Refusal::bad("`client` must be an IP address"));
    }
    let port = query.filled("port").map(|port| port.parse::<u16>()).transpose();
    let port = port.map_err(|_| Refusal::bad("`port` must be a number up to 65535"))?;
    let (user, schema) = (query.filled("user"), query.filled("schema"));
    Ok(Question { user, schema, client, port, statement: statement.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_has_a_statement_and_options_that_fit() {
        let of = |text: &str| question(&Fields::of(text));
        let full = of("statement=+SELECT+1&user=app&schema=&client=10.0.0.7&port=6033").unwrap();
        assert_eq!((full.statement.as_str(), full.user.as_deref()), ("SELECT 1", Some("app")));
        assert_eq!((full.schema, full.client.as_deref(), full.port), (None, Some("10.0.0.7"), Some(6033)));
        let long = format!("statement={}", "x".repeat(EXPLAIN_BYTES_MAX + 1));
        for bad in ["", "statement=+", "statement=x&port=70000", "statement=x&client=host", &long] {
            assert!(of(bad).is_err(), "{bad}");
        }
    }
}
