//! Where the configuration comes from at a start.

use std::path::Path;

use super::*;
use crate::answer::Answer;

/// A configuration file in a folder that is also its `datadir`.
fn write(folder: &Path, weight: u32) -> PathBuf {
    let text = format!(
        "datadir = \"{}\"\n[mysql_variables]\nwait_timeout = {weight}000\n[[mysql_servers]]\nhostname = \"a\"\n\
         weight = {weight}\n[[mysql_users]]\nusername = \"u\"\n",
        folder.display()
    );
    let file = folder.join("pointsman.toml");
    std::fs::write(&file, text).unwrap();
    file
}

fn try_start(file: &Path, initial: bool, reload: bool) -> Result<Booted, BootError> {
    let loaded = config::load(file, config::Strictness::Strict).unwrap();
    boot(Start { file: file.to_path_buf(), loaded, initial, reload })
}

fn start(file: &Path, initial: bool, reload: bool) -> Booted {
    let mut booted = try_start(file, initial, reload).unwrap_or_else(|error| panic!("{error}"));
    booted.store.save_first().unwrap();
    booted
}

/// The weight of the server and the variable that run.
fn running(booted: &Booted) -> (u32, u64) {
    let config = booted.store.config();
    (config.servers[0].weight, config.variables.wait_timeout.as_secs())
}

fn sql(store: &mut Store, sql: &str) -> Vec<Vec<u8>> {
    match store.query(sql) {
        Answer::Rows { rows, .. } => rows.into_iter().flatten().flatten().collect(),
        Answer::Ok { .. } => Vec::new(),
        other => panic!("{sql}: {other:?}"),
    }
}

#[test]
fn the_first_start_takes_the_file_and_later_ones_what_is_saved() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), 1);
    let booted = start(&file, false, false);
    assert_eq!(running(&booted), (1, 1));
    assert_eq!(booted.warnings, Vec::<String>::new());
    drop(booted);

    write(folder.path(), 2);
    let mut booted = start(&file, false, false);
    assert_eq!(running(&booted), (1, 1));
    assert!(booted.warnings[0].starts_with("the saved configuration counts"), "{:?}", booted.warnings);
    assert_eq!(sql(&mut booted.store, "SELECT weight FROM main.mysql_servers"), [b"1"]);
    drop(booted);

    assert_eq!(running(&start(&file, false, true)), (2, 2));
    assert_eq!(running(&start(&file, false, false)), (2, 2));

    write(folder.path(), 3);
    assert_eq!(running(&start(&file, true, false)), (3, 3));
    assert!(folder.path().join("pointsman.db.bak").exists());
    let booted = start(&file, false, false);
    assert_eq!((running(&booted), booted.warnings.len()), ((3, 3), 0));
}

#[test]
fn behind_a_start_all_layers_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), 1);
    for which in ["the first", "a later"] {
        let mut booted = start(&file, false, false);
        for module in Module::ALL {
            let Answer::Rows { rows, .. } = booted.store.diff(module) else { panic!("{module:?}") };
            assert_eq!(rows, Vec::<Vec<_>>::new(), "{which} start, {module:?}");
        }
        let version = "SELECT variable_value FROM global_variables WHERE variable_name='admin-version'";
        assert_eq!(sql(&mut booted.store, version), [crate::VERSION.as_bytes()], "{which} start");
    }
}

/// Listeners have no key: two may have the same address, with port 0.
#[test]
fn a_file_with_two_listeners_is_what_is_saved_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), 1);
    let text = std::fs::read_to_string(&file).unwrap();
    let with = |listeners: &[&str]| {
        let rows = listeners.iter().map(|address| format!("[[listeners]]\naddress = '{address}'\n"));
        std::fs::write(&file, format!("{text}{}", rows.collect::<String>())).unwrap();
        start(&file, false, false).warnings.len()
    };
    assert_eq!(with(&["127.0.0.1:0", "/a.sock", "127.0.0.1:0"]), 0);
    assert_eq!(with(&["127.0.0.1:0", "/a.sock", "127.0.0.1:0"]), 0);
    assert_eq!(with(&["127.0.0.1:0", "/b.sock", "127.0.0.1:0"]), 1);
    assert_eq!(with(&["127.0.0.1:0", "/a.sock"]), 1);
}

