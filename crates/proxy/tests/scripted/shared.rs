//! Sessions that share connections to servers: who gets which, what is said on it before, and what
//! no session may notice.

use config::{Config, QueryRule, ServerStatus};
use testkit::client::Options;
use wire::StatusFlags;
use wire::command::Kind;

use super::support::{
    CLASSIC, Client, Database, Servers, begin, config as usual, first_query, log_in, log_in_as, ms, options,
    options_for, play, rule, run, settle, stage, user,
};
use proxy::stage::Stage;

/// The question that goes with a login or a reset over a connection that is there.
const QUESTION: &str = "SELECT @@init_connect <> '', @@GLOBAL.max_allowed_packet, @@max_statement_time, @@GLOBAL.max_statement_time";
/// The same at MySQL.
const MYSQL_QUESTION: &str = "SELECT @@init_connect <> '', @@GLOBAL.max_allowed_packet";
/// The question before a connection changes hands for the first time.
pub(super) const PACKET_QUESTION: &str = "SELECT @@SESSION.max_allowed_packet";

/// What a client with the usual collation has said at its login.
pub(super) const CHARSET: &str =
    "SET character_set_client = 45, character_set_results = 45, collation_connection = 45";

/// One server with one connection, which all sessions share. No prepared statement stays there when
/// they take turns.
pub(super) fn config() -> Config {
    let mut config = usual();
    config.variables.multiplexing = true;
    config.variables.max_stmts_per_connection = 0;
    config.servers[0].max_connections = 1;
    config.variables.connect_timeout_server_max = ms(100);
    config
}

/// The server lets another client of the user in over the connection that there is.
pub(super) async fn let_in(server: &mut Database) {
    logs_in_again(server).await;
    server.ok().await;
    question(server).await;
}

/// Another client of the user logs in over the connection that there is.
pub(super) async fn logs_in_again(server: &mut Database) {
    let mut command = server.read_command().await;
    if command.get(1..) == Some(PACKET_QUESTION.as_bytes()) {
        server.rows(&["m"], &[&[Some("16777216")]]).await;
        command = server.read_command().await;
    }
    assert_eq!(command.first(), Some(&(Kind::ChangeUser as u8)), "{}", command.escape_ascii());
}

/// The server has nothing to do at logins.
pub(super) async fn question(server: &mut Database) {
    question_with(server, "0", "16777216", "0.000000").await;
}

/// The server is asked what it does at logins, and says this. Whether that is MariaDB.
pub(super) async fn question_with(server: &mut Database, init: &str, packet: &str, seconds: &str) -> bool {
    let asked = server.read_command().await;
    let is_mariadb = asked.get(1..) == Some(QUESTION.as_bytes());
    assert!(is_mariadb || asked.get(1..) == Some(MYSQL_QUESTION.as_bytes()), "{}", asked.escape_ascii());
    let row = [init, packet, seconds, "0.000000"].map(Some);
    let len = if is_mariadb { 4 } else { 2 };
    server.rows(&row.map(|_| "?")[..len], &[&row[..len]]).await;
    is_mariadb
}

/// The server takes back what the session that had the connection before has set, for one with the
/// usual collation.
pub(super) async fn takes_back(server: &mut Database) {
    server.expect_command(Kind::ResetConnection, b"").await;
    server.ok().await;
    if !question_with(server, "0", "16777216", "0.000000").await {
        server.expect_query(CHARSET).await;
        server.ok().await;
    }
}

/// The server is asked for the key of the session that had the connection before, and says this.
pub(super) async fn asked(server: &mut Database, last_id: &str) {
    server.expect_query("SELECT @@last_insert_id").await;
    server.rows(&["@@last_insert_id"], &[&[Some(last_id)]]).await;
}

/// A statement that comes to the server once all has been said that has to be said before.
pub(super) async fn comes(client: &mut Client, server: &mut Database, sql: &str) {
    server.expect_query(sql).await;
    server.ok().await;
    client.expect_ok().await;
}

