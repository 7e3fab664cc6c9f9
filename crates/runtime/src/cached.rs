//! What a worker has of the query cache: a first level of answers, and what its sessions' keys
//! begin with.

pub mod answer;
pub mod asked;

use std::cell::{Cell, Ref, RefCell, RefMut};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher as _};
use std::rc::Rc;
use std::sync::Arc;

use cache::stats::Served;
use cache::{
    Answer, Cache, Form, Hit, HitRates, Key, Life, Memo, Miss, Moment, Near, Refusal, RowCounts, Seen,
};
use config::{CacheMode, CacheScope};
use route::{Caller, Source};
use sql::shape::Table;
use wire::Capabilities;

use crate::cached::answer::Known;
use crate::limits::{CACHE_CLASSES_MAX, CACHE_KNOWN_BYTES_MAX, CACHE_KNOWN_MAX};
use crate::state::Settings;
use session::cached::class;
use session::identity::Identity;
use session::limits::TABLES_MAX;
use session::tier::{Age, tell};
use upstream::query;

/// What a worker has of the query cache. Empty as long as no answer is cached.
#[derive(Debug, Default)]
pub struct Cached {
    near: RefCell<Option<Near>>,
    rates: RefCell<Option<HitRates>>,
    classes: RefCell<Vec<Option<Class>>>,
    /// The answer that is being written.
    out: RefCell<Vec<u8>>,
    /// Texts that were answered. A text has one place; another one with the same place takes it.
    known: RefCell<Vec<Option<Rc<Known>>>>,
    knows: Cell<bool>,
    /// Hashes of the tables that open transactions have written, by session; those of which that is
    /// not known are not there.
    pub written: RefCell<HashMap<u32, Vec<u64>>>,
    /// What is to be asked of servers, by the session that is to ask.
    pub to_learn: RefCell<HashMap<u32, ToLearn>>,
    /// What definitions say about statements.
    pub memo: RefCell<Memo<Policy>>,
}

/// The hostgroup whose server is to be asked for its defaults, and for the definitions of these
/// tables, which have their schemas and are at most [`TABLES_MAX`].
pub type ToLearn = (u32, Vec<Table>);

/// What of a rule's wishes decides about what an answer depends on, and who gets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// How fresh answers are.
    pub mode: CacheMode,
    /// Who gets an answer.
    pub scope: CacheScope,
    /// The rule or the hint that has it cached.
    pub source: Option<Source>,
}

/// How a client gets answers.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    /// How a reply is encoded.
    pub form: Form,
    /// The status flags of its session.
    pub status: u16,
    /// It is a proxy, and is told how old they are.
    pub tells_age: bool,
    /// The client of a proxy is told that, too.
    pub exact_us: Option<u64>,
}

impl Style {
    /// Writes an answer of this age behind `out`.
    pub fn write(self, answer: &Answer, age_ms: u32, out: &mut Vec<u8>) {
        answer.write(self.form, self.status, out);
        if self.tells_age {
            tell(out, Age { ms: age_ms, exact_us: self.exact_us });
        }
    }
}

/// A text in a session that is only assumed.
#[derive(Debug)]
pub struct Assumed {
    pub(crate) text: Vec<u8>,
    pub(crate) user: Vec<u8>,
    pub(crate) schema: Vec<u8>,
}

/// An answer that was written into the buffer.
#[derive(Debug)]
pub struct Found {
    /// Its rows.
    pub rows: RowCounts,
    /// This client is to fetch it anew.
    pub refresh: bool,
    /// What is counted of it.
    pub served: Served,
}

/// Sessions that get the same answers, but for their accounts.
#[derive(Debug)]
struct Class {
    settings: Rc<Settings>,
    caller: Arc<Caller>,
    capabilities: Capabilities,
    collation: u16,
    was_reset: bool,
    key: Result<Key, Refusal>,
    /// The user, unless servers get addresses of clients as well.
    account: Key,
}

impl Cached {
    /// Forgets what there is of a session, which has ended.
    pub fn forget(&self, session: u32) {
        self.written.borrow_mut().remove(&session);
        self.to_learn.borrow_mut().remove(&session);
    }

    /// What the keys of a session begin with that has set this, and its user; or why it gets no
    /// answers.
    pub fn class(
        &self,
        cache: &Cache,
        settings: &Rc<Settings>,
        caller: &Arc<Caller>,
        identity: &Identity,
        was_reset: bool,
    ) -> Result<(Key, Key), Refusal> {
        let (capabilities, collation) = (identity.capabilities, identity.collation);
        let mut classes = self.classes.borrow_mut();
        if classes.is_empty() {
            classes.resize_with(CACHE_CLASSES_MAX, || None);
        }
        // The lowest bits of addresses are zeros.
        let address = Rc::as_ptr(settings).addr() ^ Arc::as_ptr(caller).addr().rotate_left(5);
        let place = classes.get_mut((address >> 6) % CACHE_CLASSES_MAX);
        if let Some(Some(known)) = &place
            && Rc::ptr_eq(&known.settings, settings)
            && Arc::ptr_eq(&known.caller, caller)
            && (known.capabilities, known.collation, known.was_reset) == (capabilities, collation, was_reset)
        {
            return known.key.map(|key| (key, known.account));
        }
        let account = account_of(cache, caller, &[]);
        let begun = cache.keys.builder().number(was_reset.into());
        let key = class(begun, settings, caller.schema(), capabilities, collation);
        if let Some(place) = place {
            let (settings, caller) = (Rc::clone(settings), Arc::clone(caller));
            *place = Some(Class { settings, caller, capabilities, collation, was_reset, key, account });
        }
        key.map(|key| (key, account))
    }