#[test]
fn a_first_start_saves_nothing_before_it_is_told_to() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), 1);
    for weight in [1, 2] {
        write(folder.path(), weight);
        let booted = try_start(&file, false, false).unwrap();
        assert_eq!(running(&booted).0, weight);
    }
}

#[test]
fn what_runs_is_not_saved_before_a_save() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), 1);
    let mut booted = start(&file, false, false);
    sql(&mut booted.store, "UPDATE mysql_servers SET weight=9");
    assert!(matches!(
        booted.store.shift(Module::MysqlServers, Move::MemoryToRuntime, "t"),
        Answer::Ok { .. }
    ));
    assert_eq!(running(&booted).0, 9);
    drop(booted);
    assert_eq!(running(&start(&file, false, false)).0, 1);
}

#[test]
fn without_a_datadir_the_file_counts_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("proxysql.cnf");
    std::fs::write(&file, "mysql_servers = ( { address=\"a\" } )").unwrap();
    let mut booted = start(&file, false, false);
    assert_eq!(sql(&mut booted.store, "SELECT hostname FROM disk.mysql_servers"), [b"a"]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// What was saved and cannot be used is told with its row, and left as it is.
#[test]
fn c26_a_saved_configuration_with_a_mistake_does_not_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), 1);
    let mut booted = start(&file, false, false);
    sql(&mut booted.store, "UPDATE disk.mysql_servers SET hostname='a b'");
    drop(booted);
    let error = try_start(&file, false, false).unwrap_err().to_string();
    let database = folder.path().join("pointsman.db");
    assert!(
        error.starts_with(&format!("the configuration in {} cannot be used: ", database.display())),
        "{error}"
    );
    assert!(
        error.contains("mysql_servers row hostgroup_id=0, hostname='a b', port=3306: `hostname` must be"),
        "{error}"
    );
}

/// A database as an older ProxySQL saves it: fewer columns, more variables, rows that are not
/// accepted here.
#[test]
fn a_proxysql_db_is_taken_as_far_as_it_goes() {
    let folder = tempfile::tempdir().unwrap();
    let theirs = folder.path().join("proxysql.db");
    Connection::open(&theirs)
        .unwrap()
        .execute_batch(
            "CREATE TABLE mysql_servers (hostgroup_id INT, hostname VARCHAR, port INT, status VARCHAR, weight INT, \
               mysql_old INT); \
             INSERT INTO mysql_servers VALUES (1,'a',3306,'ONLINE',5,0), (1,'b',99999,'ONLINE',5,0); \
             CREATE TABLE mysql_users (username VARCHAR, password VARCHAR, frontend INT, backend INT); \
             INSERT INTO mysql_users VALUES ('u','p',1,0), ('u','p',0,1); \
             CREATE TABLE mysql_ldap_mapping (priority INT); INSERT INTO mysql_ldap_mapping VALUES (1); \
             CREATE TABLE clickhouse_users (username VARCHAR); \
             CREATE TABLE global_variables (variable_name VARCHAR, variable_value VARCHAR); \
             INSERT INTO global_variables VALUES ('mysql-wait_timeout','7000'), ('mysql-forward_autocommit','false'), \
               ('mysql-threads','4000'), ('mysql-init_connect',NULL), ('admin-version','2.0.1'), ('ldap-x','1'), \
               ('mysql-new_in_3','1')",
        )
        .unwrap();
    let imported = import(&theirs, folder.path()).unwrap();
    assert_eq!(
        imported.taken,
        ["mysql_servers: 1 of 2 rows", "mysql_users: 2 of 2 rows", "global_variables: 4 of 7 rows"]
    );
    assert_eq!(
        imported.left,
        [
            "mysql_servers: row 2: CHECK constraint failed: port >= 0 AND port <= 65535",
            "mysql_servers: unknown columns: mysql_old",
            "mysql_ldap_mapping: 1 rows: there is no such table here",
            "global_variables: there is no variable `ldap-x`",
            "global_variables: there is no variable `mysql-new_in_3`",
            "global_variables: `mysql-threads` must be a whole number from 1 to 255, not \"4000\""
        ]
    );
    let again = import(&theirs, folder.path()).unwrap_err().to_string();
    assert!(again.ends_with("it holds one already; move it away first"), "{again}");

    let booted = start(&write(folder.path(), 1), false, false);
    assert_eq!(running(&booted), (5, 7));
    assert_eq!(booted.store.config().users.len(), 2);
}

