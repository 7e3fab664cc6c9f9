//! What changed in the session: the last part of an OK packet.

use crate::{
    Capabilities, Codec, WireError,
    codec::{Reader, put_lenenc, put_lenenc_bytes},
};

/// The changes that an [`Ok`](super::Ok) packet reports, decoded while they are looked at.
///
/// Source: "Session State Information" of `Protocol::OK_Packet`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionState<'a> {
    raw: &'a [u8],
}

impl<'a> SessionState<'a> {
    /// The changes that are encoded in `raw`, one after the other.
    pub const fn new(raw: &'a [u8]) -> Self {
        Self { raw }
    }

    /// The changes as they are on the wire.
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.raw
    }

    /// The bytes of `changes`, for [`new`](Self::new).
    pub fn encode(changes: &[StateChange<'_>]) -> Vec<u8> {
        let mut out = Vec::new();
        for change in changes {
            change.write(Capabilities::empty(), &mut out);
        }
        out
    }

    /// The changes in their order; ends after the first error.
    pub const fn iter(&self) -> StateChanges<'a> {
        StateChanges { left: Reader::new(self.raw) }
    }
}

impl<'a> IntoIterator for SessionState<'a> {
    type Item = Result<StateChange<'a>, WireError>;
    type IntoIter = StateChanges<'a>;

    fn into_iter(self) -> StateChanges<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for &SessionState<'a> {
    type Item = Result<StateChange<'a>, WireError>;
    type IntoIter = StateChanges<'a>;

    fn into_iter(self) -> StateChanges<'a> {
        self.iter()
    }
}

/// Iterator over the changes of a [`SessionState`].
#[derive(Debug, Clone)]
pub struct StateChanges<'a> {
    left: Reader<'a>,
}

impl<'a> Iterator for StateChanges<'a> {
    type Item = Result<StateChange<'a>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left.is_empty() {
            return None;
        }
        let change = StateChange::read(&mut self.left, Capabilities::empty());
        if change.is_err() {
            self.left.rest();
        }
        Some(change)
    }
}

