//! What a worker finds out about statements from their texts, with what it remembers for that.
//!
//! - [`plan`]: making the plans of statements;
//! - `seen` and `shapes`: what is remembered of statements for that.

pub mod plan;
mod seen;
mod shapes;

use sql::digest::Span;
use sql::{Digest, Options, StatementKind, outline};

use self::seen::{Known, Seen};
use self::shapes::Shapes;
use crate::StatementPlan;
use crate::limits::JUDGED_BYTES_MAX;

/// Reads the statements of one worker.
#[derive(Debug, Default)]
pub struct Reader {
    digest: Digest,
    shapes: Shapes,
    seen: Seen,
}

/// What about a session makes texts mean something else than they seem to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reading {
    /// Its characters may have a quote or a backslash as their second byte.
    pub two_byte_quotes: bool,
    /// A backslash is a letter like any other.
    pub no_backslash_escapes: bool,
}

/// What was found out about a statement.
#[derive(Debug, Clone, Copy)]
pub struct Found<'a> {
    /// The hash of its digest; nothing if digests are off.
    pub digest: Option<u64>,
    /// The digest's text as rules see it.
    pub shown: &'a [u8],
    /// The inside of its first comment.
    pub comment: Option<Span>,
    /// What follows from its shape.
    pub plan: StatementPlan,
    /// Whether its digest says all that a server would do.
    pub clear: bool,
}

impl Reader {
    /// Finds out what a statement is: by its digest if there are `options` for one.
    pub fn find_out(
        &mut self,
        text: &[u8],
        is_whole: bool,
        reading: Reading,
        options: Option<&Options>,
    ) -> Found<'_> {
        if let Some(options) = options {
            return self.read(text, is_whole, reading, options);
        }
        let plan = plan::of(text, is_whole, reading);
        Found { digest: None, shown: &[], comment: None, plan, clear: false }
    }

    /// Reads a statement. Of one of which this is not all, `is_whole` is false: nothing is known of
    /// what it does.
    fn read(&mut self, text: &[u8], is_whole: bool, reading: Reading, options: &Options) -> Found<'_> {
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
        let mut plan = if is_whole && !doubts { self.plan(text) } else { unknown(text) };
        plan.several |= found.statements > 1;
        let clear = is_whole && found.clear && !reading.misreads(text, found.escapes);
        let plan = plan::loading(plan, text, clear && !doubts);
        if let Some(vacancy) = vacancy.filter(|_| !doubts) {
            self.seen.learn(vacancy, || Known::new(text, &self.digest, plan));
        }
        Found {
            digest: Some(self.digest.hash()),
            shown: self.digest.shown(),
            comment: found.first_comment,
            plan,
            clear,
        }
    }

    /// The hash of the digest of `text`.
    pub fn digest(&mut self, text: &[u8], options: &Options) -> u64 {
        self.digest.read(text.get(..JUDGED_BYTES_MAX).unwrap_or(text), options);
        self.digest.hash()
    }

    /// The digest's text of `text`, whose digest is `digest`, as tables show it; empty if digests
    /// have been switched off since.
    pub fn shown(&mut self, digest: u64, text: &[u8], options: Option<&Options>) -> &[u8] {
        // A digest that is counted for the first time is nearly always the one that was made last.
        if self.digest.hash() != digest {
            let Some(options) = options else { return &[] };
            self.digest(text, options);
        }
        self.digest.shown()
    }

    /// Digests will be others.
    pub fn forget(&mut self) {
        self.seen = Seen::default();
    }

    /// What follows from the shape of the statement whose digest was just made.
    fn plan(&mut self, text: &[u8]) -> StatementPlan {
        let digest = &self.digest;
        let look = || {
            if may_call(digest) { unknown(text) } else { StatementPlan::read(text) }
        };
        if digest.facts().sound { self.shapes.get(digest.hash(), look) } else { look() }
    }
}

impl Known {
    /// What this says about `text`, which has the same outline.
    fn found(&self, text: &[u8], reading: Reading) -> Found<'_> {
        let doubts = reading.doubts(text, self.escapes, self.quotes);
        Found {
            digest: Some(self.digest),
            shown: &self.shown,
            comment: self.comment,
            plan: if doubts { plan::loading(self.plan.in_doubt(), text, false) } else { self.plan },
            // Without that there is no outline.
            clear: !reading.misreads(text, self.escapes),
        }
    }
}

impl Reading {
    /// Whether the digest of `text` may have literals, as servers see another end of a string.
    pub fn shows_literals(self, text: &[u8]) -> bool {
        self.misreads(text, true)
    }

    /// Whether servers may see another end of a string or a comment in `text` than there seems to
    /// be.
    fn doubts(self, text: &[u8], escapes: bool, quotes: bool) -> bool {
        escapes && quotes && text.contains(&b'\\') || self.misreads(text, escapes)
    }

