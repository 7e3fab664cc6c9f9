//! What a definition says of columns and keys.

use std::ops::Range;

use crate::plan::Refusal;
use crate::plan::refusal::Cause;
use crate::plan::uses::Use;

use super::What;
use super::tokens::Tokens;

/// Something that a definition says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// Its tokens.
    pub(super) range: Range<usize>,
    /// What it is.
    pub(super) kind: ItemKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ItemKind {
    /// A primary or unique key of these columns: those of which it has the whole value.
    Unique(Vec<String>),
    /// These columns refer to columns of a table, which are in the parentheses at `references`.
    Foreign { columns: Vec<String>, references: usize },
    /// A column is dropped, renamed, or gets another type.
    Change(String),
    /// A constraint has a name that is one of its schema.
    Named,
}

/// The items of a statement; `body` is the first token behind the table's name.
pub(super) fn items(tokens: &Tokens<'_>, what: What, body: usize) -> Vec<Item> {
    let mut found = Vec::new();
    match what {
        What::Create if tokens.is_sign(body, b'(') && tokens.word(body + 1) != "LIKE" => {
            let end = tokens.close(body).saturating_sub(1);
            for part in tokens.list(body + 1..end) {
                definition(tokens, &part, &mut found);
            }
        }
        What::UniqueIndex => {
            let open = (body..tokens.len()).find(|at| tokens.is_sign(*at, b'(')).unwrap_or(body);
            found.push(Item { range: body..tokens.close(open), kind: ItemKind::Unique(parts(tokens, open)) });
        }
        What::Alter => {
            for part in alterations(tokens, body) {
                alteration(tokens, &part, &mut found);
            }
        }
        _ => {}
    }
    found
}

/// Refuses a new name for a table.
pub(super) fn check_rename(tokens: &Tokens<'_>, table: &Use<'_>) -> Result<(), Refusal> {
    let of_parts = |at: usize| ["COLUMN", "INDEX", "KEY"].contains(&tokens.word(at).as_str());
    let body = tokens.behind(table.reference.name.end);
    let mut parts = alterations(tokens, body).into_iter();
    match parts.find(|part| tokens.word(part.start) == "RENAME" && !of_parts(part.start + 1)) {
        Some(part) if table.table.is_some() => Err(Cause::Rename.at(tokens.span(&part))),
        _ => Ok(()),
    }
}

/// The parts of an `ALTER TABLE`, without how long it waits.
fn alterations(tokens: &Tokens<'_>, mut body: usize) -> Vec<Range<usize>> {
    match tokens.word(body).as_str() {
        "WAIT" => body += 2,
        "NOWAIT" => body += 1,
        _ => {}
    }
    tokens.list(body..tokens.len())
}

/// Part of an `ALTER TABLE`.
fn alteration(tokens: &Tokens<'_>, part: &Range<usize>, found: &mut Vec<Item>) {
    let verb = tokens.word(part.start);
    let mut at = part.start + 1;
    let skip = |at: &mut usize, words: &[&str]| {
        while *at < part.end && words.contains(&tokens.word(*at).as_str()) {
            *at += 1;
        }
    };
    let mut change = |at: usize| {
        let name = tokens.name(at).filter(|_| at < part.end);
        found.extend(name.map(|name| Item { range: part.clone(), kind: ItemKind::Change(name) }));
    };
    match verb.as_str() {
        "ADD" => {
            skip(&mut at, &["COLUMN", "IF", "NOT", "EXISTS"]);
            if tokens.is_sign(at, b'(') {
                for part in tokens.list(at + 1..tokens.close(at).saturating_sub(1)) {
                    definition(tokens, &part, found);
                }
            } else {
                definition(tokens, &(at..part.end), found);
            }
        }
        "MODIFY" => {
            skip(&mut at, &["COLUMN", "IF", "EXISTS"]);
            change(at);
            definition(tokens, &(at..part.end), found);
        }
        "CHANGE" => {
            skip(&mut at, &["COLUMN", "IF", "EXISTS"]);
            change(at);
            change(at + 1);
            definition(tokens, &(at + 1..part.end), found);
        }
        "RENAME" if tokens.word(at) == "COLUMN" => {
            skip(&mut at, &["COLUMN", "IF", "EXISTS"]);
            change(at);
            change(at + 2);
        }
        "DROP" => {
            let word = tokens.word(at);
            let others = ["INDEX", "KEY", "PRIMARY", "FOREIGN", "CHECK", "CONSTRAINT", "PARTITION"];
            skip(&mut at, &["COLUMN", "IF", "EXISTS"]);
            if !others.contains(&word.as_str()) {
                change(at);
            }
        }
        _ => {}
    }
}

