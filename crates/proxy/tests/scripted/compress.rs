//! The compressed protocol: each side on its own, with peers that number packets as they like.

use config::Config;
use testkit::client::{CAPABILITIES, Options};
use testkit::script::{self, LoginSeen, NONCE, ScriptedServer};
use tokio::join;
use wire::auth::native;
use wire::command::Kind;
use wire::compress::{Codecs, Method, Peer};
use wire::{Capabilities, Codec as _, StatusFlags, packet};

use super::support::{
    Client, Database, Servers, config, connect, expect_alive, expect_nothing_left, log_in_as, messages,
    options, play, settle, stage, stage_with,
};

pub(super) const ZSTD: Method = Method::Zstd { level: 3 };

/// What clients choose.
const CLIENTS: [Option<Method>; 3] = [None, Some(Method::Zlib), Some(ZSTD)];

/// What servers offer.
const SERVERS: [Capabilities; 3] =
    [Capabilities::empty(), Capabilities::COMPRESS, Capabilities::ZSTD_COMPRESSION];

/// `compression = true` for the server.
pub(super) fn compressing() -> Config {
    let mut config = config();
    for server in &mut config.servers {
        server.compression = true;
    }
    config
}

pub(super) fn options_with(method: Option<Method>) -> Options {
    method.map_or_else(options, |method| options().compression(method))
}

/// The server's side of the next connection, logged in; it offers `more` than others.
pub(super) async fn accept(servers: &mut Servers, more: Capabilities) -> (Database, LoginSeen) {
    let mut server = ScriptedServer::new(servers.dialled().await.1);
    server
        .greet_with(&packet::Greeting {
            server_version: b"8.4.0-scripted",
            connection_id: 7,
            nonce: NONCE,
            capabilities: script::CAPABILITIES | more,
            collation: 45,
            status: StatusFlags::AUTOCOMMIT,
            auth_plugin: native::NAME.as_bytes(),
        })
        .await;
    let login = server.read_login().await;
    server.let_in(&login).await;
    (server, login)
}

/// A session of a client with this method, and its server, which offers `more` than others.
pub(super) async fn session(
    method: Option<Method>,
    more: Capabilities,
) -> (proxy::stage::Stage, Client, Database) {
    let (stage, mut servers) = stage(compressing());
    let mut client = log_in_as(&stage, &options_with(method)).await;
    assert_eq!(client.packets().is_compressed(), method.is_some());
    client.send_query("DO 0").await;
    let (mut server, _) = accept(&mut servers, more).await;
    assert_eq!(server.packets().is_compressed(), !more.is_empty());
    server.expect_query("DO 0").await;
    server.ok().await;
    client.expect_ok().await;
    (stage, client, server)
}

/// A test on sessions of all combinations of compressed and plain sides.
fn on_every_combination(test: &impl AsyncFn(&mut Client, &mut Database)) {
    for method in CLIENTS {
        for more in SERVERS {
            play(async || {
                let (stage, mut client, mut server) = session(method, more).await;
                test(&mut client, &mut server).await;
                expect_alive(&mut client, &mut server).await;
                client.send_command(Kind::Quit, b"").await;
                client.expect_end().await;
                server.expect_command(Kind::Quit, b"").await;
                expect_nothing_left(&stage).await;
            });
        }
    }
}

#[test]
fn statements_and_results_of_all_lengths() {
    on_every_combination(&async |client, server| {
        for len in [0, 1, 49, 50, 51, 1000, 16_383, 16_384, 70_000] {
            let text: String = ('a'..='z').cycle().take(len).collect();
            let rows: &[&[Option<&str>]] = &[&[Some(&text)], &[None], &[Some("")]];
            let serve = async {
                server.expect_query(&text).await;
                server.rows(&["text"], rows).await;
            };
            let ask = async {
                client.send_query(&text).await;
                client.expect_rows(rows).await;
            };
            join!(serve, ask);
        }
        client.send_query("SELECT nothing").await;
        server.expect_query("SELECT nothing").await;
        server.err(1054, "42S22", "Unknown column 'nothing'").await;
        client.expect_err(1054).await;
    });
}

/// Packets in more than two frames are too much for it.
#[test]
fn connector_python_gets_the_rest_of_a_long_packet_in_one_frame() {
    play(async || {
        let (stage, mut servers) = stage(compressing());
        let options =
            options_with(Some(Method::Zlib)).attributes(&[("_client_name", "mysql-connector-python")]);
        let mut client = log_in_as(&stage, &options).await;
        let mut server = None;
        for len in [0, 1, 50, 65_000, 65_536, 70_000, 200_000, 1 << 20, 3 << 20] {
            let text: String = ('a'..='z').cycle().take(len).collect();
            let rows: &[&[Option<&str>]] = &[&[Some(&text)], &[Some("x")], &[Some(&text)]];
            client.send_query("SELECT long").await;
            let mut connected = match server.take() {
                Some(server) => server,
                None => accept(&mut servers, Capabilities::empty()).await.0,
            };
            connected.expect_query("SELECT long").await;
            join!(connected.rows(&["text"], rows), client.expect_rows(rows));
            server = Some(connected);
        }
    });
}

