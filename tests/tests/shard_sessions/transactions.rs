//! How transactions that have reached shards begin and end.

use e2e::run;

use crate::world::{Servers, change, refused, rows};

pub(crate) fn a_chained_transaction_reaches_shards(servers: &'static Servers) {
    let world = servers.world("chained");
    let proxy = world.proxy();
    run(async {
        let mut client = world.connect(&proxy).await;
        change(&mut client, "BEGIN").await;
        change(&mut client, "UPDATE orders SET note = 'one' WHERE id = 1").await;
        change(&mut client, "COMMIT AND CHAIN").await;
        assert_eq!(world.far("SELECT note FROM orders WHERE id = 1"), "one");
        change(&mut client, "UPDATE orders SET note = 'two' WHERE id = 1").await;
        assert_eq!(world.far("SELECT note FROM orders WHERE id = 1"), "one", "the chained one is open");
        change(&mut client, "ROLLBACK AND CHAIN").await;
        change(&mut client, "UPDATE orders SET note = 'three' WHERE id = 1").await;
        assert_eq!(world.far("SELECT note FROM orders WHERE id = 1"), "one");
        change(&mut client, "COMMIT").await;
        assert_eq!(world.far("SELECT note FROM orders WHERE id = 1"), "three");
    });
}

pub(crate) fn a_definition_at_home_commits_at_shards(servers: &'static Servers) {
    let world = servers.world("defined");
    let proxy = world.proxy();
    run(async {
        let mut client = world.connect(&proxy).await;
        change(&mut client, "BEGIN").await;
        change(&mut client, "UPDATE orders SET note = 'kept' WHERE id = 1").await;
        change(&mut client, "CREATE TABLE another (id INT)").await;
        assert_eq!(world.far("SELECT note FROM orders WHERE id = 1"), "kept");
        change(&mut client, "ROLLBACK").await;
        assert_eq!(rows(&mut client, "SELECT note FROM orders WHERE id = 1").await, ["kept"]);
    });
}

pub(crate) fn another_beginning_commits_at_shards(servers: &'static Servers) {
    let world = servers.world("begun");
    let proxy = world.proxy();
    run(async {
        let mut client = world.connect(&proxy).await;
        change(&mut client, "BEGIN").await;
        change(&mut client, "UPDATE orders SET note = 'kept' WHERE id = 1").await;
        change(&mut client, "START TRANSACTION").await;
        assert_eq!(world.far("SELECT note FROM orders WHERE id = 1"), "kept");
        change(&mut client, "UPDATE orders SET note = 'lost' WHERE id = 1").await;
        change(&mut client, "ROLLBACK").await;
        assert_eq!(rows(&mut client, "SELECT note FROM orders WHERE id = 1").await, ["kept"]);
    });
}

pub(crate) fn a_beginning_that_fails_leaves_the_transaction(servers: &'static Servers) {
    let lost = "schema = 'unbegun'\ntable = 'lost'\nkey = 'id'\nfunction = 'mod'\nnodes = '9/unbegun.lost'";
    let world = servers.world("unbegun").with(|setup| {
        // That port has no listener.
        setup
            .row("mysql_servers", "hostname = \"127.0.0.1\"\nport = 1\nhostgroup_id = 9")
            .row("shards.table", lost)
            .variable("connect_timeout_server_max", 300)
    });
    let proxy = world.proxy();
    run(async {
        let mut client = world.connect(&proxy).await;
        change(&mut client, "BEGIN").await;
        change(&mut client, "UPDATE orders SET note = 'kept' WHERE id = 1").await;
        let (_, error) = refused(&mut client, "SELECT * FROM lost WHERE id = 1").await;
        assert!(error.contains('9'), "{error}");
        assert_eq!(world.far("SELECT note FROM orders WHERE id = 1"), "order 1");
        change(&mut client, "COMMIT").await;
        assert_eq!(world.far("SELECT note FROM orders WHERE id = 1"), "kept");
    });
}
