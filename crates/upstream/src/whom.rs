//! For whom a connection to a server is searched, and what becomes of the search if servers are
//! full.

use config::MysqlVariables;
use session::users::User;

use crate::Target;
use crate::calls::Avoid;
use crate::idle_state::Asker;
use crate::times::Times;

/// What becomes of a search that finds servers full (error 1040).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// They are tried again: soon one of them may have room.
    TryAgain,
    /// If all are, the client hears it, as from a server.
    Tell,
    /// They are tried again. A server that does not work is not waited for, as there is another
    /// hostgroup.
    Elsewhere,
}

/// For whom a backend is searched.
#[derive(Debug, Clone, Copy, Default)]
pub struct Whom<'a> {
    /// The user whose connection it will be, and who may have a limited number of them.
    pub user: Option<&'a User>,
    /// The session that may get an idle connection.
    pub asker: Option<&'a Asker<'a>>,
    /// Servers that are taken only if there is no other.
    pub avoid: Option<&'a dyn Avoid>,
    /// How long it may take, if not as long as the variables say.
    pub times: Option<&'a Times>,
}

impl<'a> Whom<'a> {
    /// How the pool knows the user.
    pub(crate) fn account(&self) -> Option<usize> {
        self.user.map(User::account)
    }

    /// This user, on a connection of its own.
    pub fn of(user: &'a User) -> Self {
        Self { user: Some(user), ..Self::default() }
    }

    /// How long it may take.
    pub(crate) fn times(&self, variables: &MysqlVariables) -> Times {
        self.times.copied().unwrap_or_else(|| Times::of(variables))
    }

    /// Whether this server is taken only if there is no other.
    pub(crate) fn avoids(&self, target: &Target) -> bool {
        self.avoid.is_some_and(|avoid| avoid.avoids(&target.endpoint))
    }
}
