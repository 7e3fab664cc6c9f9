//! Commands that have no reply (`COM_STMT_CLOSE`, `COM_STMT_SEND_LONG_DATA`) where no connection is
//! to be had for them.

use proxy::stage::Stage;
use tokio::time::sleep;
use wire::StatusFlags;
use wire::command::Kind;

use super::kill::log_in_with_id;
use super::left_statements::expect_close;
use super::shared::{config, let_in, two_of};
use super::split_prepared::{prepare, prepared};
use super::support::{
    Client, Database, Servers, log_in, ms, options, pair_of_servers, play, run, settle, stage,
};

#[test]
fn c01_a_close_that_gets_no_connection_has_no_reply() {
    // The session waits for longer than it may, or is killed meanwhile.
    for is_killed in [false, true] {
        play(async || {
            let mut config = pair_of_servers();
            config.variables.multiplexing = true;
            config.variables.connect_timeout_server_max = ms(100);
            config.servers[1].max_connections = 1;
            let (stage, mut servers) = stage(config);
            let (mut one, id) = log_in_with_id(&stage, &options()).await;
            one.send_command(Kind::StmtPrepare, b"SELECT a FROM t WHERE b = ?").await;
            let mut reader = servers.accept().await;
            reader.expect_command(Kind::StmtPrepare, b"SELECT a FROM t WHERE b = ?").await;
            prepared(&mut reader, 1).await;
            one.read().await;
            one.read().await;
            one.send_query("BEGIN").await;
            let mut writer = servers.accept().await;
            writer.status |= StatusFlags::IN_TRANSACTION;
            writer.expect_query("BEGIN").await;
            writer.ok().await;
            one.expect_ok().await;
            // The reader's only connection is another session's by now.
            let mut two = log_in(&stage).await;
            two.send_query("SELECT SLEEP(9)").await;
            let_in(&mut reader).await;
            reader.expect_query("SELECT SLEEP(9)").await;
            one.send_command(Kind::StmtClose, &1_u32.to_le_bytes()).await;
            settle().await;
            if is_killed {
                let mut killer = log_in(&stage).await;
                killer.send_query(&format!("KILL QUERY {id}")).await;
                killer.expect_ok().await;
            } else {
                sleep(ms(200)).await;
            }
            one.send_query("SELECT 'one'").await;
            writer.expect_query("SELECT 'one'").await;
            writer.rows(&["one"], &[&[Some("one")]]).await;
            one.expect_rows(&[&[Some("one")]]).await;
        });
    }
}

const INSERT: &[u8] = b"INSERT INTO t VALUES (?)";

/// Two sessions of which the first has prepared the `INSERT`, with this number, and the second has
/// the only connection.
async fn without_connection() -> (Stage, Servers, Client, Client, Database, [u8; 4]) {
    let (stage, servers, mut one, mut two, mut server) = two_of(config(), &options(), &options()).await;
    let id = prepare(&mut one, &mut server, INSERT, 1).await;
    two.send_query("SELECT SLEEP(9)").await;
    expect_close(&mut server, 1).await;
    server.expect_query("SELECT SLEEP(9)").await;
    (stage, servers, one, two, server, id)
}

#[test]
fn c01_a_part_of_a_value_that_gets_no_connection_waits_for_its_execution() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server, id) = without_connection().await;
        let about = |id: &[u8], rest: &[u8]| [id, rest].concat();
        for part in [b"\0\0first", b"\0\0other"] {
            one.send_command(Kind::SendLongData, &about(&id, part)).await;
            sleep(ms(200)).await;
        }
        server.ok().await;
        two.expect_ok().await;
        let execution = b"\0\x01\0\0\0\0\x01\xfc\0";
        one.send_command(Kind::StmtExecute, &about(&id, execution)).await;
        server.expect_command(Kind::StmtPrepare, INSERT).await;
        prepared(&mut server, 5).await;
        server.expect_command(Kind::SendLongData, b"\x05\0\0\0\0\0first").await;
        server.expect_command(Kind::SendLongData, b"\x05\0\0\0\0\0other").await;
        server.expect_command(Kind::StmtExecute, &about(b"\x05\0\0\0", execution)).await;
        server.ok().await;
        one.expect_ok().await;
        run(&mut one, &mut server, "SELECT 1").await;
    });
}

/// An execution whose values went before it is not sent once more, also if they were kept first.
#[test]
fn c16_an_execution_with_parts_that_were_kept_is_not_sent_twice() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server, id) = without_connection().await;
        one.send_command(Kind::SendLongData, &[&id[..], b"\0\0first"].concat()).await;
        sleep(ms(200)).await;
        server.ok().await;
        two.expect_ok().await;
        one.send_command(Kind::StmtExecute, &[&id[..], b"\0\x01\0\0\0\0\x01\xfc\0"].concat()).await;
        server.expect_command(Kind::StmtPrepare, INSERT).await;
        prepared(&mut server, 5).await;
        server.expect_command(Kind::SendLongData, b"\x05\0\0\0\0\0first").await;
        server.expect_command(Kind::StmtExecute, b"\x05\0\0\0\0\x01\0\0\0\0\x01\xfc\0").await;
        server.err(1615, "HY000", "Prepared statement needs to be re-prepared").await;
        one.expect_err(1615).await;
    });
}

#[test]
fn c01_values_that_cannot_be_kept_close_their_statement() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server, id) = without_connection().await;
        one.send_command(Kind::SendLongData, &[&id[..], b"\0\0", &vec![b'x'; 2 << 20]].concat()).await;
        sleep(ms(200)).await;
        server.ok().await;
        two.expect_ok().await;
        one.send_command(Kind::StmtExecute, &[&id[..], b"\0\x01\0\0\0\0\x01\xfc\0"].concat()).await;
        server.expect_command(Kind::StmtExecute, b"\x01\0\0\0\0\x01\0\0\0\0\x01\xfc\0").await;
        server.err(1243, "HY000", "Unknown prepared statement handler").await;
        one.expect_err(1243).await;
    });
}
