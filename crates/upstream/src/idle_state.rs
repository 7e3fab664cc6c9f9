//! What an idle connection carries, and what a session that looks for one needs.

use std::rc::Rc;
use std::sync::Arc;

use route::Caller;
use session::identity::Identity;
use session::state::results::Asking;
use session::state::{Results, Settings};
use wire::{Peer, StatusFlags};

use crate::key::Key;
use crate::pool_key::PoolKey;
use crate::purpose::Ahead;

/// What a session has left on its connection.
#[derive(Debug)]
pub struct Left {
    /// In which schema it is.
    pub caller: Arc<Caller>,
    /// The settings that the session has made there.
    pub settings: Rc<Settings>,
    /// Its client has reset it: character set and modes are the server's, and not those that the
    /// login has asked for.
    pub was_reset: bool,
    /// Only the server knows what the session may ask about its last statements.
    pub asks: bool,
    /// What the session may ask about its last statements.
    pub results: Rc<Results>,
    /// The connection was taken, and its server is going to be asked for the session that left it.
    pub asking: Option<Asking>,
}

impl Left {
    /// Whether nothing has to be asked before another session gets the connection. A session that
    /// has ended asks nothing.
    pub(crate) fn is_free(&self) -> bool {
        !self.asks || Rc::strong_count(&self.results) == 1 + usize::from(self.asking.is_some())
    }

    /// Whether it is in the schema of a session that is like this, in the way in which that is.
    pub(crate) fn is_in_schema_of(&self, caller: &Caller, settings: &Settings) -> bool {
        let schema = caller.schema();
        self.caller.schema() == schema
            && (schema.is_empty() || self.settings.was_schema_reset() == settings.was_schema_reset())
    }

    /// Whether the connection is as a session that is like this would have it.
    pub(crate) fn is_as(&self, caller: &Caller, settings: &Settings, was_reset: bool) -> bool {
        self.is_free()
            && self.is_in_schema_of(caller, settings)
            && self.was_reset == was_reset
            && settings.are_at(&self.settings)
    }

    /// The connection with this number is taken: its server is asked for the session that left it,
    /// which waits.
    pub(crate) fn begin_asking(&mut self, connection: u64) {
        if !self.is_free() && self.asking.is_none() {
            self.asking = Some(self.results.asking(connection));
        }
    }
}

/// A session that wants a connection.
#[derive(Debug, Clone, Copy)]
pub struct Asker<'a> {
    /// The client, as servers are told of it.
    pub identity: &'a Identity,
    /// What a connection must have been opened with.
    pub pool_key: &'a Rc<PoolKey>,
    /// The user and the schema.
    pub caller: &'a Caller,
    /// The settings that the connection gets.
    pub settings: &'a Settings,
    /// Its client has reset its connection.
    pub was_reset: bool,
    /// A server has let it in.
    pub is_admitted: bool,
    /// Its status, as a server has told it last.
    pub status: StatusFlags,
    /// What may be said in front of its command without waiting for an answer.
    pub ahead: Ahead,
}

/// What a session's connection has to be.
#[derive(Debug)]
pub(crate) struct Wish {
    pub(crate) pool_key: Rc<PoolKey>,
    /// Whom it was announced for, to a server that was told.
    pub(crate) peer: Peer,
    /// It has to be in no schema: no command leaves all of them.
    pub(crate) in_no_schema: bool,
}

impl Asker<'_> {
    /// The name of its user.
    pub(crate) fn user(&self) -> &[u8] {
        &self.identity.account.user.name
    }

    pub(crate) fn key(&self, hostgroup: u32) -> Key {
        Key { pool_key: self.pool_key.hash(), hostgroup }
    }

    /// What its connection has to be.
    pub(crate) fn wish(&self) -> Wish {
        // No command leaves all schemas, but for a login.
        let in_no_schema = self.is_admitted && self.caller.schema().is_empty();
        Wish { pool_key: Rc::clone(self.pool_key), peer: self.identity.peer, in_no_schema }
    }

    /// Whether a connection on which this is left is in its schema, in the way in which the session
    /// is.
    pub(crate) fn is_in_schema(&self, left: &Left) -> bool {
        left.is_in_schema_of(self.caller, self.settings)
    }

    /// Whether a connection on which this is left is as this one would have it.
    pub(crate) fn is_exact(&self, left: &Left) -> bool {
        self.is_admitted && left.is_as(self.caller, self.settings, self.was_reset)
    }
}
