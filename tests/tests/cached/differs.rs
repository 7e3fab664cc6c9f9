//! What makes an answer differ besides its text: of each session variable and each builtin function
//! of both servers it is found out whether an answer from the cache is the server's.

use std::collections::BTreeSet;

use cache::{Clock, Refusal, depends_on_values};
use e2e::{Backend, run};
use sql::{Modes, Shape};
use testkit::client::{Client, ClientError, Options};
use testkit::server::{PASSWORD, USER as ADMIN};

use super::oracle::{calls, pure_functions};
use super::{USER, connect, proxy};

/// Session variables that two sessions with the same answers may differ in, and why.
const HARMLESS: [(&str, &str); 19] = [
    ("foreign_key_checks", "about writes"),
    ("innodb_lock_wait_timeout", "an error in place of an answer"),
    ("interactive_timeout", "when a session ends"),
    ("lock_wait_timeout", "an error in place of an answer"),
    ("log_slow_filter", "what is logged"),
    ("log_slow_query_time", "another name of long_query_time"),
    ("log_slow_rate_limit", "what is logged"),
    ("log_slow_verbosity", "what is logged"),
    ("long_query_time", "what is logged"),
    ("max_execution_time", "an error in place of an answer"),
    ("max_statement_time", "an error in place of an answer"),
    ("net_read_timeout", "when a connection ends"),
    ("net_retry_count", "when a connection ends"),
    ("net_write_timeout", "when a connection ends"),
    ("profiling", "statements that show it are about the server"),
    ("sql_log_bin", "about writes"),
    ("unique_checks", "about writes"),
    ("wait_timeout", "when a session ends"),
    ("pseudo_slave_mode", "what a client says of itself: about writes"),
];

/// Beginnings of names that only the server's own views may call.
const OF_VIEWS: [&str; 4] = ["can_access_", "get_dd_", "internal_", "is_visible_dd_"];

/// Builtin functions that count as stored ones: their answers are never cached.
const AS_STORED: &[&str] = &[
    "asymmetric_decrypt",
    "asymmetric_encrypt",
    "asymmetric_sign",
    "asymmetric_verify",
    "binlog_gtid_pos",
    "column_exists",
    "create_asymmetric_priv_key",
    "create_asymmetric_pub_key",
    "create_digest",
    "icu_version",
    "lpad_oracle",
    "ltrim_oracle",
    "replace_oracle",
    "rpad_oracle",
    "rtrim_oracle",
    "schemas",
    "st_geomcollfromwkb",
    "st_lineinterpolatepoints",
    "st_mlinefromtext",
    "st_mlinefromwkb",
    "st_mpointfromwkb",
    "st_mpolyfromtext",
    "st_mpolyfromwkb",
    "st_numinteriorrings",
    "st_pointfromwkb",
    "st_polyfromwkb",
    "substr_oracle",
    "trunc",
    "wsrep_last_seen_gtid",
    "wsrep_last_written_gtid",
    "wsrep_sync_wait_upto_gtid",
];

/// Builtin functions of both servers, at least.
const FUNCTIONS_MIN: usize = 250;

/// More calls with times, which become dates of today where they meet one.
const WITH_TIMES: [&str; 9] = [
    "(t)",
    "(t, 1)",
    "(t, d)",
    "(d, t)",
    "(t, INTERVAL 1 DAY)",
    "(t, '%Y-%m-%d %H')",
    "(t AS DATETIME)",
    "(DAY FROM t)",
    "(DAY, t, d)",
];

/// Expressions with a time and a date.
const MEETINGS: [&str; 9] = [
    "d > t",
    "t = d",
    "t IN (d)",
    "CASE WHEN n THEN t ELSE d END",
    "t + INTERVAL 1 DAY",
    "CAST(TIME'10:00:00' AS DATETIME)",
    "d > TIME'10:00:00'",
    "{t '10:00:00'} < d",
    "STR_TO_DATE('10:00', '%H:%i') < d",
];

