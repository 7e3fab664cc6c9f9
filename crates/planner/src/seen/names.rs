//! Physical names and the logical ones that clients know.

use std::borrow::Cow;
use std::collections::BTreeMap;

use shard::{Layout, Node, Table};

/// Bytes of the longest quoted name that is looked up: schema, table and key of 64 characters each.
const QUOTED_BYTES_MAX: usize = 1024;

/// Values of clients in error texts, between these words. They are no names.
const VALUES: [(&[u8], &[u8]); 2] = [(b"Duplicate entry '", b"' for key"), (b"value: '", b"' for ")];

/// What servers append to a table's name to name its constraints.
const CONSTRAINTS: [&str; 2] = ["_ibfk_", "_chk_"];

/// The physical names at the servers of one hostgroup that differ from the logical ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// By schema and table, each in physical form, to both in logical form.
    tables: BTreeMap<String, BTreeMap<String, (String, String)>>,
    /// Tables without their schemas; nothing if a name has several meanings.
    bare: BTreeMap<String, Option<String>>,
    /// Schemas; nothing if a name has several meanings.
    schemas: BTreeMap<String, Option<String>>,
}

impl Names {
    /// The names at the servers of a hostgroup.
    pub fn at(layout: &Layout, hostgroup: u32) -> Self {
        let nodes =
            layout.tables().iter().flat_map(|table| table.nodes().iter().map(move |node| (node, table)));
        Self::of(nodes.filter(|(node, _)| node.hostgroup == hostgroup))
    }

    /// The names of these nodes, each with its table. The nodes are of one hostgroup.
    pub fn of<'a>(nodes: impl IntoIterator<Item = (&'a Node, &'a Table)>) -> Self {
        let mut names = Self::default();
        for (node, table) in nodes {
            let logical = (table.schema.clone(), table.name.clone());
            note(&mut names.bare, &node.table, &logical.1);
            note(&mut names.schemas, &node.schema, &logical.0);
            if node.schema != table.schema || node.table != table.name {
                names.tables.entry(node.schema.clone()).or_default().insert(node.table.clone(), logical);
            }
        }
        names.bare.retain(|physical, logical| logical.as_ref() != Some(physical));
        names.schemas.retain(|physical, logical| logical.as_ref() != Some(physical));
        names
    }

    /// Whether all names are those that clients know.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// Schema and name for clients of a physical table; none if both are the physical ones.
    pub fn logical(&self, schema: &str, table: &str) -> Option<(&str, &str)> {
        let (schema, table) = self.tables.get(schema)?.get(table)?;
        Some((schema, table))
    }

    /// The name for clients of a physical table in whatever schema; none if it is the same, or if
    /// tables of several names are called so.
    pub fn logical_table(&self, table: &str) -> Option<&str> {
        self.bare.get(table)?.as_deref()
    }

    /// The name for clients of a schema; none if it is the same, or if the schema has parts of
    /// several.
    pub fn logical_schema(&self, schema: &str) -> Option<&str> {
        self.schemas.get(schema)?.as_deref()
    }

    /// An error text or a warning with the names that clients know. Names stand in quotes:
    /// `'s.t'`, `'t.KEY'`, `` `s`.`t` ``. The value of a duplicate entry stays.
    pub fn logical_text<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        if self.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut out = Vec::new();
        let (mut at, mut copied) = (0, 0);
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            if let Some(length) = value_length(rest) {
                at += length;
            } else if let Some((length, name)) = self.quoted(rest) {
                out.extend_from_slice(text.get(copied..at).unwrap_or_default());
                out.extend_from_slice(name.as_bytes());
                at += length;
                copied = at;
            } else {
                at += 1;
            }
        }
        if copied == 0 {
            return Cow::Borrowed(text);
        }
        out.extend_from_slice(text.get(copied..).unwrap_or_default());
        Cow::Owned(out)
    }

    /// `s.t`, as `CHECK TABLE` and the like have it, with the names that clients know.
    pub fn logical_path<'a>(&self, path: &'a str) -> Cow<'a, str> {
        self.path(path).map_or(Cow::Borrowed(path), Cow::Owned)
    }

    /// The quoted physical name that the text begins with: its length, and what stands in its
    /// place.
    fn quoted(&self, text: &[u8]) -> Option<(usize, String)> {
        let quote = *text.first().filter(|byte| matches!(byte, b'\'' | b'"' | b'`'))?;
        let name = inner(text, quote)?;
        let length = name.len() + 2;
        let sign = char::from(quote);
        if quote == b'`'
            && let Some(table) = text.get(length..).and_then(|rest| rest.strip_prefix(b"."))
            && let Some(table) = inner(table, quote)
            && let Some((schema, logical)) = self.logical(name, table)
        {
            return Some((length + table.len() + 3, format!("`{schema}`.`{logical}`")));
        }
        let logical = if quote == b'`' { self.word(name) } else { self.path(name) };
        logical.map(|logical| (length, format!("{sign}{logical}{sign}")))
    }

    /// `s.t`, `s.t.KEY`, `t.KEY` or one name.
    fn path(&self, path: &str) -> Option<String> {
        let Some((first, rest)) = path.split_once('.') else { return self.word(path) };
        let (second, tail) = rest.find('.').map_or((rest, ""), |at| rest.split_at(at));
        if let Some((schema, table)) = self.logical(first, second) {
            return Some(format!("{schema}.{table}{tail}"));
        }
        self.logical_table(first).map(|table| format!("{table}.{rest}"))
    }

    /// One name: a table's, a schema's, or one that the server made for a constraint.
    fn word(&self, name: &str) -> Option<String> {
        let own = self.logical_table(name).or_else(|| self.logical_schema(name));
        own.map(str::to_owned).or_else(|| self.constraint(name))
    }

    /// The name that the server would have given to a constraint of the logical table.
    pub(super) fn constraint(&self, name: &str) -> Option<String> {
        CONSTRAINTS.iter().find_map(|infix| {
            let (table, number) = name.rsplit_once(infix)?;
            let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
            let table = self.logical_table(table).filter(|_| is_number)?;
            Some(format!("{table}{infix}{number}"))
        })
    }
}

