//! A text that the query cache has answered, and what was found out about it.

use std::rc::Rc;
use std::sync::Arc;

use cache::{Cache, Leader, RowCounts, Seen, Source, Waiter};
use route::{Account, Caller};
use wire::{Capabilities, StatusFlags};

use crate::cached::asked::Asked;
use crate::decided::Decided;
use crate::state::Settings;

/// Flags of a hit that say something of the session, and not of the query.
pub const STATUS: StatusFlags =
    StatusFlags::AUTOCOMMIT.union(StatusFlags::NO_BACKSLASH_ESCAPES).union(StatusFlags::ANSI_QUOTES);

/// What a look into the cache has led to.
#[derive(Debug)]
pub enum Look {
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

/// A text that was answered from the cache, and what was found out about it then.
#[derive(Debug)]
pub struct Known {
    /// The payload of the command.
    pub payload: Box<[u8]>,
    /// The session's settings.
    pub settings: Rc<Settings>,
    /// What its account routes by.
    pub account: Rc<Account>,
    /// Whom rules saw.
    pub caller: Arc<Caller>,
    /// What its client can do.
    pub capabilities: Capabilities,
    /// The collation of its login.
    pub collation: u16,
    /// Whether it was reset.
    pub was_reset: bool,
    /// Its client's address.
    pub client_addr: Box<str>,
    /// The flag that rules began with.
    pub flag_in: u32,
    /// The session's [`STATUS`].
    pub status: StatusFlags,
    /// When it was found out, in milliseconds.
    pub since_ms: u64,
    /// What was decided.
    pub decided: Decided,
    /// What was asked of the cache.
    pub asked: Asked,
}

impl Known {
    /// What the cache has for it, if it was asked for by a session of this user in this schema.
    pub fn peek(&self, cache: &Cache, user: &[u8], schema: &[u8], now_ms: u64) -> Option<Seen> {
        let Asked { key, life, said, .. } = &self.asked;
        let is_theirs = self.caller.user() == user && self.caller.schema() == schema;
        let allows = |moment| cache.versions.allows(&said.scope, moment);
        if is_theirs { cache.store.peek(*key, now_ms, *life, allows).ok() } else { None }
    }
}