const TABLE: &str = "\
    DROP TABLE IF EXISTS test.one; \
    CREATE TABLE test.one (n INT PRIMARY KEY, s VARCHAR(20), d DATETIME, j VARCHAR(20), g GEOMETRY, \
      l GEOMETRY, p GEOMETRY, t TIME, FULLTEXT (s)) ENGINE = InnoDB; \
    INSERT INTO test.one VALUES (7, 'abc', '2026-11-26 12:00:00', '{\"a\": 1}', POINT(1, 2), \
      ST_GeomFromText('LINESTRING(0 0, 1 1, 0 1, 0 0)'), \
      ST_GeomFromText('POLYGON((0 0, 0 2, 2 2, 0 0))'), '13:14:15')";

async fn direct(server: &Backend, user: &str) -> Client {
    Client::connect(&Options::tcp(server.server.address(), user, PASSWORD).schema("test")).await.unwrap()
}

/// The rows of a result as text; of an error its number. What cannot be read as text is told apart
/// all the same.
async fn ask(client: &mut Client, sql: &str) -> Result<Vec<Vec<u8>>, u16> {
    match client.query(sql).await {
        Ok(result) => Ok(result.rows),
        Err(ClientError::Server(error)) => Err(error.code),
        Err(error) => panic!("{sql}: {error}"),
    }
}

pub(super) fn c03_each_setting_makes_another_answer_or_is_known_to_make_none(server: &Backend) {
    server.sql(
        "DROP TABLE IF EXISTS test.set_apart; CREATE TABLE test.set_apart (id INT PRIMARY KEY, n INT); \
         INSERT INTO test.set_apart VALUES (1, 0)",
    );
    let proxy = proxy(server, "");
    run(async {
        let mut admin = direct(server, ADMIN).await;
        let variables = admin.query("SHOW SESSION VARIABLES").await.unwrap().text().unwrap();
        let sql = "SELECT n FROM set_apart WHERE id = 1";
        let mut plain = connect(&proxy, "boss").await;
        for _ in 0..3 {
            assert_eq!(ask(&mut plain, sql).await, Ok(vec![b"\x010".to_vec()]));
        }
        admin.query("UPDATE set_apart SET n = 1").await.unwrap();
        assert_eq!(ask(&mut plain, sql).await, Ok(vec![b"\x010".to_vec()]), "nothing is cached");
        let (mut set, mut the_same) = (0, BTreeSet::new());
        for row in &variables {
            let (name, value) = (row[0].as_deref().unwrap(), row[1].as_deref().unwrap_or_default());
            let is_number = value.parse::<f64>().is_ok();
            let value = if is_number { value.to_owned() } else { format!("'{}'", value.replace('\'', "''")) };
            let text = format!("SET SESSION {name} = {value}");
            if direct(server, "boss").await.query(&text).await.is_err() {
                continue;
            }
            set += 1;
            let mut other = connect(&proxy, "boss").await;
            other.query(&text).await.unwrap_or_else(|error| panic!("{text}: {error}"));
            if ask(&mut other, sql).await == Ok(vec![b"\x010".to_vec()]) {
                the_same.insert(name.to_owned());
            }
        }
        println!("{set} of {} variables were set; the same answer: {the_same:?}", variables.len());
        assert!(set > 80, "only {set} variables could be set");
        the_same.retain(|name| !HARMLESS.iter().any(|(known, _)| known == name));
        assert_eq!(the_same, BTreeSet::new(), "sessions that differ in these get the same answer");
    });
}

