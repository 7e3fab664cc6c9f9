//! Who has which prepared statements, as statistics show it, and that the sums are those of the
//! rows.

use observe::rows::StatementStats;
use proxy::stage::Stage;
use tokio::time::sleep;
use wire::command::Kind;

use super::left_statements::{config_with, executes, expect_close, prepares};
use super::shared::two_of;
use super::support::{
    first_query, log_in, log_in_as, options, options_for, play, run, secs, session, settle, stage, user,
};

/// User, schema and text of what is prepared, and how many clients and servers have it.
type Row = (String, String, String, [u64; 2]);

/// All rows, in order.
fn rows(stage: &Stage) -> Vec<Row> {
    let statements = stage.statements();
    let sum = |of: fn(&StatementStats) -> u64| statements.iter().map(of).sum::<u64>();
    let sums = [
        ("Stmt_Client_Active_Total", sum(|row| row.clients)),
        ("Stmt_Client_Active_Unique", sum(|row| (row.clients > 0).into())),
        ("Stmt_Server_Active_Total", sum(|row| row.servers)),
        ("Stmt_Server_Active_Unique", sum(|row| (row.servers > 0).into())),
        ("Stmt_Max_Stmt_id", statements.iter().map(|row| row.id).max().unwrap_or(0)),
        ("Stmt_Cached", statements.len() as u64),
    ];
    for (name, value) in sums {
        assert_eq!(stage.global(name), value, "{name} of {statements:?}");
    }
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let row = |row: &StatementStats| {
        (text(&row.user), text(&row.schema), text(&row.text), [row.clients, row.servers])
    };
    let mut rows: Vec<Row> = statements.iter().map(row).collect();
    rows.sort();
    rows
}

fn row(user: &str, text: &str, counts: [u64; 2]) -> Row {
    (user.to_owned(), String::new(), text.to_owned(), counts)
}

#[test]
fn two_clients_have_one_text() {
    play(async || {
        let (stage, _servers, mut one, mut two, mut server) =
            two_of(config_with(20), &options(), &options()).await;
        assert_eq!(rows(&stage), []);
        prepares(&mut one, &mut server, "DO 1", 1).await;
        assert_eq!(rows(&stage), [row("app", "DO 1", [1, 1])]);
        let id = stage.statements()[0].id;
        prepares(&mut two, &mut server, "DO 1", 2).await;
        assert_eq!(rows(&stage), [row("app", "DO 1", [2, 2])]);
        // Of two that are the same one stays at a connection that changes hands.
        one.send_command(Kind::StmtExecute, &[1, 0, 0, 0, 0, 1, 0, 0, 0]).await;
        expect_close(&mut server, 1).await;
        server.expect_command(Kind::StmtExecute, &[2, 0, 0, 0, 0, 1, 0, 0, 0]).await;
        server.ok().await;
        one.expect_ok().await;
        assert_eq!(rows(&stage), [row("app", "DO 1", [2, 1])]);
        one.send_command(Kind::StmtClose, &1_u32.to_le_bytes()).await;
        expect_close(&mut server, 2).await;
        settle().await;
        assert_eq!(rows(&stage), [row("app", "DO 1", [1, 0])]);
        prepares(&mut one, &mut server, "DO 2", 3).await;
        assert_eq!(rows(&stage), [row("app", "DO 1", [1, 0]), row("app", "DO 2", [1, 1])]);
        drop(one);
        settle().await;
        assert_eq!(rows(&stage), [row("app", "DO 1", [1, 0]), row("app", "DO 2", [0, 1])]);
        assert!(stage.statements().iter().any(|row| row.id == id), "it is the same row all the time");
        drop(server);
        // Connections that no session uses are checked now and then.
        sleep(secs(10)).await;
        assert_eq!(rows(&stage), [row("app", "DO 1", [1, 0])]);
        drop(two);
        settle().await;
        assert_eq!(rows(&stage), []);
    });
}

