//! Logins of clients to the proxy and of the proxy to servers: who gets in, how, and what the others are told.

use std::net::{SocketAddr, TcpListener};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use e2e::tools::mariadb;
use e2e::{Backend, Proxy, Setup, run};
use testkit::client::{Client, ClientError, Options, ServerError};
use testkit::mariadb::{PASSWORD, USER};
use testkit::script::ScriptedClient;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

static DB: LazyLock<Backend> = LazyLock::new(|| {
    let db = Backend::start(&[]);
    for user in [CLEAR, NATIVE, SHA2] {
        db.sql(&format!("CREATE USER {user} IDENTIFIED BY '{SECRET}'"));
    }
    db.sql("CREATE USER nothing");
    db
});

/// The password of the three users below.
const SECRET: &str = "secret";
/// Has a clear text in the configuration.
const CLEAR: &str = "clear";
/// Has the hash of `mysql_native_password`.
const NATIVE: &str = "native";
/// Has the hash of `caching_sha2_password`.
const SHA2: &str = "sha2";
/// [`SECRET`] as `mysql_native_password` stores it.
const NATIVE_HASH: &str = "*14E65567ABDB5135D0CFD9A70B3032C179A49EE7";
/// [`SECRET`] as `caching_sha2_password` stores it.
const SHA2_HASH: &str = "$A$005$012345678901234567895fkz3MBocEd.OaaR71/j.w9RXSrKttgCSpI2fGX1100";

const NATIVE_PLUGIN: &str = "mysql_native_password";
const SHA2_PLUGIN: &str = "caching_sha2_password";

/// Messages of a login up to its end: greeting, login, OK or ERR.
const NATIVE_MESSAGES: u8 = 3;
/// The same with the word that the fast exchange was enough.
const FAST_MESSAGES: u8 = 4;
/// The same with the request for the full exchange, for the key, the key and the password.
const FULL_MESSAGES: u8 = 7;

fn setup() -> Setup {
    Setup::new(&DB.sandbox)
        .server(&DB.server, "")
        .user(CLEAR, SECRET, "")
        .user(NATIVE, NATIVE_HASH, "")
        .user(SHA2, SHA2_HASH, "")
}

/// Logs in over TCP; returns the number of messages in both directions, and the client or the proxy's error.
async fn log_in(
    address: SocketAddr,
    user: &str,
    password: &str,
    plugin: &str,
) -> (u8, Result<ScriptedClient<TcpStream>, ServerError>) {
    let options = Options::tcp(address, user, password).auth_plugin(plugin);
    let mut client = ScriptedClient::new(TcpStream::connect(address).await.unwrap());
    let outcome = client.log_in(&options).await;
    let messages = client.packets().next_seq();
    (messages, outcome.map(|_| client))
}

async fn refused(address: SocketAddr, user: &str, password: &str, plugin: &str) -> (u8, String) {
    let (messages, outcome) = log_in(address, user, password, plugin).await;
    (messages, outcome.unwrap_err().to_string())
}

async fn query(client: &mut ScriptedClient<TcpStream>, sql: &str) -> String {
    client.send_query(sql).await;
    client.expect_result().await.first().unwrap()
}

#[test]
fn the_command_line_client_logs_in_with_every_method_and_every_form_of_the_password() {
    for default in [NATIVE_PLUGIN, SHA2_PLUGIN] {
        let proxy = setup().variable("default_authentication_plugin", format!("'{default}'")).start();
        let port = format!("--port={}", proxy.tcp().port());
        let socket = format!("--socket={}", proxy.socket().display());
        for user in [CLEAR, NATIVE, SHA2] {
            for plugin in [NATIVE_PLUGIN, SHA2_PLUGIN] {
                for target in [&["--host=127.0.0.1", &port][..], &["--protocol=SOCKET", &socket]] {
                    let (name, password) = (format!("--user={user}"), format!("--password={SECRET}"));
                    let plugin = format!("--default-auth={plugin}");
                    let rest = [&name, &password, &plugin, "--execute=SELECT CURRENT_USER()"];
                    let output = mariadb(&DB.sandbox, &[target, &rest].concat());
                    assert_eq!(output.expect_success(), format!("{user}@%\n"), "{target:?} {rest:?}");
                }
            }
        }
    }
}