/// A statement of a client that has had no connection before.
async fn first_of(client: &mut Client, server: &mut Database) {
    client.send_query("SELECT 0").await;
    let_in(server).await;
    comes(client, server, "SELECT 0").await;
}

/// Two clients with one connection, which the second has used last.
pub(super) async fn two() -> (Stage, Servers, Client, Client, Database) {
    two_of(config(), &options(), &options()).await
}

pub(super) async fn two_of(
    config: Config,
    one: &Options,
    two: &Options,
) -> (Stage, Servers, Client, Client, Database) {
    let (stage, mut servers) = stage(config);
    let mut one = log_in_as(&stage, one).await;
    let mut server = first_query(&mut one, &mut servers).await;
    let mut two = log_in_as(&stage, two).await;
    first_of(&mut two, &mut server).await;
    (stage, servers, one, two, server)
}

#[test]
fn sessions_take_turns_on_one_connection() {
    play(async || {
        let (stage, _servers, mut one, mut two, mut server) = two().await;
        for _ in 0..3 {
            run(&mut one, &mut server, "SELECT 1").await;
            run(&mut two, &mut server, "SELECT 2").await;
            run(&mut two, &mut server, "SELECT 3").await;
        }
        settle().await;
        assert_eq!((stage.usage(0).open, stage.usage(0).resting), (1, 1));
        assert_eq!(stage.global("Server_Connections_created"), 1);
    });
}

#[test]
fn c01_a_session_never_gets_the_connection_of_another_login() {
    let mut config = config();
    config.users.push(user("other", "word"));
    config.servers[0].max_connections = 2;
    play(async || {
        for other in [options_for("other", "word"), options().capabilities(CLASSIC)] {
            let (stage, mut servers) = stage(config.clone());
            let mut one = log_in(&stage).await;
            let _server = first_query(&mut one, &mut servers).await;
            let mut two = log_in_as(&stage, &other).await;
            let _its_own = first_query(&mut two, &mut servers).await;
            assert_eq!(stage.usage(0).open, 2, "{other:?}");
        }
    });
}

/// What binds a connection to its session, and what lets it go again.
#[test]
fn pins_begin_and_end() {
    binds(&[
        ("CREATE TEMPORARY TABLE t (a INT)", Some("DROP TABLE t")),
        ("LOCK TABLES t READ", Some("UNLOCK TABLES")),
        ("SELECT GET_LOCK('a', 1)", Some("DO RELEASE_LOCK('a')")),
        ("SELECT SQL_CALC_FOUND_ROWS 1", Some("SELECT 1")),
        ("HANDLER t OPEN", Some("HANDLER t CLOSE")),
        ("PREPARE s FROM @text", None),
        ("XA START 'a'", Some("XA ROLLBACK 'a'")),
        ("SET TRANSACTION READ ONLY", Some("COMMIT")),
        ("SET TRANSACTION READ WRITE", Some("UPDATE t SET a = 1")),
        ("SET @@transaction_read_only = 1", Some("COMMIT")),
        ("SET TRANSACTION ISOLATION LEVEL READ COMMITTED", Some("SELECT a FROM t")),
        ("SELECT @a := 1", None),
        ("SET @a = @@sql_mode", None),
        ("SET sql_mode = CONCAT(@@sql_mode, @more)", None),
        ("CALL p()", None),
        ("SELECT f(1)", None),
        ("SELECT NEXTVAL(s)", None),
        ("INSERT INTO t VALUES (NEXT VALUE FOR s)", None),
        ("SELECT MASTER_GTID_WAIT('0-1-1', 1)", Some("INSERT INTO t VALUES (1)")),
        ("LOAD DATA INFILE 'f' INTO TABLE t (@a, b) SET a = @a + 1", None),
        ("SELECT @@pseudo_thread_id", None),
        ("FLUSH STATUS", None),
    ]);
}

