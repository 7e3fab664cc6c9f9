//! The mode `own` before real servers: a write counts against the tables that it changes, and
//! against no others.

use e2e::{Backend, Proxy, run};
use testkit::client::{Client, Options};
use testkit::server::PASSWORD;

use super::{USER, proxy, value};

const OWN: &str = r#"{"cache": {"mode": "own"}}"#;

const SCHEMA: &str = "\
    CREATE DATABASE {db}; CREATE DATABASE {db}more; \
    GRANT ALL ON {db}.* TO plain@'127.0.0.1'; GRANT ALL ON {db}more.* TO plain@'127.0.0.1'; \
    CREATE TABLE {db}.parent (id INT PRIMARY KEY) ENGINE=InnoDB; \
    CREATE TABLE {db}more.child (id INT PRIMARY KEY, parent INT, \
      FOREIGN KEY (parent) REFERENCES {db}.parent (id) ON DELETE CASCADE ON UPDATE CASCADE) ENGINE=InnoDB; \
    CREATE TABLE {db}.source (id INT PRIMARY KEY, a INT NOT NULL DEFAULT 0) ENGINE=InnoDB; \
    CREATE TABLE {db}.trail (n INT) ENGINE=InnoDB; \
    CREATE TABLE {db}.other (n INT) ENGINE=InnoDB; \
    CREATE TABLE {db}.isam (n INT) ENGINE=MyISAM; \
    CREATE TRIGGER {db}.into_trail AFTER INSERT ON {db}.source FOR EACH ROW \
      INSERT INTO trail VALUES (NEW.id); \
    CREATE TABLE {db}.counted (n INT) ENGINE=InnoDB; \
    CREATE TABLE {db}.sums (n INT PRIMARY KEY, times INT) ENGINE=InnoDB; \
    CREATE TRIGGER {db}.into_sums AFTER INSERT ON {db}.counted FOR EACH ROW \
      INSERT INTO sums VALUES (NEW.n, 1) ON DUPLICATE KEY UPDATE times = times + 1; \
    CREATE VIEW {db}.seen AS SELECT id, a FROM {db}.source; \
    CREATE VIEW {db}.late AS SELECT n, NOW(6) AS at FROM {db}.other; \
    INSERT INTO {db}.parent VALUES (1), (2), (3), (4), (5), (6); \
    INSERT INTO {db}more.child VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6);";

/// Makes the schemas of a test.
fn prepare(server: &Backend, schema: &str) {
    server.sql(&SCHEMA.replace("{db}", schema));
}

/// A client in the schema of a test.
async fn client(proxy: &Proxy, user: &str, schema: &str) -> Client {
    Client::connect(&Options::tcp(proxy.tcp(), user, PASSWORD).schema(schema)).await.unwrap()
}

/// Reads until the answer is in the cache, and returns it: behind the first read definitions are
/// learnt, and another one may come before the worker of a write has noted its end.
async fn warm(client: &mut Client, sql: &str) -> String {
    for _ in 0..READS_MAX {
        let read = value(client, sql).await;
        let steps = client.query(&format!("EXPLAIN ROUTE {sql}")).await.unwrap().text().unwrap();
        if steps.iter().any(|step| step.iter().flatten().any(|text| text.starts_with("hit"))) {
            return read;
        }
    }
    panic!("{sql} is not cached after {READS_MAX} reads");
}

/// So many reads come before the end of a write was noted, at most.
const READS_MAX: usize = 10_000;

/// Statements of another session, behind each of which the next read is new.
async fn each_is_seen(clients: (&mut Client, &mut Client), read: &str, writes: &[(&[&str], &str)]) {
    let (reader, writer) = clients;
    for (statements, expected) in writes {
        let before = warm(reader, read).await;
        assert_ne!(before, *expected, "{read}, before {statements:?}");
        for statement in *statements {
            writer.query(statement).await.unwrap_or_else(|error| panic!("{statement}: {error}"));
        }
        assert_eq!(value(reader, read).await, *expected, "{read}, after {statements:?}");
    }
}

