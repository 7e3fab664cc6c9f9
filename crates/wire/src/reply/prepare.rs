//! The definitions in a prepare answer: of the parameters, then of the columns.
//!
//! Each block that has any is closed by an EOF packet, also when its definitions are left out, or
//! by nothing if both sides agreed on `DEPRECATE_EOF`.

use super::End;
use super::phase::{Phase, Step, unexpected};
use crate::codec::Reader;
use crate::packet::{Eof, PrepareOk};
use crate::{Capabilities, Codec as _, WireError};

/// What is still to come of a prepare answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Definitions {
    /// Definitions left in the current block; 0 when its EOF packet is due.
    left: u16,
    /// The number of definitions in the block after it, if there is one.
    then: Option<u16>,
}

impl Definitions {
    /// Whether the next message is a definition, not the EOF packet behind a block.
    pub const fn is_definition(self) -> bool {
        self.left > 0
    }

    /// Reads the first packet of the answer.
    pub(super) fn announced(head: &[u8], caps: Capabilities) -> Result<Step, WireError> {
        let prepare = PrepareOk::read(&mut Reader::new(head), caps)?;
        let follows = prepare.metadata_follows.unwrap_or(true);
        let block = |count: u16| (count > 0).then_some(if follows { count } else { 0 });
        Ok(match (block(prepare.params), block(prepare.columns)) {
            (Some(left), then) => Self { left, then }.go_on(End::Other, caps),
            (None, Some(left)) => Self { left, then: None }.go_on(End::Other, caps),
            (None, None) => Step::End(End::Other),
        })
    }

    /// Judges the next message of the answer.
    pub(super) fn next(self, head: &[u8], len: u32, caps: Capabilities) -> Result<Step, WireError> {
        if self.left > 0 {
            return Ok(Self { left: self.left - 1, ..self }.go_on(End::Other, caps));
        }
        if head.first() != Some(&0xfe) || !Eof::ends_rows(len as usize, caps) {
            return Err(unexpected("EOF after definitions"));
        }
        let eof = End::of_rows(head, len as usize, caps)?;
        Ok(self.next_block(eof, caps))
    }

    /// The step to what is left; `end` is the answer's end if that is nothing.
    fn go_on(self, end: End, caps: Capabilities) -> Step {
        if self.left == 0 && caps.contains(Capabilities::DEPRECATE_EOF) {
            return self.next_block(end, caps);
        }
        Step::Next(Phase::Definitions(self))
    }

    fn next_block(self, end: End, caps: Capabilities) -> Step {
        match self.then {
            Some(left) => Self { left, then: None }.go_on(end, caps),
            None => Step::End(end),
        }
    }
}
