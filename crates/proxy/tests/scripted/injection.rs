//! Statements that look like injected SQL: that they reach no server, what ends with them, and what
//! passes.

use config::{Config, FirewallMode, FirewallRule, FirewallUser, QueryRule, SqliFingerprint};
use observe::rows::InjectionStats;
use proxy::stage::Stage;
use wire::command::Kind;

use super::log::Lines;
use super::support::{
    Client, Database, config, expect_nothing_left, first_query, log_in, messages, play, rule, run, session_in,
};

/// Its fingerprint is `s&1c`. Without the string, it is the same statement as [`HARMLESS`].
const INJECTED: &str = "INSERT INTO t VALUES (' or 1=1 -- ')";
const HARMLESS: &str = "INSERT INTO t VALUES ('a')";

fn detecting(listed: &[&str]) -> Config {
    let mut config = config();
    config.variables.automatic_detect_sqli = true;
    let row = |text: &&str| SqliFingerprint { active: true, fingerprint: (*text).to_owned() };
    config.sqli_fingerprints = listed.iter().map(row).collect();
    config
}

fn digest_of(sql: &str) -> u64 {
    let mut digest = sql::Digest::default();
    digest.read(sql.as_bytes(), &sql::Options::default());
    digest.hash()
}

/// How many statements were found, how many had a fingerprint that is listed, and how many the
/// detector has failed with.
fn counts(stage: &Stage) -> [u64; 3] {
    ["automatic_detected_sql_injection", "whitelisted_sqli_fingerprint", "Sqli_detector_failed"]
        .map(|name| stage.global(name))
}

/// Plays a test with the lines of its log. All do so: whether a line is wanted is found out when
/// one of them comes to it for the first time.
fn logged(test: impl AsyncFnOnce(Lines)) {
    play(async || {
        let lines = Lines::default();
        let _guard = tracing::subscriber::set_default(lines.clone());
        test(lines).await;
    });
}

/// The client hears why its connection is closed, and its server nothing.
async fn expect_closed(client: &mut Client, server: &mut Database) {
    let error = client.expect_err(1148).await;
    assert!(error.message.contains("(fingerprint s&1c)"), "{}", error.message);
    client.expect_end().await;
    server.expect_end().await;
}

#[test]
fn a_connection_ends_with_what_looks_like_injected_sql() {
    logged(async |lines| {
        let (stage, _servers, mut client, mut server) = session_in(detecting(&[])).await;
        run(&mut client, &mut server, HARMLESS).await;
        assert_eq!(counts(&stage), [0, 0, 0]);
        client.send_query(INJECTED).await;
        expect_closed(&mut client, &mut server).await;
        assert_eq!(counts(&stage), [1, 0, 0]);
        let told = lines.with("injected");
        let [line] = &told[..] else { panic!("{told:?}") };
        for part in ["fingerprint=\"s&1c\"", "INSERT INTO t VALUES (?)", "user=app", "client="] {
            assert!(line.contains(part), "{part} in {line}");
        }
        assert!(!line.contains("1=1"), "nothing of the values: {line}");
        expect_nothing_left(&stage).await;
    });
}

