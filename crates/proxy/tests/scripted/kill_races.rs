//! KILL at the wrong moment: what it was meant for ends, a client leaves, a server is slow, the
//! proxy ends.

use std::time::Duration;

use config::{Config, Server};
use proxy::memory::End;
use proxy::stage::Stage;
use testkit::script::ScriptedServer;
use tokio::time::{Instant, timeout};

use super::kill::{expect_killed, log_in_with_id, running};
use super::shared::{config as shared, logs_in_again};
use super::support::{
    Client, Database, Servers, config, database, expect_alive, expect_nothing_left, first_query, log_in,
    log_in_as, options, options_for, play, run, settle, stage, user,
};

/// Connections that a worker has open at a time to kill something.
const KILLS_MAX: usize = 16;

/// Nothing has come to a server for some seconds.
pub(super) async fn expect_silence(server: &mut Database) {
    let waited = timeout(Duration::from_secs(5), server.read_command()).await;
    assert!(waited.is_err(), "expected nothing, got {waited:?}");
}

#[test]
fn c03_a_kill_never_hits_the_next_statement() {
    play(async || {
        let (_stage, mut servers, mut client, id, mut server, mut killer) = running().await;
        killer.send_query(&format!("KILL QUERY {id}")).await;
        let (_, side) = servers.dialled().await;
        // The statement ends before the proxy is logged in, and the next one begins.
        server.ok().await;
        client.expect_ok().await;
        client.send_query("SELECT 'innocent'").await;
        server.expect_query("SELECT 'innocent'").await;
        let (mut side, _) = ScriptedServer::accept(side).await;
        assert_eq!(side.next_command().await, None, "nothing is killed");
        killer.expect_ok().await;
        server.ok().await;
        client.expect_ok().await;
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn c03_the_next_statement_waits_for_a_kill_that_is_on_its_way() {
    play(async || {
        let (_stage, mut servers, mut client, id, mut server, mut killer) = running().await;
        killer.send_query(&format!("KILL QUERY {id}")).await;
        let mut side = servers.accept().await;
        side.expect_query("KILL QUERY 7").await;
        // The statement ends before the server kills it.
        server.ok().await;
        client.expect_ok().await;
        client.send_query("SELECT 'innocent'").await;
        expect_silence(&mut server).await;
        side.ok().await;
        killer.expect_ok().await;
        server.expect_query("SELECT 'innocent'").await;
        server.ok().await;
        client.expect_ok().await;
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn c03_a_session_ends_when_the_outcome_of_a_kill_is_unknown() {
    // The server closes instead of answering, or does not answer in time.
    for closes in [true, false] {
        play(async || {
            let (_stage, mut servers, mut client, id, mut server, mut killer) = running().await;
            let start = Instant::now();
            killer.send_query(&format!("KILL QUERY {id}")).await;
            let mut side = servers.accept().await;
            side.expect_query("KILL QUERY 7").await;
            let side = (!closes).then_some(side);
            let error = killer.expect_err(1105).await;
            let why = if closes { "unexpected end of file" } else { "no answer within 10000ms" };
            assert_eq!(error.message, format!("Cannot kill {id} at server db:3306: {why}"));
            assert_eq!(start.elapsed().as_secs(), if closes { 0 } else { 10 });
            // What runs may end in peace.
            server.ok().await;
            client.expect_ok().await;
            expect_killed(&mut client).await;
            server.expect_end().await;
            drop(side);
        });
    }
}

#[test]
fn a_statement_runs_on_when_no_kill_can_be_sent() {
    play(async || {
        let (_stage, mut servers, mut client, id, mut server, mut killer) = running().await;
        killer.send_query(&format!("KILL QUERY {id}")).await;
        let mut side = Database::new(servers.dialled().await.1);
        side.packets().expect_seq(0);
        side.err(1040, "08004", "Too many connections").await;
        killer.expect_err(1040).await;
        // A connection that is only opened.
        killer.send_query(&format!("KILL QUERY {id}")).await;
        let (_, silent) = servers.dialled().await;
        killer.expect_err(1105).await;
        drop(silent);
        server.ok().await;
        client.expect_ok().await;
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn a_session_is_killed_even_if_its_server_cannot_be_told() {
    play(async || {
        let (stage, mut servers, mut client, id, mut server, mut killer) = running().await;
        killer.send_query(&format!("KILL {id}")).await;
        drop(servers.dialled().await);
        killer.expect_ok().await;
        client.expect_end().await;
        server.expect_end().await;
        drop(killer);
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn sessions_that_wait_for_a_server_can_be_killed() {
    // In line, and in the login to a server.
    for max_connections in [1, 2] {
        play(async || {
            let db = Server { max_connections, ..database("db") };
            let (stage, mut servers) = stage(Config { servers: vec![db].into(), ..config() });
            let (mut first, _) = log_in_with_id(&stage, &options()).await;
            let _server = first_query(&mut first, &mut servers).await;
            let (mut client, id) = log_in_with_id(&stage, &options()).await;
            let mut killer = log_in(&stage).await;
            client.send_query("SELECT 1").await;
            settle().await;
            killer.send_query(&format!("KILL QUERY {id}")).await;
            killer.expect_ok().await;
            client.expect_err(1317).await;
            client.send_query("SELECT 1").await;
            settle().await;
            killer.send_query(&format!("KILL {id}")).await;
            killer.expect_ok().await;
            expect_killed(&mut client).await;
            drop(client);
            settle().await;
            let usage = stage.usage(0);
            assert_eq!((stage.sessions(), usage.open, usage.waiting), (2, 1, 0));
        });
    }
}

#[test]
fn a_killer_can_be_killed() {
    play(async || {
        let (stage, mut servers, mut client, id, mut server, _) = running().await;
        let (mut killer, killer_id) = log_in_with_id(&stage, &options()).await;
        killer.send_query(&format!("KILL QUERY {id}")).await;
        let mut side = servers.accept().await;
        side.expect_query("KILL QUERY 7").await;
        let mut second = log_in(&stage).await;
        second.send_query(&format!("KILL QUERY {killer_id}")).await;
        second.expect_ok().await;
        killer.expect_err(1317).await;
        killer.send_query(&format!("KILL QUERY {id}")).await;
        let mut another_side = servers.accept().await;
        another_side.expect_query("KILL QUERY 7").await;
        second.send_query(&format!("KILL {killer_id}")).await;
        second.expect_ok().await;
        expect_killed(&mut killer).await;
        // What they have begun goes on.
        side.ok().await;
        another_side.ok().await;
        server.ok().await;
        client.expect_ok().await;
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn a_killer_that_leaves_does_not_take_its_kill_back() {
    play(async || {
        let (_stage, mut servers, mut client, id, mut server, mut killer) = running().await;
        killer.send_query(&format!("KILL QUERY {id}")).await;
        let (_, side) = servers.dialled().await;
        drop(killer);
        let (mut side, _) = ScriptedServer::accept(side).await;
        side.expect_query("KILL QUERY 7").await;
        side.ok().await;
        server.err(1317, "70100", "Query execution was interrupted").await;
        client.expect_err(1317).await;
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn a_victim_that_leaves_is_gone() {
    play(async || {
        let (stage, mut servers, client, id, server, mut killer) = running().await;
        killer.send_query(&format!("KILL QUERY {id}")).await;
        let (_, side) = servers.dialled().await;
        drop((client, server));
        settle().await;
        let (mut side, _) = ScriptedServer::accept(side).await;
        side.expect_query("KILL QUERY 7").await;
        side.err(1094, "HY000", "Unknown thread id: 7").await;
        killer.expect_err(1094).await;
        killer.send_query(&format!("KILL QUERY {id}")).await;
        killer.expect_err(1094).await;
        drop((killer, servers));
        settle().await;
        assert_eq!(stage.sessions(), 0);
    });
}

#[test]
fn kills_of_one_worker_wait_in_line() {
    play(async || {
        let db = Server { max_connections: 100, ..database("db") };
        let (stage, mut servers) = stage(Config { servers: vec![db].into(), ..config() });
        let mut victims = Vec::new();
        for _ in 0..=KILLS_MAX {
            let (mut client, id) = log_in_with_id(&stage, &options()).await;
            let mut server = first_query(&mut client, &mut servers).await;
            client.send_query("SELECT SLEEP(60)").await;
            server.expect_query("SELECT SLEEP(60)").await;
            victims.push((client, server, log_in(&stage).await, id));
        }
        for (_, _, killer, id) in &mut victims {
            killer.send_query(&format!("KILL QUERY {id}")).await;
        }
        let mut sides = Vec::new();
        for _ in 0..KILLS_MAX {
            sides.push(servers.accept().await);
        }
        assert!(servers.settled().await.is_none(), "the last one waits");
        assert_eq!(stage.usage(0).open as usize, KILLS_MAX + 1, "they count for no limit");
        sides[3].expect_query("KILL QUERY 7").await;
        sides[3].ok().await;
        let mut last = servers.accept().await;
        last.expect_query("KILL QUERY 7").await;
        last.ok().await;
        victims[KILLS_MAX].2.expect_ok().await;
    });
}

#[test]
fn a_drain_lets_a_kill_end_and_its_deadline_does_not() {
    for answered in [true, false] {
        play(async || {
            let (stage, mut servers, mut client, id, mut server, mut killer) = running().await;
            killer.send_query(&format!("KILL QUERY {id}")).await;
            let mut side = servers.accept().await;
            side.expect_query("KILL QUERY 7").await;
            stage.drain();
            settle().await;
            if answered {
                side.ok().await;
                killer.expect_ok().await;
                server.err(1317, "70100", "Query execution was interrupted").await;
                client.expect_err(1317).await;
            } else {
                killer.patience(Duration::from_mins(1));
                killer.expect_gone().await;
            }
            client.expect_gone().await;
            server.expect_gone().await;
            drop((client, killer));
            expect_nothing_left(&stage).await;
        });
    }
}

/// A session that another user wants to have killed, while sessions of its own user wait for its
/// connection.
struct Aimed {
    _stage: Stage,
    servers: Servers,
    /// Who is meant.
    one: Client,
    /// Of the same user.
    two: Client,
    /// Who has said it.
    other: Client,
    /// The one connection of all sessions, which the first has had.
    server: Database,
    /// The connection for the KILL; the proxy has not logged in there yet.
    side: End,
}

impl Aimed {
    /// The other user has said this, and the id of the session that it means, which then runs a
    /// statement.
    async fn by(kill: &str) -> Self {
        let mut config = shared();
        config.users.push(user("other", "secret"));
        config.variables.connect_timeout_server_max = Duration::from_secs(20);
        let (stage, mut servers) = stage(config);
        let (mut one, id) = log_in_with_id(&stage, &options()).await;
        let mut server = first_query(&mut one, &mut servers).await;
        let two = log_in(&stage).await;
        let mut other = log_in_as(&stage, &options_for("other", "secret")).await;
        other.send_query(&format!("{kill} {id}")).await;
        let side = servers.dialled().await.1;
        run(&mut one, &mut server, "SELECT 1").await;
        Self { _stage: stage, servers, one, two, other, server, side }
    }
}

#[test]
fn c03_a_kill_by_another_user_does_not_hit_who_has_the_connection_next() {
    play(async || {
        let Aimed { mut servers, mut one, mut two, mut other, mut server, side, .. } =
            Aimed::by("KILL").await;
        // Until the server has been told, the connection stays with the session that is meant.
        two.send_query("SELECT 2").await;
        expect_silence(&mut server).await;
        let (mut side, _) = ScriptedServer::accept(side).await;
        side.expect_query("KILL CONNECTION 7").await;
        side.ok().await;
        other.expect_ok().await;
        expect_killed(&mut one).await;
        drop(server);
        let mut server = servers.accept().await;
        server.expect_query("SELECT 2").await;
        server.ok().await;
        two.expect_ok().await;
    });
}

#[test]
fn c03_a_late_kill_does_not_hit_who_has_the_connection_next() {
    for is_hit in [false, true] {
        play(async || {
            let mut config = shared();
            config.variables.connect_timeout_server_max = Duration::from_secs(20);
            let (stage, mut servers) = stage(config);
            let (mut one, id) = log_in_with_id(&stage, &options()).await;
            let mut server = first_query(&mut one, &mut servers).await;
            one.send_query("DO SLEEP(60)").await;
            server.expect_query("DO SLEEP(60)").await;
            let mut killer = log_in(&stage).await;
            killer.send_query(&format!("KILL QUERY {id}")).await;
            let mut side = servers.accept().await;
            side.expect_query("KILL QUERY 7").await;
            let mut two = log_in(&stage).await;
            two.send_query("SELECT 2").await;
            side.ok().await;
            killer.expect_ok().await;
            if is_hit {
                server.err(1317, "70100", "Query execution was interrupted").await;
                one.expect_err(1317).await;
                server.expect_query("SHOW WARNINGS LIMIT 2").await;
                let row = ["Error", "1317", "Query execution was interrupted"].map(Some);
                server.rows(&["Level", "Code", "Message"], &[&row]).await;
                logs_in_again(&mut server).await;
                return;
            }
            // The server had ended the statement before: its flag stays for the next one.
            server.ok().await;
            one.expect_ok().await;
            assert_eq!(server.next_command().await, None, "it is closed");
            let mut server = servers.accept().await;
            server.expect_query("SELECT 2").await;
            server.ok().await;
            two.expect_ok().await;
        });
    }
}

#[test]
fn a_connection_is_shared_again_when_a_kill_was_refused() {
    play(async || {
        let Aimed { mut two, mut other, mut server, side, one: _one, .. } = Aimed::by("KILL").await;
        two.send_query("SELECT 2").await;
        let (mut side, _) = ScriptedServer::accept(side).await;
        side.expect_query("KILL CONNECTION 7").await;
        side.err(1095, "HY000", "You are not owner of thread 7").await;
        other.expect_err(1095).await;
        // The second session does not have to wait for a command of the first client.
        logs_in_again(&mut server).await;
    });
}

#[test]
fn c03_a_kill_by_another_user_of_nothing_does_not_hit_what_runs_later() {
    play(async || {
        let Aimed { mut other, side, one: _one, server: _server, .. } = Aimed::by("KILL QUERY").await;
        let (mut side, _) = ScriptedServer::accept(side).await;
        assert_eq!(side.next_command().await, None, "what was meant is over");
        other.expect_ok().await;
    });
}
