//! Sessions that share one connection have what a login of their own would give them.

use e2e::{Backend, Make, Proxy, Setup, run};
use testkit::client::{CAPABILITIES, Client, Options};
use testkit::server::PASSWORD;
use wire::Capabilities;

use super::{USER, value};

/// Variables that a login may set.
const VARIABLES: &str = "@@sql_mode LIKE '%IGNORE_SPACE%', @@wait_timeout, @@character_set_client, \
    @@character_set_results, @@collation_connection";

/// A proxy that has one connection for all sessions.
fn proxy(backend: &Backend) -> Proxy {
    Setup::new(&backend.sandbox)
        .server(&backend.server, "max_connections = 1")
        .one_thread()
        .variable("multiplexing", true)
        .user(USER, PASSWORD, "")
        .start()
}

fn options(options: Options) -> Options {
    let more = Capabilities::IGNORE_SPACE | Capabilities::INTERACTIVE;
    options.schema("test").capabilities(CAPABILITIES | more).collation(45)
}

/// Compares what sessions have that share a connection with what those have that have their own.
fn compare(backend: &Backend) {
    let proxy = proxy(backend);
    let by_proxy = options(Options::tcp(proxy.tcp(), USER, PASSWORD));
    let directly = options(Options::tcp(backend.server.address(), USER, PASSWORD));
    let limit = if backend.make == Make::MariaDb { "@@max_statement_time" } else { "0" };
    let sql = format!("SELECT CONCAT_WS('|', {VARIABLES}, {limit})");
    run(async {
        let mut seen = Vec::new();
        for options in [&directly, &by_proxy] {
            let mut one = Client::connect(options).await.unwrap();
            let mut two = Client::connect(options).await.unwrap();
            let mut all = vec![value(&mut one, &sql).await];
            for _ in 0..2 {
                // The other one takes the connection.
                two.query("SET SESSION group_concat_max_len = 77").await.unwrap();
                all.push(value(&mut one, &sql).await);
            }
            one.reset_connection().await.unwrap();
            two.query("SELECT 1").await.unwrap();
            all.push(value(&mut one, &sql).await);
            one.change_user(options).await.unwrap();
            all.push(value(&mut one, &sql).await);
            two.query("SELECT 1").await.unwrap();
            all.push(value(&mut one, &sql).await);
            one.quit().await.unwrap();
            two.quit().await.unwrap();
            let mut three = Client::connect(options).await.unwrap();
            assert_eq!(value(&mut three, "SELECT COUNT (*) > 0 FROM t").await.as_deref(), Some("1"));
            three.quit().await.unwrap();
            seen.push(all);
        }
        for (step, (directly, by_proxy)) in seen[0].iter().zip(&seen[1]).enumerate() {
            assert_eq!(directly, by_proxy, "step {step}");
        }
    });
}

pub(super) fn c04_a_session_has_what_its_login_gave(backend: &Backend) {
    backend.sql("SET GLOBAL interactive_timeout = 1111; SET GLOBAL wait_timeout = 2222");
    compare(backend);
    if backend.make == Make::MariaDb {
        backend.sql(&format!("ALTER USER {USER}@'127.0.0.1' WITH MAX_STATEMENT_TIME 22"));
        compare(backend);
        backend.sql(&format!("ALTER USER {USER}@'127.0.0.1' WITH MAX_STATEMENT_TIME 0"));
    }
    backend.sql("SET GLOBAL interactive_timeout = DEFAULT; SET GLOBAL wait_timeout = DEFAULT");
}

#[test]
fn c06_a_server_that_ignores_the_clients_character_set_goes_on_with_that() {
    let backend = Backend::start(&["--skip-character-set-client-handshake", "--character-set-server=latin1"]);
    compare(&super::prepared(backend));
}

pub(super) fn a_new_client_has_the_packet_limit_of_its_time(backend: &Backend) {
    let proxy = proxy(backend);
    let options = Options::tcp(proxy.tcp(), USER, PASSWORD).schema("test");
    backend.sql("SET GLOBAL max_allowed_packet = 1048576");
    run(async {
        let mut client = Client::connect(&options).await.unwrap();
        assert_eq!(value(&mut client, "SELECT 1").await.as_deref(), Some("1"));
        client.quit().await.unwrap();
    });
    backend.sql("SET GLOBAL max_allowed_packet = 16777216");
    run(async {
        let mut client = Client::connect(&options).await.unwrap();
        let sql = format!("SELECT LENGTH('{}')", "a".repeat(2_000_000));
        assert_eq!(value(&mut client, &sql).await.as_deref(), Some("2000000"));
        client.quit().await.unwrap();
    });
    backend.sql("SET GLOBAL max_allowed_packet = DEFAULT");
}
