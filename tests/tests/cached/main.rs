//! The query cache before real servers: an answer from it is what the server has said, and the
//! server is not asked.

mod differs;
mod exact;
mod operators;
mod oracle;
mod own;
mod privileges;
mod tiers;

use std::sync::LazyLock;

use e2e::{Backend, Proxy, Setup, on_each_server, run};
use testkit::client::{CAPABILITIES, Client, Options, Value};
use testkit::server::PASSWORD;
use wire::Capabilities;

use differs::{
    c03_each_setting_makes_another_answer_or_is_known_to_make_none,
    c03_what_is_cached_is_the_same_on_another_day_to_another_user,
    each_builtin_function_is_known_or_counts_as_stored,
};
use exact::{
    a_time_becomes_one_of_today, found_rows_behind_an_answer_from_the_cache_is_the_servers,
    the_default_of_a_column_is_what_it_is_now,
};
use operators::{operators_are_advised_what_to_cache, operators_see_what_is_cached_and_flush_it};
use own::{
    c20_a_user_that_may_not_see_triggers_writes_to_all_tables, c20_a_write_counts_where_it_goes,
    c20_a_write_makes_answers_of_all_tables_that_it_changes_too_old,
    c20_a_write_to_other_tables_leaves_answers_as_they_are,
    c21_a_view_that_depends_on_the_account_is_not_shared, views_and_engines_are_judged_by_their_definitions,
};
use privileges::c21_no_answer_that_the_server_would_refuse;
use tiers::{an_answer_keeps_its_age_in_the_outer_cache, executions_pass_both_caches};

const USER: &str = "plain";

static DB: LazyLock<Backend> = LazyLock::new(|| prepared(Backend::start(&[])));
static MYSQL: LazyLock<Option<Backend>> = LazyLock::new(|| Backend::start_mysql(&[]).map(prepared));

fn prepared(server: Backend) -> Backend {
    server.sql(&format!(
        "CREATE USER {USER}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; GRANT ALL ON test.* TO {USER}@'127.0.0.1'; \
         CREATE USER other@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; \
         CREATE USER boss@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; \
         GRANT ALL ON *.* TO boss@'127.0.0.1' WITH GRANT OPTION; \
         CREATE TABLE test.kept (id INT PRIMARY KEY, a VARCHAR(20), at TIMESTAMP NOT NULL); \
         CREATE TABLE test.typed (id INT PRIMARY KEY, d DECIMAL(9,2), f DOUBLE, t DATETIME, b BLOB); \
         INSERT INTO test.typed VALUES (1, 1.25, 2.5, '2026-11-26 12:00:00', x'00FF')"
    ));
    server
}

on_each_server! {
    answers_are_given_again_and_are_the_servers,
    prepared_statements_are_cached_by_their_values,
    c15_clients_that_keep_columns_get_rows_alone,
    c21_who_has_lost_a_privilege_gets_no_answer,
    c20_own_writes_are_seen,
    c21_no_answer_that_the_server_would_refuse,
    c20_a_write_makes_answers_of_all_tables_that_it_changes_too_old,
    c20_a_write_counts_where_it_goes,
    c20_a_write_to_other_tables_leaves_answers_as_they_are,
    views_and_engines_are_judged_by_their_definitions,
    c20_a_user_that_may_not_see_triggers_writes_to_all_tables,
    c21_a_view_that_depends_on_the_account_is_not_shared,
    operators_see_what_is_cached_and_flush_it,
    operators_are_advised_what_to_cache,
    an_answer_keeps_its_age_in_the_outer_cache,
    executions_pass_both_caches,
    c03_each_setting_makes_another_answer_or_is_known_to_make_none,
    c03_what_is_cached_is_the_same_on_another_day_to_another_user,
    each_builtin_function_is_known_or_counts_as_stored,
    a_time_becomes_one_of_today,
    found_rows_behind_an_answer_from_the_cache_is_the_servers,
    the_default_of_a_column_is_what_it_is_now,
}

/// A proxy with a rule that caches reads, with these attributes.
fn proxy(server: &Backend, attributes: &str) -> Proxy {
    setup(server, attributes).start()
}

fn setup(server: &Backend, attributes: &str) -> Setup {
    let mut setup = Setup::new(&server.sandbox)
        .admin("mysql_ifaces", "\"127.0.0.1:0\"")
        .server(&server.server, "")
        .row("mysql_query_rules", &rule(600_000, attributes));
    for user in [USER, "other", "loser", "boss"] {
        setup = setup.user(user, PASSWORD, "");
    }
    setup
}

