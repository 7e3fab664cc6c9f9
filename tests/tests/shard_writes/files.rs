//! `LOAD DATA LOCAL`.

use e2e::dice::Dice;
use e2e::{Backend, Proxy, Setup};
use testkit::client::{Client, ClientError, Options, QueryResult};
use testkit::server::{PASSWORD, USER};
use wire::command::Kind;
use wire::packet;

use super::{COLUMNS, SHARDS, connect, count, split};

/// Files that are loaded on both sides.
const FILES: usize = 150;

/// Lines of the file that does not fit into any buffer.
const MANY_LINES: u32 = 200_000;

/// The columns of tables that take any file.
const OF_FILES: &str = "id INT NOT NULL, a VARCHAR(200) NULL, b VARCHAR(200) NULL, KEY (id)";

/// Clauses of which all mean something else, with the separators of fields and lines, and the signs
/// that matter beside these.
const CLAUSES: [(&str, &str, &str, &str); 8] = [
    ("", "\t", "\n", "\\"),
    ("FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"'", ",", "\n", "\"\\"),
    (
        "FIELDS TERMINATED BY ',' ENCLOSED BY '\"' ESCAPED BY '\"' LINES TERMINATED BY '\\r\\n'",
        ",",
        "\r\n",
        "\"\r",
    ),
    ("FIELDS TERMINATED BY '||' ESCAPED BY '' LINES TERMINATED BY ';'", "||", ";", "|\\"),
    ("FIELDS TERMINATED BY ';' ENCLOSED BY '\\'' LINES TERMINATED BY 'xy' IGNORE 2 LINES", ";", "xy", "'x\\"),
    ("CHARACTER SET latin1 FIELDS TERMINATED BY ',' LINES TERMINATED BY '\\n' (id, a)", ",", "\n", "\\"),
    (
        "COLUMNS TERMINATED BY 0x2c ENCLOSED BY '\"' IGNORE 1 ROWS (id, @skipped, b) SET a = UPPER(@skipped)",
        ",",
        "\n",
        "\"\\",
    ),
    ("FIELDS TERMINATED BY ',' (id) SET a = 'same', b = id + 1", ",", "\n", "\\"),
];

/// A field of a file: mostly plain, at times with signs that mean something.
fn field(dice: &mut Dice, signs: &[u8]) -> Vec<u8> {
    let quote = signs.first().copied().filter(|sign| matches!(sign, b'"' | b'\''));
    let mut text: Vec<u8> = (0..dice.below(6)).map(|_| *dice.pick(b"abcN0 ")).collect();
    match (dice.below(12), quote) {
        (0, _) => text = b"\\N".to_vec(),
        (1, _) => text = b"NULL".to_vec(),
        (2..4, _) => {
            let at = dice.below(text.len() + 1);
            text.insert(at, *dice.pick(signs));
        }
        (4..8, Some(quote)) => {
            if dice.chance(50) {
                text.extend([b',', b'\n', quote, quote]);
            }
            text.insert(0, quote);
            text.push(quote);
        }
        _ => {}
    }
    text
}

/// A file for clauses with these separators.
fn file(dice: &mut Dice, [field_end, line_end, signs]: [&str; 3]) -> Vec<u8> {
    let mut file = Vec::new();
    let lines = dice.below(30);
    for number in 0..lines {
        let sign = if dice.chance(20) { "-" } else { "" };
        file.extend(format!("{sign}{}", dice.within(1..100)).bytes());
        for _ in 0..if dice.chance(80) { 2 } else { dice.below(5) } {
            file.extend(field_end.bytes());
            file.extend(field(dice, signs.as_bytes()));
        }
        if number + 1 < lines || dice.chance(60) {
            file.extend(line_end.bytes());
        }
    }
    file
}

/// The rows of some tables, sorted.
async fn rows(client: &mut Client, tables: &[String]) -> Vec<String> {
    let select = |table: &String| {
        format!("SELECT CONCAT_WS('/', id, HEX(a), HEX(b), a IS NULL, b IS NULL) AS x FROM {table}")
    };
    let all: Vec<_> = tables.iter().map(select).collect();
    let found = client.query(&format!("{} ORDER BY 1", all.join(" UNION ALL "))).await.unwrap();
    found.text().unwrap().into_iter().flatten().flatten().collect()
}

fn told(result: Result<QueryResult, ClientError>) -> Result<(u64, String, u16), ClientError> {
    result.map(|ok| (ok.affected_rows, ok.info, ok.warnings))
}

/// Whether an error is the proxy's refusal.
fn is_refusal(error: &ClientError) -> bool {
    matches!(error, ClientError::Server(error) if error.code == 1235)
}

pub(super) async fn like_one_server(db: &'static Backend) {
    let proxy = split(db, "files", OF_FILES, "id", "best_effort");
    db.sql(&format!("CREATE TABLE files.whole ({OF_FILES}) ENGINE=InnoDB"));
    let parts: Vec<_> = (0..SHARDS).map(|shard| format!("files.t_{shard}")).collect();
    let mut proxied = connect(&proxy, "files").await;
    let mut direct =
        Client::connect(&Options::tcp(db.server.address(), USER, PASSWORD).schema("files")).await.unwrap();
    let mut dice = Dice::new(7, 0);
    let mut loaded = 0;
    for number in 0..FILES {
        let (clauses, field_end, line_end, signs) = CLAUSES[number % CLAUSES.len()];
        let file = file(&mut dice, [field_end, line_end, signs]);
        let sql = |table: &str| format!("LOAD DATA LOCAL INFILE 'f' INTO TABLE {table} {clauses}");
        let len = dice.within(1..40);
        let got = told(proxied.load_local(&sql("t"), &file, len).await);
        let shown = file.escape_ascii();
        if got.as_ref().is_err_and(is_refusal) {
            assert_eq!(rows(&mut direct, &parts).await.len(), 0, "{clauses}: {shown}");
            continue;
        }
        loaded += 1;
        let expected = told(direct.load_local(&sql("whole"), &file, 1_000).await);
        assert_eq!(got.unwrap(), expected.unwrap(), "{clauses}: {shown}");
        let expected = rows(&mut direct, &["files.whole".to_owned()]).await;
        assert_eq!(rows(&mut direct, &parts).await, expected, "{clauses}: {shown}");
        for table in parts.iter().map(String::as_str).chain(["files.whole"]) {
            direct.query(&format!("DELETE FROM {table}")).await.unwrap();
        }
    }
    assert!(loaded > FILES / 2, "{loaded}");
}

pub(super) async fn streamed(db: &'static Backend) {
    let proxy = split(db, "streamed", COLUMNS, "id", "best_effort");
    let mut client = connect(&proxy, "streamed").await;
    let lines: Vec<_> = (0..MANY_LINES).map(|id| format!("{id}\t{}\trow number {id}\n", id % 7)).collect();
    let file = lines.concat();
    let sql = "LOAD DATA LOCAL INFILE 'f' INTO TABLE t";
    let ok = client.load_local(sql, file.as_bytes(), 100_000).await.unwrap();
    let rows = MANY_LINES;
    assert_eq!(ok.info, format!("Records: {rows}  Deleted: 0  Skipped: 0  Warnings: 0"));
    assert_eq!(count(db, "streamed", "note = CONCAT('row number ', id)"), MANY_LINES);
    assert_eq!(client.query("SELECT ROW_COUNT()").await.unwrap().first(), Some(rows.to_string()));
    // Rows that are there are left out, or take their places.
    let again = client.load_local(sql, b"1\t1\tnew\n2\t2\tnew\n200001\t1\tnew\n", 7).await.unwrap();
    assert_eq!(
        (again.affected_rows, again.info.as_str()),
        (1, "Records: 3  Deleted: 0  Skipped: 2  Warnings: 2")
    );
    let sql = "LOAD DATA LOCAL INFILE 'f' REPLACE INTO TABLE t";
    let replaced = client.load_local(sql, b"1\t1\tnew\n2\t2\tnew\n", 7).await.unwrap();
    assert_eq!(
        (replaced.affected_rows, replaced.info.as_str()),
        (4, "Records: 2  Deleted: 2  Skipped: 0  Warnings: 0")
    );
}

pub(super) async fn refused(db: &'static Backend) {
    let proxy = split(db, "half", COLUMNS, "id", "best_effort");
    let mut client = connect(&proxy, "half").await;
    let load = "LOAD DATA LOCAL INFILE 'f' INTO TABLE t";
    for file in ["1\t1\ta\n2\t1\tb\n3x\t1\tc\n4\t1\td\n", "1\t1\ta\n\\N\t1\tb\n"] {
        let error = client.load_local(load, file.as_bytes(), 3).await.unwrap_err();
        assert!(is_refusal(&error) && error.to_string().contains("at row"), "{error}");
        assert_eq!(count(db, "half", "1"), 0);
    }
    let refusals = [
        "LOAD DATA INFILE 'f' INTO TABLE t",
        "LOAD DATA LOCAL INFILE 'f' INTO TABLE t (state, note)",
        "LOAD DATA LOCAL INFILE 'f' INTO TABLE t CHARACTER SET gbk",
        "LOAD DATA LOCAL INFILE 'f' INTO TABLE t LINES STARTING BY 'x'",
    ];
    for sql in refusals {
        let error = client.query(sql).await.unwrap_err();
        assert!(is_refusal(&error), "{sql}: {error}");
    }
    // A shard refuses the statement: the client is not asked for the file.
    let error = client.query("LOAD DATA LOCAL INFILE 'f' INTO TABLE t (id, nothing)").await.unwrap_err();
    assert!(error.to_string().contains("nothing"), "{error}");
    // One connection to a server loads one table at a time.
    client.query("BEGIN").await.unwrap();
    let error = client.query(load).await.unwrap_err();
    assert!(is_refusal(&error), "{error}");
    client.query("ROLLBACK").await.unwrap();
    assert_eq!(client.load_local(load, b"1\t1\ta\n", 3).await.unwrap().affected_rows, 1);
    drop(proxy);
    let proxy = split(db, "singly", COLUMNS, "id", "single");
    let error = connect(&proxy, "singly").await.query(load).await.unwrap_err();
    assert!(error.to_string().contains("shard_transactions"), "{error}");
}

/// A table on two hostgroups, a reference table, and one with a sequence, in a schema each.
fn two_servers(db: &Backend) -> Proxy {
    for schema in ["far_1", "far_2"] {
        db.sql(&format!("CREATE DATABASE {schema}"));
        for (table, columns) in
            [("t", COLUMNS), ("r", COLUMNS), ("n", "id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, state INT")]
        {
            db.sql(&format!("CREATE TABLE {schema}.{table} ({columns}) ENGINE=InnoDB"));
        }
    }
    let mut setup =
        Setup::before(&db.sandbox, &db.server).pointsman_variable("shard_transactions", "\"best_effort\"");
    for hostgroup in [1, 2] {
        setup = setup.server(&db.server, &format!("hostgroup_id = {hostgroup}\n"));
    }
    for (table, rest) in [
        ("t", "key = 'id'\nfunction = 'mod'"),
        ("r", "kind = 'reference'"),
        ("n", "key = 'id'\nfunction = 'mod'"),
    ] {
        let nodes = format!("nodes = '1/far_1.{table}, 2/far_2.{table}'");
        setup = setup.row("shards.table", &format!("schema = 'far'\ntable = '{table}'\n{nodes}\n{rest}"));
    }
    setup
        .row("shards.sequence", "schema = 'far'\ntable = 'n'\ncolumn = 'id'\nstep = 5")
        .row("shards.home", "hostgroup = 0")
        .start()
}

pub(super) async fn of_two_servers(db: &'static Backend) {
    db.sql("CREATE DATABASE far");
    let proxy = two_servers(db);
    let mut client = connect(&proxy, "far").await;
    let rows = |condition: &str| db.sql(&format!("SELECT COUNT(*) FROM {condition}")).trim().to_owned();
    client.query("BEGIN").await.unwrap();
    let load = "LOAD DATA LOCAL INFILE 'f' INTO TABLE t";
    assert_eq!(client.load_local(load, b"1\t1\ta\n2\t1\tb\n", 3).await.unwrap().affected_rows, 2);
    client.query("ROLLBACK").await.unwrap();
    assert_eq!([rows("far_1.t"), rows("far_2.t")], ["0", "0"]);
    client.load_local(load, b"1\t1\ta\n2\t1\tb\n4\t1\tb\n", 3).await.unwrap();
    assert_eq!([rows("far_1.t"), rows("far_2.t")], ["2", "1"]);
    let everywhere = "LOAD DATA LOCAL INFILE 'f' INTO TABLE r IGNORE 1 LINES";
    let ok = client.load_local(everywhere, b"x\n1\t1\ta\n2\t1\tb\n", 3).await.unwrap();
    assert_eq!((ok.affected_rows, ok.info.as_str()), (2, "Records: 2  Deleted: 0  Skipped: 0  Warnings: 0"));
    assert_eq!([rows("far_1.r"), rows("far_2.r")], ["2", "2"]);
    // Ids of the file are no new ones.
    client.load_local("LOAD DATA LOCAL INFILE 'f' INTO TABLE n", b"1\t1\n70\t1\n", 3).await.unwrap();
    client.query("INSERT INTO n (state) VALUES (5)").await.unwrap();
    let id = client.query("SELECT LAST_INSERT_ID()").await.unwrap().first();
    assert_eq!(id.as_deref(), Some("71"));
    let error = client.load_local("LOAD DATA LOCAL INFILE 'f' INTO TABLE n", b"0\t1\n", 3).await.unwrap_err();
    assert!(is_refusal(&error), "{error}");
    let error = client.query("LOAD DATA LOCAL INFILE 'f' INTO TABLE n (state)").await.unwrap_err();
    assert!(is_refusal(&error), "{error}");
}

/// Begins to load a file: the client is asked for it, and has sent a part.
async fn begin(client: &mut Client) {
    client.send_command(Kind::Query, b"LOAD DATA LOCAL INFILE 'f' INTO TABLE t").await.unwrap();
    assert_eq!(client.packets().read().await.unwrap().first(), Some(&packet::LocalInfile::HEADER));
    client.packets().write(b"1\t1\ta\n2\t1\tb\n3").await.unwrap();
}

pub(super) async fn interrupted(db: &'static Backend) {
    let proxy = split(db, "cut", COLUMNS, "id", "best_effort");
    let mut client = connect(&proxy, "cut").await;
    let id = client.query("SELECT CONNECTION_ID()").await.unwrap().first().unwrap();
    begin(&mut client).await;
    connect(&proxy, "cut").await.query(&format!("KILL QUERY {id}")).await.unwrap();
    client.packets().write(b"\t1\tc\n").await.unwrap();
    client.packets().write(&[]).await.unwrap();
    let error = client.read_result().await.unwrap_err();
    assert_eq!(error.code(), Some(1317), "{error}");
    assert_eq!(count(db, "cut", "1"), 0);
    client.query("INSERT INTO t VALUES (9, 9, 'x')").await.unwrap();
    // A client that leaves has loaded nothing.
    begin(&mut client).await;
    drop(client);
    let mut other = connect(&proxy, "cut").await;
    other.query("UPDATE t SET state = 1 WHERE id = 1").await.unwrap();
    assert_eq!(count(db, "cut", "id < 9"), 0);
}
