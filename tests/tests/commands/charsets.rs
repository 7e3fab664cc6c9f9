//! Text in the character set that the client asked for, in every way in which it can ask. In GBK,
//! GB18030 and Shift JIS the second byte of a character may be a backslash; a proxy that reads such
//! text as another character set finds the end of a string in another place than the server.

use e2e::{Backend, Twin, on_each_server, run};
use testkit::client::{Client, ClientError, Options, QueryResult};
use testkit::server::{PASSWORD, USER};
use wire::command::Kind;

use super::{COLLATION, capabilities, command, execute, execute_with, proxy, text};

on_each_server! {
    c06_the_collation_of_the_login_is_the_sessions,
    c06_text_keeps_its_character_set_after_set_names,
    c06_a_change_of_the_user_brings_the_collation_that_it_names,
}

/// `MYSQL_TYPE_VAR_STRING`.
const VAR_STRING: u8 = 253;

/// Collations: name, id, whether MariaDB has it. Those above 255 have no room in a login.
const COLLATIONS: [(&str, u16, bool); 17] = [
    ("latin1_swedish_ci", 8, true),
    ("latin1_bin", 47, true),
    ("sjis_japanese_ci", 13, true),
    ("ascii_general_ci", 11, true),
    ("gb2312_chinese_ci", 24, true),
    ("gbk_chinese_ci", 28, true),
    ("gbk_bin", 87, true),
    ("utf8mb3_general_ci", 33, true),
    ("utf8mb3_bin", 83, true),
    ("utf8mb4_general_ci", 45, true),
    ("utf8mb4_bin", 46, true),
    ("utf8mb4_unicode_ci", 224, true),
    ("big5_chinese_ci", 1, true),
    ("cp932_japanese_ci", 95, true),
    ("binary", 63, true),
    ("gb18030_chinese_ci", 248, false),
    ("utf8mb4_0900_ai_ci", 255, false),
];

/// Texts, as bytes between quotes.
const TEXTS: [&[u8]; 14] = [
    b"plain",
    "ä".as_bytes(),
    "表ソ漢字".as_bytes(),
    "\u{1f600}".as_bytes(),
    b"\xe4\xf6\xfc",
    // A character of GBK, GB18030 and Big5 whose second byte is a backslash; the same before a
    // quote.
    b"\xbf\x5c",
    b"\x95\x5c",
    b"\x83\x5c",
    b"\x83\x5c''\x83\x5c",
    b"\x81\x30\x81\x30",
    // No character: a first byte before a quote. With an escape in front of the quote it is one of
    // GBK.
    b"\xbf\x27\x27",
    b"\xbf\x5c\x27",
    b"\xbf\x5c\x5c",
    b"\xff\xfe\x80",
];

/// Statements about a text.
fn statements(text: &[u8]) -> [Vec<u8>; 3] {
    [
        [b"SELECT '", text, b"' AS '", text, b"', HEX('", text, b"'), CHAR_LENGTH('", text, b"'), 1"]
            .concat(),
        [b"SELECT '", text, b"' = _utf8mb4'x', /* ' */ 'it', '", text, b"'; SELECT 2 -- ", text].concat(),
        [b"INSERT INTO kept (u, b) VALUES ('", text, b"', '", text, b"')"].concat(),
    ]
}

const SETTINGS: &str = "SELECT @@character_set_client, @@character_set_connection, @@character_set_results, \
    @@collation_connection, @@collation_database, COLLATION('x'), CHARSET(CONCAT('x', 1))";
const CREATE: &str = "CREATE TEMPORARY TABLE kept (id INT PRIMARY KEY AUTO_INCREMENT, \
    u TEXT CHARACTER SET utf8mb4, b VARBINARY(100))";
const KEPT: &str = "SELECT id, u, HEX(u), HEX(b) FROM kept";

/// Sends everything that depends on the character set, as text and as parameters. The prepared
/// statement is the `prepared`-th of the session.
async fn compare(twin: &mut Twin, prepared: u32) {
    twin.same_query(SETTINGS).await;
    for text_bytes in TEXTS {
        for sql in statements(text_bytes) {
            twin.same_query(&sql).await;
        }
        twin.same_query([b"SHOW WARNINGS LIMIT 1 -- ", text_bytes].concat()).await;
    }
    let literal: &[u8] = b"SELECT ?, HEX(?), '\xbf\x5c', HEX('\x83\x5c') -- '";
    twin.same(&command(Kind::StmtPrepare, literal)).await;
    twin.same(&command(Kind::StmtPrepare, b"SELECT ?, COLLATION(?)")).await;
    for text_bytes in TEXTS {
        let value = text(text_bytes);
        let two = [&execute(prepared, 0)[..], &[0, 1, VAR_STRING, 0, VAR_STRING, 0], &value, &value].concat();
        twin.same(&two).await;
        twin.same(&execute_with(prepared, 0, VAR_STRING, &value)).await;
    }
    twin.same_query(KEPT).await;
}

