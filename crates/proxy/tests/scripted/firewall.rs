//! The firewall: what it lets pass, refuses, counts and explains.

use config::{Config, FirewallMode, FirewallRule, FirewallUser, QueryRule};
use proxy::stage::Stage;
use wire::StatusFlags;
use wire::command::Kind;

use super::split_prepared::prepared;
use super::support::{
    Client, Database, Servers, config, first_query, log_in, messages, play, rule, run, stage,
};

const BLOCKED: &str = "Firewall blocked this query";

/// What lists `sql` for the user `app`, without a schema.
fn listed(sql: &str) -> FirewallRule {
    let mut digest = sql::Digest::default();
    digest.read(sql.as_bytes(), &sql::Options::default());
    FirewallRule {
        active: true,
        username: "app".to_owned(),
        digest: format!("0x{:016X}", digest.hash()),
        ..FirewallRule::default()
    }
}

/// A firewall with this mode for the user `app`, which knows these statements.
fn firewall(mode: FirewallMode, statements: &[&str]) -> Config {
    let mut config = config();
    config.variables.firewall_whitelist_enabled = true;
    config.firewall_users =
        vec![FirewallUser { active: true, username: "app".to_owned(), mode, ..FirewallUser::default() }];
    config.firewall_rules = statements.iter().map(|sql| listed(sql)).collect();
    config
}

/// A session that has had its connection from a statement that is listed everywhere.
async fn session(config: Config) -> (Stage, Servers, Client, Database) {
    let (stage, mut servers) = stage(config);
    let mut client = log_in(&stage).await;
    let server = first_query(&mut client, &mut servers).await;
    (stage, servers, client, server)
}

async fn refused(client: &mut Client, sql: &str) {
    client.send_query(sql).await;
    assert_eq!(client.expect_err(1148).await.message, BLOCKED, "{sql}");
}

/// How many statements were detected, and how many refused.
fn counts(stage: &Stage) -> [u64; 2] {
    ["Firewall_detected", "Firewall_refused"].map(|name| stage.global(name))
}

#[test]
fn a_protected_user_sends_what_is_listed_and_nothing_else() {
    play(async || {
        let config = firewall(FirewallMode::Protecting, &["DO 1", "SELECT a FROM t WHERE b = 1", "BEGIN"]);
        let (stage, _servers, mut client, mut server) = session(config).await;
        run(&mut client, &mut server, "SELECT a FROM t WHERE b = 2").await;
        run(&mut client, &mut server, "BEGIN").await;
        for sql in [
            "SELECT a FROM t WHERE b = 2 OR 1 = 1",
            "SELECT a FROM t WHERE b = 2; DROP TABLE t",
            "SELECT a FROM u WHERE b = 2",
            "DROP TABLE t",
            "KILL 1",
            "SHOW PROCESSLIST",
            "",
        ] {
            refused(&mut client, sql).await;
        }
        run(&mut client, &mut server, "SELECT a FROM t WHERE b = 3").await;
        assert_eq!(counts(&stage), [0, 7]);
        assert_eq!(stage.global("generated_error_packets"), 7);
    });
}

/// A comment that servers execute, a cut and a string that ends elsewhere leave no trace in the
/// digest.
#[test]
fn a_statement_is_refused_whose_digest_does_not_say_all_of_it() {
    play(async || {
        let long = format!("SELECT {}a FROM t", "a, ".repeat(2_000));
        let listed = ["DO 1", "SELECT a FROM t", "SELECT a FROM t WHERE b = ''", &long];
        let (_stage, _servers, mut client, mut server) =
            session(firewall(FirewallMode::Protecting, &listed)).await;
        run(&mut client, &mut server, "SELECT /* plain */ a FROM t").await;
        run(&mut client, &mut server, "SELECT a FROM t WHERE b = 'it\\'s'").await;
        refused(&mut client, "SELECT a FROM t /*! UNION SELECT password FROM u */").await;
        refused(&mut client, "SELECT a FROM t /*M! UNION SELECT password FROM u */").await;
        refused(&mut client, "SELECT a FROM t WHERE b = 'open").await;
        refused(&mut client, &long).await;
        server.status |= StatusFlags::NO_BACKSLASH_ESCAPES;
        run(&mut client, &mut server, "SELECT a FROM t").await;
        refused(&mut client, "SELECT a FROM t WHERE b = 'it\\'s'").await;
    });
}

