//! Prepared statements go by some variables as they were when they were prepared, at MySQL:
//! `GROUP_CONCAT()` by `group_concat_max_len`.

use wire::command::Kind;

use super::left_statements::{config_with, executes, expect_close, prepares};
use super::left_types::two_at_mysql;
use super::shared::{comes, takes_back, two_of};
use super::shared_by_name::is_bound;
use super::shared_traces::prepared;
use super::support::{options, play, run};

const TEXT: &str = "SELECT GROUP_CONCAT(a) FROM t";
const SHORT: &str = "SET SESSION group_concat_max_len = 4";
const LONG: &str = "SET SESSION group_concat_max_len = 100";

#[test]
fn c04_a_statement_that_goes_by_another_value_is_another_one() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) =
            two_of(config_with(20), &options(), &options()).await;
        run(&mut one, &mut server, LONG).await;
        prepares(&mut one, &mut server, TEXT, 1).await;
        two.send_query("SELECT 2").await;
        takes_back(&mut server).await;
        comes(&mut two, &mut server, "SELECT 2").await;
        prepares(&mut two, &mut server, TEXT, 2).await;
        one.send_command(Kind::StmtExecute, &[1, 0, 0, 0, 0, 1, 0, 0, 0]).await;
        server.expect_query(LONG).await;
        server.ok().await;
        server.expect_command(Kind::StmtPrepare, TEXT.as_bytes()).await;
        prepared(&mut server, 3, 0).await;
        server.expect_command(Kind::StmtExecute, &[3, 0, 0, 0, 0, 1, 0, 0, 0]).await;
        server.ok().await;
        one.expect_ok().await;
    });
}

/// It is prepared in front of the `SET`, and the session keeps it.
#[test]
fn c15_a_statement_goes_by_what_was_set_when_it_was_prepared() {
    for set in
        [SHORT, "SET time_zone = '+02:00'", "SET lc_time_names = 'de_DE'", "SET div_precision_increment = 8"]
    {
        play(async || {
            let (_stage, _servers, mut one, mut two, mut server) =
                two_of(config_with(0), &options(), &options()).await;
            prepares(&mut one, &mut server, TEXT, 1).await;
            two.send_query("SELECT 2").await;
            expect_close(&mut server, 1).await;
            comes(&mut two, &mut server, "SELECT 2").await;
            one.send_query(set).await;
            server.expect_command(Kind::StmtPrepare, TEXT.as_bytes()).await;
            prepared(&mut server, 2, 0).await;
            comes(&mut one, &mut server, set).await;
            is_bound(&mut two).await;
            executes(&mut one, &mut server, 1, 2).await;
        });
    }
}

/// It takes warnings away that a `SET` takes away as well. Prepared later in the modes of its time,
/// it would go by another length.
#[test]
fn c15_at_mysql_a_statement_is_prepared_in_front_of_a_setting_though_there_are_warnings() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two_at_mysql().await;
        prepares(&mut one, &mut server, TEXT, 1).await;
        run(&mut two, &mut server, "SET sql_mode = 'ANSI'").await;
        one.send_query("INSERT INTO t VALUES (1)").await;
        takes_back(&mut server).await;
        server.expect_query("INSERT INTO t VALUES (1)").await;
        server.err(1062, "23000", "Duplicate entry").await;
        one.expect_err(1062).await;
        one.send_query("SET sql_mode = 'ANSI'").await;
        server.expect_command(Kind::StmtPrepare, TEXT.as_bytes()).await;
        prepared(&mut server, 1, 0).await;
        comes(&mut one, &mut server, "SET sql_mode = 'ANSI'").await;
        run(&mut one, &mut server, SHORT).await;
        executes(&mut one, &mut server, 1, 1).await;
    });
}