/// A rule that has reads cached for this long, in milliseconds, with these attributes.
fn rule(ttl_ms: u32, attributes: &str) -> String {
    format!(
        "rule_id = 1\nactive = true\nmatch_digest = \"^SELECT\"\ncache_ttl = {ttl_ms}\napply = true\n\
         attributes = '{attributes}'"
    )
}

async fn connect(proxy: &Proxy, user: &str) -> Client {
    Client::connect(&Options::tcp(proxy.tcp(), user, PASSWORD).schema("test")).await.unwrap()
}

/// The one value that a statement returns.
async fn value(client: &mut Client, sql: &str) -> String {
    let result = client.query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    // The value follows its length, which is short.
    String::from_utf8(result.rows[0][1..].to_vec()).unwrap()
}

fn answers_are_given_again_and_are_the_servers(server: &Backend) {
    server.sql("REPLACE INTO test.kept VALUES (1, 'first', '2026-11-26 12:00:00')");
    let proxy = proxy(server, "");
    run(async {
        let mut client = connect(&proxy, USER).await;
        let sql = "SELECT a FROM kept WHERE id = 1";
        // What is behind a table's name is asked for at first.
        for _ in 0..3 {
            assert_eq!(value(&mut client, sql).await, "first");
        }
        server.sql("UPDATE test.kept SET a = 'second' WHERE id = 1");
        let mut other = connect(&proxy, USER).await;
        for client in [&mut client, &mut other] {
            assert_eq!(value(client, sql).await, "first", "the server was not asked");
            assert_eq!(value(client, "SELECT FOUND_ROWS()").await, "1");
        }
        let at = "SELECT CAST(at AS CHAR) FROM kept WHERE id = 1";
        for zone in ["+00:00", "+05:00"] {
            client.query(&format!("SET time_zone = '{zone}'")).await.unwrap();
            let cached = value(&mut client, at).await;
            assert_eq!(value(&mut client, at).await, cached);
            assert_eq!(value(&mut client, &format!("{at} FOR UPDATE")).await, cached, "{zone}");
        }
    });
}

fn prepared_statements_are_cached_by_their_values(server: &Backend) {
    server.sql("REPLACE INTO test.kept VALUES (2, 'two', now()), (3, 'three', now())");
    let proxy = proxy(server, "");
    run(async {
        let mut client = connect(&proxy, USER).await;
        let read = client.prepare("SELECT a FROM kept WHERE id = ?").await.unwrap();
        let name = |rows: &[Vec<u8>]| String::from_utf8(rows[0][3..].to_vec()).unwrap();
        for _ in 0..3 {
            for (id, expected) in [(2, "two"), (3, "three")] {
                let rows = client.execute(&read, &[Value::Int(id)]).await.unwrap().rows;
                assert_eq!(name(&rows), expected);
            }
        }
        server.sql("UPDATE test.kept SET a = 'other' WHERE id IN (2, 3)");
        for (id, expected) in [(2, "two"), (3, "three")] {
            let rows = client.execute(&read, &[Value::Int(id)]).await.unwrap().rows;
            assert_eq!(name(&rows), expected, "the server was not asked");
        }
        let all = client.prepare("SELECT * FROM typed WHERE id = ?").await.unwrap();
        let rows = client.execute(&all, &[Value::Int(1)]).await.unwrap().rows;
        for _ in 0..3 {
            assert_eq!(client.execute(&all, &[Value::Int(1)]).await.unwrap().rows, rows);
        }
    });
}

