//! The words, names, values and signs of a statement as a server sees them, in MySQL's and
//! MariaDB's grammar.
//!
//! Where a string or comment ends depends on the session: on `ANSI_QUOTES`, on
//! `NO_BACKSLASH_ESCAPES`, and on the connection's character set, as the second byte of a character
//! of some may look like a backslash or a backtick. Comments that servers execute (`/*! */`,
//! `/*M! */`) are read as if they had no marks; their tokens say so, because which server executes
//! them depends on its version.

use crate::bytes::{DIGIT, HEX, SPACE, WORD, is};

/// What decides how a session's statements are read; the default is what servers start with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Modes {
    /// `"` encloses names, not strings (`sql_mode` has `ANSI_QUOTES`).
    pub ansi_quotes: bool,
    /// A backslash is a letter like any other (`sql_mode` has `NO_BACKSLASH_ESCAPES`).
    pub no_backslash_escapes: bool,
    /// Which bytes begin a character of two bytes (`character_set_client`).
    pub charset: Charset,
}

/// Character sets by what matters here: whether the second byte of a character may be one of ASCII.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Charset {
    /// None may: ASCII, UTF-8, Latin, EUC and most others.
    #[default]
    Plain,
    /// `big5`.
    Big5,
    /// `gbk`.
    Gbk,
    /// `gb18030`, whose characters of four bytes have digits at their second and fourth.
    Gb18030,
    /// `sjis` and `cp932`.
    Sjis,
}

impl Charset {
    /// Whether `lead` and `second` are one character.
    fn pairs(self, lead: u8, second: u8) -> bool {
        let (leads, ascii) = match self {
            Self::Plain => return false,
            Self::Big5 => (matches!(lead, 0xA1..=0xF9), matches!(second, 0x40..=0x7E | 0xA1..)),
            Self::Gbk => (matches!(lead, 0x81..=0xFE), matches!(second, 0x40..=0x7E | 0x80..)),
            Self::Gb18030 => {
                (matches!(lead, 0x81..=0xFE), matches!(second, 0x30..=0x39 | 0x40..=0x7E | 0x80..))
            }
            Self::Sjis => {
                (matches!(lead, 0x81..=0x9F | 0xE0..=0xFC), matches!(second, 0x40..=0x7E | 0x80..=0xFC))
            }
        };
        leads && ascii
    }
}

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A keyword or a name without quotes.
    Word,
    /// A name in backticks, or in double quotes in the mode `ANSI_QUOTES`; the span has the quotes.
    Name,
    /// A string; an introducer such as `_utf8`, `N` or `x` before it is a word.
    Text,
    /// A number.
    Number,
    /// The `?` of a prepared statement.
    Parameter,
    /// `@name`; also the second half of an account.
    UserVariable,
    /// `@@name`, `@@scope.name`.
    SystemVariable,
    /// Any other byte, by itself.
    Sign(u8),
}

/// One token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Its first byte.
    pub start: usize,
    /// The byte behind its last.
    pub end: usize,
    /// It is inside `/*! */` or `/*M! */`: some servers do not see it.
    pub conditional: bool,
}

/// The tokens of a statement, one after the other.
#[derive(Debug, Clone)]
pub struct Lexer<'a> {
    sql: &'a [u8],
    at: usize,
    modes: Modes,
    conditional: bool,
    broken: bool,
}

/// Whether two dashes in front of it begin a comment: blanks do, and control characters.
const fn is_blank(byte: u8) -> bool {
    byte <= b' ' || byte == 0x7F
}

impl<'a> Lexer<'a> {
    /// The tokens of `sql` for a session in `modes`.
    pub fn new(sql: &'a [u8], modes: Modes) -> Self {
        Self { sql, at: 0, modes, conditional: false, broken: false }
    }

    /// Whether something was met so far that servers may see otherwise: a string or comment that
    /// does not end, or a comment inside a conditional one.
    pub fn broken(&self) -> bool {
        self.broken || self.conditional && self.at >= self.sql.len()
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.sql.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn rest(&self) -> &'a [u8] {
        self.sql.get(self.at..).unwrap_or_default()
    }

    /// Goes past blanks and comments.
    fn skip(&mut self) {
        while let Some(byte) = self.rest().first() {
            match *byte {
                b'#' => self.skip_line(),
                b'-' if self.peek(1) == b'-' && self.rest().get(2).is_none_or(|byte| is_blank(*byte)) => {
                    self.skip_line();
                }
                b'/' if self.peek(1) == b'*' => self.skip_comment(),
                b'*' if self.conditional && self.peek(1) == b'/' => {
                    self.conditional = false;
                    self.at += 2;
                }
                byte if is(byte, SPACE) || matches!(byte, 0x0B | 0x0C) => self.at += 1,
                _ => return,
            }
        }
    }