/// In double quotes a backslash may be one or not, as the mode of the server is: nothing behind it
/// is certain.
#[test]
fn c04_what_is_not_understood_binds_as_well() {
    binds(&[
        (r#"PREPARE s FROM "SELECT '\0'""#, None),
        (r#"CREATE TEMPORARY TABLE t (a CHAR(9) DEFAULT "\\")"#, None),
        (r#"CREATE TEMPORARY TABLE t SELECT f("\0") AS a"#, None),
        (r#"CREATE TABLE t SELECT f("\0") AS a"#, None),
        (r#"SELECT f("\0") FOR UPDATE"#, None),
        (r#"LOAD DATA INFILE 'f' INTO TABLE t FIELDS TERMINATED BY "\t" (a, @b)"#, None),
    ]);
}

/// Each of these binds the connection to the session, and what follows it lets it go.
fn binds(all: &[(&str, Option<&str>)]) {
    play(async || {
        for (begins, ends) in all {
            let (stage, _servers, mut one, mut two, mut server) = two().await;
            run(&mut one, &mut server, begins).await;
            two.send_query("SELECT 2").await;
            two.expect_err(9001).await;
            settle().await;
            assert_eq!(stage.usage(0).resting, 0, "{begins}");
            if let Some(ends) = ends {
                run(&mut one, &mut server, ends).await;
                run(&mut one, &mut server, "SELECT a FROM t").await;
                run(&mut two, &mut server, "SELECT 2").await;
            }
        }
    });
}

#[test]
fn c04_a_transaction_binds_its_connection() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        begin(&mut one, &mut server).await;
        two.send_query("SELECT 2").await;
        two.expect_err(9001).await;
        server.status = StatusFlags::AUTOCOMMIT;
        run(&mut one, &mut server, "COMMIT").await;
        run(&mut two, &mut server, "SELECT 2").await;
    });
}

#[test]
fn who_waits_gets_what_comes_back() {
    let config = Config { ..config() };
    play(async || {
        let (stage, _servers, mut one, mut two, mut server) =
            two_of(config.clone(), &options(), &options()).await;
        let mut three = log_in(&stage).await;
        one.send_query("SELECT 1").await;
        server.expect_query("SELECT 1").await;
        two.send_query("SELECT 2").await;
        settle().await;
        three.send_query("SELECT 3").await;
        settle().await;
        server.ok().await;
        one.expect_ok().await;
        comes(&mut two, &mut server, "SELECT 2").await;
        let_in(&mut server).await;
        comes(&mut three, &mut server, "SELECT 3").await;
        assert_eq!(stage.global("Server_Connections_created"), 1);
    });
}

#[test]
fn c05_who_is_told_of_an_error_may_ask_about_it() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        one.send_query("SELECT x").await;
        server.expect_query("SELECT x").await;
        server.err(1054, "42S22", "Unknown column 'x'").await;
        one.expect_err(1054).await;
        two.send_query("SELECT 2").await;
        two.expect_err(9001).await;
        run(&mut one, &mut server, "SHOW WARNINGS").await;
        // At MariaDB a statement without tables leaves them as they are.
        run(&mut one, &mut server, "SELECT 1").await;
        two.send_query("SELECT 2").await;
        two.expect_err(9001).await;
        run(&mut one, &mut server, "SELECT a FROM t").await;
        run(&mut two, &mut server, "SELECT 2").await;
    });
}

#[test]
fn a_connection_that_its_server_has_closed_is_not_noticed() {
    play(async || {
        let (stage, mut servers, mut one, mut two, server) = two().await;
        drop(server);
        settle().await;
        let mut server = first_query(&mut one, &mut servers).await;
        run(&mut two, &mut server, "SELECT 2").await;
        assert_eq!(stage.usage(0).open, 1);
    });
}

#[test]
fn c02_a_connection_over_which_its_server_says_something_is_not_given() {
    play(async || {
        let (_stage, mut servers, mut one, _two, mut server) = two().await;
        server.ok().await;
        settle().await;
        first_query(&mut one, &mut servers).await;
        server.expect_gone().await;
    });
}

