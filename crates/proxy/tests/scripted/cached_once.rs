//! Equal queries that run once: which session runs, which ones wait, and what ends that.

use config::{Config, QueryRule};

use super::cached::{SQL, cached, hit, miss};
use super::shared::let_in;
use super::support::{log_in, messages, ms, play, run, session_in, settle};
use tokio::time::sleep;

/// The same rule, and connections that several sessions use.
fn shared() -> Config {
    let mut config = cached();
    config.variables.multiplexing = true;
    config
}

#[test]
fn equal_queries_run_once() {
    play(async || {
        let (stage, mut servers, mut client, mut server) = session_in(shared()).await;
        client.send_query(SQL).await;
        server.expect_query(SQL).await;
        let mut others = Vec::new();
        for _ in 0..10 {
            let mut other = log_in(&stage).await;
            other.send_query(SQL).await;
            others.push(other);
        }
        settle().await;
        server.rows(&["a"], &[&[Some("1")]]).await;
        for client in std::iter::once(&mut client).chain(&mut others) {
            client.expect_rows(&[&[Some("1")]]).await;
        }
        assert!(servers.settled().await.is_none(), "no other connection is needed");
    });
}

/// Two sessions and one connection: the first one that asks waits for it.
#[test]
fn c24_a_session_that_waits_for_an_answer_keeps_no_connection() {
    play(async || {
        let mut config = shared();
        config.servers[0].max_connections = 1;
        let (stage, _servers, mut client, mut server) = session_in(config).await;
        let mut other = log_in(&stage).await;
        let query = [&b"\x03"[..], SQL.as_bytes()].concat();
        let commands: Vec<u8> =
            [&b"\x03DO 1"[..], &query].iter().flat_map(|one| messages(0, &[one])).collect();
        client.send_bytes(&commands).await;
        server.expect_query("DO 1").await;
        other.send_query(SQL).await;
        settle().await;
        server.ok().await;
        client.packets().expect_seq(1);
        client.expect_ok().await;
        let_in(&mut server).await;
        server.expect_query(SQL).await;
        server.rows(&["a"], &[&[Some("1")]]).await;
        client.packets().expect_seq(1);
        other.expect_rows(&[&[Some("1")]]).await;
        client.expect_rows(&[&[Some("1")]]).await;
    });
}

/// One that cannot give its connection away does not wait for a session that waits for it.
#[test]
fn c24_a_session_that_keeps_its_connection_does_not_wait_for_who_needs_one() {
    play(async || {
        let mut config = shared();
        config.servers[0].max_connections = 1;
        let (stage, _servers, mut client, mut server) = session_in(config).await;
        run(&mut client, &mut server, "DO GET_LOCK('l', 1)").await;
        let mut other = log_in(&stage).await;
        other.send_query(SQL).await;
        settle().await;
        let begun = tokio::time::Instant::now();
        client.send_query(SQL).await;
        server.expect_query(SQL).await;
        assert_eq!(begun.elapsed(), ms(0));
        server.rows(&["a"], &[&[Some("1")]]).await;
        client.expect_rows(&[&[Some("1")]]).await;
    });
}

#[test]
fn a_query_runs_again_if_the_one_that_others_wait_for_has_no_answer() {
    play(async || {
        let mut config = shared();
        config.variables.kill_backend_connection_when_disconnect = false;
        let (stage, mut servers, mut client, mut server) = session_in(config).await;
        client.send_query(SQL).await;
        server.expect_query(SQL).await;
        let (mut second, mut third) = (log_in(&stage).await, log_in(&stage).await);
        second.send_query(SQL).await;
        third.send_query(SQL).await;
        settle().await;
        drop(client);
        let mut next = servers.accept().await;
        next.expect_query(SQL).await;
        next.rows(&["a"], &[&[Some("2")]]).await;
        second.expect_rows(&[&[Some("2")]]).await;
        third.expect_rows(&[&[Some("2")]]).await;
        let counted = stage.cache();
        assert_eq!((counted.not_stored_text().as_str(), counted.stored), ("broken off=1", 1));
    });
}

#[test]
fn a_reply_whose_server_is_lost_is_counted_once() {
    play(async || {
        let (stage, mut servers, mut client, mut server) = session_in(shared()).await;
        client.send_query(SQL).await;
        server.expect_query(SQL).await;
        server.columns(&["a"]).await;
        drop(server);
        client.expect_gone().await;
        settle().await;
        assert_eq!(stage.cache().not_stored_text(), "broken off=1");
        // Of this query nothing was told yet, so that it is sent again.
        let mut client = log_in(&stage).await;
        client.send_query(SQL).await;
        let mut server = servers.accept().await;
        server.expect_query(SQL).await;
        drop(server);
        let mut server = servers.accept().await;
        server.expect_query(SQL).await;
        server.rows(&["a"], &[&[Some("1")]]).await;
        client.expect_rows(&[&[Some("1")]]).await;
        assert_eq!(stage.cache().not_stored_text(), "broken off=2");
    });
}