#[test]
fn each_method_takes_the_messages_that_it_needs() {
    let proxy = setup().start();
    run(async {
        for (user, plugin, messages) in [
            (CLEAR, NATIVE_PLUGIN, NATIVE_MESSAGES),
            (CLEAR, SHA2_PLUGIN, FAST_MESSAGES),
            (NATIVE, NATIVE_PLUGIN, NATIVE_MESSAGES),
            // The client is asked to switch, and does.
            (NATIVE, SHA2_PLUGIN, NATIVE_MESSAGES + 2),
            (SHA2, SHA2_PLUGIN, FULL_MESSAGES),
            (SHA2, NATIVE_PLUGIN, FAST_MESSAGES + 2),
        ] {
            let (took, outcome) = log_in(proxy.tcp(), user, SECRET, plugin).await;
            let mut client = outcome.unwrap();
            assert_eq!(took, messages, "{user} with {plugin}");
            assert_eq!(query(&mut client, "SELECT CURRENT_USER()").await, format!("{user}@%"));
        }
    });
}

#[test]
fn the_second_login_with_a_stored_hash_is_fast_and_as_good_as_the_first() {
    let proxy = setup().start();
    run(async {
        for messages in [FULL_MESSAGES, FAST_MESSAGES, FAST_MESSAGES] {
            let (took, outcome) = log_in(proxy.tcp(), SHA2, SECRET, SHA2_PLUGIN).await;
            assert_eq!(took, messages);
            assert_eq!(query(&mut outcome.unwrap(), "SELECT CURRENT_USER()").await, "sha2@%");
        }
        // Knowing the right password does not make a wrong one right.
        let (_, error) = refused(proxy.tcp(), SHA2, "wrong", SHA2_PLUGIN).await;
        assert!(error.starts_with("1045 (28000)"), "{error}");
    });
}

#[test]
fn an_unknown_user_looks_like_a_wrong_password() {
    for (user, form) in [(CLEAR, SECRET), (NATIVE, NATIVE_HASH), (SHA2, SHA2_HASH)] {
        let proxy = Setup::new(&DB.sandbox).server(&DB.server, "").user(user, form, "").start();
        run(async {
            for plugin in [NATIVE_PLUGIN, SHA2_PLUGIN] {
                for password in ["wrong", ""] {
                    let (messages, wrong) = refused(proxy.tcp(), user, password, plugin).await;
                    let (also, unknown) = refused(proxy.tcp(), "nobody", password, plugin).await;
                    let using = if password.is_empty() { "NO" } else { "YES" };
                    let expected = format!(
                        "1045 (28000): Access denied for user '{user}'@'127.0.0.1' (using password: {using})"
                    );
                    assert_eq!(wrong, expected, "{plugin}");
                    assert_eq!(unknown, expected.replace(user, "nobody"), "{plugin}");
                    assert_eq!(also, messages, "{user} {plugin} {password:?}");
                }
            }
        });
    }
}

#[test]
fn an_unknown_user_looks_the_same_every_time() {
    let proxy = setup().start();
    run(async {
        for name in ["a", "b", "c", "d", "e"] {
            let first = refused(proxy.tcp(), name, "wrong", SHA2_PLUGIN).await;
            assert_eq!(refused(proxy.tcp(), name, "wrong", SHA2_PLUGIN).await, first);
        }
    });
}

#[test]
fn users_that_may_not_log_in_are_unknown() {
    let proxy =
        setup().user("asleep", SECRET, "active = false").user("back", SECRET, "frontend = false").start();
    run(async {
        for user in ["asleep", "back", ""] {
            let (_, error) = refused(proxy.tcp(), user, SECRET, NATIVE_PLUGIN).await;
            assert!(error.starts_with(&format!("1045 (28000): Access denied for user '{user}'@")), "{error}");
        }
    });
}