#[test]
fn ids_wrap_and_commands_may_come_at_any_count() {
    on_every_combination(&async |client, server| {
        // With one column, 253 rows end with id 0, and the next command comes where the count is at
        // 1.
        for rows in [1, 250, 251, 252, 253, 254, 255, 256, 700] {
            client.send_query("SELECT many").await;
            let row: &[Option<&str>] = &[None];
            let serve = async {
                server.expect_query("SELECT many").await;
                server.rows(&["n"], &vec![row; rows]).await;
            };
            let ((), result) = join!(serve, client.expect_result());
            assert_eq!(result.rows.len(), rows);
            client.send_command(Kind::Ping, b"").await;
            server.expect_command(Kind::Ping, b"").await;
            server.ok().await;
            client.expect_ok().await;
        }
    });
}

#[test]
fn commands_without_an_answer_and_several_results() {
    on_every_combination(&async |client, server| {
        for _ in 0..3 {
            client.send_command(Kind::StmtClose, &[1, 0, 0, 0]).await;
        }
        client.send_query("CALL p()").await;
        for _ in 0..3 {
            server.expect_command(Kind::StmtClose, &[1, 0, 0, 0]).await;
        }
        server.expect_query("CALL p()").await;
        server.status |= StatusFlags::MORE_RESULTS;
        server.rows(&["a"], &[&[Some("1")]]).await;
        server.rows(&["b"], &[&[Some("2")]]).await;
        server.status -= StatusFlags::MORE_RESULTS;
        server.ok().await;
        client.expect_rows(&[&[Some("1")]]).await;
        client.expect_rows(&[&[Some("2")]]).await;
        client.expect_ok().await;
    });
}

#[test]
fn files_of_many_packets() {
    const LOAD: &str = "LOAD DATA LOCAL INFILE '/f' INTO TABLE t";
    on_every_combination(&async |client, server| {
        for packets in [0, 1, 252, 253, 254, 300] {
            client.send_query(LOAD).await;
            server.expect_query(LOAD).await;
            server.send_packet(&packet::LocalInfile { filename: b"/f" }).await;
            client.expect(b"\xfb/f").await;
            let send = async {
                for _ in 0..packets {
                    client
                        .send(b"a line of the file that is long enough to be compressed, is it not?\n")
                        .await;
                }
                client.send(b"").await;
            };
            let receive = async {
                let mut lines = 0;
                while !server.read().await.is_empty() {
                    lines += 1;
                }
                assert_eq!(lines, packets);
                server.ok_with(packets, 0).await;
            };
            join!(send, receive);
            assert_eq!(client.expect_ok().await.affected_rows, packets);
        }
    });
}

#[test]
fn a_changed_user_stays_compressed() {
    for method in CLIENTS {
        play(async || {
            let (stage, mut servers) = stage(compressing());
            let mut client = Client::new(connect(&stage));
            let info = client.log_in(&options_with(method)).await.unwrap();
            let proof = native::answer(b"secret", &info.nonce);
            let change = wire::command::ChangeUser {
                username: b"app",
                auth_answer: &proof,
                schema: b"",
                collation: Some(45),
                auth_plugin: Some(native::NAME.as_bytes()),
                attributes: Some(b""),
            };
            let change = change.encode(client.capabilities());
            client.send_at(0, &change).await;
            client.expect_ok().await;
            client.send_query("SELECT 1").await;
            let (mut server, _) = accept(&mut servers, Capabilities::COMPRESS).await;
            server.expect_query("SELECT 1").await;
            server.ok().await;
            client.expect_ok().await;
            expect_alive(&mut client, &mut server).await;
        });
    }
}

#[test]
fn servers_get_zlib_if_they_can() {
    let (zlib, zstd) = (Capabilities::COMPRESS, Capabilities::ZSTD_COMPRESSION);
    for (configured, offered, agreed, level) in [
        (true, zlib | zstd, zlib, None),
        (true, zlib, zlib, None),
        (true, zstd, zstd, Some(3)),
        (true, Capabilities::empty(), Capabilities::empty(), None),
        (false, zlib | zstd, Capabilities::empty(), None),
    ] {
        play(async || {
            let (stage, mut servers) = stage(if configured { compressing() } else { config() });
            let mut client = log_in_as(&stage, &options_with(Some(ZSTD))).await;
            client.send_query("SELECT 1").await;
            let (mut server, login) = accept(&mut servers, offered).await;
            assert_eq!((login.capabilities & (zlib | zstd), login.zstd_level), (agreed, level));
            server.expect_query("SELECT 1").await;
            server.ok().await;
            client.expect_ok().await;
        });
    }
}

