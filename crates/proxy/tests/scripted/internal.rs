//! `PROXYSQL INTERNAL SESSION`: what the session knows of itself.

use testkit::client::QueryResult;
use wire::command::Kind;

use super::support::{
    Client, begin, config, expect_alive, first_query, log_in, pair_of_servers, play, run, session,
    session_in, stage,
};

async fn document(client: &mut Client) -> String {
    let result: QueryResult = client.query("PROXYSQL INTERNAL SESSION").await.unwrap();
    result.first().unwrap()
}

fn expect(document: &str, members: &[&str]) {
    for member in members {
        assert!(document.contains(member), "{member} in {document}");
    }
}

#[test]
fn a_session_tells_what_it_knows_and_asks_no_server() {
    play(async || {
        let (stage, mut servers) = stage(pair_of_servers());
        let mut client = log_in(&stage).await;
        let before = document(&mut client).await;
        expect(&before, &["\"backends\": []", "\"username\": \"app\"", "\"locked_on_hostgroup\": -1"]);
        let mut server = first_query(&mut client, &mut servers).await;
        run(&mut client, &mut server, "SET NAMES latin1").await;
        run(&mut client, &mut server, "CREATE TEMPORARY TABLE t (a INT)").await;
        begin(&mut client, &mut server).await;
        let after = document(&mut client).await;
        expect(
            &after,
            &[
                "\n    \"current_hostgroup\": 0",
                "\n    \"active_transactions\": 1",
                "\"names\": \"SET NAMES latin1\"",
                "\"address\": \"db:3306\"",
                "\"temporary_table\": true",
                "\"lock_tables\": false",
                "\"MultiplexDisabled\": true",
                "\"because\": ",
            ],
        );
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn a_session_tells_whether_its_connection_is_bound_to_it() {
    play(async || {
        let mut config = config();
        config.variables.multiplexing = true;
        let (_stage, _servers, mut client, mut server) = session_in(config).await;
        expect(&document(&mut client).await, &["\"MultiplexDisabled\": false"]);
        begin(&mut client, &mut server).await;
        expect(&document(&mut client).await, &["\"MultiplexDisabled\": true"]);
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn only_this_document_is_ours() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        client.send_query("PROXYSQL INTERNAL SESSIONS").await;
        let error = client.expect_err(1064).await;
        assert_eq!(error.message, "Unknown PROXYSQL INTERNAL command");
        client.send_command(Kind::Query, b"PROXYSQL PAUSE").await;
        server.expect_query("PROXYSQL PAUSE").await;
        server.err(1064, "42000", "You have an error in your SQL syntax").await;
        client.expect_err(1064).await;
    });
}
