//! Words and signs of a statement, without whitespace and comments.
//!
//! Comments are `/* ... */`, `#` and `-- ` up to the end of the line. The text of a MySQL comment
//! that servers execute, `/*!50000 ... */`, counts as text; see [`EXECUTED_BELOW`].

/// Versions of executable comments that every server of today executes: none is older, and MariaDB
/// leaves out the text of those that name a version of MySQL 5.7 or newer.
const EXECUTED_BELOW: u32 = 50_700;

/// A piece of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word<'a> {
    /// Letters, digits, `_` and `$`, and all bytes that are not ASCII.
    Name(&'a [u8]),
    /// Any other byte, also the first one of what is not understood here.
    Sign(u8),
}

/// The words of a statement, one after the other.
#[derive(Debug, Clone)]
pub(super) struct Words<'a> {
    rest: &'a [u8],
    /// Whether these words stand in an executable comment.
    in_comment: bool,
}

/// The first word of a statement, if it is a name.
pub(crate) fn first(text: &[u8]) -> Option<&[u8]> {
    match Words::new(text).next() {
        Some(Word::Name(name)) => Some(name),
        _ => None,
    }
}

impl<'a> Words<'a> {
    pub(crate) const fn new(text: &'a [u8]) -> Self {
        Self { rest: text, in_comment: false }
    }

    /// Takes the next word if it is this keyword, in any case.
    pub(super) fn keyword(&mut self, keyword: &str) -> bool {
        self.take(|word| matches!(word, Word::Name(name) if name.eq_ignore_ascii_case(keyword.as_bytes())))
    }

    /// Takes the next word if it is a name.
    pub(crate) fn name(&mut self) -> Option<&'a [u8]> {
        let mut ahead = self.clone();
        let Some(Word::Name(name)) = ahead.next() else { return None };
        *self = ahead;
        Some(name)
    }

    /// The text that no word was taken of.
    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The same from the next word on; nothing if that stands in a comment that servers may
    /// execute, or one that is not understood.
    pub(super) fn next_text(&mut self) -> Option<&'a [u8]> {
        (self.skip_blanks() && !self.in_comment).then_some(self.rest)
    }

    /// Takes the next word if it is this sign.
    pub(crate) fn sign(&mut self, sign: u8) -> bool {
        self.take(|word| word == Word::Sign(sign))
    }

    /// Takes the next word if it is a number in decimal digits.
    pub(crate) fn number(&mut self) -> Option<u64> {
        let mut ahead = self.clone();
        let Some(Word::Name(digits)) = ahead.next() else { return None };
        let digits = digits.iter().all(u8::is_ascii_digit).then(|| std::str::from_utf8(digits).ok());
        let number = digits.flatten()?.parse().ok()?;
        *self = ahead;
        Some(number)
    }

    /// Whether nothing but `;` is left.
    pub(crate) fn ends(mut self) -> bool {
        while self.sign(b';') {}
        self.next().is_none()
    }

    fn take(&mut self, wanted: impl FnOnce(Word<'_>) -> bool) -> bool {
        let mut ahead = self.clone();
        let taken = ahead.next().is_some_and(wanted);
        if taken {
            *self = ahead;
        }
        taken
    }

    /// Passes over whitespace and comments; false at a comment that is not understood or has no
    /// end.
    fn skip_blanks(&mut self) -> bool {
        loop {
            let rest = self.rest;
            let after = match rest {
                [b'\t'..=b'\r' | b' ', after @ ..] => Some(after),
                [b'#', after @ ..] => Some(line_end(after)),
                // Two signs are a comment only in front of a blank: `5--4` is 9.
                [b'-', b'-', after @ ..] if after.first().is_none_or(|&byte| byte <= b' ') => {
                    Some(line_end(after))
                }
                [b'*', b'/', after @ ..] if self.in_comment => {
                    self.in_comment = false;
                    Some(after)
                }
                [b'/', b'*', b'!', after @ ..] if !self.in_comment => {
                    self.in_comment = true;
                    executable(after)
                }
                [b'/', b'*', b'!' | b'M', ..] => None,
                [b'/', b'*', after @ ..] => comment_end(after),
                _ => return true,
            };
            let Some(after) = after else { return false };
            self.rest = after;
        }
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = Word<'a>;

    fn next(&mut self) -> Option<Word<'a>> {
        let understood = self.skip_blanks();
        let name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..);
        let len = self.rest.iter().take_while(|&byte| name(byte)).count();
        let (word, rest) = self.rest.split_at_checked(len.max(1))?;
        self.rest = rest;
        match word {
            [sign] if len == 0 || !understood => Some(Word::Sign(*sign)),
            _ => Some(Word::Name(word)),
        }
    }
}

/// What is behind the end of a line.
fn line_end(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|&byte| byte == b'\n').unwrap_or(text.len());
    text.get(end..).unwrap_or_default()
}

/// What is behind the end of a comment, if it has one.
fn comment_end(text: &[u8]) -> Option<&[u8]> {
    let end = text.windows(2).position(|pair| pair == b"*/")?;
    text.get(end + 2..)
}

/// The text of an executable comment, if every server executes it.
fn executable(text: &[u8]) -> Option<&[u8]> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (version, text) = text.split_at_checked(digits)?;
    let version = std::str::from_utf8(version).ok()?;
    (digits == 0 || digits == 5 && version.parse::<u32>().is_ok_and(|version| version < EXECUTED_BELOW))
        .then_some(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        let show = |word: Word<'_>| match word {
            Word::Name(name) => String::from_utf8_lossy(name).into_owned(),
            Word::Sign(sign) => format!("<{}>", char::from(sign)),
        };
        Words::new(text.as_bytes()).map(show).collect()
    }

    #[test]
    fn blanks_and_comments_are_no_words() {
        assert_eq!(words("a /* b */ c # d\n e -- f\ng --\th"), ["a", "c", "e", "g"]);
        assert_eq!(words("a/**/b--c"), ["a", "b", "<->", "<->", "c"]);
        assert_eq!(words("a(1);"), ["a", "<(>", "1", "<)>", "<;>"]);
        assert_eq!(words(" \r\n\t\x0b\x0c"), [""; 0]);
        assert_eq!(words("a --"), ["a"]);
    }

    #[test]
    fn executable_comments_are_text_where_every_server_reads_them() {
        assert_eq!(words("a /*!50000 b */ c"), ["a", "b", "c"]);
        assert_eq!(words("a /*! b*/c"), ["a", "b", "c"]);
        for text in
            ["a /*!50700 b */", "a /*!100100 b */", "a /*M! b */", "a /*!99999 b*/", "a /*! /*! b*/*/"]
        {
            assert!(words(text).contains(&"</>".to_owned()), "{text}: {:?}", words(text));
        }
    }

    #[test]
    fn what_is_not_understood_is_a_sign() {
        assert_eq!(words("a /* b").get(..2), Some(&["a".to_owned(), "</>".to_owned()][..]));
        assert_eq!(words("a */ b"), ["a", "<*>", "</>", "b"]);
        assert_eq!(words("'a' `b`"), ["<'>", "a", "<'>", "<`>", "b", "<`>"]);
    }

    proptest! {
        #[test]
        fn any_bytes_have_an_end(text: Vec<u8>) {
            prop_assert!(Words::new(&text).count() <= text.len());
        }
    }
}
