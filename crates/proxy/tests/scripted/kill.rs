//! KILL by connection id: whom it hits, and what both sides hear.

use config::Config;
use tokio::time::Instant;
use wire::Codec as _;
use wire::command::Kind;

use super::support::{
    Client, Database, Servers, config, connect, expect_alive, expect_nothing_left, first_query, log_in,
    messages, options, options_for, play, prepare, prepare_ok, run, session_in, settle, stage, user,
};
use proxy::stage::Stage;
use testkit::client::Options;
use testkit::script::ScriptedServer;

/// What the scripted server calls every connection.
const THREAD: u32 = 7;

/// A client that is logged in, and its id.
pub(super) async fn log_in_with_id(stage: &Stage, options: &Options) -> (Client, u32) {
    let mut client = Client::new(connect(stage));
    let id = client.log_in(options).await.expect("the login is right").connection_id;
    (client, id)
}

/// A stage, the servers' ends, a client whose statement runs, its id, its server, and another
/// client of the same user.
pub(super) async fn running() -> (Stage, Servers, Client, u32, Database, Client) {
    let (stage, mut servers) = stage(config());
    let (mut client, id) = log_in_with_id(&stage, &options()).await;
    let mut server = first_query(&mut client, &mut servers).await;
    client.send_query("SELECT SLEEP(60)").await;
    server.expect_query("SELECT SLEEP(60)").await;
    let killer = log_in(&stage).await;
    (stage, servers, client, id, server, killer)
}

/// The session has heard that it is killed, and is over.
pub(super) async fn expect_killed(client: &mut Client) {
    client.packets().expect_seq(1);
    let error = client.expect_err(1927).await;
    assert_eq!(error.to_string(), "1927 (70100): Connection was killed");
    client.expect_end().await;
}

fn two_users() -> Config {
    Config { users: vec![user("app", "secret"), user("other", "secret")].into(), ..config() }
}

