//! What the proxy does otherwise than a server today where there are shards. Seeds with shards
//! leave it out; a constant that is set plays it.

use testkit::client::QueryResult;
use wire::StatusFlags;

use super::author::Step;
use super::command::Command;
use super::model::Session;

/// `SET autocommit = 1` in a transaction that `BEGIN` has opened with autocommit on. It goes on at
/// real servers, but not at those of the model.
const SETS_AGAIN: bool = false;

/// `ROW_COUNT()` behind `BEGIN`, which no server has heard. It is that of the statement before.
const COUNTS_BEGIN: bool = false;

/// `IN_TRANSACTION` without autocommit, behind a statement at home. Only shards are in the
/// transaction, and home does not say so.
const TELLS_SHARDS: bool = false;

/// Flags of an OK that the proxy makes. It has those of a cursor before it.
const TELLS_CURSORS: bool = false;

/// `SHOW WARNINGS` behind an error 1235 of the proxy's own. It is empty.
pub(super) const SHOWS_REFUSALS: bool = false;

/// This step, without what is left out.
pub(super) fn without_gaps(step: Step, twin: &Session) -> Step {
    let Step::Commands(mut all) = step else { return step };
    let is_open = twin.status().contains(StatusFlags::IN_TRANSACTION);
    for command in &mut all {
        let Command::Text(text) = &*command else { continue };
        let sets_again = is_open && text == "SET autocommit = 1" && twin.autocommit;
        let counts = text == "SELECT ROW_COUNT()" && twin.last().row_count == 0;
        if counts && !COUNTS_BEGIN || sets_again && !SETS_AGAIN {
            *command = Command::Ping;
        }
    }
    Step::Commands(all)
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
