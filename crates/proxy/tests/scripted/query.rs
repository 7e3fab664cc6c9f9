//! Queries and their answers.

use wire::command::Kind;

use super::support::{logged_in, play, server};

#[test]
fn a_query_goes_to_the_server_and_its_answer_to_the_client() {
    play(async || {
        let (stage, dialled, mut client) = logged_in().await;
        client.send_query("SELECT 1").await;
        let mut server = server(&dialled).await;
        server.expect_query("SELECT 1").await;
        server.rows(&["1"], &[&[Some("1")]]).await;
        client.expect_rows(&[&[Some("1")]]).await;
        assert_eq!(stage.usage(0).open, 1);
    });
}

#[test]
fn a_goodbye_is_passed_on() {
    play(async || {
        let (stage, dialled, mut client) = logged_in().await;
        client.send_query("SELECT 1").await;
        let mut server = server(&dialled).await;
        server.expect_query("SELECT 1").await;
        server.ok().await;
        client.expect_ok().await;
        client.send_command(Kind::Quit, b"").await;
        server.expect_command(Kind::Quit, b"").await;
        server.expect_end().await;
        client.expect_end().await;
        assert_eq!(stage.usage(0).open, 0);
    });
}

#[test]
fn an_unknown_command_is_refused_and_the_session_goes_on() {
    play(async || {
        let (_stage, _dialled, mut client) = logged_in().await;
        client.packets().expect_seq(0);
        client.send(&[0x7f, 1, 2, 3]).await;
        client.expect_err(1047).await;
        client.send_command(Kind::Ping, b"").await;
        client.expect_ok().await;
    });
}
