//! What the proxy does otherwise than a server today where there are shards. Seeds with shards
//! leave it out; a constant that is set plays it.

use testkit::client::QueryResult;
use wire::StatusFlags;
use wire::command::Kind;

use super::author::Step;
use super::command::Command;
use super::model::Session;
use super::statement::Statement;

/// Commands for the home and for shards are sent at once, or some that end a transaction. Those
/// behind one that goes home go there as well, whatever they are: a `COMMIT` does not reach shards.
const MIXES: bool = false;

/// A command comes with the `COM_STMT_CLOSE` before it. It goes where that goes, as above.
pub(super) const FOLLOWS_CLOSE: bool = false;

/// A server is lost in its answer to a question of the proxy's own, or to a `COM_STMT_PREPARE` at a
/// shard. The client's error has the sequence id of the next packet of that answer.
const CUTS_QUESTIONS: bool = false;

/// The home has a reader. The `BEGIN` that no server has heard does not keep the first read of its
/// transaction from the reader, where the transaction is from then on.
pub(super) const SPLITS: bool = false;

/// `SET autocommit = 1` in a transaction that `BEGIN` has opened with autocommit on. It goes on at
/// real servers, but not at those of the model.
const SETS_AGAIN: bool = false;

/// `UNLOCK TABLES` in a transaction without locked tables. It commits at shards.
const UNLOCKS: bool = false;

/// `ROW_COUNT()` behind `BEGIN`, which no server has heard. It is that of the statement before.
const COUNTS_BEGIN: bool = false;

/// `IN_TRANSACTION` without autocommit, behind a statement at home. Only shards are in the
/// transaction, and home does not say so.
const TELLS_SHARDS: bool = false;

/// Flags of an OK that the proxy makes. It has those of a cursor before it.
const TELLS_CURSORS: bool = false;

/// Reads are cached. One behind a `BEGIN` that no server has heard is answered from the cache, as
/// if there were no transaction.
pub(super) const CACHES: bool = false;

/// `SHOW WARNINGS` behind an error 1235 of the proxy's own. It is empty.
pub(super) const SHOWS_REFUSALS: bool = false;

/// This step, without what is left out.
pub(super) fn without_gaps(step: Step, twin: &Session) -> Step {
    let Step::Commands(mut all) = step else { return step };
    if !MIXES && mixes(&all) {
        all.truncate(1);
    }
    let is_open = twin.status().contains(StatusFlags::IN_TRANSACTION);
    for command in &mut all {
        let Command::Text(text) = &*command else { continue };
        let unlocks = is_open && text == "UNLOCK TABLES" && !twin.pins.has_locked_tables();
        let sets_again = is_open && text == "SET autocommit = 1" && twin.autocommit;
        let counts = text == "SELECT ROW_COUNT()" && twin.last().row_count == 0;
        if unlocks && !UNLOCKS || counts && !COUNTS_BEGIN || sets_again && !SETS_AGAIN {
            *command = Command::Ping;
        }
    }
    Step::Commands(all)
}

/// Whether a server may be lost in its answer to this command.
pub(super) fn may_cut(kind: Kind, body: &[u8]) -> bool {
    CUTS_QUESTIONS || kind != Kind::StmtPrepare && !is_question(body)
}

/// Whether the proxy asks of its own what a table is.
fn is_question(body: &[u8]) -> bool {
    String::from_utf8_lossy(body).contains("information_schema")
}

/// Whether commands are for the home and for shards, or some of several write or end a transaction.
fn mixes(commands: &[Command]) -> bool {
    let all: Vec<_> = commands.iter().filter_map(Command::statement).collect();
    let is_sharded = |one: &Statement| matches!(one, Statement::Sharded(_));
    let ends = |one: &Statement| match one {
        Statement::Set(all) => all.iter().any(|(name, _)| name == "autocommit"),
        // Of a write the proxy does not note either that home has written.
        _ => matches!(
            one,
            Statement::Begin
                | Statement::Commit
                | Statement::Rollback
                | Statement::Pinned(_)
                | Statement::Insert(_)
        ),
    };
    let has_home = all.len() < commands.len() || !all.iter().all(is_sharded);
    commands.len() > 1 && has_home && all.iter().any(|one| is_sharded(one) || ends(one))
}

/// The flags of an answer that are compared.
pub(super) fn compared(status: StatusFlags, result: &QueryResult) -> StatusFlags {
    let mut left_out = StatusFlags::default();
    if !TELLS_SHARDS && !status.contains(StatusFlags::AUTOCOMMIT) {
        left_out |= StatusFlags::IN_TRANSACTION;
    }
    if !TELLS_CURSORS && result.columns.is_empty() {
        left_out |= StatusFlags::CURSOR_EXISTS | StatusFlags::LAST_ROW_SENT;
    }
    status - left_out
}