    /// The same for servers that take texts in double quotes for strings.
    fn misreads(self, text: &[u8], escapes: bool) -> bool {
        escapes && self.no_backslash_escapes && text.contains(&b'\\')
            || self.two_byte_quotes && !text.is_ascii()
    }
}

/// What is known of a statement by its first words.
fn unknown(text: &[u8]) -> StatementPlan {
    StatementPlan::unknown(StatementKind::of(text))
}

/// Whether a text in double quotes is in front of a parenthesis: in the mode `ANSI_QUOTES` this
/// calls a function.
fn may_call(digest: &Digest) -> bool {
    digest.facts().quotes && digest.text().windows(2).any(|pair| pair == b"?(")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Statements, with a number or a string in the place of each `N` and `S`.
    const TEMPLATES: [&str; 23] = [
        "SELECT c FROM t WHERE id = N AND name = S",
        "SELECT N",
        "SELECT S FOR UPDATE",
        "SELECT a FROM t WHERE b = S LIMIT N FOR UPDATE",
        "SELECT N FROM t WHERE f(a) = S",
        "(SELECT N) UNION (SELECT S)",
        "INSERT INTO t VALUES (N, S)",
        "UPDATE t SET a = S WHERE b IN (N, N)",
        "DELETE FROM t WHERE a = N",
        "SET @a = N, b = S",
        "SET NAMES S",
        "KILL N",
        "SELECT GET_LOCK(S, N)",
        "PREPARE s FROM S",
        "EXECUTE IMMEDIATE S",
        "LOAD DATA LOCAL INFILE S INTO TABLE t",
        "CALL p(N, S)",
        "SELECT N; SELECT S",
        "SELECT S;",
        "/* c */ SELECT * FROM t WHERE a = S",
        "CREATE USER S IDENTIFIED BY S",
        "SHOW TABLES LIKE S",
        "CREATE DEFINER=S VIEW v AS SELECT N",
    ];

    /// The template with these values in their places.
    fn filled(template: &str, number: u64, text: &str) -> String {
        let text = format!("'{}'", text.replace('\'', "''"));
        let words = |word: char| word.is_ascii_alphanumeric() || word == '_';
        let mut all = String::new();
        let mut rest = template;
        while let Some(at) = rest.find(['N', 'S']) {
            let (before, behind) = rest.split_at(at);
            let is_alone = !before.ends_with(words) && !behind[1..].starts_with(words);
            all += before;
            match &behind[..1] {
                "N" if is_alone => all += &number.to_string(),
                "S" if is_alone => all += &text,
                letter => all += letter,
            }
            rest = &behind[1..];
        }
        all + rest
    }

    /// The plan of the text that is read at last.
    fn plan(texts: &[&String], reading: Reading) -> StatementPlan {
        let mut reader = Reader::default();
        let mut read = |text: &&String| reader.read(text.as_bytes(), true, reading, &Options::default()).plan;
        texts.iter().map(&mut read).last().unwrap()
    }

    proptest! {
        /// What is kept with an outline is what would be found out anew.
        #[test]
        fn plans_do_not_depend_on_plain_values(
            template in prop::sample::select(&TEMPLATES[..]),
            number: (u64, u64),
            text in (any::<String>(), "[a-z;/*# '\"-]{0,20}"),
            two_byte_quotes: bool,
            no_backslash_escapes: bool,
        ) {
            let reading = Reading { two_byte_quotes, no_backslash_escapes };
            let one = filled(template, number.0, &text.0.replace('\\', ""));
            let other = filled(template, number.1, &text.1);
            let known = plan(&[&one, &one, &other], reading);
            prop_assert_eq!(known, plan(&[&other], reading), "{:?} after {:?}", other, one);
            let mut digest = Digest::default();
            digest.read(one.as_bytes(), &Options::default());
            if sql::Outline::of(one.as_bytes(), &digest).is_some_and(|outline| outline.fits(other.as_bytes())) {
                let [one, other] = [one, other].map(|text| plan(&[&text], Reading::default()));
                prop_assert_eq!(one, other);
            }
        }
    }

    #[test]
    fn what_is_in_doubt_may_be_anything() {
        let gbk = Reading { two_byte_quotes: true, ..Reading::default() };
        let texts = ["SELECT 'a'", "SELECT 'a'", "SELECT 'a'", "SELECT '\u{e9};'"].map(str::to_owned);
        let of = |count| plan(&texts.iter().take(count).collect::<Vec<_>>(), gbk);
        assert_eq!(of(3), StatementPlan::read(b"SELECT 'a'"));
        let unknown = StatementPlan::unknown(StatementKind::Select);
        assert_eq!(of(4), StatementPlan { may_load: true, ..unknown });
    }
}
