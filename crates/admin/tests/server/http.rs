//! What the admin port answers over HTTP: metrics, scripts and health checks.

use std::net::TcpListener;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{Admin, PATIENCE, until};

/// What is answered at `port` of 127.0.0.1 to `request`, once the port listens.
async fn ask(port: u16, request: &str) -> String {
    let mut stream = None;
    until("a listener for HTTP", async || {
        stream = TcpStream::connect(("127.0.0.1", port)).await.ok();
        stream.is_some()
    })
    .await;
    let mut stream = stream.unwrap();
    let mut answer = String::new();
    let talk = async {
        stream.write_all(request.as_bytes()).await.unwrap();
        stream.read_to_string(&mut answer).await.unwrap();
    };
    timeout(PATIENCE, talk).await.expect("an answer that ends");
    answer
}

async fn until_port_is_closed(port: u16) {
    until("no listener", async || TcpStream::connect(("127.0.0.1", port)).await.is_err()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rest_serves_metrics_and_scripts_while_it_is_switched_on() {
    let admin = Admin::start();
    let mut client = admin.client().await;
    let port = testkit::net::free_port().unwrap();
    for sql in [
        "INSERT INTO restapi_routes (id, timeout_ms, method, uri, script) VALUES (1, 10000, 'GET', 'echo', '/bin/echo'), (2, 10000, 'POST', 'said', '/bin/echo')",
        "LOAD RESTAPI TO RUNTIME",
        &format!("SET admin-restapi_port={port}"),
        "SET admin-restapi_enabled='true'",
        "LOAD ADMIN VARIABLES TO RUNTIME",
    ] {
        client.query(sql).await.unwrap();
    }
    let get = async |path: &str| {
        ask(port, &format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).await
    };
    let metrics = get("/metrics").await;
    assert!(
        metrics.starts_with("HTTP/1.1 200") && metrics.contains("proxysql_questions_total 1000\n"),
        "{metrics}"
    );
    for line in [
        "mysql_error_total{hostgroup=\"2\",address=\"127.0.0.2\",port=\"3306\",code=\"1146\"} 3\n",
        "proxysql_mysql_error_total{hostgroup=\"4\",address=\"\",port=\"0\",code=\"9001\"} 2\n",
        "proxysql_mysql_error_total{hostgroup=\"-1\",address=\"\",port=\"0\",code=\"1045\"} 2\n",
        "proxysql_mysql_monitor_ping_interval 8\n",
        "proxysql_mysql_monitor_enabled 1\n",
        "proxysql_queries_with_max_lag_total 40\n",
        "proxysql_queries_with_max_lag__delayed_total 2\n",
        "proxysql_queries_with_max_lag__total_wait_time_total 11\n",
        "proxysql_aws_aurora_replicas_skipped_during_query_total 3\n",
    ] {
        assert!(metrics.contains(line), "{line}{metrics}");
    }
    // As in ProxySQL a scrape does not count itself.
    assert!(metrics.contains("\nexposer_scrapes_total 0\n"), "{metrics}");
    let again = get("/metrics").await;
    assert!(again.contains("\nexposer_request_latencies_count 1\n"), "{again}");
    assert!(!again.contains("\nexposer_transferred_bytes_total 0\n"), "{again}");
    let post = async |path: &str, header: &str| {
        let head = "HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 7\r\n";
        ask(port, &format!("POST {path} {head}{header}\r\n{{\"b\":1}}")).await
    };
    let said = post("/sync/said", "").await;
    assert!(said.starts_with("HTTP/1.1 200") && said.ends_with("{\"b\":1}\n"), "{said}");
    assert!(!said.to_ascii_lowercase().contains("access-control"), "{said}");
    assert!(post("/sync/nothing", "").await.starts_with("HTTP/1.1 400"));
    assert!(post("/sync/said", "Origin: http://x\r\n").await.starts_with("HTTP/1.1 403"));
    assert!(get("/sync/echo?a=b%20c").await.starts_with("HTTP/1.1 405"));
    client.query("SET pointsman-restapi_get='true'").await.unwrap();
    client.query("LOAD POINTSMAN VARIABLES TO RUNTIME").await.unwrap();
    let echo = get("/sync/echo?a=b%20c").await;
    assert!(echo.starts_with("HTTP/1.1 200") && echo.ends_with("{\"a\":\"b c\"}\n"), "{echo}");
    assert!(get("/nothing").await.starts_with("HTTP/1.1 404"));
    client.query("SET admin-restapi_enabled='false'").await.unwrap();
    client.query("LOAD ADMIN VARIABLES TO RUNTIME").await.unwrap();
    until_port_is_closed(port).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rest_has_accounts_and_an_address_of_its_own() {
    let admin = Admin::start();
    let mut client = admin.client().await;
    let port = testkit::net::free_port().unwrap();
    for sql in [
        &format!("SET admin-restapi_port={port}"),
        "SET admin-restapi_enabled='true'",
        "SET pointsman-restapi_credentials='scrape:secret'",
        "LOAD POINTSMAN VARIABLES TO RUNTIME",
        "LOAD ADMIN VARIABLES TO RUNTIME",
    ] {
        client.query(sql).await.unwrap();
    }
    let get = async |header: &str| {
        ask(port, &format!("GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{header}\r\n")).await
    };
    let bare = get("").await;
    assert!(bare.starts_with("HTTP/1.1 401") && bare.contains("Basic realm"), "{bare}");
    // scrape:secret, and admin:admin, which is an account of the admin port.
    let right = "Authorization: Basic c2NyYXBlOnNlY3JldA==\r\n";
    let wrong = "Authorization: Basic YWRtaW46YWRtaW4=\r\n";
    assert!(get(right).await.starts_with("HTTP/1.1 200"));
    for _ in 0..5 {
        assert!(get(wrong).await.starts_with("HTTP/1.1 401"));
    }
    for header in [right, wrong] {
        assert!(get(header).await.starts_with("HTTP/1.1 429"));
    }
    assert!(TcpStream::connect(("127.0.0.2", port)).await.is_err());
    client.query("SET pointsman-restapi_address='0.0.0.0'").await.unwrap();
    client.query("LOAD POINTSMAN VARIABLES TO RUNTIME").await.unwrap();
    until("all addresses", async || TcpStream::connect(("127.0.0.2", port)).await.is_ok()).await;
    client.query("SET pointsman-restapi_address='localhost'").await.unwrap();
    let refused = super::refusal(client.query("LOAD POINTSMAN VARIABLES TO RUNTIME").await).1;
    assert!(refused.contains("must be an IP address"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn health_checks_are_answered_where_the_variable_says() {
    let admin = Admin::start();
    let mut client = admin.client().await;
    let port = testkit::net::free_port().unwrap();
    client.query(&format!("SET pointsman-health_address='127.0.0.1:{port}'")).await.unwrap();
    client.query("LOAD POINTSMAN VARIABLES TO RUNTIME").await.unwrap();
    let ask = async |request: &str| {
        // Though the request does not ask for that, the connection is closed.
        let answer = ask(port, &format!("{request} HTTP/1.0\r\n\r\n")).await;
        let code = answer.split(' ').nth(1).unwrap().to_owned();
        (code, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
    };
    let told = |code: &str, body: &str| (code.to_owned(), format!("{body}\n"));
    assert_eq!(ask("GET /health").await, told("200", "{\"status\":\"ok\"}"));
    let ready =
        "{\"hostgroup\":0,\"not_ready\":[\"its weight is 0\"],\"ready\":1,\"servers\":2,\"status\":\"ok\"}";
    assert_eq!(ask("GET /health/hostgroup/0").await, told("200", ready));
    assert_eq!(ask("HEAD /health/hostgroup/0").await, ("200".to_owned(), String::new()));
    let down = "{\"hostgroup\":1,\"not_ready\":[\"it does not answer the monitor\"],\"ready\":0,\
                \"reason\":\"no server of this hostgroup can be taken\",\"servers\":1,\"status\":\"unavailable\"}";
    assert_eq!(ask("GET /health/hostgroup/1").await, told("503", down));
    for (hostgroup, why) in [
        (2, "no server is configured for this hostgroup"),
        (3, "the monitor knows no server that belongs into it"),
    ] {
        let (code, body) = ask(&format!("GET /health/hostgroup/{hostgroup}")).await;
        assert!(code == "503" && body.contains(why), "{body}");
    }
    for path in ["/", "/health/hostgroup/x", "/health/hostgroup/-1", "/health/", "/metrics"] {
        assert_eq!(ask(&format!("GET {path}")).await.0, "404", "{path}");
    }
    assert_eq!(ask("POST /health").await.0, "405");
    client.query("PROXYSQL PAUSE").await.unwrap();
    for path in ["/health", "/health/hostgroup/0"] {
        let (code, body) = ask(&format!("GET {path}")).await;
        assert!(code == "503" && body.contains("no new clients are accepted"), "{body}");
    }
    client.query("PROXYSQL RESUME").await.unwrap();
    assert_eq!(ask("GET /health").await.0, "200");
    // The same port at all addresses, which the old listener is in the way of.
    client.query(&format!("SET pointsman-health_address='0.0.0.0:{port}'")).await.unwrap();
    client.query("LOAD POINTSMAN VARIABLES TO RUNTIME").await.unwrap();
    until("all addresses", async || TcpStream::connect(("127.0.0.2", port)).await.is_ok()).await;
    client.query("SET pointsman-health_address=''").await.unwrap();
    client.query("LOAD POINTSMAN VARIABLES TO RUNTIME").await.unwrap();
    until_port_is_closed(port).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_that_is_in_use_is_listened_on_once_it_is_free() {
    let admin = Admin::start();
    let mut client = admin.client().await;
    let taken = [0; 2].map(|port| TcpListener::bind(("127.0.0.1", port)).unwrap());
    let [health, rest] = taken.each_ref().map(|listener| listener.local_addr().unwrap().port());
    for sql in [
        &format!("SET pointsman-health_address='127.0.0.1:{health}'"),
        "LOAD POINTSMAN VARIABLES TO RUNTIME",
        &format!("SET admin-restapi_port={rest}"),
        "SET admin-restapi_enabled='true'",
        "LOAD ADMIN VARIABLES TO RUNTIME",
    ] {
        client.query(sql).await.unwrap();
    }
    // Both have been tried, in vain, when a port is listened on that was wanted later.
    let path = admin.folder.path().join("later.sock");
    client.query(&format!("SET admin-mysql_ifaces='{}'", path.display())).await.unwrap();
    client.query("LOAD ADMIN VARIABLES TO RUNTIME").await.unwrap();
    until("the later one", async || tokio::net::UnixStream::connect(&path).await.is_ok()).await;
    drop(taken);
    let answer = ask(health, "GET /health HTTP/1.0\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 200") || answer.starts_with("HTTP/1.0 200"), "{answer}");
    let answer = ask(rest, "GET /metrics HTTP/1.0\r\n\r\n").await;
    assert!(answer.contains("proxysql_questions_total"), "{answer}");
}
