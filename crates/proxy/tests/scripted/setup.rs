//! Setup commands: sent to a server in one write with the statement behind them.

use config::Server;
use proxy::stage::Stage;
use wire::StatusFlags;
use wire::command::Kind;

use super::left_types::two_at_mysql;
use super::shared::{CHARSET, comes, config, takes_back, two, two_of};
use super::support::{
    Client, Database, Servers, first_query, log_in, options, play, rule, run, settle, stage,
};

/// What the first of two clients has set, and the second has not.
const SETTING: &str = "SET SESSION sql_mode = 'ANSI'";

/// Two clients with one connection, whose server has taken all that is to be said when it changes
/// hands; the first has it.
async fn known() -> (Stage, Servers, Client, Client, Database) {
    known_of(two().await).await
}

/// The same at MySQL, where a reset takes the character set away.
async fn known_at_mysql() -> (Stage, Servers, Client, Client, Database) {
    known_of(two_at_mysql().await).await
}

async fn known_of(
    (stage, servers, mut one, mut two, mut server): (Stage, Servers, Client, Client, Database),
) -> (Stage, Servers, Client, Client, Database) {
    run(&mut one, &mut server, "SET sql_mode = 'ANSI'").await;
    two.send_query("SELECT 0").await;
    takes_back(&mut server).await;
    comes(&mut two, &mut server, "SELECT 0").await;
    one.send_query("SELECT 0").await;
    server.expect_query(SETTING).await;
    server.ok().await;
    comes(&mut one, &mut server, "SELECT 0").await;
    (stage, servers, one, two, server)
}

#[test]
fn a_statement_does_not_wait_for_what_its_server_has_taken_before() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = known().await;
        for sql in ["SELECT 1", "INSERT INTO t VALUES (1)"] {
            two.send_query(sql).await;
            server.expect_command(Kind::ResetConnection, b"").await;
            server.expect_query(sql).await;
            server.ok().await;
            server.packets().expect_seq(1);
            server.ok().await;
            two.expect_ok().await;
            one.send_query(sql).await;
            server.expect_query(SETTING).await;
            server.expect_query(sql).await;
            server.ok().await;
            server.packets().expect_seq(1);
            server.rows(&["a"], &[&[Some("1")]]).await;
            one.expect_rows(&[&[Some("1")]]).await;
        }
    });
}

#[test]
fn a_statement_is_prepared_without_waiting_either() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = known().await;
        run(&mut one, &mut server, "SELECT 1").await;
        two.send_command(Kind::StmtPrepare, b"SELECT 'x'").await;
        server.expect_command(Kind::ResetConnection, b"").await;
        server.expect_command(Kind::StmtPrepare, b"SELECT 'x'").await;
        server.ok().await;
        server.packets().expect_seq(1);
        server.send(&[0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).await;
        two.read().await;
        comes_prepared(&mut two, &mut server, 7).await;
        run_after(&mut one, &mut server, 7).await;
        // It is prepared again, and both go out together.
        two.send_command(Kind::StmtExecute, &[7, 0, 0, 0, 0, 1, 0, 0, 0]).await;
        server.expect_command(Kind::ResetConnection, b"").await;
        server.expect_command(Kind::StmtPrepare, b"SELECT 'x'").await;
        server.ok().await;
        server.packets().expect_seq(1);
        server.send(&[0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).await;
        server.expect_command(Kind::StmtExecute, &[8, 0, 0, 0, 0, 1, 0, 0, 0]).await;
        server.ok().await;
        two.expect_ok().await;
    });
}

/// The client's prepared statement runs.
async fn comes_prepared(client: &mut Client, server: &mut Database, id: u8) {
    client.send_command(Kind::StmtExecute, &[id, 0, 0, 0, 0, 1, 0, 0, 0]).await;
    server.expect_command(Kind::StmtExecute, &[id, 0, 0, 0, 0, 1, 0, 0, 0]).await;
    server.ok().await;
    client.expect_ok().await;
}

/// The first client's statement, which goes out with the end of the other one's prepared statement.
async fn run_after(client: &mut Client, server: &mut Database, id: u32) {
    client.send_query("SELECT 2").await;
    server.expect_command(Kind::StmtClose, &id.to_le_bytes()).await;
    server.expect_query(SETTING).await;
    server.expect_query("SELECT 2").await;
    server.ok().await;
    server.packets().expect_seq(1);
    server.ok().await;
    client.expect_ok().await;
}

