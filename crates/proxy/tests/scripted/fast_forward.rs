//! Users with `fast_forward = 1`: after the login the proxy does not look at what is sent.

use config::{Config, Server};
use proxy::stage::Stage;
use testkit::script::ScriptedServer;
use tokio::time::{Instant, sleep};
use wire::Capabilities;
use wire::command::Kind;

use super::change_user::{change, client as connect_as};
use super::kill::log_in_with_id;
use super::support::{
    CAPACITY, CLASSIC, Client, Database, Servers, config, database, expect_nothing_left, log_in, log_in_as,
    messages, options, options_for, play, rule, secs, settle, stage, stage_with, user,
};

/// The usual user's sessions are copied; connections would be shared, and a rule would refuse each
/// statement.
fn forwarding() -> Config {
    let mut config = config();
    config.users[0].fast_forward = true;
    config.variables.multiplexing = true;
    config.variables.wait_timeout = secs(5);
    config.query_rules =
        vec![config::QueryRule { error_msg: Some("no".to_owned()), apply: true, ..rule(1, ".") }].into();
    config
}

/// A session that has said something, and its server.
async fn session_of(config: Config) -> (Stage, Servers, Client, Database) {
    let (stage, mut servers) = stage(config);
    let mut client = log_in(&stage).await;
    assert!(servers.settled().await.is_none(), "idle clients have no connections");
    client.send_query("DO 0").await;
    let mut server = servers.accept().await;
    server.expect_query("DO 0").await;
    server.ok().await;
    client.expect_ok().await;
    client.patience(secs(1000));
    server.patience(secs(1000));
    (stage, servers, client, server)
}

#[test]
fn bytes_pass_as_they_are() {
    play(async || {
        let (stage, mut servers, mut client, mut server) = session_of(forwarding()).await;
        // Nothing of this is the protocol, or would be sent on unseen.
        client.send_bytes(b"\xff\xff\xffno command, and no packet").await;
        assert_eq!(server.read_bytes(28).await, b"\xff\xff\xffno command, and no packet");
        server.send_bytes(b"an answer that nobody has asked for").await;
        assert_eq!(client.read_bytes(35).await, b"an answer that nobody has asked for");
        // The connection is the session's, whatever others wait for.
        assert_eq!((stage.usage(0).open, stage.free_connections().len()), (1, 0));
        assert!(servers.settled().await.is_none());
        let row = stage.processes().remove(0);
        assert_eq!((row.command, row.user.as_str(), row.statement), ("Fast forward", "app", None));
        assert_eq!(row.server, Some(("db".to_owned(), 3306)));
        assert!(stage.take_digests().is_empty());
        drop(client);
        server.expect_end().await;
        drop(server);
        expect_nothing_left(&stage).await;
        assert_eq!(stage.global("Client_Connections_aborted"), 1);
    });
}

#[test]
fn a_client_that_says_goodbye_has_not_been_cut_off() {
    play(async || {
        let (stage, _servers, mut client, mut server) = session_of(forwarding()).await;
        client.send_command(Kind::Quit, b"").await;
        server.expect_command(Kind::Quit, b"").await;
        drop(server);
        client.expect_end().await;
        drop(client);
        expect_nothing_left(&stage).await;
        // The same before it has a server, which it does not get for that.
        let mut client = log_in(&stage).await;
        client.send_command(Kind::Quit, b"").await;
        client.expect_end().await;
        drop(client);
        expect_nothing_left(&stage).await;
        assert_eq!(stage.global("Client_Connections_aborted"), 0);
    });
}

/// How packets are framed is agreed on with the server as with the client.
#[test]
fn the_server_is_told_what_the_client_can_do() {
    for capabilities in [CLASSIC, CLASSIC | Capabilities::DEPRECATE_EOF] {
        play(async || {
            let (stage, mut servers) = stage(forwarding());
            let options = options().capabilities(capabilities);
            let mut client = log_in_as(&stage, &options).await;
            client.send_query("DO 0").await;
            let (_, seen) = ScriptedServer::accept(servers.dialled().await.1).await;
            let wanted = capabilities & Capabilities::DEPRECATE_EOF;
            assert_eq!(seen.capabilities & Capabilities::DEPRECATE_EOF, wanted);
        });
    }
}

#[test]
fn what_came_with_the_login_or_in_pieces_is_not_lost() {
    play(async || {
        let (stage, mut servers) = stage(forwarding());
        let mut client = log_in(&stage).await;
        let query = messages(0, &[b"\x03SELECT 1"]);
        client.send_bytes(&query[..2]).await;
        let mut server = servers.accept().await;
        client.send_bytes(&query[2..]).await;
        server.expect_query("SELECT 1").await;
    });
}