/// One change in the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateChange<'a> {
    /// A variable that `session_track_system_variables` names has a new value.
    SystemVariable {
        /// The variable's name.
        name: &'a [u8],
        /// Its value as text.
        value: &'a [u8],
    },
    /// The default schema's name; empty if there is none any more.
    Schema(&'a [u8]),
    /// `1` if anything changed that a new connection would not have (`session_track_state_change`).
    StateChange(&'a [u8]),
    /// GTIDs, as `session_track_gtids` asks for them.
    Gtids(&'a [u8]),
    /// The statements that would open a transaction like the current one.
    TransactionCharacteristics(&'a [u8]),
    /// Eight characters, one for each thing that is open in the transaction (`T_______`).
    TransactionState(&'a [u8]),
    /// A change of a kind that this crate does not know.
    Unknown {
        /// The kind (`SESSION_TRACK_*`).
        kind: u8,
        /// Its data.
        data: &'a [u8],
    },
}

/// `SESSION_TRACK_*` of MySQL's `mysql_com.h`.
mod kind {
    pub(super) const SYSTEM_VARIABLES: u8 = 0;
    pub(super) const SCHEMA: u8 = 1;
    pub(super) const STATE_CHANGE: u8 = 2;
    pub(super) const GTIDS: u8 = 3;
    pub(super) const TRANSACTION_CHARACTERISTICS: u8 = 4;
    pub(super) const TRANSACTION_STATE: u8 = 5;
}

/// The only encoding of GTIDs that exists: text.
const GTIDS_AS_TEXT: u8 = 0;

impl<'a> Codec<'a> for StateChange<'a> {
    fn read(reader: &mut Reader<'a>, _caps: Capabilities) -> Result<Self, WireError> {
        let kind = reader.u8("session state kind")?;
        let data = reader.lenenc_bytes("session state data")?;
        let mut inner = Reader::new(data);
        let change = match kind {
            kind::SYSTEM_VARIABLES => Self::SystemVariable {
                name: inner.lenenc_bytes("variable name")?,
                value: inner.lenenc_bytes("variable value")?,
            },
            kind::SCHEMA => Self::Schema(inner.lenenc_bytes("schema")?),
            kind::STATE_CHANGE => Self::StateChange(inner.lenenc_bytes("state change")?),
            kind::GTIDS if inner.peek() == Some(GTIDS_AS_TEXT) => {
                inner.u8("GTID encoding")?;
                Self::Gtids(inner.lenenc_bytes("GTIDs")?)
            }
            kind::TRANSACTION_CHARACTERISTICS => {
                Self::TransactionCharacteristics(inner.lenenc_bytes("transaction characteristics")?)
            }
            kind::TRANSACTION_STATE => Self::TransactionState(inner.lenenc_bytes("transaction state")?),
            kind => Self::Unknown { kind, data: inner.rest() },
        };
        inner.finish()?;
        Ok(change)
    }

    fn write(&self, _caps: Capabilities, out: &mut Vec<u8>) {
        match *self {
            Self::SystemVariable { name, value } => {
                out.push(kind::SYSTEM_VARIABLES);
                put_lenenc(out, text_len(name) + text_len(value));
                put_lenenc_bytes(out, name);
                put_lenenc_bytes(out, value);
            }
            Self::Schema(text) => put_text(out, kind::SCHEMA, text),
            Self::StateChange(text) => put_text(out, kind::STATE_CHANGE, text),
            Self::Gtids(text) => {
                out.push(kind::GTIDS);
                put_lenenc(out, 1 + text_len(text));
                out.push(GTIDS_AS_TEXT);
                put_lenenc_bytes(out, text);
            }
            Self::TransactionCharacteristics(text) => put_text(out, kind::TRANSACTION_CHARACTERISTICS, text),
            Self::TransactionState(text) => put_text(out, kind::TRANSACTION_STATE, text),
            Self::Unknown { kind, data } => {
                out.push(kind);
                put_lenenc_bytes(out, data);
            }
        }
    }
}

/// Appends a change whose data is one length-encoded text.
fn put_text(out: &mut Vec<u8>, kind: u8, text: &[u8]) {
    out.push(kind);
    put_lenenc(out, text_len(text));
    put_lenenc_bytes(out, text);
}

/// Bytes of `text` with its length.
const fn text_len(text: &[u8]) -> u64 {
    let len = text.len() as u64;
    let prefix = match len {
        0..=0xfa => 1,
        0xfb..=0xffff => 3,
        0x1_0000..=0xff_ffff => 4,
        _ => 9,
    };
    prefix + len
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    /// Builds a change of the kind that `choice` says.
    fn change<'a>(choice: u8, a: &'a [u8], b: &'a [u8]) -> StateChange<'a> {
        match choice {
            0 => StateChange::SystemVariable { name: a, value: b },
            1 => StateChange::Schema(a),
            2 => StateChange::StateChange(a),
            3 => StateChange::Gtids(a),
            4 => StateChange::TransactionCharacteristics(a),
            5 => StateChange::TransactionState(a),
            kind => StateChange::Unknown { kind, data: a },
        }
    }

    proptest! {
        #[test]
        fn round_trips(parts in vec((0u8..9, vec(any::<u8>(), 0..300), any::<Vec<u8>>()), 0..5)) {
            let changes: Vec<_> = parts.iter().map(|(choice, a, b)| change(*choice, a, b)).collect();
            let raw = SessionState::encode(&changes);
            let read: Result<Vec<_>, _> = SessionState::new(&raw).iter().collect();
            prop_assert_eq!(read, Ok(changes));
        }

        #[test]
        fn any_bytes_end(raw: Vec<u8>) {
            let errors = SessionState::new(&raw).into_iter().filter(Result::is_err).count();
            prop_assert!(errors <= 1);
        }
    }

    /// From MariaDB 10.11, after `SET NAMES utf8mb4` and `USE information_schema`.
    #[test]
    fn it_is_what_servers_send() {
        let raw = b"\0!\x18character_set_connection\x07utf8mb4\0\x1d\x14character_set_client\x07utf8mb4\
            \x01\x13\x12information_schema\x02\x02\x011";
        let changes = [
            StateChange::SystemVariable { name: b"character_set_connection", value: b"utf8mb4" },
            StateChange::SystemVariable { name: b"character_set_client", value: b"utf8mb4" },
            StateChange::Schema(b"information_schema"),
            StateChange::StateChange(b"1"),
        ];
        assert_eq!(SessionState::encode(&changes), raw);
        let read: Result<Vec<_>, _> = SessionState::new(raw).iter().collect();
        assert_eq!(read.unwrap(), changes);
    }

    /// From the documentation of MySQL.
    #[test]
    fn gtids_have_an_encoding() {
        let raw = b"\x03\x05\0\x03a:1";
        assert_eq!(SessionState::new(raw).iter().collect::<Vec<_>>(), [Ok(StateChange::Gtids(b"a:1"))]);
        let raw = b"\x03\x05\x01\x03a:1";
        let unknown = StateChange::Unknown { kind: 3, data: b"\x01\x03a:1" };
        assert_eq!(SessionState::new(raw).iter().collect::<Vec<_>>(), [Ok(unknown)]);
    }

    #[test]
    fn an_inner_length_cannot_leave_its_change() {
        let mut changes = SessionState::new(b"\x01\x02\x05a\x01\x02\x01b").iter();
        assert!(changes.next().unwrap().is_err());
        assert_eq!(changes.next(), None);
    }
}