#[test]
fn a_reply_of_tables_that_were_not_known_is_counted() {
    play(async || {
        let mut config = shared();
        config.pointsman.judge_tables = true;
        let (stage, _servers, mut client, mut server) = session_in(config).await;
        client.send_query("SELECT a FROM db.t").await;
        server.expect_query("SELECT a FROM db.t").await;
        server.rows(&["a"], &[&[Some("1")]]).await;
        client.expect_rows(&[&[Some("1")]]).await;
        assert_eq!(stage.cache().refused_text(), "its tables were not known yet=1");
    });
}

#[test]
fn c24_no_session_waits_longer_than_the_rule_says() {
    play(async || {
        let mut config = shared();
        let rule = QueryRule { cache_timeout: Some(ms(50)), ..config.query_rules[0].clone() };
        config.query_rules = vec![rule].into();
        let (stage, mut servers, mut client, mut server) = session_in(config).await;
        client.send_query(SQL).await;
        server.expect_query(SQL).await;
        let mut other = log_in(&stage).await;
        let begun = tokio::time::Instant::now();
        other.send_query(SQL).await;
        let mut its_server = servers.accept().await;
        its_server.expect_query(SQL).await;
        assert!(begun.elapsed() < ms(60));
        its_server.rows(&["a"], &[&[Some("1")]]).await;
        other.expect_rows(&[&[Some("1")]]).await;
        drop(server);
        client.expect_rows(&[&[Some("1")]]).await;
    });
}

#[test]
fn a_session_that_waits_for_an_answer_can_be_killed_and_its_client_can_leave() {
    play(async || {
        let (stage, mut servers, mut client, mut server) = session_in(shared()).await;
        client.send_query(SQL).await;
        server.expect_query(SQL).await;
        let mut left = log_in(&stage).await;
        left.send_query(SQL).await;
        settle().await;
        drop(left);
        settle().await;
        assert_eq!(stage.sessions(), 1);
        let mut killed = log_in(&stage).await;
        killed.send_query(SQL).await;
        settle().await;
        let id = stage.processes().iter().map(|process| process.id).max();
        assert!(stage.kill(id.unwrap()));
        killed.expect_gone().await;
        drop(killed);
        settle().await;
        assert_eq!(stage.sessions(), 1);
        server.rows(&["a"], &[&[Some("1")]]).await;
        client.expect_rows(&[&[Some("1")]]).await;
        assert!(servers.settled().await.is_none());
    });
}

#[test]
fn where_few_lookups_hit_an_answer_is_stored_when_it_is_asked_for_again() {
    play(async || {
        let (stage, mut servers, mut client, mut server) = session_in(shared()).await;
        let sql = |number| format!("SELECT a FROM t WHERE b = {number}");
        // From the first miss on, 1,024 lookups without a hit.
        for number in 0..=1024 {
            miss(&mut client, &mut server, &sql(number), "1").await;
        }
        let (stored, new) = (stage.cache().stored, sql(5000));
        miss(&mut client, &mut server, &new, "1").await;
        assert_eq!(stage.cache().stored, stored);
        assert_eq!(stage.cache().not_stored_text(), "asked for once=2");
        miss(&mut client, &mut server, &new, "2").await;
        assert_eq!(stage.cache().stored, stored + 1);
        hit(&mut client, &new, "2").await;
        sleep(ms(1000)).await;
        for answer in ["3", "4"] {
            miss(&mut client, &mut server, &new, answer).await;
        }
        hit(&mut client, &new, "4").await;
        // The first one is not waited for, and the second one is.
        let newest = sql(6000);
        client.send_query(&newest).await;
        server.expect_query(&newest).await;
        let (mut second, mut third) = (log_in(&stage).await, log_in(&stage).await);
        second.send_query(&newest).await;
        let mut its_server = servers.accept().await;
        its_server.expect_query(&newest).await;
        third.send_query(&newest).await;
        settle().await;
        its_server.rows(&["a"], &[&[Some("5")]]).await;
        second.expect_rows(&[&[Some("5")]]).await;
        third.expect_rows(&[&[Some("5")]]).await;
        server.rows(&["a"], &[&[Some("5")]]).await;
        client.expect_rows(&[&[Some("5")]]).await;
    });
}
