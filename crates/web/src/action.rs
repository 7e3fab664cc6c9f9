//! What admins may do on the page, each after having typed the statement.

use std::sync::Arc;

use admin::{Answer, Module};
use hyper::StatusCode;
use querylog::AuditEvent;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::access;
use crate::limits::ANSWER_TIME_MAX;
use crate::origin::Origin;
use crate::reply::{Refusal, Reply, object};
use crate::site::Site;
use crate::viewer::Viewer;

/// Does what `body` asks for. The client is at `origin`.
pub(crate) async fn act(
    site: &Arc<Site>,
    viewer: &Viewer,
    origin: Origin,
    body: &[u8],
) -> Result<Reply, Refusal> {
    if !viewer.is_admin() {
        let message = "accounts of admin-stats_credentials change nothing";
        return Err(Refusal::new(StatusCode::FORBIDDEN, "not_allowed", message));
    }
    let body: Value = serde_json::from_slice(body).map_err(|error| Refusal::bad(error.to_string()))?;
    let statement = statement(&body)?;
    if body.get("confirm").and_then(Value::as_str) != Some(&statement) {
        let message = format!("to confirm, type: {statement}");
        return Err(Refusal::new(StatusCode::CONFLICT, "bad_confirmation", message));
    }
    let who = &viewer.login.who;
    tracing::info!(user = %who.user, client = %origin.client, statement, "an admin acts on the page");
    if viewer.cookie.is_none() {
        // No login of the form was told before.
        access::audit(site, AuditEvent::ConnectOk, &who.user, origin, "");
    }
    let mut asked = site.engine.ask(who, statement.clone());
    // A statement that changes something is finished, whether or not the client waits.
    let answer = timeout(ANSWER_TIME_MAX, asked.answer()).await.map_err(|_| Refusal::busy())?;
    site.hub.look_again();
    match answer {
        Answer::Error(error) => Err(Refusal::failed(error.message)),
        Answer::Ok { info, .. } => Ok(done(&statement, &info)),
        Answer::Rows { .. } | Answer::Close => Ok(done(&statement, "")),
    }
}

fn done(statement: &str, message: &str) -> Reply {
    object(StatusCode::OK, &json!({ "ok": true, "statement": statement, "message": message }))
}

/// The statement that an action is.
fn statement(body: &Value) -> Result<String, Refusal> {
    let name = body.get("action").and_then(Value::as_str).unwrap_or_default();
    match name {
        "kill" => {
            let id = body.get("id").and_then(Value::as_u64).and_then(|id| u32::try_from(id).ok());
            Ok(format!("KILL {}", id.ok_or_else(|| Refusal::bad("`id` must be the id of a session"))?))
        }
        "pause" => Ok("PROXYSQL PAUSE".to_owned()),
        "resume" => Ok("PROXYSQL RESUME".to_owned()),
        "load" => Ok(format!("LOAD {} TO RUNTIME", module(body)?)),
        "rollback" => {
            let module = module(body)?;
            match body.get("version") {
                None | Some(Value::Null) => Ok(format!("POINTSMAN ROLLBACK {module}")),
                Some(version) => {
                    let version =
                        version.as_u64().ok_or_else(|| Refusal::bad("`version` must be a number"))?;
                    Ok(format!("POINTSMAN ROLLBACK {module} TO {version}"))
                }
            }
        }
        _ => Err(Refusal::bad("`action` must be kill, pause, resume, load or rollback")),
    }
}

fn module(body: &Value) -> Result<&'static str, Refusal> {
    let name = body.get("module").and_then(Value::as_str).unwrap_or_default();
    let found = Module::ALL.into_iter().map(Module::words).find(|words| *words == name);
    found.ok_or_else(|| Refusal::bad("`module` must be a module such as MYSQL SERVERS"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_is_one_of_five_statements() {
        let of = |text: &str| statement(&serde_json::from_str(text).unwrap()).ok();
        let told = |text: &str| Some(text.to_owned());
        assert_eq!(of(r#"{"action":"kill","id":5}"#), told("KILL 5"));
        assert_eq!(of(r#"{"action":"pause"}"#), told("PROXYSQL PAUSE"));
        assert_eq!(of(r#"{"action":"resume"}"#), told("PROXYSQL RESUME"));
        let load = r#"{"action":"load","module":"MYSQL SERVERS"}"#;
        assert_eq!(of(load), told("LOAD MYSQL SERVERS TO RUNTIME"));
        let back = r#"{"action":"rollback","module":"MYSQL USERS","version":null}"#;
        assert_eq!(of(back), told("POINTSMAN ROLLBACK MYSQL USERS"));
        let to = r#"{"action":"rollback","module":"MYSQL USERS","version":8}"#;
        assert_eq!(of(to), told("POINTSMAN ROLLBACK MYSQL USERS TO 8"));
        for bad in [
            "{}",
            "[]",
            r#"{"action":"shutdown"}"#,
            r#"{"action":"kill","id":"1; PROXYSQL KILL"}"#,
            r#"{"action":"kill","id":-1}"#,
            r#"{"action":"kill","id":4294967296}"#,
            r#"{"action":"load","module":"MYSQL USERS TO DISK; x"}"#,
            r#"{"action":"rollback","module":"MYSQL USERS","version":"8"}"#,
        ] {
            assert_eq!(of(bad), None, "{bad}");
        }
    }
}
