//! Definitions of tables as real servers give them: what they mean, and whether rows that are
//! merged by them come in the server's own order.

mod collations;
mod merging;
mod reading;
mod sorting;
mod types;

use std::sync::LazyLock;

use e2e::{Backend, on_each_server, run};

static DB: LazyLock<Backend> = LazyLock::new(|| Backend::start(&[]));
static MYSQL: LazyLock<Option<Backend>> = LazyLock::new(|| Backend::start_mysql(&[]));

on_each_server!(
    all_types_are_known,
    keys_and_defaults_are_read,
    types_merge_as_the_server_sorts,
    texts_merge_as_the_server_sorts,
    long_texts_merge_as_the_server_sorts,
    a_collation_merges_only_if_it_sorts_by_weights,
);

fn all_types_are_known(db: &'static Backend) {
    run(types::are_known(db));
}

fn keys_and_defaults_are_read(db: &'static Backend) {
    run(reading::keys_and_defaults(db));
}

fn types_merge_as_the_server_sorts(db: &'static Backend) {
    run(sorting::of_types(db));
}

fn texts_merge_as_the_server_sorts(db: &'static Backend) {
    run(sorting::of_texts(db));
}

fn long_texts_merge_as_the_server_sorts(db: &'static Backend) {
    run(sorting::of_long_texts(db));
}

fn a_collation_merges_only_if_it_sorts_by_weights(db: &'static Backend) {
    run(collations::are_tried(db));
}
