//! The collations of a server, for `mysql_collations` on the admin port.
//!
//! No client waits for them: a server is asked when that table is read, on a connection of
//! the proxy's own that ends behind the answer, and what it has said holds as long as its version
//! stays the same.

use std::sync::Arc;

use config::Endpoint;
use observe::rows::Collation;
use session::identity::PLAIN;
use tokio::time::timeout;
use wire::reply::Answer;
use wire::{Codec as _, packet};

use super::logins::{Login, logins};
use crate::limits::{COLLATIONS_MAX, COLLATIONS_SERVERS_MAX, COLLATIONS_TIME_MAX};
use crate::{Connection, OpenError, Target, Worker, ask, query};

/// The list, in the words of MariaDB 10.10 and later, where a collation like `uca1400_ai_ci` has a
/// number with each character set; and in those of all others, which answer the first with an
/// error.
const STATEMENTS: [&str; 2] = [
    "SELECT ID, FULL_COLLATION_NAME, CHARACTER_SET_NAME, IS_DEFAULT \
     FROM information_schema.COLLATION_CHARACTER_SET_APPLICABILITY WHERE ID IS NOT NULL ORDER BY ID",
    "SELECT ID, COLLATION_NAME, CHARACTER_SET_NAME, IS_DEFAULT \
     FROM information_schema.COLLATIONS WHERE ID IS NOT NULL ORDER BY ID",
];

/// What a server has listed.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) endpoint: Endpoint,
    /// The server's version then.
    pub(super) version: Box<[u8]>,
    pub(super) collations: Arc<[Collation]>,
}

/// The collations of the first server of the configuration that lists them, whose version is the
/// one that clients are told.
pub async fn collations(worker: &Worker) -> Option<Arc<[Collation]>> {
    let servers = &worker.shared.servers;
    for endpoint in servers.order().into_iter().take(COLLATIONS_SERVERS_MAX) {
        if let Some(listed) = servers.listed(&endpoint) {
            return Some(listed);
        }
        let asked = timeout(COLLATIONS_TIME_MAX, Box::pin(ask_as_any(worker, &endpoint))).await;
        if let Ok(Some(collations)) = asked {
            servers.note_listed(endpoint, Arc::clone(&collations));
            return Some(collations);
        }
        tracing::info!(server = %endpoint, "a server has not listed its collations");
    }
    None
}

/// Asks as one user after the other until the server lets one in.
async fn ask_as_any(worker: &Worker, endpoint: &Endpoint) -> Option<Arc<[Collation]>> {
    let rows = worker.shared.pool.servers();
    let rows = rows.iter().filter(|server| server.endpoint().endpoint == *endpoint);
    let target = rows.clone().next()?.endpoint().clone();
    let hostgroups: Vec<u32> = rows.map(|server| server.hostgroup()).collect();
    for login in logins(worker, endpoint, |user| hostgroups.contains(&user.default_hostgroup)) {
        match ask_as(worker, &target, &login).await {
            Ok(collations) => return Some(collations.into()),
            Err(error) => tracing::debug!(server = %endpoint, %error, "no collations"),
        }
    }
    // The next login counts.
    worker.shared.servers.state_mut().logins.remove(endpoint);
    None
}

async fn ask_as(worker: &Worker, target: &Target, login: &Login) -> Result<Vec<Collation>, OpenError> {
    let mut link = login.open(worker, target, None).await?;
    let mut answer = Vec::new();
    for statement in STATEMENTS {
        answer = list(worker, &mut link, statement).await?;
        if !answer.is_empty() {
            break;
        }
    }
    link.quit().await;
    if answer.is_empty() { Err(malformed(&"no list of collations")) } else { Ok(answer) }
}

/// The rows of one statement; none if the server answers with an error.
async fn list(worker: &Worker, link: &mut Connection, statement: &str) -> Result<Vec<Collation>, OpenError> {
    let question = (query(PLAIN, statement), Answer::Result);
    let reply = ask(worker, link, PLAIN, question).await.map_err(|why| malformed(&why))?;
    let Some(rows) = reply.rows() else { return Ok(Vec::new()) };
    if rows.len() >= COLLATIONS_MAX {
        return Err(malformed(&format_args!("more than {COLLATIONS_MAX} collations")));
    }
    rows.map(collation).collect()
}

fn collation(payload: &[u8]) -> Result<Collation, OpenError> {
    let row = packet::TextRow::decode(payload, PLAIN).map_err(|error| malformed(&error))?;
    let cells: Vec<&[u8]> = row.iter().map(Option::unwrap_or_default).collect();
    let &[id, name, charset, default] = cells.as_slice() else {
        return Err(malformed(&"a collation without its four columns"));
    };
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let id = text(id).parse().map_err(|_| malformed(&"a collation without a number"))?;
    let is_default = default.eq_ignore_ascii_case(b"yes");
    Ok(Collation { id, name: text(name), charset: text(charset), is_default })
}

fn malformed(what: &dyn std::fmt::Display) -> OpenError {
    OpenError::Login(what.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: &[Option<&str>]) -> Vec<u8> {
        let mut payload = Vec::new();
        packet::TextRow::put(&mut payload, cells.iter().copied());
        payload
    }

    #[test]
    fn rows_are_collations() {
        let read = collation(&row(&[Some("255"), Some("utf8mb4_0900_ai_ci"), Some("utf8mb4"), Some("Yes")]));
        let expected = Collation {
            id: 255,
            name: "utf8mb4_0900_ai_ci".into(),
            charset: "utf8mb4".into(),
            is_default: true,
        };
        assert_eq!(read.unwrap(), expected);
        assert!(!collation(&row(&[Some("1"), Some("a"), None, None])).unwrap().is_default);
    }

    #[test]
    fn other_rows_are_refused() {
        for cells in [&[Some("1")][..], &[Some("x"), Some("a"), Some("b"), None], &[None; 4], &[Some("1"); 5]]
        {
            assert!(collation(&row(cells)).is_err(), "{cells:?}");
        }
    }
}
