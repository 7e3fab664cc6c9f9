//! What clients see of sharded tables: by their own tools, and by the statements with which
//! libraries look at schemas.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, LazyLock, Mutex};
use std::task::{Context, Poll};

use e2e::tools::{self, Output};
use e2e::{Backend, Make, Proxy, Setup, on_each_server, run};
use testkit::client::{Client, Options, Value};
use testkit::server::{PASSWORD, USER};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

static DB: LazyLock<Backend> = LazyLock::new(|| with_tables(Backend::start(&[])));
static MYSQL: LazyLock<Option<Backend>> = LazyLock::new(|| Backend::start_mysql(&[]).map(with_tables));

on_each_server!(
    lists_have_logical_tables,
    definitions_have_logical_names,
    libraries_find_columns_and_keys,
    preparations_have_logical_names,
    a_statement_that_fails_in_a_transaction_changes_nothing,
    an_unknown_savepoint_is_an_error_of_the_statement_alone,
    a_dump_has_all_rows,
    the_client_completes_names,
);

/// Rows of the sharded table.
const ROWS: u32 = 40;

/// Four parts of `events` and of `notes` in two schemas, which stand for servers, and a table at
/// the home.
fn with_tables(db: Backend) -> Backend {
    db.sql("CREATE DATABASE shop; CREATE DATABASE s1; CREATE DATABASE s2");
    db.sql("CREATE TABLE shop.plain (id INT PRIMARY KEY, note VARCHAR(9)); INSERT INTO shop.plain VALUES (1, 'a')");
    for part in 0..4 {
        let schema = if part < 2 { "s1" } else { "s2" };
        db.sql(&format!(
            "CREATE TABLE {schema}.events_{part} (id INT PRIMARY KEY, name VARCHAR(20) NOT NULL DEFAULT 'events_{part}'); \
             CREATE TABLE {schema}.notes_{part} (id INT NOT NULL, number INT NOT NULL, PRIMARY KEY (id, number), \
             KEY by_number (number), FOREIGN KEY (id) REFERENCES {schema}.events_{part} (id))"
        ));
        for id in (1..=ROWS).filter(|id| id % 4 == part) {
            db.sql(&format!("INSERT INTO {schema}.events_{part} VALUES ({id}, 'event {id}')"));
        }
    }
    db
}

fn proxy(db: &Backend) -> Proxy {
    let mut setup = Setup::before(&db.sandbox, &db.server);
    for hostgroup in [1, 2] {
        setup = setup.server(&db.server, &format!("hostgroup_id = {hostgroup}\n"));
    }
    for name in ["events", "notes"] {
        let nodes = format!("1/s1.{name}_${{0..1}}, 2/s2.{name}_${{2..3}}");
        setup = setup.row(
            "shards.table",
            &format!(
                "schema = 'shop'\ntable = '{name}'\nkey = 'id'\nfunction = 'mod'\nnodes = '{nodes}'\n\
                 unique = 'unchecked'"
            ),
        );
    }
    setup
        .row("shards.group", "schema = 'shop'\ntables = ['events', 'notes']")
        .row("shards.home", "hostgroup = 0")
        .start()
}

async fn connect(proxy: &Proxy) -> Client {
    let options = Options::tcp(proxy.tcp(), USER, PASSWORD).schema("shop");
    Client::connect(&options).await.unwrap()
}

/// Rows as texts, with their columns separated by spaces.
async fn rows(client: &mut Client, sql: &str) -> Vec<String> {
    let result = client.query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    let text = |row: Vec<Option<String>>| {
        row.into_iter().map(|cell| cell.unwrap_or_else(|| "NULL".to_owned())).collect::<Vec<_>>().join(" ")
    };
    result.text().unwrap().into_iter().map(text).collect()
}

fn lists_have_logical_tables(db: &'static Backend) {
    let proxy = proxy(db);
    run(async {
        let mut client = connect(&proxy).await;
        let all = ["events", "notes", "plain"];
        assert_eq!(rows(&mut client, "SHOW TABLES").await, all);
        assert_eq!(rows(&mut client, "SHOW TABLES FROM shop LIKE 'e%'").await, ["events"]);
        let full = rows(&mut client, "SHOW FULL TABLES WHERE Table_type = 'BASE TABLE'").await;
        assert_eq!(full, all.map(|name| format!("{name} BASE TABLE")));
        let status = rows(&mut client, "SHOW TABLE STATUS").await;
        let names: Vec<_> = status.iter().filter_map(|row| row.split(' ').next()).collect();
        assert_eq!(names, all);
        // Django's `inspectdb`, without and with an order.
        let list =
            "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = DATABASE()";
        let mut found = rows(&mut client, list).await;
        found.sort();
        assert_eq!(found, full);
        assert_eq!(rows(&mut client, &format!("{list} ORDER BY table_name DESC")).await, {
            let mut reversed = full.clone();
            reversed.reverse();
            reversed
        });
    });
}

