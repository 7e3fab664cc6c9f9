//! What the next message of an answer means, and what comes after it.

use super::head;
use super::prepare::Definitions;
use super::{Answer, End};
use crate::packet::Eof;
use crate::{Capabilities, StatusFlags, WireError};

/// Error code of MariaDB's progress reports, which are ERR packets that end nothing.
const PROGRESS: u16 = 0xffff;

/// What the next message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// There is none, and never was.
    Nothing,
    /// The first of a result: OK, a file request, or a column count.
    First,
    /// A column definition; `left` of them, with this one.
    Columns {
        /// Never 0.
        left: u32,
    },
    /// The EOF packet after the column definitions.
    ColumnsEnd,
    /// A row, or the terminator.
    Rows,
    /// The row of a procedure's OUT parameters, or the terminator, which does not announce the OK
    /// that follows.
    OutParams,
    /// The client's turn: it sends a file.
    File,
    /// The answer to a file.
    AfterFile,
    /// The first of a prepare answer.
    Prepare,
    /// A definition of a prepare answer, or the EOF packet after the last one.
    Definitions(Definitions),
    /// A column definition of a field list, or the terminator.
    Fields,
    /// Anything, once.
    Text,
    /// OK or EOF.
    Single,
    /// OK, or a login packet.
    Login,
    /// A packet of a stream, or its terminator.
    Endless,
    /// None any more: the answer is over.
    Over,
}

/// What a message led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It was a row; the phase stays.
    Row,
    /// The answer goes on.
    Next(Phase),
    /// A result of the answer is over, and another one follows.
    Result(End),
    /// The server asks for a file.
    File,
    /// It was the last one.
    End(End),
}

impl Phase {
    /// The phase at the start of an answer.
    pub const fn first(answer: Answer) -> Self {
        match answer {
            Answer::None => Self::Nothing,
            Answer::Result | Answer::Cursor => Self::First,
            Answer::Prepare => Self::Prepare,
            Answer::FieldList => Self::Fields,
            Answer::Fetch => Self::Rows,
            Answer::Statistics => Self::Text,
            Answer::Single => Self::Single,
            Answer::Auth => Self::Login,
            Answer::Endless => Self::Endless,
        }
    }

    /// Judges one message: `head` is the start of its payload (all of a short one), `len` the
    /// payload length of its first packet, `cursor` whether one was asked for.
    #[inline]
    pub fn next(self, head: &[u8], len: u32, caps: Capabilities, cursor: bool) -> Result<Step, WireError> {
        let &first = head.first().ok_or(WireError::Truncated { field: "packet", needed: 1, left: 0 })?;
        if first == 0xff {
            let code = head::err(head, caps)?;
            let progress = code == PROGRESS && caps.contains(Capabilities::MARIADB_PROGRESS);
            return Ok(if progress { Step::Next(self) } else { Step::End(End::Err { code }) });
        }
        let terminator = first == 0xfe && Eof::ends_rows(len as usize, caps);
        match self {
            Self::First => first_of_result(head, caps),
            Self::Columns { left: 0 | 1 } => Ok(Step::Next(after_columns(caps))),
            Self::Columns { left } => Ok(Step::Next(Self::Columns { left: left - 1 })),
            Self::ColumnsEnd if terminator => {
                let end = End::of_rows(head, len as usize, caps)?;
                let status = end.status();
                Ok(if cursor && status.contains(StatusFlags::CURSOR_EXISTS) {
                    end_of_result(end)
                } else if status.contains(StatusFlags::PS_OUT_PARAMS.union(StatusFlags::MORE_RESULTS)) {
                    Step::Next(Self::OutParams)
                } else {
                    Step::Next(Self::Rows)
                })
            }
            Self::OutParams if terminator => Ok(Step::Next(Self::First)),
            Self::Rows if terminator => End::of_rows(head, len as usize, caps).map(end_of_result),
            Self::Rows | Self::OutParams => Ok(Step::Row),
            Self::AfterFile if first == 0x00 => head::ok(head).map(end_of_result),
            Self::Prepare if first == 0x00 => Definitions::announced(head, caps),
            Self::Definitions(definitions) => definitions.next(head, len, caps),
            // A definition begins with the length of "def"; MariaDB may answer OK where there is no
            // such table.
            Self::Single | Self::Login | Self::Fields if first == 0x00 => head::ok(head).map(Step::End),
            // Events of a binary log start with 0x00.
            Self::Single | Self::Fields | Self::Endless if terminator => {
                End::of_rows(head, len as usize, caps).map(Step::End)
            }
            Self::Fields | Self::Endless => Ok(Step::Next(self)),
            // The fast success of caching_sha2_password needs no answer: OK follows.
            Self::Login if head == [0x01, 0x03] => Ok(Step::Next(self)),
            Self::Login | Self::Text => Ok(Step::End(End::Other)),
            Self::ColumnsEnd => Err(unexpected("EOF after column definitions")),
            Self::AfterFile => Err(unexpected("OK or ERR after a file")),
            Self::Prepare => Err(unexpected("a prepare answer")),
            Self::Single => Err(unexpected("OK, EOF or ERR")),
            Self::Nothing | Self::File | Self::Over => Err(unexpected("no packet")),
        }
    }
}

/// The first message of a result, which is not an ERR packet.
#[inline]
fn first_of_result(head: &[u8], caps: Capabilities) -> Result<Step, WireError> {
    match head {
        [0x00, ..] => head::ok(head).map(end_of_result),
        [0xfb, ..] => Ok(Step::File),
        _ => {
            let (columns, follow) = head::column_count(head, caps)?;
            Ok(Step::Next(if follow { Phase::Columns { left: columns } } else { after_columns(caps) }))
        }
    }
}

/// An OK packet or a terminator: the end of the answer unless it announces another result.
fn end_of_result(end: End) -> Step {
    let more = end.status().contains(StatusFlags::MORE_RESULTS);
    if more { Step::Result(end) } else { Step::End(end) }
}

const fn after_columns(caps: Capabilities) -> Phase {
    if caps.contains(Capabilities::DEPRECATE_EOF) { Phase::Rows } else { Phase::ColumnsEnd }
}

/// The error for a message of another kind than its place allows.
pub(super) const fn unexpected(expected: &'static str) -> WireError {
    WireError::Unexpected { expected, got: "another packet" }
}
