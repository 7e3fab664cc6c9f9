//! MariaDB's own query cache as an oracle: that it stores the answer to a statement tells that the
//! answer is a function of text, settings and tables.
//!
//! Each function that `crates/sql` calls pure is called with arguments that the server accepts.
//! What Pointsman would cache has to be what the server caches.

use std::collections::BTreeMap;

use cache::Refusal;
use e2e::{Backend, run};
use sql::{Modes, Shape};
use testkit::client::{Client, Options};
use testkit::server::{PASSWORD, USER};

/// The file with the list of pure functions.
const FUNCTIONS: &str = include_str!("../../../crates/sql/src/shape/functions.rs");

/// Functions that the server knows, at least.
const KNOWN_MIN: usize = 250;

/// What the server stores no answer to, and Pointsman refuses.
const NOT_STORED: [&str; 4] = ["ROWNUM()", "RAND()", "NOW()", "LAST_INSERT_ID()"];

/// Arguments, one after the other until the server accepts a call without a warning.
const ARGUMENTS: [&str; 46] = [
    "(n)",
    "(s)",
    "()",
    "(n, 2)",
    "(s, 'b')",
    "(s, 2)",
    "(2, s)",
    "(d)",
    "(d, 1)",
    "(d, INTERVAL 1 DAY)",
    "(d, d)",
    "(d, '%Y')",
    "(s, 'a', 'b')",
    "(s, 1, 2)",
    "(s, 1, 2, 'x')",
    "(n, 1, 2)",
    "(1, 2, 3, 4)",
    "(j)",
    "(j, '$.a')",
    "(j, '1')",
    "(j, j)",
    "(j, '$.a', 1)",
    "(j, 'one', '$.a')",
    "(j, 'one', 'x')",
    "('a', n)",
    "(g)",
    "(l)",
    "(p)",
    "(g, g)",
    "(g, 1)",
    "(l, 1)",
    "(p, 1)",
    "(p, p)",
    "(g, g, 'T*****FF*')",
    "(1, 2)",
    "('POINT(1 1)')",
    "('LINESTRING(0 0, 1 1)')",
    "('POLYGON((0 0, 0 1, 1 1, 0 0))')",
    "('MULTIPOINT(1 1, 2 2)')",
    "('MULTILINESTRING((0 0, 1 1))')",
    "('MULTIPOLYGON(((0 0, 0 1, 1 1, 0 0)))')",
    "('GEOMETRYCOLLECTION(POINT(1 1))')",
    "(ST_AsWKB(g))",
    "(l, l)",
    "(g, l)",
    "(HEX(s), HEX(s))",
];

/// Calls whose form is not that of others.
const FORMS: [(&str, &str); 49] = [
    ("addtime", "ADDTIME(d, '01:00:00')"),
    ("aes_decrypt", "AES_DECRYPT(AES_ENCRYPT(s, 'k'), 'k')"),
    ("cast", "CAST(n AS CHAR)"),
    ("convert", "CONVERT(s USING utf8mb4)"),
    ("convert_tz", "CONVERT_TZ(d, '+00:00', '+02:00')"),
    ("column_create", "HEX(COLUMN_CREATE('a', n))"),
    ("column_check", "COLUMN_CHECK(COLUMN_CREATE('a', n))"),
    ("column_get", "COLUMN_GET(COLUMN_CREATE('a', n), 'a' AS INT)"),
    ("column_json", "COLUMN_JSON(COLUMN_CREATE('a', n))"),
    ("column_list", "COLUMN_LIST(COLUMN_CREATE('a', n))"),
    ("cume_dist", "CUME_DIST() OVER (ORDER BY n)"),
    ("dense_rank", "DENSE_RANK() OVER (ORDER BY n)"),
    ("extract", "EXTRACT(YEAR FROM d)"),
    ("extractvalue", "EXTRACTVALUE('<a>1</a>', '/a')"),
    ("first_value", "FIRST_VALUE(n) OVER (ORDER BY n)"),
    ("from_base64", "FROM_BASE64('YQ==')"),
    ("get_format", "GET_FORMAT(DATE, 'EUR')"),
    ("group_concat", "GROUP_CONCAT(s)"),
    ("is_ipv4_compat", "IS_IPV4_COMPAT(INET6_ATON('::1.2.3.4'))"),
    ("is_ipv4_mapped", "IS_IPV4_MAPPED(INET6_ATON('::ffff:1.2.3.4'))"),
    ("sha2", "SHA2(s, 256)"),
    ("uncompress", "UNCOMPRESS(COMPRESS(s))"),
    ("json_arrayagg", "JSON_ARRAYAGG(n)"),
    ("json_objectagg", "JSON_OBJECTAGG(s, n)"),
    ("json_merge", "JSON_MERGE('[1]', '[2]')"),
    ("json_object", "JSON_OBJECT('a', n)"),
    ("json_schema_valid", "JSON_SCHEMA_VALID('{}', j)"),
    ("json_unquote", "JSON_UNQUOTE('\"a\"')"),
    ("kdf", "HEX(KDF(s, 'salt', 1000, 'pbkdf2_hmac'))"),
    ("lag", "LAG(n) OVER (ORDER BY n)"),
    ("last_value", "LAST_VALUE(n) OVER (ORDER BY n)"),
    ("lead", "LEAD(n) OVER (ORDER BY n)"),
    ("match", "MATCH (s) AGAINST ('abc')"),
    ("maketime", "MAKETIME(1, 2, 3)"),
    ("median", "MEDIAN(n) OVER ()"),
    ("nth_value", "NTH_VALUE(n, 1) OVER (ORDER BY n)"),
    ("ntile", "NTILE(2) OVER (ORDER BY n)"),
    ("percent_rank", "PERCENT_RANK() OVER (ORDER BY n)"),
    ("percentile_cont", "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY n) OVER ()"),
    ("percentile_disc", "PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY n) OVER ()"),
    ("position", "POSITION('a' IN s)"),
    ("rank", "RANK() OVER (ORDER BY n)"),
    ("row_number", "ROW_NUMBER() OVER (ORDER BY n)"),
    ("sformat", "SFORMAT('{}', n)"),
    ("str_to_date", "STR_TO_DATE('2026', '%Y')"),
    ("timestampadd", "TIMESTAMPADD(DAY, 1, d)"),
    ("timestampdiff", "TIMESTAMPDIFF(DAY, d, d)"),
    ("to_char", "TO_CHAR(d, 'YYYY')"),
    ("updatexml", "UPDATEXML('<a>1</a>', '/a', '<b>2</b>')"),
];

