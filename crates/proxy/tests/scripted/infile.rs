//! `LOAD DATA LOCAL`: the server asks for a file in the middle of its answer, and the client sends
//! it.

use std::time::Duration;

use proptest::collection::vec;
use testkit::client::CAPABILITIES;
use tokio::join;
use tokio::time::sleep;
use wire::command::Kind;
use wire::frame::MAX_PAYLOAD;
use wire::{Capabilities, StatusFlags, packet};

use super::split::{Scene, scene};
use super::split_prepared::prepare;
use super::support::{
    Client, Database, config, expect_alive, expect_nothing_left, first_query, log_in, messages, options,
    pair_of_servers, pieces, play, play_all, prepare_ok, session, session_of, settle, stage_with,
};

const LOAD: &str = "LOAD DATA LOCAL INFILE '/f' INTO TABLE t";

/// The server asks for a file, and the client hears it.
async fn ask_for_file(client: &mut Client, server: &mut Database) {
    client.send_query(LOAD).await;
    server.expect_query(LOAD).await;
    server.send_packet(&packet::LocalInfile { filename: b"/f" }).await;
    client.expect(b"\xfb/f").await;
}

/// The file has come; the server counts its rows.
async fn finish(client: &mut Client, server: &mut Database) {
    server.ok_with(3, 0).await;
    assert_eq!(client.expect_ok().await.affected_rows, 3);
    expect_alive(client, server).await;
}

#[test]
fn a_file_comes_in_several_messages() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        ask_for_file(&mut client, &mut server).await;
        for part in [&b"one\n"[..], b"two\n", b"three\n", b""] {
            client.send(part).await;
            server.expect(part).await;
        }
        finish(&mut client, &mut server).await;
    });
}

#[test]
fn a_file_may_be_empty() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        ask_for_file(&mut client, &mut server).await;
        client.send(b"").await;
        server.expect(b"").await;
        finish(&mut client, &mut server).await;
    });
}

#[test]
fn a_file_may_be_for_a_prepared_statement() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        client.send_command(Kind::StmtPrepare, LOAD.as_bytes()).await;
        server.expect_command(Kind::StmtPrepare, LOAD.as_bytes()).await;
        let prepared = prepare_ok(1);
        server.send_packet(&prepared).await;
        client.read().await;
        let execute = [1, 0, 0, 0, 0, 1, 0, 0, 0];
        for _ in 0..2 {
            client.send_command(Kind::StmtExecute, &execute).await;
            server.expect_command(Kind::StmtExecute, &execute).await;
            server.send_packet(&packet::LocalInfile { filename: b"/f" }).await;
            client.expect(b"\xfb/f").await;
            client.send(b"").await;
            server.expect(b"").await;
            finish(&mut client, &mut server).await;
        }
    });
}

/// The proxy prepares it itself, to give it a number that no other one has.
#[test]
fn a_file_may_be_for_a_statement_that_was_prepared_beside_those_of_other_hostgroups() {
    play(async || {
        let Scene { mut client, mut writer, mut reader, .. } = scene(pair_of_servers()).await;
        prepare(&mut client, &mut reader, b"SELECT a FROM t WHERE b = ?", 1).await;
        client.send_command(Kind::StmtPrepare, LOAD.as_bytes()).await;
        writer.expect_command(Kind::StmtPrepare, LOAD.as_bytes()).await;
        let prepared = prepare_ok(9);
        writer.send_packet(&prepared).await;
        client.read().await;
        let execute = [9, 0, 0, 0, 0, 1, 0, 0, 0];
        client.send_command(Kind::StmtExecute, &execute).await;
        writer.expect_command(Kind::StmtExecute, &execute).await;
        writer.send_packet(&packet::LocalInfile { filename: b"/f" }).await;
        client.expect(b"\xfb/f").await;
        client.send(b"").await;
        writer.expect(b"").await;
        writer.ok_with(3, 0).await;
        assert_eq!(client.expect_ok().await.affected_rows, 3);
    });
}

