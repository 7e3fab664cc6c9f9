//! Clients whose characters have a quote or a backslash as their second byte.

use e2e::run;
use testkit::client::{Client, ClientError, QueryResult};
use wire::command::Kind;

use crate::world::{Servers, change, rows};

/// A character of gbk and of gb18030, of big5 and of sjis, each with a backslash as its second
/// byte.
const CHARACTERS: [(&str, [u8; 2]); 4] =
    [("gbk", *b"\xd5\\"), ("gb18030", *b"\xd5\\"), ("big5", *b"\xa5\\"), ("sjis", *b"\x83\\")];

async fn query(client: &mut Client, parts: &[&[u8]]) -> Result<QueryResult, ClientError> {
    client.send_command(Kind::Query, &parts.concat()).await.unwrap();
    client.read_result().await
}

pub(crate) fn backslashes_within_characters_are_none(servers: &'static Servers) {
    let world = servers.world("gbk").best_effort();
    let proxy = world.proxy();
    for server in [&servers.near, &servers.far] {
        server.sql("ALTER TABLE gbk.orders MODIFY note VARCHAR(40) CHARACTER SET utf8mb4");
    }
    run(async {
        let mut client = world.connect(&proxy).await;
        let is_there = |name: &str| {
            format!(
                "SELECT COUNT(*) FROM information_schema.character_sets WHERE character_set_name = '{name}'"
            )
        };
        for (name, character) in CHARACTERS {
            if rows(&mut client, &is_there(name)).await != ["1"] {
                continue;
            }
            change(&mut client, &format!("SET NAMES {name}")).await;
            change(&mut client, "DELETE FROM orders WHERE id > 20").await;
            // Read as another character set, the first text ends behind the second one.
            let insert: [&[u8]; 5] = [
                b"INSERT INTO orders (id, note) VALUES (21, '",
                &character,
                b"'), (22, '",
                &character,
                b"'), (23, 'x')",
            ];
            assert_eq!(query(&mut client, &insert).await.unwrap().affected_rows, 3, "{name}");
            let hex = format!("SELECT HEX(CONVERT(note USING {name})) FROM orders WHERE id IN (21, 22)");
            let expected = format!("{:02X}{:02X}", character[0], character[1]);
            assert_eq!(rows(&mut client, &hex).await, [expected.clone(), expected], "{name}");
            let select: [&[u8]; 3] = [b"SELECT id FROM orders WHERE note = '", &character, b"' AND id = 21"];
            assert_eq!(query(&mut client, &select).await.unwrap().first().as_deref(), Some("21"), "{name}");
        }
        // Behind it the server has told which one it is.
        change(&mut client, "SET NAMES DEFAULT").await;
        assert_eq!(rows(&mut client, "SELECT note FROM orders WHERE id = 23").await, ["x"]);
        for table in ["orders", "plain"] {
            let text = format!("DELETE FROM {table} WHERE note = '\u{e4}'");
            assert_eq!(change(&mut client, &text).await, 0, "{table}");
        }
    });
}