    /// A session is to ask a server of this hostgroup for its defaults, and for these definitions,
    /// as far as there is room.
    pub fn want(&self, session: u32, hostgroup: u32, tables: impl IntoIterator<Item = Table>) {
        let mut wanted = self.to_learn.borrow_mut();
        let (at, all) = wanted.entry(session).or_default();
        if std::mem::replace(at, hostgroup) != hostgroup {
            all.clear();
        }
        for table in tables {
            if all.len() < TABLES_MAX && !all.contains(&table) {
                all.push(table);
            }
        }
    }

    /// How many of the last lookups hit.
    pub fn rates(&self) -> RefMut<'_, HitRates> {
        RefMut::map(self.rates.borrow_mut(), Option::get_or_insert_default)
    }

    /// Whether texts are known.
    #[inline]
    pub fn knows(&self) -> bool {
        self.knows.get()
    }

    /// What is known of a text, with the command's payload.
    pub fn known(&self, payload: &[u8]) -> Option<Rc<Known>> {
        let known = self.known.borrow();
        let found = known.get(place(payload))?.as_ref();
        found.filter(|known| *known.payload == *payload).map(Rc::clone)
    }

    /// What the cache has for a text, if it has answered it to a session of this user in this
    /// schema.
    pub fn peek(&self, cache: &Cache, text: &Assumed, now_ms: u64) -> Option<Seen> {
        let payloads = [Capabilities::empty(), Capabilities::QUERY_ATTRIBUTES]
            .map(|capabilities| query(capabilities, &text.text));
        let mut known = payloads.iter().filter_map(|payload| self.known(payload));
        known.find_map(|known| known.peek(cache, &text.user, &text.schema, now_ms))
    }

    /// Remembers a text, unless it is long.
    pub fn learn(&self, known: Known) {
        if known.payload.len() > CACHE_KNOWN_BYTES_MAX {
            return;
        }
        let mut all = self.known.borrow_mut();
        if all.is_empty() {
            all.resize(CACHE_KNOWN_MAX, None);
        }
        self.knows.set(true);
        if let Some(place) = all.get_mut(place(&known.payload)) {
            *place = Some(Rc::new(known));
        }
    }

    /// Answers are going to be written.
    pub fn begin_answers(&self) {
        self.out.borrow_mut().clear();
    }

    /// Writes the answer for `key` behind those in the buffer, if the first level has it.
    pub fn look_near(
        &self,
        (key, now_ms, life): (Key, u64, Life),
        allows: impl Fn(Moment) -> bool,
        style: Style,
    ) -> Option<Found> {
        let mut near = self.near.borrow_mut();
        let (answer, age_ms) = near.as_mut()?.get(key, now_ms, life, allows)?;
        let mut out = self.out.borrow_mut();
        let start = out.len();
        style.write(answer, age_ms, &mut out);
        let served = Served { is_near: true, age_ms, bytes: out.len() - start };
        Some(Found { rows: answer.rows(), refresh: false, served })
    }

    /// Writes the answer for `key` into the buffer, if there is one.
    pub fn look_up(
        &self,
        (cache, key, now_ms, life): (&Cache, Key, u64, Life),
        allows: impl Fn(Moment) -> bool,
        style: Style,
    ) -> Result<Found, Miss> {
        self.begin_answers();
        if let Some(found) = self.look_near((key, now_ms, life), &allows, style) {
            return Ok(found);
        }
        let hit = cache.store.get(key, now_ms, life, &allows)?;
        self.near.borrow_mut().get_or_insert_default().put(key, &hit);
        let (rows, bytes) = self.write(&hit, style);
        let served = Served { is_near: false, age_ms: hit.age_ms, bytes };
        Ok(Found { rows, refresh: hit.refresh, served })
    }

    /// Writes this answer into the buffer. Returns the numbers of its rows and bytes.
    pub fn write(&self, hit: &Hit, style: Style) -> (RowCounts, usize) {
        let mut out = self.out.borrow_mut();
        out.clear();
        style.write(&hit.answer, hit.age_ms, &mut out);
        (hit.answer.rows(), out.len())
    }

    /// The answer that was written last.
    pub fn written(&self) -> Ref<'_, [u8]> {
        Ref::map(self.out.borrow(), Vec::as_slice)
    }

    /// Sessions may get other answers: the configuration is another one.
    pub fn clear(&self) {
        self.classes.borrow_mut().clear();
        self.memo.borrow_mut().clear();
        self.known.borrow_mut().clear();
        self.knows.set(false);
    }
}

/// The account that a session has at servers, which may depend on its client's address.
pub fn account_of(cache: &Cache, caller: &Caller, address: &[u8]) -> Key {
    cache.keys.builder().part(caller.user()).part(address).finish()
}

/// Where a text is remembered.
fn place(payload: &[u8]) -> usize {
    let mut hasher = DefaultHasher::new();
    hasher.write(payload);
    usize::try_from(hasher.finish() % CACHE_KNOWN_MAX as u64).unwrap_or_default()
}
