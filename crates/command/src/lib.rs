//! What a client asks: its command as a [value](Command), and what a server gets [in its
//! place](Patch). Pure: no socket, no clock, no random source.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

mod patch;

pub use patch::{Patch, add_types, renumber, splice};

use wire::command::{
    Attribute, ExecuteParams, Kind, Query, STATEMENT_ID, StmtExecute, opens_cursor, statement_id,
};
use wire::frame::{HEADER_LEN, Header};
use wire::reply::Answer;
use wire::{Capabilities, Codec as _, WireError};

/// Bytes of a `COM_STMT_EXECUTE` up to and including its flags.
const EXECUTE_HEAD: usize = STATEMENT_ID.end + 1;

/// Whether a command has to do with a transaction, or ends it.
pub const fn is_about_transactions(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Query
            | Kind::StmtPrepare
            | Kind::StmtExecute
            | Kind::StmtBulkExecute
            | Kind::StmtFetch
            | Kind::Quit
            | Kind::ChangeUser
            | Kind::ResetConnection
    )
}

/// The command that bytes of a client begin with, as far as it is there.
#[derive(Debug, Clone, Copy)]
pub struct Command<'b> {
    /// Its command byte.
    pub kind: Kind,
    /// Its first packet, with the header, as far as it is there.
    packet: &'b [u8],
    header: Header,
    /// What the client and the proxy have agreed on.
    pub caps: Capabilities,
    /// See [`Command::text`].
    text: &'b [u8],
    /// Its head and the bytes of its parameters, if it is an execution and these make sense.
    execution: Option<StmtExecute<'b>>,
}

/// A command that was copied, as far as it was there.
#[derive(Debug, Clone)]
pub struct Copied {
    kind: Kind,
    packet: Vec<u8>,
    header: Header,
    caps: Capabilities,
}

impl Copied {
    /// The command.
    pub fn command(&self) -> Command<'_> {
        Command::new(self.kind, &self.packet, self.header, self.caps)
    }
}

impl<'b> Command<'b> {
    /// The command that `input` begins with; nothing if the header is not there, or there is no
    /// such command.
    pub fn first(input: &'b [u8], caps: Capabilities) -> Option<Self> {
        let header = Header::parse(*input.first_chunk()?);
        let len = HEADER_LEN + header.len as usize;
        let packet = input.get(..len).unwrap_or(input);
        let kind = Kind::try_from(*packet.get(HEADER_LEN)?).ok()?;
        Some(Self::new(kind, packet, header, caps))
    }

    fn new(kind: Kind, packet: &'b [u8], header: Header, caps: Capabilities) -> Self {
        let mut command = Self { kind, packet, header, caps, text: &[], execution: None };
        let payload = command.payload();
        match kind {
            Kind::Query => command.text = text(payload, caps),
            Kind::StmtPrepare | Kind::InitDb => command.text = payload.get(1..).unwrap_or_default(),
            Kind::StmtExecute => command.execution = StmtExecute::decode(payload, caps).ok(),
            _ => {}
        }
        command
    }

    /// A copy of it.
    pub fn copied(&self) -> Copied {
        Copied { kind: self.kind, packet: self.packet.to_vec(), header: self.header, caps: self.caps }
    }

