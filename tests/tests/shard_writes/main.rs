//! Statements that write to several shards in more than one step.

mod files;
mod first_rows;

use std::sync::LazyLock;

use e2e::{Backend, Proxy, Setup, on_each_server, run};
use testkit::client::{Client, Options};
use testkit::server::{PASSWORD, USER};

static DB: LazyLock<Backend> = LazyLock::new(|| Backend::start(&[]));
static MYSQL: LazyLock<Option<Backend>> = LazyLock::new(|| Backend::start_mysql(&[]));

on_each_server!(
    any_rows_are_changed_without_an_order,
    the_first_rows_of_all_shards_are_changed,
    executions_change_the_first_rows,
    a_failed_change_of_first_rows_changes_nothing,
    what_one_server_may_do_is_refused_over_several,
    a_change_of_first_rows_is_killed,
    files_have_the_rows_that_one_server_finds,
    a_file_streams_to_its_shards,
    a_file_that_is_refused_leaves_no_row,
    files_go_to_servers_as_their_tables_do,
    a_file_that_is_cut_leaves_no_row,
);

fn files_have_the_rows_that_one_server_finds(db: &'static Backend) {
    run(files::like_one_server(db));
}

fn a_file_streams_to_its_shards(db: &'static Backend) {
    run(files::streamed(db));
}

fn a_file_that_is_refused_leaves_no_row(db: &'static Backend) {
    run(files::refused(db));
}

fn files_go_to_servers_as_their_tables_do(db: &'static Backend) {
    run(files::of_two_servers(db));
}

fn a_file_that_is_cut_leaves_no_row(db: &'static Backend) {
    run(files::interrupted(db));
}

fn any_rows_are_changed_without_an_order(db: &'static Backend) {
    run(first_rows::in_turn(db));
}

fn the_first_rows_of_all_shards_are_changed(db: &'static Backend) {
    run(first_rows::in_order(db));
}

fn executions_change_the_first_rows(db: &'static Backend) {
    run(first_rows::prepared(db));
}

fn a_failed_change_of_first_rows_changes_nothing(db: &'static Backend) {
    run(first_rows::failed(db));
}

fn what_one_server_may_do_is_refused_over_several(db: &'static Backend) {
    run(first_rows::refused(db));
}

fn a_change_of_first_rows_is_killed(db: &'static Backend) {
    run(first_rows::killed(db));
}

/// Shards of each table.
const SHARDS: u32 = 4;

/// The columns of all tables.
const COLUMNS: &str = "id INT NOT NULL PRIMARY KEY, state INT NOT NULL, note VARCHAR(20) NULL";

/// Makes the parts of a table in a schema of its own, two behind each of two hostgroups, and a
/// proxy before them. `key` is the sharding key.
fn split(db: &Backend, schema: &str, columns: &str, key: &str, transactions: &str) -> Proxy {
    db.sql(&format!("CREATE DATABASE {schema}"));
    for shard in 0..SHARDS {
        db.sql(&format!("CREATE TABLE {schema}.t_{shard} ({columns}) ENGINE=InnoDB"));
    }
    let mut setup = Setup::before(&db.sandbox, &db.server)
        .pointsman_variable("shard_transactions", format!("\"{transactions}\""));
    for hostgroup in [1, 2] {
        setup = setup.server(&db.server, &format!("hostgroup_id = {hostgroup}\n"));
    }
    let nodes = format!("1/{schema}.t_${{0..1}}, 2/{schema}.t_${{2..3}}");
    let table = format!(
        "schema = '{schema}'\ntable = 't'\nkey = '{key}'\nfunction = 'mod'\nnodes = '{nodes}'\n\
         unique = 'unchecked'"
    );
    setup.row("shards.table", &table).row("shards.home", "hostgroup = 0").start()
}

/// A session through a proxy.
async fn connect(proxy: &Proxy, schema: &str) -> Client {
    Client::connect(&Options::tcp(proxy.tcp(), USER, PASSWORD).schema(schema)).await.unwrap()
}

/// The number of rows of all shards that meet a condition.
fn count(db: &Backend, schema: &str, condition: &str) -> u32 {
    let parts: Vec<_> = (0..SHARDS)
        .map(|shard| format!("(SELECT COUNT(*) FROM {schema}.t_{shard} WHERE {condition})"))
        .collect();
    db.sql(&format!("SELECT {}", parts.join(" + "))).trim().parse().unwrap()
}
