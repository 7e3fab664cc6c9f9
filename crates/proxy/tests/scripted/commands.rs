//! Commands on their way to the server: cut, joined, and of every size.

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use tokio::join;
use tokio::task::spawn_local;
use tokio::time::sleep;
use wire::command::Kind;
use wire::frame::MAX_PAYLOAD;

use super::support::{
    Client, Database, config, connect, expect_alive, expect_nothing_left, first_query, log_in, long_query,
    messages, options, pieces, play, play_all, session, settle, stage, stage_with,
};

/// A command that a generated test sends.
#[derive(Debug, Clone)]
enum Step {
    Query(Vec<u8>),
    Close,
    LongData(Vec<u8>),
    Ping,
}

impl Step {
    fn payload(&self) -> Vec<u8> {
        let (kind, body) = match self {
            Self::Query(text) => (Kind::Query, &text[..]),
            Self::Close => (Kind::StmtClose, &[5, 0, 0, 0][..]),
            Self::LongData(data) => (Kind::SendLongData, &data[..]),
            Self::Ping => (Kind::Ping, &[][..]),
        };
        [&[kind as u8], body].concat()
    }

    fn is_answered(&self) -> bool {
        matches!(self, Self::Query(_) | Self::Ping)
    }
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        vec(any::<u8>(), 0..300).prop_map(Step::Query),
        Just(Step::Close),
        vec(any::<u8>(), 6..300).prop_map(Step::LongData),
        Just(Step::Ping),
    ]
}

/// The server reads these commands, in this order, and answers each with its number.
async fn serve(server: &mut Database, steps: &[Step]) {
    for (number, step) in (0..).zip(steps) {
        assert_eq!(server.read_command().await, step.payload());
        if step.is_answered() {
            server.ok_with(number, 0).await;
        }
    }
}

/// The client reads the answers to these commands: each is its own.
async fn read_answers(client: &mut Client, steps: &[Step]) {
    for (number, step) in (0..).zip(steps) {
        if step.is_answered() {
            client.packets().expect_seq(1);
            assert_eq!(client.expect_ok().await.affected_rows, number);
        }
    }
}

#[test]
fn c01_commands_may_be_cut_and_joined_anywhere() {
    let inputs = (vec(step(), 1..8), vec(1..60_usize, 0..30));
    play_all(config(), inputs, async |stage, servers, (steps, cuts)| {
        let mut client = log_in(stage).await;
        let mut server = first_query(&mut client, servers).await;
        let bytes: Vec<u8> = steps.iter().flat_map(|step| messages(0, &[&step.payload()])).collect();
        let send = async {
            for piece in pieces(&bytes, &cuts) {
                client.send_bytes(piece).await;
                settle().await;
            }
            read_answers(&mut client, &steps).await;
        };
        join!(send, serve(&mut server, &steps));
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn a_command_may_be_cut_at_every_byte() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        let bytes = messages(0, &[b"\x03SELECT 'cut'"]);
        for at in 1..bytes.len() {
            let (first, second) = bytes.split_at(at);
            client.send_bytes(first).await;
            settle().await;
            client.send_bytes(second).await;
            server.expect_query("SELECT 'cut'").await;
            server.ok().await;
            client.packets().expect_seq(1);
            client.expect_ok().await;
        }
    });
}

#[test]
fn the_first_command_may_be_cut_at_every_byte() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let bytes = messages(0, &[b"\x03SELECT 'cut'"]);
        for at in 1..bytes.len() {
            let mut client = log_in(&stage).await;
            let (first, second) = bytes.split_at(at);
            client.send_bytes(first).await;
            settle().await;
            client.send_bytes(second).await;
            let mut server = servers.accept().await;
            server.expect_query("SELECT 'cut'").await;
            server.ok().await;
            client.packets().expect_seq(1);
            client.expect_ok().await;
        }
    });
}

#[test]
fn c01_pipelined_queries_are_answered_in_order() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        let queries = ["SELECT 1", "SELECT 2", "SELECT 3"];
        let bytes = queries.map(|sql| messages(0, &[&[b"\x03", sql.as_bytes()].concat()])).concat();
        client.send_bytes(&bytes).await;
        for sql in queries {
            server.expect_query(sql).await;
            settle().await;
            assert_eq!(server.stream().unread(), 0, "the next one waits for this one's answer");
            server.rows(&["n"], &[&[Some(sql)]]).await;
        }
        for sql in queries {
            client.packets().expect_seq(1);
            client.expect_rows(&[&[Some(sql)]]).await;
        }
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn c01_an_error_leaves_the_pipelined_rest_in_order() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        client.send_bytes(&[messages(0, &[b"\x03SELEC 1"]), messages(0, &[b"\x03SELECT 2"])].concat()).await;
        server.expect_query("SELEC 1").await;
        server.err(1064, "42000", "You have an error").await;
        server.expect_query("SELECT 2").await;
        server.rows(&["2"], &[&[Some("2")]]).await;
        client.packets().expect_seq(1);
        client.expect_err(1064).await;
        client.packets().expect_seq(1);
        client.expect_rows(&[&[Some("2")]]).await;
    });
}

