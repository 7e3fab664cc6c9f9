//! What is shown, and to whom.

use std::time::SystemTime;

use admin::Answer;
use observe::rows::ServerEvent;
use serde_json::{Value, json};

use super::client::Request;
use super::{ADMIN, STATS, Site, until};

async fn state(site: &Site, authorization: &str, query: &str) -> Value {
    let request = Request::new("GET", &format!("/api/state{query}")).header("Authorization", authorization);
    let reply = request.ask(site.address).await;
    assert_eq!(reply.code, 200, "{reply:?}");
    reply.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_state_is_what_the_proxy_counts() {
    let change = "INSERT INTO mysql_servers (hostgroup_id, hostname, port) VALUES (7, '127.0.0.1', 3307)";
    let site = Site::start_after(&[change]).await;
    let state = state(&site, ADMIN, "").await;
    let views = state["views"].as_object().unwrap();
    assert_eq!(views.keys().collect::<Vec<_>>(), ["config", "now", "servers", "sessions", "statements"]);
    assert_eq!(state["viewer"], json!({ "user": "admin", "rights": "admin" }));
    assert_eq!(state["proxy"]["uptime_s"], 60);
    let server = &views["servers"]["servers"][0];
    assert_eq!((&server["server"], &server["used"]), (&json!("127.0.0.2:3306"), &json!(1)));
    let digest = &views["statements"]["rows"][0];
    assert_eq!(digest["text"], "SELECT a FROM t WHERE b = ?");
    assert_eq!((&digest["p95_us"], &digest["time_us"]), (&json!(300), &json!(600)));
    let error = &views["now"]["errors"][0];
    assert_eq!((&error["code"], &error["message"]), (&json!(1146), &json!("Table 'shop.x' doesn't exist")));
    assert_eq!(views["config"]["diff"][0]["row"], "hostgroup_id=7, hostname='127.0.0.1', port=3307");
    let session = &views["sessions"]["rows"][0];
    assert_eq!((&session["state"], &session["ms"]), (&json!("running"), &json!(12)));
    let ticket = site.get("/api/ticket").await;
    let name = ticket.header("Content-Disposition").unwrap();
    assert!(name.starts_with("attachment; filename=\"pointsman-"), "{name}");
    assert_eq!(ticket.json()["views"].as_object().unwrap().len(), 5);
    for literal in ["xxx", "shop.x", "3307"] {
        assert!(!ticket.body.contains(literal), "a ticket is passed on: {literal}");
    }
}

/// The cause of an event, with the message of a server's error.
const CAUSE: &str = "connecting has failed too often: Access denied for user 'app'@'10.0.0.1'";

/// A server that was shunned a moment ago, and is back, as no event tells.
fn shunned() -> ServerEvent {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    ServerEvent {
        time_us: u64::try_from(now.as_micros()).unwrap(),
        hostgroup: 2,
        host: "127.0.0.2".to_owned(),
        port: 3306,
        event: "SHUNNED",
        cause: CAUSE.to_owned(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stats_account_sees_no_literals_and_no_values() {
    let site = Site::start_after(&[
        "SET mysql-monitor_username='somename'",
        "INSERT INTO mysql_query_rules (rule_id, active, match_pattern, comment) VALUES (1, 1, 'pat-tern', 're-mark')",
        "LOAD MYSQL QUERY RULES TO RUNTIME",
    ])
    .await;
    site.plane.server_events.lock().unwrap().push(shunned());
    let (admin, stats) = (state(&site, ADMIN, "").await, state(&site, STATS, "").await);
    let statement = |state: &Value| state["views"]["sessions"]["rows"][0]["statement"].clone();
    assert!(statement(&admin).as_str().unwrap().starts_with("SELECT 'xxx"));
    assert_eq!(statement(&stats), "SELECT ?");
    let shown = stats.to_string();
    for secret in ["xxx", "shop.x", "somename", "secret", "pat-tern", "re-mark", "Access denied"] {
        assert!(!shown.contains(secret), "{secret}");
    }
    for word in ["somename", "pat-tern", "re-mark"] {
        assert!(admin.to_string().contains(word), "{word}");
    }
    let causes = |state: &Value| {
        let now = &state["views"]["now"];
        let events = now["events"].as_array().unwrap();
        let event = events.iter().find(|event| event["kind"] == "server").unwrap();
        [event["cause"].clone(), now["timeline"]["servers"][0]["spans"][1]["cause"].clone()]
    };
    assert_eq!(causes(&admin), [CAUSE; 2]);
    assert_eq!(causes(&stats), [""; 2]);
    assert_eq!(stats["views"]["config"]["diff"], json!([]));
    assert_eq!(
        stats["views"]["config"]["diff_left_out"],
        admin["views"]["config"]["diff"].as_array().unwrap().len()
    );
    assert_eq!(stats["views"]["statements"]["rows"][0]["text"], "SELECT a FROM t WHERE b = ?");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_password_is_in_any_reply() {
    let site = Site::start_after(&[
        "INSERT INTO mysql_users (username, password) VALUES ('app', 'hunter2')",
        "SET mysql-monitor_password='hunter2'",
        "SET admin-stats_credentials='stats:stats;other:hunter2'",
    ])
    .await;
    for module in ["MYSQL USERS", "MYSQL VARIABLES", "ADMIN VARIABLES"] {
        let reply = site.get("/api/state").await;
        assert!(!reply.body.contains("hunter2") && reply.body.contains("global_variables"), "{}", reply.body);
        site.execute(&format!("LOAD {module} TO RUNTIME")).await;
    }
    let reply = site.get("/api/state").await;
    assert!(!reply.body.contains("hunter2"), "{}", reply.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn explain_is_that_of_the_admin_port() {
    let site = Site::start().await;
    let reply = site
        .get("/api/explain?statement=SELECT+name+FROM+t+WHERE+id+%3D+7&user=app&schema=shop&client=10.0.0.7&port=6033")
        .await;
    let sql = "EXPLAIN ROUTE USER app SCHEMA shop CLIENT 10.0.0.7 PORT 6033 SELECT name FROM t WHERE id = 7";
    let Answer::Rows { rows, .. } = site.execute(sql).await else { panic!("no rows") };
    let text = |cell: &Option<Vec<u8>>| String::from_utf8(cell.clone().unwrap()).unwrap();
    let steps = rows
        .iter()
        .map(|row| json!({ "step": text(&row[0]), "result": text(&row[1]), "detail": text(&row[2]) }));
    assert_eq!(reply.json()["steps"], Value::Array(steps.collect()));
    let sql = sql.replace("ROUTE", "ROUTE FORMAT=JSON");
    let Answer::Rows { rows, .. } = site.execute(&sql).await else { panic!("no rows") };
    assert_eq!(reply.json()["route"], serde_json::from_str::<Value>(&text(&rows[0][0])).unwrap());
    let refused = site.get("/api/explain?statement=SELECT+1&user=nobody").await;
    assert_eq!(refused.refusal(), (409, "failed".to_owned()));
    for bad in ["", "statement=", "statement=x&port=x", "statement=x&client=host"] {
        assert_eq!(site.get(&format!("/api/explain?{bad}")).await.code, 400, "{bad}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_moment_of_the_record_is_shown_as_it_was() {
    let site = Site::start().await;
    site.plane.server_events.lock().unwrap().push(shunned());
    let at = async |at: u64, authorization: &str| {
        let path = format!("/api/record?at={at}");
        Request::new("GET", &path).header("Authorization", authorization).ask(site.address).await
    };
    let points = |state: &Value| state["views"]["now"]["points"].as_array().map_or(0, Vec::len);
    until("three records", async || points(&at(u64::MAX, ADMIN).await.json()) >= 3).await;
    let from = site.get("/api/record").await.json()["from_ms"].as_u64().unwrap();
    let first = at(0, ADMIN).await.json();
    assert_eq!(first["time_ms"].as_u64(), Some(from));
    assert_eq!(points(&first), 1);
    assert!(first["head"]["verdict"].is_object() && first["views"]["now"]["hostgroups"].is_array());
    let last = at(u64::MAX, ADMIN).await.json();
    assert!(points(&last) >= 3 && last["time_ms"].as_u64().unwrap() > from);
    assert_eq!(last["views"].as_object().unwrap().len(), 1);
    // Causes are for admins.
    let seen_by_stats = at(u64::MAX, STATS).await.json();
    let has_cause = |state: &Value| state["views"]["now"].to_string().contains(CAUSE);
    assert!(has_cause(&last) && !has_cause(&seen_by_stats));
    assert_eq!(at(0, "Basic eDp5").await.code, 401);
    assert_eq!(site.get("/api/record?at=yesterday").await.refusal(), (400, "bad_request".to_owned()));
}
