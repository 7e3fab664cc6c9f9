//! What a server gets otherwise than its client has sent it.

use std::ops::Range;

use wire::command::STATEMENT_ID;
use wire::frame::{HEADER_LEN, Header, MAX_PAYLOAD, front};

use crate::Command;

/// The number that a server knows a prepared statement by, and the types of its parameters that it
/// lacks.
#[derive(Debug, Clone)]
pub enum Patch {
    /// The number.
    Name(u32),
    /// The number, and types for an execution.
    Typed(Box<Typed>),
}

/// Types that are added to an execution.
#[derive(Debug, Clone)]
pub struct Typed {
    known_as: u32,
    types: Vec<u8>,
    /// How many bytes of values stand behind them.
    values: usize,
}

impl Patch {
    /// Names the statement of an execution so, and adds these types, behind which so many bytes are
    /// its values. Nothing if it is too large for that.
    pub fn typed(command: Command<'_>, known_as: u32, types: &[u8], values: usize) -> Option<Self> {
        let has_room = !command.continues() && command.payload_len() as usize + types.len() < MAX_PAYLOAD;
        has_room.then(|| Self::Typed(Box::new(Typed { known_as, types: types.to_vec(), values })))
    }

    /// What a server gets in place of `input`, which begins with the command.
    pub fn applied(&self, input: &[u8]) -> Vec<u8> {
        let (known_as, more) = match self {
            Self::Name(known_as) => (*known_as, 0),
            Self::Typed(typed) => (typed.known_as, typed.types.len()),
        };
        let mut packets = Vec::with_capacity(input.len() + more);
        packets.extend_from_slice(input);
        renumber(packets.get_mut(HEADER_LEN..).unwrap_or_default(), known_as);
        if let Self::Typed(typed) = self {
            add_types(&mut packets, typed.values, &typed.types);
        }
        packets
    }
}

/// Puts the number of a statement in the place of that in a payload, which is of a command for it,
/// or of the answer that has prepared it.
pub fn renumber(payload: &mut [u8], id: u32) {
    if let Some(number) = payload.get_mut(STATEMENT_ID) {
        number.copy_from_slice(&id.to_le_bytes());
    }
}

/// Adds types to the execution that `command` begins with, of which so many bytes are its values.
/// False if it is too large for that.
pub fn add_types(command: &mut Vec<u8>, values: usize, types: &[u8]) -> bool {
    // In front of the values is the byte that says whether types follow.
    let Some(flag) = front(command).len().checked_sub(values + 1) else { return true };
    let has_room = splice(command, flag + 1..flag + 1, types);
    if has_room && let Some(flag) = command.get_mut(HEADER_LEN + flag) {
        *flag = 1;
    }
    has_room
}

/// Puts `with` in the place of a part of the payload, which is there, of the command that `bytes`
/// begin with. False if that is too large for it.
pub fn splice(bytes: &mut Vec<u8>, part: Range<usize>, with: &[u8]) -> bool {
    let Some(header) = bytes.first_chunk().map(|header| Header::parse(*header)) else {
        return false;
    };
    let is_there = part.start <= part.end && part.end <= front(bytes).len();
    let len = (header.len as usize).saturating_sub(part.len()) + with.len();
    if !is_there || header.continues() || len >= MAX_PAYLOAD {
        return false;
    }
    let part = HEADER_LEN + part.start..HEADER_LEN + part.end;
    bytes.splice(part, with.iter().copied());
    // Below 2^24: it was compared.
    let header = Header { len: u32::try_from(len).unwrap_or(header.len), ..header };
    if let Some(first) = bytes.first_chunk_mut() {
        *first = header.to_bytes();
    }
    true
}

#[cfg(test)]
mod tests {
    use wire::Capabilities;

    use super::*;

    #[test]
    fn a_patch_names_the_statement_and_adds_types() {
        // One parameter without its type, and another command behind.
        let input = b"\x14\0\0\0\x17\x07\0\0\0\0\x01\0\0\0\0\0\x05\0\0\0\0\0\0\0\x01\0\0\0\x0e";
        let command = Command::first(input, Capabilities::PROTOCOL_41).unwrap();
        let (named, behind) = (Patch::Name(0x102), &b"\x01\0\0\0\x0e"[..]);
        assert_eq!(named.applied(input)[5..9], [2, 1, 0, 0]);
        assert_eq!(named.applied(input)[9..], input[9..]);
        let patched = Patch::typed(command, 0x102, b"\x08\0", 8).unwrap().applied(input);
        let typed = Command::first(&patched, Capabilities::PROTOCOL_41).unwrap();
        assert_eq!((typed.statement(), typed.types(1)), (Some(0x102), Some(&b"\x08\0"[..])));
        assert_eq!(&patched[typed.packet().len()..], behind);
        let long = Command::first(b"\xff\xff\xff\0\x17\x07\0\0\0\0", Capabilities::PROTOCOL_41).unwrap();
        assert!(Patch::typed(long, 2, b"\x08\0", 8).is_none());
        // Of a long one only the beginning is there.
        assert_eq!(Patch::Name(2).applied(&input[..10])[..10], *b"\x14\0\0\0\x17\x02\0\0\0\0");
    }
}
