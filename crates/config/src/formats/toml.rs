//! TOML, through the `toml` crate's tree with spans.

use std::ops::Range;
use std::path::Path;
use std::rc::Rc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Parsed;
use crate::problem::Problem;
use crate::tree::{Entry, Node, Place, Value};

/// Reads a TOML document. The `toml` crate bounds how deep values nest.
pub(super) fn read(text: &str, file: &Rc<Path>) -> Parsed {
    let (table, errors) = DeTable::parse_recoverable(text);
    let lines = Lines::new(text, file);
    let mut problems: Vec<Problem> = errors
        .iter()
        .map(|error| {
            let line = error.span().map_or(0, |span| lines.at(span).line);
            Problem::new(file, line, error.message().replace('\n', ", "))
        })
        .collect();
    let root = entries(table.into_inner(), &lines, &mut problems);
    Parsed { root, problems, warnings: Vec::new(), is_foreign: false, left_out: Vec::new(), presets: &[] }
}

/// Where the lines of a text start.
struct Lines<'a> {
    starts: Vec<usize>,
    file: &'a Rc<Path>,
}

impl<'a> Lines<'a> {
    fn new(text: &str, file: &'a Rc<Path>) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { starts, file }
    }

    /// The place where `span` starts.
    fn at(&self, span: Range<usize>) -> Place {
        Place::new(self.file, self.starts.partition_point(|&start| start <= span.start))
    }
}

/// The entries of a table, in the order of the file.
fn entries(table: DeTable<'_>, lines: &Lines<'_>, problems: &mut Vec<Problem>) -> Vec<Entry> {
    let mut pairs: Vec<_> = table.into_iter().collect();
    pairs.sort_by_key(|(key, _)| key.span().start);
    pairs
        .into_iter()
        .map(|(key, value)| {
            let at = lines.at(key.span());
            Entry { key: key.into_inner().into_owned(), at, node: node(value, lines, problems) }
        })
        .collect()
}

fn node(value: Spanned<DeValue<'_>>, lines: &Lines<'_>, problems: &mut Vec<Problem>) -> Node {
    let at = lines.at(value.span());
    let value = match value.into_inner() {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(number) => {
            Value::Int(i64::from_str_radix(number.as_str(), number.radix()).unwrap_or_else(|_| {
                problems.push(Problem::new(&at.file, at.line, format!("{number} does not fit into 64 bits")));
                0
            }))
        }
        DeValue::Float(number) => Value::Float(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(value) => Value::Bool(value),
        DeValue::Datetime(date) => Value::Date(date.to_string()),
        DeValue::Array(list) => {
            Value::List(list.into_iter().map(|value| node(value, lines, problems)).collect())
        }
        DeValue::Table(table) => Value::Group(entries(table, lines, problems)),
    };
    Node { value, at }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Parsed {
        read(text, &Rc::from(Path::new("x.toml")))
    }

    #[test]
    fn lines_are_those_of_the_file() {
        let parsed = parse("a = 1\n\n[b]\nc = \"x\"\n[[d]]\n[[d]]\n  e = [\n 1,\n 2]\n");
        assert!(parsed.problems.is_empty());
        let lines: Vec<_> = parsed.root.iter().map(|entry| (entry.key.as_str(), entry.at.line)).collect();
        assert_eq!(lines, [("a", 1), ("b", 3), ("d", 5)]);
        let Value::List(rows) = &parsed.root[2].node.value else { panic!("{:?}", parsed.root[2]) };
        assert_eq!(rows.iter().map(|row| row.at.line).collect::<Vec<_>>(), [5, 6]);
        let Value::Group(row) = &rows[1].value else { panic!("{rows:?}") };
        assert_eq!(row[0].at.line, 7);
        let Value::List(numbers) = &row[0].node.value else { panic!("{row:?}") };
        assert_eq!(numbers.iter().map(|number| number.at.line).collect::<Vec<_>>(), [8, 9]);
    }

    #[test]
    fn every_broken_line_is_reported() {
        let parsed = parse("a = \nb = 1\nc = 99999999999999999999\nb = 2\nd = hello\n");
        let lines: Vec<_> = parsed.problems.iter().map(|problem| problem.line).collect();
        assert!([1, 3, 4, 5].iter().all(|line| lines.contains(line)), "{:?}", parsed.problems);
    }

    #[test]
    fn all_kinds_of_numbers() {
        let parsed = parse("a = 0x1F\nb = -1_000\nc = 1.5\nd = 1979-05-27\ne = +7\n");
        let values: Vec<_> = parsed.root.into_iter().map(|entry| entry.node.value).collect();
        assert_eq!(
            values,
            [
                Value::Int(31),
                Value::Int(-1000),
                Value::Float(1.5),
                Value::Date("1979-05-27".to_owned()),
                Value::Int(7)
            ]
        );
    }
}
