//! Inner sessions: making one, and having it run a command.

use std::rc::Rc;
use std::sync::Arc;

use route::Caller;
use runtime::invariant::broken;
use runtime::worker::Worker;
use scatter::capabilities_at_shards;
use session::causal::own::Own;
use upstream::query;
use wire::frame;

use super::super::links::Links;
use super::role::Place;
use crate::ending::Ending;
use crate::session::client::Client;
use crate::session::cx::Cx;
use crate::session::end_of;
use crate::session::entry::BookEntry;
use crate::session::io::Io;
use crate::session::leg::Leg;
use crate::session::phase::Phase;
use crate::session::state::SessionState;
use crate::state::Settings;

/// A session at a shard.
#[derive(Debug)]
pub(in crate::session) struct Inner {
    /// The shard's hostgroup.
    pub(super) hostgroup: u32,
    /// Which of the sessions of that hostgroup: 0 has the transactions.
    slot: usize,
    /// Its number among all that the outer session has made.
    pub(super) serial: u64,
    /// Where it runs, with the control of its own while it runs beside others.
    pub(in crate::session) entry: BookEntry,
    pub(in crate::session) leg: Box<Leg>,
    /// Who the outer session was, and what it had set, when that was taken over.
    followed: Option<(Arc<Caller>, Rc<Settings>)>,
    /// It has written in the transaction that is open.
    pub(super) wrote: bool,
    /// It has the settings of another time, and ends with the execution that runs.
    pub(super) is_for_once: bool,
}

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
                    let ended = end_of(self.entry, self.io, &self.leg.state, &mut self.leg.links, ending);
                    return Err(Box::pin(ended).await);
                }
            };
        }
    }
}

impl Leg {
    /// Runs a statement here of which the client hears nothing. The reply, as packets. `COMMIT` and
    /// `ROLLBACK` are that alone, whatever `completion_type` is.
    pub(super) async fn ask(&mut self, entry: &BookEntry, text: &[u8]) -> Result<Vec<u8>, Ending> {
        let has_more = self.state.shared_settings().chains() || self.state.shared_settings().releases();
        let is_end = has_more && matches!(text, b"COMMIT" | b"ROLLBACK");
        let suffix: &[u8] = if is_end { b" AND NO CHAIN NO RELEASE" } else { b"" };
        let text = [text, suffix].concat();
        let packet = frame::command(&query(self.state.identity.capabilities, &text));
        ask(entry, self, packet).await
    }
}

/// Runs a command, which is a packet, for a client that is not there. The reply, as packets.
async fn ask(entry: &BookEntry, leg: &mut Leg, packet: Vec<u8>) -> Result<Vec<u8>, Ending> {
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
    inner.follow(&leg.state);
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
    inner.follow(&leg.state);
    Some(inner)
}

/// An inner session that is in this schema of a hostgroup, whatever that of the client is, and
/// is for one command.
pub(super) fn inner_in(entry: &BookEntry, state: &SessionState, hostgroup: u32, schema: &str) -> Inner {
    let mut inner = new_inner(entry, state, hostgroup, 0, 0, Some(schema.as_bytes().into()));
    inner.stay_in_schema(state);
    inner
}

impl Links {
    /// Puts an inner session back.
    pub(super) fn put_inner(&mut self, inner: Inner) {
        self.away.role.shards().inner.push(inner);
    }
}

impl Inner {
    /// The inner session has what the outer one has set. It is in the same schema if the shard has
    /// that; if not, its statements name theirs.
    pub(super) fn follow(&mut self, outer: &SessionState) {
        let settings = outer.shared_settings();
        let is_same = self.followed.as_ref().is_some_and(|(caller, followed)| {
            Arc::ptr_eq(caller, &outer.caller) && Rc::ptr_eq(followed, settings)
        });
        if is_same {
            return;
        }
        let schema = outer.caller.schema();
        if schema_at(&self.entry.worker, schema, self.hostgroup).as_deref() == Some(schema) {
            let state = &mut self.leg.state;
            state.caller = Arc::clone(&outer.caller);
            state.take_settings(Rc::clone(settings), outer.charset);
        } else {
            self.stay_in_schema(outer);
        }
        self.followed = Some((Arc::clone(&outer.caller), Rc::clone(settings)));
    }

    /// The inner session is in the schema of its login, and has all else that the outer one has
    /// set.
    fn stay_in_schema(&mut self, outer: &SessionState) {
        let state = &mut self.leg.state;
        let identity = Rc::clone(&state.identity);
        state.go_to_schema(identity.account.schema.as_deref().unwrap_or_default());
        state.take_settings(Rc::new(outer.shared_settings().without_schema()), outer.charset);
    }

    /// Runs a command of this client here.
    pub(in crate::session) fn cx<'a>(&'a mut self, io: &'a mut Io) -> Cx<'a> {
        Cx { entry: &self.entry, io, leg: &mut self.leg }
    }

    /// Has it run the command in the backlog of a client that is [here for
    /// once](Io::for_once), or [lent](Io::lend).
    pub(super) async fn run(&mut self, io: &mut Io) -> Result<(), Ending> {
        Box::pin(self.cx(io).run_once()).await
    }

    /// Has it run a statement of which the client hears nothing. The reply, as packets.
    pub(super) async fn ask(&mut self, text: &[u8]) -> Result<Vec<u8>, Ending> {
        self.leg.ask(&self.entry, text).await
    }

    /// The same whatever runs beside it.
    pub(super) async fn ask_beside(&mut self, text: &[u8]) -> Result<Vec<u8>, Ending> {
        self.entry.control.attach().await;
        self.ask(text).await
    }

    /// The same with a command as a packet.
    pub(super) async fn ask_packet(&mut self, packet: Vec<u8>) -> Result<Vec<u8>, Ending> {
        ask(&self.entry, &mut self.leg, packet).await
    }

    /// Where it is.
    pub(super) const fn place(&self) -> Place {
        Place::Shard(self.hostgroup)
    }

    /// Whether a transaction is open there.
    pub(super) fn is_in_transaction(&self) -> bool {
        self.leg.state.in_transaction()
    }
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
    let own = state.gtids.as_ref().and_then(|gtids| gtids.own.as_ref());
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
