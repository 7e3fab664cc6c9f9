//! Logins that a server is asked about, so that clients hear of its refusals where they expect
//! them.

use std::time::Duration;

use config::{CheckLogins, Config};
use testkit::client::Options;
use tokio::join;
use tokio::time::{Instant, sleep};

use super::support::{
    Client, Database, Servers, config, connect, database, expect_alive, log_in, options, play, stage,
    stage_with,
};

fn checking(check_logins: CheckLogins) -> Config {
    let mut config = config();
    config.pointsman.check_logins = check_logins;
    config
}

/// A client that logs in while the next connection to a server accepts it.
async fn log_in_with(
    stage: &proxy::stage::Stage,
    servers: &mut Servers,
    options: &Options,
) -> (Client, Database) {
    join!(Client::connect(connect(stage), options), servers.accept())
}

#[test]
fn the_first_login_of_a_user_and_schema_opens_the_connection() {
    play(async || {
        let (stage, mut servers) = stage(checking(CheckLogins::First));
        let (mut client, mut server) = log_in_with(&stage, &mut servers, &options()).await;
        expect_alive(&mut client, &mut server).await;
        let _second = log_in(&stage).await;
        assert!(servers.settled().await.is_none(), "known");
        let (mut other, mut server) = log_in_with(&stage, &mut servers, &options().schema("shop")).await;
        expect_alive(&mut other, &mut server).await;
        sleep(Duration::from_mins(2)).await;
        let (mut late, mut server) = log_in_with(&stage, &mut servers, &options()).await;
        expect_alive(&mut late, &mut server).await;
    });
}

#[test]
fn a_client_hears_at_its_login_what_the_server_has_against_it() {
    for check_logins in [CheckLogins::First, CheckLogins::Always] {
        play(async || {
            let (stage, mut servers) = stage(checking(check_logins));
            // Twice: after a refusal, the next login is checked at the server as well.
            for _ in 0..2 {
                let mut client = Client::new(connect(&stage));
                let wanted = options().schema("nowhere");
                let refuse = async {
                    let mut server = Database::new(servers.dialled().await.1);
                    server.greet().await;
                    server.read_login().await;
                    server.err(1049, "42000", "Unknown database 'nowhere'").await;
                };
                let (outcome, ()) = join!(client.log_in(&wanted), refuse);
                let error = outcome.expect_err("refused");
                assert_eq!((error.code, error.message.as_str()), (1049, "Unknown database 'nowhere'"));
                client.expect_end().await;
            }
        });
    }
}

/// The next server that is asked is full.
async fn is_full(servers: &mut Servers) {
    let mut server = Database::new(servers.dialled().await.1);
    server.packets().expect_seq(0);
    server.err(1040, "HY000", "Too many connections").await;
    server.expect_gone().await;
}

#[test]
fn a_client_hears_at_its_login_that_all_servers_are_full() {
    play(async || {
        let two = vec![database("one"), database("two")];
        let (stage, mut servers) = stage(Config { servers: two.into(), ..checking(CheckLogins::Always) });
        let mut client = Client::new(connect(&stage));
        let both_are_full = async {
            is_full(&mut servers).await;
            is_full(&mut servers).await;
        };
        let wanted = options();
        let (outcome, ()) = join!(client.log_in(&wanted), both_are_full);
        let error = outcome.expect_err("refused");
        assert_eq!((error.code, error.message.as_str()), (1040, "Too many connections"));
        client.expect_end().await;
        // Of two servers one has room.
        let one_is_full = async {
            is_full(&mut servers).await;
            servers.accept().await
        };
        let (mut client, mut server) = join!(log_in(&stage), one_is_full);
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn every_login_opens_a_connection_if_all_are_checked() {
    play(async || {
        let (stage, mut servers) = stage(checking(CheckLogins::Always));
        for _ in 0..3 {
            let (mut client, mut server) = log_in_with(&stage, &mut servers, &options()).await;
            expect_alive(&mut client, &mut server).await;
        }
    });
}

#[test]
fn a_client_is_let_in_where_no_server_can_be_asked() {
    play(async || {
        let (stage, _servers) = stage_with(checking(CheckLogins::Always), 1024, |_| true);
        let start = Instant::now();
        let mut client = log_in(&stage).await;
        assert!(start.elapsed() <= checking(CheckLogins::Always).variables.connect_timeout_server);
        client.send_query("SELECT 1").await;
        client.expect_err(9001).await;
    });
}

#[test]
fn a_server_that_does_not_answer_holds_no_login_up_for_long() {
    play(async || {
        let (stage, mut servers) = stage(checking(CheckLogins::First));
        let start = Instant::now();
        let _client = log_in(&stage).await;
        let limit = checking(CheckLogins::First).variables.connect_timeout_server;
        assert_eq!(start.elapsed().as_millis(), limit.as_millis());
        assert!(servers.settled().await.is_some(), "it was asked");
    });
}
