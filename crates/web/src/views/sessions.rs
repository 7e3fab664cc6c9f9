//! Sessions: what they wait for, what binds them to connections, how old their transactions are.

use std::collections::BTreeMap;
use std::time::Duration;

use observe::micros;
use observe::rows::{NO_HOSTGROUP, SessionStats};
use serde_json::{Value, json};
use sql::{Digest, Options};

use super::slow::Slow;
use crate::limits::{LIST_MAX, SESSIONS_MAX, STATEMENT_CHARS_MAX};
use crate::list::{Cell, Wanted};
use crate::reading::address;

/// What a session is about, in the order in which they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Waiting,
    Running,
    Idle,
    Login,
    Tunnel,
}

impl State {
    /// That of a session which ProxySQL's list shows with this command.
    fn of(command: &str) -> Self {
        match command {
            "Connect" | "Delay" => Self::Waiting,
            "Sleep" => Self::Idle,
            "Connecting client" => Self::Login,
            "Fast forward" => Self::Tunnel,
            _ => Self::Running,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Idle => "idle",
            Self::Login => "login",
            Self::Tunnel => "tunnel",
        }
    }
}

/// The sessions in the order in which they are shown.
pub(crate) fn sorted(mut sessions: Vec<SessionStats>) -> Vec<SessionStats> {
    sessions.sort_by_cached_key(|row| {
        let state = State::of(row.command);
        let is_free = row.pin.is_none() && row.transaction.is_none();
        (state, state == State::Idle && is_free, std::cmp::Reverse(row.time), row.id)
    });
    sessions
}

/// Columns that the list can be sorted by.
pub(crate) const COLUMNS: &[&str] = &[
    "State",
    "For",
    "User",
    "Client",
    "Schema",
    "Waits for, runs at",
    "Pin",
    "Transaction",
    "Statement",
    "Session",
];

/// The rows that are wanted, and how many match. A filter sees what the viewer sees.
pub(crate) fn chosen(sessions: &[SessionStats], wanted: &Wanted, is_admin: bool) -> (Vec<Value>, usize) {
    let mut digest = Digest::default();
    let text = |session: &SessionStats| {
        let pin = session.pin.map(|(reason, _)| reason).unwrap_or_default();
        let statement = shown_statement(session, is_admin, &mut digest);
        let [client, place, schema] =
            [client(session), place(session), session.schema.clone()].map(Option::unwrap_or_default);
        let state = State::of(session.command).name();
        let SessionStats { id, user, command, .. } = session;
        let statement = statement.as_deref().unwrap_or(command);
        format!("{state} {user} {client} {schema} {place} {pin} {statement} {id}")
    };
    let (rows, matching) = wanted.of(sessions, text, |session| cell(session, &wanted.sort));
    let mut digest = Digest::default();
    (rows.into_iter().map(|session| row(session, is_admin, &mut digest)).collect(), matching)
}

/// What a session is sorted by. Statements are by the text that all viewers see: the command.
fn cell(session: &SessionStats, column: &str) -> Cell {
    let text = |text: Option<String>| text.map_or(Cell::Nothing, Cell::Text);
    match column {
        "State" => Cell::Text(State::of(session.command).name().to_owned()),
        "For" => Cell::from(Some(ms(session.time))),
        "User" => Cell::Text(session.user.clone()),
        "Client" => text(client(session)),
        "Schema" => text(session.schema.clone()),
        "Waits for, runs at" => text(place(session)),
        "Pin" => text(session.pin.map(|(reason, _)| reason.to_owned())),
        "Transaction" => Cell::from(session.transaction.map(ms)),
        "Statement" => Cell::Text(session.command.to_owned()),
        _ => Cell::from(Some(u64::from(session.id))),
    }
}

/// Where a session is, as it is shown.
fn place(session: &SessionStats) -> Option<String> {
    server(session)
        .or_else(|| (session.hostgroup != NO_HOSTGROUP).then(|| format!("hostgroup {}", session.hostgroup)))
}

/// The view, for admins and for others, who see no literals.
pub(crate) fn sessions(sessions: &[SessionStats], slow: &Slow) -> [Value; 2] {
    let mut shared = json!({
        "totals": totals(sessions, slow),
        "pins": pins(sessions),
        "transactions": transactions(sessions),
        "users": users(sessions, slow),
        "prepared": slow.prepared,
        "left_out": sessions.len().saturating_sub(SESSIONS_MAX),
    });
    let mut digest = Digest::default();
    let mut with = |is_admin: bool| {
        let shown = sessions.iter().take(SESSIONS_MAX);
        let rows = shown.map(|session| row(session, is_admin, &mut digest)).collect::<Vec<_>>();
        if let Value::Object(members) = &mut shared {
            members.insert("rows".to_owned(), rows.into());
        }
        shared.clone()
    };
    [with(true), with(false)]
}

fn ms(time: Duration) -> u64 {
    micros(time) / 1000
}

fn client(session: &SessionStats) -> Option<String> {
    session.client.map(|(ip, port)| address(&ip.to_string(), port))
}

fn server(session: &SessionStats) -> Option<String> {
    session.server.as_ref().map(|(host, port)| address(host, *port))
}

/// The statement that a session runs, as a viewer sees it.
fn shown_statement(session: &SessionStats, is_admin: bool, digest: &mut Digest) -> Option<String> {
    let statement = session.statement.as_deref()?;
    if is_admin {
        Some(String::from_utf8_lossy(statement).into_owned())
    } else {
        without_literals(statement, digest)
    }
}

