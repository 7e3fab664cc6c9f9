//! Connection ids in answers: clients see those of the proxy's sessions.

use wire::command::Kind;

use super::kill::log_in_with_id;
use super::shared::{comes, config as shared, let_in};
use super::support::{config, expect_alive, first_query, messages, options, play, settle, stage};

#[test]
fn c03_ids_in_answers_are_those_of_greetings() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let (mut client, id) = log_in_with_id(&stage, &options()).await;
        let id = id.to_string();
        // The first command of a session is no different.
        client.send_query("select Connection_Id()").await;
        let mut server = servers.accept().await;
        server.expect_query("select Connection_Id()").await;
        server.rows(&["Connection_Id()"], &[&[Some("7")]]).await;
        client.expect_rows(&[&[Some(&id)]]).await;
        let long = "x".repeat(100_000);
        for text in ["SELECT CONNECTION_ID() AS id", "SELECT IS_USED_LOCK('a') l"] {
            client.send_query(text).await;
            server.expect_query(text).await;
            server.rows(&["id"], &[&[Some("7")], &[Some("8")], &[None]]).await;
            client.expect_rows(&[&[Some(&id)], &[Some("8")], &[None]]).await;
        }
        for (kind, text) in [
            (Kind::Query, "SHOW FULL PROCESSLIST"),
            (Kind::Query, "/* tool */ show processlist;"),
            (Kind::ProcessInfo, ""),
        ] {
            client.send_command(kind, text.as_bytes()).await;
            server.expect_command(kind, text.as_bytes()).await;
            let rows = async {
                server.columns(&["Id", "Info"]).await;
                for row in [["5", "7"], ["7", &long], ["1", ""], ["7", "again"]] {
                    server.row(&row.map(Some)).await;
                }
                server.end_of_rows().await;
            };
            let all: [[Option<&str>; 2]; 4] =
                [["5", "7"], [&id, &long], ["1", ""], [&id, "again"]].map(|row| row.map(Some));
            let expected: Vec<&[Option<&str>]> = all.iter().map(|row| &row[..]).collect();
            tokio::join!(rows, client.expect_rows(&expected));
        }
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn other_answers_are_not_touched() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let (mut client, _) = log_in_with_id(&stage, &options()).await;
        let mut server = first_query(&mut client, &mut servers).await;
        for text in ["SELECT CONNECTION_ID() + 0 AS id", "SELECT 7", "SELECT IS_FREE_LOCK('a')"] {
            client.send_query(text).await;
            server.expect_query(text).await;
            server.rows(&["id"], &[&[Some("7")]]).await;
            client.expect_rows(&[&[Some("7")]]).await;
        }
        client.send_query("SHOW PROCESSLIST").await;
        server.expect_query("SHOW PROCESSLIST").await;
        server.err(1227, "42000", "Access denied").await;
        client.expect_err(1227).await;
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn commands_behind_a_listing_wait_for_their_turn() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let (mut client, id) = log_in_with_id(&stage, &options()).await;
        let mut server = first_query(&mut client, &mut servers).await;
        let mut commands = messages(0, &[b"\x03SELECT 1"]);
        commands.extend(messages(0, &[b"\x03SELECT CONNECTION_ID()"]));
        commands.extend(messages(0, &[b"\x03SELECT 7"]));
        client.send_bytes(&commands).await;
        for (text, expected) in
            [("SELECT 1", "7"), ("SELECT CONNECTION_ID()", &id.to_string()), ("SELECT 7", "7")]
        {
            server.expect_query(text).await;
            server.rows(&["id"], &[&[Some("7")]]).await;
            client.packets().expect_seq(1);
            client.expect_rows(&[&[Some(expected)]]).await;
        }
    });
}

#[test]
fn ids_are_forgotten_with_their_connections() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let (mut gone, _) = log_in_with_id(&stage, &options()).await;
        drop(first_query(&mut gone, &mut servers).await);
        settle().await;
        let (mut client, id) = log_in_with_id(&stage, &options()).await;
        let mut server = first_query(&mut client, &mut servers).await;
        client.send_query("SHOW PROCESSLIST").await;
        server.expect_query("SHOW PROCESSLIST").await;
        server.rows(&["Id"], &[&[Some("7")], &[Some("8")]]).await;
        client.expect_rows(&[&[Some(&id.to_string())], &[Some("8")]]).await;
    });
}

/// The columns of a list of threads.
const PROCESSES: [&str; 8] = ["Id", "User", "Host", "db", "Command", "Time", "State", "Info"];

#[test]
fn a_list_of_threads_has_the_sessions_without_one() {
    play(async || {
        let (stage, mut servers) = stage(shared());
        let (mut one, first) = log_in_with_id(&stage, &options()).await;
        let mut server = first_query(&mut one, &mut servers).await;
        let (mut two, second) = log_in_with_id(&stage, &options()).await;
        two.send_query("SELECT 0").await;
        let_in(&mut server).await;
        comes(&mut two, &mut server, "SELECT 0").await;
        let [first, second] = [first, second].map(|id| id.to_string());
        for (kind, text) in [
            (Kind::Query, "SHOW PROCESSLIST"),
            (Kind::Query, "/* tool */ show full processlist;"),
            (Kind::ProcessInfo, ""),
        ] {
            for (client, own, other) in [(&mut one, &first, &second), (&mut two, &second, &first)] {
                client.send_command(kind, text.as_bytes()).await;
                server.expect_command(kind, text.as_bytes()).await;
                let row = ["7", "app", "proxy:1", "", "Query", "0", "init", text].map(Some);
                server.rows(&PROCESSES, &[&row]).await;
                let list = client.expect_result().await.text().unwrap();
                let ids: Vec<_> = list.iter().map(|row| row[0].as_deref()).collect();
                assert_eq!(ids, [Some(&**own), Some(other)], "{list:?}");
                let idle = list[1][4..].iter().map(Option::as_deref);
                assert_eq!(idle.collect::<Vec<_>>(), [Some("Sleep"), Some("0"), Some(""), None]);
                // What comes next is not a list.
                client.send_query("SELECT CONNECTION_ID()").await;
                server.expect_query("SELECT CONNECTION_ID()").await;
                server.rows(&["CONNECTION_ID()"], &[&[Some("7")]]).await;
                client.expect_rows(&[&[Some(own)]]).await;
            }
        }
    });
}

#[test]
fn a_list_of_threads_that_is_refused_has_no_rows() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let (mut client, _) = log_in_with_id(&stage, &options()).await;
        let (_other, _) = log_in_with_id(&stage, &options()).await;
        let mut server = first_query(&mut client, &mut servers).await;
        for _ in 0..2 {
            client.send_query("SHOW PROCESSLIST").await;
            server.expect_query("SHOW PROCESSLIST").await;
            server.err(1227, "42000", "Access denied").await;
            client.expect_err(1227).await;
            expect_alive(&mut client, &mut server).await;
        }
    });
}
