//! The isolation level that sessions of a user begin with (`default-transaction_isolation` of its
//! attributes).

use config::Config;
use wire::command::Kind;

use super::support::{config, log_in, play, run, stage};

const LEVEL: &str = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";

fn with_level() -> Config {
    let mut config = config();
    config.users[0].attributes = r#"{"default-transaction_isolation": "READ-COMMITTED"}"#.parse().unwrap();
    config
}

#[test]
fn sessions_begin_with_the_level_of_their_user() {
    play(async || {
        let (stage, mut servers) = stage(with_level());
        let mut client = log_in(&stage).await;
        client.send_query("SELECT 1").await;
        let mut server = servers.accept().await;
        server.expect_query(LEVEL).await;
        server.ok().await;
        server.expect_query("SELECT 1").await;
        server.ok().await;
        client.expect_ok().await;
        run(&mut client, &mut server, "SELECT 2").await;
        // A reset is a new beginning.
        client.send_command(Kind::ResetConnection, b"").await;
        assert_eq!(server.read_command().await, [Kind::ResetConnection as u8]);
        server.ok().await;
        client.expect_ok().await;
        client.send_query("SELECT 3").await;
        server.expect_query(LEVEL).await;
        server.ok().await;
        server.expect_query("SELECT 3").await;
        server.ok().await;
        client.expect_ok().await;
    });
}

#[test]
fn what_a_client_sets_is_in_the_place_of_it() {
    play(async || {
        let (stage, mut servers) = stage(with_level());
        let mut client = log_in(&stage).await;
        let set = "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE";
        client.send_query(set).await;
        let mut server = servers.accept().await;
        server.expect_query(LEVEL).await;
        server.ok().await;
        server.expect_query(set).await;
        server.ok().await;
        client.expect_ok().await;
        drop(server);
        client.send_query("SELECT 1").await;
        let mut other = servers.accept().await;
        other.expect_query(set).await;
        other.ok().await;
        other.expect_query("SELECT 1").await;
        other.ok().await;
        client.expect_ok().await;
    });
}
