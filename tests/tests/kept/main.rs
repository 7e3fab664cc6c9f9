//! Connections that a client has left and the next one gets, at real servers: the next one finds
//! nothing of the one before.

mod ends;
mod hand_over;
mod login_state;
mod states;
mod stored;
mod tables;

use std::sync::LazyLock;
use std::time::Instant;

use ends::{c04_a_session_ends_as_at_its_server, c06_the_error_of_a_kill_of_itself_is_told_again};
use hand_over::c04_a_savepoint_without_autocommit_stays_with_its_session;
use login_state::{a_new_client_has_the_packet_limit_of_its_time, c04_a_session_has_what_its_login_gave};
use states::c04_nothing_of_two_hundred_states_crosses;
use stored::{
    c04_a_builtin_name_apart_from_its_parenthesis_binds, c04_a_write_that_takes_a_value_of_a_sequence_binds,
    c06_found_rows_are_those_of_the_server, pins_are_named_by_what_was_said,
    the_socket_of_a_server_is_not_told,
};
use tables::c04_views_and_triggers_bind_where_they_leave_something;

use e2e::{Backend, Proxy, Setup, on_each_server, run, wait_for};
use testkit::client::{Client, Options, QueryResult};
use testkit::server::PASSWORD;

/// Its connections are counted: no other test has this name.
const USER: &str = "leaver";

static DB: LazyLock<Backend> = LazyLock::new(|| prepared(Backend::start(&[])));
static MYSQL: LazyLock<Option<Backend>> = LazyLock::new(|| Some(prepared(Backend::start_mysql(&[])?)));

fn prepared(backend: Backend) -> Backend {
    backend.sql(&format!(
        "CREATE DATABASE other; CREATE USER {USER}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; \
         GRANT ALL ON *.* TO {USER}@'127.0.0.1'; \
         CREATE TABLE test.t (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(20)); INSERT INTO test.t (a) VALUES ('one')"
    ));
    backend
}

on_each_server! {
    c04_nothing_of_a_client_is_left_to_the_next,
    short_connections_cost_few_logins,
    c04_every_session_begins_with_what_init_connect_says,
    connections_are_there_before_they_are_needed,
    c04_stored_code_binds_where_it_leaves_something,
    c04_a_savepoint_without_autocommit_stays_with_its_session,
    c04_a_session_has_what_its_login_gave,
    a_new_client_has_the_packet_limit_of_its_time,
    c04_views_and_triggers_bind_where_they_leave_something,
    c04_nothing_of_two_hundred_states_crosses,
    c04_a_builtin_name_apart_from_its_parenthesis_binds,
    c04_a_write_that_takes_a_value_of_a_sequence_binds,
    c06_found_rows_are_those_of_the_server,
    pins_are_named_by_what_was_said,
    c04_a_session_ends_as_at_its_server,
    c06_the_error_of_a_kill_of_itself_is_told_again,
    the_socket_of_a_server_is_not_told,
}

fn proxy(backend: &Backend) -> Proxy {
    setup(backend).start()
}

fn setup(backend: &Backend) -> Setup {
    Setup::new(&backend.sandbox)
        .server(&backend.server, "")
        .variable("multiplexing", true)
        .user(USER, PASSWORD, "")
        .admin("mysql_ifaces", "\"127.0.0.1:0\"")
}

fn options(proxy: &Proxy) -> Options {
    Options::tcp(proxy.tcp(), USER, PASSWORD).schema("test")
}

async fn value(client: &mut Client, sql: &str) -> Option<String> {
    let result = client.query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    let row = &result.rows[0];
    // A value follows its length, which is short; 0xfb is NULL.
    (row[0] != 0xfb).then(|| String::from_utf8(row[1..].to_vec()).unwrap())
}

/// The number of connections that the proxy keeps.
async fn kept(proxy: &Proxy) -> String {
    let mut admin = Client::connect(&Options::tcp(proxy.admin(), "admin", "admin")).await.unwrap();
    value(&mut admin, "SELECT SUM(ConnFree) FROM stats_mysql_connection_pool").await.unwrap()
}

fn wait_for_kept(proxy: &Proxy, n: &str) {
    wait_for("a connection to be kept", || run(kept(proxy)) == n);
}

