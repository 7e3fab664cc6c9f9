//! Running a copy: finding out where it goes, getting a connection, reading the answer.

use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, ready};

use route::Session;
use sql::shape::Effects;
use tokio::task::yield_now;
use wire::StatusFlags;
use wire::command::Kind;
use wire::frame;
use wire::reply::{End, Outcome};

use super::Copy;
use crate::error::Gone;
use crate::routing::Circumstances;
use crate::worker::Worker;
use reply::compare::{Half, Sum};
use reply::tally::Tally;
use upstream::limits::FILLS_PER_TURN;
use upstream::{
    AcquireError, Backend, Connection, CopyLogin, Full, Target, Whom, acquire, open_in, until_broken_off,
};

/// What a statement may leave behind in its server's session: a connection that has run such a
/// statement is not used for another copy, which may be of another session.
const LEAVES_SOMETHING: Effects = Effects::USER_VARIABLES
    .union(Effects::NAMED_LOCKS)
    .union(Effects::TEMPORARY_TABLE)
    .union(Effects::SESSION)
    .union(Effects::FUNCTION)
    .union(Effects::UNKNOWN);

/// Runs a copy. The error says why it could not be run, or how its answer broke off; what a server
/// has against the statement is an answer.
pub(super) async fn run(worker: &Rc<Worker>, copy: Copy) -> Result<(), String> {
    let Copy { text, mirror, identity, caller, client_addr, account, reading, compared } = copy;
    let session = Session::default();
    let at = Circumstances {
        caller: &caller,
        client_addr: &client_addr,
        account,
        hints: false,
        session: &session,
        flag_in: 0,
        reading,
        asked: None,
        execute: false,
        mirror: Some(mirror),
        is_traced: false,
        random: worker.dice.roll(),
    };
    let judged = worker.routing.borrow_mut().judge(&text, true, &at);
    // What rules answer themselves needs no copy.
    let Some(hostgroup) = judged.route.target().map(|target| target.hostgroup) else { return Ok(()) };
    let rewritten = judged.orders.and_then(|orders| orders.text);
    let login = CopyLogin::new(worker.upstream.version(), hostgroup, identity);
    let mut backend = match worker.upstream.copies.take(&worker.upstream, &login).await {
        Some(backend) => backend,
        None => connect(worker, hostgroup, &login).await?,
    };
    let text = rewritten.as_deref().unwrap_or(&text);
    let server = Arc::clone(backend.server());
    let answer = ask(worker, &mut backend, &login, text, compared, hostgroup);
    let outcome = until_broken_off(&worker.upstream, &server, answer)
        .await
        .map_err(|off| format!("{}: {}", server.endpoint(), Gone::Off(off)))??;
    let leaves_nothing = !judged.plan.effects.intersects(LEAVES_SOMETHING) && is_at_rest(outcome);
    worker.upstream.copies.put(&worker.upstream, login, backend, leaves_nothing);
    Ok(())
}

/// Whether the server says that no transaction is open.
const fn is_at_rest(outcome: Outcome) -> bool {
    match outcome.end {
        End::Ok { status, .. } | End::Eof { status, .. } => !status.contains(StatusFlags::IN_TRANSACTION),
        // Each copy that kept its connection left none open, and an error opens none.
        End::Err { .. } => true,
        End::Other => false,
    }
}

async fn connect(worker: &Rc<Worker>, hostgroup: u32, login: &CopyLogin) -> Result<Backend, String> {
    let identity = login.identity(worker.shared.connection_id());
    let open = async |target: &Target| open_in(&worker.upstream, hostgroup, target, &identity).await;
    let found =
        acquire(&worker.upstream, hostgroup, Full::TryAgain, Whom::of(&identity.account.user), None, open)
            .await;
    found.map(|found| found.backend).map_err(|error| match error {
        AcquireError::Proxy(error) => error.logged().to_string(),
        AcquireError::Server(packet) => {
            format!("a server refuses the login: {}", String::from_utf8_lossy(&packet))
        }
    })
}

/// Sends the statement and reads the answer to its end.
async fn ask(
    worker: &Worker,
    backend: &mut Backend,
    login: &CopyLogin,
    text: &[u8],
    compared: Option<Half>,
    hostgroup: u32,
) -> Result<Outcome, String> {
    let server = backend.server().endpoint().clone();
    let lost = |error: &dyn std::fmt::Display| format!("{server}: {error}");
    let packets = frame::command(&[&[Kind::Query as u8], text].concat());
    let link = backend.connection_mut();
    link.note_query();
    link.sock_mut().write_all(&packets).await.map_err(|error| lost(&error))?;
    let mut tally = Tally::new(login.capabilities(), 1, compared.is_some());
    let outcome = loop {
        if let Some(outcome) = read(worker, link, &mut tally).await.map_err(|error| lost(&error))? {
            break outcome;
        }
        // A large answer: let sessions run.
        yield_now().await;
    };
    link.note_answered();
    if let Some(half) = compared {
        half.settle(
            (&worker.counts, &worker.mirrors.differences),
            Sum::new(hostgroup, outcome, tally.checksum()),
        );
    }
    Ok(outcome)
}

/// Reads what there is of an answer; nothing if there is more at once.
async fn read(worker: &Worker, link: &mut Connection, tally: &mut Tally) -> io::Result<Option<Outcome>> {
    poll_fn(|cx| {
        let mut scratch = worker.net.scratch.borrow_mut();
        for _ in 0..FILLS_PER_TURN {
            let n = ready!(link.poll_read(cx, &mut scratch))?;
            let bytes = scratch.get(..n).filter(|bytes| !bytes.is_empty());
            let bytes = bytes.ok_or_else(|| io::Error::other("the server has closed the connection"))?;
            match tally.read(bytes).map_err(io::Error::other)? {
                Some((outcome, len)) if len == n => return Poll::Ready(Ok(Some(outcome))),
                Some(_) => return Poll::Ready(Err(io::Error::other("it has sent more than its answer"))),
                None => {}
            }
        }
        Poll::Ready(Ok(None))
    })
    .await
}
