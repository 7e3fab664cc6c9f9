//! Documents of JSON about sessions: `PROXYSQL INTERNAL SESSION`, and `extended_info` of the list
//! of sessions.

use std::fmt::Write as _;
use std::net::SocketAddr;

use route::json_string;

use crate::arrival::Peer;

/// Blanks by which each level stands farther right.
const INDENT: usize = 4;

/// A value of a document.
#[derive(Debug)]
pub(crate) enum Value {
    Text(String),
    /// A number, `true`, `false`.
    Plain(String),
    Object(Vec<(String, Self)>),
    List(Vec<Self>),
}

use Value::{List, Object, Plain, Text};

/// How a document is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// In one line, without blanks.
    Compact,
    /// Each member on a line of its own.
    Indented,
}

pub(crate) fn text(bytes: impl AsRef<[u8]>) -> Value {
    Text(String::from_utf8_lossy(bytes.as_ref()).into_owned())
}

pub(crate) fn plain<T: ToString + Copy>(value: T) -> Value {
    Plain(value.to_string())
}

pub(crate) fn on(is_so: bool) -> Value {
    text(if is_so { "ON" } else { "OFF" })
}

pub(crate) fn object(members: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// Who a client is and where it has come in.
pub(crate) fn client(peer: &Peer, encrypted: bool, user: &[u8], schema: &[u8]) -> Value {
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
    pub(crate) fn print(&self, form: Form) -> String {
        let mut out = String::new();
        self.write(&mut out, form, 0);
        out
    }

    /// Appends it; what is inside of it stands `depth` levels and one more to the right.
    fn write(&self, out: &mut String, form: Form, depth: usize) {
        match self {
            Text(text) => json_string(out, text),
            Plain(text) => out.push_str(text),
            Object(members) => {
                let name = |out: &mut String, name: &str| {
                    json_string(out, name);
                    out.push_str(if form == Form::Indented { ": " } else { ":" });
                };
                let items = members.iter().map(|(key, value)| (Some(key.as_str()), value));
                write_all(out, form, depth, ['{', '}'], items, name);
            }
            List(items) => {
                let items = items.iter().map(|value| (None, value));
                write_all(out, form, depth, ['[', ']'], items, |_, _| {});
            }
        }
    }
}

/// Appends what is between these brackets.
fn write_all<'a>(
    out: &mut String,
    form: Form,
    depth: usize,
    [opens, closes]: [char; 2],
    items: impl Iterator<Item = (Option<&'a str>, &'a Value)>,
    name: impl Fn(&mut String, &str),
) {
    let line = |out: &mut String, depth: usize| {
        if form == Form::Indented {
            let _ = write!(out, "\n{:1$}", "", depth * INDENT);
        }
    };
    out.push(opens);
    let mut is_empty = true;
    for (key, value) in items {
        out.push_str(if is_empty { "" } else { "," });
        is_empty = false;
        line(out, depth + 1);
        if let Some(key) = key {
            name(out, key);
        }
        value.write(out, form, depth + 1);
    }
    if !is_empty {
        line(out, depth);
    }
    out.push(closes);
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