fn definitions_have_logical_names(db: &'static Backend) {
    let proxy = proxy(db);
    run(async {
        let mut client = connect(&proxy).await;
        for sql in
            ["DESCRIBE events", "SHOW FULL COLUMNS FROM events FROM shop", "SHOW FIELDS FROM `shop`.`events`"]
        {
            let columns = rows(&mut client, sql).await;
            let names: Vec<_> = columns.iter().filter_map(|row| row.split(' ').next()).collect();
            assert_eq!(names, ["id", "name"], "{sql}");
        }
        let index = rows(&mut client, "SHOW INDEX FROM notes").await;
        assert!(index.len() == 3 && index.iter().all(|row| row.starts_with("notes ")), "{index:?}");
        for execute in [false, true] {
            let shown = if execute {
                let statement = client.prepare("SHOW CREATE TABLE notes").await.unwrap();
                format!("{:?}", client.execute(&statement, &[]).await.unwrap().text().unwrap())
            } else {
                rows(&mut client, "SHOW CREATE TABLE notes").await.concat()
            };
            for part in ["CREATE TABLE `notes` (", "CONSTRAINT `notes_ibfk_1`", "REFERENCES `events` (`id`)"]
            {
                assert!(shown.contains(part), "{shown}");
            }
        }
    });
}

fn libraries_find_columns_and_keys(db: &'static Backend) {
    let proxy = proxy(db);
    run(async {
        let mut client = connect(&proxy).await;
        let columns = "SELECT column_name, data_type FROM information_schema.columns \
                       WHERE table_name = 'events' AND table_schema = DATABASE() ORDER BY ordinal_position";
        assert_eq!(rows(&mut client, columns).await, ["id int", "name varchar"]);
        let relations = "SELECT kcu.column_name, kcu.referenced_table_name, kcu.referenced_column_name \
                         FROM information_schema.key_column_usage kcu WHERE kcu.table_name = 'notes' \
                         AND kcu.table_schema = DATABASE() AND kcu.referenced_table_schema = DATABASE()";
        assert_eq!(rows(&mut client, relations).await, ["id events id"]);
        let constraints = "SELECT kc.column_name, c.constraint_type FROM information_schema.key_column_usage AS kc, \
                           information_schema.table_constraints AS c WHERE kc.table_schema = DATABASE() AND \
                           c.table_schema = kc.table_schema AND c.constraint_name = kc.constraint_name AND \
                           c.table_name = kc.table_name AND kc.table_name = 'events'";
        assert_eq!(rows(&mut client, constraints).await, ["id PRIMARY KEY"]);
        let spelled = "SELECT table_schema, table_name, column_name FROM information_schema.columns WHERE \
                       (table_schema, lower(table_name), lower(column_name)) IN (('shop', 'events', 'id'))";
        assert_eq!(rows(&mut client, spelled).await, ["shop events id"]);
    });
}

/// A stream that keeps what is read.
struct Recorder {
    stream: TcpStream,
    read: Arc<Mutex<Vec<u8>>>,
}

impl AsyncRead for Recorder {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, into);
        self.read.lock().unwrap().extend_from_slice(&into.filled()[before..]);
        read
    }
}

