//! Names in the rows of an answer that no text of a statement can replace.

use std::borrow::Cow;

use wire::codec::{Reader, put_lenenc_bytes};

use crate::merge::Protocol;

use super::Names;

/// What is replaced in the rows of an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Cells {
    /// Nothing.
    #[default]
    Plain,
    /// The first cell is the name of a table.
    Table {
        /// The logical one.
        name: String,
    },
    /// The first cell is the path of a table, as `CHECK TABLE` and the like have it.
    Path,
    /// The row is that of `SHOW CREATE TABLE`: the name of a table, and its definition.
    Create {
        /// The physical name of the table.
        node: String,
        /// The logical one.
        name: String,
        /// The names at that server.
        names: Names,
        /// Whether the next id is left out: that of one shard says nothing about the table.
        drops_counter: bool,
    },
}

impl Cells {
    /// A row as the client gets it, of an answer with so many columns, from a server with these
    /// names. Bytes that are no row stay.
    pub fn row<'a>(
        &self,
        protocol: Protocol,
        columns: usize,
        server: &Names,
        row: &'a [u8],
    ) -> Cow<'a, [u8]> {
        self.replaced(protocol, columns, server, row).map_or(Cow::Borrowed(row), Cow::Owned)
    }

    fn replaced(&self, protocol: Protocol, columns: usize, server: &Names, row: &[u8]) -> Option<Vec<u8>> {
        if *self == Self::Plain {
            return None;
        }
        let mut cells = Reader::new(row);
        if protocol == Protocol::Binary {
            // The header, then a bit for each column behind two that are not used.
            cells.bytes(columns.checked_add(9)? / 8 + 1, "NULL bits").ok()?;
        }
        let mut out = row.get(..row.len() - cells.left())?.to_vec();
        let first = cells.cell("cell").ok()??;
        match self {
            Self::Plain => return None,
            Self::Path => {
                let path = server.logical_path(std::str::from_utf8(first).ok()?);
                put_lenenc_bytes(&mut out, path.as_bytes());
            }
            Self::Table { name } => put_lenenc_bytes(&mut out, name.as_bytes()),
            Self::Create { node, name, names, drops_counter } => {
                put_lenenc_bytes(&mut out, name.as_bytes());
                let shown = definition(cells.cell("cell").ok()??, [node, name], names, *drops_counter);
                put_lenenc_bytes(&mut out, &shown);
            }
        }
        out.extend_from_slice(cells.rest());
        Some(out)
    }
}

/// The text of `SHOW CREATE TABLE` with logical names: in its first line and its constraints.
fn definition(text: &[u8], [node, name]: [&str; 2], names: &Names, drops_counter: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
        if number > 0 {
            out.push(b'\n');
        }
        let line: Cow<'_, [u8]> = if number == 0 {
            first_line(line, [node, name])
        } else if line.starts_with(b"  CONSTRAINT ") {
            constraint(line, names)
        } else if line.starts_with(b") ") && drops_counter {
            without_counter(line)
        } else {
            Cow::Borrowed(line)
        };
        out.extend_from_slice(&line);
    }
    out
}

/// ``CREATE TABLE `t` (``.
fn first_line<'a>(line: &'a [u8], [node, name]: [&str; 2]) -> Cow<'a, [u8]> {
    let quoted = crate::plan::text::quoted(node);
    match find(line, quoted.as_bytes()) {
        Some(at) => {
            let (head, tail) = line.split_at_checked(at).unwrap_or((line, &[]));
            let tail = tail.get(quoted.len()..).unwrap_or_default();
            Cow::Owned([head, crate::plan::text::quoted(name).as_bytes(), tail].concat())
        }
        None => Cow::Borrowed(line),
    }
}

/// The name of a constraint, and the table that it references.
fn constraint<'a>(line: &'a [u8], names: &Names) -> Cow<'a, [u8]> {
    const REFERENCES: &[u8] = b" REFERENCES ";
    // Expressions of CHECK are the client's.
    let own = find(line, b" CHECK (").unwrap_or(line.len());
    let Some((line, check)) = line.split_at_checked(own) else { return Cow::Borrowed(line) };
    let references = find(line, REFERENCES).map_or(line.len(), |at| at + REFERENCES.len());
    let (head, referenced) = line.split_at_checked(references).unwrap_or((line, &[]));
    let begin = find(head, b" (").unwrap_or(head.len());
    let (head, columns) = head.split_at_checked(begin).unwrap_or((head, &[]));
    let begin = find(referenced, b" (").unwrap_or(referenced.len());
    let (referenced, rest) = referenced.split_at_checked(begin).unwrap_or((referenced, &[]));
    let (head, referenced) = (names.logical_text(head), names.logical_text(referenced));
    Cow::Owned([&*head, columns, &*referenced, rest, check].concat())
}

/// The line of options without `AUTO_INCREMENT=7`.
fn without_counter(line: &[u8]) -> Cow<'_, [u8]> {
    const COUNTER: &[u8] = b" AUTO_INCREMENT=";
    let options = find(line, b" COMMENT=").unwrap_or(line.len());
    let Some(at) = find(line.get(..options).unwrap_or(line), COUNTER) else { return Cow::Borrowed(line) };
    let digits = line.get(at + COUNTER.len()..).unwrap_or_default();
    let length = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let tail = digits.get(length..).unwrap_or_default();
    Cow::Owned([line.get(..at).unwrap_or_default(), tail].concat())
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}
