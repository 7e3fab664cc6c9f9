//! What an idle connection carries, and what a session that looks for one needs.

use std::rc::Rc;
use std::sync::Arc;

use route::Caller;
use wire::StatusFlags;

use super::entry::Entry;
use super::key::Key;
use super::lend::Ahead;
use super::line::Wish;
use super::passport::Passport;
use crate::state::results::Asking;
use crate::state::{Results, Settings};
use session::identity::Identity;

/// What a session has left on its connection.
#[derive(Debug)]
pub(crate) struct Left {
    /// In which schema it is.
    pub(crate) caller: Arc<Caller>,
    pub(crate) settings: Rc<Settings>,
    /// Its client has reset it: character set and modes are the server's, and not those that the
    /// login has asked for.
    pub(crate) was_reset: bool,
    /// The connection's status, as the server has told it last.
    pub(crate) status: StatusFlags,
    /// Only the server knows what the session may ask about its last statements.
    pub(crate) asks: bool,
    pub(crate) results: Rc<Results>,
    /// Somebody has the connection, and is going to ask for the session.
    pub(crate) asking: Option<Asking>,
}

impl Left {
    /// Whether nothing has to be asked before somebody else gets the connection. A session that has
    /// ended asks nothing.
    pub(super) fn is_free(&self) -> bool {
        !self.asks || Rc::strong_count(&self.results) == 1 + usize::from(self.asking.is_some())
    }

    /// Whether it is in the schema of a session that is like this, in the way in which that is.
    pub(super) fn is_in_schema_of(&self, caller: &Caller, settings: &Settings) -> bool {
        let schema = caller.schema();
        self.caller.schema() == schema
            && (schema.is_empty() || self.settings.was_schema_reset() == settings.was_schema_reset())
    }

    /// Whether the connection is as a session that is like this would have it.
    pub(super) fn is_as(&self, caller: &Caller, settings: &Settings, was_reset: bool) -> bool {
        self.is_free()
            && self.is_in_schema_of(caller, settings)
            && self.was_reset == was_reset
            && settings.are_at(&self.settings)
    }

    /// Whoever has the connection from now on asks for the session, which waits for that.
    pub(super) fn begin_asking(&mut self) {
        if !self.is_free() && self.asking.is_none() {
            self.asking = Some(self.results.asking());
        }
    }
}

/// Who wants a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asker<'a> {
    pub(crate) identity: &'a Identity,
    pub(crate) passport: &'a Rc<Passport>,
    pub(crate) caller: &'a Caller,
    pub(crate) settings: &'a Settings,
    /// Its client has reset its connection.
    pub(crate) was_reset: bool,
    /// A server has let it in.
    pub(crate) is_admitted: bool,
    /// The status of its connection, as it was told last.
    pub(crate) status: StatusFlags,
    /// What may be said in front of its command without waiting for an answer.
    pub(crate) ahead: Ahead,
}

impl Asker<'_> {
    /// The name of its user.
    pub(super) fn user(&self) -> &[u8] {
        &self.identity.account.user.name
    }

    pub(super) fn key(&self, hostgroup: u32) -> Key {
        Key { passport: self.passport.hash(), hostgroup }
    }

    /// What its connection has to be.
    pub(super) fn wish(&self) -> Wish {
        // No command leaves all schemas, but for a login.
        let in_no_schema = self.is_admitted && self.caller.schema().is_empty();
        Wish { passport: Rc::clone(self.passport), peer: self.identity.peer, in_no_schema }
    }

    /// Whether a connection on which this is left is in its schema, in the way in which the session
    /// is.
    pub(super) fn is_in_schema(&self, left: &Left) -> bool {
        left.is_in_schema_of(self.caller, self.settings)
    }

    /// Whether the connection is as this one would have it.
    pub(super) fn is_exact(&self, entry: &Entry) -> bool {
        self.is_admitted && entry.left.is_as(self.caller, self.settings, self.was_reset)
    }
}
