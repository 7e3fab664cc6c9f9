//! Rewrites: new texts for some spans of a statement, every other byte as it was.

use crate::digest::Span;
use crate::lexer::{Lexer, Modes, Token};

/// New texts for spans of one statement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Splices {
    /// Sorted by where they begin; those that begin at one place in the order of their addition.
    all: Vec<(Span, Vec<u8>)>,
}

/// Two splices share bytes, or one names bytes that the statement does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overlap {
    /// The span that does not fit.
    pub span: Span,
}

impl std::fmt::Display for Overlap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the splice of bytes {} to {} overlaps another one", self.span.start, self.span.end)
    }
}

impl std::error::Error for Overlap {}

impl Splices {
    /// Puts `text` in the place of a span; in front of a byte if the span is empty.
    ///
    /// # Errors
    /// If the span shares bytes with one that is there, or ends before it begins. Nothing is added
    /// then.
    pub fn add(&mut self, span: Span, text: impl Into<Vec<u8>>) -> Result<(), Overlap> {
        let at = self.all.partition_point(|(other, _)| (other.start, other.end) <= (span.start, span.end));
        let before = at.checked_sub(1).and_then(|before| self.all.get(before));
        let overlaps = before.is_some_and(|(before, _)| before.end > span.start)
            || self.all.get(at).is_some_and(|(next, _)| next.start < span.end);
        if overlaps || span.end < span.start {
            return Err(Overlap { span });
        }
        self.all.insert(at, (span, text.into()));
        Ok(())
    }

    /// Adds splices in any order: those at one place in the order in which they come.
    ///
    /// # Errors
    /// If two spans share bytes, or one ends before it begins. Nothing holds of the list then.
    pub fn add_all(&mut self, mut added: Vec<(Span, Vec<u8>)>) -> Result<(), Overlap> {
        self.all.append(&mut added);
        self.all.sort_by_key(|(span, _)| (span.start, span.end));
        let overlap =
            self.all.iter().zip(self.all.iter().skip(1)).find(|((one, _), (next, _))| one.end > next.start);
        if let Some((_, (next, _))) = overlap {
            return Err(Overlap { span: *next });
        }
        let turned = self.all.iter().find(|(span, _)| span.end < span.start);
        turned.map_or(Ok(()), |(span, _)| Err(Overlap { span: *span }))
    }

    /// Whether bytes of a span are replaced, or some are put in between them.
    pub fn changes(&self, span: Span) -> bool {
        let within = |at: usize| span.start < at && at < span.end;
        // They share no bytes: their ends rise as their starts do.
        let first = self.all.partition_point(|(other, _)| other.end <= span.start);
        let near = self.all.get(first..).unwrap_or_default().iter();
        near.take_while(|(other, _)| other.start < span.end).any(|(other, _)| {
            let shares = other.start < span.end && span.start < other.end;
            if other.start == other.end { within(other.start) } else { shares }
        })
    }

    /// Where the byte `at` of the statement stands in the rewritten one: behind what is put in
    /// front of it.
    pub fn moved(&self, at: usize) -> usize {
        let before = self.all.iter().filter(|(span, _)| span.end <= at);
        before.fold(at, |moved, (span, text)| (moved + text.len()).saturating_sub(span.end - span.start))
    }

    /// Whether the statement stays as it is.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether a splice has bytes of a comment that servers execute, `/*! */`: it may replace the
    /// comment's end, or what other servers do not see.
    pub fn is_in_conditional(&self, sql: &[u8], modes: Modes) -> bool {
        let tokens: Vec<Token> = Lexer::new(sql, modes).collect();
        let is_open_at = |token: &Token, at: usize| {
            let gap = sql.get(token.end..at).unwrap_or_default();
            token.conditional && !gap.windows(2).any(|pair| pair == b"*/")
        };
        self.all.iter().any(|(span, _)| {
            let before = tokens.partition_point(|token| token.end <= span.start);
            let last = before.checked_sub(1).and_then(|last| tokens.get(last));
            let inside = tokens.get(before..).unwrap_or_default().iter();
            let mut inside = inside.take_while(|token| token.start < span.end);
            last.is_some_and(|token| is_open_at(token, span.start)) || inside.any(|token| token.conditional)
        })
    }