#[test]
fn an_empty_password_is_one() {
    let proxy = setup().user("nothing", "", "").start();
    run(async {
        for plugin in [NATIVE_PLUGIN, SHA2_PLUGIN] {
            let (messages, outcome) = log_in(proxy.tcp(), "nothing", "", plugin).await;
            assert_eq!(query(&mut outcome.unwrap(), "SELECT CURRENT_USER()").await, "nothing@%");
            assert_eq!(messages, NATIVE_MESSAGES);
            let (_, error) = refused(proxy.tcp(), "nothing", "something", plugin).await;
            assert!(error.contains("1045") && error.contains("using password: YES"), "{error}");
        }
    });
}

#[test]
fn a_user_has_no_more_connections_than_it_may() {
    let proxy = setup().user("nothing", "", "max_connections = 2").start();
    run(async {
        let options = Options::tcp(proxy.tcp(), "nothing", "");
        let mut first = Client::connect(&options).await.unwrap();
        let second = Client::connect(&options).await.unwrap();
        for _ in 0..3 {
            let error = Client::connect(&options).await.unwrap_err();
            assert_eq!(error.code(), Some(1226));
            assert!(error.to_string().contains("'nothing'") && error.to_string().contains("2)"), "{error}");
        }
        // Others have their own limits.
        let other = Options::tcp(proxy.tcp(), CLEAR, SECRET);
        Client::connect(&other).await.unwrap().ping().await.unwrap();
        second.quit().await.unwrap();
        let mut third = Client::connect(&options).await.unwrap();
        first.ping().await.unwrap();
        third.ping().await.unwrap();
    });
}

#[test]
fn the_proxy_has_no_more_clients_than_it_may() {
    let proxy = setup().variable("max_connections", 2).layer4().start();
    run(async {
        let options = Options::tcp(proxy.tcp(), CLEAR, SECRET);
        let mut first = Client::connect(&options).await.unwrap();
        let second = Client::connect(&options).await.unwrap();
        let error = Client::connect(&options).await.unwrap_err();
        assert_eq!(error.code(), Some(1040));
        assert!(error.to_string().contains("mysql-max_connections is 2"), "{error}");
        let unix = Options::unix(proxy.socket(), CLEAR, SECRET);
        assert_eq!(Client::connect(&unix).await.unwrap_err().code(), Some(1040));
        let layer4 = Options::tcp(proxy.layer4(), CLEAR, SECRET);
        assert_eq!(Client::connect(&layer4).await.unwrap_err().code(), Some(1040));
        second.quit().await.unwrap();
        // The place is free soon after the connection is closed.
        let deadline = Instant::now() + e2e::WAIT_MAX;
        let mut third = loop {
            match Client::connect(&options).await {
                Ok(client) => break client,
                Err(error) => assert!(error.code() == Some(1040) && Instant::now() < deadline, "{error}"),
            }
        };
        third.query("SELECT 1").await.unwrap();
        first.query("SELECT 1").await.unwrap();
    });
}

