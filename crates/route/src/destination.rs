//! Where a statement goes in the end: what rules and hints say, against what the session and its
//! transaction demand.

use std::sync::Arc;

use crate::plan::StatementPlan;
use crate::split::{Pairs, Split, split};
use crate::verdict::{Source, Verdict};

/// What a user's row says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// `default_hostgroup`.
    pub default_hostgroup: u32,
    /// `transaction_persistent`: rules do not lead out of a transaction.
    pub transaction_persistent: bool,
    /// What the listener says in its place, if it does.
    pub listener: Option<ByListener>,
}

/// What a listener says about where statements go: rules and hints have no say in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByListener {
    /// Its role, as it is configured.
    pub role: &'static str,
    /// Where all of them go; nothing if the listener is for reads, and the user's hostgroup has no
    /// readers.
    pub hostgroup: Option<u32>,
    /// Where they go while no server there can be had.
    pub instead: Option<u32>,
}

impl Account {
    /// Where a session goes with what is no statement.
    pub fn hostgroup(&self) -> u32 {
        self.listener.and_then(|listener| listener.hostgroup).unwrap_or(self.default_hostgroup)
    }

    /// Where a statement goes that was sent to `hostgroup`, by the split or not, and that no server
    /// there can have.
    pub fn instead_of(&self, hostgroup: u32, is_split: bool) -> Option<u32> {
        let instead = match self.listener {
            Some(listener) if listener.hostgroup == Some(hostgroup) => listener.instead,
            Some(_) => None,
            None => Some(self.default_hostgroup).filter(|_| is_split),
        };
        instead.filter(|instead| *instead != hostgroup)
    }
}

/// What the session is in the middle of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    /// The hostgroup of the open transaction.
    pub transaction: Option<u32>,
    /// Whether autocommit is on.
    pub autocommit: bool,
    /// The hostgroup that the session is locked on, because of a SET that is not understood.
    pub locked_on: Option<u32>,
    /// What the session left at a server that its reads may depend on, and the hostgroup.
    pub hold: Option<(Hold, u32)>,
    /// The hostgroup of the statement before.
    pub last_hostgroup: Option<u32>,
}

/// Nothing.
impl Default for Session {
    fn default() -> Self {
        Self { transaction: None, autocommit: true, locked_on: None, hold: None, last_hostgroup: None }
    }
}

impl Session {
    /// What it is in the middle of, in words.
    pub(crate) fn text(&self) -> String {
        let mut texts = vec![match self.transaction {
            Some(hostgroup) => format!("in a transaction on hostgroup {hostgroup}"),
            None => "outside a transaction".to_owned(),
        }];
        texts.extend((!self.autocommit).then(|| "autocommit off".to_owned()));
        texts.extend(self.locked_on.map(|hostgroup| format!("locked on hostgroup {hostgroup}")));
        texts.extend(
            self.hold.map(|(hold, hostgroup)| format!("held on hostgroup {hostgroup}: {}", hold.text())),
        );
        texts.extend(self.last_hostgroup.map(|hostgroup| format!("last on hostgroup {hostgroup}")));
        texts.join(", ")
    }
}

/// What a session may have left at a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hold {
    /// Temporary tables.
    TemporaryTables,
    /// LOCK TABLES.
    LockedTables,
    /// Something that is not known.
    Unknown,
}

impl Hold {
    /// The reason as the end of a sentence.
    pub const fn text(self) -> &'static str {
        match self {
            Self::TemporaryTables => "the session has temporary tables there",
            Self::LockedTables => "the session has locked tables there",
            Self::Unknown => "the session may have left something there",
        }
    }
}

/// What happens to a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// It is answered with OK and this text.
    Ok(Arc<str>),
    /// It is answered with this error.
    Error(Arc<str>),
    /// It goes to a hostgroup.
    Hostgroup {
        /// Which.
        hostgroup: u32,
        /// Why.
        why: Why,
    },
    /// It is refused (9006): the session is locked on another hostgroup.
    Locked {
        /// The one that the session is locked on.
        locked_on: u32,
        /// The one that the statement would go to.
        hostgroup: u32,
    },
}

/// Who decided on a hostgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The open transaction.
    Transaction,
    /// Rules, fast routing or a hint; nothing if the verdict does not say which.
    Verdict(Option<Source>),
    /// The split.
    Split(Split),
    /// The user's row.
    Default,
    /// The listener, whose role is this.
    Listener(&'static str),
}

/// Where a statement goes: first what a rule answers itself, then the listener if it has a role,
/// the transaction, rules and hints, the split if `split_on`, and the user's hostgroup.
pub fn destination(
    verdict: &Verdict,
    account: Account,
    session: &Session,
    plan: StatementPlan,
    pairs: &Pairs,
    split_on: bool,
) -> Destination {
    if let Some(text) = &verdict.ok {
        return Destination::Ok(Arc::clone(text));
    }
    if let Some(text) = &verdict.error {
        return Destination::Error(Arc::clone(text));
    }
    if let Some(listener) = account.listener {
        // Where the session is bound it stays: that may be the hostgroup that had to do instead.
        let held_on = session.hold.map(|(_, hostgroup)| hostgroup);
        let bound = session.transaction.or(session.locked_on).or(held_on);
        return match bound.or(listener.hostgroup) {
            Some(hostgroup) => Destination::Hostgroup { hostgroup, why: Why::Listener(listener.role) },
            None => Destination::Error(no_readers(account.default_hostgroup)),
        };
    }
    let (hostgroup, why) = match (session.transaction, verdict.hostgroup) {
        (Some(hostgroup), _) if account.transaction_persistent => (hostgroup, Why::Transaction),
        (_, Some(hostgroup)) => (hostgroup, Why::Verdict(verdict.source)),
        _ if split_on => {
            let split = split(plan, session, verdict.access_mode, account.default_hostgroup, pairs);
            (split.hostgroup, Why::Split(split))
        }
        _ => (account.default_hostgroup, Why::Default),
    };
    match session.locked_on {
        Some(locked_on) if locked_on != hostgroup => Destination::Locked { locked_on, hostgroup },
        _ => Destination::Hostgroup { hostgroup, why },
    }
}

/// What a client is told of a listener for reads if there are no readers.
pub fn no_readers(hostgroup: u32) -> Arc<str> {
    format!(
        "this port is for reads only, and mysql_replication_hostgroups has no readers of hostgroup {hostgroup}, which is the \
         user's"
    )
    .into()
}

#[cfg(test)]
mod tests;
