//! What `SET`s are found to do.

use super::super::settings::Settings;
use super::*;

fn sets(text: &str) -> Sets {
    match change(text.as_bytes()) {
        Change::Sets(sets) => sets,
        other => panic!("{text}: {other:?}"),
    }
}

/// Of a statement of which the server is asked nothing.
fn settings(text: &str) -> Vec<(String, String)> {
    let Sets { settings, asked, user_variables } = sets(text);
    assert!(asked.is_empty() && !user_variables, "{text}: {asked:?}");
    let pair = |one: Setting| (one.key.into(), String::from_utf8(one.text.into()).unwrap());
    settings.into_iter().map(pair).collect()
}

/// What the server is asked for, and what stands for that until then.
fn asked(text: &str) -> (String, String) {
    let Sets { settings, asked, .. } = sets(text);
    let texts: Vec<_> = settings.iter().map(|one| String::from_utf8_lossy(&one.text)).collect();
    (asked.join(" "), texts.join("; "))
}

fn one(text: &str) -> (String, String) {
    let mut all = settings(text);
    assert_eq!(all.len(), 1, "{text}");
    all.remove(0)
}

#[test]
fn literals_are_settings() {
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(one("SET autocommit=0"), pair("autocommit", "SET SESSION autocommit = 0"));
    assert_eq!(one("set @@session.Sql_Mode := 'ANSI' ;"), pair("sql_mode", "SET SESSION sql_mode = 'ANSI'"));
    assert_eq!(one("SET LOCAL timestamp = DEFAULT"), pair("timestamp", "SET SESSION timestamp = DEFAULT"));
    assert_eq!(one("SET timestamp=-1"), pair("timestamp", "SET SESSION timestamp = -1"));
    let switches = pair("optimizer_switch", "SET SESSION optimizer_switch = default");
    assert_eq!(one("SET optimizer_switch = default"), switches);
    assert_eq!(
        one("SET NAMES utf8mb4 COLLATE utf8mb4_bin"),
        pair("names", "SET NAMES utf8mb4 COLLATE utf8mb4_bin")
    );
    assert_eq!(
        settings("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY"),
        [
            pair("transaction_isolation", "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"),
            pair("transaction_access", "SET SESSION TRANSACTION READ ONLY"),
        ],
        "neither takes the place of the other"
    );
    assert_eq!(one("SET @A := -1"), pair("@a", "SET @A := -1"));
    assert_eq!(one("SET @a.b$c='x'"), pair("@a.b$c", "SET @a.b$c='x'"));
    assert_eq!(one("SET @a = NULL"), pair("@a null", "SET @a = NULL"));
}

#[test]
fn c04_a_variable_that_is_set_to_null_keeps_its_type() {
    let mut all = Settings::default();
    let mut said = |text: &str| {
        assert!(sets(text).settings.into_iter().all(|one| all.set(one)));
        all.since(0).map(|one| String::from_utf8_lossy(&one.text).into_owned()).collect::<Vec<_>>()
    };
    assert_eq!(said("SET @a = 1"), ["SET @a = 1"]);
    assert_eq!(said("SET @a = NULL"), ["SET @a = 1", "SET @a = NULL"]);
    assert_eq!(said("SET @a = 'x'"), ["SET @a = 'x'"]);
}

#[test]
fn c04_switches_do_not_take_the_place_of_others() {
    let mut all = Settings::default();
    for text in [
        "SET optimizer_switch = 'mrr=on,index_merge=off'",
        "SET optimizer_switch = 'mrr_sort_keys=on'",
        "SET optimizer_switch = 'mrr=off'",
        "SET optimizer_switch = 'index_merge=on,mrr=on'",
    ] {
        assert!(sets(text).settings.into_iter().all(|one| all.set(one)));
    }
    let said: Vec<_> = all.since(0).map(|one| String::from_utf8_lossy(&one.text).into_owned()).collect();
    let set = |switches| format!("SET SESSION optimizer_switch = '{switches}'");
    assert_eq!(said, [set("mrr_sort_keys=on"), set("mrr=off"), set("index_merge=on,mrr=on")]);
    assert_eq!(change(b"SET optimizer_switch = 'mrr'"), Change::Unknown);
}

