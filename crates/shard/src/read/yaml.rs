//! YAML as a tree with lines.
//!
//! Scalars stay text: what `010` or `on` is depends on the version of YAML, so each key says what
//! it takes. Aliases are copies. Merge keys (`<<`) and keys that are there twice are refused.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle};

use crate::limits::{YAML_DEPTH_MAX, YAML_NODES_MAX};

/// Node of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Line in its file, counted from 1.
    pub line: usize,
    /// Local tag without its `!`.
    pub tag: Option<String>,
    /// What is there.
    pub value: Yaml,
}

/// Value of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Yaml {
    /// Nothing, `~` or `null`.
    Null,
    /// A scalar.
    Text(String),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping, in the order of the file.
    Map(Vec<(String, Node)>),
}

impl Yaml {
    /// As messages name it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Text(_) => "a plain value",
            Self::List(_) => "a list",
            Self::Map(_) => "a mapping",
        }
    }
}

/// The only document of `text`, or the line and what is wrong there.
pub fn parse(text: &str) -> Result<Node, (usize, String)> {
    let mut tree = Tree { events: Parser::new_from_str(text), anchors: HashMap::new(), nodes: 0 };
    loop {
        match tree.next()? {
            (Event::StreamStart | Event::DocumentStart(_), _) => {}
            (Event::StreamEnd, line) => return Ok(Node { line, tag: None, value: Yaml::Null }),
            (event, line) => {
                let root = tree.node(event, line, 0)?;
                return match (tree.next()?, tree.next()?) {
                    ((Event::DocumentEnd, _), (Event::StreamEnd, _)) => Ok(root),
                    (_, (_, line)) => Err((line, "a file has one document".to_owned())),
                };
            }
        }
    }
}

struct Tree<'a> {
    events: Parser<'a, saphyr_parser::StrInput<'a>>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
}

impl<'a> Tree<'a> {
    fn next(&mut self) -> Result<(Event<'a>, usize), (usize, String)> {
        match self.events.next_event() {
            Some(Ok((event, span))) => Ok((event, span.start.line())),
            Some(Err(error)) => Err((error.marker().line(), error.info().to_owned())),
            None => Ok((Event::StreamEnd, 0)),
        }
    }

    fn node(&mut self, event: Event<'a>, line: usize, depth: usize) -> Result<Node, (usize, String)> {
        if depth == YAML_DEPTH_MAX {
            return Err((line, format!("nested more than {YAML_DEPTH_MAX} deep")));
        }
        self.count(1, line)?;
        let (anchor, tag, value) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let is_null =
                    style == ScalarStyle::Plain && matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
                (anchor, tag, if is_null { Yaml::Null } else { Yaml::Text(text.into_owned()) })
            }
            Event::SequenceStart(anchor, tag) => (anchor, tag, Yaml::List(self.list(depth)?)),
            Event::MappingStart(anchor, tag) => (anchor, tag, Yaml::Map(self.map(depth)?)),
            Event::Alias(anchor) => {
                let found = self.anchors.get(&anchor).cloned();
                let found = found.ok_or_else(|| (line, "the alias has no anchor".to_owned()))?;
                self.count(size(&found), line)?;
                return Ok(found);
            }
            _ => return Err((line, "a value is missing".to_owned())),
        };
        let tag = tag.filter(|tag| tag.handle == "!").map(|tag| tag.suffix.clone());
        let node = Node { line, tag, value };
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Node>, (usize, String)> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(items),
                (event, line) => items.push(self.node(event, line, depth + 1)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Vec<(String, Node)>, (usize, String)> {
        let mut entries: Vec<(String, Node)> = Vec::new();
        loop {
            let (event, line) = self.next()?;
            let key = match event {
                Event::MappingEnd => return Ok(entries),
                Event::Scalar(key, ..) => key.into_owned(),
                _ => return Err((line, "a key has to be a plain value".to_owned())),
            };
            if key == "<<" {
                return Err((line, "merge keys (`<<`) are not supported".to_owned()));
            }
            if entries.iter().any(|(known, _)| *known == key) {
                return Err((line, format!("`{key}` is there twice")));
            }
            let (event, at) = self.next()?;
            let mut node = self.node(event, at, depth + 1)?;
            node.line = line;
            entries.push((key, node));
        }
    }

    /// Counts nodes against the limit: aliases of aliases grow fast.
    fn count(&mut self, nodes: usize, line: usize) -> Result<(), (usize, String)> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > YAML_NODES_MAX {
            Err((line, format!("more than {YAML_NODES_MAX} values")))
        } else {
            Ok(())
        }
    }
}

fn size(node: &Node) -> usize {
    1 + match &node.value {
        Yaml::Null | Yaml::Text(_) => 0,
        Yaml::List(items) => items.iter().map(size).sum::<usize>(),
        Yaml::Map(entries) => entries.iter().map(|(_, node)| size(node)).sum::<usize>(),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    fn refused(text: &str) -> (usize, String) {
        parse(text).unwrap_err()
    }

    #[test]
    fn nodes_have_lines_and_tags() {
        let root = parse("# a\na: 1\nb:\n- !X\n  c: ~\n").unwrap();
        let Yaml::Map(entries) = root.value else { panic!() };
        assert_eq!((entries[0].0.as_str(), entries[0].1.line), ("a", 2));
        let Yaml::List(items) = &entries[1].1.value else { panic!() };
        assert_eq!(items[0].tag.as_deref(), Some("X"));
        let Yaml::Map(inner) = &items[0].value else { panic!() };
        assert_eq!((inner[0].1.line, &inner[0].1.value), (5, &Yaml::Null));
        assert_eq!(parse("").unwrap().value, Yaml::Null);
    }

    #[test]
    fn aliases_are_copies_within_the_limit() {
        let root = parse("a: &x [1, 2]\nb: *x\n").unwrap();
        let Yaml::Map(entries) = root.value else { panic!() };
        assert_eq!(entries[0].1.value, entries[1].1.value);
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..10 {
            let alias = format!("*a{}, ", level - 1).repeat(10);
            let _ = writeln!(bomb, "a{level}: &a{level} [{}]", alias.trim_end_matches(", "));
        }
        assert_eq!(refused(&bomb).1, "more than 1048576 values");
        assert_eq!(refused(&format!("{}{}", "[".repeat(99), "]".repeat(99))).1, "nested more than 32 deep");
    }

    #[test]
    fn doubtful_documents_are_refused() {
        assert_eq!(refused("a: 1\na: 2\n"), (2, "`a` is there twice".to_owned()));
        assert_eq!(refused("a: &x {b: 1}\nc:\n  <<: *x\n").0, 3);
        assert_eq!(refused("a: 1\n---\nb: 1\n").1, "a file has one document");
        assert_eq!(refused("[a]: 1\n").1, "a key has to be a plain value");
        assert_eq!(refused("a: [1\nb: 2\n").0, 2);
    }
}
