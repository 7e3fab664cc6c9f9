//! Harnesses that assert what must hold for any statement at all.
//!
//! Each takes the bytes of one fuzz case and panics if an invariant is broken. They run as bounded
//! tests with the other tests of this crate, and without bounds as the libFuzzer targets in the
//! folder `fuzz`.

use crate::digest::{Digest, LITERALS_MAX, Options};
use crate::injection::{self, Look};
use crate::lexer::{Charset, Lexer, Modes};
use crate::outline::{self, Outline};
use crate::parse::{Kind, Settings, Splices, Step, Tree};
use crate::{Condition, Dialect, Shape, hint, routine};

/// Takes one byte of choices from the front of `data`.
fn split(data: &[u8]) -> (u8, &[u8]) {
    data.split_first().map_or((0, data), |(first, rest)| (*first, rest))
}

/// A statement's digest with any options: spans in order and inside, a text no longer than the
/// statement, the same result in a buffer that was used before.
pub fn digest(data: &[u8]) {
    let (choice, rest) = split(data);
    let (limits, sql) = split(rest);
    let options = Options {
        max_digest_length: 16 + usize::from(limits),
        max_query_length: if choice & 32 == 0 { 65_000 } else { 16 + usize::from(limits) },
        grouping_limit: usize::from(limits & 3),
        groups_grouping_limit: usize::from(limits >> 2 & 3),
        lowercase: choice & 1 != 0,
        replace_null: choice & 2 != 0,
        no_digits: choice & 4 != 0,
        keep_comment: choice & 8 != 0,
    };
    let mut digest = Digest::default();
    digest.read(sql, &options);
    assert!(digest.text().len() <= options.max_query_length);
    // A comment at the end of what is read may be replaced by a blank.
    assert!(digest.text().len() <= sql.len() + 1);
    assert!(digest.shown().len() <= options.max_digest_length && digest.text().starts_with(digest.shown()));
    assert!(digest.literals().len() <= LITERALS_MAX);
    let mut end = 0;
    for span in digest.literals() {
        assert!(end <= span.start && span.start < span.end && span.end <= sql.len());
        end = span.end;
    }
    if let Some(comment) = digest.facts().first_comment {
        assert!(comment.start <= comment.end && comment.end <= sql.len());
        hint::parse(comment.of(sql));
    }
    let (hash, facts, text) = (digest.hash(), *digest.facts(), digest.text().to_vec());
    digest.read(b"select 'something', else /* first */ from t", &options);
    digest.read(sql, &options);
    assert!((hash, facts, text.as_slice()) == (digest.hash(), *digest.facts(), digest.text()));
}

/// A statement's outline: those that it fits have the same digest and facts, be they the statement
/// with other values in it or one with another byte in it.
pub fn outline(data: &[u8]) {
    const NUMBERS: [&[u8]; 4] = [b"0", b"7", b"12345678", b"18446744073709551616"];
    const STRINGS: [&[u8]; 4] = [b"", b"for update", b"/* */ -- #?(", b"\xE4\x00 1"];
    let (choice, rest) = split(data);
    let (place, sql) = split(rest);
    let options =
        Options { replace_null: choice & 1 != 0, keep_comment: choice & 2 != 0, ..Options::default() };
    let mut digest = Digest::default();
    digest.read(sql, &options);
    let Some(outline) = Outline::of(sql, &digest) else { return };
    let same = |other: &[u8]| {
        let mut its = Digest::default();
        its.read(other, &options);
        (its.hash(), its.facts(), its.text()) == (digest.hash(), digest.facts(), digest.text())
    };
    let mut picks = data.iter().cycle();
    let filled = outline.filled(|value| {
        let pick = usize::from(picks.next().copied().unwrap_or(0)) % 4;
        let quote = value.first().copied().filter(|byte| !byte.is_ascii_digit());
        let quote = quote.as_slice();
        let inside = if quote.is_empty() { &NUMBERS } else { &STRINGS };
        [quote, inside.get(pick).copied().unwrap_or_default(), quote].concat()
    });
    assert!(outline.fits(sql) && outline.fits(&filled) && same(&filled));
    let mut changed = sql.to_vec();
    if let Some(byte) = changed.get_mut(usize::from(place)) {
        *byte = choice;
    }
    assert!(!outline.fits(&changed) || same(&changed));
    outline::hash(&changed);
}