    /// Appends the rewritten statement to `out`.
    ///
    /// # Errors
    /// If a splice names bytes that `sql` does not have. Nothing is appended then.
    pub fn apply(&self, sql: &[u8], out: &mut Vec<u8>) -> Result<(), Overlap> {
        if let Some((last, _)) = self.all.last()
            && last.end > sql.len()
        {
            return Err(Overlap { span: *last });
        }
        let mut copied = 0;
        for (span, text) in &self.all {
            out.extend_from_slice(sql.get(copied..span.start).unwrap_or_default());
            out.extend_from_slice(text);
            copied = span.end;
        }
        out.extend_from_slice(sql.get(copied..).unwrap_or_default());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SQL: &[u8] = b"SELECT a FROM t";

    fn span(start: usize, end: usize) -> Span {
        Span { start, end }
    }

    fn applied(splices: &Splices) -> String {
        let mut out = Vec::new();
        splices.apply(SQL, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn all_else_stays() {
        let mut splices = Splices::default();
        assert_eq!(applied(&splices), "SELECT a FROM t");
        splices.add(span(14, 15), "s.t_01").unwrap();
        splices.add(span(8, 8), ", b").unwrap();
        splices.add(span(8, 8), ", c").unwrap();
        splices.add(span(7, 8), "aa").unwrap();
        splices.add(span(15, 15), " LIMIT 1").unwrap();
        assert_eq!(applied(&splices), "SELECT aa, b, c FROM s.t_01 LIMIT 1");
        assert_eq!([0, 7, 8, 14, 15].map(|at| splices.moved(at)), [0, 7, 15, 21, 35]);
    }

    #[test]
    fn splices_come_in_any_order() {
        let mut splices = Splices::default();
        splices.add(span(8, 8), ", b").unwrap();
        let added = [(span(14, 15), "s.t"), (span(7, 8), "aa"), (span(8, 8), ", c")];
        splices.add_all(added.map(|(span, text)| (span, text.into())).into()).unwrap();
        assert_eq!(applied(&splices), "SELECT aa, b, c FROM s.t");
        let overlap = vec![(span(6, 8), Vec::new())];
        assert_eq!(splices.add_all(overlap), Err(Overlap { span: span(7, 8) }));
        let turned = vec![(span(9, 8), Vec::new())];
        assert!(Splices::default().add_all(turned).is_err());
    }

    #[test]
    fn bytes_are_replaced_once() {
        let mut splices = Splices::default();
        splices.add(span(7, 13), "x").unwrap();
        for (start, end) in [(7, 13), (6, 8), (12, 14), (8, 8), (0, 15), (9, 8)] {
            let refused = Err(Overlap { span: span(start, end) });
            assert_eq!(splices.add(span(start, end), "y"), refused, "{start}..{end}");
        }
        splices.add(span(13, 99), "z").unwrap();
        assert_eq!(splices.apply(SQL, &mut Vec::new()), Err(Overlap { span: span(13, 99) }));
    }

    #[test]
    fn a_span_is_changed_by_what_is_within() {
        let mut splices = Splices::default();
        splices.add(Span { start: 7, end: 8 }, "b").unwrap();
        splices.add(Span { start: 14, end: 14 }, "x").unwrap();
        let changes = |start, end| splices.changes(Span { start, end });
        assert!(changes(7, 8) && changes(0, 15) && changes(13, 15));
        assert!(!changes(0, 7) && !changes(8, 14) && !changes(14, 15));
    }

    #[test]
    fn comments_that_servers_execute_are_left_alone() {
        let sql = b"SELECT /*!40001 SQL_NO_CACHE */ a FROM /*! t */ u";
        for (text, is_inside) in
            [("a", false), ("u", false), ("SQL_NO_CACHE", true), ("t", true), ("FROM /*! t", true)]
        {
            let start = sql.windows(text.len()).rposition(|part| part == text.as_bytes()).unwrap();
            let mut splices = Splices::default();
            splices.add(span(start, start + text.len()), "x").unwrap();
            assert_eq!(splices.is_in_conditional(sql, Modes::default()), is_inside, "{text}");
        }
        let mut behind_name = Splices::default();
        behind_name.add(span(28, 28), "x").unwrap();
        assert!(behind_name.is_in_conditional(sql, Modes::default()), "the comment is open there");
    }
}
