//! Statements that name sessions: the server gets its own ids.

use wire::command::Kind;

use super::kill::log_in_with_id;
use super::support::{Client, Database, config, first_query, log_in, messages, options, play, settle, stage};

/// A statement that looks for a session. The scripted server calls every connection 7.
fn look_for(id: u32) -> String {
    format!("SELECT info FROM information_schema.processlist WHERE id = {id}")
}

/// The server gets this statement, and answers.
async fn expect(client: &mut Client, server: &mut Database, text: &str) {
    server.expect_query(text).await;
    server.ok().await;
    client.expect_ok().await;
}

#[test]
fn the_server_gets_the_ids_that_it_knows() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let (mut client, id) = log_in_with_id(&stage, &options()).await;
        let mut server = first_query(&mut client, &mut servers).await;
        for (text, is_translated) in [
            (look_for(id), true),
            (format!("SHOW EXPLAIN FOR {id}"), true),
            (format!("SELECT IS_USED_LOCK('a') = {id}"), true),
            (format!("PREPARE s FROM 'KILL QUERY {id}'"), false),
            (format!("{}; KILL {id}", look_for(id)), false),
            (look_for(2_147_483_647), false),
            (format!("SELECT * FROM sessions WHERE id = {id}"), false),
            (format!("{} /* {} */", look_for(id), "long ".repeat(250)), false),
        ] {
            let sent = if is_translated { text.replace(&id.to_string(), "7") } else { text.clone() };
            client.send_query(&text).await;
            expect(&mut client, &mut server, &sent).await;
        }
    });
}

#[test]
fn a_session_without_a_thread_keeps_its_id() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let (mut client, id) = log_in_with_id(&stage, &options()).await;
        let mut other = log_in(&stage).await;
        let mut server = first_query(&mut other, &mut servers).await;
        other.send_query(&look_for(id)).await;
        expect(&mut other, &mut server, &look_for(id)).await;
        // Its own first statement gives it a thread.
        client.send_query(&look_for(id)).await;
        let mut own = servers.accept().await;
        expect(&mut client, &mut own, &look_for(7)).await;
    });
}

#[test]
fn a_kill_is_prepared_as_it_is() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let (mut client, id) = log_in_with_id(&stage, &options()).await;
        client.send_command(Kind::StmtPrepare, format!("KILL QUERY {id}").as_bytes()).await;
        let mut server = servers.accept().await;
        for (text, sent) in [("KILL ID", "KILL ID"), ("SELECT ID", "SELECT ID")] {
            server.expect_command(Kind::StmtPrepare, format!("KILL QUERY {id}").as_bytes()).await;
            server.err(1295, "HY000", "not here").await;
            client.expect_err(1295).await;
            let id = id.to_string();
            client.send_command(Kind::StmtPrepare, text.replace("ID", &id).as_bytes()).await;
            server.expect_command(Kind::StmtPrepare, sent.replace("ID", &id).as_bytes()).await;
            server.err(1295, "HY000", "not here").await;
            client.expect_err(1295).await;
            client.send_command(Kind::StmtPrepare, format!("KILL QUERY {id}").as_bytes()).await;
        }
    });
}

#[test]
fn a_server_that_does_not_know_a_session_is_explained() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let (mut client, id) = log_in_with_id(&stage, &options()).await;
        let mut server = first_query(&mut client, &mut servers).await;
        for (named, expected) in [
            (7, "Unknown thread id: 7".to_owned()),
            (
                id,
                format!(
                    "Unknown thread id: {id}: this id is the proxy's, and the server, which was asked, does \
                     not know it; send KILL {id} as a statement of its own"
                ),
            ),
        ] {
            client.send_query("CALL kill_it()").await;
            server.expect_query("CALL kill_it()").await;
            server.err(1094, "HY000", &format!("Unknown thread id: {named}")).await;
            let error = client.expect_err(1094).await;
            assert_eq!(error.message, expected);
        }
    });
}

#[test]
fn ids_are_found_however_the_command_comes() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let (mut client, id) = log_in_with_id(&stage, &options()).await;
        let mut server = first_query(&mut client, &mut servers).await;
        let query = |text: &str| messages(0, &[format!("\x03{text}").as_bytes()]);
        for piece in query(&look_for(id)).chunks(7) {
            client.send_bytes(piece).await;
            settle().await;
        }
        client.packets().expect_seq(1);
        expect(&mut client, &mut server, &look_for(7)).await;
        // Several commands at once.
        let commands = ["SELECT 1".to_owned(), look_for(id), "SELECT 2".to_owned(), look_for(id)];
        client.send_bytes(&commands.map(|text| query(&text)).concat()).await;
        for text in ["SELECT 1", &look_for(7), "SELECT 2", &look_for(7)] {
            client.packets().expect_seq(1);
            expect(&mut client, &mut server, text).await;
        }
    });
}
