//! Statements that the client has prepared: what they are, and at which servers.
//!
//! The client knows a statement by the number that its first server gave it. Where another statement has that number
//! already, it gets one that servers do not give. At other servers the proxy prepares a statement when an execution of
//! it goes there.

pub(in crate::session) mod definitions;
mod sites;

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use route::Effects;
use wire::reply;

use definitions::Definitions;
use sites::{Freedom, Sites};

use super::Change;
use crate::limits::PREPARED_BYTES_MAX;
use crate::session::modes::Modes;
use crate::statement::class::Class;
use crate::texts::Text;

/// MariaDB: the statement that was prepared last.
const LAST: u32 = u32::MAX;

/// Numbers from here on are the proxy's.
const FIRST_OWN_ID: u32 = 1 << 30;

/// A statement that a server is preparing.
#[derive(Debug, Clone)]
pub(in crate::session) struct Preparing {
    /// The statement, if it could be prepared elsewhere.
    pub(in crate::session) text: Option<Text>,
    /// Whether each execution is judged: it may go elsewhere. If not, it goes where the statement was prepared, or to another server of
    /// the same hostgroup if that is lost.
    pub(in crate::session) moves: bool,
    /// The hash of its digest.
    pub(in crate::session) digest: Option<u64>,
    /// What it does.
    pub(in crate::session) effects: Effects,
    /// Whether it is several statements.
    pub(in crate::session) several: bool,
    /// Whether it reads or writes tables.
    pub(in crate::session) tables: bool,
    /// What kind of statement it is, as far as words tell.
    pub(in crate::session) class: Option<Class>,
    /// What the session's texts meant when it was prepared ([`Settings::modes`](crate::state::Settings::modes)).
    pub(in crate::session) modes: u64,
    /// Its digest's text, as tables show it; empty if it is not counted by that.
    pub(in crate::session) digest_text: Arc<[u8]>,
    pub(in crate::session) change: Option<Change>,
}

impl Preparing {
    fn bytes(&self) -> usize {
        self.text.as_ref().map_or(0, |text| text.len()) + self.digest_text.len()
    }
}

/// A prepared statement.
#[derive(Debug)]
pub(in crate::session) struct Prepared {
    pub(in crate::session) what: Preparing,
    /// The hostgroup where it was prepared first; it has everything that was sent for the statement.
    pub(in crate::session) home: u32,
    /// How many values an execution needs.
    params: u16,
    /// How many columns the client knows of.
    columns: u16,
    /// What it was told of parameters and columns, if it keeps that.
    told: Option<u64>,
    places: Vec<Place>,
    /// The types of its parameters, as they were sent last, and how often they were.
    types: Option<Box<[u8]>>,
    types_version: u64,
    /// A part of a value was sent, or a cursor is open: the next commands belong to its home.
    is_at_home: bool,
    /// Parts of values were sent since the last execution.
    has_parts: bool,
    /// The last execution had values that were sent in parts: it cannot be sent again.
    ran_with_parts: bool,
    /// What its text means, if that is to be said when it is prepared anew.
    modes: Option<Rc<Modes>>,
}

/// A statement at one server.
#[derive(Debug, Clone, Copy)]
struct Place {
    hostgroup: u32,
    statement: reply::Prepared,
    types_version: u64,
    /// It says what was known when it was prepared there: the next execution needs another one.
    is_for_once: bool,
}

/// All of one session.
#[derive(Debug)]
pub(in crate::session) struct Registry {
    /// What servers are preparing, in the order of the commands.
    awaiting: VecDeque<Preparing>,
    /// What has come of the answer to the first of them, if the client keeps what it says.
    hearing: Option<Definitions>,
    by_id: HashMap<u32, Prepared>,
    sites: Sites,
    last: u32,
    next_own_id: u32,
    bytes: usize,
}

impl Default for Registry {
    fn default() -> Self {
        Self {
            awaiting: VecDeque::new(),
            hearing: None,
            by_id: HashMap::new(),
            sites: Sites::default(),
            last: LAST,
            next_own_id: FIRST_OWN_ID,
            bytes: 0,
        }
    }
}

