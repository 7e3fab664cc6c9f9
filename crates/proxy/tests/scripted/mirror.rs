//! Copies of statements for another hostgroup: what is copied and what is not, that no client waits
//! for one, and that their answers are compared.

use std::net::SocketAddr;

use config::{Config, ProxyProtocol, QueryRule, Server, ServerOptions};
use proxy::memory::End;
use proxy::stage::Stage;
use testkit::client::Options;
use testkit::script::{LoginSeen, ScriptedServer};
use tokio::io::AsyncReadExt as _;
use tokio::time::{Instant, sleep};
use wire::command::Kind;

use super::support::{
    CAPACITY, Client, Database, Servers, config, database, expect_alive, first_query, log_in, log_in_as, ms,
    options, options_for, play, rule, run, settle, stage, stage_with, user,
};

/// A row of two columns.
type Cells<'a> = [Option<&'a str>; 2];

/// Hostgroups 0 and 1 of one server each, and a rule that mirrors SELECTs.
fn mirrored() -> Config {
    let servers = vec![database("db"), Server { hostgroup_id: 1, ..database("mirror") }];
    Config { servers: servers.into(), query_rules: vec![mirroring()].into(), ..config() }
}

fn mirroring() -> QueryRule {
    QueryRule { mirror_hostgroup: Some(1), ..rule(1, "^SELECT") }
}