#[test]
fn a_file_may_be_cut_anywhere() {
    let inputs = (vec(1..20_usize, 0..6), vec(1..30_usize, 0..12));
    play_all(config(), inputs, async |stage, servers, (parts, cuts)| {
        let mut client = log_in(stage).await;
        let mut server = first_query(&mut client, servers).await;
        ask_for_file(&mut client, &mut server).await;
        let parts: Vec<Vec<u8>> = parts.into_iter().map(|len| vec![b'x'; len]).chain([vec![]]).collect();
        let payloads: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        let bytes = messages(client.packets().next_seq(), &payloads);
        let send = async {
            for piece in pieces(&bytes, &cuts) {
                client.send_bytes(piece).await;
                settle().await;
            }
        };
        let receive = async {
            for part in &parts {
                server.expect(part).await;
            }
        };
        join!(send, receive);
        server.ok_with(3, 0).await;
        let seq = server.packets().next_seq();
        client.packets().expect_seq(seq.wrapping_sub(1));
        assert_eq!(client.expect_ok().await.affected_rows, 3);
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn an_error_at_the_end_of_the_file_is_the_answer() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        ask_for_file(&mut client, &mut server).await;
        for part in [&b"one\n"[..], b""] {
            client.send(part).await;
            server.expect(part).await;
        }
        server.err(1062, "23000", "Duplicate entry").await;
        client.expect_err(1062).await;
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn an_error_instead_of_the_request_is_the_answer() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        client.send_query(LOAD).await;
        server.expect_query(LOAD).await;
        server.err(1148, "42000", "The used command is not allowed").await;
        client.expect_err(1148).await;
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn another_result_may_follow_a_file() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        ask_for_file(&mut client, &mut server).await;
        client.send(b"").await;
        server.expect(b"").await;
        server.status |= StatusFlags::MORE_RESULTS;
        server.ok_with(0, 0).await;
        server.status -= StatusFlags::MORE_RESULTS;
        server.rows(&["2"], &[&[Some("2")]]).await;
        client.expect_ok().await;
        client.expect_rows(&[&[Some("2")]]).await;
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn the_query_the_file_and_the_next_query_may_come_at_once() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        let load = [b"\x03", LOAD.as_bytes()].concat();
        let next = messages(0, &[b"\x03SELECT 2"]);
        client
            .send_bytes(&[messages(0, &[&load]), messages(2, &[b"one\n", b"two\n", b""]), next].concat())
            .await;
        server.expect_query(LOAD).await;
        server.send_packet(&packet::LocalInfile { filename: b"/f" }).await;
        for part in [&b"one\n"[..], b"two\n", b""] {
            server.expect(part).await;
        }
        settle().await;
        assert_eq!(server.stream().unread(), 0, "the next query waits for the answer");
        server.ok_with(2, 0).await;
        server.expect_query("SELECT 2").await;
        server.rows(&["2"], &[&[Some("2")]]).await;
        client.packets().expect_seq(1);
        client.expect(b"\xfb/f").await;
        client.packets().expect_seq(5);
        assert_eq!(client.expect_ok().await.affected_rows, 2);
        client.packets().expect_seq(1);
        client.expect_rows(&[&[Some("2")]]).await;
    });
}

#[test]
fn a_load_may_come_with_the_close_of_a_statement() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        let load = [b"\x03", LOAD.as_bytes()].concat();
        client
            .send_bytes(
                &[messages(0, &[&[Kind::StmtClose as u8, 5, 0, 0, 0]]), messages(0, &[&load])].concat(),
            )
            .await;
        server.expect_command(Kind::StmtClose, &[5, 0, 0, 0]).await;
        server.expect_query(LOAD).await;
        server.send_packet(&packet::LocalInfile { filename: b"/f" }).await;
        client.packets().expect_seq(1);
        client.expect(b"\xfb/f").await;
        client.send(b"").await;
        server.expect(b"").await;
        finish(&mut client, &mut server).await;
    });
}

#[test]
fn a_file_of_which_the_server_reads_nothing_before_its_end_arrives() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        ask_for_file(&mut client, &mut server).await;
        let part = vec![b'x'; 40_000];
        let send = async {
            client.send(&part).await;
            client.send(b"").await;
        };
        join!(send, settle());
        settle().await;
        server.expect(&part).await;
        server.expect(b"").await;
        finish(&mut client, &mut server).await;
    });
}