#[test]
fn the_next_client_gets_what_one_has_left() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let mut one = log_in(&stage).await;
        let mut server = first_query(&mut one, &mut servers).await;
        run(&mut one, &mut server, "SET NAMES latin1").await;
        one.send_command(Kind::Quit, b"").await;
        one.expect_end().await;
        let mut two = log_in(&stage).await;
        first_of(&mut two, &mut server).await;
        drop(two);
        settle().await;
        let mut three = log_in(&stage).await;
        first_of(&mut three, &mut server).await;
        assert_eq!((stage.usage(0).open, stage.global("Server_Connections_created")), (1, 1));
    });
}

#[test]
fn c04_a_client_that_leaves_a_transaction_takes_its_connection_along() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let mut one = log_in(&stage).await;
        let mut server = first_query(&mut one, &mut servers).await;
        begin(&mut one, &mut server).await;
        drop(one);
        server.expect_gone().await;
        let mut two = log_in(&stage).await;
        first_query(&mut two, &mut servers).await;
    });
}

#[test]
fn a_server_that_does_not_let_the_next_client_in_says_so() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let mut one = log_in(&stage).await;
        let mut server = first_query(&mut one, &mut servers).await;
        let mut two = log_in(&stage).await;
        two.send_query("SELECT 2").await;
        logs_in_again(&mut server).await;
        server.err(3118, "HY000", "Access denied. Account is locked").await;
        two.expect_err(3118).await;
    });
}

#[test]
fn rules_end_sharing_and_begin_it_again() {
    let mut config = config();
    for (rule_id, pattern, multiplex) in [(1, "mine", 0), (2, "ours", 1)] {
        let row = QueryRule { multiplex: Some(multiplex), apply: true, ..rule(rule_id, pattern) };
        config.query_rules.push(row);
    }
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) =
            two_of(config.clone(), &options(), &options()).await;
        run(&mut one, &mut server, "SELECT 'mine'").await;
        two.send_query("SELECT 2").await;
        two.expect_err(9001).await;
        run(&mut one, &mut server, "SELECT 'ours'").await;
        run(&mut two, &mut server, "SELECT 2").await;
    });
}

/// The author of the code knows effects of it that the proxy cannot see.
#[test]
fn a_rule_vouches_that_hidden_code_leaves_nothing() {
    let hidden = ["CALL p(1)", "SELECT f(1)", "INSERT INTO t VALUES (f(1))", "SELECT @a := 1", "CALL p(@a)"];
    let row = QueryRule { multiplex: Some(2), apply: true, ..rule(1, "p|f|@a") };
    let vouched = Config { query_rules: vec![row].into(), ..config() };
    for (sql, config, is_shared) in
        hidden.iter().flat_map(|sql| [(sql, vouched.clone(), true), (sql, config(), false)])
    {
        play(async || {
            let (_stage, _servers, mut one, mut two, mut server) =
                two_of(config.clone(), &options(), &options()).await;
            run(&mut one, &mut server, sql).await;
            two.send_query("SELECT 2").await;
            if is_shared {
                // Which the code may have set: its session is told that on another connection.
                if *sql != "SELECT @a := 1" {
                    asked(&mut server, "7").await;
                }
                comes(&mut two, &mut server, "SELECT 2").await;
            } else {
                two.expect_err(9001).await;
            }
        });
    }
}

/// It vouches for nothing else.
#[test]
fn a_rule_does_not_vouch_for_locks_and_temporary_tables() {
    let row = QueryRule { multiplex: Some(2), apply: true, ..rule(1, ".") };
    let config = Config { query_rules: vec![row].into(), ..config() };
    for sql in ["SELECT GET_LOCK('a', f(1))", "CREATE TEMPORARY TABLE t (a INT)", "LOCK TABLES t READ"] {
        play(async || {
            let (_stage, _servers, mut one, mut two, mut server) =
                two_of(config.clone(), &options(), &options()).await;
            run(&mut one, &mut server, sql).await;
            two.send_query("SELECT 2").await;
            two.expect_err(9001).await;
        });
    }
}