    /// Its first packet, with the header, as far as it is there.
    pub const fn packet(&self) -> &'b [u8] {
        self.packet
    }

    /// The payload of its first packet, as far as it is there.
    pub fn payload(&self) -> &'b [u8] {
        self.packet.get(HEADER_LEN..).unwrap_or_default()
    }

    /// The length of that payload when all of it has come.
    pub const fn payload_len(&self) -> u32 {
        self.header.len
    }

    /// Whether all of its first packet is there.
    pub const fn is_there(&self) -> bool {
        self.packet.len() == HEADER_LEN + self.header.len as usize
    }

    /// Whether it has more packets than one.
    pub const fn continues(&self) -> bool {
        self.header.continues()
    }

    /// Whether all of it is there, in one packet.
    pub const fn is_whole(&self) -> bool {
        self.is_there() && !self.continues()
    }

    /// What kind of answer follows.
    pub fn answer(&self) -> Answer {
        if self.opens_cursor() { Answer::Cursor } else { self.kind.answer() }
    }

    /// Whether it is an execution that asks for a cursor.
    pub fn opens_cursor(&self) -> bool {
        opens_cursor(self.payload())
    }

    /// The prepared statement that it names, if it is a command for one.
    pub fn statement(&self) -> Option<u32> {
        if self.kind.names_statement() { statement_id(self.payload()) } else { None }
    }

    /// The text of a statement or the name of a schema in it, without attributes. Of one that is
    /// cut, what is there.
    pub const fn text(&self) -> &'b [u8] {
        self.text
    }

    /// The text in the attribute of this name, also of an execution of a statement with so many
    /// parameters; nothing if it is not there, or a long text.
    pub fn attribute(&self, name: &[u8], params: u16) -> Option<&'b [u8]> {
        if !self.caps.contains(Capabilities::QUERY_ATTRIBUTES) {
            return None;
        }
        let is_it = |attribute: &Attribute<'_>| attribute.name == name;
        let attribute = match self.kind {
            Kind::Query if !self.has_attributes() => None,
            Kind::Query => Query::decode(self.payload(), self.caps).ok()?.attributes.iter().find(is_it),
            _ => self.execution?.attributes(params, self.caps).find(is_it),
        };
        // A text has its length in front, in one byte if it is short.
        attribute?.value?.get(1..)
    }

    /// Whether attributes come with a query.
    pub fn has_attributes(&self) -> bool {
        let has_some = self.payload().get(1).is_some_and(|count| *count > 0);
        self.kind == Kind::Query && self.caps.contains(Capabilities::QUERY_ATTRIBUTES) && has_some
    }

    /// Its head and the bytes of its parameters, if it is an execution, and these make sense.
    pub const fn execution(&self) -> Option<StmtExecute<'b>> {
        self.execution
    }

    /// What the parameters of an execution of a statement with so many lack, if they do not make
    /// sense.
    pub fn wrong_params(&self, count: u16) -> Option<WireError> {
        if self.kind != Kind::StmtExecute {
            return None;
        }
        StmtExecute::decode(self.payload(), self.caps).and_then(|it| it.params(count, self.caps)).err()
    }

    /// The parameters of an execution of a statement with so many; nothing if they do not make
    /// sense.
    pub fn params(&self, count: u16) -> Option<ExecuteParams<'b>> {
        self.execution?.params(count, self.caps).ok()
    }

    /// The types of these that come along, without those of attributes.
    pub fn types(&self, count: u16) -> Option<&'b [u8]> {
        self.params(count)?.types_without_attributes(count, self.caps)
    }
}

/// The text of the statement in the payload of a `COM_QUERY`, without its attributes. Of one that
/// is cut, what is there.
fn text(payload: &[u8], caps: Capabilities) -> &[u8] {
    if !caps.contains(Capabilities::QUERY_ATTRIBUTES) {
        return payload.get(1..).unwrap_or_default();
    }
    match payload {
        // No attributes, in the one set that there always is.
        [_, 0, 1, text @ ..] => text,
        _ => Query::decode(payload, caps).map_or(&[], |query| query.text),
    }
}

