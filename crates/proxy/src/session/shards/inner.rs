//! Inner sessions: making one, and having it run a command.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use legs::client::Client;
use legs::entry::BookEntry;
use legs::io::Io;
use legs::leg::Leg;
use legs::phase::Phase;
use legs::shards::role::Inner;
use legs::state::SessionState;
use runtime::invariant::broken;
use runtime::worker::Worker;
use scatter::capabilities_at_shards;
use session::causal::own::Own;
use upstream::query;
use wire::{frame, packet};

use crate::ending::Ending;
use crate::session::cx::Cx;
use crate::session::leave::end_of;

impl Cx<'_> {
    /// Runs the command in the backlog, and stops behind it. What it comes to if the session does
    /// not go on after that.
    async fn run_once(&mut self) -> Result<(), Ending> {
        let mut phase = Phase::Reading;
        loop {
            if matches!(phase, Phase::Reading) && self.io.is_over_once() {
                return Ok(());
            }
            phase = match self.step(phase).await {
                Ok(phase) => phase,
                Err(ending) => {
                    let ended = end_of(self.entry, self.io, self.leg, ending);
                    return Err(Box::pin(ended).await);
                }
            };
        }
    }
}

/// Runs a statement here of which the client hears nothing. The reply, as packets. `COMMIT` and
/// `ROLLBACK` are that alone, whatever `completion_type` is.
pub(super) async fn ask_here(entry: &BookEntry, leg: &mut Leg, text: &[u8]) -> Result<Vec<u8>, Ending> {
    let has_more = leg.state.shared_settings().chains() || leg.state.shared_settings().releases();
    let is_end = has_more && matches!(text, b"COMMIT" | b"ROLLBACK");
    let text = if is_end { [text, b" AND NO CHAIN NO RELEASE"].concat().into() } else { Cow::from(text) };
    let packet = frame::command(&query(leg.state.identity.capabilities, &text));
    reply_to(entry, leg, packet).await
}

/// Runs a command, which is a packet, for a client that is not there. The reply, as packets.
async fn reply_to(entry: &BookEntry, leg: &mut Leg, packet: Vec<u8>) -> Result<Vec<u8>, Ending> {
    let mut io = Io::for_once(Client::Kept(Box::default()), packet);
    // Boxed: a command may be asked for within another one.
    let ended = Box::pin(Cx { entry, io: &mut io, leg }.run_once()).await;
    match io.client {
        Client::Kept(kept) if kept.is_cut => Err(broken("a reply of the proxy's own is too long")),
        Client::Kept(kept) => ended.map(|()| kept.bytes).map_err(Ending::at_first),
        Client::Sock(_) | Client::Branch(_) => Err(broken("a question of a client")),
    }
}

/// The inner session of this hostgroup, taken out of the list. It knows what the outer session
/// has set.
pub(super) fn take_inner(entry: &BookEntry, leg: &mut Leg, hostgroup: u32) -> Inner {
    take_inner_at(entry, leg, hostgroup, 0)
}

/// The same for another one of that hostgroup.
pub(super) fn take_inner_at(entry: &BookEntry, leg: &mut Leg, hostgroup: u32, slot: usize) -> Inner {
    let shards = leg.links.away.role.shards();
    let (as_then, list) = (shards.as_then.clone(), &mut shards.inner);
    let is_it = |inner: &Inner| {
        inner.hostgroup == hostgroup && inner.slot == slot && inner.is_for_once == as_then.is_some()
    };
    let at = list.iter().position(is_it);
    let mut inner = if let Some(at) = at {
        list.swap_remove(at)
    } else {
        shards.made += 1;
        let serial = shards.made;
        let schema = leg.state.identity.account.schema.as_deref();
        let schema = schema.and_then(|schema| schema_at(&entry.worker, schema, hostgroup));
        new_inner(entry, &leg.state, hostgroup, slot, serial, schema)
    };
    follow(&mut inner, &leg.state);
    if let Some(settings) = as_then.filter(|_| !inner.is_for_once) {
        let is_in_schema = Rc::ptr_eq(inner.leg.state.shared_settings(), leg.state.shared_settings());
        let settings = if is_in_schema { settings } else { Rc::new(settings.without_schema()) };
        inner.leg.state.take_settings(settings, leg.state.charset);
        inner.is_for_once = true;
    }
    inner
}

/// The inner session with this number, if it is still there.
pub(super) fn take_inner_of(leg: &mut Leg, serial: u64) -> Option<Inner> {
    let list = &mut leg.links.away.role.shards().inner;
    let at = list.iter().position(|inner| inner.serial == serial)?;
    let mut inner = list.swap_remove(at);
    follow(&mut inner, &leg.state);
    Some(inner)
}