/// The same whose answers are compared.
fn compared() -> Config {
    let rule = QueryRule { attributes: r#"{"compare": true}"#.to_owned(), ..mirroring() };
    Config { query_rules: vec![rule].into(), ..mirrored() }
}

/// The client's first statement with its answer; its server, and the end of the connection for the
/// copy.
async fn first_select(client: &mut Client, servers: &mut Servers, sql: &str) -> (Database, End) {
    client.send_query(sql).await;
    let (name, end) = servers.dialled().await;
    assert_eq!(name, "db:3306");
    let mut server = ScriptedServer::accept(end).await.0;
    server.expect_query(sql).await;
    server.rows(&["a"], &[&[Some("1")]]).await;
    client.expect_rows(&[&[Some("1")]]).await;
    let (name, end) = servers.dialled().await;
    assert_eq!(name, "mirror:3306");
    (server, end)
}

async fn log_in_copy(end: End) -> (Database, LoginSeen) {
    ScriptedServer::accept(end).await
}

/// All participants, when a first statement is answered.
struct Scene {
    stage: Stage,
    servers: Servers,
    client: Client,
    server: Database,
    /// It has got the copy, and not answered it.
    mirror: Database,
    /// How the proxy has logged in there.
    login: LoginSeen,
}

/// The connection ends now, not when it has been idle for long.
async fn expect_goodbye(mirror: &mut Database) {
    let begun = Instant::now();
    mirror.expect_command(Kind::Quit, b"").await;
    mirror.expect_end().await;
    assert!(begun.elapsed() < ms(2000), "{:?}", begun.elapsed());
}

async fn scene(config: Config) -> Scene {
    scene_of(config, &options(), "SELECT 1").await
}

/// The same with another client and another statement.
async fn scene_of(config: Config, options: &Options, sql: &str) -> Scene {
    let (stage, mut servers) = stage(config);
    let mut client = log_in_as(&stage, options).await;
    let (server, copy) = first_select(&mut client, &mut servers, sql).await;
    let (mut mirror, login) = log_in_copy(copy).await;
    mirror.expect_query(sql).await;
    Scene { stage, servers, client, server, mirror, login }
}

#[test]
fn c24_a_client_does_not_wait_for_the_copy_of_its_statement() {
    play(async || {
        let (stage, mut servers) = stage(mirrored());
        let mut client = log_in(&stage).await;
        // The mirror does not answer yet.
        let (mut server, copy) = first_select(&mut client, &mut servers, "SELECT 1").await;
        assert_eq!(stage.global("Mirror_concurrency"), 1);
        expect_alive(&mut client, &mut server).await;
        let (mut mirror, _) = log_in_copy(copy).await;
        mirror.expect_query("SELECT 1").await;
        mirror.rows(&["a"], &[&[Some("2")]]).await;
        // The next one is a connection of its own: two ran at a time.
        let mut second = servers.accept().await;
        second.expect_query("SELECT 'alive'").await;
        second.err(1146, "42S02", "No such table").await;
        settle().await;
        assert_eq!((stage.global("Mirror_concurrency"), stage.global("Mirror_done")), (0, 2));
        assert_eq!((stage.global("Mirror_failed"), stage.global("Questions")), (0, 2));
    });
}

#[test]
fn a_connection_is_used_for_one_copy_after_the_other_and_ends_when_it_is_idle() {
    play(async || {
        let Scene { stage, mut servers, mut client, mut server, mut mirror, .. } = scene(mirrored()).await;
        mirror.ok().await;
        for _ in 0..3 {
            expect_alive(&mut client, &mut server).await;
            mirror.expect_query("SELECT 'alive'").await;
            mirror.ok().await;
            settle().await;
        }
        // What no rule names is not copied.
        run(&mut client, &mut server, "DO 1").await;
        assert!(servers.settled().await.is_none());
        assert_eq!(stage.usage(1).open, 1);
        mirror.expect_command(Kind::Quit, b"").await;
        mirror.expect_end().await;
        settle().await;
        assert_eq!(stage.usage(1).open, 0);
        // And the next one gets another.
        expect_alive(&mut client, &mut server).await;
        servers.accept().await.expect_query("SELECT 'alive'").await;
    });
}

#[test]
fn a_copy_is_run_as_its_user_in_its_schema() {
    play(async || {
        let other = config::User { default_hostgroup: 0, ..user("other", "secret") };
        let mut all = mirrored();
        all.users.push(other);
        let options = options_for("other", "secret").schema("before");
        let Scene { mut servers, mut client, mut server, mut mirror, login, .. } =
            scene_of(all, &options, "SELECT 1").await;
        assert_eq!((login.username.as_str(), login.schema.as_deref()), ("other", Some("before")));
        mirror.ok().await;
        run(&mut client, &mut server, "USE behind").await;
        expect_alive(&mut client, &mut server).await;
        // Another schema is another connection.
        let (_, login) = log_in_copy(servers.dialled().await.1).await;
        assert_eq!(login.schema.as_deref(), Some("behind"));
    });
}

#[test]
fn a_connection_on_which_something_may_be_left_is_not_used_again() {
    for sql in [
        "SELECT @a := 1",
        "SELECT GET_LOCK('a', 1)",
        "SELECT f(1)",
        "SELECT 1; LOCK TABLES t READ",
        "LOCK TABLES t READ",
        "FLUSH TABLES WITH READ LOCK",
        "HANDLER t OPEN",
    ] {
        play(async || {
            let all = QueryRule { match_pattern: None, ..mirroring() };
            let config = Config { query_rules: vec![all].into(), ..mirrored() };
            let Scene { stage, mut mirror, .. } = scene_of(config, &options(), sql).await;
            mirror.ok().await;
            expect_goodbye(&mut mirror).await;
            settle().await;
            assert_eq!(stage.usage(1).open, 0);
        });
    }
}

#[test]
fn copies_beyond_the_limits_are_left_out_and_counted() {
    play(async || {
        let mut config = mirrored();
        config.variables.threads = 1;
        config.variables.mirror_max_concurrency = 1;
        config.variables.mirror_max_queue_length = 2;
        let (stage, mut servers) = stage(config);
        let mut client = log_in(&stage).await;
        let (mut server, copy) = first_select(&mut client, &mut servers, "SELECT 1").await;
        for _ in 0..5 {
            expect_alive(&mut client, &mut server).await;
        }
        let globals =
            ["Mirror_concurrency", "Mirror_queue_length", "Mirror_dropped"].map(|name| stage.global(name));
        assert_eq!(globals, [1, 2, 3]);
        let (mut mirror, _) = log_in_copy(copy).await;
        for sql in ["SELECT 1", "SELECT 'alive'", "SELECT 'alive'"] {
            mirror.expect_query(sql).await;
            mirror.ok().await;
        }
        settle().await;
        let globals =
            ["Mirror_concurrency", "Mirror_queue_length", "Mirror_done"].map(|name| stage.global(name));
        assert_eq!(globals, [0, 0, 3]);
        assert!(servers.settled().await.is_none());
    });
}

/// No more than the worker may run at a time, however many ask before one has begun.
#[test]
fn copies_that_come_together_are_left_out_as_well() {
    play(async || {
        let mut config = mirrored();
        config.variables.threads = 1;
        config.variables.mirror_max_concurrency = 1;
        config.variables.mirror_max_queue_length = 0;
        let (stage, mut servers) = stage(config);
        let (mut one, mut other) = (log_in(&stage).await, log_in(&stage).await);
        let _server_of_one = first_query(&mut one, &mut servers).await;
        let _server_of_other = first_query(&mut other, &mut servers).await;
        one.send_query("SELECT 1").await;
        other.send_query("SELECT 2").await;
        settle().await;
        assert_eq!((stage.global("Mirror_concurrency"), stage.global("Mirror_dropped")), (1, 1));
    });
}

#[test]
fn a_connection_ends_with_the_configuration_of_its_server() {
    let other = Server { hostgroup_id: 1, ..database("other") };
    let offline = Server { hostgroup_id: 1, status: config::ServerStatus::OfflineSoft, ..database("mirror") };
    for (changed, next) in [(other, Some("other:3306")), (offline, None)] {
        play(async || {
            let Scene { stage, mut servers, mut client, mut server, mut mirror, .. } =
                scene(mirrored()).await;
            mirror.ok().await;
            settle().await;
            assert_eq!(stage.usage(1).open, 1);
            let servers_now = vec![database("db"), changed.clone()];
            stage.apply(Config { servers: servers_now.into(), ..mirrored() }).unwrap();
            expect_alive(&mut client, &mut server).await;
            let dialled = servers.settled().await;
            assert_eq!(dialled.as_ref().map(|(name, _)| name.as_str()), next);
            expect_goodbye(&mut mirror).await;
        });
    }
}

#[test]
fn a_connection_of_which_a_configuration_knows_nothing_is_not_kept() {
    play(async || {
        let Scene { stage, mut mirror, .. } = scene(mirrored()).await;
        stage.apply(mirrored()).unwrap();
        mirror.ok().await;
        expect_goodbye(&mut mirror).await;
        settle().await;
        assert_eq!(stage.usage(1).open, 0);
    });
}

/// The server has been told whom it serves.
#[test]
fn a_connection_with_a_header_is_for_copies_of_one_client() {
    play(async || {
        let told = ServerOptions {
            hostname: "mirror".to_owned(),
            proxy_protocol: ProxyProtocol::V1,
            ..ServerOptions::default()
        };
        let (stage, mut servers) = stage(Config { server_options: vec![told], ..mirrored() });
        let mut kept = Vec::new();
        for port in [40_001, 40_002] {
            let from = SocketAddr::from(([203, 0, 113, 9], port));
            let to = SocketAddr::from(([192, 0, 2, 1], 3306));
            let end = stage.client_from(from, to, CAPACITY).expect("room for a client");
            let mut client = Client::connect(end, &options()).await;
            let (server, mut copy) = first_select(&mut client, &mut servers, "SELECT 1").await;
            let expected = format!("PROXY TCP4 203.0.113.9 192.0.2.1 {port} 3306\r\n");
            let mut header = vec![0; expected.len()];
            copy.read_exact(&mut header).await.unwrap();
            assert_eq!(String::from_utf8_lossy(&header), expected);
            let (mut mirror, _) = log_in_copy(copy).await;
            mirror.expect_query("SELECT 1").await;
            mirror.ok().await;
            settle().await;
            kept.push((client, server, mirror));
        }
        for (client, server, mirror) in &mut kept {
            expect_alive(client, server).await;
            mirror.expect_query("SELECT 'alive'").await;
            mirror.ok().await;
        }
    });
}

#[test]
fn a_statement_of_which_rules_do_not_see_the_end_is_not_copied() {
    play(async || {
        let Scene { stage, mut client, mut server, mut mirror, .. } = scene(mirrored()).await;
        mirror.ok().await;
        for (len, dropped) in [(64_000, 0), (64_001, 1), (200_000, 2)] {
            let sql = format!("SELECT '{}'", "x".repeat(len - 9));
            let answer = async {
                server.expect_query(&sql).await;
                server.rows(&["a"], &[]).await;
            };
            let ask = async {
                client.send_query(&sql).await;
                client.expect_rows(&[]).await;
            };
            tokio::join!(ask, answer);
            if dropped == 0 {
                mirror.expect_query(&sql).await;
                mirror.ok().await;
            }
            settle().await;
            assert_eq!(stage.global("Mirror_dropped"), dropped, "{len}");
        }
        assert_eq!(stage.global("Mirror_done"), 2);
    });
}

#[test]
fn a_mirror_that_fails_does_not_disturb_the_client() {
    play(async || {
        let Scene { stage, mut servers, mut client, mut server, mirror, .. } = scene(mirrored()).await;
        drop(mirror);
        settle().await;
        assert_eq!((stage.global("Mirror_failed"), stage.global("Mirror_concurrency")), (1, 0));
        expect_alive(&mut client, &mut server).await;
        // Nor one that talks nonsense.
        let mut mirror = servers.accept().await;
        mirror.expect_query("SELECT 'alive'").await;
        mirror.send(b"\x00").await;
        mirror.send(b"\x00").await;
        settle().await;
        assert_eq!((stage.global("Mirror_failed"), stage.usage(1).open), (2, 0));
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn a_hint_mirrors_and_prepared_statements_are_not_mirrored() {
    play(async || {
        let (stage, mut servers) = stage(Config { query_rules: Vec::new().into(), ..mirrored() });
        let mut client = log_in(&stage).await;
        let sql = "/* mirror=1 */ SELECT 1";
        let (_server, copy) = first_select(&mut client, &mut servers, sql).await;
        log_in_copy(copy).await.0.expect_query(sql).await;
        client.send_command(Kind::StmtPrepare, sql.as_bytes()).await;
        assert!(servers.settled().await.is_none());
    });
}

#[test]
fn a_copy_has_rules_of_its_own() {
    play(async || {
        let first = QueryRule { mirror_hostgroup: None, mirror_flag_out: Some(7), ..mirroring() };
        let second = QueryRule {
            flag_in: 7,
            replace_pattern: Some("FROM new".to_owned()),
            destination_hostgroup: Some(1),
            apply: true,
            ..rule(2, "FROM old")
        };
        let (stage, mut servers) = stage(Config { query_rules: vec![first, second].into(), ..mirrored() });
        let mut client = log_in(&stage).await;
        let (_server, copy) = first_select(&mut client, &mut servers, "SELECT a FROM old").await;
        log_in_copy(copy).await.0.expect_query("SELECT a FROM new").await;
    });
}

/// Has both servers answer a compared statement with these rows; what is counted then: compared,
/// and different.
async fn compare<'a>(
    stage: &Stage,
    servers: &mut Servers,
    original: &'a [Cells<'a>],
    copy: &'a [Cells<'a>],
) -> [u64; 2] {
    let mut client = log_in(stage).await;
    client.send_query("SELECT a, b FROM t").await;
    let mut server = servers.accept().await;
    server.expect_query("SELECT a, b FROM t").await;
    let mut mirror = servers.accept().await;
    mirror.expect_query("SELECT a, b FROM t").await;
    let slices =
        |rows: &'a [Cells<'a>]| -> Vec<&'a [Option<&'a str>]> { rows.iter().map(|row| &row[..]).collect() };
    server.rows(&["a", "b"], &slices(original)).await;
    mirror.rows(&["a", "b"], &slices(copy)).await;
    client.expect_rows(&slices(original)).await;
    settle().await;
    // The connection for copies is not to be used for the next comparison.
    sleep(ms(20_000)).await;
    ["Mirror_compared", "Mirror_different"].map(|name| stage.global(name))
}