/// Whether the header of the first packet is there, and as much behind it as tells what kind of
/// answer follows.
pub fn is_visible(input: &[u8]) -> bool {
    const EXECUTE: u8 = Kind::StmtExecute as u8;
    match input {
        [0, 0, 0, _, ..] => true,
        [len, 0, 0, _, EXECUTE, ..] => input.len() >= HEADER_LEN + EXECUTE_HEAD.min((*len).into()),
        [_, _, _, _, EXECUTE, ..] => input.len() >= HEADER_LEN + EXECUTE_HEAD,
        // Which statement it is about decides where it goes, and as what.
        [len, middle, high, _, kind, ..] if Kind::try_from(*kind).is_ok_and(Kind::names_statement) => {
            let is_short = (*middle, *high) == (0, 0) && usize::from(*len) < STATEMENT_ID.end;
            is_short || input.len() >= HEADER_LEN + STATEMENT_ID.end
        }
        _ => input.len() > HEADER_LEN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Capabilities = Capabilities::PROTOCOL_41;
    const WITH_ATTRIBUTES: Capabilities = PLAIN.union(Capabilities::QUERY_ATTRIBUTES);

    fn first(input: &[u8], caps: Capabilities) -> Command<'_> {
        Command::first(input, caps).unwrap()
    }

    #[test]
    fn a_command_ends_where_its_header_says() {
        let all = b"\x02\0\0\0\x03A\x01\0\0\0\x0e";
        let command = first(all, PLAIN);
        assert_eq!(
            (command.kind, command.payload(), command.packet()),
            (Kind::Query, &b"\x03A"[..], &all[..6])
        );
        assert!(command.is_whole());
        assert_eq!(first(&all[6..], PLAIN).kind, Kind::Ping);
        let cut = first(b"\x03\0\0\0\x03A", PLAIN);
        assert_eq!((cut.payload(), cut.payload_len(), cut.is_whole()), (&b"\x03A"[..], 3, false));
        let long = first(b"\xff\xff\xff\0\x03A", PLAIN);
        assert!(long.continues() && !long.is_there());
        for nothing in [&b""[..], b"\x02\0\0", b"\x02\0\0\0", b"\0\0\0\0\x03", b"\x01\0\0\0\x60"] {
            assert!(Command::first(nothing, PLAIN).is_none(), "{nothing:?}");
        }
        let copied = command.copied();
        assert_eq!((copied.command().packet(), copied.command().kind), (command.packet(), Kind::Query));
    }

    #[test]
    fn texts_are_without_attributes() {
        assert_eq!(first(b"\x03\0\0\0\x03DO", PLAIN).text(), b"DO");
        assert_eq!(first(b"\x05\0\0\0\x03\0\x01DO", WITH_ATTRIBUTES).text(), b"DO");
        assert_eq!(first(b"\x03\0\0\0\x16DO", WITH_ATTRIBUTES).text(), b"DO");
        // One attribute: no NULL, with types, a string that is called `a`.
        let one = b"\x0d\0\0\0\x03\x01\x01\0\x01\xfe\0\x01a\x01bDO";
        let command = first(one, WITH_ATTRIBUTES);
        assert_eq!((command.text(), command.has_attributes()), (&b"DO"[..], true));
        assert_eq!((command.attribute(b"a", 0), command.attribute(b"b", 0)), (Some(&b"b"[..]), None));
        assert_eq!(first(one, PLAIN).attribute(b"a", 0), None);
    }

    #[test]
    fn an_execution_names_its_statement_and_has_its_parameters() {
        // A cursor, the type of one parameter, and its value.
        let input = b"\x16\0\0\0\x17\x07\0\0\0\x01\x01\0\0\0\0\x01\x08\0\x05\0\0\0\0\0\0\0";
        let command = first(input, PLAIN);
        assert!(command.is_whole());
        assert_eq!((command.statement(), command.answer()), (Some(7), Answer::Cursor));
        assert_eq!(command.types(1), Some(&b"\x08\0"[..]));
        assert_eq!(command.params(1).map(|params| params.values.len()), Some(8));
        assert!(command.wrong_params(1).is_none() && command.wrong_params(0).is_some());
        assert_eq!(first(b"\x01\0\0\0\x0e", PLAIN).statement(), None);
    }

    #[test]
    fn c16_a_command_is_seen_with_the_number_of_its_statement() {
        assert!(!is_visible(b"\x05\0\0\0") && !is_visible(b"\x05\0\0\0\x19\x01\0\0"));
        assert!(is_visible(b"\x05\0\0\0\x19\x01\0\0\0") && is_visible(b"\x02\0\0\0\x03"));
        // The flags say which answer follows.
        assert!(!is_visible(b"\x0a\0\0\0\x17\x01\0\0\0") && is_visible(b"\x0a\0\0\0\x17\x01\0\0\0\0"));
        assert!(is_visible(b"\x03\0\0\0\x17\x01\0"), "it is too short, which the server has to say");
        assert!(is_visible(b"\0\0\0\0"));
    }
}