/// What the server says of a call.
#[derive(Debug, PartialEq, Eq)]
enum Says {
    Stored,
    NotStored,
    /// No form of it is accepted.
    Unknown,
}

#[test]
fn what_is_cached_is_what_mariadb_itself_would_cache() {
    let server = Backend::start(&["--query-cache-type=1", "--query-cache-size=64M"]);
    server.sql(
        "CREATE TABLE test.one (n INT PRIMARY KEY, s VARCHAR(20), d DATETIME, j VARCHAR(20), g GEOMETRY, \
         l GEOMETRY, p GEOMETRY, FULLTEXT (s)) ENGINE = InnoDB; \
         INSERT INTO test.one VALUES (7, 'abc', '2026-11-26 12:00:00', '{\"a\": 1}', POINT(1, 2), \
         ST_GeomFromText('LINESTRING(0 0, 1 1, 0 1, 0 0)'), ST_GeomFromText('POLYGON((0 0, 0 2, 2 2, 0 0))'))",
    );
    run(async {
        let options = Options::tcp(server.server.address(), USER, PASSWORD).schema("test");
        let mut client = Client::connect(&options).await.unwrap();
        assert_eq!(says(&mut client, "SELECT n FROM one").await, Says::Stored, "the oracle does not work");
        for call in NOT_STORED {
            let sql = format!("SELECT {call} AS called, n FROM one");
            assert_eq!(says(&mut client, &sql).await, Says::NotStored, "{sql}: the oracle does not work");
            assert!(is_refused(&sql), "{sql}");
        }
        let (mut stored, mut unknown, mut differ) = (0, Vec::new(), BTreeMap::new());
        for name in pure_functions() {
            match judge(&mut client, name).await {
                (Says::Stored, _) => stored += 1,
                (Says::NotStored, sql) => drop(differ.insert(name, sql)),
                (Says::Unknown, _) => unknown.push(name),
            }
        }
        println!("{stored} functions agree; the server accepts no call of {unknown:?}");
        assert!(stored >= KNOWN_MIN, "only {stored} functions were looked at");
        assert_eq!(differ, BTreeMap::new(), "MariaDB does not cache this");
    });
}

/// What the server says of the calls of a function that Pointsman would cache, and the last call
/// whose answer it has not stored. Of wrong arguments it may make an error that it does not tell:
/// so all forms are tried.
async fn judge(client: &mut Client, name: &'static str) -> (Says, String) {
    let mut judged = (Says::Unknown, String::new());
    for call in calls(name) {
        let sql = format!("SELECT {call} AS called, n FROM one");
        match says(client, &sql).await {
            Says::Stored => return (Says::Stored, sql),
            Says::NotStored if !is_refused(&sql) => judged = (Says::NotStored, sql),
            _ => {}
        }
    }
    judged
}

fn is_refused(sql: &str) -> bool {
    let (sql, modes) = (sql.as_bytes(), Modes::default());
    Refusal::of(sql, modes, &Shape::of(sql, modes)).is_some()
}

/// The names in the list of pure functions.
pub(super) fn pure_functions() -> impl Iterator<Item = &'static str> {
    let (_, list) = FUNCTIONS.split_once("const PURE: &str = \"").unwrap();
    let (list, _) = list.split_once('"').unwrap();
    list.split_whitespace().filter(|word| *word != "\\")
}

/// Calls of a function, in the forms that it may have.
pub(super) fn calls(name: &'static str) -> Vec<String> {
    let forms = FORMS.iter().filter(|(of, _)| *of == name).map(|(_, form)| (*form).to_owned());
    forms.chain(ARGUMENTS.iter().map(|arguments| format!("{name}{arguments}"))).collect()
}

/// What the server does with the answer to a statement.
async fn says(client: &mut Client, sql: &str) -> Says {
    let before = inserts(client).await;
    match client.query(sql).await {
        // Nothing with warnings is stored.
        Ok(result) if result.warnings == 0 => {}
        _ => return Says::Unknown,
    }
    if inserts(client).await > before { Says::Stored } else { Says::NotStored }
}

async fn inserts(client: &mut Client) -> u64 {
    let rows = client.query("SHOW STATUS LIKE 'Qcache_inserts'").await.unwrap().text().unwrap();
    rows[0][1].as_deref().unwrap().parse().unwrap()
}