#[test]
fn c07_a_read_whose_settings_are_refused_after_all_is_asked_again() {
    play(async || {
        let (stage, mut servers, mut one, mut two, mut server) = known_at_mysql().await;
        run(&mut one, &mut server, "SELECT 1").await;
        two.send_query("SELECT 2").await;
        server.expect_command(Kind::ResetConnection, b"").await;
        server.expect_query(CHARSET).await;
        server.expect_query("SELECT 2").await;
        server.ok().await;
        server.packets().expect_seq(1);
        server.err(1115, "42000", "Unknown character set").await;
        server.packets().expect_seq(1);
        server.rows(&["a"], &[&[Some("in the wrong one")]]).await;
        let mut other = servers.accept().await;
        other.expect_query("SELECT 2").await;
        other.rows(&["a"], &[&[Some("right")]]).await;
        two.expect_rows(&[&[Some("right")]]).await;
        // From now on it is asked first.
        one.send_query("SELECT 3").await;
        other.expect_query(SETTING).await;
        other.err(1231, "42000", "no such mode").await;
        one.expect_err(1231).await;
        settle().await;
        assert_eq!(stage.sessions(), 2);
    });
}

/// It is too large to be sent again, and the client hears what its server has against it.
#[test]
fn a_read_that_cannot_be_asked_again_gets_the_refusal() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = known_at_mysql().await;
        run(&mut one, &mut server, "SELECT 1").await;
        let sql = format!("SELECT 2 /* {} */", "x".repeat(3_000));
        two.send_query(&sql).await;
        server.expect_command(Kind::ResetConnection, b"").await;
        server.expect_query(CHARSET).await;
        server.expect_query(&sql).await;
        server.ok().await;
        server.packets().expect_seq(1);
        server.err(1115, "42000", "Unknown character set").await;
        two.expect_err(1115).await;
    });
}

/// A KILL may hit what is said in front of the statement.
#[test]
fn c10_a_read_that_was_killed_is_not_asked_again() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = known_at_mysql().await;
        run(&mut one, &mut server, "SELECT 1").await;
        two.send_query("SELECT 2").await;
        server.expect_command(Kind::ResetConnection, b"").await;
        server.expect_query(CHARSET).await;
        server.expect_query("SELECT 2").await;
        server.ok().await;
        server.packets().expect_seq(1);
        server.err(1317, "70100", "Query execution was interrupted").await;
        two.expect_err(1317).await;
    });
}

/// The statement may run under the setting that switches it on.
#[test]
fn c10_a_write_behind_a_switched_autocommit_is_not_said_to_be_rolled_back() {
    let mut config = config();
    config.variables.multiplexing = false;
    let other = Server { hostgroup_id: 1, ..config.servers[0].clone() };
    config.servers.push(other);
    config.query_rules.push(rule(1, "two"));
    config.query_rules[0].destination_hostgroup = Some(1);
    play(async || {
        let (stage, mut servers) = stage(config.clone());
        let mut client = log_in(&stage).await;
        let mut first = first_query(&mut client, &mut servers).await;
        run(&mut client, &mut first, "SET autocommit = 1").await;
        client.send_query("SELECT 1 FROM two").await;
        let mut second = servers.accept().await;
        second.expect_query("SET SESSION autocommit = 1").await;
        second.ok().await;
        comes(&mut client, &mut second, "SELECT 1 FROM two").await;
        let on = std::mem::replace(&mut first.status, StatusFlags::empty());
        run(&mut client, &mut first, "SET autocommit = 0").await;
        client.send_query("SELECT 2 FROM two").await;
        second.expect_query("SET SESSION autocommit = 0").await;
        second.status = StatusFlags::empty();
        second.ok().await;
        comes(&mut client, &mut second, "SELECT 2 FROM two").await;
        first.status = on;
        run(&mut client, &mut first, "SET autocommit = 1").await;
        client.send_query("INSERT INTO two VALUES (1)").await;
        second.expect_query("SET SESSION autocommit = 1").await;
        second.expect_query("INSERT INTO two VALUES (1)").await;
        drop(second);
        client.expect_err(9009).await;
    });
}

