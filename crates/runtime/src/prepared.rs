//! Statements that the client has prepared: what they are, and at which servers.
//!
//! The client knows a statement by the number that its first server gave it. Where another
//! statement has that number already, it gets one that servers do not give. At other servers the
//! proxy prepares a statement when an execution of it goes there.

mod statement;

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use route::{Caller, StatementPlan};
use rustc_hash::FxHashMap;
use sql::shape::Effects;
use wire::command::{Kind, LAST_STATEMENT};
use wire::reply;

use session::definitions::Definitions;
use session::homes::Homes;
use session::link::LinkState;
use session::places::Came;
pub use statement::Prepared;

use crate::limits::{LEFT_TEXT_MAX, PREPARED_BYTES_MAX};
use crate::routing::Screened;
use crate::statement::kill::PreparedKill;
use crate::texts::Text;
use session::change::Change;
use upstream::ledger::Entry;
use upstream::{Known, Origin};

/// What texts mean if that is not certain: never what they mean at another time.
pub const NO_MODES: u64 = u64::MAX;

/// Numbers from here on are the proxy's.
const FIRST_OWN_ID: u32 = 1 << 30;

/// A statement that a server is preparing.
#[derive(Debug, Clone)]
pub struct Preparing {
    /// The statement, if it could be prepared elsewhere.
    pub text: Option<Text>,
    /// Who else has it. Nothing without its text.
    pub entry: Option<Rc<Entry>>,
    /// Whether each execution is judged: it may go elsewhere. If not, it goes where the statement
    /// was prepared, or to another server of the same hostgroup if that is lost.
    pub moves: bool,
    /// The hash of its digest.
    pub digest: Option<u64>,
    /// A rule has rewritten the text: the digest is that of another one.
    pub is_rewritten: bool,
    /// What follows from its shape.
    pub plan: StatementPlan,
    /// What the session's texts meant when it was prepared
    /// ([`Settings::modes`](crate::state::Settings::modes)), or [`NO_MODES`].
    pub modes: u64,
    /// The same for all sessions ([`Settings::meaning`](crate::state::Settings::meaning)); nothing
    /// if it was not certain.
    pub meaning: Option<u64>,
    /// Its digest's text, as tables show it; empty if it is not counted by that.
    pub digest_text: Arc<[u8]>,
    /// What an execution changes if it succeeds.
    pub change: Option<Change>,
    /// Whom it kills, if that may be a session of the proxy: then the proxy executes it.
    pub kill: Option<PreparedKill>,
    /// Who the session was when it was prepared, and what of it the firewall judges.
    pub caller: Arc<Caller>,
    /// What of it the firewall judges.
    pub screened: Screened,
}

impl Preparing {
    /// What it is made of, where a client was told this of it and keeps that; nothing if it must
    /// not outlive its session: it is told of what ran before it, its text is not kept or long, or
    /// the meaning of its text is not certain.
    pub fn origin(&self, told: Option<u64>) -> Option<Origin> {
        let text = self.text.as_ref().filter(|text| text.len() <= LEFT_TEXT_MAX)?;
        let meaning = self.meaning.filter(|_| !self.plan.effects.intersects(Effects::READS_LAST))?;
        Some(Origin { text: text.clone(), meaning, told })
    }

    /// What a connection keeps of it, where a client was told this of it and keeps that.
    pub fn known(&self, told: Option<u64>) -> Known {
        Known { origin: self.origin(told), entry: self.entry.clone() }
    }

    /// Forgets its text.
    pub fn forget_text(&mut self) {
        (self.text, self.entry) = (None, None);
    }

    fn bytes(&self) -> usize {
        self.text.as_ref().map_or(0, |text| text.len()) + self.digest_text.len()
    }

    /// Forgets texts for which there is no room.
    fn shrink_to(&mut self, room: usize) {
        if self.bytes() > room {
            self.forget_text();
        }
        if self.bytes() > room {
            self.digest_text = Arc::default();
        }
    }
}

/// All of one session.
#[derive(Debug, Default)]
pub struct Registry {
    /// What servers are preparing, in the order of the commands.
    awaiting: VecDeque<Preparing>,
    /// What has come of the answer to the first of them, if the client keeps what it says.
    hearing: Option<Definitions>,
    /// The same of the answer to an execution.
    told: Definitions,
    /// The numbers are those of servers or the proxy: no client chooses them.
    by_id: FxHashMap<u32, Prepared>,
    homes: Homes,
    /// How many there have been.
    serial: u64,
    /// The number that the client knows the last one by, if it was not refused that.
    last: Option<u32>,
    /// The proxy's next number, from the first on.
    next_own: u32,
    bytes: usize,
}