pub(super) fn c20_a_write_makes_answers_of_all_tables_that_it_changes_too_old(server: &Backend) {
    prepare(server, "own_changes");
    let proxy = proxy(server, OWN);
    run(async {
        let (mut reader, mut writer) =
            (client(&proxy, USER, "own_changes").await, client(&proxy, USER, "own_changes").await);
        // What is behind these tables is known from the second write on.
        for round in [0, 5] {
            let insert: [String; 5] =
                std::array::from_fn(|at| format!("INSERT INTO source (id) VALUES ({})", round + at + 1));
            let prepare = format!("PREPARE p FROM '{}'", insert[4]);
            let replace = insert[1].replace("INSERT", "REPLACE");
            let count: [String; 5] = std::array::from_fn(|at| (round + at + 1).to_string());
            let writes: [(&[&str], &str); 5] = [
                (&[&insert[0]], &count[0]),
                (&[&replace], &count[1]),
                (&["BEGIN", &insert[2], "UPDATE other SET n = 1", "COMMIT"], &count[2]),
                (&["XA START 'x'", &insert[3], "XA END 'x'", "XA PREPARE 'x'", "XA COMMIT 'x'"], &count[3]),
                (&[&prepare, "EXECUTE p", "DEALLOCATE PREPARE p"], &count[4]),
            ];
            each_is_seen((&mut reader, &mut writer), "SELECT COUNT(*) FROM trail", &writes).await;
            assert_eq!(value(&mut reader, "SELECT COUNT(*) FROM seen").await, count[4]);
        }
        let parents = "SELECT COUNT(*) FROM own_changesmore.child";
        each_is_seen(
            (&mut reader, &mut writer),
            parents,
            &[
                (&["DELETE FROM parent WHERE id = 1"], "5"),
                (&["DELETE FROM parent WHERE id = 2"], "4"),
                (&["DELETE parent FROM parent JOIN source ON parent.id = 3"], "3"),
            ],
        )
        .await;
        each_is_seen(
            (&mut reader, &mut writer),
            "SELECT MAX(parent) FROM own_changesmore.child",
            &[
                (&["UPDATE parent SET id = 60 WHERE id = 6"], "60"),
                (&["UPDATE parent SET id = 61 WHERE id = 60"], "61"),
            ],
        )
        .await;
        each_is_seen(
            (&mut reader, &mut writer),
            "SELECT SUM(a) FROM source",
            &[
                (&["UPDATE seen SET a = 1 WHERE id = 1"], "1"),
                (&["UPDATE seen SET a = 2 WHERE id = 1"], "2"),
                (
                    &[
                        "CREATE TABLE made LIKE source",
                        "INSERT INTO made VALUES (1, 7)",
                        "RENAME TABLE source TO gone, made TO source",
                    ],
                    "7",
                ),
                (&["DROP TABLE source", "RENAME TABLE gone TO source"], "2"),
            ],
        )
        .await;
        definitions_are_seen((&mut reader, &mut writer)).await;
    });
}

/// So are those of views, and what empties a table.
async fn definitions_are_seen(clients: (&mut Client, &mut Client)) {
    each_is_seen(
        clients,
        "SELECT COUNT(*) FROM seen",
        &[
            (&["CREATE OR REPLACE VIEW seen AS SELECT id, a FROM source WHERE id < 2"], "1"),
            (&["TRUNCATE source"], "0"),
        ],
    )
    .await;
}

pub(super) fn c20_a_write_to_other_tables_leaves_answers_as_they_are(server: &Backend) {
    prepare(server, "own_leaves");
    server.sql("INSERT INTO own_leaves.source VALUES (1, 1)");
    let proxy = proxy(server, OWN);
    run(async {
        let (mut reader, mut writer) =
            (client(&proxy, USER, "own_leaves").await, client(&proxy, USER, "own_leaves").await);
        for read in ["SELECT a FROM source WHERE id = 1", "SELECT a FROM seen WHERE id = 1"] {
            // What is behind tables is asked for as soon as there are such answers.
            warm(&mut reader, read).await;
            for _ in 0..2 {
                writer.query("INSERT INTO other VALUES (1)").await.unwrap();
                writer.query("INSERT INTO counted VALUES (1)").await.unwrap();
            }
            server.sql("UPDATE own_leaves.source SET a = 1");
            writer.query("UPDATE source SET a = 1").await.unwrap();
            // The ends of writes are noted before the next command of their session.
            writer.query("SELECT 1").await.unwrap();
            assert_eq!(warm(&mut reader, read).await, "1");
            server.sql("UPDATE own_leaves.source SET a = 2");
            let kept = [
                "INSERT INTO other VALUES (1)",
                "INSERT INTO counted VALUES (1)",
                "BEGIN",
                "DELETE FROM other",
                "COMMIT",
                "TRUNCATE other",
            ];
            for write in kept {
                writer.query(write).await.unwrap();
                assert_eq!(value(&mut reader, read).await, "1", "{read}, after {write}");
            }
            writer.query("UPDATE source SET a = 3").await.unwrap();
            assert_eq!(value(&mut reader, read).await, "3");
        }
    });
}

pub(super) fn views_and_engines_are_judged_by_their_definitions(server: &Backend) {
    prepare(server, "own_views");
    server.sql("INSERT INTO own_views.other VALUES (1); INSERT INTO own_views.isam VALUES (1)");
    for attributes in ["", OWN] {
        let proxy = proxy(server, attributes);
        run(async {
            let mut client = client(&proxy, USER, "own_views").await;
            let late = "SELECT CAST(at AS CHAR) FROM late LIMIT 1";
            // Behind the first read the definition is learnt.
            for _ in 0..6 {
                let first = value(&mut client, late).await;
                assert_ne!(value(&mut client, late).await, first, "the view calls NOW()");
            }
        });
    }
    let proxy = proxy(server, OWN);
    run(async {
        let (mut reader, mut writer) =
            (client(&proxy, USER, "own_views").await, client(&proxy, USER, "own_views").await);
        // What is written in a transaction to a table without transactions is seen at once.
        let read = "SELECT COUNT(*) FROM isam";
        for _ in 0..6 {
            assert_eq!(value(&mut reader, read).await, "1");
        }
        for statement in ["BEGIN", "INSERT INTO isam VALUES (2)"] {
            writer.query(statement).await.unwrap();
        }
        assert_eq!(value(&mut reader, read).await, "2");
    });
}

