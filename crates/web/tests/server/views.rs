//! What is shown, and to whom.

use std::time::SystemTime;

use admin::Answer;
use observe::rows::{CheckStats, DigestStats, ServerEvent};
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

/// 10,000 digests of 20 users.
fn many_digests() -> Vec<DigestStats> {
    let digest = |n: u64| DigestStats {
        hostgroup: u32::try_from(n % 3).unwrap(),
        schema: b"shop"[..].into(),
        user: format!("user{:02}", n % 20).into_bytes().into(),
        digest: n + 1,
        text: format!("SELECT c{n} FROM t{} WHERE id = ?", n % 50).into_bytes().into(),
        count: 1 + n * 7_919 % 10_007,
        sum_us: 1 + n * 104_729 % 1_000_003,
        first_seen: 1_700_000_000,
        last_seen: 1_700_000_000 + n,
        ..DigestStats::default()
    };
    (0..10_000).map(digest).collect()
}

/// Where the admin port has the digests.
const FROM: &str = "FROM stats_mysql_query_digest";

/// The first cell of a statement on the admin port.
async fn figure(site: &Site, sql: &str) -> Value {
    let Answer::Rows { rows, .. } = site.execute(sql).await else { panic!("{sql}") };
    let text = String::from_utf8(rows[0][0].clone().unwrap()).unwrap();
    text.parse::<u64>().map_or_else(|_| json!(text), |number| json!(number))
}

/// What a viewer filters and sorts is all that the proxy has, not what was sent.
#[tokio::test(flavor = "multi_thread")]
async fn figures_of_many_digests_are_those_of_the_admin_port() {
    let site = Site::start().await;
    *site.plane.digests.lock().unwrap() = Some(many_digests());
    let state = state(&site, ADMIN, "?views=statements").await;
    let total = &state["views"]["statements"]["total"];
    assert_eq!(total["count"], figure(&site, &format!("SELECT sum(count_star) {FROM}")).await);
    assert_eq!(total["time_us"], figure(&site, &format!("SELECT sum(sum_time) {FROM}")).await);
    for user in 0..20 {
        let rows =
            site.get(&format!("/api/statements?filter=user{user:02}&sort=Count&recent=0")).await.json();
        let of = format!("{FROM} WHERE username = 'user{user:02}'");
        assert_eq!(rows["matching"], figure(&site, &format!("SELECT count(*) {of}")).await);
        let most = format!("SELECT count_star {of} ORDER BY count_star DESC LIMIT 1");
        assert_eq!(rows["rows"][0]["count"], figure(&site, &most).await, "{user}");
    }
    for (column, sql) in
        [("Share", "sum_time"), ("Count", "count_star"), ("Average", "sum_time * 1.0 / count_star")]
    {
        for (order, word) in [("asc", "ASC"), ("desc", "DESC")] {
            let rows = site
                .get(&format!("/api/statements?sort={column}&order={order}&recent=0&limit=3"))
                .await
                .json();
            assert_eq!((&rows["matching"], rows["rows"].as_array().unwrap().len()), (&json!(10_000), 3));
            let first = format!("SELECT digest {FROM} ORDER BY {sql} {word} LIMIT 1");
            assert_eq!(rows["rows"][0]["digest"], figure(&site, &first).await, "{column} {order}");
        }
    }
    assert_eq!(site.get("/api/statements?sort=nothing").await.code, 400);
}

/// Statements are chosen by what the viewer sees of them.
#[tokio::test(flavor = "multi_thread")]
async fn a_filter_of_sessions_finds_no_literal_for_others() {
    let site = Site::start().await;
    let matching = async |filter: &str, authorization: &str| {
        let request = Request::new("GET", &format!("/api/sessions?filter={filter}"));
        request.header("Authorization", authorization).ask(site.address).await.json()["matching"].clone()
    };
    assert_eq!(matching("xxx", ADMIN).await, 1);
    assert_eq!(matching("xxx", STATS).await, 0);
    assert_eq!(matching("APP+select", STATS).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_monitor_that_cannot_log_in_is_told() {
    let site = Site::start().await;
    let check = |error: Option<&str>| CheckStats {
        host: "127.0.0.2".to_owned(),
        port: 3306,
        start_us: 1,
        took_us: 0,
        value: None,
        details: Vec::new(),
        error: error.map(str::to_owned),
    };
    *site.plane.checks.lock().unwrap() =
        vec![check(None), check(Some("error 1045: Access denied for user 'monitor'"))];
    let verdict = state(&site, STATS, "").await["head"]["verdict"].clone();
    assert_eq!(verdict["text"], "the monitor cannot check 1 of 1 servers: 127.0.0.2:3306: error 1045");
    assert_eq!(verdict["level"], "warn");
}

/// Errors that the proxy has made stand beside those of servers.
#[tokio::test(flavor = "multi_thread")]
async fn errors_of_the_proxy_have_a_code_a_hostgroup_and_a_user() {
    let site = Site::start().await;
    let state = state(&site, ADMIN, "?views=now").await;
    let errors = state["views"]["now"]["errors"].as_array().unwrap();
    let own = errors.iter().find(|error| error["code"] == 9001).unwrap();
    assert_eq!(
        (&own["server"], &own["hostgroup"], &own["users"], &own["count"]),
        (&Value::Null, &json!(4), &json!("app"), &json!(2))
    );
    assert!(own["message"].as_str().unwrap().starts_with("Max connect timeout reached"));
    let refused = errors.iter().find(|error| error["code"] == 1045).unwrap();
    assert_eq!((&refused["hostgroup"], &refused["users"]), (&Value::Null, &json!("")));
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