/// Notes what a physical name means.
fn note(names: &mut BTreeMap<String, Option<String>>, physical: &str, logical: &str) {
    match names.get_mut(physical) {
        Some(known) if known.as_deref() != Some(logical) => *known = None,
        Some(_) => {}
        None => {
            names.insert(physical.to_owned(), Some(logical.to_owned()));
        }
    }
}

/// What stands in the quotes that the text begins with. A name with its quote in it is left alone.
fn inner(text: &[u8], quote: u8) -> Option<&str> {
    let rest = text.strip_prefix(&[quote])?;
    let end = rest.iter().take(QUOTED_BYTES_MAX).position(|byte| *byte == quote)?;
    std::str::from_utf8(rest.get(..end)?).ok().filter(|name| !name.is_empty())
}

/// The length of the value of a client that the text begins with, and of the word in front of it.
fn value_length(text: &[u8]) -> Option<usize> {
    VALUES.iter().find_map(|(before, behind)| {
        let value = text.strip_prefix(*before)?;
        let last = value.windows(behind.len()).rposition(|window| window == *behind)?;
        Some(before.len() + last + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use shard::{Draft, TableKind};

    fn single(name: &str, node: (&str, &str)) -> Table {
        let node = Node { hostgroup: 1, schema: node.0.to_owned(), table: node.1.to_owned() };
        Table { schema: "shop".to_owned(), name: name.to_owned(), kind: TableKind::Single { node } }
    }

    fn names(tables: &[(&str, (&str, &str))]) -> Names {
        let tables = tables.iter().map(|(name, node)| single(name, *node)).collect();
        let layout = Layout::new(Draft { hostgroups: vec![1], tables, ..Draft::default() }).unwrap();
        Names::at(&layout, 1)
    }

    fn said(names: &Names, text: &str) -> String {
        String::from_utf8(names.logical_text(text.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn error_texts_have_logical_names() {
        let names = names(&[("orders", ("shop_1", "orders_3")), ("users", ("shop_1", "users_3"))]);
        for (text, expected) in [
            ("Table 'shop_1.orders_3' doesn't exist", "Table 'shop.orders' doesn't exist"),
            (
                "Duplicate entry '1' for key 'orders_3.PRIMARY'",
                "Duplicate entry '1' for key 'orders.PRIMARY'",
            ),
            ("for key 'shop_1.orders_3.PRIMARY'", "for key 'shop.orders.PRIMARY'"),
            ("for table `shop_1`.`orders_3`", "for table `shop`.`orders`"),
            ("Unknown database 'shop_1'", "Unknown database 'shop'"),
            (
                "fails (`shop_1`.`orders_3`, CONSTRAINT `orders_3_ibfk_1` FOREIGN KEY (`u`) REFERENCES \
                 `users_3` (`id`))",
                "fails (`shop`.`orders`, CONSTRAINT `orders_ibfk_1` FOREIGN KEY (`u`) REFERENCES `users` \
                 (`id`))",
            ),
            ("near 'x FROM `shop_1`.`orders_3`' at line 1", "near 'x FROM `shop`.`orders`' at line 1"),
        ] {
            assert_eq!(said(&names, text), expected);
        }
    }

    #[test]
    fn what_is_no_name_stays() {
        let names = names(&[("orders", ("shop_1", "orders_3"))]);
        for text in [
            "Duplicate entry 'orders_3' for key 'PRIMARY'",
            "Incorrect integer value: 'orders_3' for column 'a' at row 1",
            "Unknown column 'orders_33' in 'field list'",
            "orders_3 without quotes",
            "an open quote 'orders_3",
            "'orders_3_ibfk_x'",
            "''",
            "",
        ] {
            assert!(matches!(names.logical_text(text.as_bytes()), Cow::Borrowed(_)), "{text}");
        }
        let bytes = b"'orders_3\xff' \xff";
        assert_eq!(*names.logical_text(bytes), *bytes);
    }

    #[test]
    fn a_name_of_two_tables_needs_its_schema() {
        let names = names(&[("orders", ("s0", "t")), ("users", ("s1", "t")), ("same", ("shop", "same"))]);
        assert_eq!(
            said(&names, "'s0.t' 's1.t' 't' 'shop.same'"),
            "'shop.orders' 'shop.users' 't' 'shop.same'"
        );
        assert_eq!(names.logical_path("s1.t"), "shop.users");
    }

    #[test]
    fn same_names_are_none() {
        let names = names(&[("orders", ("shop", "orders"))]);
        assert!(names.is_empty());
        assert!(matches!(names.logical_text(b"'shop.orders'"), Cow::Borrowed(_)));
    }
}