/// In ProxySQL 2 they are hidden by a last rule that applies, whether it matches or not.
#[test]
fn fast_routing_that_begins_to_count_is_told() {
    for (apply, told) in [(0, false), (1, true)] {
        let folder = tempfile::tempdir().unwrap();
        let theirs = folder.path().join("proxysql.db");
        Connection::open(&theirs)
            .unwrap()
            .execute_batch(&format!(
                "CREATE TABLE mysql_query_rules (rule_id INT, active INT, apply INT); \
                 INSERT INTO mysql_query_rules VALUES (1,1,1), (2,1,{apply}), (3,0,1); \
                 CREATE TABLE mysql_query_rules_fast_routing (username VARCHAR, schemaname VARCHAR, flagIN INT, \
                   destination_hostgroup INT, comment VARCHAR); \
                 INSERT INTO mysql_query_rules_fast_routing VALUES ('u','s',0,1,'')"
            ))
            .unwrap();
        let left = import(&theirs, folder.path()).unwrap().left;
        let is_it = |line: &String| line.starts_with("mysql_query_rules_fast_routing: it is asked here");
        assert_eq!(left.iter().any(is_it), told, "{left:?}");
    }
}

#[test]
fn a_datadir_is_used_by_one_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), 1);
    let booted = start(&file, false, false);
    let error = try_start(&file, true, false).unwrap_err().to_string();
    assert!(error.contains("another pointsman uses"), "{error}");
    assert!(!folder.path().join("pointsman.db.bak").exists(), "nothing was moved away under it");
    drop(booted);
    assert_eq!(running(&start(&file, true, false)), (1, 1));
}

/// The page shows what this check says.
#[test]
fn the_check_tells_what_the_file_has_that_cannot_be_used() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("proxysql.cnf");
    let text = "admin_variables = { admin_credentials = \"a:b\" stats_credentials = \"\" }\n\
                mysql_servers = ( { address = \"a\", port = 3306, hostgroup = 0 } )\n\
                mysql_users = ( { username = \"u\", password = \"p\" } )\n\
                mysql_query_rules = ( { rule_id = 7, active = 2, apply = 1 } )\n";
    std::fs::write(&file, format!("datadir = \"{}\"\n{text}", folder.path().display())).unwrap();
    let start = |reload| {
        let loaded = config::load(&file, config::Strictness::Lenient).unwrap();
        let mut booted = boot(Start { file: file.clone(), loaded, initial: false, reload }).unwrap();
        booted.store.save_first().unwrap();
        booted.store.check_config()
    };
    let told = |answer| match answer {
        Answer::Rows { rows, .. } => {
            let cells: Vec<_> = rows.into_iter().flatten().flatten().collect();
            cells.join(&b'|')
        }
        _ => Vec::new(),
    };
    let first = String::from_utf8(told(start(false))).unwrap();
    assert!(first.starts_with("warning|") && first.contains("row rule_id=7: "), "{first}");
    assert!(first.ends_with("; the row is skipped"), "{first}");
    assert_eq!(told(start(false)), b"", "what is saved counts, not the file");
    assert_eq!(told(start(true)), first.into_bytes());
}
