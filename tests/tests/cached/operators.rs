//! What operators see of the query cache, and what they tell it.

use e2e::{Backend, admin, run};

use super::{USER, connect, proxy, value};

pub(super) fn operators_see_what_is_cached_and_flush_it(server: &Backend) {
    server.sql("REPLACE INTO test.kept VALUES (9, 'one', now())");
    let proxy = proxy(server, "");
    run(async {
        let mut operator = admin::connect(&proxy).await;
        let mut client = connect(&proxy, USER).await;
        let sql = "SELECT a FROM kept WHERE id = 9";
        for _ in 0..4 {
            assert_eq!(value(&mut client, sql).await, "one");
        }
        let hits = "SELECT SUM(hits) >= 2 AND SUM(stored) >= 1 FROM stats_pointsman_cache WHERE rule_id = 1";
        admin::wait_for_value(&mut operator, hits, "1").await;
        let entries =
            "SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name = 'Query_Cache_Entries'";
        assert_eq!(admin::value(&mut operator, entries).await, "1");
        let explained =
            operator.query(&format!("POINTSMAN EXPLAIN ROUTE {sql}")).await.unwrap().text().unwrap();
        let step = explained.iter().find(|row| row[0].as_deref() == Some("cache")).unwrap();
        assert_eq!(step[1].as_deref(), Some("yes"), "it is of another user, in no schema: {step:?}");
        let asked = format!("POINTSMAN EXPLAIN ROUTE USER {USER} SCHEMA test {sql}");
        let explained = operator.query(&asked).await.unwrap().text().unwrap();
        let step = explained.iter().find(|row| row[0].as_deref() == Some("cache")).unwrap();
        assert_eq!(step[1].as_deref(), Some("hit"), "{step:?}");
        let explained = client.query(&format!("EXPLAIN ROUTE {sql}")).await.unwrap().text().unwrap();
        let step = explained.iter().find(|row| row[0].as_deref() == Some("cache")).unwrap();
        assert_eq!(step[1].as_deref(), Some("hit"), "{step:?}");
        let (mut content, mut flushed) = ("one", 0);
        for flush in [
            "FLUSH CACHE",
            "PROXYSQL FLUSH QUERY CACHE",
            "FLUSH CACHE TABLE test.kept",
            "FLUSH CACHE RULE 1",
            "FLUSH CACHE USER plain",
        ] {
            let next = ["two", "three", "four", "five", "six"][flushed];
            server.sql(&format!("UPDATE test.kept SET a = '{next}' WHERE id = 9"));
            assert_eq!(value(&mut client, sql).await, content, "before {flush}");
            operator.query(flush).await.unwrap();
            // Definitions are learnt anew behind the first one.
            for _ in 0..2 {
                assert_eq!(value(&mut client, sql).await, next, "after {flush}");
            }
            (content, flushed) = (next, flushed + 1);
        }
        let error = operator.query("FLUSH CACHE TABLE kept").await.unwrap_err().to_string();
        assert!(error.contains("schema"), "{error}");
    });
}

pub(super) fn operators_are_advised_what_to_cache(server: &Backend) {
    server.sql("REPLACE INTO test.kept VALUES (9, 'one', now())");
    let proxy = proxy(server, "");
    run(async {
        let mut operator = admin::connect(&proxy).await;
        let error = operator.query("POINTSMAN CACHE ADVISE").await.unwrap_err().to_string();
        assert!(error.contains("pointsman-cache_advise"), "{error}");
        for sql in ["SET pointsman-cache_advise=1", "LOAD POINTSMAN VARIABLES TO RUNTIME"] {
            operator.query(sql).await.unwrap();
        }
        let mut client = connect(&proxy, USER).await;
        // One key in a hundred is followed: of 2,000 some are.
        for id in 0..2000 {
            client.query(&format!("SELECT NOW(), a FROM kept WHERE id = {id}")).await.unwrap();
        }
        let advice = operator.query("POINTSMAN CACHE ADVISE").await.unwrap().text().unwrap();
        let row = advice.first().expect("a digest");
        assert_eq!(row[7].as_deref(), Some("another answer each time"), "{row:?}");
    });
}