impl Registry {
    /// A statement is on its way to its first server. Its texts are forgotten if there are too many.
    pub(in crate::session) fn expect(&mut self, mut what: Preparing) {
        if self.bytes + what.bytes() > PREPARED_BYTES_MAX {
            what.text = None;
        }
        if self.bytes + what.bytes() > PREPARED_BYTES_MAX {
            what.digest_text = Arc::default();
        }
        self.awaiting.push_back(what);
    }

    /// The next bytes of the answer to the first statement that was awaited, for a client that keeps what it says.
    pub(in crate::session) fn hear(&mut self, bytes: &[u8]) {
        self.hearing.get_or_insert_default().read(bytes);
    }

    /// The server of this hostgroup has answered the first statement that was awaited: with this, or with an error.
    pub(in crate::session) fn answered(&mut self, hostgroup: u32, statement: Option<reply::Prepared>) {
        let told = self.hearing.take().map(|heard| heard.finish());
        if let Some((what, statement)) = self.awaiting.pop_front().zip(statement) {
            self.enter(statement.id, what, hostgroup, statement, told);
        }
    }

    /// Enters a statement that the client will know as `id`.
    pub(in crate::session) fn enter(
        &mut self,
        id: u32,
        what: Preparing,
        home: u32,
        statement: reply::Prepared,
        told: Option<u64>,
    ) {
        self.close(id);
        self.bytes += what.bytes();
        let places = vec![Place { hostgroup: home, statement, types_version: 0, is_for_once: false }];
        self.sites.place(home, id, statement.id);
        let prepared = Prepared {
            what,
            home,
            params: statement.params,
            columns: statement.columns,
            told,
            places,
            types: None,
            types_version: 0,
            is_at_home: false,
            has_parts: false,
            ran_with_parts: false,
            modes: None,
        };
        self.sites.settle(home, prepared.freedom());
        self.by_id.insert(id, prepared);
        self.last = id;
    }

    /// The number that the client will know a statement by to which a server has given `id`.
    pub(in crate::session) fn client_id(&mut self, id: u32) -> u32 {
        if id < FIRST_OWN_ID && !self.by_id.contains_key(&id) {
            return id;
        }
        while self.by_id.contains_key(&self.next_own_id) {
            self.next_own_id = if self.next_own_id >= LAST - 1 { FIRST_OWN_ID } else { self.next_own_id + 1 };
        }
        self.next_own_id
    }

    /// Whether there are statements to which a connection to this hostgroup may give the number of another one: some were prepared
    /// elsewhere.
    pub(in crate::session) fn has_other_homes(&self, hostgroup: u32) -> bool {
        let is_safe =
            |(id, prepared): (&u32, &Prepared)| *id >= FIRST_OWN_ID || prepared.id_at(hostgroup) == Some(*id);
        !self.by_id.iter().all(is_safe)
    }

    /// Whether any connection has it.
    pub(in crate::session) fn is_anywhere(&self, id: u32) -> bool {
        self.get(id).is_some_and(|prepared| prepared.places() > 0)
    }

    /// Whether a statement lives at this hostgroup that could not be prepared there again, where texts mean what they do in
    /// `modes`.
    pub(super) fn is_bound_to(&self, hostgroup: u32, modes: u64) -> bool {
        !self.awaiting.is_empty() || self.sites.is_bound_to(hostgroup, modes)
    }

    /// Those that live at this hostgroup and are not there, because their connection was lent, but could be as long as texts mean what
    /// they do.
    pub(in crate::session) fn missing_at(&self, hostgroup: u32) -> impl Iterator<Item = u32> {
        let is_missing = move |(_, one): &(&u32, &Prepared)| {
            let could_be = one.what.text.is_some() && one.modes.is_none();
            one.home == hostgroup && could_be && one.id_at(hostgroup).is_none()
        };
        self.by_id.iter().filter(is_missing).map(|(id, _)| *id)
    }

    /// The number in a command, in which MariaDB's clients may mean the last one.
    fn meant(&self, id: u32) -> u32 {
        // While one is being prepared, nobody knows what it will be called.
        if id == LAST && self.awaiting.is_empty() { self.last } else { id }
    }

