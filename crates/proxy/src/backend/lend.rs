//! Making a connection that one session has used that of another one: what the first may still want to know is asked for it, and
//! what the second has set is said, in one exchange.
//!
//! Where the second has set all that the first has, only the rest is said. Otherwise the connection is reset first. The first
//! connection of a session logs in anew (`COM_CHANGE_USER`), so that its server has let every client in that it serves.

use std::rc::Rc;

use tokio::time::timeout;
use wire::Capabilities;
use wire::command::Kind;
use wire::frame::{HEADER_LEN, Header};
use wire::reply::Answer;

use super::kept::{Asker, Entry, Left, part};
use super::login::log_in_again;
use super::passport::query;
use super::{AcquireError, Asked, Backend, Connection, OpenError, Reply, ask};
use crate::counts::Counter;
use crate::state::{OPTION, Setting};
use crate::worker::Worker;

/// What servers say who do not have a variable, or do not let this user set it: `ER_PARSE_ERROR`, `ER_UNKNOWN_SYSTEM_VARIABLE`,
/// `ER_SPECIFIC_ACCESS_DENIED_ERROR`, `ER_QUERY_CACHE_DISABLED`. The client has set it where it matters.
pub(crate) const DOES_NOT_HAVE_IT: [u16; 4] = [1064, 1193, 1227, 1651];

/// Asks whether servers do something at a login that a reset does not repeat: then there is a row.
const QUESTION: &str = "SELECT 1 FROM DUAL WHERE @@init_connect <> ''";

/// What a command that is sent to a connection before it is lent is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    LastId,
    Reset,
    Question,
    Charset,
    Schema,
    Setting,
}

/// Makes `entry` a connection of `asker`. `Ok(None)`: it is of no use; `Err`: its server does not let the client into the schema,
/// or have its settings.
pub(super) async fn lend(
    worker: &Rc<Worker>,
    entry: Entry,
    asker: &Asker<'_>,
) -> Result<Option<Backend>, AcquireError> {
    let limit = worker.settings().variables.connect_timeout_server;
    let Ok(lent) = timeout(limit, set_up(worker, entry, asker)).await else { return Ok(None) };
    let Some(mut backend) = lent? else { return Ok(None) };
    let target = backend.server().endpoint().endpoint.clone();
    backend.connection_mut().join(worker, &target, asker.identity.connection_id);
    worker.counts.note(Counter::TookKept);
    Ok(Some(backend))
}

async fn set_up(
    worker: &Rc<Worker>,
    entry: Entry,
    asker: &Asker<'_>,
) -> Result<Option<Backend>, AcquireError> {
    let Entry { passport, mut backend, left, .. } = entry;
    let capabilities = passport.capabilities();
    let link = backend.connection_mut();
    link.leave();
    if !asker.is_admitted {
        if ask_results(worker, link, capabilities, &left).await.is_err() {
            return Ok(None);
        }
        match log_in_again(worker, link, asker.identity).await {
            Ok(()) => link.forget_statements(),
            Err(OpenError::Refused { payload, .. }) => return Err(AcquireError::Server(payload)),
            Err(_) => return Ok(None),
        }
    }
    let plan = plan(&left, asker);
    let (purposes, commands): (Vec<Purpose>, Vec<Asked>) = plan.into_iter().unzip();
    let asking = purposes.contains(&Purpose::LastId).then(|| left.results.asking());
    if purposes.contains(&Purpose::Reset) {
        worker.counts.note(Counter::ResetKept);
        link.forget_statements();
    }
    let closings = link.take_closings();
    if !closings.is_empty() && link.write_all(&closings).await.is_err() {
        return Ok(None);
    }
    let Ok(replies) = ask(worker, link, capabilities, &commands).await else { return Ok(None) };
    let reply = |purpose| purposes.iter().position(|one| *one == purpose).and_then(|at| replies.get(at));
    if let Some(asking) = asking {
        let id = reply(Purpose::LastId).and_then(number);
        asking.told(id);
        link.set_last_id(id);
    }
    if purposes.contains(&Purpose::Reset) || !asker.is_admitted {
        link.set_last_id(Some(0));
    }
    for (purpose, reply) in purposes.iter().zip(&replies) {
        let refused = match (purpose, reply.error()) {
            (Purpose::Question, None) => reply.outcome.rows > 0,
            (Purpose::Setting, Some(code)) => !DOES_NOT_HAVE_IT.contains(&code),
            (_, error) => error.is_some(),
        };
        if refused && matches!(purpose, Purpose::Schema | Purpose::Setting) {
            let payload = reply.bytes.get(HEADER_LEN..).unwrap_or_default().to_vec();
            part(backend);
            return Err(AcquireError::Server(payload));
        }
        if refused {
            part(backend);
            return Ok(None);
        }
    }
    Ok(Some(backend))
}

