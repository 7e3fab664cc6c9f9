//! A session from its first query to its goodbye.

use wire::command::Kind;

use super::support::{config, expect_alive, expect_nothing_left, log_in, play, session, stage};

#[test]
fn a_query_goes_to_the_server_and_its_answer_to_the_client() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let mut client = log_in(&stage).await;
        assert_eq!(stage.usage(0).open, 0, "no connection before it is needed");
        client.send_query("SELECT 1").await;
        let mut server = servers.accept().await;
        server.expect_query("SELECT 1").await;
        server.rows(&["1"], &[&[Some("1")]]).await;
        client.expect_rows(&[&[Some("1")]]).await;
        assert_eq!(stage.usage(0).open, 1);
    });
}

#[test]
fn a_goodbye_is_passed_on() {
    play(async || {
        let (stage, mut client, mut server) = session().await;
        client.send_command(Kind::Quit, b"").await;
        server.expect_command(Kind::Quit, b"").await;
        server.expect_end().await;
        client.expect_end().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn a_goodbye_before_the_first_query_ends_the_session() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let mut client = log_in(&stage).await;
        client.send_command(Kind::Quit, b"").await;
        client.expect_end().await;
        expect_nothing_left(&stage).await;
        assert!(servers.settled().await.is_none());
    });
}

#[test]
fn the_proxy_itself_answers_a_ping_before_the_first_query() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let mut client = log_in(&stage).await;
        client.send_command(Kind::Ping, b"").await;
        client.expect_ok().await;
        assert!(servers.settled().await.is_none());
    });
}

/// After it the charset is the server's, and no more that of the login.
#[test]
fn a_reset_goes_to_a_server_even_before_the_first_query() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let mut client = log_in(&stage).await;
        client.send_command(Kind::ResetConnection, b"").await;
        let mut server = servers.accept().await;
        server.expect_command(Kind::ResetConnection, b"").await;
        server.ok().await;
        client.expect_ok().await;
    });
}

#[test]
fn a_ping_goes_to_the_server_once_there_is_one() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        for kind in [Kind::Ping, Kind::ResetConnection] {
            client.send_command(kind, b"").await;
            server.expect_command(kind, b"").await;
            server.ok_with(3, 0).await;
            assert_eq!(client.expect_ok().await.affected_rows, 3, "the server's own answer");
        }
    });
}

#[test]
fn an_unknown_command_is_refused_and_the_session_goes_on() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        for payload in [&[0x7f, 1, 2, 3][..], &[0x7f], &[]] {
            client.send_at(0, payload).await;
            client.expect_err(1047).await;
        }
        expect_alive(&mut client, &mut server).await;
    });
}