/// A session's variables but for those that tell sessions apart, or moments.
fn variables(result: &QueryResult) -> Vec<String> {
    const OF_SESSIONS: [&str; 6] =
        ["pseudo_thread_id", "timestamp", "rand_seed", "statement_id", "gtid", "last_gtid"];
    let rows = result.rows.iter().map(|row| String::from_utf8_lossy(row).into_owned());
    rows.filter(|row| !OF_SESSIONS.iter().any(|name| row.get(1..).is_some_and(|row| row.starts_with(name))))
        .collect()
}

/// What a client may leave behind, and what a login does not say again.
const LEFT: [&str; 8] = [
    "SET NAMES latin1",
    "SET SESSION sql_mode = 'ANSI', time_zone = '+03:00', sql_select_limit = 1",
    "SET SESSION group_concat_max_len = 77, @@SESSION.max_sort_length = 99",
    "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    "SET @mine = 'secret'",
    "INSERT INTO t (a) VALUES ('left')",
    "USE other",
    "SET autocommit = 0",
];

fn c04_nothing_of_a_client_is_left_to_the_next(backend: &Backend) {
    // General, Latin-1, GBK, the oldest UTF-8, and one that only few servers have.
    for collation in [45, 8, 28, 33, 255] {
        let proxy = proxy(backend);
        let options = options(&proxy).collation(collation);
        run(async {
            let mut client = Client::connect(&options).await.unwrap();
            for sql in LEFT {
                client.query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
            }
            client.prepare("SELECT 1").await.unwrap();
            client.quit().await.unwrap();
        });
        wait_for_kept(&proxy, "1");
        let direct =
            Options::tcp(backend.server.address(), USER, PASSWORD).schema("test").collation(collation);
        run(async {
            let mut client = Client::connect(&options).await.unwrap();
            let mut direct = Client::connect(&direct).await.unwrap();
            let of_next = variables(&client.query("SHOW SESSION VARIABLES").await.unwrap());
            let of_new = variables(&direct.query("SHOW SESSION VARIABLES").await.unwrap());
            assert_eq!(of_next, of_new, "collation {collation}");
            for (sql, expected) in [
                ("SELECT DATABASE()", Some("test")),
                ("SELECT @mine", None),
                ("SELECT LAST_INSERT_ID()", Some("0")),
                ("SELECT IS_USED_LOCK('mine')", None),
                ("SELECT COUNT(*) > 0 FROM t", Some("1")),
            ] {
                assert_eq!(value(&mut client, sql).await.as_deref(), expected, "{sql}");
                assert_eq!(value(&mut direct, sql).await.as_deref(), expected, "{sql}");
            }
            direct.quit().await.unwrap();
            client.quit().await.unwrap();
        });
        // The server may be slow to forget those that ended.
        wait_for("one connection of the proxy", || backend.connections_of(USER) <= 1);
    }
}

fn short_connections_cost_few_logins(backend: &Backend) {
    let proxy = proxy(backend);
    for _ in 0..200 {
        run(async {
            let mut client = Client::connect(&options(&proxy)).await.unwrap();
            assert_eq!(value(&mut client, "SELECT 7").await.as_deref(), Some("7"));
            client.quit().await.unwrap();
        });
    }
    let created = run(async {
        let mut admin = Client::connect(&Options::tcp(proxy.admin(), "admin", "admin")).await.unwrap();
        let sql = "SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name = 'Server_Connections_created'";
        value(&mut admin, sql).await.unwrap()
    });
    // Each worker has its own, and a client may come before the one before has left.
    assert!(created.parse::<u32>().unwrap() <= 20, "200 clients cost {created} logins");
}

fn c04_every_session_begins_with_what_init_connect_says(backend: &Backend) {
    let init = "\"SET SESSION max_sort_length = 77; SET @begun = 'yes', @also = ';'\"";
    let proxy = setup(backend).one_thread().variable("init_connect", init).start();
    run(async {
        let options = options(&proxy);
        let (mut one, mut two) =
            (Client::connect(&options).await.unwrap(), Client::connect(&options).await.unwrap());
        // They take turns on one connection, which is reset for the second, and for the next client
        // when both have gone.
        one.query("SET SESSION max_sort_length = 99, @begun = 'no'").await.unwrap();
        let begun = "SELECT CONCAT(@@max_sort_length, @begun, @also)";
        assert_eq!(value(&mut two, begun).await.as_deref(), Some("77yes;"));
        assert_eq!(value(&mut one, begun).await.as_deref(), Some("99no;"));
        assert_eq!(value(&mut two, begun).await.as_deref(), Some("77yes;"));
        one.quit().await.unwrap();
        two.quit().await.unwrap();
        let mut three = Client::connect(&options).await.unwrap();
        assert_eq!(value(&mut three, begun).await.as_deref(), Some("77yes;"));
    });
}