#[test]
fn detection_counts_and_lets_pass() {
    play(async || {
        let (stage, _servers, mut client, mut server) =
            session(firewall(FirewallMode::Detecting, &["DO 1"])).await;
        run(&mut client, &mut server, "DROP TABLE t").await;
        run(&mut client, &mut server, "DO 2").await;
        assert_eq!(counts(&stage), [1, 0]);
        // Behind the other one, in one go.
        let both = [messages(0, &[b"\x03DO 3"]), messages(0, &[b"\x03DO sleep(1)"])].concat();
        client.send_bytes(&both).await;
        for sql in ["DO 3", "DO sleep(1)"] {
            server.expect_query(sql).await;
            server.ok().await;
            client.packets().expect_seq(1);
            client.expect_ok().await;
        }
        assert_eq!(counts(&stage), [2, 0]);
    });
}

#[test]
fn users_without_a_row_are_protected_and_other_modes_let_pass() {
    play(async || {
        let mut config = firewall(FirewallMode::Off, &[]);
        let (stage, _servers, mut client, mut server) = session(config.clone()).await;
        run(&mut client, &mut server, "DROP TABLE t").await;
        config.firewall_users.clear();
        stage.apply(config.clone()).unwrap();
        refused(&mut client, "DROP TABLE t").await;
        config.variables.firewall_whitelist_errormsg = "Ask your DBA".to_owned();
        stage.apply(config.clone()).unwrap();
        client.send_query("DROP TABLE t").await;
        assert_eq!(client.expect_err(1148).await.message, "Ask your DBA");
        config.variables.firewall_whitelist_enabled = false;
        stage.apply(config).unwrap();
        run(&mut client, &mut server, "DROP TABLE t").await;
    });
}

#[test]
fn statements_of_fast_forward_users_are_looked_at_where_the_firewall_watches() {
    play(async || {
        let with = |mode| {
            let mut config = firewall(mode, &["DO 1"]);
            config.users[0].fast_forward = true;
            config
        };
        let (stage, _servers, mut client, mut server) = session(with(FirewallMode::Protecting)).await;
        refused(&mut client, "DROP TABLE t").await;
        run(&mut client, &mut server, "DO 2").await;
        stage.apply(with(FirewallMode::Off)).unwrap();
        run(&mut client, &mut server, "DROP TABLE t").await;
    });
}

#[test]
fn what_rules_answer_themselves_stays_and_states_count() {
    play(async || {
        let mut config = firewall(FirewallMode::Protecting, &["DO 1", "SELECT a FROM t"]);
        config.query_rules = vec![
            QueryRule { ok_msg: Some("fine".to_owned()), ..rule(1, "^PING$") },
            QueryRule { error_msg: Some("not today".to_owned()), ..rule(2, "^DROP") },
            QueryRule { flag_out: Some(7), ..rule(3, "FROM t") },
        ]
        .into();
        let (stage, _servers, mut client, mut server) = session(config.clone()).await;
        client.send_query("PING").await;
        assert_eq!(client.expect_ok().await.info, "fine");
        client.send_query("DROP TABLE t").await;
        assert_eq!(client.expect_err(1148).await.message, "not today");
        refused(&mut client, "SELECT a FROM t").await;
        config.firewall_rules[1].flag_in = 7;
        stage.apply(config).unwrap();
        run(&mut client, &mut server, "SELECT a FROM t").await;
    });
}

/// Prepares a statement with one parameter, and returns what executes it.
async fn prepare(client: &mut Client, server: &mut Database, sql: &str) -> &'static [u8] {
    client.send_command(Kind::StmtPrepare, sql.as_bytes()).await;
    server.expect_command(Kind::StmtPrepare, sql.as_bytes()).await;
    prepared(server, 7).await;
    client.read().await;
    client.read().await;
    b"\x07\0\0\0\0\x01\0\0\0\0\x01\x03\0\x05\0\0\0"
}

async fn execute(client: &mut Client, server: &mut Database, execution: &[u8]) {
    client.send_command(Kind::StmtExecute, execution).await;
    server.expect_command(Kind::StmtExecute, execution).await;
    server.ok().await;
    client.expect_ok().await;
}

