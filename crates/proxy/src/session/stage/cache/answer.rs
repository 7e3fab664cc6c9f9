//! A text that the query cache has answered, and what was found out about it.

use std::rc::Rc;
use std::sync::Arc;

use cache::{Cache, Leader, RowCounts, Seen, Source, Waiter};
use route::{Account, Caller};
use wire::{Capabilities, StatusFlags};

use crate::session::decided::Decided;
use crate::session::stage::cache::asked::Asked;
use crate::state::Settings;

/// Flags of a hit that say something of the session, and not of the query.
pub(crate) const STATUS: StatusFlags =
    StatusFlags::AUTOCOMMIT.union(StatusFlags::NO_BACKSLASH_ESCAPES).union(StatusFlags::ANSI_QUOTES);

/// What a look into the cache has led to.
#[derive(Debug)]
pub(crate) enum Look {
    /// The answer is in the worker's buffer, and has so many rows and bytes.
    Hit(RowCounts, usize),
    /// The query is sent, and its answer is to be stored.
    Miss(Option<Leader>),
    /// The query is sent, and its answer is not stored.
    Pass,
    /// Another session has sent it.
    Wait(Waiter),
    /// The answer is there, and whether it is new enough becomes known soon.
    Prove(Arc<Source>),
}

/// A stale answer for the client.
#[derive(Debug)]
pub(crate) struct Stale {
    /// Its packets, as the client gets them.
    pub(crate) packets: Vec<u8>,
    pub(crate) rows: RowCounts,
}

/// A text that was answered from the cache, and what was found out about it then.
#[derive(Debug)]
pub(crate) struct Known {
    /// The payload of the command.
    pub(crate) payload: Box<[u8]>,
    pub(crate) settings: Rc<Settings>,
    pub(crate) account: Rc<Account>,
    pub(crate) caller: Arc<Caller>,
    pub(crate) capabilities: Capabilities,
    pub(crate) collation: u16,
    pub(crate) was_reset: bool,
    pub(crate) client_addr: Box<str>,
    pub(crate) flag_in: u32,
    pub(crate) status: StatusFlags,
    /// When it was found out, in milliseconds.
    pub(crate) since_ms: u64,
    pub(crate) decided: Decided,
    pub(crate) asked: Asked,
}

impl Known {
    /// What the cache has for it, if it was asked for by a session of this user in this schema.
    pub(crate) fn peek(&self, cache: &Cache, user: &[u8], schema: &[u8], now_ms: u64) -> Option<Seen> {
        let Asked { key, life, said, .. } = &self.asked;
        let is_theirs = self.caller.user() == user && self.caller.schema() == schema;
        let allows = |moment| cache.versions.allows(&said.scope, moment);
        if is_theirs { cache.store.peek(*key, now_ms, *life, allows).ok() } else { None }
    }
}
