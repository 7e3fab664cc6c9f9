//! A table of a server, read as the proxy will read it.

use e2e::Backend;
use planner::define::{
    Collations, DefaultValue, Reader, TableDefinition, collation_statement, table_statement,
};
use testkit::client::{Client, Options};
use testkit::server::{PASSWORD, USER};
use wire::codec::Reader as Bytes;

/// A session without a schema, in the character set of the test.
pub(crate) async fn connect(db: &Backend) -> Client {
    let options = Options::tcp(db.server.address(), USER, PASSWORD);
    let mut client = Client::connect(&options).await.unwrap();
    // Definitions mean the same in any of them.
    client.query("SET NAMES latin1, sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'").await.unwrap();
    client.query("SET sql_select_limit = 1").await.unwrap();
    client
}

/// The cells of a text row.
fn cells(row: &[u8]) -> Vec<Option<&[u8]>> {
    let mut reader = Bytes::new(row);
    let mut cells = Vec::new();
    while let Some(first) = reader.peek() {
        if first == 0xfb {
            reader.u8("NULL").unwrap();
            cells.push(None);
        } else {
            cells.push(Some(reader.lenenc_bytes("a cell").unwrap()));
        }
    }
    cells
}

/// Asks for a table; none if there is no such table.
pub(crate) async fn table(client: &mut Client, schema: &str, name: &str) -> Option<TableDefinition> {
    let answer = client.query(&table_statement(schema, name)).await.unwrap();
    let mut reader = Reader::new();
    for row in &answer.rows {
        reader.row(&cells(row)).unwrap();
    }
    reader.finish().unwrap()
}

/// Asks for the collations of a table.
pub(crate) async fn collations(client: &mut Client, table: &TableDefinition) -> Collations {
    let mut collations = Collations::default();
    loop {
        let asked = collations.unknown(table);
        if asked.is_empty() {
            return collations;
        }
        let answer = client.query(&collation_statement(&asked)).await.unwrap();
        assert_eq!(answer.rows.len(), asked.len());
        for row in &answer.rows {
            collations.read(&table.version, &asked, &cells(row)).unwrap();
        }
    }
}

pub(crate) async fn keys_and_defaults(db: &Backend) {
    let mut client = connect(db).await;
    assert_eq!(table(&mut client, "test", "nothing").await, None);
    db.sql(
        "CREATE TABLE test.parents (a INT, b INT, PRIMARY KEY (a, b)) ENGINE=InnoDB;
         CREATE TABLE test.`it's a \"table\"` (
             id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
             x INT NOT NULL DEFAULT 5, y INT NOT NULL,
             n VARCHAR(20) NOT NULL DEFAULT 'it''s \\\\ ü', m VARCHAR(20),
             t DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
             e VARCHAR(9) DEFAULT (CONCAT('a', 'b')), d DATE DEFAULT '2024-01-02',
             v VARBINARY(9) DEFAULT 'a''b',
             g INT GENERATED ALWAYS AS (h + 1) STORED, h INT INVISIBLE DEFAULT 7,
             UNIQUE u (n(3), x), KEY k (y),
             CONSTRAINT f FOREIGN KEY (x, y) REFERENCES test.parents (a, b) ON DELETE CASCADE
         ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4",
    );
    let found = table(&mut client, "test", "it's a \"table\"").await.unwrap();
    assert!(found.is_table() && found.engine.as_deref() == Some("InnoDB"));
    assert_eq!((found.auto_increment().unwrap().name.as_str(), found.sort_bytes_max), ("id", 1024));
    let default = |name: &str| found.column(name).unwrap().default.clone();
    let constant = |text: &str| DefaultValue::Constant(text.to_owned());
    assert_eq!(default("x"), constant("5"));
    assert_eq!(default("y"), DefaultValue::Missing);
    assert_eq!(default("n"), constant("it's \\ ü"));
    assert_eq!(default("m"), DefaultValue::Null);
    assert_eq!(default("d"), constant("2024-01-02"));
    assert_eq!(default("v"), constant("a'b"));
    assert_eq!(default("h"), constant("7"));
    for name in ["t", "e"] {
        assert!(matches!(default(name), DefaultValue::Expression(_)), "{name}: {:?}", default(name));
    }
    assert!(found.column("g").unwrap().is_generated() && found.column("h").unwrap().is_invisible());
    db.sql(
        "CREATE TRIGGER test.own BEFORE INSERT ON test.`it's a \"table\"` FOR EACH ROW SET NEW.m = UUID(); \
         CREATE TRIGGER test.plain BEFORE UPDATE ON test.`it's a \"table\"` FOR EACH ROW SET NEW.m = NEW.n",
    );
    let again = table(&mut client, "test", "it's a \"table\"").await.unwrap();
    let own: Vec<_> =
        again.triggers.iter().map(|one| (one.name.as_str(), one.own_value.as_deref())).collect();
    assert_eq!(own, [("own", Some("uuid")), ("plain", None)]);
    let index = |name: &str| found.indexes.iter().find(|index| index.name == name).unwrap();
    assert!(index("PRIMARY").is_unique && index("PRIMARY").has_whole("id"));
    assert!(index("u").is_unique && index("u").has_whole("x") && !index("u").has_whole("n"));
    assert!(!index("k").is_unique);
    let [key] = found.foreign_keys.as_slice() else { panic!("{:?}", found.foreign_keys) };
    assert_eq!(key.table, ["test", "parents"]);
    assert_eq!((key.columns.join(" "), key.referenced.join(" ")), ("x y".into(), "a b".into()));
    assert_eq!((key.name.as_str(), key.on_delete.as_str()), ("f", "CASCADE"));
}
