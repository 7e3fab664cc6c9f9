//! Statements without their values: ProxySQL's digest text, byte for byte, and the facts found on
//! the way.
//!
//! One pass writes the text into a buffer that is used again for the next statement; only texts
//! with long lists are gone over once more. Users' rules and dashboards hold these texts and their
//! hashes, so they are what ProxySQL 2.7.2 gives, with its quirks.

mod collapse;
mod options;
mod scan;
mod tight;

pub use self::options::Options;

use crate::secrets::{announced, may_have_password};
use crate::spooky;

use self::scan::{Scan, Sink};
use self::tight::Tight;

/// Literal spans kept of one statement; more are counted, not kept.
pub const LITERALS_MAX: usize = 4096;

/// Bytes `start..end` of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte behind the last.
    pub end: usize,
}

impl Span {
    /// The bytes of `sql` that this names; nothing if they are not there.
    pub fn of(self, sql: &[u8]) -> &[u8] {
        sql.get(self.start..self.end).unwrap_or_default()
    }
}

/// What one pass over a statement found besides its text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not states")]
pub struct Facts {
    /// Statements separated by `;`; 0 if there are only blanks and comments.
    pub statements: u32,
    /// The inside of the first comment `/* */`, at most 1,023 bytes of it.
    pub first_comment: Option<Span>,
    /// There is an `@` outside strings and comments: user or system variables, or an account name.
    pub at: bool,
    /// A string has a backslash: it ends elsewhere in the mode `NO_BACKSLASH_ESCAPES`.
    pub escapes: bool,
    /// There are double quotes: names, not strings, in the mode `ANSI_QUOTES`.
    pub quotes: bool,
    /// All statements with this digest mean the same, as far as names, comments and clauses go, for
    /// a server in default modes: what was found out about one holds for the others. False if
    /// something a server executes left no trace in the text (comments `/*! */`), if a name became
    /// a value, or if this module and a server would not agree where a comment or string ends.
    pub sound: bool,
    /// The same but for what operators want digests not to tell apart: digits in names, and upper
    /// from lower case.
    pub clear: bool,
    /// The whole statement was read. What is behind the part that was read is in nothing else here.
    pub whole: bool,
    /// There is a zero byte, at which the text ends.
    nul: bool,
}

/// The digest of one statement, in memory that is used again for the next.
#[derive(Debug, Default)]
pub struct Digest {
    tight: Tight,
    literals: Vec<Span>,
    facts: Facts,
    hash: u64,
    hashed: usize,
}

impl Digest {
    /// Makes the digest of `sql`, the text of a query or of a statement to prepare.
    ///
    /// Time and memory are bounded by the length of `sql`, and memory also by `max_query_length`.
    pub fn read(&mut self, sql: &[u8], options: &Options) {
        self.tight.restart(options.no_digits, options.keep_comment);
        self.literals.clear();
        self.facts = Facts { sound: true, ..Facts::default() };
        let mut scan = Scan::default();
        let room = options.max_query_length;
        self.tight.out.reserve(sql.len().min(room));
        loop {
            let mut sink =
                Sink { tight: &mut self.tight, literals: &mut self.literals, facts: &mut self.facts };
            let whole = scan.run(sql, options, room, &mut sink);
            self.facts.whole = whole;
            if whole {
                self.tight.finish();
            }
            let before = self.tight.out.len();
            self.collapse(&scan, options);
            // Going over a full buffer again is worth it only if that makes much room.
            if whole || before - self.tight.out.len() < before / 4 {
                break;
            }
        }
        self.finish(options);
        self.drop_password(sql.get(..scan.read()).unwrap_or_default());
    }

    /// The digest text, as `match_digest` of query rules sees it. Not necessarily UTF-8.
    pub fn text(&self) -> &[u8] {
        &self.tight.out
    }

    /// The part of the text that is hashed and shown in tables.
    pub fn shown(&self) -> &[u8] {
        self.text().get(..self.hashed).unwrap_or_default()
    }

    /// The hash of [`Digest::shown`], which tables and rules show as `0x` and sixteen hexadecimal
    /// digits.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// Where the values are that became `?`, in their order; the first [`LITERALS_MAX`].
    pub fn literals(&self) -> &[Span] {
        &self.literals
    }

    /// What else was found.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    fn collapse(&mut self, scan: &Scan, options: &Options) {
        if options.grouping_limit == 0 || scan.marks <= options.grouping_limit && !scan.lists {
            return;
        }
        let (shortened, lost) = collapse::lists(&mut self.tight.out, options.grouping_limit);
        self.facts.sound &= !lost;
        if options.groups_grouping_limit > 0 && (shortened > 0 || scan.lists) {
            collapse::groups(&mut self.tight.out, options.grouping_limit, options.groups_grouping_limit);
        }
    }

    /// Takes what may be a password out of a text that can have literals: a comment that servers
    /// execute is in it as it is, and a string with a backslash ends elsewhere in the mode
    /// `NO_BACKSLASH_ESCAPES`. `sql` is what was read.
    fn drop_password(&mut self, sql: &[u8]) {
        if self.facts.sound && !self.facts.escapes || !may_have_password(sql) {
            return;
        }
        let text = &mut self.tight.out;
        let is_doubtful = |byte: &u8| matches!(byte, b'?' | b'\'' | b'"' | b'`' | b'@');
        text.truncate(text.iter().position(is_doubtful).unwrap_or(text.len()));
        text.truncate(announced(text).unwrap_or(text.len()));
        text.extend_from_slice(b" ?");
        self.hashed = self.hashed.min(text.len());
        (self.facts.sound, self.facts.clear) = (false, false);
        self.hash = spooky::hash64(text.get(..self.hashed).unwrap_or_default());
    }

    fn finish(&mut self, options: &Options) {
        let text = &mut self.tight.out;
        text.truncate(options.max_query_length);
        while let [_, .., b' ' | b';'] = text.as_slice() {
            text.pop();
        }
        if self.facts.nul {
            let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
            text.truncate(end);
            self.facts.sound = false;
        }
        self.hashed = text.len().min(options.max_digest_length);
        // What is behind the part that is hashed may be anything.
        self.facts.clear =
            self.facts.sound && self.facts.whole && !self.tight.signs_lost && self.hashed == text.len();
        self.facts.sound = self.facts.clear && !options.no_digits && !options.lowercase;
        self.hash = spooky::hash64(text.get(..self.hashed).unwrap_or_default());
    }
}