    fn skip_line(&mut self) {
        self.broken |= self.conditional;
        let end = self.rest().iter().position(|byte| *byte == b'\n');
        self.at = end.map_or(self.sql.len(), |end| self.at + end + 1);
    }

    fn skip_comment(&mut self) {
        let rest = self.rest().get(2..).unwrap_or_default();
        let mark = if rest.starts_with(b"!") { 1 } else { 2 * usize::from(rest.starts_with(b"M!")) };
        self.broken |= self.conditional;
        if mark > 0 {
            let version =
                rest.get(mark..).unwrap_or_default().iter().take(6).take_while(|byte| is(**byte, DIGIT));
            self.at += 2 + mark + version.count();
            self.conditional = true;
            return;
        }
        let end = rest.windows(2).position(|two| two == b"*/");
        self.broken |= end.is_none();
        self.at = end.map_or(self.sql.len(), |end| self.at + 2 + end + 2);
    }

    /// Reads to behind the `quote` that ends what begins at `from`, where its first one is.
    fn quoted(&mut self, from: usize, quote: u8) -> usize {
        let end = self.quoted_end(from, quote);
        // A server that does not execute this comment sees its marks, not its quotes.
        let inside = self.sql.get(from..end).unwrap_or_default();
        self.broken |= self.conditional && inside.windows(2).any(|two| two == b"*/" || two == b"/*");
        end
    }

    fn quoted_end(&mut self, from: usize, quote: u8) -> usize {
        let escapes = quote != b'`' && !self.modes.no_backslash_escapes && !self.is_name_quote(quote);
        let mut at = from + 1;
        while let Some(&byte) = self.sql.get(at) {
            let next = self.sql.get(at + 1).copied();
            at += 1;
            if next.is_some_and(|next| self.modes.charset.pairs(byte, next)) || byte == b'\\' && escapes {
                at += 1;
            } else if byte == quote {
                if next != Some(quote) {
                    return at;
                }
                at += 1;
            }
        }
        self.broken = true;
        self.sql.len()
    }

    fn is_name_quote(&self, quote: u8) -> bool {
        quote == b'`' || quote == b'"' && self.modes.ansi_quotes
    }

    /// The end of a word that begins at `from`.
    fn word(&self, from: usize) -> usize {
        let mut at = from;
        while let Some(&byte) = self.sql.get(at) {
            let next = self.sql.get(at + 1).copied().unwrap_or(0);
            if self.modes.charset.pairs(byte, next) {
                at += 2;
            } else if is(byte, WORD) || byte >= 0x80 {
                at += 1;
            } else {
                break;
            }
        }
        at
    }

    /// The kind and end of what begins with a digit: a number, or a name such as `1st`.
    fn number(&self) -> (Kind, usize) {
        let end = self.word(self.at);
        let text = self.sql.get(self.at..end).unwrap_or_default();
        let digits = |text: &[u8], class| text.iter().all(|byte| is(*byte, class));
        if let [b'0', b'x', hex @ ..] = text
            && !hex.is_empty()
            && digits(hex, HEX)
        {
            return (Kind::Number, end);
        }
        if digits(text, DIGIT) {
            let fraction = end + usize::from(self.sql.get(end) == Some(&b'.'));
            return (Kind::Number, if fraction > end { self.word(fraction) } else { end });
        }
        match text.iter().position(|byte| !is(*byte, DIGIT)) {
            Some(at) if matches!(text.get(at..), Some([b'e' | b'E', power @ ..]) if digits(power, DIGIT)) => {
                (Kind::Number, end)
            }
            _ => (Kind::Word, end),
        }
    }

    /// Whether a name and a dot are just in front of this: it is a name, even of digits only.
    fn is_qualified(&self) -> bool {
        let before = self.sql.get(..self.at).and_then(|before| before.strip_suffix(b"."));
        before.and_then(<[u8]>::last).is_some_and(|byte| is(*byte, WORD) || self.is_name_quote(*byte))
    }

    /// `@name` and `@@name`, whose name may be quoted and has dots.
    fn variable(&mut self) -> (Kind, usize) {
        let system = self.peek(1) == b'@';
        let mut at = self.at + 1 + usize::from(system);
        match self.sql.get(at) {
            Some(&quote) if matches!(quote, b'`' | b'\'' | b'"') => at = self.quoted(at, quote),
            _ => {
                at = self.word(at);
                while self.sql.get(at) == Some(&b'.') {
                    at = self.word(at + 1);
                }
            }
        }
        (if system { Kind::SystemVariable } else { Kind::UserVariable }, at)
    }
}