#[test]
fn a_file_message_may_be_longer_than_a_packet() {
    play(async || {
        let (stage, mut servers) = stage_with(config(), 1 << 20, |_| false);
        let mut client = Client::connect(stage.client(1 << 20).unwrap(), &options()).await;
        let mut server = first_query(&mut client, &mut servers).await;
        ask_for_file(&mut client, &mut server).await;
        // Continued by an empty packet, which does not end the file.
        let part = vec![b'x'; MAX_PAYLOAD];
        join!(client.send(&part), async { assert!(server.read().await == part) });
        client.send(b"last\n").await;
        server.expect(b"last\n").await;
        client.send(b"").await;
        server.expect(b"").await;
        finish(&mut client, &mut server).await;
    });
}

#[test]
fn c19_a_client_without_local_files_is_not_asked_for_one() {
    play(async || {
        let capabilities = CAPABILITIES - Capabilities::LOCAL_FILES;
        let (stage, mut client, mut server) = session_of(&options().capabilities(capabilities)).await;
        client.send_query(LOAD).await;
        server.expect_query(LOAD).await;
        server.send_packet(&packet::LocalInfile { filename: b"/etc/passwd" }).await;
        client.expect_err(1148).await;
        client.expect_end().await;
        server.expect_end().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn c19_a_statement_that_loads_nothing_is_not_asked_for_a_file() {
    for kind in [Kind::Query, Kind::StmtExecute] {
        play(async || {
            let (stage, mut client, mut server) = session().await;
            client.send_command(kind, b"SELECT 'LOAD DATA LOCAL'").await;
            server.expect_command(kind, b"SELECT 'LOAD DATA LOCAL'").await;
            server.send_packet(&packet::LocalInfile { filename: b"/etc/passwd" }).await;
            client.expect_err(1148).await;
            client.expect_end().await;
            server.expect_end().await;
            expect_nothing_left(&stage).await;
        });
    }
}

#[test]
fn c19_a_later_result_does_not_ask_for_a_file_either() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        client.send_query("CALL p()").await;
        server.expect_query("CALL p()").await;
        // In one read: neither the OK nor the request reaches the client.
        let ok = [0, 0, 0, 0x0a, 0, 0, 0];
        server.send_bytes(&messages(1, &[&ok, b"\xfb/etc/passwd"])).await;
        client.expect_err(1148).await;
        client.expect_end().await;
    });
}

#[test]
fn a_server_that_dies_during_the_file_is_reported_after_it() {
    // Once with the file in the server's socket, once with more of it than the socket takes.
    for len in [10, 40_000] {
        play(async || {
            let (stage, mut client, mut server) = session().await;
            ask_for_file(&mut client, &mut server).await;
            let part = vec![b'x'; len];
            join!(client.send(&part), settle());
            drop(server);
            settle().await;
            client.send(b"").await;
            client.expect_err(2013).await;
            client.expect_end().await;
            drop(client);
            expect_nothing_left(&stage).await;
        });
    }
}

#[test]
fn c09_a_client_that_leaves_during_the_file_does_not_end_it() {
    play(async || {
        let (stage, mut client, mut server) = session().await;
        ask_for_file(&mut client, &mut server).await;
        client.send(b"one\n").await;
        server.expect(b"one\n").await;
        drop(client);
        // An empty packet would make the server keep the rows that have come.
        server.expect_end().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn c24_a_client_that_stops_in_its_file_has_as_much_time_as_an_idle_one() {
    play(async || {
        let (stage, mut client, mut server) = session().await;
        ask_for_file(&mut client, &mut server).await;
        client.send(b"one\n").await;
        server.expect(b"one\n").await;
        // mysql-wait_timeout is 8 hours.
        sleep(Duration::from_hours(7)).await;
        assert_eq!(stage.sessions(), 1, "too early");
        sleep(Duration::from_hours(2)).await;
        server.expect_gone().await;
        client.expect_end().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn a_file_with_wrong_sequence_ids_ends_the_session() {
    play(async || {
        let (stage, mut client, mut server) = session().await;
        ask_for_file(&mut client, &mut server).await;
        client.send_at(7, b"one\n").await;
        client.packets().expect_seq(2);
        client.expect_err(1156).await;
        client.expect_end().await;
        server.expect_gone().await;
        drop(client);
        expect_nothing_left(&stage).await;
    });
}