#[test]
fn c03_kill_query_hits_the_statement_at_its_server_as_its_own_user() {
    play(async || {
        let (_stage, mut servers, mut client, id, mut server, mut killer) = running().await;
        killer.send_query(&format!("KILL QUERY {id}")).await;
        let (mut side, login) = ScriptedServer::accept(servers.dialled().await.1).await;
        assert_eq!(login.username, "app");
        side.expect_query(&format!("KILL QUERY {THREAD}")).await;
        side.ok().await;
        killer.expect_ok().await;
        assert_eq!(side.next_command().await, None, "it says goodbye");
        server.err(1317, "70100", "Query execution was interrupted").await;
        client.expect_err(1317).await;
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn every_form_of_kill_is_understood() {
    for (text, sent) in [
        ("kill query ID", "KILL QUERY 7"),
        ("/* c */ KILL /*!50000 QUERY */ ID;", "KILL QUERY 7"),
        ("KILL ID", "KILL CONNECTION 7"),
        ("Kill Hard Connection ID", "KILL HARD CONNECTION 7"),
        ("KILL SOFT QUERY ID", "KILL SOFT QUERY 7"),
    ] {
        play(async || {
            let (_stage, mut servers, _client, id, _server, mut killer) = running().await;
            // Also when it comes in pieces.
            let command = messages(0, &[format!("\x03{text}").replace("ID", &id.to_string()).as_bytes()]);
            for piece in command.chunks(7) {
                killer.send_bytes(piece).await;
                settle().await;
            }
            let mut side = servers.accept().await;
            side.expect_query(sent).await;
            side.ok().await;
            killer.packets().expect_seq(1);
            killer.expect_ok().await;
        });
    }
}

#[test]
fn the_servers_no_is_the_answer() {
    play(async || {
        let (_stage, mut servers, mut client, id, mut server, mut killer) = running().await;
        killer.send_query(&format!("KILL QUERY {id}")).await;
        let mut side = servers.accept().await;
        side.expect_query("KILL QUERY 7").await;
        side.err(1094, "HY000", "Unknown thread id: 7").await;
        killer.expect_err(1094).await;
        server.rows(&["SLEEP(60)"], &[&[Some("0")]]).await;
        client.expect_rows(&[&[Some("0")]]).await;
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn a_killed_session_ends_with_its_statement() {
    // The server closes at once, says something before, or does not close.
    for words in [None, Some(false), Some(true)] {
        play(async || {
            let (stage, mut servers, mut client, id, mut server, mut killer) = running().await;
            killer.send_command(Kind::ProcessKill, &id.to_le_bytes()).await;
            let mut side = servers.accept().await;
            side.expect_query("KILL CONNECTION 7").await;
            side.ok().await;
            killer.expect_ok().await;
            match words {
                None => {
                    drop(server);
                    expect_killed(&mut client).await;
                }
                Some(true) => {
                    server.err(1317, "70100", "Query execution was interrupted").await;
                    drop(server);
                    client.expect_err(1317).await;
                    expect_killed(&mut client).await;
                }
                Some(false) => {
                    let start = Instant::now();
                    client.expect_end().await;
                    assert_eq!(start.elapsed().as_secs(), 2);
                }
            }
            drop((client, killer, side));
            expect_nothing_left(&stage).await;
        });
    }
}

#[test]
fn a_session_that_does_nothing_loses_nothing_by_kill_query() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let (mut client, id) = log_in_with_id(&stage, &options()).await;
        let mut killer = log_in(&stage).await;
        killer.send_query(&format!("KILL QUERY {id}")).await;
        killer.expect_ok().await;
        let mut server = first_query(&mut client, &mut servers).await;
        killer.send_query(&format!("KILL QUERY {id}")).await;
        killer.expect_ok().await;
        assert!(servers.settled().await.is_none(), "no statement is disturbed for nothing");
        expect_alive(&mut client, &mut server).await;
    });
}

/// The server was asked for a thread that the session had when the statement was prepared, and has
/// no more.
#[test]
fn a_prepared_kill_is_executed_like_any_other() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let (mut client, id) = log_in_with_id(&stage, &options()).await;
        let mut killer = log_in(&stage).await;
        let mut own = first_query(&mut killer, &mut servers).await;
        prepare(&mut killer, &mut own, format!("KILL QUERY {id}").as_bytes(), 5).await;
        let execute = [5, 0, 0, 0, 0, 1, 0, 0, 0];
        // There is nothing to kill.
        killer.send_command(Kind::StmtExecute, &execute).await;
        killer.expect_ok().await;
        let mut server = first_query(&mut client, &mut servers).await;
        client.send_query("SELECT SLEEP(60)").await;
        server.expect_query("SELECT SLEEP(60)").await;
        killer.send_command(Kind::StmtExecute, &execute).await;
        let (mut side, _) = ScriptedServer::accept(servers.dialled().await.1).await;
        side.expect_query(&format!("KILL QUERY {THREAD}")).await;
        side.ok().await;
        killer.expect_ok().await;
        server.err(1317, "70100", "Query execution was interrupted").await;
        client.expect_err(1317).await;
        // It is forgotten as others are.
        killer.send_command(Kind::StmtClose, &execute[..4]).await;
        own.expect_command(Kind::StmtClose, &execute[..4]).await;
        killer.send_command(Kind::StmtExecute, &execute).await;
        own.expect_command(Kind::StmtExecute, &execute).await;
        own.err(1243, "HY000", "Unknown prepared statement handler").await;
        killer.expect_err(1243).await;
    });
}

/// MariaDB's clients send an execution of what they prepare right behind that.
#[test]
fn a_kill_is_executed_right_behind_its_preparation() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let (_client, id) = log_in_with_id(&stage, &options()).await;
        let mut killer = log_in(&stage).await;
        let mut own = first_query(&mut killer, &mut servers).await;
        let sql = format!("KILL QUERY {id}");
        let execute = [&[Kind::StmtExecute as u8, 255, 255, 255, 255][..], &[0, 1, 0, 0, 0]].concat();
        let prepare = [&[Kind::StmtPrepare as u8][..], sql.as_bytes()].concat();
        let both = [messages(0, &[&prepare]), messages(0, &[&execute])].concat();
        killer.send_bytes(&both).await;
        own.expect_command(Kind::StmtPrepare, sql.as_bytes()).await;
        let ok = prepare_ok(5);
        own.send_packet(&ok).await;
        killer.packets().expect_seq(1);
        let answer = ok.encode(killer.capabilities());
        killer.expect(&answer).await;
        killer.packets().expect_seq(1);
        killer.expect_ok().await;
    });
}