#[test]
fn c04_what_depends_on_the_moment_the_server_is_asked_for() {
    for (text, names, said) in [
        ("SET CHARACTER SET 'latin1'", "names", "SET CHARACTER SET 'latin1'"),
        ("SET CHARSET gbk", "names", "SET CHARSET gbk"),
        ("SET NAMES DEFAULT", "names", "SET NAMES DEFAULT"),
        ("SET NAMES latin1 COLLATE DEFAULT", "names", "SET NAMES latin1 COLLATE DEFAULT"),
        ("SET time_zone = DEFAULT", "time_zone", ""),
        ("SET LOCAL wait_timeout = DEFAULT", "wait_timeout", ""),
        ("SET sql_mode = @@global.sql_mode", "sql_mode", ""),
        ("SET sql_mode = (SELECT CONCAT(@@sql_mode, ',ANSI'))", "sql_mode", ""),
        ("SET collation_connection = @@collation_database", "collation_connection", ""),
        ("SET group_concat_max_len = CURRENT_DATE", "group_concat_max_len", ""),
        (
            "SET default_collation_for_utf8mb4 = utf8mb4_bin",
            "names",
            "SET SESSION default_collation_for_utf8mb4 = utf8mb4_bin",
        ),
        ("SET old_mode = ''", "names", "SET SESSION old_mode = ''"),
        ("SET time_zone = @old, sql_notes = 1", "time_zone", "SET SESSION sql_notes = 1"),
        (
            "SET sql_notes = 1, max_sort_length = @@div_precision_increment, time_zone = @a",
            "max_sort_length time_zone",
            "SET SESSION sql_notes = 1",
        ),
    ] {
        assert_eq!(asked(text), (names.to_owned(), said.to_owned()), "{text}");
    }
    for text in [
        "SET optimizer_switch = 'mrr=default'",
        "SET optimizer_switch = @@global.optimizer_switch",
        "SET transaction_isolation = DEFAULT",
        "SET max_join_size = DEFAULT",
        "SET time_zone = @old, collation_database = 'utf8mb4_bin'",
    ] {
        assert_eq!(change(text.as_bytes()), Change::Unknown, "{text}");
    }
}

#[test]
fn c04_a_setting_that_changes_another_one_is_said_behind_it() {
    let mut all = Settings::default();
    for text in ["SET max_join_size = 2", "SET sql_big_selects = 1", "SET max_join_size = 2"] {
        assert!(sets(text).settings.into_iter().all(|one| all.set(one)));
    }
    assert_eq!(all.since(0).map(|one| &*one.key).collect::<Vec<_>>(), ["sql_big_selects", "max_join_size"]);
}

#[test]
fn whether_there_is_another_schema() {
    assert!(has_use(b"SELECT 1; use `b` ;"));
    assert!(!has_use(b"SELECT 'use x'; SELECT `use` FROM t"));
}

#[test]
fn user_variables_may_get_what_is_not_written_there() {
    for text in [
        "SET @a = @@sql_mode",
        "SET @a = 1 + 1",
        "SET @a = \"x\"",
        "SET @a = 'x\\\\'",
        "SET @`a` = 1",
        "SET @a = b",
    ] {
        assert_eq!(sets(text), Sets { user_variables: true, ..Sets::default() }, "{text}");
    }
    let both = sets("SET NAMES utf8, @a := @@sql_mode, sql_safe_updates = ON");
    assert!(both.user_variables && both.asked.is_empty());
    assert_eq!(both.settings.iter().map(|one| &*one.key).collect::<Vec<_>>(), ["names", "sql_safe_updates"]);
}

#[test]
fn what_servers_would_understand_differently_is_unknown() {
    for text in [
        "SET sql_mode = (@old := @@sql_mode)",
        "SET time_zone =",
        "SET optimizer_switch = @old",
        "SET transaction_isolation = @old",
        "SET @@transaction_isolation = 'SERIALIZABLE', time_zone = '+00:00'",
        "SET max_join_size = @@max_seeks_for_key",
        "SET insert_id = 5",
        "SET profiling = 1",
        "SET gtid_next = 'AUTOMATIC'",
        "SET ROLE admin",
        "SET SESSION AUTHORIZATION admin",
        "SET RESOURCE GROUP slow",
        "SET tcp_nodelay = 0",
        "SET a = 1; DROP TABLE t",
        "/*!40101 SET NAMES utf8 */",
        "SET GLOBAL a = 1, b = 2",
        "SET NAMES",
        "SET x.y = 1",
        "SET x = 'unterminated",
    ] {
        assert_eq!(change(text.as_bytes()), Change::Unknown, "{text}");
    }
}

#[test]
fn what_one_variable_is_the_server_knows() {
    for (text, name) in [
        ("SET group_concat_max_len = @@max_allowed_packet", "group_concat_max_len"),
        ("SET SQL_MODE=@OLD_SQL_MODE", "sql_mode"),
        ("SET @@local.sql_mode := CONCAT(@@sql_mode, @more);", "sql_mode"),
        ("SET SESSION time_zone = IFNULL(@old, 'SYSTEM')", "time_zone"),
        ("SET character_set_client = ?", "character_set_client"),
        ("SET sql_auto_is_null = 1", "sql_auto_is_null"),
        ("SET x = -f(1, 2)", "x"),
    ] {
        assert_eq!(asked(text), (name.to_owned(), String::new()), "{text}");
    }
}

