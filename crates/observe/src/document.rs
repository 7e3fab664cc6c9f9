//! Documents of JSON about sessions: `PROXYSQL INTERNAL SESSION`, and `extended_info` of the list
//! of sessions.

use std::net::SocketAddr;
use std::time::Duration;

use net::clock::millis;
use serde::ser::{Serialize, Serializer};
use serde_json::Serializer as Json;
use serde_json::ser::PrettyFormatter;

use wire::Peer;

/// By this each level stands farther right.
const INDENT: &[u8] = b"    ";

/// A value of a document. Members stand in the order in which they are named.
#[derive(Debug)]
pub enum Value {
    /// Text, a number, `true`, `false`.
    Plain(serde_json::Value),
    /// Named members.
    Object(Vec<(String, Self)>),
    /// Values without names.
    List(Vec<Self>),
}

use Value::{List, Object, Plain};

/// How a document is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// In one line, without blanks.
    Compact,
    /// Each member on a line of its own.
    Indented,
}

/// Text; bytes that are not UTF-8 are replaced.
pub fn text(bytes: impl AsRef<[u8]>) -> Value {
    plain(String::from_utf8_lossy(bytes.as_ref()))
}

/// A text, a number, or whether something is so.
pub fn plain(value: impl Into<serde_json::Value>) -> Value {
    Plain(value.into())
}

/// A time in milliseconds.
pub fn ms(time: Duration) -> Value {
    plain(millis(time))
}

/// `ON` or `OFF`.
pub fn on(is_so: bool) -> Value {
    text(if is_so { "ON" } else { "OFF" })
}

/// An object of these members.
pub fn object(members: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// Who a client is and where it has come in.
pub fn client(peer: &Peer, encrypted: bool, user: &[u8], schema: &[u8]) -> Value {
    let address = |address: Option<SocketAddr>| {
        let (ip, port) = address.map_or_else(
            || ("localhost".to_owned(), 0),
            |address| (address.ip().to_canonical().to_string(), address.port()),
        );
        object([("address", text(ip)), ("port", plain(port))])
    };
    let proxy = match peer {
        Peer::Tcp(addresses) => Some(addresses.destination()),
        Peer::Local => None,
    };
    object([
        ("client_addr", address(peer.address())),
        ("proxy_addr", address(proxy)),
        ("encrypted", plain(encrypted)),
        ("userinfo", object([("username", text(user)), ("schemaname", text(schema))])),
    ])
}

impl Value {
    /// Its text.
    pub fn print(&self, form: Form) -> String {
        let mut out = Vec::new();
        // Keys are texts and memory takes all, so that nothing can fail.
        let _ = match form {
            Form::Compact => self.serialize(&mut Json::new(&mut out)),
            Form::Indented => {
                self.serialize(&mut Json::with_formatter(&mut out, PrettyFormatter::with_indent(INDENT)))
            }
        };
        String::from_utf8(out).unwrap_or_default()
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Plain(value) => value.serialize(serializer),
            Object(members) => serializer.collect_map(members.iter().map(|(name, value)| (name, value))),
            List(items) => serializer.collect_seq(items),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_stand_on_lines_of_their_own_or_all_on_one() {
        let value = object([
            ("a", plain(-1)),
            ("b", object([("c", text("\"x\"\n"))])),
            ("d", List(vec![plain(1), object([])])),
            ("e", List(Vec::new())),
        ]);
        let expected = "{\n    \"a\": -1,\n    \"b\": {\n        \"c\": \"\\\"x\\\"\\n\"\n    },\n    \"d\": [\n        \
                        1,\n        {}\n    ],\n    \"e\": []\n}";
        assert_eq!(value.print(Form::Indented), expected);
        let expected = r#"{"a":-1,"b":{"c":"\"x\"\n"},"d":[1,{}],"e":[]}"#;
        assert_eq!(value.print(Form::Compact), expected);
    }
}