fn connections_are_there_before_they_are_needed(backend: &Backend) {
    let proxy = setup(backend)
        .one_thread()
        .row(
            "mysql_hostgroup_attributes",
            "hostgroup_id = 0\nhostgroup_settings = '{\"min_idle_connections\": 3}'",
        )
        .start();
    run(async {
        let mut client = Client::connect(&options(&proxy)).await.unwrap();
        client.query("BEGIN").await.unwrap();
        let deadline = Instant::now() + e2e::WAIT_MAX;
        while kept(&proxy).await != "3" {
            assert!(Instant::now() < deadline, "three connections that nobody uses");
        }
        for _ in 0..3 {
            let mut next = Client::connect(&options(&proxy)).await.unwrap();
            assert_eq!(value(&mut next, "SELECT DATABASE()").await.as_deref(), Some("test"));
        }
        client.query("ROLLBACK").await.unwrap();
    });
}

/// Whether a session keeps the only connection after this statement.
async fn binds(options: &Options, sql: &str) -> bool {
    let mut one = Client::connect(options).await.unwrap();
    one.query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    let mut other = Client::connect(options).await.unwrap();
    let is_bound = match other.query("SELECT 7").await {
        Ok(_) => false,
        Err(testkit::client::ClientError::Server(error)) if error.code == 9001 => true,
        Err(error) => panic!("{sql}: {error}"),
    };
    other.quit().await.unwrap();
    one.quit().await.unwrap();
    is_bound
}

fn c04_stored_code_binds_where_it_leaves_something(backend: &Backend) {
    backend.sql("CREATE DATABASE code");
    let proxy = Setup::new(&backend.sandbox)
        .server(&backend.server, "max_connections = 1")
        .one_thread()
        .variable("multiplexing", true)
        .variable("connect_timeout_server_max", 500)
        .user(USER, PASSWORD, "")
        .start();
    let options = Options::tcp(proxy.tcp(), USER, PASSWORD).schema("code");
    run(async {
        let mut definer = Client::connect(&options).await.unwrap();
        // Long ago.
        definer.query("SET timestamp = 1700000000").await.unwrap();
        for routine in [
            "FUNCTION twice(n INT) RETURNS INT DETERMINISTIC RETURN n * 2",
            "FUNCTION keeps(n INT) RETURNS INT READS SQL DATA BEGIN SET @n = n; RETURN n; END",
            "PROCEDURE counts(IN most INT) BEGIN DECLARE n INT DEFAULT 0; DECLARE `max_sort_length` INT; \
             WHILE n < most DO SET n = twice(n + 1), `max_sort_length` = n; END WHILE; SELECT n; END",
            "PROCEDURE calls() BEGIN CALL counts(9); UPDATE test.t SET a = 'two' WHERE id = -1; SELECT ROW_COUNT(); END",
            "PROCEDURE gives(OUT n INT) SET n = 3",
            "PROCEDURE has_mode() SET SESSION max_sort_length = 1000",
            "PROCEDURE calls_keeps() SELECT keeps(1)",
        ] {
            definer
                .query(&format!("CREATE {routine}"))
                .await
                .unwrap_or_else(|error| panic!("{routine}: {error}"));
        }
        definer.quit().await.unwrap();
    });
    for sql in ["CALL calls()", "SELECT twice(id) FROM test.t", "CALL counts(twice(2))", "CALL code.calls"] {
        assert!(!run(binds(&options, sql)), "{sql} binds");
    }
    for sql in ["CALL gives(@n)", "CALL has_mode()", "CALL calls_keeps()", "SELECT keeps(2)"] {
        assert!(run(binds(&options, sql)), "{sql} binds nobody");
    }
}