#[test]
fn clients_that_can_do_both_get_zlib_and_levels_are_checked() {
    play(async || {
        let (stage, _servers) = stage(config());
        let both = CAPABILITIES | Capabilities::COMPRESS;
        let mut client = Client::new(connect(&stage));
        let info = client.read_greeting().await.unwrap();
        let proof = native::answer(b"secret", &info.nonce);
        client.send_login(&info, &options_with(Some(ZSTD)).capabilities(both), &proof).await;
        client.expect(&[0, 0, 0, 2, 0, 0, 0]).await;
        client.packets().compress(Peer::Server, Method::Zlib).unwrap();
        client.send_command(Kind::Ping, b"").await;
        client.expect_ok().await;
        for level in [0, 23, 255] {
            let mut client = Client::new(connect(&stage));
            let options = options_with(Some(Method::Zstd { level }));
            assert_eq!(client.log_in(&options).await.unwrap_err().code, 3923);
            client.expect_end().await;
        }
        for level in [1, 22] {
            let options = options_with(Some(Method::Zstd { level }));
            let mut client = Client::connect(connect(&stage), &options).await;
            client.send_command(Kind::Ping, b"").await;
            client.expect_ok().await;
        }
    });
}

#[test]
fn compression_may_be_off() {
    play(async || {
        let mut config = config();
        config.variables.have_compress = false;
        let (stage, _servers) = stage(config);
        let mut client = Client::new(connect(&stage));
        let info = client.log_in(&options_with(Some(Method::Zlib))).await.unwrap();
        assert!(!info.capabilities.intersects(Capabilities::COMPRESS | Capabilities::ZSTD_COMPRESSION));
        assert!(!client.packets().is_compressed());
        client.send_command(Kind::Ping, b"").await;
        client.expect_ok().await;
    });
}

/// One message in one frame, both with id 0.
fn framed(method: Method, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    Codecs::new(6).put_frame(method, 0, &messages(0, &[payload]), &mut frame);
    frame
}

#[test]
fn commands_behind_the_login_and_ahead_of_answers() {
    for method in [Method::Zlib, ZSTD] {
        play(async || {
            let (stage, mut servers) = stage(compressing());
            let mut client = Client::new(connect(&stage));
            let info = client.read_greeting().await.unwrap();
            let proof = native::answer(b"secret", &info.nonce);
            client.send_login(&info, &options_with(Some(method)), &proof).await;
            let texts: Vec<String> = (0..5).map(|i| format!("SELECT {i} {}", "x".repeat(100 * i))).collect();
            let commands: Vec<u8> =
                texts.iter().flat_map(|text| framed(method, &[b"\x03", text.as_bytes()].concat())).collect();
            // The last one comes in two pieces.
            let (now, later) = commands.split_at(commands.len() - 20);
            client.send_bytes(now).await;
            client.expect(&[0, 0, 0, 2, 0, 0, 0]).await;
            client.packets().compress(Peer::Server, method).unwrap();
            let (mut server, _) = accept(&mut servers, Capabilities::COMPRESS).await;
            for (i, text) in texts.iter().enumerate() {
                if i == 4 {
                    settle().await;
                    client.send_bytes(later).await;
                }
                server.expect_query(text).await;
                server.rows(&["text"], &[&[Some(text)]]).await;
                client.packets().expect_seq(1);
                client.expect_rows(&[&[Some(text)]]).await;
            }
            expect_alive(&mut client, &mut server).await;
        });
    }
}

#[test]
fn everything_fits_through_the_smallest_sockets() {
    for (near, far) in [(1, 1), (1, 40), (40, 1), (5, 7), (64, 3)] {
        for (method, more) in [(Method::Zlib, Capabilities::ZSTD_COMPRESSION), (ZSTD, Capabilities::COMPRESS)]
        {
            play(async || {
                let (stage, mut servers) = stage_with(compressing(), far, |_| false);
                let end = stage.client(near).expect("room for a client");
                let texts = ["SELECT 1", "", &"SELECT 'long' ".repeat(10)];
                let serve = async {
                    let (mut server, _) = accept(&mut servers, more).await;
                    for text in texts {
                        server.expect_query(text).await;
                        server.rows(&["text"], &[&[Some(text)], &[None], &[Some(text)]]).await;
                    }
                    server.expect_gone().await;
                };
                let ask = async {
                    let mut client = Client::connect(end, &options_with(Some(method))).await;
                    for text in texts {
                        client.send_query(text).await;
                        client.expect_rows(&[&[Some(text)], &[None], &[Some(text)]]).await;
                    }
                    client.send_command(Kind::Quit, b"").await;
                    client.expect_end().await;
                };
                join!(ask, serve);
                expect_nothing_left(&stage).await;
            });
        }
    }
}
