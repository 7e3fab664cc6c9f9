//! What `EXPLAIN ROUTE` tells of answers in the query cache.

use config::Config;
use tokio::time::sleep;

use super::cached::{SQL, cached, hit, miss, tells_of_table, with_attributes};
use super::support::{Client, begin, log_in, log_in_as, ms, options_for, play, run, session_in, user};

/// The result and the detail of the step `cache` for a statement.
async fn explained(client: &mut Client, sql: &str) -> [String; 2] {
    let result = client.query(&format!("EXPLAIN ROUTE {sql}")).await.expect("it is explained");
    let rows = result.text().expect("cells are texts");
    let cells = rows.into_iter().map(|row| row.into_iter().flatten().collect::<Vec<_>>());
    let row = cells.into_iter().find(|row| row[0] == "cache").expect("a step `cache`");
    [row[1].clone(), row[2].clone()]
}

const HOW: &str = "1000 ms, mode ttl, scope proven, by rule 1";

#[test]
fn an_answer_is_told_with_its_age_and_nothing_changes_by_that() {
    play(async || {
        let (stage, _servers, mut client, mut server) = session_in(cached()).await;
        let absent = ["would store".to_owned(), format!("no answer is there: {HOW}")];
        assert_eq!(explained(&mut client, SQL).await, absent);
        miss(&mut client, &mut server, SQL, "1").await;
        sleep(ms(300)).await;
        let before = stage.cache();
        let [result, detail] = explained(&mut client, SQL).await;
        assert_eq!(result, "hit");
        // A part of its time to live is jitter.
        assert!(detail.starts_with("age 0.3 s of 0.9 s, ") || detail.starts_with("age 0.3 s of 1.0 s, "));
        assert!(detail.ends_with(&format!(" bytes: {HOW}")), "{detail}");
        assert_eq!(explained(&mut client, "SELECT b FROM t").await, absent, "another statement");
        assert_eq!(stage.cache(), before, "nothing is counted");
        hit(&mut client, SQL, "1").await;
        run(&mut client, &mut server, "SET time_zone = '+01:00'").await;
        assert_eq!(explained(&mut client, SQL).await, absent, "the session's answer is another one");
        let mut other = log_in(&stage).await;
        assert_eq!(explained(&mut other, SQL).await[0], "hit");
        sleep(ms(1000)).await;
        let expired = format!("the answer is older than its time to live: {HOW}");
        let told = explained(&mut other, SQL).await;
        // A sweep may have taken it: which part of the store is swept when is by a random key.
        assert!(told == ["would store".to_owned(), expired] || told == absent, "{told:?}");
    });
}

#[test]
fn the_first_reason_is_told_that_keeps_an_answer_from_the_cache() {
    play(async || {
        let (_stage, _servers, mut client, mut server) = session_in(cached()).await;
        let no = |reason: &str| ["no".to_owned(), reason.to_owned()];
        assert_eq!(explained(&mut client, "SELECT NOW() FROM t").await, no("another answer each time"));
        run(&mut client, &mut server, "USE information_schema").await;
        assert_eq!(explained(&mut client, SQL).await, no("about the server"), "a reason of the session");
        run(&mut client, &mut server, "USE db").await;
        begin(&mut client, &mut server).await;
        assert_eq!(explained(&mut client, SQL).await, no("in a transaction"));
    });
}

fn judged() -> Config {
    let mut config = with_attributes("");
    config.pointsman.judge_tables = true;
    config.users.push(user("other", "secret"));
    config
}

#[test]
fn no_definitions_are_asked_for_by_an_explanation() {
    play(async || {
        let (stage, _servers, mut client, mut server) = session_in(judged()).await;
        let unknown = ["no".to_owned(), "its tables were not known yet".to_owned()];
        let sql = "SELECT a FROM db.t";
        assert_eq!(explained(&mut client, sql).await, unknown);
        // The server is asked nothing before the next statement.
        miss(&mut client, &mut server, sql, "1").await;
        tells_of_table(&mut server).await;
        miss(&mut client, &mut server, sql, "1").await;
        assert_eq!(explained(&mut client, sql).await[0], "hit");
        let mut other = log_in_as(&stage, &options_for("other", "secret")).await;
        assert_eq!(explained(&mut other, sql).await, unknown, "they are learnt by each user");
    });
}