/// It sees no triggers: what its writes change is not known.
pub(super) fn c20_a_user_that_may_not_see_triggers_writes_to_all_tables(server: &Backend) {
    prepare(server, "own_blind");
    server.sql("GRANT SELECT, INSERT, DELETE ON own_blind.source TO other@'127.0.0.1'");
    let proxy = proxy(server, OWN);
    run(async {
        let (mut reader, mut writer) =
            (client(&proxy, USER, "own_blind").await, client(&proxy, "other", "own_blind").await);
        each_is_seen(
            (&mut reader, &mut writer),
            "SELECT COUNT(*) FROM trail",
            &[
                (&["INSERT INTO source (id) VALUES (1)"], "1"),
                (&["INSERT INTO source (id) VALUES (2)"], "2"),
                (&["INSERT INTO source (id) VALUES (3)"], "3"),
            ],
        )
        .await;
    });
}

/// It gets the account that a view asks for, not another one's answer.
pub(super) fn c21_a_view_that_depends_on_the_account_is_not_shared(server: &Backend) {
    prepare(server, "own_account");
    server.sql(
        "INSERT INTO own_account.other VALUES (1); \
         CREATE SQL SECURITY INVOKER VIEW own_account.whose AS \
           SELECT n, SUBSTRING_INDEX(USER(), '@', 1) AS u FROM own_account.other; \
         GRANT SELECT, SHOW VIEW ON own_account.whose TO other@'127.0.0.1'; \
         GRANT SELECT ON own_account.other TO other@'127.0.0.1'",
    );
    let proxy = proxy(server, "");
    run(async {
        let (mut one, mut other) =
            (client(&proxy, USER, "own_account").await, client(&proxy, "other", "own_account").await);
        for _ in 0..4 {
            assert_eq!(value(&mut one, "SELECT u FROM whose").await, USER);
            assert_eq!(value(&mut other, "SELECT u FROM whose").await, "other");
        }
    });
}

/// A write by a prepared statement goes to the schema of its PREPARE, one that a rule rewrites to
/// the other table, and one before an error may be in an open transaction.
pub(super) fn c20_a_write_counts_where_it_goes(server: &Backend) {
    prepare(server, "own_where");
    server.sql(
        "CREATE TABLE own_wheremore.other (n INT) ENGINE=InnoDB; CREATE TABLE own_where.eu (n INT) ENGINE=InnoDB",
    );
    server.sql(
        "DELIMITER //\nCREATE PROCEDURE own_where.fails() BEGIN INSERT INTO other VALUES (1); \
         SIGNAL SQLSTATE '45000'; END//",
    );
    let rewrite = "rule_id = 0\nactive = true\nmatch_pattern = \"other VALUES \\\\(7\"\n\
                   replace_pattern = \"eu VALUES (7\"";
    let proxy = super::setup(server, OWN).row("mysql_query_rules", rewrite).start();
    run(async {
        let mut reader = client(&proxy, USER, "own_where").await;
        let mut writer = client(&proxy, USER, "own_where").await;
        let (count, eu) = ("SELECT COUNT(*) FROM other", "SELECT COUNT(*) FROM eu");
        warm(&mut reader, count).await;
        // What is behind the tables is known from then on.
        for schema in ["own_wheremore", "own_where"] {
            writer.query(&format!("USE {schema}")).await.unwrap();
            writer.query("INSERT INTO other VALUES (1)").await.unwrap();
            writer.query("DELETE FROM other").await.unwrap();
        }
        let insert = writer.prepare("INSERT INTO other VALUES (1)").await.unwrap();
        writer.query("USE own_wheremore").await.unwrap();
        assert_eq!(warm(&mut reader, count).await, "0");
        server.sql("INSERT INTO own_where.other VALUES (100)");
        assert_eq!(value(&mut reader, count).await, "0", "it is cached");
        writer.query("INSERT INTO other VALUES (1)").await.unwrap();
        assert_eq!(value(&mut reader, count).await, "0", "that was another table");
        server.sql("DELETE FROM own_where.other");
        writer.execute(&insert, &[]).await.unwrap();
        assert_eq!(value(&mut reader, count).await, "1", "prepared in another schema");

        writer.query("USE own_where").await.unwrap();
        assert_eq!((warm(&mut reader, count).await, warm(&mut reader, eu).await), ("1".into(), "0".into()));
        writer.query("INSERT INTO other VALUES (2)").await.unwrap();
        writer.query("INSERT INTO other VALUES (7)").await.unwrap();
        assert_eq!(value(&mut reader, eu).await, "1", "rewritten");
        assert_eq!(value(&mut reader, count).await, "2");

        writer.query("SET autocommit = 0").await.unwrap();
        writer.query("CALL fails()").await.unwrap_err();
        assert_eq!(warm(&mut reader, count).await, "2");
        writer.query("COMMIT").await.unwrap();
        assert_eq!(value(&mut reader, count).await, "3", "committed behind an error");
    });
}