    /// The numbers that the client knows statements by, in order.
    pub(in crate::session) fn ids(&self) -> Vec<u32> {
        let mut ids: Vec<u32> = self.by_id.keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    /// What the server of this hostgroup calls statements, and what the client does, in the order of the latter.
    pub(in crate::session) fn ids_at(&self, hostgroup: u32) -> Vec<(u32, u32)> {
        let ids = self.ids().into_iter();
        ids.filter_map(|id| Some((self.by_id.get(&id)?.id_at(hostgroup)?, id))).collect()
    }

    /// The statement that the client knows as `id`.
    pub(in crate::session) fn get(&self, id: u32) -> Option<&Prepared> {
        self.by_id.get(&self.meant(id))
    }

    /// The same, to be changed.
    pub(in crate::session) fn get_mut(&mut self, id: u32) -> Option<&mut Prepared> {
        let id = self.meant(id);
        self.by_id.get_mut(&id)
    }

    /// The statement that the server of this hostgroup knows as `id`.
    pub(in crate::session) fn at(&mut self, id: u32, hostgroup: u32) -> Option<&mut Prepared> {
        let id = self.client_id_of(id, hostgroup)?;
        self.by_id.get_mut(&id)
    }

    /// What is executed as `id` at the server of this hostgroup.
    pub(in crate::session) fn executed(&self, id: u32, hostgroup: u32) -> Option<&Preparing> {
        // MariaDB's clients execute a statement that was sent to be prepared just before.
        if id == LAST
            && let Some(what) = self.awaiting.back()
        {
            return Some(what);
        }
        let id = self.client_id_of(id, hostgroup)?;
        self.by_id.get(&id).map(|prepared| &prepared.what)
    }

    /// What the client calls the statement that the server of this hostgroup knows as `id`.
    pub(in crate::session) fn client_id_of(&self, id: u32, hostgroup: u32) -> Option<u32> {
        let id = self.meant(id);
        let is_it = |prepared: &Prepared| prepared.id_at(hostgroup) == Some(id);
        if self.by_id.get(&id).is_some_and(is_it) {
            return Some(id);
        }
        self.sites.renamed(hostgroup, id)
    }

    /// Forgets the statement that the server of this hostgroup, and no other, knows as `id`.
    pub(in crate::session) fn close_at(&mut self, id: u32, hostgroup: u32) {
        if let Some(id) = self.client_id_of(id, hostgroup) {
            self.close(id);
        }
    }

    /// Whether the next commands for a statement belong to where it is now.
    pub(in crate::session) fn keep_home(&mut self, id: u32, hostgroup: u32, is_at_home: bool) {
        let Some(prepared) = self.client_id_of(id, hostgroup).and_then(|id| self.by_id.get_mut(&id)) else {
            return;
        };
        if prepared.is_at_home != is_at_home {
            self.sites.unsettle(prepared.home, prepared.freedom());
            prepared.is_at_home = is_at_home;
            self.sites.settle(prepared.home, prepared.freedom());
        }
    }

    /// Parts of a value are sent for the statement that the server of this hostgroup knows as `id`, or it forgets them.
    pub(in crate::session) fn note_parts(&mut self, id: u32, hostgroup: u32, has_parts: bool) {
        if let Some(prepared) = self.at(id, hostgroup) {
            prepared.has_parts = has_parts;
        }
    }

    /// Whether a server that gives this `answer` to the text of the statement that the client knows as `id` has prepared what the client may
    /// execute: it needs as many values, and returns rows if it did. Of other columns it is told when it executes the statement, unless
    /// it keeps those that it was told.
    pub(in crate::session) fn is_same(&self, id: u32, statement: reply::Prepared, answer: &[u8]) -> bool {
        self.get(id).is_some_and(|prepared| {
            prepared.params == statement.params
                && (prepared.columns == 0) == (statement.columns == 0)
                && prepared.is_as_told(answer)
        })
    }

    /// From now on the statement that the client knows as `id` is prepared in these modes wherever it is, and binds no connection.
    pub(in crate::session) fn keep_modes(&mut self, id: u32, modes: Rc<Modes>) {
        let Some(prepared) = self.by_id.get_mut(&id) else { return };
        self.sites.unsettle(prepared.home, prepared.freedom());
        prepared.modes = Some(modes);
        self.sites.settle(prepared.home, prepared.freedom());
    }

    /// Forgets a statement. Returns where it was.
    pub(in crate::session) fn close(&mut self, id: u32) -> Vec<(u32, u32)> {
        let id = self.meant(id);
        let Some(prepared) = self.by_id.remove(&id) else { return Vec::new() };
        self.bytes -= prepared.what.bytes();
        self.sites.unsettle(prepared.home, prepared.freedom());
        for place in &prepared.places {
            self.sites.leave(place.hostgroup, id, place.statement.id);
        }
        prepared.places.iter().map(|place| (place.hostgroup, place.statement.id)).collect()
    }

    /// The statements that servers were preparing will not be answered.
    pub(in crate::session) fn forget_awaited(&mut self) {
        self.awaiting.clear();
    }

    /// The connection to this hostgroup is gone, and what was prepared there with it.
    pub(in crate::session) fn forget_hostgroup(&mut self, hostgroup: u32) {
        for id in self.sites.clear(hostgroup) {
            if let Some(prepared) = self.by_id.get_mut(&id) {
                prepared.places.retain(|place| place.hostgroup != hostgroup);
            }
        }
    }

    /// The statement that the client knows as `id` was prepared at this hostgroup as well, maybe for one execution.
    pub(in crate::session) fn add_place(
        &mut self,
        id: u32,
        hostgroup: u32,
        statement: reply::Prepared,
        is_for_once: bool,
    ) {
        let id = self.meant(id);
        if let Some(prepared) = self.by_id.get_mut(&id) {
            self.sites.place(hostgroup, id, statement.id);
            prepared.places.push(Place { hostgroup, statement, types_version: 0, is_for_once });
        }
    }

    /// It is not at this hostgroup any more. Returns its number there.
    pub(in crate::session) fn leave_place(&mut self, id: u32, hostgroup: u32) -> Option<u32> {
        let id = self.meant(id);
        let known_as = self.by_id.get_mut(&id)?.leave_place(hostgroup)?;
        self.sites.leave(hostgroup, id, known_as);
        Some(known_as)
    }
}

impl Prepared {
    /// Whether the next commands for it belong to where it lives.
    pub(in crate::session) const fn is_at_home(&self) -> bool {
        self.is_at_home
    }

