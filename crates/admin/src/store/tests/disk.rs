//! Files: what stays, and what happens when they cannot be used.

use std::os::unix::fs::PermissionsExt as _;

use rusqlite::Connection;

use super::*;

#[test]
fn what_is_saved_is_there_when_the_store_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(Some(folder.path())).unwrap();
    assert!(!store.has_saved().unwrap());
    store.sql("INSERT INTO mysql_users (username) VALUES ('u')");
    store.moved(Module::MysqlUsers, Move::MemoryToDisk);
    store.moved(Module::MysqlVariables, Move::MemoryToDisk);
    drop(store);
    let mut store = Store::open(Some(folder.path())).unwrap();
    assert!(store.has_saved().unwrap());
    assert_eq!(store.sql("SELECT username FROM disk.mysql_users"), "u");
    assert_eq!(store.sql("SELECT username FROM mysql_users"), "");
    let mode = std::fs::metadata(folder.path().join("pointsman.db")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_broken_file_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pointsman.db");
    std::fs::write(&path, "this is no database, although it is long enough to be taken for one".repeat(20))
        .unwrap();
    let error = Store::open(Some(folder.path())).unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "cannot use {} as a database: file is not a database; restore it from a copy or move it away",
            path.display()
        )
    );
}

#[test]
fn a_folder_that_is_not_there_is_named_once_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("nowhere");
    let error = Store::open(Some(&missing)).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "datadir is {}, which is no folder: create it, owned by the user that runs pointsman, or change datadir",
            missing.display()
        )
    );
    assert!(std::error::Error::source(&error).is_none(), "the cause would be printed twice");
    // What the system says about a file is a part of the sentence, so it must not follow it.
    std::fs::create_dir(folder.path().join("a")).unwrap();
    std::fs::create_dir(folder.path().join("a/pointsman.db")).unwrap();
    let error = Store::open(Some(&folder.path().join("a"))).unwrap_err();
    assert!(std::error::Error::source(&error).is_none(), "{error}");
}

#[test]
fn a_broken_history_is_left_alone_and_done_without() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pointsman_stats.db");
    let broken = "this is no database either, and as long as it has to be to be taken for one".repeat(20);
    std::fs::write(&path, &broken).unwrap();
    let mut store = Store::open(Some(folder.path())).unwrap();
    assert_eq!(store.sql("SELECT COUNT(*) FROM stats_history.system_cpu"), "0");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), broken);
}

#[test]
fn a_newer_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    drop(Store::open(Some(folder.path())).unwrap());
    let path = folder.path().join("pointsman.db");
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let error = Store::open(Some(folder.path())).unwrap_err().to_string();
    assert!(
        error.ends_with("it has layout 99 of a newer program; this one knows layouts up to 1"),
        "{error}"
    );
}

#[test]
fn a_table_of_another_layout_is_kept_and_its_rows_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    drop(Store::open(Some(folder.path())).unwrap());
    Connection::open(folder.path().join("pointsman.db"))
        .unwrap()
        .execute_batch(
            "DROP TABLE mysql_users; CREATE TABLE mysql_users (username VARCHAR, password VARCHAR, old INT); \
             INSERT INTO mysql_users VALUES ('a','x',1), ('b',NULL,2), (NULL,NULL,3)",
        )
        .unwrap();
    let mut store = Store::open(Some(folder.path())).unwrap();
    assert_eq!(
        store.sql("SELECT username, password, max_connections FROM disk.mysql_users"),
        "a|x|10000\nb|NULL|10000"
    );
    assert_eq!(store.sql("SELECT COUNT(*), SUM(old) FROM disk.mysql_users_v1"), "3|6");
    assert_eq!(
        store.sql("SELECT what FROM disk.pointsman_migrations"),
        "mysql_users: 2 of 3 rows taken from mysql_users_v1"
    );
    drop(store);
    let mut store = Store::open(Some(folder.path())).unwrap();
    assert_eq!(store.sql("SELECT COUNT(*) FROM disk.pointsman_migrations"), "1");
}

/// A save that finds no room leaves what was saved before.
#[test]
fn a_full_disk_is_told_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(Some(folder.path())).unwrap();
    store.sql("INSERT INTO mysql_users (username) VALUES ('u')");
    store.moved(Module::MysqlUsers, Move::MemoryToDisk);
    let pages: i64 = store.connection().query_row("PRAGMA disk.page_count", [], |row| row.get(0)).unwrap();
    store.connection().pragma_update(Some("disk"), "max_page_count", pages).unwrap();
    store.sql(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<5000) \
         INSERT INTO mysql_users (username) SELECT 'user'||i FROM n",
    );
    assert_eq!(
        store.moved(Module::MysqlUsers, Move::MemoryToDisk),
        "ERROR 1045 ProxySQL Admin Error: database or disk is full"
    );
    assert_eq!(store.sql("SELECT username FROM disk.mysql_users"), "u");
    assert_eq!(store.sql("SELECT COUNT(*) FROM mysql_users"), "5001");
    assert_eq!(store.loaded(Module::MysqlUsers), "OK 0");
}

#[test]
fn a_replaced_file_is_read_after_it_was_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let other = tempfile::tempdir().unwrap();
    let mut theirs = Store::open(Some(other.path())).unwrap();
    theirs.sql("INSERT INTO disk.mysql_users (username) VALUES ('theirs')");
    drop(theirs);
    let mut store = Store::open(Some(folder.path())).unwrap();
    std::fs::rename(other.path().join("pointsman.db"), folder.path().join("pointsman.db")).unwrap();
    assert_eq!(shown(store.reopen_disk()), "OK 0");
    assert_eq!(store.sql("SELECT username FROM disk.mysql_users"), "theirs");
}
