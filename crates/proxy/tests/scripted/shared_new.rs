//! Statements whose hint wants a connection that no session has had (`create_new_connection`), and
//! sessions that need the one they have.

use config::Config;
use proxy::stage::Stage;
use wire::StatusFlags;
use wire::command::Kind;

use super::shared::{comes, config as shared, let_in};
use super::support::{Client, Database, Servers, begin, first_query, log_in, play, run, stage};

const HINTED: &str = "SELECT /* create_new_connection=1 */ 1";

/// A server with three connections.
fn config() -> Config {
    let mut config = shared();
    config.servers[0].max_connections = 3;
    config
}

/// A client that has a connection.
async fn one(config: Config) -> (Stage, Servers, Client, Database) {
    let (stage, mut servers) = stage(config);
    let mut client = log_in(&stage).await;
    let server = first_query(&mut client, &mut servers).await;
    (stage, servers, client, server)
}

/// The client says what has the hint, over a connection that is opened for that.
async fn says_it(client: &mut Client, servers: &mut Servers) -> Database {
    client.send_query(HINTED).await;
    let mut server = servers.accept().await;
    server.expect_query(HINTED).await;
    server.ok().await;
    client.expect_ok().await;
    server
}

#[test]
fn a_hint_opens_a_connection_and_leaves_the_other_to_others() {
    play(async || {
        let (stage, mut servers, mut client, _first) = one(config()).await;
        let mut second = says_it(&mut client, &mut servers).await;
        run(&mut client, &mut second, "SELECT 2").await;
        let mut third = says_it(&mut client, &mut servers).await;
        assert_eq!((stage.usage(0).open, stage.usage(0).resting), (3, 3));
        let mut other = log_in(&stage).await;
        begin(&mut client, &mut third).await;
        run(&mut client, &mut third, HINTED).await;
        other.send_query("SELECT 3").await;
        let_in(&mut second).await;
        comes(&mut other, &mut second, "SELECT 3").await;
        assert_eq!(stage.usage(0).open, 3);
    });
}

#[test]
fn a_session_that_needs_its_connection_keeps_it() {
    play(async || {
        let (stage, _servers, mut client, mut server) = one(config()).await;
        begin(&mut client, &mut server).await;
        run(&mut client, &mut server, HINTED).await;
        server.status.remove(StatusFlags::IN_TRANSACTION);
        run(&mut client, &mut server, "COMMIT").await;
        client.send_query("INSERT INTO t VALUES (1)").await;
        server.expect_query("INSERT INTO t VALUES (1)").await;
        server.ok_with(1, 7).await;
        client.expect_ok().await;
        run(&mut client, &mut server, HINTED).await;
        assert_eq!(stage.usage(0).open, 1, "only that one knows its key");
        run(&mut client, &mut server, "SET @a = SLEEP(0)").await;
        run(&mut client, &mut server, HINTED).await;
        assert_eq!(stage.usage(0).open, 1, "it has a variable that cannot be set again");
    });
}

#[test]
fn where_nothing_is_shared_a_hint_changes_nothing() {
    play(async || {
        let mut config = config();
        config.variables.multiplexing = false;
        let (stage, _servers, mut client, mut server) = one(config).await;
        run(&mut client, &mut server, HINTED).await;
        assert_eq!(stage.usage(0).open, 1);
    });
}

#[test]
fn at_the_limit_an_idle_connection_makes_room() {
    play(async || {
        let mut config = config();
        config.servers[0].max_connections = 1;
        let (stage, mut servers, mut client, mut first) = one(config).await;
        client.send_query(HINTED).await;
        first.expect_command(Kind::Quit, b"").await;
        drop(first);
        let mut second = servers.accept().await;
        second.expect_query(HINTED).await;
        second.ok().await;
        client.expect_ok().await;
        assert_eq!(stage.usage(0).open, 1);
    });
}