impl Iterator for Lexer<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        self.skip();
        let byte = *self.rest().first()?;
        let start = self.at;
        let (kind, end) = match byte {
            b'\'' | b'"' | b'`' => {
                let end = self.quoted(start, byte);
                (if self.is_name_quote(byte) { Kind::Name } else { Kind::Text }, end)
            }
            b'@' => self.variable(),
            b'?' => (Kind::Parameter, start + 1),
            byte if is(byte, DIGIT) && self.is_qualified() => (Kind::Word, self.word(start)),
            byte if is(byte, DIGIT) => self.number(),
            byte if is(byte, WORD) || byte >= 0x80 => (Kind::Word, self.word(start)),
            byte => (Kind::Sign(byte), start + 1),
        };
        self.at = end.max(start + 1).min(self.sql.len());
        Some(Token { kind, start, end: self.at, conditional: self.conditional })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(sql: &[u8], modes: Modes) -> Vec<String> {
        Lexer::new(sql, modes)
            .map(|token| {
                let text = String::from_utf8_lossy(&sql[token.start..token.end]).into_owned();
                let mark = if token.conditional { "!" } else { "" };
                match token.kind {
                    Kind::Word | Kind::Sign(_) => format!("{mark}{text}"),
                    kind => format!("{mark}{kind:?}:{text}"),
                }
            })
            .collect()
    }

    #[test]
    fn kinds() {
        let sql = b"select a.`b``c`,'it''s\\'x',\"d\",1.5,.5,1e5,0x1F,1st,@v,@@global.x,@`q` := ? -- c\n from t#x\n;";
        assert_eq!(
            tokens(sql, Modes::default()),
            [
                "select",
                "a",
                ".",
                "Name:`b``c`",
                ",",
                "Text:'it''s\\'x'",
                ",",
                "Text:\"d\"",
                ",",
                "Number:1.5",
                ",",
                ".",
                "Number:5",
                ",",
                "Number:1e5",
                ",",
                "Number:0x1F",
                ",",
                "1st",
                ",",
                "UserVariable:@v",
                ",",
                "SystemVariable:@@global.x",
                ",",
                "UserVariable:@`q`",
                ":",
                "=",
                "Parameter:?",
                "from",
                "t",
                ";"
            ]
        );
    }

    #[test]
    fn names_of_digits() {
        assert_eq!(
            tokens(b"t.5,`t`.1e5,t.2024.5,1.5,2 .5,'a'.5", Modes::default()),
            [
                "t",
                ".",
                "5",
                ",",
                "Name:`t`",
                ".",
                "1e5",
                ",",
                "t",
                ".",
                "2024",
                ".",
                "5",
                ",",
                "Number:1.5",
                ",",
                "Number:2",
                ".",
                "Number:5",
                ",",
                "Text:'a'",
                ".",
                "Number:5"
            ]
        );
    }

    #[test]
    fn comments() {
        let sql = b"a/* ' */b--c\n--\nd --\t'\ne /*! f */ /*!50001g*/ /*M!100100 h */ i /*+ ' */ j";
        assert_eq!(
            tokens(sql, Modes::default()),
            ["a", "b", "-", "-", "c", "d", "e", "!f", "!g", "!h", "i", "j"]
        );
    }

    #[test]
    fn modes_move_the_ends_of_strings() {
        let sql = b"'a\\' b' \"c\"";
        assert_eq!(tokens(sql, Modes::default()), ["Text:'a\\' b'", "Text:\"c\""]);
        let modes = Modes { ansi_quotes: true, no_backslash_escapes: true, ..Modes::default() };
        assert_eq!(tokens(sql, modes), ["Text:'a\\'", "b", "Text:' \"c\""]);
        assert_eq!(tokens(b"\"a\\\" b", modes), ["Name:\"a\\\"", "b"]);
    }

    #[test]
    fn second_bytes_are_no_backslashes() {
        // In GBK, D5 5C is one character; elsewhere, 5C is a backslash that makes the quote a part
        // of the string.
        let sql = b"'\xD5\\' or 1 -- '";
        assert_eq!(tokens(sql, Modes::default()).len(), 1);
        for charset in [Charset::Gbk, Charset::Gb18030, Charset::Big5] {
            assert_eq!(tokens(sql, Modes { charset, ..Modes::default() }).len(), 3, "{charset:?}");
        }
        let sql = b"'\x83\\' or 1 -- '";
        assert_eq!(tokens(sql, Modes { charset: Charset::Sjis, ..Modes::default() }).len(), 3);
    }

    #[test]
    fn what_does_not_end_is_broken() {
        for (sql, broken) in [
            ("select 'a'", false),
            ("select 'a", true),
            ("select `a", true),
            ("select 1 /* a", true),
            ("select 1 /*! a", true),
            ("select 1 /*! a */", false),
            ("select 1 /*! 'a' */", false),
            ("select 1 /*! '*/' */", true),
            ("select 1 /*! a /* b */ */", true),
        ] {
            let mut lexer = Lexer::new(sql.as_bytes(), Modes::default());
            while lexer.next().is_some() {}
            assert_eq!(lexer.broken(), broken, "{sql}");
        }
    }
}