#[test]
fn a_session_that_finds_a_statement_does_not_prepare_it_once_more() {
    play(async || {
        let (stage, _servers, mut one, mut two, mut server) =
            two_of(config_with(20), &options(), &options()).await;
        prepares(&mut one, &mut server, "DO 1", 1).await;
        run(&mut two, &mut server, "SELECT 2").await;
        assert_eq!(rows(&stage), [row("app", "DO 1", [1, 1])]);
        executes(&mut one, &mut server, 1, 1).await;
        assert_eq!(rows(&stage), [row("app", "DO 1", [1, 1])]);
    });
}

#[test]
fn users_are_told_apart_and_so_are_schemas() {
    play(async || {
        let mut config = config_with(20);
        config.users.push(user("other", "word"));
        config.servers[0].max_connections = 2;
        let (stage, mut servers) = stage(config);
        let mut one = log_in(&stage).await;
        let mut server = first_query(&mut one, &mut servers).await;
        let mut two = log_in_as(&stage, &options_for("other", "word").schema("shop")).await;
        let mut its_own = first_query(&mut two, &mut servers).await;
        prepares(&mut one, &mut server, "DO 1", 1).await;
        prepares(&mut two, &mut its_own, "DO 1", 1).await;
        let others = ("other".to_owned(), "shop".to_owned(), "DO 1".to_owned(), [1, 1]);
        assert_eq!(rows(&stage), [row("app", "DO 1", [1, 1]), others.clone()]);
        one.send_query("USE shop").await;
        server.expect_query("USE shop").await;
        server.ok().await;
        one.expect_ok().await;
        prepares(&mut one, &mut server, "DO 1", 2).await;
        let in_shop = ("app".to_owned(), "shop".to_owned(), "DO 1".to_owned(), [1, 1]);
        assert_eq!(rows(&stage), [row("app", "DO 1", [1, 1]), in_shop, others]);
    });
}

#[test]
fn what_a_server_refuses_is_no_statement() {
    play(async || {
        let (stage, mut client, mut server) = session().await;
        client.send_command(Kind::StmtPrepare, b"SELEC 1").await;
        server.expect_command(Kind::StmtPrepare, b"SELEC 1").await;
        settle().await;
        assert_eq!(rows(&stage), [], "it is not known yet");
        server.err(1064, "42000", "You have an error").await;
        client.expect_err(1064).await;
        assert_eq!(rows(&stage), []);
    });
}

#[test]
fn statements_of_sessions_that_share_nothing_are_there_as_well() {
    play(async || {
        let (stage, mut client, mut server) = session().await;
        for id in [1, 2] {
            client.send_command(Kind::StmtPrepare, b"SELECT ?").await;
            server.expect_command(Kind::StmtPrepare, b"SELECT ?").await;
            super::shared_traces::prepared(&mut server, id, 1).await;
            client.read().await;
            client.read().await;
        }
        settle().await;
        assert_eq!(rows(&stage), [row("app", "SELECT ?", [2, 2])]);
        let statement = &stage.statements()[0];
        assert_eq!((statement.columns, statement.params), (1, 0), "as the server has said");
        executes(&mut client, &mut server, 2, 2).await;
        let digests = stage.take_digests();
        assert!(digests.iter().any(|row| row.digest == statement.digest), "{digests:?}");
        client.send_command(Kind::StmtClose, &1_u32.to_le_bytes()).await;
        expect_close(&mut server, 1).await;
        settle().await;
        assert_eq!(rows(&stage), [row("app", "SELECT ?", [1, 1])]);
        drop(client);
        settle().await;
        assert_eq!(rows(&stage), []);
    });
}

#[test]
fn a_reset_closes_all_statements_of_a_session() {
    play(async || {
        let (stage, _servers, mut one, mut two, mut server) =
            two_of(config_with(20), &options(), &options()).await;
        prepares(&mut one, &mut server, "DO 1", 1).await;
        prepares(&mut two, &mut server, "DO 2", 2).await;
        two.send_command(Kind::ResetConnection, &[]).await;
        server.expect_command(Kind::ResetConnection, &[]).await;
        server.ok().await;
        two.expect_ok().await;
        settle().await;
        assert_eq!(rows(&stage), [row("app", "DO 1", [1, 0])]);
    });
}
