//! Definitions that come to their end.

use e2e::{Backend, admin, run};

use super::{STATES, columns, connect, setup};

pub(super) fn all_nodes(db: &'static Backend) {
    let proxy = setup(db, "usual").start();
    run(async {
        let mut client = connect(&proxy).await;
        client.query("ALTER TABLE shop.t ADD a INT DEFAULT 5").await.unwrap();
        assert_eq!(columns(db, "usual"), ["id,note,a"; 2]);
        let statement = client.prepare("ALTER TABLE shop.t ADD b INT").await.unwrap();
        client.execute(&statement, &[]).await.unwrap();
        assert_eq!(columns(db, "usual"), ["id,note,a,b"; 2]);
        client.query("INSERT INTO shop.t (id) VALUES (1)").await.unwrap();
        client.query("TRUNCATE shop.t").await.unwrap();
        assert_eq!(client.query("SELECT * FROM shop.t").await.unwrap().rows.len(), 0);
        client.query("DROP TABLE shop.t").await.unwrap();
        let made = client.query("CREATE TABLE IF NOT EXISTS shop.t (id INT NOT NULL, note CHAR(9))").await;
        assert_eq!(made.unwrap().warnings, 0);
        assert_eq!(columns(db, "usual"), ["id,note"; 2]);
        let made = client.query("CREATE TABLE IF NOT EXISTS shop.t (id INT NOT NULL)").await.unwrap();
        assert_eq!(made.warnings, 2, "each node has one");
        let mut admin = admin::connect(&proxy).await;
        assert_eq!(admin::value(&mut admin, STATES).await, "");
    });
}

pub(super) fn first_node_fails(db: &'static Backend) {
    let proxy = setup(db, "first").start();
    run(async {
        let mut client = connect(&proxy).await;
        let refused = client.query("ALTER TABLE shop.t DROP COLUMN missing").await.unwrap_err().to_string();
        assert!(refused.contains("1091") && !refused.contains("first_1"), "{refused}");
        let mut admin = admin::connect(&proxy).await;
        assert_eq!(admin::value(&mut admin, STATES).await, "");
        client.query("INSERT INTO shop.t VALUES (1, 'a')").await.unwrap();
        let refused = admin.query("POINTSMAN RESUME DDL 1").await.unwrap_err().to_string();
        assert!(refused.contains("there is no definition with the id 1"), "{refused}");
    });
}