    /// Whether this answer says of its parameters and columns what the client was told, if it keeps that.
    fn is_as_told(&self, answer: &[u8]) -> bool {
        self.told.is_none_or(|told| told == Definitions::of(answer))
    }

    /// It is executed.
    pub(in crate::session) const fn note_executed(&mut self) {
        self.ran_with_parts = self.has_parts;
        self.has_parts = false;
    }

    /// Whether its last execution had values that were sent before it.
    pub(in crate::session) const fn ran_with_parts(&self) -> bool {
        self.ran_with_parts
    }

    /// Whether it could be prepared again where it lives.
    fn freedom(&self) -> Freedom {
        match &self.modes {
            _ if self.is_at_home || self.what.text.is_none() => Freedom::Never,
            None => Freedom::While(self.what.modes),
            Some(_) => Freedom::Always,
        }
    }

    /// What its text means, if that has to be said when it is prepared anew.
    pub(in crate::session) fn modes(&self) -> Option<Rc<Modes>> {
        self.modes.clone()
    }

    /// Whether it can be prepared anew where texts mean what they do in `modes`.
    pub(in crate::session) fn is_preparable_in(&self, modes: u64) -> bool {
        self.what.text.is_some() && (self.modes.is_some() || self.what.modes == modes)
    }

    /// The number that the server of this hostgroup knows it by.
    pub(in crate::session) fn id_at(&self, hostgroup: u32) -> Option<u32> {
        self.places.iter().find(|place| place.hostgroup == hostgroup).map(|place| place.statement.id)
    }

    /// Whether another server than that of this hostgroup has it, too.
    pub(in crate::session) fn is_elsewhere(&self, hostgroup: u32) -> bool {
        self.places.iter().any(|place| place.hostgroup != hostgroup)
    }

    /// How many servers have it.
    pub(in crate::session) const fn places(&self) -> usize {
        self.places.len()
    }

