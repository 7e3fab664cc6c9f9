//! Definitions of tables that several nodes get: in order, recorded, and gone on with.

mod stopped;
mod usual;

use std::sync::LazyLock;

use e2e::{Backend, Proxy, Setup, on_each_server};
use testkit::client::{Client, Options};
use testkit::server::{PASSWORD, USER};

static DB: LazyLock<Backend> = LazyLock::new(|| Backend::start(&[]));
static MYSQL: LazyLock<Option<Backend>> = LazyLock::new(|| Backend::start_mysql(&[]));

on_each_server!(
    all_nodes_get_a_definition,
    a_definition_that_fails_at_the_first_node_changes_nothing,
    a_definition_that_fails_later_is_gone_on_with,
    a_definition_that_failed_is_forgotten,
    a_definition_that_is_killed_has_stopped,
    a_definition_outlives_its_proxy,
);

fn all_nodes_get_a_definition(db: &'static Backend) {
    usual::all_nodes(db);
}

fn a_definition_that_fails_at_the_first_node_changes_nothing(db: &'static Backend) {
    usual::first_node_fails(db);
}

fn a_definition_that_fails_later_is_gone_on_with(db: &'static Backend) {
    stopped::by_an_error(db);
}

fn a_definition_that_failed_is_forgotten(db: &'static Backend) {
    stopped::and_forgotten(db);
}

fn a_definition_that_is_killed_has_stopped(db: &'static Backend) {
    stopped::by_a_kill(db);
}

fn a_definition_outlives_its_proxy(db: &'static Backend) {
    stopped::by_the_end_of_the_proxy(db);
}

/// The table `t` of `shop` with a node in each of the schemas `{name}_1` and `{name}_2`, which
/// stand for servers.
fn setup(db: &Backend, name: &str) -> Setup {
    let mut setup = Setup::before(&db.sandbox, &db.server).admin("mysql_ifaces", "\"127.0.0.1:0\"").datadir();
    for n in [1, 2] {
        db.sql(&format!(
            "CREATE DATABASE {name}_{n}; CREATE TABLE {name}_{n}.t (id INT NOT NULL, note VARCHAR(9))"
        ));
        setup = setup.server(&db.server, &format!("hostgroup_id = {n}\n"));
    }
    setup.row(
        "shards.table",
        &format!(
            "schema = 'shop'\ntable = 't'\nkey = 'id'\nfunction = 'mod'\n\
             nodes = ['1/{name}_1.t', '2/{name}_2.t']"
        ),
    )
}

async fn connect(proxy: &Proxy) -> Client {
    Client::connect(&Options::tcp(proxy.tcp(), USER, PASSWORD)).await.unwrap()
}

/// The columns of both nodes.
fn columns(db: &Backend, name: &str) -> [String; 2] {
    [1, 2].map(|n| {
        let columns = db.sql(&format!(
            "SELECT GROUP_CONCAT(column_name ORDER BY ordinal_position) FROM information_schema.columns \
             WHERE table_schema = '{name}_{n}'"
        ));
        columns.trim().to_owned()
    })
}

/// States of the nodes that the admin port tells.
const STATES: &str =
    "SELECT COALESCE(GROUP_CONCAT(state || ' ' || running), '') FROM stats_pointsman_shard_ddl";
