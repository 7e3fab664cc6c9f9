//! What clients send after the login: one command, one file.
//!
//! A command is one message whose first byte says which ([`Kind`]). Each type here implements
//! [`Codec`](crate::Codec) for the whole payload with that byte. Commands that servers refuse, and
//! those after which a connection speaks another protocol (`COM_CLONE`, group replication), have a
//! kind and no type.
//!
//! Sources: "Command Phase" in MySQL's protocol documentation, one page per command, and the same
//! chapter of MariaDB's.

mod attributes;
mod bare;
mod binlog_dump;
mod binlog_dump_gtid;
mod change_user;
mod create_db;
mod debug;
mod drop_db;
mod field_list;
mod init_db;
mod kind;
mod one_field;
mod ping;
mod process_info;
mod process_kill;
mod query;
mod quit;
mod refresh;
mod register_replica;
mod reset_connection;
mod send_long_data;
mod set_option;
mod shutdown;
mod statistics;
mod stmt_bulk_execute;
mod stmt_close;
mod stmt_execute;
mod stmt_fetch;
mod stmt_prepare;
mod stmt_reset;
mod value;

/// What MariaDB takes as the number of the statement that was prepared last on a connection
/// (`COM_STMT_EXECUTE` in its documentation).
pub const LAST_STATEMENT: u32 = u32::MAX;

/// Where the number of the statement is in the payload of a command for a prepared statement:
/// behind the command byte, in four bytes.
pub const STATEMENT_ID: Range<usize> = 1..5;

/// Number of the statement in the payload of a command for a prepared statement; nothing if that is
/// shorter.
pub fn statement_id(payload: &[u8]) -> Option<u32> {
    payload.get(STATEMENT_ID).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes)
}

/// Whether a command's payload is an execution that asks for a cursor: read-only, for update or
/// scrollable (`CURSOR_TYPE_*`).
pub fn opens_cursor(payload: &[u8]) -> bool {
    const CURSORS: u8 = 0b111;
    let flags = payload.get(STATEMENT_ID.end).filter(|_| payload.first() == Some(&(Kind::StmtExecute as u8)));
    flags.is_some_and(|flags| flags & CURSORS != 0)
}

pub use attributes::{Attribute, Attributes};
pub use binlog_dump::BinlogDump;
pub use binlog_dump_gtid::BinlogDumpGtid;
pub use change_user::ChangeUser;
pub use create_db::CreateDb;
pub use debug::Debug;
pub use drop_db::DropDb;
pub use field_list::FieldList;
pub use init_db::InitDb;
pub use kind::{Kind, UnknownCommand};
pub use ping::Ping;
pub use process_info::ProcessInfo;
pub use process_kill::ProcessKill;
pub use query::Query;
pub use quit::Quit;
pub use refresh::Refresh;
pub use register_replica::RegisterReplica;
pub use reset_connection::ResetConnection;
pub use send_long_data::SendLongData;
pub use set_option::SetOption;
pub use shutdown::Shutdown;
pub use statistics::Statistics;
pub use stmt_bulk_execute::StmtBulkExecute;
pub use stmt_close::StmtClose;
pub use stmt_execute::{ExecuteParams, StmtExecute};
pub use stmt_fetch::StmtFetch;
pub use stmt_prepare::StmtPrepare;
pub use stmt_reset::StmtReset;
pub use value::{Width, take as take_value};

use std::ops::Range;

use crate::WireError;
use crate::codec::Reader;

/// Takes the command byte, and refuses another one than that of `kind`.
fn expect(reader: &mut Reader<'_>, kind: Kind) -> Result<(), WireError> {
    match reader.u8("command")? {
        byte if byte == kind as u8 => Ok(()),
        byte => Err(WireError::Invalid { field: "command", value: byte.into() }),
    }
}