/// A transaction that is open ends with its session.
#[test]
fn a_statement_is_found_behind_others_and_when_it_is_prepared() {
    logged(async |_| {
        let (stage, mut servers, mut client, mut server) = session_in(detecting(&[])).await;
        let behind = format!("\x03{INJECTED}");
        let both = [messages(0, &[b"\x03DO 3"]), messages(0, &[behind.as_bytes()])].concat();
        client.send_bytes(&both).await;
        server.expect_query("DO 3").await;
        server.ok().await;
        client.packets().expect_seq(1);
        client.expect_ok().await;
        client.packets().expect_seq(1);
        expect_closed(&mut client, &mut server).await;

        let mut client = log_in(&stage).await;
        let mut server = first_query(&mut client, &mut servers).await;
        super::support::begin(&mut client, &mut server).await;
        client.send_command(Kind::StmtPrepare, INJECTED.as_bytes()).await;
        expect_closed(&mut client, &mut server).await;
        assert_eq!(counts(&stage), [2, 0, 0]);
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn fingerprints_that_are_listed_pass_and_so_does_all_if_nothing_is_refused_yet() {
    logged(async |_| {
        let mut config = detecting(&["1c", "s&1c"]);
        let (stage, _servers, mut client, mut server) = session_in(config.clone()).await;
        run(&mut client, &mut server, INJECTED).await;
        assert_eq!(counts(&stage), [0, 1, 0]);
        config.sqli_fingerprints[1].active = false;
        config.pointsman.sqli_detect_only = true;
        stage.apply(config.clone()).unwrap();
        run(&mut client, &mut server, INJECTED).await;
        assert_eq!(counts(&stage), [1, 1, 0]);
        let seen = stage.injections();
        let [InjectionStats { fingerprint, found: 1, passed: 1, digest }] = &seen[..] else {
            panic!("{seen:?}")
        };
        assert_eq!((fingerprint.as_str(), *digest), ("s&1c", digest_of(INJECTED)));
        config.variables.automatic_detect_sqli = false;
        stage.apply(config.clone()).unwrap();
        run(&mut client, &mut server, INJECTED).await;
        assert_eq!(counts(&stage), [1, 1, 0]);
        config.variables.automatic_detect_sqli = true;
        config.pointsman.sqli_detect_only = false;
        stage.apply(config).unwrap();
        client.send_query(INJECTED).await;
        expect_closed(&mut client, &mut server).await;
    });
}

/// What is known of a digest, and what rules have said about it, is no reason not to look at a
/// statement.
#[test]
fn each_statement_is_looked_at_whatever_rules_say_about_its_digest() {
    logged(async |_| {
        let mut config = detecting(&[]);
        config.query_rules = vec![
            QueryRule { destination_hostgroup: Some(0), apply: true, ..rule(1, "^INSERT") },
            QueryRule { ok_msg: Some("fine".to_owned()), ..rule(2, "^CALL") },
        ]
        .into();
        let (stage, _servers, mut client, mut server) = session_in(config).await;
        run(&mut client, &mut server, HARMLESS).await;
        run(&mut client, &mut server, HARMLESS).await;
        // What a rule answers reaches no server.
        client.send_query("CALL p(' or 1=1 -- ')").await;
        assert_eq!(client.expect_ok().await.info, "fine");
        assert_eq!(counts(&stage), [0, 0, 0]);
        client.send_query(INJECTED).await;
        expect_closed(&mut client, &mut server).await;
    });
}

/// As in ProxySQL.
#[test]
fn statements_on_a_firewall_list_and_users_without_a_firewall_are_not_checked() {
    logged(async |_| {
        let mut config = detecting(&[]);
        config.variables.firewall_whitelist_enabled = true;
        config.firewall_users = vec![FirewallUser {
            active: true,
            username: "app".to_owned(),
            mode: FirewallMode::Detecting,
            ..FirewallUser::default()
        }];
        config.firewall_rules = vec![FirewallRule {
            active: true,
            username: "app".to_owned(),
            digest: format!("0x{:016X}", digest_of(HARMLESS)),
            ..FirewallRule::default()
        }];
        let (stage, _servers, mut client, mut server) = session_in(config.clone()).await;
        run(&mut client, &mut server, INJECTED).await;
        config.firewall_rules.clear();
        config.firewall_users[0].mode = FirewallMode::Off;
        stage.apply(config.clone()).unwrap();
        run(&mut client, &mut server, INJECTED).await;
        assert_eq!(counts(&stage), [0, 0, 0]);
        config.firewall_users[0].mode = FirewallMode::Detecting;
        stage.apply(config).unwrap();
        client.send_query(INJECTED).await;
        expect_closed(&mut client, &mut server).await;
        assert_eq!(counts(&stage), [1, 0, 0]);
    });
}

#[test]
fn statements_of_fast_forward_users_are_looked_at() {
    logged(async |_| {
        let mut config = detecting(&[]);
        config.users[0].fast_forward = true;
        let (_stage, _servers, mut client, mut server) = session_in(config).await;
        client.send_query(INJECTED).await;
        expect_closed(&mut client, &mut server).await;
    });
}

#[test]
fn explanations_say_what_was_found() {
    logged(async |_| {
        let mut config = detecting(&[]);
        let (stage, _servers, mut client, mut server) = session_in(config.clone()).await;
        let injected = format!("EXPLAIN ROUTE {INJECTED}");
        let explained = async |client: &mut Client, sql: &str| {
            let rows = client.query(sql).await.expect("it is explained").text().expect("cells are texts");
            let cell = |step: &str, column: usize| {
                let row = rows.iter().find(|row| row[0].as_deref() == Some(step));
                row.and_then(|row| row[column].clone()).unwrap_or_default()
            };
            [cell("injected SQL", 1), cell("injected SQL", 2), cell("destination", 1)]
        };
        let harmless = format!("EXPLAIN ROUTE {HARMLESS}");
        assert_eq!(explained(&mut client, &harmless).await, ["none", "", "hostgroup 0"]);
        let refused = ["refused", "fingerprint s&1c; the connection would be closed", "error 1148"];
        assert_eq!(explained(&mut client, &injected).await, refused);
        config.sqli_fingerprints = detecting(&["s&1c"]).sqli_fingerprints;
        stage.apply(config).unwrap();
        let listed = "fingerprint s&1c, which is in mysql_firewall_whitelist_sqli_fingerprints";
        assert_eq!(explained(&mut client, &injected).await, ["listed", listed, "hostgroup 0"]);
        assert_eq!(counts(&stage), [0, 0, 0], "nothing was sent");
        run(&mut client, &mut server, HARMLESS).await;
    });
}