    /// Whether the server of this hostgroup knows the types of its parameters.
    pub(in crate::session) fn has_types_at(&self, hostgroup: u32) -> bool {
        let place = self.places.iter().find(|place| place.hostgroup == hostgroup);
        place.is_some_and(|place| place.types_version == self.types_version)
    }

    /// Whether it is at this hostgroup for one execution.
    pub(in crate::session) fn is_for_once(&self, hostgroup: u32) -> bool {
        self.places.iter().any(|place| place.hostgroup == hostgroup && place.is_for_once)
    }

    /// It is not at this hostgroup any more. Returns its number there.
    fn leave_place(&mut self, hostgroup: u32) -> Option<u32> {
        let at = self.places.iter().position(|place| place.hostgroup == hostgroup)?;
        Some(self.places.swap_remove(at).statement.id)
    }

    /// Whether it has other columns at this hostgroup than the client knows: a table has changed.
    pub(in crate::session) fn has_other_columns_at(&self, hostgroup: u32) -> bool {
        let place = self.places.iter().find(|place| place.hostgroup == hostgroup);
        place.is_some_and(|place| place.statement.columns != self.columns)
    }

    /// The client is told of the columns that it has at this hostgroup; false if it knows them.
    pub(in crate::session) fn tells_columns_of(&mut self, hostgroup: u32) -> bool {
        let place = self.places.iter().find(|place| place.hostgroup == hostgroup);
        let columns = place.map_or(self.columns, |place| place.statement.columns);
        std::mem::replace(&mut self.columns, columns) != columns
    }

    /// How many values an execution needs.
    pub(in crate::session) const fn params(&self) -> u16 {
        self.params
    }