impl AsyncWrite for Recorder {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

fn preparations_have_logical_names(db: &'static Backend) {
    let proxy = proxy(db);
    run(async {
        let read = Arc::default();
        let stream = TcpStream::connect(proxy.tcp()).await.unwrap();
        let options = Options::tcp(proxy.tcp(), USER, PASSWORD).schema("shop");
        let recorder = Recorder { stream, read: Arc::clone(&read) };
        let mut client = Client::over(recorder, &options).await.unwrap();
        for sql in ["SELECT * FROM events WHERE id = ?", "SELECT name FROM shop.events ORDER BY id LIMIT 3"] {
            read.lock().unwrap().clear();
            let statement = client.prepare(sql).await.unwrap();
            let values = vec![Value::Int(5); statement.params.into()];
            client.execute(&statement, &values).await.unwrap();
            let replies = String::from_utf8_lossy(&read.lock().unwrap()).into_owned();
            assert!(replies.contains("shop\u{6}events\u{6}events"), "{sql}: {replies:?}");
            assert!(!replies.contains("events_") && !replies.contains("s1"), "{sql}: {replies:?}");
        }
    });
}

fn a_statement_that_fails_in_a_transaction_changes_nothing(db: &'static Backend) {
    let proxy = proxy(db);
    run(async {
        let mut client = connect(&proxy).await;
        for begin in ["BEGIN", "SET autocommit = 0"] {
            client.query(begin).await.unwrap();
            // Whichever part is first, it is changed before the other one refuses its row. Both are
            // at one server.
            for new in ["(9, 2), (4, 1)", "(8, 2), (5, 1)"] {
                client.query("REPLACE INTO notes VALUES (4, 1), (5, 1)").await.unwrap();
                let refused = client.query(&format!("INSERT INTO notes VALUES {new}")).await.unwrap_err();
                assert!(refused.to_string().contains("Duplicate entry"), "{refused}");
                let kept = rows(&mut client, "SELECT id, number FROM notes ORDER BY id").await;
                assert_eq!(kept, ["4 1", "5 1"], "{begin}, behind {new}");
            }
            client.query("UPDATE notes SET number = 7 WHERE id IN (4, 5)").await.unwrap();
            assert_eq!(rows(&mut client, "SELECT number FROM notes").await, ["7", "7"], "{begin}");
            client.query("ROLLBACK").await.unwrap();
            assert!(rows(&mut client, "SELECT id FROM notes").await.is_empty(), "{begin}");
        }
    });
}

fn an_unknown_savepoint_is_an_error_of_the_statement_alone(db: &'static Backend) {
    let proxy = proxy(db);
    run(async {
        let mut client = connect(&proxy).await;
        let kept = "SELECT id FROM notes WHERE id IN (36, 40) ORDER BY id";
        let unknown = "does not exist";
        for (sql, error) in [
            ("BEGIN", ""),
            // No shard hears of these.
            ("SAVEPOINT a", ""),
            ("RELEASE SAVEPOINT a", ""),
            ("ROLLBACK TO a", unknown),
            ("INSERT INTO notes VALUES (36, 1)", ""),
            ("SAVEPOINT b", ""),
            ("INSERT INTO notes VALUES (40, 1)", ""),
            ("ROLLBACK TO a", unknown),
        ] {
            match client.query(sql).await {
                Ok(_) => assert_eq!(error, "", "{sql}"),
                Err(said) => assert!(!error.is_empty() && said.to_string().contains(error), "{sql}: {said}"),
            }
        }
        assert_eq!(rows(&mut client, kept).await, ["36", "40"]);
        // Another server comes into the transaction.
        assert_eq!(rows(&mut client, "SELECT id FROM events WHERE id = 2").await, ["2"]);
        client.query("ROLLBACK TO b").await.unwrap();
        assert_eq!(rows(&mut client, kept).await, ["36"]);
        client.query("RELEASE SAVEPOINT b").await.unwrap();
        assert!(client.query("ROLLBACK TO b").await.unwrap_err().to_string().contains(unknown));
        assert_eq!(rows(&mut client, kept).await, ["36"]);
        client.query("ROLLBACK").await.unwrap();
        assert!(rows(&mut client, kept).await.is_empty());
    });
}

fn through(db: &Backend, proxy: &Proxy, program: &str, more: &[&str]) -> Output {
    let port = format!("--port={}", proxy.tcp().port());
    let (user, password) = (format!("--user={USER}"), format!("--password={PASSWORD}"));
    let fixed =
        ["--no-defaults", "--protocol=TCP", "--host=127.0.0.1", "--skip-ssl", &port, &user, &password];
    tools::Running::start(&db.sandbox, program, fixed.iter().chain(more)).wait()
}

fn a_dump_has_all_rows(db: &'static Backend) {
    let proxy = proxy(db);
    let options = ["--single-transaction", "--skip-extended-insert", "shop"];
    let dump = through(db, &proxy, "mariadb-dump", &options).expect_success();
    for table in ["events", "notes", "plain"] {
        assert!(dump.contains(&format!("CREATE TABLE `{table}` (")), "{dump}");
    }
    let inserted = dump.lines().filter(|line| line.starts_with("INSERT INTO `events` VALUES (")).count();
    assert_eq!(u32::try_from(inserted).unwrap(), ROWS, "{dump}");
    assert!(!dump.contains("s1") && !dump.contains("notes_0"), "{dump}");
}

fn the_client_completes_names(db: &'static Backend) {
    let proxy = proxy(db);
    // With names to complete, the client asks for the columns of each table.
    let output =
        through(db, &proxy, "mariadb", &["--auto-rehash", "--execute=USE shop; SELECT COUNT(*) FROM plain"]);
    assert!(output.clone().expect_success().contains('1'), "{output:?}");
    if db.make == Make::MariaDb {
        assert!(!output.stderr.contains("Didn't find any fields"), "{output:?}");
    }
}
