//! What admins may do, and others may not.

use admin::Answer;
use observe::plane::Order;
use querylog::{AuditEvent, Port};

use super::client::{Reply, Request};
use super::common::SESSION;
use super::{ADMIN, STATS, Site, until};

/// The bodies of all actions, each with its statement as the confirmation.
fn actions() -> Vec<String> {
    let kill = format!("{{\"action\":\"kill\",\"id\":{SESSION},\"confirm\":\"KILL {SESSION}\"}}");
    let others = [
        r#"{"action":"pause","confirm":"PROXYSQL PAUSE"}"#,
        r#"{"action":"resume","confirm":"PROXYSQL RESUME"}"#,
        r#"{"action":"load","module":"MYSQL SERVERS","confirm":"LOAD MYSQL SERVERS TO RUNTIME"}"#,
        r#"{"action":"rollback","module":"MYSQL SERVERS","version":null,"confirm":"POINTSMAN ROLLBACK MYSQL SERVERS"}"#,
    ];
    std::iter::once(kill).chain(others.map(str::to_owned)).collect()
}

fn act(body: &str) -> Request {
    Request::new("POST", "/api/action").body("application/json", body)
}

async fn as_user(site: &Site, authorization: &str, body: &str) -> Reply {
    act(body).header("Authorization", authorization).ask(site.address).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stats_account_is_refused_each_of_them() {
    let site = Site::start().await;
    let (cookie, token) = site.cookie("stats", "stats").await;
    for body in actions() {
        let basic = as_user(&site, STATS, &body).await;
        assert_eq!(basic.refusal(), (403, "not_allowed".to_owned()), "{body}");
        let reply =
            act(&body).header("Cookie", &cookie).header("X-CSRF-Token", &token).ask(site.address).await;
        assert_eq!(reply.refusal(), (403, "not_allowed".to_owned()), "{body}");
    }
    assert!(site.plane.orders.lock().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_action_needs_the_token_and_the_statement() {
    let site = Site::start().await;
    let (cookie, token) = site.cookie("admin", "admin").await;
    let (_, foreign) = site.cookie("radmin", "secret").await;
    let pause = r#"{"action":"pause","confirm":"PROXYSQL PAUSE"}"#;
    let with_cookie = act(pause).header("Cookie", &cookie);
    assert_eq!(with_cookie.ask(site.address).await.refusal(), (403, "bad_token".to_owned()));
    let wrong = with_cookie.clone().header("X-CSRF-Token", &foreign);
    assert_eq!(wrong.ask(site.address).await.refusal(), (403, "bad_token".to_owned()));
    for body in [
        r#"{"action":"pause"}"#,
        r#"{"action":"pause","confirm":"PROXYSQL RESUME"}"#,
        r#"{"action":"pause","confirm":"proxysql pause"}"#,
    ] {
        let reply = as_user(&site, ADMIN, body).await;
        assert_eq!(reply.refusal(), (409, "bad_confirmation".to_owned()), "{body}");
    }
    assert!(site.plane.orders.lock().unwrap().is_empty());
    let done = with_cookie.header("X-CSRF-Token", &token).ask(site.address).await;
    assert_eq!((done.code, done.json()["statement"].as_str()), (200, Some("PROXYSQL PAUSE")));
    assert_eq!(*site.plane.orders.lock().unwrap(), [Order::Pause]);
    let told = || {
        let audited = site.plane.audited.lock().unwrap();
        audited
            .iter()
            .map(|event| (event.event, String::from_utf8_lossy(&event.user).into_owned()))
            .collect::<Vec<_>>()
    };
    let connected = |user: &str| (AuditEvent::ConnectOk(Port::Admin), user.to_owned());
    assert_eq!(told(), ["admin", "radmin"].map(connected), "logins with the form");
    let again = as_user(&site, ADMIN, pause).await;
    assert_eq!(again.refusal(), (409, "failed".to_owned()));
    assert_eq!(told(), ["admin", "radmin", "admin"].map(connected), "an action with a password");
    let message = again.json()["message"].as_str().unwrap().to_owned();
    assert!(message.contains("already paused"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn actions_do_what_their_statements_do() {
    let site = Site::start().await;
    let change = "INSERT INTO mysql_servers (hostgroup_id, hostname, port) VALUES (7, '127.0.0.1', 3307)";
    site.execute(change).await;
    let running = async || match site.execute("SELECT port FROM runtime_mysql_servers").await {
        Answer::Rows { rows, .. } => rows.len(),
        other => panic!("{other:?}"),
    };
    assert_eq!(running().await, 0);
    let unloaded =
        async || site.get("/api/state?views=config").await.json()["head"]["config"]["not_loaded"].clone();
    // A sample that was under way for the record is from before the change.
    until("the change is seen", async || unloaded().await == 1).await;
    for body in actions() {
        let reply = as_user(&site, ADMIN, &body).await;
        let is_load = body.contains("load");
        let expected = if body.contains("rollback") && reply.code == 409 { 409 } else { 200 };
        assert_eq!(reply.code, expected, "{body}: {reply:?}");
        if is_load {
            assert_eq!(running().await, 1);
            assert_eq!(unloaded().await, 0, "at once after an action");
        }
    }
    let unknown = as_user(&site, ADMIN, r#"{"action":"kill","id":1,"confirm":"KILL 1"}"#).await;
    assert_eq!(unknown.refusal(), (409, "failed".to_owned()));
    let to = r#"{"action":"rollback","module":"MYSQL SERVERS","version":999,"confirm":"POINTSMAN ROLLBACK MYSQL SERVERS TO 999"}"#;
    let reply = as_user(&site, ADMIN, to).await;
    assert!(reply.json()["message"].as_str().unwrap().contains("has no version 999"), "{reply:?}");
}