#[test]
fn a_client_that_does_nothing_is_disconnected() {
    play(async || {
        let (stage, _servers, mut client, mut server) = session_of(forwarding()).await;
        // As long as its server works, it is not the client that does nothing.
        client.send_query("SELECT SLEEP(60)").await;
        server.expect_query("SELECT SLEEP(60)").await;
        sleep(secs(60)).await;
        server.ok().await;
        client.expect_ok().await;
        let begun = Instant::now();
        client.expect_end().await;
        assert!(begun.elapsed() >= secs(5) && begun.elapsed() <= secs(7), "{:?}", begun.elapsed());
        server.expect_end().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn without_a_server_the_client_is_told_so() {
    play(async || {
        let mut config = forwarding();
        config.variables.connect_retries_on_failure = 0;
        let (stage, _servers) = stage_with(config, CAPACITY, |_| true);
        let mut client = log_in(&stage).await;
        for _ in 0..2 {
            client.send_query("DO 0").await;
            let error = client.expect_err(9001).await.to_string();
            let text =
                "Max connect timeout reached while reaching hostgroup 0 for 'fast_forward' session after ";
            assert!(error.contains(text), "{error}");
        }
        assert_eq!(stage.sessions(), 1);
    });
}

/// `max_connections` of the server is for all alike.
#[test]
fn its_connection_takes_a_place() {
    play(async || {
        let mut config = forwarding();
        config.servers = vec![Server { max_connections: 1, ..database("db") }].into();
        config.users.push(user("other", "secret"));
        config.query_rules.clear();
        let (stage, mut servers, client, server) = session_of(config).await;
        let other = options_for("other", "secret");
        let mut other = log_in_as(&stage, &other).await;
        other.send_query("DO 1").await;
        assert!(servers.settled().await.is_none());
        assert_eq!(stage.usage(0).waiting, 1);
        drop((client, server));
        let mut server = servers.accept().await;
        server.expect_query("DO 1").await;
    });
}

#[test]
fn it_can_be_killed() {
    play(async || {
        let (stage, mut servers) = stage(forwarding());
        let (mut client, id) = log_in_with_id(&stage, &options()).await;
        client.send_query("DO 0").await;
        let mut server = servers.accept().await;
        server.expect_query("DO 0").await;
        assert!(stage.kill(id));
        client.expect_end().await;
        // What it has sent last is killed at its server.
        let mut killer = servers.accept().await;
        killer.expect_query("KILL CONNECTION 7").await;
        killer.ok().await;
        server.expect_end().await;
        drop((client, server, killer));
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn a_client_that_vanishes_leaves_nothing_running() {
    play(async || {
        let (_stage, mut servers, mut client, mut server) = session_of(forwarding()).await;
        client.send_query("SELECT SLEEP(60)").await;
        server.expect_query("SELECT SLEEP(60)").await;
        drop(client);
        let mut killer = servers.accept().await;
        killer.expect_query("KILL CONNECTION 7").await;
    });
}

#[test]
fn a_client_may_become_such_a_user() {
    play(async || {
        let mut config = forwarding();
        config.users.insert(0, user("before", "secret"));
        config.query_rules.clear();
        let (stage, mut servers) = stage(config);
        let (mut client, nonce) = connect_as(&stage, &options_for("before", "secret")).await;
        client.send_at(0, &change(&nonce, "app", "secret", "")).await;
        client.expect_ok().await;
        client.send_bytes(b"not looked at").await;
        let mut server = servers.accept().await;
        assert_eq!(server.read_bytes(13).await, b"not looked at");
    });
}

#[test]
fn a_server_that_is_set_offline_hard_ends_it() {
    play(async || {
        let (stage, _servers, mut client, mut server) = session_of(forwarding()).await;
        let mut config = forwarding();
        config.servers[0].status = config::ServerStatus::OfflineHard;
        stage.apply(config).unwrap();
        client.expect_end().await;
        server.expect_end().await;
    });
}

#[test]
fn a_drain_ends_it_when_the_time_is_up() {
    play(async || {
        let (stage, _servers, mut client, mut server) = session_of(forwarding()).await;
        let mut idle = log_in(&stage).await;
        stage.drain();
        idle.packets().expect_seq(1);
        idle.expect_err(1053).await;
        client.send_query("COMMIT").await;
        server.expect_query("COMMIT").await;
        server.ok().await;
        client.expect_ok().await;
        client.expect_end().await;
        server.expect_end().await;
    });
}

/// A row that is loaded means the logins after it.
#[test]
fn who_is_there_stays_as_it_is() {
    play(async || {
        let (stage, _servers, mut client, mut server) = session_of(forwarding()).await;
        let mut config = forwarding();
        config.users[0].fast_forward = false;
        stage.apply(config).unwrap();
        client.send_bytes(b"still not looked at").await;
        assert_eq!(server.read_bytes(19).await, b"still not looked at");
        let mut judged = log_in(&stage).await;
        judged.send_query("DO 1").await;
        judged.expect_err(1148).await;
        settle().await;
    });
}
