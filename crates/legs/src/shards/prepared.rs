//! Prepared statements over sharded tables.
//!
//! Their numbers are the outer session's. A statement is prepared at one shard to find out what it
//! is, and at others when an execution goes there.

use std::collections::HashMap;
use std::rc::Rc;

use runtime::limits::{PARTS_BYTES_MAX, PREPARED_BYTES_MAX};
use session::state::Settings;
use wire::codec::Reader;
use wire::command::{LAST_STATEMENT, STATEMENT_ID, StmtExecute, statement_id};
use wire::packet::PrepareOk;
use wire::{Capabilities, Codec as _};

/// The first number. Servers, and the proxy for other statements, give smaller ones.
const FIRST_ID: u32 = 1 << 31;

/// Statements of one session.
const STATEMENTS_MAX: usize = 16_382;

/// The statements that a session has prepared over sharded tables.
#[derive(Debug, Default)]
pub struct Statements {
    by_id: HashMap<u32, Statement>,
    made: u32,
    /// Bytes of their texts.
    bytes: usize,
    /// Whether the last one that was prepared is one of them.
    is_last: bool,
}

/// A statement.
#[derive(Debug, Default)]
pub struct Statement {
    /// The client's text.
    pub text: Box<[u8]>,
    /// How its text is read and planned.
    pub context: Option<Rc<Context>>,
    /// How many parameters it has.
    pub params: u16,
    /// Types of the last execution that told them, without those of attributes.
    pub types: Option<Box<[u8]>>,
    /// Parts of values for the next execution: payloads of their commands.
    pub parts: Vec<Vec<u8>>,
    /// Where it is prepared.
    pub sites: Vec<Site>,
    /// The inner session at which a cursor is open, and the statement's number there.
    pub cursor: Option<(u64, u32)>,
    /// Parts of values were left out, as they were too long.
    pub is_cut: bool,
}

/// What a text means, as when its statement was prepared: later changes do not concern it.
#[derive(Debug)]
pub struct Context {
    /// The session's schema.
    pub schema: Box<[u8]>,
    /// How the text is read.
    pub read: sql::parse::Settings,
    /// What the session had set.
    pub settings: Rc<Settings>,
}

/// A statement at one shard.
#[derive(Debug)]
pub struct Site {
    /// The inner session, by its serial number.
    pub inner: u64,
    /// The text that the shard has; none if it is that of the client.
    pub text: Option<Vec<u8>>,
    /// The number that the inner session has given it.
    pub id: u32,
    /// What texts meant there: when they mean something else it is prepared anew.
    pub modes: u64,
}

impl Statements {
    /// Keeps a statement. Its number; none if there are too many.
    pub fn add(&mut self, statement: Statement) -> Option<u32> {
        let bytes = self.bytes + statement.text.len();
        if self.by_id.len() >= STATEMENTS_MAX || bytes > PREPARED_BYTES_MAX {
            return None;
        }
        self.bytes = bytes;
        self.is_last = true;
        loop {
            let id = FIRST_ID | (self.made & (FIRST_ID - 1));
            self.made = self.made.wrapping_add(1);
            if id != LAST_STATEMENT && !self.by_id.contains_key(&id) {
                self.by_id.insert(id, statement);
                return Some(id);
            }
        }
    }

    /// Another statement was prepared last.
    pub fn note_other(&mut self) {
        self.is_last = false;
    }

    /// The number of the statement that a command names, if it is one of these.
    pub fn named(&self, payload: &[u8]) -> Option<u32> {
        let id = statement_id(payload)?;
        let last = || FIRST_ID | (self.made.wrapping_sub(1) & (FIRST_ID - 1));
        let id = if id == LAST_STATEMENT && self.is_last { last() } else { id };
        self.by_id.contains_key(&id).then_some(id)
    }

    /// A statement.
    pub fn get(&mut self, id: u32) -> Option<&mut Statement> {
        self.by_id.get_mut(&id)
    }

    /// Forgets what is prepared in inner sessions that are not there any more.
    pub(crate) fn forget_sites(&mut self, is_gone: impl Fn(u64) -> bool) {
        for statement in self.by_id.values_mut() {
            statement.sites.retain(|site| !is_gone(site.inner));
        }
    }

    /// Forgets a statement.
    pub fn remove(&mut self, id: u32) -> Option<Statement> {
        let statement = self.by_id.remove(&id)?;
        self.bytes -= statement.text.len();
        Some(statement)
    }
}

impl Statement {
    /// Keeps a part of a value, if that is there, and the parts are not too long together.
    pub fn add_part(&mut self, payload: Option<&[u8]>) {
        let bytes: usize = self.parts.iter().map(Vec::len).sum();
        match payload.filter(|payload| bytes + payload.len() <= PARTS_BYTES_MAX) {
            Some(payload) => self.parts.push(payload.to_vec()),
            None => self.is_cut = true,
        }
    }

    /// The next execution has parts of its own.
    pub fn forget_parts(&mut self) {
        self.parts.clear();
        self.is_cut = false;
    }

    /// The number of the statement with this text at an inner session, if it is prepared there.
    pub fn site(&self, inner: u64, text: Option<&[u8]>) -> Option<u32> {
        let is_it = |site: &&Site| site.inner == inner && site.text.as_deref() == text;
        self.sites.iter().find(is_it).map(|site| site.id)
    }

    /// Takes out where it is prepared in an inner session in which texts meant something else.
    pub fn take_stale(&mut self, inner: u64, modes: u64) -> Vec<Site> {
        self.sites.extract_if(.., |site| site.inner == inner && site.modes != modes).collect()
    }

    /// Whether a part of the value of a parameter was sent.
    pub(crate) fn has_parts_of(&self, param: u16) -> bool {
        let number = param.to_le_bytes();
        self.parts.iter().any(|part| part.get(STATEMENT_ID.end..STATEMENT_ID.end + 2) == Some(&number))
    }

    /// Takes note of the types that an execution tells.
    pub fn note_types(&mut self, execute: &StmtExecute<'_>, caps: Capabilities) {
        if let Ok(params) = execute.params(self.params, caps)
            && let Some(types) = params.types_without_attributes(self.params, caps)
        {
            self.types = Some(types.into());
        }
    }
}

/// Whether a text may mean something else, or be refused, in other SQL modes: it has a quote or an
/// operator that modes make another one, or groups.
pub fn depends_on_modes(text: &[u8]) -> bool {
    let has = |word: &[u8]| text.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
    let is_mark = |byte: &u8| matches!(byte, b'"' | b'\\' | b'!');
    text.iter().any(is_mark) || [&b"||"[..], b"not", b"group", b"having"].iter().any(|word| has(word))
}

/// The number and the counts of columns and parameters in the reply to a `COM_STMT_PREPARE`.
pub fn prepared(reply: &[u8]) -> Option<(u32, u16)> {
    let mut reader = Reader::new(wire::frame::front(reply));
    let ok = PrepareOk::read(&mut reader, Capabilities::PROTOCOL_41).ok()?;
    Some((ok.statement_id, ok.params))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_quotes_operators_and_groups_depend_on_modes() {
        for text in ["SELECT \"a\"", "SELECT 'a' || b", r"SELECT 'a\\b'", "SELECT NOT 1 IN (2)", "group by a"]
        {
            assert!(depends_on_modes(text.as_bytes()), "{text}");
        }
        for text in ["UPDATE o SET v = v | 1 WHERE id = ?", "INSERT INTO `o` VALUES (?, 'a')"] {
            assert!(!depends_on_modes(text.as_bytes()), "{text}");
        }
    }
}