/// Names of builtin functions, as the server tells them.
async fn functions(server: &Backend) -> BTreeSet<String> {
    let told =
        if server.is_mysql() { "SELECT ''" } else { "SELECT function FROM information_schema.sql_functions" };
    let helped = "SELECT t.name FROM mysql.help_topic t JOIN mysql.help_category c USING (help_category_id) \
        WHERE c.name LIKE '%Function%' OR c.name LIKE 'Geom%' OR c.name LIKE 'MBR%' OR c.name = 'GTID'";
    let mut admin = direct(server, ADMIN).await;
    let mut names = BTreeSet::new();
    for sql in [told, helped] {
        for row in admin.query(sql).await.unwrap().text().unwrap() {
            let name = row[0].clone().unwrap_or_default().to_ascii_lowercase();
            names.insert(name.trim_end_matches("()").trim().to_owned());
        }
    }
    let is_name = |name: &String| {
        name.len() > 1 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    names.retain(is_name);
    names
}

pub(super) fn each_builtin_function_is_known_or_counts_as_stored(server: &Backend) {
    run(async {
        let names = functions(server).await;
        assert!(names.len() >= FUNCTIONS_MIN, "only {} functions were told", names.len());
        let mut unknown = Vec::new();
        for name in &names {
            let is_known = sql::shape::function_effects(name, true).is_some();
            let is_of_views = OF_VIEWS.iter().any(|begin| name.starts_with(begin));
            if is_known || is_of_views || AS_STORED.contains(&name.as_str()) {
                continue;
            }
            // The help has other topics in these chapters.
            let asked = ask(&mut direct(server, ADMIN).await, &format!("SELECT {name}()")).await;
            if !matches!(asked, Err(1064 | 1305)) {
                unknown.push(name);
            }
        }
        assert!(unknown.is_empty(), "what do they depend on? {unknown:?}");
    });
}

/// Whether the answer to a statement with the table's columns would be cached.
fn is_cached(sql: &str, clock: &Clock) -> bool {
    let (sql, modes) = (sql.as_bytes(), Modes::default());
    Refusal::of(sql, modes, &Shape::of(sql, modes)).is_none()
        && !clock.takes_today(sql, modes)
        && !depends_on_values(sql)
}

/// Another user, another day, and a session with another past.
const OTHERWISE: [&str; 5] = [
    "SET timestamp = 1700000000, rand_seed1 = 7, insert_id = 5",
    "SET @a = 1, @b = 'x'",
    "SELECT LAST_INSERT_ID(77), GET_LOCK('a', 0)",
    "SELECT n FROM one UNION SELECT 1",
    "DO SLEEP(0)",
];

pub(super) fn c03_what_is_cached_is_the_same_on_another_day_to_another_user(server: &Backend) {
    server.sql(TABLE);
    server.sql("GRANT SELECT ON test.one TO other@'127.0.0.1'");
    let clock = Clock::of(&["t"], &["d"]);
    let proxy = proxy(server, "");
    run(async {
        let (mut one, mut other) = (direct(server, USER).await, direct(server, "other").await);
        one.query("SET timestamp = 1000000000").await.unwrap();
        for text in OTHERWISE {
            other.query(text).await.unwrap();
        }
        let (mut caching, mut again) = (connect(&proxy, USER).await, connect(&proxy, "other").await);
        let with_times =
            |name: &str| WITH_TIMES.iter().map(|call| format!("{name}{call}")).collect::<Vec<_>>();
        let named = pure_functions().map(|name| [calls(name), with_times(name)].concat());
        let meetings = MEETINGS.iter().map(|meeting| vec![(*meeting).to_owned()]);
        let (mut asked, mut differ, mut not_cached) = (0, Vec::new(), Vec::new());
        for calls in named.chain(meetings) {
            let mut is_asked = false;
            for call in calls {
                let sql = format!("SELECT {call} AS called, n FROM one");
                if !is_cached(&sql, &clock) {
                    continue;
                }
                let first = ask(&mut one, &sql).await;
                if first.is_err() {
                    continue;
                }
                if ask(&mut other, &sql).await != first {
                    differ.push(sql);
                } else if !is_asked {
                    (is_asked, asked) = (true, asked + 1);
                    for client in [&mut caching, &mut again] {
                        for _ in 0..2 {
                            if ask(client, &sql).await != first {
                                not_cached.push(sql.clone());
                            }
                        }
                    }
                }
            }
        }
        println!("{asked} functions were asked through the proxy");
        assert!(asked >= 200, "only {asked} functions were asked");
        assert!(differ.is_empty(), "it would be cached, and differs: {differ:#?}");
        assert!(not_cached.is_empty(), "another answer through the proxy: {not_cached:#?}");
    });
}