#[test]
fn free_connections_are_listed() {
    play(async || {
        let (stage, _servers, mut one, mut two, mut server) = two().await;
        settle().await;
        let free = stage.free_connections();
        let rows: Vec<_> = free.iter().map(|is| (is.hostgroup, &*is.host, is.port, &*is.user)).collect();
        assert_eq!(rows, [(0, "db", 3306, "app")]);
        assert_eq!((free[0].fd, free[0].schema.as_deref()), (-1, None));
        assert_eq!(stage.global("MyHGM_myconnpoll_push"), 2);
        one.send_query("SELECT 1").await;
        server.expect_query("SELECT 1").await;
        assert_eq!(stage.free_connections(), []);
        server.ok().await;
        one.expect_ok().await;
        run(&mut one, &mut server, "SET sql_mode = 'ANSI'").await;
        two.send_query("SELECT 2").await;
        takes_back(&mut server).await;
        server.expect_query("SELECT 2").await;
        server.ok().await;
        two.expect_ok().await;
        settle().await;
        assert_eq!((stage.global("MyHGM_myconnpoll_push"), stage.global("MyHGM_myconnpoll_reset")), (5, 1));
    });
}

#[test]
fn c07_who_waits_in_no_schema_gets_no_connection_that_is_in_one() {
    play(async || {
        let (_stage, mut servers, mut one, mut two, mut server) =
            two_of(config(), &options().schema("one"), &options()).await;
        one.send_query("SELECT 1").await;
        server.expect_command(Kind::InitDb, b"one").await;
        server.ok().await;
        server.expect_query("SELECT 1").await;
        two.send_query("SELECT 2").await;
        settle().await;
        server.ok().await;
        one.expect_ok().await;
        // It gets its place instead.
        server.expect_command(Kind::Quit, b"").await;
        drop(server);
        let mut server = servers.accept().await;
        comes(&mut two, &mut server, "SELECT 2").await;
    });
}

#[test]
fn c07_who_has_dropped_its_schema_is_in_none_until_it_is_in_another_one() {
    play(async || {
        let options = options().schema("one");
        let (_stage, _servers, mut one, mut two, mut server) = two_of(config(), &options, &options).await;
        run(&mut one, &mut server, "DROP DATABASE IF EXISTS `one`").await;
        two.send_query("SELECT 2").await;
        two.expect_err(9001).await;
        // Elsewhere it would have to be in the one that is gone before.
        run(&mut one, &mut server, "USE other").await;
        two.send_query("SELECT 2").await;
        server.expect_command(Kind::InitDb, b"one").await;
    });
}

#[test]
fn c13_a_connection_to_a_server_that_is_off_is_not_taken_back() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let mut one = log_in(&stage).await;
        let mut server = first_query(&mut one, &mut servers).await;
        let mut without = config();
        without.servers[0].status = ServerStatus::OfflineHard;
        stage.apply(without).unwrap();
        one.send_query("SELECT 1").await;
        one.expect_err(9001).await;
        server.expect_gone().await;
    });
}

/// Another session of the worker handed it to a client that left in the same moment.
#[test]
fn a_connection_that_was_handed_to_a_client_that_leaves_is_the_next_ones() {
    for asks in [false, true] {
        play(async || {
            let (stage, _servers, mut one, two, mut server) = two().await;
            let mut two = two;
            one.send_query("INSERT INTO t VALUES (1)").await;
            server.expect_query("INSERT INTO t VALUES (1)").await;
            two.send_query("SELECT 2").await;
            settle().await;
            server.ok_with(1, if asks { 7 } else { 0 }).await;
            drop(two);
            one.expect_ok().await;
            if asks {
                asked(&mut server, "8").await;
            }
            settle().await;
            assert_eq!((stage.usage(0).open, stage.usage(0).resting), (1, 1));
            one.send_query("SELECT 1").await;
            comes(&mut one, &mut server, "SELECT 1").await;
            assert_eq!(stage.global("Server_Connections_created"), 1);
        });
    }
}