#[test]
fn what_the_client_would_miss_is_not_risked() {
    let mut config = config();
    config.variables.multiplexing = false;
    let other = Server { hostgroup_id: 1, ..config.servers[0].clone() };
    config.servers.push(other);
    config.query_rules.push(rule(1, "two|LOCK"));
    config.query_rules[0].destination_hostgroup = Some(1);
    play(async || {
        let (stage, mut servers) = stage(config.clone());
        let mut client = log_in(&stage).await;
        let mut first = first_query(&mut client, &mut servers).await;
        run(&mut client, &mut first, SETTING).await;
        client.send_query("SELECT 1 FROM two").await;
        let mut second = servers.accept().await;
        second.expect_query(SETTING).await;
        second.ok().await;
        comes(&mut client, &mut second, "SELECT 1 FROM two").await;
        run(&mut client, &mut second, "SELECT GET_LOCK('a', 1)").await;
        run(&mut client, &mut first, "SET SESSION sql_mode = ''").await;
        run(&mut client, &mut first, SETTING).await;
        client.send_query("SELECT 2 FROM two").await;
        second.expect_query(SETTING).await;
        second.err(1231, "42000", "no such mode").await;
        client.expect_err(1231).await;
    });
}

#[test]
fn c10_a_write_whose_settings_are_refused_after_all_may_have_been_done() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = known_at_mysql().await;
        run(&mut one, &mut server, "SELECT 1").await;
        two.send_query("INSERT INTO t VALUES (1)").await;
        server.expect_command(Kind::ResetConnection, b"").await;
        server.expect_query(CHARSET).await;
        server.expect_query("INSERT INTO t VALUES (1)").await;
        server.ok().await;
        server.packets().expect_seq(1);
        server.err(1115, "42000", "Unknown character set").await;
        two.expect_err(9009).await;
    });
}

#[test]
fn c07_a_write_waits_until_it_is_in_its_schema() {
    play(async || {
        let (_stage, mut servers, mut one, mut two, mut server) =
            two_of(config(), &options().schema("one"), &options().schema("two")).await;
        for (client, schema) in [(&mut one, b"one"), (&mut two, b"two")] {
            client.send_query("SELECT 1").await;
            server.expect_command(Kind::InitDb, schema).await;
            server.ok().await;
            comes(client, &mut server, "SELECT 1").await;
        }
        // A read does not wait.
        one.send_query("SELECT 2").await;
        server.expect_command(Kind::InitDb, b"one").await;
        server.expect_query("SELECT 2").await;
        server.ok().await;
        server.packets().expect_seq(1);
        server.ok().await;
        one.expect_ok().await;
        two.send_query("INSERT INTO t VALUES (1)").await;
        server.expect_command(Kind::InitDb, b"two").await;
        server.err(1049, "42000", "Unknown database 'two'").await;
        // Where its schema is gone, it is done in none.
        server.expect_command(Kind::Quit, b"").await;
        drop(server);
        let mut server = servers.accept().await;
        server.expect_command(Kind::InitDb, b"two").await;
        server.err(1049, "42000", "Unknown database 'two'").await;
        server.expect_query("INSERT INTO t VALUES (1)").await;
        server.err(1046, "3D000", "No database selected").await;
        two.expect_err(1046).await;
    });
}

#[test]
fn what_was_set_at_the_writer_goes_to_the_reader_with_the_read() {
    let mut config = config();
    config.variables.multiplexing = false;
    let other = Server { hostgroup_id: 1, ..config.servers[0].clone() };
    config.servers.push(other);
    config.query_rules.push(rule(1, "^SELECT"));
    config.query_rules[0].destination_hostgroup = Some(1);
    play(async || {
        let (stage, mut servers) = stage(config.clone());
        let mut client = log_in(&stage).await;
        let mut writer = first_query(&mut client, &mut servers).await;
        client.send_query("SELECT 1").await;
        let mut reader = servers.accept().await;
        comes(&mut client, &mut reader, "SELECT 1").await;
        run(&mut client, &mut writer, SETTING).await;
        client.send_query("SELECT 2").await;
        reader.expect_query(SETTING).await;
        reader.ok().await;
        comes(&mut client, &mut reader, "SELECT 2").await;
        run(&mut client, &mut writer, "SET SESSION sql_mode = ''").await;
        client.send_query("SELECT 3").await;
        reader.expect_query("SET SESSION sql_mode = ''").await;
        reader.ok().await;
        comes(&mut client, &mut reader, "SELECT 3").await;
        run(&mut client, &mut writer, SETTING).await;
        client.send_query("SELECT 4").await;
        reader.expect_query(SETTING).await;
        reader.expect_query("SELECT 4").await;
        reader.ok().await;
        reader.packets().expect_seq(1);
        reader.rows(&["a"], &[&[Some("4")]]).await;
        client.expect_rows(&[&[Some("4")]]).await;
    });
}
