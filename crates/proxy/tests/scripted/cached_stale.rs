//! Answers older than their time to live, given because no server answers (`stale_if_error_ms`).

use std::cell::Cell;
use std::rc::Rc;

use config::Config;
use proxy::stage::Stage;
use tokio::time::{Instant, sleep};

use super::cached::{SQL, hit, miss, tells_of_table, with_attributes};
use super::support::{
    CAPACITY, Client, Database, Servers, first_query, log_in, log_in_as, ms, options_for, play, run, secs,
    settle, stage_with, user,
};

/// A second of time to live, and a minute behind it.
fn stale(more: &str) -> Config {
    let mut config = with_attributes(&format!(r#"{{"cache": {{"stale_if_error_ms": 60000{more}}}}}"#));
    config.variables.connect_timeout_server_max = secs(2);
    config.variables.shun_recovery_time = secs(1);
    config
}

/// A session whose server may be switched off.
struct Scene {
    stage: Stage,
    servers: Servers,
    client: Client,
    is_down: Rc<Cell<bool>>,
}

async fn scene(config: Config) -> (Scene, Database) {
    let is_down = Rc::new(Cell::new(false));
    let down = Rc::clone(&is_down);
    let (stage, mut servers) = stage_with(config, CAPACITY, move |_| down.get());
    let mut client = log_in(&stage).await;
    let server = first_query(&mut client, &mut servers).await;
    (Scene { stage, servers, client, is_down }, server)
}

impl Scene {
    async fn goes_down(&self, server: Database) {
        self.is_down.set(true);
        drop(server);
        settle().await;
    }
}

#[test]
fn a_stale_answer_is_given_while_no_server_is_reached() {
    play(async || {
        let (mut scene, mut server) = scene(stale("")).await;
        miss(&mut scene.client, &mut server, SQL, "1").await;
        scene.goes_down(server).await;
        hit(&mut scene.client, SQL, "1").await;
        sleep(secs(1)).await;
        hit(&mut scene.client, SQL, "1").await;
        let counted = scene.stage.cache();
        assert_eq!((counted.hits, counted.stale), (1, 1));
        // The next ones wait for no server.
        let begun = Instant::now();
        for _ in 0..3 {
            hit(&mut log_in(&scene.stage).await, SQL, "1").await;
        }
        assert_eq!(begun.elapsed(), ms(0));
        assert_eq!(scene.stage.cache().stale, 4);
        // Nothing is there for another statement.
        scene.client.send_query("SELECT b FROM t").await;
        scene.client.expect_err(9001).await;
        sleep(secs(60)).await;
        scene.client.send_query(SQL).await;
        scene.client.expect_err(9001).await;
    });
}

#[test]
fn the_server_is_asked_again_as_soon_as_it_is_back() {
    play(async || {
        let (mut scene, mut server) = scene(stale("")).await;
        miss(&mut scene.client, &mut server, SQL, "1").await;
        scene.goes_down(server).await;
        sleep(secs(1)).await;
        hit(&mut scene.client, SQL, "1").await;
        scene.is_down.set(false);
        sleep(secs(2)).await;
        scene.client.send_query(SQL).await;
        let mut server = scene.servers.accept().await;
        server.expect_query(SQL).await;
        server.rows(&["a"], &[&[Some("2")]]).await;
        scene.client.expect_rows(&[&[Some("2")]]).await;
        hit(&mut log_in(&scene.stage).await, SQL, "2").await;
    });
}

#[test]
fn a_stale_answer_is_given_if_the_server_is_lost_while_it_owes_one() {
    play(async || {
        let mut config = stale("");
        config.variables.query_retries_on_failure = 0;
        let (mut scene, mut server) = scene(config).await;
        miss(&mut scene.client, &mut server, SQL, "1").await;
        sleep(secs(1)).await;
        scene.client.send_query(SQL).await;
        server.expect_query(SQL).await;
        drop(server);
        scene.client.expect_rows(&[&[Some("1")]]).await;
        assert_eq!(scene.stage.cache().stale, 1);
        let mut server = first_query(&mut scene.client, &mut scene.servers).await;
        run(&mut scene.client, &mut server, "DO 1").await;
    });
}

/// Sessions that wait for the one that asks get what it gets.
#[test]
fn who_waits_for_an_answer_gets_the_stale_one_as_well() {
    play(async || {
        let mut config = stale("");
        config.variables.query_retries_on_failure = 0;
        let (mut scene, mut server) = scene(config).await;
        miss(&mut scene.client, &mut server, SQL, "1").await;
        sleep(secs(1)).await;
        scene.client.send_query(SQL).await;
        server.expect_query(SQL).await;
        let mut other = log_in(&scene.stage).await;
        other.send_query(SQL).await;
        settle().await;
        scene.goes_down(server).await;
        let begun = Instant::now();
        scene.client.expect_rows(&[&[Some("1")]]).await;
        other.expect_rows(&[&[Some("1")]]).await;
        assert_eq!(begun.elapsed(), ms(0));
    });
}

#[test]
fn an_error_of_the_server_is_passed_on() {
    play(async || {
        let (mut scene, mut server) = scene(stale("")).await;
        miss(&mut scene.client, &mut server, SQL, "1").await;
        sleep(secs(1)).await;
        scene.client.send_query(SQL).await;
        server.expect_query(SQL).await;
        server.err(1146, "42S02", "No such table").await;
        scene.client.expect_err(1146).await;
        assert_eq!(scene.stage.cache().stale, 0);
    });
}

#[test]
fn c20_no_stale_answer_is_from_before_a_write_or_a_change_of_privileges() {
    for (mode, sql) in [("own", "INSERT INTO t VALUES (1)"), ("ttl", "REVOKE SELECT ON t FROM other")] {
        play(async || {
            let (mut scene, mut server) = scene(stale(&format!(r#", "mode": "{mode}""#))).await;
            miss(&mut scene.client, &mut server, SQL, "1").await;
            run(&mut scene.client, &mut server, sql).await;
            scene.goes_down(server).await;
            sleep(secs(1)).await;
            scene.client.send_query(SQL).await;
            scene.client.expect_err(9001).await;
        });
    }
}

/// The answer that is there when the wait is over is from another account, and from behind the
/// REVOKE.
#[test]
fn c21_no_stale_answer_is_given_to_an_account_that_has_lost_its_privileges_meanwhile() {
    play(async || {
        let mut config = stale("");
        config.variables.query_retries_on_failure = 0;
        config.pointsman.judge_tables = true;
        config.users.push(user("other", "secret"));
        let (mut scene, mut server) = scene(config).await;
        let mut other = log_in_as(&scene.stage, &options_for("other", "secret")).await;
        let mut its_server = first_query(&mut other, &mut scene.servers).await;
        run(&mut scene.client, &mut server, "USE db").await;
        run(&mut other, &mut its_server, "USE db").await;
        miss(&mut scene.client, &mut server, SQL, "1").await;
        tells_of_table(&mut server).await;
        miss(&mut scene.client, &mut server, SQL, "1").await;
        sleep(secs(1)).await;
        scene.client.send_query(SQL).await;
        server.expect_query(SQL).await;
        run(&mut other, &mut its_server, "REVOKE SELECT ON t FROM app").await;
        // So long the server may have needed to make it known to others.
        sleep(ms(10)).await;
        miss(&mut other, &mut its_server, SQL, "2").await;
        tells_of_table(&mut its_server).await;
        miss(&mut other, &mut its_server, SQL, "2").await;
        hit(&mut other, SQL, "2").await;
        drop(server);
        scene.client.expect_err(1213).await;
        assert_eq!(scene.stage.cache().stale, 0);
    });
}

/// Such answers are stored only when they are asked for twice.
#[test]
fn a_stale_answer_is_given_where_few_lookups_hit() {
    play(async || {
        let (mut scene, mut server) = scene(stale("")).await;
        let text = |b: u32| format!("SELECT a FROM t WHERE b = {b}");
        for b in 0..1100 {
            miss(&mut scene.client, &mut server, &text(b), "1").await;
        }
        assert_ne!(scene.stage.cache().not_stored_text(), "", "few hit");
        scene.goes_down(server).await;
        sleep(secs(1)).await;
        hit(&mut scene.client, &text(0), "1").await;
        let begun = Instant::now();
        hit(&mut log_in(&scene.stage).await, &text(0), "1").await;
        assert_eq!(begun.elapsed(), ms(0), "one session waits for the server");
    });
}
