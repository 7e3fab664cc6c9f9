//! Answers about the sharded table, beside those of a client's own server.

use std::collections::BTreeSet;

use testkit::client::{QueryResult, ServerError};
use wire::StatusFlags;

use super::client::Player;
use super::encode::{binary, text};
use super::gaps::{SHOWS_REFUSALS, compared};
use super::model::{Answer, Database, Session};
use super::sharded::{Read, Sharded};
use super::sharding::{HOSTGROUPS, is_sharded, shard_of};
use super::statement::Statement;

/// `ER_NOT_SUPPORTED_YET`.
pub(super) const REFUSED: u16 = 1235;

/// The proxy's own: a transaction has committed at some of its servers only.
const IN_PART: u16 = 9010;

/// Ends of errors that say that a server was not asked.
const UNKNOWN: [&str; 5] = [
    "the definition of the key column is not known",
    "does not tell whether it is stored code",
    // Not even one shard, or an order, is certain then.
    "an aggregate over rows of several shards is not supported",
    "a group may have rows of several shards",
    "rows of several shards cannot be merged by this expression",
];

impl Player {
    /// Whether a statement is refused since a transaction may write at one server only, or since
    /// what its tables are could not be found out.
    pub(super) fn is_refused_at_shards(&self, error: &ServerError, statement: &Statement) -> bool {
        let has_one_writer = self.world.scopes.shards.as_ref().is_some_and(|shards| shards.has_one_writer);
        let writes = matches!(
            statement,
            // A temporary table counts as well.
            Statement::Insert(_) | Statement::Sharded(Sharded::Insert(_)) | Statement::Pinned(_)
        );
        let is_second = has_one_writer && writes && error.message.contains("shard_transactions");
        error.code == REFUSED && is_second || self.is_about_unknown(error)
    }

    /// Whether a statement is refused since a server has not told what its tables are: it was lost,
    /// or had no connection for the question.
    pub(super) fn is_about_unknown(&self, error: &ServerError) -> bool {
        error.code == REFUSED
            && (!self.world.is_roomy() || self.world.may_be_full())
            && UNKNOWN.iter().any(|why| error.message.ends_with(why))
    }

    /// Whether the flags of an answer are those of a session.
    pub(super) fn has_status(&self, result: &QueryResult, status: StatusFlags) -> bool {
        let told = result.status - StatusFlags::SESSION_STATE_CHANGED;
        match self.world.scopes.shards {
            Some(_) => compared(told, result) == compared(status, result),
            None => told == status,
        }
    }

    /// A statement over the sharded table was refused by the proxy.
    pub(super) fn note_refused(&self, twin: &mut Session, error: &ServerError) {
        self.world.note(format!("c{}: {error}", self.me));
        if SHOWS_REFUSALS {
            twin.fail(error.code, &error.message);
        } else {
            twin.succeed();
        }
    }

    /// The answer to a read: each row of both shards that has to be there, once, and those that may
    /// be there if they are. Rows without an order are sorted in both answers.
    pub(super) fn expected_at_shards(
        &self,
        twin: &Session,
        read: &Read,
        got: &mut QueryResult,
        is_binary: bool,
    ) -> Answer {
        let bytes = |id: u64| if is_binary { binary(&read.row(id)) } else { text(&read.row(id)) };
        let has = |id: &u64| got.rows.contains(&bytes(*id));
        let (certain, may_be): (BTreeSet<u64>, BTreeSet<u64>) = if read.owner() == self.me {
            let own = self.database.committed.iter().chain(&twin.pending).copied();
            (own.collect(), self.maybe.clone())
        } else {
            let shards = self.world.shards.iter();
            let there = shards.flat_map(|shard| shard.borrow().committed.clone()).collect();
            (self.world.acknowledged.before(read.owner(), self.sent, None), there)
        };
        let ids = certain.into_iter().chain(may_be.into_iter().filter(has)).collect();
        let mut expected = read.answer(&ids);
        if let Answer::Rows { rows, .. } = &mut expected
            && read.is_unordered()
        {
            rows.sort_by_key(|row| if is_binary { binary(row) } else { text(row) });
            got.rows.sort();
        }
        expected
    }

    /// Whether an error tells what has become of each part of a transaction.
    pub(super) fn tells_parts(&self, error: &ServerError) -> bool {
        error.code == IN_PART && self.may_lose()
    }

    /// What a statement would have committed is at the servers that are said to have committed, not
    /// at those that have rolled back, and may be at those whose outcome is not known.
    pub(super) fn commit_in_part(&mut self, twin: &mut Session, statement: Statement, error: &ServerError) {
        self.world.note(format!("c{}: {error}", self.me));
        let (mut after, mut scratch) = (twin.clone(), Database::default());
        after.run(&mut scratch, statement);
        twin.roll_back();
        for id in scratch.committed {
            match fate(&error.message, id) {
                Some("committed at") => drop(self.database.committed.insert(id)),
                Some("rolled back at") => {}
                Some("not known at") => drop(self.maybe.insert(id)),
                _ => self.fail(format!("{error} does not tell of row {id}")),
            }
        }
        self.world.acknowledged.note(&self.database.committed);
    }
}

/// What an error says of the server of a row.
fn fate(message: &str, id: u64) -> Option<&'static str> {
    let place = if is_sharded(id) {
        format!("hostgroup {}", HOSTGROUPS[shard_of(id)])
    } else {
        "the home".to_owned()
    };
    let part = message.split("; ").find(|part| part.contains(&place))?;
    ["committed at", "rolled back at", "not known at"].into_iter().find(|fate| part.contains(fate))
}
