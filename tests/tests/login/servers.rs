//! Logins to servers, and what a client hears that gets none.

use std::net::{SocketAddr, TcpListener};
use std::time::Instant;

use e2e::{Proxy, Setup, run};
use testkit::client::{Client, ClientError, Options};
use testkit::mariadb::{PASSWORD, USER};

use super::DB;

#[test]
fn the_servers_refusal_is_passed_on() {
    DB.sql("CREATE USER differs IDENTIFIED BY 'on the server'");
    DB.sql("CREATE USER single IDENTIFIED BY 'pw' WITH MAX_USER_CONNECTIONS 1");
    let proxy = Setup::before(&DB.sandbox, &DB.server)
        .user("differs", "here", "")
        .user("single", "pw", "")
        .user("absent", "pw", "")
        .start();
    run(async {
        let refused = async |options: Options| Client::connect(&options).await.unwrap_err().to_string();
        let error = refused(proxy.options().schema("missing")).await;
        assert_eq!(error, "server error 1049 (42000): Unknown database 'missing'");
        for (user, password) in [("differs", "here"), ("absent", "pw")] {
            let error = refused(Options::tcp(proxy.tcp(), user, password)).await;
            assert!(error.starts_with("server error 1045 (28000): Access denied for user"), "{error}");
        }
        // The first login vouches for the second.
        let single = Options::tcp(proxy.tcp(), "single", "pw");
        let mut first = Client::connect(&single).await.unwrap();
        let mut second = Client::connect(&single).await.unwrap();
        // In a transaction it keeps its connection. The server refuses another one with 1226, which
        // means "no more than now": the second session waits for the first one's.
        first.query("START TRANSACTION").await.unwrap();
        let (answer, ended) = tokio::join!(second.query("SELECT 1"), first.query("COMMIT"));
        answer.unwrap();
        ended.unwrap();
        first.query("START TRANSACTION").await.unwrap();
        let error = second.query("SELECT 1").await.unwrap_err();
        assert_eq!(error.code(), Some(9001), "{error}");
        second.ping().await.unwrap();
    });
}

#[test]
fn without_a_check_the_servers_refusal_answers_the_first_statement() {
    DB.sql("CREATE USER later IDENTIFIED BY 'on the server'");
    let proxy = Setup::before(&DB.sandbox, &DB.server)
        .user("later", "here", "")
        .pointsman_variable("check_logins", "'never'")
        .start();
    run(async {
        for options in [proxy.options().schema("missing"), Options::tcp(proxy.tcp(), "later", "here")] {
            let mut client = Client::connect(&options).await.unwrap();
            let code = client.query("SELECT 1").await.unwrap_err().code();
            assert!(matches!(code, Some(1045 | 1049)), "{code:?}");
            client.ping().await.unwrap();
        }
    });
}

/// A query that must fail with error 9001: the text, and the milliseconds in it.
async fn no_backend(proxy: &Proxy, hostgroup: u32) -> (String, u64) {
    let mut client = Client::connect(&Options::tcp(proxy.tcp(), USER, PASSWORD)).await.unwrap();
    let started = Instant::now();
    let ClientError::Server(error) = client.query("SELECT 1").await.unwrap_err() else {
        panic!("no error packet")
    };
    let took = u64::try_from(started.elapsed().as_millis()).unwrap();
    assert_eq!((error.code, error.sql_state.as_str()), (9001, "HY000"), "{error}");
    let wanted = format!("Max connect timeout reached while reaching hostgroup {hostgroup} after ");
    let rest = error.message.strip_prefix(&wanted).unwrap_or_else(|| panic!("{error}"));
    let (ms, tried) = rest.split_once("ms: ").unwrap_or_else(|| panic!("{error}"));
    let ms = ms.parse().unwrap_or_else(|_| panic!("{error}"));
    assert!(ms <= took, "{error} after {took} ms");
    // The session goes on.
    client.ping().await.unwrap();
    (tried.to_owned(), ms)
}

