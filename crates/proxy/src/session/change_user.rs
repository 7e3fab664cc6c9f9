//! `COM_CHANGE_USER`: the session becomes another user's.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use front::Claim;
use front::check::check_login;
use front::login::{Dialogue, welcome};
use legs::entry::BookEntry;
use legs::facts::orders::note_own_limit;
use legs::facts::replies::{reply, write_to_client};
use legs::io::Io;
use legs::leg::Leg;
use legs::links::Links;
use legs::state::{Past, SessionState};
use querylog::{AuditEvent, Port};
use runtime::control::Signal;
use runtime::invariant::{broken, own_mut};
use runtime::limits::{CHANGES_REFUSED_MAX, GOODBYE_MAX};
use runtime::worker::Worker;
use session::identity::{Account, Identity};
use upstream::{Backend, LOST_AT_MARIADB, QUIT};
use wire::command::Kind;
use wire::frame::put_message;
use wire::{Codec as _, StatusFlags, command};

use crate::audit;
use crate::ending::Ending;
use crate::exchange::Exchange;
use crate::sock::Sock;

/// `COM_CHANGE_USER`: checks the new user like a login, then starts over with another backend.
pub(super) async fn change_user(entry: &BookEntry, io: &mut Io, leg: &mut Leg) -> Result<(), Ending> {
    let control = Rc::clone(&entry.control);
    let deadline = entry.worker.settings().variables.connect_timeout_client;
    let changing = tokio::time::timeout(deadline, log_in_again(entry, io, leg));
    match control.until(Signal::Stop, changing).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) | Err(_) => Err(Ending::Silent),
    }
}

async fn log_in_again(entry: &BookEntry, io: &mut Io, leg: &mut Leg) -> Result<(), Ending> {
    let capabilities = leg.state.identity.capabilities;
    let backlog = std::mem::take(&mut io.backlog);
    let sock = io.client.sock_mut().ok_or_else(|| broken("another user without a client"))?;
    let exchange = Exchange::resume(&entry.worker.net, sock, 0, &backlog);
    let mut dialogue = Dialogue::new(&entry.worker.front, exchange, capabilities, leg.state.identity.peer);
    let payload = dialogue.receive().await?;
    let packet =
        command::ChangeUser::decode(&payload, capabilities).map_err(|error| dialogue.refuse_bytes(&error))?;
    let claim = Claim {
        username: packet.username,
        plugin: packet.auth_plugin,
        answer: packet.auth_answer,
        offered: None,
    };
    let admitted = match dialogue.check(claim, leg.state.identity.nonce).await {
        // A session that changes to the user that it has keeps its place.
        Ok(proven) => {
            let held = leg.state.identity.account.place_of(&proven.user);
            dialogue.admit(proven, Some(packet.schema), held)
        }
        Err(ending) => Err(ending),
    };
    let seq = dialogue.exchange.next_seq();
    io.backlog = dialogue.exchange.into_unread();
    if let Err(ending) = &admitted {
        note_refused_change(&entry.worker, io, &leg.state, packet.username, packet.schema, || {
            ending.packets().and_then(audit::error_in)
        });
    }
    // Refused or not: the old user's session is over.
    end_backend(entry, &mut leg.links).await;
    leg.state.status = StatusFlags::AUTOCOMMIT;
    leg.state.past.remove(Past::BEGINS_LATER);
    let account = match admitted {
        Ok(account) => account,
        Err(Ending::Say { packets, linger: false } | Ending::NoPlace(packets))
            if may_stay(&entry.worker, io).await =>
        {
            return write_to_client(entry, io, &mut leg.state, &packets).await;
        }
        Err(ending) => return Err(ending),
    };
    go_on_as(entry, io, leg, account, &packet, seq).await
}

