//! The keys of a mapping, taken one by one; what is left is unknown.

use super::problem::{Place, Report};
use super::yaml::{Node, Yaml};

/// Mapping, with the path of its key.
pub(super) struct Fields<'a> {
    pub(super) path: String,
    pub(super) line: usize,
    entries: Vec<(&'a str, &'a Node)>,
}

/// A node with the path of its key.
pub(super) struct Field<'a> {
    pub(super) path: String,
    pub(super) node: &'a Node,
}

impl<'a> Fields<'a> {
    /// The keys of `node`, if it is a mapping. Nothing counts as an empty one.
    pub(super) fn of(field: &Field<'a>, report: &mut Report<'_>) -> Self {
        let mut fields = Self { path: field.path.clone(), line: field.node.line, entries: Vec::new() };
        match &field.node.value {
            Yaml::Null => {}
            Yaml::Map(entries) => {
                fields.entries = entries.iter().map(|(key, node)| (key.as_str(), node)).collect();
            }
            other => {
                report.refuse(fields.line, &fields.path, format!("must be a mapping, not {}", other.kind()));
            }
        }
        fields
    }

    /// A mapping without keys.
    pub(super) fn none(path: String, line: usize) -> Self {
        Self { path, line, entries: Vec::new() }
    }

    /// Path of a key of this mapping.
    pub(super) fn at(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Whether a key is there.
    pub(super) fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|(known, _)| *known == key)
    }

    /// Takes a key out, if it is there.
    pub(super) fn take(&mut self, key: &str) -> Option<Field<'a>> {
        let at = self.entries.iter().position(|(known, _)| *known == key)?;
        let (_, node) = self.entries.remove(at);
        Some(Field { path: self.at(key), node })
    }

    /// Takes a key out that has to be there.
    pub(super) fn need(&mut self, key: &str, report: &mut Report<'_>) -> Option<Field<'a>> {
        let field = self.take(key);
        if field.is_none() {
            report.refuse(self.line, &self.at(key), "is missing");
        }
        field
    }

    /// Takes a text out; nothing if it is not there, or has no value.
    pub(super) fn text(&mut self, key: &str, report: &mut Report<'_>) -> Option<&'a str> {
        self.take(key).and_then(|field| field.text(report))
    }

    /// Takes a text out that has to be there.
    pub(super) fn need_text(&mut self, key: &str, report: &mut Report<'_>) -> Option<&'a str> {
        let field = self.need(key, report)?;
        if field.node.value == Yaml::Null {
            report.refuse(field.node.line, &field.path, "has no value");
        }
        field.text(report)
    }

    /// Takes all keys that are left.
    pub(super) fn rest(&mut self) -> Vec<(&'a str, Field<'a>)> {
        let entries = std::mem::take(&mut self.entries);
        entries.into_iter().map(|(key, node)| (key, Field { path: self.at(key), node })).collect()
    }

    /// Takes a mapping of names out.
    pub(super) fn named(&mut self, key: &str, report: &mut Report<'_>) -> Vec<(&'a str, Field<'a>)> {
        self.take(key).map(|field| Self::of(&field, report).rest()).unwrap_or_default()
    }

    /// Takes the texts of the mapping `pointsman` out: settings of this proxy.
    pub(super) fn own(&mut self, report: &mut Report<'_>) -> Vec<(Place, String, String)> {
        let text = |(key, field): (&str, Field<'a>), report: &mut Report<'_>| {
            let text = field.text(report)?.to_owned();
            Some((report.place(field.node.line, &field.path), key.to_owned(), text))
        };
        self.named("pointsman", report).into_iter().filter_map(|entry| text(entry, report)).collect()
    }

    /// Takes keys out that have no counterpart and need none.
    pub(super) fn leave_out(&mut self, keys: &[&str], report: &mut Report<'_>) {
        for key in keys {
            if let Some(field) = self.take(key) {
                report.leave_out(field.node.line, &field.path, "has no counterpart here");
            }
        }
    }

    /// Refuses all keys that are left.
    pub(super) fn finish(mut self, report: &mut Report<'_>) {
        for (_, field) in self.rest() {
            report.refuse(field.node.line, &field.path, "is not known, so it cannot be kept");
        }
    }
}

impl<'a> Field<'a> {
    /// The text; nothing if there is no value, or (with a problem) a list or a mapping.
    pub(super) fn text(&self, report: &mut Report<'_>) -> Option<&'a str> {
        match &self.node.value {
            Yaml::Null => None,
            Yaml::Text(text) => Some(text),
            other => {
                report.refuse(
                    self.node.line,
                    &self.path,
                    format!("must be a plain value, not {}", other.kind()),
                );
                None
            }
        }
    }

    /// A decimal integer without zeros in front.
    pub(super) fn integer<T: std::str::FromStr>(&self, report: &mut Report<'_>) -> Option<T> {
        let text = self.text(report)?;
        let digits = text.strip_prefix('-').unwrap_or(text);
        let octal = digits.len() > 1 && digits.starts_with('0');
        let value = text.parse().ok().filter(|_| !octal && !text.starts_with('+'));
        if value.is_none() {
            report.refuse(self.node.line, &self.path, "must be a decimal integer within its limits");
        }
        value
    }

    /// The items of a list; a plain value counts as a list of one. Items without a value count as
    /// none.
    pub(super) fn items(&self) -> Vec<Self> {
        match &self.node.value {
            Yaml::Null => Vec::new(),
            Yaml::Text(_) | Yaml::Map(_) => vec![Self { path: self.path.clone(), node: self.node }],
            Yaml::List(items) => {
                let numbered = items
                    .iter()
                    .enumerate()
                    .filter(|(_, node)| node.value != Yaml::Null || node.tag.is_some());
                numbered.map(|(at, node)| Self { path: format!("{}[{at}]", self.path), node }).collect()
            }
        }
    }

    /// The texts of a list.
    pub(super) fn texts(&self, report: &mut Report<'_>) -> Vec<&'a str> {
        self.items().iter().filter_map(|item| item.text(report)).collect()
    }
}
