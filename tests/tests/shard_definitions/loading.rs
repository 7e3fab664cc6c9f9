//! `LOAD SHARDS TO RUNTIME`, and a start.

use e2e::{Backend, Proxy, admin, run};
use testkit::client::Client;

use super::{schemas, setup};

const LOAD: &str = "LOAD SHARDS TO RUNTIME";

/// Gives the admin port a layout of one table, whose nodes are in the schemas `{name}_1` and
/// `{name}_2` of these hostgroups.
async fn table(admin: &mut Client, name: &str, row: &str, hostgroups: [u32; 2]) {
    for statement in [
        "DELETE FROM pointsman_shard_tables".to_owned(),
        "DELETE FROM pointsman_shard_nodes".to_owned(),
        format!(
            "INSERT INTO pointsman_shard_tables (schema_name, table_name, kind, key_columns, function, unique_keys) \
             VALUES ('shop', 't', {row})"
        ),
        format!(
            "INSERT INTO pointsman_shard_nodes VALUES ('shop', 't', 0, {}, '{name}_1', 't'), \
             ('shop', 't', 1, {}, '{name}_2', 't')",
            hostgroups[0], hostgroups[1]
        ),
    ] {
        admin.query(&statement).await.unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
}

/// What the load says if it is refused.
async fn refused(proxy: &Proxy, name: &str, row: &str) -> String {
    let mut admin = admin::connect(proxy).await;
    table(&mut admin, name, row, [1, 2]).await;
    let refused = admin.query(LOAD).await.unwrap_err().to_string();
    assert!(refused.contains("SHARDS not loaded"), "{refused}");
    assert_eq!(admin::value(&mut admin, "SELECT COUNT(*) FROM runtime_pointsman_shard_tables").await, "0");
    refused
}

/// What the load says besides OK.
async fn loaded(proxy: &Proxy, name: &str, row: &str, hostgroups: [u32; 2]) -> String {
    let mut admin = admin::connect(proxy).await;
    table(&mut admin, name, row, hostgroups).await;
    let info = admin.query(LOAD).await.unwrap_or_else(|error| panic!("{name}: {error}")).info;
    assert_eq!(admin::value(&mut admin, "SELECT COUNT(*) FROM runtime_pointsman_shard_tables").await, "1");
    info
}

const SHARDED: &str = "'sharded', 'id', 'mod', 'checked'";
const UNCHECKED: &str = "'sharded', 'id', 'mod', 'unchecked'";
const REFERENCE: &str = "'reference', '', '', 'checked'";

pub(super) fn names_what_differs(db: &'static Backend) {
    schemas(db, "alike", "CREATE TABLE t (id INT PRIMARY KEY, note VARCHAR(9))");
    schemas(db, "differs", "CREATE TABLE t (id INT PRIMARY KEY, note VARCHAR({n}0))");
    schemas(db, "apart", "CREATE TABLE t (id INT PRIMARY KEY, no INT, UNIQUE by_no (no))");
    schemas(db, "lacks", "");
    db.sql("CREATE TABLE lacks_1.t (id INT PRIMARY KEY)");
    schemas(db, "nowhere", "");
    let proxy = setup(db).start();
    run(async {
        let found = refused(&proxy, "differs", SHARDED).await;
        let part = "table shop.t, hostgroup 2, differs_2.t: it differs from the first node; only here: column 2 \
                    `note` varchar(20)";
        assert!(found.contains(part) && found.contains("only there"), "{found}");
        let found = refused(&proxy, "apart", SHARDED).await;
        for part in
            ["hostgroup 1, apart_1.t: the unique key by_no lacks the column id", "hostgroup 2, apart_2.t"]
        {
            assert!(found.contains(part), "{found}");
        }
        let found = refused(&proxy, "lacks", SHARDED).await;
        assert!(found.contains("hostgroup 2, lacks_2.t: there is no such table"), "{found}");
        assert_eq!(loaded(&proxy, "apart", UNCHECKED, [1, 2]).await, "");
        let warned = loaded(&proxy, "differs", UNCHECKED, [1, 2]).await;
        assert!(warned.contains("differs_2.t: it differs from the first node"), "{warned}");
        let warned = loaded(&proxy, "nowhere", SHARDED, [1, 2]).await;
        assert_eq!(warned, "table shop.t: no server that was asked has it");
        assert_eq!(loaded(&proxy, "alike", SHARDED, [1, 2]).await, "");
    });
}

pub(super) fn refuses_own_values(db: &'static Backend) {
    schemas(db, "stamped", "CREATE TABLE t (id INT PRIMARY KEY, at DATETIME DEFAULT CURRENT_TIMESTAMP)");
    schemas(
        db,
        "touched",
        "CREATE TABLE t (id INT PRIMARY KEY, at DATETIME NULL DEFAULT NULL ON UPDATE CURRENT_TIMESTAMP)",
    );
    schemas(db, "uuids", "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(40) DEFAULT (UUID()))");
    schemas(
        db,
        "triggers",
        "CREATE TABLE t (id INT PRIMARY KEY, r DOUBLE); \
         CREATE TRIGGER chance BEFORE INSERT ON t FOR EACH ROW SET NEW.r = RAND()",
    );
    let proxy = setup(db).start();
    run(async {
        for (name, part) in [
            ("uuids", "column name: the copies of a row differ where a statement does not say the value"),
            ("uuids", "each server has its own uuid()"),
            ("triggers", "the trigger chance calls rand()"),
        ] {
            let found = refused(&proxy, name, REFERENCE).await;
            assert!(found.contains(part), "{found}");
            // A row of a sharded table is there once.
            assert_eq!(loaded(&proxy, name, SHARDED, [1, 2]).await, "");
            let mut admin = admin::connect(&proxy).await;
            admin.query("DELETE FROM pointsman_shard_tables").await.unwrap();
            admin.query("DELETE FROM pointsman_shard_nodes").await.unwrap();
            admin.query(LOAD).await.unwrap();
        }
        for name in ["stamped", "touched"] {
            assert_eq!(loaded(&proxy, name, REFERENCE, [1, 2]).await, "", "a change has one time");
            let mut admin = admin::connect(&proxy).await;
            admin.query("DELETE FROM pointsman_shard_tables").await.unwrap();
            admin.query("DELETE FROM pointsman_shard_nodes").await.unwrap();
            admin.query(LOAD).await.unwrap();
        }
    });
}

pub(super) fn goes_on_without_a_server(db: &'static Backend) {
    schemas(db, "half", "CREATE TABLE t (id INT PRIMARY KEY)");
    // Nothing listens there.
    let gone = "hostgroup_id = 3\nhostname = '127.0.0.1'\nport = 1";
    let proxy = setup(db).row("mysql_servers", gone).start();
    run(async {
        let warned = loaded(&proxy, "half", SHARDED, [1, 3]).await;
        assert!(
            warned.starts_with("hostgroup 3 was not asked for all of its tables: 127.0.0.1:1"),
            "{warned}"
        );
        let mut admin = admin::connect(&proxy).await;
        table(&mut admin, "half", SHARDED, [1, 2]).await;
        assert_eq!(admin.query(LOAD).await.unwrap().info, "");
    });
}

pub(super) fn at_a_start(db: &'static Backend) {
    schemas(db, "start", "CREATE TABLE t (id INT PRIMARY KEY, note VARCHAR({n}0))");
    let proxy = setup(db)
        .row(
            "shards.table",
            "schema = 'shop'\ntable = 't'\nkey = 'id'\nfunction = 'mod'\nnodes = '1/start_1.t, 2/start_2.t'",
        )
        .start();
    let line = proxy.wait_for_log("a sharded table is not as it should be");
    assert!(line.contains("hostgroup 2, start_2.t: it differs from the first node"), "{line}");
}
