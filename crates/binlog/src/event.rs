//! What events say.

mod compressed_query;
pub(crate) mod format;
mod gtid;
mod heartbeat;
mod mariadb_gtid;
mod modes;
mod query;
mod rotate;
mod rows;
mod table_map;
mod tagged_gtid;
mod variable_length;
mod xa_prepare;

use wire::WireError;
use wire::codec::Reader;

pub use mariadb_gtid::Change;
pub use query::Statement;

use crate::header::Header;
use crate::kind;
use crate::xid::Xid;

/// An event, and where it ends in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logged<'a> {
    /// The lower 32 bits of the position behind the event; 0 if the event has none.
    pub next_position: u32,
    /// The event.
    pub event: Event<'a>,
}

/// What an event says. Events that say nothing about transactions and tables are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event<'a> {
    /// How the events behind this one are laid out: a file begins.
    Format {
        /// The server's version.
        version: &'a [u8],
    },
    /// The log goes on in this file.
    Rotate {
        /// The file's name.
        file: &'a [u8],
        /// Where in the file the next event begins, in bytes.
        position: u64,
    },
    /// A transaction begins.
    Begin(Begin),
    /// A statement: of a transaction, or one that begins or ends it.
    Statement(Statement<'a>),
    /// A table that the rows behind this event may be of.
    Table {
        /// The table's number in row events of the same statement.
        id: u64,
        /// The table's schema.
        schema: &'a [u8],
        /// The table's name.
        name: &'a [u8],
    },
    /// Rows of a table.
    Rows {
        /// The table's number.
        id: u64,
    },
    /// The transaction is committed.
    Commit,
    /// The XA transaction is prepared: its commit follows in another transaction.
    Prepare {
        /// The transaction's name.
        xid: Xid,
        /// The transaction is committed with this event.
        one_phase: bool,
    },
    /// Events of one transaction follow that were compressed together.
    Compressed,
    /// The compressed events end, and so does the transaction.
    Expanded {
        /// All of them were read. If not, the transaction may have changed any table.
        whole: bool,
    },
    /// The server has lost events.
    Incident,
    /// There was nothing to log. The log ends here.
    Heartbeat {
        /// The name of the log's last file.
        file: &'a [u8],
        /// Where the log ends, in bytes.
        position: u64,
    },
    /// An event of an unknown type, which the server does not call ignorable.
    Unknown {
        /// The type's number.
        kind: u8,
    },
    /// The server has sent the whole log, and was asked not to wait for more.
    End,
    /// The server ends the stream with an error.
    Refused {
        /// The error's number: 1236 if the log cannot be read from the position that was asked for.
        code: u16,
        /// The error's text.
        message: &'a [u8],
    },
}

/// How a transaction begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begin {
    /// The transaction's GTID; `None` if the server gives none.
    pub gtid: Option<::gtid::Gtid>,
    /// What the transaction is, as far as its begin says.
    pub change: Change,
}

/// Reads an event of a type that is kept. `body` are the event's first bytes behind its header;
/// `is_cut` says that there were more.
pub(crate) fn read<'a>(
    header: Header,
    body: &'a [u8],
    is_cut: bool,
    room: &'a mut Vec<u8>,
) -> Result<Event<'a>, WireError> {
    let mut reader = Reader::new(body);
    Ok(match header.kind {
        kind::ROTATE => rotate::read(&mut reader)?,
        kind::QUERY | kind::EXECUTE_LOAD_QUERY | kind::QUERY_COMPRESSED if is_cut => {
            Event::Statement(Statement::UNREADABLE)
        }
        kind::QUERY => Event::Statement(query::read(&mut reader)?),
        kind::EXECUTE_LOAD_QUERY => Event::Statement(query::read_load(&mut reader)?),
        kind::QUERY_COMPRESSED => {
            Event::Statement(compressed_query::expand(query::read(&mut reader)?, room)?)
        }
        kind::TABLE_MAP => table_map::read(&mut reader)?,
        kind::XID => {
            reader.u64("transaction number")?;
            Event::Commit
        }
        kind::INCIDENT => Event::Incident,
        kind::HEARTBEAT => heartbeat::read(header.next_position, &mut reader)?,
        kind::HEARTBEAT_V2 => heartbeat::read_v2(&mut reader)?,
        kind::GTID => Event::Begin(gtid::read(&mut reader)?),
        kind::ANONYMOUS_GTID => Event::Begin(Begin { gtid: None, change: Change::ToBeSeen }),
        kind::GTID_TAGGED => Event::Begin(tagged_gtid::read(&mut reader)?),
        kind::MARIADB_GTID => Event::Begin(mariadb_gtid::read(header.server_id, &mut reader)?),
        kind::XA_PREPARE => xa_prepare::read(&mut reader)?,
        kind if kind::has_rows(kind) => rows::read(&mut reader)?,
        kind => Event::Unknown { kind },
    })
}