impl Registry {
    /// A statement is on its way to its first server. Its texts are forgotten if there are too
    /// many.
    pub fn expect(&mut self, mut what: Preparing) {
        let awaited = self.awaiting.iter().map(Preparing::bytes).sum::<usize>();
        what.shrink_to(PREPARED_BYTES_MAX.saturating_sub(self.bytes + awaited));
        self.awaiting.push_back(what);
    }

    /// The next bytes of the answer to a command, for a client that keeps what it says: to the
    /// first statement that was awaited, or to an execution.
    pub fn hear(&mut self, kind: Option<Kind>, bytes: &[u8]) {
        match kind {
            Some(Kind::StmtPrepare) => self.hearing.get_or_insert_with(Definitions::prepared).read(bytes),
            Some(Kind::StmtExecute) => self.told.read(bytes),
            _ => {}
        }
    }

    /// The hash of the columns that the answer to an execution has told, if it was heard and has
    /// told any. The next one begins.
    pub fn take_told(&mut self) -> Option<u64> {
        std::mem::take(&mut self.told).finish()
    }

    /// The client was refused a statement: none is the last one.
    pub const fn forget_last(&mut self) {
        self.last = None;
    }

    /// The server of a connection to this hostgroup has answered the first statement that was
    /// awaited: with this, or with an error. Returns what the connection keeps of it.
    pub fn answered(
        &mut self,
        hostgroup: u32,
        link: &mut LinkState,
        statement: Option<reply::Prepared>,
    ) -> Option<Known> {
        let told = self.hearing.take().and_then(|columns| columns.finish());
        let what = self.awaiting.pop_front()?;
        let Some(statement) = statement else {
            self.forget_last();
            return None;
        };
        let known = what.known(told);
        self.enter(statement.id, what, (hostgroup, link), statement, told);
        Some(known)
    }

    /// Enters a statement that the client will know as `id`, and that the server of a connection to
    /// its home has prepared. Its texts are forgotten if there are too many.
    pub fn enter(
        &mut self,
        id: u32,
        mut what: Preparing,
        (home, link): (u32, &mut LinkState),
        statement: reply::Prepared,
        told: Option<u64>,
    ) {
        self.close(id);
        what.shrink_to(PREPARED_BYTES_MAX.saturating_sub(self.bytes));
        self.bytes += what.bytes();
        self.serial += 1;
        link.places.add(self.serial, statement, Came::Prepared);
        let prepared = Prepared::new(what, self.serial, home, statement, told);
        self.homes.settle(home, prepared.freedom());
        self.by_id.insert(id, prepared);
        self.last = Some(id);
    }

    /// The number that the client will know a statement by to which a server has given `id`.
    pub fn client_id(&mut self, id: u32) -> u32 {
        if id < FIRST_OWN_ID && !self.by_id.contains_key(&id) {
            return id;
        }
        while self.by_id.contains_key(&(FIRST_OWN_ID + self.next_own)) {
            self.next_own = (self.next_own + 1) % (LAST_STATEMENT - FIRST_OWN_ID);
        }
        FIRST_OWN_ID + self.next_own
    }

    /// Whether there are statements to which a connection may give the number of another one: some
    /// were prepared elsewhere.
    pub fn has_other_homes(&self, link: Option<&LinkState>) -> bool {
        let is_safe =
            |(id, prepared): (&u32, &Prepared)| *id >= FIRST_OWN_ID || prepared.id_at(link) == Some(*id);
        !self.by_id.iter().all(is_safe)
    }

    /// Whether a statement lives at this hostgroup that could not be prepared there again, where
    /// texts mean what they do in `modes`.
    pub fn is_bound_to(&self, hostgroup: u32, modes: u64) -> bool {
        !self.awaiting.is_empty() || self.homes.is_bound_to(hostgroup, modes)
    }

