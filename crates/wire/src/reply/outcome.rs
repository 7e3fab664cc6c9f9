//! What is asked of a scan, and what it finds.

use super::head;
use crate::codec::Reader;
use crate::packet::Eof;
use crate::{Capabilities, Codec as _, StatusFlags, WireError};

/// The shortest OK packet; rows that end with a shorter one have an EOF packet whatever was agreed.
const OK_MIN: usize = 7;

/// Which kind of answer follows a command; [`command::Kind::answer`](crate::command::Kind::answer)
/// tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Answer {
    /// None at all.
    None,
    /// OK, ERR, a request for a local file, or results, as many as there are.
    Result,
    /// The same after a `COM_STMT_EXECUTE` that asked for a cursor: a result whose status says that
    /// there is one has no rows. (Without being asked for, the flag tells of a cursor inside a
    /// routine, and the rows are there.)
    Cursor,
    /// The answer of `COM_STMT_PREPARE`: a header and definitions of parameters and columns.
    Prepare,
    /// Column definitions without a count.
    FieldList,
    /// Rows without column definitions.
    Fetch,
    /// One packet of plain text.
    Statistics,
    /// One OK, EOF or ERR packet.
    Single,
    /// Packets of a login, ended by OK or ERR. The client must answer some of them: the scan is
    /// done at each of these, with [`End::Other`], and a new scanner
    /// [starts](super::ReplyScanner::starting_at) behind the client's packet.
    Auth,
    /// A stream that only an EOF or ERR packet ends (a binary log). Sequence ids are not checked,
    /// because a replica's acknowledgements start them anew.
    Endless,
}

/// What one call of [`ReplyScanner::scan`](super::ReplyScanner::scan) found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scan {
    /// How many bytes at the start of the input belong to this answer.
    pub len: usize,
    /// What happened at their end.
    pub event: Event,
}

/// What happens behind the bytes of a [`Scan`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The answer goes on; the whole input belongs to it.
    More,
    /// The answer goes on with another result, behind a packet that tells of changes in the
    /// session: only told to who has [asked](super::ReplyScanner::stopping_at_changes).
    Changed,
    /// The server asks the client for a file. The client sends packets up to an empty one, and
    /// [`ReplyScanner::file_sent`](super::ReplyScanner::file_sent) resumes the scan; until then it
    /// stands still.
    LocalInfile,
    /// The answer is over.
    Done(Outcome),
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// The last packet.
    pub end: End,
    /// Rows in all results of the answer.
    pub rows: u64,
    /// Whether the last packet ends rows, of which there may be none, or a list of fields.
    pub ends_rows: bool,
}

/// A statement that a server has prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prepared {
    /// The server's number for it, unique on its connection.
    pub id: u32,
    /// How many values an execution needs.
    pub params: u16,
    /// How many columns its result has; 0 if it has none.
    pub columns: u16,
    /// The number of warnings.
    pub warnings: u16,
}

/// The last packet of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// An OK packet, with either header.
    Ok {
        /// Rows changed (or found).
        affected_rows: u64,
        /// The first generated key, 0 if there is none.
        last_insert_id: u64,
        /// The connection's status.
        status: StatusFlags,
        /// The number of warnings.
        warnings: u16,
    },
    /// An EOF packet.
    Eof {
        /// The connection's status.
        status: StatusFlags,
        /// The number of warnings.
        warnings: u16,
    },
    /// An ERR packet.
    Err {
        /// The error's number.
        code: u16,
    },
    /// Something that says nothing about the connection: no answer, statistics, a prepare answer
    /// without EOF packets, a login packet that the client must answer.
    Other,
}

impl End {
    /// How rows end whose last packet has `len` bytes, begins with `0xfe`, and has this `head`: all
    /// of it, or what is there of the numbers and more.
    #[inline]
    pub fn of_rows(head: &[u8], len: usize, caps: Capabilities) -> Result<Self, WireError> {
        if len >= OK_MIN && caps.contains(Capabilities::DEPRECATE_EOF) {
            return head::ok(head);
        }
        let Eof { status, warnings } = Eof::read(&mut Reader::new(head), caps)?;
        Ok(Self::Eof { status, warnings })
    }

    /// The connection's status; none where the packet does not tell it.
    pub const fn status(&self) -> StatusFlags {
        match self {
            Self::Ok { status, .. } | Self::Eof { status, .. } => *status,
            Self::Err { .. } | Self::Other => StatusFlags::empty(),
        }
    }
}

impl Outcome {
    /// The connection's status, where the last packet tells it.
    pub const fn status(&self) -> Option<StatusFlags> {
        match self.end {
            End::Ok { status, .. } | End::Eof { status, .. } => Some(status),
            End::Err { .. } | End::Other => None,
        }
    }
}
