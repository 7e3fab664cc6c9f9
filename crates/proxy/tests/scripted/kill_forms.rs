//! KILLs in other forms than one statement with a number in it.

use testkit::script::ScriptedServer;
use wire::command::Kind;

use super::kill::running;
use super::split_prepared::prepare;
use super::support::{Client, Database, Servers, expect_alive, first_query, play};

/// The statement that runs is killed over a connection of its own.
async fn expect_kill(servers: &mut Servers, client: &mut Client, server: &mut Database, sent: &str) {
    let (mut side, _) = ScriptedServer::accept(servers.dialled().await.1).await;
    side.expect_query(sent).await;
    side.ok().await;
    server.err(1317, "70100", "Query execution was interrupted").await;
    client.expect_err(1317).await;
}

#[test]
fn c03_an_id_may_be_a_sum_or_a_string() {
    for form in ["KILL QUERY (ID)", "kill query ID + 0", "KILL QUERY ((ID + 1) - '1');"] {
        play(async || {
            let (_stage, mut servers, mut client, id, mut server, mut killer) = running().await;
            killer.send_query(&form.replace("ID", &id.to_string())).await;
            expect_kill(&mut servers, &mut client, &mut server, "KILL QUERY 7").await;
            killer.expect_ok().await;
            expect_alive(&mut client, &mut server).await;
        });
    }
}

#[test]
fn c03_an_id_may_be_a_parameter() {
    play(async || {
        let (_stage, mut servers, mut client, id, mut server, mut killer) = running().await;
        let mut own = first_query(&mut killer, &mut servers).await;
        prepare(&mut killer, &mut own, b"KILL QUERY ?", 5).await;
        let begin: [u8; 9] = [5, 0, 0, 0, 0, 1, 0, 0, 0];
        let typed = [&begin[..], &[0, 1, 3, 0], &id.to_le_bytes()].concat();
        killer.send_command(Kind::StmtExecute, &typed).await;
        expect_kill(&mut servers, &mut client, &mut server, "KILL QUERY 7").await;
        killer.expect_ok().await;
        // The type is the one of the last time, and the id is the server's.
        let again = [&begin[..], &[0, 0], &5_u32.to_le_bytes()].concat();
        killer.send_command(Kind::StmtExecute, &again).await;
        own.expect_query("KILL QUERY 5").await;
        own.err(1094, "HY000", "Unknown thread id: 5").await;
        killer.expect_err(1094).await;
        // What is no number is the server's to refuse.
        let null = [&begin[..], &[1, 1, 3, 0]].concat();
        killer.send_command(Kind::StmtExecute, &null).await;
        own.expect_command(Kind::StmtExecute, &null).await;
        own.err(1094, "HY000", "Unknown thread id: 0").await;
        killer.expect_err(1094).await;
    });
}

#[test]
fn c03_an_id_may_be_in_a_variable() {
    play(async || {
        let (_stage, mut servers, mut client, id, mut server, mut killer) = running().await;
        let mut own = first_query(&mut killer, &mut servers).await;
        for (value, sent) in [(Some("5"), "KILL QUERY (@id)"), (None, "KILL QUERY (@id)")] {
            killer.send_query("KILL QUERY @id").await;
            own.expect_query("SELECT @id").await;
            own.rows(&["@id"], &[&[value]]).await;
            own.expect_query(sent).await;
            own.err(1094, "HY000", "Unknown thread id: 5").await;
            killer.expect_err(1094).await;
        }
        killer.send_query("KILL QUERY @id").await;
        own.expect_query("SELECT @id").await;
        own.rows(&["@id"], &[&[Some(&id.to_string())]]).await;
        expect_kill(&mut servers, &mut client, &mut server, "KILL QUERY 7").await;
        killer.expect_ok().await;
        expect_alive(&mut killer, &mut own).await;
    });
}

#[test]
fn c03_statements_may_stand_behind_a_kill() {
    play(async || {
        let (_stage, mut servers, mut client, id, mut server, mut killer) = running().await;
        let mut own = first_query(&mut killer, &mut servers).await;
        killer.send_query(&format!("KILL QUERY {id}; SELECT 1")).await;
        expect_kill(&mut servers, &mut client, &mut server, "KILL QUERY 7").await;
        own.expect_query("DO 0; SELECT 1").await;
        own.ok().await;
        killer.expect_ok().await;
        // A session that is not there: the server answers what the proxy would, and stops there.
        killer.send_query(&format!("KILL QUERY {id}; KILL 1073999999; SELECT 1")).await;
        own.expect_query(
            "DO 0; SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1094, MESSAGE_TEXT = _utf8mb4 \
             X'556e6b6e6f776e207468726561642069643a2031303733393939393939'; SELECT 1",
        )
        .await;
        own.err(1094, "HY000", "Unknown thread id: 1073999999").await;
        killer.expect_err(1094).await;
        // Behind another statement it is the server's to refuse.
        let text = format!("SELECT 1; KILL {id}");
        killer.send_query(&text).await;
        own.expect_query(&text).await;
        own.err(1094, "HY000", &format!("Unknown thread id: {id}")).await;
        killer.expect_err(1094).await;
    });
}
