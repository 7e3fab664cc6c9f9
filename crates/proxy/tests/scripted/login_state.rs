//! What a login gives a session and a reset does not bring back: a connection that changes hands is
//! like a new one.

use testkit::client::Options;
use wire::Capabilities;
use wire::command::Kind;

use super::shared::{comes, config, logs_in_again, question, question_with, takes_back, two, two_of};
use super::support::{Client, Database, Servers, first_query, log_in_as, options, play, reset, run, stage};
use proxy::stage::Stage;

/// Sets what makes the next session reset the connection.
async fn unlike(client: &mut Client, server: &mut Database) {
    run(client, server, "SET sql_mode = 'ANSI'").await;
}

async fn two_with(options: &Options) -> (Stage, Servers, Client, Client, Database) {
    let (stage, mut servers) = stage(config());
    let mut one = log_in_as(&stage, options).await;
    let server = first_query(&mut one, &mut servers).await;
    let two = log_in_as(&stage, options).await;
    (stage, servers, one, two, server)
}

#[test]
fn c04_what_mariadb_forgets_of_a_login_is_said_again() {
    const LOST: &str =
        "SET sql_mode = CONCAT(@@sql_mode, ',IGNORE_SPACE'), wait_timeout = @@GLOBAL.interactive_timeout";
    let more = Capabilities::IGNORE_SPACE | Capabilities::INTERACTIVE | Capabilities::SECURE_CONNECTION;
    play(async || {
        let options = options().capabilities(Capabilities::default() | more);
        let (_stage, _servers, mut one, mut two, mut server) = two_with(&options).await;
        two.send_query("SELECT 0").await;
        logs_in_again(&mut server).await;
        server.ok().await;
        question(&mut server).await;
        server.expect_query(LOST).await;
        server.ok().await;
        comes(&mut two, &mut server, "SELECT 0").await;
        unlike(&mut one, &mut server).await;
        two.send_query("SELECT 2").await;
        takes_back(&mut server).await;
        server.expect_query(LOST).await;
        server.ok().await;
        comes(&mut two, &mut server, "SELECT 2").await;
    });
}

#[test]
fn c04_the_time_limit_of_an_account_outlives_a_reset() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two_with(&options()).await;
        two.send_query("SELECT 0").await;
        logs_in_again(&mut server).await;
        server.ok().await;
        question_with(&mut server, "0", "16777216", "2.000000").await;
        comes(&mut two, &mut server, "SELECT 0").await;
        unlike(&mut one, &mut server).await;
        two.send_query("SELECT 2").await;
        takes_back(&mut server).await;
        server.expect_query("SET max_statement_time = 2.000000").await;
        server.ok().await;
        comes(&mut two, &mut server, "SELECT 2").await;
    });
}

#[test]
fn c04_no_time_limit_of_the_network_is_left_to_the_next_session() {
    const TIMEOUTS: &str = "SET SESSION net_write_timeout = DEFAULT, net_read_timeout = DEFAULT";
    play(async || {
        for resets in [false, true] {
            let (_stage, _servers, mut one, mut two, mut server) = two().await;
            run(&mut one, &mut server, "SET SESSION net_write_timeout = 1").await;
            if resets {
                reset(&mut one, &mut server).await;
            }
            two.send_query("SELECT 2").await;
            takes_back(&mut server).await;
            server.expect_query(TIMEOUTS).await;
            server.ok().await;
            comes(&mut two, &mut server, "SELECT 2").await;
        }
    });
}

#[test]
fn a_connection_with_an_old_packet_limit_is_closed() {
    play(async || {
        let (stage, mut servers, mut one, mut two, mut server) =
            two_of(config(), &options(), &options()).await;
        unlike(&mut one, &mut server).await;
        two.send_query("SELECT 2").await;
        server.expect_command(Kind::ResetConnection, b"").await;
        server.ok().await;
        question_with(&mut server, "0", "67108864", "0.000000").await;
        let mut other = servers.accept().await;
        comes(&mut two, &mut other, "SELECT 2").await;
        assert_eq!(stage.usage(0).open, 1);
    });
}
