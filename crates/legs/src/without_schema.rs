//! Sessions whose schema no server has any more, or whose user may not use it any more.
//!
//! A server leaves such a session the name of its schema: what needs the schema fails, and all else
//! works. A new connection cannot get there, so the session gets one in no schema: what needs one
//! hears error 1046. The connection is closed behind the command, and the next one asks for the
//! schema again, which may be back.

use session::link::Loss;
use upstream::{AcquireError, Full, Reply, is_about_schema, part};

use crate::entry::BookEntry;
use crate::facts::leases::lose_backend;
use crate::leg::Leg;
use crate::links::Links;
use crate::state::{Past, Said, SessionState};
use crate::stop::Stop;

impl Leg {
    /// Makes the session's connection to `hostgroup` the one in use, opens it if there is none, and
    /// says there what the client has set. If the server does not let the session into its schema,
    /// and there is no other hostgroup, the connection is in none.
    pub async fn go_to(&mut self, entry: &BookEntry, hostgroup: u32, full: Full) -> Result<(), Stop> {
        let why = match self.go_in_schema(entry, hostgroup, full).await {
            Err(Stop::Unreached(why)) if full != Full::Elsewhere && why.is_about_schema() => why,
            reached => return reached,
        };
        Box::pin(self.go_without_schema(entry, hostgroup, why)).await
    }

    /// The same on a connection in no schema. A connection that the session needs is not left: its
    /// command hears `why`.
    async fn go_without_schema(
        &mut self,
        entry: &BookEntry,
        hostgroup: u32,
        why: AcquireError,
    ) -> Result<(), Stop> {
        let keeps = self.links.in_use.is_some() && self.links.loss(&self.state) != Loss::Nothing;
        if keeps || !self.state.leave_schema() {
            return Err(why.into());
        }
        let account = &self.state.identity.account;
        account.user.doubt(account.schema.as_deref());
        if !self.links.away.is_admitted {
            // It is what the server has against the login, which is heard once.
            return Err(why.into());
        }
        if let Some(backend) = self.links.in_use.take() {
            part(backend);
            lose_backend(entry, self);
        }
        self.go_in_schema(entry, hostgroup, Full::TryAgain).await
    }
}

impl Links {
    /// Takes note of whether the server lets the session into its schema, whose command was at
    /// `schema_at` among those with these replies. Whether the session goes on without it.
    pub(crate) fn note_schema_reply(
        &mut self,
        state: &mut SessionState,
        schema_at: Option<usize>,
        replies: &[Reply],
    ) -> bool {
        let error = schema_at.and_then(|at| replies.get(at)).map(Reply::error);
        if error == Some(None) {
            state.past.remove(Past::LACKS_SCHEMA);
        }
        let may_lack = error.flatten().is_some_and(is_about_schema) && state.lacks_schema();
        if let Some(link) = self.state_mut() {
            link.lacks_schema = may_lack;
        }
        may_lack
    }
}

impl SessionState {
    /// Adds the schema of the login, which a connection in no schema has to be asked for.
    pub(crate) fn add_schema(&self, said: &mut Vec<Said>) {
        if position_of_schema(said).is_none() {
            said.insert(0, Said::Schema(self.caller.schema().to_vec()));
        }
    }

    /// Whether connections are in no schema, because no server lets the session into its own.
    pub(crate) const fn lacks_schema(&self) -> bool {
        self.past.contains(Past::LACKS_SCHEMA)
    }

    /// The session gets connections in no schema from now on. False if that is so already, or it is
    /// in none.
    pub(crate) fn leave_schema(&mut self) -> bool {
        let leaves = self.may_leave_schema();
        self.past.set(Past::LACKS_SCHEMA, leaves || self.lacks_schema());
        leaves
    }

    /// Whether there is a schema that its next connections could do without.
    pub(crate) fn may_leave_schema(&self) -> bool {
        !self.lacks_schema() && !self.caller.schema().is_empty()
    }
}

/// Where among commands the one is that enters the schema.
pub(crate) fn position_of_schema(all: &[Said]) -> Option<usize> {
    all.iter().position(|said| matches!(said, Said::Schema(_)))
}