fn collations(db: &Backend) -> impl Iterator<Item = (&'static str, u16)> {
    let is_mysql = db.is_mysql();
    COLLATIONS.into_iter().filter(move |(.., both)| *both || is_mysql).map(|(name, id, _)| (name, id))
}

fn c06_the_collation_of_the_login_is_the_sessions(db: &Backend) {
    let proxy = proxy(db);
    run(async {
        // 0 and 254 name none.
        for id in collations(db).map(|(_, id)| id).chain([0, 254]) {
            let mut twin = Twin::new(db, &proxy, capabilities()[0], id).await;
            twin.same_query(CREATE).await;
            compare(&mut twin, 1).await;
        }
    });
}

fn c06_text_keeps_its_character_set_after_set_names(db: &Backend) {
    let proxy = proxy(db);
    run(async {
        for (collation, _) in collations(db) {
            let charset = collation.split_once('_').map_or(collation, |(charset, _)| charset);
            let mut twin = Twin::new(db, &proxy, capabilities()[0], COLLATION).await;
            twin.same_query(CREATE).await;
            twin.same_query(format!("SET NAMES {charset}")).await;
            compare(&mut twin, 1).await;
            twin.same_query(format!("SET NAMES {charset} COLLATE {collation}")).await;
            twin.same_query(SETTINGS).await;
            twin.same_query(format!("SET CHARACTER SET {charset}")).await;
            twin.same_query(SETTINGS).await;
            twin.same_query(format!("SET character_set_results = NULL, character_set_client = {charset}"))
                .await;
            twin.same_query(b"SELECT '\xbf\x5c', '\x83\x5c', 'a'").await;
            // The collation of the login is back.
            twin.same(&command(Kind::ResetConnection, &[])).await;
            twin.same_query(SETTINGS).await;
        }
        for sql in [
            "SET NAMES ucs2",
            "SET NAMES nonsense",
            "SET NAMES utf8mb4 COLLATE latin1_bin",
            "SET NAMES DEFAULT",
        ] {
            let mut twin = Twin::new(db, &proxy, capabilities()[0], 8).await;
            twin.same_query(sql).await;
            twin.same_query(SETTINGS).await;
        }
    });
}

/// All results of a statement, or its error.
async fn results(client: &mut Client, sql: &[u8]) -> Vec<Result<QueryResult, String>> {
    client.send_command(Kind::Query, sql).await.unwrap();
    let mut results = Vec::new();
    loop {
        match client.read_result().await {
            Ok(result) => results.push(Ok(result)),
            Err(ClientError::Server(error)) => {
                results.push(Err(error.to_string()));
                return results;
            }
            Err(error) => panic!("{error}"),
        }
        if !client.status().contains(wire::StatusFlags::MORE_RESULTS) {
            return results;
        }
    }
}

fn c06_a_change_of_the_user_brings_the_collation_that_it_names(db: &Backend) {
    let proxy = proxy(db);
    let large: &[u16] = if db.is_mysql() { &[309, 305, 320] } else { &[576, 608, 2048] };
    let ids: Vec<u16> = collations(db).map(|(_, id)| id).chain(large.iter().copied()).collect();
    run(async {
        let direct = Options::tcp(db.server.address(), USER, PASSWORD).schema("test");
        let ours = proxy.options();
        let mut direct_client = Client::connect(&direct).await.unwrap();
        let mut client = Client::connect(&ours).await.unwrap();
        for id in ids {
            direct_client.change_user(&direct.clone().collation(id)).await.unwrap();
            client.change_user(&ours.clone().collation(id)).await.unwrap();
            let texts = TEXTS.iter().flat_map(|text| statements(text).into_iter().take(2));
            for sql in [SETTINGS.as_bytes().to_vec()].into_iter().chain(texts) {
                let expected = results(&mut direct_client, &sql).await;
                let got = results(&mut client, &sql).await;
                assert_eq!(got, expected, "{} with collation {id}", sql.escape_ascii());
            }
        }
    });
}