/// The definition of a column or of a key.
fn definition(tokens: &Tokens<'_>, part: &Range<usize>, found: &mut Vec<Item>) {
    let mut at = part.start;
    let is_named = tokens.word(at) == "CONSTRAINT";
    if is_named {
        at += 1;
        while ["IF", "NOT", "EXISTS"].contains(&tokens.word(at).as_str()) {
            at += 1;
        }
        if !["PRIMARY", "UNIQUE", "FOREIGN", "CHECK"].contains(&tokens.word(at).as_str()) {
            at += 1;
            let is_of_schema = ["FOREIGN", "CHECK"].contains(&tokens.word(at).as_str());
            found.extend(is_of_schema.then(|| Item { range: part.clone(), kind: ItemKind::Named }));
        }
    }
    let open = (at..part.end).find(|at| tokens.is_sign(*at, b'('));
    match tokens.word(at).as_str() {
        "PRIMARY" | "UNIQUE" => {
            let columns = open.map_or_else(Vec::new, |open| parts(tokens, open));
            found.push(Item { range: part.clone(), kind: ItemKind::Unique(columns) });
        }
        "FOREIGN" => {
            let columns = open.map_or_else(Vec::new, |open| parts(tokens, open));
            found.extend(foreign(tokens, part, columns));
        }
        "CHECK" | "KEY" | "INDEX" | "FULLTEXT" | "SPATIAL" => {}
        _ => column(tokens, part, found),
    }
}

/// The definition of a column, which may make it a key.
fn column(tokens: &Tokens<'_>, part: &Range<usize>, found: &mut Vec<Item>) {
    let Some(name) = tokens.name(part.start) else { return };
    let mut at = part.start + 1;
    let mut is_unique = false;
    while at < part.end {
        if tokens.is_sign(at, b'(') {
            at = tokens.close(at);
            continue;
        }
        is_unique |= ["UNIQUE", "PRIMARY", "KEY"].contains(&tokens.word(at).as_str());
        at += 1;
    }
    found.extend(foreign(tokens, part, vec![name.clone()]));
    found.extend(is_unique.then(|| Item { range: part.clone(), kind: ItemKind::Unique(vec![name]) }));
}

fn foreign(tokens: &Tokens<'_>, part: &Range<usize>, columns: Vec<String>) -> Option<Item> {
    let references = part.clone().find(|at| tokens.word(*at) == "REFERENCES")?;
    Some(Item { range: part.clone(), kind: ItemKind::Foreign { columns, references } })
}

/// The columns of a key that are there as a whole: no prefixes, no expressions.
pub(super) fn parts(tokens: &Tokens<'_>, open: usize) -> Vec<String> {
    let end = tokens.close(open).saturating_sub(1);
    let is_whole = |part: &Range<usize>| {
        let direction = tokens.word(part.start + 1);
        part.len() == 1 || part.len() == 2 && ["ASC", "DESC"].contains(&direction.as_str())
    };
    let parts = tokens.list(open.saturating_add(1)..end).into_iter().filter(is_whole);
    parts.filter_map(|part| tokens.name(part.start)).collect()
}
