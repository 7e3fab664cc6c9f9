//! Sessions over shards in rare cases: transactions that end in unusual ways, prepared statements
//! at several inner sessions, clients that leave, and what a session may ask later.

mod changes;
mod charsets;
mod commits;
mod deadlocks;
mod ends;
mod fields;
mod idle;
mod ids;
mod prepared;
mod stored;
mod times;
mod transactions;
mod warnings;
mod whole;
mod world;

use std::sync::LazyLock;

use e2e::{Backend, on_each_server};

use world::Servers;

static DB: LazyLock<Servers> = LazyLock::new(|| Servers::of(|| Some(Backend::start(&[]))).unwrap());
static MYSQL: LazyLock<Option<Servers>> = LazyLock::new(|| Servers::of(|| Backend::start_mysql(&[])));

use changes::*;
use charsets::*;
use commits::*;
use deadlocks::*;
use ends::*;
use fields::*;
use idle::*;
use ids::*;
use prepared::*;
use stored::*;
use times::*;
use transactions::*;
use warnings::*;
use whole::*;

on_each_server!(
    a_chained_transaction_reaches_shards,
    a_definition_at_home_commits_at_shards,
    a_beginning_that_fails_leaves_the_transaction,
    another_beginning_commits_at_shards,
    a_deadlock_in_one_branch_takes_all_back,
    a_client_is_idle_behind_a_remembered_query,
    a_killed_session_loses_its_transaction,
    a_killed_statement_leaves_the_transaction,
    a_client_that_leaves_ends_what_runs,
    numbers_are_those_of_each_inner_session,
    they_keep_what_their_texts_meant,
    tables_are_shown_as_texts_show_them,
    values_that_were_cut_are_refused,
    texts_over_sharded_tables_are_not_prepared_by_name,
    joins_that_lead_one_way_are_right,
    ids_of_a_single_table_are_the_sessions,
    ids_that_are_said_change_nothing,
    ids_that_are_set_are_the_sessions,
    a_server_that_is_off_ends_the_transaction,
    another_layout_ends_the_transaction,
    maintenance_reaches_all_nodes,
    fields_have_logical_names,
    all_servers_have_one_time,
    a_time_ends_with_its_change,
    a_commit_without_one_server_takes_all_back,
    a_commit_in_part_names_its_parts,
    home_is_in_no_transaction_of_shards,
    the_admin_port_tells_shards_and_their_texts,
    autocommit_ends_what_it_ends_at_one_server,
    prepared_statements_begin_and_end_transactions,
    statements_that_fail_at_one_server_leave_no_row,
    copies_of_a_reference_table_do_not_differ,
    backslashes_within_characters_are_none,
    all_shards_tell_their_warnings,
    the_error_of_one_shard_is_told,
    stored_code_that_sees_a_part_does_not_run,
    stored_code_is_looked_at_anew_when_it_is_defined,
    stored_code_that_its_user_may_not_read_does_not_run,
);
