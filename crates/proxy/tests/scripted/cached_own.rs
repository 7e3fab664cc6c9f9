//! The mode `own` of the query cache: writes of clients make answers too old.

use tokio::time::sleep;
use wire::StatusFlags;

use super::cached::{SQL, hit, miss, tells_of_table, with_attributes};
use super::support::{begin, config, first_query, log_in, play, run, secs, session_in, settle};

#[test]
fn c20_no_answer_is_older_than_a_write_through_the_proxy() {
    play(async || {
        let (stage, mut servers, mut client, mut server) =
            session_in(with_attributes(r#"{"cache": {"mode": "own"}}"#)).await;
        miss(&mut client, &mut server, SQL, "1").await;
        hit(&mut client, SQL, "1").await;
        let mut writer = log_in(&stage).await;
        let mut its_server = first_query(&mut writer, &mut servers).await;
        writer.send_query("UPDATE t SET a = 2").await;
        its_server.expect_query("UPDATE t SET a = 2").await;
        // It may be visible already.
        miss(&mut client, &mut server, SQL, "1").await;
        miss(&mut client, &mut server, SQL, "2").await;
        its_server.ok().await;
        writer.expect_ok().await;
        settle().await;
        miss(&mut client, &mut server, SQL, "2").await;
        hit(&mut client, SQL, "2").await;
        begin(&mut writer, &mut its_server).await;
        run(&mut writer, &mut its_server, "UPDATE t SET a = 3").await;
        miss(&mut client, &mut server, SQL, "2").await;
        hit(&mut client, SQL, "2").await;
        writer.send_query("COMMIT").await;
        its_server.expect_query("COMMIT").await;
        miss(&mut client, &mut server, SQL, "3").await;
        its_server.status = StatusFlags::AUTOCOMMIT;
        its_server.ok().await;
        writer.expect_ok().await;
        settle().await;
        miss(&mut client, &mut server, SQL, "3").await;
        hit(&mut client, SQL, "3").await;
        // A read that began before a write is not kept.
        client.send_query("SELECT b FROM t").await;
        server.expect_query("SELECT b FROM t").await;
        run(&mut writer, &mut its_server, "UPDATE t SET b = 4").await;
        server.rows(&["b"], &[&[Some("0")]]).await;
        client.expect_rows(&[&[Some("0")]]).await;
        settle().await;
        miss(&mut client, &mut server, "SELECT b FROM t", "4").await;
        hit(&mut client, "SELECT b FROM t", "4").await;
        // Its outcome is not known.
        writer.send_query("DELETE FROM t").await;
        its_server.expect_query("DELETE FROM t").await;
        drop(its_server);
        writer.expect_err(9009).await;
        settle().await;
        for _ in 0..2 {
            miss(&mut client, &mut server, SQL, "5").await;
            sleep(secs(55)).await;
        }
        miss(&mut client, &mut server, SQL, "6").await;
        hit(&mut client, SQL, "6").await;
        let invalidated = stage.cache().invalidated_text();
        assert!(invalidated.starts_with("own_write=") && !invalidated.contains(','), "{invalidated}");
    });
}

/// The cache is told of no writes as long as nothing is cached.
#[test]
fn c20_a_write_that_runs_when_the_first_rule_is_loaded_counts() {
    play(async || {
        let (stage, mut servers, mut client, mut server) = session_in(config()).await;
        let mut writer = log_in(&stage).await;
        let mut its_server = first_query(&mut writer, &mut servers).await;
        writer.send_query("UPDATE t SET a = 2").await;
        its_server.expect_query("UPDATE t SET a = 2").await;
        stage.apply(with_attributes(r#"{"cache": {"mode": "own"}}"#)).unwrap();
        settle().await;
        miss(&mut client, &mut server, SQL, "1").await;
        hit(&mut client, SQL, "1").await;
        its_server.ok().await;
        writer.expect_ok().await;
        settle().await;
        miss(&mut client, &mut server, SQL, "2").await;
        hit(&mut client, SQL, "2").await;
        assert_eq!(stage.cache().invalidated_text(), "privileges=1");
    });
}

/// The client has the OK of the first statement before the server has answered the second one.
#[test]
fn c20_a_write_that_the_cache_was_not_told_of_counts_before_its_client_has_the_ok() {
    play(async || {
        let (stage, mut servers, mut client, mut server) = session_in(config()).await;
        let mut writer = log_in(&stage).await;
        let mut its_server = first_query(&mut writer, &mut servers).await;
        let both = "UPDATE t SET a = 2; SELECT SLEEP(10)";
        writer.send_query(both).await;
        its_server.expect_query(both).await;
        stage.apply(with_attributes(r#"{"cache": {"mode": "own"}}"#)).unwrap();
        settle().await;
        miss(&mut client, &mut server, SQL, "1").await;
        hit(&mut client, SQL, "1").await;
        its_server.status = StatusFlags::AUTOCOMMIT | StatusFlags::MORE_RESULTS;
        its_server.ok().await;
        writer.expect_ok().await;
        miss(&mut client, &mut server, SQL, "2").await;
        its_server.status = StatusFlags::AUTOCOMMIT;
        its_server.rows(&["SLEEP(10)"], &[&[Some("0")]]).await;
        writer.expect_rows(&[&[Some("0")]]).await;
        settle().await;
        miss(&mut client, &mut server, SQL, "2").await;
        hit(&mut client, SQL, "2").await;
    });
}

/// Its kind is that of the SELECT in front.
#[test]
fn c20_a_commit_behind_another_statement_is_a_write() {
    play(async || {
        let (stage, mut servers, mut client, mut server) =
            session_in(with_attributes(r#"{"cache": {"mode": "own"}}"#)).await;
        let mut writer = log_in(&stage).await;
        let mut its_server = first_query(&mut writer, &mut servers).await;
        begin(&mut writer, &mut its_server).await;
        run(&mut writer, &mut its_server, "UPDATE t SET a = 2").await;
        settle().await;
        miss(&mut client, &mut server, SQL, "1").await;
        hit(&mut client, SQL, "1").await;
        writer.send_query("SELECT 1; COMMIT").await;
        its_server.expect_query("SELECT 1; COMMIT").await;
        its_server.status = StatusFlags::AUTOCOMMIT;
        its_server.ok().await;
        writer.expect_ok().await;
        settle().await;
        miss(&mut client, &mut server, SQL, "2").await;
    });
}

/// What the proxy asks behind a write is none of the write.
#[test]
fn a_write_ends_with_its_reply() {
    play(async || {
        let mut config = with_attributes(r#"{"cache": {"mode": "own"}}"#);
        config.pointsman.judge_tables = true;
        let (stage, mut servers, mut client, mut server) = session_in(config).await;
        run(&mut client, &mut server, "USE db").await;
        miss(&mut client, &mut server, SQL, "1").await;
        tells_of_table(&mut server).await;
        miss(&mut client, &mut server, SQL, "1").await;
        hit(&mut client, SQL, "1").await;
        let mut writer = log_in(&stage).await;
        let mut its_server = first_query(&mut writer, &mut servers).await;
        run(&mut writer, &mut its_server, "USE db").await;
        run(&mut writer, &mut its_server, "UPDATE u SET a = 2").await;
        // The server is asked what `u` is, and takes its time.
        settle().await;
        miss(&mut client, &mut server, SQL, "2").await;
        hit(&mut client, SQL, "2").await;
    });
}