/// MariaDB's own clients announce that they keep columns.
fn c15_clients_that_keep_columns_get_rows_alone(server: &Backend) {
    server.sql(
        "DROP TABLE IF EXISTS test.columns; \
         CREATE TABLE test.columns (id INT PRIMARY KEY, a VARCHAR(20), d DECIMAL(9,2)); \
         INSERT INTO test.columns VALUES (1, 'one', 1.25)",
    );
    let proxy = proxy(server, "");
    run(async {
        // The proxy has to know what its server can do.
        drop(connect(&proxy, USER).await.query("DO 0").await.unwrap());
        let keeps = (CAPABILITIES - Capabilities::LONG_PASSWORD) | Capabilities::MARIADB_CACHE_METADATA;
        let options = Options::tcp(proxy.tcp(), USER, PASSWORD).schema("test").capabilities(keeps);
        let mut client = Client::connect(&options).await.unwrap();
        let mut admin = e2e::admin::connect(&proxy).await;
        // Of a sum the preparation does not tell all: the first execution does.
        for (sql, is_told) in [
            ("SELECT * FROM columns WHERE id = ?", true),
            ("SELECT a, SUM(d) FROM columns WHERE id < ? + 1 GROUP BY a ORDER BY a", false),
        ] {
            server.sql("UPDATE test.columns SET a = 'one'");
            let read = client.prepare(sql).await.unwrap();
            let rows = client.execute(&read, &[Value::Int(1)]).await.unwrap().rows;
            for _ in 0..3 {
                assert_eq!(client.execute(&read, &[Value::Int(1)]).await.unwrap().rows, rows);
            }
            server.sql("UPDATE test.columns SET a = 'other'");
            assert_eq!(client.execute(&read, &[Value::Int(1)]).await.unwrap().rows, rows, "{sql}");
            let again = client.prepare(sql).await.unwrap();
            let answer = client.execute(&again, &[Value::Int(1)]).await.unwrap().rows;
            assert_eq!(answer == rows, is_told || server.is_mysql(), "{sql}");
            assert_eq!(client.execute(&again, &[Value::Int(1)]).await.unwrap().rows, rows, "{sql}");
            // A client that knows other columns gets no answer from before. MySQL tells all of them
            // with each answer.
            server.sql("ALTER TABLE test.columns MODIFY a VARCHAR(40)");
            let other = client.prepare(sql).await.unwrap();
            let answer = client.execute(&other, &[Value::Int(1)]).await.unwrap().rows;
            assert_eq!(answer == rows, server.is_mysql(), "{sql}");
            server.sql("ALTER TABLE test.columns MODIFY a VARCHAR(20)");
        }
        let refused = "SELECT refused FROM stats_pointsman_cache WHERE refused LIKE '%columns%'";
        assert!(admin.query(refused).await.unwrap().rows.is_empty());
    });
}

fn c21_who_has_lost_a_privilege_gets_no_answer(server: &Backend) {
    server.sql("REPLACE INTO test.kept VALUES (4, 'four', now())");
    for scope in ["user", "proven"] {
        // Servers go by privileges of schemas that connections have seen before.
        server.sql("GRANT SELECT ON test.kept TO other@'127.0.0.1'");
        let proxy = proxy(server, &format!("{{\"cache\": {{\"scope\": \"{scope}\"}}}}"));
        run(async {
            let (mut one, mut other) = (connect(&proxy, USER).await, connect(&proxy, "other").await);
            let sql = "SELECT a FROM kept WHERE id = 4";
            for _ in 0..3 {
                for client in [&mut one, &mut other] {
                    assert_eq!(value(client, sql).await, "four");
                }
            }
            let mut boss = connect(&proxy, "boss").await;
            boss.query("REVOKE SELECT ON test.kept FROM other@'127.0.0.1'").await.unwrap();
            assert_eq!(other.query(sql).await.unwrap_err().code(), Some(1142), "{scope}");
            assert_eq!(value(&mut one, sql).await, "four");
            assert_eq!(other.query(sql).await.unwrap_err().code(), Some(1142), "{scope}");
        });
    }
}

fn c20_own_writes_are_seen(server: &Backend) {
    server.sql("REPLACE INTO test.kept VALUES (5, '0', now())");
    let proxy = proxy(server, r#"{"cache": {"mode": "own"}}"#);
    run(async {
        let (mut reader, mut writer) = (connect(&proxy, USER).await, connect(&proxy, USER).await);
        let sql = "SELECT a FROM kept WHERE id = 5";
        for n in 1..50 {
            for _ in 0..3 {
                assert_eq!(value(&mut reader, sql).await, (n - 1).to_string());
            }
            if n % 2 == 0 {
                writer.query("BEGIN").await.unwrap();
            }
            writer.query(&format!("UPDATE kept SET a = '{n}' WHERE id = 5")).await.unwrap();
            if n % 2 == 0 {
                assert_eq!(value(&mut reader, sql).await, (n - 1).to_string());
                writer.query("COMMIT").await.unwrap();
            }
        }
        // The end of a write is noted before the next command of its session.
        writer.query("SELECT 1").await.unwrap();
        for _ in 0..3 {
            assert_eq!(value(&mut reader, sql).await, "49");
        }
        server.sql("UPDATE test.kept SET a = 'elsewhere' WHERE id = 5");
        assert_eq!(value(&mut reader, sql).await, "49", "the server was not asked");
    });
}