    /// An execution with these types goes to a hostgroup; without, those of the one before hold. Returns the types that have
    /// to be added, because that server does not know them.
    pub(in crate::session) fn types_for(&mut self, hostgroup: u32, types: Option<&[u8]>) -> Option<&[u8]> {
        // Where they cannot be needed they are not kept.
        self.what.text.as_ref()?;
        if let Some(types) = types.filter(|types| self.types.as_deref() != Some(types)) {
            self.types_version += 1;
            self.types = Some(types.into());
        }
        let version = self.types_version;
        let place = self.places.iter_mut().find(|place| place.hostgroup == hostgroup)?;
        let lacks = place.types_version != version;
        place.types_version = version;
        self.types.as_deref().filter(|_| lacks && types.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texts::Texts;

    const fn statement(id: u32, params: u16) -> reply::Prepared {
        reply::Prepared { id, params, columns: 1 }
    }

    fn what(text: &str) -> Preparing {
        let text = Texts::new(usize::MAX).keep(text.as_bytes());
        Preparing {
            text,
            moves: true,
            digest: Some(1),
            effects: Effects::NONE,
            several: false,
            tables: false,
            class: None,
            modes: 0,
            digest_text: Arc::default(),
            change: None,
        }
    }

    #[test]
    fn answers_belong_to_statements_in_their_order() {
        let mut all = Registry::default();
        all.expect(what("a"));
        all.expect(what("b"));
        all.expect(what("c"));
        all.answered(0, Some(statement(1, 0)));
        all.answered(0, None);
        all.answered(0, Some(statement(2, 0)));
        assert_eq!(all.get(1).unwrap().what.text.as_deref(), Some(&b"a"[..]));
        assert_eq!(all.get(2).unwrap().what.text.as_deref(), Some(&b"c"[..]));
        assert_eq!(all.get(LAST).unwrap().id_at(0), Some(2));
        assert_eq!(all.close(LAST), [(0, 2)]);
        assert!(all.get(2).is_none() && all.get(3).is_none());
    }

    #[test]
    fn numbers_do_not_collide() {
        let mut all = Registry::default();
        all.enter(1, what("a"), 0, statement(1, 0), None);
        assert_eq!((all.client_id(1), all.client_id(2)), (FIRST_OWN_ID, 2));
        all.enter(FIRST_OWN_ID, what("b"), 7, statement(1, 0), None);
        assert_eq!(all.client_id(1), FIRST_OWN_ID + 1);
        assert!(!all.has_other_homes(0) && all.has_other_homes(7), "the server of 7 may call another one 1");
        all.close(1);
        assert!(!all.has_other_homes(0) && !all.has_other_homes(7));
    }

    #[test]
    fn c16_types_reach_a_server_that_does_not_know_them() {
        let mut all = Registry::default();
        all.enter(1, what("a"), 0, statement(1, 1), None);
        let one = all.get_mut(1).unwrap();
        assert_eq!(one.types_for(0, Some(b"\x03\x00")), None);
        assert_eq!(one.types_for(0, None), None, "it knows them");
        assert!(all.is_same(1, statement(9, 1), b"") && !all.is_same(1, statement(9, 2), b""));
        all.add_place(1, 1, statement(9, 1), false);
        assert_eq!(all.get(1).unwrap().id_at(1), Some(9));
        let one = all.get_mut(1).unwrap();
        assert_eq!(one.types_for(1, None), Some(&b"\x03\x00"[..]));
        assert_eq!(one.types_for(1, None), None);
        assert_eq!(one.types_for(1, Some(b"\x08\x00")), None);
        assert_eq!(one.types_for(0, None), Some(&b"\x08\x00"[..]), "they have changed elsewhere");
    }

    /// What is looked up is what a search among all statements would find.
    fn searched(all: &Registry, hostgroup: u32, modes: u64) -> (bool, Vec<Option<u32>>) {
        let is_bound = |one: &Prepared| {
            one.home == hostgroup && (one.is_at_home || one.what.text.is_none() || one.what.modes != modes)
        };
        let client_id = |known_as| {
            let is_it = |(_, one): &(&u32, &Prepared)| one.id_at(hostgroup) == Some(known_as);
            all.by_id.iter().find(is_it).map(|(id, _)| *id)
        };
        (all.by_id.values().any(is_bound), (0..12).map(client_id).collect())
    }

    proptest::proptest! {
        #[test]
        fn what_is_looked_up_is_what_a_search_would_find(
            steps in proptest::collection::vec((0..7u8, 0..12u32, 0..3u32, 0..2u64), 0..120),
        ) {
            let (mut all, mut next) = (Registry::default(), [0; 3]);
            for (step, id, hostgroup, modes) in steps {
                let at = hostgroup as usize;
                match step {
                    0 => {
                        let text = what("SELECT 1").text.filter(|_| id > 0);
                        let (known_as, client) = (next[at], all.client_id(next[at]));
                        next[at] += 1;
                        all.enter(client, Preparing { text, modes, ..what("") }, hostgroup, statement(known_as, 0), None);
                    }
                    1 => drop(all.close(id)),
                    2 if all.get(id).is_some_and(|one| one.id_at(hostgroup).is_none()) => {
                        all.add_place(id, hostgroup, statement(next[at], 0), false);
                        next[at] += 1;
                    }
                    3 => drop(all.leave_place(id, hostgroup)),
                    4 => {
                        all.forget_hostgroup(hostgroup);
                        next[at] = 0;
                    }
                    5 => all.keep_home(id, hostgroup, modes == 0),
                    _ => all.close_at(id, hostgroup),
                }
                for hostgroup in 0..3 {
                    for modes in 0..2 {
                        let found: Vec<_> = (0..12).map(|known_as| all.client_id_of(known_as, hostgroup)).collect();
                        proptest::prop_assert_eq!(
                            (all.is_bound_to(hostgroup, modes), found),
                            searched(&all, hostgroup, modes)
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn c29_there_is_an_end_to_what_is_kept() {
        let mut all = Registry::default();
        let large = "x".repeat(PREPARED_BYTES_MAX);
        for (id, kept) in [(1, true), (2, false)] {
            all.expect(what(&large));
            all.answered(0, Some(statement(id, 0)));
            assert_eq!(all.get(id).unwrap().what.text.is_some(), kept);
        }
        all.expect(Preparing { digest_text: b"SELECT ?"[..].into(), ..what("") });
        all.answered(0, Some(statement(4, 0)));
        assert!(all.executed(4, 0).unwrap().digest_text.is_empty());
        all.close(1);
        all.expect(what(&large));
        all.answered(0, Some(statement(3, 0)));
        assert!(all.get(3).unwrap().what.text.is_some());
    }
}