#[test]
fn answers_are_compared_whatever_the_order_of_their_rows() {
    play(async || {
        let (stage, mut servers) = stage(compared());
        let (one, two) = ([Some("1"), Some("x")], [Some("2"), None]);
        assert_eq!(compare(&stage, &mut servers, &[one, two], &[two, one]).await, [1, 0]);
        assert_eq!(compare(&stage, &mut servers, &[one, two], &[one]).await, [2, 1]);
        assert_eq!(compare(&stage, &mut servers, &[one, one], &[one, two]).await, [3, 2]);
        assert_eq!(compare(&stage, &mut servers, &[], &[]).await, [4, 2]);
    });
}

#[test]
fn answers_of_many_turns_are_compared() {
    play(async || {
        // Both wait whole to be read.
        let (stage, mut servers) = stage_with(compared(), 2 << 20, |_| false);
        let long = "x".repeat(10_000);
        let rows = vec![[Some(long.as_str()), None]; 100];
        assert_eq!(compare(&stage, &mut servers, &rows, &rows).await, [1, 0]);
        assert_eq!(compare(&stage, &mut servers, &rows, &rows[1..]).await, [2, 1]);
    });
}

#[test]
fn an_error_is_not_the_same_as_no_rows() {
    play(async || {
        let (stage, mut servers) = stage(compared());
        let mut client = log_in(&stage).await;
        client.send_query("SELECT 1").await;
        let mut server = servers.accept().await;
        let mut mirror = servers.accept().await;
        for server in [&mut server, &mut mirror] {
            server.expect_query("SELECT 1").await;
        }
        // The copy may be the first to be answered.
        mirror.err(1146, "42S02", "No such table").await;
        settle().await;
        server.rows(&["a"], &[]).await;
        client.expect_rows(&[]).await;
        settle().await;
        assert_eq!((stage.global("Mirror_compared"), stage.global("Mirror_different")), (1, 1));
        // A client that leaves in the middle takes its half along.
        client.send_query("SELECT 1").await;
        server.expect_query("SELECT 1").await;
        drop(client);
        mirror.expect_query("SELECT 1").await;
        mirror.rows(&["a"], &[]).await;
        settle().await;
        assert_eq!((stage.global("Mirror_compared"), stage.global("Mirror_done")), (1, 2));
    });
}
