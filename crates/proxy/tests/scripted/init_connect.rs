//! `init_connect`: every connection begins with it, and begins with it anew for the next session.

use config::{Config, HostgroupAttributes};
use wire::StatusFlags;

use super::shared::{config as shared, let_in, takes_back};
use super::support::{Client, Database, Servers, config as usual, log_in, play, run, settle, stage};

/// What a connection begins with.
const INIT: &str = "SET SESSION sql_mode = 'ANSI'";

fn with_init(mut config: Config, init_connect: &str) -> Config {
    init_connect.clone_into(&mut config.variables.init_connect);
    config
}

/// A client's first statement, over a connection that is opened for it and begins with these.
async fn first(client: &mut Client, servers: &mut Servers, init: &[&str]) -> Database {
    client.send_query("DO 0").await;
    let mut server = servers.accept().await;
    for text in init {
        server.expect_query(text).await;
        server.ok().await;
    }
    server.expect_query("DO 0").await;
    server.ok().await;
    client.expect_ok().await;
    server
}

#[test]
fn every_connection_begins_with_it() {
    play(async || {
        let (stage, mut servers) = stage(with_init(usual(), &format!("{INIT}; SET @a = ';'")));
        for _ in 0..2 {
            let mut client = log_in(&stage).await;
            first(&mut client, &mut servers, &[INIT, "SET @a = ';'"]).await;
        }
    });
}

#[test]
fn a_hostgroup_may_have_its_own() {
    let mut config = with_init(usual(), INIT);
    let own = HostgroupAttributes { init_connect: "SET @b = 2".to_owned(), ..HostgroupAttributes::default() };
    config.hostgroup_attributes.push(own);
    play(async || {
        let (stage, mut servers) = stage(config.clone());
        let mut client = log_in(&stage).await;
        first(&mut client, &mut servers, &["SET @b = 2"]).await;
    });
}

#[test]
fn the_error_of_a_server_that_refuses_it_reaches_the_client() {
    play(async || {
        let (stage, mut servers) = stage(with_init(usual(), "SET nothing = 1"));
        let mut client = log_in(&stage).await;
        client.send_query("DO 0").await;
        let mut server = servers.accept().await;
        server.expect_query("SET nothing = 1").await;
        server.err(1193, "HY000", "Unknown system variable 'nothing'").await;
        let error = client.expect_err(1193).await;
        assert_eq!(error.message, "Unknown system variable 'nothing' (in init_connect)");
        settle().await;
        assert_eq!(stage.usage(0).open, 0);
    });
}

#[test]
fn what_it_does_to_the_status_is_known() {
    play(async || {
        let (stage, mut servers) = stage(with_init(usual(), "SET autocommit = 0"));
        let mut client = log_in(&stage).await;
        client.send_query("DO 0").await;
        let mut server = servers.accept().await;
        server.status -= StatusFlags::AUTOCOMMIT;
        server.expect_query("SET autocommit = 0").await;
        server.ok().await;
        server.expect_query("DO 0").await;
        server.ok().await;
        client.expect_ok().await;
        client.send_query("PROXYSQL INTERNAL SESSION").await;
        let result = client.expect_result().await;
        let shown = String::from_utf8_lossy(result.rows.first().map_or(&[][..], Vec::as_slice));
        assert!(shown.contains(r#""autocommit": false"#), "{shown}");
    });
}

#[test]
fn c04_the_next_session_begins_with_it_as_well() {
    play(async || {
        let (stage, mut servers) = stage(with_init(shared(), INIT));
        let mut one = log_in(&stage).await;
        let mut server = first(&mut one, &mut servers, &[INIT]).await;
        let mut two = log_in(&stage).await;
        two.send_query("SELECT 2").await;
        let_in(&mut server).await;
        server.expect_query(INIT).await;
        server.ok().await;
        server.expect_query("SELECT 2").await;
        server.ok().await;
        two.expect_ok().await;
        // Nothing has been set since: nothing is to be said.
        run(&mut one, &mut server, "SELECT 1").await;
        run(&mut one, &mut server, "SET sql_mode = 'TRADITIONAL'").await;
        two.send_query("SELECT 3").await;
        takes_back(&mut server).await;
        server.expect_query(INIT).await;
        server.ok().await;
        server.expect_query("SELECT 3").await;
        server.ok().await;
        two.expect_ok().await;
    });
}

#[test]
fn c05_a_key_that_it_has_generated_is_not_the_next_sessions() {
    const AUDIT: &str = "INSERT INTO logins VALUES ()";
    play(async || {
        let (stage, mut servers) = stage(with_init(shared(), AUDIT));
        let mut one = log_in(&stage).await;
        let mut server = first(&mut one, &mut servers, &[AUDIT]).await;
        let mut two = log_in(&stage).await;
        two.send_query("SELECT LAST_INSERT_ID()").await;
        let_in(&mut server).await;
        server.expect_query(AUDIT).await;
        server.ok_with(1, 9).await;
        server.expect_query("SET last_insert_id = 0").await;
        server.ok().await;
        server.expect_query("SELECT LAST_INSERT_ID()").await;
        server.ok().await;
        two.expect_ok().await;
    });
}
