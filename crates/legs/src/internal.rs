//! `PROXYSQL INTERNAL SESSION`: what the session knows of itself, as one cell of JSON.
//!
//! Source of the names: the document of ProxySQL 2.7. What there is nothing of here is left out.

use net::sock::Sock;
use observe::document::Value::{List, Object};
use observe::document::{Form, Value, client, ms, object, on, plain, text};
use route::Hold;
use runtime::control::Control;
use tokio::time::Instant;
use upstream::Backend;
use wire::{Capabilities, StatusFlags};

use crate::entry::BookEntry;
use crate::facts::places::shares;
use crate::io::Io;
use crate::leg::Leg;
use crate::state::SessionState;

/// The document.
pub fn internals(entry: &BookEntry, io: &Io, leg: &Leg) -> String {
    let now = Instant::now();
    let session = leg.session();
    let hostgroup = |hostgroup: Option<u32>| hostgroup.map_or(plain(-1), plain);
    let account = &leg.state.identity.account;
    let open = leg.links.away.others.iter().filter(|other| other.connection().state().in_transaction());
    let open = open.count() + usize::from(leg.state.in_transaction());
    let mut members = vec![
        ("thread", plain(entry.worker.index)),
        ("thread_session_id", plain(leg.state.identity.connection_id)),
        ("age_ms", ms(entry.control.age(now))),
        // Of a session that answers this.
        ("status", text("WAITING_CLIENT_DATA")),
        ("autocommit", plain(session.autocommit)),
        ("current_hostgroup", plain(leg.state.here)),
        ("default_hostgroup", plain(leg.state.account.default_hostgroup)),
        ("locked_on_hostgroup", hostgroup(session.locked_on)),
        ("active_transactions", plain(open)),
        ("transaction_time_ms", ms(entry.control.transaction_time(now))),
        ("transaction_persistent", plain(leg.state.account.transaction_persistent)),
        ("default_schema", text(account.schema.as_deref().unwrap_or_default())),
        ("next_query_flagIN", plain(leg.state.flag_in)),
    ];
    if let Some((hold, at)) = session.hold {
        members.push(("held", object([("hostgroup_id", plain(at)), ("because", text(hold.text()))])));
    }
    members.extend([
        ("client", client_side(&entry.control, io, &leg.state)),
        ("conn", io.asked_for(&leg.state)),
        ("backends", List(backends(entry, leg, session.hold))),
    ]);
    object(members).print(Form::Indented)
}

/// The connections to servers: the one in use, and the others.
fn backends(entry: &BookEntry, leg: &Leg, held: Option<(Hold, u32)>) -> Vec<Value> {
    let in_use = leg.links.in_use.iter().map(|backend| (leg.state.status, backend, true));
    let status = |backend: &Backend| backend.connection().state().status;
    let others = leg.links.away.others.iter().map(|other| (status(other), other, false));
    let one = |(status, backend, in_use): (StatusFlags, &Backend, bool)| {
        let hostgroup = backend.server().hostgroup();
        let hold = held.filter(|(_, at)| *at == hostgroup).map(|(hold, _)| hold);
        object([
            ("hostgroup_id", plain(hostgroup)),
            ("in_use", plain(in_use)),
            ("conn", connection(entry, &leg.state, status, backend, hold)),
        ])
    };
    in_use.chain(others).map(one).collect()
}

fn client_side(control: &Control, io: &Io, state: &SessionState) -> Value {
    let (user, schema) = (&state.identity.account.user.name, control.about.schema());
    client(
        &state.identity.peer,
        io.client.sock().is_some_and(Sock::is_encrypted),
        user,
        schema.as_deref().unwrap_or_default(),
    )
}

fn connection(
    entry: &BookEntry,
    state: &SessionState,
    status: StatusFlags,
    backend: &Backend,
    hold: Option<Hold>,
) -> Value {
    let (server, link) = (backend.server(), backend.connection());
    let hostgroup = server.hostgroup();
    let prepared = state.prepared.as_ref().map(|all| all.ids_at(link.state())).unwrap_or_default();
    let pairs = |swap: bool| {
        let pair = |&(here, id): &(u32, u32)| if swap { [id, here] } else { [here, id] };
        List(prepared.iter().map(|ids| List(pair(ids).map(plain).into())).collect())
    };
    let is = |kind| plain(hold == Some(kind));
    let is_bound = !shares(entry, state, hostgroup) || state.pin_of(backend).is_some();
    object([
        ("address", text(server.endpoint().to_string())),
        ("autocommit", plain(status.contains(StatusFlags::AUTOCOMMIT))),
        ("no_backslash_escapes", plain(status.contains(StatusFlags::NO_BACKSLASH_ESCAPES))),
        (
            "status",
            object([
                ("lock_tables", is(Hold::LockedTables)),
                ("temporary_table", is(Hold::TemporaryTables)),
                ("compression", plain(link.sock().is_compressed())),
                ("prepared_statement", plain(!prepared.is_empty())),
            ]),
        ),
        ("MultiplexDisabled", plain(is_bound)),
        ("MultiplexDisabled_ext", plain(is_bound)),
        (
            "ps",
            object([
                ("backend_stmt_to_global_ids", pairs(false)),
                ("global_stmt_to_backend_ids", pairs(true)),
            ]),
        ),
        (
            "mysql",
            object([
                ("host_info", text(server.endpoint().to_string())),
                ("user", text(&state.identity.account.user.name)),
                ("thread_id", plain(link.thread_id().unwrap_or_default())),
                ("server_status", plain(status.bits())),
                ("options", object([("use_ssl", plain(link.sock().is_encrypted()))])),
            ]),
        ),
    ])
}

impl Io {
    /// What the client has asked for.
    fn asked_for(&self, state: &SessionState) -> Value {
        let caps = state.identity.capabilities;
        let mut members: Vec<(String, Value)> =
            state.settings().map(|(key, said)| (key.to_owned(), text(said))).collect();
        let has = |capability| plain(caps.contains(capability));
        let flags = [
            ("value", plain(caps.bits())),
            ("client_found_rows", has(Capabilities::FOUND_ROWS)),
            ("client_multi_statements", has(Capabilities::MULTI_STATEMENTS)),
            ("client_multi_results", has(Capabilities::MULTI_RESULTS)),
            ("client_deprecate_eof", has(Capabilities::DEPRECATE_EOF)),
        ];
        let ids = state.prepared.as_ref().map(|all| all.ids()).unwrap_or_default();
        // There are no numbers of statements that all sessions share: a session's own stand for
        // them.
        let ids = ids.into_iter().map(|id| List(vec![plain(id), plain(id)])).collect();
        members.extend(
            [
                ("collation_id", plain(state.identity.collation)),
                ("autocommit", on(state.status.contains(StatusFlags::AUTOCOMMIT))),
                ("no_backslash_escapes", plain(state.status.contains(StatusFlags::NO_BACKSLASH_ESCAPES))),
                ("client_flag", object(flags)),
                (
                    "status",
                    object([("compression", plain(self.client.sock().is_some_and(Sock::is_compressed)))]),
                ),
                ("ps", object([("client_stmt_to_global_ids", List(ids))])),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        );
        Object(members)
    }
}