fn row(session: &SessionStats, is_admin: bool, digest: &mut Digest) -> Value {
    let statement = shown_statement(session, is_admin, digest);
    json!({
        "id": session.id,
        "user": session.user,
        "schema": session.schema,
        "client": client(session),
        "hostgroup": session.hostgroup,
        "server": server(session),
        "state": State::of(session.command).name(),
        "command": session.command,
        "ms": ms(session.time),
        "statement": statement.map(|text| text.chars().take(STATEMENT_CHARS_MAX).collect::<String>()),
        "pin": session.pin.map(|(reason, time)| json!({ "reason": reason, "ms": ms(time) })),
        "transaction_ms": session.transaction.map(ms),
    })
}

/// The digest text of a statement; nothing where a literal could be left in it.
fn without_literals(text: &[u8], digest: &mut Digest) -> Option<String> {
    digest.read(text, &Options::default());
    let facts = digest.facts();
    (facts.sound && facts.whole).then(|| String::from_utf8_lossy(digest.shown()).into_owned())
}

fn totals(sessions: &[SessionStats], slow: &Slow) -> Value {
    let in_state = |state| sessions.iter().filter(|row| State::of(row.command) == state).count();
    let [prepared_clients, prepared_servers] = slow.prepared_open;
    json!({
        "clients": sessions.len(),
        "idle": in_state(State::Idle),
        "running": in_state(State::Running) + in_state(State::Tunnel),
        "waiting": in_state(State::Waiting),
        "logging_in": in_state(State::Login),
        "pinned": sessions.iter().filter(|row| row.pin.is_some()).count(),
        "in_transaction": sessions.iter().filter(|row| row.transaction.is_some()).count(),
        "prepared_clients": prepared_clients,
        "prepared_servers": prepared_servers,
    })
}

/// Pins by cause, user and hostgroup, those of the most sessions first.
fn pins(sessions: &[SessionStats]) -> Vec<Value> {
    let mut groups: BTreeMap<(&str, &str, u32), (u64, Duration, u32)> = BTreeMap::new();
    for session in sessions {
        let Some((reason, time)) = session.pin else { continue };
        let group = groups.entry((reason, &session.user, session.hostgroup)).or_default();
        group.0 += 1;
        if group.0 == 1 || time > group.1 {
            (group.1, group.2) = (time, session.id);
        }
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, (sessions, oldest, _))| std::cmp::Reverse((*sessions, *oldest)));
    let row =
        |((reason, user, hostgroup), (sessions, oldest, id)): ((&str, &str, u32), (u64, Duration, u32))| {
            json!({
                "reason": reason,
                "user": user,
                "hostgroup": hostgroup,
                "sessions": sessions,
                "oldest_ms": ms(oldest),
                "oldest_session": id,
            })
        };
    groups.into_iter().take(LIST_MAX).map(row).collect()
}

/// The oldest transactions.
fn transactions(sessions: &[SessionStats]) -> Vec<Value> {
    let mut open: Vec<_> =
        sessions.iter().filter_map(|session| Some((session.transaction?, session))).collect();
    open.sort_by_key(|(time, session)| (std::cmp::Reverse(*time), session.id));
    let row = |(time, session): (Duration, &SessionStats)| {
        let state = State::of(session.command);
        json!({
            "id": session.id,
            "user": session.user,
            "client": client(session),
            "hostgroup": session.hostgroup,
            "server": server(session),
            "state": state.name(),
            "ms": ms(time),
            "idle_ms": (state == State::Idle).then(|| ms(session.time)),
        })
    };
    open.into_iter().take(LIST_MAX).map(row).collect()
}

/// Users with the most clients, and the connections that their sessions hold.
fn users(sessions: &[SessionStats], slow: &Slow) -> Vec<Value> {
    let mut connections: BTreeMap<&str, u64> = BTreeMap::new();
    for session in sessions.iter().filter(|session| session.server.is_some()) {
        *connections.entry(&session.user).or_default() += 1;
    }
    let row = |user: &super::slow::UserNode| {
        json!({
            "user": user.name,
            "clients": user.clients,
            "clients_max": user.clients_max,
            "connections": connections.get(user.name.as_str()).copied().unwrap_or(0),
        })
    };
    slow.users.0.iter().take(LIST_MAX).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_literal_is_left_in_a_statement_that_others_see() {
        let mut digest = Digest::default();
        let mut of = |text: &str| without_literals(text.as_bytes(), &mut digest);
        assert_eq!(of("SELECT a FROM t WHERE b = 'secret'").unwrap(), "SELECT a FROM t WHERE b = ?");
        assert_eq!(of("/* secret */ SELECT 1").unwrap(), "SELECT ?");
        for text in [
            "SELECT 'secret",
            "SELECT \"secret",
            "SELECT 'a\\'secret",
            "SELECT 1 /* secret",
            "SELECT 1 -- secret",
            "SELECT 1 # secret",
            "SELECT N'secret', x'5ec2e7', 0x5ec2e7, _utf8'secret'",
            "SELECT 'a' 'secret' 'b",
            "/*! SELECT 'secret' */",
            "INSERT INTO t VALUES ('secret', 'secret'), ('sec",
        ] {
            let shown = of(text).unwrap_or_default();
            assert!(!shown.contains("sec") && !shown.contains("5ec2"), "{text}: {shown}");
        }
    }
}