/// An inner session that is in this schema of a hostgroup, whatever that of the client is, and
/// is for one command.
pub(super) fn inner_in(entry: &BookEntry, state: &SessionState, hostgroup: u32, schema: &str) -> Inner {
    let mut inner = new_inner(entry, state, hostgroup, 0, 0, Some(schema.as_bytes().into()));
    stay_in_schema(&mut inner, state);
    inner
}

/// The inner session has what the outer one has set. It is in the same schema if the shard has
/// that; if not, its statements name theirs.
pub(super) fn follow(inner: &mut Inner, outer: &SessionState) {
    let settings = outer.shared_settings();
    let is_same = inner.followed.as_ref().is_some_and(|(caller, followed)| {
        Arc::ptr_eq(caller, &outer.caller) && Rc::ptr_eq(followed, settings)
    });
    if is_same {
        return;
    }
    let schema = outer.caller.schema();
    if schema_at(&inner.entry.worker, schema, inner.hostgroup).as_deref() == Some(schema) {
        let state = &mut inner.leg.state;
        state.caller = Arc::clone(&outer.caller);
        state.take_settings(Rc::clone(settings), outer.charset);
    } else {
        stay_in_schema(inner, outer);
    }
    inner.followed = Some((Arc::clone(&outer.caller), Rc::clone(settings)));
}

/// The inner session is in the schema of its login, and has all else that the outer one has
/// set.
fn stay_in_schema(inner: &mut Inner, outer: &SessionState) {
    let state = &mut inner.leg.state;
    let identity = Rc::clone(&state.identity);
    state.go_to_schema(identity.account.schema.as_deref().unwrap_or_default());
    state.take_settings(Rc::new(outer.shared_settings().without_schema()), outer.charset);
}

/// Runs a command of this client here.
pub(crate) fn cx_of<'a>(io: &'a mut Io, inner: &'a mut Inner) -> Cx<'a> {
    Cx { entry: &inner.entry, io, leg: &mut inner.leg }
}

/// Has it run the command in the backlog of a client that is [here for
/// once](Io::for_once), or [lent](super::one::lend).
pub(super) async fn run_inner(io: &mut Io, inner: &mut Inner) -> Result<(), Ending> {
    Box::pin(cx_of(io, inner).run_once()).await
}

/// Has it run a statement of which the client hears nothing. The reply, as packets.
pub(super) async fn ask(inner: &mut Inner, text: &[u8]) -> Result<Vec<u8>, Ending> {
    ask_here(&inner.entry, &mut inner.leg, text).await
}

/// The same with a command as a packet.
pub(super) async fn ask_packet(inner: &mut Inner, packet: Vec<u8>) -> Result<Vec<u8>, Ending> {
    reply_to(&inner.entry, &mut inner.leg, packet).await
}

/// The schema at a hostgroup that stands for a client's schema, if one does.
fn schema_at(worker: &Worker, schema: &[u8], hostgroup: u32) -> Option<Box<[u8]>> {
    let settings = worker.settings();
    let logical = std::str::from_utf8(schema).ok()?;
    let physical = settings.shards.as_ref()?.schema_at(logical, hostgroup)?;
    Some(physical.as_bytes().into())
}

/// A new inner session that logs in to this schema. It has nothing of this one's settings yet.
fn new_inner(
    entry: &BookEntry,
    state: &SessionState,
    hostgroup: u32,
    slot: usize,
    serial: u64,
    schema: Option<Box<[u8]>>,
) -> Inner {
    let mut identity = state.identity.for_others(state.identity.connection_id);
    identity.capabilities = capabilities_at_shards(identity.capabilities);
    identity.account.schema = schema;
    let account =
        route::Account { default_hostgroup: hostgroup, listener: None, is_shard: true, ..*state.account };
    let mut inner_state = Box::new(state.at_shard(identity.into(), account));
    let own = state.own();
    if let Some(gtids) = &mut inner_state.gtids {
        gtids.own = own.map(Own::for_inner);
    }
    let leg = Box::new(Leg::new(entry, inner_state, None));
    Inner {
        hostgroup,
        slot,
        serial,
        entry: entry.clone(),
        leg,
        followed: None,
        wrote: false,
        is_for_once: false,
    }
}

/// The payload of the error that a reply begins with.
pub(super) fn error_of(reply: &[u8]) -> Option<Vec<u8>> {
    let payload = frame::front(reply);
    (payload.first() == Some(&packet::Err::HEADER)).then(|| payload.to_vec())
}