#[test]
fn a_session_that_does_nothing_is_told_that_it_is_killed() {
    for with_server in [true, false] {
        play(async || {
            let (stage, mut servers) = stage(config());
            let (mut client, id) = log_in_with_id(&stage, &options()).await;
            let mut killer = log_in(&stage).await;
            if with_server {
                let mut server = first_query(&mut client, &mut servers).await;
                run(&mut client, &mut server, "DO 1").await;
                killer.send_query(&format!("KILL {id}")).await;
                expect_killed(&mut client).await;
                server.expect_end().await;
            } else {
                killer.send_query(&format!("KILL {id}")).await;
                expect_killed(&mut client).await;
            }
            killer.expect_ok().await;
            killer.send_query(&format!("KILL {id}")).await;
            let error = killer.expect_err(1094).await;
            assert_eq!(error.to_string(), format!("1094 (HY000): Unknown thread id: {id}"));
        });
    }
}

/// The connection on which a server is asked whether `other` may kill with `text`.
async fn side_of_other(servers: &mut Servers, text: &str) -> Database {
    let (mut side, login) = ScriptedServer::accept(servers.dialled().await.1).await;
    assert_eq!(login.username, "other");
    side.expect_query(text).await;
    side
}

#[test]
fn c03_another_users_session_is_killed_if_its_server_allows_it() {
    play(async || {
        let (stage, mut servers) = stage(two_users());
        let (mut client, id) = log_in_with_id(&stage, &options()).await;
        let (mut other, _) = log_in_with_id(&stage, &options_for("other", "secret")).await;
        let mut server = first_query(&mut client, &mut servers).await;
        // Whether it runs a statement or not.
        for running in [false, true] {
            if running {
                client.send_query("SELECT 1").await;
                server.expect_query("SELECT 1").await;
            }
            for (what, sent) in [("QUERY", "KILL QUERY 7"), ("CONNECTION", "KILL CONNECTION 7")] {
                other.send_query(&format!("KILL {what} {id}")).await;
                let mut side = side_of_other(&mut servers, sent).await;
                side.err(1095, "HY000", "You are not owner of thread 7").await;
                let error = other.expect_err(1095).await;
                assert_eq!(error.to_string(), format!("1095 (HY000): You are not owner of thread {id}"));
            }
        }
        server.ok().await;
        client.expect_ok().await;
        expect_alive(&mut client, &mut server).await;
        other.send_command(Kind::ProcessKill, &id.to_le_bytes()).await;
        side_of_other(&mut servers, "KILL CONNECTION 7").await.ok().await;
        other.expect_ok().await;
        client.packets().expect_seq(1);
        client.expect_err(1927).await;
        client.expect_end().await;
        server.expect_gone().await;
    });
}

/// The connection that stands in for the one that the session of `app` does not have.
async fn stand_in(servers: &mut Servers) -> Database {
    let (server, login) = ScriptedServer::accept(servers.dialled().await.1).await;
    assert_eq!(login.username, "app");
    server
}

#[test]
fn c03_another_users_session_without_a_connection_is_killed_if_a_server_would_allow_it() {
    play(async || {
        let (stage, mut servers) = stage(two_users());
        let (mut client, id) = log_in_with_id(&stage, &options()).await;
        let (mut other, _) = log_in_with_id(&stage, &options_for("other", "secret")).await;
        for (what, sent) in [("QUERY", "KILL QUERY 7"), ("CONNECTION", "KILL CONNECTION 7")] {
            other.send_query(&format!("KILL {what} {id}")).await;
            let mut stands_in = stand_in(&mut servers).await;
            let mut side = side_of_other(&mut servers, sent).await;
            side.err(1095, "HY000", "You are not owner of thread 7").await;
            let error = other.expect_err(1095).await;
            assert_eq!(error.to_string(), format!("1095 (HY000): You are not owner of thread {id}"));
            assert_eq!(stands_in.next_command().await, None, "it says goodbye");
        }
        other.send_query(&format!("KILL QUERY {id}")).await;
        let _stands_in = stand_in(&mut servers).await;
        side_of_other(&mut servers, "KILL QUERY 7").await.ok().await;
        other.expect_ok().await;
        let mut server = first_query(&mut client, &mut servers).await;
        run(&mut client, &mut server, "SELECT 1").await;
        drop(client);
        settle().await;
        let (mut client, id) = log_in_with_id(&stage, &options()).await;
        other.send_command(Kind::ProcessKill, &(id).to_le_bytes()).await;
        let _stands_in = stand_in(&mut servers).await;
        side_of_other(&mut servers, "KILL CONNECTION 7").await.ok().await;
        other.expect_ok().await;
        client.packets().expect_seq(1);
        client.expect_err(1927).await;
        client.expect_end().await;
        let counted = ["mysql_killed_backend_queries", "mysql_killed_backend_connections"];
        assert_eq!(counted.map(|name| stage.global(name)), [0, 0], "no session's");
    });
}

