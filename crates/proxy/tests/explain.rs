//! What a running proxy says about where statements would go.

use std::net::Ipv4Addr;
use std::sync::Arc;

use config::{
    Address, Config, Listener, QueryRule, ReplicationHostgroups, Server, ServerStatus, User, UserAttributes,
};
use observe::plane::{DataPlane as _, Order, Process, Question};
use proxy::Proxy;
use tokio::runtime::Builder;
use tokio::sync::oneshot;

/// A process that does nothing.
#[derive(Debug)]
struct Idle;

impl Process for Idle {
    fn order(&self, _: Order) -> Result<(), String> {
        Ok(())
    }
}

/// A writer and two readers, one of which is not in use; a user with hints and one without.
fn config() -> Config {
    let listener =
        |port| Listener { address: Address::Tcp((Ipv4Addr::LOCALHOST, port).into()), ..Listener::default() };
    let server = |hostgroup_id, name: &str| Server {
        hostgroup_id,
        hostname: name.to_owned(),
        max_connections: 10,
        ..Server::default()
    };
    let user = |name: &str, hints| User {
        username: name.to_owned(),
        default_schema: Some("shop".to_owned()),
        attributes: UserAttributes { hints, ..UserAttributes::default() },
        ..User::default()
    };
    let pair = ReplicationHostgroups {
        writer_hostgroup: 0,
        reader_hostgroup: 1,
        check_type: "read_only".to_owned(),
        comment: String::new(),
    };
    let rule = QueryRule {
        rule_id: 10,
        active: true,
        username: Some("web".to_owned()),
        match_digest: Some("^SELECT .* FROM reports".to_owned()),
        destination_hostgroup: Some(7),
        apply: true,
        ..QueryRule::default()
    };
    let mut config = Config {
        listeners: vec![listener(0)],
        servers: vec![
            server(0, "writer"),
            server(1, "reader"),
            Server { status: ServerStatus::OfflineSoft, ..server(1, "resting") },
        ]
        .into(),
        users: vec![User { active: false, ..user("gone", true) }, user("app", true), user("web", false)]
            .into(),
        replication_hostgroups: vec![pair],
        query_rules: vec![rule].into(),
        ..Config::default()
    };
    config.variables.threads = 1;
    config.monitor.enabled = false;
    config.variables.read_write_split = true;
    config
}

/// Asks a proxy with this configuration. An answer is the steps, a line each.
fn ask(config: &Config, questions: &[(Question, &str)]) -> Vec<Result<Vec<String>, String>> {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let (control, (end, ended)) = (runtime.handle().clone(), oneshot::channel::<()>());
    let thread = std::thread::spawn(move || runtime.block_on(ended));
    let proxy = Proxy::start(&Arc::new(config.clone()), &control, Arc::new(Idle), false).unwrap();
    let remote = proxy.remote();
    let answers = questions.iter().map(|(assumed, text)| {
        let question = Question { statement: (*text).to_owned(), ..assumed.clone() };
        Ok(remote.explain(&question)?.steps.into_iter().map(|row| row.join(" | ")).collect())
    });
    let answers = answers.collect();
    control.block_on(proxy.drain());
    drop(end);
    thread.join().unwrap().unwrap_err();
    answers
}

fn as_user(name: &str) -> Question {
    Question { user: Some(name.to_owned()), port: Some(6033), ..Question::default() }
}

const EXPECTED: [&str; 28] = [
    "session | user app | schema shop, from 127.0.0.1 at 127.0.0.1:6033, outside a transaction",
    "digest | 0xB2EEBAF930EA9E08 | SELECT a FROM t WHERE b = ?",
    "shape | read | ",
    "rule 10 | no match | username is not 'web'",
    "split | reader | a plain read outside a transaction",
    "destination | hostgroup 1 | split: a plain read outside a transaction",
    "server reader:3306 | candidate | by weight, 1 of 1; it runs 0 statements and has 0 of 10 connections",
    "server resting:3306 | passed over | its status is configured as OFFLINE_SOFT",
    "cache | no | no cache_ttl",
    "session | user app | schema other, from 10.0.0.7 at 127.0.0.1:6034, outside a transaction",
    "digest | 0xED751557DD1F282E | UPDATE t SET a = @b",
    "shape | other | it writes; it uses user variables",
    "rule 10 | no match | username is not 'web'",
    "hints | taken | destination_hostgroup=1",
    "split | not asked | rules or a hint have decided",
    "destination | hostgroup 1 | hint of the client",
    "server reader:3306 | candidate | by weight, 1 of 1; it runs 0 statements and has 0 of 10 connections",
    "server resting:3306 | passed over | its status is configured as OFFLINE_SOFT",
    "cache | no | no cache_ttl",
    "session | user web | schema shop, from 127.0.0.1 at 127.0.0.1:6033, outside a transaction",
    "digest | 0x26EACA03843764F0 | SELECT a FROM reports",
    "shape | read | ",
    "rule 10 | match | destination_hostgroup=7, apply",
    "hints | ignored | switched off for the user",
    "split | not asked | rules or a hint have decided",
    "destination | hostgroup 7 | rule 10",
    "server | none | the hostgroup has no servers",
    "cache | no | no cache_ttl",
];

#[test]
fn the_steps_of_a_decision() {
    let elsewhere = Question {
        schema: Some("other".to_owned()),
        client: Some("10.0.0.7".to_owned()),
        port: Some(6034),
        ..Question::default()
    };
    let questions = [
        (as_user("app"), "SELECT a FROM t WHERE b = 5"),
        (elsewhere, "/* hostgroup=1 */ UPDATE t SET a = @b"),
        (as_user("web"), "/* hostgroup=0 */ SELECT a FROM reports"),
    ];
    let answers = ask(&config(), &questions);
    let lines: Vec<String> = answers.into_iter().flat_map(Result::unwrap).collect();
    assert_eq!(lines, EXPECTED);
}

#[test]
fn a_listener_may_have_decided() {
    let mut config = config();
    config.listeners[0].role = config::Role::ReadOnly;
    // That of a port that no listener has says nothing.
    let questions = [(Question::default(), "DELETE FROM t"), (as_user("app"), "DELETE FROM t")];
    let answers = ask(&config, &questions);
    let destinations: Vec<String> =
        answers.into_iter().flat_map(Result::unwrap).filter(|line| line.starts_with("destination")).collect();
    assert_eq!(
        destinations,
        [
            "destination | hostgroup 1 | the listener has the role read_only",
            "destination | hostgroup 0 | split: it writes"
        ]
    );
}

#[test]
fn what_cannot_be_explained() {
    let nothing = [(as_user("app"), ""), (as_user("app"), " /* a */ -- b"), (as_user("gone"), "SELECT 1")];
    let none = "EXPLAIN ROUTE needs a statement to explain";
    let unknown = "there is no active user `gone` that clients may log in as";
    assert_eq!(ask(&config(), &nothing), [none, none, unknown].map(|why| Err(why.to_owned())));
    let config = Config { users: Vec::new().into(), ..config() };
    assert_eq!(
        ask(&config, &[(Question::default(), "SELECT 1")]),
        [Err("there is no active user that clients may log in as".to_owned())]
    );
}