#[test]
fn prepared_statements_are_asked_about_each_time() {
    play(async || {
        let sql = "SELECT a FROM t WHERE b = ?";
        let config = firewall(FirewallMode::Protecting, &["DO 1", sql]);
        let (stage, _servers, mut client, mut server) = session(config.clone()).await;
        client.send_command(Kind::StmtPrepare, b"DELETE FROM t").await;
        assert_eq!(client.expect_err(1148).await.message, BLOCKED);
        let execution = prepare(&mut client, &mut server, sql).await;
        execute(&mut client, &mut server, execution).await;
        assert_eq!(counts(&stage), [0, 1]);
        // It is taken from the list.
        stage.apply(firewall(FirewallMode::Protecting, &["DO 1"])).unwrap();
        client.send_command(Kind::StmtExecute, execution).await;
        assert_eq!(client.expect_err(1148).await.message, BLOCKED);
        assert_eq!(counts(&stage), [0, 2]);
        stage.apply(firewall(FirewallMode::Detecting, &["DO 1"])).unwrap();
        execute(&mut client, &mut server, execution).await;
        assert_eq!(counts(&stage), [1, 2]);
        // A statement number that was not given out is refused like all else.
        stage.apply(config).unwrap();
        client.send_command(Kind::StmtExecute, b"\x63\0\0\0\0\x01\0\0\0").await;
        assert_eq!(client.expect_err(1148).await.message, BLOCKED);
    });
}

/// The proxy executes it itself.
#[test]
fn a_prepared_kill_is_asked_about_each_time() {
    play(async || {
        let sql = "KILL QUERY 1073741900";
        let config = firewall(FirewallMode::Protecting, &["DO 1", sql]);
        let (stage, _servers, mut client, mut server) = session(config).await;
        client.send_command(Kind::StmtPrepare, sql.as_bytes()).await;
        server.expect_command(Kind::StmtPrepare, sql.as_bytes()).await;
        server.send(&[0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).await;
        client.read().await;
        let execution = b"\x05\0\0\0\0\x01\0\0\0";
        client.send_command(Kind::StmtExecute, execution).await;
        client.expect_err(1094).await;
        stage.apply(firewall(FirewallMode::Protecting, &["DO 1"])).unwrap();
        client.send_command(Kind::StmtExecute, execution).await;
        assert_eq!(client.expect_err(1148).await.message, BLOCKED);
        assert_eq!(counts(&stage), [0, 1]);
    });
}

/// What was prepared before the firewall was there is judged by what it was then.
#[test]
fn statements_of_before_are_judged_by_their_schema_of_then() {
    play(async || {
        let sql = "SELECT a FROM t WHERE b = ?";
        let (stage, _servers, mut client, mut server) = session(config()).await;
        let execution = prepare(&mut client, &mut server, sql).await;
        run(&mut client, &mut server, "USE other").await;
        stage.apply(firewall(FirewallMode::Protecting, &[sql])).unwrap();
        execute(&mut client, &mut server, execution).await;
        refused(&mut client, "SELECT a FROM t WHERE b = 1").await;
    });
}

#[test]
fn explanations_say_what_the_firewall_says() {
    play(async || {
        let config = firewall(FirewallMode::Protecting, &["DO 1"]);
        let (_stage, _servers, mut client, mut server) = session(config).await;
        for (sql, wanted) in [
            ("EXPLAIN ROUTE DO 2", ["passes", "PROTECTING for the user; listed"]),
            ("EXPLAIN ROUTE DROP TABLE t", ["refused", "PROTECTING for the user; not listed"]),
            (
                "EXPLAIN ROUTE DO 1 /*! + 1 */",
                [
                    "refused",
                    "PROTECTING for the user; its digest, if any, does not say all that a server would do",
                ],
            ),
        ] {
            let told = client.query(sql).await.expect("it is explained");
            let rows = told.text().expect("cells are texts");
            let cell = |step: &str, column: usize| {
                let row = rows.iter().find(|row| row[0].as_deref() == Some(step));
                row.and_then(|row| row[column].clone()).unwrap_or_default()
            };
            assert_eq!([cell("firewall", 1), cell("firewall", 2)], wanted, "{sql}");
            let to = if wanted[0] == "passes" { "hostgroup 0" } else { "error 1148" };
            assert_eq!(cell("destination", 1), to, "{sql}");
        }
        run(&mut client, &mut server, "DO 3").await;
    });
}