/// A statement's tokens and shape in any modes: tokens in order, each with something in it, and a
/// shape that says so if nothing is known. What stands in one comment is within it, whichever
/// server executes that.
pub fn shape(data: &[u8]) {
    let (choice, sql) = split(data);
    let modes = Modes {
        ansi_quotes: choice & 1 != 0,
        no_backslash_escapes: choice & 2 != 0,
        charset: match choice >> 2 & 7 {
            1 => Charset::Big5,
            2 => Charset::Gbk,
            3 => Charset::Gb18030,
            4 => Charset::Sjis,
            _ => Charset::Plain,
        },
    };
    let mut lexer = Lexer::new(sql, modes);
    let mut end = 0;
    for token in lexer.by_ref() {
        assert!(end <= token.start && token.start < token.end && token.end <= sql.len());
        end = token.end;
    }
    if let Some((inside, condition)) = Condition::of(sql) {
        let ends = inside.windows(2).any(|two| two == b"*/");
        assert!(!inside.is_empty() && !ends && sql.windows(inside.len()).any(|part| part == inside));
        condition.holds_at(Dialect::of(inside));
    }
    let uses = [routine::definition(sql, modes), routine::trigger(sql, modes), routine::view(sql)];
    let routines = uses.into_iter().flatten().flat_map(|uses| uses.routines);
    for called in routine::called(sql, modes).into_iter().flatten().chain(routines) {
        // It is put into other statements as it is.
        assert!(called.name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')));
    }
    let shape = Shape::of(sql, modes);
    assert!(shape.reads.is_sorted() && shape.writes.is_sorted());
    if lexer.broken() {
        assert!(!shape.is_plain_read());
    }
    if shape.is_plain_read() {
        assert!(shape.writes.is_empty());
    }
}

/// A statement's tree for any session and server: children in order within their parents, a walk
/// that enters and leaves each node once, placeholders numbered in order, the same tree in a buffer
/// that was used before. Splices that change nothing leave every byte as it was.
pub fn spans(data: &[u8]) {
    const VERSIONS: [&[u8]; 4] = [b"8.0.36", b"9.7.4", b"10.11.19-MariaDB", b"11.8.2-MariaDB"];
    let (choice, sql) = split(data);
    let version = VERSIONS.get(usize::from(choice >> 6)).copied().unwrap_or_default();
    let Some(dialect) = Dialect::of(version) else { return };
    let settings = Settings {
        modes: Modes {
            ansi_quotes: choice & 1 != 0,
            no_backslash_escapes: choice & 2 != 0,
            charset: if choice & 4 == 0 { Charset::Plain } else { Charset::Gbk },
        },
        dialect,
        pipes_as_concat: choice & 8 != 0,
        high_not_precedence: choice & 16 != 0,
    };
    let mut tree = Tree::default();
    let outcome = tree.read(sql, &settings);
    let mut other = Tree::default();
    assert!(other.read(b"SELECT (a), ? FROM t JOIN u ON 1", &settings).is_ok());
    assert!(other.read(sql, &settings) == outcome);
    let root = match outcome {
        Ok(root) => root,
        Err(refusal) => return assert!(refusal.at <= sql.len() && tree.root().is_none()),
    };
    assert!(tree.kind(root) == Kind::Statement && tree.root() == Some(root) && tree.parent(root).is_none());
    assert!(tree.walk(root).map(|step| at(&tree, step)).eq(other.walk(root).map(|step| at(&other, step))));
    nested(&tree, sql.len());
    for table in tree.tables() {
        let (around, name) = (tree.span(table.id), table.name);
        assert!(around.start <= name.start && name.start < name.end && name.end <= around.end);
    }
    let mut splices = Splices::default();
    for step in tree.walk(root) {
        if let Step::Enter(id) = step
            && tree.kind(id) == Kind::Name
        {
            let span = tree.span(id);
            assert!(splices.add(span, span.of(sql)).is_ok());
        }
    }
    let mut out = Vec::new();
    assert!(splices.apply(sql, &mut out).is_ok() && out == sql);
}

/// What a step meets.
fn at(tree: &Tree, step: Step) -> (Step, Kind, usize, usize) {
    let (Step::Enter(id) | Step::Leave(id)) = step;
    let span = tree.span(id);
    (step, tree.kind(id), span.start, span.end)
}

/// Asserts that nodes are within each other and in order.
fn nested(tree: &Tree, len: usize) {
    let Some(root) = tree.root() else { return };
    let mut open = Vec::new();
    let mut placeholders = 0;
    let mut last = 0;
    for step in tree.walk(root) {
        let (_, kind, start, end) = at(tree, step);
        match step {
            Step::Enter(id) => {
                assert!(
                    last <= start && start < end && end <= len && tree.parent(id) == open.last().copied()
                );
                if let Kind::Placeholder(number) = kind {
                    assert!(number >= placeholders);
                    placeholders = number + 1;
                }
                open.push(id);
                last = start;
            }
            Step::Leave(id) => {
                assert!(last <= end && open.pop() == Some(id));
                last = end;
            }
        }
    }
    assert!(open.is_empty() && placeholders <= tree.placeholders());
}

/// Whether a statement looks like injected SQL: the library does not fail, and tells a fingerprint
/// that one can write down.
pub fn injection(data: &[u8]) {
    let found = injection::look(data);
    assert!(found != Look::Failed && found == injection::look(data));
    if let Look::Injected(fingerprint) = found {
        let written = fingerprint.as_str();
        assert!((1..=5).contains(&written.len()));
        assert!(written.bytes().all(|byte| b"&(),1:;ABETUXcfknostv".contains(&byte)));
    }
}
