//! The tables `shards` of a TOML document as the tree that YAML gives.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::read::yaml::{Node, Yaml};

/// The value of `shards`, or the line and what is wrong there.
pub(super) fn parse(text: &str) -> Result<Node, (usize, String)> {
    let lines = Lines::new(text);
    let table = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(0, |span| lines.at(&span));
        (line, error.message().replace('\n', ", "))
    })?;
    let found = table.into_inner().into_iter().find(|(key, _)| key.get_ref() == "shards");
    Ok(found.map_or(Node { line: 0, tag: None, value: Yaml::Null }, |(_, value)| node(value, &lines)))
}

/// Where lines begin.
struct Lines(Vec<usize>);

impl Lines {
    fn new(text: &str) -> Self {
        Self(std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect())
    }

    fn at(&self, span: &Range<usize>) -> usize {
        self.0.partition_point(|start| *start <= span.start)
    }
}

fn node(value: Spanned<DeValue<'_>>, lines: &Lines) -> Node {
    let line = lines.at(&value.span());
    let value = match value.into_inner() {
        DeValue::String(text) => Yaml::Text(text.into_owned()),
        DeValue::Integer(number) if number.radix() == 10 => Yaml::Text(number.as_str().to_owned()),
        DeValue::Integer(number) => {
            let value = i64::from_str_radix(number.as_str(), number.radix());
            Yaml::Text(value.map_or_else(|_| number.as_str().to_owned(), |value| value.to_string()))
        }
        DeValue::Float(number) => Yaml::Text(number.as_str().to_owned()),
        DeValue::Boolean(value) => Yaml::Text(value.to_string()),
        DeValue::Datetime(time) => Yaml::Text(time.to_string()),
        DeValue::Array(items) => Yaml::List(items.into_iter().map(|item| node(item, lines)).collect()),
        DeValue::Table(entries) => {
            let mut entries: Vec<_> = entries.into_iter().collect();
            entries.sort_by_key(|(key, _)| key.span().start);
            let entry = |(key, value): (Spanned<std::borrow::Cow<'_, str>>, _)| {
                let line = lines.at(&key.span());
                (key.into_inner().into_owned(), Node { line, ..node(value, lines) })
            };
            Yaml::Map(entries.into_iter().map(entry).collect())
        }
    };
    Node { line, tag: None, value }
}