#[test]
fn c24_no_server_reachable_is_said_with_what_was_tried() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    // The kernel accepts for it; no server ever greets.
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
    let mute_address = mute.local_addr().unwrap();
    let row = |hostgroup: u32, address: SocketAddr, more: &str| {
        format!("hostgroup_id = {hostgroup}\nhostname = '127.0.0.1'\nport = {}\n{more}", address.port())
    };
    let in_group = |hostgroup: u32, retries: u32| {
        Setup::new(&DB.sandbox)
            .row("mysql_servers", &row(1, closed, ""))
            .row("mysql_servers", &row(2, closed, ""))
            .row("mysql_servers", &row(2, mute_address, ""))
            .row("mysql_servers", &row(3, closed, "status = 'OFFLINE_SOFT'"))
            .row("mysql_servers", &row(3, mute_address, "weight = 0"))
            .row("mysql_servers", &row(5, mute_address, ""))
            .user(USER, PASSWORD, &format!("default_hostgroup = {hostgroup}"))
            .variable("connect_timeout_server", 150)
            .variable("connect_timeout_server_max", 400)
            .variable("connect_retries_on_failure", retries)
            // Or the login's attempts would get the servers shunned.
            .pointsman_variable("check_logins", "'never'")
            .start()
    };
    run(async {
        let (tried, _) = no_backend(&in_group(1, 2), 1).await;
        assert!(tried.starts_with(&format!("tried {closed} 3 times (")), "{tried}");
        assert!(tried.contains("refused"), "{tried}");
        let (tried, ms) = no_backend(&in_group(2, 1), 2).await;
        for part in [format!("{closed} 1 time ("), format!("{mute_address} 1 time (no answer within 150ms")] {
            assert!(tried.contains(&part), "{tried}");
        }
        assert!(ms >= 150, "{tried} after {ms} ms");
        let (tried, _) = no_backend(&in_group(3, 1), 3).await;
        assert!(tried.starts_with("none of its 2 servers can be taken: "), "{tried}");
        let (tried, _) = no_backend(&in_group(4, 1), 4).await;
        assert_eq!(tried, "no server is configured for this hostgroup");
        // A thousand attempts would take 150 s: the limit for all of them comes first.
        let (tried, ms) = no_backend(&in_group(5, 1000), 5).await;
        assert!((400..20_000).contains(&ms), "{tried} after {ms} ms");
    });
}

#[test]
fn c23_a_server_that_works_is_found_among_those_that_do_not() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let proxy = Setup::before(&DB.sandbox, &DB.server)
        .row("mysql_servers", &format!("hostname = '127.0.0.1'\nport = {closed}\nweight = 1000"))
        .row("mysql_servers", "hostname = '/nowhere/sock'\nport = 0\nweight = 1000")
        .start();
    run(async {
        for _ in 0..50 {
            let mut client = Client::connect(&proxy.options()).await.unwrap();
            assert_eq!(client.query("SELECT 1").await.unwrap().first().as_deref(), Some("1"));
        }
    });
}

#[test]
fn c23_who_waits_for_a_connection_gets_the_next_free_one_or_an_error_with_the_numbers() {
    let limited = |ms: u32| {
        Setup::new(&DB.sandbox)
            .server(&DB.server, "max_connections = 1")
            .user(USER, PASSWORD, "")
            .variable("connect_timeout_server_max", ms)
            .start()
    };
    run(async {
        let proxy = limited(300);
        let mut first = Client::connect(&proxy.options()).await.unwrap();
        // A session keeps its connection while a transaction is open.
        first.query("BEGIN").await.unwrap();
        let (tried, ms) = no_backend(&proxy, 0).await;
        assert!(tried.starts_with("1 of 1 connections of 1 servers are in use"), "{tried}");
        assert!(ms >= 300, "{ms}");
        first.quit().await.unwrap();

        let proxy = limited(60_000);
        let connect = async || Client::connect(&proxy.options()).await.unwrap();
        let mut first = connect().await;
        first.query("BEGIN").await.unwrap();
        let mut waiting: Vec<Client> = Vec::new();
        for i in 0..5 {
            let mut client = connect().await;
            client.send_command(wire::command::Kind::Query, format!("SELECT {i}").as_bytes()).await.unwrap();
            waiting.push(client);
        }
        // One of those who wait gives up; the others must not wait for it.
        drop(waiting.remove(2));
        first.quit().await.unwrap();
        while !waiting.is_empty() {
            // The served client leaves, and the next one is served.
            let (answered, index) = {
                let reads = waiting.iter_mut().map(|client| Box::pin(client.read_result()));
                first_of(reads.collect()).await
            };
            assert!(answered.unwrap().first().is_some());
            waiting.remove(index).quit().await.unwrap();
        }
    });
}

/// The outcome of the future that is ready first, and its place.
async fn first_of<F: Future + Unpin>(mut futures: Vec<F>) -> (F::Output, usize) {
    std::future::poll_fn(|cx| {
        for (index, future) in futures.iter_mut().enumerate() {
            if let std::task::Poll::Ready(outcome) = std::pin::Pin::new(future).poll(cx) {
                return std::task::Poll::Ready((outcome, index));
            }
        }
        std::task::Poll::Pending
    })
    .await
}