#[test]
fn c03_who_cannot_be_asked_about_is_not_killed() {
    play(async || {
        let (stage, mut servers) = stage(two_users());
        let (mut client, id) = log_in_with_id(&stage, &options()).await;
        let (mut other, _) = log_in_with_id(&stage, &options_for("other", "secret")).await;
        other.send_query(&format!("KILL {id}")).await;
        drop(servers.dialled().await);
        let error = other.expect_err(1105).await;
        assert!(error.message.starts_with(&format!("Cannot kill {id} at server db:3306: ")), "{error:?}");
        let mut server = first_query(&mut client, &mut servers).await;
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn c03_no_user_kills_a_session_of_another_where_no_server_can_be_asked() {
    play(async || {
        let mut config = two_users();
        config.servers[0].status = config::ServerStatus::OfflineHard;
        let (stage, mut servers) = stage(config);
        let (mut client, id) = log_in_with_id(&stage, &options()).await;
        let (mut other, _) = log_in_with_id(&stage, &options_for("other", "secret")).await;
        for text in [format!("KILL {id}"), format!("KILL QUERY {id}"), "KILL 2147483647".to_owned()] {
            other.send_query(&text).await;
            other.expect_err(1094).await;
        }
        other.send_command(Kind::ProcessKill, &id.to_le_bytes()).await;
        other.expect_err(1094).await;
        assert!(servers.settled().await.is_none(), "no server hears of it");
        client.send_query("SELECT 1").await;
        client.expect_err(9001).await;
    });
}

#[test]
fn c03_a_stranger_does_not_hit_the_next_statement() {
    play(async || {
        let (stage, mut servers) = stage(two_users());
        let (mut client, id) = log_in_with_id(&stage, &options()).await;
        let (mut other, _) = log_in_with_id(&stage, &options_for("other", "secret")).await;
        let mut server = first_query(&mut client, &mut servers).await;
        other.send_query(&format!("KILL QUERY {id}")).await;
        let dialled = servers.dialled().await.1;
        // It did nothing when it was meant, and now it does.
        client.send_query("SELECT 1").await;
        server.expect_query("SELECT 1").await;
        let (mut side, _) = ScriptedServer::accept(dialled).await;
        assert_eq!(side.next_command().await, None, "it says goodbye");
        other.expect_ok().await;
        server.ok().await;
        client.expect_ok().await;
    });
}

#[test]
fn ids_of_servers_are_theirs() {
    play(async || {
        let (_stage, _servers, mut client, mut server) = session_in(config()).await;
        for text in ["KILL 7", "KILL QUERY 1073741823", "KILL 2147483648", "KILL USER app", "kill @@id"] {
            client.send_query(text).await;
            server.expect_query(text).await;
            server.err(1094, "HY000", "Unknown thread id: 7").await;
            client.expect_err(1094).await;
        }
        client.send_command(Kind::ProcessKill, &7_u32.to_le_bytes()).await;
        server.expect_command(Kind::ProcessKill, &7_u32.to_le_bytes()).await;
        server.ok().await;
        client.expect_ok().await;
    });
}

#[test]
fn one_can_kill_oneself() {
    for (version, code) in [("10.11.6-MariaDB", 1927), ("9.7.0", 1317)] {
        play(async || {
            let mut config = config();
            version.clone_into(&mut config.variables.server_version);
            let (stage, mut servers) = stage(config);
            let (mut client, id) = log_in_with_id(&stage, &options()).await;
            let mut server = first_query(&mut client, &mut servers).await;
            client.send_query(&format!("KILL QUERY {id}")).await;
            client.expect_err(1317).await;
            expect_alive(&mut client, &mut server).await;
            client.send_query(&format!("KILL {id}")).await;
            client.expect_err(code).await;
            client.expect_end().await;
            server.expect_end().await;
            expect_nothing_left(&stage).await;
        });
    }
}