/// Goes on as the user of this account, if a server lets it in.
async fn go_on_as(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    account: Account,
    packet: &command::ChangeUser<'_>,
    seq: u8,
) -> Result<(), Ending> {
    let identity = own_mut(&mut leg.state.identity)?;
    let (collation, attributes) = (identity.collation, identity.attributes.clone());
    let before = std::mem::replace(&mut identity.account, account);
    identity.collation = packet.collation.unwrap_or(collation);
    if let Some(attributes) = packet.attributes {
        identity.set_attributes(Some(attributes.into()));
    }
    let announced = identity.capabilities;
    if entry.worker.shared.says_mariadb().await {
        identity.capabilities -= LOST_AT_MARIADB;
    }
    entry.worker.seat(&entry.control, &leg.state.identity);
    match check_login(&entry.worker.front, &leg.state.identity).await {
        Ok(backend) => {
            entry.control.about.set_backend(backend.as_ref());
            begin_anew(entry, leg, backend);
            audit::note(&entry.worker.front, &*entry.control, AuditEvent::ChangeUserOk(Port::Traffic));
            let (tier, status) = (leg.state.identity.tier, leg.state.status);
            reply(entry, io, &mut leg.state, seq, &welcome(tier, announced, status)).await
        }
        Err(refusal) => {
            note_refused_change(&entry.worker, io, &leg.state, packet.username, packet.schema, || {
                audit::refusal_in(&refusal)
            });
            reply(entry, io, &mut leg.state, seq, &refusal).await?;
            if !may_stay(&entry.worker, io).await {
                return Err(Ending::Silent);
            }
            let identity = own_mut(&mut leg.state.identity)?;
            (identity.account, identity.collation) = (before, collation);
            identity.capabilities = announced;
            identity.set_attributes(attributes);
            begin_anew(entry, leg, None);
            entry.worker.seat(&entry.control, &leg.state.identity);
            Ok(())
        }
    }
}

/// The state and the connections are those of a session that begins.
fn begin_anew(entry: &BookEntry, leg: &mut Leg, backend: Option<Backend>) {
    *leg.state = *state_of(&entry.worker, Rc::clone(&leg.state.identity));
    if let Some(backend) = &backend {
        leg.state.begin_at(backend.connection());
    }
    note_own_limit(entry, leg);
    leg.links.begin_anew(entry.worker.interned.pool_key(&leg.state.identity), backend);
}

/// The client was refused as this user, and told so.
fn note_refused_change(
    worker: &Worker,
    io: &Io,
    state: &SessionState,
    user: &[u8],
    schema: &[u8],
    told: impl FnOnce() -> Option<String>,
) {
    let Identity { connection_id: id, peer, .. } = &*state.identity;
    let tls = io.client.sock().is_some_and(Sock::is_encrypted);
    let stranger = audit::Stranger { id: *id, peer, user, schema, tls };
    audit::note_refusal(&worker.front, AuditEvent::ChangeUserErr(Port::Traffic), &stranger, told);
}

/// Whether a client that was refused as another user goes on as the one that it was: with
/// MariaDB it does, until that has happened too often; MySQL ends the connection.
async fn may_stay(worker: &Worker, io: &mut Io) -> bool {
    io.refused_changes += 1;
    io.refused_changes <= CHANGES_REFUSED_MAX && worker.shared.says_mariadb().await
}

/// Ends the connection to the server, which has rolled back and let go of all locks when this
/// returns: a server that changes the user does both before it answers. A goodbye alone is not
/// answered; the reset before it is.
async fn end_backend(entry: &BookEntry, links: &mut Links) {
    links.part_with_others();
    if links.in_use.is_some() {
        reset_and_quit(links, &entry.worker).await;
    }
    links.drop_in_use();
    entry.control.about.set_backend(None);
}

async fn reset_and_quit(links: &mut Links, worker: &Worker) {
    let mut packets = Vec::new();
    put_message(&mut packets, 0, &[Kind::ResetConnection as u8]);
    packets.extend(QUIT);
    let _ = poll_fn(|cx| Poll::Ready(links.send(cx, &packets))).await;
    let answered = poll_fn(|cx| {
        let Some(backend) = &mut links.in_use else { return Poll::Ready(()) };
        // Whatever comes, or the end: old servers do not know the command.
        let mut scratch = worker.net.scratch.borrow_mut();
        backend.connection_mut().poll_read(cx, &mut scratch).map(drop)
    });
    let _ = tokio::time::timeout(GOODBYE_MAX, answered).await;
}

/// The beginning of a session.
pub(super) fn state_of(worker: &Worker, identity: Rc<Identity>) -> Box<SessionState> {
    let account = identity.route_account(&worker.routing.borrow().routes().pairs);
    let beginning = worker.interned.beginning(&identity, account);
    let mut state = Box::new(SessionState::new(identity, beginning));
    if let Some(gtids) = &mut state.gtids {
        gtids.own = worker.shared.causal.own(&state.identity);
    }
    state
}