/// Answers every query with its own text, in pieces, until the client leaves.
async fn echo(mut server: Database) {
    while let Some(command) = server.next_command().await {
        let text = String::from_utf8_lossy(&command[1..]).into_owned();
        server.columns(&["text"]).await;
        sleep(Duration::from_millis(command.len() as u64 % 7)).await;
        server.row(&[Some(&text)]).await;
        server.end_of_rows().await;
    }
}

#[test]
fn c01_every_client_gets_the_answers_to_its_own_questions() {
    const CLIENTS: usize = 8;
    const QUERIES: usize = 50;
    play(async || {
        let (stage, mut servers) = stage(config());
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let end = connect(&stage);
                spawn_local(async move {
                    let mut client = Client::connect(end, &options()).await;
                    for query in 0..QUERIES {
                        let text = format!("client {number} query {query}{}", "!".repeat(query * number));
                        client.send_query(&text).await;
                        client.expect_rows(&[&[Some(&text)]]).await;
                        sleep(Duration::from_millis((query * number % 5) as u64)).await;
                    }
                })
            })
            .collect();
        for _ in 0..CLIENTS {
            spawn_local(echo(servers.accept().await));
        }
        for client in clients {
            client.await.unwrap();
        }
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn commands_may_come_with_the_login() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let mut client = Client::new(connect(&stage));
        let greeting = client.read_greeting().await.unwrap();
        // The login packet stays in the pipe until the proxy runs: both are read at once.
        let answer = wire::auth::native::answer(b"secret", &greeting.nonce);
        client.send_login(&greeting, &options(), &answer).await;
        client.send_bytes(&messages(0, &[b"\x03SELECT 1"])).await;
        let mut server = servers.accept().await;
        server.expect_query("SELECT 1").await;
        server.rows(&["1"], &[&[Some("1")]]).await;
        client.expect_ok().await;
        client.packets().expect_seq(1);
        client.expect_rows(&[&[Some("1")]]).await;
    });
}

#[test]
fn c17_commands_of_every_size_around_a_full_packet() {
    play(async || {
        let (stage, mut servers) = stage_with(config(), 1 << 20, |_| false);
        let mut client = Client::connect(stage.client(1 << 20).unwrap(), &options()).await;
        let mut server = first_query(&mut client, &mut servers).await;
        for len in [MAX_PAYLOAD - 1, MAX_PAYLOAD, MAX_PAYLOAD + 1] {
            let body = vec![b'x'; len - 1];
            join!(client.send_command(Kind::Query, &body), async {
                let command = server.read_command().await;
                assert!(command.len() == len && command[1..] == body, "a command of {len} bytes");
            });
            // Both sides have counted the packets: the answer's sequence id goes on from there.
            server.ok_with(len as u64, 0).await;
            assert_eq!(client.expect_ok().await.affected_rows, len as u64);
            expect_alive(&mut client, &mut server).await;
        }
    });
}

#[test]
fn a_large_command_can_be_the_first() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let mut client = log_in(&stage).await;
        let body = vec![b'x'; 300_000];
        let serve = async {
            let mut server = servers.accept().await;
            server.expect_command(Kind::Query, &body).await;
            server.ok_with(7, 0).await;
            server
        };
        let ((), mut server) = join!(client.send_command(Kind::Query, &body), serve);
        assert_eq!(client.expect_ok().await.affected_rows, 7);
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn a_large_command_may_bring_the_beginning_of_the_next() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        let large = long_query(100_000);
        let bytes = [messages(0, &[&large]), messages(0, &[b"\x03SELECT 2"])].concat();
        let (most, rest) = bytes.split_at(bytes.len() - 3);
        join!(client.send_bytes(most), async { assert_eq!(server.read_command().await, large) });
        settle().await;
        assert_eq!(server.stream().unread(), 0, "the next command waits for the answer");
        server.ok_with(1, 0).await;
        client.send_bytes(rest).await;
        server.expect_query("SELECT 2").await;
        server.ok_with(2, 0).await;
        for number in [1, 2] {
            client.packets().expect_seq(1);
            assert_eq!(client.expect_ok().await.affected_rows, number);
        }
    });
}
