//! What a worker finds out about statements from their texts, with what it remembers for that.

use route::Facts;
use sql::digest::Span;
use sql::{Digest, Modes, Options, Shape, outline};

use super::facts;
use super::seen::{Known, Seen};
use super::shapes::Shapes;
use crate::limits::JUDGED_BYTES_MAX;

/// Reads the statements of one worker.
#[derive(Debug, Default)]
pub(super) struct Reader {
    digest: Digest,
    shapes: Shapes,
    seen: Seen,
}

/// What about a session makes texts mean something else than they seem to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    /// Its characters may have a quote or a backslash as their second byte.
    pub(crate) two_byte_quotes: bool,
    /// A backslash is a letter like any other.
    pub(crate) no_backslash_escapes: bool,
}

/// What was found out about a statement.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found<'a> {
    /// The hash of its digest.
    pub(super) digest: u64,
    /// The digest's text as rules see it.
    pub(super) shown: &'a [u8],
    /// Whether it is several statements in one text.
    pub(super) several: bool,
    /// The inside of its first comment.
    pub(super) comment: Option<Span>,
    /// What it does.
    pub(super) facts: Facts,
    /// Whether its digest says all that a server would do.
    pub(super) clear: bool,
}

impl Reader {
    /// Reads a statement. Of one of which this is not all, `is_whole` is false: nothing is known of
    /// what it does.
    pub(super) fn read(
        &mut self,
        text: &[u8],
        is_whole: bool,
        reading: Reading,
        options: &Options,
    ) -> Found<'_> {
        let vacancy = if is_whole && text.len() <= outline::BYTES_MAX {
            match self.seen.find(text) {
                Ok(number) => return self.seen.get(number).found(text, reading),
                Err(vacancy) => Some(vacancy),
            }
        } else {
            None
        };
        self.digest.read(text, options);
        let found = *self.digest.facts();
        let doubts = reading.doubts(text, found.escapes, found.quotes);
        let facts = if is_whole && !doubts { self.facts(text) } else { Facts::default() };
        if let Some(vacancy) = vacancy.filter(|_| !doubts) {
            self.seen.learn(vacancy, || Known::new(text, &self.digest, facts));
        }
        Found {
            digest: self.digest.hash(),
            shown: self.digest.shown(),
            several: found.statements > 1,
            comment: found.first_comment,
            facts,
            clear: is_whole && found.clear && !reading.misreads(text, found.escapes),
        }
    }

    /// The hash of the digest of `text`.
    pub(super) fn digest(&mut self, text: &[u8], options: &Options) -> u64 {
        self.digest.read(text.get(..JUDGED_BYTES_MAX).unwrap_or(text), options);
        self.digest.hash()
    }

    /// The digest's text of `text`, whose digest is `digest`, as tables show it.
    pub(super) fn shown(&mut self, digest: u64, text: &[u8], options: Option<&Options>) -> &[u8] {
        // A digest that is counted for the first time is nearly always the one that was made last.
        if self.digest.hash() != digest
            && let Some(options) = options
        {
            self.digest(text, options);
        }
        self.digest.shown()
    }

    /// Digests will be others.
    pub(super) fn forget(&mut self) {
        self.seen = Seen::default();
    }

    /// What the statement does whose digest was just made.
    fn facts(&mut self, text: &[u8]) -> Facts {
        let digest = &self.digest;
        let look = || {
            if may_call(digest) { Facts::default() } else { facts::facts(&Shape::of(text, Modes::default())) }
        };
        if digest.facts().sound { self.shapes.get(digest.hash(), look) } else { look() }
    }
}

impl Known {
    /// What this says about `text`, which has the same outline.
    fn found(&self, text: &[u8], reading: Reading) -> Found<'_> {
        let doubts = reading.doubts(text, self.escapes, self.quotes);
        Found {
            digest: self.digest,
            shown: &self.shown,
            several: self.several,
            comment: self.comment,
            facts: if doubts { Facts::default() } else { self.facts },
            // Without that there is no outline.
            clear: !reading.misreads(text, self.escapes),
        }
    }
}

impl Reading {
    /// Whether servers may see another end of a string or a comment in `text` than there seems to
    /// be.
    pub(super) fn doubts(self, text: &[u8], escapes: bool, quotes: bool) -> bool {
        escapes && quotes && text.contains(&b'\\') || self.misreads(text, escapes)
    }

    /// The same for servers that take texts in double quotes for strings.
    pub(super) fn misreads(self, text: &[u8], escapes: bool) -> bool {
        escapes && self.no_backslash_escapes && text.contains(&b'\\')
            || self.two_byte_quotes && !text.is_ascii()
    }

    /// Whether what `text`, of which `digest` was made, does is better not told from its words.
    pub(super) fn is_in_doubt(self, digest: &Digest, text: &[u8]) -> bool {
        let found = digest.facts();
        self.doubts(text, found.escapes, found.quotes) || may_call(digest)
    }
}

/// Whether a text in double quotes is in front of a parenthesis: in the mode `ANSI_QUOTES` this
/// calls a function.
fn may_call(digest: &Digest) -> bool {
    digest.facts().quotes && digest.text().windows(2).any(|pair| pair == b"?(")
}