/// What has to be said at a connection on which this is left, so that it is as `asker` would have it.
fn plan(left: &Left, asker: &Asker<'_>) -> Vec<(Purpose, Asked)> {
    let capabilities = asker.passport.capabilities();
    let ask = |purpose, text: &[u8]| (purpose, (query(capabilities, text), Answer::Result));
    let mut plan: Vec<_> = question(left, capabilities).filter(|_| asker.is_admitted).into_iter().collect();
    let is_alike = asker.is_admitted && asker.was_reset == left.was_reset;
    let missing = if is_alike { asker.settings.missing(&left.settings) } else { None };
    let resets = asker.is_admitted && missing.is_none();
    if resets {
        plan.push((Purpose::Reset, (vec![Kind::ResetConnection as u8], Answer::Single)));
    }
    if resets || !asker.is_admitted {
        plan.push(ask(Purpose::Question, QUESTION.as_bytes()));
    }
    if resets && !asker.was_reset {
        // A login with this capability sets the mode, a reset takes it away.
        if capabilities.contains(Capabilities::IGNORE_SPACE) {
            plan.push(ask(Purpose::Charset, b"SET sql_mode = CONCAT(@@sql_mode, ',IGNORE_SPACE')"));
        }
        plan.push((Purpose::Charset, (asker.passport.charset(), Answer::Result)));
    }
    let schema = asker.caller.schema();
    let is_there = asker.is_admitted && left.caller.schema() == schema;
    // A login says the client's first one.
    let is_there = is_there || !asker.is_admitted && asker.identity.account.schema.as_deref() == Some(schema);
    if !is_there && !schema.is_empty() {
        plan.push((Purpose::Schema, ([&[Kind::InitDb as u8][..], schema].concat(), Answer::Single)));
    }
    let all = || asker.settings.besides_schema().cloned().collect();
    for Setting { key, text } in missing.unwrap_or_else(all) {
        plan.push(match &*key {
            OPTION => (Purpose::Setting, (text.to_vec(), Answer::Single)),
            _ => ask(Purpose::Setting, &text),
        });
    }
    plan
}

/// What is to be asked for a session.
fn question(left: &Left, capabilities: Capabilities) -> Option<(Purpose, Asked)> {
    let question = || (Purpose::LastId, (query(capabilities, "SELECT LAST_INSERT_ID()"), Answer::Result));
    (!left.is_free()).then(question)
}

/// Asks for what the session that has left this may still want to know, and tells it.
pub(super) async fn ask_results(
    worker: &Worker,
    link: &mut Connection,
    capabilities: Capabilities,
    left: &Left,
) -> Result<(), &'static str> {
    let Some((_, question)) = question(left, capabilities) else { return Ok(()) };
    let asking = left.results.asking();
    let replies = ask(worker, link, capabilities, &[question]).await?;
    asking.told(replies.first().and_then(number));
    Ok(())
}

/// The number that an answer of one row and one column in text holds.
fn number(reply: &Reply) -> Option<u64> {
    // The row is the packet before the last: a length, and that many digits.
    let (mut before, mut last) = (&[][..], &[][..]);
    let mut rest = &reply.bytes[..];
    while let Some((header, behind)) = rest.split_at_checked(HEADER_LEN) {
        let len = header.first_chunk().map(|header| Header::parse(*header).len as usize)?;
        let (payload, behind) = behind.split_at_checked(len)?;
        (before, last, rest) = (last, payload, behind);
    }
    let (len, digits) = before.split_first().filter(|_| !last.is_empty())?;
    let digits = digits.get(..usize::from(*len))?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}
