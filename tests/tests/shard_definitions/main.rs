//! Tables of a layout that are not alike at their nodes: what a load of the layout says, and a
//! start.

mod loading;

use std::sync::LazyLock;

use e2e::{Backend, Setup, on_each_server};

static DB: LazyLock<Backend> = LazyLock::new(|| Backend::start(&[]));
static MYSQL: LazyLock<Option<Backend>> = LazyLock::new(|| Backend::start_mysql(&[]));

on_each_server!(
    a_load_names_what_differs,
    copies_with_values_of_their_own_are_not_loaded,
    a_server_that_is_down_refuses_no_load,
    a_start_tells_what_differs,
);

fn a_load_names_what_differs(db: &'static Backend) {
    loading::names_what_differs(db);
}

fn copies_with_values_of_their_own_are_not_loaded(db: &'static Backend) {
    loading::refuses_own_values(db);
}

fn a_server_that_is_down_refuses_no_load(db: &'static Backend) {
    loading::goes_on_without_a_server(db);
}

fn a_start_tells_what_differs(db: &'static Backend) {
    loading::at_a_start(db);
}

/// A proxy with an admin port, whose hostgroups 1 and 2 are one server: schemas stand for servers.
fn setup(db: &Backend) -> Setup {
    let mut setup = Setup::before(&db.sandbox, &db.server).admin("mysql_ifaces", "\"127.0.0.1:0\"");
    for hostgroup in [1, 2] {
        setup = setup.server(&db.server, &format!("hostgroup_id = {hostgroup}\n"));
    }
    setup
}

/// A schema of these statements for each of two servers, `{n}` is 1 or 2.
fn schemas(db: &Backend, name: &str, statements: &str) {
    for n in ["1", "2"] {
        let schema = format!("{name}_{n}");
        db.sql(&format!("CREATE DATABASE {schema}; USE {schema}; {}", statements.replace("{n}", n)));
    }
}