#[test]
fn c24_a_login_has_a_deadline() {
    const DEADLINE: Duration = Duration::from_millis(700);
    let proxy = setup().variable("connect_timeout_client", DEADLINE.as_millis()).start();
    run(async {
        let started = Instant::now();
        let mut silent = TcpStream::connect(proxy.tcp()).await.unwrap();
        // In the middle of its login packet, byte by byte, so that it is never quiet.
        let dribbling = async {
            let mut stream = TcpStream::connect(proxy.tcp()).await.unwrap();
            let mut interval = tokio::time::interval(Duration::from_millis(50));
            let bytes = [&[200, 0, 0, 1][..], &[0; 200]].concat();
            for byte in bytes {
                interval.tick().await;
                if tokio::io::AsyncWriteExt::write_all(&mut stream, &[byte]).await.is_err() {
                    return;
                }
            }
            panic!("the proxy has taken 10 s for a login");
        };
        // In the middle of the full exchange.
        let unfinished = async {
            let stream = TcpStream::connect(proxy.tcp()).await.unwrap();
            let mut client = ScriptedClient::new(stream);
            let server = client.read_greeting().await.unwrap();
            let options = Options::tcp(proxy.tcp(), SHA2, SECRET).auth_plugin(SHA2_PLUGIN);
            client.send_login(&server, &options, &[7; 32]).await;
            client.expect(&[1, 4]).await;
            client.expect_gone().await;
        };
        let silence = async {
            let mut bytes = Vec::new();
            silent.read_to_end(&mut bytes).await.unwrap();
            assert!(bytes.len() > 40, "no greeting");
            started.elapsed()
        };
        let ((), (), took) = tokio::join!(dribbling, unfinished, silence);
        assert!(took >= DEADLINE, "{took:?}");
        // Who is in has all the time that it wants.
        let mut client = Client::connect(&Options::tcp(proxy.tcp(), CLEAR, SECRET)).await.unwrap();
        client.query(&format!("DO SLEEP({})", 2.0 * DEADLINE.as_secs_f64())).await.unwrap();
    });
}

#[test]
fn a_command_that_is_too_long_is_refused() {
    const LIMIT: usize = 100_000;
    let proxy = setup().variable("max_allowed_packet", LIMIT).start();
    let options = Options::tcp(proxy.tcp(), CLEAR, SECRET);
    run(async {
        // Of this length including the command byte.
        let sql = |len: usize| format!("SELECT LENGTH('{}')", "x".repeat(len - "qSELECT LENGTH('')".len()));
        for with_backend in [false, true] {
            for len in [LIMIT + 1, 1_000_000, 20_000_000] {
                let mut client = Client::connect(&options).await.unwrap();
                if with_backend {
                    client.query("SELECT 1").await.unwrap();
                    let longest = client.query(&sql(LIMIT)).await.unwrap().first();
                    assert_eq!(longest.as_deref(), Some("99982"));
                }
                let error = client.query(&sql(len)).await.unwrap_err();
                assert_eq!(error.code(), Some(1153), "{len}: {error}");
                assert!(error.to_string().contains("100000"), "{error}");
            }
        }
    });
}

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
        let connect = async |options: Options| Client::connect(&options).await.unwrap();
        let mut client = connect(proxy.options().schema("missing")).await;
        let error = client.query("SELECT 1").await.unwrap_err().to_string();
        assert_eq!(error, "server error 1049 (42000): Unknown database 'missing'");
        for user in ["differs", "absent"] {
            let password = if user == "absent" { "pw" } else { "here" };
            let mut client = connect(Options::tcp(proxy.tcp(), user, password)).await;
            let error = client.query("SELECT 1").await.unwrap_err().to_string();
            assert!(error.starts_with("server error 1045 (28000): Access denied for user"), "{error}");
            client.ping().await.unwrap();
        }
        let single = Options::tcp(proxy.tcp(), "single", "pw");
        let (mut first, mut second) = (connect(single.clone()).await, connect(single).await);
        first.query("SELECT 1").await.unwrap();
        assert_eq!(second.query("SELECT 1").await.unwrap_err().code(), Some(1226));
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
    // The kernel accepts for it; nobody ever greets.
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
        assert_eq!(tried, "none of its 2 servers is online");
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
        first.query("SELECT 1").await.unwrap();
        let (tried, ms) = no_backend(&proxy, 0).await;
        assert!(tried.starts_with("1 of 1 connections of 1 servers are in use"), "{tried}");
        assert!(ms >= 300, "{ms}");
        first.quit().await.unwrap();

        let proxy = limited(60_000);
        let connect = async || Client::connect(&proxy.options()).await.unwrap();
        let mut first = connect().await;
        first.query("SELECT 1").await.unwrap();
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
            // Whoever is served leaves, and the next one is served.
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