#[test]
fn what_a_server_tells_is_said_elsewhere() {
    let of = |name: &str, value: Option<&str>, is_number| {
        let setting = of_told(name, value.map(str::as_bytes), is_number)?;
        Some(String::from_utf8(setting.text.into()).unwrap())
    };
    assert_eq!(of("a", Some("17"), true).as_deref(), Some("SET SESSION a = 17"));
    assert_eq!(of("a", Some("10.000000"), true).as_deref(), Some("SET SESSION a = 10.000000"));
    assert_eq!(of("a", Some("17"), false).as_deref(), Some("SET SESSION a = '17'"));
    assert_eq!(of("a", Some(""), false).as_deref(), Some("SET SESSION a = ''"));
    assert_eq!(of("a", None, false).as_deref(), Some("SET SESSION a = NULL"));
    assert_eq!(
        of("names", Some("gbk NULL latin1_bin"), false).as_deref(),
        Some(
            "SET character_set_client = gbk, character_set_results = NULL, collation_connection = latin1_bin"
        )
    );
    for told in [None, Some("gbk gbk"), Some("gbk gbk gbk_bin gbk"), Some("gbk g'k gbk_bin")] {
        assert_eq!(of("names", told, false), None, "{told:?}");
    }
    assert_eq!(of("sql_auto_is_null", Some("0"), true).as_deref(), Some("SET SESSION sql_auto_is_null = 0"));
    for (name, value) in
        [("sql_auto_is_null", "1"), ("a", ""), ("a", "'"), ("a", "\\"), ("a", "\u{e4}"), ("a", "\n")]
    {
        assert_eq!(of(name, Some(value), value != "\n"), None, "{name} {value}");
    }
}

#[test]
fn what_is_not_of_the_session_changes_nothing() {
    for text in ["SET GLOBAL a = 1", "SET @@global.a = f(1)", "SET PASSWORD = 'x'"] {
        assert_eq!(change(text.as_bytes()), Change::Nothing, "{text}");
    }
    assert_eq!(change(b"SET TRANSACTION READ ONLY"), Change::NextTransaction);
    assert_eq!(change(b"SET @@transaction_isolation = 'SERIALIZABLE'"), Change::NextTransaction);
    assert_eq!(change(b"SET @@tx_read_only := 1;"), Change::NextTransaction);
    assert_eq!(one("SET tx_read_only = 1").0, "tx_read_only");
    assert_eq!(one("SET @@session.tx_read_only = 1").0, "tx_read_only");
}

#[test]
fn c04_what_is_set_for_one_statement_is_nothing_if_that_reads_or_writes_rows() {
    for text in ["SELECT 1", "insert into t values (1)", "WITH c AS (SELECT 1) SELECT * FROM c"] {
        let text = format!("SET STATEMENT max_statement_time = 1 FOR {text}");
        assert!(matches!(change(text.as_bytes()), Change::Nothing), "{text}");
    }
    for text in ["SAVEPOINT a", "CREATE TEMPORARY TABLE t (a INT)", "EXECUTE s", ""] {
        let text = format!("SET STATEMENT max_statement_time = 1 FOR {text}");
        assert!(matches!(change(text.as_bytes()), Change::Unknown), "{text}");
    }
}

/// What drivers and frameworks say first, in their defaults and usual settings.
#[test]
fn c04_what_drivers_say_first_is_said_again_elsewhere() {
    for text in [
        // MariaDB Connector/J 3.5
        "SET sql_mode=CONCAT(@@sql_mode,',STRICT_TRANS_TABLES'),session_track_system_variables = \
         CONCAT(@@global.session_track_system_variables,',transaction_isolation'),NAMES utf8mb4",
        "set session_track_system_variables = CONCAT(@@global.session_track_system_variables,',tx_isolation'),\
         autocommit=1, sql_mode = concat(@@sql_mode,',STRICT_TRANS_TABLES')",
        // MySQL Connector/J
        "SET character_set_results = NULL, autocommit=1, sql_mode=concat(@@sql_mode,',STRICT_TRANS_TABLES')",
        "SET net_write_timeout = 600",
        "SET SQL_SELECT_LIMIT=DEFAULT",
        // sqlx
        "SET sql_mode=(SELECT CONCAT(@@sql_mode, ',PIPES_AS_CONCAT,NO_ENGINE_SUBSTITUTION')),\
         time_zone='+00:00',NAMES utf8mb4 COLLATE utf8mb4_unicode_ci;",
        // Ruby on Rails
        "SET  @@SESSION.sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES'),  \
         @@SESSION.sql_auto_is_null = 0, @@SESSION.wait_timeout = 2147483",
        // MySQL Connector/Python, Django
        "SET NAMES 'utf8mb4' COLLATE 'utf8mb4_0900_ai_ci'",
        "SET @@session.autocommit = OFF",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        // Laravel
        "set names 'utf8mb4' collate 'utf8mb4_unicode_ci'",
        "SET SESSION sql_mode='ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES'",
    ] {
        let Sets { user_variables, settings, asked } = sets(text);
        assert!(!(user_variables || settings.is_empty() && asked.is_empty()), "{text}");
    }
}