    /// Those that live at this hostgroup and are not at its connection, because that was lent, or
    /// only for the execution before, but could be while texts mean what they do in `modes`.
    pub fn missing_at(&self, hostgroup: u32, link: Option<&LinkState>, modes: u64) -> Vec<u32> {
        let is_missing = move |(_, one): &(&u32, &Prepared)| {
            let is_there = one.at(link).is_some_and(|place| place.came != Came::ForOnce);
            one.home == hostgroup && one.is_preparable_in(modes) && !is_there
        };
        let missing = self.by_id.iter().filter(is_missing).map(|(id, _)| *id);
        let mut missing: Vec<u32> = missing.collect();
        missing.sort_unstable();
        missing
    }

    /// Whether a number in a command means a statement that is being prepared.
    pub fn is_awaited(&self, id: u32) -> bool {
        id == LAST_STATEMENT && !self.awaiting.is_empty()
    }

    /// The number in a command, in which MariaDB's clients may mean the last one.
    pub fn meant(&self, id: u32) -> u32 {
        // While a statement is being prepared, its id is not known yet.
        self.last.filter(|_| id == LAST_STATEMENT && self.awaiting.is_empty()).unwrap_or(id)
    }

    /// The numbers that the client knows statements by, in order.
    pub fn ids(&self) -> Vec<u32> {
        let mut ids: Vec<u32> = self.by_id.keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    /// What the server of a connection calls statements, and what the client does, in the order of
    /// the latter.
    pub fn ids_at(&self, link: &LinkState) -> Vec<(u32, u32)> {
        let ids = self.ids().into_iter();
        ids.filter_map(|id| Some((self.by_id.get(&id)?.id_at(Some(link))?, id))).collect()
    }

    /// The statement that the client knows as `id`.
    pub fn get(&self, id: u32) -> Option<&Prepared> {
        self.by_id.get(&self.meant(id))
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, id: u32) -> Option<&mut Prepared> {
        let id = self.meant(id);
        self.by_id.get_mut(&id)
    }

    /// What is executed as `id`.
    pub fn executed(&self, id: u32) -> Option<&Preparing> {
        // MariaDB's clients execute a statement that was sent to be prepared just before.
        if id == LAST_STATEMENT
            && let Some(what) = self.awaiting.back()
        {
            return Some(what);
        }
        self.get(id).map(|prepared| &prepared.what)
    }

    /// The parameter of this `KILL` has this type, also if the next execution does not say so.
    pub fn note_kill_by(&mut self, id: u32, now: u16) {
        let kill = self.get_mut(id).and_then(|one| one.what.kill.as_mut());
        if let Some(PreparedKill::ByParameter { kind, .. }) = kill {
            *kind = Some(now);
        }
    }

    /// What the client calls the statement that the server of a connection knows as `id`.
    pub fn client_id_of(&self, id: u32, link: Option<&LinkState>) -> Option<u32> {
        let mut all = self.by_id.iter();
        all.find(|(_, prepared)| prepared.id_at(link) == Some(id)).map(|(id, _)| *id)
    }

    /// Whether the next commands for the statement that the client knows as `id` belong to this
    /// hostgroup: a part of a value was sent there, or a cursor opened.
    pub fn keep_home(&mut self, id: u32, hostgroup: u32, is_at_home: bool) {
        let id = self.meant(id);
        if let Some(prepared) = self.by_id.get_mut(&id)
            && (prepared.is_at_home() || is_at_home)
        {
            self.homes.unsettle(prepared.home, prepared.freedom());
            prepared.keep_home(hostgroup, is_at_home);
            self.homes.settle(prepared.home, prepared.freedom());
        }
    }

    /// Parts of a value are sent to this hostgroup for the statement that the client knows as `id`,
    /// or they are forgotten there.
    pub fn note_parts(&mut self, id: u32, hostgroup: u32, has_parts: bool) {
        self.keep_home(id, hostgroup, has_parts);
        if let Some(prepared) = self.get_mut(id) {
            prepared.note_parts(has_parts);
        }
    }

    /// Forgets a statement. Returns its serial number: connections may have it still.
    pub fn close(&mut self, id: u32) -> Option<u64> {
        let id = self.meant(id);
        let prepared = self.by_id.remove(&id)?;
        self.bytes -= prepared.what.bytes();
        self.homes.unsettle(prepared.home, prepared.freedom());
        Some(prepared.serial)
    }

    /// The statements that servers were preparing will not be answered.
    pub fn forget_awaited(&mut self) {
        self.awaiting.clear();
    }
}

#[cfg(test)]
mod tests;
