//! The table of sequences at real servers: proxies that take ids at the same time get other ones.

mod rows;

use std::collections::HashSet;
use std::sync::LazyLock;

use e2e::{Backend, Make, on_each_server, run};
use shard::sequence::{Segment, store};
use testkit::client::{Client, ClientError, Options};
use testkit::server::{PASSWORD, USER};

static DB: LazyLock<Backend> = LazyLock::new(|| Backend::start(&[]));
static MYSQL: LazyLock<Option<Backend>> = LazyLock::new(|| Backend::start_mysql(&[]));

on_each_server!(
    proxies_take_other_ids,
    a_new_counter_begins_behind_the_rows,
    rows_get_ids,
    ids_of_sessions_differ_and_rise,
    the_schema_of_counters_is_made,
    statements_at_shards_set_the_last_id,
    a_user_without_privileges_hears_why,
);

fn rows_get_ids(db: &'static Backend) {
    run(rows::get_ids(db));
}

fn ids_of_sessions_differ_and_rise(db: &'static Backend) {
    run(rows::of_sessions(db));
}

fn the_schema_of_counters_is_made(db: &'static Backend) {
    let fresh = match db.make {
        Make::MariaDb => Some(Backend::start(&[])),
        Make::MySql => Backend::start_mysql(&[]),
    };
    if let Some(fresh) = fresh {
        run(rows::get_ids(&fresh));
    }
}

fn statements_at_shards_set_the_last_id(db: &'static Backend) {
    run(rows::last_ids_of_shards(db));
}

fn a_user_without_privileges_hears_why(db: &'static Backend) {
    run(rows::without_privileges(db));
}

/// Takes of each proxy.
const TAKES: u64 = 100;

async fn connect(db: &Backend) -> Client {
    let mut client = Client::connect(&Options::tcp(db.server.address(), USER, PASSWORD)).await.unwrap();
    // Statements mean the same in all modes and character sets.
    client.query("SET NAMES latin1, sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'").await.unwrap();
    client
}

/// Makes the table and a counter behind `id`, as a proxy does it: when a statement says that there
/// is none.
async fn begin(client: &mut Client, table: &str, id: u64) {
    let missing = client.query(&store::take("shop", table, 1)).await;
    assert!(matches!(missing, Err(ClientError::Server(_))) || missing.is_ok_and(|ok| ok.affected_rows == 0));
    for statement in store::CREATE {
        client.query(statement).await.unwrap();
    }
    assert_eq!(client.query(&store::take("shop", table, 1)).await.unwrap().affected_rows, 0);
    client.query(&store::raise("shop", table, id)).await.unwrap();
}

/// Has a segment filled, and takes ids of it.
async fn take(client: &mut Client, segment: &mut Segment, table: &str, count: u64) -> std::ops::Range<u64> {
    loop {
        if let Some(ids) = segment.take(count) {
            return ids;
        }
        let wanted = segment.wanted().unwrap();
        segment.ask(wanted);
        let ok = client.query(&store::take("shop", table, wanted)).await.unwrap();
        assert_eq!(ok.affected_rows, 1);
        segment.answer(ok.last_insert_id).unwrap();
    }
}

fn proxies_take_other_ids(db: &'static Backend) {
    run(async {
        begin(&mut connect(db).await, "it's", 0).await;
        let mut proxies = Vec::new();
        for step in [1, 7, 50, 1_000] {
            let mut client = connect(db).await;
            proxies.push(tokio::spawn(async move {
                let mut segment = Segment::new(step);
                let mut taken = Vec::new();
                for count in 1..=TAKES {
                    taken.extend(take(&mut client, &mut segment, "it's", count % 10 + 1).await);
                }
                assert!(taken.is_sorted());
                taken
            }));
        }
        let mut all = HashSet::new();
        for proxy in proxies {
            for id in proxy.await.unwrap() {
                assert!(id >= 1 && all.insert(id), "{id}");
            }
        }
    });
}

fn a_new_counter_begins_behind_the_rows(db: &'static Backend) {
    run(async {
        let mut client = connect(db).await;
        db.sql("CREATE TABLE test.`rows` (id INT); CREATE TABLE test.`none` (id INT)");
        db.sql("INSERT INTO test.`rows` VALUES (-3), (41), (NULL)");
        let mut largest = 0;
        for table in ["rows", "none"] {
            let found = client.query(&store::largest("test", table, "id")).await.unwrap().first();
            largest = largest.max(found.unwrap().parse().unwrap());
        }
        begin(&mut client, "rows", largest).await;
        let mut segment = Segment::new(10);
        assert_eq!(take(&mut client, &mut segment, "rows", 2).await, 42..44);
        // Another proxy has stored 1000, then 5.
        for id in [1_000, 5] {
            client.query(&store::raise("shop", "rows", id)).await.unwrap();
        }
        assert_eq!(take(&mut client, &mut segment, "rows", 9).await, 1_001..1_010);
        client.query(&store::raise("shop", "rows", u64::MAX)).await.unwrap();
        let over = client.query(&store::take("shop", "rows", 1)).await;
        assert!(matches!(over, Err(ClientError::Server(_))), "{over:?}");
    });
}
