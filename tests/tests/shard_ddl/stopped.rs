//! Definitions that stop between two nodes.

use e2e::{Backend, admin, run, wait_for};
use testkit::client::{Client, Options};
use testkit::guard::Signal;
use testkit::server::{PASSWORD, USER};

use super::{STATES, columns, connect, setup};

/// Rows of which the second node has two that a unique key takes for one.
fn with_duplicates(db: &Backend, name: &str) {
    db.sql(&format!("INSERT INTO {name}_2.t VALUES (1, 'a'), (1, 'a'), (3, 'b')"));
}

/// Refused at the second node.
const UNIQUE: &str = "ALTER TABLE shop.t ADD UNIQUE by_both (id, note)";

pub(super) fn by_an_error(db: &'static Backend) {
    let proxy = setup(db, "later").start();
    with_duplicates(db, "later");
    run(async {
        let mut client = connect(&proxy).await;
        let refused = client.query(UNIQUE).await.unwrap_err().to_string();
        assert!(refused.contains("1062"), "{refused}");
        let mut admin = admin::connect(&proxy).await;
        assert_eq!(admin::value(&mut admin, STATES).await, "done 0,failed 0");
        let error =
            "SELECT error FROM stats_pointsman_shard_ddl WHERE node = 'later_2.t' AND tables = 'shop.t'";
        assert!(admin::value(&mut admin, error).await.starts_with("1062: "));
        for statement in ["INSERT INTO shop.t VALUES (5, 'c')", "ALTER TABLE shop.t ADD a INT", UNIQUE] {
            let refused = client.query(statement).await.unwrap_err().to_string();
            assert!(refused.contains("1235") && refused.contains("POINTSMAN RESUME DDL 1"), "{refused}");
        }
        assert_eq!(client.query("SELECT * FROM shop.t WHERE id = 3").await.unwrap().rows.len(), 1);
        // It fails again, and then not.
        admin.query("POINTSMAN RESUME DDL 1").await.unwrap();
        admin::wait_for_value(&mut admin, STATES, "done 0,failed 0").await;
        db.sql("DELETE FROM later_2.t WHERE id = 1");
        admin.query("POINTSMAN RESUME DDL 1").await.unwrap();
        admin::wait_for_value(&mut admin, STATES, "").await;
        client.query("INSERT INTO shop.t VALUES (5, 'c')").await.unwrap();
        client.query("INSERT INTO shop.t VALUES (5, 'c')").await.unwrap_err();
        client.query("ALTER TABLE shop.t ADD a INT").await.unwrap();
        assert_eq!(columns(db, "later"), ["id,note,a"; 2]);
    });
}

pub(super) fn and_forgotten(db: &'static Backend) {
    let proxy = setup(db, "forgotten").start();
    with_duplicates(db, "forgotten");
    run(async {
        let mut client = connect(&proxy).await;
        client.query(UNIQUE).await.unwrap_err();
        let mut admin = admin::connect(&proxy).await;
        db.sql("ALTER TABLE forgotten_1.t DROP INDEX by_both");
        admin.query("POINTSMAN FORGET DDL 1").await.unwrap();
        assert_eq!(admin::value(&mut admin, STATES).await, "");
        client.query("INSERT INTO shop.t VALUES (5, 'c')").await.unwrap();
        let refused = admin.query("POINTSMAN FORGET DDL 1").await.unwrap_err().to_string();
        assert!(refused.contains("there is no definition with the id 1"), "{refused}");
    });
}

pub(super) fn by_a_kill(db: &'static Backend) {
    let proxy = setup(db, "shot").start();
    run(async {
        let mut other = Client::connect(&Options::tcp(db.server.address(), USER, PASSWORD)).await.unwrap();
        other.query("LOCK TABLES shot_2.t READ").await.unwrap();
        let (mut client, mut killer) = (connect(&proxy).await, connect(&proxy).await);
        let id = admin::value(&mut client, "SELECT CONNECTION_ID()").await;
        let mut admin = admin::connect(&proxy).await;
        let define = client.query("ALTER TABLE shop.t ADD a INT");
        let kill = async {
            admin::wait_for_value(&mut admin, STATES, "done 1,asked 1").await;
            killer.query(&format!("KILL QUERY {id}")).await.unwrap();
        };
        let (defined, ()) = tokio::join!(define, kill);
        let refused = defined.unwrap_err().to_string();
        assert!(refused.contains("1317"), "{refused}");
        assert_eq!(admin::value(&mut admin, STATES).await, "done 0,failed 0");
        other.query("UNLOCK TABLES").await.unwrap();
        assert_eq!(columns(db, "shot"), ["id,note,a", "id,note"]);
        admin.query("POINTSMAN RESUME DDL 1").await.unwrap();
        admin::wait_for_value(&mut admin, STATES, "").await;
        assert_eq!(columns(db, "shot"), ["id,note,a"; 2]);
    });
}

pub(super) fn by_the_end_of_the_proxy(db: &'static Backend) {
    let setup = setup(db, "killed");
    let mut first = setup.clone().start();
    run(async {
        let mut other = Client::connect(&Options::tcp(db.server.address(), USER, PASSWORD)).await.unwrap();
        other.query("LOCK TABLES killed_2.t READ").await.unwrap();
        let mut client = connect(&first).await;
        let mut admin = admin::connect(&first).await;
        let define = client.query("ALTER TABLE shop.t ADD a INT");
        let kill = async {
            // The second node waits for the lock.
            admin::wait_for_value(&mut admin, STATES, "done 1,asked 1").await;
            assert_eq!(columns(db, "killed"), ["id,note,a", "id,note"]);
            first.signal(Signal::KILL);
        };
        let (defined, ()) = tokio::join!(define, kill);
        defined.unwrap_err();
        first.wait();
        end_orphans(db);
        other.query("UNLOCK TABLES").await.unwrap();
        assert_eq!(columns(db, "killed"), ["id,note,a", "id,note"]);

        let second = setup.start();
        second.wait_for_log("a definition of a sharded table has not come to its end");
        let mut admin = admin::connect(&second).await;
        assert_eq!(admin::value(&mut admin, STATES).await, "done 0,asked 0");
        let mut client = connect(&second).await;
        let refused = client.query("INSERT INTO shop.t (id) VALUES (5)").await.unwrap_err().to_string();
        assert!(refused.contains("POINTSMAN RESUME DDL 1"), "{refused}");
        admin.query("POINTSMAN RESUME DDL 1").await.unwrap();
        admin::wait_for_value(&mut admin, STATES, "").await;
        assert_eq!(columns(db, "killed"), ["id,note,a"; 2]);
        client.query("INSERT INTO shop.t (id) VALUES (5), (6)").await.unwrap_err();
        client.query("INSERT INTO shop.t (id) VALUES (5)").await.unwrap();
    });
}

/// The server goes on with statements whose client is gone: here it does not.
fn end_orphans(db: &Backend) {
    let running = "SELECT id FROM information_schema.processlist WHERE info LIKE 'ALTER TABLE%killed_2%'";
    for id in db.sql(running).split_whitespace() {
        db.sql(&format!("KILL {id}"));
    }
    wait_for("the end of the ALTER TABLE at the second node", || db.sql(running).trim().is_empty());
}
